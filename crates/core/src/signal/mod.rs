//! The signals that agents give at the end: `<signal>BLOCKED:reason</signal>`.
//!
//! Most plans need none, so there only the very last line counts. Where a signal decides whether work is called done at
//! all, `unit` looks for it as agents really give it.

mod unit;

pub use unit::{Heard, Output, heard};

use crate::plan::TaskId;
use crate::time::{Span, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    Done,
    Failed(String),
    Blocked(String),
    /// Try again: something outside went wrong.
    Retry(String),
    Limit(Timestamp),
    /// The agent's provider does not let it in.
    Refused(String),
    /// Whoever verifies the unit finds it done.
    Verified,
    GapsFound,
    ReviewPass,
    ReviewFail,
    TestsPass,
    TestsFail(String),
    /// What was found is mended, and is to be looked at again.
    Fixed,
    /// A person is needed.
    Escalate(String),
    /// Done as far as one can tell before it is verified.
    PreliminaryDone,
}

/// The signal in the last line of output, if it is one for this task. A signal quoted further up, or one
/// for another task, is no signal.
pub fn last_signal(output: &str, task: &TaskId, now: Timestamp) -> Option<Signal> {
    let last = output.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    let start = last.rfind("<signal>")? + "<signal>".len();
    let body = last[start..].strip_suffix("</signal>")?.trim();
    if body == "DONE" || body.strip_suffix("_DONE") == Some(task.as_str()) {
        return Some(Signal::Done);
    }
    let (word, reason) = body.split_once(':')?;
    with_reason(word.trim(), reason.trim(), now)
}

/// A word that tells a reason, and that every kind of plan has.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_line_speaks() {
        let id = TaskId::new("T1").expect("valid");
        let read = |text: &str| last_signal(text, &id, Timestamp(0));
        assert_eq!(read("work\n<signal>T1_DONE</signal>\n\n"), Some(Signal::Done));
        assert_eq!(read("all good <signal> DONE </signal>"), Some(Signal::Done));
        assert_eq!(read("<signal>BLOCKED: a: b <c></signal>"), Some(Signal::Blocked("a: b <c>".into())));
        assert_eq!(read("<signal>LIMIT:5m</signal>"), Some(Signal::Limit(Timestamp(300_000))));
        assert_eq!(
            read("<signal>REFUSED:the key is old</signal>"),
            Some(Signal::Refused("the key is old".into()))
        );
        assert_eq!(read("<signal>T10_DONE</signal>"), None);
        assert_eq!(read("<signal>BLOCKED:x</signal>\nnever mind, it works"), None);
        assert_eq!(read("<signal>DONE"), None);
        assert_eq!(read("<signal>TESTS_FAIL:2</signal>"), None, "a word of another kind of plan");
        assert_eq!(read(""), None);
    }
}
