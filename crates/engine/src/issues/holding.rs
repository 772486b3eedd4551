//! Showing others which issues a run works on, and taking that back when the work has ended. What was added is kept in a file
//! before it is written, so that a run which died takes back what it has added and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::TaskId;
use piton_core::run::{Holder, Status, Task};
use piton_core::system::asked::{Ask, Hold, HoldMarks, HoldSeen, IssueSource};
use serde::{Deserialize, Serialize};

use super::answers;
use super::error::IssuesError;
use super::tracker::Tracker;
use super::wishes::Wishes;
use crate::{crash, disk};

/// The issues that a run shows as its own.
#[derive(Debug)]
pub(super) struct Holds {
    pub(super) tracker: Tracker,
    pub(super) ask: Ask,
    pub(super) wishes: Wishes,
    /// The plan.
    pub(super) path: Utf8PathBuf,
    file: Utf8PathBuf,
    held: Mutex<Held>,
}

pub(super) type Held = BTreeMap<TaskId, HeldIssue>;

/// An issue, and what was added to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeldIssue {
    id: String,
    marks: HoldMarks,
    #[serde(default)]
    label: Option<String>,
    /// It was seen there. Otherwise the process may have died before it was written.
    #[serde(default)]
    is_seen: bool,
}

/// What becomes of what a task's issue shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Showing {
    /// Piton works on it.
    Take,
    /// As it is.
    Keep,
    Done,
    GiveBack,
}

/// What others are to see of a task.
pub(super) fn showing(task: &Task) -> Showing {
    match task.decided {
        _ if task.removed => Showing::GiveBack,
        Status::InProgress | Status::Confirming | Status::Verifying | Status::Verified | Status::Merging => {
            match &task.holder {
                Some(Holder::Ledger(_)) => Showing::Keep,
                Some(Holder::Engine) | None => Showing::Take,
            }
        }
        Status::Failed | Status::Blocked => Showing::Keep,
        Status::Completed => Showing::Done,
        Status::Pending
        | Status::Abandoned
        | Status::Skipped
        | Status::Unreachable
        | Status::Waiting
        | Status::PassedOver => Showing::GiveBack,
    }
}

impl Holds {
    pub(super) fn new(
        tracker: Tracker,
        ask: Ask,
        wishes: Wishes,
        path: Utf8PathBuf,
        file: Utf8PathBuf,
    ) -> Holds {
        let held = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Holds { tracker, ask, wishes, path, file, held: Mutex::new(held.unwrap_or_default()) }
    }

    /// Nothing is taken or given back while this is locked.
    pub(super) fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is anything to show.
    pub(super) fn shows(&self) -> bool {
        self.tracker.is_writable() && (self.wishes.assigns || self.wishes.label.is_some())
    }

    /// Whether somebody else may have the issue of a task, so that it is taken before its agent starts.
    pub(super) fn excludes(&self) -> bool {
        self.ask.source == IssueSource::Beads && self.shows()
    }

    /// Show that a task is worked on. Returns who else works on it.
    pub(super) fn take(&self, held: &mut Held, task: &TaskId) -> Result<Option<String>, IssuesError> {
        if held.get(task).is_some_and(|held| held.is_seen) {
            return Ok(None);
        }
        let snapshot = answers::snapshot_in(&self.path);
        let Some(issue) = snapshot.as_ref().and_then(|snapshot| snapshot.issue_of(task)) else {
            return Ok(None);
        };
        let hold = self.hold(&issue.id, self.wishes.label.clone());
        let seen = self.look(&hold)?;
        if let Some(holder) = seen.holder() {
            return Ok(Some(holder.to_owned()));
        }
        let before = held.get(task).map(|held| held.marks).unwrap_or_default();
        let entry = |marks: HoldMarks, is_seen| HeldIssue {
            id: issue.id.clone(),
            marks: HoldMarks {
                label: marks.label || before.label && hold.label.is_some(),
                assignee: marks.assignee || before.assignee,
            },
            label: hold.label.clone(),
            is_seen,
        };
        let Some((write, marks)) = hold.take(&seen) else {
            held.insert(task.clone(), entry(HoldMarks::default(), true));
            self.save(held);
            return Ok(None);
        };
        held.insert(task.clone(), entry(marks, false));
        self.save(held);
        crash::point("issues.before-write");
        // What a program says is wrong may be that somebody was faster.
        let written = self.tracker.write(&write);
        crash::point("issues.written");
        let seen = self.look(&hold)?;
        if hold.shows(&seen, marks) {
            held.insert(task.clone(), entry(marks, true));
            self.save(held);
            return Ok(None);
        }
        held.remove(task);
        self.save(held);
        match (seen.holder(), written) {
            (Some(holder), _) => Ok(Some(holder.to_owned())),
            (None, Err(error) | Ok(Some(error))) => Err(error),
            (None, Ok(None)) => Err(not_shown(&hold)),
        }
    }

    /// Take back what was added to the issue of a task. `is_done`: who did it stays there.
    pub(super) fn give_back(&self, held: &mut Held, task: &TaskId, is_done: bool) -> Result<(), IssuesError> {
        let Some(entry) = held.get(task) else { return Ok(()) };
        let marks = HoldMarks { assignee: entry.marks.assignee && !is_done, ..entry.marks };
        let hold = self.hold(&entry.id, entry.label.clone());
        if !marks.is_empty()
            && let Some(write) = hold.give_back(&self.look(&hold)?, marks)
        {
            crash::point("issues.before-write");
            let lost = self.tracker.write(&write)?;
            crash::point("issues.written");
            if hold.give_back(&self.look(&hold)?, marks).is_some() {
                return Err(lost.unwrap_or_else(|| not_shown(&hold)));
            }
        }
        held.remove(task);
        self.save(held);
        Ok(())
    }

    fn hold(&self, id: &str, label: Option<String>) -> Hold {
        Hold {
            source: self.ask.source,
            of: self.tracker.of(),
            id: id.to_owned(),
            assigns: self.wishes.assigns,
            label,
        }
    }

    fn look(&self, hold: &Hold) -> Result<HoldSeen, IssuesError> {
        let answers: Result<Vec<String>, IssuesError> =
            hold.look().iter().map(|args| self.tracker.read(args)).collect();
        let odd = || IssuesError::Odd(format!("the answer about issue {} says nothing", hold.id));
        hold.seen(&answers?).ok_or_else(odd)
    }

    /// For the next process. Where that fails, what was added stays at the issue.
    fn save(&self, held: &Held) {
        let folder = self.file.parent().unwrap_or(Utf8Path::new("."));
        let text = serde_json::to_vec(held).unwrap_or_default();
        let _ = disk::private_folder(folder).and_then(|()| disk::replace(&self.file, &text));
    }
}

fn not_shown(hold: &Hold) -> IssuesError {
    IssuesError::Odd(format!("issue {} does not show what was written to it", hold.id))
}
