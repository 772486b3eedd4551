//! `journal.md`: what those who worked on an issue tell each other. People and agents write it too, so nothing in it is
//! ever changed: what is missing is put at its end, and what is new is heard.
//!
//! `section` finds the entries of a text, `parse` reads what one tells, `write` makes those
//! that nobody wrote, `settle` brings a file and a run together.

mod parse;
mod section;
mod settle;
#[cfg(test)]
mod tests;
mod write;

pub use crate::system::kit::entries::{appended, text};
pub use parse::{Outcome, Parsed, parse};
pub use section::Section;
pub use settle::{Settled, added, settle};

/// The name of the file, also in the journal of events.
pub const FILE: &str = "journal.md";
