//! Plans of issues: `read` makes a plan of a snapshot of a tracker's issues, `labels` says what their labels mean, and
//! `write` what it means that an issue is closed while a run goes on.

mod labels;
mod read;
mod row;
#[cfg(test)]
mod tests;
mod write;

pub use row::{TRACKER, Tracker};
