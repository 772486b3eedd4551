//! Reading a folder of tasks: `manifest.json`, `layer_plan.json` and the XML of each task.
//!
//! The task files say what to do. The manifest and the layer plan say how tasks depend on each other. If they disagree
//! with the files, the files win and a warning says so. A file that cannot be understood is an error that names it: no
//! task is ever left out in silence.

mod add;
mod insert;
mod lint;
mod outline;
mod prompt;
mod read;
mod starter;
mod steps;
mod task;
#[cfg(test)]
mod tests;
mod write;
mod xml;

pub use add::add;
pub use lint::lint;
pub use outline::project_path;
pub use read::{LAYER_PLAN, MANIFEST, read};
pub use starter::starter;
pub use write::{fit, write};
