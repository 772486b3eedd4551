//! Writing back that a task is done: the value of its status changes, those of its steps, and the times beside them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::file::{self, Item};
use super::status::{self, COMPLETED, DONE, OPEN};
use crate::chronicle::Chronicle;
use crate::order::Pairs;
use crate::plan::TaskId;
use crate::system::kit::boxes::Ticked;
use crate::system::kit::draft::Standing;
use crate::system::kit::json::{self, Node};
use crate::system::kit::json_edit::{self, Change};
use crate::system::kit::outline::Word;
use crate::system::kit::text;
use crate::system::state_files::Ticking;
use crate::time::Timestamp;

/// The plan's own file.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskFile;

impl Ticking for TaskFile {
    fn ticked(&self, bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
        ticked(bytes)
    }

    fn titles(&self, bytes: &[u8]) -> BTreeMap<TaskId, String> {
        titles(bytes)
    }

    fn tick(&self, bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
        tick(bytes, stand)
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        holds(now, left)
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        is_like(bytes)
    }

    fn stamped(&self, before: &[u8], after: &[u8], chronicle: &Chronicle) -> Option<Vec<u8>> {
        let when = |id: &TaskId| {
            let done = chronicle.task(id).and_then(|story| story.completed_at);
            done.unwrap_or(chronicle.updated_at)
        };
        stamped(before, after, &when)
    }
}

fn is_like(bytes: &[u8]) -> bool {
    json::parse(&text::decode(bytes).text).is_ok_and(|(root, _)| file::is_one(&root))
}

/// A file that was read.
struct Read {
    text: String,
    root: Node,
}

impl Read {
    fn new(bytes: &[u8]) -> Option<Read> {
        let text = text::decode(bytes).text;
        let (root, _) = json::parse(&text).ok()?;
        Some(Read { text, root })
    }

    /// Every task of every tag by its id. An id that two tags come to is nobody's.
    fn tasks(&self) -> Vec<(TaskId, Item<'_>)> {
        let tags = file::tags(&self.root);
        let all = tags.into_iter().flat_map(|tag| tag.ids().into_iter().zip(tag.tasks));
        let all: Vec<(TaskId, Item<'_>)> = all.collect();
        let mut counts: HashMap<String, usize> = HashMap::new();
        all.iter().for_each(|(id, _)| *counts.entry(id.folded()).or_default() += 1);
        all.into_iter().filter(|(id, _)| counts[&id.folded()] == 1).collect()
    }
}

fn is_done(item: &Item<'_>) -> bool {
    status::standing(item.status()) == Some(Standing::Claimed)
}

/// The tasks whose own status says that they are done.
pub fn ticked(bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
    let Some(read) = Read::new(bytes) else { return BTreeMap::new() };
    read.tasks().into_iter().filter(|(_, item)| is_done(item)).map(|(id, _)| (id, None)).into_map()
}

/// What the file calls each of its tasks.
fn titles(bytes: &[u8]) -> BTreeMap<TaskId, String> {
    let Some(read) = Read::new(bytes) else { return BTreeMap::new() };
    read.tasks().into_iter().map(|(id, item)| (id, item.title())).into_map()
}

/// The file with the status of these tasks as they stand. With a task its steps are done, unless they are not to be
/// done now. `None` if it is not JSON, or not UTF-8.
pub fn tick(bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
    let read = Read::new(bytes)?;
    let tasks = read.tasks();
    let done = format!("\"{}\"", done_word(&tasks));
    let mut changes: Vec<Change> = Vec::new();
    for (id, item) in &tasks {
        let Some(word) = stand.get(id) else { continue };
        match (*word == Word::Completed, is_done(item)) {
            (true, false) => {
                changes.extend(json_edit::set(&read.text, item.node, "status", &done));
                let open = item.steps.iter().filter(|step| is_left(step));
                changes
                    .extend(open.filter_map(|step| json_edit::set(&read.text, step.node, "status", &done)));
            }
            (false, true) => {
                changes.extend(json_edit::set(&read.text, item.node, "status", &format!("\"{OPEN}\"")));
            }
            (true, true) | (false, false) => {}
        }
    }
    let known: BTreeSet<&TaskId> = tasks.iter().map(|(id, _)| id).collect();
    let missing = stand.keys().filter(|id| !known.contains(id)).cloned().collect();
    let bytes = json_edit::write(bytes, &read.text, changes)?;
    Some(Ticked { bytes, missing })
}

/// Whether a step was to be done with its task.
fn is_left(step: &Item<'_>) -> bool {
    match status::standing(step.status()) {
        Some(
            status::DEFERRED
            | status::BLOCKED
            | Standing::Claimed
            | Standing::Dropped
            | Standing::Unwanted(_),
        )
        | None => false,
        Some(Standing::Open | Standing::NotOurs(_) | Standing::HeldBy(_)) => true,
    }
}

/// What the file itself calls done.
fn done_word(tasks: &[(TaskId, Item<'_>)]) -> &'static str {
    let count = |word: &str| {
        let says = |item: &&Item<'_>| item.status().and_then(Node::text) == Some(word);
        let all = tasks.iter().flat_map(|(_, item)| std::iter::once(item).chain(&item.steps));
        all.filter(says).count()
    };
    if count(COMPLETED) > count(DONE) { COMPLETED } else { DONE }
}

/// A file after a change, with the times of what changed where it has such times.
pub(super) fn stamped(before: &[u8], after: &[u8], when: &dyn Fn(&TaskId) -> Timestamp) -> Option<Vec<u8>> {
    let (old, new) = (Read::new(before)?, Read::new(after)?);
    let was: HashMap<TaskId, Item<'_>> = old.tasks().into_iter().collect();
    let said = |item: &Item<'_>| item.status().map(|node| node.kind.clone());
    let mut changes: Vec<Change> = Vec::new();
    for (id, item) in new.tasks() {
        let Some(was) = was.get(&id) else { continue };
        let steps = item.steps.iter().zip(&was.steps);
        for (item, was) in std::iter::once((&item, was)).chain(steps) {
            if said(item) != said(was) && item.text("updatedAt").is_some() {
                let time = in_millis(when(&id));
                changes.extend(json_edit::set(&new.text, item.node, "updatedAt", &format!("\"{time}\"")));
            }
        }
    }
    json_edit::write(after, &new.text, changes)
}

/// As JavaScript writes a time.
fn in_millis(time: Timestamp) -> String {
    let seconds = time.to_string();
    match seconds.strip_suffix('Z') {
        Some(seconds) => format!("{seconds}.{:03}Z", time.0.rem_euclid(1000)),
        None => seconds,
    }
}

/// Whether everything of the second version is in the first, but for what changes during the work.
fn holds(now: &[u8], left: &[u8]) -> bool {
    let bare = |bytes: &[u8]| {
        let read = Read::new(bytes)?;
        let mut changes: Vec<Change> = Vec::new();
        for tag in file::tags(&read.root) {
            for item in tag.tasks.iter().flat_map(|item| std::iter::once(item).chain(&item.steps)) {
                for name in ["status", "updatedAt"] {
                    let known = item.node.entries().unwrap_or_default().iter().find(|(key, _)| key == name);
                    changes.extend(known.map(|(_, node)| (node.at.clone(), String::new())));
                }
            }
        }
        json_edit::write(bytes, &read.text, changes)
    };
    matches!((bare(now), bare(left)), (Some(now), Some(left)) if now == left)
}
