//! A plan becomes a run.

use std::collections::BTreeSet;

use super::command::{NewRun, Refusal, Stop};
use super::event::Event;
use crate::plan::{Graph, Plan, TaskId};

pub(super) fn create(new: &NewRun) -> Result<Vec<Event>, Stop> {
    let plan = &new.plan;
    if plan.tasks.is_empty() {
        return Err(Refusal::because("a plan without tasks is never complete"));
    }
    let places = places(plan)?;
    let created = Event::RunCreated {
        run: new.run.clone(),
        name: plan.name.clone(),
        plan: new.plan_path.clone(),
        plan_hash: plan.hash(),
        groups: plan.groups.clone(),
        settings: Box::new(plan.settings.clone()),
        target: new.target.clone(),
        base: new.base.clone(),
        worktree_dir: new.worktree_dir.clone(),
    };
    let added = plan.tasks.iter().zip(places).map(|(spec, (level, tail))| Event::TaskAdded {
        spec: Box::new(spec.clone()),
        level,
        tail,
    });
    Ok([created].into_iter().chain(added).collect())
}

/// For each task of a plan that can be carried out, the longest chains before it and behind it.
pub(super) fn places(plan: &Plan) -> Result<Vec<(u32, u32)>, Stop> {
    let ids: BTreeSet<&TaskId> = plan.tasks.iter().map(|spec| &spec.id).collect();
    for spec in &plan.tasks {
        if let Some(unknown) = spec.depends_on.iter().find(|need| !ids.contains(need)) {
            return Err(Refusal::because(format!(
                "{} depends on {unknown}, which is not in the plan",
                spec.id
            )));
        }
    }
    match Graph::new(&plan.tasks) {
        Ok(graph) => Ok(graph.levels.iter().copied().zip(graph.tails()).collect()),
        Err(cycle) => Err(Refusal::because(format!("the dependencies form a cycle: {:?}", cycle.0))),
    }
}
