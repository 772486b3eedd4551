//! Gates at the end of a run: those that have not passed on the target's current content are checked again.

use piton_core::plan::Oid;
use piton_core::run::{Command, StopReason};

use super::{EngineError, Loop};
use crate::gates::{Stale, Whole};

impl Loop<'_> {
    /// The trees that gates may have passed on, for the event that ends the run. `None`: a gate has to be checked again
    /// first.
    pub(super) fn gates_hold(&mut self, reason: &StopReason) -> Result<Option<Vec<Oid>>, EngineError> {
        let (Some(run), Some(repo)) = (self.state.run(), &self.site.repo) else {
            return Ok(Some(Vec::new()));
        };
        if run.gates.is_empty() || !matches!(reason, StopReason::Completed | StopReason::Ended) {
            return Ok(Some(Vec::new()));
        }
        let whole = Whole { project: &self.site.project, repo, run, owned: &self.site.owned };
        let Some(tree) = whole.tree()? else { return Ok(Some(Vec::new())) };
        let gates = run.gates.iter().filter_map(|id| self.state.task(id).ok().flatten());
        let compared = whole.compare(gates, &tree);
        if compared.stale.is_empty() {
            return Ok(Some(compared.same));
        }
        let reopen = |Stale { gate, reason }| Command::Reopen { task: gate, reason };
        let stale: Vec<Command> = compared.stale.into_iter().map(reopen).collect();
        self.commit(&stale)?;
        Ok(None)
    }
}
