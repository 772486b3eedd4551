//! The rw-kit system: lists of tasks by user story, worked on in batches, then gates.

pub mod facts;
pub mod state;
