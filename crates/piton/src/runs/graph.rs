//! The graph of a plan, as its run has it, or as its files say before there is a run.

use piton_core::plan::{Group, Plan};
use piton_core::run::{Run, Status, Task};
use piton_core::view::graph::Node;
use piton_engine::journal::{Journal, Outline};

use crate::failure::Outcome;

/// The tasks of a run, in the order of their ids, as they stand.
pub(crate) fn of_run(journal: &Journal, facts: &Run) -> Outcome<Vec<Node>> {
    let tasks = journal.outlined(&facts.id)?.into_iter();
    Ok(tasks.map(|(task, outline)| node(facts, &task, outline)).collect())
}

pub(crate) fn node(facts: &Run, task: &Task, outline: Outline) -> Node {
    Node {
        id: task.id.clone(),
        title: outline.title,
        group: group(&facts.groups, task.group),
        status: task.status(),
        after: outline.depends_on,
    }
}

/// The tasks of a plan that has no run.
pub(crate) fn of_plan(plan: &Plan) -> Vec<Node> {
    let node = |task: &piton_core::plan::TaskSpec| Node {
        id: task.id.clone(),
        title: task.title.clone(),
        group: group(&plan.groups, task.group),
        status: Status::Pending,
        after: task.depends_on.clone(),
    };
    plan.tasks.iter().map(node).collect()
}

/// The only group of a plan is not worth a frame.
fn group(groups: &[Group], position: u32) -> Option<String> {
    let group = groups.get(position as usize).filter(|_| groups.len() > 1)?;
    Some(group.id.as_str().to_owned())
}
