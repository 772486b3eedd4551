//! What tasks say they wait for, beyond the order of their list.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::requirements::{expand, parts};
use super::{Node, Outline, Role};
use crate::diagnostic::{Diagnostic, nearest};
use crate::plan::TaskSpec;
use crate::system::kit::checklist;
use crate::system::kit::outline::word::is_none;
use crate::system::kit::problems::{Problems, cut};

/// Dependencies that a plan may name by way of parents; one that has more wants to be slow.
const EDGES: usize = 100_000;

pub(super) struct Needs<'a, 'f> {
    pub(super) text: &'a str,
    pub(super) outline: &'a Outline,
    /// The boxes of the tasks, by their positions.
    pub(super) nodes: &'a [usize],
    pub(super) found: &'f mut Problems,
}

impl Needs<'_, '_> {
    /// Fill in what tasks say they wait for, and report what cannot be.
    pub(super) fn link(&mut self, specs: &mut [TaskSpec], needs: &[Vec<Range<usize>>]) {
        let is_task = |node: &&Node| node.role != Role::Step && !node.dropped;
        let all = self.outline.nodes.iter().enumerate().filter(|(_, node)| is_task(node));
        let ids: HashMap<String, usize> = all.map(|(nth, node)| (node.id.folded(), nth)).collect();
        let positions: HashMap<usize, usize> =
            self.nodes.iter().enumerate().map(|(position, node)| (*node, position)).collect();
        let mut edges = EDGES;
        for (position, needs) in needs.iter().enumerate() {
            let mut waits_for: BTreeSet<usize> = BTreeSet::new();
            for at in needs {
                for part in parts(&self.text[at.clone()]).filter(|part| !is_none(part)) {
                    let bare = checklist::number(part).map_or(part, |(id, _)| id);
                    for need in expand(bare, |id| ids.contains_key(&id.to_lowercase())) {
                        let Some(node) = self.need(specs, position, (&need, at), &ids) else { continue };
                        match positions.get(&node) {
                            Some(own) => drop(waits_for.insert(*own)),
                            None if edges == 0 => {}
                            None => {
                                let below = (0..specs.len()).filter(|nth| self.is_of(self.nodes[*nth], node));
                                let before = waits_for.len();
                                waits_for.extend(below);
                                // Looking for them costs something, too.
                                let cost = (waits_for.len() - before).max(specs.len() / 100) + 1;
                                edges = edges.saturating_sub(cost);
                            }
                        }
                        self.later(specs, position, &waits_for.split_off(&position), at);
                    }
                }
            }
            specs[position].depends_on = waits_for.into_iter().map(|other| specs[other].id.clone()).collect();
        }
        if edges == 0 {
            let told = Diagnostic::error(0..0, "the tasks of this plan have too many dependencies");
            self.found.push(told.label("their order is enough"));
        }
    }

    /// The box that a task waits for.
    fn need(
        &mut self,
        specs: &[TaskSpec],
        position: usize,
        (need, at): (&str, &Range<usize>),
        ids: &HashMap<String, usize>,
    ) -> Option<usize> {
        let id = &specs[position].id;
        if self.outline.ambiguous.contains(&need.to_lowercase()) {
            let message = format!("`{id}` waits for `{}`, which is the number of several tasks", cut(need));
            let told = Diagnostic::error(at.clone(), message);
            self.found.push(told.label("give each of them a number of its own"));
            return None;
        }
        let node = ids.get(&need.to_lowercase()).copied();
        // Words that are not a number are for people.
        if node.is_none() && need.starts_with(|c: char| c.is_ascii_digit()) {
            let near = nearest(&cut(need), specs.iter().take(1000).map(|spec| spec.id.as_str()));
            let label =
                near.map_or("no task has this number".to_owned(), |near| format!("did you mean `{near}`?"));
            let message = format!("`{id}` waits for `{}`, which does not exist", cut(need));
            self.found.push(Diagnostic::error(at.clone(), message).label(label));
        }
        node
    }

    fn later(&mut self, specs: &[TaskSpec], position: usize, later: &BTreeSet<usize>, at: &Range<usize>) {
        let Some(first) = later.first() else { return };
        let id = &specs[position].id;
        let message = match *first == position {
            true => format!("`{id}` waits for itself"),
            false => format!("`{id}` waits for `{}`, which comes later", specs[*first].id),
        };
        let told = Diagnostic::error(at.clone(), message);
        self.found.push(told.label("tasks are worked on in the order of the file"));
    }

    fn is_of(&self, node: usize, parent: usize) -> bool {
        node == parent || self.outline.above(node).any(|above| above == parent)
    }
}
