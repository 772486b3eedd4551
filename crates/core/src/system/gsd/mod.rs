//! Plans of GSD: a folder `.planning` with a roadmap of phases, and a file for each plan of a phase.
//!
//! `place` knows where its files lie and what their plans are called, `roadmap` reads the phases and `plan_file` one plan.
//! `read` makes a plan of Piton's of all of them, and
//! `write` keeps the summaries and the boxes of what is done.

mod place;
mod plan_file;
mod read;
mod roadmap;
mod row;
#[cfg(test)]
mod tests;
mod write;

pub use row::{GSD, Gsd};
