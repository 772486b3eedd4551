//! Work from before this journal, as another system or a deleted journal left it.

use serde::{Deserialize, Serialize};

use super::event::Work;
use super::task::{Proof, Status};
use crate::plan::Oid;
use crate::time::Timestamp;

/// A task as another program left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedTask {
    /// Pending, failed, abandoned or completed.
    pub status: Status,
    /// Attempts that failed.
    pub spent: u32,
    /// Passes of agents that were asked to confirm.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub confirmations: u32,
    /// Why it is called completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Its worktree exists and is resumed from this base, with this work in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Oid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// The work is there: only its checks are to be run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recheck: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<ImportedCommit>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ImportedError>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<ImportedFeedback>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportedCommit {
    pub hash: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    pub attempt: u32,
    /// It fixed what an earlier attempt did.
    pub is_fix: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fixed: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportedError {
    pub attempt: u32,
    /// In the words of the file it is from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub step: String,
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub details: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportedFeedback {
    /// The attempt it is for.
    pub attempt: u32,
    pub feedback: String,
}

impl ImportedTask {
    /// The number of the attempt that was last made.
    pub fn attempt(&self) -> u32 {
        self.spent + u32::from(self.proof.is_some() || self.work.is_some())
    }

    /// A task of which only the status is known.
    pub fn plain(status: Status) -> ImportedTask {
        ImportedTask {
            status,
            spent: 0,
            confirmations: 0,
            proof: None,
            base: None,
            work: None,
            recheck: false,
            started_at: None,
            completed_at: None,
            merged_at: None,
            commits: Vec::new(),
            errors: Vec::new(),
            feedback: Vec::new(),
        }
    }

    /// What the next prompt says: why the last attempt failed, and what to do about it.
    pub fn failure(&self) -> Option<(String, String)> {
        let reason = self.errors.last().map(|error| error.message.clone())?;
        let feedback = self.feedback.last().map(|told| told.feedback.clone());
        Some((reason, feedback.unwrap_or_default()))
    }
}
