//! The signal an agent may give in its last line: `<signal>BLOCKED:reason</signal>`.

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
    let (word, rest) = body.split_once(':')?;
    let rest = rest.trim();
    match word.trim() {
        "FAILED" => Some(Signal::Failed(rest.to_owned())),
        "BLOCKED" => Some(Signal::Blocked(rest.to_owned())),
        "RETRY" => Some(Signal::Retry(rest.to_owned())),
        "LIMIT" => Timestamp::parse(rest).or_else(|| Some(now.plus(Span::parse(rest)?))).map(Signal::Limit),
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
        assert_eq!(read("<signal>T10_DONE</signal>"), None);
        assert_eq!(read("<signal>BLOCKED:x</signal>\nnever mind, it works"), None);
        assert_eq!(read("<signal>DONE"), None);
        assert_eq!(read(""), None);
    }
}
