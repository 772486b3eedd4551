//! The shape of the file, its keys in the order in which its description shows them.

use serde::Serialize;
use serde_json::Value;

use super::gates::gate_task;
use super::log::LogEntry;
use super::words::{BatchWord, GateWord, RunWord, StoryWord, TaskWord};
use crate::plan::TaskId;
use crate::system::kit::projection::{Map, Time};
use crate::system::kit::shape;
use crate::system::kit::shape::Key;
use crate::system::kit::shape::Shape::{self, Each, Fields, Leaf, List};

/// Where the file is in the project; also its name in the journal.
pub const FILE: &str = ".claude/rw-kit.state.json";

/// The version of the file's shape that is written.
pub const VERSION: &str = "3.0.0";

/// The state of an rw-kit run, for scripts, people and agents. Written by Piton from its journal: counters, stories,
/// batches and the resume point are derived, unknown fields are kept.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "rw-kit.state.json"))]
pub struct StateFile {
    /// The shape of this file.
    pub version: String,
    /// When the run began, as `exec-YYYYMMDD-HHMMSS` in UTC.
    pub session_id: String,
    /// When the run was made, or the work that it took over began.
    pub started_at: Time,
    /// When the journal was last written to.
    pub updated_at: Time,
    /// Where the run stands.
    pub status: RunWord,
    /// Why it stopped, or what is not done at its end; null otherwise.
    pub stop_reason: Option<String>,
    pub config: Config,
    /// By id, in the order of the list.
    pub user_stories: Map<StoryEntry>,
    pub progress: Progress,
    /// By id, in the order of the list. Gates are not among them.
    pub tasks: Map<TaskEntry>,
    /// In order: an entry's place is its id.
    pub batches: Vec<Batch>,
    /// The first batch that is in progress.
    pub current_batch: Option<u32>,
    /// Failed attempts of each task that has any.
    pub retry_counts: Map<u32>,
    /// Null: not yet, or there is no such gate.
    pub quality_gates: Map<Option<GateWord>>,
    /// How often the review was done.
    pub qa_cycles: u32,
    /// Ids of blocked tasks.
    pub blocked_tasks: Vec<String>,
    /// Names of degraded gates.
    pub degraded_phases: Vec<String>,
    /// What a run that goes on would begin with.
    pub resume_point: ResumePoint,
    /// The newest ones; `piton log` has them all.
    pub logs: Vec<LogEntry>,
    /// The position in the journal that this file shows. Leave it as it is: an edit is what differs from there.
    pub piton_seq: u64,
    /// The run whose journal that is.
    pub piton_run: String,
    /// Fields of others, laid over the rest.
    #[serde(skip)]
    pub carried: serde_json::Map<String, Value>,
}

/// What the run was given. A path that there is none of is empty.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Config {
    pub todolist_path: String,
    pub plan_path: String,
    pub clarified_requirements_path: String,
    pub analysis_report_path: String,
    pub project_name: String,
    pub project_path: String,
    /// Questions are answered without a person.
    pub auto_answer: bool,
}

/// One user story.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoryEntry {
    pub title: String,
    pub total_tasks: u32,
    pub completed_tasks: u32,
    pub status: StoryWord,
}

/// Counted anew whenever the file is written: `total_tasks` is the sum of the others but `verified`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    pub total_tasks: u32,
    pub completed: u32,
    pub in_progress: u32,
    pub pending: u32,
    pub failed: u32,
    /// Of the completed ones those with all three flags.
    pub verified: u32,
    pub blocked: u32,
    pub skipped: u32,
}

/// One task.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskEntry {
    pub description: String,
    pub status: TaskWord,
    /// As the list says it.
    pub agent: Option<String>,
    pub batch_id: u32,
    pub story_id: Option<String>,
    pub dependencies: Vec<String>,
    pub started_at: Option<Time>,
    pub completed_at: Option<Time>,
    /// As git shows them; as reported where nothing was committed.
    pub files_modified: Vec<String>,
    /// As the agent or person reported them.
    pub files_mentioned: Vec<String>,
    /// As the list says that there will be.
    pub files_expected: Vec<String>,
    /// Why the last attempt failed; null once it is completed.
    pub error: Option<String>,
    pub verification: Verification,
    /// Of a skipped task: what it depends on that cannot be done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
}

/// A task is done for good when all three are true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verification {
    /// The agent or person says so.
    pub agent_done: bool,
    /// Its checks have passed: what it should make is there.
    pub files_exist: bool,
    /// It is part of the target.
    pub state_synced: bool,
}

/// One batch.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Batch {
    pub batch_id: u32,
    pub task_ids: Vec<String>,
    pub status: BatchWord,
    pub started_at: Option<Time>,
    pub completed_at: Option<Time>,
    /// Whether the driver of the run compacted its context after this batch. Piton cannot know it.
    pub compacted: bool,
}

/// All null once nothing is left to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumePoint {
    pub batch_id: Option<u32>,
    pub task_id: Option<String>,
    /// One of `preflight`, `planning`, `implementation`, `seed_data`, `unit_tests`, `integration_tests`, `e2e_tests`,
    /// `smoke_test`, `uat` and `qa_review`, or the name of another gate.
    pub phase: Option<String>,
}

impl StateFile {
    /// The same with tasks that are called otherwise. The lines of the log are what was said then.
    pub fn rename(&mut self, name: &dyn Fn(&str) -> String) {
        let all = |ids: &mut Vec<String>| ids.iter_mut().for_each(|id| *id = name(id));
        for (id, task) in &mut self.tasks.0 {
            *id = name(id);
            all(&mut task.dependencies);
            all(&mut task.blocked_by);
        }
        self.retry_counts.0.iter_mut().for_each(|(id, _)| *id = name(id));
        self.batches.iter_mut().for_each(|batch| all(&mut batch.task_ids));
        all(&mut self.blocked_tasks);
        self.resume_point.task_id.iter_mut().for_each(|id| *id = name(id));
    }

    /// Show these as they are claimed to be while their checks still run. The file has no word for that.
    pub fn claim(&mut self, claimed: &[TaskId]) {
        let is_claimed = |id: &str| claimed.iter().any(|task| task.as_str() == id);
        for (_, entry) in self.tasks.0.iter_mut().filter(|(id, _)| is_claimed(id)) {
            // The counters are of what the file shows.
            *self.progress.count_mut(entry.status) -= 1;
            entry.status = TaskWord::Completed;
            *self.progress.count_mut(entry.status) += 1;
            entry.verification.agent_done = true;
        }
        for (name, word) in &mut self.quality_gates.0 {
            if gate_task(name).is_ok_and(|task| claimed.contains(&task)) {
                *word = Some(GateWord::done(name));
            }
        }
    }
}

impl Progress {
    /// How many tasks are called so.
    fn count_mut(&mut self, word: TaskWord) -> &mut u32 {
        match word {
            TaskWord::Pending => &mut self.pending,
            TaskWord::InProgress => &mut self.in_progress,
            TaskWord::Completed => &mut self.completed,
            TaskWord::Failed => &mut self.failed,
            TaskWord::Blocked => &mut self.blocked,
            TaskWord::Skipped => &mut self.skipped,
        }
    }
}

/// Which fields of the file have a meaning here.
pub(super) const ROOT: Shape = Fields(&[
    ("version", Leaf),
    ("session_id", Leaf),
    ("started_at", Leaf),
    ("updated_at", Leaf),
    ("status", Leaf),
    ("stop_reason", Leaf),
    (
        "config",
        Fields(&[
            ("todolist_path", Leaf),
            ("plan_path", Leaf),
            ("clarified_requirements_path", Leaf),
            ("analysis_report_path", Leaf),
            ("project_name", Leaf),
            ("project_path", Leaf),
            ("auto_answer", Leaf),
        ]),
    ),
    (
        "user_stories",
        Each(&Fields(&[("title", Leaf), ("total_tasks", Leaf), ("completed_tasks", Leaf), ("status", Leaf)])),
    ),
    (
        "progress",
        Fields(&[
            ("total_tasks", Leaf),
            ("completed", Leaf),
            ("in_progress", Leaf),
            ("pending", Leaf),
            ("failed", Leaf),
            ("verified", Leaf),
            ("blocked", Leaf),
            ("skipped", Leaf),
        ]),
    ),
    ("tasks", Each(&TASK)),
    ("batches", List(&BATCH, Key::Place)),
    ("current_batch", Leaf),
    ("retry_counts", Leaf),
    ("quality_gates", Leaf),
    ("qa_cycles", Leaf),
    ("blocked_tasks", Leaf),
    ("degraded_phases", Leaf),
    ("resume_point", Fields(&[("batch_id", Leaf), ("task_id", Leaf), ("phase", Leaf)])),
    ("logs", Leaf),
    ("piton_seq", Leaf),
    ("piton_run", Leaf),
]);

const TASK: Shape = Fields(&[
    ("description", Leaf),
    ("status", Leaf),
    ("agent", Leaf),
    ("batch_id", Leaf),
    ("story_id", Leaf),
    ("dependencies", Leaf),
    ("started_at", Leaf),
    ("completed_at", Leaf),
    ("files_modified", Leaf),
    ("files_mentioned", Leaf),
    ("files_expected", Leaf),
    ("error", Leaf),
    ("verification", Fields(&[("agent_done", Leaf), ("files_exist", Leaf), ("state_synced", Leaf)])),
    ("blocked_by", Leaf),
]);

/// Without `compacted`, on which the word of others counts.
const BATCH: Shape = Fields(&[
    ("batch_id", Leaf),
    ("task_ids", Leaf),
    ("status", Leaf),
    ("started_at", Leaf),
    ("completed_at", Leaf),
]);

/// The fields of a file that have no meaning here. Batches are told apart by their ids, wherever they stand.
pub(super) fn foreign(file: &Value) -> serde_json::Map<String, Value> {
    let mut fields = shape::foreign(file, &ROOT);
    fields.shift_remove("batches");
    let mut batches = serde_json::Map::new();
    for (place, batch) in file["batches"].as_array().into_iter().flatten().enumerate() {
        let mut own = shape::foreign(batch, &BATCH);
        if own.get("compacted").is_some_and(|said| !said.is_boolean()) {
            own.shift_remove("compacted");
        }
        let id = batch_id(&batch["batch_id"]).unwrap_or(place as u64).to_string();
        // The first one is what the recipes find under its number.
        if !own.is_empty() && !batches.contains_key(&id) {
            batches.insert(id, Value::Object(own));
        }
    }
    if !batches.is_empty() {
        fields.insert("batches".to_owned(), Value::Object(batches));
    }
    fields
}

/// A number, which some put in quotes.
pub(super) fn batch_id(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// The JSON Schema of the file as it is written; fields of others are allowed everywhere.
#[cfg(feature = "schema")]
pub fn schema() -> serde_json::Value {
    crate::system::kit::schema::schema_of::<StateFile>()
}
