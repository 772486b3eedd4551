//! The shape of the file, its keys in the order in which its description shows them.

use serde::Serialize;
use serde_json::Value;

use super::words::{PhaseWord, UnitWord};
use crate::plan::{Mode, TaskId};
use crate::system::kit::projection::{Map, Time};
use crate::system::kit::shape::Shape::{self, Each, Fields, Leaf};

/// The name of the file, also in the journal.
pub const FILE: &str = "state.json";

/// The state of iterative work, for scripts, people and agents. Written by Piton from its journal: counters, the current
/// unit and the phase are derived, unknown fields are kept.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "state.json"))]
pub struct StateFile {
    /// What the work is called.
    pub task: String,
    /// The name of its folder.
    pub slug: String,
    pub mode: Mode,
    /// What knowledge work is about; several have commas between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// When the run was made, or the first unit was begun.
    pub created: Time,
    /// When the journal was last written to.
    pub updated: Time,
    pub phase: PhaseWord,
    /// The unit that is worked on, or else comes next; null if there is none. Of development.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_task: Option<Option<String>>,
    /// The same of knowledge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_phase: Option<Option<String>>,
    /// Which iteration of that unit it is; 0 before the first.
    pub current_iteration: u32,
    /// By id, in the order of the list. Of development.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Map<UnitEntry>>,
    /// The same of knowledge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Map<UnitEntry>>,
    /// As `HASH: SUBJECT`, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<Vec<String>>,
    /// The position in the journal that this file shows. Leave it as it is: an edit is what differs from there.
    pub piton_seq: u64,
    /// The run whose journal that is.
    pub piton_run: String,
    /// Fields of others, laid over the rest.
    #[serde(skip)]
    pub carried: serde_json::Map<String, Value>,
}

/// One task or phase. What there is nothing to say about is left out.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitEntry {
    pub status: UnitWord,
    /// Why it does not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Iterations that were begun, with those passes that were to confirm and found work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations_used: Option<u32>,
    /// Passes that were to confirm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmations_used: Option<u32>,
    /// Of a completed unit: its checks and the verifier passed it. False if it was only reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_passed: Option<bool>,
    pub max_iterations: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
}

impl StateFile {
    /// Show these as they are claimed to be while their checks still run.
    pub fn claim(&mut self, claimed: &[TaskId]) {
        for units in [&mut self.tasks, &mut self.phases].into_iter().flatten() {
            for (id, entry) in &mut units.0 {
                if claimed.iter().any(|unit| unit.as_str() == id) {
                    entry.status = UnitWord::Verifying;
                }
            }
        }
    }
}

/// Which fields of the file have a meaning here.
pub(super) const ROOT: Shape = Fields(&[
    ("task", Leaf),
    ("slug", Leaf),
    ("mode", Leaf),
    ("domain", Leaf),
    ("created", Leaf),
    ("updated", Leaf),
    ("phase", Leaf),
    ("current_task", Leaf),
    ("current_phase", Leaf),
    ("current_iteration", Leaf),
    ("tasks", Each(&UNIT)),
    ("phases", Each(&UNIT)),
    ("commits", Leaf),
    ("piton_seq", Leaf),
    ("piton_run", Leaf),
]);

const UNIT: Shape = Fields(&[
    ("status", Leaf),
    ("reason", Leaf),
    ("iterations_used", Leaf),
    ("confirmations_used", Leaf),
    ("verification_passed", Leaf),
    ("max_iterations", Leaf),
    ("completed_at", Leaf),
]);

/// The JSON Schema of the file as it is written; fields of others are allowed everywhere.
#[cfg(feature = "schema")]
pub fn schema() -> serde_json::Value {
    crate::system::kit::schema::schema_of::<StateFile>()
}
