//! Landing queues against each other: one stream of changes, and what each queue makes of it.
//!
//! Piton's queue is the real core, driven as an engine would drive it. The others are models of what their documents say, and
//! two oracles show what could be had. Time is simulated, and a seed gives the same stream to all: when changes come, which
//! are bad, which clash, and what each check run finds. Nothing here does I/O or reads a clock.

mod bors;
mod chain;
mod oracle;
mod ours;
mod report;
mod stream;
mod submit_queue;
mod world;

use std::ops::Range;

pub use report::report;
pub use stream::{CHECK_TIME, Mix, Stream};
pub use world::Tally;

/// Who decides what is checked with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Piton,
    GitHub,
    Zuul,
    SubmitQueue,
    Trunk,
    /// The same with batches of four.
    TrunkBatches,
    Bors,
    /// It knows the verdicts, and proves each good change once.
    OneByOne,
    /// It knows the verdicts, and proves all good changes together.
    Batch,
}

impl Policy {
    pub const PEERS: [Policy; 6] = [
        Policy::GitHub,
        Policy::Zuul,
        Policy::SubmitQueue,
        Policy::Trunk,
        Policy::TrunkBatches,
        Policy::Bors,
    ];
    pub const ORACLES: [Policy; 2] = [Policy::OneByOne, Policy::Batch];

    pub fn name(self) -> &'static str {
        match self {
            Policy::Piton => "**Piton**",
            Policy::GitHub => "GitHub",
            Policy::Zuul => "Zuul",
            Policy::SubmitQueue => "SubmitQueue",
            Policy::Trunk => "Trunk",
            Policy::TrunkBatches => "Trunk, batches of 4",
            Policy::Bors => "bors",
            Policy::OneByOne => "oracle, each change once",
            Policy::Batch => "oracle, one batch",
        }
    }

    /// Live through a stream.
    pub fn live(self, stream: &Stream, slots: usize) -> Tally {
        let chain = |kind| world::live(&mut chain::ChainQueue::new(kind, slots), stream, slots);
        match self {
            Policy::Piton => world::live(&mut ours::Ours::new(stream, slots), stream, slots),
            Policy::GitHub => chain(chain::GITHUB),
            Policy::Zuul => chain(chain::ZUUL),
            Policy::Trunk => chain(chain::TRUNK),
            Policy::TrunkBatches => chain(chain::TRUNK_BATCHES),
            Policy::SubmitQueue => world::live(&mut submit_queue::SubmitQueue::new(slots), stream, slots),
            Policy::Bors => world::live(&mut bors::Bors::default(), stream, slots),
            Policy::OneByOne => oracle::one_by_one(stream, slots),
            Policy::Batch => oracle::batch(stream),
        }
    }
}

/// What the bars are about: of changes, of pairs, of runs; in parts of ten thousand.
pub const MIXES: [Mix; 5] = [
    Mix { bad: 100, clashing: 0, flaky: 0 },
    Mix { bad: 500, clashing: 10, flaky: 100 },
    Mix { bad: 1500, clashing: 20, flaky: 200 },
    Mix { bad: 2500, clashing: 30, flaky: 300 },
    Mix { bad: 500, clashing: 10, flaky: 1000 },
];

/// How much is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub seeds: u64,
    pub changes: usize,
    pub slots: usize,
    /// The time between two changes on average, in milliseconds. 0: all come at once.
    pub gap: u64,
}

/// What a policy makes of many streams, on every processor there is.
pub fn measure(policy: Policy, mix: Mix, size: Size) -> Tally {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    let of = |seeds: Range<u64>, thread: u64| {
        let mut sum = Tally::default();
        for seed in seeds.filter(|seed| seed % threads == thread) {
            sum.add(&policy.live(&Stream::new(seed, mix, size.changes, size.gap), size.slots));
        }
        sum
    };
    let mut sum = Tally::default();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || of(0..size.seeds, thread))).collect();
        all.into_iter().for_each(|one| sum.add(&one.join().expect("a simulation does not panic")));
    });
    sum
}
