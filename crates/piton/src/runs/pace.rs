//! How fast a run goes.

use std::collections::BTreeMap;

use piton_core::plan::TaskId;
use piton_core::run::{Counts, Event, Run, Status};
use piton_core::time::{Span, Timestamp};
use piton_core::view;
use piton_engine::journal::Journal;

use crate::failure::Outcome;

/// Events that are looked at: those of some fifty tasks, so that the answer follows what is going on now.
const RECENT: usize = 1000;

/// How long the rest may take; unknown if no task has been completed lately.
pub(crate) fn left(journal: &Journal, facts: &Run, counts: &Counts) -> Outcome<Option<Span>> {
    let (mut started, mut took) = (BTreeMap::<TaskId, Timestamp>::new(), Vec::new());
    for recorded in journal.last_events(&facts.id, None, RECENT)? {
        match recorded.event {
            Event::AttemptStarted { task, .. } => {
                started.entry(task).or_insert(recorded.at);
            }
            Event::Completed { task, .. } => {
                took.extend(started.remove(&task).map(|start| recorded.at.since(start)));
            }
            _ => {}
        }
    }
    let left = counts.total() - counts.sum(Status::is_settled);
    Ok(view::eta(&took, left, facts.session.max_parallel).filter(|_| left > 0))
}
