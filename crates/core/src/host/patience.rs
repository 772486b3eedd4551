//! When a question to a host is asked again.

use super::Failure;
use crate::time::{Span, Timestamp};

/// What a question does at the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It only reads, so it can be asked again.
    Read,
    /// It changes something. What may have happened is looked for, and not asked for again.
    Write,
}

/// Three tries bridge a short outage. What lasts longer is met again at the next look, up to a minute later.
const TRIES: u32 = 3;
/// Longer waits are for the caller, who can say what the run waits for.
const LONGEST: Span = Span::seconds(60);

/// How long to wait before the same question is asked once more, after `tries` of it have failed. `None`: it is not.
pub fn ask_again_after(asked: Asked, failure: &Failure, tries: u32, now: Timestamp) -> Option<Span> {
    if tries >= TRIES {
        return None;
    }
    let wait = match failure {
        Failure::RateLimited { until: Some(until), .. } => until.since(now),
        // A limit without a time lasts a minute at least.
        Failure::RateLimited { until: None, .. } => return None,
        Failure::NoNetwork { .. } | Failure::Unavailable { .. } => {
            Span::seconds(if tries <= 1 { 1 } else { 4 })
        }
        // It has taken all the time of one question.
        Failure::TimedOut { .. } if tries <= 1 => Span(0),
        _ => return None,
    };
    let fits = wait <= LONGEST && (asked == Asked::Read || !failure.may_have_happened());
    fits.then_some(wait)
}
