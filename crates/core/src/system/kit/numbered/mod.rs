//! Lists of boxes whose numbers say what belongs together, whatever their indentation: `3.1` is below `3`.
//!
//! `walk` makes boxes of lines, `tree` says what each of them is, `lead` finds the number that a text begins with, and
//! `tick` writes marks back. Reading and writing go through one function, so that both call a box the same.

mod around;
mod lead;
#[cfg(test)]
mod tests;
mod tick;
mod tree;
mod walk;
mod words;

use std::ops::Range;

use crate::plan::TaskId;
use crate::system::kit::checklist::{Checklist, Mark};
use crate::system::kit::draft::Standing;
use crate::system::kit::problems::Problems;

pub(in crate::system) use around::{Surroundings, brief};
pub(in crate::system) use lead::lead;
pub(in crate::system) use tick::{holds, tick, ticked, titles};

/// Every box of a list, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(in crate::system) struct NumberedList {
    pub(in crate::system) boxes: Vec<NumberedBox>,
    pub(in crate::system) sections: Vec<Section>,
}

/// A heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::system) struct Section {
    pub(in crate::system) title: String,
    pub(in crate::system) level: u8,
    pub(in crate::system) at: Range<usize>,
    /// The heading that it stands below.
    pub(in crate::system) parent: Option<usize>,
    /// Boxes without numbers say here how it is known that all is done.
    is_criteria: bool,
}

/// One box, or a heading that stands for its boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::system) struct NumberedBox {
    /// Of a task or of what is above tasks. The same in every version of the file in which the boxes of this number keep
    /// their order.
    pub(in crate::system) id: Option<TaskId>,
    /// As the file has it. Empty: there is none.
    pub(in crate::system) number: String,
    pub(in crate::system) title: String,
    pub(in crate::system) part: Part,
    pub(in crate::system) mark: Mark,
    /// What stands between its brackets. A heading has none.
    pub(in crate::system) place: Option<Range<usize>>,
    pub(in crate::system) optional: bool,
    /// Crossed out.
    pub(in crate::system) dropped: bool,
    pub(in crate::system) at: Range<usize>,
    pub(in crate::system) parent: Option<usize>,
    pub(in crate::system) section: Option<usize>,
    indent: usize,
    /// The position of its line, and of the lines that belong to it.
    line: usize,
    details: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::system) enum Part {
    /// It has tasks below it, and is what they are.
    Parent,
    Task,
    /// Of the task that it stands below.
    Step,
    /// It says how something is known to be done. Nobody ticks it but people.
    Criterion,
}

/// Which boxes are tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::system) enum Depth {
    /// Those that have no numbers below them.
    Leaves,
    /// Those with two parts in their number, and others without such below them. A longer number is a step.
    Two,
}

impl NumberedList {
    pub(in crate::system) fn read(
        list: &Checklist,
        text: &str,
        depth: Depth,
        found: &mut Problems,
    ) -> NumberedList {
        let mut read = walk::walk(list, text, found);
        tree::settle(&mut read, depth, found);
        words::gather(&mut read, list);
        read
    }

    /// The boxes that are tasks, with their positions.
    pub(in crate::system) fn tasks(&self) -> impl Iterator<Item = (usize, &TaskId, &NumberedBox)> {
        let tasks = self.boxes.iter().enumerate().filter(|(_, one)| one.part == Part::Task);
        tasks.filter_map(|(nth, one)| Some((nth, one.id.as_ref()?, one)))
    }

    /// For each box, how far it is as the file has it. A task whose steps are open is not done; a heading is done when
    /// its steps are; a parent is done when all of its tasks are that have to be.
    pub(in crate::system) fn done(&self) -> Vec<bool> {
        let mut done: Vec<bool> = self.boxes.iter().map(|one| one.mark.is_done()).collect();
        let mut open_below = vec![false; self.boxes.len()];
        let mut done_below = vec![false; self.boxes.len()];
        for (nth, one) in self.boxes.iter().enumerate().rev() {
            done[nth] = match one.part {
                Part::Parent => done_below[nth] && !open_below[nth],
                Part::Task if one.place.is_none() => done_below[nth] && !open_below[nth],
                Part::Task => done[nth] && !open_below[nth],
                Part::Step | Part::Criterion => done[nth],
            };
            let Some(parent) = one.parent.filter(|_| !one.dropped && one.part != Part::Criterion) else {
                continue;
            };
            done_below[parent] |= done[nth] || done_below[nth] && one.part == Part::Step;
            open_below[parent] |= !one.optional && (!done[nth] || open_below[nth]);
        }
        done
    }

    /// How far a task is, as its file has it.
    pub(in crate::system) fn standing(&self, nth: usize, done: &[bool]) -> Standing {
        let one = &self.boxes[nth];
        match one.mark {
            _ if one.dropped => Standing::Dropped,
            _ if done[nth] => Standing::Claimed,
            Mark::InProgress => Standing::NotOurs("its box says `-`, in progress"),
            Mark::Partial => Standing::NotOurs("its box says `~`, queued or deferred"),
            Mark::Open | Mark::Done | Mark::Other => Standing::Open,
        }
    }

    /// The headings above a box, the nearest first.
    pub(in crate::system) fn headings(&self, nth: usize) -> impl Iterator<Item = &Section> {
        let above = |nth: &usize| self.sections[*nth].parent;
        std::iter::successors(self.boxes[nth].section, above).map(|nth| &self.sections[nth])
    }
}
