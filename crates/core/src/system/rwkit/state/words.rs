//! The words of the file for where things stand, and which of ours they are.

use serde::{Deserialize, Serialize};

use super::gates::REVIEW;
use crate::run::Status;
use crate::system::kit::fields::Meant;
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
    pub(super) fn meant(word: &str) -> Option<Meant<RunWord>> {
        let exact = |text: &str| RunWord::ALL.into_iter().find(|known| known.word() == text);
        if let Some(word) = exact(word) {
            return Some(Meant { word, exact: true });
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
        Some(Meant { word, exact: false })
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
    pub fn of(status: Status) -> TaskWord {
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
    pub(super) fn meant(word: &str) -> Option<Meant<TaskWord>> {
        if let Some(word) = TaskWord::exact(word) {
            return Some(Meant { word, exact: true });
        }
        if let Some(word) = TaskWord::exact(&plain(word)) {
            return Some(Meant { word, exact: false });
        }
        let word = match TaskStatus::meant(word)?.word {
            TaskStatus::Pending => TaskWord::Pending,
            TaskStatus::InProgress | TaskStatus::Verifying => TaskWord::InProgress,
            TaskStatus::Verified | TaskStatus::Merging | TaskStatus::Completed => TaskWord::Completed,
            TaskStatus::Failed => TaskWord::Failed,
            TaskStatus::Abandoned => TaskWord::Blocked,
        };
        Some(Meant { word, exact: false })
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

/// What somebody may say of a gate.
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
    pub fn of(gate: &str, status: Status) -> Option<GateWord> {
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
    pub(super) fn meant(word: &str) -> Option<Meant<GateSaid>> {
        let meant = |word, exact| Some(Meant { word, exact });
        match plain(word).as_str() {
            "passed" | "approved" => meant(GateSaid::Done, matches!(word, "passed" | "approved")),
            "degraded" => meant(GateSaid::Degraded, word == "degraded"),
            "pass" | "ok" | "green" => meant(GateSaid::Done, false),
            "fail" | "rejected" | "red" => meant(GateSaid::Failed, false),
            _ => match TaskWord::meant(word)?.word {
                TaskWord::Pending => meant(GateSaid::Open, false),
                TaskWord::InProgress => meant(GateSaid::Running, false),
                TaskWord::Completed => meant(GateSaid::Done, false),
                TaskWord::Failed => meant(GateSaid::Failed, false),
                TaskWord::Blocked | TaskWord::Skipped => meant(GateSaid::Degraded, false),
            },
        }
    }
}
