//! The words of the file for where things stand, and which of ours they are.

use serde::{Deserialize, Serialize};

use crate::run::Status;
use crate::system::kit::fields::LenientWord;
use crate::system::kit::status::{TaskStatus, plain};

/// Where a unit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnitWord {
    /// Not begun, or it waits for another unit.
    Pending,
    /// An iteration works on it, or the next one will.
    InProgress,
    /// Reported done: a fresh agent looks whether anything is left.
    Confirming,
    /// Nothing was left: its checks and the verifier judge it, or it waits to land.
    Verifying,
    Done,
    /// A person is needed.
    Blocked,
    /// All its iterations are spent.
    Timeout,
}

impl UnitWord {
    pub const ALL: [UnitWord; 7] = [
        UnitWord::Pending,
        UnitWord::InProgress,
        UnitWord::Confirming,
        UnitWord::Verifying,
        UnitWord::Done,
        UnitWord::Blocked,
        UnitWord::Timeout,
    ];

    pub fn word(self) -> &'static str {
        match self {
            UnitWord::Pending => "pending",
            UnitWord::InProgress => "in_progress",
            UnitWord::Confirming => "confirming",
            UnitWord::Verifying => "verifying",
            UnitWord::Done => "done",
            UnitWord::Blocked => "blocked",
            UnitWord::Timeout => "timeout",
        }
    }

    /// What a task's status is called here.
    pub fn from_status(status: Status) -> UnitWord {
        match status {
            Status::Pending
            | Status::Skipped
            | Status::Unreachable
            | Status::Waiting
            | Status::PassedOver => UnitWord::Pending,
            Status::InProgress | Status::Failed => UnitWord::InProgress,
            Status::Confirming => UnitWord::Confirming,
            Status::Verifying | Status::Verified | Status::Merging => UnitWord::Verifying,
            Status::Completed => UnitWord::Done,
            Status::Abandoned => UnitWord::Timeout,
            Status::Blocked => UnitWord::Blocked,
        }
    }

    /// The command that reports a task as this.
    pub(super) fn status(self) -> Status {
        match self {
            UnitWord::Pending => Status::Pending,
            UnitWord::InProgress => Status::InProgress,
            UnitWord::Confirming => Status::Confirming,
            UnitWord::Verifying => Status::Verifying,
            UnitWord::Done => Status::Completed,
            UnitWord::Blocked => Status::Blocked,
            UnitWord::Timeout => Status::Abandoned,
        }
    }

    /// The word exactly as it is written.
    pub fn exact(word: &str) -> Option<UnitWord> {
        UnitWord::ALL.into_iter().find(|known| known.word() == word)
    }

    /// Also words of the other systems, and of people.
    pub(super) fn parse_lenient(word: &str) -> Option<LenientWord<UnitWord>> {
        if let Some(word) = UnitWord::exact(word) {
            return Some(LenientWord { word, exact: true });
        }
        if let Some(word) = UnitWord::exact(&plain(word)) {
            return Some(LenientWord { word, exact: false });
        }
        let word = match TaskStatus::parse_lenient(word)?.word {
            TaskStatus::Pending => UnitWord::Pending,
            TaskStatus::InProgress | TaskStatus::Failed => UnitWord::InProgress,
            TaskStatus::Verifying | TaskStatus::Verified | TaskStatus::Merging => UnitWord::Verifying,
            TaskStatus::Completed => UnitWord::Done,
            TaskStatus::Abandoned => UnitWord::Timeout,
        };
        Some(LenientWord { word, exact: false })
    }

    /// It is worked on.
    pub(super) fn is_under_way(self) -> bool {
        matches!(self, UnitWord::InProgress | UnitWord::Confirming | UnitWord::Verifying)
    }
}

/// Where the whole stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PhaseWord {
    /// What is wanted is being found out.
    Discover,
    /// It is being cut into units, or work on them has not begun.
    Plan,
    Execute,
    /// Every unit is done, and the whole is being reviewed.
    Verify,
    /// Nothing is left but to hand it over.
    Deliver,
    /// It was put into the archive.
    Complete,
}

impl PhaseWord {
    pub const ALL: [PhaseWord; 6] = [
        PhaseWord::Discover,
        PhaseWord::Plan,
        PhaseWord::Execute,
        PhaseWord::Verify,
        PhaseWord::Deliver,
        PhaseWord::Complete,
    ];

    pub fn word(self) -> &'static str {
        match self {
            PhaseWord::Discover => "discover",
            PhaseWord::Plan => "plan",
            PhaseWord::Execute => "execute",
            PhaseWord::Verify => "verify",
            PhaseWord::Deliver => "deliver",
            PhaseWord::Complete => "complete",
        }
    }

    /// The word exactly as it is written.
    pub fn exact(word: &str) -> Option<PhaseWord> {
        PhaseWord::ALL.into_iter().find(|known| known.word() == word)
    }

    /// Also the words of an older layout, which are as right as these, and those of people.
    pub(super) fn parse_lenient(word: &str) -> Option<LenientWord<PhaseWord>> {
        let older = match word {
            "interview" => Some(PhaseWord::Discover),
            "loop" => Some(PhaseWord::Execute),
            "review" => Some(PhaseWord::Verify),
            "wrap" => Some(PhaseWord::Deliver),
            _ => None,
        };
        if let Some(word) = PhaseWord::exact(word).or(older) {
            return Some(LenientWord { word, exact: true });
        }
        let plain = plain(word);
        let word = PhaseWord::exact(&plain).or_else(|| {
            Some(match plain.as_str() {
                "discovery" | "discovering" | "interview" => PhaseWord::Discover,
                "planning" | "planned" => PhaseWord::Plan,
                "executing" | "execution" | "in_progress" | "running" | "loop" => PhaseWord::Execute,
                "verifying" | "verification" | "review" | "reviewing" => PhaseWord::Verify,
                "delivering" | "delivery" | "wrap" | "wrapping" => PhaseWord::Deliver,
                "completed" | "done" | "finished" | "archived" => PhaseWord::Complete,
                _ => return None,
            })
        })?;
        Some(LenientWord { word, exact: false })
    }
}

/// Words that say of a blocked unit that it only waits for another one.
pub(super) fn waits(reason: &str) -> bool {
    let plain = reason.trim().to_lowercase();
    let words = ["waiting on ", "waiting for ", "waits for ", "waits on ", "depends on "];
    words.iter().any(|words| {
        let rest = plain.strip_prefix(words).unwrap_or_default();
        // `Waiting on T3` is one; what waits for a person's answer is a blocker.
        let mut ids =
            rest.split([',', ' ', '&']).filter(|part| !part.is_empty() && *part != "and").peekable();
        ids.peek().is_some() && ids.all(|id| id.len() <= 20 && id.contains(|c: char| c.is_ascii_digit()))
    })
}
