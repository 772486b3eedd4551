//! What a check's end says, and what of it the next attempt should be told.

use super::ending::NO_TEST;
use super::event::{CheckResult, Verdict};
use super::report::Tests;
use crate::plan::READ_TO_THE_END;
use crate::runners;

/// Longest excerpt of one check's output in feedback: the end is where the reason stands.
const EXCERPT: usize = 4000;

impl Verdict {
    /// Nothing has to be mended for this.
    pub fn lets_pass(&self) -> bool {
        matches!(self, Verdict::Pass | Verdict::Noticed { .. })
    }
}

/// Judge a check that ended by itself. Exit 0 counts only if something was tested.
pub fn of_exit(exit: i32, output: &str) -> Verdict {
    match exit {
        0 if runners::ran_none(output) => Verdict::Broken { reason: NO_TEST.to_owned() },
        0 => Verdict::Pass,
        exit => Verdict::Fail { exit },
    }
}

/// The exit status of a pipe in which a command was ended by SIGPIPE.
const BROKEN_PIPE: i32 = 128 + 13;

/// Judge the end of a line all of whose pipes have to succeed, where it says nothing about the work: a command was ended
/// since the next one had stopped reading.
pub fn of_pipe(exit: i32) -> Option<Verdict> {
    let reason = || {
        let why = "a command in its pipe was ended because the next one had stopped reading (SIGPIPE)";
        format!("{why}; {READ_TO_THE_END}")
    };
    (exit == BROKEN_PIPE).then(|| Verdict::Broken { reason: reason() })
}

/// How many tests the checks ran in all, as their runners say. It beats whatever an agent tells.
pub fn tests(results: &[CheckResult]) -> Option<Tests> {
    results.iter().filter_map(|result| result.tests).reduce(|mut sum, tests| {
        sum += tests;
        sum
    })
}

/// One line about the first check that did not pass.
pub fn reason(results: &[CheckResult]) -> Option<String> {
    let failed: Vec<&CheckResult> = results.iter().filter(|r| !r.verdict.lets_pass()).collect();
    let first = failed.first()?;
    let more = match failed.len() - 1 {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    Some(format!("check `{}` {}{more}", first.name, told(&first.verdict)))
}

/// What an agent needs to mend it: each failing check, how it ended, and the end of its output.
pub fn feedback(results: &[CheckResult]) -> String {
    let mut text = String::new();
    for result in results.iter().filter(|r| !r.verdict.lets_pass()) {
        text += &format!("Check `{}` {}.\n    {}\n", result.name, told(&result.verdict), result.command);
        if !result.tail.is_empty() {
            text += &format!("The end of its output:\n{}\n", indented(excerpt(&result.tail, EXCERPT)));
        }
        text.push('\n');
    }
    text
}

fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Pass => "passed".to_owned(),
        Verdict::Fail { exit } => format!("failed with exit status {exit}"),
        Verdict::Noticed { reason } => format!("noticed: {reason}"),
        Verdict::Rejected { reason } => format!("found what has to be mended ({reason})"),
        Verdict::Broken { reason } | Verdict::Impossible { reason } => format!("did not judge: {reason}"),
    }
}

/// The last `limit` bytes, from the start of a line where there is one.
pub fn excerpt(text: &str, limit: usize) -> &str {
    let text = text.trim_end();
    if text.len() <= limit {
        return text;
    }
    let mut start = text.len() - limit;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    match text[start..].find('\n') {
        Some(end) if start + end + 1 < text.len() => &text[start + end + 1..],
        _ => &text[start..],
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_tests_is_no_pass() {
        let none = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n";
        let some =
            "test result: ok. 0 passed; 0 failed\nrunning 2 tests\ntest result: ok. 2 passed; 0 failed\n";
        assert!(matches!(of_exit(0, none), Verdict::Broken { .. }));
        assert_eq!(of_exit(0, some), Verdict::Pass);
        assert_eq!(of_exit(0, "0 errors, all fine"), Verdict::Pass);
        assert!(matches!(of_exit(0, "?   \texample.com/a\t[no test files]"), Verdict::Broken { .. }));
        assert_eq!(of_exit(0, "?   \ta\t[no test files]\nok  \tb\t0.1s"), Verdict::Pass);
        assert!(matches!(of_exit(0, "ok  \tb\t0.1s [no tests to run]"), Verdict::Broken { .. }));
        assert_eq!(of_exit(1, none), Verdict::Fail { exit: 1 });
    }

    #[test]
    fn a_command_that_was_not_let_write_has_judged_nothing() {
        assert!(
            matches!(of_pipe(141), Some(Verdict::Broken { reason }) if reason.contains("pipefail = false"))
        );
        assert_eq!((of_pipe(1), of_pipe(0), of_pipe(13)), (None, None, None));
    }

    #[test]
    fn the_excerpt_is_the_end() {
        assert_eq!(excerpt("one\ntwo\nthree\n", 9), "three");
        assert_eq!(excerpt("äöü", 3), "ü");
        assert_eq!(excerpt("short", 100), "short");
    }
}
