//! The attempt that we are called from, if an agent calls us.

use piton_engine::agent::Attempt;

use crate::failure::{Failure, Outcome};

/// The attempt that we are called from, if an agent calls us.
pub(crate) fn attempt() -> Outcome<Option<Attempt>> {
    Attempt::around_us().map_err(|no| {
        Failure::new(no.to_string())
            .hint("unset PITON_OUTBOX PITON_TOKEN PITON_TASK PITON_RUN   if you are not an agent")
    })
}

/// An agent may report only about its own task, and only through its outbox.
pub(crate) fn outside_of_attempts() -> Outcome {
    let Some(Attempt { task, .. }) = attempt()? else { return Ok(()) };
    Err(Failure::new(format!("this is an attempt of {task}: it cannot change anything else of the run"))
        .hint(format!("piton report {task} done"))
        .hint(format!("piton report {task} blocked --reason TEXT   if a person has to decide")))
}
