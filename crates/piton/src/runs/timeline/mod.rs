//! The events that say where the time of a run went, and how that is drawn.

pub(crate) mod draw;

use piton_core::order::Arrange;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Holder, Recorded};
use piton_core::time::Timestamp;
use piton_core::view::timeline::{Timeline, timeline};
use piton_engine::clock;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::failure::Outcome;

pub(crate) fn of_run(project: &Project, journal: &Journal, run: &RunId) -> Outcome<Timeline> {
    let events = journal.events_that_happened(run)?;
    let now = now(project, journal, run, &events)?;
    Ok(timeline(events, now))
}

/// Only the bars of one task are complete in it: no other events are read than its own, those of what it waits for, and those
/// of the run as a whole.
pub(crate) fn of_task(project: &Project, journal: &Journal, run: &RunId, task: &TaskId) -> Outcome<Timeline> {
    let mut events = journal.events_of_no_task(run)?;
    let links = journal.links(run, task)?;
    for id in links.needs.iter().chain([task]) {
        events.extend(journal.events(run, 0, Some(id), usize::MAX)?);
    }
    events.arrange_by_key(|recorded| recorded.seq);
    let now = now(project, journal, run, &events)?;
    Ok(timeline(events, now))
}

/// What goes on goes on until now. If nobody works on the run, it goes on until the last event.
pub(crate) fn now(
    project: &Project,
    journal: &Journal,
    run: &RunId,
    events: &[Recorded],
) -> Outcome<Timestamp> {
    let is_held = || -> Outcome<bool> {
        let is_by_hand = |holder: &Option<Holder>| matches!(holder, Some(Holder::Ledger(_)));
        Ok(journal.under_way(run)?.iter().any(|task| is_by_hand(&task.holder)))
    };
    let last = events.last().map(|recorded| recorded.at);
    Ok(match last {
        // A journal of the past ends there.
        Some(last) if journal.moment().is_some() => last,
        Some(last) if !project.is_led(journal, run) && !is_held()? => last,
        _ => clock::now(),
    })
}
