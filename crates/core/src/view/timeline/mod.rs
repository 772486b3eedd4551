//! Where the time of a run went: what each task did when, the chain of tasks that decided when the run ended, and how much
//! went on at once.
//!
//! It is a fold over the events. A task has bars from the moment at which it could start, because its dependencies were
//! completed, until it is completed or abandoned. One bar begins where the one before it ended.

mod draw;
mod fold;
mod path;
mod svg;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::plan::TaskId;
use crate::run::Recorded;
use crate::time::{Span, Timestamp};

pub use draw::{cells, strip};
pub use fold::Fold;
pub use svg::{Picture, svg};

/// What a task does with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It could start, and waits: for a place, for a group before its own, or for the pause after a failure.
    Waiting,
    /// An agent, or whoever holds the task, works on it. Its worktree is made in this time, too.
    Working,
    /// What was done is committed, and its checks run: on the work alone, or where it is to land.
    Checking,
    /// It waits for its turn to land, or lands.
    Landing,
    /// It waits for a person or for a provider, or nobody runs the engine.
    Held,
}

impl Phase {
    pub const ALL: [Phase; 5] =
        [Phase::Working, Phase::Checking, Phase::Landing, Phase::Waiting, Phase::Held];

    /// In words, for a heading.
    pub fn words(self) -> &'static str {
        match self {
            Phase::Waiting => "waiting for its turn",
            Phase::Working => "agents working",
            Phase::Checking => "checks",
            Phase::Landing => "landing",
            Phase::Held => "waiting for you or a provider",
        }
    }

    /// What a drawing of text has for it. It says enough without a colour.
    pub fn sign(self) -> char {
        match self {
            Phase::Waiting => '░',
            Phase::Working => '█',
            Phase::Checking => '▓',
            Phase::Landing => '▒',
            Phase::Held => '┄',
        }
    }
}

/// A task in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bar {
    pub task: TaskId,
    /// The attempt that it is part of. Waiting is part of the attempt before, if there was one.
    pub attempt: u32,
    pub phase: Phase,
    #[serde(rename = "from_ms")]
    pub from: Timestamp,
    /// `None`: it goes on.
    #[serde(rename = "to_ms")]
    pub to: Option<Timestamp>,
    /// How the try ended, in words, if it ended here.
    pub end: Option<String>,
    /// The event that began it.
    pub seq: u64,
}

impl Bar {
    /// How long it is in a timeline that ends there.
    pub fn took(&self, end: Timestamp) -> Span {
        self.to.unwrap_or(end).since(self.from)
    }
}

/// A part of the chain that decided when the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub task: TaskId,
    #[serde(rename = "from_ms")]
    pub from: Timestamp,
    #[serde(rename = "to_ms")]
    pub to: Timestamp,
    /// Why it did not begin before.
    pub after: Cause,
}

/// What a task of the chain had to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// For nothing: it began with the run, or was added later.
    Nothing,
    /// The step before it is a dependency, or opened it again.
    Dependency,
    /// The step before it had the place.
    Place,
    /// The step before it was the last of an earlier group.
    Group,
}

/// Sums by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    #[serde(rename = "working_ms")]
    pub working: Span,
    #[serde(rename = "checking_ms")]
    pub checking: Span,
    #[serde(rename = "landing_ms")]
    pub landing: Span,
    #[serde(rename = "waiting_ms")]
    pub waiting: Span,
    #[serde(rename = "held_ms")]
    pub held: Span,
}

impl Totals {
    pub fn of(&self, phase: Phase) -> Span {
        match phase {
            Phase::Waiting => self.waiting,
            Phase::Working => self.working,
            Phase::Checking => self.checking,
            Phase::Landing => self.landing,
            Phase::Held => self.held,
        }
    }

    pub fn sum(&self) -> Span {
        Phase::ALL.iter().fold(Span(0), |sum, &phase| sum.plus(self.of(phase)))
    }

    fn add(&mut self, phase: Phase, span: Span) {
        let sum = match phase {
            Phase::Waiting => &mut self.waiting,
            Phase::Working => &mut self.working,
            Phase::Checking => &mut self.checking,
            Phase::Landing => &mut self.landing,
            Phase::Held => &mut self.held,
        };
        *sum = sum.plus(span);
    }
}

/// Where the time of a run went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Timeline {
    #[serde(rename = "from_ms")]
    pub from: Timestamp,
    /// Where bars that go on are cut.
    #[serde(rename = "to_ms")]
    pub to: Timestamp,
    /// By their beginning. Those of one task follow each other and do not overlap. A task that never started has none.
    pub bars: Vec<Bar>,
    /// The chain that decided when the run ended, or as far as it goes. Each step begins where the one before it ends.
    pub critical: Vec<Step>,
    /// The time of all tasks.
    pub totals: Totals,
    /// The time of the chain: together as long as the run, if it reaches back to its beginning.
    pub decided: Totals,
    /// How many tasks are worked on or checked, from each of these moments on.
    pub at_once: Vec<(Timestamp, u32)>,
}

impl Timeline {
    /// The most tasks at once.
    pub fn most_at_once(&self) -> u32 {
        self.at_once.iter().map(|&(_, count)| count).max().unwrap_or(0)
    }

    pub fn bars_of<'t>(&'t self, task: &'t TaskId) -> impl Iterator<Item = &'t Bar> {
        self.bars.iter().filter(move |bar| bar.task == *task)
    }
}

/// The timeline of these events. `now` is the end of what goes on.
pub fn timeline(events: impl IntoIterator<Item = Recorded>, now: Timestamp) -> Timeline {
    let mut fold = Fold::default();
    events.into_iter().for_each(|recorded| fold.read(&recorded));
    fold.timeline(now)
}
