//! Counts that are updated as tasks change their status, so that no caller has to scan all tasks.

use std::collections::BTreeMap;

use super::task::Status;

/// How many tasks have each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u32; Status::ALL.len()]);

impl Counts {
    pub fn of(&self, status: Status) -> u32 {
        self.0[status as usize]
    }

    pub fn add(&mut self, status: Status, n: u32) {
        self.0[status as usize] += n;
    }

    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    pub fn sum(&self, which: impl Fn(Status) -> bool) -> u32 {
        Status::ALL.into_iter().filter(|&status| which(status)).map(|status| self.of(status)).sum()
    }

    /// Whether nothing is left to do: every task is completed, or was skipped by a person.
    pub fn is_complete(&self) -> bool {
        self.total() > 0 && self.sum(Status::is_finished) == self.total()
    }

    pub fn merge(&mut self, other: &Counts) {
        for status in Status::ALL {
            self.add(status, other.of(status));
        }
    }
}

/// A place in the plan: group and dependency level.
pub(super) type Cell = (u32, u32);

/// The first places that hold the rest back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Horizon {
    /// The first group, from the session's first, with a task neither completed nor skipped by a person.
    pub unmet_group: Option<u32>,
    /// The first cell with such a task.
    pub unmet_cell: Option<Cell>,
    /// The first cell with a task that something can still happen to.
    pub unsettled_cell: Option<Cell>,
}

/// Counts per cell, and the cells that hold others back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    cells: BTreeMap<Cell, Counts>,
    unmet: BTreeMap<Cell, u32>,
    unsettled: BTreeMap<Cell, u32>,
}

impl Tally {
    pub(super) fn enter(&mut self, cell: Cell, status: Status) {
        self.cells.entry(cell).or_default().0[status as usize] += 1;
        if status.is_unmet() {
            *self.unmet.entry(cell).or_default() += 1;
        }
        if status.holds_back() {
            *self.unsettled.entry(cell).or_default() += 1;
        }
    }

    pub(super) fn leave(&mut self, cell: Cell, status: Status) {
        if let Some(counts) = self.cells.get_mut(&cell) {
            counts.0[status as usize] -= 1;
            if counts.total() == 0 {
                self.cells.remove(&cell);
            }
        }
        if status.is_unmet() {
            lower(&mut self.unmet, &cell);
        }
        if status.holds_back() {
            lower(&mut self.unsettled, &cell);
        }
    }

    pub(super) fn horizon(&self, from_group: u32) -> Horizon {
        let unmet_cell = self.unmet.range((from_group, 0)..).next().map(|(&cell, _)| cell);
        Horizon {
            unmet_group: unmet_cell.map(|(group, _)| group),
            unmet_cell,
            unsettled_cell: self.unsettled.range((from_group, 0)..).next().map(|(&cell, _)| cell),
        }
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = (Cell, &Counts)> {
        self.cells.iter().map(|(&cell, counts)| (cell, counts))
    }
}

fn lower<K: Ord>(map: &mut BTreeMap<K, u32>, key: &K) {
    if let Some(n) = map.get_mut(key) {
        *n -= 1;
        if *n == 0 {
            map.remove(key);
        }
    }
}
