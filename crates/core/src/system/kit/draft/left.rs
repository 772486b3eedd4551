//! What counts as done before any run: ticks. A tick is what somebody says; it is believed unless people want otherwise,
//! and it is shown as a claim.

use std::collections::BTreeMap;

use crate::plan::{TaskId, TaskSpec};
use crate::run::{ImportedTask, Proof, Status};
use crate::system::Before;
use crate::system::kit::takeover::{self, Belief, Evidence, Legacy, Line, Questions, Refused, Takeover};
use crate::view::counted;

/// Who says it.
const BY: &str = "the plan";

#[derive(Debug)]
pub(super) struct Left<'a> {
    pub(super) before: &'a BTreeMap<TaskId, Before>,
    /// Ticks say nothing: their tasks are done again.
    pub(super) distrusts: bool,
}

impl Legacy for Left<'_> {
    fn questions(&self, _: &[TaskSpec]) -> Questions {
        Questions::default()
    }

    fn take_over(&self, specs: &[TaskSpec], _: &Evidence) -> Result<Takeover, Refused> {
        let mut taken = Takeover::default();
        let mut claimed = 0;
        for spec in specs {
            let before = self.before.get(&spec.id).filter(|before| before.done);
            let before = before.filter(|before| before.is_branch || !self.distrusts);
            let past = before.map(|_| ImportedTask {
                proof: Some(Proof::Reported),
                ..ImportedTask::plain(Status::Completed)
            });
            let why = match before {
                Some(before) if before.is_branch => "Piton does this itself",
                Some(_) => "it is ticked",
                None => "it has not been started",
            };
            claimed += u64::from(before.is_some_and(|before| !before.is_branch));
            if let Some(past) = past.clone() {
                taken.commands.push(takeover::adopt(&spec.id, BY, past));
            }
            let claimed = before.map(|_| "done");
            taken.beliefs.push(Belief {
                task: spec.id.clone(),
                claimed,
                past,
                why: why.to_owned(),
                corrected: false,
                worktree: None,
            });
        }
        if claimed > 0 {
            let what = counted(claimed, "task");
            taken.lines.push(Line::Say(format!(
                "{what} claimed done in the plan; --distrust-ticks does them again"
            )));
        }
        Ok(taken)
    }
}
