//! Reads any `execution-state.json`: ours, one that a model kept by hand, one that its own recipe left empty. Values
//! that can be understood are taken, with a warning where Piton had to guess. Others are rejected at their own bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::entry::{self, read_report};
use super::file::{ROOT, TaskWord};
use crate::diagnostic::Diagnostic;
use crate::plan::TaskId;
use crate::run::Report;
use crate::system::kit::fields::{Fields, Reader, get};
use crate::system::kit::foreign::{self, Understood};
use crate::system::kit::json::{Kind, Node};
use crate::system::kit::shape;
use crate::time::Timestamp;

pub type Reading = Understood<ForeignState>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignState {
    pub number: Option<u64>,
    pub title: Option<String>,
    pub branch: Option<String>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub tasks: BTreeMap<TaskId, ForeignTask>,
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
        if let Some(Value::Object(tasks)) = value.get("tasks") {
            // By id, as this file does not write them.
            let named = |(key, task): (&String, &Value)| {
                let mut task = task.clone();
                if let Value::Object(fields) = &mut task {
                    fields.entry("id").or_insert_with(|| Value::String(key.clone()));
                }
                task
            };
            value["tasks"] = Value::Array(tasks.iter().map(named).collect());
        }
        for task in value.get_mut("tasks").and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(id) = entry::id(&task["id"]) else { continue };
            task["id"] = Value::String(id.to_string());
            if !has(&id) {
                let mut orphan = task.clone();
                if let Value::Object(fields) = &mut orphan {
                    fields.entry("status").or_insert_with(|| TaskWord::Pending.word().into());
                }
                orphans.insert(id.to_string(), orphan);
            }
        }
        let mut fields = shape::foreign(&value, &ROOT);
        if !orphans.is_empty()
            && let Value::Object(tasks) = fields.entry("tasks").or_insert_with(|| Value::Object(Map::new()))
        {
            tasks.extend(orphans);
        }
        Value::Object(fields)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTask {
    pub description: String,
    pub status: TaskWord,
    /// The word as it was written: `blocked` and `skipped` say more than `failed` and `pending`.
    pub word: String,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// What it reports about the work.
    pub report: Report,
    /// Where it stands in the text.
    pub at: Range<usize>,
}

/// Read a text. Bytes become text in [`crate::system::kit::text`].
pub fn read(text: &str) -> Reading {
    foreign::read(text, |reader, fields, value| ForeignState { value, ..whole(reader, fields) })
}

fn whole(reader: &mut Reader, root: Fields) -> ForeignState {
    let issue: Fields = match get(root, "issue") {
        Some(node) => reader.object(node, "`issue`").unwrap_or(&[]),
        None => &[],
    };
    let mut state = ForeignState {
        number: reader.count(issue, "number").map(u64::from),
        title: reader.words(issue, "title"),
        branch: reader.words(issue, "branch"),
        created_at: reader.time(root, "created_at"),
        updated_at: reader.time(root, "updated_at"),
        piton_seq: foreign::piton_seq(root),
        piton_run: foreign::piton_run(root),
        ..ForeignState::default()
    };
    tasks(reader, root, &mut state);
    if let (Some(created), Some(updated), Some(node)) =
        (state.created_at, state.updated_at, get(root, "updated_at"))
        && updated < created
    {
        reader.warn(node, "the last change was before the start", "the times are kept");
    }
    state
}

fn tasks(reader: &mut Reader, root: Fields, state: &mut ForeignState) {
    let Some(node) = get(root, "tasks") else {
        let message = "there are no tasks";
        reader.problems.push(Diagnostic::warning(0..0, message).label("they are taken from the plan"));
        return;
    };
    let entries: Vec<(String, &Node)> = match &node.kind {
        Kind::List(items) => items.iter().filter_map(|item| Some((reader.id_of(item)?, item))).collect(),
        // Not what this file looks like, but what a model may make of it.
        Kind::Object(entries) => {
            reader.warn(node, "`tasks` is an object", "read by its keys");
            entries.iter().map(|(key, node)| (key.clone(), node)).collect()
        }
        _ => return reader.refuse(node, "`tasks` must be a list"),
    };
    if matches!(&node.kind, Kind::List(items) if items.is_empty()) {
        reader.warn(node, "there are no tasks", "they are taken from the plan");
    }
    let mut under_way: Option<TaskId> = None;
    for (key, node) in entries {
        let id = match TaskId::new(entry::plain(&key)) {
            Ok(id) => id,
            Err(bad) => {
                reader.refuse(node, format!("{key:?} cannot be the id of a task: {bad}"));
                continue;
            }
        };
        let Some(task) = task(reader, node, &id) else { continue };
        if task.status == TaskWord::InProgress {
            match &under_way {
                Some(other) if *other != id => {
                    let message = format!("{other} and {id} are both in progress");
                    reader.warn(node, message, "one is worked on at a time");
                }
                _ => under_way = Some(id.clone()),
            }
        }
        if state.tasks.insert(id.clone(), task).is_some() {
            reader.warn(node, format!("{id} appears twice"), "the last one is used");
        }
    }
}

fn task(reader: &mut Reader, node: &Node, id: &TaskId) -> Option<ForeignTask> {
    let fields = reader.object(node, &format!("the task {id}"))?;
    let words: Vec<&str> = TaskWord::ALL.iter().map(|known| known.word()).collect();
    let (status, word) = match get(fields, "status").map(|node| (node, &node.kind)) {
        None => (TaskWord::Pending, ""),
        Some((_, Kind::Text(word))) if word.trim().is_empty() => (TaskWord::Pending, ""),
        Some((said, Kind::Text(word))) => (
            reader.status_word(said, word, TaskWord::parse_lenient(word), TaskWord::word, &words)?,
            word.as_str(),
        ),
        Some((said, _)) => {
            reader.refuse(said, "`status` must be text");
            return None;
        }
    };
    for name in ["files_created", "files_modified", "exports", "patterns"] {
        match get(fields, name).map(|node| (node, &node.kind)) {
            None | Some((_, Kind::List(_))) => {}
            Some((_, Kind::Object(_))) if name == "exports" => {}
            Some((node, Kind::Text(_))) => {
                reader.warn(node, format!("`{name}` is one text"), "read as a list of one");
            }
            Some((node, _)) => reader.refuse(node, format!("`{name}` must be a list")),
        }
    }
    let value = node.value();
    if let Some(node) = get(fields, "test_results")
        && entry::tests(&node.value()).is_none()
        && !matches!(&node.kind, Kind::Object(counts) if counts.is_empty())
    {
        reader.warn(node, "`test_results` has no counts", "left out");
    }
    // Read only to report what is wrong with it.
    reader.words(fields, "notes");
    let task = ForeignTask {
        description: reader.words(fields, "description").unwrap_or_default(),
        status,
        word: word.to_owned(),
        started_at: reader.time(fields, "started_at"),
        completed_at: reader.time(fields, "completed_at"),
        report: read_report(&value),
        at: node.at.clone(),
    };
    if let (Some(started), Some(completed)) = (task.started_at, task.completed_at)
        && completed < started
    {
        reader.warn(node, format!("{id} was completed before it began"), "the times are kept");
    }
    Some(task)
}
