//! Stories of BMAD: a board, `sprint-status.yaml`, that says how far each story is, and a file for each story.
//!
//! `place` knows where the files lie, `board` reads and changes the board, `story` one story. `read` makes a plan of all of
//! them, and `write` keeps the board and the stories up to date.
//!
//! Two forms have no board: `v4` is a folder of stories of version 4, and `specs` the list of stories of a spec, which
//! `spec_list` reads. There `one_story` has what a story's own status means, and writes it.

mod board;
mod one_story;
mod place;
mod read;
mod row;
mod spec_list;
mod specs;
mod story;
#[cfg(test)]
mod tests;
mod v4;
mod write;

pub use row::{BMAD, Bmad};
pub use specs::{SPECS, Specs};
pub use v4::{STORIES, Stories};
