//! The clients that do the work: how each is started and what its end means.

mod attempt;
mod heard;
mod homes;
mod login;
mod machine;
mod outbox;
mod place;
mod session;
mod start;
mod stream;
#[cfg(test)]
mod tests;
mod tools;
mod trial;

pub use attempt::end_of;
pub(crate) use attempt::{environment, job};
pub use heard::Heard;
pub(crate) use heard::hear;
pub(crate) use homes::homes;
pub use login::{login_command, login_unseen};
pub(crate) use outbox::OUTBOX_FILE;
#[doc(hidden)]
pub use outbox::understood;
pub use outbox::{Attempt, Message, NoAttempt, OUTBOX, Said, TOKEN, Taken, take};
pub(crate) use place::PROMPT;
pub use place::{Place, Tools};
pub(crate) use session::OVER_BUDGET;
#[doc(hidden)]
pub use session::Session;
pub use session::before;
pub(crate) use start::{as_begun, prompt_of, start};
pub(crate) use tools::{BIN, shell_name};
pub(crate) use trial::TRIAL_JOB;
pub use trial::{Trial, stop, trial, version};
