//! Issues of a tracker as plans: asks for them, keeps the answers as a file, and reports what is completed.
//!
//! Which questions there are, and what an answer means, is decided in the core's `system::asked`.

mod answers;
mod closing;
mod error;
mod tracker;
mod watching;

pub use answers::{fetch, file_of, refresh, snapshot_in, tracker_of};
pub use error::IssuesError;
pub use tracker::Tracker;
pub use watching::{Watching, Wishes};
