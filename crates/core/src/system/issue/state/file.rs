//! The shape of the file, its keys in the order in which its description shows them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::{Status, Tests};
use crate::system::kit::fields::LenientWord;
use crate::system::kit::projection::Time;
use crate::system::kit::shape::Key;
use crate::system::kit::shape::Shape::{self, Fields, Leaf, List};
use crate::system::kit::status::TaskStatus;

/// The name of the file, also in the journal.
pub const FILE: &str = "execution-state.json";

/// The state of the work on an issue, for scripts, people and agents. Written by Piton from its journal; unknown fields
/// are kept.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "execution-state.json"))]
pub struct StateFile {
    pub issue: Issue,
    /// When the run was made, or the first task was begun.
    pub created_at: Time,
    /// When the journal was last written to.
    pub updated_at: Time,
    /// In the order of the plan.
    pub tasks: Vec<TaskEntry>,
    /// The position in the journal that this file shows. Leave it as it is: an edit is what differs from there.
    pub piton_seq: u64,
    /// The run whose journal that is.
    pub piton_run: String,
    /// Fields of others, laid over the rest.
    #[serde(skip)]
    pub carried: serde_json::Map<String, Value>,
}

/// What the run is about: known from the plan's folder, not from the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Issue {
    pub number: u64,
    pub title: String,
    /// Where the work lands.
    pub branch: String,
}

/// One task.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskEntry {
    /// As `tasks.md` numbers it.
    pub id: String,
    pub description: String,
    pub status: TaskWord,
    pub started_at: Option<Time>,
    /// When it became part of the branch.
    pub completed_at: Option<Time>,
    /// New files.
    pub files_created: Vec<String>,
    /// Files that were there before, and were changed or removed.
    pub files_modified: Vec<String>,
    /// What other tasks can use.
    pub exports: Vec<String>,
    /// Conventions that later tasks should follow.
    pub patterns: Vec<String>,
    /// What was reported about the work; of a failed task, why it failed.
    pub notes: String,
    /// As last counted; null before the tests ran.
    pub test_results: Option<TestResults>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestResults {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl From<Tests> for TestResults {
    fn from(tests: Tests) -> TestResults {
        let Tests { passed, failed, skipped } = tests;
        TestResults { passed, failed, skipped }
    }
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskWord {
    Pending,
    InProgress,
    Completed,
    /// Will be tried again, or needs a person.
    Failed,
}

impl TaskWord {
    pub const ALL: [TaskWord; 4] =
        [TaskWord::Pending, TaskWord::InProgress, TaskWord::Completed, TaskWord::Failed];

    pub fn word(self) -> &'static str {
        match self {
            TaskWord::Pending => "pending",
            TaskWord::InProgress => "in_progress",
            TaskWord::Completed => "completed",
            TaskWord::Failed => "failed",
        }
    }

    /// What a task's status is called here.
    pub fn from_status(status: Status) -> TaskWord {
        match status {
            Status::Pending | Status::Unreachable | Status::Waiting => TaskWord::Pending,
            Status::InProgress
            | Status::Confirming
            | Status::Verifying
            | Status::Verified
            | Status::Merging => TaskWord::InProgress,
            Status::Completed => TaskWord::Completed,
            // A skipped task is marked as failed here. Its notes say why.
            Status::Failed | Status::Abandoned | Status::Blocked | Status::Skipped | Status::PassedOver => {
                TaskWord::Failed
            }
        }
    }

    /// The word exactly as it is written.
    pub fn exact(word: &str) -> Option<TaskWord> {
        TaskWord::ALL.into_iter().find(|known| known.word() == word)
    }

    /// Also words of the other systems, and of people.
    pub(super) fn parse_lenient(word: &str) -> Option<LenientWord<TaskWord>> {
        if let Some(word) = TaskWord::exact(word) {
            return Some(LenientWord { word, exact: true });
        }
        let word = match TaskStatus::parse_lenient(word)?.word {
            TaskStatus::Pending => TaskWord::Pending,
            TaskStatus::InProgress | TaskStatus::Verifying | TaskStatus::Verified | TaskStatus::Merging => {
                TaskWord::InProgress
            }
            TaskStatus::Completed => TaskWord::Completed,
            TaskStatus::Failed | TaskStatus::Abandoned => TaskWord::Failed,
        };
        Some(LenientWord { word, exact: false })
    }
}

/// Which fields of the file have a meaning here.
pub(super) const ROOT: Shape = Fields(&[
    ("issue", Fields(&[("number", Leaf), ("title", Leaf), ("branch", Leaf)])),
    ("created_at", Leaf),
    ("updated_at", Leaf),
    ("tasks", List(&TASK, Key::Field("id"))),
    ("piton_seq", Leaf),
    ("piton_run", Leaf),
]);

pub(super) const TASK: Shape = Fields(&[
    ("id", Leaf),
    ("description", Leaf),
    ("status", Leaf),
    ("started_at", Leaf),
    ("completed_at", Leaf),
    ("files_created", Leaf),
    ("files_modified", Leaf),
    ("exports", Leaf),
    ("patterns", Leaf),
    ("notes", Leaf),
    ("test_results", Fields(&[("passed", Leaf), ("failed", Leaf), ("skipped", Leaf)])),
]);

/// The JSON Schema of the file as it is written; fields of others are allowed everywhere.
#[cfg(feature = "schema")]
pub fn schema() -> serde_json::Value {
    crate::system::kit::schema::schema_of::<StateFile>()
}
