//! Changes of OpenSpec: `openspec/changes/ID/tasks.md`, with a proposal and the specs that change beside it.
//!
//! `place` knows where its files lie, `read` makes a plan of a list, `deltas` reads what the specs ask for.

mod deltas;
mod place;
mod read;
mod row;
#[cfg(test)]
mod tests;

pub use row::{OpenSpec, TASKS};
