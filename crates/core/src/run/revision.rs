//! A plan that changes during its run. Changes of tasks without a holder are adopted without a stop.

use std::collections::{BTreeSet, HashMap};

use super::command::{Refusal, Stop};
use super::create::{lands_otherwise, look_again, moved, places, raised, settings};
use super::event::{Event, Session};
use super::reopen::{Judges, changed};
use super::settings::adopt;
use super::state::{Run, State};
use super::task::{Red, Status, Task};
use super::whole::with_request;
use crate::plan::{Digest, GroupId, Plan, Settings, TaskId, TaskSpec};

/// A newer version of a run's plan.
#[derive(Clone, Debug)]
pub struct Revision {
    plan: Plan,
    /// The plan that the run followed when the two were compared.
    from: Digest,
    /// Tasks that differ between the two plans.
    changed: BTreeSet<TaskId>,
    /// Those among them whose checks differ, or the limits of their checks.
    judged: BTreeSet<TaskId>,
    /// The session of the running engine: the new settings, with the flags of its start.
    session: Option<Session>,
}

impl Revision {
    /// Compare a plan with the one that a run has adopted: its hash and its specs.
    pub fn new(plan: Plan, from: &Digest, specs: &[TaskSpec]) -> Revision {
        // A place among groups is compared by the group's name.
        let authored = |spec: &TaskSpec| TaskSpec { group: 0, ..plan.as_authored(spec).into_owned() };
        let old: HashMap<&TaskId, &TaskSpec> = specs.iter().map(|spec| (&spec.id, spec)).collect();
        let (mut changed, mut judged) = (BTreeSet::new(), BTreeSet::new());
        for new in &plan.tasks {
            let Some(old) = old.get(&new.id) else { continue };
            let (old, new) = (authored(old), authored(new));
            changed.extend((old != new).then(|| new.id.clone()));
            judged.extend((old.checks != new.checks).then_some(new.id));
        }
        Revision { plan, from: from.clone(), changed, judged, session: None }
    }

    /// The same for a running engine, which uses this session from then on.
    pub fn for_session(self, session: Session) -> Revision {
        Revision { session: Some(session), ..self }
    }

    /// The events that adopt the change. The whole change is refused if it removes a task, or changes one that is in
    /// progress or completed: then a person decides.
    pub(super) fn follow(&self, state: &State, run: &Run) -> Result<Vec<Event>, Stop> {
        let Revision { plan, from, .. } = self;
        if *from != run.plan_hash {
            return Err(Refusal::stale("the run has adopted another plan since"));
        }
        if plan.tasks.is_empty() {
            return Err(Refusal::because("the plan has no tasks"));
        }
        self.keeps_agent(run)?;
        let adopted = adopt(run, plan, self.session.as_ref());
        if plan.hash() == run.plan_hash {
            return Ok(adopted.into_iter().collect());
        }
        let plan_hash = plan.hash();
        let plan = &*with_request(plan, run.settings.requests.as_ref());
        let places = places(plan)?;
        self.keeps_judges(state, run)?;
        let planned: BTreeSet<&TaskId> = plan.tasks.iter().map(|spec| &spec.id).collect();
        if let Some(gone) = state.tasks().find(|task| !task.removed && !planned.contains(&task.id)) {
            return Err(waits(&gone.id, "is no longer in the plan"));
        }
        let mut events: Vec<Event> = adopted.into_iter().collect();
        events.push(Event::PlanAdopted {
            plan_hash,
            groups: plan.groups.clone(),
            settings: Box::new(Settings {
                commit_prefix: run.settings.commit_prefix.clone(),
                author: run.settings.author.clone(),
                ..settings(run, plan)
            }),
        });
        for (spec, (level, tail)) in plan.tasks.iter().zip(places) {
            match state.task(&spec.id)? {
                // It waits for whatever there is.
                Some(task) if run.is_its_request(&spec.id) => events.extend(moved(task, spec, (level, tail))),
                None => events.push(Event::TaskAdded { spec: Box::new(spec.clone()), level, tail }),
                Some(task) => events.extend(self.task(run, task, spec, (level, tail))?),
            }
        }
        look_again(state, plan, &mut events);
        Ok(events)
    }

    fn task(&self, run: &Run, task: &Task, spec: &TaskSpec, place: (u32, u32)) -> Result<Vec<Event>, Stop> {
        let is_regrouped = !run.settings.policy().shifting_groups && self.group(spec) != group(run, task);
        let judges =
            Judges { own: self.judged.contains(&task.id), landing: lands_otherwise(run, &self.plan) };
        let is_rejudged = judges.landing && task.failed_by_checks() == Some(Red::Landing);
        if !task.removed && !self.changed.contains(&task.id) && !is_regrouped && !is_rejudged {
            let is_wanted = !task.decided.is_settled() && place != (task.level, task.tail);
            let has_moved = spec.group != task.group || is_wanted;
            return Ok(if has_moved { moved(task, spec, place) } else { Vec::new() });
        }
        if task.is_worked_on() {
            return Err(waits(&task.id, &format!("is {}, and the plan changes it", task.status())));
        }
        let events = changed(task, Box::new(spec.clone()), place, judges)?;
        let reopens = |event: &Event| matches!(event, Event::Reopened { .. });
        if task.decided == Status::Completed && events.iter().any(reopens) {
            return Err(waits(&task.id, "is completed, and the plan changes it"));
        }
        Ok(events.into_iter().chain(raised(task, spec)).collect())
    }

    /// The agent that this start was asked for has to stay.
    fn keeps_agent(&self, run: &Run) -> Result<(), Stop> {
        let agent = run.session.agent.as_ref().filter(|_| self.session.is_some());
        match agent.filter(|agent| !self.plan.settings.agents.contains_key(*agent)) {
            Some(gone) if run.settings.agents.contains_key(gone) => Err(Refusal::hinted(
                format!("the agent `{gone}` is no longer defined, and this engine was started with it"),
                "`piton run PLAN` without `--agent` adopts it",
            )),
            _ => Ok(()),
        }
    }

    /// What is under way is judged by the checks that it knows, also where it lands.
    fn keeps_judges(&self, state: &State, run: &Run) -> Result<(), Stop> {
        if !lands_otherwise(run, &self.plan) {
            return Ok(());
        }
        match state.tasks().find(|task| task.is_worked_on()) {
            Some(task) => {
                Err(waits(&task.id, &format!("is {}, and the landing checks change", task.status())))
            }
            None => Ok(()),
        }
    }

    fn group(&self, spec: &TaskSpec) -> Option<&GroupId> {
        self.plan.groups.get(spec.group as usize).map(|group| &group.id)
    }
}

fn group<'r>(run: &'r Run, task: &Task) -> Option<&'r GroupId> {
    run.group(task.group).map(|group| &group.id)
}

fn waits(task: &TaskId, why: &str) -> Stop {
    Refusal::hinted(format!("{task} {why}"), "`piton run PLAN --replan` adopts it")
}
