//! A completed task that is open again, and why.

use serde::{Deserialize, Serialize};

use super::fold::release;
use super::state::{Missing, State};
use super::task::{Progress, Status};
use crate::plan::TaskId;
use crate::time::Timestamp;

/// Why a completed task is open again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Reopening {
    /// The plan has another task under this id now. `title` is that of the task that was completed.
    Content { title: String },
    /// The task is the same, but other checks decide about it.
    Checks,
    /// It judged a state of the project that has changed since.
    Stale { reason: String },
}

impl State {
    /// Another task begins with attempts of its own. The same task keeps what it has spent, and may be tried once more.
    pub(super) fn reopen(
        &mut self,
        id: &TaskId,
        reason: &Reopening,
        checks_first: bool,
        at: Timestamp,
        seq: u64,
    ) -> Result<(), Missing> {
        self.on_run(|run| run.context = None);
        self.update(id, at, |task| {
            release(task);
            task.proof = None;
            task.decided = Status::Pending;
            task.transient = 0;
            task.conflicts = 0;
            task.not_before = None;
            task.failure_seq = None;
            task.reopened = Some(seq);
            task.progress =
                Progress { worktree: task.progress.worktree, checks_first, ..Progress::default() };
            match reason {
                Reopening::Content { .. } => (task.attempt, task.spent) = (0, 0),
                // A look that finds something to do costs an attempt, as any that fails does.
                Reopening::Checks => {
                    task.budget = task.budget.max(task.spent + 1 + u32::from(checks_first));
                }
                // Rounds of fixes count over the whole run: whoever has used them up gets no more.
                Reopening::Stale { .. } => {}
            }
        })
    }
}
