//! What is told of a run, and what is noted about its tasks, where a system has its own words for that.

use std::fmt;

use crate::chronicle::Chronicle;
use crate::plan::{Check, RepoPath, TaskId, TaskSpec};
use crate::run::{Report, Run, State, StopReason, Task};
use crate::time::Timestamp;

/// Why an attempt failed that left something to do, or ended without its signal: its own entry says what is left.
pub const NOT_FINISHED: &str = "not finished";

/// How far a run is, as its system counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub completed: u32,
    pub total: u32,
    pub percent: u32,
    /// What is not completed, by the system's words.
    pub open: Vec<(&'static str, u32)>,
    /// The same for a person.
    pub text: String,
}

/// What is left to tell others when a run has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// For a person who passes it on.
    pub text: String,
    /// The programs that do it, each with its arguments.
    pub sends: Vec<Vec<String>>,
}

/// The checks among a run's tasks that were found in the project.
pub type FindsChecks = fn(&[TaskSpec]) -> Vec<Check>;

/// How a system concludes a run that ended for this reason.
pub type Concludes = fn(&State, &Chronicle, &StopReason) -> Option<Conclusion>;

/// What a report says about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportedAs {
    Done,
    Already,
    Unfinished,
    Failed,
    Blocked,
}

/// A report that may be worth an entry in the system's own log.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    pub run: &'a Run,
    pub task: &'a Task,
    pub reported: ReportedAs,
    pub reason: Option<&'a str>,
    pub report: &'a Report,
    pub at: Timestamp,
}

/// Another plan whose tasks are waited for, and of which no run is known.
#[derive(Clone, Copy)]
pub struct Elsewhere<'a> {
    /// Its path in the project.
    pub plan: &'a str,
    pub bytes: &'a [u8],
    /// The project's state file, if there is one.
    pub state: Option<&'a [u8]>,
    pub root: &'a str,
    /// Whether a file of the project is there, and not empty.
    pub is_there: &'a dyn Fn(&RepoPath) -> bool,
}

/// Which tasks of another plan are done.
pub type LooksElsewhere = fn(&Elsewhere<'_>) -> Vec<TaskId>;

impl fmt::Debug for Elsewhere<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elsewhere").field("plan", &self.plan).finish_non_exhaustive()
    }
}
