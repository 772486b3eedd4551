//! The changes that every queue gets: when each comes, what is wrong with it, and what a check run finds.

use std::collections::BTreeSet;

use crate::rng::Rng;

/// A change, by its place in the stream.
pub(super) type Change = usize;
/// The changes that a tree consists of.
pub(super) type Tree = BTreeSet<Change>;

/// How long a check run takes on average, in milliseconds. A run takes between 80 % and 120 % of it.
pub const CHECK_TIME: u64 = 10 * 60_000;

/// A run consists of so many checks that take equally long, and one of them fails: a queue that repeats only what failed repeats
/// half a run. One would be too few for a project with tests and a linter; more would favour such a queue.
pub(super) const CHECKS: u64 = 2;

/// Of one kind: what goes wrong, each in parts of ten thousand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Changes that are red on every tree.
    pub bad: u64,
    /// Pairs of changes that are red together.
    pub clashing: u64,
    /// Runs on a green tree that end red.
    pub flaky: u64,
}

#[derive(Clone, Debug)]
pub struct Stream {
    seed: u64,
    flaky: u64,
    /// When each comes, in order.
    pub(super) arrivals: Vec<u64>,
    bad: Vec<bool>,
    clashes: Vec<Vec<Change>>,
}

/// A check run, before it is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) takes: u64,
    pub(super) passes: bool,
}

impl Stream {
    /// `gap`: the time between two changes on average; 0 is a backlog.
    pub fn new(seed: u64, mix: Mix, changes: usize, gap: u64) -> Stream {
        let mut rng = Rng::new(seed);
        let mut of = |parts: u64| rng.between(1, 10_000) <= parts;
        let bad = (0..changes).map(|_| of(mix.bad)).collect();
        let mut clashes = vec![Vec::new(); changes];
        for one in 0..changes {
            for other in 0..one {
                if of(mix.clashing) {
                    clashes[one].push(other);
                    clashes[other].push(one);
                }
            }
        }
        let mut at = 0;
        let mut arrive = |_| {
            at += rng.between(0, 2 * gap);
            at
        };
        let arrivals = (0..changes).map(&mut arrive).collect();
        Stream { seed, flaky: mix.flaky, arrivals, bad, clashes }
    }

    pub fn len(&self) -> usize {
        self.arrivals.len()
    }

    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    pub(super) fn is_green(&self, tree: &Tree) -> bool {
        let clashes = |change: &Change| self.clashes[*change].iter().any(|other| tree.contains(other));
        !tree.iter().any(|change| self.bad[*change] || clashes(change))
    }

    /// Whether a change would be green on a tree that is.
    pub(super) fn fits(&self, change: Change, tree: &Tree) -> bool {
        !self.bad[change] && !self.clashes[change].iter().any(|other| tree.contains(other))
    }

    /// What the `nth` run on a tree finds: the same for every queue that makes it.
    pub(super) fn run(&self, tree: &Tree, nth: u32) -> Verdict {
        let mut rng = Rng::new(self.seed ^ fingerprint(tree).rotate_left(nth));
        let takes = rng.between(CHECK_TIME * 4 / 5, CHECK_TIME * 6 / 5);
        let flakes = rng.between(1, 10_000) <= self.flaky;
        Verdict { takes, passes: !flakes && self.is_green(tree) }
    }
}

/// FNV-1a.
pub(super) fn fingerprint(tree: &Tree) -> u64 {
    let mix = |hash: u64, change: &Change| (hash ^ *change as u64).wrapping_mul(0x0100_0000_01b3);
    tree.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}
