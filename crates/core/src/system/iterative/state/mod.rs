//! `state.json`: written from the journal, read in every form, and compared for edits.
//!
//! `file` is its shape and `words` its statuses. `write` makes a file from a run, `read` reads any, `edits` says what
//! an edit of one of ours asks for.

mod edits;
mod file;
mod read;
#[cfg(test)]
mod tests;
mod words;
mod write;

pub use crate::system::edit::{Edit, What};
pub use edits::{commands, edits};
#[cfg(feature = "schema")]
pub use file::schema;
pub use file::{FILE, StateFile, UnitEntry};
pub use read::{ForeignState, ForeignUnit, Reading, read};
pub use words::{PhaseWord, UnitWord};
pub use write::{project, text, value};
