//! What an edit of the file asks for, task by task.
//!
//! The file is compared with the projection that it was, at its own `piton_seq`. Times are derived and dropped in
//! silence, and so is what a recipe takes out of a list: what is recorded stays.

use serde_json::{Map, Value};

use super::entry::{self, news, read_report};
use super::file::{FILE, ROOT, TaskWord};
use crate::plan::TaskId;
use crate::run::{Command, Report};
use crate::system::edit::{self, Edit, What, changes};
use crate::system::issue::Issues;
use crate::system::kit::diff::{self, Pair};
use crate::system::kit::shape;
use crate::system::kit::status::TaskStatus;

/// What was changed between the projection that the file was and what it is now.
pub fn edits(shown: &Value, found: &Value) -> Vec<Edit> {
    let mut listener = Listener::new();
    if shown == found {
        return listener.edits;
    }
    if !found.is_object() {
        listener.reject(None, "the file changed".to_owned(), "it must be an object");
        return listener.edits;
    }
    listener.issue(shown, found);
    let known = listener.tasks(shown, found);
    let before = shape::foreign(shown, &ROOT);
    let after = shape::foreign(&with_tasks(found, known), &ROOT);
    listener.carried = changes(&before, &after);
    listener.finish()
}

/// The commands that follow from an edit of this file; see [`edit::commands`].
pub fn commands(edit: &Edit, by: &str) -> Vec<Command> {
    edit::commands(edit, by, FILE)
}

/// The file with just these tasks, whose ids are text.
fn with_tasks(found: &Value, tasks: Vec<Value>) -> Value {
    let mut fields: Map<String, Value> = found.as_object().cloned().unwrap_or_default();
    fields.insert("tasks".to_owned(), Value::Array(tasks));
    Value::Object(fields)
}

type Listener = diff::Listener<Issues>;

impl Listener {
    fn issue(&mut self, shown: &Value, found: &Value) {
        // A number may have been put in quotes.
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        for name in ["number", "title", "branch"] {
            let (before, after) = (&shown["issue"][name], &found["issue"][name]);
            if !after.is_null() && plain(after) != plain(before) {
                self.reject(None, format!("`issue.{name}` changed"), "this cannot be changed here");
            }
        }
    }

    /// The tasks of ours that are still there, each under the id that it had.
    fn tasks(&mut self, shown: &Value, found: &Value) -> Vec<Value> {
        let none = Vec::new();
        let before = shown["tasks"].as_array().unwrap_or(&none);
        let after = match &found["tasks"] {
            Value::Array(tasks) if !tasks.is_empty() => tasks,
            Value::Array(_) | Value::Null => {
                if !before.is_empty() {
                    self.reject(None, "`tasks` was removed".to_owned(), "only the plan defines tasks");
                }
                return before.clone();
            }
            _ => {
                self.reject(None, "`tasks` changed".to_owned(), "it must be a list");
                return before.clone();
            }
        };
        let ids: Vec<Option<TaskId>> = after.iter().map(|task| entry::id(&task["id"])).collect();
        let mut kept = Vec::new();
        for entry in before {
            let Some(id) = entry::id(&entry["id"]) else {
                kept.push(entry.clone());
                continue;
            };
            let mut places = (0..ids.len()).filter(|&at| ids[at].as_ref() == Some(&id));
            let (first, last) = (places.next(), places.next_back());
            if last.is_some() {
                self.reject(Some(&id), format!("{id} appears twice"), "the last one is used");
            }
            let Some(task) = last.or(first).map(|at| &after[at]) else {
                self.reject(Some(&id), format!("{id} was removed"), "only the plan defines tasks");
                kept.push(entry.clone());
                continue;
            };
            if task != entry {
                self.task(&Pair { id: id.clone(), before: entry, after: task });
            }
            let mut task = task.clone();
            if let Some(name) = task.get_mut("id") {
                name.clone_from(&entry["id"]);
            }
            kept.push(task);
        }
        for (task, id) in after.iter().zip(&ids) {
            let ours = |entry: &Value| entry == task || id.is_some() && entry::id(&entry["id"]) == *id;
            if !before.iter().any(ours) {
                let what = format!("a task {} was added", task["id"]);
                self.reject(id.as_ref(), what, "the plan has no such task");
            }
        }
        kept
    }

    fn task(&mut self, pair: &Pair) {
        let id = &pair.id;
        let said = pair.after.get("description");
        if said.is_some_and(|said| !said.is_null() && *said != pair.before["description"]) {
            self.reject(Some(id), format!("the description of {id} changed"), "only the plan defines it");
        }
        let Some(report) = self.report(pair) else { return };
        let said = pair.after.get("status").unwrap_or(&pair.before["status"]);
        let Some((word, meant)) =
            said.as_str().and_then(|word| Some((word, TaskWord::parse_lenient(word)?.word)))
        else {
            let what = format!("the status of {id} is {said}");
            return self.reject(Some(id), what, "this is not a status of a task");
        };
        let before = pair.before["status"].as_str().and_then(TaskWord::exact).unwrap_or(TaskWord::Pending);
        let cause = |otherwise: &str| match report.note.as_str() {
            "" => format!("{otherwise} in {FILE}"),
            note => note.to_owned(),
        };
        let given_up =
            TaskStatus::parse_lenient(word).is_some_and(|meant| meant.word == TaskStatus::Abandoned);
        let foreign = word.trim().to_lowercase();
        use TaskWord::{Completed, Failed, InProgress, Pending};
        let wish = match (before, meant) {
            _ if pair.before["status"] == *said => None,
            _ if foreign == "skipped" => Some(What::Skip),
            _ if foreign == "blocked" => {
                Some(What::Blocked { reason: cause("marked as blocked"), report: report.clone() })
            }
            _ if given_up => Some(What::Abandon { reason: cause("abandoned") }),
            (before, after) if before == after => None,
            (_, Pending) => Some(What::Reset),
            (Failed, InProgress) => Some(What::Retry { start: true }),
            (_, InProgress) => Some(What::Start),
            (_, Completed) => Some(What::ReportDone { report: report.clone() }),
            (_, Failed) => Some(What::Failed { reason: cause("marked as failed"), report: report.clone() }),
        };
        let tells = !matches!(
            wish,
            Some(What::Reset | What::ReportDone { .. } | What::Failed { .. } | What::Blocked { .. })
        );
        // If one edit both starts a task and reports on it, the report comes after the start.
        if let Some(wish) = wish {
            self.request(id, wish);
        }
        if tells && report != Report::default() {
            self.request(id, What::Report { report });
        }
    }

    /// What was added that a report can hold. None if a field cannot hold it.
    fn report(&mut self, pair: &Pair) -> Option<Report> {
        let id = &pair.id;
        for (name, kinds) in [
            ("files_created", "it must be a list"),
            ("files_modified", "it must be a list"),
            ("exports", "it must be a list"),
            ("patterns", "it must be a list"),
            ("notes", "it must be text"),
            ("test_results", "it must have counts: passed, failed, skipped"),
        ] {
            let said = &pair.after[name];
            let fits = match (name, said) {
                (_, Value::Null | Value::String(_)) => true,
                ("notes", _) => false,
                ("test_results", said) => *said == pair.before[name] || entry::tests(said).is_some(),
                ("exports", Value::Object(_)) => true,
                (_, said) => said.is_array(),
            };
            if !fits {
                self.reject(Some(id), format!("`{name}` of {id} changed"), kinds);
                return None;
            }
        }
        Some(news(&read_report(pair.before), &read_report(pair.after)))
    }
}
