//! What may become part of the target.

use super::{Decision, Rules, checked_on, unproven};
use crate::plan::{Check, Digest, Oid, TaskId};
use crate::run::command::{Refusal, Stop};
use crate::run::event::{CheckResult, Event};
use crate::run::task::{Intent, Proof, Status, Task};

impl<'a> Rules<'a> {
    /// The target may move only to a tree that all who have a say in it have passed.
    pub(super) fn prepare_landing(
        &self,
        id: &TaskId,
        fence: u64,
        tree: &Oid,
        intent: &Intent,
        (results, untouched): (&[CheckResult], &[TaskId]),
    ) -> Decision {
        let task = self.held(id, fence, &[Status::Verified])?;
        if let Some(other) = &self.run.merging {
            return Err(Refusal::because(format!("{other} is landing")));
        }
        // An agent judged files: as long as these are as they were, its verdict is carried over.
        let of = |task: &Task| -> Vec<Digest> {
            // A gate lands on a tree that it has to judge itself.
            let all = !untouched.contains(&task.id) || task.gate && task.id == *id;
            task.judges.iter().filter(|judge| all || !task.reviews.contains(judge)).cloned().collect()
        };
        let mut judges: Vec<Digest> = of(task);
        // Also where the merged tree is the verified one: its own checks are not those of the others.
        for other in self.state.landed_since(task.progress.landed_at_base) {
            judges.extend(self.task(other).map(of).unwrap_or_default());
        }
        judges.extend(self.run.settings.landing_checks.iter().map(Check::digest));
        if let Some(missing) = unproven(task, judges.iter(), tree, results) {
            return Err(Refusal::because(format!(
                "{id} may not land: a check has not passed on the merged tree ({})",
                missing.short()
            )));
        }
        let prepared = Event::LandingPrepared {
            task: id.clone(),
            fence,
            intent: intent.clone(),
            tree: Some(tree.clone()),
        };
        Ok(self.found(id, fence, tree, results).into_iter().chain([prepared]).collect())
    }

    /// What changes nothing has to hold on what the target is now, not on what it was when the task began.
    pub(super) fn nothing_to_land(
        &self,
        id: &TaskId,
        fence: u64,
        tree: &Oid,
        results: &[CheckResult],
    ) -> Decision {
        let task = self.held(id, fence, &[Status::Verified])?;
        if !task.may_stay_as_it_is() {
            return Err(Refusal::because(format!("{id} must change something to be completed")));
        }
        // A gate is about this very tree, also where an agent judges.
        let judges: Vec<&Digest> =
            if task.gate { task.judges.iter().collect() } else { task.commands().collect() };
        if let Some(missing) = unproven(task, judges.into_iter(), tree, results) {
            return Err(Refusal::because(format!(
                "{id} is not completed: a check has not passed on what the target holds ({})",
                missing.short()
            )));
        }
        let proof = checked_on(task, Some(tree.clone()));
        let done = Event::Completed { task: id.clone(), fence, proof, counts: Vec::new(), saw: None };
        Ok(self.found(id, fence, tree, results).into_iter().chain([done]).collect())
    }

    /// The task, if it is landing as this commit.
    pub(super) fn landing_as(&self, id: &TaskId, fence: u64, commit: &Oid) -> Result<&'a Task, Stop> {
        let task = self.held(id, fence, &[Status::Merging])?;
        match &task.progress.intent {
            Some(intent) if &intent.candidate == commit => Ok(task),
            Some(intent) => {
                Err(Refusal::stale(format!("{id} is landing as {}, not {commit}", intent.candidate)))
            }
            None => Err(Refusal::stale(format!("{id} has no landing under way"))),
        }
    }

    pub(super) fn landed(&self, id: &TaskId, fence: u64, commit: &Oid) -> Decision {
        let task = self.landing_as(id, fence, commit)?;
        let Some(verified) = &task.progress.commit else {
            return Err(Refusal::stale(format!("{id} has no landing under way")));
        };
        let proof = Proof::Landed { commit: commit.clone(), verified: verified.clone() };
        let landed = Event::Completed { task: id.clone(), fence, proof, counts: Vec::new(), saw: None };
        let reopened = self.gates_after(id, task.progress.merged.as_ref(), &[])?;
        Ok([landed].into_iter().chain(reopened).collect())
    }
}
