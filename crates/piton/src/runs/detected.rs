//! Checks that were found in the project when a run began.

use piton_core::plan::{Argv, Check, Dialect, RunId, TaskSpec};
use piton_core::system::rwkit::state::gate_of;
use piton_engine::journal::Journal;

use crate::failure::Outcome;

/// Checks that were found in the project when a run of such a plan began, where they count.
pub(crate) fn checks_found(dialect: Dialect, journal: &Journal, run: &RunId) -> Outcome<Option<Vec<Check>>> {
    Ok(match dialect {
        Dialect::Rwkit => Some(tests_of(&journal.specs(run)?)),
        Dialect::Iterative => Some(checks_of(&journal.specs(run)?)),
        Dialect::Native | Dialect::Execute | Dialect::Issue => None,
    })
}

/// The tests that were found in the project when a run of this plan began, if there is such a run.
pub(crate) fn tests_of(specs: &[TaskSpec]) -> Vec<Check> {
    let gate = specs.iter().find(|spec| gate_of(&spec.id) == Some("unit_tests"));
    gate.map(|spec| spec.checks.clone()).unwrap_or_default()
}

/// The checks that were found in the project when a run of this plan began: those that every unit has.
pub(crate) fn checks_of(specs: &[TaskSpec]) -> Vec<Check> {
    let runs = |check: &&Check| matches!(check.run, Argv::Words(_) | Argv::Shell(_));
    let first = specs.iter().find(|spec| spec.confirm);
    first.map(|spec| spec.checks.iter().filter(runs).cloned().collect()).unwrap_or_default()
}
