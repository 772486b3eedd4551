//! The shape of the file: what two descriptions of it ask for together, the keys in the order of the newer one.

use serde::Serialize;
use serde_json::Value;

use super::words::{CommitType, ContextStatus, LayerStatus, QueueStatus, RunWord, WorktreeStatus};
pub(super) use crate::system::kit::projection::{Map, Time};
use crate::system::kit::status::TaskStatus;

/// The version of the file's shape that is written.
pub(super) const VERSION: &str = "2.0";

/// The state of an execute run, for scripts, people and agents. Written by Piton from its journal: counters, lists and
/// layers are derived, unknown fields are kept.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "execute-state.json"))]
pub struct StateFile {
    /// The shape of this file.
    pub schema_version: String,
    /// The plan's name.
    pub prd_slug: String,
    /// The project's folder.
    pub project_path: String,
    /// The folder that holds the worktrees; null where there is no git.
    pub worktree_dir: Option<String>,
    /// The folder of the plan.
    pub tasks_path: String,
    /// When work began; before that, when the run was made.
    pub started_at: Time,
    /// When the journal was last written to.
    pub updated_at: Time,
    /// When the last task was completed; null unless all are.
    pub completed_at: Option<Time>,
    /// Where the run stands.
    pub status: RunWord,
    /// Why it stopped, if it did.
    pub stop_reason: Option<String>,
    /// The first layer that is not complete; null before the start, the last one at the end.
    pub current_layer: Option<String>,
    /// The first batch of that layer that is not finished, counted from 1.
    pub current_batch: Option<u32>,
    /// What the last session was asked to do.
    pub options: Options,
    /// By name, in order.
    pub layers: Map<Layer>,
    /// By id.
    pub tasks: Map<TaskEntry>,
    /// By the id of their task.
    pub worktrees: Map<WorktreeEntry>,
    /// What is about to land, in order, after what has landed in the current layer.
    pub merge_queue: Vec<QueueEntry>,
    /// Ids of completed tasks.
    pub completed: Vec<String>,
    /// Ids of failed tasks.
    pub failed: Vec<String>,
    /// Ids of abandoned tasks.
    pub abandoned: Vec<String>,
    /// Counted anew whenever the file is written.
    pub metrics: Metrics,
    /// How the results were folded into the project's description.
    pub context_update: ContextEntry,
    /// The position in the journal that this file shows. Leave it as it is: an edit is what differs from there.
    pub piton_seq: u64,
    /// The run whose journal that is.
    pub piton_run: String,
    /// Fields of others, laid over the rest.
    #[serde(skip)]
    pub carried: serde_json::Map<String, Value>,
}

/// What the last session was asked to do.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Options {
    /// Tasks worked on at once.
    pub max_parallel: u32,
    /// Only this layer.
    pub layer_filter: Option<String>,
    /// This layer and those after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_layer: Option<String>,
    /// Only this task.
    pub task_filter: Option<String>,
    /// Put before the id in commit subjects.
    pub commit_prefix: String,
    /// Work in place, without commits.
    pub no_commits: bool,
    pub verbose: bool,
    pub quiet: bool,
}

/// One layer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Layer {
    pub status: LayerStatus,
    /// When work on its first task began.
    pub started_at: Option<Time>,
    /// When its last task was completed.
    pub completed_at: Option<Time>,
    pub tasks_total: u32,
    pub tasks_completed: u32,
    /// Failed or abandoned.
    pub tasks_failed: u32,
}

/// One task.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskEntry {
    pub status: TaskStatus,
    /// The number of the attempt running or last run.
    pub attempts: u32,
    /// Null before the first attempt, and again once it is completed.
    pub worktree_path: Option<String>,
    /// Null together with the worktree.
    pub branch: Option<String>,
    pub started_at: Option<Time>,
    /// When its work was verified.
    pub completed_at: Option<Time>,
    /// When it became part of the target branch.
    pub merged_at: Option<Time>,
    pub commits: Vec<CommitEntry>,
    pub errors: Vec<ErrorEntry>,
    /// The feedback for attempts after a failure.
    pub retry_feedback: Vec<FeedbackEntry>,
}

/// A commit of a task.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitEntry {
    pub hash: String,
    #[serde(rename = "type")]
    pub kind: CommitType,
    pub attempt: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What a fix fixes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fixed: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
}

/// A try that failed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorEntry {
    pub attempt: u32,
    /// One of `verification_failed`, `implementation_error`, `merge_conflict`, `timeout`, `limit`, `transient` and
    /// `task_defect`; `not_taken` for an edit of this file that was refused; or another system's word.
    #[serde(rename = "type")]
    pub kind: String,
    /// The command that failed.
    pub step: Option<String>,
    pub message: String,
    /// The end of its output.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub details: String,
    pub timestamp: Option<Time>,
}

/// Feedback for an attempt.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedbackEntry {
    /// The attempt it is for.
    pub attempt: u32,
    pub feedback: String,
}

/// A worktree.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorktreeEntry {
    pub task_id: String,
    pub path: String,
    pub branch: String,
    /// When it was made; until then, when its task was begun.
    pub created_at: Time,
    pub status: WorktreeStatus,
}

/// A place in the order of landing.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueEntry {
    pub task_id: String,
    /// 1 lands first.
    pub priority: u32,
    pub status: QueueStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_at: Option<Time>,
}

/// Figures, under the names of both descriptions of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metrics {
    pub tasks_total: u32,
    pub tasks_completed: u32,
    /// To be tried again.
    pub tasks_failed: u32,
    pub tasks_abandoned: u32,
    /// Neither completed nor abandoned.
    pub tasks_remaining: u32,
    pub total_attempts: u32,
    /// Attempts after the first of each task.
    pub total_retries: u32,
    pub elapsed_seconds: u64,
    pub total_tasks: u32,
    pub completed_tasks: u32,
    /// Failed or abandoned.
    pub failed_tasks: u32,
    pub total_commits: u32,
    pub elapsed_time_seconds: u64,
}

/// How the results were folded into the project's description.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextEntry {
    pub status: ContextStatus,
    pub project_md_path: Option<String>,
    pub features_added: Vec<String>,
    pub endpoints_added: Vec<String>,
    pub models_added: Vec<String>,
    pub commit_hash: Option<String>,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}
