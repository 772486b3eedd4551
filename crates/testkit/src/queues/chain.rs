//! Queues that build a chain: each entry is checked on top of those before it, several at once. GitHub, Zuul and Trunk, as their
//! documents describe them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::stream::Change;
use super::world::{News, Queue, RunNo, World};

/// What distinguishes them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    /// The window grows by one with each landing, and is halved by each failure.
    pub(super) adapts: bool,
    /// Those behind a red entry are checked again without it at once. Else they wait until it is judged.
    pub(super) reparents: bool,
    /// An entry that passes lands with all that it was checked on, whatever their own runs found.
    pub(super) optimistic: bool,
    /// So many changes make one entry; a red one is halved.
    pub(super) batch: usize,
}

pub(super) const GITHUB: Chain = Chain { adapts: false, reparents: false, optimistic: false, batch: 1 };
pub(super) const ZUUL: Chain = Chain { adapts: true, reparents: true, optimistic: false, batch: 1 };
pub(super) const TRUNK: Chain = Chain { adapts: false, reparents: false, optimistic: true, batch: 1 };
pub(super) const TRUNK_BATCHES: Chain = Chain { batch: 4, ..TRUNK };

#[derive(Debug)]
pub(super) struct ChainQueue {
    kind: Chain,
    waiting: VecDeque<Vec<Change>>,
    entries: Vec<Entry>,
    window: f64,
    /// Changes that were red once by themselves. Their author has put each to the end of the queue, once.
    retried: BTreeSet<Change>,
    slots: usize,
    of: BTreeMap<RunNo, usize>,
    begun: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    no: usize,
    changes: Vec<Change>,
    /// What it is checked on, beside the head.
    on: Vec<Change>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waits,
    Runs(RunNo),
    Green,
    Red,
}

impl ChainQueue {
    pub(super) fn new(kind: Chain, slots: usize) -> ChainQueue {
        ChainQueue {
            kind,
            waiting: VecDeque::new(),
            entries: Vec::new(),
            window: slots as f64,
            retried: BTreeSet::new(),
            slots,
            of: BTreeMap::new(),
            begun: 0,
        }
    }

    fn next_batch(&mut self) -> Option<Vec<Change>> {
        let mut batch = self.waiting.pop_front()?;
        let is_fresh = |group: &Vec<Change>| group.len() == 1 && !self.retried.contains(&group[0]);
        if is_fresh(&batch) {
            while batch.len() < self.kind.batch && self.waiting.front().is_some_and(is_fresh) {
                batch.extend(self.waiting.pop_front().unwrap_or_default());
            }
        }
        Some(batch)
    }

    fn entry(&mut self, changes: Vec<Change>) -> Entry {
        self.begun += 1;
        Entry { no: self.begun, changes, on: Vec::new(), state: State::Waits }
    }

    /// What the entry at a place is to be checked on.
    fn before(&self, at: usize) -> Vec<Change> {
        let counts = |entry: &&Entry| !(self.kind.reparents && entry.state == State::Red);
        self.entries[..at].iter().filter(counts).flat_map(|entry| entry.changes.clone()).collect()
    }

    /// Whether it was checked on what is before it now.
    fn holds(&self, at: usize, world: &World<'_>) -> bool {
        let on = self.entries[at].on.iter().filter(|change| !world.landed.contains(change));
        on.eq(self.before(at).iter())
    }

    fn fill(&mut self, world: &mut World<'_>) {
        let window = (self.window as usize).max(1);
        let reparents = self.kind.reparents;
        let red = |entry: &&Entry| reparents && entry.state == State::Red;
        while self.entries.len() - self.entries.iter().filter(red).count() < window {
            let Some(changes) = self.next_batch() else { break };
            let entry = self.entry(changes);
            self.entries.push(entry);
        }
        for at in 0..self.entries.len() {
            if self.entries[at].state != State::Waits && !self.holds(at, world) {
                if let State::Runs(run) = self.entries[at].state {
                    world.cancel(run);
                }
                self.entries[at].state = State::Waits;
            }
        }
        for at in 0..self.entries.len() {
            if self.entries[at].state == State::Waits && world.free() > 0 {
                let on = self.before(at);
                let run = world.start(&[on.as_slice(), &self.entries[at].changes].concat());
                self.of.insert(run, self.entries[at].no);
                (self.entries[at].on, self.entries[at].state) = (on, State::Runs(run));
            }
        }
    }

    /// Land what may land, judge what can be judged; whether anything changed.
    fn settle(&mut self, world: &mut World<'_>) -> bool {
        let deepest = if self.kind.optimistic { self.entries.len() } else { self.entries.len().min(1) };
        let lands = |at: &usize| self.entries[*at].state == State::Green && self.holds(*at, world);
        if let Some(deepest) = (0..deepest).rev().find(lands) {
            let behind = self.entries.split_off(deepest + 1);
            let landing = std::mem::replace(&mut self.entries, behind);
            self.land(world, &landing);
            return true;
        }
        let is_judged = self.entries.first().is_some_and(|first| first.state == State::Red);
        if !is_judged || !self.holds(0, world) {
            return false;
        }
        let Entry { changes, .. } = self.entries.remove(0);
        if self.kind.adapts {
            self.window = (self.window / 2.0).max(1.0);
        }
        match changes.as_slice() {
            [one] if self.retried.insert(*one) => self.waiting.push_back(changes),
            [one] => world.eject(*one),
            several => {
                let (left, right) = several.split_at(several.len() / 2);
                let halves = [self.entry(left.to_vec()), self.entry(right.to_vec())];
                self.entries.splice(0..0, halves);
            }
        }
        true
    }

    fn land(&mut self, world: &mut World<'_>, entries: &[Entry]) {
        let changes: Vec<Change> = entries.iter().flat_map(|entry| entry.changes.clone()).collect();
        for entry in entries {
            if let State::Runs(run) = entry.state {
                world.cancel(run);
            }
        }
        world.land(&changes);
        if self.kind.adapts {
            self.window = (self.window + entries.len() as f64).min(self.slots as f64);
        }
    }
}

impl Queue for ChainQueue {
    fn hear(&mut self, world: &mut World<'_>, news: News) {
        match news {
            News::Arrived(change) => self.waiting.push_back(vec![change]),
            News::Ended { run, passed } => {
                let no = self.of.remove(&run);
                let entry = self.entries.iter_mut().find(|entry| Some(entry.no) == no);
                if let Some(entry) = entry.filter(|entry| entry.state == State::Runs(run)) {
                    entry.state = if passed { State::Green } else { State::Red };
                }
            }
        }
        while self.settle(world) {}
        self.fill(world);
    }
}
