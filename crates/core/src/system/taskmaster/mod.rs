//! Plans of Task Master: one JSON file of tasks with subtasks, in one list or in several that are called tags.
//!
//! `file` says what stands where in it, `read` makes a plan of the list that is current, and `write` writes back that a
//! task is done. Both find a task by the ids of `file`. `task` reads one task, and `needs` what tasks wait for; subtasks
//! are steps of their task or, where the project says so, tasks of their own.

mod file;
mod needs;
mod read;
mod row;
mod status;
mod task;
#[cfg(test)]
mod tests;
mod write;

pub use row::{TASKMASTER, TaskMaster};
pub use write::{tick, ticked};

/// The folder of Task Master, and where its tasks are in there.
const FOLDER: &str = ".taskmaster";
const TASKS: &str = "tasks/tasks.json";
const FILE: &str = "tasks.json";
/// Says which tag is current.
const STATE: &str = "state.json";
