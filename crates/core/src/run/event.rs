//! What happened. Events are facts, never requests. Once committed, they are never changed.
//!
//! On disk an event is its JSON. A field may be added with a default; a name is never used again for
//! something else. An event this version does not know stops the reader rather than being skipped.

use serde::{Deserialize, Serialize};

pub use super::agent_end::AgentEnd;
use super::closing::Closing;
use super::evidence::Mark;
use super::holding::HolderProcess;
use super::imported::ImportedTask;
use super::line::ProofEnd;
pub use super::note::{CheckRun, ConflictAhead, ContextUpdate, Note};
use super::pointers::Pointers;
use super::reopen::Reopening;
use super::report::{CommitMade, Report, Tests};
use super::request::RequestFact;
pub use super::session::{Selection, Session};
use super::task::{Carried, Holder, Intent, Proof};
use crate::plan::{Digest, Group, Oid, Outside, RunId, Settings, TaskId, TaskSpec};
use crate::time::{Span, Timestamp};

/// An event in its place in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub seq: u64,
    pub at: Timestamp,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    RunCreated {
        run: RunId,
        name: String,
        /// Where the plan was read from.
        plan: String,
        plan_hash: Digest,
        groups: Vec<Group>,
        settings: Box<Settings>,
        /// The branch that work lands on, and its commit at that time. `None` without git.
        target: Option<String>,
        base: Option<Oid>,
        /// Where worktrees are made.
        worktree_dir: Option<String>,
    },
    /// The plan is adopted as it is now: the tasks that differ follow.
    PlanAdopted {
        plan_hash: Digest,
        groups: Vec<Group>,
        settings: Box<Settings>,
    },
    /// The settings of the plan and of `piton.toml` are adopted as they are now.
    SettingsAdopted {
        settings: Box<Settings>,
        /// The session that the running engine uses from now on. None: no engine was running.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<Box<Session>>,
        /// The settings that differ, as people write them.
        changed: Vec<String>,
    },
    TaskAdded {
        spec: Box<TaskSpec>,
        level: u32,
        /// How many tasks the longest chain behind it has.
        #[serde(default)]
        tail: u32,
    },
    TaskChanged {
        spec: Box<TaskSpec>,
        level: u32,
        #[serde(default)]
        tail: u32,
    },
    TaskRemoved {
        task: TaskId,
    },

    EngineStarted {
        engine: String,
        session: Session,
    },
    EngineStopped {
        engine: String,
        reason: StopReason,
        /// Tasks that a person had skipped by then.
        #[serde(default, skip_serializing_if = "crate::run::is_zero")]
        skipped: u32,
    },
    StopRequested {
        by: String,
        now: bool,
    },
    /// A person closed the run: it does not count as unfinished until a person or an engine works on it again.
    RunClosed {
        by: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },

    AttemptStarted {
        task: TaskId,
        attempt: u32,
        fence: u64,
        holder: Holder,
        /// The agent that starts; empty if checks run first, or a holder of the ledger works.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
        /// The agent that it stands in for, whose provider is unavailable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead_of: Option<String>,
        /// This attempt was started before, and that start cost nothing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumed: bool,
    },
    /// The state of the project when a holder of the ledger started a task.
    Marked {
        task: TaskId,
        fence: u64,
        mark: Box<Mark>,
    },
    /// Its holder counts as working while this process lives.
    HolderBound {
        task: TaskId,
        fence: u64,
        process: HolderProcess,
    },
    /// A task is reported done whose work is not committed: the claim waits until it is.
    ClaimWaits {
        task: TaskId,
        fence: u64,
        by: String,
        files: Vec<String>,
    },
    /// Its holder does not work on it any more: it may be started again. No attempt is spent.
    Released {
        task: TaskId,
        fence: u64,
        reason: String,
    },
    /// The worktree exists, is set up and stands on `base`, when `landed` tasks had landed.
    WorktreeReady {
        task: TaskId,
        fence: u64,
        base: Oid,
        landed: u32,
    },
    AgentEnded {
        task: TaskId,
        fence: u64,
        /// The agent that ended.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
        end: AgentEnd,
        took: Span,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<Box<Report>>,
        #[serde(default, skip_serializing_if = "Closing::is_empty")]
        closing: Closing,
    },
    /// What the agent left is a commit now.
    WorkCaptured {
        task: TaskId,
        fence: u64,
        work: Work,
    },
    /// A fresh agent gets the same prompt, to see whether anything is left to do.
    ConfirmationStarted {
        task: TaskId,
        fence: u64,
        /// The profile of that agent; empty in a ledger, where a task has no profile.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead_of: Option<String>,
    },
    VerificationStarted {
        task: TaskId,
        fence: u64,
        /// Its checks run where it is to land, with those of the landing. Otherwise on the work by itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        lands: bool,
    },
    ChecksEnded {
        task: TaskId,
        fence: u64,
        tree: Oid,
        results: Vec<CheckResult>,
    },
    /// The first agent of a provider since its usage limit begins, and it is one that judges.
    ReviewerStarted {
        task: TaskId,
        fence: u64,
        agent: String,
    },
    /// An agent among the checks, or one that advises, came to no verdict: its provider did not let it work, or a budget is
    /// spent.
    ReviewerEnded {
        task: TaskId,
        fence: u64,
        agent: String,
        end: AgentEnd,
    },
    /// A provider whose servers had failed was asked a harmless question. It has answered unless there is an `end`.
    ProviderAsked {
        provider: String,
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<AgentEnd>,
    },
    /// A person says that a provider lets agents work again.
    ProviderUnparked {
        provider: String,
        by: String,
    },
    Verified {
        task: TaskId,
        fence: u64,
    },
    /// The try is over without success.
    Failed {
        task: TaskId,
        fence: u64,
        class: Class,
        reason: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        feedback: String,
        next: Next,
        /// The worktree is brought up to this commit before the next try.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        behind: Option<Oid>,
        #[serde(default, skip_serializing_if = "Pointers::is_empty")]
        pointers: Box<Pointers>,
    },

    /// The checks are about to run on the target's tip with these candidates merged into it, in this order.
    ProofBegan {
        proof: u64,
        chain: Vec<TaskId>,
        /// Its one candidate is to be judged by itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        alone: bool,
    },
    /// A proof has ended, and nothing lands by it at once.
    ProofEnded {
        proof: u64,
        #[serde(flatten)]
        end: ProofEnd,
    },
    /// The candidate is proven, pinned and durable; the target is about to move.
    LandingPrepared {
        task: TaskId,
        fence: u64,
        intent: Intent,
        /// The candidate's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Oid>,
        /// Those that land in the same move, before it, in this order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        before: Vec<Carried>,
    },
    /// The target was not moved. The candidate has to be built again.
    LandingReturned {
        task: TaskId,
        fence: u64,
        reason: String,
    },
    /// Landing waits for something outside, such as a dirty checkout.
    LandingWaits {
        task: TaskId,
        fence: u64,
        reason: String,
    },
    /// About the request by which the task lands.
    Request {
        task: TaskId,
        fence: u64,
        #[serde(flatten)]
        fact: RequestFact,
    },
    Completed {
        task: TaskId,
        fence: u64,
        proof: Proof,
        /// Commits that were made by hand and count for this task.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        counts: Vec<Oid>,
        /// For a gate that the ledger reports: the tree of the whole project at that moment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saw: Option<Oid>,
    },
    /// The worktree and its refs were removed.
    CleanedUp {
        task: TaskId,
        fence: u64,
    },
    /// The worktree stays, since it holds what would be lost.
    CleanupRefused {
        task: TaskId,
        fence: u64,
        reason: String,
    },
    /// Content that existed once is kept under a ref.
    Rescued {
        task: TaskId,
        reference: String,
        commit: Oid,
    },

    Reported {
        task: TaskId,
        fence: u64,
        by: String,
        report: Box<Report>,
    },
    Retried {
        task: TaskId,
        by: String,
    },
    Reset {
        task: TaskId,
        by: String,
    },
    Skipped {
        task: TaskId,
        by: String,
        reason: String,
    },
    Unblocked {
        task: TaskId,
        by: String,
    },
    /// A person answers what a task stopped for, or tells its next agent what to do.
    Answered {
        task: TaskId,
        by: String,
        text: String,
        /// Where in the journal the failure stands that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<u64>,
        /// Where the last words of the agent stand that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<u64>,
    },
    /// A person has sent comments on lines of a task's work, together. They are for its next attempt, or for the task
    /// that was added to follow up on it.
    CommentsSent {
        task: TaskId,
        by: String,
        /// Where they stand in the journal.
        comments: Vec<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follow_up: Option<TaskId>,
    },
    /// A completed task is opened again, because the plan now asks for something else. Or a task in progress starts
    /// again for that reason.
    Reopened {
        task: TaskId,
        reason: Reopening,
        /// How it had been completed, if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        was: Option<Proof>,
        /// Its checks run before any agent, on the current target. If they pass, there is nothing to do.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        checks_first: bool,
    },
    Raised {
        task: TaskId,
        by: String,
        attempts: u32,
    },

    /// What was done about a task before this journal began, as far as it is believed.
    Adopted {
        task: TaskId,
        by: String,
        past: Box<ImportedTask>,
    },
    /// Piton saw that a task of another list, which it waits for, is completed there, or not any more.
    OutsideSeen {
        task: TaskId,
        need: Outside,
        done: bool,
    },
    /// A person or an agent abandoned it, although attempts may have been left.
    GivenUp {
        task: TaskId,
        by: String,
        reason: String,
    },
    Noted {
        by: String,
        note: Note,
    },
    ContextUpdated {
        update: Box<ContextUpdate>,
    },

    /// Git or disk said otherwise, and they were believed.
    LandingLost {
        task: TaskId,
        commit: Oid,
        reason: String,
    },
    /// A landing the journal did not know of was found in the target's history.
    LandingFound {
        task: TaskId,
        commit: Oid,
        reason: String,
    },
}

impl Event {
    /// The task it is about, if it is about one.
    pub fn task(&self) -> Option<&TaskId> {
        use Event::*;
        match self {
            RunCreated { .. }
            | PlanAdopted { .. }
            | SettingsAdopted { .. }
            | EngineStarted { .. }
            | EngineStopped { .. }
            | StopRequested { .. }
            | RunClosed { .. }
            | ProviderAsked { .. }
            | ProviderUnparked { .. }
            | ProofBegan { .. }
            | ProofEnded { .. }
            | ContextUpdated { .. } => None,
            Noted { note, .. } => match note {
                Note::Entry { task, .. } | Note::EditRefused { task, .. } => task.as_ref(),
                Note::Told { task, .. }
                | Note::Spent { task, .. }
                | Note::Errors { task, .. }
                | Note::ChecksRan { task, .. }
                | Note::ConflictsAhead { task, .. }
                | Note::Commented { task, .. }
                | Note::CommentDropped { task, .. } => Some(task),
                Note::Guardrail { .. }
                | Note::GuardrailRemoved { .. }
                | Note::Seen { .. }
                | Note::Carried { .. }
                | Note::Heard { .. }
                | Note::Began { .. }
                | Note::PlanUnreadable { .. } => None,
            },
            TaskAdded { spec, .. } | TaskChanged { spec, .. } => Some(&spec.id),
            TaskRemoved { task }
            | AttemptStarted { task, .. }
            | Marked { task, .. }
            | HolderBound { task, .. }
            | ClaimWaits { task, .. }
            | Released { task, .. }
            | WorktreeReady { task, .. }
            | AgentEnded { task, .. }
            | WorkCaptured { task, .. }
            | ConfirmationStarted { task, .. }
            | VerificationStarted { task, .. }
            | ChecksEnded { task, .. }
            | ReviewerStarted { task, .. }
            | ReviewerEnded { task, .. }
            | Verified { task, .. }
            | Failed { task, .. }
            | LandingPrepared { task, .. }
            | LandingReturned { task, .. }
            | LandingWaits { task, .. }
            | Request { task, .. }
            | Completed { task, .. }
            | CleanedUp { task, .. }
            | CleanupRefused { task, .. }
            | Rescued { task, .. }
            | Reported { task, .. }
            | Retried { task, .. }
            | Reset { task, .. }
            | Skipped { task, .. }
            | Unblocked { task, .. }
            | Answered { task, .. }
            | CommentsSent { task, .. }
            | Reopened { task, .. }
            | Raised { task, .. }
            | Adopted { task, .. }
            | GivenUp { task, .. }
            | OutsideSeen { task, .. }
            | LandingLost { task, .. }
            | LandingFound { task, .. } => Some(task),
        }
    }
}

impl Event {
    /// Advice for the next try of a task: who gave it, and its text.
    pub fn advice(&self) -> Option<(&str, &str)> {
        let (by, report) = match self {
            Event::Noted { by, note: Note::Entry { task: Some(_), text, for_next: true } } => {
                let text = text.trim();
                return (!text.is_empty()).then_some((by.as_str(), text));
            }
            Event::Noted { by, note: Note::Told { report, .. } } | Event::Reported { by, report, .. } => {
                (by.as_str(), report)
            }
            Event::AgentEnded { report: Some(report), .. } => ("the try before", report),
            _ => return None,
        };
        let text = report.feedback.trim();
        (!text.is_empty()).then_some((by, text))
    }
}

/// How a run has to stop. Stored as a bool: whether it has to stop now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum StopMode {
    /// What is under way is finished.
    Finish,
    AtOnce,
}

impl From<bool> for StopMode {
    fn from(now: bool) -> StopMode {
        if now { StopMode::AtOnce } else { StopMode::Finish }
    }
}

impl From<StopMode> for bool {
    fn from(mode: StopMode) -> bool {
        mode == StopMode::AtOnce
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum StopReason {
    /// Every task is completed.
    Completed,
    /// Nothing can continue: work is abandoned, blocked or skipped.
    Ended,
    /// What was selected is done.
    Filter,
    /// A person asked.
    Person,
    /// A landing waits for the user's checkout.
    LandingWaits {
        detail: String,
    },
    PlanChanged {
        detail: String,
    },
    /// What is left is held by people or agents that use the ledger.
    Elsewhere {
        detail: String,
    },
    /// What is left waits for tasks of other lists.
    Siblings {
        detail: String,
    },
    /// What may be used is used up.
    Budget {
        detail: String,
    },
    /// The run itself cannot continue.
    Environment {
        detail: String,
    },
}

impl StopReason {
    /// What is recorded for an engine that is gone and recorded nothing itself.
    pub fn death() -> StopReason {
        StopReason::Environment { detail: GONE.to_owned() }
    }

    pub fn is_death(&self) -> bool {
        matches!(self, StopReason::Environment { detail } if detail == GONE)
    }
}

const GONE: &str = "the engine stopped without saying why";

/// Why a try failed; only `code` spends an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    Code,
    Conflict,
    Transient,
    Limit,
    Defect,
    Stopped,
    /// A person wants changes: the work goes back with comments.
    SentBack,
}

/// What a failure means for its task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "next", rename_all = "snake_case")]
pub enum Next {
    Again {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    Abandoned,
    Blocked,
    /// Its budget is spent, and the run continues without it.
    Skipped,
}

/// A task's work as a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The commit to verify and land; `None` when working in place.
    pub commit: Option<Oid>,
    pub tree: Oid,
    /// The tree differs from the one the task started from.
    pub changed: bool,
    /// The tree differs from what this pass of the agent found.
    pub found_work: bool,
    /// It changes files that decide how work is judged, so it is judged by itself first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub touches_judges: bool,
    /// Files in which conflict markers were left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub markers: Vec<String>,
    /// What the task has committed since its base, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitMade>,
    /// Files that its base does not have, and files of its base that it changed or removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modified: Vec<String>,
}

/// The evidence of one check on one tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    pub name: String,
    pub check: Digest,
    pub command: String,
    pub verdict: Verdict,
    /// Digest of the environment it ran in.
    pub environment: Digest,
    pub took: Span,
    /// Where the whole output is, relative to Piton's folder.
    pub log: String,
    /// The useful end of its output, for a check that did not pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// How many tests it ran, if its runner says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// What it found beside the files of the tree. None: it ran where the work is, or a version of Piton ran it that did not
    /// say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<Freshness>,
}

/// What a check finds beside the files of the tree that it judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// Nothing: it sees what a fresh clone has.
    Fresh,
    /// Perhaps what earlier checks left that git ignores, such as a build, and what the plan copies or sets up.
    Warm,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    Fail {
        exit: i32,
    },
    /// It holds nothing up, but a person should know about it.
    Noticed {
        reason: String,
    },
    /// A reviewer found what has to be fixed.
    Rejected {
        reason: String,
    },
    /// It did not judge: timed out, ran no test, changed the tree. Never a pass.
    Broken {
        reason: String,
    },
    /// It can never judge here: its program does not exist. No attempt of an agent fixes that.
    Impossible {
        reason: String,
    },
}
