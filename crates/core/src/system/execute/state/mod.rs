//! `execute-state.json`: written from the journal, read from anybody, and what an edit of it means.
//!
//! `file` is its shape and `words` its statuses. `write` makes one from a run, `read` takes anybody's, `hear` tells what
//! somebody changed in one of ours, `derived` what of it cannot be changed so. `known` says which fields have a meaning here; the others are carried along.

mod derived;
mod file;
mod hear;
mod known;
mod read;
mod rename;
pub(in crate::system) mod schema;
#[cfg(test)]
mod tests;
mod words;
mod write;

pub use crate::system::edit::{Edit, What};
pub use file::{
    CommitEntry, ContextEntry, ErrorEntry, FeedbackEntry, Layer, Map, Metrics, Options, QueueEntry,
    StateFile, TaskEntry, Time, WorktreeEntry,
};
pub use hear::{commands, edits, overruled};
pub use known::FILE;
pub use read::{Context as ForeignContext, ForeignState, ForeignTask, Reading, read};
pub use schema::schema;
pub use words::{
    CommitType, ContextStatus, ErrorType, LayerStatus, QueueStatus, RunWord, TaskStatus, WorktreeStatus,
};
pub use write::{Place, Workplace, project, text, value};
