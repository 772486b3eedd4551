//! Reading an issue's folder: the boxes of `tasks.md`, or of `plan.md` where there is nothing else, and what
//! `requirements.md` says about them.
//!
//! Boxes with a number are tasks; those without one below a task are its steps. A task with tasks below it is their
//! parent and is done when they are, so it does not run itself. Everything that runs does so in the order of the file.

mod add;
mod details;
mod lint;
mod name;
mod needs;
mod preview;
mod prompt;
mod read;
mod requirements;
mod sequence;
mod starter;
#[cfg(test)]
mod tests;
mod write;

pub use crate::system::kit::outline::{Node, Outline, Role, Word};
pub use add::add;
pub use lint::lint;
pub use name::{Issue, folder_name, number_of};
pub use read::{IssueReading, read};
pub use requirements::{Coverage, Row};
pub use starter::starter;
pub use write::{fit, write};

pub use crate::system::{Before, Given};

/// What tasks are read from, in this order.
pub const LISTS: [&str; 2] = ["tasks.md", "plan.md"];
/// A task that no list has: everything is checked once more at the end.
pub const VALIDATION: &str = "final-validation";
/// What the tasks have to fulfil, and how.
pub const REQUIREMENTS: &str = "requirements.md";
pub const DESIGN: &str = "design.md";
