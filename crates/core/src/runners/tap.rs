//! The Test Anything Protocol, which some runners write without a summary of their own.

use crate::run::Tests;

#[derive(Debug, Default)]
pub(super) struct Tap {
    /// The plan says that there are none.
    planned_none: bool,
    planned: bool,
    tests: Tests,
    /// Files that `node --test` lists as tests since they hold none.
    pub(super) empty_files: u64,
    /// The last `# Subtest: NAME`.
    subtest: Option<String>,
}

impl Tap {
    /// Only what is not indented: the rest belongs to a test of tests.
    pub(super) fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("# Subtest: ") {
            self.subtest = Some(name.to_owned());
            return;
        }
        // `✔ /project/empty.test.js (12.5ms)`, as it is shown to people.
        let shown = line.strip_prefix("✔ ").and_then(|rest| rest.rsplit_once(" ("));
        if shown.is_some_and(|(name, took)| is_file(name) && took.ends_with("ms)")) {
            self.empty_files += 1;
        }
        let subtest = if line.trim().is_empty() { None } else { self.subtest.take() };
        if let Some((_, last)) = line.split_once("..").filter(|(first, _)| *first == "1") {
            let last = last.split_whitespace().next().and_then(|last| last.parse::<u64>().ok());
            self.planned |= last.is_some();
            self.planned_none |= last == Some(0);
            return;
        }
        let (what, rest) = match (line.strip_prefix("ok "), line.strip_prefix("not ok ")) {
            (Some(rest), _) => ("passed", rest),
            (_, Some(rest)) => ("failed", rest),
            _ => return,
        };
        let Some(number) = rest.split([' ', '\t']).next().filter(|number| number.parse::<u64>().is_ok())
        else {
            return;
        };
        let name = rest[number.len()..].trim_start_matches([' ', '-']);
        self.empty_files += u64::from(subtest.is_some_and(|subtest| subtest == name && is_file(name)));
        let left_out = ["# skip", "# todo"].iter().any(|word| rest.to_ascii_lowercase().contains(word));
        self.tests = self.tests.with(if left_out { "skipped" } else { what }, 1);
    }

    /// The counts, if this is the protocol at all: it needs a plan.
    pub(super) fn counts(&self) -> Option<Tests> {
        let is_told = self.planned && (self.planned_none || self.tests != Tests::default());
        is_told.then_some(self.tests)
    }
}

fn is_file(name: &str) -> bool {
    const KINDS: [&str; 6] = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"];
    name.contains(['/', '\\']) && KINDS.iter().any(|kind| name.ends_with(kind))
}
