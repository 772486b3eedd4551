//! How facts about a request change its task.

use super::super::request::{Request, RequestFact};
use super::super::state::{Missing, State};
use super::super::task::{Status, Task, release};
use crate::plan::{MergeBy, TaskId};
use crate::time::Timestamp;

impl State {
    pub(super) fn request(
        &mut self,
        id: &TaskId,
        fact: &RequestFact,
        at: Timestamp,
        seq: u64,
    ) -> Result<(), Missing> {
        let by_piton = self.run.as_ref().is_some_and(|run| {
            run.settings.requests.as_ref().is_some_and(|requests| requests.merge == MergeBy::Piton)
        });
        let before = self.tasks.get(id).and_then(|task| task.progress.request.as_deref().cloned());
        let merges = Request::after(before, fact, at).is_some_and(|request| request.is_merging());
        self.on_run(|run| {
            if merges && by_piton {
                // A person may merge another request meanwhile.
                run.merging.get_or_insert_with(|| id.clone());
            } else if run.merging.as_ref() == Some(id) {
                run.merging = None;
            }
        });
        self.update(id, at, |task| {
            let before = task.progress.request.take().map(|request| *request);
            task.progress.request = Request::after(before, fact, at).map(Box::new);
            match fact {
                RequestFact::Prepared { tree, .. } => {
                    task.decided = Status::Merging;
                    task.progress.merged = Some(tree.clone());
                }
                RequestFact::Returned { .. } => {
                    task.decided = Status::Verified;
                    // Those that came meanwhile are proven first.
                    task.progress.queued = Some(seq);
                    (task.progress.waits, task.progress.waits_since) = (None, None);
                    return;
                }
                RequestFact::Unstacked { reason, until_landed } => {
                    unstack(task);
                    task.progress.unstacked = until_landed.then(|| reason.clone());
                    return;
                }
                _ => {}
            }
            task.progress.waits = task.progress.request.as_ref().map(|request| request.words());
            task.progress.waits_since.get_or_insert(at);
        })
    }
}

/// It goes back to those that wait. No attempt is spent, and what was done is judged again where it then stands.
fn unstack(task: &mut Task) {
    let has_work = task.decided != Status::InProgress;
    release(task);
    task.progress.recheck = has_work;
    task.decided = if task.failure_seq.is_none() { Status::Pending } else { Status::Failed };
}
