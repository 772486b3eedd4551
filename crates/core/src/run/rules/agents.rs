//! Which agents get work, and what follows if an agent that was to judge it could not start.

use super::{Decision, Rules};
use crate::plan::{Oid, TaskId};
use crate::run::command::{Refusal, Stop};
use crate::run::event::{AgentEnd, CheckResult, Class, Event, Next};
use crate::run::provider::{is_of, reviewer, stand_in, worker};
use crate::run::task::{Status, Task};

impl Rules<'_> {
    /// An agent, and the one it stands in for, as events have them.
    pub(super) fn named(&self, who: Option<(&str, &str)>) -> (String, Option<String>) {
        who.map_or_else(Default::default, |(agent, meant)| {
            (agent.to_owned(), (agent != meant).then(|| meant.to_owned()))
        })
    }

    /// A fresh agent confirms what has passed its checks, once a provider is available.
    pub(super) fn confirmation(&self, task: &Task) -> Event {
        let (id, fence, meant) = (task.id.clone(), task.fence, worker(self.run, task));
        match stand_in(self.run, meant, self.now) {
            Ok(agent) => {
                let (agent, instead_of) = self.named(Some((agent, meant)));
                Event::ConfirmationStarted { task: id, fence, agent, instead_of }
            }
            Err(reason) => self.failure(task, Class::Limit, &reason, "", None),
        }
    }

    /// An agent among the checks asks to be the first to start since a usage limit. It is refused as stale if another
    /// one was faster.
    pub(super) fn reviewer_begins(
        &self,
        id: &TaskId,
        fence: u64,
        tree: &Oid,
        results: &[CheckResult],
        agent: &str,
    ) -> Decision {
        let task = self.held(id, fence, &[Status::Verifying, Status::Verified])?;
        self.judges_tree(task, tree)?;
        let entry = reviewer(self.run, agent, id, self.now).map_err(Refusal::stale)?;
        if entry.agent != agent || !entry.is_first {
            return Err(Refusal::stale(format!("{agent} is not the agent that tests its provider")));
        }
        let began = Event::ReviewerStarted { task: id.clone(), fence, agent: entry.agent };
        Ok(self.found(id, fence, tree, results).into_iter().chain([began]).collect())
    }

    /// What checks before an agent found, if there were any.
    pub(super) fn found(
        &self,
        id: &TaskId,
        fence: u64,
        tree: &Oid,
        results: &[CheckResult],
    ) -> Option<Event> {
        let (task, tree, results) = (id.clone(), tree.clone(), results.to_vec());
        (!results.is_empty()).then_some(Event::ChecksEnded { task, fence, tree, results })
    }

    /// Agents among the checks that their provider does not let work judge nothing. What passed before them counts.
    pub(super) fn reviewer_cut(
        &self,
        task: &Task,
        tree: &Oid,
        results: &[CheckResult],
        (agent, end): (&str, &AgentEnd),
    ) -> Decision {
        let (id, fence) = (&task.id, task.fence);
        self.judges_tree(task, tree)?;
        let failed = match end {
            AgentEnd::Blocked { reason } => Some(self.held_up(task, reason)),
            end => self.agent_failure(task, agent, end),
        };
        let Some(failed) = failed else {
            return Err(Refusal::because(format!("the reviewer {agent} of {id} has already ended")));
        };
        let end = self.believed(end);
        let ended = Event::ReviewerEnded { task: id.clone(), fence, agent: agent.to_owned(), end };
        Ok(self.found(id, fence, tree, results).into_iter().chain([ended, failed]).collect())
    }

    /// The budget of the judging agent is spent. The work exists and has not failed. A person decides whether to spend
    /// more; then it is judged.
    fn held_up(&self, task: &Task, why: &str) -> Event {
        let mut failed = self.failure(task, Class::Limit, why, "", task.progress.behind.clone());
        if let Event::Failed { next, reason, .. } = &mut failed {
            *next = Next::Blocked;
            why.clone_into(reason);
        }
        failed
    }

    /// The agent that works on a task.
    pub(super) fn agent_of<'t>(&'t self, task: &'t Task) -> &'t str {
        Some(task.progress.agent.as_str()).filter(|name| !name.is_empty()).unwrap_or(worker(self.run, task))
    }

    /// A provider whose servers had failed has answered a question, or not.
    pub(super) fn asked(&self, provider: &str, nth: u32, end: Option<&AgentEnd>) -> Decision {
        let overload = self.run.overloads.get(provider).filter(|overload| overload.asked == nth);
        let Some(overload) = overload else {
            return Err(Refusal::stale(format!("{provider} was already asked")));
        };
        let (provider, agent) = (provider.to_owned(), overload.agent.clone());
        Ok(vec![Event::ProviderAsked { provider, agent, end: end.map(|end| self.believed(end)) }])
    }

    /// A person says that a provider lets agents work again.
    pub(super) fn unpark(&self, provider: &str, by: &str) -> Decision {
        let parked = self.run.outages.keys().chain(self.run.overloads.keys());
        if !parked.into_iter().any(|name| is_of(name, provider)) {
            return Err(Refusal::because(format!("agents of {provider} are not held back")));
        }
        Ok(vec![Event::ProviderUnparked { provider: provider.to_owned(), by: by.to_owned() }])
    }

    /// No task fails by this. It only says something about the provider.
    pub(super) fn helper_cut(&self, id: &TaskId, agent: &str, end: &AgentEnd) -> Decision {
        let task = self.known(id)?;
        if !matches!(end, AgentEnd::Limit { .. } | AgentEnd::Refused { .. } | AgentEnd::Unavailable { .. }) {
            return Err(Refusal::because(format!("the login of {agent} was accepted")));
        }
        let (agent, end) = (agent.to_owned(), self.believed(end));
        Ok(vec![Event::ReviewerEnded { task: id.clone(), fence: task.fence, agent, end }])
    }

    /// What checks found on another tree says nothing about this one.
    pub(super) fn judges_tree(&self, task: &Task, tree: &Oid) -> Result<(), Stop> {
        if task.progress.tree.as_ref() != Some(tree) {
            return Err(Refusal::stale(format!("the checks of {} ran on another tree", task.id)));
        }
        Ok(())
    }
}
