//! `journal.md`: what those who worked on an issue tell each other. People and agents write it too, so nothing in it is
//! ever changed: what is missing is put at its end, and what is new is heard.
//!
//! `section` finds the entries of a text, `parse` reads what one tells, `write` makes those
//! that nobody wrote, `settle` brings a file and a run together.

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
