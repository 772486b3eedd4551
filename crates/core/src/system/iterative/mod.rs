//! The iterative system: a folder `.claude/iterative/SLUG` with `brief.md` and `tasks.md`, or `plan.md` for what is not
//! code, and the files that a run of it keeps next to them.
//!
//! A unit is a task of the list or a phase of the plan. It is worked on in iterations, each by a fresh agent that knows of
//! the others only by what they have written down, until one more pass finds nothing left to do and a verifier agrees.
//!
//! `plan` reads the list and the brief, `state` is the state file. `progress` is the log of iterations, `guardrails`
//! what was learned on the way, `context` what every agent needs to know, `prompt` the few words that each agent gets,
//! `ending` what its end means, `rebuild` what the log and git say where a state file does not.

mod companions;
pub mod context;
mod ending;
mod new;
mod ops;
pub mod plan;
pub mod progress;
pub mod prompt;
pub mod rebuild;
mod row;
pub mod state;
pub mod takeover;

pub use crate::system::kit::guardrails;
pub use companions::{GUARDRAILS, PROGRESS, TICKED_LISTS, report_in_words};
pub use ending::ending;
pub use row::Iterations;
