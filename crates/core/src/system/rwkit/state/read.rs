//! Reads any `rw-kit.state.json`, of any version: ours, one that a model kept by hand, one whose recipes have counted
//! below zero. Values that can be understood are taken, with a warning where Piton had to guess. Others are rejected at
//! their own bytes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde_json::{Map, Value};

use super::each_once;
use super::file::foreign;
use super::log::{self, Level};
use super::words::{GateSaid, GateWord, RunWord, TaskWord};
use crate::diagnostic::Diagnostic;
use crate::plan::TaskId;
use crate::run::{ImportedError, ImportedTask, Proof, Report, Status};
use crate::system::kit::fields::{Fields, Reader, get};
use crate::system::kit::foreign::{self, Understood};
use crate::system::kit::json::{Kind, Node};
use crate::system::kit::shape;
use crate::time::Timestamp;

/// Failures of a task after which the recipes of this system do not retry it.
const FAILURES: u32 = 4;

pub type Reading = Understood<ForeignState>;

/// What a file of an older version does not have is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignState {
    pub version: Option<String>,
    pub session_id: Option<String>,
    pub started_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub status: Option<RunWord>,
    pub todolist_path: Option<String>,
    pub plan_path: Option<String>,
    pub clarified_requirements_path: Option<String>,
    pub analysis_report_path: Option<String>,
    pub project_name: Option<String>,
    pub project_path: Option<String>,
    pub auto_answer: bool,
    /// Ids and titles in the order of the file.
    pub stories: Vec<(String, String)>,
    pub tasks: BTreeMap<TaskId, ForeignTask>,
    /// Tasks that only `blocked_tasks` and `retry_counts` name.
    pub listed: BTreeMap<TaskId, ForeignTask>,
    /// In the order of their ids, each once.
    pub batches: Vec<ForeignBatch>,
    /// Those that have ended.
    pub gates: BTreeMap<String, GateWord>,
    pub qa_cycles: u32,
    pub phase: Option<String>,
    pub logs: Vec<Log>,
    /// The position in a journal of ours that it shows.
    pub piton_seq: Option<u64>,
    /// The run whose journal that is.
    pub piton_run: Option<String>,
    /// The whole of it.
    pub value: Value,
}

impl ForeignState {
    /// What is not ours to understand, to be carried along: unknown fields, and tasks that a run does not have.
    pub fn carried(&self, has: impl Fn(&TaskId) -> bool) -> Value {
        let mut value = self.value.clone();
        let mut orphans = Map::new();
        if let Some(tasks) = value.get_mut("tasks") {
            let by_id = shape::by_id(tasks);
            for (key, entry) in by_id.iter().filter(|(key, _)| TaskId::new(key).is_ok_and(|id| !has(&id))) {
                let mut orphan = entry.clone();
                if let Value::Object(fields) = &mut orphan {
                    fields.entry("status").or_insert_with(|| TaskWord::Pending.word().into());
                }
                orphans.insert(key.clone(), orphan);
            }
            *tasks = Value::Object(by_id);
        }
        let mut fields = foreign(&value);
        if !orphans.is_empty()
            && let Value::Object(tasks) = fields.entry("tasks").or_insert_with(|| Value::Object(Map::new()))
        {
            tasks.extend(orphans);
        }
        Value::Object(fields)
    }
}

/// What is believed of a task. Git has the last word on whether it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTask {
    pub description: String,
    pub status: TaskWord,
    /// Attempts that failed.
    pub attempts: u32,
    pub agent: Option<String>,
    pub story: Option<String>,
    pub batch: Option<u32>,
    pub dependencies: Vec<String>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub error: Option<String>,
    /// The files that it names.
    pub report: Report,
    /// All three flags are set.
    pub verified: bool,
    /// Where it stands in the text.
    pub at: Range<usize>,
}

impl ForeignTask {
    /// What a run imports of it. It is completed only with a proof. Without one it is pending.
    pub fn past(&self, proof: Option<Proof>) -> ImportedTask {
        let status = match self.status {
            _ if proof.is_some() => Status::Completed,
            TaskWord::Failed => Status::Failed,
            TaskWord::Blocked => Status::Abandoned,
            TaskWord::Pending | TaskWord::InProgress | TaskWord::Completed | TaskWord::Skipped => {
                Status::Pending
            }
        };
        // The versions before the third do not count.
        let least = u32::from(matches!(status, Status::Failed | Status::Abandoned));
        let spent = self.attempts.max(least);
        let error = |message: &String| ImportedError {
            attempt: spent,
            message: message.clone(),
            ..ImportedError::default()
        };
        ImportedTask {
            spent,
            proof,
            started_at: self.started_at,
            completed_at: self.completed_at,
            errors: self.error.iter().map(error).collect(),
            ..ImportedTask::plain(status)
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignBatch {
    pub id: u32,
    pub tasks: Vec<String>,
    pub compacted: bool,
}

/// A line that was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    pub at: Option<Timestamp>,
    pub level: Level,
    pub message: String,
}

impl Log {
    /// As an entry of the journal, from which it is shown again with its level.
    pub fn entry(&self) -> String {
        log::entry(self.level, &self.message)
    }
}

/// Read a text. Bytes become text in [`crate::system::kit::text`].
pub fn read(text: &str) -> Reading {
    foreign::read(text, |reader, fields, value| ForeignState { value, ..whole(reader, fields) })
}

fn whole(reader: &mut Reader, root: Fields) -> ForeignState {
    let config = part(reader, root, "config");
    let point = part(reader, root, "resume_point");
    let mut state = ForeignState {
        version: version(reader, root),
        session_id: reader.words(root, "session_id"),
        started_at: reader.time(root, "started_at"),
        updated_at: reader.time(root, "updated_at"),
        status: run_status(reader, root),
        // From another system it may be written in its way.
        todolist_path: reader.words(config, "todolist_path").map(|path| path.replace('\\', "/")),
        plan_path: reader.words(config, "plan_path"),
        clarified_requirements_path: reader.words(config, "clarified_requirements_path"),
        analysis_report_path: reader.words(config, "analysis_report_path"),
        project_name: reader.words(config, "project_name"),
        project_path: reader.words(config, "project_path"),
        auto_answer: reader.truth(config, "auto_answer"),
        qa_cycles: reader.count(root, "qa_cycles").unwrap_or(0),
        phase: reader.words(point, "phase"),
        piton_seq: foreign::piton_seq(root),
        piton_run: foreign::piton_run(root),
        ..ForeignState::default()
    };
    for (id, node) in part(reader, root, "user_stories") {
        let Some(fields) = reader.object(node, &format!("the story {id}")) else { continue };
        let title = reader.words(fields, "title").unwrap_or_default();
        state.stories.push((id.clone(), title));
    }
    tasks(reader, root, &mut state);
    retries(reader, root, &mut state);
    blocked(reader, root, &mut state);
    state.batches = batches(reader, root);
    gates(reader, root, &mut state);
    state.logs = logs(reader, root);
    compare(reader, root, &state);
    state
}

/// The fields of an object that may not be there.
fn part<'n>(reader: &mut Reader, root: Fields<'n>, name: &str) -> Fields<'n> {
    get(root, name).and_then(|node| reader.object(node, &format!("`{name}`"))).unwrap_or(&[])
}

fn version(reader: &mut Reader, root: Fields) -> Option<String> {
    let version = reader.text(root, "version")?;
    let known = matches!(version.split('.').next(), Some("1" | "2" | "3"));
    if let (false, Some(node)) = (known, get(root, "version")) {
        let message = format!("the version {version:?} is unknown");
        reader.problems.push(Diagnostic::error(node.at.clone(), message).label("1, 2 and 3 are"));
    }
    Some(version)
}

fn run_status(reader: &mut Reader, root: Fields) -> Option<RunWord> {
    let node = get(root, "status")?;
    let Kind::Text(word) = &node.kind else {
        reader.refuse(node, "`status` must be text");
        return None;
    };
    let words = RunWord::ALL.map(RunWord::word);
    reader.status_word(node, word, RunWord::parse_lenient(word), RunWord::word, &words)
}

fn tasks(reader: &mut Reader, root: Fields, state: &mut ForeignState) {
    let began = state.status.filter(|status| *status != RunWord::Initializing);
    let Some(node) = get(root, "tasks") else {
        if let Some(status) = began {
            let message = format!("there are no tasks, yet the run is {}", status.word());
            reader.problems.push(Diagnostic::warning(0..0, message).label("they are taken from the list"));
        }
        return;
    };
    let entries: Vec<(String, &Node)> = match &node.kind {
        Kind::Object(entries) => entries.iter().map(|(key, node)| (key.clone(), node)).collect(),
        // Not what any version writes, but what a model may make of it.
        Kind::List(items) => {
            reader.warn(node, "`tasks` is a list", "read by the ids in it");
            items.iter().filter_map(|item| Some((reader.id_of(item)?, item))).collect()
        }
        _ => return reader.refuse(node, "`tasks` must be an object"),
    };
    if entries.is_empty() && began.is_some() {
        reader.warn(node, "there are no tasks, though the run began", "they are taken from the list");
    }
    for (key, node) in entries {
        let id = match TaskId::new(key.trim()) {
            Ok(id) => id,
            Err(bad) => {
                reader.refuse(node, format!("{key:?} cannot be the id of a task: {bad}"));
                continue;
            }
        };
        let Some(task) = task(reader, node, &id) else { continue };
        if state.tasks.insert(id.clone(), task).is_some() {
            reader.warn(node, format!("{id} appears twice"), "the last one is used");
        }
    }
}

fn task(reader: &mut Reader, node: &Node, id: &TaskId) -> Option<ForeignTask> {
    let fields = reader.object(node, &format!("the task {id}"))?;
    let words = TaskWord::ALL.map(TaskWord::word);
    let status = match get(fields, "status").map(|node| (node, &node.kind)) {
        None => TaskWord::Pending,
        Some((_, Kind::Text(word))) if word.trim().is_empty() => TaskWord::Pending,
        Some((said, Kind::Text(word))) => {
            reader.status_word(said, word, TaskWord::parse_lenient(word), TaskWord::word, &words)?
        }
        Some((said, _)) => {
            reader.refuse(said, "`status` must be text");
            return None;
        }
    };
    // Expected and actual ones stand in both.
    let lists = ["files_modified", "files_mentioned"].map(|name| texts(reader, fields, name));
    let files = each_once(lists.into_iter().flatten());
    let flags = part(reader, fields, "verification");
    let task = ForeignTask {
        description: reader.words(fields, "description").unwrap_or_default(),
        status,
        attempts: 0,
        agent: reader.words(fields, "agent"),
        story: reader.words(fields, "story_id"),
        batch: reader.count(fields, "batch_id"),
        dependencies: texts(reader, fields, "dependencies"),
        started_at: reader.time(fields, "started_at"),
        completed_at: reader.time(fields, "completed_at"),
        error: reader.words(fields, "error"),
        report: Report { files, ..Report::default() },
        // All three are read, so that each wrong value is reported.
        verified: ["agent_done", "files_exist", "state_synced"]
            .map(|flag| reader.truth(flags, flag))
            .iter()
            .all(|set| *set),
        at: node.at.clone(),
    };
    if let (Some(started), Some(completed)) = (task.started_at, task.completed_at)
        && completed < started
    {
        reader.warn(node, format!("{id} was completed before it began"), "the times are kept");
    }
    Some(task)
}

/// A list of texts, or one text. An id may have lost its quotes.
fn texts(reader: &mut Reader, fields: Fields, name: &str) -> Vec<String> {
    let Some(node) = get(fields, name) else { return Vec::new() };
    let items = match &node.kind {
        Kind::List(items) => items.as_slice(),
        Kind::Text(text) if text.trim().is_empty() => &[],
        Kind::Text(_) => {
            reader.warn(node, format!("`{name}` is one text"), "read as a list of one");
            std::slice::from_ref(node)
        }
        _ => {
            reader.refuse(node, format!("`{name}` must be a list"));
            &[]
        }
    };
    let mut texts = Vec::new();
    for item in items {
        match &item.kind {
            Kind::Text(text) if text.trim().is_empty() => {}
            Kind::Text(text) => texts.push(text.trim().to_owned()),
            Kind::Number(number) if !number.is_f64() => {
                reader.warn(item, format!("`{name}` has a number in it"), "read as text");
                texts.push(number.to_string());
            }
            Kind::Null => {}
            _ => reader.refuse(item, format!("`{name}` must hold texts")),
        }
    }
    texts
}

/// A task that is only named somewhere.
fn named(status: TaskWord, at: &Range<usize>) -> ForeignTask {
    ForeignTask {
        description: String::new(),
        status,
        attempts: 0,
        agent: None,
        story: None,
        batch: None,
        dependencies: Vec::new(),
        started_at: None,
        completed_at: None,
        error: None,
        report: Report::default(),
        verified: false,
        at: at.clone(),
    }
}

fn retries(reader: &mut Reader, root: Fields, state: &mut ForeignState) {
    for entry in part(reader, root, "retry_counts") {
        let (name, node) = entry;
        let Some(attempts) = reader.count(std::slice::from_ref(entry), name) else { continue };
        let Ok(id) = TaskId::new(name.trim()) else {
            reader.warn(node, format!("`retry_counts` names {name:?}, which is not an id"), "left out");
            continue;
        };
        if attempts > FAILURES {
            let message = format!("{id} failed {attempts} times; after {FAILURES} a task is blocked");
            reader.warn(node, message, "all of them count");
        }
        let task = match state.tasks.get_mut(&id) {
            Some(task) => task,
            None => state.listed.entry(id).or_insert_with(|| named(TaskWord::Failed, &node.at)),
        };
        task.attempts = attempts;
    }
}

fn blocked(reader: &mut Reader, root: Fields, state: &mut ForeignState) {
    let Some(node) = get(root, "blocked_tasks") else { return };
    let names = texts(reader, root, "blocked_tasks");
    let counted = state.tasks.values().filter(|task| task.status == TaskWord::Blocked).count();
    let mut known = 0;
    for name in names {
        match TaskId::new(&name) {
            Ok(id) if state.tasks.contains_key(&id) => known += 1,
            Ok(id) => {
                let task = state.listed.entry(id).or_insert_with(|| named(TaskWord::Blocked, &node.at));
                task.status = TaskWord::Blocked;
            }
            Err(_) => {
                reader.warn(node, format!("`blocked_tasks` names {name:?}, which is not an id"), "left out");
            }
        }
    }
    if known != counted {
        let message = format!("`blocked_tasks` lists {known} of the tasks; {counted} are");
        reader.warn(node, message, "counted again");
    }
}

/// By their ids, wherever they stand.
fn batches(reader: &mut Reader, root: Fields) -> Vec<ForeignBatch> {
    let mut found: BTreeMap<u32, ForeignBatch> = BTreeMap::new();
    for (place, node) in (0..).zip(reader.list(root, "batches")) {
        let Some(fields) = reader.object(node, "a batch") else { continue };
        let id = reader.count(fields, "batch_id").unwrap_or(place);
        let tasks = texts(reader, fields, "task_ids");
        let compacted = reader.truth(fields, "compacted");
        match found.entry(id) {
            Entry::Vacant(place) => {
                place.insert(ForeignBatch { id, tasks, compacted });
            }
            Entry::Occupied(_) => {
                reader.warn(node, format!("batch {id} appears twice"), "the first one is used");
            }
        }
    }
    found.into_values().collect()
}

fn gates(reader: &mut Reader, root: Fields, state: &mut ForeignState) {
    const KNOWN: &str = "one of passed, degraded, approved";
    for (name, node) in part(reader, root, "quality_gates") {
        let word = match &node.kind {
            Kind::Null => continue,
            Kind::Text(word) => word,
            _ => {
                reader.refuse(node, format!("the gate {name} must be text, or null"));
                continue;
            }
        };
        let Some(meant) = GateSaid::parse_lenient(word) else {
            let message = format!("{word:?} is not a status of a gate");
            reader.problems.push(Diagnostic::error(node.at.clone(), message).label(KNOWN));
            continue;
        };
        let ended = match meant.word {
            GateSaid::Done => Some(GateWord::done(name)),
            GateSaid::Degraded => Some(GateWord::Degraded),
            GateSaid::Failed | GateSaid::Running | GateSaid::Open => None,
        };
        if !meant.exact {
            let label = format!("read as {}", ended.map_or("not passed yet", GateWord::word));
            reader.warn(node, format!("{word:?} is not a status of a gate in this file"), &label);
        }
        state.gates.extend(ended.map(|ended| (name.clone(), ended)));
    }
    for phase in texts(reader, root, "degraded_phases") {
        state.gates.entry(phase).or_insert(GateWord::Degraded);
    }
}

fn logs(reader: &mut Reader, root: Fields) -> Vec<Log> {
    let mut logs = Vec::new();
    for node in reader.list(root, "logs") {
        match &node.kind {
            Kind::Text(message) => {
                logs.push(Log { at: None, level: Level::Info, message: message.clone() });
            }
            Kind::Object(fields) => {
                let word = reader.words(fields, "level");
                let level = word.as_deref().map_or(Some(Level::Info), Level::parse_lenient);
                if let (None, Some(node)) = (level, get(fields, "level")) {
                    reader.warn(node, "this is not a log level", "read as info");
                }
                logs.push(Log {
                    at: reader.time(fields, "timestamp"),
                    level: level.unwrap_or(Level::Info),
                    message: reader.words(fields, "message").unwrap_or_default(),
                });
            }
            _ => reader.warn(node, "this is not a log line", "left out"),
        }
    }
    logs
}

/// What the file counts for itself, held against a recount.
fn compare(reader: &mut Reader, root: Fields, state: &ForeignState) {
    let number = |word| state.tasks.values().filter(|task| task.status == word).count();
    let completed = number(TaskWord::Completed);
    let verified =
        state.tasks.values().filter(|task| task.status == TaskWord::Completed && task.verified).count();
    let progress = part(reader, root, "progress");
    for (name, counted) in [
        ("total_tasks", state.tasks.len()),
        ("completed", completed),
        ("in_progress", number(TaskWord::InProgress)),
        ("pending", number(TaskWord::Pending)),
        ("failed", number(TaskWord::Failed)),
        ("verified", verified),
        ("blocked", number(TaskWord::Blocked)),
        ("skipped", number(TaskWord::Skipped)),
    ] {
        recount(reader, progress, name, counted);
    }
    let mut stories: HashMap<&str, (usize, usize)> = HashMap::new();
    for task in state.tasks.values() {
        let (total, done) = stories.entry(task.story.as_deref().unwrap_or_default()).or_default();
        *total += 1;
        *done += usize::from(task.status == TaskWord::Completed);
    }
    // What is not a story was reported where stories were read.
    let told = get(root, "user_stories").and_then(Node::entries).unwrap_or_default();
    for (id, node) in told {
        let Kind::Object(fields) = &node.kind else { continue };
        let (total, done) = stories.get(id.as_str()).copied().unwrap_or_default();
        recount(reader, fields, "total_tasks", total);
        recount(reader, fields, "completed_tasks", done);
    }
    let is_open = |task: &&ForeignTask| {
        matches!(task.status, TaskWord::Pending | TaskWord::InProgress | TaskWord::Failed)
    };
    let open = state.tasks.values().filter(is_open).count();
    if let (Some(RunWord::Completed), 1.., Some(node)) = (state.status, open, get(root, "status")) {
        let message = format!("the run is completed, but {open} of its tasks are not");
        reader.warn(node, message, "the tasks count");
    }
    if let (Some(started), Some(updated), Some(node)) =
        (state.started_at, state.updated_at, get(root, "updated_at"))
        && updated < started
    {
        reader.warn(node, "the last change was before the start", "the times are kept");
    }
}

fn recount(reader: &mut Reader, fields: Fields, name: &str, counted: usize) {
    let Some(node) = get(fields, name) else { return };
    let said = match &node.kind {
        Kind::Number(number) => number.as_i64(),
        Kind::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    if said != i64::try_from(counted).ok() {
        let said = said.map_or_else(|| node.name().to_owned(), |said| said.to_string());
        reader.warn(node, format!("`{name}` is {said}; counted, it is {counted}"), "counted again");
    }
}
