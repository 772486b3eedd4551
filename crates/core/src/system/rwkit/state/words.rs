//! The words of the file for where things stand, and which of ours they are.

use serde::{Deserialize, Serialize};

use super::gates::REVIEW;
use crate::run::Status;
use crate::system::kit::fields::LenientWord;
use crate::system::kit::status::{TaskStatus, plain};

/// Where the run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunWord {
    Initializing,
    Running,
    /// By a person, a limit or a filter: `stop_reason` says which.
    Paused,
    /// Over; `blocked_tasks` and `degraded_phases` name what is not done.
    Completed,
    /// It cannot go on, whatever its tasks.
    Failed,
}

impl RunWord {
    pub const ALL: [RunWord; 5] =
        [RunWord::Initializing, RunWord::Running, RunWord::Paused, RunWord::Completed, RunWord::Failed];

    pub fn word(self) -> &'static str {
        match self {
            RunWord::Initializing => "initializing",
            RunWord::Running => "running",
            RunWord::Paused => "paused",
            RunWord::Completed => "completed",
            RunWord::Failed => "failed",
        }
    }

    /// Also words of the other systems, and of people.
    pub(super) fn parse_lenient(word: &str) -> Option<LenientWord<RunWord>> {
        let exact = |text: &str| RunWord::ALL.into_iter().find(|known| known.word() == text);
        if let Some(word) = exact(word) {
            return Some(LenientWord { word, exact: true });
        }
        let plain = plain(word);
        let word = exact(&plain).or_else(|| {
            Some(match plain.as_str() {
                "pending" | "not_started" | "new" | "initialising" => RunWord::Initializing,
                "in_progress" | "inprogress" | "active" | "resumed" => RunWord::Running,
                "stopped" | "halted" | "interrupted" | "usage_limit" => RunWord::Paused,
                "done" | "complete" | "finished" | "abandoned" => RunWord::Completed,
                "error" | "failure" => RunWord::Failed,
                _ => return None,
            })
        })?;
        Some(LenientWord { word, exact: false })
    }
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskWord {
    Pending,
    InProgress,
    /// Done for good only with all three flags of `verification`.
    Completed,
    /// Will be tried again.
    Failed,
    /// Given up, or in need of a person.
    Blocked,
    /// Not run: a person said so, or `blocked_by` names what it waits for in vain.
    Skipped,
}

impl TaskWord {
    pub const ALL: [TaskWord; 6] = [
        TaskWord::Pending,
        TaskWord::InProgress,
        TaskWord::Completed,
        TaskWord::Failed,
        TaskWord::Blocked,
        TaskWord::Skipped,
    ];

    pub fn word(self) -> &'static str {
        match self {
            TaskWord::Pending => "pending",
            TaskWord::InProgress => "in_progress",
            TaskWord::Completed => "completed",
            TaskWord::Failed => "failed",
            TaskWord::Blocked => "blocked",
            TaskWord::Skipped => "skipped",
        }
    }

    /// What a task's status is called here.
    pub fn from_status(status: Status) -> TaskWord {
        match status {
            Status::Pending | Status::Waiting => TaskWord::Pending,
            Status::InProgress | Status::Confirming | Status::Verifying => TaskWord::InProgress,
            Status::Verified | Status::Merging | Status::Completed => TaskWord::Completed,
            Status::Failed => TaskWord::Failed,
            Status::Abandoned | Status::Blocked => TaskWord::Blocked,
            Status::Skipped | Status::Unreachable | Status::PassedOver => TaskWord::Skipped,
        }
    }

    /// The word exactly as it is written.
    pub fn exact(word: &str) -> Option<TaskWord> {
        TaskWord::ALL.into_iter().find(|known| known.word() == word)
    }

    /// Also words of the other systems, and of people.
    pub(super) fn parse_lenient(word: &str) -> Option<LenientWord<TaskWord>> {
        if let Some(word) = TaskWord::exact(word) {
            return Some(LenientWord { word, exact: true });
        }
        if let Some(word) = TaskWord::exact(&plain(word)) {
            return Some(LenientWord { word, exact: false });
        }
        let word = match TaskStatus::parse_lenient(word)?.word {
            TaskStatus::Pending => TaskWord::Pending,
            TaskStatus::InProgress | TaskStatus::Verifying => TaskWord::InProgress,
            TaskStatus::Verified | TaskStatus::Merging | TaskStatus::Completed => TaskWord::Completed,
            TaskStatus::Failed => TaskWord::Failed,
            TaskStatus::Abandoned => TaskWord::Blocked,
        };
        Some(LenientWord { word, exact: false })
    }
}

/// Where a user story stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoryWord {
    Pending,
    InProgress,
    Completed,
    /// All that remains of it cannot be done.
    Blocked,
}

/// Where a batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BatchWord {
    Pending,
    InProgress,
    /// Each of its tasks is completed, blocked or skipped.
    Completed,
}

/// How a gate ended; null until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateWord {
    Passed,
    /// Not passed, and the run went on without it.
    Degraded,
    /// Of the review alone.
    Approved,
}

/// What an edit may say of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateSaid {
    Done,
    Degraded,
    Failed,
    Running,
    /// Not looked at yet.
    Open,
}

impl GateWord {
    pub fn word(self) -> &'static str {
        match self {
            GateWord::Passed => "passed",
            GateWord::Degraded => "degraded",
            GateWord::Approved => "approved",
        }
    }

    /// How a gate has ended whose task has this status.
    pub fn from_status(gate: &str, status: Status) -> Option<GateWord> {
        match status {
            Status::Completed => Some(GateWord::done(gate)),
            Status::Skipped | Status::PassedOver | Status::Abandoned | Status::Blocked => {
                Some(GateWord::Degraded)
            }
            Status::Pending
            | Status::InProgress
            | Status::Confirming
            | Status::Verifying
            | Status::Verified
            | Status::Merging
            | Status::Failed
            | Status::Unreachable
            | Status::Waiting => None,
        }
    }

    /// What this gate is called that has passed.
    pub(super) fn done(gate: &str) -> GateWord {
        if gate == REVIEW { GateWord::Approved } else { GateWord::Passed }
    }
}

impl GateSaid {
    /// Also in words that the file does not use.
    pub(super) fn parse_lenient(word: &str) -> Option<LenientWord<GateSaid>> {
        let known = |word, exact| Some(LenientWord { word, exact });
        let synonym = |word| known(word, false);
        match plain(word).as_str() {
            "passed" | "approved" => known(GateSaid::Done, matches!(word, "passed" | "approved")),
            "degraded" => known(GateSaid::Degraded, word == "degraded"),
            "pass" | "ok" | "green" => synonym(GateSaid::Done),
            "fail" | "rejected" | "red" => synonym(GateSaid::Failed),
            _ => match TaskWord::parse_lenient(word)?.word {
                TaskWord::Pending => synonym(GateSaid::Open),
                TaskWord::InProgress => synonym(GateSaid::Running),
                TaskWord::Completed => synonym(GateSaid::Done),
                TaskWord::Failed => synonym(GateSaid::Failed),
                TaskWord::Blocked | TaskWord::Skipped => synonym(GateSaid::Degraded),
            },
        }
    }
}
