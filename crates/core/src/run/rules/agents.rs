//! Who is given work, and what it means that somebody who was to judge it was not let in.

use super::{Decision, Rules};
use crate::plan::{Oid, TaskId};
use crate::run::command::{Refusal, Stop};
use crate::run::event::{AgentEnd, CheckResult, Class, Event};
use crate::run::provider::{stand_in, worker};
use crate::run::task::{Status, Task};

impl Rules<'_> {
    /// An agent, and the one it stands in for, as events have them.
    pub(super) fn named(&self, who: Option<(&str, &str)>) -> (String, Option<String>) {
        who.map_or_else(Default::default, |(agent, meant)| {
            (agent.to_owned(), (agent != meant).then(|| meant.to_owned()))
        })
    }

    /// A fresh agent looks at what has passed its checks, once one is let in.
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

    /// Agents among the checks that their provider does not let work judge nothing. What passed before them counts.
    pub(super) fn reviewer_cut(
        &self,
        id: &TaskId,
        fence: u64,
        tree: &Oid,
        results: &[CheckResult],
        (agent, end): (&str, &AgentEnd),
    ) -> Decision {
        let task = self.held(id, fence, &[Status::Verifying, Status::Verified])?;
        self.judges_tree(task, tree)?;
        let Some(failed) = self.agent_failure(task, end) else {
            return Err(Refusal::because(format!("the reviewer {agent} of {id} came to an end")));
        };
        let (task, results) = (id.clone(), results.to_vec());
        let some = !results.is_empty();
        let checked = Event::ChecksEnded { task: task.clone(), fence, tree: tree.clone(), results };
        let ended = Event::ReviewerEnded { task, fence, agent: agent.to_owned(), end: self.believed(end) };
        Ok([checked].into_iter().filter(|_| some).chain([ended, failed]).collect())
    }

    /// What checks found on another tree says nothing about this one.
    pub(super) fn judges_tree(&self, task: &Task, tree: &Oid) -> Result<(), Stop> {
        if task.progress.tree.as_ref() != Some(tree) {
            return Err(Refusal::stale(format!("the checks of {} ran on another tree", task.id)));
        }
        Ok(())
    }
}
