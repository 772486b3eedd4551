//! Where the work on an issue stands, in the words that its scripts read.

use std::fmt;

use serde_json::json;

use super::plan::VALIDATION;
use super::state::{TaskWord, in_order, validation};
use crate::chronicle::Chronicle;
use crate::plan::TaskId;
use crate::run::{State, Status};
use crate::system::Tally;
use crate::view::bar;

/// Tasks by the words of the state file, as its recipes count them. Shown as Markdown, for a terminal or a comment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub completed: u32,
    pub in_progress: u32,
    pub pending: u32,
    pub failed: u32,
}

impl Progress {
    pub fn new(state: &State) -> Progress {
        let mut progress = Progress::default();
        for task in state.tasks().filter(|task| !task.removed && task.id.as_str() != VALIDATION) {
            match TaskWord::from_status(task.outcome()) {
                TaskWord::Completed => progress.completed += 1,
                TaskWord::InProgress => progress.in_progress += 1,
                TaskWord::Pending => progress.pending += 1,
                TaskWord::Failed => progress.failed += 1,
            }
        }
        progress
    }

    pub fn total(&self) -> u32 {
        self.completed + self.in_progress + self.pending + self.failed
    }

    /// A list without tasks is 0% done.
    pub fn percent(&self) -> u32 {
        let percent = u64::from(self.completed) * 100 / u64::from(self.total().max(1));
        u32::try_from(percent).unwrap_or(100)
    }
}

impl Progress {
    pub(super) fn tally(&self) -> Tally {
        let open = [("in_progress", self.in_progress), ("pending", self.pending), ("failed", self.failed)];
        Tally {
            completed: self.completed,
            total: self.total(),
            percent: self.percent(),
            open: open.into_iter().filter(|(_, number)| *number > 0).collect(),
            text: self.to_string(),
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, percent) = (self.total(), self.percent());
        writeln!(f, "## Progress: {}/{total} ({percent}%)\n", self.completed)?;
        writeln!(f, "[{}] {percent}%\n", bar(self.completed, total))?;
        writeln!(f, "- Completed: {}", self.completed)?;
        writeln!(f, "- In Progress: {}", self.in_progress)?;
        writeln!(f, "- Pending: {}", self.pending)?;
        writeln!(f, "- Failed: {}", self.failed)
    }
}

/// What is to be done next. Its first word is for scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Every task is completed, or was skipped by a person, and the validation of the whole has not failed.
    AllComplete,
    /// A task in progress comes first.
    Resume {
        task: TaskId,
        description: String,
    },
    Start {
        task: TaskId,
        description: String,
    },
    /// It was abandoned or needs a person, and was not skipped. It may be the validation at the end. Nothing starts
    /// before a person decides.
    Halted {
        task: TaskId,
        description: String,
    },
    /// A plan without tasks is never complete.
    NoTasks,
}

impl Next {
    pub fn new(state: &State, chronicle: &Chronicle) -> Next {
        let tasks = in_order(state, chronicle);
        let first = |which: &dyn Fn(Status) -> bool| {
            let found = tasks.iter().find(|(task, _)| which(task.outcome()));
            found.map(|(task, story)| (task.id.clone(), story.title.clone()))
        };
        let under_way = |status| TaskWord::from_status(status) == TaskWord::InProgress;
        let given_up = |status| matches!(status, Status::Abandoned | Status::Blocked);
        if let Some((task, description)) = first(&under_way) {
            return Next::Resume { task, description };
        }
        if let Some((task, description)) = first(&given_up) {
            return Next::Halted { task, description };
        }
        match first(&|status| !status.satisfies()) {
            Some((task, description)) => Next::Start { task, description },
            None if tasks.is_empty() => Next::NoTasks,
            None => match validation(state, chronicle).filter(|(task, _)| given_up(task.outcome())) {
                Some((task, story)) => {
                    Next::Halted { task: task.id.clone(), description: story.title.clone() }
                }
                None => Next::AllComplete,
            },
        }
    }
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, task, description) = match self {
            Next::AllComplete => return f.write_str("ALL_COMPLETE: No pending tasks"),
            Next::NoTasks => return f.write_str("NO_TASKS: The plan has none"),
            Next::Resume { task, description } => ("RESUME: Found in_progress task\n", task, description),
            Next::Start { task, description } => ("NEXT_TASK: ", task, description),
            Next::Halted { task, description } => ("HALTED: Found failed task\n", task, description),
        };
        write!(f, "{word}{}", json!({ "id": task, "description": description }))
    }
}

#[cfg(test)]
mod tests;
