//! Plans of Ralph loops: a `prd.json` of user stories, each with a flag that says whether it passes.
//!
//! `file` says what stands where in it, `read` makes a plan of it, and `write` sets the flags. Both find a story by the
//! ids of `file`.

mod criteria;
mod file;
mod read;
mod row;
#[cfg(test)]
mod tests;
mod write;

pub use row::{RALPH, Ralph};
pub use write::{tick, ticked};

const FILE: &str = "prd.json";
/// What the loops have learned so far.
const PROGRESS: &str = "progress.txt";
