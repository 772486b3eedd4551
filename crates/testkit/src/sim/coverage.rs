//! What has been seen, over all seeds: a simulation that no longer meets a situation proves nothing about it.

use std::collections::BTreeMap;

use piton_core::run::Event;

macro_rules! kinds {
    ($($name:ident),* $(,)?) => {
        /// Every kind of event.
        pub const KINDS: &[&str] = &[$(stringify!($name)),*];

        pub(super) fn kind(event: &Event) -> &'static str {
            match event { $(Event::$name { .. } => stringify!($name)),* }
        }
    };
}

kinds![
    RunCreated,
    PlanAdopted,
    SettingsAdopted,
    TaskAdded,
    TaskChanged,
    TaskRemoved,
    EngineStarted,
    EngineStopped,
    StopRequested,
    RunClosed,
    AttemptStarted,
    Marked,
    HolderBound,
    ClaimWaits,
    Released,
    WorktreeReady,
    AgentEnded,
    WorkCaptured,
    ConfirmationStarted,
    VerificationStarted,
    ChecksEnded,
    ReviewerStarted,
    ReviewerEnded,
    ProviderAsked,
    ProviderUnparked,
    Verified,
    Failed,
    ProofBegan,
    ProofEnded,
    LandingPrepared,
    LandingReturned,
    LandingWaits,
    Request,
    Completed,
    CleanedUp,
    CleanupRefused,
    Rescued,
    Reported,
    Retried,
    Reset,
    Skipped,
    Unblocked,
    Answered,
    CommentsSent,
    Reopened,
    Raised,
    Adopted,
    GivenUp,
    OutsideSeen,
    Noted,
    ContextUpdated,
    LandingLost,
    LandingFound,
];

/// Situations that the simulation exists for.
pub const SITUATIONS: &[&str] = &[
    "a sequence holds back a task that waits for no other",
    "crash: effect done, result lost",
    "crash: between intent and Landed",
    "crash: keepers died too",
    "keeper adopted",
    "outcome found on disk",
    "move found done",
    "target moved by a person",
    "target rewound",
    "conflict in the text",
    "red together",
    "red together, already brought up",
    "late result refused",
    "late detach refused",
    "refused: stale",
    "refused: waits for others",
    "refused: barrier",
    "refused: people",
    "work that was to land went back with comments",
    "clock went back",
    "clock went ahead",
    "usage limit",
    "usage limit of one model",
    "provider lets nobody in",
    "provider does not answer",
    "provider answers again",
    "somebody stands in",
    "nobody was there to review",
    "another looks first, so nobody reviews",
    "others go on at a limit",
    "streak of transient failures",
    "gate closed for good",
    "barrier closed for good",
    "went on past a group that is not complete",
    "went on without a task",
    "plan read again",
    "an edited plan was followed",
    "an edited plan has to wait",
    "other checks judge work that failed by them",
    "a completed task became another one",
    "work under way is for another task now",
    "other checks decide about a completed task",
    "landing of another task under the same id",
    "stopped at once",
    "ledger worked on a task",
    "a claim without evidence was refused",
    "a holder was not at work",
    "confirmed by a person",
    "a person found work instead of confirming",
    "nobody confirmed it",
    "waits for another list",
    "all completed",
    "a gate passed again",
    "a gate failed that had passed",
    "a gate saw another target at the end",
    "a gate was judged by an agent again",
    "completed, and was already so",
    "said to be already so, and it was not",
    "a reviewer gave no verdict",
    "a verdict was carried over",
    "proven together",
    "red in company",
    "red in company by an own check",
    "red where it is to land, and by itself",
    "red where it is to land, and not by itself",
    "conflict in a chain",
];

/// Situations that queues exist for.
pub const QUEUE_SITUATIONS: &[&str] = &[
    "red together",
    "red together, already brought up",
    "conflict in the text",
    "target moved by a person",
    "check failed without a reason",
    "check passed without a reason",
    "red by a check that lied",
    "engine left out a check",
    "crash: between intent and Landed",
    "move found done",
    "late result refused",
    "proven together",
    "red in company",
    "red where it is to land, and by itself",
    "red where it is to land, and not by itself",
    "all completed",
];

/// Situations that requests exist for.
pub const REQUEST_SITUATIONS: &[&str] = &[
    "request: prepared",
    "request: merge begins",
    "request: sent back",
    "request: brought up to the target",
    "request: pushed",
    "request: opened",
    "request: seen",
    "request: merge accepted",
    "request: merge rejected",
    "request: merged",
    "push found done",
    "request found open",
    "merge found done",
    "the host rejected a merge",
    "somebody pushed to a request",
    "a review asked for changes",
    "a person merged a request",
    "a person merged a request early",
    "a person closed a request",
    "squashed by the host",
    "merged by the host",
    "a run landed as a whole",
    "a group landed as a whole",
    "a request of the run has the tree of its branch",
    "a check of a request is as red on the branch",
    "somebody pushed to the target of the run's request",
    "stands on an open request",
    "stands on several open requests",
    "a person merged what stands on an open request",
    "stacked work was carried over",
    "stacked work conflicts with what it stands on",
    "requests that a task stands on conflict",
    "request: waits for what it stood on",
    "request: waits until others have landed",
    "all completed",
];

/// Situations that take-overs exist for.
pub const TAKEOVER_SITUATIONS: &[&str] = &[
    "a claim was borne out",
    "a claim was not borne out",
    "completed, and nobody claims it",
    "rewritten work was found",
    "only checks are run again",
    "goes on in a worktree",
    "taken over as it was told",
    "a take-over was begun again",
    "a claim of an issue's list counts",
    "a claim of a todolist counts",
    "a claim of a log counts",
    "a log claims what was reverted",
    "a claim of a list was not borne out",
    "all completed",
];

#[derive(Clone, Debug, Default)]
pub struct Coverage {
    pub seen: BTreeMap<&'static str, u64>,
    pub events: u64,
    pub steps: u64,
}

impl Coverage {
    pub(super) fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    pub fn merge(&mut self, other: &Coverage) {
        for (what, n) in &other.seen {
            *self.seen.entry(what).or_default() += n;
        }
        self.events += other.events;
        self.steps += other.steps;
    }

    /// What never happened although it should have.
    pub fn blind_spots(&self) -> Vec<&'static str> {
        let all = KINDS.iter().filter(|kind| **kind != "Request").chain(SITUATIONS);
        all.filter(|what| !self.seen.contains_key(*what)).copied().collect()
    }

    /// The same of queues.
    pub fn queue_blind_spots(&self) -> Vec<&'static str> {
        QUEUE_SITUATIONS.iter().filter(|what| !self.seen.contains_key(*what)).copied().collect()
    }

    /// The same of requests.
    pub fn request_blind_spots(&self) -> Vec<&'static str> {
        REQUEST_SITUATIONS.iter().filter(|what| !self.seen.contains_key(*what)).copied().collect()
    }

    /// The same of take-overs.
    pub fn takeover_blind_spots(&self) -> Vec<&'static str> {
        TAKEOVER_SITUATIONS.iter().filter(|what| !self.seen.contains_key(*what)).copied().collect()
    }
}
