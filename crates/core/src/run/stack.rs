//! Tasks that begin on the open requests of what they depend on: what they stand on, and when that is there.

use super::request::{Footing, Request, Step};
use super::state::{Missing, Run, State};
use super::task::{Status, Task};
use crate::plan::TaskId;

impl State {
    /// Whether what a task depends on lets the engine work on it.
    pub(super) fn is_met(&self, task: &Task) -> bool {
        task.is_met(self.run.as_ref().is_some_and(Run::stacks))
    }

    /// The open requests that a task stands on besides the target. `None`: one of them is not there now.
    pub fn footings(&self, task: &Task) -> Result<Option<Vec<Footing>>, Missing> {
        let mut all = Vec::new();
        if !task.progress.stacked || task.waiting == 0 {
            return Ok(Some(all));
        }
        for id in self.links(&task.id)?.needs.iter() {
            let Some(need) = self.task(id)?.filter(|need| !need.status().satisfies()) else { continue };
            match &need.progress.request {
                Some(request) if need.has_open_request() => {
                    all.push(Footing { task: id.clone(), head: request.head.clone() });
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// What a task was built on and what nobody works on now.
    pub(super) fn lost_footings(&self, task: &Task) -> Result<Vec<TaskId>, Missing> {
        let mut lost = Vec::new();
        if !task.progress.stacked || task.waiting == 0 {
            return Ok(lost);
        }
        for id in self.links(&task.id)?.needs.iter() {
            let is_lost = |need: &&Task| !need.status().satisfies() && !need.is_worked_on();
            lost.extend(self.task(id)?.filter(is_lost).map(|need| need.id.clone()));
        }
        Ok(lost)
    }
}

impl Task {
    /// It has an open request with all of its proven work: what depends on it may be built on that.
    pub(super) fn has_open_request(&self) -> bool {
        let is_open = |request: &Request| {
            request.opened.is_some() && matches!(request.step, Step::Follow | Step::Merge | Step::Take)
        };
        self.decided == Status::Merging
            && self.is_engines()
            && self.progress.intent.is_none()
            && self.progress.request.as_deref().is_some_and(is_open)
    }

    /// It begins: on open requests, if not all that it depends on has landed.
    pub(super) fn stand_on_what_is_open(&mut self) {
        self.progress.stacked |= self.waiting > 0 && self.is_engines();
        self.progress.unstacked = None;
    }

    /// It can be put back to those that wait, and nothing that is done for it is lost.
    pub(super) fn has_no_work_under_way(&self) -> bool {
        let is_merging = || self.progress.request.as_ref().is_some_and(|request| request.is_merging());
        match self.decided {
            Status::InProgress => !self.progress.ready,
            Status::Merging => self.is_followed() && !is_merging(),
            _ => self.is_candidate(),
        }
    }

    /// What it depends on is done, or, if it may stand on open requests, has one.
    pub(super) fn is_met(&self, stacks: bool) -> bool {
        // Who judges the whole has to see it where it lands.
        let may_stand = stacks && !self.gate && !self.by_person && self.progress.unstacked.is_none();
        self.waiting == 0 || may_stand && self.waiting == self.open
    }
}
