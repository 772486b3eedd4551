//! Writing back that a task is done: the value of its status changes, those of its steps, and the times beside them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::file::{self, Item, Tag, Unit};
use super::status::{self, COMPLETED, DONE, OPEN};
use crate::chronicle::Chronicle;
use crate::order::Pairs;
use crate::plan::TaskId;
use crate::system::config::Subtasks;
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
        let when = |id: &TaskId| chronicle.task(id).and_then(|story| story.completed_at);
        stamped(before, after, &when, chronicle.updated_at)
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
}

/// What has a status of its own.
#[derive(Clone, Copy, Debug)]
struct Part<'t, 'n> {
    item: &'t Item<'n>,
    /// The task that it is a subtask of.
    whole: Option<&'t Item<'n>>,
}

/// What is a task in a plan whose subtasks are these, in every tag, by its id. An id that two come to is nobody's.
fn parts<'t, 'n>(tags: &'t [Tag<'n>], subtasks: Subtasks) -> Vec<(TaskId, Part<'t, 'n>)> {
    let mut all = Vec::new();
    for tag in tags {
        let units = tag.units(subtasks);
        let ids = tag.ids(&units);
        let part = |unit: &Unit<'t, 'n>| Part {
            item: unit.item,
            whole: unit.is_subtask.then(|| &tag.tasks[unit.task]),
        };
        all.extend(ids.into_iter().zip(units.iter().map(part)));
    }
    alone(all)
}

fn alone<'t, 'n>(all: Vec<(TaskId, Part<'t, 'n>)>) -> Vec<(TaskId, Part<'t, 'n>)> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    all.iter().for_each(|(id, _)| *counts.entry(id.folded()).or_default() += 1);
    all.into_iter().filter(|(id, _)| counts[&id.folded()] == 1).collect()
}

/// The same whatever subtasks are in the plan, which the file does not say.
fn all_parts<'t, 'n>(tags: &'t [Tag<'n>]) -> Vec<(TaskId, Part<'t, 'n>)> {
    let mut all = parts(tags, Subtasks::Steps);
    all.extend(parts(tags, Subtasks::Tasks).into_iter().filter(|(_, part)| part.whole.is_some()));
    alone(all)
}

impl Part<'_, '_> {
    /// Whether both are subtasks of one task.
    fn is_sibling(&self, other: &Part<'_, '_>) -> bool {
        matches!((self.whole, other.whole), (Some(one), Some(two)) if std::ptr::eq(one, two))
    }

    /// What is done is done with all its subtasks, but for those that were cancelled.
    fn is_done(&self) -> bool {
        is_done(self.item) || self.whole.is_some_and(is_done) && !self.item.is_dropped()
    }
}

fn is_done(item: &Item<'_>) -> bool {
    status::standing(item.status()) == Some(Standing::Claimed)
}

/// The tasks whose own status says that they are done.
pub fn ticked(bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
    let Some(read) = Read::new(bytes) else { return BTreeMap::new() };
    let tags = file::tags(&read.root);
    all_parts(&tags).into_iter().filter(|(_, part)| part.is_done()).map(|(id, _)| (id, None)).into_map()
}

/// What the file calls each of its tasks.
fn titles(bytes: &[u8]) -> BTreeMap<TaskId, String> {
    let Some(read) = Read::new(bytes) else { return BTreeMap::new() };
    let tags = file::tags(&read.root);
    all_parts(&tags).into_iter().map(|(id, part)| (id, part.item.title())).into_map()
}

/// The file with the status of these tasks as they stand. With a task its steps are done, unless they are not to be
/// done now. Where subtasks are tasks, a task is done with the last of its subtasks, and open again with the first. `None`
/// if it is not JSON, or not UTF-8.
pub fn tick(bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
    let read = Read::new(bytes)?;
    let tags = file::tags(&read.root);
    let split = parts(&tags, Subtasks::Tasks);
    // What the run has of the file says what subtasks are in its plan.
    let is_split = split.iter().any(|(id, part)| part.whole.is_some() && stand.contains_key(id));
    let tasks = if is_split { split } else { parts(&tags, Subtasks::Steps) };
    let done = format!("\"{}\"", done_word(&tags));
    let open = format!("\"{OPEN}\"");
    let mut changes: Vec<Change> = Vec::new();
    let mut set = |item: &Item<'_>, status: &str| {
        changes.extend(json_edit::set(&read.text, item.node, "status", status));
    };
    for (id, part) in &tasks {
        let Some(word) = stand.get(id) else { continue };
        match (*word == Word::Completed, is_done(part.item)) {
            (true, false) => {
                set(part.item, &done);
                part.item.steps.iter().filter(|step| is_left(step)).for_each(|step| set(step, &done));
            }
            (false, true) => set(part.item, &open),
            (true, true) | (false, false) => {}
        }
    }
    for siblings in tasks.chunk_by(|(_, one), (_, next)| one.is_sibling(next)) {
        let Some(whole) = siblings[0].1.whole else { continue };
        let live = siblings.iter().filter(|(_, part)| !part.item.is_dropped());
        let words: Vec<Option<&Word>> = live.map(|(id, _)| stand.get(id)).collect();
        // One that nothing is said of is still being checked.
        let is_complete = words.iter().all(|word| *word == Some(&Word::Completed));
        let is_open = words.iter().any(|word| word.is_some_and(|word| *word != Word::Completed));
        match is_done(whole) {
            false if is_complete && is_left(whole) => set(whole, &done),
            true if is_open => set(whole, &open),
            _ => {}
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
fn done_word(tags: &[Tag<'_>]) -> &'static str {
    let count = |word: &str| {
        let says = |item: &&Item<'_>| item.status().and_then(Node::text) == Some(word);
        let tasks = tags.iter().flat_map(|tag| &tag.tasks);
        tasks.flat_map(|item| std::iter::once(item).chain(&item.steps)).filter(says).count()
    };
    if count(COMPLETED) > count(DONE) { COMPLETED } else { DONE }
}

/// A file after a change, with the times of what changed where it has such times. `when` says when a task was completed;
/// what changed without one has changed `now`.
pub(super) fn stamped(
    before: &[u8],
    after: &[u8],
    when: &dyn Fn(&TaskId) -> Option<Timestamp>,
    now: Timestamp,
) -> Option<Vec<u8>> {
    let (old, new) = (Read::new(before)?, Read::new(after)?);
    let (old_tags, new_tags) = (file::tags(&old.root), file::tags(&new.root));
    let was: HashMap<TaskId, Part<'_, '_>> = parts(&old_tags, Subtasks::Steps).into_iter().collect();
    let subtasks: HashMap<*const Item<'_>, TaskId> = parts(&new_tags, Subtasks::Tasks)
        .into_iter()
        .map(|(id, part)| (std::ptr::from_ref(part.item), id))
        .collect();
    let said = |item: &Item<'_>| item.status().map(|node| node.kind.clone());
    let mut changes: Vec<Change> = Vec::new();
    for (id, part) in parts(&new_tags, Subtasks::Steps) {
        let Some(was) = was.get(&id) else { continue };
        let steps = part.item.steps.iter().zip(&was.item.steps);
        for (item, was) in std::iter::once((part.item, was.item)).chain(steps) {
            if said(item) != said(was) && item.text("updatedAt").is_some() {
                let own = subtasks.get(&std::ptr::from_ref(item)).and_then(when);
                let time = in_millis(own.or_else(|| when(&id)).unwrap_or(now));
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
