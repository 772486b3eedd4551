//! Reading a plan: what a system's reader is given, what it gives back, and what can be asked of that.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::config::Config;
use super::kit::checklist::Mark;
use super::kit::outline::Word;
use super::kit::takeover::{LeftFiles, Legacy};
use crate::diagnostic::{Diagnostic, Severity};
use crate::order::Arrange;
use crate::plan::{Plan, TaskId};
use crate::toolchain::Detected;
use crate::view::preview;

/// The files of a plan by their names, with `/` between the parts: below the plan's folder, or, of a plan that is one
/// file, from the project's root. Only files that a reader wants are here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    pub files: BTreeMap<String, Vec<u8>>,
}

/// What a reader says about a mistake that it could repair or ignore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// A warning.
    #[default]
    Lenient,
    /// An error.
    Strict,
}

/// What is known besides the plan's files.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// What its file or folder is called.
    pub name: &'a str,
    /// Its path from the root of the project.
    pub place: &'a str,
    pub config: &'a Config,
    /// The project's own checks. They count if its configuration names none.
    pub detected: &'a [Detected],
    /// Other plans that its tasks may wait for, by their paths from the root of the project.
    pub others: &'a Folder,
    pub strictness: Strictness,
}

static NO_FILES: Folder = Folder { files: BTreeMap::new() };

impl<'a> Given<'a> {
    /// Nothing more than the configuration.
    pub fn new(name: &'a str, place: &'a str, config: &'a Config) -> Given<'a> {
        Given { name, place, config, detected: &[], others: &NO_FILES, strictness: Strictness::Lenient }
    }
}

/// What is wrong with one of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A name in [`Folder::files`], or of a file that should be there; then its text is empty.
    pub file: String,
    pub diagnostic: Diagnostic,
}

impl Problem {
    /// By file, and in each from the top to the end.
    pub(crate) fn sort(problems: &mut [Problem]) {
        problems
            .arrange_by(|a, b| (&a.file, a.diagnostic.span.start).cmp(&(&b.file, b.diagnostic.span.start)));
    }
}

/// A plan as far as it was understood.
#[derive(Clone, Debug)]
pub struct Reading {
    /// To be used only if [`Reading::is_usable`].
    pub plan: Plan,
    /// By file, and in the order of its text.
    pub problems: Vec<Problem>,
    /// The texts as they were decoded: the places of problems are places in these.
    pub texts: BTreeMap<String, String>,
    /// Where the plan says the project is, if it does.
    pub project_path: Option<String>,
    /// How far the plan's own files say its tasks are.
    pub before: BTreeMap<TaskId, Before>,
}

impl Reading {
    /// A plan with which nothing is wrong.
    pub fn new(plan: Plan) -> Reading {
        let (texts, before) = (BTreeMap::new(), BTreeMap::new());
        Reading { plan, problems: Vec::new(), texts, project_path: None, before }
    }

    /// Whether nothing worse than a warning was found.
    pub fn is_usable(&self) -> bool {
        self.problems.iter().all(|problem| problem.diagnostic.severity < Severity::Error)
    }
}

/// What a list says about a task before any run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Before {
    /// Nothing is left to do: its box and its steps are ticked, and nothing there contradicts; or Piton does it.
    pub done: bool,
    /// The task asks for the branch of the plan, which Piton makes before any task begins.
    pub is_branch: bool,
    /// The list says that it cannot continue.
    #[serde(skip)]
    pub blocked: bool,
    #[serde(skip)]
    pub mark: Mark,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// What changes in a plan whose tasks are all done again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoneAgain {
    /// A file without its ticks, with how many there were.
    pub opened: Option<(String, Vec<u8>, usize)>,
    /// What the log says from there on.
    pub entry: Option<String>,
}

/// A plan that was read, and what else its files say.
pub trait ReadPlan: fmt::Debug {
    fn reading(&self) -> &Reading;

    fn reading_mut(&mut self) -> &mut Reading;

    /// What a reviewer of the plan would say. A run does not use this.
    fn lint(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// The plan that is run. Its tasks are moved out of the reading: there may be very many.
    fn take_plan(&mut self) -> Plan {
        let plan = &mut self.reading_mut().plan;
        let tasks = std::mem::take(&mut plan.tasks);
        Plan { tasks, ..plan.clone() }
    }

    /// The branch that its work lands on, if the plan says so.
    fn branch(&self) -> Option<String> {
        None
    }

    /// What a preview shows of `plan` where it does not show groups and levels.
    fn preview(&self, _plan: &Plan, _all: bool) -> Option<Vec<preview::Line>> {
        None
    }

    /// Add what a preview for programs says besides the tasks.
    fn describe(&self, _document: &mut Value) {}

    /// Files that its prompts tell agents to read, by their paths from the root of the project.
    fn named(&self) -> &[String] {
        &[]
    }

    /// How many tasks the plan's own files claim to be done, where that is only a claim.
    fn claims(&self) -> Option<usize> {
        None
    }

    /// What changes if everything is done again. `read` gives the files of the plan as they are.
    fn done_again(&self, _read: &dyn Fn(&str) -> Option<Vec<u8>>) -> DoneAgain {
        DoneAgain::default()
    }

    /// What another program left about the plan. `None`: nothing that a run could resume from.
    fn left<'r>(&'r self, _files: LeftFiles<'r>) -> Option<Box<dyn Legacy + 'r>> {
        None
    }
}

impl ReadPlan for Reading {
    fn reading(&self) -> &Reading {
        self
    }

    fn reading_mut(&mut self) -> &mut Reading {
        self
    }
}
