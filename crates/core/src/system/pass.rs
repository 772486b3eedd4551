//! What an agent is told and what its end means, where a system has its own words for that.

use std::fmt;

use crate::plan::{Oid, TaskSpec};
use crate::run::{Run, Task};
use crate::signal::Heard;
use crate::system::edit::What;
use crate::system::state_files::AgentReport;

/// One pass of an agent over a task.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    pub run: &'a Run,
    pub task: &'a Task,
    pub spec: &'a TaskSpec,
    /// 0: the first. Others confirm.
    pub number: u32,
    pub base: Option<&'a Oid>,
    /// The plan, from the root of the project if it lies there.
    pub folder: &'a str,
    /// A file of the plan's folder, by its name.
    pub read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl fmt::Debug for Pass<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pass = f.debug_struct("Pass");
        pass.field("task", &self.task.id).field("number", &self.number).finish_non_exhaustive()
    }
}

/// An agent that ended by itself, and well.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    pub run: &'a Run,
    pub task: &'a Task,
    /// What it printed.
    pub heard: &'a Heard,
    /// What it wrote into its copies.
    pub reports: &'a [AgentReport],
    /// What it said by command.
    pub reported: Option<&'a What>,
}
