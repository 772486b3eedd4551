//! Gates: tasks that judge the whole. A gate's pass is bound to the tree that it saw. A later landing opens the gate
//! again. Then its checks run before any agent, and its rounds of fixes keep counting.

use super::{Decision, Rules};
use crate::plan::{Oid, TaskId};
use crate::run::command::{Refusal, Stop};
use crate::run::event::Event;
use crate::run::evidence::Evidence;
use crate::run::reopen::Reopening;
use crate::run::task::{Status, Task};

impl Rules<'_> {
    /// The gates that have passed and have not seen what a task has just brought. `same`: trees that hold the same work.
    pub(super) fn gates_after(
        &self,
        by: &TaskId,
        tree: Option<&Oid>,
        same: &[Oid],
    ) -> Result<Vec<Event>, Stop> {
        let mut reopened = Vec::new();
        for gate in self.passed_gates()? {
            let has_seen = gate.held_on().is_some_and(|seen| Some(seen) == tree || same.contains(seen));
            if gate.id != *by && !has_seen {
                reopened.push(stale(gate, format!("{by} was completed after it had passed")));
            }
        }
        Ok(reopened)
    }

    pub(super) fn reopen(&self, id: &TaskId, reason: &str) -> Decision {
        let task = self.task(id)?;
        if !task.gate || task.decided != Status::Completed {
            return Err(Refusal::stale(format!("{id} is not a gate that has passed")));
        }
        Ok(vec![stale(task, reason.to_owned())])
    }

    /// A run is complete only on a tree that every gate has seen.
    pub(super) fn gates_held_on(&self, tip: &[Oid]) -> Result<(), Stop> {
        match self.passed_gates()?.iter().find(|gate| !gate.held_on().is_some_and(|tree| tip.contains(tree)))
        {
            None => Ok(()),
            Some(gate) => Err(Refusal::because(format!(
                "the gate {} has not passed on what the target holds now",
                gate.id
            ))),
        }
    }

    /// The same for a task that the ledger has completed. A holder that reports one gate after the other writes down
    /// the result of each in between: that is in `same`. Without git, Piton does not know what a gate has seen.
    pub(super) fn gates_after_claim(
        &self,
        by: &Task,
        tree: Option<&Oid>,
        evidence: &Evidence,
    ) -> Result<Vec<Event>, Stop> {
        let tree = tree.or(evidence.whole.as_ref());
        if by.gate && (tree.is_none() || evidence.whole.is_none()) {
            return Ok(Vec::new());
        }
        self.gates_after(&by.id, tree, &evidence.same)
    }

    fn passed_gates(&self) -> Result<Vec<&Task>, Stop> {
        let mut passed = Vec::new();
        for id in &self.run.gates {
            let task = self.state.task(id)?;
            passed.extend(task.filter(|task| task.decided == Status::Completed && !task.removed));
        }
        Ok(passed)
    }
}

/// A gate is open again: its checks look at what there is now.
fn stale(gate: &Task, reason: String) -> Event {
    Event::Reopened {
        task: gate.id.clone(),
        reason: Reopening::Stale { reason },
        was: gate.proof.clone(),
        checks_first: true,
    }
}
