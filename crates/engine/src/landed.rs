//! Asks git what a target holds, and what it has in place of commits that it lost. `piton_core::history` decides what
//! the answers mean; nothing here changes anything.

use std::collections::{BTreeSet, HashSet};

use piton_core::history::{Change, History, LastWord, Lost, Part, Place, StandIn, Target, Whole, is_hash};
use piton_core::plan::{Oid, Plan, TaskId, TaskSpec};

use crate::git::{GitError, Repo};
use crate::project::{is_run_of, run_prefix};

/// A task landed by a run of which only the commits are left.
#[derive(Debug)]
pub struct Before {
    pub task: TaskId,
    pub commit: Oid,
    pub run: String,
}

/// The tasks of a plan that runs have landed whose journal is gone: by its name a run was of this plan, `is_known` does
/// not know it, a merge of its own landed the task, and no later commit reverted that. The merge has to say that the
/// task asked for what it asks for now. A merge of an earlier version does not say that: there the title decides.
pub fn by_lost_runs(
    repo: &Repo,
    tip: &Oid,
    plan: &Plan,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<Vec<Before>, GitError> {
    let mut runs = repo.runs_in(tip, &run_prefix(&plan.name))?;
    runs.retain(|run| is_run_of(&plan.name, run) && !is_known(run));
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let landed = target(repo, tip, &plan.tasks.iter().map(|spec| &spec.id).collect())?;
    let commit = |place: Place| landed.history.commit(place);
    let before = |spec: &TaskSpec| {
        let mut own = landed.history.landings(spec);
        own.retain(|place| commit(*place).run.as_ref().is_some_and(|run| runs.contains(run)));
        let Some(LastWord::Landed(place)) = landed.history.last_word(&own) else { return None };
        let run = commit(place).run.clone()?;
        Some(Before { task: spec.id.clone(), commit: commit(place).id.clone(), run })
    };
    Ok(plan.tasks.iter().filter_map(before).collect())
}

/// The history of a target. `tasks` are those that a message can name.
pub(crate) fn target(repo: &Repo, tip: &Oid, tasks: &HashSet<&TaskId>) -> Result<Target, GitError> {
    Ok(Target::new(History::new(repo.history(tip)?, &repo.reverts(tip)?, tasks)))
}

/// Look for a recorded commit that is not part of the target.
pub(crate) fn look_elsewhere(repo: &Repo, target: &mut Target, hash: &str) -> Result<(), GitError> {
    if target.history.find(hash).is_none()
        && is_hash(hash)
        && let Some(commit) = repo.find_commit(hash)?
    {
        target.elsewhere.insert(hash.to_owned(), commit);
    }
    Ok(())
}

/// Compare lost commits with the target: those that tasks ask about, and as parts of a whole all that are missed.
pub(crate) fn compare(
    repo: &Repo,
    tip: &Oid,
    target: &mut Target,
    missed: &BTreeSet<Oid>,
    asked: &[(TaskId, Oid)],
) -> Result<(), GitError> {
    for (_, commit) in asked {
        look_at(repo, tip, target, commit)?;
    }
    let mut taken = HashSet::new();
    let is_found = |(task, commit): &(TaskId, Oid)| match target.same_work(Some(task), commit) {
        // Each commit of the target can replace only one lost commit.
        StandIn::Found(place, _) => taken.insert(place),
        _ => false,
    };
    if asked.iter().all(is_found) {
        return Ok(());
    }
    let mut of = missed.clone();
    of.extend(repo.tips_with(missed)?);
    for of in of {
        look_at(repo, tip, target, &of)?;
        if let StandIn::Found(place, _) = target.same_work(None, &of) {
            let holds = repo.beyond(tip, &[&of])?.into_iter().collect();
            target.wholes.push(Whole { of, holds, place });
        }
    }
    for (_, commit) in asked {
        let is_part = target.wholes.iter().any(|whole| whole.of != *commit && whole.holds.contains(commit));
        if let (true, Some(parent)) = (is_part, repo.parent(commit)?)
            && let Some(lost) = target.lost.get_mut(commit)
        {
            lost.part = match repo.is_taken_back(&parent, commit, tip)? {
                true => Part::TakenBack,
                false => Part::InTarget,
            };
        }
    }
    Ok(())
}

/// The change of a lost commit since its history left the target's.
fn look_at(repo: &Repo, tip: &Oid, target: &mut Target, commit: &Oid) -> Result<(), GitError> {
    if target.lost.contains_key(commit) {
        return Ok(());
    }
    let base = repo.merge_base(commit, tip)?;
    let mut lost =
        Lost { tree: repo.tree_of(commit)?, base: base.clone(), change: None, part: Part::NotAsked };
    if let Some(base) = base
        && let Some(whole) = repo.change(&base, commit)?
    {
        lost.change = Some(Change {
            whole,
            steps: repo.changes_beyond(tip, commit, &[])?.into_values().collect(),
            later: repo.beyond(commit, &[tip])?,
            changes: repo.changes_beyond(commit, tip, &repo.diff_names(&base, commit)?)?,
            is_taken_back: repo.is_taken_back(&base, commit, tip)?,
        });
    }
    target.lost.insert(commit.clone(), lost);
    Ok(())
}
