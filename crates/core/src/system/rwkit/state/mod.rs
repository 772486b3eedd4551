//! `.claude/rw-kit.state.json`: written from the journal, read in every form, and compared for edits.
//!
//! `file` is its shape and `words` its statuses; `gates` says which tasks are gates. `write` makes a file from a run
//! and `log` its last part, `read` reads any, `edits` says what an edit of one of ours asks for.

mod edits;
mod file;
mod gates;
mod log;
mod read;
#[cfg(test)]
mod tests;
mod words;
mod write;

use std::collections::HashSet;

pub use crate::system::edit::{Edit, What};
pub use edits::{commands, edits};
#[cfg(feature = "schema")]
pub use file::schema;
pub use file::{
    Batch, Config, FILE, Progress, ResumePoint, StateFile, StoryEntry, TaskEntry, VERSION, Verification,
};
pub use gates::{GATES, PHASES, gate_of, gate_task};
pub use log::{Level, LogEntry};
pub use read::{ForeignBatch, ForeignState, ForeignTask, Log, Reading, read};
pub use words::{BatchWord, GateWord, RunWord, StoryWord, TaskWord};
pub use write::{project, text, value};

/// Each text once, at its first place.
fn each_once(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut known = HashSet::new();
    texts.into_iter().filter(|text| known.insert(text.clone())).collect()
}
