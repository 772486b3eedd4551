//! What a run of the rw-kit system has to know about its list, beyond the tasks: only its state file shows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TaskId;

/// The list, as its state file describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// From the root of the project.
    pub todolist_path: String,
    /// The plan that the list was made from; empty if there is none. The same for the others.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan_path: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub clarified_requirements_path: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub analysis_report_path: String,
    /// The name that the session was started with; empty: it is named after its start.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session_id: String,
    /// In the order of the list, with those that only tasks name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stories: Vec<Story>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<TaskId, AboutTask>,
}

/// A user story, which tasks are for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// `US-001`, or a word such as `ALL`.
    pub id: String,
    /// Empty where only tasks name it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
}

/// What a list says about one task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutTask {
    /// A story of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<String>,
    /// As it is written, whichever profile does the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// From the root of the project: files, folders that end in `/`, and patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl About {
    /// The list as it is now, with what only the run knows.
    #[must_use]
    pub fn known_from(mut self, before: Option<&About>) -> About {
        let Some(before) = before else { return self };
        for (now, then) in [
            (&mut self.clarified_requirements_path, &before.clarified_requirements_path),
            (&mut self.analysis_report_path, &before.analysis_report_path),
            (&mut self.session_id, &before.session_id),
        ] {
            if now.is_empty() {
                now.clone_from(then);
            }
        }
        self
    }

    /// A task's story.
    pub fn story(&self, task: &TaskId) -> Option<&Story> {
        let id = self.tasks.get(task)?.story.as_ref()?;
        self.stories.iter().find(|story| story.id == *id)
    }
}
