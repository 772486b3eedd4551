//! One run: what happened (`event`), what is true (`state`), what may happen (`rules`) and what should
//! happen next (`schedule`).

mod command;
mod create;
mod event;
mod fold;
mod past;
mod rules;
mod schedule;
mod state;
mod tally;
mod task;
mod usage;
pub mod verdict;

pub use command::{Claim, Command, NewRun, Refusal, Stop};
pub use event::{
    AgentEnd, CheckResult, Class, CommitMade, ContextUpdate, Event, Next, Note, Recorded, Report, Selection,
    Session, StopReason, Tests, Verdict, Work,
};
pub use past::{Past, PastCommit, PastError, PastFeedback};
pub use rules::decide;
pub use schedule::{Action, barrier, is_current, limited_until, next, owes_context, startable, wake_at};
pub use state::{Changes, Links, Missing, Run, State};
pub use tally::{Counts, Horizon};
pub use task::{Holder, Intent, Pass, Progress, Proof, Status, Task};
pub use usage::{Bill, Bills, ByModel, Usage, over_budget, usage_since};
