//! Commands of people about a task that is not done: retry it, release it, answer its question. And the command that
//! closes a run.

use super::{Decision, Refusal, Rules};
use crate::plan::{Digest, TaskId};
use crate::run::event::Event;
use crate::run::task::{Status, Task};

impl Rules<'_> {
    /// A run is closed as it is: nothing in it changes. So no engine may be working on it.
    pub(super) fn close(&self, by: &str, reason: &str) -> Decision {
        let run = &self.run.id;
        if self.run.engine.is_some() {
            return Err(Refusal::hinted(
                format!("an engine is working on the run {run}"),
                format!("piton stop --run {run}   stops it first"),
            ));
        }
        if self.state.is_complete() {
            return Err(Refusal::because(format!(
                "every task of the run {run} is completed: there is nothing to close"
            )));
        }
        if self.run.closed.is_some() {
            return Ok(Vec::new());
        }
        Ok(vec![Event::RunClosed { by: by.to_owned(), reason: reason.trim().to_owned() }])
    }

    pub(super) fn retry(&self, id: &TaskId, by: &str) -> Decision {
        let task = self.task(id)?;
        match task.decided {
            Status::Failed | Status::Abandoned | Status::Blocked => Ok(vec![retried(id, by)]),
            Status::Skipped if task.progress.left_behind => Ok(vec![retried(id, by)]),
            Status::Skipped => Err(Refusal::hinted(
                format!("{id} was skipped, so there is nothing to retry"),
                format!("`piton reset {id}` puts it back into the plan"),
            )),
            status => Err(Refusal::because(format!(
                "{id} is {status}: it has not failed, so there is nothing to retry"
            ))),
        }
    }

    pub(super) fn unblock(&self, id: &TaskId, by: &str, note: &str) -> Decision {
        match self.task(id)? {
            task if task.decided == Status::Blocked && note.trim().is_empty() => Ok(vec![unblocked(id, by)]),
            task if task.decided == Status::Blocked => self.answer(id, by, note),
            task if task.status() == Status::Unreachable => Err(Refusal::hinted(
                format!("{id} itself is not blocked: a task that it depends on is"),
                format!("`piton why {id}` names it"),
            )),
            task => Err(Refusal::because(format!("{id} is {}, not blocked", task.status()))),
        }
    }

    /// Record an answer for the next prompt, and let a task go on that has stopped.
    pub(super) fn answer(&self, id: &TaskId, by: &str, text: &str) -> Decision {
        let task = self.task(id)?;
        let goes_on = match task.decided {
            Status::Completed => {
                return Err(Refusal::hinted(
                    format!("{id} is completed: no agent will work on it again"),
                    "a new task in the plan can change what it did: `piton run PLAN --replan`",
                ));
            }
            Status::Skipped if !task.progress.left_behind => {
                return Err(Refusal::hinted(
                    format!("{id} was skipped: no agent will work on it"),
                    format!("`piton reset {id}` puts it back into the plan"),
                ));
            }
            Status::Blocked => Some(unblocked(id, by)),
            Status::Abandoned | Status::Skipped => Some(retried(id, by)),
            _ => None,
        };
        let text = text.trim();
        if text.is_empty() {
            return Err(Refusal::because("the answer is empty"));
        }
        let answered = Event::Answered {
            task: id.clone(),
            by: by.to_owned(),
            text: text.to_owned(),
            to: task.failure_seq,
            said: task.progress.said,
        };
        let is_known = is_answered(task, text);
        Ok([answered].into_iter().filter(|_| !is_known).chain(goes_on).collect())
    }
}

/// Whether its last answer says the same about the same failure. A caller that sends it twice has lost the reply.
fn is_answered(task: &Task, text: &str) -> bool {
    let last = task.progress.answers.last();
    last.is_some_and(|last| last.to == task.failure_seq && last.text == Digest::of_bytes(text.as_bytes()))
}

pub(super) fn retried(task: &TaskId, by: &str) -> Event {
    Event::Retried { task: task.clone(), by: by.to_owned() }
}

pub(super) fn unblocked(task: &TaskId, by: &str) -> Event {
    Event::Unblocked { task: task.clone(), by: by.to_owned() }
}
