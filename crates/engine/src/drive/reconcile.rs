//! What git says about landings and rescued work, compared with what the journal says.

use std::collections::BTreeSet;

use piton_core::history::StandIn;
use piton_core::plan::{Oid, TaskId};
use piton_core::run::{Command, Event, Proof, Run, State, Task};

use super::EngineError;
use crate::git::{self, GitError, Landing, Repo};
use crate::journal::Journal;
use crate::landed;

/// Rescued work that the journal knows of, by ref and commit.
#[derive(Debug, Default)]
pub(super) struct Rescues(BTreeSet<(String, Oid)>);

impl Rescues {
    /// Also returns commands for what an engine rescued that died before it recorded that.
    pub(super) fn read(
        journal: &Journal,
        repo: &Repo,
        run: &Run,
        state: &State,
    ) -> Result<(Rescues, Vec<Command>), EngineError> {
        let (mut told, mut untold) = (Rescues::default(), Vec::new());
        for kept in repo.rescue_list(run.id.as_str())? {
            let Some(task) = rescued_of(&kept.name, run, state) else { continue };
            for recorded in journal.events(&run.id, 0, Some(&task), usize::MAX)? {
                if let Event::Rescued { reference, commit, .. } = recorded.event {
                    told.0.insert((reference, commit));
                }
            }
            untold.push(Command::Rescued { task, reference: kept.name, commit: kept.commit });
        }
        told.leave_out_told(&mut untold);
        Ok((told, untold))
    }

    /// A repeated action finds what it rescued the first time.
    pub(super) fn leave_out_told(&mut self, commands: &mut Vec<Command>) {
        commands.retain(|command| match command {
            Command::Rescued { reference, commit, .. } => self.0.insert((reference.clone(), commit.clone())),
            _ => true,
        });
    }
}

/// The task of this run whose work is under a ref.
fn rescued_of(reference: &str, run: &Run, state: &State) -> Option<TaskId> {
    let name = reference.strip_prefix(git::RESCUED)?;
    let name = name.strip_prefix(run.id.as_str())?.strip_prefix('/')?;
    // A second one of the same name has a number.
    let first = name.rsplit_once('-').filter(|(_, n)| n.bytes().all(|byte| byte.is_ascii_digit()));
    let names = [Some(name), first.map(|(first, _)| first)];
    let known = |name| state.task(&TaskId::new(name).ok()?).ok().flatten().map(|task| task.id.clone());
    names.into_iter().flatten().find_map(known)
}

/// The tasks whose landing is no longer part of the target: reverted by a reset, lost in a rewrite. Each is
/// judged on its own commit. A commit that was rewritten is known by its trailers, or by what it does.
pub fn lost_landings(repo: &Repo, run: &Run, state: &State) -> Result<Vec<Command>, GitError> {
    let landed: Vec<_> = state
        .tasks()
        .filter_map(|task| match &task.proof {
            // What the host has merged is not in the branch of the run.
            Some(Proof::Landed { commit, .. }) if !run.is_its_request(&task.id) => Some((task, commit)),
            _ => None,
        })
        .collect();
    let Some(target) = run.target.as_deref().filter(|_| !landed.is_empty()) else { return Ok(Vec::new()) };
    let Some(tip) = repo.branch_tip(target)? else { return Ok(Vec::new()) };
    let reachable = repo.reachable_from(&tip)?;
    let mut missing: Vec<_> = landed.into_iter().filter(|(_, commit)| !reachable.contains(*commit)).collect();
    if !missing.is_empty() {
        let rewritten = repo.landed_by_trailer(&tip, run.id.as_str())?;
        // Another task under its id may have landed since, or before.
        let is_its = |task: &Task, landing: &Landing| landing.content.is_none_or(|of| of == task.content);
        missing.retain(|(task, _)| {
            !rewritten.get(task.id.as_str()).is_some_and(|landing| is_its(task, landing))
        });
    }
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let mut held = landed::target(repo, &tip, &state.tasks().map(|task| &task.id).collect())?;
    let mut asked = Vec::new();
    for (task, commit) in &missing {
        // A commit that is no longer in the repository cannot be compared with anything.
        let there = repo.find_commit(commit.as_str())?;
        asked.extend(there.map(|commit| (task.id.clone(), commit)));
    }
    let missed = asked.iter().map(|(_, commit)| commit.clone()).collect();
    landed::compare(repo, &tip, &mut held, &missed, &asked)?;
    let mut lost = Vec::new();
    for (task, commit) in missing {
        let task = &task.id;
        match held.stand_in(task, commit) {
            StandIn::Found(place, _) => held.history.give(place, task),
            StandIn::Holds(_) => {}
            StandIn::OfAnother(_) | StandIn::Nothing => lost.push(Command::LandingLost {
                task: task.clone(),
                commit: commit.clone(),
                reason: format!("it is not in the history of `{target}`"),
            }),
        }
    }
    Ok(lost)
}
