//! What an edit of the file asks for, field by field.
//!
//! The file is compared with what Piton wrote at the file's own `piton_seq`. So an old copy holds no edits, and an
//! edited one holds only its edits. Counters and times are dropped silently, since the recipes that people and agents
//! follow count them up. A derived field that contradicts the tasks is refused, see [`super::derived`]. Fields that
//! Piton does not understand are reported.

use serde_json::{Map, Value};

use super::derived;
use super::known::{self, FILE};
use super::words::{ContextStatus, ErrorType, RunWord, TaskStatus};
use crate::chronicle::same_object;
use crate::plan::{Oid, TaskId};
use crate::run::{Command, CommitMade, ContextUpdate, ImportedError, Report};
use crate::system::edit::{self, Edit, What, changes, merge, merge_under};
use crate::system::execute::Execute;
use crate::system::kit::diff::{self, Pair};
use crate::system::kit::shape;

/// What was changed between the projection that the file was and what it is now.
pub fn edits(shown: &Value, found: &Value) -> Vec<Edit> {
    let mut listener = Listener::new();
    if !found.is_object() {
        listener.reject(None, "the file changed".to_owned(), "it must be an object");
        return listener.edits;
    }
    listener.run(shown, found);
    let before = shape::foreign(shown, &known::ROOT);
    let after = shape::foreign(found, &known::ROOT);
    merge(&mut listener.carried, changes(&before, &after));
    listener.finish()
}

/// Edits about a worktree that is Piton's own: the file keeps saying what it said before.
pub fn overruled(fields: &Value, shown: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let names = |place: &str| match place {
        "worktrees" => &["task_id", "path", "branch", "created_at", "status"][..],
        _ => &["worktree_path", "branch"],
    };
    for place in ["worktrees", "tasks"] {
        for (id, wanted) in fields[place].as_object().into_iter().flatten() {
            let is = &shown[place][id];
            if place == "worktrees" && wanted.is_null() && !is.is_null() {
                found.push(format!("`worktrees.{id}` was removed"));
            }
            for name in names(place) {
                if wanted.get(name).is_some_and(|wanted| *wanted != is[*name]) {
                    found.push(format!("`{place}.{id}.{name}` is {}", wanted[*name]));
                }
            }
        }
    }
    let why = "Piton's own worktrees cannot be changed here; `piton clean` removes them";
    found.into_iter().map(|what| (what, why.to_owned())).collect()
}

/// The commands that follow from an edit of this file; see [`edit::commands`].
pub fn commands(edit: &Edit, by: &str) -> Vec<Command> {
    edit::commands(edit, by, FILE)
}

type Listener = diff::Listener<Execute>;

/// Whether two entries of a list are one.
type Same = fn(&Value, &Value) -> bool;

impl Listener {
    fn run(&mut self, shown: &Value, found: &Value) {
        for name in ["schema_version", "prd_slug", "project_path", "worktree_dir", "tasks_path"] {
            let said = found.get(name);
            if said.is_some() && said != shown.get(name) {
                self.reject(None, format!("`{name}` changed"), "this cannot be changed here");
            }
        }
        self.status(shown, found);
        self.options(shown, found);
        self.tasks(shown, found);
        for (what, why) in derived::refused(shown, found) {
            self.reject(None, what, &why);
        }
        self.context(shown, found);
        let (before, after) = (&shown["worktrees"], &found["worktrees"]);
        if let (Value::Object(before), Value::Object(after)) = (before, after) {
            // A person who drives the run by the file keeps their own worktrees in it.
            let patch = changes(before, after);
            merge_under(&mut self.carried, "worktrees", patch);
        }
    }

    fn status(&mut self, shown: &Value, found: &Value) {
        let (before, after) = (&shown["status"], found.get("status"));
        let Some(after) = after.filter(|after| *after != before) else { return };
        match after.as_str().and_then(RunWord::parse_lenient).map(|meant| meant.word) {
            Some(RunWord::Stopped) if before != "stopped" => {
                self.edits.push(Edit { task: None, what: What::Stop });
            }
            // Derived: Piton writes it when it is true, and refuses it otherwise.
            Some(_) => {}
            None => self.reject(None, format!("`status` is {after}"), "this is not a status of a run"),
        }
    }

    fn options(&mut self, shown: &Value, found: &Value) {
        let (Some(before), Some(after)) = (shown["options"].as_object(), found["options"].as_object()) else {
            return;
        };
        for name in [
            "max_parallel",
            "layer_filter",
            "start_layer",
            "task_filter",
            "commit_prefix",
            "no_commits",
            "verbose",
            "quiet",
        ] {
            let (was, is) = (before.get(name), after.get(name));
            if is.is_some() && is != was && !(is == Some(&Value::Null) && was.is_none()) {
                let why = "it is set when the run starts";
                self.reject(None, format!("`options.{name}` changed"), why);
            }
        }
    }

    fn tasks(&mut self, shown: &Value, found: &Value) {
        let none = Map::new();
        let before = shown["tasks"].as_object().unwrap_or(&none);
        let after = found["tasks"].as_object().unwrap_or(&none);
        if after.is_empty() && !before.is_empty() {
            return self.reject(None, "`tasks` was removed".to_owned(), "only the plan defines tasks");
        }
        for (name, before) in before {
            let Ok(id) = TaskId::new(name) else { continue };
            match after.get(name) {
                Some(after) if after == before => {}
                Some(after) if after.is_object() => self.task(&Pair { id, before, after }),
                Some(_) => self.reject(Some(&id), format!("{id} changed"), "a task must be an object"),
                None => self.reject(Some(&id), format!("{id} was removed"), "only the plan defines tasks"),
            }
        }
        for name in after.keys().filter(|name| !before.contains_key(*name)) {
            let id = TaskId::new(name).ok();
            self.reject(id.as_ref(), format!("a task {name:?} was added"), "the plan has no such task");
        }
    }

    fn task(&mut self, pair: &Pair) {
        let id = &pair.id;
        let Some((report, advice)) = self.report(pair) else { return };
        let (errors, reason, defect) = new_errors(pair);
        let (was, is) = (attempts(pair.before), attempts(pair.after));
        let said = pair.after.get("status").unwrap_or(&pair.before["status"]);
        let Some(meant) = said.as_str().and_then(TaskStatus::parse_lenient) else {
            return self.reject(
                Some(id),
                format!("the status of {id} is {said}"),
                "this is not a status of a task",
            );
        };
        let before =
            pair.before["status"].as_str().and_then(TaskStatus::exact).unwrap_or(TaskStatus::Pending);
        let word = said.as_str().unwrap_or_default().trim().to_lowercase();
        let cause = |otherwise: &str| {
            let advice = Some(report.feedback.clone()).filter(|text| !text.is_empty());
            reason.clone().or(advice).unwrap_or_else(|| format!("{otherwise} in {FILE}"))
        };
        let failed = || What::Failed { reason: cause("marked as failed"), report: report.clone() };
        let blocked = || What::Blocked { reason: cause("marked as blocked"), report: report.clone() };
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
            (_, Abandoned) => Some(What::Abandon { reason: cause("abandoned") }),
            (_, Pending) => None,
        };
        let told = matches!(
            wish,
            Some(What::ReportDone { .. } | What::Failed { .. } | What::Blocked { .. } | What::Abandon { .. })
        );
        if wish.is_none() && before == meant.word && was != is && is.is_some() {
            let what = format!("`attempts` of {id} is {}", is.unwrap_or_default());
            self.reject(
                Some(id),
                what,
                "Piton counts attempts; 0 resets the task, `piton raise` allows more",
            );
        }
        let reset = matches!(wish, Some(What::Reset));
        if !reset {
            self.kept(pair);
        }
        let commits = !report.commits.is_empty() || !report.feedback.is_empty();
        // If one edit both starts a task and reports on it, the report comes after the start.
        if let Some(wish) = wish {
            self.request(id, wish);
        }
        if !told && !reset && commits {
            self.request(id, What::Report { report });
        }
        if !reset {
            // Each stays an entry of its own.
            for feedback in advice {
                self.request(id, What::Report { report: Report { feedback, ..Report::default() } });
            }
            if !errors.is_empty() {
                self.request(id, What::Errors { errors });
            }
        }
        self.workplace(pair);
    }

    /// What was added that a report can hold, which is one piece of advice, and the other pieces. `None` if a list is
    /// something else.
    fn report(&mut self, pair: &Pair) -> Option<(Report, Vec<String>)> {
        let mut report = Report::default();
        for name in ["commits", "errors", "retry_feedback"] {
            if pair.after.get(name).is_some_and(|list| !list.is_array() && !list.is_null()) {
                self.reject(Some(&pair.id), format!("`{name}` of {} changed", pair.id), "it must be a list");
                return None;
            }
        }
        for added in added(pair, "commits", same_commit) {
            match commit(added) {
                Some(made) => report.commits.push(made),
                None => {
                    let what = format!("a commit of {} is {added}", pair.id);
                    self.reject(Some(&pair.id), what, "it has no hash");
                }
            }
        }
        let mut told = added(pair, "retry_feedback", same_feedback).filter_map(feedback).map(str::to_owned);
        report.feedback = told.next().unwrap_or_default();
        Some((report, told.collect()))
    }

    /// An edit cannot remove what is recorded.
    fn kept(&mut self, pair: &Pair) {
        let lists: [(&str, Same); 3] =
            [("commits", same_commit), ("errors", same_error), ("retry_feedback", same_feedback)];
        for (name, same) in lists {
            let Some(after) = pair.after.get(name).and_then(Value::as_array) else { continue };
            let before = pair.before[name].as_array().map(Vec::as_slice).unwrap_or_default();
            if before.iter().any(|old| !after.iter().any(|new| same(old, new))) {
                let what = format!("`{name}` of {} lost an entry", pair.id);
                self.reject(Some(&pair.id), what, "recorded entries cannot be removed");
            }
        }
    }

    /// A worktree that was made for the task by hand, or removed.
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
                self.reject(None, "`context_update` is completed".to_owned(), "no commit is named");
            }
            (Some(ContextStatus::Skipped), _) => {
                update.skipped = text("reason").unwrap_or_else(|| format!("skipped in {FILE}"));
                self.edits.push(Edit { task: None, what: What::Context { update, commit: None } });
            }
            (Some(ContextStatus::Pending | ContextStatus::InProgress), _) => {}
            (None, _) => {
                let what = format!("the status of `context_update` is {said}");
                self.reject(None, what, "this is not a status of an update");
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

/// The new errors, what the newest of them says, and whether that one needs a person.
fn new_errors(pair: &Pair) -> (Vec<ImportedError>, Option<String>, bool) {
    let errors: Vec<ImportedError> = added(pair, "errors", same_error).map(edit::past_error).collect();
    let newest = errors.last().map(|error| match &error.message {
        message if message.is_empty() => error.step.clone(),
        message => message.clone(),
    });
    let defect = errors.last().is_some_and(|error| error.kind == ErrorType::TaskDefect.word());
    (errors, newest.filter(|text| !text.is_empty()), defect)
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
