//! Passes of agents that were asked to confirm.

use serde::{Deserialize, Serialize};

use super::{Story, add};
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    pub attempt: u32,
    pub began: Timestamp,
    /// When its agent ended, if it did.
    pub ended: Option<Timestamp>,
    /// Whether it changed anything, if it came to that.
    pub found_work: Option<bool>,
}

impl Story {
    pub(super) fn pass_began(&mut self, at: Timestamp) {
        self.confirmations += 1;
        self.open.confirming = true;
        let pass = Pass { attempt: self.attempt, began: at, ended: None, found_work: None };
        add(&mut self.passes, pass);
    }

    pub(super) fn pass_ended(&mut self, at: Timestamp) {
        if let Some(pass) = self.under_way() {
            pass.ended = Some(at);
        }
    }

    pub(super) fn pass_captured(&mut self, found_work: bool) {
        self.reworked += u32::from(self.open.confirming && found_work);
        if let Some(pass) = self.under_way() {
            pass.found_work = Some(found_work);
        }
        self.open.confirming = false;
    }

    fn under_way(&mut self) -> Option<&mut Pass> {
        self.passes.last_mut().filter(|_| self.open.confirming)
    }
}
