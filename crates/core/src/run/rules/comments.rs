//! Comments of people on a task's work.

use super::overrides::{retried, unblocked};
use super::{Decision, Refusal, Rules};
use crate::plan::TaskId;
use crate::run::ending::SENT_BACK;
use crate::run::event::{Class, Event, Next};
use crate::run::task::{Status, Task};

impl Rules<'_> {
    /// Hand over comments on the work. Work that was about to be judged or to land goes back to an agent, and a task that
    /// had stopped continues. An agent at work is not interrupted.
    pub(super) fn send_comments(
        &self,
        id: &TaskId,
        by: &str,
        comments: &[u64],
        follow_up: Option<&TaskId>,
    ) -> Decision {
        let task = self.task(id)?;
        let new: Vec<u64> =
            comments.iter().filter(|seq| !task.progress.comments.contains(seq)).copied().collect();
        let then = match task.decided {
            Status::Completed if follow_up.is_some() => None,
            _ if follow_up.is_some() => {
                return Err(Refusal::because(format!(
                    "{id} is {}: comments on it are for its next attempt, not for another task",
                    task.status()
                )));
            }
            Status::Completed => {
                return Err(Refusal::hinted(
                    format!("{id} is completed: comments on it become a new task"),
                    format!("piton review {id} --send --follow-up NEW-ID"),
                ));
            }
            Status::Skipped if !task.progress.left_behind => {
                return Err(Refusal::hinted(
                    format!("{id} was skipped: no agent will work on it"),
                    format!("`piton reset {id}` puts it back into the plan"),
                ));
            }
            _ if task.decided == Status::Merging || self.run.line.is_landing(id) => {
                return Err(Refusal::hinted(
                    format!("{id} is landing now: when it has landed, comments on it become a new task"),
                    format!("piton review {id} --send --follow-up NEW-ID"),
                ));
            }
            Status::Blocked => Some(unblocked(id, by)),
            Status::Abandoned | Status::Skipped => Some(retried(id, by)),
            Status::Verifying | Status::Verified if task.is_engines() => Some(self.send_back(task)),
            _ => None,
        };
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let (task, by) = (id.clone(), by.to_owned());
        let sent = Event::CommentsSent { task, by, comments: new, follow_up: follow_up.cloned() };
        Ok([sent].into_iter().chain(then).collect())
    }

    /// The attempt ends here, and another one follows: whatever it has cost so far, it is a person who wants it.
    pub(super) fn send_back(&self, task: &Task) -> Event {
        let (reason, behind) = (SENT_BACK, task.progress.behind.clone());
        let mut failed = self.failure(task, Class::SentBack, reason, "", behind);
        if let Event::Failed { next, .. } = &mut failed {
            *next = Next::Again { not_before: None };
        }
        failed
    }
}
