//! The signals that agents give at the end: `<signal>BLOCKED:reason</signal>`.
//!
//! One reader for every agent and every system. `lines` decides which lines are the agent's own words; `reader` finds
//! the signals among them. Systems differ only in the [`Reach`]: most plans need no signal, so there only the last line
//! counts.

mod lines;
mod reader;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use lines::{Kind, kinds};
pub use reader::{Heard, Output, Reach, heard};

use crate::time::{Span, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    Done,
    /// Everything was done before the agent began, for this reason.
    Already(String),
    Failed(String),
    Blocked(String),
    /// Try again: something outside went wrong.
    Retry(String),
    Limit(Timestamp),
    /// The agent's provider rejects it.
    Refused(String),
    /// The verifier of the unit finds it done.
    Verified,
    GapsFound,
    ReviewPass,
    ReviewFail,
    TestsPass,
    TestsFail(String),
    /// What was found is fixed, and is to be looked at again.
    Fixed,
    /// A person is needed.
    Escalate(String),
    /// Done, but not yet verified.
    PreliminaryDone,
}

impl Signal {
    /// Whether it stops every agent of a provider, and not this task alone. Such a signal is read most strictly.
    fn is_run_wide(&self) -> bool {
        matches!(self, Signal::Limit(_) | Signal::Refused(_))
    }

    /// Whether it only says that something is well. Checks and reviews decide about that in any case.
    fn is_claim(&self) -> bool {
        use Signal::{Already, Done, Fixed, PreliminaryDone, ReviewPass, TestsPass, Verified};
        matches!(self, Done | Already(_) | Fixed | PreliminaryDone | ReviewPass | TestsPass | Verified)
    }
}

/// A signal with a reason that every kind of plan has.
fn with_reason(word: &str, reason: &str, now: Timestamp) -> Option<Signal> {
    match word {
        "FAILED" => Some(Signal::Failed(reason.to_owned())),
        "BLOCKED" => Some(Signal::Blocked(reason.to_owned())),
        "RETRY" => Some(Signal::Retry(reason.to_owned())),
        "REFUSED" => Some(Signal::Refused(reason.to_owned())),
        "LIMIT" => {
            Timestamp::parse(reason).or_else(|| Some(now.plus(Span::parse(reason)?))).map(Signal::Limit)
        }
        _ => None,
    }
}
