//! Reading a folder of the iterative system: the units of `tasks.md` or `plan.md`, and what `brief.md` says that they
//! are for.
//!
//! Units are boxes with an id, read and ticked like those of the issue system. Fields stand below them. Dependencies
//! are a field, or arrows.

mod add;
mod arrows;
mod brief;
mod needs;
mod read;
mod review;
mod starter;
mod templates;
#[cfg(test)]
mod tests;
mod unit;
mod write;

pub use add::add;
pub use read::{IterativeReading, read};
pub use review::{REVIEW, is_review};
pub use starter::starter;
pub use templates::{Phase, phases};
pub use write::{fit, write};

use crate::plan::{Iterative, Mode};
pub use crate::system::Given;
use crate::view::counted;

/// What tasks are read from, and what phases are.
pub const LISTS: [&str; 2] = ["tasks.md", "plan.md"];
/// The list that a plan of this mode has.
pub fn list_of(mode: Mode) -> &'static str {
    LISTS[usize::from(mode == Mode::Knowledge)]
}

/// What there is to do, in the words of this system.
pub fn size(about: &Iterative) -> String {
    let unit = if about.mode == Mode::Development { "task" } else { "phase" };
    format!("{} and a review", counted(about.units.len() as u64, unit))
}

/// What they are for. The second name is that of an older layout.
pub const BRIEFS: [&str; 2] = ["brief.md", "prd.md"];
