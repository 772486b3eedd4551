//! The files that a system keeps beside its plan: which there are, what they show of a run, and what a change of them
//! means. One door to the rooms of all systems, for whoever writes and reads the files.

use serde_json::Value;

use super::chronicle::Chronicle;
use super::edit::Edit;
use super::execute::state as execute;
use crate::plan::{Dialect, TaskId};
use crate::run::State;

pub use execute::{Place, Workplace};

/// The state file's name in the plan's folder, if the system has one.
pub fn state_file(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Native => None,
        Dialect::Execute => Some(execute::FILE),
    }
}

/// A state file as it should be.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What the journal says: edits are told from this.
    pub value: Value,
    /// The file, which also shows the claims that are still being checked.
    pub text: String,
}

/// The state file of a run; `None` before it has begun, and where its system has none.
pub fn picture(state: &State, chronicle: &Chronicle, place: &Place, claimed: &[TaskId]) -> Option<Picture> {
    match state.run()?.settings.dialect {
        Dialect::Native => None,
        Dialect::Execute => {
            let mut file = execute::project(state, chronicle, place)?;
            let value = execute::value(&file);
            for (id, entry) in &mut file.tasks.0 {
                if claimed.iter().any(|task| task.as_str() == id) {
                    entry.status = execute::TaskStatus::Verifying;
                }
            }
            Some(Picture { value, text: execute::text(&file) })
        }
    }
}

/// What somebody wants who changed a state file from `shown` to `found`.
pub fn edits(dialect: Dialect, shown: &Value, found: &Value) -> Vec<Edit> {
    match dialect {
        Dialect::Native => Vec::new(),
        Dialect::Execute => execute::edits(shown, found),
    }
}
