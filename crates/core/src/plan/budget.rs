//! What a run, each of its tasks and each run of an agent may use.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// `[budget]`: what is not bounded is `None`. Money is in millionths of a dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_usd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_tokens: Option<u64>,
    /// The time of all its agents together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_time: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_usd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_time: Option<Span>,
    /// Of one run of an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_usd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_time: Option<Span>,
}

impl Budget {
    pub fn is_unbounded(&self) -> bool {
        *self == Budget::default()
    }
}
