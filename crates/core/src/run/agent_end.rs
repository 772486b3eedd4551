//! The ends of agents.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How an agent's try ended, in the engine's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum AgentEnd {
    /// It says it is done. Only a claim: the checks decide.
    Done,
    /// It says that everything was done before it began, so it changed nothing. This is only a claim, too.
    Already {
        reason: String,
    },
    Failed {
        reason: String,
        feedback: String,
    },
    /// The task itself is wrong; a person is needed.
    Blocked {
        reason: String,
    },
    /// Crash, network, server error: run again.
    Transient {
        reason: String,
    },
    /// A usage limit, known to end then.
    Limit {
        reason: String,
        until: Timestamp,
        /// What the client calls the model, if the limit is of one model alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// Its provider rejects it: credentials or payment. The task is not to blame.
    Refused {
        reason: String,
    },
    /// The model declined to continue this conversation. One try with a fresh conversation is worth it.
    Declined {
        reason: String,
    },
    /// The servers of its provider failed: overloaded, broken, not to be reached.
    Unavailable {
        reason: String,
    },
    /// Stopped because a person stopped the run.
    Stopped,
}
