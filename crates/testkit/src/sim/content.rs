//! What files hold in the simulated world, what a task has to write into them, and what checks look for.
//!
//! A tree is a map from lines to values. Each task owns a line; some also enter themselves in a register they share
//! (two at once conflict in the text); some pairs are green alone and red together unless the second one writes a line
//! that adapts one to the other.

use std::collections::BTreeMap;

pub(super) type Line = u16;
pub(super) type Tree = BTreeMap<Line, u32>;

pub(super) const WRONG: u32 = 1;
pub(super) const DONE: u32 = 2;
/// A conflict marker.
pub(super) const MARKER: u32 = u32::MAX;

pub(super) fn own(task: usize) -> Line {
    task as Line
}
pub(super) fn register(no: usize) -> Line {
    100 + no as Line
}
pub(super) fn adapted(pair: usize) -> Line {
    200 + pair as Line
}
pub(super) fn persons(no: usize) -> Line {
    300 + no as Line
}
/// The line for work that a confirming pass finds.
pub(super) fn extra(task: usize) -> Line {
    400 + task as Line
}

/// The line that an agent writes if there was nothing left to do.
pub(super) fn note(task: usize) -> Line {
    450 + task as Line
}

/// What a check looks at. Its verdict depends on the tree alone; only flakiness comes on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predicate {
    /// The task's line is done and, where it has to be, it is in the register.
    Own(usize),
    /// The two of this pair fit together.
    Pair(usize),
    /// No conflict marker anywhere: the same command for every task that uses it.
    Clean,
    /// All pairs fit together: a suite that knows everything.
    Suite,
}

/// How much of what it sees an agent works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    AsAsked,
    /// On its first run, an agent may do another task's work as well.
    MayOverreach,
}

/// What the tasks' work is about.
#[derive(Clone, Debug, Default)]
pub(super) struct Subjects {
    /// The register a task enters itself in.
    pub(super) registers: Vec<Option<usize>>,
    pub(super) pairs: Vec<(usize, usize)>,
    /// A task whose agent also does the work of the other of its pair, unasked.
    pub(super) overreach: Vec<Option<usize>>,
}

pub(super) fn get(tree: &Tree, line: Line) -> u32 {
    tree.get(&line).copied().unwrap_or(0)
}

fn done(tree: &Tree, task: usize) -> bool {
    get(tree, own(task)) == DONE
}

impl Subjects {
    pub(super) fn holds(&self, predicate: Predicate, tree: &Tree) -> bool {
        let fits = |no: usize| {
            let (a, b) = self.pairs[no];
            !(done(tree, a) && done(tree, b)) || get(tree, adapted(no)) == 1
        };
        match predicate {
            Predicate::Own(task) => {
                let entered = self.registers[task].is_none_or(|no| {
                    let value = get(tree, register(no));
                    value != MARKER && value & (1 << task) != 0
                });
                done(tree, task) && entered
            }
            Predicate::Pair(no) => fits(no),
            Predicate::Clean => tree.values().all(|&value| value != MARKER),
            Predicate::Suite => (0..self.pairs.len()).all(fits),
        }
    }

    /// What a good agent makes of the tree it finds; `base` is what the target had when it began.
    pub(super) fn work(&self, task: usize, tree: &mut Tree, base: &Tree, scope: Scope) {
        let marked: Vec<Line> = tree.iter().filter(|(_, v)| **v == MARKER).map(|(l, _)| *l).collect();
        for line in marked {
            match base.get(&line).filter(|value| **value != MARKER) {
                Some(value) => tree.insert(line, *value),
                None => tree.remove(&line),
            };
        }
        let unasked =
            self.overreach[task].filter(|&other| scope == Scope::MayOverreach && get(base, own(other)) == 0);
        for (no, &(a, b)) in self.pairs.iter().enumerate() {
            // What was there is respected. An agent that does both at once does not notice that they do not fit.
            let fits = |mine: usize, other: usize| {
                let unnoticed = unasked.is_some_and(|u| [a, b] == [u, task] || [a, b] == [task, u]);
                (mine == task || Some(mine) == unasked) && done(tree, other) && !unnoticed
            };
            if fits(a, b) || fits(b, a) {
                tree.insert(adapted(no), 1);
            }
        }
        self.enter(task, tree);
        if let Some(other) = unasked {
            self.enter(other, tree);
        }
        if tree == base {
            // Another task did all of it: a note about that is still a change.
            let words = get(tree, note(task)) + 1;
            tree.insert(note(task), words);
        }
    }

    fn enter(&self, task: usize, tree: &mut Tree) {
        tree.insert(own(task), DONE);
        if let Some(no) = self.registers[task] {
            let value = get(tree, register(no));
            tree.insert(register(no), value | (1 << task));
        }
    }
}

/// The lines in which two trees differ.
pub(super) fn changed(from: &Tree, to: &Tree) -> Vec<Line> {
    let mut lines: Vec<Line> = from.keys().chain(to.keys()).copied().collect();
    lines.retain(|line| from.get(line) != to.get(line));
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Three-way merge, and the lines that both sides changed differently. Markers stay where they conflict.
pub(super) fn merge(base: &Tree, ours: &Tree, theirs: &Tree) -> (Tree, Vec<Line>) {
    let mut merged = Tree::new();
    let mut conflicts = Vec::new();
    let mut lines: Vec<Line> = base.keys().chain(ours.keys()).chain(theirs.keys()).copied().collect();
    lines.sort_unstable();
    lines.dedup();
    for line in lines {
        let (b, o, t) = (base.get(&line), ours.get(&line), theirs.get(&line));
        let value = if o == t || t == b {
            o.copied()
        } else if o == b {
            t.copied()
        } else {
            conflicts.push(line);
            Some(MARKER)
        };
        if let Some(value) = value {
            merged.insert(line, value);
        }
    }
    (merged, conflicts)
}
