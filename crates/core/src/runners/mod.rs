//! What test runners say about themselves: how many tests ran, and how they ended.
//!
//! Only the lines that a runner writes as its own summary are believed. What no runner said is unknown, which is
//! not zero. Where a runner sums up once per crate or package, those are added up.

mod first_error;
mod others;
mod tap;
#[cfg(test)]
mod tests;

pub use first_error::first_error;
use others::Others;
use tap::Tap;

use crate::run::Tests;
use crate::tags::{Kind, tags};
use crate::terminal::clean_text;

/// How many tests an output reports. `None`: no known runner printed a number.
pub fn counts(output: &str) -> Option<Tests> {
    Heard::from(output).counts()
}

/// The same for a report: a runner's output, or just `12 passed, 1 failed`.
pub fn reported_counts(text: &str) -> Option<Tests> {
    let known = |(_, what): (u64, &str)| matches!(what, "passed" | "failed" | "skipped");
    let brief = || text.split(',').all(|part| amount(part).is_some_and(known));
    counts(text).or_else(|| if brief() { amounts(text, ',') } else { None })
}

/// Whether a runner says itself that it ran no test.
pub fn ran_none(output: &str) -> bool {
    counts(output).is_some_and(|tests| (tests.passed, tests.failed) == (0, 0))
}

/// What the output says, for each runner that has to be told apart. The others add to `summed`.
#[derive(Debug, Default)]
struct Heard {
    /// The sums of pytest, jest and vitest.
    summed: Option<Tests>,
    nextest: Option<Tests>,
    libtest_ok: Option<Tests>,
    libtest_failed: Option<Tests>,
    /// Node says how many there are, and then, a line each, how they ended.
    node: Option<(u64, Tests)>,
    go: Go,
    others: Others,
    tap: Tap,
    junit: Option<Tests>,
}

impl Heard {
    fn from(output: &str) -> Heard {
        let text = clean_text(output.as_bytes());
        let mut heard = Heard { junit: junit(&text), ..Heard::default() };
        text.lines().for_each(|line| heard.line(line));
        heard
    }

    fn line(&mut self, line: &str) {
        let said = line.trim();
        self.tap.line(line);
        if let Some((failed, tests)) = libtest(said) {
            add(if failed { &mut self.libtest_failed } else { &mut self.libtest_ok }, tests);
        } else if let Some(tests) = nextest(said) {
            add(&mut self.nextest, tests);
        } else if let Some(tests) = pytest(said).or_else(|| jest(said)).or_else(|| vitest(said)) {
            add(&mut self.summed, tests);
        } else if let Some((what, number)) = node(said) {
            match &mut self.node {
                Some((total, _)) if what == "tests" => *total = total.saturating_add(number),
                None if what == "tests" => self.node = Some((number, Tests::default())),
                Some((_, tests)) => *tests = tests.with(what, number),
                None => {}
            }
        } else if !self.others.line(said) {
            self.go.line(line);
        }
    }

    fn counts(self) -> Option<Tests> {
        // This is written for machines, with an entry for every test. Other output besides it says the same.
        if self.junit.is_some() {
            return self.junit;
        }
        let node = match self.node {
            // There were tests, but the output does not say how they ended.
            Some((1.., ended)) if ended == Tests::default() => return None,
            // A file without a test counts as one that passed.
            node => node.map(|(_, ended)| Tests {
                passed: ended.passed.saturating_sub(self.tap.empty_files),
                ..ended
            }),
        };
        // Nextest shows what a failed test printed, and that ends with a result of its own.
        let libtest_failed = self.libtest_failed.filter(|_| self.nextest.is_none());
        let others = self.others.counts().ok()?;
        let go = self.go.counts().ok()?;
        let heard = [self.summed, self.nextest, self.libtest_ok, libtest_failed, node, go, others];
        // Many runners print this form besides their own. It counts only if there is no other.
        let tap = if heard.iter().all(Option::is_none) { self.tap.counts() } else { None };
        heard.into_iter().chain([tap]).flatten().reduce(|mut sum, tests| {
            sum += tests;
            sum
        })
    }
}

fn add(sum: &mut Option<Tests>, tests: Tests) {
    *sum.get_or_insert_default() += tests;
}

impl Tests {
    /// With `number` more tests of the kind that runners call `what`. Other words are not about tests that ran or were
    /// skipped.
    fn with(mut self, what: &str, number: u64) -> Tests {
        let of = match what {
            "pass" | "passed" | "xpassed" => &mut self.passed,
            "fail" | "failed" | "error" | "errors" | "timed out" | "exec failed" | "cancelled" => {
                &mut self.failed
            }
            "skip" | "skipped" | "ignored" | "todo" | "xfailed" => &mut self.skipped,
            _ => return self,
        };
        *of = of.saturating_add(number);
        self
    }
}

/// `3 passed`: the number and the rest.
fn amount(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let (number, what) = text.split_once(' ').unwrap_or((text, ""));
    Some((number.parse().ok()?, what.trim()))
}

/// A list of amounts. If one item is anything else, it is not such a list.
fn amounts(list: &str, between: char) -> Option<Tests> {
    list.split(between).try_fold(Tests::default(), |tests, part| {
        let (number, what) = amount(part)?;
        Some(tests.with(what, number))
    })
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s`, and whether
/// it failed.
fn libtest(line: &str) -> Option<(bool, Tests)> {
    let (verdict, list) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let list = list.split_once("; finished in ").map_or(list, |(list, _)| list);
    Some((verdict == "FAILED", amounts(list, ';')?))
}

/// `Summary [   0.12s] 5 tests run: 4 passed (1 slow, 1 flaky), 1 failed, 2 skipped`.
fn nextest(line: &str) -> Option<Tests> {
    let (_, said) = line.strip_prefix("Summary [")?.split_once("] ")?;
    let (run, list) = said.split_once(" run: ")?;
    if !run.ends_with("test") && !run.ends_with("tests") {
        return None;
    }
    let mut depth = 0_u32;
    let plain: String = list
        .chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth = depth.saturating_sub(1);
                    return false;
                }
                _ => {}
            }
            depth == 0
        })
        .collect();
    amounts(&plain, ',')
}

/// `===== 1 failed, 3 passed, 2 skipped in 0.12s =====`, or the same without the frame.
fn pytest(line: &str) -> Option<Tests> {
    let (list, took) = line.trim_matches('=').trim().rsplit_once(" in ")?;
    let (seconds, _) = took.split_once('s')?;
    seconds.parse::<f64>().ok()?;
    if list == "no tests ran" {
        return Some(Tests::default());
    }
    const TESTS: [&str; 8] =
        ["passed", "failed", "skipped", "xfailed", "xpassed", "error", "errors", "deselected"];
    let of_tests = |part: &str| amount(part).is_some_and(|(_, what)| TESTS.contains(&what));
    // Other tools report their warnings in the same form.
    if !list.split(',').any(of_tests) {
        return None;
    }
    amounts(list, ',')
}

/// `Tests:       1 failed, 2 skipped, 1 todo, 12 passed, 16 total`.
fn jest(line: &str) -> Option<Tests> {
    if line.starts_with("No tests found, exiting with code ") {
        return Some(Tests::default());
    }
    let list = line.strip_prefix("Tests:")?;
    amounts(list.strip_suffix(" total").map(|_| list)?, ',')
}

/// `Tests  1 failed | 12 passed | 2 skipped (15)`.
fn vitest(line: &str) -> Option<Tests> {
    if line.starts_with("No test files found, exiting with code ") {
        return Some(Tests::default());
    }
    let list = line.strip_prefix("Tests  ")?.trim();
    if list == "no tests" {
        return Some(Tests::default());
    }
    amounts(list.strip_suffix(')')?.rsplit_once(" (")?.0, '|')
}

/// `# pass 3`, or `ℹ pass 3` for people.
fn node(line: &str) -> Option<(&str, u64)> {
    let said = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "))?;
    let (what, number) = said.split_once(' ')?;
    Some((what, number.trim_start().parse().ok()?))
}

/// `go test` names packages; tests only if it is asked to.
#[derive(Debug, Default)]
struct Go {
    tests: Tests,
    /// It named every test as it came to it.
    each: bool,
    /// Packages in which nothing was tested.
    empty: u32,
    /// Packages without a known number.
    other: u32,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    action: String,
    #[expect(dead_code, reason = "an object without it is no event of go's")]
    package: String,
    test: Option<String>,
}

impl Go {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        if trimmed.starts_with('{') {
            if let Ok(event) = serde_json::from_str::<GoEvent>(trimmed) {
                self.event(&event);
            }
        } else if trimmed.starts_with("=== RUN ") {
            self.each = true;
        } else if let Some((how, _)) = trimmed.strip_prefix("--- ").and_then(|said| said.split_once(": ")) {
            self.tests = self.tests.with(&how.to_ascii_lowercase(), 1);
        } else if line.starts_with("?   \t") && trimmed.ends_with("[no test files]")
            || line.starts_with("ok  \t") && trimmed.ends_with("[no tests to run]")
        {
            self.empty += 1;
        } else if line.starts_with("ok  \t") || line.starts_with("FAIL\t") {
            self.other += 1;
        }
    }

    fn event(&mut self, event: &GoEvent) {
        match (&event.test, event.action.as_str()) {
            (Some(_), how) => {
                self.each |= how == "run";
                self.tests = self.tests.with(how, 1);
            }
            (None, "fail") => self.other += 1,
            (None, "pass" | "skip") => self.empty += 1,
            _ => {}
        }
    }

    fn counts(&self) -> Result<Option<Tests>, NotSaid> {
        match self {
            Go { each: true, tests, .. } => Ok(Some(*tests)),
            Go { other: 1.., .. } => Err(NotSaid),
            Go { empty: 1.., .. } => Ok(Some(Tests::default())),
            _ => Ok(None),
        }
    }
}

/// Tests ran, but the output does not say how many.
struct NotSaid;

/// A JUnit report. Its test cases are counted; the sums in its heads are wrong too often.
fn junit(text: &str) -> Option<Tests> {
    let mut tests = Tests::default();
    let mut says_none = false;
    // How the case that is open ends, as far as it is known.
    let mut open: Option<&str> = None;
    for tag in tags(&text[text.find("<testsuite")?..]) {
        match (tag.name, tag.kind) {
            ("testsuite" | "testsuites", _) => says_none |= tag.attribute("tests").as_deref() == Some("0"),
            ("testcase", Kind::Empty) => tests.passed += 1,
            ("testcase", Kind::Open) => open = Some("passed"),
            ("testcase", Kind::Close) => tests = tests.with(open.take()?, 1),
            ("failure" | "error", _) => open = open.map(|_| "failed"),
            ("skipped", _) if open == Some("passed") => open = Some("skipped"),
            _ => {}
        }
    }
    // Cut off, or only words about one.
    let is_whole = open.is_none() && (tests != Tests::default() || says_none);
    is_whole.then_some(tests)
}
