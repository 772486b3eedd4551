//! The simulator: the pure core driven as an engine would, in a world made of dice.
//!
//! A seed stands for a plan, agents, people, a git repository, a clock and an engine that crashes. The loop
//! computes the next actions, lets each take its time, reports what came of it, and checks the laws of `laws`
//! after every event and those of `rest` at the end. The same seed gives the same run, so a violation is
//! repeated by one command. Nothing here does I/O, sleeps or reads a clock.

mod attempts;
mod bounds;
mod claims;
mod confirming;
mod content;
mod coverage;
mod driver;
mod engine;
mod faults;
mod gates;
mod git;
mod identity;
mod keeper;
mod landing;
mod laws;
mod overloads;
mod people;
mod providers;
mod requests;
mod rest;
mod reviews;
mod scenario;
mod siblings;
mod stacks;
mod takeover;
mod whole;
mod world;

use std::fmt;
use std::ops::Range;

pub use coverage::{Coverage, KINDS, QUEUE_SITUATIONS, REQUEST_SITUATIONS, SITUATIONS, TAKEOVER_SITUATIONS};

/// A world that breaks a promise on purpose, to prove that the laws notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Checks on the merged tree are said to have passed.
    SkipMergedChecks,
    /// The same, and they are said to have been run.
    LieAboutMergedChecks,
    /// What was proven is the tree that was verified, and what lands is the merged one.
    ProveTheWrongTree,
    /// Checks of a task are said to have passed because its agent says it is done.
    TrustTheAgent,
    /// A landing is reported, and the target was not moved.
    LandWithoutMoving,
    /// A landing is made without looking whether it has already happened.
    LandBlindly,
    /// A landing counts for whatever task has its id now.
    TrustTheId,
    /// An outcome on disk is not looked for.
    RunAgain,
    /// A new engine misses the journal's last event.
    ForgetLastEvent,
    /// An engine that was overtaken puts the current fence on its old results, and the name of the other engine.
    ForgeFences,
    /// A take-over believes what a state file says.
    BelieveTheFile,
    /// A take-over takes over nothing.
    ForgetTheFile,
}

/// The kind of world that a seed stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum World {
    /// Everything that can happen to a run.
    #[default]
    Any,
    /// A landing queue under pressure: tasks that are green alone and red together, checks that fail or pass
    /// without a reason, a target that moves, an engine that crashes.
    Queue,
    /// A run whose tasks land by requests of a host, which has checks and people of its own.
    Requests,
    /// A run that begins by taking over what another system left, whose word is true or false.
    TakeOver,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub world: World,
    /// Keep every step, to be read.
    pub trace: bool,
    pub sabotage: Option<Sabotage>,
}

/// A law was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    pub world: World,
    pub seed: u64,
    pub law: &'static str,
    pub detail: String,
    pub trace: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "seed {} breaks `{}`: {}", self.seed, self.law, self.detail)?;
        let kind = match self.world {
            World::Any => "--seed",
            World::Queue => "--queue",
            World::Requests => "--request",
            World::TakeOver => "--takeover",
        };
        write!(f, "see it again: cargo xtask simulate {kind} {} --trace", self.seed)
    }
}

impl std::error::Error for Violation {}

/// The result of a seed.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub coverage: Coverage,
    pub trace: Vec<String>,
}

/// Simulate one seed.
pub fn simulate(seed: u64, options: Options) -> Result<Outcome, Violation> {
    let mut sim = driver::Sim::new(seed, options);
    match sim.live() {
        Ok(()) => Ok(Outcome { coverage: sim.coverage, trace: sim.trace }),
        Err((law, detail)) => Err(Violation { world: options.world, seed, law, detail, trace: sim.trace }),
    }
}

/// Simulate many seeds; stops at the first violation.
pub fn simulate_all(seeds: impl IntoIterator<Item = u64>, options: Options) -> Result<Coverage, Violation> {
    let mut coverage = Coverage::default();
    for seed in seeds {
        coverage.merge(&simulate(seed, options)?.coverage);
    }
    Ok(coverage)
}

/// The same on all processors. Returns the violation of the smallest seed.
pub fn simulate_wide(seeds: Range<u64>, options: Options) -> Result<Coverage, Violation> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let of = |thread: usize| simulate_all(seeds.clone().skip(thread).step_by(threads), options);
    let results: Vec<Result<Coverage, Violation>> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || of(thread))).collect();
        all.into_iter().map(|one| one.join().expect("a simulation does not panic")).collect()
    });
    let mut coverage = Coverage::default();
    let mut first: Option<Violation> = None;
    for result in results {
        match result {
            Ok(seen) => coverage.merge(&seen),
            Err(violation) if first.as_ref().is_none_or(|known| violation.seed < known.seed) => {
                first = Some(violation);
            }
            Err(_) => {}
        }
    }
    first.map_or(Ok(coverage), Err)
}
