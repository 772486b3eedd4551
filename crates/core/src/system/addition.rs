//! A task that is added to a plan by command, whatever the plan's system.

use crate::diagnostic::nearest;
use crate::plan::{AboutTask, Argv, GroupId, Plan, RepoPath, TaskId, TaskSpec};
use crate::run::Refusal;

/// The task that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    pub id: TaskId,
    pub title: String,
    /// The text for the agent; `None`: the title says all.
    pub description: Option<String>,
    pub layer: Option<GroupId>,
    pub after: Vec<TaskId>,
    pub files: Vec<RepoPath>,
    /// `None`: the plan's own word counts, if it has one for all tasks.
    pub checks: Option<Vec<String>>,
    /// Its story, agent and size, where tasks have them.
    pub about: AboutTask,
}

pub(super) fn refused(reason: impl Into<String>, hint: Option<String>) -> Refusal {
    Refusal { reason: reason.into(), hint, stale: false }
}

impl Addition {
    /// Refuse what no plan could hold. `plan` is as it was before, as far as it could be read.
    pub fn fits(&self, plan: &Plan) -> Result<(), Refusal> {
        let texts = [Some(&self.title), self.description.as_ref()].into_iter().flatten();
        let texts = texts.chain(self.checks.iter().flatten());
        if let Some(bad) =
            texts.flat_map(|text| text.chars()).find(|&c| c.is_control() && !matches!(c, '\n' | '\t'))
        {
            return Err(refused(format!("{bad:?} cannot be part of a plan"), None));
        }
        if self.title.trim().is_empty() || self.title.contains(['\n', '\t']) {
            return Err(refused("a title is one line", None));
        }
        if self.checks.iter().flatten().any(|check| check.trim().is_empty()) {
            return Err(refused("a check is a command", None));
        }
        if self.layer.is_some() {
            self.layer_of(plan)?;
        }
        for need in &self.after {
            if *need == self.id {
                return Err(refused(format!("{need} cannot wait for itself"), None));
            }
            if !plan.tasks.iter().any(|task| task.id == *need) {
                let near = nearest(need.as_str(), plan.tasks.iter().map(|task| task.id.as_str()));
                let hint = near.map(|near| format!("did you mean {near}?"));
                return Err(refused(
                    format!("the task cannot wait for {need}: the plan has no such task"),
                    hint,
                ));
            }
        }
        Ok(())
    }

    /// Whether the plan has a task of this id, in any spelling.
    pub(super) fn is_in(&self, plan: &Plan) -> bool {
        plan.tasks.iter().any(|task| task.id.folded() == self.id.folded())
    }

    pub(super) fn taken(&self) -> Refusal {
        let hint = format!("`piton status {}` shows it; give yours another id", self.id);
        refused(format!("the plan already has another task {}", self.id), Some(hint))
    }

    /// The position of the layer that is asked for.
    fn layer_of(&self, plan: &Plan) -> Result<Option<usize>, Refusal> {
        let Some(layer) = &self.layer else { return Ok(None) };
        let position = plan.groups.iter().position(|group| group.id == *layer);
        position.map(Some).ok_or_else(|| {
            let names = || plan.groups.iter().map(|group| group.id.as_str());
            let hint = match nearest(layer.as_str(), names()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("the layers are {}", names().collect::<Vec<_>>().join(", ")),
            };
            refused(format!("there is no layer {layer} in the plan"), Some(hint))
        })
    }

    /// What was read back out of the grown plan has to be what was asked for: a text may mean something else in a
    /// plan's own words.
    pub fn is_read_as_meant(&self, grown: &Plan) -> Result<(), Refusal> {
        let Some(spec) = grown.tasks.iter().find(|task| task.id == self.id) else {
            return Err(refused(format!("{} would not be read back from the changed plan", self.id), None));
        };
        let misread = |what: &str| refused(format!("the {what} would be read as something else"), None);
        let TaskSpec { title, group, depends_on, files, checks, .. } = spec;
        if title.trim() != self.title.trim() {
            return Err(misread("title"));
        }
        if self.layer_of(grown)?.is_some_and(|asked| u32::try_from(asked) != Ok(*group)) {
            return Err(misread("layer"));
        }
        if !self.after.iter().all(|need| depends_on.contains(need)) {
            return Err(misread("list of what it waits for"));
        }
        if !self.files.iter().all(|file| files.contains(file)) {
            return Err(misread("list of files"));
        }
        let asked = self.checks.as_deref().unwrap_or_default();
        let runs = |line: &String| checks.iter().any(|check| check.run == Argv::parse(line.trim()));
        match asked.iter().find(|line| !runs(line)) {
            Some(line) => {
                let hint = "put it into a script, and run that".to_owned();
                Err(refused(format!("`{line}` would be read as something else"), Some(hint)))
            }
            None => Ok(()),
        }
    }
}
