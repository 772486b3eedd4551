//! What an edit of the file asks for, recipe by recipe.
//!
//! The file is compared with the projection that it was, at its own `piton_seq`. Counters and times are dropped in
//! silence, since the recipes count them up by hand and they are counted anyway. An edit of any other derived field is
//! refused with its reason, so that its author does not wait for an effect.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::each_once;
use super::file::{FILE, foreign};
use super::gates::gate_task;
use super::log::{self, Level};
use super::words::{GateSaid, RunWord, TaskWord};
use crate::plan::{AboutTask, RepoPath, TaskId};
use crate::run::{Command, ImportedError, Report};
use crate::system::Addition;
use crate::system::edit::{self, Edit, What, changes};
use crate::system::kit::diff::{self, Pair, differs, text_of};
use crate::system::kit::status::TaskStatus;
use crate::system::rwkit::Rwkit;

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
    listener.given(shown, found);
    listener.stories(shown, found);
    listener.tasks(shown, found);
    listener.gates(shown, found);
    listener.logs(shown, found);
    listener.status(shown, found);
    listener.derived(shown, found);
    listener.carried(shown, found);
    listener.finish()
}

/// The commands that follow from an edit of this file; see [`edit::commands`].
pub fn commands(edit: &Edit, by: &str) -> Vec<Command> {
    edit::commands(edit, by, FILE)
}

type Listener = diff::Listener<Rwkit>;

/// How often a task has failed, before and after. An edit may leave it out.
type Retries = (i64, Option<i64>);

impl Listener {
    /// What the run was given is not given here.
    fn given(&mut self, shown: &Value, found: &Value) {
        for name in ["version", "session_id"] {
            if differs(&shown[name], &found[name]) {
                self.reject(None, format!("`{name}` changed"), "this cannot be changed here");
            }
        }
        for name in [
            "todolist_path",
            "plan_path",
            "clarified_requirements_path",
            "analysis_report_path",
            "project_name",
            "project_path",
            "auto_answer",
        ] {
            if differs(&shown["config"][name], &found["config"][name]) {
                let why = "it is set when the run starts";
                self.reject(None, format!("`config.{name}` changed"), why);
            }
        }
    }

    /// Their figures are derived; the rest is the list's.
    fn stories(&mut self, shown: &Value, found: &Value) {
        for (id, story) in found["user_stories"].as_object().into_iter().flatten() {
            match shown["user_stories"].get(id) {
                None => {
                    self.reject(None, format!("a story {id:?} was added"), "the list has no such story");
                }
                Some(known) if differs(&known["title"], &story["title"]) => {
                    self.reject(None, format!("the title of {id} changed"), "only the list defines it");
                }
                Some(_) => {}
            }
        }
    }

    fn status(&mut self, shown: &Value, found: &Value) {
        let (before, after) = (&shown["status"], &found["status"]);
        if !differs(before, after) {
            return;
        }
        let live = before == "running" || before == "initializing";
        match after.as_str().and_then(RunWord::parse_lenient).map(|meant| meant.word) {
            Some(RunWord::Paused | RunWord::Failed) if live => {
                self.edits.push(Edit { task: None, what: What::Stop });
            }
            Some(RunWord::Running) if before == "paused" || before == "failed" => {
                self.reject(None, format!("`status` is {after}"), "`piton run` resumes it");
            }
            Some(RunWord::Completed) => {
                let why = "it is completed when every task and gate is; `piton status` shows what is left";
                self.reject(None, format!("`status` is {after}"), why);
            }
            // Derived: Piton writes it when it is true.
            Some(_) => {}
            None => self.reject(None, format!("`status` is {after}"), "this is not a status of a run"),
        }
    }

    /// What the recipes set by hand and Piton derives from the tasks: batches, rounds of the review, the resume point.
    fn derived(&mut self, shown: &Value, found: &Value) {
        if differs(&shown["qa_cycles"], &found["qa_cycles"]) {
            let why =
                "reviews are counted when they are made; `piton gate qa_review failed` asks for another";
            self.reject(None, format!("`qa_cycles` is {}", found["qa_cycles"]), why);
        }
        let (before, after) = (&shown["resume_point"], &found["resume_point"]);
        if ["batch_id", "task_id", "phase"].iter().any(|name| differs(&before[*name], &after[*name])) {
            let why = "it is the first task, or gate, that is not done; `piton resume-point` shows it";
            self.reject(None, "`resume_point` was set".to_owned(), why);
        }
        let none = Vec::new();
        let [before, after] = [shown, found].map(|file| file["batches"].as_array().unwrap_or(&none));
        for (known, batch) in before.iter().zip(after) {
            if known["batch_id"] == batch["batch_id"] && differs(&known["status"], &batch["status"]) {
                let what = format!("the batch {} is {}", batch["batch_id"], batch["status"]);
                self.reject(None, what, "its status follows from its tasks; `piton batch` shows it");
            }
        }
        for batch in after.iter().skip(before.len()) {
            let what = format!("a batch {} was added", batch["batch_id"]);
            self.reject(None, what, "batches follow from dependencies; `piton batch` shows them");
        }
    }

    fn tasks(&mut self, shown: &Value, found: &Value) {
        let none = Map::new();
        let before = shown["tasks"].as_object().unwrap_or(&none);
        let after = match &found["tasks"] {
            Value::Object(after) if !after.is_empty() || before.is_empty() => after,
            Value::Null if before.is_empty() => return,
            Value::Object(_) | Value::Null => {
                return self.reject(None, "`tasks` was removed".to_owned(), "only the list defines tasks");
            }
            _ => return self.reject(None, "`tasks` changed".to_owned(), "it must be an object"),
        };
        let retries = |name: &str| {
            let was = whole(&shown["retry_counts"][name]).unwrap_or(0);
            let counts = found["retry_counts"].as_object();
            (was, counts.map(|counts| counts.get(name).and_then(whole).unwrap_or(0)))
        };
        for (name, before) in before {
            let Ok(id) = TaskId::new(name) else { continue };
            match after.get(name) {
                Some(after) if after.is_object() => {
                    let (was, is) = retries(name);
                    if before != after || is.is_some_and(|is| is != was) {
                        let pair = Pair { id, before, after };
                        self.planned(&pair);
                        self.task(&pair, (was, is));
                    }
                }
                Some(_) => self.reject(Some(&id), format!("{id} changed"), "a task must be an object"),
                None => self.reject(Some(&id), format!("{id} was removed"), "only the list defines tasks"),
            }
        }
        let untold = Value::Null;
        for (name, after) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            let Some(id) = self.add(name, after) else { continue };
            self.task(&Pair { id, before: &untold, after }, retries(name));
        }
    }

    /// A task that is not there yet. None if it cannot be one.
    fn add(&mut self, name: &str, entry: &Value) -> Option<TaskId> {
        let what = format!("a task {name:?} was added");
        let id = match TaskId::new(name.trim()) {
            Ok(id) => id,
            Err(bad) => {
                self.reject(None, what, &format!("it cannot have this id: {bad}"));
                return None;
            }
        };
        let Some(title) = text_of(&entry["description"]) else {
            self.reject(Some(&id), what, "it has no description");
            return None;
        };
        let (mut after, mut files) = (Vec::new(), Vec::new());
        for need in texts(&entry["dependencies"]).unwrap_or_default() {
            match TaskId::new(need.trim()) {
                Ok(need) => after.push(need),
                Err(bad) => {
                    self.reject(Some(&id), what, &format!("it cannot wait for {need:?}: {bad}"));
                    return None;
                }
            }
        }
        let named = ["files_expected", "files_mentioned"].map(|name| texts(&entry[name]).unwrap_or_default());
        for file in each_once(named.into_iter().flatten()) {
            match RepoPath::new(&file) {
                Ok(file) => files.push(file),
                Err(bad) => {
                    self.reject(Some(&id), what, &format!("it cannot have the file {file:?}: {bad}"));
                    return None;
                }
            }
        }
        let [story, agent] = ["story_id", "agent"].map(|name| text_of(&entry[name]).map(str::to_owned));
        let task = Addition {
            id: id.clone(),
            title: title.to_owned(),
            description: None,
            layer: None,
            after,
            files,
            checks: None,
            about: AboutTask { story, agent, ..AboutTask::default() },
        };
        self.request(&id, What::Add { task: Box::new(task) });
        Some(id)
    }

    /// What the list says of a task is changed there.
    fn planned(&mut self, pair: &Pair) {
        for name in ["description", "agent", "story_id", "dependencies", "files_expected"] {
            if differs(&pair.before[name], &pair.after[name]) {
                self.reject(
                    Some(&pair.id),
                    format!("`{name}` of {} changed", pair.id),
                    "only the list defines it",
                );
            }
        }
    }

    fn task(&mut self, pair: &Pair, (was, is): Retries) {
        let Pair { id, before, after } = pair;
        let Some(report) = self.report(pair) else { return };
        let word_of = |entry: &Value| entry["status"].as_str().and_then(TaskWord::exact);
        let shown = word_of(before).unwrap_or(TaskWord::Pending);
        let status = &after["status"];
        let (word, meant) = match (status, status.as_str().and_then(TaskWord::parse_lenient)) {
            (Value::Null, _) => ("", shown),
            (_, Some(meant)) => (status.as_str().unwrap_or_default(), meant.word),
            (_, None) => {
                let what = format!("the status of {id} is {status}");
                return self.reject(Some(id), what, "this is not a status of a task");
            }
        };
        let known = errors(&before["error"]);
        let told = errors(&after["error"]);
        let error =
            told.last().map(|error| if error.message.is_empty() { &error.step } else { &error.message });
        let mut new = told.clone();
        new.retain(|error| !known.contains(error));
        // This file has one text for it; an edit with more than that is kept apart.
        let is_told = new.len() > 1 || after["error"].is_object() || after["error"].is_array();
        let cause = |otherwise: &str| match error {
            Some(error) => error.clone(),
            None => format!("{otherwise} in {FILE}"),
        };
        let failed = || What::Failed { reason: cause("marked as failed"), report: report.clone() };
        let done = || What::ReportDone { report: report.clone() };
        let given_up = word != "blocked"
            && TaskStatus::parse_lenient(word).is_some_and(|meant| meant.word == TaskStatus::Abandoned);
        let says_done =
            after["verification"]["agent_done"] == true && before["verification"]["agent_done"] != true;
        use TaskWord::{Blocked, Completed, Failed, InProgress, Pending, Skipped};
        let wish = match (shown, meant) {
            // A counter that was set back means a fresh start.
            (Failed, Failed) | (Blocked, Blocked) if was > 0 && is.is_some_and(|is| is <= 0) => {
                Some(What::Reset)
            }
            // Tried and failed once more.
            (Failed, Failed) if is.is_some_and(|is| is > was) => Some(failed()),
            (Pending | InProgress | Failed, same) if same == shown && says_done => Some(done()),
            (shown, same) if same == shown => None,
            (_, Pending) => Some(What::Reset),
            (_, Skipped) => Some(What::Skip),
            (_, Blocked) if given_up => Some(What::Abandon { reason: cause("abandoned") }),
            (_, Blocked) => {
                Some(What::Blocked { reason: cause("marked as blocked"), report: report.clone() })
            }
            (Blocked, InProgress) => Some(What::Retry { start: true }),
            (Blocked, Failed) => Some(What::Retry { start: false }),
            (_, InProgress) => Some(What::Start),
            (_, Completed) => Some(done()),
            (_, Failed) => Some(failed()),
        };
        // A claim of done may set all three; its checks decide.
        if !matches!(wish, Some(What::ReportDone { .. } | What::Reset)) {
            self.flags(pair);
        }
        let tells = wish.as_ref().is_some_and(|wish| wish.report().is_some());
        let reasoned =
            matches!(wish, Some(What::Failed { .. } | What::Blocked { .. } | What::Abandon { .. }));
        let reset = wish == Some(What::Reset);
        // If one edit both starts a task and reports on it, the report comes after the start.
        if let Some(wish) = wish {
            self.request(id, wish);
        }
        if !tells && !reset && report != Report::default() {
            self.request(id, What::Report { report });
        }
        match error.filter(|_| !new.is_empty() && !reset) {
            Some(_) if is_told => self.request(id, What::Errors { errors: new }),
            Some(error) if !reasoned => self.request(id, What::Noted { text: error.clone() }),
            _ => {}
        }
    }

    /// The second and the third layer are Piton's own look.
    fn flags(&mut self, pair: &Pair) {
        let id = &pair.id;
        for (name, why) in [
            ("files_exist", format!("Piton checks its files itself: `piton verify {id}`")),
            ("state_synced", "it is set when the work is proven and its box is ticked".to_owned()),
        ] {
            let [before, after] = [pair.before, pair.after].map(|entry| &entry["verification"][name]);
            if *after == true && *before != true {
                self.reject(Some(id), format!("`verification.{name}` of {id} was set"), &why);
            }
        }
    }

    /// Files that were not reported before. `None` if a field cannot hold them.
    fn report(&mut self, pair: &Pair) -> Option<Report> {
        let mut files = Vec::new();
        for name in ["files_modified", "files_mentioned"] {
            let Some(found) = texts(&pair.after[name]) else {
                let what = format!("`{name}` of {} changed", pair.id);
                self.reject(Some(&pair.id), what, "it must be a list");
                return None;
            };
            let known: HashSet<String> = texts(&pair.before[name]).unwrap_or_default().into_iter().collect();
            files.extend(found.into_iter().filter(|file| !known.contains(file)));
        }
        Some(Report { files: each_once(files), ..Report::default() })
    }

    /// A gate is a task: an edit of the gate is an edit of that task.
    fn gates(&mut self, shown: &Value, found: &Value) {
        if !matches!(found["quality_gates"], Value::Null | Value::Object(_)) {
            self.reject(None, "`quality_gates` changed".to_owned(), "it must be an object");
        }
        let mut said: Vec<(&str, &Value)> = Vec::new();
        for (name, after) in found["quality_gates"].as_object().into_iter().flatten() {
            if *after != shown["quality_gates"][name] {
                said.push((name, after));
            }
        }
        let degraded = Value::from("degraded");
        let phases = |file: &Value| texts(&file["degraded_phases"]).unwrap_or_default();
        let mut known: HashSet<String> = phases(shown).into_iter().collect();
        known.extend(said.iter().map(|(name, _)| (*name).to_owned()));
        let new: Vec<String> =
            phases(found).into_iter().filter(|phase| known.insert(phase.clone())).collect();
        said.extend(new.iter().map(|phase| (phase.as_str(), &degraded)));
        for (name, after) in said {
            self.gate(name, &shown["quality_gates"][name], after);
        }
    }

    fn gate(&mut self, name: &str, before: &Value, after: &Value) {
        let word = |value: &Value| match value {
            Value::Null => Some(GateSaid::Open),
            value => value.as_str().and_then(GateSaid::parse_lenient).map(|meant| meant.word),
        };
        let (Ok(task), Some(meant)) = (gate_task(name), word(after)) else {
            let what = format!("the gate {name:?} is {after}");
            return self.reject(None, what, "this is not a gate, or not a status of a gate");
        };
        let report = Report::default();
        let wish = match meant {
            same if Some(same) == word(before) => return,
            GateSaid::Done => What::ReportDone { report },
            GateSaid::Degraded => What::Skip,
            GateSaid::Failed => What::Failed { reason: format!("marked as failed in {FILE}"), report },
            GateSaid::Running => What::Start,
            GateSaid::Open => What::Reset,
        };
        self.request(&task, wish);
    }

    /// New lines. Missing lines were only rotated.
    fn logs(&mut self, shown: &Value, found: &Value) {
        if !matches!(found["logs"], Value::Null | Value::Array(_)) {
            return self.reject(None, "`logs` changed".to_owned(), "it must be a list");
        }
        let mut known: HashMap<String, usize> = HashMap::new();
        for line in shown["logs"].as_array().into_iter().flatten() {
            *known.entry(line.to_string()).or_default() += 1;
        }
        for line in found["logs"].as_array().into_iter().flatten() {
            if let Some(left) = known.get_mut(&line.to_string()).filter(|left| **left > 0) {
                *left -= 1;
                continue;
            }
            let level = line["level"].as_str().and_then(Level::parse_lenient).unwrap_or(Level::Info);
            match text_of(&line["message"]).or_else(|| text_of(line)) {
                Some(message) => {
                    let text = log::entry(level, message);
                    self.edits.push(Edit { task: None, what: What::Noted { text } });
                }
                None => self.reject(None, format!("a line of `logs` is {line}"), "it has no message"),
            }
        }
    }

    /// Fields of other programs. An edit of the file neither removes nor adds tasks and batches.
    fn carried(&mut self, shown: &Value, found: &Value) {
        let (before, mut after) = (foreign(shown), foreign(found));
        for name in ["tasks", "batches"] {
            let Some(Value::Object(known)) = before.get(name) else {
                if name == "batches" {
                    after.shift_remove(name);
                }
                continue;
            };
            let Value::Object(kept) = after.entry(name).or_insert_with(|| Value::Object(Map::new())) else {
                continue;
            };
            if name == "batches" {
                kept.retain(|id, _| known.contains_key(id));
            }
            let gone = |id: &str| name == "batches" || found["tasks"].get(id).is_none();
            for (id, fields) in known.iter().filter(|(id, _)| gone(id)) {
                kept.entry(id).or_insert_with(|| fields.clone());
            }
        }
        self.carried = changes(&before, &after);
    }
}

/// What a task's `error` says: a text, as the recipes write it, an object of the execute system, or several of either.
fn errors(value: &Value) -> Vec<ImportedError> {
    let all = match value {
        Value::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    let told = all.iter().map(|one| match text_of(one) {
        Some(text) => ImportedError { message: text.to_owned(), ..ImportedError::default() },
        None => edit::past_error(one),
    });
    told.filter(|error| !error.message.is_empty() || !error.step.is_empty()).collect()
}

/// A list of texts, or one text. None if it is neither.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(text_of(value).map(|_| text.trim().to_owned()).into_iter().collect()),
        Value::Array(items) => {
            let text = |item: &Value| text_of(item).map(str::to_owned);
            Some(items.iter().filter_map(text).collect())
        }
        _ => None,
    }
}

/// A count; some write it in quotes.
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}
