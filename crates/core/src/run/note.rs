//! What is kept in the journal and changes no task.

use serde::{Deserialize, Serialize};

use super::comment::Comment;
use super::imported::ImportedError;
use super::report::Report;
use super::task::Pass;
use super::usage::ByModel;
use crate::plan::{Digest, Oid, TaskId};
use crate::time::{Span, Timestamp};

/// A record that changes no task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// A rule for every agent and person that works on this run.
    Guardrail { text: String },
    /// A guardrail with this text is no longer valid.
    GuardrailRemoved { text: String },
    /// An entry for later readers, about one task or the whole run.
    Entry {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        text: String,
        /// The prompt of the task's next agent has it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        for_next: bool,
    },
    /// Something about a task that does not say whether it is done.
    Told { task: TaskId, report: Box<Report> },
    /// Errors of a task that a person or an agent wrote into a state file, with their type, step and time.
    Errors { task: TaskId, errors: Vec<ImportedError> },
    /// Fields of a state file that Piton does not use. They are merged into those that were carried before, and copied
    /// into what Piton writes. A null removes a field.
    Carried { file: String, fields: serde_json::Value },
    /// An edit of a state file was applied. It was made in a copy that showed the journal up to `shown`.
    Heard { file: String, shown: u64, edit: String },
    /// When the work began, as another program wrote it before this journal.
    Began { began: Timestamp },
    /// The plan's files could not be read during the run. The run continues with the plan that it has.
    PlanUnreadable { reason: String },
    /// An edit of a state file that the rules do not allow.
    EditRefused {
        file: String,
        edit: String,
        reason: String,
        /// The task of the run that it is about, if it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    },
    /// What a run of an agent has used, by model, if its client reports it.
    Spent {
        task: TaskId,
        fence: u64,
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<ByModel>,
        /// What it used beyond that, as an estimate: it was cut off before it could report it.
        #[serde(default, skip_serializing_if = "ByModel::is_empty")]
        estimate: ByModel,
        /// How long it worked. Only for agents that judge or advise: their end is not an event.
        #[serde(default, skip_serializing_if = "Span::is_zero")]
        took: Span,
        /// Its job, where that may be found again: it is booked once.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        job: String,
    },
    /// What the work of a task that is under way is in conflict with, as far as it is seen now. Nothing: with nothing any
    /// more.
    ConflictsAhead { task: TaskId, fence: u64, conflicts: Vec<ConflictAhead> },
    /// A person's comment on lines of a task's work. It is kept until it is sent.
    Commented { task: TaskId, comment: Box<Comment> },
    /// A comment that was not sent is taken back: where it stands in the journal.
    CommentDropped { task: TaskId, comment: u64 },
    /// What waited for a person was seen by the one who notes it. What is over is forgotten.
    Seen {
        items: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        over: Vec<String>,
    },
    /// Checks that ran, with any result: for this task, or for a chain whose last task this is.
    ChecksRan {
        task: TaskId,
        runs: Vec<CheckRun>,
        /// How many of them could run at the same time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lanes: Option<u32>,
    },
}

/// Work that could not be merged as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConflictAhead {
    /// The task under way that changes the same; without one, it is the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<TaskId>,
    pub files: Vec<String>,
}

/// How often a check ran on one tree, and with which results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    pub check: Digest,
    pub name: String,
    pub runs: u32,
    pub passes: u32,
    /// All runs together.
    pub took: Span,
    /// It was red and then passed, on the same tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaked: bool,
    /// It ran for several candidates at once. If it was red, nothing tells whether it flaked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_several: bool,
    /// Processor time of all runs together, where the machine tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Span>,
    /// Where it has passed, if that counts for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Pass>,
}

impl CheckRun {
    /// For a check that has not run yet.
    pub fn new(check: Digest, name: String) -> CheckRun {
        let (took, flaked, for_several) = (Span(0), false, false);
        CheckRun { check, name, runs: 0, passes: 0, took, flaked, for_several, cpu: None, pass: None }
    }

    pub fn add(&mut self, passed: bool, took: Span) {
        self.flaked |= passed && self.runs > self.passes;
        self.runs += 1;
        self.passes += u32::from(passed);
        self.took = self.took.plus(took);
    }

    /// What the last run has used, if that is known.
    pub fn use_cpu(&mut self, cpu: Option<Span>) {
        self.cpu = cpu.map(|cpu| self.cpu.unwrap_or_default().plus(cpu));
    }
}

/// How a run's results were folded into the project's own description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextUpdate {
    /// Its path; `None` if it does not exist.
    pub path: Option<String>,
    pub features: Vec<String>,
    pub endpoints: Vec<String>,
    pub models: Vec<String>,
    /// The commit that changed it. Without one nothing was changed, for this reason.
    pub commit: Option<Oid>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub skipped: String,
    /// What was read there although it is not right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
