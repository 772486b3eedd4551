//! What a prompt says about earlier tries: how they ended, and what to do about the last one. What to do is Piton's
//! instruction; what others said about it is quoted.

use std::fmt::Write as _;

use super::{LONGEST_FEEDBACK, cut, fenced, one_line, quoted};
use crate::plan::TaskId;
use crate::run::{CheckEnding, Ending};

/// How many earlier tries a prompt lists: the last ones.
const MOST_TRIES: usize = 8;
/// The most characters of a line about how a try ended, or about what another task is for.
const LONGEST_LINE: usize = 200;
const LONGEST_AIM: usize = 400;

/// A try that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    pub attempt: u32,
    /// How it ended.
    pub end: String,
    /// The commit with its work, shortened.
    pub commit: Option<String>,
}

/// Why the last try failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    pub reason: String,
    /// What the checks, or others, said about it; may be empty.
    pub feedback: String,
    /// The whole output of each check that failed: its name, and the path of the file.
    pub logs: Vec<(String, String)>,
    /// The files that do not merge.
    pub files: Vec<String>,
    /// The tasks that landed before and with which the work fails.
    pub others: Vec<Other>,
    /// A person has answered it.
    pub is_answered: bool,
}

/// Another task that the work has to fit together with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    pub id: TaskId,
    pub title: String,
    /// What it is for: the beginning of its text.
    pub aim: String,
}

/// The tries so far, a line each, quoted.
pub(super) fn list_tries(tries: &[Try]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for Try { attempt, end, commit } in tries {
        let commit = commit.as_ref().map(|commit| format!(" (commit {commit})")).unwrap_or_default();
        let line = format!("> attempt {attempt}: {}{commit}", cut(&one_line(end), LONGEST_LINE));
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    let older = lines.len().saturating_sub(MOST_TRIES);
    if older > 0 {
        lines.splice(..older, [format!("> {older} earlier")]);
    }
    lines.join("\n")
}

impl Failure {
    fn ending(&self) -> Ending<'_> {
        Ending::of(&self.reason)
    }

    /// Whether the work of others was merged into the worktree since.
    pub(super) fn is_about_a_merge(&self) -> bool {
        matches!(self.ending(), Ending::Conflict | Ending::Markers | Ending::Check { is_merged: true, .. })
    }

    /// What to do about it. `has_worked`: an agent has worked on it before.
    pub(super) fn order(&self, task: &TaskId, has_worked: bool) -> String {
        let already = format!("`<signal>{task}_ALREADY:why</signal>`");
        if self.is_answered {
            return "A person has answered what the last try stopped with: see the answers below.".to_owned();
        }
        match self.ending() {
            Ending::Conflict | Ending::Markers => self.merge_order(),
            Ending::Check { is_merged: true, .. } if has_worked => self.together_order(),
            Ending::Check { how, .. } => match how {
                CheckEnding::Red | CheckEnding::NoProgram => {
                    "Fix what the checks report. Begin with the first error."
                }
                CheckEnding::AgentAsked => {
                    "The last try ended with a question. Decide it yourself, and fix what the checks report."
                }
                CheckEnding::Slow { .. } => {
                    "A check did not end in its time. Find out what hangs or is slow, and fix that."
                }
                CheckEnding::NoTest => "A check ran no test. Make sure that it finds the tests of this task.",
            }
            .to_owned(),
            Ending::Idle => format!(
                "The last try changed no file. Do the task. Only if everything was as it asks before you began, end with \
                 the line\n{already}"
            ),
            Ending::NoWhy => format!(
                "The last try said that nothing had to change, but not why. Do the task, or say why: end with the line\n{already}"
            ),
            Ending::Asked => {
                "The last try changed no file and ended with a question. Decide it yourself and do the \
                              task. Only if a person has to decide, end with the line\n\
                              `<signal>BLOCKED:the question</signal>`"
                    .to_owned()
            }
            Ending::SelfAnswered { answer } => format!(
                "The last try ended with a question that needs no person. Do the task, with this answer:\n{}",
                quoted(&one_line(answer))
            ),
            Ending::TimedOut { limit } => format!(
                "The last try was ended because it had not finished after {limit}. You have as long. Look at what it \
                 left, do the rest, and run nothing that does not end by itself."
            ),
            Ending::Silent { limit } => format!(
                "The last try was ended because it said nothing for {limit}. Run nothing that waits for input or does \
                 not end by itself."
            ),
            Ending::SentBack => {
                "A person has looked at the work and wants changes: see the comments below.".to_owned()
            }
            Ending::Denied | Ending::Other => "Fix this first.".to_owned(),
        }
    }

    fn merge_order(&self) -> String {
        let mut text = "Resolve the merge conflict first. What landed since this task began is being merged into this \
                        worktree.\n\
                        - `git status` shows the files in conflict. Keep what both sides want, remove the conflict \
                        markers and `git add` the file.\n\
                        - Do not abort the merge. When it is resolved, run the checks again."
            .to_owned();
        let files: Vec<String> = self.files.iter().map(|file| one_line(file)).collect();
        if !files.is_empty() {
            let _ = write!(text, "\n\nIn conflict, quoted:\n{}", quoted(&files.join("\n")));
        }
        text + &self.others("The other side is the work of these tasks, quoted:")
    }

    fn together_order(&self) -> String {
        let text = "Your work passes its checks alone, but not together with what landed since this task began. That is now \
                    merged into this worktree. Make both work: fix what the checks report, and undo nothing that others \
                    did.";
        text.to_owned() + &self.others("What landed since, quoted, the likely ones first:")
    }

    fn others(&self, head: &str) -> String {
        let line = |other: &Other| {
            let aim = cut(&one_line(&other.aim), LONGEST_AIM);
            let aim = if aim.is_empty() { aim } else { format!("\n  {aim}") };
            format!("{}: {}{aim}", other.id, cut(&one_line(&other.title), LONGEST_LINE))
        };
        if self.others.is_empty() {
            return String::new();
        }
        let lines: Vec<String> = self.others.iter().map(line).collect();
        format!("\n\n{head}\n{}", quoted(&lines.join("\n")))
    }

    /// What is quoted of it.
    pub(super) fn quotation(&self) -> String {
        let text = match self.ending() {
            // The order says all of it.
            Ending::Idle | Ending::NoWhy | Ending::SentBack | Ending::SelfAnswered { .. } => {
                return String::new();
            }
            Ending::Check { how: CheckEnding::AgentAsked, .. } => &self.feedback,
            // The answers quote it.
            Ending::Asked if self.is_answered => return String::new(),
            Ending::Asked => &self.reason,
            _ if self.feedback.is_empty() => &self.reason,
            _ => &self.feedback,
        };
        fenced(text, LONGEST_FEEDBACK)
    }

    /// Where all of the output is, a line for each check.
    pub(super) fn list_logs(&self) -> String {
        let line = |(check, path): &(String, String)| match self.logs.len() {
            1 => format!("`{}`", one_line(path)),
            _ => format!("- `{}`: `{}`", one_line(check).replace('`', "'"), one_line(path)),
        };
        self.logs.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}
