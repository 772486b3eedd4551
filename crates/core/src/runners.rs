//! What test runners say about themselves: how many tests ran, and how they ended.
//!
//! Only the lines that a runner writes as its own summary are believed. What no runner said is unknown, which is
//! not zero. Where a runner sums up once per crate or package, those are added up.

use crate::run::Tests;
use crate::tags::{Kind, tags};
use crate::terminal::clean_text;

/// How many tests an output tells of. `None`: no runner that is known here gave a number.
pub fn counts(output: &str) -> Option<Tests> {
    Heard::from(output).counts()
}

/// The same of what somebody says: a runner's output, or just `12 passed, 1 failed`.
pub fn told(text: &str) -> Option<Tests> {
    let known = |(_, what): (u64, &str)| matches!(what, "passed" | "failed" | "skipped");
    let brief = || text.split(',').all(|part| amount(part).is_some_and(known));
    counts(text).or_else(|| if brief() { amounts(text, ',') } else { None })
}

/// Whether a runner says itself that it ran no test.
pub fn ran_none(output: &str) -> bool {
    counts(output).is_some_and(|tests| (tests.passed, tests.failed) == (0, 0))
}

/// What was heard of each runner that has to be told apart. The others add to `summed`.
#[derive(Debug, Default)]
struct Heard {
    /// Of pytest, jest and vitest.
    summed: Option<Tests>,
    nextest: Option<Tests>,
    libtest_ok: Option<Tests>,
    libtest_failed: Option<Tests>,
    /// Node says how many there are, and then, a line each, how they ended.
    node: Option<(u64, Tests)>,
    go: Go,
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
        } else {
            self.go.line(line);
        }
    }

    fn counts(self) -> Option<Tests> {
        // Written for machines, with an entry for every test: what else is printed beside it says the same.
        if self.junit.is_some() {
            return self.junit;
        }
        let node = match self.node {
            // There were some, and nobody said how they ended.
            Some((1.., ended)) if ended == Tests::default() => return None,
            node => node.map(|(_, ended)| ended),
        };
        // Nextest shows what a failed test printed, and that ends with a result of its own.
        let libtest_failed = self.libtest_failed.filter(|_| self.nextest.is_none());
        let heard =
            [self.summed, self.nextest, self.libtest_ok, libtest_failed, node, self.go.counts().ok()?];
        heard.into_iter().flatten().reduce(|mut sum, tests| {
            sum += tests;
            sum
        })
    }
}

fn add(sum: &mut Option<Tests>, tests: Tests) {
    *sum.get_or_insert_default() += tests;
}

impl Tests {
    /// With `number` more of what the runners call so. What they call otherwise is no test that ran or was left out.
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

/// Amounts with something between them; none of them may be anything else.
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
    // Other tools tell of their warnings in the same way.
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
    /// Packages of which no number is known.
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

/// Something was tested, and nobody said how much.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(passed: u64, failed: u64, skipped: u64) -> Option<Tests> {
        Some(Tests { passed, failed, skipped })
    }

    #[test]
    fn cargo_test_is_summed_over_its_crates() {
        let output = "
running 3 tests
test keeps_the_words_only ... ok
test reads::nothing ... ignored, needs a network
test reads::twice ... FAILED

failures:
    reads::twice

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.03s

     Running unittests src/lib.rs (target/debug/deps/other-5a1)

running 4 tests
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s
";
        assert_eq!(counts(output), tests(5, 1, 1));
        let nothing =
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out";
        assert_eq!(counts(nothing), tests(0, 0, 0));
        assert!(ran_none(nothing) && !ran_none(output));
    }

    #[test]
    fn nextest_says_it_once_and_what_failed_tests_printed_is_not_counted() {
        let green = "     Summary [   0.132s] 5 tests run: 5 passed (1 slow, 1 flaky), 2 skipped\n";
        assert_eq!(counts(green), tests(5, 0, 2));
        let red = "
        FAIL [   0.004s] shop cart::adds
  stdout ───
    running 1 test
    test cart::adds ... FAILED
    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s
  Cancelling due to test failure
────────────
     Summary [   0.018s] 4/8 tests run: 2 passed, 1 failed, 1 timed out, 0 skipped
        FAIL [   0.004s] shop cart::adds
";
        assert_eq!(counts(red), tests(2, 2, 0));
        let with_docs =
            format!("{green}\n   Doc-tests shop\n\ntest result: ok. 3 passed; 0 failed; 1 ignored\n");
        assert_eq!(counts(&with_docs), tests(8, 0, 3));
        assert_eq!(counts("Summary [ 0.000s] 0 tests run: 0 passed, 12 skipped"), tests(0, 0, 12));
    }

    #[test]
    fn pytest_is_read_with_and_without_its_frame() {
        let framed = "======== 2 failed, 17 passed, 3 skipped, 1 xfailed, 1 xpassed, 4 warnings, 1 error in 61.40s (0:01:01) ========";
        assert_eq!(counts(framed), tests(18, 3, 4));
        assert_eq!(
            counts("....s                     [100%]\n4 passed, 1 skipped in 0.05s\n"),
            tests(4, 0, 1)
        );
        assert_eq!(counts("========== no tests ran in 0.01s =========="), tests(0, 0, 0));
        assert_eq!(counts("====== 12 deselected, 1 warning in 0.33s ======"), tests(0, 0, 0));
        assert_eq!(counts("3 warnings in 0.4s"), None);
        assert_eq!(counts("compiled in 0.4s"), None);
    }

    #[test]
    fn jest_and_vitest_are_told_apart_by_their_summaries() {
        let jest = "
Test Suites: 1 failed, 3 passed, 4 total
Tests:       1 failed, 2 skipped, 1 todo, 20 passed, 24 total
Snapshots:   0 total
Time:        2.31 s
";
        assert_eq!(counts(jest), tests(20, 1, 3));
        assert_eq!(counts("Test Suites: 1 failed, 1 total\nTests:       0 total\n"), tests(0, 0, 0));
        assert!(ran_none("No tests found, exiting with code 0"));
        let vitest = "
 Test Files  1 failed | 2 passed (3)
      Tests  1 failed | 12 passed | 2 skipped | 1 todo (16)
   Start at  10:11:12
";
        assert_eq!(counts(vitest), tests(12, 1, 3));
        assert_eq!(counts("      Tests  7 passed (7)"), tests(7, 0, 0));
        assert_eq!(counts(" Test Files  1 failed (1)\n      Tests  no tests\n"), tests(0, 0, 0));
        assert!(ran_none("No test files found, exiting with code 0"));
    }

    #[test]
    fn node_tells_a_line_each() {
        let node = "# tests 6\n# suites 1\n# pass 4\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n";
        assert_eq!(counts(node), tests(4, 1, 1));
        assert_eq!(counts(&node.replace("# ", "ℹ ")), tests(4, 1, 1));
        assert_eq!(counts("# tests 2\n# pass  2\n\n# ok\n"), tests(2, 0, 0));
        assert_eq!(counts("# tests 0\n# pass 0\n"), tests(0, 0, 0));
        assert_eq!(counts("# tests 3\n"), None);
    }

    #[test]
    fn go_names_its_tests_only_when_asked_to() {
        let plain = "ok  \texample.com/shop/cart\t0.012s\n?   \texample.com/shop\t[no test files]\n";
        assert_eq!(counts(plain), None);
        assert!(!ran_none(plain));
        assert_eq!(counts("--- FAIL: TestAdds (0.00s)\nFAIL\nFAIL\texample.com/shop/cart\t0.01s\n"), None);
        let verbose = "
=== RUN   TestAdds
=== RUN   TestAdds/twice
--- FAIL: TestAdds (0.00s)
    --- FAIL: TestAdds/twice (0.00s)
=== RUN   TestEmpty
--- PASS: TestEmpty (0.00s)
=== RUN   TestRemote
--- SKIP: TestRemote (0.00s)
FAIL
FAIL\texample.com/shop/cart\t0.012s
";
        assert_eq!(counts(verbose), tests(1, 2, 1));
        for none in ["?   \ta\t[no test files]", "ok  \ta\t0.1s [no tests to run]"] {
            assert_eq!(counts(none), tests(0, 0, 0), "{none}");
        }
    }

    #[test]
    fn go_s_events_are_read() {
        let json = r#"
{"Time":"2026-01-02T10:00:00Z","Action":"start","Package":"shop/cart"}
{"Action":"run","Package":"shop/cart","Test":"TestAdds"}
{"Action":"output","Package":"shop/cart","Test":"TestAdds","Output":"--- PASS: TestAdds (0.00s)\n"}
{"Action":"pass","Package":"shop/cart","Test":"TestAdds","Elapsed":0}
{"Action":"run","Package":"shop/cart","Test":"TestSlow"}
{"Action":"skip","Package":"shop/cart","Test":"TestSlow","Elapsed":0}
{"Action":"run","Package":"shop/cart","Test":"TestTakes"}
{"Action":"fail","Package":"shop/cart","Test":"TestTakes","Elapsed":0}
{"Action":"fail","Package":"shop/cart","Elapsed":0.01}
"#;
        assert_eq!(counts(json), tests(1, 1, 1));
        assert_eq!(counts(r#"{"Action":"skip","Package":"shop","Elapsed":0}"#), tests(0, 0, 0));
        assert_eq!(counts(r#"{"Action":"fail","Package":"shop","Elapsed":0}"#), None);
        assert_eq!(counts(r#"{"Action":"pass"}"#), None);
    }

    #[test]
    fn junit_is_counted_case_by_case() {
        let report = r#"<?xml version="1.0"?>
<testsuites tests="99">
  <testsuite name="cart" tests="4" failures="1">
    <testcase name="adds" time="0.1"/>
    <testcase name="a > b"><system-out><![CDATA[<testcase name="not one"/>]]></system-out></testcase>
    <testcase name="takes"><failure message="1 &lt; 2">no</failure></testcase>
    <testcase name="pays"><error/></testcase>
    <!-- <testcase name="nor this"/> -->
    <testcase name="later"><skipped message="not yet"/></testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(counts(report), tests(2, 2, 1));
        assert_eq!(counts(&format!("{report}\n1 < 2, and that's it\n== 5 passed in 1s ==")), tests(2, 2, 1));
        assert_eq!(counts(r#"<testsuites tests="0" failures="0"></testsuites>"#), tests(0, 0, 0));
        assert_eq!(counts(&report[..report.find("<failure").expect("it is there")]), None);
        assert_eq!(counts("the report has a <testsuite> at its root"), None);
    }

    #[test]
    fn colours_do_not_hide_a_summary_and_two_runners_are_added_up() {
        let coloured =
            "\u{1b}[1m\u{1b}[32m==== \u{1b}[1m3 passed\u{1b}[0m\u{1b}[32m in 0.10s\u{1b}[0m ====\u{1b}[0m";
        assert_eq!(counts(coloured), tests(3, 0, 0));
        let both = format!("{coloured}\r\nTests:       2 passed, 2 total\r\n");
        assert_eq!(counts(&both), tests(5, 0, 0));
    }

    #[test]
    fn people_may_say_it_in_a_line() {
        assert_eq!(told("12 passed, 1 failed, 2 skipped"), tests(12, 1, 2));
        assert_eq!(told("0 passed"), tests(0, 0, 0));
        assert_eq!(told("==== 3 passed in 0.1s ===="), tests(3, 0, 0));
        for unknown in ["", "all green", "12", "3 warnings"] {
            assert_eq!(told(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn what_no_runner_said_is_unknown() {
        for output in
            ["", "all 12 tests passed", "test result: great", "Tests: many", "# Chapter 3", "{}", "0 errors"]
        {
            assert_eq!(counts(output), None, "{output:?}");
            assert!(!ran_none(output), "{output:?}");
        }
    }
}
