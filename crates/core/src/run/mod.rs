//! One run: what happened (`event`), what is true (`state`), what may happen (`rules`) and what should
//! happen next (`schedule`).

mod agent_end;
mod closing;
mod command;
mod comment;
mod create;
mod effort;
mod ending;
mod event;
mod evidence;
pub mod flakes;
mod fold;
mod holding;
mod imported;
pub mod line;
pub mod load;

mod note;
mod overload;
mod pointers;
mod provider;
mod renumbered;
mod reopen;
mod report;
pub mod request;
mod revision;
mod rules;
mod schedule;
mod session;
mod settings;
mod stack;
mod state;
mod tally;
mod task;
mod usage;
pub mod verdict;
mod whole;

pub use closing::{Asks, Closing};
pub use command::{Claim, Command, NewRun, Refusal, Stop, Waived};
pub use comment::{Comment, Place, Side, lines_of};
pub use effort::{Effort, Efforts};
pub use ending::{
    CANNOT_RUN, CONFLICT, CheckEnding, Ending, NO_TEST, SELF_ANSWERED, SILENT, SLOW_CHECK, TIMED_OUT,
    TOGETHER,
};
pub use event::{
    AgentEnd, CheckResult, CheckRun, Class, ConflictAhead, ContextUpdate, Event, Freshness, Next, Note,
    Recorded, Selection, Session, StopMode, StopReason, Verdict, Work,
};
pub use evidence::{Evidence, Mark};
pub use holding::HolderProcess;
pub use imported::{ImportedCommit, ImportedError, ImportedFeedback, ImportedTask};
pub use overload::{Overload, Overloads, parked};
pub use pointers::{CheckLog, Pointers};
pub(crate) use provider::concerning;
pub use provider::{Entry, Outage, Outages, is_free, is_of, limits, refused, reviewer, stand_in, worker};
pub use reopen::Reopening;
pub use report::{CommitMade, Report, Tests};
pub use request::{Footing, RequestFact, waits_for_the_host};
pub use revision::Revision;
pub use rules::{ASKED_BY, decide, shell_word, waits_for};
pub use schedule::{Action, barrier, is_current, next, owes_context, paused_until, startable, wake_at};
pub use settings::{follows_settings, settings_that_wait};
pub use state::{Changes, Closed, Halt, Links, Missing, Run, State};
pub use tally::{Counts, Horizon};
pub use task::{
    Answer, Awaited, Carried, Holder, Intent, LazyProgress, Pass, Progress, Proof, Red, Status, Task,
};
pub use usage::{Bill, Bills, Bound, ByModel, Live, Usage, bound_reached, over_budget, usage_since};
pub(crate) use usage::{is_of_a_worker, is_zero};
