//! `execution-state.json`: written from the journal, read from anybody, and what an edit of it means.
//!
//! `file` is its shape. `write` makes one from a run, `read` takes anybody's, `edits` says what somebody changed in one
//! of ours. `entry` is what a task's entry tells, whoever wrote it.

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
