//! Providers whose servers fail for a while, or only for one conversation.

use std::collections::BTreeSet;

use piton_core::plan::{Exhausted, Settings, TaskId};
use piton_core::run::{AgentEnd, Command, Event, Status, StopReason};

use super::driver::Sim;
use super::laws::ensure;
use super::providers::{begins, provider};

impl Sim {
    /// The question that shows whether the servers of a provider answer.
    pub(super) fn ask(&mut self, provider: &str, nth: u32) -> Vec<Command> {
        let down = self.keepers.is_down(provider, self.time);
        self.coverage.saw(if down { "provider does not answer" } else { "provider answers again" });
        let end = down.then(|| AgentEnd::Unavailable { reason: "overloaded".to_owned() });
        vec![Command::Asked { provider: provider.to_owned(), nth, end }]
    }
}

/// Whether the journal says that the servers of a provider fail: two conversations ended so since it last answered, or a
/// question did.
fn is_out(sim: &Sim, of: &str) -> bool {
    let mut failed: BTreeSet<&TaskId> = BTreeSet::new();
    for event in sim.journal.iter().rev().map(|recorded| &recorded.event) {
        match event {
            Event::ProviderAsked { provider, end, .. } if provider == of => {
                return matches!(end, Some(AgentEnd::Unavailable { .. }));
            }
            Event::ProviderUnparked { provider, .. } if provider == of => return false,
            Event::AgentEnded { task, agent, end, .. } | Event::ReviewerEnded { task, agent, end, .. }
                if provider(sim, agent) == of =>
            {
                match end {
                    AgentEnd::Unavailable { .. } => drop(failed.insert(task)),
                    AgentEnd::Done | AgentEnd::Already { .. } | AgentEnd::Blocked { .. } => return false,
                    _ => {}
                }
                if failed.len() > 1 {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// No agent begins while the servers of its provider are known to fail.
pub(super) fn the_overloaded_rest(sim: &Sim, event: &Event) -> Result<(), String> {
    let Some((task, agent, _)) = begins(event) else { return Ok(()) };
    ensure(!is_out(sim, &provider(sim, agent)), || format!("{task} is given to {agent}, who gets no answer"))
}

/// No run ends because the servers of a provider fail: an engine waits for them, unless there is another reason to
/// stop.
pub(super) fn the_overloaded_are_waited_for(sim: &Sim, event: &Event) -> Result<(), String> {
    let (Event::EngineStopped { reason, .. }, Some(run)) = (event, sim.state.run()) else { return Ok(()) };
    // An engine that was killed has not decided to end.
    if matches!(reason, StopReason::Environment { .. }) {
        return Ok(());
    }
    let gave_up = run.dead > 0 && run.settings.exhausted == Exhausted::Stop;
    let open = sim
        .state
        .tasks()
        .any(|task| !task.removed && matches!(task.status(), Status::Pending | Status::Failed));
    if run.stop.is_some() || gave_up || run.streak >= Settings::TRANSIENT_STREAK || !open {
        return Ok(());
    }
    let agents = sim.scenario.plan.settings.agents.keys();
    let out = agents.map(|agent| provider(sim, agent)).find(|provider| is_out(sim, provider));
    out.map_or(Ok(()), |provider| Err(format!("an engine ends while {provider} does not answer")))
}

/// Once servers are known to fail, a conversation that they end costs its task nothing.
pub(super) fn the_overloaded_cost_nothing(sim: &Sim, event: &Event) -> Result<(), String> {
    let Event::Failed { task, class, .. } = event else { return Ok(()) };
    let Some(Event::AgentEnded { task: of, agent, end: AgentEnd::Unavailable { .. }, .. }) =
        sim.journal.last().map(|recorded| &recorded.event)
    else {
        return Ok(());
    };
    let free = !matches!(class, piton_core::run::Class::Transient);
    let known = task == of && is_out(sim, &provider(sim, agent));
    ensure(free || !known, || format!("{task} pays for the servers of {agent}"))
}
