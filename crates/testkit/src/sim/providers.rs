//! Laws about providers: usage limits, refusals, and agents that stand in.

use piton_core::plan::{Exhausted, TaskId};
use piton_core::run::{AgentEnd, Class, Event, Holder, Recorded, Selection, Status, Task};
use piton_core::time::Timestamp;

use super::driver::Sim;
use super::laws::{Broken, Verdict, ensure, named, tasks};

/// The provider of an agent, according to the plan.
pub(super) fn provider(sim: &Sim, agent: &str) -> String {
    let agents = &sim.scenario.plan.settings.agents;
    agents.get(agent).and_then(|agent| agent.provider.clone()).unwrap_or_else(|| agent.to_owned())
}

/// Whose usage limit an agent meets: that of its provider, or of its model.
pub(super) fn limiter(sim: &Sim, agent: &str) -> String {
    let provider = provider(sim, agent);
    if !sim.scenario.weather.limits_models {
        return provider;
    }
    let agent = sim.scenario.plan.settings.agents.get(agent);
    let model = agent.and_then(|agent| agent.model.as_deref()).unwrap_or("default");
    format!("{provider}/{model}")
}

/// Whether what one agent met keeps another from its work.
fn concerns(sim: &Sim, met: &str, end: &AgentEnd, other: &str) -> bool {
    match end {
        AgentEnd::Limit { .. } => limiter(sim, met) == limiter(sim, other),
        _ => provider(sim, met) == provider(sim, other),
    }
}

/// The task and the agent that begin with this event, and the agent it stands in for.
pub(super) fn begins(event: &Event) -> Option<(&TaskId, &str, Option<&str>)> {
    match event {
        Event::AttemptStarted { holder: Holder::Engine, task, agent, instead_of, .. }
        | Event::ConfirmationStarted { task, agent, instead_of, .. } => {
            Some((task, agent.as_str(), instead_of.as_deref())).filter(|(_, agent, _)| !agent.is_empty())
        }
        Event::ReviewerStarted { task, agent, .. } => Some((task, agent.as_str(), None)),
        _ => None,
    }
}

/// After a usage limit no agent of that provider is started for a moment, whatever time the client reported.
pub(super) fn limits_park(sim: &Sim, event: &Event) -> Verdict {
    let Some((task, agent, _)) = begins(event) else { return Ok(()) };
    let since = sim.limited_at.get(&limiter(sim, agent)).map(|time| sim.time - time);
    ensure(since.is_none_or(|ms| ms >= 1000), || format!("{task} starts {since:?} ms after a usage limit"))
}

/// The events since a provider last kept this agent from its work, newest first, and how that agent ended. The limit
/// may have been met by another agent.
fn since_out<'s>(sim: &'s Sim, kept: &str) -> Option<(Vec<&'s Recorded>, &'s AgentEnd)> {
    let out = |recorded: &'s Recorded| match &recorded.event {
        Event::AgentEnded {
            end: end @ (AgentEnd::Limit { .. } | AgentEnd::Refused { .. } | AgentEnd::Unavailable { .. }),
            agent,
            ..
        }
        | Event::ReviewerEnded { end, agent, .. } => Some(end).filter(|end| concerns(sim, agent, end, kept)),
        _ => None,
    };
    let at = sim.journal.iter().rposition(|recorded| out(recorded).is_some())?;
    let of = provider(sim, kept);
    // A person lifted it.
    let lifted = |recorded: &Recorded| match &recorded.event {
        Event::ProviderUnparked { provider, .. } => *provider == of || *provider == limiter(sim, kept),
        _ => false,
    };
    if sim.journal[at + 1..].iter().any(lifted) {
        return None;
    }
    Some((sim.journal[at + 1..].iter().rev().collect(), out(&sim.journal[at])?))
}

/// Of the agents of a provider that begin after its usage limit, the first is alone until it has ended, or has worked
/// for a minute without meeting the limit again.
pub(super) fn one_looks_first(sim: &Sim, event: &Event) -> Verdict {
    begins(event).map_or(Ok(()), |(task, agent, _)| looks_first(sim, task, agent))
}

/// The same for an agent that begins to review. If the run knows of no limit, its start is not in the journal.
pub(super) fn looks_first(sim: &Sim, task: &TaskId, agent: &str) -> Verdict {
    let of = limiter(sim, agent);
    let Some((since, AgentEnd::Limit { .. })) = since_out(sim, agent) else { return Ok(()) };
    let own = |agent: &str| limiter(sim, agent) == of;
    let mut first: Option<(&TaskId, Timestamp)> = None;
    for recorded in since.into_iter().rev() {
        match &recorded.event {
            // It has reported, or it was cut off and reported nothing: then others may look.
            Event::AgentEnded { agent, .. } if own(agent) => return Ok(()),
            Event::Failed { class: Class::Transient, .. } => return Ok(()),
            // Also if it judged, or a command took its task away.
            event if first.is_some_and(|(id, _)| event.task() == Some(id) && ends(event)) => return Ok(()),
            event => {
                let start = begins(event).filter(|(_, agent, _)| own(agent));
                first = first.or(start.map(|(task, ..)| (task, recorded.at)));
            }
        }
    }
    // If the clock went back since, nothing is known.
    let first = first.filter(|(id, at)| *id != task && *at <= sim.now()).map(|(_, at)| sim.now().since(at).0);
    ensure(first.is_none_or(|ms| ms >= 60_000), || {
        format!("{task} begins {first:?} ms after the one that looks")
    })
}

/// Whether after it no agent works on its task any more, or the reviewer has judged.
fn ends(event: &Event) -> bool {
    use Event::*;
    matches!(
        event,
        ChecksEnded { .. }
            | Failed { .. }
            | Completed { .. }
            | LandingFound { .. }
            | Reset { .. }
            | Reopened { .. }
            | Skipped { .. }
            | GivenUp { .. }
            | TaskRemoved { .. }
    )
}

/// A provider that refuses to let agents log in is left alone until an engine is started again.
pub(super) fn the_refused_rest(sim: &Sim, event: &Event) -> Verdict {
    let Some((task, agent, _)) = begins(event) else { return Ok(()) };
    let Some((since, AgentEnd::Refused { .. })) = since_out(sim, agent) else {
        return Ok(());
    };
    let anew = since.iter().any(|recorded| matches!(recorded.event, Event::EngineStarted { .. }));
    ensure(anew, || format!("{task} is given to {agent}, whom nobody lets in"))
}

/// An agent stands in only if the plan says so, and only for an agent whose provider is out.
pub(super) fn stand_ins_are_planned(sim: &Sim, event: &Event) -> Verdict {
    let Some((task, agent, Some(meant))) = begins(event) else { return Ok(()) };
    let agents = &sim.scenario.plan.settings.agents;
    let next = |name: &str| agents.get(name).and_then(|agent| agent.fallback.as_deref());
    let planned = std::iter::successors(next(meant), |name| next(name)).any(|name| name == agent);
    ensure(planned, || format!("{task} is given to {agent} in place of {meant}, and no plan says so"))?;
    let out = since_out(sim, meant).is_some();
    ensure(out, || format!("{task} is given to {agent}, and {meant} could have done it"))
}

/// An engine that waits has no task for a provider that was never out, and none that a stand-in could do.
pub(super) fn nobody_waits_in_vain(sim: &mut Sim) -> Result<(), Broken> {
    let run = sim.run();
    let idle = run.places_taken() < run.session.max_parallel && run.stop.is_none() && run.streak == 0;
    let gave_up = run.dead > 0 && run.settings.exhausted == Exhausted::Stop;
    if !idle || gave_up || run.session.selection != Selection::All {
        return Ok(());
    }
    let of = |task: &Task| piton_core::run::worker(run, task).to_owned();
    let ready = |task: &&Task| {
        matches!(task.status(), Status::Pending | Status::Failed)
            && (task.waiting, task.not_before) == (0, None)
            && !task.progress.recheck
            && !super::gates::may_come_last(task)
            && piton_core::run::barrier(run, &sim.state.horizon(), task).is_none()
    };
    let waits = tasks(sim).filter(ready).find(|task| since_out(sim, &of(task)).is_none());
    let told = waits.map(|task| format!("{} could go on: {} was never out", task.id, of(task)));
    let others = tasks(sim).any(|task| task.is_engines() && task.decided == Status::InProgress);
    if others && piton_core::run::limits(run, sim.now()).next().is_some() {
        sim.coverage.saw("others go on at a limit");
    }
    named("nobody_waits_in_vain", told.map_or(Ok(()), Err))
}
