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
    #[serde(rename = "found_work", default)]
    pub found: PassFound,
}

/// What a pass came to. Written as `null`, `false` and `true`, as earlier versions did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<bool>", into = "Option<bool>")]
pub enum PassFound {
    /// Its work has not been captured, or never was.
    #[default]
    Unknown,
    /// It changed nothing.
    Nothing,
    /// It changed something.
    Work,
}

impl From<Option<bool>> for PassFound {
    fn from(found_work: Option<bool>) -> PassFound {
        match found_work {
            None => PassFound::Unknown,
            Some(false) => PassFound::Nothing,
            Some(true) => PassFound::Work,
        }
    }
}

impl From<PassFound> for Option<bool> {
    fn from(found: PassFound) -> Option<bool> {
        match found {
            PassFound::Unknown => None,
            PassFound::Nothing => Some(false),
            PassFound::Work => Some(true),
        }
    }
}

impl Story {
    pub(super) fn pass_began(&mut self, at: Timestamp) {
        self.confirmations += 1;
        self.open.confirming = true;
        let pass = Pass { attempt: self.attempt, began: at, ended: None, found: PassFound::Unknown };
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
            pass.found = if found_work { PassFound::Work } else { PassFound::Nothing };
        }
        self.open.confirming = false;
    }

    fn under_way(&mut self) -> Option<&mut Pass> {
        self.passes.last_mut().filter(|_| self.open.confirming)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_written_as_earlier_versions_wrote_them() {
        for (written, found) in
            [("null", PassFound::Unknown), ("false", PassFound::Nothing), ("true", PassFound::Work)]
        {
            let pass = Pass { attempt: 1, began: Timestamp(0), ended: None, found };
            let json = serde_json::to_string(&pass).expect("plain values");
            assert!(json.ends_with(&format!("\"found_work\":{written}}}")), "{json}");
            assert_eq!(serde_json::from_str::<Pass>(&json).expect("what was just written"), pass);
        }
    }
}
