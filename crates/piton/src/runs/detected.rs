//! Checks that were found in the project when a run began.

use piton_core::plan::{Check, RunId};
use piton_core::system::SystemRef;
use piton_engine::journal::Journal;

use crate::failure::Outcome;

/// Checks that were found in the project when a run of such a plan began, where they count.
pub(crate) fn checks_found(system: SystemRef, journal: &Journal, run: &RunId) -> Outcome<Option<Vec<Check>>> {
    let Some(detected) = system.detected() else { return Ok(None) };
    Ok(Some(detected(&journal.specs(run)?)))
}
