//! A list that its tool has written again with other ids. What was completed under another id stays completed, if the plan
//! asks for exactly the same now and nothing else could be meant.

use std::collections::{BTreeMap, HashMap};

use super::event::Event;
use super::imported::ImportedTask;
use super::state::State;
use super::task::{Proof, Status, Task};
use crate::plan::{Content, Plan, TaskId, TaskSpec};

/// For each task of a plan that is new or another one under its id: the completed task whose content it has. Both sides
/// have that content once.
fn renumbered<'s>(state: &'s State, plan: &Plan) -> BTreeMap<TaskId, &'s Task> {
    let mut known: HashMap<Content, Vec<&Task>> = HashMap::new();
    for task in state.tasks().filter(|task| !task.removed) {
        known.entry(task.content).or_default().push(task);
    }
    let mut wanted: HashMap<Content, u32> = HashMap::new();
    for spec in &plan.tasks {
        *wanted.entry(spec.content()).or_default() += 1;
    }
    let was = |spec: &TaskSpec| -> Option<&'s Task> {
        // A journal of an earlier version has contents that are not equal to these, and nothing is carried over.
        let [task] = known.get(&spec.content())?[..] else { return None };
        let is_unique = wanted.get(&spec.content()) == Some(&1);
        // A proof is one of all checks.
        let judges = spec.checks.iter().all(|check| task.judges.contains(&check.digest()));
        let counts = matches!(task.proof, Some(Proof::Landed { .. } | Proof::Checked { .. }));
        let is_it = task.id != spec.id && task.decided == Status::Completed && counts;
        (is_unique && judges && is_it && !task.gate && !spec.gate).then_some(task)
    };
    plan.tasks.iter().filter_map(|spec| Some((spec.id.clone(), was(spec)?))).collect()
}

/// The events that carry over what was completed, to follow those that adopt the plan.
pub(super) fn carried_over(state: &State, plan: &Plan, adopting: &[Event]) -> Vec<Event> {
    let carried = |(id, was): (TaskId, &Task)| {
        let is_open = match state.task(&id).ok().flatten() {
            None => true,
            // It has a history of its own under this id, unless the plan makes it another task.
            Some(task) => {
                let is_reopened =
                    |event: &Event| matches!(event, Event::Reopened { task, .. } if *task == id);
                // What was tried, or skipped, was something else.
                let rests = [Status::Pending, Status::Failed, Status::Abandoned, Status::Skipped];
                let is_another = task.content != was.content && rests.contains(&task.decided);
                // The plan may have been without it for a while.
                let is_fresh = task.attempt == 0 && (task.decided == Status::Pending || task.removed);
                is_fresh || is_another || adopting.iter().any(is_reopened)
            }
        };
        let past = ImportedTask { proof: was.proof.clone(), ..ImportedTask::plain(Status::Completed) };
        let by = was.id.to_string();
        is_open.then(|| Event::Adopted { task: id, by, past: Box::new(past) })
    };
    renumbered(state, plan).into_iter().filter_map(carried).collect()
}
