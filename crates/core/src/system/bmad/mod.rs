//! Stories of BMAD: a board, `sprint-status.yaml`, that says how far each story is, and a file for each story.
//!
//! `place` knows where the files lie, `board` reads and changes the board, `story` one story. `read` makes a plan of all of
//! them, and `write` keeps the board and the stories up to date. `v4` is the same for stories of version 4, which have no
//! board: `one_story` has what a story's own status means, and writes it.

mod board;
mod one_story;
mod place;
mod read;
mod row;
mod story;
#[cfg(test)]
mod tests;
mod v4;
mod write;

pub use row::{BMAD, Bmad};
pub use v4::{STORIES, Stories};
