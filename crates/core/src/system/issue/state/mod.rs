//! `execution-state.json`: written from the journal, read in every form, and compared for edits.
//!
//! `file` is its shape. `write` makes a file from a run, `read` reads any, `edits` says what an edit of one of ours
//! asks for. `entry` reads a task's entry in all its forms.

mod edits;
mod entry;
mod file;
mod read;
#[cfg(test)]
pub(in crate::system) mod tests;
mod write;

pub use crate::system::edit::{Edit, What};
pub use edits::{commands, edits};
#[cfg(feature = "schema")]
pub use file::schema;
pub use file::{FILE, Issue, StateFile, TaskEntry, TaskWord};
pub use read::{ForeignState, ForeignTask, Reading, read};
pub use write::{about, project, text, value};

pub(super) use write::{ended_at, files, in_order, notes, since_reset, validation};
