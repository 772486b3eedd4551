//! Status words, as state files have them and as people write them.

use serde::{Deserialize, Serialize};

use crate::run::Status;
use crate::system::kit::fields::LenientWord;

macro_rules! words {
    ($($(#[$meta:meta])* $name:ident { $($(#[$word_meta:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$word_meta])* #[serde(rename = $word)] $variant,)* }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// The word exactly as it is written.
            pub fn exact(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|known| known.word() == word)
            }
        }
    )*};
}

pub(in crate::system) use words;

words! {
    /// Where a task stands.
    TaskStatus {
        Pending = "pending",
        InProgress = "in_progress",
        Verifying = "verifying",
        Verified = "verified",
        Merging = "merging",
        Completed = "completed",
        /// Will be tried again, or needs a person: then its last error is a `task_defect`.
        Failed = "failed",
        Abandoned = "abandoned",
    }
}

/// The same letters, however they are joined and whatever their case.
pub(in crate::system) fn plain(word: &str) -> String {
    word.trim().to_lowercase().replace(['-', ' '], "_")
}

impl TaskStatus {
    /// What a task's status is called here.
    pub fn from_status(status: Status) -> TaskStatus {
        match status {
            Status::Pending
            | Status::Skipped
            | Status::Unreachable
            | Status::Waiting
            | Status::PassedOver => TaskStatus::Pending,
            Status::InProgress => TaskStatus::InProgress,
            Status::Confirming | Status::Verifying => TaskStatus::Verifying,
            Status::Verified => TaskStatus::Verified,
            Status::Merging => TaskStatus::Merging,
            Status::Completed => TaskStatus::Completed,
            Status::Failed | Status::Blocked => TaskStatus::Failed,
            Status::Abandoned => TaskStatus::Abandoned,
        }
    }

    /// Also words of the other systems, and of people.
    pub(in crate::system) fn parse_lenient(word: &str) -> Option<LenientWord<TaskStatus>> {
        if let Some(word) = TaskStatus::exact(word) {
            return Some(LenientWord { word, exact: true });
        }
        let plain = plain(word);
        let word = TaskStatus::exact(&plain).or_else(|| {
            Some(match plain.as_str() {
                "done" | "complete" | "finished" | "merged" | "passed" | "success" => TaskStatus::Completed,
                "inprogress" | "running" | "started" | "active" | "working" | "implementing" => {
                    TaskStatus::InProgress
                }
                "confirming" | "testing" | "review" | "reviewing" => TaskStatus::Verifying,
                "error" | "failure" | "blocked" => TaskStatus::Failed,
                "timeout" | "gave_up" | "given_up" | "cancelled" | "canceled" => TaskStatus::Abandoned,
                "skipped" | "todo" | "open" | "queued" | "ready" | "not_started" | "waiting" | "new" => {
                    TaskStatus::Pending
                }
                _ => return None,
            })
        })?;
        Some(LenientWord { word, exact: false })
    }
}
