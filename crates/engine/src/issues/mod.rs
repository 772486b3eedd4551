//! Issues of a tracker as plans: asks for them, keeps the answers as a file, and reports what is completed.
//!
//! Which questions there are, and what an answer means, is decided in the core's `system::asked`.

mod answers;
mod closing;
mod error;
mod holding;
mod tracker;
mod watching;
mod wishes;

pub use answers::{fetch, file_of, refresh, snapshot_in, tracker_of};
pub use error::IssuesError;
pub use tracker::Tracker;
pub use watching::Watching;
pub use wishes::Wishes;
