//! Providers of agents. A usage limit or rejected credentials concern a provider, or one model of it. None of its
//! agents starts until that is over. All others continue, and its work goes to a stand-in if the plan names one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::event::AgentEnd;
use super::overload::Overload;
use super::schedule::is_future;
use super::state::Run;
use super::task::Task;
use crate::plan::TaskId;
use crate::time::{Span, Timestamp};

/// Why a provider lets no agent work, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// The end of a usage limit. `None`: only a person can end it, and the next engine looks whether one has.
    pub until: Option<Timestamp>,
    /// The agent that met it, and what the client said.
    pub agent: String,
    pub reason: String,
    /// When it began. Others that meet it while it lasts do not change that.
    #[serde(default)]
    pub since: Timestamp,
    /// The first agent since its end. Others follow once that one is seen not to meet it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
}

/// An agent that looks whether a usage limit is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub began: Timestamp,
    /// What it works on, or reviews.
    pub task: TaskId,
}

/// By provider (`anthropic`), or one model of it (`anthropic/opus`).
pub type Outages = BTreeMap<String, Outage>;

/// After a usage limit one agent goes first. When it has worked so long without meeting the limit again, the others
/// follow.
pub(super) const PROBE: Span = Span::minutes(1);

/// A usage limit further away than this is a clock that jumped.
pub(super) const LONGEST_LIMIT: Span = Span::minutes(8 * 24 * 60);

/// Whether agents of a provider may begin.
enum Door {
    Open,
    /// For one that looks whether a limit of this name is over.
    ForOne(String),
    Closed(String),
}

/// Whether an agent may start now. `task`: the task that it is for, if that is known.
fn door(run: &Run, agent: &str, task: Option<&TaskId>, now: Timestamp) -> Door {
    let provider = run.provider(agent);
    if let Some(overload) = run.overloads.get(provider).filter(|overload| overload.is_parked) {
        return Door::Closed(format!("{provider} does not answer: {}", overload.reason));
    }
    let mut first = None;
    for (name, outage) in concerning(run, agent) {
        let Some(until) = outage.until else {
            return Door::Closed(format!(
                "{name} rejects the login of `{}`: {}",
                outage.agent, outage.reason
            ));
        };
        if is_future(until, now, LONGEST_LIMIT) {
            return Door::Closed(format!("the usage limit of {name} lasts until {until}"));
        }
        match &outage.probe {
            None => first = first.or(Some(name)),
            Some(probe) if task == Some(&probe.task) => {}
            Some(probe) if is_future(probe.began.plus(PROBE), now, PROBE) => {
                let why = format!("one agent first tests whether the usage limit of {name} is over");
                return Door::Closed(why);
            }
            Some(_) => {}
        }
    }
    first.map_or(Door::Open, Door::ForOne)
}

/// The outages that keep an agent from its work: those of its provider, and of its model alone.
pub(crate) fn concerning<'r>(run: &'r Run, agent: &str) -> impl Iterator<Item = (String, &'r Outage)> {
    let names = [run.provider(agent).to_owned(), run.model(agent)];
    names.into_iter().filter_map(|name| run.outages.get(&name).map(|outage| (name, outage)))
}

/// Whether this name is that of the provider, or of a model of it.
pub fn is_of(name: &str, provider: &str) -> bool {
    name.strip_prefix(provider).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An agent that may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub agent: String,
    /// It would be the first since a usage limit: no other may begin before this is journaled.
    pub is_first: bool,
}

/// The agent that reviews a task: this one, or its stand-in. The error says why no agent can.
pub fn reviewer(run: &Run, agent: &str, task: &TaskId, now: Timestamp) -> Result<Entry, String> {
    let agent = let_in(run, agent, Some(task), now)?;
    let is_first = matches!(door(run, agent, Some(task), now), Door::ForOne(_));
    Ok(Entry { agent: agent.to_owned(), is_first })
}

/// Whether nothing is known that would keep an agent from its work.
pub fn is_free(run: &Run, agent: &str, now: Timestamp) -> bool {
    matches!(door(run, agent, None, now), Door::Open)
}

/// The agent that does the work of this one: itself, or its stand-in while its provider is unavailable. The error says
/// why no agent can.
pub fn stand_in<'r>(run: &'r Run, agent: &'r str, now: Timestamp) -> Result<&'r str, String> {
    let_in(run, agent, None, now)
}

fn let_in<'r>(
    run: &'r Run,
    agent: &'r str,
    task: Option<&TaskId>,
    now: Timestamp,
) -> Result<&'r str, String> {
    let (mut name, mut closed) = (agent, None);
    // A plan whose stand-ins form a circle is rejected, but a journal may hold anything.
    for _ in 0..=run.settings.agents.len() {
        match door(run, name, task, now) {
            Door::Open | Door::ForOne(_) => return Ok(name),
            Door::Closed(reason) => closed = closed.or(Some(reason)),
        }
        let Some(other) = run.settings.agents.get(name).and_then(|agent| agent.fallback.as_deref()) else {
            break;
        };
        name = other;
    }
    Err(closed.unwrap_or_default())
}

/// The agent that a task is meant for, before stand-ins are considered.
pub fn worker<'r>(run: &'r Run, task: &'r Task) -> &'r str {
    let rung = run.settings.rung(task.spent).filter(|rung| run.settings.agents.contains_key(*rung));
    run.session.agent.as_deref().or(rung).unwrap_or(&task.agent)
}

/// The agents that have to be available for a task to start now. The error says why one is not.
fn needed<'r>(run: &'r Run, task: &'r Task, now: Timestamp) -> Result<Vec<&'r str>, String> {
    // Whether it is to blame itself is about to be known.
    let is_asked = |(_, overload): &(&String, &Overload)| !overload.is_parked && overload.task == task.id;
    if let Some((provider, _)) = run.overloads.iter().find(is_asked) {
        return Err(format!("Piton first tests whether {provider} answers"));
    }
    let who = match task.progress.recheck {
        // It may be done already. Then it needs no agent.
        false if task.looks_first() => Vec::new(),
        // The work exists: all agents that judge it are needed.
        true if !task.awaits_confirmation() => task.reviewers.iter().map(String::as_str).collect(),
        _ => vec![worker(run, task)],
    };
    who.into_iter().map(|name| stand_in(run, name, now)).collect()
}

/// The agent that starts if a task is started now, and the agent that it is meant for. `None` if checks come first.
pub(super) fn begins<'r>(
    run: &'r Run,
    task: &'r Task,
    now: Timestamp,
) -> Result<Option<(&'r str, &'r str)>, String> {
    let first = needed(run, task, now)?.into_iter().next().filter(|_| !task.begins_with_checks());
    Ok(first.map(|agent| (agent, worker(run, task))))
}

/// Whether a task may start besides those chosen before it in this round. `looked_at` are the providers that those
/// already probe: one agent that probes whether a limit is over is enough.
pub(super) fn is_let_in(run: &Run, task: &Task, now: Timestamp, looked_at: &mut BTreeSet<String>) -> bool {
    let Ok(needed) = needed(run, task, now) else { return false };
    let looks_first = |agent: &str| match door(run, agent, None, now) {
        Door::ForOne(name) => Some(name),
        Door::Open | Door::Closed(_) => None,
    };
    let looks: Vec<String> = needed.into_iter().filter_map(looks_first).collect();
    if looks.iter().any(|name| looked_at.contains(name)) {
        return false;
    }
    // Checks come first. Reviewers ask for access later.
    if !task.begins_with_checks() {
        looked_at.extend(looks);
    }
    true
}

/// Whether no agent at all can start. Then the tasks need not be searched.
pub(super) fn all_are_out(run: &Run, now: Timestamp) -> bool {
    let is_out = |name: &str| stand_in(run, name, now).is_err();
    match &run.session.agent {
        _ if run.outages.is_empty() && run.overloads.is_empty() => false,
        Some(agent) => is_out(agent),
        None if run.settings.agents.is_empty() => false,
        None => run.settings.agents.keys().all(|name| is_out(name)),
    }
}

/// Usage limits that still hold, by provider or model.
pub fn limits(run: &Run, now: Timestamp) -> impl Iterator<Item = (&str, Timestamp)> {
    let holds = move |until: &Timestamp| is_future(*until, now, LONGEST_LIMIT);
    run.outages.iter().filter_map(move |(name, outage)| Some((name.as_str(), outage.until.filter(holds)?)))
}

/// When agents that look whether a limit is over will have looked for long enough.
pub(super) fn probes(run: &Run, now: Timestamp) -> impl Iterator<Item = Timestamp> {
    let enough = |outage: &Outage| Some(outage.probe.as_ref()?.began.plus(PROBE));
    run.outages.values().filter_map(enough).filter(move |time| is_future(*time, now, PROBE))
}

/// Providers that only a person can bring back, such as those that reject their credentials.
pub fn refused(run: &Run) -> impl Iterator<Item = (&str, &Outage)> {
    run.outages
        .iter()
        .filter(|(_, outage)| outage.until.is_none())
        .map(|(name, outage)| (name.as_str(), outage))
}

impl Run {
    /// The provider of this agent.
    pub fn provider<'r>(&'r self, agent: &'r str) -> &'r str {
        self.settings.agents.get(agent).map_or(agent, |client| client.provider(agent))
    }

    /// The name by which a limit of its model alone is kept. Two agents have the same model if their profiles say the same.
    pub fn model(&self, agent: &str) -> String {
        let provider = self.provider(agent);
        let model = self.settings.agents.get(agent).and_then(|agent| agent.model.as_deref());
        match model.unwrap_or("default") {
            model if model != provider && is_of(model, provider) => model.to_owned(),
            model => format!("{provider}/{model}"),
        }
    }

    /// An agent begins to work on a task, or to review it.
    pub(super) fn agent_began(&mut self, agent: &str, task: &TaskId, at: Timestamp) {
        for name in [self.provider(agent).to_owned(), self.model(agent)] {
            let Some(outage) = self.outages.get_mut(&name) else { continue };
            match (outage.until.filter(|&until| !is_future(until, at, LONGEST_LIMIT)), &outage.probe) {
                (None, _) => {}
                (Some(_), None) => outage.probe = Some(Probe { began: at, task: task.clone() }),
                // The first one has seen no limit for long enough to let others follow.
                (Some(_), Some(_)) => drop(self.outages.remove(&name)),
            }
        }
    }

    /// What the end of an agent says about its provider.
    pub(super) fn agent_ended(&mut self, agent: &str, task: &TaskId, end: &AgentEnd, at: Timestamp) {
        self.heard_of_servers(agent, task, end, at);
        let provider = self.provider(agent).to_owned();
        match end {
            AgentEnd::Limit { until, reason, model: None } => {
                self.goes_out(provider, Some(*until), (agent, reason), at);
            }
            AgentEnd::Limit { until, reason, model: Some(_) } => {
                self.look_again(agent);
                self.goes_out(self.model(agent), Some(*until), (agent, reason), at);
            }
            AgentEnd::Refused { reason } => self.goes_out(provider, None, (agent, reason), at),
            // It says nothing about the limit: the next agent that starts is the first again.
            AgentEnd::Transient { .. }
            | AgentEnd::Declined { .. }
            | AgentEnd::Unavailable { .. }
            | AgentEnd::Stopped => {
                self.look_again(agent);
            }
            AgentEnd::Done
            | AgentEnd::Already { .. }
            | AgentEnd::Failed { .. }
            | AgentEnd::Blocked { .. } => {
                let is_past = |until| !is_future(until, at, LONGEST_LIMIT);
                let model = self.model(agent);
                let is_own = |name: &String| *name == provider || *name == model;
                self.outages.retain(|name, outage| !(is_own(name) && outage.until.is_some_and(is_past)));
                self.look_again(agent);
            }
        }
    }

    /// An agent has met a limit, or its login was refused, and said why.
    fn goes_out(
        &mut self,
        name: String,
        until: Option<Timestamp>,
        (agent, reason): (&str, &str),
        at: Timestamp,
    ) {
        let lasts = |known: &&Outage| match (known.until, until) {
            (Some(known), Some(_)) => is_future(known, at, LONGEST_LIMIT),
            (known, until) => known == until,
        };
        let since = self.outages.get(&name).filter(lasts).map_or(at, |known| known.since);
        let (agent, reason) = (agent.to_owned(), reason.to_owned());
        self.outages.insert(name, Outage { until, agent, reason, since, probe: None });
    }

    /// The reviewers of a task have given their verdicts, so no limit holds them back.
    pub(super) fn reviewers_ended(&mut self, task: &TaskId) {
        self.outages.retain(|_, outage| outage.probe.as_ref().is_none_or(|probe| probe.task != *task));
    }

    /// No agent works on a task any more. If one of its agents probed whether a limit is over, another may do so now.
    pub(super) fn left_alone(&mut self, task: &TaskId) {
        for outage in self.outages.values_mut() {
            outage.probe.take_if(|probe| probe.task == *task);
        }
    }

    /// The agent that probed whether a limit is over has ended without an answer.
    fn look_again(&mut self, agent: &str) {
        for name in [self.provider(agent).to_owned(), self.model(agent)] {
            if let Some(outage) = self.outages.get_mut(&name) {
                outage.probe = None;
            }
        }
    }
}
