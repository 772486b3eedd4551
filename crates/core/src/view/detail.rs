//! Everything about one task on one page: what it asks for, every attempt at it, the evidence, and what to do next.

use serde::{Serialize, Serializer};

use super::{Attempt, Used, Why, attempts};
use crate::plan::{Oid, TaskId, TaskSpec};
use crate::run::{Bill, CommitMade, ConflictAhead, Event, Note, Proof, Recorded, Run, Status, Task};
use crate::time::{Span, Timestamp};

/// A task as its page shows it.
#[derive(Clone, Debug, Serialize)]
pub struct TaskDetail {
    pub task: TaskId,
    pub title: String,
    /// The group that it is in, if the plan has several.
    pub group: Option<String>,
    pub status: Status,
    #[serde(serialize_with = "as_text")]
    pub since: Timestamp,
    /// Why it is where it is, and what would help.
    pub why: Why,
    pub prompt: String,
    pub criteria: Vec<String>,
    pub depends_on: Vec<TaskId>,
    /// The tasks that depend on it.
    pub dependents: Vec<TaskId>,
    /// Files that the plan expects it to change.
    pub expected_files: Vec<String>,
    /// What judges it, by name.
    pub checks: Vec<String>,
    pub agent: String,
    /// How often the plan has changed what it asks for.
    pub replanned: u32,
    pub attempts_spent: u32,
    pub attempts_allowed: u32,
    pub attempts: Vec<Attempt>,
    pub changed: ChangeDetail,
    /// What people said about it, in order.
    pub remarks: Vec<Remark>,
    /// What everybody who works on the run has to heed.
    pub guardrails: Vec<String>,
    /// What a person should look at in it, although it passed.
    pub noticed: Option<String>,
    /// What its work will be in conflict with, as it is now.
    pub conflicts_ahead: Vec<ConflictAhead>,
    #[serde(serialize_with = "as_used")]
    pub used: Bill,
    /// How long its agents have worked.
    pub worked_ms: Span,
}

/// What its work has changed, as it was last captured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ChangeDetail {
    pub created: Vec<String>,
    pub modified: Vec<String>,
    /// Oldest first.
    pub commits: Vec<CommitMade>,
    /// The commit by which it landed.
    pub landed: Option<Oid>,
}

/// Something that somebody said about the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    #[serde(serialize_with = "as_text")]
    pub at: Timestamp,
    pub by: String,
    pub text: String,
}

/// What the page is made of, beside the events.
#[derive(Clone, Debug)]
pub struct DetailSources<'a> {
    pub run: &'a Run,
    pub task: &'a Task,
    pub spec: &'a TaskSpec,
    pub why: Why,
    pub dependents: Vec<TaskId>,
    pub guardrails: Vec<String>,
}

/// The page of a task, from all its events in order.
pub fn task_detail<'e>(of: DetailSources<'_>, events: impl IntoIterator<Item = &'e Recorded>) -> TaskDetail {
    let DetailSources { run, task, spec, why, dependents, guardrails } = of;
    let landed = match &task.proof {
        Some(Proof::Landed { commit, .. }) => Some(commit.clone()),
        _ => None,
    };
    let mut detail = TaskDetail {
        task: task.id.clone(),
        title: spec.title.clone(),
        group: run.group(task.group).filter(|_| run.groups.len() > 1).map(|group| group.id.to_string()),
        status: task.status(),
        since: task.since,
        why,
        prompt: spec.prompt.clone(),
        criteria: spec.criteria.clone(),
        depends_on: spec.depends_on.clone(),
        dependents,
        expected_files: spec.files.iter().map(ToString::to_string).collect(),
        checks: spec.checks.iter().map(|check| check.name.clone()).collect(),
        agent: task.agent.clone(),
        replanned: 0,
        attempts_spent: task.spent,
        attempts_allowed: task.budget,
        attempts: Vec::new(),
        changed: ChangeDetail { landed, ..ChangeDetail::default() },
        remarks: Vec::new(),
        guardrails,
        noticed: run.noticed.get(&task.id).cloned(),
        conflicts_ahead: run.conflicts_ahead.get(&task.id).cloned().unwrap_or_default(),
        used: task.used,
        worked_ms: task.worked,
    };
    let events: Vec<&Recorded> = events.into_iter().collect();
    events.iter().for_each(|recorded| detail.read(recorded));
    detail.attempts = attempts(events);
    detail
}

impl TaskDetail {
    fn read(&mut self, recorded: &Recorded) {
        let at = recorded.at;
        match &recorded.event {
            Event::WorkCaptured { work, .. } => {
                let work = work.clone();
                self.changed.created = work.created;
                self.changed.modified = work.modified;
                self.changed.commits = work.commits;
            }
            Event::TaskChanged { .. } => self.replanned += 1,
            Event::Reset { .. } => {
                self.changed = ChangeDetail { landed: self.changed.landed.take(), ..ChangeDetail::default() };
            }
            _ => {}
        }
        if let Some((by, text)) = remark(&recorded.event) {
            self.remarks.push(Remark { at, by: by.to_owned(), text });
        }
    }
}

/// What somebody said about a task, and who.
pub(super) fn remark(event: &Event) -> Option<(&str, String)> {
    let (by, text) = match event {
        Event::Answered { by, text, .. } => (by, text.clone()),
        Event::Skipped { by, reason, .. } => (by, format!("skipped it: {reason}")),
        Event::Retried { by, .. } => (by, "asked to retry it".to_owned()),
        Event::Unblocked { by, .. } => (by, "released it".to_owned()),
        Event::Raised { by, attempts, .. } => (by, format!("allowed {attempts} attempts")),
        Event::Reset { by, .. } => (by, "reset it".to_owned()),
        Event::Noted { by, note: Note::Entry { text, .. } } => (by, text.clone()),
        Event::Noted { by, note: Note::Told { report, .. } } | Event::Reported { by, report, .. }
            if !report.note.is_empty() =>
        {
            (by, report.note.clone())
        }
        _ => return None,
    };
    Some((by, text))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn as_text<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

fn as_used<S: Serializer>(bill: &Bill, serializer: S) -> Result<S::Ok, S::Error> {
    Used::new(bill).serialize(serializer)
}
