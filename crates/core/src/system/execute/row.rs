//! The execute system in the table of systems.

use serde_json::Value;

use super::{plan, state};
use crate::chronicle::Chronicle;
use crate::plan::{Plan, TaskId};
use crate::run::{State, Status};
use crate::system::config::Config;
use crate::system::edit::Edit;
use crate::system::export::{Names, Note, Source, Written, other_words};
use crate::system::kept::{Picture, Place};
use crate::system::{Files, Form, Policy, System};

/// A folder with `manifest.json`, `layer_plan.json` and a task XML per task.
#[derive(Clone, Copy, Debug)]
pub struct Execute;

impl System for Execute {
    fn name(&self) -> &'static str {
        "execute"
    }

    fn plain(&self) -> Form {
        Form::Execute
    }

    fn policy(&self) -> Policy {
        Policy { keeps_description: true, early_branch: true, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files {
            state: Some(state::FILE),
            usual_folder: Some("docs/tasks"),
            offered: &[state::FILE],
            ..Files::default()
        }
    }

    fn picture(
        &self,
        state: &State,
        chronicle: &Chronicle,
        place: &Place,
        claimed: &[TaskId],
    ) -> Option<Picture> {
        let mut file = state::project(state, chronicle, place)?;
        let value = state::value(&file);
        for (id, entry) in &mut file.tasks.0 {
            if claimed.iter().any(|task| task.as_str() == id) {
                entry.status = state::TaskStatus::Verifying;
            }
        }
        Some(Picture { value, text: state::text(&file) })
    }

    fn edits(&self, shown: &Value, found: &Value) -> Vec<Edit> {
        state::edits(shown, found)
    }

    fn overruled(&self, fields: &Value, shown: &Value) -> Vec<(String, String)> {
        state::overruled(fields, shown)
    }

    fn fit(&self, plan: &Plan) -> Plan {
        plan::fit(plan)
    }

    fn write(&self, fitted: &Plan, config: &Config, _: &dyn Fn(&TaskId) -> bool) -> Written {
        Written::read_back(plan::write(fitted), |folder| {
            let mut read = plan::read(folder, &fitted.name, config, false);
            let poor = plan::lint(&read);
            read.problems.extend(poor);
            read
        })
    }

    fn write_state(&self, source: Source<'_>, names: &Names, place: &Place) -> Vec<(String, String)> {
        let Some(mut file) = state::project(source.state, source.chronicle, place) else { return Vec::new() };
        file.rename(&|task| names.task(task).to_owned(), &|group| names.group(group).to_owned());
        vec![(state::FILE.to_owned(), state::text(&file))]
    }

    fn word(&self, status: Status) -> &'static str {
        state::TaskStatus::of(status).word()
    }

    fn untold(&self, source: Source<'_>) -> Vec<Note> {
        let mut notes = other_words(source, |status| self.word(status));
        for task in source.state.tasks().filter(|task| !task.removed) {
            let reports = source.chronicle.task(&task.id).map_or(0, |story| story.reports.len());
            if reports > 0 {
                let text = "what was reported, with notes, decisions and test counts, is not written";
                notes.push(Note::of_task(&task.id, "reports", text));
            }
        }
        let of_run =
            [("guardrails", source.chronicle.guardrails.len()), ("journal", source.chronicle.entries.len())];
        for (field, count) in of_run.into_iter().filter(|(_, count)| *count > 0) {
            notes.push(Note::of_run(field, format!("{count} not written")));
        }
        notes
    }
}
