//! Slots, time and a head that every queue works with, and the count of what it does to them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::stream::{CHECK_TIME, CHECKS, Change, Stream, Tree, fingerprint};

/// A check run.
pub(super) type RunNo = u64;

/// How a queue decides. It starts and cancels runs, lands and ejects changes.
pub(super) trait Queue {
    fn hear(&mut self, world: &mut World<'_>, news: News);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum News {
    Arrived(Change),
    Ended { run: RunNo, passed: bool },
}

#[derive(Debug)]
pub(super) struct World<'s> {
    pub(super) stream: &'s Stream,
    pub(super) now: u64,
    slots: usize,
    /// What the head has.
    pub(super) landed: Tree,
    running: BTreeSet<RunNo>,
    agenda: BinaryHeap<Reverse<(u64, u64, News)>>,
    begun: u64,
    planned: u64,
    /// How often each tree was run, and those that have passed.
    tried: BTreeMap<u64, u32>,
    passed: BTreeSet<u64>,
    trees: BTreeMap<RunNo, u64>,
    pub(super) tally: Tally,
}

/// What came of a queue.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub changes: u64,
    pub landed: u64,
    pub runs: u64,
    /// Until the last change had landed or was ejected, in milliseconds.
    pub took: u64,
    /// How long each change waited that landed, in milliseconds.
    pub waits: Vec<u64>,
    /// The longest wait of all, whether it landed or not.
    pub longest: u64,
    /// Ejected although it was green on the head.
    pub false_ejections: u64,
    /// The most often that a change was set aside.
    pub set_aside: u32,
    /// Neither landed nor ejected at the end.
    pub left: u64,
    /// The head was red.
    pub red_heads: u64,
    /// The head moved to a tree that no run had passed on.
    pub unproven_heads: u64,
}

/// Live through a stream.
pub(super) fn live(queue: &mut dyn Queue, stream: &Stream, slots: usize) -> Tally {
    let mut world = World::new(stream, slots);
    while let Some(Reverse((at, _, news))) = world.agenda.pop() {
        if let News::Ended { run, .. } = news
            && !world.running.remove(&run)
        {
            continue;
        }
        world.now = at;
        if let News::Ended { run, passed: true } = news {
            world.passed.insert(world.trees[&run]);
        }
        queue.hear(&mut world, news);
    }
    world.tally
}

impl<'s> World<'s> {
    fn new(stream: &'s Stream, slots: usize) -> World<'s> {
        let mut world = World {
            stream,
            now: 0,
            slots,
            landed: Tree::new(),
            running: BTreeSet::new(),
            agenda: BinaryHeap::new(),
            begun: 0,
            planned: 0,
            tried: BTreeMap::new(),
            passed: BTreeSet::new(),
            trees: BTreeMap::new(),
            tally: Tally { changes: stream.len() as u64, left: stream.len() as u64, ..Tally::default() },
        };
        for (change, &at) in stream.arrivals.iter().enumerate() {
            world.plan(at, News::Arrived(change));
        }
        world
    }

    fn plan(&mut self, at: u64, news: News) {
        self.planned += 1;
        self.agenda.push(Reverse((at, self.planned, news)));
    }

    pub(super) fn free(&self) -> usize {
        self.slots.saturating_sub(self.running.len())
    }

    /// Run the checks on the head with these changes.
    pub(super) fn start(&mut self, changes: &[Change]) -> RunNo {
        let mut tree = self.landed.clone();
        tree.extend(changes);
        self.run(&tree, 1)
    }

    /// Run those checks again that failed on a tree. It counts as a run, whatever part of one it is.
    pub(super) fn start_failed(&mut self, tree: &Tree) -> RunNo {
        self.run(tree, CHECKS)
    }

    fn run(&mut self, tree: &Tree, part: u64) -> RunNo {
        assert!(self.free() > 0, "no slot is free");
        let key = fingerprint(tree);
        let nth = self.tried.entry(key).or_default();
        let verdict = self.stream.run(tree, *nth);
        *nth += 1;
        self.begun += 1;
        self.tally.runs += 1;
        let run = self.begun;
        self.running.insert(run);
        self.trees.insert(run, key);
        self.plan(self.now + verdict.takes / part, News::Ended { run, passed: verdict.passes });
        run
    }

    pub(super) fn cancel(&mut self, run: RunNo) {
        self.running.remove(&run);
    }

    /// Move the head to itself with these changes.
    pub(super) fn land(&mut self, changes: &[Change]) {
        self.landed.extend(changes);
        self.tally.red_heads += u64::from(!self.stream.is_green(&self.landed));
        self.tally.unproven_heads += u64::from(!self.passed.contains(&fingerprint(&self.landed)));
        for &change in changes {
            self.tally.landed += 1;
            let wait = self.leave(change);
            self.tally.waits.push(wait);
        }
    }

    /// Give a change back to its author.
    pub(super) fn eject(&mut self, change: Change) {
        self.tally.false_ejections += u64::from(self.stream.fits(change, &self.landed));
        self.leave(change);
    }

    fn leave(&mut self, change: Change) -> u64 {
        let wait = self.now - self.stream.arrivals[change];
        self.tally.left -= 1;
        self.tally.longest = self.tally.longest.max(wait);
        self.tally.took = self.tally.took.max(self.now);
        wait
    }
}

impl Tally {
    /// Changes that land while a check run takes place.
    pub fn landed_per_check_time(&self) -> f64 {
        self.landed as f64 * CHECK_TIME as f64 / self.took as f64
    }

    /// How long this part of the changes that landed has waited at most, in check times.
    pub fn wait(&self, part: f64) -> f64 {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        let at = ((waits.len() as f64 - 1.0) * part).round() as usize;
        waits.get(at).map_or(f64::NAN, |wait| *wait as f64 / CHECK_TIME as f64)
    }

    pub fn runs_per_landed(&self) -> f64 {
        self.runs as f64 / self.landed as f64
    }

    /// Of a hundred changes, those that were ejected although they were green.
    pub fn false_percent(&self) -> f64 {
        self.false_ejections as f64 * 100.0 / self.changes as f64
    }

    pub(super) fn add(&mut self, other: &Tally) {
        self.changes += other.changes;
        self.landed += other.landed;
        self.runs += other.runs;
        self.took += other.took;
        self.waits.extend(&other.waits);
        self.longest = self.longest.max(other.longest);
        self.false_ejections += other.false_ejections;
        self.left += other.left;
        self.set_aside = self.set_aside.max(other.set_aside);
        self.red_heads += other.red_heads;
        self.unproven_heads += other.unproven_heads;
    }
}
