//! What a list says beyond its tasks, which only its state file shows: read with the list, kept with the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::TaskId;

/// Where things are, and how the list tells its tasks. Paths are as they were given; empty: there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    pub todolist_path: String,
    pub plan_path: String,
    pub clarified_requirements_path: String,
    pub analysis_report_path: String,
    pub project_name: String,
    pub project_path: String,
    /// Questions are answered without a person.
    pub auto_answer: bool,
    /// In the order of the list, words such as `ALL` that stand for one among them.
    pub stories: Vec<UserStory>,
    pub tasks: BTreeMap<TaskId, TaskFacts>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserStory {
    pub id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
}

/// What the line of a task says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskFacts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<String>,
    /// As it is written, not the profile that it is mapped to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// As they are written: a folder may end with `/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}
