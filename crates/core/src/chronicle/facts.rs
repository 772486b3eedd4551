//! What a chronicle is made of: single events and statements, each with its time.

use serde::{Deserialize, Serialize};

use crate::plan::TaskId;
use crate::run::{Class, ContextUpdate, StopReason, Tests};
use crate::time::Timestamp;

/// A text, its author and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub by: String,
    pub text: String,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    pub reason: StopReason,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub task: Option<TaskId>,
    pub by: String,
    pub text: String,
    pub at: Timestamp,
}

/// An edit of a state file, made in a copy that showed the journal up to `shown`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    pub file: String,
    pub shown: u64,
    pub edit: String,
}

/// An edit of a state file that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub file: String,
    pub by: String,
    pub edit: String,
    pub reason: String,
    pub at: Timestamp,
    /// The task that it was about, and its attempt then.
    #[serde(default)]
    pub task: Option<(TaskId, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    pub update: ContextUpdate,
    pub at: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Worktree {
    /// When it was first ready; `None` while it is being created.
    pub created_at: Option<Timestamp>,
    pub cleaned_at: Option<Timestamp>,
    /// Why it was not removed.
    pub kept: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// As it was given; may be short.
    pub hash: String,
    pub subject: String,
    pub attempt: u32,
    /// It fixes what an earlier try did.
    pub is_fix: bool,
    /// What it fixes.
    pub fixed: String,
    pub at: Option<Timestamp>,
}

/// Files that are new, and files that were changed or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    pub created: Vec<String>,
    pub modified: Vec<String>,
}

/// A try that ended without success, unless it was only stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub attempt: u32,
    pub class: Class,
    /// The agent had all the time there is for a try.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// The command of the check that did not pass.
    pub step: Option<String>,
    pub message: String,
    /// The end of that check's output.
    pub details: String,
    pub at: Option<Timestamp>,
    /// The word of the file that it was imported from, if it was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The attempt it is for.
    pub attempt: u32,
    pub text: String,
}

/// What a person answered, and the reason for which the task had stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub asked: String,
    pub said: Said,
}

/// The source of what Piton saw in git and no person or agent reported.
pub const BY_GIT: &str = "git";

/// What a person or an agent reported about their work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkReport {
    /// None: the engine's agent.
    pub by: Option<String>,
    pub attempt: u32,
    pub at: Timestamp,
    pub note: String,
    pub files: Vec<String>,
    /// Which of them are new.
    #[serde(default)]
    pub created: Vec<String>,
    pub exports: Vec<String>,
    pub decisions: Vec<String>,
    #[serde(default)]
    pub patterns: Vec<String>,
    pub tests: Option<Tests>,
}

/// What a reset put away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    pub by: String,
    pub at: Timestamp,
    pub attempts: u32,
    pub started_at: Option<Timestamp>,
    pub failures: Vec<Failure>,
    pub feedback: Vec<Feedback>,
}
