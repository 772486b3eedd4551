//! Reads any `state.json`, of either mode and of the layout before it: ours, or one that a model kept by hand. Values
//! that can be understood are taken, with a warning where Piton had to guess. Others are rejected at their own bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::file::ROOT;
use super::words::{PhaseWord, UnitWord, waits};
use crate::diagnostic::Diagnostic;
use crate::plan::{Mode, TaskId};
use crate::run::{CommitMade, ImportedError, ImportedTask, Proof, Status};
use crate::system::iterative::rebuild::Claim;
use crate::system::kit::fields::{Fields, Reader, get};
use crate::system::kit::foreign::{self, Understood};
use crate::system::kit::json::{Kind, Node};
use crate::system::kit::shape;
use crate::time::Timestamp;

/// The keys that hold units, each of its mode.
pub(super) const UNITS: [&str; 2] = ["tasks", "phases"];

pub type Reading = Understood<ForeignState>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignState {
    /// What the work is called; `feature` in an older layout.
    pub task: Option<String>,
    pub slug: Option<String>,
    pub mode: Option<Mode>,
    pub domain: Option<String>,
    pub created: Option<Timestamp>,
    pub updated: Option<Timestamp>,
    pub phase: Option<PhaseWord>,
    pub current: Option<String>,
    pub units: BTreeMap<TaskId, ForeignUnit>,
    /// As they are listed. The file does not say to which unit each belongs.
    pub commits: Vec<CommitMade>,
    /// The position in a journal of ours that it shows.
    pub piton_seq: Option<u64>,
    /// The run whose journal that is.
    pub piton_run: Option<String>,
    /// The whole of it.
    pub value: Value,
}

impl ForeignState {
    /// What is carried along: unknown fields, units that a run does not have, the commits, and a phase that the run
    /// cannot know.
    pub fn carried(&self, has: impl Fn(&TaskId) -> bool) -> Value {
        let mut value = self.value.clone();
        // There these are what others are called here.
        let is_older = value.get("feature").is_some();
        let mut orphans: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
        for name in UNITS {
            let Some(units) = value.get_mut(name) else { continue };
            let mut by_id = shape::by_id(units);
            for (key, entry) in &mut by_id {
                let Value::Object(fields) = entry else { continue };
                if is_older {
                    fields.shift_remove("iterations");
                }
                if TaskId::new(key).is_ok_and(|id| !has(&id)) {
                    let mut orphan = fields.clone();
                    orphan.entry("status").or_insert_with(|| UnitWord::Pending.word().into());
                    orphans.entry(name).or_default().insert(key.clone(), Value::Object(orphan));
                }
            }
            *units = Value::Object(by_id);
        }
        let mut fields = shape::foreign(&value, &ROOT);
        if is_older {
            ["feature", "iterations", "iteration"].iter().for_each(|name| drop(fields.shift_remove(*name)));
        }
        for (name, orphans) in orphans {
            if let Value::Object(units) = fields.entry(name).or_insert_with(|| Value::Object(Map::new())) {
                units.extend(orphans);
            }
        }
        if !self.commits.is_empty() {
            fields.insert("commits".to_owned(), self.commits.iter().map(line).collect());
        }
        if let Some(phase @ (PhaseWord::Discover | PhaseWord::Complete)) = self.phase {
            fields.insert("phase".to_owned(), phase.word().into());
        }
        Value::Object(fields)
    }
}

/// What is believed of a unit. Git has the last word on whether it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignUnit {
    pub status: UnitWord,
    /// The word as it was written: `skipped` says more than `pending`.
    pub word: String,
    pub reason: Option<String>,
    pub iterations: u32,
    pub confirmations: u32,
    pub verified: bool,
    pub limit: Option<u32>,
    pub completed_at: Option<Timestamp>,
    /// Where it stands in the text.
    pub at: Range<usize>,
}

impl ForeignUnit {
    /// Why a person is needed, if one is: a take-over reports the unit as blocked.
    pub fn blocker(&self) -> Option<&str> {
        let is_blocked = self.status == UnitWord::Blocked;
        is_blocked.then(|| self.reason.as_deref().unwrap_or("blocked, without a reason"))
    }

    /// What is compared with the log and with git.
    pub fn claim(&self) -> Claim {
        Claim { status: self.status.status(), iterations: self.iterations }
    }

    /// What a run imports of it. It is done only with a proof. Without one it is pending, and an iteration that was in
    /// progress is done again.
    pub fn past(&self, proof: Option<Proof>) -> ImportedTask {
        let (status, spent) = match self.status {
            _ if proof.is_some() => (Status::Completed, self.iterations.saturating_sub(1)),
            UnitWord::Timeout => (Status::Abandoned, self.iterations.max(1)),
            _ => match self.iterations.saturating_sub(1) {
                0 => (Status::Pending, 0),
                spent => (Status::Failed, spent),
            },
        };
        let reason = self.reason.as_ref().filter(|_| status == Status::Abandoned);
        let error = |message: &String| ImportedError {
            attempt: spent,
            message: message.clone(),
            ..ImportedError::default()
        };
        ImportedTask {
            spent,
            confirmations: self.confirmations,
            proof,
            completed_at: self.completed_at,
            errors: reason.map(error).into_iter().collect(),
            ..ImportedTask::plain(status)
        }
    }
}

/// Read a text. Bytes become text in [`crate::system::kit::text`].
pub fn read(text: &str) -> Reading {
    foreign::read(text, |reader, fields, value| ForeignState { value, ..whole(reader, fields) })
}

fn whole(reader: &mut Reader, root: Fields) -> ForeignState {
    let task = reader.words(root, "task");
    let mut state = ForeignState {
        task: task.or_else(|| reader.words(root, "feature")),
        slug: reader.words(root, "slug"),
        mode: mode(reader, root),
        domain: reader.words(root, "domain"),
        created: reader.time(root, "created"),
        updated: reader.time(root, "updated"),
        phase: phase(reader, root),
        piton_seq: foreign::piton_seq(root),
        piton_run: foreign::piton_run(root),
        ..ForeignState::default()
    };
    let current = ["current_task", "current_phase"].map(|name| reader.words(root, name));
    state.current = current.into_iter().flatten().next();
    // Read only to report what is wrong with it.
    reader.count(root, "current_iteration");
    units(reader, root, &mut state);
    state.commits = commits(reader, root);
    compare(reader, root, &state);
    state
}

fn mode(reader: &mut Reader, root: Fields) -> Option<Mode> {
    let node = get(root, "mode")?;
    let word = reader.words(root, "mode")?;
    let mode = Mode::read(&word);
    if mode.is_none() {
        let message = format!("the mode {word:?} is unknown");
        reader.problems.push(Diagnostic::error(node.at.clone(), message).label("development or knowledge"));
    }
    mode
}

fn phase(reader: &mut Reader, root: Fields) -> Option<PhaseWord> {
    let node = get(root, "phase")?;
    let word = reader.words(root, "phase")?;
    let words = PhaseWord::ALL.map(PhaseWord::word);
    reader.status_word(node, &word, PhaseWord::parse_lenient(&word), PhaseWord::word, &words)
}

fn units(reader: &mut Reader, root: Fields, state: &mut ForeignState) {
    let began = state.phase.is_some_and(|phase| !matches!(phase, PhaseWord::Discover | PhaseWord::Plan));
    let mut under_way: Option<TaskId> = None;
    let mut any = false;
    for name in UNITS {
        let Some(node) = get(root, name) else { continue };
        let entries: Vec<(String, &Node)> = match &node.kind {
            Kind::Object(entries) => entries.iter().map(|(key, node)| (key.clone(), node)).collect(),
            // Not what this file looks like, but what a model may make of it.
            Kind::List(items) => {
                if !items.is_empty() {
                    reader.warn(node, format!("`{name}` is a list"), "read by the ids in it");
                }
                items.iter().filter_map(|item| Some((reader.id_of(item)?, item))).collect()
            }
            _ => {
                reader.refuse(node, format!("`{name}` must be an object"));
                any = true;
                continue;
            }
        };
        any |= !entries.is_empty();
        for (key, node) in entries {
            let id = match TaskId::new(key.trim()) {
                Ok(id) => id,
                Err(bad) => {
                    reader.refuse(node, format!("{key:?} cannot be the id of a unit: {bad}"));
                    continue;
                }
            };
            let Some(unit) = unit(reader, node, &id) else { continue };
            if unit.status.is_under_way() {
                match &under_way {
                    Some(other) if *other != id => {
                        let message = format!("{other} and {id} are both under way");
                        reader.warn(node, message, "one is worked on at a time");
                    }
                    _ => under_way = Some(id.clone()),
                }
            }
            if state.units.insert(id.clone(), unit).is_some() {
                reader.warn(node, format!("{id} appears twice"), "the last one is used");
            }
        }
    }
    if !any && began {
        let message = "there are no units, though the work began";
        reader.problems.push(Diagnostic::warning(0..0, message).label("they are taken from the list"));
    }
}

fn unit(reader: &mut Reader, node: &Node, id: &TaskId) -> Option<ForeignUnit> {
    let fields = reader.object(node, &format!("the unit {id}"))?;
    let words = UnitWord::ALL.map(UnitWord::word);
    let (mut status, word) = match get(fields, "status").map(|node| (node, &node.kind)) {
        None => (UnitWord::Pending, ""),
        Some((_, Kind::Text(word))) if word.trim().is_empty() => (UnitWord::Pending, ""),
        Some((said, Kind::Text(word))) => (
            reader.status_word(said, word, UnitWord::parse_lenient(word), UnitWord::word, &words)?,
            word.as_str(),
        ),
        Some((said, _)) => {
            reader.refuse(said, "`status` must be text");
            return None;
        }
    };
    let reason = reader.words(fields, "reason");
    // It waits for its turn like others.
    if status == UnitWord::Blocked && reason.as_deref().is_some_and(waits) {
        status = UnitWord::Pending;
    }
    let iterations = reader.count(fields, "iterations_used");
    let unit = ForeignUnit {
        status,
        word: word.to_owned(),
        reason,
        iterations: iterations.or_else(|| older_count(reader, fields)).unwrap_or(0),
        confirmations: reader.count(fields, "confirmations_used").unwrap_or(0),
        verified: reader.truth(fields, "verification_passed"),
        limit: reader.count(fields, "max_iterations").filter(|limit| *limit > 0),
        completed_at: reader.time(fields, "completed_at"),
        at: node.at.clone(),
    };
    if let (Some(limit), Some(said)) = (unit.limit, get(fields, "iterations_used"))
        && unit.iterations > limit
    {
        let message = format!("{id} has used {} iterations of {limit}", unit.iterations);
        reader.warn(said, message, "all of them count");
    }
    if unit.status.is_under_way() && unit.iterations == 0 {
        reader.warn(node, format!("{id} is under way without any iteration"), "as if none had been");
    }
    Some(unit)
}

/// `iterations` of an older layout: a count, or a list with an entry for each.
fn older_count(reader: &mut Reader, fields: Fields) -> Option<u32> {
    match get(fields, "iterations").map(|node| &node.kind) {
        Some(Kind::List(items)) => u32::try_from(items.len()).ok(),
        Some(Kind::Object(_)) | None => None,
        Some(_) => reader.count(fields, "iterations"),
    }
}

/// Each as a line or an object.
fn commits(reader: &mut Reader, root: Fields) -> Vec<CommitMade> {
    let mut commits = Vec::new();
    for node in reader.list(root, "commits").iter().filter(|node| node.kind != Kind::Null) {
        match commit(&node.value()) {
            Some(commit) => commits.push(commit),
            None => reader.warn(node, "this is not a commit", "left out"),
        }
    }
    commits
}

/// `"abc1234: subject"`, or an object that has both.
pub(super) fn commit(value: &Value) -> Option<CommitMade> {
    let named = |names: &[&str]| names.iter().find_map(|name| value.get(name)?.as_str());
    let (hash, subject) = match value.as_str() {
        Some(line) => line.split_once(':').unwrap_or((line, "")),
        None => {
            let subject = named(&["subject", "message", "title"]).unwrap_or_default();
            (named(&["hash", "sha", "commit", "id"])?, subject)
        }
    };
    let hash = hash.trim();
    let is_hash = !hash.is_empty() && !hash.contains(char::is_whitespace);
    let subject = subject.split_whitespace().collect::<Vec<_>>().join(" ");
    is_hash.then(|| CommitMade { hash: hash.to_owned(), subject })
}

/// A commit as this file lists it.
pub(super) fn line(commit: &CommitMade) -> String {
    match commit.subject.as_str() {
        "" => commit.hash.clone(),
        subject => format!("{}: {subject}", commit.hash),
    }
}

fn compare(reader: &mut Reader, root: Fields, state: &ForeignState) {
    let open = state.units.values().filter(|unit| unit.status != UnitWord::Done).count();
    let ended = matches!(state.phase, Some(PhaseWord::Deliver | PhaseWord::Complete));
    if let (true, 1.., Some(node)) = (ended, open, get(root, "phase")) {
        let message = format!("the work is delivered, but {open} of its units are not done");
        reader.warn(node, message, "the units count");
    }
    if let (Some(created), Some(updated), Some(node)) = (state.created, state.updated, get(root, "updated"))
        && updated < created
    {
        reader.warn(node, "the last change was before the start", "the times are kept");
    }
}
