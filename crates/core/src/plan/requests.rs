//! How work lands by requests: a pull request of GitHub, or a merge request of GitLab.

use serde::{Deserialize, Serialize};

use super::{GroupId, TaskId};
use crate::time::Span;

/// A run that has these lands by requests. A run without them moves the target itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    #[serde(skip_serializing_if = "Per::is_task")]
    pub per: Per,
    pub merge: MergeBy,
    pub method: Method,
    /// The remote whose host has the requests.
    pub remote: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Requests are opened as drafts: a person says when each is ready.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    /// How often the host or its reviewers may send a task back before a person is asked.
    pub rounds: u32,
    /// The time between two looks at a request.
    pub poll: Span,
    /// How long a request without any check is given, since its branch was pushed. The host may begin its checks late.
    pub settle: Span,
    /// A task may begin on the open requests of what it depends on. It lands after them all the same.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stack: bool,
    /// Of a run that lands as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            per: Per::default(),
            merge: MergeBy::default(),
            method: Method::default(),
            remote: "origin".to_owned(),
            labels: Vec::new(),
            draft: false,
            // With more, an agent that cannot make the host's checks pass costs as much as several tasks.
            rounds: 3,
            // A host allows thousands of questions an hour, and its checks take minutes.
            poll: Span::seconds(30),
            settle: Span::minutes(1),
            stack: false,
            whole: None,
        }
    }
}

/// What a request is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    #[default]
    Task,
    /// All tasks of a group: they land as with [`Per::Run`], and the next group begins once they are merged.
    Batch,
    /// All tasks of a run: they land on a branch of Piton's own, and that branch has one request.
    Run,
}

impl Per {
    pub const ALL: [(&'static str, Per); 3] = [("task", Per::Task), ("batch", Per::Batch), ("run", Per::Run)];

    fn is_task(&self) -> bool {
        *self == Per::Task
    }
}

/// How a run lands as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// The branch that the request is for. The tasks land on another one, the run's target.
    pub into: String,
    /// The task of the run that is the request. No plan has it.
    pub task: TaskId,
    /// Tasks like it, each for the request of a group. `task` is the request of the last group, and of what comes late.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<(GroupId, TaskId)>,
}

/// Who merges a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeBy {
    /// Piton, once the host's checks pass and nothing stands in the way.
    #[default]
    Piton,
    /// The host, by its queue or by merging automatically: Piton asks for it once.
    Host,
    Person,
}

impl MergeBy {
    pub const ALL: [(&'static str, MergeBy); 3] =
        [("piton", MergeBy::Piton), ("host", MergeBy::Host), ("person", MergeBy::Person)];
}

/// How the host makes one history of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    #[default]
    Merge,
    Squash,
    Rebase,
}

impl Method {
    pub const ALL: [(&'static str, Method); 3] =
        [("merge", Method::Merge), ("squash", Method::Squash), ("rebase", Method::Rebase)];
}
