//! What is peculiar to runs of todolists.

use piton_core::plan::{Check, TaskSpec};
use piton_core::system::rwkit::state::gate_of;

/// The tests that were found in the project when a run of this plan began, if there is such a run.
pub(crate) fn tests_of(specs: &[TaskSpec]) -> Vec<Check> {
    let gate = specs.iter().find(|spec| gate_of(&spec.id) == Some("unit_tests"));
    gate.map(|spec| spec.checks.clone()).unwrap_or_default()
}
