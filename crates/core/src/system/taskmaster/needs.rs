//! What tasks wait for: what they name, and what their subtasks name.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::file::{Item, Tag, Unit, id_text};
use crate::system::kit::draft::{Draft, Need, Standing};
use crate::system::kit::json::Node;
use crate::system::kit::problems::{Problems, cut};

/// How far the search goes for circles that subtasks would make, all together. Real files need a few thousand.
const STEPS: usize = 1_000_000;
/// If a task waits for more subtasks than this, only the first of its own subtasks waits for them, and the others wait for
/// that one: the number of dependencies stays a small multiple of the number of tasks.
const WIDEST: usize = 64;

/// What tasks name themselves, and what their subtasks wait for in other tasks: that, unless tasks would wait for each
/// other then. A task whose subtasks are tasks of their own is waited for by waiting for its last ones, and its first ones
/// wait for what it waits for. A subtask that is a step stands for its task.
pub(super) fn needs(tag: &Tag<'_>, units: &[Unit<'_, '_>], draft: &mut Draft, found: &mut Problems) {
    tag.tasks.iter().for_each(|item| tell_dependencies(item, found));
    let mut edges = Edges::new(tag, units, draft);
    edges.between_siblings(tag, found);
    edges.between_tasks(tag);
    edges.of_subtasks(found);
    let needs = edges.needs;
    draft.tasks.iter_mut().zip(needs).for_each(|(task, needs)| task.needs = needs);
}

struct Edges<'u> {
    units: &'u [Unit<'u, 'u>],
    /// Of each task of the file what became of it: itself, or its subtasks.
    parts: Vec<Vec<usize>>,
    /// Tasks of the file, and subtasks that are tasks of their own, by their ids. The first one of an id is meant.
    tasks: HashMap<String, usize>,
    subtasks: HashMap<String, usize>,
    /// Whether it is not to be done.
    is_dropped: Vec<bool>,
    graph: Vec<BTreeSet<usize>>,
    needs: Vec<Vec<Need>>,
}

impl<'u> Edges<'u> {
    fn new(tag: &Tag<'_>, units: &'u [Unit<'u, 'u>], draft: &Draft) -> Edges<'u> {
        let tasks = tag.tasks.iter().enumerate().rev().map(|(nth, item)| (item.id.to_lowercase(), nth));
        let tasks: HashMap<String, usize> = tasks.collect();
        let (mut parts, mut subtasks) = (vec![Vec::new(); tag.tasks.len()], HashMap::new());
        for (nth, unit) in units.iter().enumerate() {
            parts[unit.task].push(nth);
            if unit.is_subtask {
                subtasks.entry(unit.item.id.to_lowercase()).or_insert(nth);
            }
        }
        let is_dropped = draft.tasks.iter().map(|task| task.standing == Standing::Dropped).collect();
        let (graph, needs) = (vec![BTreeSet::new(); units.len()], vec![Vec::new(); units.len()]);
        Edges { units, parts, tasks, subtasks, is_dropped, graph, needs }
    }

    fn add(&mut self, from: usize, to: usize, at: &Range<usize>) {
        if from != to && self.graph[from].insert(to) {
            self.needs[from].push(Need { name: self.units[to].name.clone(), at: at.clone() });
        }
    }

    fn is_split(&self, task: usize) -> bool {
        self.parts[task].iter().any(|nth| self.units[*nth].is_subtask)
    }

    fn task_of(&self, id: &str) -> Option<usize> {
        self.tasks.get(&id.to_lowercase()).copied()
    }

    /// The one that a subtask became: itself, or the task whose step it is.
    fn subtask_of(&self, id: &str) -> Option<usize> {
        let own = self.subtasks.get(&id.to_lowercase()).copied();
        let of_step = || {
            let task = self.task_of(id.split_once('.')?.0)?;
            self.parts[task].first().filter(|_| !self.is_split(task)).copied()
        };
        own.or_else(of_step)
    }

    /// Subtasks of one task. An id without a dot is a sibling.
    fn between_siblings(&mut self, tag: &Tag<'_>, found: &mut Problems) {
        let units = self.units;
        for (nth, unit) in units.iter().enumerate() {
            if !unit.is_subtask {
                continue;
            }
            for (id, at) in dependencies(unit.item.node) {
                let id = if id.contains('.') { id } else { format!("{}.{id}", tag.tasks[unit.task].id) };
                match self.subtask_of(&id) {
                    Some(other) if units[other].task == unit.task => self.add(nth, other, &at),
                    // What is in another task comes later.
                    Some(_) => {}
                    None => tell_unknown(&id, at, found),
                }
            }
        }
    }

    /// What tasks of the file name.
    fn between_tasks(&mut self, tag: &Tag<'_>) {
        let (firsts, lasts): (Vec<_>, Vec<_>) =
            (0..self.parts.len()).map(|nth| (self.firsts(nth), self.lasts(nth))).unzip();
        for (nth, item) in tag.tasks.iter().enumerate() {
            for (id, at) in dependencies(item.node) {
                let others = match (self.task_of(&id), self.subtask_of(&id)) {
                    (Some(task), _) if task == nth => continue,
                    (Some(task), _) => lasts[task].clone(),
                    (None, Some(subtask)) if self.units[subtask].task == nth => continue,
                    (None, Some(subtask)) => vec![subtask],
                    (None, None) => {
                        // The reader of the whole plan reports that this task is missing.
                        let name = tag.called(&id);
                        self.needs[self.parts[nth][0]].push(Need { name, at });
                        continue;
                    }
                };
                let gated = if others.len() > WIDEST { 1 } else { firsts[nth].len() };
                let (waiting, behind) = firsts[nth].split_at(gated.min(firsts[nth].len()));
                for first in waiting {
                    others.iter().for_each(|other| self.add(*first, *other, &at));
                }
                for later in behind {
                    waiting.iter().for_each(|first| self.add(*later, *first, &at));
                }
            }
        }
    }

    /// The subtasks of a task that wait for none of the others; or the task.
    fn firsts(&self, task: usize) -> Vec<usize> {
        let live = |nth: &&usize| !self.is_split(task) || !self.is_dropped[**nth];
        let waits = |nth: usize| self.graph[nth].iter().any(|need| !self.is_dropped[*need]);
        self.parts[task].iter().filter(live).filter(|nth| !waits(**nth)).copied().collect()
    }

    /// The subtasks of a task that none of the others waits for; or the task.
    fn lasts(&self, task: usize) -> Vec<usize> {
        let live = |nth: &&usize| !self.is_split(task) || !self.is_dropped[**nth];
        let own: Vec<usize> = self.parts[task].iter().filter(live).copied().collect();
        let waited: BTreeSet<usize> = own.iter().flat_map(|nth| self.graph[*nth].iter().copied()).collect();
        own.into_iter().filter(|nth| !waited.contains(nth)).collect()
    }

    /// What subtasks wait for in other tasks.
    fn of_subtasks(&mut self, found: &mut Problems) {
        let units = self.units;
        let mut left = STEPS;
        for task in 0..self.parts.len() {
            for nth in self.parts[task].clone() {
                let unit = &units[nth];
                let own = std::slice::from_ref(unit.item);
                let steps = if unit.is_subtask { own } else { &unit.item.steps };
                for (id, at) in steps.iter().flat_map(|step| dependencies(step.node)) {
                    if !id.contains('.') {
                        continue;
                    }
                    let Some(other) = self.subtask_of(&id) else {
                        // Of a subtask that is a task of its own it was said with its siblings.
                        if !unit.is_subtask {
                            tell_unknown(&id, at, found);
                        }
                        continue;
                    };
                    if self.parts[task].contains(&other) || self.graph[nth].contains(&other) {
                        continue;
                    }
                    if reaches(&self.graph, other, nth, &mut left) {
                        let (one, two) = (&unit.name, &units[other].name);
                        let label = match unit.is_subtask {
                            true => "this dependency does not make it wait",
                            false => "this subtask does not make its task wait",
                        };
                        found.repair(at, format!("{one} and {two} would wait for each other"), label);
                        continue;
                    }
                    self.add(nth, other, &at);
                }
            }
        }
    }
}

fn tell_unknown(id: &str, at: Range<usize>, found: &mut Problems) {
    found.repair(at, format!("there is no subtask `{}`", cut(id)), "not waited for");
}

fn dependencies(node: &Node) -> Vec<(String, Range<usize>)> {
    let items = node.get("dependencies").and_then(Node::items).unwrap_or_default();
    items.iter().map(|item| (id_text(item), item.at.clone())).filter(|(id, _)| !id.is_empty()).collect()
}

fn tell_dependencies(item: &Item<'_>, found: &mut Problems) {
    for item in std::iter::once(item).chain(&item.steps) {
        if let Some(node) = item.node.get("dependencies").filter(|node| node.items().is_none()) {
            let message = format!("`dependencies` must be a list, not {}", node.name());
            found.repair(node.at.clone(), message, "ignored");
        }
    }
}

/// Whether one task waits for another, whatever is between them. Where that takes too long, it may.
fn reaches(graph: &[BTreeSet<usize>], from: usize, to: usize, left: &mut usize) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(nth) = open.pop() {
        if nth == to || *left == 0 {
            return true;
        }
        *left -= 1;
        if seen.insert(nth) {
            *left = left.saturating_sub(graph[nth].len());
            open.extend(graph[nth].iter().copied());
        }
    }
    false
}
