//! What the end of a check says about the work, and what the next attempt reads about it.

use super::ending::NO_TEST;
use super::event::{CheckResult, Verdict};
use super::report::Tests;
use super::task::Task;
use crate::plan::{Digest, READ_TO_THE_END, TaskId};
use crate::runners;

/// Longest excerpt of one check's output in feedback.
const EXCERPT: usize = 6000;
/// Stands where lines were left out.
const GAP: &str = "[…]";

impl Verdict {
    /// Nothing has to be fixed for this.
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

/// The verdict on a line with `pipefail` whose exit says nothing about the work: a command was ended because the next
/// one had stopped reading.
pub fn of_pipe(exit: i32) -> Option<Verdict> {
    let reason = || {
        let why = "a command in its pipe was ended because the next one had stopped reading (SIGPIPE)";
        format!("{why}; {READ_TO_THE_END}")
    };
    (exit == BROKEN_PIPE).then(|| Verdict::Broken { reason: reason() })
}

/// How many tests the checks ran in all, as their runners say. It counts more than what an agent reports.
pub fn tests(results: &[CheckResult]) -> Option<Tests> {
    results.iter().filter_map(|result| result.tests).reduce(|mut sum, tests| {
        sum += tests;
        sum
    })
}

/// The checks that did not pass.
pub fn red(results: &[CheckResult]) -> Vec<Digest> {
    results.iter().filter(|result| !result.verdict.lets_pass()).map(|result| result.check.clone()).collect()
}

/// Those of the tasks whose own check is among the red ones.
pub fn whose<'t>(tasks: impl Iterator<Item = &'t Task>, red: &[Digest]) -> Vec<TaskId> {
    let theirs = tasks.filter(|task| task.judges.iter().any(|check| red.contains(check)));
    theirs.map(|task| task.id.clone()).collect()
}

/// One line about the first check that did not pass.
pub fn reason(results: &[CheckResult]) -> Option<String> {
    let failed: Vec<&CheckResult> = results.iter().filter(|r| !r.verdict.lets_pass()).collect();
    let first = failed.first()?;
    let more = match failed.len() - 1 {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    Some(format!("check `{}` {}{more}", first.name, outcome(&first.verdict)))
}

/// What an agent needs to fix it: each failing check, how it ended, and what of its output says most.
pub fn feedback(results: &[CheckResult]) -> String {
    let mut text = String::new();
    for result in results.iter().filter(|r| !r.verdict.lets_pass()) {
        text += &format!("Check `{}` {}.\n", result.name, outcome(&result.verdict));
        if result.command != result.name {
            text += &format!("    {}\n", result.command);
        }
        let said = match result.verdict {
            // The worst findings come first.
            Verdict::Rejected { .. } => start(&result.tail, EXCERPT).to_owned(),
            _ => useful(&result.tail, EXCERPT),
        };
        if !said.trim().is_empty() {
            text += &format!("Its output:\n{}\n", indented(&said));
        }
        text.push('\n');
    }
    text
}

/// The rest of a sentence that begins with the check.
pub(crate) fn outcome(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Pass => "passed".to_owned(),
        Verdict::Fail { exit } => format!("failed with exit status {exit}"),
        Verdict::Noticed { reason } => format!("noticed: {reason}"),
        Verdict::Rejected { reason } => format!("found problems ({reason})"),
        Verdict::Broken { reason } | Verdict::Impossible { reason } => format!("did not judge: {reason}"),
    }
}

/// What says most of an output that may be long: its first error, or else its beginning, and its end.
pub fn useful(text: &str, limit: usize) -> String {
    let text = text.trim_end();
    if text.len() <= limit {
        return text.to_owned();
    }
    let at = runners::first_error(text).map_or(0, |error| error.start);
    let end = excerpt(text, limit);
    if at >= text.len() - end.len() {
        return end.to_owned();
    }
    let first = start(&text[at..], limit / 3);
    let end = excerpt(text, limit - first.len().min(limit));
    let before = if at == 0 { String::new() } else { format!("{GAP}\n") };
    // Where they meet, nothing was left out.
    match text[at + first.len()..].len().checked_sub(end.len()) {
        Some(0..=1) | None => format!("{before}{}", &text[at..]),
        Some(_) => format!("{before}{}\n{GAP}\n{end}", first.trim_end()),
    }
}

/// The first `limit` bytes, to the end of a line where there is one.
fn start(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..end].rfind('\n').map_or(&text[..end], |line| &text[..=line])
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
    fn of_a_long_output_the_first_error_and_the_end_are_told() {
        let built: String = (0..500).map(|n| format!("   Compiling crate{n} v0.1.0\n")).collect();
        let (first, others) =
            ("error[E0432]: unresolved import\n --> src/a.rs:1:5\n", "error[E0425]: x\n".repeat(500));
        let said = useful(&format!("{built}{first}{others}error: could not compile `a`\n"), 900);
        assert!(said.starts_with("[…]\nerror[E0432]: unresolved import\n --> src/a.rs:1:5\n"), "{said}");
        assert!(said.ends_with("error: could not compile `a`") && said.len() < 920, "{said}");
        assert_eq!(said.matches(GAP).count(), 2, "{said}");
        // Told on, it stays what it is about.
        let again = useful(&said, 500);
        assert!(again.contains("[E0432]") && again.ends_with("could not compile `a`"), "{again}");
        // Without an error that is known, how it began may say what it is about.
        let said = useful(&format!("making it\n{}", "and on\n".repeat(500)), 300);
        assert!(said.starts_with("making it\nand on\n") && said.contains("\n[…]\nand on"), "{said}");
        // An error that stands at the end anyway is not repeated.
        let said = useful(&format!("{built}{first}"), 900);
        assert!(
            said.starts_with("   Compiling crate") && said.ends_with("a.rs:1:5") && !said.contains(GAP),
            "{said}"
        );
        assert_eq!(useful("short\n", 900), "short");
    }

    #[test]
    fn of_many_findings_the_worst_are_told() {
        let tail = format!("CRITICAL: data is lost\n{}", "MINOR: a name\n".repeat(1000));
        let verdict = Verdict::Rejected { reason: "1 critical, 0 major".to_owned() };
        let result = CheckResult { verdict, tail, ..result("review") };
        let said = feedback(&[result]);
        assert!(said.contains("CRITICAL: data is lost") && said.len() < 2 * EXCERPT, "{said}");
    }

    fn result(name: &str) -> CheckResult {
        let digest = crate::plan::Digest::of(&name);
        CheckResult {
            name: name.to_owned(),
            check: digest.clone(),
            command: name.to_owned(),
            verdict: Verdict::Pass,
            environment: digest,
            took: crate::time::Span(0),
            log: String::new(),
            tail: String::new(),
            tests: None,
            ran: None,
        }
    }

    #[test]
    fn the_excerpt_is_the_end() {
        assert_eq!(excerpt("one\ntwo\nthree\n", 9), "three");
        assert_eq!(excerpt("äöü", 3), "ü");
        assert_eq!(excerpt("short", 100), "short");
    }
}
