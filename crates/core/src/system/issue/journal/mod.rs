//! `journal.md`: notes that those who work on an issue leave for each other. People and agents write it too, so nothing
//! in it is ever changed: Piton appends what is missing and reads what is new.
//!
//! `section` finds the entries of a text, `parse` reads one, `write` makes those that are missing, `reconcile` brings a
//! file and a run together.

mod parse;
mod reconcile;
mod section;
#[cfg(test)]
mod tests;
mod write;

pub use crate::system::kit::entries::{appended, text};
pub use parse::{Outcome, Parsed, parse};
pub use reconcile::{Reconciled, added, reconcile};
pub use section::Section;

/// The name of the file, also in the journal of events.
pub const FILE: &str = "journal.md";
