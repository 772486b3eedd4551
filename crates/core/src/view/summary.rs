//! The run and its groups at a glance.

use serde::Serialize;

use crate::plan::{Exhausted, Settings, TaskId};
use crate::run::{
    Closed, Counts, Run, Selection, State, Status, StopMode, StopReason, Task, over_budget, owes_context,
    refused, waits_for,
};
use crate::time::Span;

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum RunStatus {
    NotStarted,
    Running,
    /// An engine is running and was asked to stop, perhaps at once. It has not ended yet.
    Stopping {
        now: bool,
    },
    /// An engine started and did not record its end: it crashed or was killed.
    Interrupted,
    Stopped(StopReason),
    /// Nothing is left to do; a person may have skipped tasks.
    Completed {
        #[serde(skip_serializing_if = "crate::run::is_zero")]
        skipped: u32,
    },
    /// Every task is completed according to the ledger, but these gates have not passed on the current work.
    Stale {
        gates: Vec<TaskId>,
    },
    /// Over, with work that is not done.
    Ended,
    /// A person closed it.
    Closed(Closed),
}

impl RunStatus {
    /// `engine_lives`: an engine holds the run's lock.
    pub fn of(run: &Run, counts: &Counts, engine_lives: bool) -> RunStatus {
        if engine_lives {
            return run
                .stop
                .map_or(RunStatus::Running, |mode| RunStatus::Stopping { now: mode == StopMode::AtOnce });
        }
        if let Some(closed) = &run.closed {
            return RunStatus::Closed(closed.clone());
        }
        match &run.stopped {
            _ if run.engine.is_some() => RunStatus::Interrupted,
            // The ledger may have finished what an engine left, or never had one.
            _ if counts.is_complete() => RunStatus::Completed { skipped: counts.of(Status::Skipped) },
            None if counts.sum(is_untouched) == counts.total() => RunStatus::NotStarted,
            None => RunStatus::Running,
            Some(StopReason::Ended) => RunStatus::Ended,
            Some(reason) => RunStatus::Stopped(reason.clone()),
        }
    }

    pub fn word(&self) -> &'static str {
        match self {
            RunStatus::NotStarted => "not started",
            RunStatus::Running => "running",
            RunStatus::Stopping { .. } => "stopping",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Stopped(_) => "stopped",
            RunStatus::Completed { .. } => "completed",
            RunStatus::Stale { .. } => "not complete: a gate has not passed on what there is now",
            RunStatus::Ended => "ended with unfinished work",
            RunStatus::Closed(_) => "closed",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupStatus {
    Pending,
    InProgress,
    Completed,
    /// A task in it cannot complete, and nothing in it can continue.
    Blocked,
}

#[derive(Clone, Debug)]
pub struct GroupSummary {
    pub id: String,
    pub title: String,
    pub status: GroupStatus,
    pub counts: Counts,
}

#[derive(Clone, Debug)]
pub struct Summary {
    pub counts: Counts,
    pub groups: Vec<GroupSummary>,
}

impl Summary {
    /// From counts per group and level, however they were come by.
    pub fn new<'c>(run: &Run, cells: impl IntoIterator<Item = ((u32, u32), &'c Counts)>) -> Summary {
        let mut by_group = vec![Counts::default(); run.groups.len()];
        let mut all = Counts::default();
        for ((group, _), counts) in cells {
            all.merge(counts);
            if let Some(sum) = by_group.get_mut(group as usize) {
                sum.merge(counts);
            }
        }
        let groups = run.groups.iter().zip(by_group);
        let groups = groups
            .map(|(group, counts)| GroupSummary {
                id: group.id.to_string(),
                title: group.title.clone(),
                status: group_status(&counts, run.settings.exhausted),
                counts,
            })
            .collect();
        Summary { counts: all, groups }
    }
}

/// The status of a group, as all commands and state files show it.
pub fn group_status(counts: &Counts, exhausted: Exhausted) -> GroupStatus {
    let total = counts.total();
    let is_under_way =
        |status: Status| status.holds_slot() || matches!(status, Status::Verified | Status::Merging);
    // If the plan says so, nothing new starts after a task was abandoned.
    let held = exhausted == Exhausted::Stop && counts.of(Status::Abandoned) + counts.of(Status::Blocked) > 0;
    if counts.sum(Status::satisfies) == total {
        GroupStatus::Completed
    } else if counts.sum(is_under_way) == 0 && (held || counts.sum(Status::is_settled) == total) {
        GroupStatus::Blocked
    } else if counts.sum(is_untouched) == total {
        GroupStatus::Pending
    } else {
        GroupStatus::InProgress
    }
}

/// Why an engine that has nothing left to do stops.
pub fn at_rest(state: &State) -> StopReason {
    let Some(run) = state.run() else { return StopReason::Ended };
    if state.is_complete() && !owes_context(state, run) {
        return StopReason::Completed;
    }
    let first = run.first_group();
    let selected = |task: &Task| match &run.session.selection {
        Selection::All => true,
        Selection::Group(_) => task.group == first,
        Selection::From(_) => task.group >= first,
        Selection::Task(id) => &task.id == id,
    };
    let all: Vec<&Task> = state.tasks().filter(|task| !task.removed && selected(task)).collect();
    let filtered = run.session.selection != Selection::All;
    if filtered && all.iter().all(|task| task.status().is_finished()) {
        return StopReason::Filter;
    }
    // A stop that came when all work was done has changed nothing, so this comes after that.
    if run.stop.is_some() {
        return StopReason::Person;
    }
    if run.streak >= Settings::TRANSIENT_STREAK {
        let detail = format!("{} tries in a row failed before any work was done", run.streak);
        return StopReason::Environment { detail };
    }
    if let Some(detail) = over_budget(run) {
        return StopReason::Budget { detail: format!("the budget is spent: {detail}") };
    }
    if let Some(waits) = all.iter().find_map(|task| task.progress.waits.as_ref()) {
        return StopReason::LandingWaits { detail: waits.clone() };
    }
    let gave_up = run.dead > 0 && run.settings.exhausted == Exhausted::Stop;
    let waits = |task: &&Task| matches!(task.status(), Status::Pending | Status::Failed);
    if let Some((provider, outage)) = refused(run).next()
        && !gave_up
        && all.iter().any(waits)
    {
        let detail =
            format!("{provider} rejects the login of the agent `{}`: {}", outage.agent, outage.reason);
        return StopReason::Environment { detail };
    }
    let elsewhere = all.iter().find(|task| task.status().holds_slot() && !task.is_engines());
    match elsewhere.filter(|_| !gave_up) {
        Some(task) => {
            let by = task.holder.as_ref().map_or_else(|| "someone else".to_owned(), ToString::to_string);
            let detail = match &task.progress.uncommitted[..] {
                [] => format!("{} is held by {by}", task.id),
                files => format!("{} is reported done by {by}, and waits: {}", task.id, waits_for(files)),
            };
            StopReason::Elsewhere { detail }
        }
        None if gave_up => StopReason::Ended,
        None => all
            .iter()
            .find_map(|task| outside(task))
            .map_or(StopReason::Ended, |detail| StopReason::Siblings { detail }),
    }
}

/// What a task waits for in another list.
fn outside(task: &Task) -> Option<String> {
    let open = task.outside.iter().find(|need| !need.done).filter(|_| task.status() == Status::Waiting)?;
    Some(format!("{} waits for {}, which is not completed", task.id, open.need))
}

/// Work on it has not begun.
fn is_untouched(status: Status) -> bool {
    matches!(status, Status::Pending | Status::Unreachable | Status::Waiting)
}

/// The exit code of the process.
pub fn exit_code(reason: &StopReason) -> u8 {
    match reason {
        StopReason::Completed | StopReason::Filter => 0,
        StopReason::Ended => 4,
        StopReason::Person
        | StopReason::LandingWaits { .. }
        | StopReason::PlanChanged { .. }
        | StopReason::Elsewhere { .. }
        | StopReason::Siblings { .. }
        | StopReason::Budget { .. }
        | StopReason::Environment { .. } => 3,
    }
}

/// How long the rest may take, from how long tasks took so far; unknown before the first.
pub fn eta(took: &[Span], left: u32, parallel: u32) -> Option<Span> {
    let mean = took.iter().map(|span| span.0).sum::<u64>().checked_div(took.len() as u64)?;
    Some(Span(mean * u64::from(left.div_ceil(parallel.max(1)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_guessed_from_what_is_done() {
        assert_eq!(eta(&[], 4, 2), None);
        assert_eq!(eta(&[Span::seconds(10), Span::seconds(20)], 5, 2), Some(Span::seconds(45)));
        assert_eq!(eta(&[Span::seconds(10)], 0, 0), Some(Span(0)));
    }

    #[test]
    fn exit_codes_are_those_of_the_documentation() {
        let detail = String::new;
        assert_eq!([StopReason::Completed, StopReason::Filter].map(|reason| exit_code(&reason)), [0, 0]);
        assert_eq!(exit_code(&StopReason::Ended), 4);
        for stopped in [
            StopReason::Person,
            StopReason::LandingWaits { detail: detail() },
            StopReason::PlanChanged { detail: detail() },
            StopReason::Elsewhere { detail: detail() },
            StopReason::Environment { detail: detail() },
        ] {
            assert_eq!(exit_code(&stopped), 3, "{stopped:?}");
        }
    }

    #[test]
    fn what_was_given_up_blocks_its_group_only_where_nothing_new_starts() {
        let mut counts = Counts::default();
        counts.add(Status::Pending, 1);
        for given_up in [Status::Abandoned, Status::Blocked] {
            let mut counts = counts;
            counts.add(given_up, 1);
            assert_eq!(group_status(&counts, Exhausted::Stop), GroupStatus::Blocked, "{given_up:?}");
            assert_eq!(group_status(&counts, Exhausted::Continue), GroupStatus::InProgress, "{given_up:?}");
        }
        counts.add(Status::InProgress, 1);
        counts.add(Status::Abandoned, 1);
        assert_eq!(group_status(&counts, Exhausted::Stop), GroupStatus::InProgress, "something is under way");
    }
}
