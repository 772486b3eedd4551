//! What judges work: a check, and how it is started.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Digest, RepoPath, has_pipe};
use crate::time::Span;

/// A command Piton runs itself to see whether work is done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub run: Argv,
    pub timeout: Span,
    /// Where it runs, below the root of the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<RepoPath>,
    /// Whether every command of a pipe has to succeed. Readers say yes where a line has a pipe; runs that began before
    /// this was asked say nothing, and there only the last command counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipefail: Option<bool>,
    /// It runs on what a fresh clone has: no ignored file, nothing copied, no set-up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// It runs each time, also where it has passed on the same files: it judges more than these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncached: bool,
}

impl Check {
    /// One as every system's plans have it.
    pub fn new(name: String, run: Argv, timeout: Span) -> Check {
        let pipefail = run.shell_line().is_some_and(has_pipe).then_some(true);
        Check { name, run, timeout, cwd: None, pipefail, fresh: false, uncached: false }
    }

    /// Identifies the check in evidence: the same command in the same place is the same check, whatever it is
    /// called.
    pub fn digest(&self) -> Digest {
        match (&self.cwd, self.pipefail == Some(true), self.fresh) {
            (None, false, false) => Digest::of(&self.run),
            (Some(cwd), false, false) => Digest::of(&(&self.run, cwd)),
            (cwd, pipefail, fresh) => Digest::of(&(&self.run, cwd, pipefail, fresh)),
        }
    }

    /// Without what its reader added.
    pub(crate) fn as_written(&self) -> Check {
        Check { pipefail: self.pipefail.filter(|said| !said), ..self.clone() }
    }

    /// What is left of its line when it is to fail with any command of a pipe; see [`Argv::shell_line`].
    pub fn piped_line(&self) -> Option<&str> {
        self.run.shell_line().filter(|_| self.pipefail == Some(true))
    }

    /// The agent that makes it, if one does.
    pub fn reviewer(&self) -> Option<&str> {
        match &self.run {
            Argv::Review { agent, .. } => Some(agent),
            Argv::Words(_) | Argv::Shell(_) | Argv::Look { .. } => None,
        }
    }
}

/// What to start: an argument vector, or a line for the shell where the plan uses its operators.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argv {
    Words(Vec<String>),
    Shell(String),
    /// An agent looks at the work, changes nothing, and says what it finds; see [`crate::review`].
    Review {
        /// A name in [`Settings::agents`].
        agent: String,
        ask: String,
    },
    /// Piton itself looks at a file: it is there, is not empty, and holds each of these. Or at a folder, which holds
    /// something, or at what a pattern matches.
    Look {
        file: RepoPath,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        holds: Vec<String>,
    },
}

impl Argv {
    /// Stands for Piton's own program, wherever it is.
    pub const LOOK: &str = "piton:";

    /// Whether this text shows a review. A journal holds checks in this form.
    pub fn shows_review(text: &str) -> bool {
        text.contains(REVIEWS)
    }

    /// A line as people write it. Only what needs a shell gets one.
    pub fn parse(line: &str) -> Argv {
        const OPERATORS: &[char] =
            &['|', '&', ';', '<', '>', '$', '`', '(', ')', '*', '?', '~', '#', '\n', '{', '['];
        // Words that are not programs, but the shell's own.
        const WORDS: [&str; 12] =
            ["!", ".", "cd", "command", "eval", "exit", "export", "for", "if", "set", "type", "while"];
        let first = line.split_whitespace().next().unwrap_or_default();
        let needs_shell = line.contains(OPERATORS) || first.contains('=') || WORDS.contains(&first);
        match shell_words::split(line) {
            Ok(words) if !needs_shell && !words.is_empty() => Argv::Words(words),
            _ => Argv::Shell(line.to_owned()),
        }
    }

    /// The line that a shell is given, if it is given one.
    pub fn shell_line(&self) -> Option<&str> {
        match self {
            Argv::Shell(line) => Some(inner_line(line).unwrap_or(line)),
            Argv::Words(words) => match &words[..] {
                [shell, option, line] if option == "-c" && ["sh", "bash"].contains(&shell.as_str()) => {
                    Some(line)
                }
                _ => None,
            },
            Argv::Review { .. } | Argv::Look { .. } => None,
        }
    }

    pub fn words(&self) -> Vec<String> {
        match self {
            Argv::Words(words) => words.clone(),
            Argv::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
            // What is started is the agent's own command, which the plan has elsewhere.
            Argv::Review { agent, .. } => vec![Argv::LOOK.to_owned(), "review".to_owned(), agent.clone()],
            Argv::Look { file, holds } => {
                let words = [Argv::LOOK, "look", "--", file.as_str()];
                words.into_iter().chain(holds.iter().map(String::as_str)).map(str::to_owned).collect()
            }
        }
    }
}

/// Stands between the agent and its instructions where a review is shown.
const REVIEWS: &str = " reviews it: ";

/// The line in `sh -c '…'`: options of the outer shell do not count inside.
fn inner_line(line: &str) -> Option<&str> {
    let line = line.trim();
    let inner =
        line.strip_prefix("sh -c '").or_else(|| line.strip_prefix("bash -c '"))?.strip_suffix('\'')?;
    (!inner.contains('\'')).then_some(inner)
}

impl fmt::Display for Argv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argv::Words(words) => f.write_str(&shell_words::join(words)),
            Argv::Shell(line) => f.write_str(line),
            Argv::Review { agent, ask } => {
                let first = ask.lines().next().unwrap_or_default();
                write!(f, "{agent}{REVIEWS}{first}")
            }
            Argv::Look { file, holds } if holds.is_empty() => write!(f, "{file} exists"),
            Argv::Look { file, holds } => write!(f, "{file} holds {}", shell_words::join(holds)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Settings, TaskId, TaskSpec};

    #[test]
    fn a_review_is_recognised_as_it_is_shown() {
        let review = Argv::Review { agent: "reviewer".to_owned(), ask: "the forms".to_owned() };
        assert!(Argv::shows_review(&review.to_string()));
        assert!(!Argv::shows_review(&Argv::parse("make reviews").to_string()));
    }

    #[test]
    fn only_what_needs_a_shell_gets_one() {
        let words = |line: &str| Argv::parse(line).words();
        assert_eq!(words("cargo test -p 'my crate'"), ["cargo", "test", "-p", "my crate"]);
        assert_eq!(words("a && b"), ["sh", "-c", "a && b"]);
        assert_eq!(words("! grep TODO src"), ["sh", "-c", "! grep TODO src"]);
        assert_eq!(words("X=1 make"), ["sh", "-c", "X=1 make"]);
        assert_eq!(words("grep 'unbalanced"), ["sh", "-c", "grep 'unbalanced"]);
        assert_eq!(Argv::parse("test -f a.txt").to_string(), "test -f a.txt");
    }

    fn check(line: &str) -> Check {
        Check::new(line.to_owned(), Argv::parse(line), Span::minutes(1))
    }

    #[test]
    fn every_command_of_a_pipe_has_to_succeed_unless_the_plan_says_otherwise() {
        assert_eq!(check("cargo test | tail -3").piped_line(), Some("cargo test | tail -3"));
        assert_eq!(check("sh -c 'cargo test | tail -3'").piped_line(), Some("cargo test | tail -3"));
        let words = Argv::Words(["bash", "-c", "a | b"].map(str::to_owned).to_vec());
        assert_eq!(Check::new("c".to_owned(), words, Span::minutes(1)).piped_line(), Some("a | b"));
        assert_eq!(check("cargo test || exit 3").piped_line(), None);
        assert_eq!(Check { pipefail: Some(false), ..check("a | b") }.piped_line(), None);
        // As a run has it that began before this was asked.
        let old: Check =
            serde_json::from_str(r#"{"name":"c","run":{"shell":"a | b"},"timeout":1000}"#).expect("a check");
        assert_eq!(old.piped_line(), None);
    }

    #[test]
    fn evidence_of_another_rule_is_of_another_check() {
        let piped = check("a | b");
        let old = Check { pipefail: None, ..piped.clone() };
        assert_eq!(old.digest(), Digest::of(&old.run), "evidence from before still counts");
        assert_ne!(piped.digest(), old.digest());
        assert_eq!(Check { pipefail: Some(false), ..piped.clone() }.digest(), old.digest());
        assert_ne!(Check { fresh: true, ..old.clone() }.digest(), old.digest());
        assert_eq!(check("a && b").digest(), Digest::of(&Argv::parse("a && b")));
    }

    #[test]
    fn a_plan_from_before_is_still_the_same_plan() {
        let task = |check: Check| TaskSpec {
            id: TaskId::new("T1").expect("an id"),
            title: "T".to_owned(),
            prompt: "p".to_owned(),
            group: 0,
            depends_on: Vec::new(),
            files: Vec::new(),
            criteria: Vec::new(),
            checks: vec![check],
            priority: 1,
            agent: "default".to_owned(),
            attempts: 1,
            confirm: false,
            may_change_nothing: false,
            check_first: false,
            may_fail: false,
            gate: false,
            by_person: false,
            timeout: Span::minutes(1),
            silence: None,
            outside: Vec::new(),
            exports: Vec::new(),
            source: None,
        };
        let plan = |check: Check| Plan {
            name: "p".to_owned(),
            groups: Vec::new(),
            tasks: vec![task(check.clone())],
            settings: Settings { landing_checks: vec![check], ..Settings::default() },
        };
        let old = Check { pipefail: None, ..check("a | b") };
        let then = Digest::of(&(&plan(old.clone()).groups, [task(old.clone())], [old.clone()]));
        assert_eq!(plan(check("a | b")).hash(), then);
        assert_eq!(plan(old.clone()).hash(), then);
        let mut told = plan(old);
        told.tasks[0].source = Some(told.tasks[0].content());
        assert_eq!(told.hash(), then);
        assert_ne!(plan(Check { pipefail: Some(false), ..check("a | b") }).hash(), then);
    }
}
