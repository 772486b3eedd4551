//! What somebody changed in the file, field by field, as what they want.
//!
//! The file is compared with the projection that it was, at its own `piton_seq`: so a copy that is old holds no edits,
//! and one that was edited holds only these. What is derived is dropped in silence, since the recipes that people and
//! agents follow count up counters and move ids between lists. What nobody here understands is said to be so.

use serde_json::{Map, Value};

use super::known::{self, FILE};
use super::words::{ContextStatus, ErrorType, RunWord, TaskStatus};
use crate::dialect::chronicle::same_object;
use crate::dialect::edit::{self, Edit, What, changes, merge, merge_under};
use crate::dialect::shape;
use crate::plan::{Oid, TaskId};
use crate::run::{Command, CommitMade, ContextUpdate, Report};

/// What was changed between the projection that the file was and what it is now.
pub fn edits(shown: &Value, found: &Value) -> Vec<Edit> {
    let mut listener = Listener { edits: Vec::new(), carried: Map::new() };
    if !found.is_object() {
        listener.nonsense(None, "the file changed".to_owned(), "it must be an object");
        return listener.edits;
    }
    listener.run(shown, found);
    let before = shape::foreign(shown, &known::ROOT);
    let after = shape::foreign(found, &known::ROOT);
    merge(&mut listener.carried, changes(&before, &after));
    if !listener.carried.is_empty() {
        let fields = Value::Object(listener.carried);
        listener.edits.push(Edit { task: None, what: What::Carried { fields } });
    }
    listener.edits
}

/// The commands that an edit of this file comes to; see [`edit::commands`].
pub fn commands(edit: &Edit, by: &str) -> Vec<Command> {
    edit::commands(edit, by, FILE)
}

struct Listener {
    edits: Vec<Edit>,
    carried: Map<String, Value>,
}

/// Whether two entries of a list are one.
type Same = fn(&Value, &Value) -> bool;

/// One task before and after.
struct Pair<'v> {
    id: TaskId,
    before: &'v Value,
    after: &'v Value,
}

impl Listener {
    fn nonsense(&mut self, task: Option<&TaskId>, what: String, why: &str) {
        let what = What::Nonsense { what, why: why.to_owned() };
        self.edits.push(Edit { task: task.cloned(), what });
    }

    fn wish(&mut self, task: &TaskId, what: What) {
        self.edits.push(Edit { task: Some(task.clone()), what });
    }

    fn run(&mut self, shown: &Value, found: &Value) {
        for name in ["schema_version", "prd_slug", "project_path", "worktree_dir", "tasks_path"] {
            let said = found.get(name);
            if said.is_some() && said != shown.get(name) {
                self.nonsense(None, format!("`{name}` changed"), "this is not changed here");
            }
        }
        self.status(shown, found);
        self.options(shown, found);
        self.tasks(shown, found);
        self.context(shown, found);
        let (before, after) = (&shown["worktrees"], &found["worktrees"]);
        if let (Value::Object(before), Value::Object(after)) = (before, after) {
            // Whoever drives by the file keeps worktrees of their own in it.
            let patch = changes(before, &without_removals(before, after));
            merge_under(&mut self.carried, "worktrees", patch);
        }
    }

    fn status(&mut self, shown: &Value, found: &Value) {
        let (before, after) = (&shown["status"], found.get("status"));
        let Some(after) = after.filter(|after| *after != before) else { return };
        match after.as_str().and_then(RunWord::meant).map(|meant| meant.word) {
            Some(RunWord::Stopped) if before != "stopped" => {
                self.edits.push(Edit { task: None, what: What::Stop });
            }
            // Derived: it says so by itself when it is so.
            Some(_) => {}
            None => self.nonsense(None, format!("`status` is {after}"), "this is no status of a run"),
        }
    }

    fn options(&mut self, shown: &Value, found: &Value) {
        let (Some(before), Some(after)) = (shown["options"].as_object(), found["options"].as_object()) else {
            return;
        };
        for name in
            ["max_parallel", "layer_filter", "start_layer", "task_filter", "commit_prefix", "no_commits"]
        {
            let (was, is) = (before.get(name), after.get(name));
            if is.is_some() && is != was && !(is == Some(&Value::Null) && was.is_none()) {
                let why = "it is given when the run is started";
                self.nonsense(None, format!("`options.{name}` changed"), why);
            }
        }
    }

    fn tasks(&mut self, shown: &Value, found: &Value) {
        let none = Map::new();
        let before = shown["tasks"].as_object().unwrap_or(&none);
        let after = found["tasks"].as_object().unwrap_or(&none);
        if after.is_empty() && !before.is_empty() {
            return self.nonsense(None, "`tasks` is gone".to_owned(), "tasks are the plan's");
        }
        for (name, before) in before {
            let Ok(id) = TaskId::new(name) else { continue };
            match after.get(name) {
                Some(after) if after == before => {}
                Some(after) if after.is_object() => self.task(&Pair { id, before, after }),
                Some(_) => self.nonsense(Some(&id), format!("{id} changed"), "a task must be an object"),
                None => self.nonsense(Some(&id), format!("{id} is gone"), "tasks are the plan's"),
            }
        }
        for name in after.keys().filter(|name| !before.contains_key(*name)) {
            let id = TaskId::new(name).ok();
            self.nonsense(id.as_ref(), format!("a task {name:?} was added"), "the plan has no such task");
        }
    }

    fn task(&mut self, pair: &Pair) {
        let id = &pair.id;
        let Some(report) = self.report(pair) else { return };
        let (errors, reason, defect) = new_errors(pair);
        let (was, is) = (attempts(pair.before), attempts(pair.after));
        let said = pair.after.get("status").unwrap_or(&pair.before["status"]);
        let Some(meant) = said.as_str().and_then(TaskStatus::meant) else {
            return self.nonsense(
                Some(id),
                format!("the status of {id} is {said}"),
                "this is no status of a task",
            );
        };
        let before =
            pair.before["status"].as_str().and_then(TaskStatus::exact).unwrap_or(TaskStatus::Pending);
        let word = said.as_str().unwrap_or_default().trim().to_lowercase();
        let cause = |otherwise: &str| {
            let advice = Some(report.feedback.clone()).filter(|text| !text.is_empty());
            reason.clone().or(advice).unwrap_or_else(|| format!("{otherwise} in {FILE}"))
        };
        let failed = || What::Failed { reason: cause("said to have failed"), report: report.clone() };
        let blocked = || What::Blocked { reason: cause("said to be blocked"), report: report.clone() };
        use TaskStatus::{Abandoned, Completed, Failed, InProgress, Merging, Pending, Verified, Verifying};
        let done = |status| match status {
            Verifying => 1,
            Verified => 2,
            Merging => 3,
            Completed => 4,
            _ => 0,
        };
        let zeroed = was > Some(0) && is == Some(0);
        let wish = match (before, meant.word) {
            _ if word == "skipped" => Some(What::Skip),
            (_, Failed) if word == "blocked" => Some(blocked()),
            (before, Pending) if before != Pending => Some(What::Reset),
            (before, after) if before == after && zeroed => Some(What::Reset),
            // Tried and failed once more.
            (Failed, Failed) if !errors.is_empty() && is > was => Some(failed()),
            (before, after) if before == after => None,
            (Abandoned, Failed) => Some(What::Retry { start: false }),
            (Abandoned, InProgress) => Some(What::Retry { start: true }),
            (_, InProgress) => Some(What::Start),
            // A driver by the book goes through all these words, whatever the checks have said in the meantime.
            (before, after) if done(after) > 0 && done(after) <= done(before) => None,
            (_, Verifying | Verified | Merging | Completed) => {
                Some(What::ReportDone { report: report.clone() })
            }
            (_, Failed) if defect => Some(blocked()),
            (_, Failed) => Some(failed()),
            (_, Abandoned) => Some(What::Abandon { reason: cause("given up") }),
            (_, Pending) => None,
        };
        let told = matches!(
            wish,
            Some(What::ReportDone { .. } | What::Failed { .. } | What::Blocked { .. } | What::Abandon { .. })
        );
        let reset = matches!(wish, Some(What::Reset));
        if !reset {
            self.kept(pair);
        }
        let begins = matches!(wish, Some(What::Start | What::Retry { .. }));
        let commits = !report.commits.is_empty() || !report.feedback.is_empty();
        // Who starts and tells at once tells after the start.
        if let Some(wish) = wish {
            self.wish(id, wish);
        }
        if !told && !reset && commits {
            self.wish(id, What::Told { report });
        }
        if (!told || begins) && !reset {
            errors.into_iter().for_each(|text| self.wish(id, What::Noted { text }));
        }
        self.workplace(pair);
    }

    /// What was added that a report can hold. None if a list is no list.
    fn report(&mut self, pair: &Pair) -> Option<Report> {
        let mut report = Report::default();
        for name in ["commits", "errors", "retry_feedback"] {
            if pair.after.get(name).is_some_and(|list| !list.is_array() && !list.is_null()) {
                self.nonsense(
                    Some(&pair.id),
                    format!("`{name}` of {} changed", pair.id),
                    "it must be a list",
                );
                return None;
            }
        }
        for added in added(pair, "commits", same_commit) {
            match commit(added) {
                Some(made) => report.commits.push(made),
                None => {
                    let what = format!("a commit of {} is {added}", pair.id);
                    self.nonsense(Some(&pair.id), what, "it has no hash");
                }
            }
        }
        let told: Vec<&str> = added(pair, "retry_feedback", same_feedback).filter_map(feedback).collect();
        report.feedback = told.join("\n");
        Some(report)
    }

    /// What is recorded is not taken away.
    fn kept(&mut self, pair: &Pair) {
        let lists: [(&str, Same); 3] =
            [("commits", same_commit), ("errors", same_error), ("retry_feedback", same_feedback)];
        for (name, same) in lists {
            let Some(after) = pair.after.get(name).and_then(Value::as_array) else { continue };
            let before = pair.before[name].as_array().map(Vec::as_slice).unwrap_or_default();
            if before.iter().any(|old| !after.iter().any(|new| same(old, new))) {
                let what = format!("`{name}` of {} lost an entry", pair.id);
                self.nonsense(Some(&pair.id), what, "what is recorded stays");
            }
        }
    }

    /// A worktree that somebody else made for the task, or took away.
    fn workplace(&mut self, pair: &Pair) {
        let mut fields = Map::new();
        for name in ["worktree_path", "branch"] {
            if let Some(after) = pair.after.get(name).filter(|after| **after != pair.before[name]) {
                fields.insert(name.to_owned(), after.clone());
            }
        }
        let mut task = Map::new();
        merge_under(&mut task, pair.id.as_str(), fields);
        merge_under(&mut self.carried, "tasks", task);
    }

    fn context(&mut self, shown: &Value, found: &Value) {
        let (before, after) = (&shown["context_update"], &found["context_update"]);
        let said = &after["status"];
        if said.is_null() || said == &before["status"] {
            return;
        }
        let status = said.as_str().and_then(ContextStatus::exact);
        let text = |name: &str| after[name].as_str().map(str::to_owned);
        let names = |name: &str| {
            let names = after[name].as_array().map(Vec::as_slice).unwrap_or_default();
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let hash = text("commit_hash");
        let mut update = ContextUpdate {
            path: text("project_md_path"),
            features: names("features_added"),
            endpoints: names("endpoints_added"),
            models: names("models_added"),
            commit: None,
            skipped: String::new(),
            warnings: Vec::new(),
        };
        match (status, hash) {
            (Some(ContextStatus::Completed), Some(hash)) => {
                update.commit = Oid::new(&hash).ok();
                let what = What::Context { update, commit: Some(hash) };
                self.edits.push(Edit { task: None, what });
            }
            (Some(ContextStatus::Completed), None) => {
                self.nonsense(None, "`context_update` is completed".to_owned(), "no commit is named");
            }
            (Some(ContextStatus::Skipped), _) => {
                update.skipped = text("reason").unwrap_or_else(|| format!("skipped in {FILE}"));
                self.edits.push(Edit { task: None, what: What::Context { update, commit: None } });
            }
            (Some(ContextStatus::Pending | ContextStatus::InProgress), _) => {}
            (None, _) => {
                let what = format!("the status of `context_update` is {said}");
                self.nonsense(None, what, "this is no status of an update");
            }
        }
    }
}

fn attempts(task: &Value) -> Option<i64> {
    match task.get("attempts")? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// What the new errors say, the newest of them, and whether that one needs a person.
fn new_errors(pair: &Pair) -> (Vec<String>, Option<String>, bool) {
    let new: Vec<&Value> = added(pair, "errors", same_error).collect();
    let says = |error: &&Value| {
        let message = error["message"].as_str().or(error.as_str()).unwrap_or_default();
        let step = error["step"].as_str().unwrap_or_default();
        let details = error["details"].as_str().unwrap_or_default();
        let parts: Vec<&str> = [step, message, details].into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(": ")
    };
    let newest = new.last().map(|error| match error["message"].as_str().or(error.as_str()) {
        Some(message) => message.to_owned(),
        None => says(error),
    });
    let defect = new.last().is_some_and(|error| error["type"] == ErrorType::TaskDefect.word());
    (new.iter().map(says).collect(), newest.filter(|text| !text.is_empty()), defect)
}

/// Entries of a list of the task that were not there before.
fn added<'v>(pair: &Pair<'v>, name: &str, same: Same) -> impl Iterator<Item = &'v Value> + use<'v> {
    let before = pair.before[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let after = pair.after[name].as_array().map(Vec::as_slice).unwrap_or_default();
    after.iter().filter(move |new| !before.iter().any(|old| same(old, new)))
}

fn commit(entry: &Value) -> Option<CommitMade> {
    let text = |name: &str| entry[name].as_str().map(|text| text.trim().to_owned());
    let made = match entry {
        Value::String(line) => {
            let (hash, subject) = line.split_once([':', ' ']).unwrap_or((line, ""));
            CommitMade { hash: hash.trim().to_owned(), subject: subject.trim().to_owned() }
        }
        _ => CommitMade {
            hash: text("hash").or_else(|| text("sha"))?,
            subject: text("message").unwrap_or_default(),
        },
    };
    Some(made).filter(|made| !made.hash.is_empty())
}

fn same_commit(old: &Value, new: &Value) -> bool {
    match (commit(old), commit(new)) {
        (Some(old), Some(new)) => same_object(&old.hash, &new.hash),
        _ => old == new,
    }
}

fn feedback(entry: &Value) -> Option<&str> {
    entry["feedback"].as_str().or(entry.as_str()).filter(|text| !text.trim().is_empty())
}

fn same_feedback(old: &Value, new: &Value) -> bool {
    feedback(old) == feedback(new) && (new.is_string() || old["attempt"] == new["attempt"])
}

fn same_error(old: &Value, new: &Value) -> bool {
    old["message"] == new["message"]
        && old["attempt"] == new["attempt"]
        && old["timestamp"] == new["timestamp"]
}

/// Entries that are gone are derived ones, most of the time: nobody wishes them away.
fn without_removals(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let gone = before.iter().filter(|(key, _)| !after.contains_key(*key));
    after.iter().chain(gone).map(|(key, value)| (key.clone(), value.clone())).collect()
}
