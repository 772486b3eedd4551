//! Runners that sum up in one line, or in a few that follow each other. Each has an example in the tests.

use super::{NotSaid, add, amounts};
use crate::run::Tests;

/// What the output says about them.
#[derive(Debug, Default)]
pub(super) struct Others {
    summed: Option<Tests>,
    /// `Ran 3 tests …`, whose next line says how they ended.
    ran: Option<u64>,
    /// `Files=1, Tests=2, …` of `prove`, whose next line says the result.
    proved: Option<u64>,
    /// Lines of `bun test` so far: `1 pass`, `0 fail`.
    bun: Tests,
    /// `12 passing` of mocha was seen: then `1 pending` and `1 failing` are its lines, too.
    mocha: bool,
    /// `Test run summary:` of Microsoft's testing platform was seen: a line for each number follows.
    platform: bool,
    /// XCTest sums up each suite, then all of them: the largest sum counts.
    xctest: Option<Tests>,
    gradle: Gradle,
    /// Tests ran, but the output does not say how many.
    not_said: bool,
}

/// Gradle names tasks, and numbers only for failures.
#[derive(Debug, Default)]
struct Gradle {
    /// Test tasks that had nothing to test.
    empty: u32,
    /// Test tasks that ran, now or earlier.
    ran: u32,
    /// The command was a build, of which tests are only a part.
    is_build: bool,
}

impl Others {
    /// Take a line, if it is one of theirs.
    pub(super) fn line(&mut self, said: &str) -> bool {
        let said = said.trim_start_matches("[INFO] ").trim_start_matches("[info] ");
        let said = said.trim_start_matches("[WARNING] ").trim_start_matches("[ERROR] ");
        if NONE.contains(&said) || NONE_AT.iter().any(|none| said.starts_with(none)) {
            add(&mut self.summed, Tests::default());
            return true;
        }
        let one_line = deno(said)
            .or_else(|| units(said))
            .or_else(|| phpunit(said))
            .or_else(|| surefire(said))
            .or_else(|| dotnet(said))
            .or_else(|| ctest(said))
            .or_else(|| catch(said))
            .or_else(|| gtest(said))
            .or_else(|| sbt(said))
            .or_else(|| swift_testing(said));
        if let Some(tests) = one_line {
            add(&mut self.summed, tests);
            return true;
        }
        if let Some(tests) = xctest(said) {
            let total = |tests: &Tests| tests.passed + tests.failed + tests.skipped;
            if self.xctest.as_ref().is_none_or(|most| total(&tests) > total(most)) {
                self.xctest = Some(tests);
            }
            return true;
        }
        self.ran(said)
            || self.prove(said)
            || self.bun(said)
            || self.mocha(said)
            || self.platform(said)
            || self.gradle(said)
    }

    /// unittest, nose2, Django, trial, clojure.test.
    fn ran(&mut self, said: &str) -> bool {
        if let Some(rest) = said.strip_prefix("Ran ") {
            let Some((number, rest)) = rest.split_once(' ') else { return false };
            let is_theirs =
                ["tests in ", "test in ", "tests containing "].iter().any(|of| rest.starts_with(of));
            let Some(number) = number.parse().ok().filter(|_| is_theirs) else { return false };
            self.not_said |= self.ran.replace(number).is_some_and(|earlier| earlier > 0);
            return true;
        }
        let Some(ran) = self.ran else { return false };
        let Some(ended) = unittest_end(said).or_else(|| clojure_end(said)) else { return false };
        self.ran = None;
        add(&mut self.summed, of_total(ran, ended.failed, ended.skipped));
        true
    }

    fn prove(&mut self, said: &str) -> bool {
        if let Some(rest) = said.strip_prefix("Files=").and_then(|rest| rest.split_once(", Tests=")) {
            let number = rest.1.split(',').next().and_then(|number| number.parse().ok());
            self.proved = number;
            return number.is_some();
        }
        let Some(number) = self.proved else { return false };
        let Some(result) = said.strip_prefix("Result: ") else { return false };
        self.proved = None;
        match result {
            "PASS" => add(&mut self.summed, Tests { passed: number, ..Tests::default() }),
            "NOTESTS" => add(&mut self.summed, Tests::default()),
            _ => self.not_said = true,
        }
        true
    }

    fn bun(&mut self, said: &str) -> bool {
        if let Some((_, files)) = said.strip_prefix("Ran ").and_then(|rest| rest.split_once(" across ")) {
            let is_theirs = files.contains(" file");
            if is_theirs {
                add(&mut self.summed, std::mem::take(&mut self.bun));
            }
            return is_theirs;
        }
        let Some((number, what)) = number_and(said) else { return false };
        let known = matches!(what, "pass" | "fail" | "skip" | "todo");
        if known {
            self.bun = self.bun.with(what, number);
        }
        known
    }

    fn mocha(&mut self, said: &str) -> bool {
        let Some((number, what)) = number_and(said) else { return false };
        let (what, took) = what.split_once(" (").map_or((what, None), |(what, took)| (what, Some(took)));
        let what = match what {
            "passing" if took.is_some_and(|took| took.ends_with("s)") || took.ends_with("m)")) => "passed",
            "pending" if self.mocha => "skipped",
            "failing" if self.mocha => "failed",
            _ => return false,
        };
        self.mocha = true;
        add(&mut self.summed, Tests::default().with(what, number));
        true
    }

    fn platform(&mut self, said: &str) -> bool {
        if said.starts_with("Test run summary: ") {
            self.platform = true;
            return true;
        }
        let Some((what, number)) = said.split_once(": ").filter(|_| self.platform) else { return false };
        let Ok(number) = number.parse() else { return false };
        let what = match what {
            "succeeded" => "passed",
            "failed" | "skipped" => what,
            _ => return false,
        };
        add(&mut self.summed, Tests::default().with(what, number));
        true
    }

    fn gradle(&mut self, said: &str) -> bool {
        let Some(rest) = said.strip_prefix("> Task ") else { return false };
        let (path, how) = rest.split_once(' ').unwrap_or((rest, ""));
        let name = path.rsplit(':').next().unwrap_or_default();
        self.gradle.is_build |= matches!(name, "assemble" | "build");
        let is_test = name == "test" || name.ends_with("Test");
        match how {
            _ if !is_test => {}
            "NO-SOURCE" => self.gradle.empty += 1,
            "SKIPPED" => {}
            _ => self.gradle.ran += 1,
        }
        is_test
    }

    pub(super) fn counts(mut self) -> Result<Option<Tests>, NotSaid> {
        match self.ran {
            Some(0) => add(&mut self.summed, Tests::default()),
            Some(_) => return Err(NotSaid),
            None => {}
        }
        if let Some(tests) = self.xctest {
            add(&mut self.summed, tests);
        }
        match self.gradle {
            Gradle { ran: 1.., .. } => return Err(NotSaid),
            Gradle { empty: 1.., is_build: false, .. } => add(&mut self.summed, Tests::default()),
            _ => {}
        }
        if self.not_said { Err(NotSaid) } else { Ok(self.summed) }
    }
}

/// Lines that say by themselves that there was nothing to test.
const NONE: [&str; 10] = [
    "NO TESTS RAN",
    "No tests executed!",
    "No tests to run.",
    "There are no tests to run.",
    "There are no tests to run",
    "No tests were found!!!",
    "No tests were executed.",
    "No tests ran",
    "No tests ran.",
    "No specs found",
];
/// The same, with more behind it.
const NONE_AT: [&str; 3] = [
    "No test is available in ",
    "No test matches the given testcase filter ",
    "Test run summary: Zero tests ran",
];

fn of_total(total: u64, failed: u64, skipped: u64) -> Tests {
    Tests { passed: total.saturating_sub(failed).saturating_sub(skipped), failed, skipped }
}

/// `3 passing (2ms)`: the number and the rest.
fn number_and(said: &str) -> Option<(u64, &str)> {
    let (number, what) = said.split_once(' ')?;
    Some((number.parse().ok()?, what))
}

/// `OK`, `OK (skipped=1)`, `FAILED (failures=1, errors=1, expected failures=1)`, `PASSED (successes=1)`.
fn unittest_end(said: &str) -> Option<Tests> {
    let (word, list) =
        said.split_once(" (").map_or((said, ""), |(word, list)| (word, list.trim_end_matches(')')));
    if !matches!(word, "OK" | "FAILED" | "PASSED") {
        return None;
    }
    let parts = list.split(", ").filter(|part| !part.is_empty());
    parts.into_iter().try_fold(Tests::default(), |tests, part| {
        let (what, number) = part.split_once('=')?;
        let what = match what {
            "failures" | "errors" | "unexpected successes" => "failed",
            "skipped" | "skips" | "expected failures" | "expectedFailures" | "todos" => "skipped",
            _ => return Some(tests),
        };
        Some(tests.with(what, number.parse().ok()?))
    })
}

/// `1 failures, 0 errors.`
fn clojure_end(said: &str) -> Option<Tests> {
    let (failures, errors) = said.strip_suffix('.')?.split_once(", ")?;
    let (failed, _) = number_and(failures).filter(|(_, what)| *what == "failures")?;
    let (errors, _) = number_and(errors).filter(|(_, what)| *what == "errors")?;
    Some(Tests { failed: failed.saturating_add(errors), ..Tests::default() })
}

/// `ok | 1 passed (2 steps) | 0 failed | 1 ignored (53ms)`.
fn deno(said: &str) -> Option<Tests> {
    let list = said.strip_prefix("ok | ").or_else(|| said.strip_prefix("FAILED | "))?;
    let plain: Vec<&str> =
        list.split(" | ").map(|part| part.split_once(" (").map_or(part, |(part, _)| part)).collect();
    plain.iter().any(|part| part.ends_with(" passed")).then(|| amounts(&plain.join("|"), '|'))?
}

/// `2 examples, 0 failures, 1 pending` (rspec, hspec), `2 specs, 0 failures, 1 pending spec` (jasmine), `1 doctest, 3
/// tests, 0 failures, 1 skipped` (ExUnit, bats), `3 runs, 4 assertions, 0 failures, 0 errors, 0 skips` (minitest), and the
/// same of test-unit.
fn units(said: &str) -> Option<Tests> {
    let list = said.split_once(" (").map_or(said, |(list, _)| list);
    let (mut total, mut tests, mut told) = (None, Tests::default(), false);
    for part in list.split(", ") {
        let (number, what) = number_and(part)?;
        match what {
            "example" | "examples" | "test" | "tests" | "spec" | "specs" | "run" | "runs" | "doctest"
            | "doctests" | "property" | "properties" | "feature" | "features" => {
                total = Some(total.unwrap_or(0) + number);
            }
            "failure" | "failures" => {
                told = true;
                tests.failed += number;
            }
            "error"
            | "errors"
            | "invalid"
            | "error occurred outside of examples"
            | "errors occurred outside of examples" => tests.failed += number,
            "pending" | "pendings" | "pending spec" | "pending specs" | "skip" | "skips" | "skipped"
            | "excluded" | "omission" | "omissions" => tests.skipped += number,
            "assertion" | "assertions" | "notification" | "notifications" => {}
            _ => return None,
        }
    }
    let total = total.filter(|_| told)?;
    Some(of_total(total, tests.failed, tests.skipped))
}

/// `OK (3 tests, 3 assertions)`, `Tests: 2, Assertions: 1, Skipped: 1.`
fn phpunit(said: &str) -> Option<Tests> {
    if let Some(list) = said.strip_prefix("OK (").and_then(|list| list.strip_suffix(')')) {
        let (tests, assertions) = list.split_once(", ")?;
        let (passed, _) = number_and(tests).filter(|(_, what)| what.starts_with("test"))?;
        return assertions.contains("assertion").then_some(Tests { passed, ..Tests::default() });
    }
    let list = said
        .strip_suffix('.')
        .filter(|list| list.starts_with("Tests: ") && list.contains(", Assertions: "))?;
    let number = |name: &str| {
        list.split(", ")
            .filter_map(|part| part.split_once(": "))
            .find(|(what, _)| *what == name)?
            .1
            .parse::<u64>()
            .ok()
    };
    let of = |name| number(name).unwrap_or(0);
    let (failed, skipped) = (of("Failures") + of("Errors"), of("Skipped") + of("Incomplete"));
    let tests = of_total(number("Tests")?, failed, skipped);
    // A class without tests is a test that only warns.
    let empty = if of("Assertions") == 0 { of("Warnings") } else { 0 };
    Some(Tests { passed: tests.passed.saturating_sub(empty), ..tests })
}

/// `Tests run: 3, Failures: 0, Errors: 0, Skipped: 1`: the sum of a module. Each class has such a line, too, with a time.
fn surefire(said: &str) -> Option<Tests> {
    let list = said.strip_prefix("Tests run: ")?;
    let mut numbers = [0_u64; 4];
    let mut parts = list.split(", ");
    for (nth, name) in ["", "Failures: ", "Errors: ", "Skipped: "].into_iter().enumerate() {
        numbers[nth] = parts.next()?.strip_prefix(name)?.parse().ok()?;
    }
    let [run, failures, errors, skipped] = numbers;
    parts.next().is_none().then(|| of_total(run, failures.saturating_add(errors), skipped))
}

/// `Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 5 ms - shop.dll (net8.0)`.
fn dotnet(said: &str) -> Option<Tests> {
    let words = ["Passed!", "Failed!", "Skipped!"];
    let list = words.iter().find_map(|word| said.strip_prefix(word))?.trim_start().strip_prefix("- ")?;
    let number = |name: &str| {
        let part = list.split(", ").find_map(|part| part.trim().strip_prefix(name))?;
        part.trim().parse::<u64>().ok()
    };
    Some(Tests { passed: number("Passed:")?, failed: number("Failed:")?, skipped: number("Skipped:")? })
}

/// `100% tests passed, 0 tests failed out of 2`.
fn ctest(said: &str) -> Option<Tests> {
    let (_, rest) = said.split_once("% tests passed, ")?;
    let (failed, total) = rest.split_once(" tests failed out of ")?;
    Some(of_total(total.parse().ok()?, failed.parse().ok()?, 0))
}

/// Catch2: `All tests passed (3 assertions in 1 test case)`, `test cases: 2 | 1 passed | 1 failed`.
fn catch(said: &str) -> Option<Tests> {
    if let Some(rest) = said.strip_prefix("All tests passed (") {
        let (passed, what) = number_and(rest.strip_suffix(')')?.split_once(" in ")?.1)?;
        return what.starts_with("test case").then_some(Tests { passed, ..Tests::default() });
    }
    let (_, list) = said.strip_prefix("test cases:")?.split_once('|')?;
    amounts(list, '|')
}

/// googletest: `[  PASSED  ] 3 tests.`, `[  FAILED  ] 1 test, listed below:`.
fn gtest(said: &str) -> Option<Tests> {
    let (what, rest) = said.strip_prefix("[  ")?.split_once(" ] ")?;
    let what = match what.trim() {
        "PASSED" => "passed",
        "FAILED" => "failed",
        "SKIPPED" => "skipped",
        _ => return None,
    };
    let (number, rest) = number_and(rest)?;
    let sums_up = matches!(rest, "test." | "tests." | "test, listed below:" | "tests, listed below:");
    sums_up.then(|| Tests::default().with(what, number))
}

/// `Passed: Total 3, Failed 0, Errors 0, Passed 3, Skipped 1`.
fn sbt(said: &str) -> Option<Tests> {
    let (_, list) = said.split_once(": Total ").filter(|(word, _)| matches!(*word, "Passed" | "Failed"))?;
    list.split(", ").skip(1).try_fold(Tests::default(), |tests, part| {
        let (what, number) = part.split_once(' ')?;
        Some(tests.with(&what.to_ascii_lowercase(), number.parse().ok()?))
    })
}

/// `Executed 3 tests, with 1 test skipped and 0 failures (0 unexpected) in 0.1 (0.1) seconds`.
fn xctest(said: &str) -> Option<Tests> {
    let (total, rest) = said.strip_prefix("Executed ")?.split_once(" test")?;
    let (_, ended) = rest.split_once(", with ")?;
    let before = |word: &str| -> Option<u64> { ended.split_once(word)?.0.rsplit(' ').next()?.parse().ok() };
    let skipped = before(" test skipped").or_else(|| before(" tests skipped")).unwrap_or(0);
    Some(of_total(total.parse().ok()?, before(" failure")?, skipped))
}

/// `✔ Test run with 3 tests in 1 suite passed after 0.001 seconds.`
fn swift_testing(said: &str) -> Option<Tests> {
    let (_, rest) = said.split_once("Test run with ")?;
    let (total, rest) = number_and(rest).filter(|(_, rest)| rest.starts_with("test"))?;
    if rest.contains(" passed after ") {
        return Some(Tests { passed: total, ..Tests::default() });
    }
    rest.contains(" failed after ").then(|| of_total(total, total.min(1), 0))
}
