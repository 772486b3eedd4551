//! The iterative system: units of work, each done by fresh agents in iterations that know of each other only by what
//! they have written down. `progress` is that log, `guardrails` what was learned on the way, `context` what everybody
//! needs to know, `prompt` the few words each agent is told, `ending` what its end means, `rebuild` what the log and git say where a state file
//! does not.

pub mod context;
mod ending;
mod fields;
pub mod guardrails;
pub mod progress;
pub mod prompt;
pub mod rebuild;

pub use ending::ending;
