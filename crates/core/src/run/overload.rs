//! Providers whose servers fail: overloaded, broken or unreachable. A single conversation may itself be the cause, so
//! Piton asks the provider a harmless question. If that is not answered, or a second conversation ends the same way,
//! none of its agents starts. Piton asks again after growing pauses, and the first answer ends the outage.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::AgentEnd;
use super::schedule::is_future;
use super::state::Run;
use crate::plan::TaskId;
use crate::time::{Span, Timestamp};

/// The pauses between two questions: the first, and the longest.
const FIRST_PAUSE: Span = Span::minutes(1);
const LONGEST_PAUSE: Span = Span::minutes(60);

/// A provider whose servers failed an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overload {
    /// The agent that met the failure, and what its client said last.
    pub agent: String,
    pub reason: String,
    /// The task whose agent met it first.
    pub task: TaskId,
    /// No agent of the provider starts.
    pub is_parked: bool,
    /// When that began; before, when an agent first met the failure.
    #[serde(default)]
    pub since: Timestamp,
    /// When it is asked next.
    pub ask_at: Timestamp,
    /// Questions so far, and how many were not answered.
    pub asked: u32,
    pub unanswered: u32,
}

/// By provider.
pub type Overloads = BTreeMap<String, Overload>;

impl Overload {
    fn pause(&self) -> Span {
        let doubled = FIRST_PAUSE.0.saturating_mul(1 << self.unanswered.saturating_sub(1).min(16));
        Span(doubled).min(LONGEST_PAUSE)
    }

    fn park(&mut self, at: Timestamp) {
        if !self.is_parked {
            (self.is_parked, self.since) = (true, at);
        }
    }
}

/// Providers that let no agent start because their servers fail.
pub fn parked(run: &Run) -> impl Iterator<Item = (&str, &Overload)> {
    run.overloads
        .iter()
        .filter(|(_, overload)| overload.is_parked)
        .map(|(name, overload)| (name.as_str(), overload))
}

/// Whether another failed conversation would be the provider's fault rather than its task's.
pub(super) fn is_known(run: &Run, provider: &str, task: &TaskId) -> bool {
    run.overloads.get(provider).is_some_and(|overload| overload.is_parked || overload.task != *task)
}

/// The providers to ask now, and how often each was asked before.
pub(super) fn due(run: &Run, now: Timestamp) -> impl Iterator<Item = (&str, u32)> {
    let due = move |overload: &Overload| !is_future(overload.ask_at, now, LONGEST_PAUSE);
    run.overloads
        .iter()
        .filter(move |(_, overload)| due(overload))
        .map(|(name, overload)| (name.as_str(), overload.asked))
}

/// When others are.
pub(super) fn asks(run: &Run, now: Timestamp) -> impl Iterator<Item = Timestamp> {
    run.overloads
        .values()
        .map(|overload| overload.ask_at)
        .filter(move |at| is_future(*at, now, LONGEST_PAUSE))
}

impl Run {
    /// What the end of an agent says about the servers of its provider.
    pub(super) fn heard_of_servers(&mut self, agent: &str, task: &TaskId, end: &AgentEnd, at: Timestamp) {
        let provider = self.provider(agent).to_owned();
        match (end, self.overloads.get_mut(&provider)) {
            (AgentEnd::Unavailable { reason }, None) => {
                let (agent, reason, task) = (agent.to_owned(), reason.clone(), task.clone());
                let (is_parked, ask_at, asked, unanswered) = (false, at, 0, 0);
                let overload =
                    Overload { agent, reason, task, is_parked, since: at, ask_at, asked, unanswered };
                self.overloads.insert(provider, overload);
            }
            (AgentEnd::Unavailable { reason }, Some(overload)) => {
                overload.reason.clone_from(reason);
                if !overload.is_parked && overload.task != *task {
                    overload.park(at);
                    overload.ask_at = at.plus(FIRST_PAUSE);
                }
            }
            // Its servers have answered.
            (AgentEnd::Done | AgentEnd::Already { .. } | AgentEnd::Blocked { .. }, Some(_)) => {
                self.overloads.remove(&provider);
            }
            _ => {}
        }
    }

    /// The provider has answered the question, or asking ended like this. Returns the task that was blamed at first, if
    /// it was not the cause.
    pub(super) fn asked(&mut self, provider: &str, end: Option<&AgentEnd>, at: Timestamp) -> Option<TaskId> {
        let overload = self.overloads.get_mut(provider)?;
        match end {
            None => {
                self.overloads.remove(provider);
                None
            }
            Some(end @ (AgentEnd::Limit { .. } | AgentEnd::Refused { .. })) => {
                let (agent, task) = (overload.agent.clone(), overload.task.clone());
                self.overloads.remove(provider);
                self.agent_ended(&agent, &task, end, at);
                None
            }
            Some(_) => {
                overload.park(at);
                overload.asked += 1;
                overload.unanswered += 1;
                overload.ask_at = at.plus(overload.pause());
                let first = overload.unanswered == 1;
                let task = overload.task.clone();
                self.streak = 0;
                first.then_some(task)
            }
        }
    }
}
