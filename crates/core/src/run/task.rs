//! One task of a run: the narrow facts that decisions need. Long text stays in the events.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize, Serializer};

use super::closing::Asks;
use super::effort::Effort;
use super::event::Work;
use super::evidence::Mark;
use super::holding::HolderProcess;
use super::request::{Footing, Request, Step};
use super::usage::Bill;
use crate::plan::{Content, Digest, Oid, Outside, TaskId};
use crate::time::{Span, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Confirming,
    Verifying,
    Verified,
    Merging,
    Completed,
    Failed,
    Abandoned,
    Blocked,
    /// A person skipped it.
    Skipped,
    /// Shown for a task that waits for one which cannot complete. Derived, never stored in a task.
    Unreachable,
    /// Shown for a task that waits for one of another list, or for a task that does. Derived, never stored in a task.
    Waiting,
    /// Shown for a task that the run continued without. Either its budget was spent and no person skipped it, or it is
    /// a gate that a person skipped: skipping does not make a gate pass. Derived, never stored in a task.
    PassedOver,
}

impl Status {
    pub const ALL: [Status; 14] = [
        Status::Pending,
        Status::InProgress,
        Status::Confirming,
        Status::Verifying,
        Status::Verified,
        Status::Merging,
        Status::Completed,
        Status::Failed,
        Status::Abandoned,
        Status::Blocked,
        Status::Skipped,
        Status::Unreachable,
        Status::Waiting,
        Status::PassedOver,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::InProgress => "in_progress",
            Status::Confirming => "confirming",
            Status::Verifying => "verifying",
            Status::Verified => "verified",
            Status::Merging => "merging",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Abandoned => "abandoned",
            Status::Blocked => "blocked",
            // One word for people: either way the task is not run.
            Status::Skipped | Status::Unreachable | Status::PassedOver => "skipped",
            Status::Waiting => "waiting",
        }
    }

    /// An agent or a check may be running for it, so it holds one of the parallel slots.
    pub fn holds_slot(self) -> bool {
        matches!(self, Status::InProgress | Status::Confirming | Status::Verifying)
    }

    /// Dependents may start.
    pub fn satisfies(self) -> bool {
        matches!(self, Status::Completed | Status::Skipped | Status::PassedOver)
    }

    /// Nothing is left to do: it is completed, or a person skipped it.
    pub fn is_finished(self) -> bool {
        matches!(self, Status::Completed | Status::Skipped)
    }

    /// Nothing will happen to it until a person acts.
    pub fn is_settled(self) -> bool {
        use Status::*;
        matches!(self, Completed | Abandoned | Blocked | Skipped | Unreachable | PassedOver)
    }

    /// Later groups wait for it. They do not wait for a task that itself waits for another list.
    pub fn holds_back(self) -> bool {
        !self.is_settled() && self != Status::Waiting
    }

    /// Its group is not complete for those behind it, with the same exception.
    pub fn is_unmet(self) -> bool {
        !self.satisfies() && self != Status::Waiting
    }

    /// It came to an end at one moment, and does not last.
    pub fn is_end(self) -> bool {
        use Status::*;
        matches!(self, Completed | Failed | Abandoned | Skipped | Unreachable | PassedOver)
    }

    /// It cannot complete unless a person acts, so neither can its dependents.
    pub fn is_dead(self) -> bool {
        matches!(self, Status::Abandoned | Status::Blocked | Status::Unreachable)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A task of another list, and whether it was seen to be completed there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    pub need: Outside,
    pub done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub group: u32,
    pub level: u32,
    /// How many tasks the longest chain behind it has.
    pub tail: u32,
    pub priority: u32,
    /// As last decided; [`Task::status`] is what to show.
    pub decided: Status,
    /// When that was.
    pub since: Timestamp,
    /// The number of the attempt running or last run; 0 before the first.
    pub attempt: u32,
    /// Attempts spent by code failures since the last reset.
    pub spent: u32,
    pub budget: u32,
    /// Tries within this attempt that ended in a transient failure.
    pub transient: u32,
    /// Conflicts in landing since the last reset.
    pub conflicts: u32,
    /// Grows with each start and reset; results that carry an older one are stale.
    pub fence: u64,
    pub holder: Option<Holder>,
    /// Not started again before then.
    pub not_before: Option<Timestamp>,
    /// Dependencies not yet satisfied.
    pub waiting: u32,
    /// Those of them that have an open request at their host.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub open: u32,
    /// Dependencies that cannot complete.
    pub dead: u32,
    /// Dependencies that wait for a task of another list.
    #[serde(default)]
    pub held: u32,
    /// Tasks of other lists that it depends on.
    #[serde(default)]
    pub outside: Vec<Awaited>,
    /// The checks that decide about it.
    pub judges: Vec<Digest>,
    /// The agents among them, by name.
    #[serde(default)]
    pub reviewers: Vec<String>,
    /// The checks among them that agents make.
    #[serde(default)]
    pub reviews: Vec<Digest>,
    /// The agent that the plan names for it.
    #[serde(default)]
    pub agent: String,
    pub confirm: bool,
    pub may_change_nothing: bool,
    pub check_first: bool,
    pub may_fail: bool,
    /// It judges the whole; see [`Task::held_on`].
    #[serde(default)]
    pub gate: bool,
    /// A person does it, and no agent is ever started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
    /// What it asks for; of a completed task, what it was completed for.
    pub content: Content,
    /// No longer in the plan.
    pub removed: bool,
    /// Where its spec and its last failure stand in the journal.
    pub spec_seq: u64,
    pub failure_seq: Option<u64>,
    /// The place in the journal where it was last opened again.
    #[serde(default)]
    pub reopened: Option<u64>,
    pub proof: Option<Proof>,
    /// Commits that were made by hand and count for it: no other task is done by them.
    #[serde(default)]
    pub counts: Vec<Oid>,
    pub progress: LazyProgress,
    /// What its tries have used, as far as their clients report it.
    #[serde(default)]
    pub used: Bill,
    /// How long its agents have worked.
    #[serde(default)]
    pub worked: Span,
    /// The last try whose usage is booked.
    #[serde(default)]
    pub booked: u64,
    /// How often it was tried, as people count it, and its tests.
    #[serde(default)]
    pub effort: Effort,
}

impl Task {
    pub fn status(&self) -> Status {
        match self.decided {
            Status::Pending | Status::Failed if self.dead > 0 => Status::Unreachable,
            Status::Pending | Status::Failed if self.held > 0 || self.awaits_outside() => Status::Waiting,
            Status::Skipped if self.progress.left_behind || self.gate => Status::PassedOver,
            status => status,
        }
    }

    /// It depends on a task of another list that Piton has not seen completed.
    pub fn awaits_outside(&self) -> bool {
        self.outside.iter().any(|need| !need.done)
    }

    /// The same for files that have no word for a task that the run continued without: it counts as abandoned.
    pub fn outcome(&self) -> Status {
        match self.status() {
            _ if self.progress.left_behind => Status::Abandoned,
            Status::PassedOver => Status::Skipped,
            status => status,
        }
    }

    /// Agents got no further with it. One that waits for the person who does it goes its usual way.
    pub(super) fn is_stuck(&self) -> bool {
        match self.decided {
            Status::Abandoned => true,
            Status::Blocked => !self.by_person,
            _ => false,
        }
    }

    /// It may be done already, so its checks run before an agent starts.
    pub(super) fn looks_first(&self) -> bool {
        let may_be_done = self.check_first && self.spent == 0 || self.progress.checks_first;
        may_be_done && self.progress.tree.is_none() && !self.progress.sent_back
    }

    /// It may be completed without any change.
    pub fn may_stay_as_it_is(&self) -> bool {
        self.may_change_nothing || self.progress.checks_first || self.progress.already.is_some()
    }

    /// The number of the attempt that starts next. A gate may be judged again even if no attempt is left.
    pub(super) fn next_attempt(&self) -> u32 {
        (self.spent + 1).min(self.budget.max(1))
    }

    /// A gate that no agent has worked on since it was opened. If it is red then, that costs one of its rounds of
    /// fixes. Otherwise two gates whose fixes undo each other could loop for ever.
    pub(super) fn has_only_looked(&self) -> bool {
        self.gate && self.progress.confirmed
    }

    /// Whether its next start begins without an agent: with the checks of work that is there.
    pub(super) fn begins_with_checks(&self) -> bool {
        self.progress.recheck || self.looks_first()
    }

    /// A fresh agent has to find nothing left to do. Only then do agents judge it, which is expensive.
    pub fn awaits_confirmation(&self) -> bool {
        let may_be_done = self.may_change_nothing || self.progress.checks_first;
        let only_says_so = self.progress.already.is_some() && !may_be_done;
        (self.confirm || only_says_so) && !self.progress.confirmed
    }

    /// The tree that a gate which has passed held on, where that is known.
    pub fn held_on(&self) -> Option<&Oid> {
        self.progress.tree.as_ref().filter(|_| self.gate && self.decided == Status::Completed)
    }

    /// A gate that agents judge, and that has passed before. It is expensive, so it is judged again only when all else
    /// is done.
    pub(super) fn comes_last(&self) -> bool {
        self.gate && !self.reviews.is_empty() && self.progress.checks_first && self.progress.tree.is_none()
    }

    /// Its checks that are not made by agents: each has to pass on exactly the tree that counts.
    pub fn commands(&self) -> impl Iterator<Item = &Digest> {
        self.judges.iter().filter(|judge| !self.reviews.contains(judge))
    }

    /// Where checks failed in its last try, or were cut off. Its work exists and can be judged again.
    pub(super) fn failed_by_checks(&self) -> Option<Red> {
        let has_stopped = match self.decided {
            Status::Failed | Status::Abandoned | Status::Blocked => true,
            Status::Skipped => self.progress.left_behind,
            _ => false,
        };
        let cut_off = self.progress.recheck.then_some(Red::Alone);
        self.progress.red.or(cut_off).filter(|_| has_stopped)
    }

    /// It is being worked on: by the engine, or by a holder of the ledger.
    pub(super) fn is_worked_on(&self) -> bool {
        use Status::*;
        self.holder.is_some()
            || matches!(self.decided, InProgress | Confirming | Verifying | Verified | Merging)
    }

    /// An agent of the engine may be working on it.
    pub fn is_under_way(&self) -> bool {
        self.is_engines() && matches!(self.decided, Status::InProgress | Status::Confirming)
    }

    /// The plan's own files called it done when the run began, and nothing has proven it since.
    pub fn is_claimed(&self) -> bool {
        self.decided == Status::Completed && self.proof == Some(Proof::Reported) && self.fence == 0
    }

    /// It is in the landing line: its checks have passed, or run where it is to land.
    pub fn is_candidate(&self) -> bool {
        let is_judged_there = self.decided == Status::Verifying && self.progress.queued.is_some();
        self.is_engines() && (self.decided == Status::Verified || is_judged_there)
    }

    /// It has a request that the host has not merged, and is not about to. A person may take it away meanwhile.
    pub(super) fn is_followed(&self) -> bool {
        let steps = [Step::Push, Step::Open, Step::Follow];
        self.progress.intent.is_none()
            && self.progress.request.as_ref().is_some_and(|request| steps.contains(&request.step))
    }

    /// Whether its checks may run only on the landing candidate: only commands judge it, and no result for the work
    /// alone is needed.
    pub(super) fn is_judged_where_it_lands(&self, work: &Work) -> bool {
        let is_plain = self.reviews.is_empty() && !self.gate && !self.confirm && !self.may_stay_as_it_is();
        is_plain && work.changed && work.commit.is_some() && !work.touches_judges
    }

    /// The engine works on it, and not a ledger's holder.
    pub fn is_engines(&self) -> bool {
        self.holder == Some(Holder::Engine)
    }
}

/// End whatever is under way: results of it are stale from now on.
pub(super) fn release(task: &mut Task) {
    task.fence = task.fence.saturating_add(1);
    task.holder = None;
    task.progress.ready = false;
    task.progress.agent_done = false;
    task.progress.left_behind = false;
    task.progress.uncommitted.clear();
    task.progress.recheck = false;
    task.progress.red = None;
    task.progress.intent = None;
    task.progress.carries.clear();
    (task.progress.queued, task.progress.place_kept) = (None, None);
    (task.progress.waits, task.progress.waits_since) = (None, None);
}

/// Who works on a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    Engine,
    /// A person or an agent that works by itself and lets Piton keep the state.
    Ledger(String),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Engine => f.write_str("the engine"),
            Holder::Ledger(name) => f.write_str(name),
        }
    }
}

/// Why a completed task is called so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "proof", rename_all = "snake_case")]
pub enum Proof {
    /// Its checks passed and it is part of the target.
    Landed { commit: Oid, verified: Oid },
    /// Its checks passed where it was done; nothing was landed.
    Checked {
        tree: Option<Oid>,
        /// Why nothing had to change, if its agent says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        already: Option<String>,
    },
    /// Work of its own was seen, and there was no check to run.
    Work {
        #[serde(default)]
        commits: Vec<Oid>,
        #[serde(default)]
        files: Vec<String>,
    },
    /// Its holder reported it, and nothing proves it.
    Reported,
}

/// The progress of a task. Most tasks of a large plan have none yet, which takes no more than a pointer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Progress")]
pub struct LazyProgress(Option<Box<Progress>>);

impl LazyProgress {
    pub fn is_none(&self) -> bool {
        self.0.as_deref().is_none_or(|progress| *progress == Progress::default())
    }
}

impl From<Progress> for LazyProgress {
    fn from(progress: Progress) -> LazyProgress {
        LazyProgress(Some(Box::new(progress)))
    }
}

impl Deref for LazyProgress {
    type Target = Progress;

    fn deref(&self) -> &Progress {
        static NONE: LazyLock<Progress> = LazyLock::new(Progress::default);
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for LazyProgress {
    fn deref_mut(&mut self) -> &mut Progress {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for LazyProgress {
    fn eq(&self, other: &LazyProgress) -> bool {
        **self == **other
    }
}

impl Eq for LazyProgress {}

impl Serialize for LazyProgress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

/// How far the engine is with a task. Empty between attempts, except for what the next one needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// A worktree exists, or may exist, for this task.
    pub worktree: bool,
    /// The target's commit the worktree was made from or brought up to, and how many had landed then.
    pub base: Option<Oid>,
    pub landed_at_base: u32,
    /// The worktree is ready for this try.
    pub ready: bool,
    /// The agent that works on it in this try, or confirms it.
    pub agent: String,
    /// The agent of this try, or of this confirmation, has ended.
    pub agent_done: bool,
    /// The checks were cut off: the next try begins with them, not with an agent.
    pub recheck: bool,
    /// Checks decided against the work of its last try, which is `commit` and `tree`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<Red>,
    /// It was completed before: its checks run before any agent, and it may stay as it is.
    pub checks_first: bool,
    /// The state of the project when a holder of the ledger first started it since the last reset.
    pub mark: Option<Mark>,
    /// It is called done, and waits until this work is committed.
    pub uncommitted: Vec<String>,
    /// Its holder counts as working while this process lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<HolderProcess>,
    /// Bring the worktree up to this commit first.
    pub behind: Option<Oid>,
    /// The place in the journal of the last failure that an agent can fix. The next prompt has its feedback.
    pub feedback: Option<u64>,
    /// Where advice for it stands in the journal, oldest first.
    pub advice: Vec<u64>,
    /// What people have answered, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// Where comments of people on its work stand in the journal, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<u64>,
    /// Some of them came after its agent began: the work does not land before an agent has read them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sent_back: bool,
    pub commit: Option<Oid>,
    pub tree: Option<Oid>,
    /// Why nothing had to be changed, as the agent of this try says.
    pub already: Option<String>,
    /// What the agent of this try waits for, where it ended with that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Asks>,
    /// Where the last words of its last agent stand in the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<u64>,
    /// Passes of agents asked to confirm, within this attempt.
    pub confirmations: u32,
    /// How many of them found work, which they did: each is worth an attempt.
    pub reworked: u32,
    /// The last of them found nothing to do, or no agent has changed anything yet.
    pub confirmed: bool,
    /// How often a reviewer has found gaps since a person last looked.
    pub rejections: u32,
    /// Evidence that need not be paid for again.
    pub passes: Vec<Pass>,
    /// Jobs of this try whose usage is booked, so that an engine that finds them again does not book it twice.
    pub booked: Vec<String>,
    /// A model declined to continue a conversation about it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub declined: bool,
    /// Position in the order of verification.
    pub queued: Option<u64>,
    /// The same before it met a conflict. It has that again when it comes back: otherwise those that came after it land
    /// first, and it meets the next conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place_kept: Option<u64>,
    pub intent: Option<Intent>,
    /// The request by which it lands. It outlives attempts: the next one updates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<Request>>,
    /// Its work was begun on open requests: its base need not be a commit of the target.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stacked: bool,
    /// Why it cannot stand on the open requests of what it depends on. It waits until those have landed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstacked: Option<String>,
    /// The merged tree that is about to land.
    pub merged: Option<Oid>,
    /// Those that land with it, before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carries: Vec<Carried>,
    /// What landing waits for.
    pub waits: Option<String>,
    /// Since when it waits. The same wait goes on if another try to land meets it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_since: Option<Timestamp>,
    /// How many had landed before this one.
    pub landed_no: Option<u32>,
    /// Why the worktree could not be removed.
    pub kept: Option<String>,
    /// Its budget was spent, and the run continued without it. No person skipped it.
    pub left_behind: bool,
}

impl Progress {
    /// The most pieces of advice in a prompt. Of more, the last ones count.
    pub(super) const ADVICE: usize = 5;
    /// The most comments in a prompt. Of more, the last ones count.
    pub(super) const COMMENTS: usize = 100;
}

/// A person's answer: where it stands in the journal, which failure it answers, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub seq: u64,
    pub to: Option<u64>,
    /// The same answer to the same failure is recorded once.
    pub text: Digest,
}

/// Where checks decided against a task's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Red {
    /// By itself.
    Alone,
    /// Where it was to land.
    Landing,
}

/// The move of the target that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    pub old: Oid,
    pub candidate: Oid,
    /// The open requests that the candidate was proven on, besides `old`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<Footing>,
}

/// A task that lands in the move of another one, and the commit that brings it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    pub task: TaskId,
    pub fence: u64,
    pub commit: Oid,
}

/// A check passed on a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pass {
    pub tree: Oid,
    pub check: Digest,
    pub environment: Digest,
}
