//! `execute-state.json`: written from the journal, read in every form, and compared for edits.
//!
//! `file` is its shape and `words` its statuses. `write` makes a file from a run, `read` reads any, `edits` says what
//! an edit of one of ours asks for, `derived` which fields cannot be edited. `known` says which fields have a meaning
//! here; the others are carried along.

mod derived;
mod edits;
mod file;
mod known;
mod read;
mod rename;
#[cfg(feature = "schema")]
mod schema;
#[cfg(test)]
mod tests;
mod words;
mod write;

pub use crate::system::edit::{Edit, What};
pub use crate::system::kit::projection::{Map, Time};
pub use crate::system::kit::status::TaskStatus;
pub use crate::system::state_files::{Place, Workplace};
pub use edits::{commands, edits, overruled};
pub use file::{
    CommitEntry, ContextEntry, ErrorEntry, FeedbackEntry, Layer, Metrics, Options, QueueEntry, StateFile,
    TaskEntry, WorktreeEntry,
};
pub use known::FILE;
pub use read::{Context as ForeignContext, ForeignState, ForeignTask, Reading, read};
#[cfg(feature = "schema")]
pub use schema::schema;
pub use words::{CommitType, ContextStatus, ErrorType, LayerStatus, QueueStatus, RunWord, WorktreeStatus};
pub use write::{project, text, value};
