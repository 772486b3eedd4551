//! Plans of issues: `read` makes a plan of a snapshot of a tracker's issues, and `labels` says what their labels mean.

mod labels;
mod read;
mod row;
#[cfg(test)]
mod tests;

pub use row::{TRACKER, Tracker};
