//! Commands: what a person, an agent or the engine asks for. The rules decide whether it may happen, and as which
//! events.

use std::fmt;

use super::closing::Closing;
use super::event::{AgentEnd, CheckResult, Class, ContextUpdate, Note, Session, StopReason, Work};
use super::evidence::{Evidence, Mark};
use super::holding::HolderProcess;
use super::imported::ImportedTask;
use super::line::ProofEnd;
use super::pointers::Pointers;
use super::report::Report;
use super::request::{RequestFact, Seen};
use super::revision::Revision;
use super::schedule::Action;
use super::state::Missing;
use super::task::{Carried, Holder, Intent, Status, Task};
use crate::plan::{Digest, Oid, Outside, Plan, RunId, TaskId};
use crate::time::Span;

#[derive(Clone, Debug)]
pub enum Command {
    Create(Box<NewRun>),
    /// The same from an engine, which may have lost its run since: see [`Command::of_engine`].
    OfEngine {
        engine: String,
        command: Box<Command>,
    },
    /// The same from a proof, which may be over: see [`Command::of_proof`].
    OfProof {
        proof: u64,
        command: Box<Command>,
    },
    Replan(Box<Plan>),
    /// The plan has tasks that the run does not know; nothing else in it is new. Beside an engine, too.
    Extend(Box<Plan>),
    /// The plan has changed: its settings, or tasks that are not completed and have no holder. Beside an engine, too.
    Follow(Box<Revision>),
    /// An engine holds the run's lock and begins.
    Attach {
        engine: String,
        session: Session,
    },
    Detach {
        engine: String,
        reason: StopReason,
        /// What the target holds: its tree, and those that differ from it in the plan's own files alone. Gates that
        /// have passed have passed on one of them, or the run is not complete.
        tip: Vec<Oid>,
    },
    /// What the target holds is not what a gate has passed on.
    Reopen {
        task: TaskId,
        reason: String,
    },
    RequestStop {
        by: String,
        now: bool,
    },
    /// A person closes this run. It stays as it is until a person or an engine works on it again.
    Close {
        by: String,
        reason: String,
    },
    /// A provider whose servers had failed was asked for the `nth` time. It has answered unless there is an `end`.
    Asked {
        provider: String,
        nth: u32,
        end: Option<AgentEnd>,
    },
    /// A provider lets agents work again, whatever it said before.
    Unpark {
        provider: String,
        by: String,
    },

    Start {
        task: TaskId,
        holder: Holder,
    },
    /// The same by the ledger, although tasks of an earlier group are open.
    StartAhead {
        task: TaskId,
        holder: Holder,
    },
    /// The state of the project when a holder of the ledger starts a task.
    Mark {
        task: TaskId,
        fence: u64,
        mark: Mark,
    },
    /// A holder of the ledger counts as working while this process lives.
    Bind {
        task: TaskId,
        fence: u64,
        process: HolderProcess,
    },
    /// That process has ended.
    HolderGone {
        task: TaskId,
        fence: u64,
        process: HolderProcess,
    },
    /// Take a task back from a holder of the ledger that does not work on it any more.
    Release {
        task: TaskId,
        fence: u64,
        reason: String,
    },
    Prepared {
        task: TaskId,
        fence: u64,
        base: Oid,
        landed: u32,
    },
    AgentEnded {
        task: TaskId,
        fence: u64,
        pass: u32,
        end: AgentEnd,
        took: Span,
        report: Option<Box<Report>>,
        closing: Closing,
    },
    Captured {
        task: TaskId,
        fence: u64,
        pass: u32,
        work: Work,
    },
    ChecksEnded {
        task: TaskId,
        fence: u64,
        tree: Oid,
        results: Vec<CheckResult>,
    },
    /// An agent among the checks is about to start, and would be the first since a usage limit. `results` are those of
    /// the checks before it, which all passed.
    ReviewerBegins {
        task: TaskId,
        fence: u64,
        tree: Oid,
        results: Vec<CheckResult>,
        agent: String,
    },
    /// The provider of an agent among the checks rejected it, or its budget is spent. `results` are those of the checks
    /// before it, which all passed.
    ReviewerCut {
        task: TaskId,
        fence: u64,
        /// It judged the work where it would land, and not for itself.
        lands: bool,
        tree: Oid,
        results: Vec<CheckResult>,
        agent: String,
        end: AgentEnd,
    },
    /// The provider of a helping agent rejected it. Nothing waits for that agent.
    HelperCut {
        task: TaskId,
        agent: String,
        end: AgentEnd,
    },
    /// Something the engine did for the task went wrong.
    TryFailed {
        action: Action,
        class: Class,
        reason: String,
        feedback: String,
    },

    /// Prove these candidates together, in this order.
    BeginProof {
        chain: Vec<TaskId>,
        alone: bool,
    },
    /// A proof has ended. `results`: of the checks that were run.
    ProofEnded {
        proof: u64,
        end: ProofEnd,
        results: Vec<CheckResult>,
    },
    PrepareLanding {
        task: TaskId,
        fence: u64,
        tree: Oid,
        intent: Intent,
        /// Those that land in the same move, before it.
        before: Vec<Carried>,
        results: Vec<CheckResult>,
        waived: Waived,
    },
    /// What a task was to stand on is not there. With a reason: its parts do not fit together.
    Unstack {
        task: TaskId,
        fence: u64,
        reason: Option<String>,
    },
    /// Textual conflict, or red together with what landed before.
    LandingFailed {
        task: TaskId,
        fence: u64,
        tip: Oid,
        reason: String,
        feedback: String,
        pointers: Box<Pointers>,
    },
    LandingWaits {
        task: TaskId,
        fence: u64,
        reason: String,
    },
    LandingReturned {
        task: TaskId,
        fence: u64,
        candidate: Oid,
        reason: String,
    },
    Landed {
        task: TaskId,
        fence: u64,
        commit: Oid,
    },
    /// Something was done about the request by which the task lands.
    RequestMoved {
        task: TaskId,
        fence: u64,
        fact: RequestFact,
    },
    /// The host was asked about it. `log`: what its red checks printed. `tip`: the target's on the host, if that was
    /// looked at.
    RequestSeen {
        task: TaskId,
        fence: u64,
        seen: Box<Seen>,
        log: String,
        tip: Option<Oid>,
    },
    /// What the host merged is part of the local target, whose tree is `tree` with it.
    RequestLanded {
        task: TaskId,
        fence: u64,
        commit: Oid,
        tree: Oid,
    },
    /// Its commit is part of the target already: there was nothing to land. `tree` is what the target holds.
    NothingToLand {
        task: TaskId,
        fence: u64,
        tree: Oid,
        results: Vec<CheckResult>,
    },
    CleanedUp {
        task: TaskId,
        fence: u64,
    },
    CleanupRefused {
        task: TaskId,
        fence: u64,
        reason: String,
    },
    Rescued {
        task: TaskId,
        reference: String,
        commit: Oid,
    },

    /// The ledger's word on a task, with the evidence of its checks.
    Report {
        task: TaskId,
        by: String,
        fence: Option<u64>,
        claim: Claim,
        report: Box<Report>,
    },
    Retry {
        task: TaskId,
        by: String,
    },
    Reset {
        task: TaskId,
        by: String,
    },
    Skip {
        task: TaskId,
        by: String,
        reason: String,
    },
    /// Release a task that needed a person. The prompt of the next agent has `note`.
    Unblock {
        task: TaskId,
        by: String,
        note: String,
    },
    /// Tell the next agent of a task what to do. A task that had stopped for an answer continues.
    Answer {
        task: TaskId,
        by: String,
        text: String,
    },
    /// Send comments on a task's work, by their places in the journal. Its next attempt gets them. If it is completed,
    /// the task that was added to follow up on it has them.
    SendComments {
        task: TaskId,
        by: String,
        comments: Vec<u64>,
        follow_up: Option<TaskId>,
    },
    Raise {
        task: TaskId,
        by: String,
        attempts: u32,
    },

    /// Take over what was done about a task before this run.
    Adopt {
        task: TaskId,
        by: String,
        past: Box<ImportedTask>,
    },
    /// Whether a task of another list is completed there, which this one waits for.
    SeeOutside {
        task: TaskId,
        need: Outside,
        done: bool,
    },
    /// Give a task up, although attempts may be left.
    Abandon {
        task: TaskId,
        by: String,
        reason: String,
    },
    Note {
        by: String,
        note: Note,
    },
    /// Every task is completed, and the project's description was updated, or could not be.
    ContextUpdated(Box<ContextUpdate>),

    LandingLost {
        task: TaskId,
        commit: Oid,
        reason: String,
    },
    LandingFound {
        task: TaskId,
        commit: Oid,
        reason: String,
    },
}

impl Command {
    /// The same command, sent by this engine. A fence names the attempt, not the engine: two engines may carry out the
    /// same action, and one must not report what the other did. So an engine that has lost its run decides nothing in
    /// it. Three kinds pass unchanged: the start and end of the engine itself, facts that only it knows, and requests
    /// of people.
    pub fn of_engine(self, engine: &str) -> Command {
        match self {
            Command::Attach { .. }
            | Command::Detach { .. }
            | Command::Rescued { .. }
            | Command::Note { .. }
            | Command::RequestStop { .. } => self,
            command => Command::OfEngine { engine: engine.to_owned(), command: Box::new(command) },
        }
    }

    /// The same command, sent by this proof. A candidate may be proven again, with other candidates or on another tip.
    /// Then earlier results say nothing. What a landing waits for, and what git has, stays true.
    pub fn of_proof(self, proof: u64) -> Command {
        match self {
            Command::ProofEnded { .. }
            | Command::LandingWaits { .. }
            | Command::LandingFound { .. }
            | Command::Rescued { .. }
            | Command::HelperCut { .. }
            | Command::Note { .. } => self,
            command => Command::OfProof { proof, command: Box::new(command) },
        }
    }

    /// It looks at the run as a whole, so a part of the state is not enough to decide it.
    pub fn surveys(&self) -> bool {
        match self {
            Command::OfEngine { command, .. } | Command::OfProof { command, .. } => command.surveys(),
            Command::Create(_)
            | Command::Replan(_)
            | Command::Extend(_)
            | Command::Follow(_)
            | Command::Close { .. }
            | Command::PrepareLanding { .. }
            | Command::ContextUpdated(_) => true,
            // A commit counts for one task, and a check proves a task only if no other has it.
            Command::Report {
                claim: Claim::Done { evidence, .. } | Claim::ToConfirm { evidence, .. },
                ..
            } => !evidence.stands_alone(),
            _ => false,
        }
    }
}

/// Verdicts that something is not asked for before it lands.
#[derive(Clone, Debug, Default)]
pub struct Waived {
    /// Tasks whose files it does not change: verdicts of the agents among their checks stay valid.
    pub untouched: Vec<TaskId>,
    /// Checks of tasks that the request of a run brings, and that say nothing against it: they come out the same on the branch of
    /// the run, or the target had the work of their tasks before.
    pub excused: Vec<Digest>,
}

#[derive(Clone, Debug)]
pub struct NewRun {
    pub run: RunId,
    pub plan: Plan,
    pub plan_path: String,
    pub target: Option<String>,
    pub base: Option<Oid>,
    pub worktree_dir: Option<String>,
}

/// What a ledger's report says.
#[derive(Clone, Debug)]
pub enum Claim {
    Done {
        tree: Option<Oid>,
        results: Vec<CheckResult>,
        evidence: Evidence,
    },
    /// The same for a task that has to be confirmed: another agent first looks whether anything is left.
    ToConfirm {
        tree: Option<Oid>,
        results: Vec<CheckResult>,
        evidence: Evidence,
    },
    Failed {
        reason: String,
    },
    Blocked {
        reason: String,
    },
}

impl Claim {
    /// Whether another agent has to look before the claim is accepted: the task is to be confirmed, or the agent that
    /// was to confirm it has changed something.
    pub(super) fn asks_again(&self, task: &Task) -> bool {
        match self {
            Claim::ToConfirm { .. } => task.confirm,
            Claim::Done { tree: Some(tree), results, .. } if task.decided == Status::Confirming => {
                let passes = &task.progress.passes;
                let before = |result: &CheckResult| {
                    passes.iter().any(|pass| &pass.tree == tree && pass.check == result.check)
                };
                !results.iter().all(before)
            }
            Claim::Done { .. } | Claim::Failed { .. } | Claim::Blocked { .. } => false,
        }
    }
}

/// Why a command is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    Refused(Refusal),
    /// The view does not hold what the decision needs: load it and decide again.
    Missing(Missing),
}

/// A reason a person understands, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: String,
    pub hint: Option<String>,
    /// The command is about an attempt that is no longer the current one.
    pub stale: bool,
}

impl Refusal {
    pub(super) fn because(reason: impl Into<String>) -> Stop {
        Stop::Refused(Refusal { reason: reason.into(), hint: None, stale: false })
    }

    pub(super) fn hinted(reason: impl Into<String>, hint: impl Into<String>) -> Stop {
        Stop::Refused(Refusal { reason: reason.into(), hint: Some(hint.into()), stale: false })
    }

    pub(super) fn stale(reason: impl Into<String>) -> Stop {
        Stop::Refused(Refusal { reason: reason.into(), hint: None, stale: true })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}

impl From<Missing> for Stop {
    fn from(missing: Missing) -> Stop {
        Stop::Missing(missing)
    }
}
