//! Which system a run's plan is of, with what only that system's files say. A journal has it as four keys of the settings:
//! `dialect`, and `issue`, `list` or `iterative`.

use serde::{Deserialize, Serialize};

use super::{Policy, SystemRef, named};
use crate::plan::{About, Issue, Iterative, Mode, Plan, RepoPath, TaskId, TaskSpec};
use crate::system::issue::plan::VALIDATION;
use crate::system::{execute, issue, iterative, native, rwkit};

/// The system of a plan, and what it needs to know beyond the tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Keys", into = "Keys")]
pub enum Form {
    #[default]
    Native,
    Execute,
    Issue(Issue),
    Rwkit(Box<About>),
    Iterative(Box<Iterative>),
    /// A system that a program built on this crate adds.
    Added(SystemRef),
}

impl Form {
    /// The row of its system.
    pub fn system(&self) -> SystemRef {
        match self {
            Form::Native => &native::Native,
            Form::Execute => &execute::Execute,
            Form::Issue(_) => &issue::Issues,
            Form::Rwkit(_) => &rwkit::Rwkit,
            Form::Iterative(_) => &iterative::Iterations,
            Form::Added(system) => *system,
        }
    }

    pub fn policy(&self) -> Policy {
        self.system().policy()
    }

    /// The issue that it is about.
    pub fn issue(&self) -> Option<&Issue> {
        if let Form::Issue(issue) = self { Some(issue) } else { None }
    }

    /// What its todolist says beside the tasks.
    pub fn list(&self) -> Option<&About> {
        if let Form::Rwkit(list) = self { Some(list) } else { None }
    }

    /// What its brief says.
    pub fn brief(&self) -> Option<&Iterative> {
        if let Form::Iterative(brief) = self { Some(brief) } else { None }
    }

    /// What there is to do in a plan of this form, where it is not counted in tasks alone.
    pub(crate) fn size(&self, tasks: &[TaskSpec]) -> Option<String> {
        match self {
            Form::Rwkit(list) => Some(rwkit::plan::size(list, tasks)),
            Form::Iterative(brief) => Some(iterative::plan::size(brief)),
            Form::Native | Form::Execute | Form::Issue(_) | Form::Added(_) => None,
        }
    }

    /// The same where groups have a name of their own.
    pub(crate) fn size_in_groups(&self, plan: &Plan) -> Option<String> {
        match self {
            Form::Rwkit(list) => Some(rwkit::plan::size_in_batches(list, plan)),
            form => form.size(&plan.tasks),
        }
    }

    /// The file in the plan's folder by which something is made there that is not code.
    pub fn made_by(&self) -> Option<&'static str> {
        let knowledge = self.brief().filter(|brief| brief.mode == Mode::Knowledge);
        knowledge.map(|_| iterative::plan::LISTS[1])
    }

    /// What each task makes, where that is not code.
    pub fn made(&self) -> Option<Vec<(TaskId, Vec<RepoPath>)>> {
        self.brief().filter(|brief| brief.mode == Mode::Knowledge).map(Iterative::outputs)
    }

    /// Whether a task is in the plan's files, and not one that Piton adds at the end.
    pub fn lists(&self, task: &TaskId) -> bool {
        match self {
            Form::Native | Form::Execute | Form::Added(_) => true,
            Form::Issue(_) => task.as_str() != VALIDATION,
            Form::Rwkit(list) => list.tasks.contains_key(task),
            Form::Iterative(brief) => brief.units.contains_key(task),
        }
    }

    /// The form of a plan that is read again, of which the run knows more than the plan says.
    #[must_use]
    pub fn known_from(self, before: &Form) -> Form {
        match (self, before) {
            (Form::Rwkit(list), Form::Rwkit(before)) => Form::Rwkit(Box::new(list.known_from(Some(before)))),
            (form, _) => form,
        }
    }

    /// The form of a run whose plan has grown. What it says about new tasks comes from the plan.
    #[must_use]
    pub fn grown(&self, plan: &Form) -> Form {
        match (self, plan) {
            (Form::Rwkit(_), Form::Rwkit(_)) => plan.clone().known_from(self),
            (Form::Iterative(_), Form::Iterative(_)) => plan.clone(),
            _ => self.clone(),
        }
    }

    /// What of its work counts wherever git would pass over it. The plan is at `place` in the project, if it lies there.
    pub fn outputs(&self, place: Option<&str>) -> Vec<RepoPath> {
        self.brief().map(|brief| brief.makes(place)).unwrap_or_default()
    }
}

/// How a journal has it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Keys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dialect: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issue: Option<Issue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    list: Option<Box<About>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    iterative: Option<Box<Iterative>>,
}

impl From<Form> for Keys {
    fn from(form: Form) -> Keys {
        let name = form.system().name();
        let keys = Keys { dialect: Some(name.to_owned()), ..Keys::default() };
        match form {
            Form::Native => Keys::default(),
            Form::Execute | Form::Added(_) => keys,
            Form::Issue(issue) => Keys { issue: Some(issue), ..keys },
            Form::Rwkit(list) => Keys { list: Some(list), ..keys },
            Form::Iterative(iterative) => Keys { iterative: Some(iterative), ..keys },
        }
    }
}

impl TryFrom<Keys> for Form {
    type Error = String;

    fn try_from(keys: Keys) -> Result<Form, String> {
        let Some(name) = keys.dialect else { return Ok(Form::Native) };
        let system = named(&name).ok_or_else(|| format!("this version does not know the system `{name}`"))?;
        Ok(match system.plain() {
            Form::Issue(none) => Form::Issue(keys.issue.unwrap_or(none)),
            Form::Rwkit(none) => Form::Rwkit(keys.list.unwrap_or(none)),
            Form::Iterative(none) => Form::Iterative(keys.iterative.unwrap_or(none)),
            form @ (Form::Native | Form::Execute | Form::Added(_)) => form,
        })
    }
}
