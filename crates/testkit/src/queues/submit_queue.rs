//! Uber's SubmitQueue: for each change, runs that assume which of those before it land, the most probable ones first. Its build
//! graph, which tells independent changes apart, is not modelled: here every change may clash with every other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::stream::Change;
use super::world::{News, Queue, RunNo, World};

/// A change, and those before it that are assumed to land.
type Path = (Change, Vec<Change>);

#[derive(Debug)]
pub(super) struct SubmitQueue {
    slots: usize,
    queue: Vec<Change>,
    running: BTreeMap<Path, RunNo>,
    known: BTreeMap<Path, bool>,
    retried: BTreeSet<Change>,
    /// What was judged so far, and what of it failed.
    judged: f64,
    failed: f64,
}

impl SubmitQueue {
    pub(super) fn new(slots: usize) -> SubmitQueue {
        let (judged, failed) = (20.0, 2.0);
        let (queue, retried) = (Vec::new(), BTreeSet::new());
        SubmitQueue {
            slots,
            queue,
            running: BTreeMap::new(),
            known: BTreeMap::new(),
            retried,
            judged,
            failed,
        }
    }

    /// The paths that are most probably needed and not known yet.
    fn wanted(&self) -> Vec<Path> {
        let failing = (self.failed / self.judged).clamp(0.001, 0.999);
        let (lands, fails) = ((1.0 - failing).ln(), failing.ln());
        let cost = |logarithm: f64| (-logarithm * 1e9) as u64;
        let heads = &self.queue[..self.queue.len().min(3 * self.slots + 2)];
        let mut open = BinaryHeap::new();
        for at in 0..heads.len() {
            open.push(Reverse((cost(lands * at as f64), at, Vec::new())));
        }
        let mut wanted = Vec::new();
        while wanted.len() < self.slots
            && let Some(Reverse((spent, at, flips))) = open.pop()
        {
            let assumed = (0..at).filter(|before| !flips.contains(before)).map(|before| heads[before]);
            let path = (heads[at], assumed.collect::<Vec<Change>>());
            if !self.known.contains_key(&path) {
                wanted.push(path);
            }
            for flip in flips.last().map_or(0, |last| last + 1)..at {
                let more = cost(fails).saturating_sub(cost(lands));
                open.push(Reverse((spent + more, at, [flips.clone(), vec![flip]].concat())));
            }
        }
        wanted
    }

    /// The first change has landed, or never will: paths that assumed otherwise are over.
    fn resolve(&mut self, world: &mut World<'_>, landed: bool) {
        let first = self.queue.remove(0);
        self.judged += 1.0;
        let keep = |(change, assumed): &Path| {
            let counts = *change != first && assumed.contains(&first) == landed;
            let rest = assumed.iter().copied().filter(|other| *other != first).collect();
            counts.then_some((*change, rest))
        };
        let known = std::mem::take(&mut self.known);
        self.known = known.into_iter().filter_map(|(path, passed)| Some((keep(&path)?, passed))).collect();
        for (path, run) in std::mem::take(&mut self.running) {
            match keep(&path) {
                Some(path) => drop(self.running.insert(path, run)),
                None => world.cancel(run),
            }
        }
    }
}

impl Queue for SubmitQueue {
    fn hear(&mut self, world: &mut World<'_>, news: News) {
        match news {
            News::Arrived(change) => self.queue.push(change),
            News::Ended { run, passed } => {
                let path = self.running.iter().find(|(_, of)| **of == run).map(|(path, _)| path.clone());
                if let Some(path) = path {
                    self.running.remove(&path);
                    self.known.insert(path, passed);
                }
            }
        }
        while let Some(&first) = self.queue.first() {
            match self.known.get(&(first, Vec::new())) {
                Some(true) => {
                    world.land(&[first]);
                    self.resolve(world, true);
                }
                Some(false) if self.retried.insert(first) => {
                    self.resolve(world, false);
                    self.judged -= 1.0;
                    self.queue.push(first);
                }
                Some(false) => {
                    world.eject(first);
                    self.failed += 1.0;
                    self.resolve(world, false);
                }
                None => break,
            }
        }
        for path in self.wanted() {
            if world.free() > 0 && !self.running.contains_key(&path) {
                let run = world.start(&[path.1.as_slice(), &[path.0]].concat());
                self.running.insert(path, run);
            }
        }
    }
}
