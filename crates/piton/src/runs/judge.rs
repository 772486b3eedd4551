//! Claims that tasks are done, with their evidence and what their checks say.

use piton_core::plan::{Check, RunId, TaskId};
use piton_core::run::{Claim, Command, Event, Holder, Recorded, Report, State, Status, Task, verdict};
use piton_engine::claims::{self, Place};
use piton_engine::journal::{CommandError, Journal};
use piton_engine::project::Project;
use piton_engine::{checks, clock};

use crate::failure::{Failure, Outcome};
use crate::progress::line;
use crate::runs::{engine, standing};
use crate::ui;

/// Why work is claimed to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `piton report`: the holder has done it.
    Report,
    /// `piton confirm`: another one has looked at it.
    Confirm,
}

/// A claim of done with its evidence and what its checks say, for the rules to decide.
pub(crate) struct Judged {
    pub claim: Claim,
    pub told: Report,
    /// What git says about it beyond the report.
    pub seen: Option<Command>,
}

pub(crate) fn judge(
    (project, journal, run): (&Project, &mut Journal, &RunId),
    task: &Task,
    told: &Report,
    by: &str,
    purpose: Purpose,
) -> Outcome<Judged> {
    let id = &task.id;
    let spec = journal.spec(run, id)?;
    let spec = spec.ok_or_else(|| Failure::new(format!("the plan of {id} is not in the journal")))?;
    let facts = standing::facts(journal, run)?;
    let mut looked = claims::look(project, &facts, task, &spec, told)?;
    claims::see_whole(project, &facts, &standing::gates_of(journal, &facts)?, &mut looked)?;
    let mut told = looked.report.clone();
    for file in &looked.missing {
        ui::say(format!("warning: {} does not exist, so it is not recorded", ui::plain(file)));
    }
    if !told.already.is_empty() {
        told.note =
            [format!("Nothing had to change: {}", told.already), told.note].join("\n").trim().to_owned();
    }
    let claim = |(tree, results), evidence| match spec.confirm && purpose == Purpose::Report {
        true => Claim::ToConfirm { tree, results, evidence },
        false => Claim::Done { tree, results, evidence },
    };
    // Refused now rather than after minutes of checks; and one that waits has nothing to check yet.
    let imagined = (None, checks::as_if_passed(&spec));
    let would = Command::Report {
        task: id.clone(),
        by: by.to_owned(),
        fence: None,
        claim: claim(imagined, looked.evidence.clone()),
        report: Box::default(),
    };
    let waits = |recorded: &Recorded| matches!(recorded.event, Event::ClaimWaits { .. });
    if journal.rehearse(run, &would, clock::now())?.iter().any(waits) {
        return Ok(Judged { claim: claim((None, Vec::new()), looked.evidence), told, seen: None });
    }
    let (name, keeper) = (format!("{}.report", task.fence), engine::keeper()?);
    let shares = facts.settings.worktree.shared.is_some();
    if let Place::Commit { commit } = looked.place.clone()
        && shares
    {
        ui::say(format!("in a worktree of {}", commit.short()));
    }
    let judged = looked.place.judge(project, run, &spec, &name, &keeper, &say_check);
    let judged = judged.map_err(|no| Failure::new(no.to_string()))?;
    // Only if tasks share a branch, the work of the others is needed to know which task made which files.
    let state = if shares { journal.load(run)? } else { State::new() };
    let seen = claims::seen(project, &state, id, &told, &judged);
    let (mut tree, results) = judged;
    if results.iter().all(|result| result.verdict.lets_pass()) {
        let landed = looked.land(project, &facts, tree.as_ref());
        landed.map_err(|reason| Failure::new(format!("rejected {id}: {reason}")))?;
    }
    if purpose == Purpose::Confirm {
        tree = claims::as_before(project, &facts, task, tree)?;
    }
    // Counted tests win over reported ones.
    told.tests = verdict::tests(&results).or(told.tests);
    Ok(Judged { claim: claim((tree, results), looked.evidence), told, seen })
}

/// Judge claims of a run without a state file that wait for work which is committed by now. `but`: the task that
/// this command reports itself.
pub(crate) fn judge_committed(
    project: &Project,
    journal: &mut Journal,
    run: &RunId,
    but: Option<&TaskId>,
) -> Outcome {
    let under_way = journal.under_way(run)?.into_iter();
    let mut waiting: Vec<Task> = under_way.filter(|task| is_waiting(task) && Some(&task.id) != but).collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let facts = standing::facts(journal, run)?;
    let left = claims::uncommitted(project, &facts)?;
    waiting.retain(|task| !task.progress.uncommitted.iter().any(|file| left.contains(file)));
    for task in waiting {
        let Some(Holder::Ledger(by)) = task.holder.clone() else { continue };
        let id = &task.id;
        ui::say(format!("what {by} reported done is committed: {id} is checked"));
        // Commits with these files are its work. The journal already has the rest of the report.
        let told = Report { files: task.progress.uncommitted.clone(), ..Report::default() };
        let judged = match judge((project, journal, run), &task, &told, &by, Purpose::Report) {
            Ok(judged) => judged,
            // Nothing else is held up by it.
            Err(failure) => {
                ui::say(format!("{id} still waits: {}", failure.message));
                ui::hint(format!("piton why {id}"));
                continue;
            }
        };
        let (fence, claim) = (Some(task.fence), judged.claim);
        let command = Command::Report { task: id.clone(), by, fence, claim, report: Box::default() };
        match journal.command(run, &command, clock::now()) {
            Ok(events) => events.iter().for_each(|recorded| ui::say(line::line(recorded))),
            // Another process was faster.
            Err(CommandError::Refused(_)) => {}
            Err(CommandError::Journal(error)) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Whether a task is called done, and its work was not committed then.
pub(crate) fn is_waiting(task: &Task) -> bool {
    task.decided == Status::InProgress && !task.is_engines() && !task.progress.uncommitted.is_empty()
}

pub(crate) fn say_check(check: &Check) {
    ui::say(format!("running `{}`", check.run));
}
