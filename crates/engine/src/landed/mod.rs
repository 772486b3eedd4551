//! What a target holds: which commit is whose work, and which stands for one that is no longer there. Somebody may have
//! rebased or squashed it; nothing here changes anything.

mod history;

use std::collections::{BTreeSet, HashSet};

use piton_core::plan::{Oid, Plan, TaskId, TaskSpec};

use self::history::{History, Lost};
pub(crate) use self::history::{LastWord, Place, StandIn, is_hash};
use crate::git::{GitError, Repo};
use crate::project::{is_run_of, run_prefix};

/// A task that a run has landed of which only its commits tell.
#[derive(Debug)]
pub struct Before {
    pub task: TaskId,
    pub commit: Oid,
    pub run: String,
}

/// The tasks of a plan that runs have landed whose journal is gone: by its name a run was of this plan, `is_known` does
/// not know it, a merge of its own landed the task, and nobody took that back. The merge has to say that the task asked
/// for what it asks for now. One of an earlier version does not say that: there the title decides.
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
    let landed = Landed::read(repo, tip, &plan.tasks.iter().map(|spec| &spec.id).collect())?;
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

pub(crate) struct Landed<'a> {
    repo: &'a Repo,
    tip: &'a Oid,
    pub(crate) history: History,
    missed: BTreeSet<Oid>,
    /// Found when they are asked for.
    wholes: Option<Vec<Whole>>,
}

/// A history that the target has as one commit.
struct Whole {
    of: Oid,
    /// Its commits.
    holds: HashSet<Oid>,
    place: Place,
}

impl<'a> Landed<'a> {
    pub(crate) fn read(
        repo: &'a Repo,
        tip: &'a Oid,
        tasks: &HashSet<&TaskId>,
    ) -> Result<Landed<'a>, GitError> {
        let history = History::new(repo.history(tip)?, &repo.reverts(tip)?, tasks);
        Ok(Landed { repo, tip, history, missed: BTreeSet::new(), wholes: None })
    }

    /// Say that the target lost a commit that still exists, before anything is asked for.
    pub(crate) fn miss(&mut self, lost: Oid) {
        self.missed.insert(lost);
    }

    /// What the target has in place of a task's missed commit: the same work, or more that holds it.
    pub(crate) fn stand_in(&mut self, task: &TaskId, lost: &Oid) -> Result<StandIn, GitError> {
        if !self.missed.contains(lost) {
            return Ok(StandIn::Nothing);
        }
        let alone = self.same_work(Some(task), lost)?;
        if matches!(alone, StandIn::Found(..)) {
            return Ok(alone);
        }
        let whole = self.wholes()?.iter().find(|whole| whole.of != *lost && whole.holds.contains(lost));
        let Some(place) = whole.map(|whole| whole.place) else { return Ok(alone) };
        // All of it is there, but this part of it may be gone again.
        let parent = self.repo.parent(lost)?;
        let kept =
            parent.map(|parent| self.repo.is_taken_back(&parent, lost, self.tip)).transpose()? == Some(false);
        Ok(if kept { StandIn::Holds(place) } else { StandIn::Nothing })
    }

    /// The commit that does what `lost` did since it left the target's history; with a task, none of another's.
    fn same_work(&self, task: Option<&TaskId>, lost: &Oid) -> Result<StandIn, GitError> {
        let (repo, tip) = (self.repo, self.tip);
        let Some(base) = repo.merge_base(lost, tip)? else { return Ok(StandIn::Nothing) };
        // A change of nothing is everywhere.
        let Some(whole) = repo.change(&base, lost)? else { return Ok(StandIn::Nothing) };
        let steps = repo.changes_beyond(tip, lost, &[])?.into_values().collect();
        let work = Lost { tree: repo.tree_of(lost)?, whole, steps };
        let changes = repo.changes_beyond(lost, tip, &repo.diff_names(&base, lost)?)?;
        let found = self.history.stand_in(task, &work, &repo.beyond(lost, &[tip])?, &changes);
        let gone = matches!(found, StandIn::Found(..)) && repo.is_taken_back(&base, lost, tip)?;
        Ok(if gone { StandIn::Nothing } else { found })
    }

    /// Histories with missed commits in them that the target has as one: somebody squashed a branch with many tasks.
    fn wholes(&mut self) -> Result<&[Whole], GitError> {
        if self.wholes.is_none() {
            let mut of: BTreeSet<Oid> = self.missed.clone();
            of.extend(self.repo.tips_with(&of)?);
            let mut wholes = Vec::new();
            for of in of {
                if let StandIn::Found(place, _) = self.same_work(None, &of)? {
                    let holds = self.repo.beyond(self.tip, &[&of])?.into_iter().collect();
                    wholes.push(Whole { of, holds, place });
                }
            }
            self.wholes = Some(wholes);
        }
        Ok(self.wholes.as_deref().unwrap_or_default())
    }
}
