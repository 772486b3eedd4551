//! The clients that do the work: how each is started and what its end means.

mod command;
mod outbox;

pub(crate) use command::{NOT_INHERITED, environment, start};
pub use command::{end_of, job};
#[doc(hidden)]
pub use outbox::understood;
pub use outbox::{Attempt, Message, NoAttempt, OUTBOX, Said, TOKEN, Taken, take};
