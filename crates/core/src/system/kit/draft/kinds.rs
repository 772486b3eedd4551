//! What a task's own words say about who does it and what proves it. Where they leave a doubt, it is work for an agent
//! that all checks of the project judge.

use super::Kind;
use crate::system::kit::commands::looks_like_a_command;
use crate::system::kit::text::key;

/// First words of tasks that make something.
const MAKES: [&str; 31] = [
    "add",
    "adjust",
    "build",
    "change",
    "configure",
    "convert",
    "create",
    "delete",
    "design",
    "document",
    "draft",
    "enable",
    "extend",
    "extract",
    "fix",
    "generate",
    "implement",
    "improve",
    "install",
    "integrate",
    "introduce",
    "make",
    "migrate",
    "move",
    "refactor",
    "remove",
    "rename",
    "replace",
    "support",
    "update",
    "write",
];
/// First words of tasks that only look.
const LOOKS: [&str; 8] = ["run", "rerun", "re-run", "execute", "verify", "validate", "check", "confirm"];
/// Words of commands that look and leave no trace.
const JUDGES: [&str; 22] = [
    "test",
    "tests",
    "pytest",
    "jest",
    "vitest",
    "nextest",
    "rspec",
    "ctest",
    "tox",
    "check",
    "clippy",
    "lint",
    "eslint",
    "tsc",
    "mypy",
    "typecheck",
    "type-check",
    "validate",
    "verify",
    "build",
    "playwright",
    "flake8",
];
/// Words of commands that change files.
const CHANGES: [&str; 14] = [
    "--fix",
    "--write",
    "-w",
    "-u",
    "--update",
    "install",
    "add",
    "init",
    "create",
    "generate",
    "migrate",
    "--updatesnapshot",
    "--update-snapshots",
    "publish",
];
/// Words that say that something is to be repaired on the way.
const REPAIRS: [&str; 5] = ["fix", "resolve", "repair", "address", "until"];
const BY_HAND: [&str; 16] = [
    "manual test",
    "manual smoke",
    "manual qa",
    "manual check",
    "manual verification",
    "manual validation",
    "manually test",
    "manually verify",
    "manually check",
    "manually validate",
    "manually confirm",
    "by hand",
    "on device",
    "on a device",
    "on a real device",
    "on a physical device",
];
/// What agents must not do, and Piton does not do.
const OUTSIDE: [&str; 14] = [
    "push to",
    "push the",
    "push changes",
    "push branch",
    "push all",
    "open a pr",
    "open pr",
    "open a pull request",
    "open pull request",
    "create a pr",
    "create pr",
    "create a pull request",
    "create pull request",
    "submit a pull request",
];
const BRANCHES: [&str; 6] = [
    "create a branch",
    "create branch",
    "create feature branch",
    "create a feature branch",
    "create a new branch",
    "switch to a new branch",
];
/// What follows these.
const AFTER_BRANCH: [&str; 7] = ["", "for", "from", "named", "called", "off", "and"];
/// What follows "commit" where it is a command to git.
const COMMITTED: [&str; 8] = ["", "all", "and", "changes", "everything", "the", "with", "work"];

/// Who does a task.
pub(in crate::system) fn kind_of(text: &str) -> Kind {
    let plain = plain(text);
    // `Validate: …` is "validate".
    let first = plain.split_whitespace().next().unwrap_or_default().trim_end_matches([':', ',']);
    let begins = |starts: &[&str]| starts.iter().any(|start| begins_with(&plain, start));
    let is_commit = is_commit(&plain);
    // What is pushed as well, Piton does not do.
    let is_pushed = is_commit && has_any(&plain, &["push"]);
    if is_branch(&plain) || is_commit && !is_pushed {
        return Kind::Git;
    }
    if is_pushed
        || begins(&OUTSIDE)
        || begins(&["[human]", "(human)", "human:", "[manual]", "(manual)", "manual:"])
    {
        return Kind::Person;
    }
    if MAKES.contains(&first) {
        return Kind::Work;
    }
    let is_by_hand = BY_HAND.iter().any(|words| has_words(&plain, words));
    if is_by_hand || begins(&["ask the", "ask a", "manually"]) {
        return Kind::Person;
    }
    if LOOKS.contains(&first) && !commands_of(text).is_empty() && !has_any(&plain, &REPAIRS) {
        return Kind::Verify;
    }
    Kind::Work
}

/// The commands in backticks that judge and change nothing. Without one that can be told from a name, nothing.
pub(in crate::system) fn commands_of(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2).map(str::trim);
    let judges = |line: &&str| {
        let words: Vec<String> = line
            .to_lowercase()
            .split(|c: char| c.is_whitespace() || ":;&|()'\"".contains(c))
            .map(str::to_owned)
            .collect();
        looks_like_a_command(line)
            && words.len() > 1
            && words.iter().any(|word| JUDGES.contains(&stem(word)))
            && !words.iter().any(|word| CHANGES.contains(&word.as_str()))
    };
    quoted.filter(judges).map(str::to_owned).collect()
}

/// `check` of `scripts/check.sh`.
fn stem(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether a task, or the heading above it, says that its tests fail until a later task is done.
pub(in crate::system) fn fails_first(text: &str, heading: &str) -> bool {
    const SAYS: [&str; 18] = [
        "must fail before",
        "must fail first",
        "must fail initially",
        "should fail before",
        "should fail first",
        "fail before implementation",
        "fails before implementation",
        "fail first",
        "fails first",
        "verify it fails",
        "verify they fail",
        "verify tests fail",
        "ensure it fails",
        "ensure they fail",
        "ensure tests fail",
        "tests must fail",
        "test must fail",
        "watch it fail",
    ];
    const WRITES: [&str; 5] =
        ["failing test", "failing unit", "failing integration", "failing e2e", "failing spec"];
    const REPAIRED: [&str; 8] =
        ["fix", "debug", "repair", "resolve", "investigate", "remove", "delete", "skip"];
    let plain = plain(text);
    let first = plain.split_whitespace().next().unwrap_or_default();
    let heading = key(heading).to_lowercase();
    let is_about_tests = has_words(&heading, "tests for user story") || has_words(&heading, "tests first");
    is_about_tests
        || SAYS.iter().any(|words| has_words(&plain, words))
        || plain.starts_with("red:")
        || plain.contains("expected outcome") && plain.contains("fail")
        || !REPAIRED.contains(&first) && WRITES.iter().any(|words| plain.contains(words))
}

/// In small letters, without emphasis.
fn plain(text: &str) -> String {
    let text = key(text).to_lowercase().replace("**", "").replace("__", "");
    text.trim_start_matches(|c: char| c.is_whitespace() || "*_~".contains(c)).to_owned()
}

fn begins_with(plain: &str, start: &str) -> bool {
    let rest = plain.strip_prefix(start);
    rest.is_some_and(|rest| {
        !rest.starts_with(|c: char| c.is_alphanumeric()) || start.ends_with(|c: char| !c.is_alphanumeric())
    })
}

/// Whether words stand in a text, not as a part of longer ones.
fn has_words(plain: &str, words: &str) -> bool {
    plain.match_indices(words).any(|(at, _)| {
        let before = plain[..at].chars().next_back();
        !before.is_some_and(char::is_alphanumeric)
    })
}

fn has_any(plain: &str, words: &[&str]) -> bool {
    plain.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word))
}

fn is_commit(plain: &str) -> bool {
    let Some(rest) = plain.strip_prefix("commit").or_else(|| plain.strip_prefix("git commit")) else {
        return false;
    };
    let next = rest.split_whitespace().next().unwrap_or_default();
    let next = next.trim_end_matches(|c: char| !c.is_alphanumeric());
    (rest.is_empty() || rest.starts_with([' ', ':'])) && COMMITTED.contains(&next)
}

fn is_branch(plain: &str) -> bool {
    let Some(rest) = BRANCHES.iter().find_map(|start| plain.strip_prefix(start)) else { return false };
    let next = rest.split_whitespace().next().unwrap_or_default();
    // A branch selector is something else.
    rest.starts_with([':', '.']) || next.starts_with(['`', '"', '\'', '(']) || AFTER_BRANCH.contains(&next)
}
