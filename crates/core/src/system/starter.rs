//! A plan to begin with.

use std::fmt;

use super::addition::refused;
use crate::client::Adapter;
use crate::plan::{Check, Domain};
use crate::run::Refusal;
use crate::time::Timestamp;

/// Where a new plan goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// Its file or its folder.
    pub path: String,
    /// The path counts from the nearest folder above that has one of these. None: from the current folder.
    pub below: &'static [&'static str],
    /// What can be typed where something is there already.
    pub taken: Vec<String>,
}

/// The agent of a new plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worker {
    /// This client is installed.
    Client(Adapter),
    /// `piton.toml` names the agent.
    OfProject,
    /// No known client was found: a person has to name an agent.
    Missing,
}

/// What judges the tasks of a new plan that name no check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsualChecks<'a> {
    /// `piton.toml` names them.
    OfProject,
    /// These were found in the project, each with the file that speaks for it.
    Found(&'a [(Check, String)]),
}

/// A text that has a list, which is to become a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListText<'a> {
    /// As messages name it.
    pub name: &'a str,
    pub bytes: &'a [u8],
}

/// What is known when a plan is created.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// What names the plan.
    pub words: &'a [String],
    /// What it is about, if not code.
    pub domain: Option<Domain>,
    /// Where it is written, and how that is typed in a command.
    pub path: &'a str,
    pub typed: &'a str,
    /// For plans that hold settings.
    pub worker: Worker,
    /// The same.
    pub checks: UsualChecks<'a>,
    /// Every key is to be explained.
    pub is_full: bool,
    /// Its tasks come from this text.
    pub list: Option<ListText<'a>>,
    pub now: Timestamp,
    /// A file of the plan as it is now, by its name.
    pub read: &'a dyn Fn(&str) -> Option<String>,
    /// A file of every archived plan next to this one, each with the name of its folder.
    pub archived: &'a dyn Fn(&str) -> Vec<(String, String)>,
}

impl fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").field("words", &self.words).field("path", &self.path).finish_non_exhaustive()
    }
}

/// What a new plan begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    /// By their names in the plan's folder. A plan that is a file has one, whatever its name.
    pub files: Vec<(String, String)>,
    pub said: Vec<String>,
    pub hints: Vec<String>,
}

/// The name of a new plan: exactly one word.
pub(super) fn name<'w>(words: &'w [String], system: &str) -> Result<&'w str, Refusal> {
    match words {
        [name] => Ok(name),
        _ => Err(refused(format!("say what it is called: piton new {system} NAME"), None)),
    }
}
