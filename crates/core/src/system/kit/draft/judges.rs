//! What proves a task: the commands that it names, and the checks that the project names or has.

use super::{Draft, DraftTask, Kind, Standing};
use crate::diagnostic::Diagnostic;
use crate::plan::{Argv, Check};
use crate::system::Given;
use crate::system::config::{CHECK_TIMEOUT, check_name};
use crate::system::kit::commands::{looks_like_a_command, removes_git};

/// Words of a command that run tests, or need the code that they are about.
const TESTS: [&str; 12] = [
    "test", "tests", "pytest", "jest", "vitest", "nextest", "rspec", "spec", "check", "verify", "ctest",
    "tox",
];

impl Draft {
    /// The checks of each task.
    ///
    /// Tests that are written to fail would make every landing red until the work behind them is done. So from such a
    /// task on, tests judge only the last task of its group. None of this depends on ticks.
    pub(super) fn judge(&mut self, given: &Given<'_>) -> Vec<Vec<Check>> {
        let detected = || given.detected.iter().map(|found| found.check.clone()).collect();
        let usual: Vec<Check> = given.config.defaults.checks.clone().unwrap_or_else(detected);
        let red = self.red();
        let untested = self.untested(&red);
        let mut judged = Vec::with_capacity(self.tasks.len());
        for (nth, task) in self.tasks.iter().enumerate() {
            // Others are judged as agents are. A person is believed.
            if task.kind == Kind::Person {
                judged.push(Vec::new());
                continue;
            }
            let own = task.commands.iter().filter(|line| looks_like_a_command(line) && !removes_git(line));
            let own = own.map(|line| check(line)).filter(|check| !task.fails_first || !is_test(check));
            let mut checks: Vec<Check> = own.collect();
            let is_alone = task.kind == Kind::Verify && !checks.is_empty();
            if !is_alone {
                checks.extend(usual.iter().filter(|check| !untested[nth] || !is_test(check)).cloned());
            }
            let mut seen = Vec::new();
            checks.retain(|check| {
                let digest = check.digest();
                let is_new = !seen.contains(&digest);
                seen.push(digest);
                is_new
            });
            judged.push(checks);
        }
        self.tell_red(&red);
        judged
    }

    fn tell_red(&mut self, red: &[Option<Red>]) {
        for Red { first, last } in red.iter().flatten() {
            let task = &self.tasks[*first];
            if task.standing != Standing::Open {
                continue;
            }
            let said = Diagnostic::warning(task.at.clone(), "this task writes tests that fail at first");
            let said = match last.map(|last| &self.tasks[last]) {
                Some(last) => said.label(format!("tests judge its group from `{}` on", title(last))),
                None => said.label("no later task of its group makes them pass"),
            };
            let file = task.file.clone();
            self.problem(&file, said);
        }
    }

    /// Where tests are red, by group.
    fn red(&self) -> Vec<Option<Red>> {
        let mut red: Vec<Option<Red>> = vec![None; self.groups.len().max(1)];
        for (nth, task) in self.tasks.iter().enumerate().filter(|(_, task)| task.is_work()) {
            match red.get_mut(task.group) {
                Some(Some(red)) if !task.fails_first => red.last = Some(nth),
                Some(none @ None) if task.fails_first => *none = Some(Red { first: nth, last: None }),
                _ => {}
            }
        }
        red
    }

    /// Tasks that tests do not judge.
    fn untested(&self, red: &[Option<Red>]) -> Vec<bool> {
        let is_untested = |(nth, task): (usize, &DraftTask)| match red.get(task.group).copied().flatten() {
            Some(Red { first, last: Some(last) }) => (first..last).contains(&nth),
            Some(Red { first, last: None }) => nth >= first && task.fails_first,
            None => false,
        };
        self.tasks.iter().enumerate().map(is_untested).collect()
    }
}

/// The first task of a group whose tests fail at first, and the last one that makes them pass.
#[derive(Clone, Copy, Debug)]
struct Red {
    first: usize,
    last: Option<usize>,
}

impl DraftTask {
    fn is_work(&self) -> bool {
        self.standing != Standing::Dropped && self.kind == Kind::Work
    }
}

fn title(task: &DraftTask) -> &str {
    if task.name.is_empty() { &task.title } else { &task.name }
}

fn check(line: &str) -> Check {
    let run = Argv::parse(line);
    Check::new(check_name(&run), run, CHECK_TIMEOUT)
}

/// Whether a check runs tests, by the words of its command. An option such as `--check` says something else.
fn is_test(check: &Check) -> bool {
    let line = check.run.to_string().to_lowercase();
    let words = line.split_whitespace().filter(|word| !word.starts_with('-'));
    let mut words = words.flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric()));
    words.any(|word| TESTS.contains(&word))
}
