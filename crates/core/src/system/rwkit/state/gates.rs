//! Gates: tasks of the run, one group each after the batches, which the file shows apart from its tasks.

use crate::plan::{BadId, TaskId};

/// The id of a gate's task begins so.
const PREFIX: &str = "gate-";

/// The gates that every file names, in the order in which they come.
pub const GATES: [&str; 6] =
    ["unit_tests", "integration_tests", "e2e_tests", "smoke_test", "uat", "qa_review"];

/// Where a run can be. A gate of the project's own is a phase of its name.
pub const PHASES: [&str; 10] = [
    "preflight",
    "planning",
    "implementation",
    "seed_data",
    "unit_tests",
    "integration_tests",
    "e2e_tests",
    "smoke_test",
    "uat",
    "qa_review",
];

/// The gate that is approved rather than passed, and whose rounds are counted.
pub(super) const REVIEW: &str = "qa_review";

/// The gate that a task is, if it is one.
pub fn gate_of(task: &TaskId) -> Option<&str> {
    task.as_str().strip_prefix(PREFIX).filter(|name| !name.is_empty())
}

/// The task that a gate is.
pub fn gate_task(gate: &str) -> Result<TaskId, BadId> {
    TaskId::new(&format!("{PREFIX}{}", gate.trim()))
}
