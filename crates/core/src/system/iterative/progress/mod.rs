//! `progress.md`: what each iteration did and what it left to do. Agents and people write it too, so nothing in it is
//! ever changed: Piton appends what is missing, reads what is new, and reports an old entry that was changed.
//!
//! `head` reads headings, `entry` the words below them, `ended` says which iterations are over and what Piton knows of
//! them, `same` which of them repeat each other, `reconcile` brings a file and a run together.

mod ended;
mod entry;
mod head;
mod reconcile;
mod same;
#[cfg(test)]
mod tests;

pub use crate::system::NOT_FINISHED;
pub use crate::system::kit::entries::Section;
pub use entry::{Entry, entries, parse};
pub use head::{Head, Kind};
pub use reconcile::{Reconciled, added, reconcile};
pub use same::saturation;

use crate::plan::TaskId;

/// The name of the file, also in the journal of events.
pub const FILE: &str = "progress.md";

/// Where the log of a run begins that another one had before it.
pub const ANEW: &str = "A new run begins here. The entries above are about the one before.";

/// What the last entry about a unit leaves to do; empty if it leaves nothing, `None` if there is no entry.
pub fn remaining(text: &str, unit: &TaskId) -> Option<String> {
    let last = entries(text).into_iter().rfind(|entry| entry.head.unit.as_ref() == Some(unit))?;
    Some(last.remaining)
}
