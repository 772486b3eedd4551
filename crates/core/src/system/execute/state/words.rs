//! The words of the file for where things stand, and which of ours they are.

use serde::{Deserialize, Serialize};

use crate::run::Class;
use crate::system::kit::fields::LenientWord;
pub(super) use crate::system::kit::status::TaskStatus;
use crate::system::kit::status::{plain, words};

words! {
    /// Where the run stands.
    RunWord {
        Initializing = "initializing",
        InProgress = "in_progress",
        Completed = "completed",
        /// By a person, a limit or a filter: `stop_reason` says which.
        Stopped = "stopped",
        /// Over, with a task that was abandoned.
        Abandoned = "abandoned",
    }
    /// Where a layer stands.
    LayerStatus {
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
        /// A task in it was abandoned, and nothing in it goes on.
        Blocked = "blocked",
    }
    /// Where a worktree stands.
    WorktreeStatus {
        Creating = "creating",
        Active = "active",
        Merging = "merging",
        Cleaned = "cleaned",
        /// Kept, for what is in it.
        Abandoned = "abandoned",
    }
    /// Where an entry of the merge queue stands.
    QueueStatus {
        /// Waits to be verified.
        Pending = "pending",
        Ready = "ready",
        Merging = "merging",
        Merged = "merged",
    }
    /// What a commit is for.
    CommitType {
        Implementation = "implementation",
        /// After a failure.
        Fix = "fix",
    }
    /// Where the update of the project's description stands.
    ContextStatus {
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
        Skipped = "skipped",
    }
    /// What kind of failure an error was.
    ErrorType {
        VerificationFailed = "verification_failed",
        ImplementationError = "implementation_error",
        MergeConflict = "merge_conflict",
        Timeout = "timeout",
        /// A usage limit; it spends no attempt.
        Limit = "limit",
        /// A crash or the network; it spends no attempt.
        Transient = "transient",
        /// The task itself is wrong, and a person is needed.
        TaskDefect = "task_defect",
    }
}

impl RunWord {
    pub(super) fn parse_lenient(word: &str) -> Option<LenientWord<RunWord>> {
        // An older description of the file begins with this word.
        if let Some(word) = RunWord::exact(word).or((word == "pending").then_some(RunWord::Initializing)) {
            return Some(LenientWord { word, exact: true });
        }
        let plain = plain(word);
        let word = RunWord::exact(&plain).or_else(|| {
            Some(match plain.as_str() {
                "done" | "complete" | "finished" => RunWord::Completed,
                "running" | "inprogress" | "active" => RunWord::InProgress,
                "paused" | "halted" | "interrupted" | "usage_limit" => RunWord::Stopped,
                "failed" | "blocked" => RunWord::Abandoned,
                "not_started" | "new" | "pending" => RunWord::Initializing,
                _ => return None,
            })
        })?;
        Some(LenientWord { word, exact: false })
    }
}

impl ErrorType {
    pub(super) fn from_failure(class: Class, step: bool, timed_out: bool) -> ErrorType {
        match class {
            Class::Code if timed_out => ErrorType::Timeout,
            Class::SentBack => ErrorType::VerificationFailed,
            Class::Code if step => ErrorType::VerificationFailed,
            Class::Code => ErrorType::ImplementationError,
            Class::Conflict => ErrorType::MergeConflict,
            Class::Limit => ErrorType::Limit,
            Class::Transient | Class::Stopped => ErrorType::Transient,
            Class::Defect => ErrorType::TaskDefect,
        }
    }
}
