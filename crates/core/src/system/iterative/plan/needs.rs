//! What units wait for: their own `Depends` line, or the arrows if they have no such line.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::arrows::{self, Drawing};
use super::unit::Unit;
use crate::diagnostic::{Diagnostic, nearest};
use crate::plan::{Cycle, TaskId};
use crate::system::kit::checklist::Checklist;
use crate::system::kit::links::{Alone, Named, link_named};
use crate::system::kit::outline::{Node, Outline, Role};
use crate::system::kit::problems::{Problems, Spanned, cut};

/// The most dependencies that arrows may add up to. An arrow to a unit with others below it counts for all of them.
const EDGES: usize = 200_000;
/// How deep a unit may stand below others that are named in its place.
const DEEPEST: usize = 20;
/// How many unknown ids are compared with known ones.
const GUESSES: usize = 20;
const HELP: &str = "name the units, like `Depends: T1, T3-T5`, or say `none`";

/// What is known about the units, in the order of the file.
pub(super) struct Needs<'a> {
    text: &'a str,
    outline: &'a Outline,
    nodes: Vec<&'a Node>,
    units: &'a [Unit],
    drawing: Drawing,
    /// By id in lower case: one unit, or those below one that has others.
    known: HashMap<String, Vec<usize>>,
    /// Ids of units that are crossed out, in lower case.
    dropped: HashSet<String>,
}

impl<'a> Needs<'a> {
    pub(super) fn new(list: &Checklist, text: &'a str, outline: &'a Outline, units: &'a [Unit]) -> Needs<'a> {
        let tasks: Vec<(usize, &Node)> = outline.tasks().collect();
        let mut known: HashMap<String, Vec<usize>> = HashMap::new();
        for (position, (nth, _)) in tasks.iter().enumerate() {
            for above in outline.above(*nth).take(DEEPEST) {
                known.entry(outline.nodes[above].id.folded()).or_default().push(position);
            }
        }
        let nodes: Vec<&Node> = tasks.into_iter().map(|(_, node)| node).collect();
        for (position, node) in nodes.iter().enumerate() {
            known.insert(node.id.folded(), vec![position]);
        }
        let dropped = outline.nodes.iter().filter(|node| node.dropped && node.role != Role::Step);
        let dropped = dropped.map(|node| node.id.folded()).collect();
        Needs { text, outline, nodes, units, drawing: arrows::drawn(list, text), known, dropped }
    }

    /// What each unit waits for, by position.
    pub(super) fn link(&self, found: &mut Problems) -> Vec<BTreeSet<usize>> {
        let mut needs = self.said(found);
        let (drawn, is_drawn) = self.drawn(found);
        for (position, unit) in self.units.iter().enumerate() {
            match &unit.depends {
                None => needs[position].clone_from(&drawn[position]),
                Some(lines) if is_drawn[position] && drawn[position] != needs[position] => {
                    let node = self.nodes[position];
                    let at = lines.first().cloned().unwrap_or(node.text.clone());
                    let (said, drawn) = (self.names(&needs[position]), self.names(&drawn[position]));
                    let message =
                        format!("`{}` waits for {said} here, but for {drawn} by the arrows", node.id);
                    found.push(Diagnostic::warning(at, message).label("this line decides, not the arrows"));
                }
                Some(_) => {}
            }
        }
        needs
    }

    /// Whether the list says that it is one sequence, and it is: each unit but the first waits for the one before it.
    pub(super) fn is_sequence(&self, needs: &[BTreeSet<usize>]) -> bool {
        if !self.drawing.says_sequence {
            return false;
        }
        let mut open: Vec<usize> = needs.iter().map(BTreeSet::len).collect();
        let mut behind = vec![Vec::new(); needs.len()];
        needs
            .iter()
            .enumerate()
            .for_each(|(unit, needs)| needs.iter().for_each(|&need| behind[need].push(unit)));
        let mut free: Vec<usize> = (0..needs.len()).filter(|&unit| open[unit] == 0).collect();
        let mut passed = 0;
        while let [unit] = free[..] {
            passed += 1;
            free.clear();
            for &next in &behind[unit] {
                open[next] -= 1;
                free.extend(Some(next).filter(|&next| open[next] == 0));
            }
        }
        passed == needs.len()
    }

    /// By their own lines.
    fn said(&self, found: &mut Problems) -> Vec<BTreeSet<usize>> {
        let is_parent = |node: &&Node| node.role == Role::Parent && !node.dropped;
        let parents = self.outline.nodes.iter().filter(is_parent).map(|node| node.id.folded());
        let stories = parents.filter_map(|id| Some((id.clone(), self.known.get(&id)?.clone())));
        let named = Named {
            ids: self.nodes.iter().map(|node| &node.id).collect(),
            deps: self.units.iter().map(|unit| unit.depends.as_deref().unwrap_or_default()).collect(),
            ambiguous: self.outline.ambiguous.iter().cloned().collect(),
            dropped: self.dropped.clone(),
            stories: stories.collect(),
            help: HELP,
            others: &Alone,
        };
        link_named(&named, self.text, found).needs
    }

    /// By the arrows, and whether a unit is in the drawing at all.
    fn drawn(&self, found: &mut Problems) -> (Vec<BTreeSet<usize>>, Vec<bool>) {
        let Drawing { ids, edges, loose, too_large, .. } = &self.drawing;
        let mut guesses = GUESSES;
        let places: Vec<&[usize]> = ids.iter().map(|said| self.place(said, &mut guesses, found)).collect();
        let mut needs = vec![BTreeSet::new(); self.units.len()];
        let mut is_drawn = vec![false; self.units.len()];
        places.iter().flat_map(|place| place.iter()).for_each(|&unit| is_drawn[unit] = true);
        let (mut left, mut full) = (EDGES, *too_large);
        for &(tail, head) in edges {
            let (tails, heads) = (places[tail], places[head]);
            let cost = tails.len().saturating_mul(heads.len());
            if cost > left {
                full = true;
                break;
            }
            left -= cost;
            if tails == heads && tails.len() == 1 {
                let told = Diagnostic::error(
                    ids[head].at.clone(),
                    format!("`{}` waits for itself", ids[head].value),
                );
                found.push(told.label("remove this"));
                continue;
            }
            heads.iter().for_each(|&unit| needs[unit].extend(tails.iter().filter(|tail| **tail != unit)));
        }
        for at in loose {
            let told = Diagnostic::warning(at.clone(), "this is not understood as an arrow between units");
            found.push(told.label("draw it like `T1 → T2`"));
        }
        if full {
            let at = ids.first().map_or(0..0, |said| said.at.clone());
            let told = Diagnostic::error(at, "the drawing of these dependencies is too large to be read");
            found.push(told.label("write them below each unit, like `Depends: T1`"));
        }
        (needs, is_drawn)
    }

    /// The units that an id of the drawing stands for.
    fn place(&self, said: &Spanned<String>, guesses: &mut usize, found: &mut Problems) -> &[usize] {
        let folded = said.value.to_lowercase();
        if self.outline.ambiguous.contains(&folded) {
            let message = format!("`{}` is the id of several units", cut(&said.value));
            let told = Diagnostic::error(said.at.clone(), message);
            found.push(told.label("give each of them an id of its own"));
            return &[];
        }
        let Some(place) = self.known.get(&folded) else {
            let near = guesses.checked_sub(1).and_then(|left| {
                *guesses = left;
                nearest(&cut(&said.value), self.nodes.iter().take(1000).map(|node| node.id.as_str()))
            });
            let label = match near {
                _ if self.dropped.contains(&folded) => "crossed out".to_owned(),
                Some(near) => format!("ignored; did you mean `{near}`?"),
                None => "ignored".to_owned(),
            };
            let message = format!("`{}` is not a unit of this list", cut(&said.value));
            found.push(Diagnostic::warning(said.at.clone(), message).label(label));
            return &[];
        };
        if let [unit] = place[..]
            && self.nodes[unit].id.folded() == folded
            && self.nodes[unit].id.as_str() != said.value
        {
            let spelled = &self.nodes[unit].id;
            let message = format!("`{}` is written `{spelled}` elsewhere", cut(&said.value));
            found.push(Diagnostic::warning(said.at.clone(), message).label("read as the same"));
        }
        place
    }

    fn names(&self, units: &BTreeSet<usize>) -> String {
        const SHOWN: usize = 6;
        if units.is_empty() {
            return "nothing".to_owned();
        }
        let names = units.iter().take(SHOWN).map(|&unit| format!("`{}`", self.nodes[unit].id));
        let more = units.len().checked_sub(SHOWN).filter(|more| *more > 0);
        let more = more.map(|more| format!("{more} more"));
        names.chain(more).collect::<Vec<_>>().join(", ")
    }

    /// The error for units that wait for each other, at the dependency of the first one.
    pub(super) fn cycle(&self, cycle: Cycle) -> Option<Diagnostic> {
        let positions: HashMap<&TaskId, usize> =
            self.nodes.iter().enumerate().map(|(position, node)| (&node.id, position)).collect();
        let position = |id: &TaskId| positions.get(id).copied().unwrap_or(usize::MAX);
        let (start, next, way) = cycle.describe(position)?;
        let first = position(&start);
        let by_line = |unit: &Unit| {
            let names = |at: &&Range<usize>| self.text[(*at).clone()].contains(next.as_str());
            unit.depends.iter().flatten().find(names).cloned()
        };
        let by_arrow = || self.drawing.ids.iter().find(|said| said.value == start.as_str());
        let at = self.units.get(first).and_then(by_line).or_else(|| by_arrow().map(|said| said.at.clone()));
        let at = at.or_else(|| self.nodes.get(first).map(|node| node.text.clone())).unwrap_or(0..0);
        let told = Diagnostic::error(at, format!("these units wait for each other: {way}"));
        Some(told.label(format!("`{start}` waits for `{next}`")).help("remove one of these dependencies"))
    }
}
