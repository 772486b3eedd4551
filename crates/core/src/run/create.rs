//! A plan becomes a run, and a run follows its plan.

use std::collections::{BTreeMap, BTreeSet};

use super::command::{NewRun, Refusal, Stop};
use super::event::Event;
use super::renumbered::carried_over;
use super::reopen::{Judges, Reopening, changed};
use super::settings::requests;
use super::state::{Run, State};
use super::task::{Status, Task};
use super::whole::with_request;
use crate::order::Pairs;
use crate::plan::{Check, Graph, Plan, Settings, TaskId, TaskSpec};

pub(super) fn create(new: &NewRun) -> Result<Vec<Event>, Stop> {
    if new.plan.tasks.is_empty() {
        return Err(Refusal::because("the plan has no tasks"));
    }
    let plan = &with_request(&new.plan, new.plan.settings.requests.as_ref());
    let places = places(plan)?;
    let created = Event::RunCreated {
        run: new.run.clone(),
        name: plan.name.clone(),
        plan: new.plan_path.clone(),
        plan_hash: new.plan.hash(),
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

/// Adopt the plan as it is now, task by task. No engine may be running meanwhile.
pub(super) fn replan(state: &State, run: &Run, plan: &Plan) -> Result<Vec<Event>, Stop> {
    if run.engine.is_some() {
        return Err(Refusal::hinted("an engine is working on this run", "`piton stop` stops it"));
    }
    if plan.tasks.is_empty() {
        return Err(Refusal::because("the plan has no tasks"));
    }
    let plan_hash = plan.hash();
    let plan = &*with_request(plan, run.settings.requests.as_ref());
    let places = places(plan)?;
    let mut gone: BTreeMap<&TaskId, &Task> =
        state.tasks().filter(|task| !task.removed).map(|task| (&task.id, task)).into_map();
    let mut events = vec![Event::PlanAdopted {
        plan_hash,
        groups: plan.groups.clone(),
        settings: Box::new(settings(run, plan)),
    }];
    let judges = Judges { landing: lands_otherwise(run, plan), ..Judges::default() };
    for (spec, (level, tail)) in plan.tasks.iter().zip(places) {
        let spec_event = Box::new(spec.clone());
        let known = gone.remove(&spec.id);
        match state.task(&spec.id)? {
            None => events.push(Event::TaskAdded { spec: spec_event, level, tail }),
            Some(task) => events.extend(changed(task, spec_event, (level, tail), judges)?),
        }
        events.extend(known.and_then(|task| raised(task, spec)));
    }
    if let Some(task) = gone.values().find(|task| task.decided == Status::Merging) {
        return Err(Refusal::hinted(
            format!("{} is landing now and cannot be removed", task.id),
            "`piton run` with the previous plan finishes the landing",
        ));
    }
    events.extend(gone.into_keys().map(|id| Event::TaskRemoved { task: id.clone() }));
    events.extend(carried_over(state, plan, &events));
    look_again(state, plan, &mut events);
    Ok(events)
}

/// The settings of a plan that is read again: flags the run began with hold where the plan says nothing.
pub(super) fn settings(run: &Run, plan: &Plan) -> Settings {
    let (mut settings, began) = (plan.settings.clone(), &run.settings);
    settings.no_commits |= began.no_commits;
    settings.auto_answer |= began.auto_answer;
    settings.commit_prefix = settings.commit_prefix.or_else(|| began.commit_prefix.clone());
    settings.author = settings.author.or_else(|| began.author.clone());
    settings.worktree.shared.clone_from(&began.worktree.shared);
    settings.requests = requests(run, settings.requests.as_ref());
    settings.form = settings.form.known_from(&began.form);
    settings
}

/// Whether other checks judge what lands.
pub(super) fn lands_otherwise(run: &Run, plan: &Plan) -> bool {
    let written = |checks: &[Check]| checks.iter().map(Check::as_written).collect::<Vec<_>>();
    written(&run.settings.landing_checks) != written(&plan.settings.landing_checks)
}

/// If the plan now allows more attempts, a task that ran out of them gets more.
pub(super) fn raised(task: &Task, spec: &TaskSpec) -> Option<Event> {
    let is_spent = task.decided == Status::Abandoned && task.spent >= task.budget;
    (is_spent && spec.attempts > task.spent).then(|| Event::Raised {
        task: task.id.clone(),
        by: "piton".to_owned(),
        attempts: spec.attempts,
    })
}

/// A task that says the same and stands elsewhere in the plan. What a person allowed beyond the plan still holds.
pub(super) fn moved(task: &Task, spec: &TaskSpec, (level, tail): (u32, u32)) -> Vec<Event> {
    let attempts = task.budget;
    let changed = Event::TaskChanged { spec: Box::new(spec.clone()), level, tail };
    let raised = Event::Raised { task: task.id.clone(), by: "piton".to_owned(), attempts };
    [changed].into_iter().chain((attempts != spec.attempts).then_some(raised)).collect()
}

/// Add the tasks that the plan has and the run does not. The tasks of the run stay as they are, even those in progress.
pub(super) fn extend(state: &State, run: &Run, plan: &Plan) -> Result<Vec<Event>, Stop> {
    let plan_hash = plan.hash();
    if plan_hash == run.plan_hash {
        return Ok(Vec::new());
    }
    let mut old = plan.clone();
    let plan = &*with_request(plan, run.settings.requests.as_ref());
    let mut known = BTreeMap::new();
    for spec in &plan.tasks {
        known.extend(state.task(&spec.id)?.filter(|task| !task.removed).map(|task| (&spec.id, task)));
    }
    old.tasks.retain(|spec| known.contains_key(&spec.id));
    if run.settings.policy().shifting_groups {
        old.groups.clone_from(&run.groups);
        old.tasks.iter_mut().for_each(|spec| spec.group = known[&spec.id].group);
    }
    // A review waits for whatever there is.
    if plan.settings.policy().review_of_all {
        let last = old.tasks.iter_mut().filter(|spec| !plan.settings.form.lists(&spec.id));
        last.for_each(|spec| spec.depends_on.retain(|need| known.contains_key(need)));
    }
    if old.hash() != run.plan_hash {
        return Err(Refusal::hinted(
            "the plan changes more than it adds",
            "`piton run PLAN` shows the changes and how to continue",
        ));
    }
    let form = run.settings.form.grown(&plan.settings.form);
    let mut events = vec![Event::PlanAdopted {
        plan_hash,
        groups: plan.groups.clone(),
        settings: Box::new(Settings { form, ..run.settings.clone() }),
    }];
    for (spec, (level, tail)) in plan.tasks.iter().zip(places(plan)?) {
        let spec_event = || Box::new(spec.clone());
        match (known.get(&spec.id), state.task(&spec.id)?) {
            (None, None) => events.push(Event::TaskAdded { spec: spec_event(), level, tail }),
            (None, Some(task)) => {
                events.extend(changed(task, spec_event(), (level, tail), Judges::default())?);
            }
            // In another batch now; or the chain behind it is longer, so it is wanted sooner; or it waits for more.
            (Some(task), _)
                if task.group != spec.group
                    || (tail > task.tail && !task.decided.is_settled())
                    || spec.depends_on.iter().any(|need| !known.contains_key(need)) =>
            {
                events.extend(moved(task, spec, (level, tail)));
            }
            (Some(_), _) => {}
        }
    }
    look_again(state, plan, &mut events);
    Ok(events)
}

/// A gate that was passed, or a review, has not seen what is added.
pub(super) fn look_again(state: &State, plan: &Plan, events: &mut Vec<Event>) {
    let added = events.iter().find_map(|event| match event {
        Event::TaskAdded { spec, .. } => Some(spec.id.clone()),
        _ => None,
    });
    let Some(added) = added else { return };
    // One that is another task now, or has other checks, is open again already.
    let reopened: BTreeSet<TaskId> = events
        .iter()
        .filter(|event| matches!(event, Event::Reopened { .. }))
        .filter_map(|event| event.task().cloned())
        .collect();
    let gates = plan.tasks.iter().filter(|spec| spec.gate && !reopened.contains(&spec.id));
    for task in gates.filter_map(|spec| state.task(&spec.id).ok().flatten()) {
        let open_again = || Event::Reopened {
            task: task.id.clone(),
            reason: Reopening::Stale { reason: format!("{added} was added to the plan") },
            was: task.proof.clone(),
            checks_first: true,
        };
        events.extend(match task.decided {
            Status::Completed => Some(open_again()),
            Status::Pending | Status::Skipped | Status::Merging => None,
            // A review in progress has not seen it, either. An abandoned one looks again, with the rounds of fixes that
            // it has left.
            _ if !plan.settings.policy().review_of_all => None,
            _ => Some(open_again()),
        });
    }
}

/// For each task of a plan that can be carried out, the longest chains before it and behind it.
pub(super) fn places(plan: &Plan) -> Result<Vec<(u32, u32)>, Stop> {
    let graph = Graph::new(&plan.tasks)
        .map_err(|cycle| Refusal::because(format!("the dependencies form a cycle: {:?}", cycle.0)))?;
    if let Some((task, need)) = graph.unknown {
        let spec = &plan.tasks[task];
        let unknown = &spec.depends_on[need];
        return Err(Refusal::because(format!("{} depends on {unknown}, which is not in the plan", spec.id)));
    }
    let tails = graph.tails();
    Ok(graph.levels.into_iter().zip(tails).collect())
}
