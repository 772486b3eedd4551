//! What was answered, as a file: the plan that a run goes by until the tracker is asked again.

use serde::{Deserialize, Serialize};

use super::ask::Ask;
use crate::plan::TaskId;
use crate::system::kit::draft::named;

/// What this version writes. It reads no other.
pub const VERSION: u32 = 1;
/// The name that makes a JSON file a snapshot.
pub const MARK: &str = "piton_issues";

/// Issues as a tracker had them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The version.
    pub piton_issues: u32,
    /// What was asked, as it was typed.
    pub ask: String,
    /// The repository, such as `github.com/owner/name`. Empty: the project itself.
    pub of: String,
    /// By their numbers.
    pub issues: Vec<Issue>,
    /// Closed issues outside of the plan: no task has to wait for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<String>,
    /// Issues outside of the plan that are open, and waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<OutsideIssue>,
    /// What a person should know about the answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutsideIssue {
    pub id: String,
    #[serde(default)]
    pub title: String,
}

/// One issue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Issue {
    /// Its number.
    pub id: String,
    pub title: String,
    pub state: IssueState,
    /// Who wrote it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Who works on it, where the tracker knows one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub assignee: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub updated: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub milestone: String,
    /// The issue that it is a part of.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parent: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parent_title: String,
    /// Issues that have to be closed before, as the tracker itself knows it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// 1 is first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// It is what its parts are, and nothing itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_group: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<IssueComment>,
    /// It was closed, and the checks of its task said that it is not done: the task counts as open, however it looks here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_refuted: bool,
}

/// Only of people who may write to the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssueComment {
    pub by: String,
    pub text: String,
}

/// How far an issue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueState {
    #[default]
    Open,
    /// It was closed as completed.
    Closed,
    /// It was closed and is not to be done.
    Dropped,
    /// Somebody else works on it.
    Taken,
    /// It is deferred, blocked by hand, or waits for something that Piton does not know.
    Later,
}

impl Snapshot {
    pub(super) fn new(ask: &Ask, of: &str) -> Snapshot {
        Snapshot { piton_issues: VERSION, ask: ask.to_string(), of: of.to_owned(), ..Snapshot::default() }
    }

    /// What a file says that Piton wrote. `None` if it is something else, or of another version.
    pub fn read(bytes: &[u8]) -> Option<Snapshot> {
        let snapshot: Snapshot = serde_json::from_str(std::str::from_utf8(bytes).ok()?).ok()?;
        (snapshot.piton_issues == VERSION).then_some(snapshot)
    }

    /// The issue that a task of the plan stands for.
    pub fn issue_of(&self, task: &TaskId) -> Option<&Issue> {
        self.issues.iter().find(|issue| named(&issue.id).as_ref() == Some(task))
    }

    /// What was refuted stays so until its issue is open again.
    #[must_use]
    pub fn after(mut self, before: Option<&Snapshot>) -> Snapshot {
        let refuted = before.into_iter().flat_map(|before| &before.issues).filter(|issue| issue.is_refuted);
        let refuted: Vec<&str> = refuted.map(|issue| issue.id.as_str()).collect();
        for issue in self.issues.iter_mut().filter(|issue| issue.state == IssueState::Closed) {
            issue.is_refuted = refuted.contains(&issue.id.as_str());
        }
        self
    }

    /// What was asked.
    pub fn asked(&self) -> Option<Ask> {
        Ask::parse(&self.ask)?.ok()
    }

    /// The file.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
