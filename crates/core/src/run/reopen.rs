//! A task that is open again, and why.

use serde::{Deserialize, Serialize};

use super::command::{Refusal, Stop};
use super::event::Event;
use super::state::{Missing, State};
use super::task::release;
use super::task::{Progress, Red, Status, Task};
use crate::plan::{Check, TaskId, TaskSpec};
use crate::time::Timestamp;

/// Why a task is open again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Reopening {
    /// The plan has another task under this id now. `spec` is where that of the completed one stands in the journal.
    Content { spec: u64 },
    /// The task is the same, but other checks decide about it.
    Checks,
    /// It failed by its checks, and others decide about it now: the work that is there is judged again, without an agent.
    Rejudged,
    /// It judged a state of the project that has changed since.
    Stale { reason: String },
}

/// Which of the checks that judge a task have changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judges {
    /// Its own checks, such as their limits.
    pub(super) own: bool,
    pub(super) landing: bool,
}

/// The events that follow if the plan now has this spec for a task, with the lengths of the chains before and behind
/// it. `judges`: which of the checks that decide about it have changed, besides those whose digests differ.
///
/// A completed task with new content is opened again. Its dependents stay as they are: they were proven on what landed,
/// which is still there. If only checks are new, they judge what the target holds. The same for a task that its checks
/// stopped: the new checks judge the work that it left. A task that was handed to a person and is an agent's now waits no
/// longer.
pub(super) fn changed(
    task: &Task,
    spec: Box<TaskSpec>,
    (level, tail): (u32, u32),
    judges: Judges,
) -> Result<Vec<Event>, Stop> {
    let reopened = |reason| {
        let checks_first = reason == Reopening::Checks;
        Event::Reopened { task: task.id.clone(), reason, was: task.proof.clone(), checks_first }
    };
    let is_another = spec.is_another_than(task.content);
    let is_completed = task.decided == Status::Completed;
    // Work that was done for other content must not be judged by the new content.
    let has_work = task.is_engines() || task.progress.recheck;
    if is_another && task.decided == Status::Merging {
        return Err(Refusal::hinted(
            format!("{} is landing now and cannot become another task", task.id),
            "`piton run` with the previous plan finishes the landing",
        ));
    }
    let is_new = |check: &Check| !task.judges.contains(&check.digest());
    let is_unproven = is_completed && spec.checks.iter().any(is_new);
    let own = judges.own || spec.checks.iter().any(is_new) || spec.checks.len() != task.judges.len();
    let is_rejudged = task.failed_by_checks().is_some_and(|red| own || judges.landing && red == Red::Landing);
    // It was left to a person, so no agent could resume it.
    let is_agents_now = task.by_person && !spec.by_person && task.decided == Status::Blocked;
    let change = Event::TaskChanged { spec, level, tail };
    Ok(if is_another && (is_completed || has_work) {
        vec![reopened(Reopening::Content { spec: task.spec_seq }), change]
    } else if is_unproven {
        vec![change, reopened(Reopening::Checks)]
    } else if !is_another && is_rejudged {
        vec![change, reopened(Reopening::Rejudged)]
    } else if is_agents_now {
        vec![change, Event::Unblocked { task: task.id.clone(), by: "piton".to_owned() }]
    } else {
        vec![change]
    })
}

impl State {
    /// A task with new content starts with a fresh budget of attempts. The same task keeps what it has spent, and may
    /// be tried once more.
    pub(super) fn reopen(
        &mut self,
        id: &TaskId,
        reason: &Reopening,
        checks_first: bool,
        at: Timestamp,
        seq: u64,
    ) -> Result<(), Missing> {
        self.on_run(|run| (run.context, run.held) = (None, false));
        if *reason == Reopening::Rejudged {
            return self.update(id, at, |task| {
                release(task);
                task.progress.recheck = true;
                task.decided = Status::Failed;
                task.not_before = None;
                task.transient = 0;
                task.conflicts = 0;
                // If the work is red again, that costs an attempt.
                task.budget = task.budget.max(task.spent + 1);
            });
        }
        self.update(id, at, |task| {
            release(task);
            task.proof = None;
            task.decided = Status::Pending;
            task.transient = 0;
            task.conflicts = 0;
            task.not_before = None;
            task.failure_seq = None;
            task.reopened = Some(seq);
            // What comes of it goes to the same branch.
            let request = task.progress.request.take();
            *task.progress =
                Progress { worktree: task.progress.worktree, checks_first, request, ..Progress::default() };
            match reason {
                Reopening::Content { .. } => (task.attempt, task.spent) = (0, 0),
                // A look that finds something to do costs an attempt, as any that fails does.
                Reopening::Checks => {
                    task.budget = task.budget.max(task.spent + 1 + u32::from(checks_first));
                }
                // Rounds of fixes count over the whole run: a task that has used them up gets no more.
                Reopening::Stale { .. } | Reopening::Rejudged => {}
            }
        })
    }
}
