//! Specs of Kiro and of cc-sdd: `.kiro/specs/NAME/tasks.md`, with requirements and a design beside it.
//!
//! `place` knows where its files lie and `steering` which of the project's rules count. `read` makes a plan of a list,
//! with `fields` for what a task says about itself, `requirements` for what it names, and `waves` for its graph.

mod fields;
mod place;
mod read;
mod requirements;
mod row;
mod steering;
#[cfg(test)]
mod tests;
mod waves;

pub use row::{Kiro, TASKS};
