//! Laws about what a task is: to complete it is to complete what the plan asks for now. Decided by the plan, the
//! journal and the world.

use std::collections::BTreeSet;

use piton_core::plan::{Check, Digest, Export, RepoPath, TaskId, TaskSpec};
use piton_core::run::{Event, Recorded, Status, Task};

use super::driver::Sim;
use super::git::commit_no;

type Verdict = Result<(), String>;

/// The fields that identify a task's content.
fn words(spec: &TaskSpec) -> (&str, &str, &[RepoPath], &[String], &[Export]) {
    (&spec.title, &spec.prompt, &spec.files, &spec.criteria, &spec.exports)
}

/// The events about a task, newest first, with where they stand.
fn own<'s>(journal: &'s [Recorded], id: &'s TaskId) -> impl Iterator<Item = (usize, &'s Event)> {
    let all = journal.iter().enumerate().rev().map(|(at, recorded)| (at, &recorded.event));
    all.filter(move |(_, event)| event.task() == Some(id))
}

/// What the plan asked for at the end of this part of the journal.
fn asked<'s>(journal: &'s [Recorded], id: &'s TaskId) -> Option<&'s TaskSpec> {
    own(journal, id).find_map(|(_, event)| match event {
        Event::TaskAdded { spec, .. } | Event::TaskChanged { spec, .. } => Some(&**spec),
        _ => None,
    })
}

/// Completion is bound to content: a completed task was completed for what the plan asks for now, and by all checks
/// that it has now.
pub(super) fn completed_for_what_is_asked(sim: &Sim) -> Verdict {
    // Only a plan that was read again can change what is asked.
    let recent = sim.journal.iter().rev().take_while(|recorded| {
        use Event::*;
        matches!(
            recorded.event,
            TaskAdded { .. }
                | TaskChanged { .. }
                | TaskRemoved { .. }
                | Raised { .. }
                | Reset { .. }
                | Reopened { .. }
                | PlanAdopted { .. }
        )
    });
    if !recent.into_iter().any(|recorded| matches!(recorded.event, Event::PlanAdopted { .. })) {
        return Ok(());
    }
    for task in sim.state.tasks().filter(|task| task.decided == Status::Completed && !task.removed) {
        let Some(now) = sim.scenario.spec(&task.id) else { continue };
        let completed = own(&sim.journal, &task.id).find(|(_, event)| {
            matches!(event, Event::Completed { .. } | Event::LandingFound { .. } | Event::Adopted { .. })
        });
        let then = completed.and_then(|(at, _)| asked(&sim.journal[..at], &task.id));
        let Some(then) = then else { return Err(format!("{} is completed, and nobody did it", task.id)) };
        if words(then) != words(now) {
            return Err(format!("{} is completed as {:?} and asks for {:?}", task.id, then.title, now.title));
        }
        let judged: Vec<Digest> = then.checks.iter().map(Check::digest).collect();
        if now.checks.iter().any(|check| !judged.contains(&check.digest())) {
            return Err(format!("{} is completed, and a check of it has never passed", task.id));
        }
    }
    Ok(())
}

/// Work is judged and landed only for the spec it was done for.
pub(super) fn work_counts_for_its_task(sim: &Sim, event: &Event) -> Verdict {
    if let Event::LandingPrepared { before, .. } = event {
        before.iter().try_for_each(|carried| is_for_its_task(sim, &carried.task))?;
    }
    let (Event::Verified { task, .. } | Event::LandingPrepared { task, .. }) = event else { return Ok(()) };
    is_for_its_task(sim, task)
}

fn is_for_its_task(sim: &Sim, task: &TaskId) -> Verdict {
    let captured = own(&sim.journal, task).find(|(_, event)| matches!(event, Event::WorkCaptured { .. }));
    let then = captured.and_then(|(at, _)| asked(&sim.journal[..at], task));
    match (then, asked(&sim.journal, task)) {
        (Some(then), Some(now)) if words(then) != words(now) => {
            Err(format!("work for {:?} is taken for {:?} of {task}", then.title, now.title))
        }
        _ => Ok(()),
    }
}

/// While an engine runs, a new plan changes only tasks that are not in progress. A task is worked on and judged by the
/// spec it began with, and a completed task stays completed for the same spec.
pub(super) fn only_what_rests_is_changed(sim: &Sim, event: &Event, old: Option<&Task>) -> Verdict {
    let (Event::TaskChanged { spec, .. }, Some(old)) = (event, old) else { return Ok(()) };
    let is_settled = old.holder.is_some() || old.decided == Status::Completed;
    if sim.run().engine.is_none() || !is_settled || old.removed {
        return Ok(());
    }
    // Its last event is this one.
    let before = asked(&sim.journal[..sim.journal.len().saturating_sub(1)], &spec.id);
    let checks = |spec: &TaskSpec| spec.checks.iter().map(Check::digest).collect::<BTreeSet<_>>();
    // The checks that completed it include all that still decide.
    let is_judged_so = |before: &TaskSpec| match old.decided {
        Status::Completed => checks(spec).is_subset(&checks(before)),
        _ => checks(spec) == checks(before),
    };
    match before {
        Some(before) if words(before) != words(spec) || !is_judged_so(before) => {
            Err(format!("{} is {} and becomes another task", spec.id, old.decided))
        }
        _ => Ok(()),
    }
}

/// A landing that is found counts only for the task that landed it.
pub(super) fn landings_found_are_its_own(sim: &Sim, event: &Event) -> Verdict {
    let Event::LandingFound { task, commit, .. } = event else { return Ok(()) };
    let landed = commit_no(commit).and_then(|no| sim.git.content_of(no));
    let now = sim.scenario.spec(task).map(TaskSpec::content);
    match landed {
        Some(landed) if Some(landed) != now => Err(format!("{task} is completed by another task's landing")),
        _ => Ok(()),
    }
}
