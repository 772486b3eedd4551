//! Taking over what the list and the state file of an issue say, as far as the files that they name are there.

use std::collections::BTreeMap;

use crate::plan::{TaskId, TaskSpec};
use crate::run::{Command, ImportedTask, Proof, Report, Status};
use crate::system::Before;
use crate::system::issue::plan::VALIDATION;
use crate::system::issue::state::{FILE, ForeignState, ForeignTask, TaskWord};
use crate::system::kit::takeover::{
    self, Belief, Evidence, Files, Legacy, Onto, Questions, Refused, Takeover,
};

/// What an issue's folder says about its tasks.
#[derive(Debug)]
pub struct Left<'a> {
    /// The name of the list.
    pub list: &'a str,
    pub before: &'a BTreeMap<TaskId, Before>,
    pub state: ForeignState,
    /// The branch that work is to land on.
    pub onto: Option<&'a str>,
}

impl Left<'_> {
    fn is_ticked(&self, id: &TaskId) -> bool {
        self.before.get(id).is_some_and(|before| before.done)
    }

    fn is_claimed(&self, id: &TaskId) -> bool {
        self.state.tasks.get(id).is_some_and(|told| told.status == TaskWord::Completed)
    }

    /// The report about a task, and who wrote it. Its branch is Piton's own work, so only Piton reports about it.
    fn report(&self, id: &TaskId, evidence: &Evidence) -> (String, Report) {
        let report = self.state.tasks.get(id).map(|told| told.report.clone()).unwrap_or_default();
        if !report.note.is_empty() || !self.before.get(id).is_some_and(|before| before.is_branch) {
            return (FILE.to_owned(), report);
        }
        let note = match (self.onto, &evidence.onto) {
            (Some(branch), Onto::At(tip)) => {
                format!("The branch `{branch}` was there, at {}.", tip.short())
            }
            (Some(branch), Onto::Missing) => format!("Piton made the branch `{branch}`."),
            (None, _) | (_, Onto::Nowhere) => String::new(),
        };
        ("piton".to_owned(), Report { note, ..report })
    }

    fn belief(&self, spec: &TaskSpec, missing: Option<&String>) -> Belief {
        let (id, told) = (&spec.id, self.state.tasks.get(&spec.id));
        let (ticked, claimed) = (self.is_ticked(id), self.is_claimed(id));
        let done = |told: Option<&ForeignTask>| ImportedTask {
            proof: Some(Proof::Reported),
            started_at: told.and_then(|told| told.started_at),
            completed_at: told.and_then(|told| told.completed_at),
            ..ImportedTask::plain(Status::Completed)
        };
        let (past, why) = match missing {
            Some(file) => (None, format!("it is marked done, but {file} does not exist")),
            None if claimed => (Some(done(told)), "the state file says so".to_owned()),
            None if ticked => (Some(done(told)), format!("{} says so", self.list)),
            None => (None, "nothing marks it as done".to_owned()),
        };
        let claimed = told.map(|told| told.status.word());
        Belief { task: id.clone(), claimed, corrected: missing.is_some(), past, why, worktree: None }
    }
}

impl Legacy for Left<'_> {
    fn questions(&self, specs: &[TaskSpec]) -> Questions {
        let is_called_done = |id: &TaskId| self.is_ticked(id) || self.is_claimed(id);
        let created = |spec: &TaskSpec| {
            let told = self.state.tasks.get(&spec.id).filter(|_| is_called_done(&spec.id))?;
            Some((spec.id.clone(), told.report.created.clone()))
        };
        let of = judged(specs).filter_map(created).collect();
        let onto = self.onto.map(str::to_owned);
        Questions { files: Files { of, onto, may_be_empty: true }, ..Questions::default() }
    }

    fn take_over(&self, specs: &[TaskSpec], evidence: &Evidence) -> Result<Takeover, Refused> {
        let mut taken = Takeover::default();
        let mut done = 0;
        for spec in judged(specs) {
            let missing = evidence.missing.get(&spec.id);
            taken.lines.extend(missing.map(|file| takeover::not_there(&spec.id, file, "does not exist")));
            let belief = self.belief(spec, missing);
            let before = self.before.get(&spec.id);
            let is_ours = before.is_some_and(|before| before.is_branch && !before.mark.is_done());
            if let Some(past) = belief.past.clone() {
                let claimed = self.is_claimed(&spec.id);
                done += u64::from(claimed || !is_ours);
                taken.commands.push(takeover::adopt(&spec.id, if claimed { FILE } else { self.list }, past));
            }
            let (by, report) = self.report(&spec.id, evidence);
            taken.commands.extend(takeover::report_work(&spec.id, &by, &report));
            taken.beliefs.push(belief);
        }
        let state = &self.state;
        if state.created_at.max(state.updated_at).is_some_and(|at| at > evidence.now) {
            taken.say(format!("warning: {FILE} contains a time in the future"));
        }
        // Headings are not tasks where the boxes below them are.
        let is_heading = |id: &TaskId| {
            let below = format!("{id}.");
            specs.iter().any(|spec| spec.id.as_str().starts_with(&below))
        };
        let is_open = |id: &TaskId| state.tasks[id].status != TaskWord::Completed && !is_heading(id);
        let mut taken = taken.with_orphans("plan", specs, state.tasks.keys(), is_open, evidence)?;
        let has = |id: &TaskId| specs.iter().any(|spec| spec.id == *id);
        let began = state.created_at.filter(|began| *began <= evidence.now);
        let notes: Vec<Command> = takeover::notes(FILE, began, state.carried(has));
        taken.commands.extend(notes);
        taken.lines.extend(takeover::done_before(done));
        Ok(taken)
    }
}

/// The tasks of the list: the last validation judges the whole, not one task.
fn judged(specs: &[TaskSpec]) -> impl Iterator<Item = &TaskSpec> {
    specs.iter().filter(|spec| spec.id.as_str() != VALIDATION)
}

#[cfg(test)]
mod tests;
