//! Taking over what a todolist and a state file say, as far as the files of the tasks are there. Gates are looked at again.

use std::collections::BTreeMap;
use std::path::Path;

use crate::plan::{About, Argv, Settings, TaskId, TaskSpec};
use crate::run::{Command, ImportedTask, Note, Proof, Status};
use crate::system::kit::takeover::{self, Belief, Evidence, Files, Legacy, Questions, Refused, Takeover};
use crate::system::rwkit::state::{FILE, ForeignState, ForeignTask, TaskWord, gate_of};
use crate::system::{Before, Form};

/// What a list and the project's state file say about its tasks.
#[derive(Debug)]
pub struct Left<'a> {
    pub before: &'a BTreeMap<TaskId, Before>,
    pub state: ForeignState,
}

/// The list that a state file is about, if it is another one than this.
pub fn about_another<'s>(list: &str, state: &'s ForeignState) -> Option<&'s str> {
    let about = state.todolist_path.as_deref().filter(|path| !path.trim().is_empty())?;
    let (list, told) = (Path::new(list), Path::new(about));
    (!told.ends_with(list) && !list.ends_with(told)).then_some(about)
}

impl Left<'_> {
    fn recorded(&self, id: &TaskId) -> Option<&ForeignTask> {
        self.state.tasks.get(id).or_else(|| self.state.listed.get(id))
    }

    fn is_claimed(&self, id: &TaskId) -> bool {
        self.before.get(id).is_some_and(|before| before.done)
            || self.recorded(id).is_some_and(|told| told.status == TaskWord::Completed)
    }

    fn belief(&self, spec: &TaskSpec, missing: Option<&String>) -> Belief {
        let (id, told) = (&spec.id, self.recorded(&spec.id));
        let proof = (self.is_claimed(id) && missing.is_none()).then_some(Proof::Reported);
        let is_done = proof.is_some();
        let blocked = self.before.get(id).is_some_and(|before| before.blocked) && !is_done;
        let plain = |status, spent, proof| ImportedTask { spent, proof, ..ImportedTask::plain(status) };
        let past = match told {
            Some(told) => Some(told.past(proof)),
            None if is_done => Some(plain(Status::Completed, 0, proof)),
            None if blocked => Some(plain(Status::Abandoned, spec.attempts, None)),
            None => None,
        };
        let past = past.filter(|past| past.status != Status::Pending || past.spent > 0);
        let why = match (missing, &past) {
            (Some(file), _) => format!("it is marked done, but {file} is missing or empty"),
            (None, Some(_)) => "the list or the state file says so".to_owned(),
            (None, None) => "it has not been started".to_owned(),
        };
        let claimed = told.map(|told| told.status.word());
        Belief { task: id.clone(), claimed, past, why, corrected: missing.is_some(), worktree: None }
    }
}

impl Legacy for Left<'_> {
    fn keep_settings(&self, settings: &mut Settings) {
        let state = &self.state;
        settings.auto_answer |= state.auto_answer;
        let said = About {
            session_id: state.session_id.clone().unwrap_or_default(),
            clarified_requirements_path: state.clarified_requirements_path.clone().unwrap_or_default(),
            analysis_report_path: state.analysis_report_path.clone().unwrap_or_default(),
            ..About::default()
        };
        settings.form = std::mem::take(&mut settings.form).known_from(&Form::Rwkit(Box::new(said)));
    }

    fn questions(&self, specs: &[TaskSpec]) -> Questions {
        let files = |spec: &TaskSpec| {
            let looks = spec.checks.iter().filter_map(|check| match &check.run {
                Argv::Look { file, .. } => Some(file.to_string()),
                _ => None,
            });
            // Patterns are looked at when their checks run.
            (spec.id.clone(), looks.filter(|file| !file.contains(['*', '?'])).collect())
        };
        let of = judged(specs).filter(|spec| self.is_claimed(&spec.id)).map(files).collect();
        Questions { files: Files { of, onto: None, may_be_empty: false }, ..Questions::default() }
    }

    fn take_over(&self, specs: &[TaskSpec], evidence: &Evidence) -> Result<Takeover, Refused> {
        let state = &self.state;
        let mut taken = Takeover::default();
        let mut done = 0;
        for spec in judged(specs) {
            let missing = evidence.missing.get(&spec.id);
            let line = |file: &String| takeover::not_there(&spec.id, file, "is missing or empty");
            taken.lines.extend(missing.map(line));
            let belief = self.belief(spec, missing);
            if let Some(past) = belief.past.clone() {
                done += u64::from(past.proof.is_some());
                taken.commands.push(takeover::adopt(&spec.id, FILE, past));
            }
            let report = self.recorded(&spec.id).map(|told| told.report.clone()).unwrap_or_default();
            taken.commands.extend(takeover::report_work(&spec.id, FILE, &report));
            taken.beliefs.push(belief);
        }
        let is_open = |id: &TaskId| {
            matches!(state.tasks[id].status, TaskWord::Pending | TaskWord::InProgress | TaskWord::Failed)
        };
        let mut taken = taken.with_orphans("list", specs, state.tasks.keys(), is_open, evidence)?;
        let has = |id: &TaskId| specs.iter().any(|spec| spec.id == *id);
        taken.commands.extend(takeover::notes(FILE, state.started_at, state.carried(has)));
        let entry = |text: String| Command::Note {
            by: FILE.to_owned(),
            note: Note::Entry { task: None, text, for_next: false },
        };
        taken.commands.extend(state.logs.iter().map(|log| entry(log.entry())));
        taken.lines.extend(takeover::done_before(done));
        Ok(taken)
    }
}

/// The tasks of the list.
fn judged(specs: &[TaskSpec]) -> impl Iterator<Item = &TaskSpec> {
    specs.iter().filter(|spec| gate_of(&spec.id).is_none())
}

#[cfg(test)]
mod tests;
