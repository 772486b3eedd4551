//! The request by which a task lands on a host, as events report it, and what its state means.
//!
//! Everything that comes from the host is a value here ([`Seen`]). What to do about it is [`judge`], a function of values.

use serde::{Deserialize, Serialize};

use super::state::Run;
use super::task::{Status, Task};
use crate::plan::{MergeBy, Oid, Requests, RunId, TaskId};
use crate::time::{Span, Timestamp};

/// So many commits that were pushed, or may have been, are remembered. The host may show an older one for a while.
const HEADS: usize = 16;
/// So many remarks of reviewers are known to be delivered. More than a review of one task has.
const DELIVERED: usize = 500;
/// How often the target is looked at for a commit that the host claims, before a person is asked. A host shows a merge to git within
/// seconds, and two looks are half a minute apart.
pub(super) const LOOKS: u32 = 10;
/// How often the host may reject the merge of one commit before a person is asked.
const REFUSALS: u32 = 3;

/// A task's request. It outlives attempts: the next one updates the same request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub branch: String,
    /// The target's commit that `head` was proven on.
    pub base: Oid,
    /// What the branch is to have.
    pub head: Oid,
    pub step: Step,
    /// The open requests that `head` was proven on. It is not merged before they are, and then it is proven again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<Footing>,
    /// Every head so far, oldest first: all that Piton may have pushed.
    pub heads: Vec<Oid>,
    /// Once the host has opened it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<Opened>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed_at: Option<Timestamp>,
    /// What the host said last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Box<Seen>>,
    /// The host has accepted to merge `head` when it can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// How often the host rejected the merge of `head`, and the last reason.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub refusals: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// How often it was sent back to an agent.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub rounds: u32,
    /// Remarks that an agent has got.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delivered: Vec<String>,
    /// The commit that the host made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Oid>,
    /// How often the target was looked at and did not have that commit.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub missing: u32,
    /// The head of the request before it that the host merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought: Option<Oid>,
}

/// The work of another task that a request stands on, as it is in that task's own request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footing {
    pub task: TaskId,
    pub head: Oid,
}

/// A request by its name on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    pub number: u64,
    pub url: String,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Put `head` on the branch.
    Push,
    /// Open the request, or find the one that is open.
    Open,
    /// Look what the host says.
    Follow,
    /// Ask the host to merge `head`.
    Merge,
    /// Bring what the host merged into the local target.
    Take,
}

/// Something that happened to a request. The first four are written before the effect that they announce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum RequestFact {
    /// The work is proven on `base`: it is about to be pushed to `branch` as `head`.
    Prepared {
        branch: String,
        base: Oid,
        head: Oid,
        tree: Oid,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        on: Vec<Footing>,
    },
    /// What the task was to stand on is not there: it waits, and its work is kept.
    Unstacked {
        reason: String,
        /// It does not begin on open requests again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        until_landed: bool,
    },
    /// The host is about to be asked to merge this commit.
    MergeBegins {
        head: Oid,
    },
    /// The host's answer goes back to an agent.
    SentBack {
        remarks: Vec<String>,
    },
    /// The target has moved, or does not merge any more: the work is proven on it again.
    Returned {
        reason: String,
    },
    /// The branch has this commit.
    Pushed {
        head: Oid,
    },
    Opened {
        number: u64,
        url: String,
    },
    Seen {
        seen: Box<Seen>,
    },
    /// The host has accepted to merge this commit, at once or later.
    MergeAsked {
        head: Oid,
    },
    MergeRefused {
        head: Oid,
        reason: String,
    },
    /// The host has merged it: this commit of the target has the work.
    Merged {
        commit: Oid,
    },
    /// The target was fetched, and does not have the commit that the host named.
    Missing {
        commit: Oid,
    },
}

/// What a host says about a request, in words that hold for every host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub phase: Phase,
    pub head: Oid,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    pub mergeable: Mergeable,
    #[serde(default)]
    pub review: Review,
    /// Checks that have not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    #[serde(default)]
    pub passed: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red: Vec<RedCheck>,
    /// Those of them that are red on the target's own head, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red_on_target: Vec<String>,
    /// Checks that ended and judged nothing: cancelled, timed out, not started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stuck: Vec<String>,
    /// Reviews that ask for changes, of people who have a say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanted: Vec<Remark>,
    /// Other remarks of theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// The host merges it by itself when it can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    Open,
    /// The commit is the one that the target got by it, as soon as the host names it.
    Merged {
        commit: Option<Oid>,
    },
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mergeable {
    Yes,
    /// The target has commits that the branch lacks, and the host wants them in it.
    Behind,
    Conflict,
    /// A rule of the host is not met.
    Blocked,
    /// The host is still finding out.
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    #[default]
    NotNeeded,
    Needed,
    Approved,
    ChangesWanted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedCheck {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// What a person wrote about a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    pub id: String,
    pub by: String,
    pub text: String,
    /// The file and line that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
}

/// What the state of a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Look again later.
    Wait,
    /// The same, but the target's tip has to be known to say more.
    LookAtTarget,
    Merge,
    /// The target has to be brought in.
    BringUp {
        reason: String,
    },
    /// An agent has to change the work.
    SendBack {
        reason: String,
        feedback: String,
        remarks: Vec<String>,
    },
    Landed {
        commit: Oid,
    },
    /// A person has to look.
    Stuck {
        reason: String,
    },
}

/// Whether a task waits for what its host does by itself, and not for a person.
pub fn waits_for_the_host(run: &Run, task: &Task) -> bool {
    let (Some(settings), Some(request)) = (&run.settings.requests, &task.progress.request) else {
        return false;
    };
    // Otherwise something else was in the way at the last step.
    let is_known = task.progress.waits.as_ref() == Some(&request.words());
    task.decided == Status::Merging && is_known && !request.waits_for_person(settings)
}

/// What is to be done about a branch on the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Push {
    Done,
    /// The branch may be replaced as long as it is at `expected`, or does not exist.
    Needed {
        expected: Option<Oid>,
    },
    Foreign {
        at: Oid,
    },
}

/// Whether the branch has to be pushed. `remote`: where it is on the remote.
pub fn push(request: &Request, remote: Option<&Oid>) -> Push {
    match remote {
        None => Push::Needed { expected: None },
        Some(at) if *at == request.head => Push::Done,
        Some(at) if request.heads.contains(at) => Push::Needed { expected: Some(at.clone()) },
        Some(at) => Push::Foreign { at: at.clone() },
    }
}

/// The branch of a task's request. Every name of a task is a valid end of a branch.
pub fn branch(run: &RunId, task: &TaskId) -> String {
    format!("piton/{run}/{task}")
}

/// What to do about a request, by what the host says of it. `tip`: the target's, on the host.
pub fn judge(
    settings: &Requests,
    request: &Request,
    seen: &Seen,
    tip: Option<&Oid>,
    now: Timestamp,
) -> Judgement {
    let name = request.name();
    let stuck = |reason: String| Judgement::Stuck { reason };
    let is_ours = request.heads.contains(&seen.head);
    match &seen.phase {
        Phase::Merged { .. } if !is_ours => {
            return stuck(format!("{name} was merged at {}, which Piton did not push", seen.head.short()));
        }
        Phase::Merged { commit: Some(commit) } => return Judgement::Landed { commit: commit.clone() },
        Phase::Merged { commit: None } => return Judgement::Wait,
        Phase::Closed => {
            return stuck(format!("{name} was closed and not merged: reopen it before you retry the task"));
        }
        Phase::Open if !is_ours => {
            return stuck(format!(
                "somebody pushed {} to the branch of {name}: Piton does not overwrite it",
                seen.head.short()
            ));
        }
        // The host has not noticed the last push yet.
        Phase::Open if seen.head != request.head => return Judgement::Wait,
        Phase::Open => {}
    }
    let news: Vec<&Remark> =
        seen.wanted.iter().filter(|remark| !request.delivered.contains(&remark.id)).collect();
    let has_ended = seen.pending.is_empty();
    let own: Vec<&RedCheck> = seen.own_red().collect();
    // The target's fault at the last look, and not any more: the checks have to run again.
    let last = request.seen.as_ref().filter(|last| last.head == seen.head);
    let was_excused = |check: &&RedCheck| last.is_some_and(|last| last.red_on_target.contains(&check.name));
    if has_ended && !own.is_empty() && own.iter().all(was_excused) && news.is_empty() {
        return Judgement::BringUp { reason: format!("the target is not red any more where {name} was") };
    }
    if !own.is_empty() && has_ended || !news.is_empty() {
        let reason = seen.complaint(&name);
        if request.rounds >= settings.rounds {
            return stuck(format!("{reason}; it was sent back {} times already", request.rounds));
        }
        let feedback = seen.feedback(&request.delivered);
        let remarks = seen.wanted.iter().chain(&seen.remarks).map(|remark| remark.id.clone()).collect();
        return Judgement::SendBack { reason, feedback, remarks };
    }
    // What is left of them is not the work's fault, and the host may not insist on a check.
    if has_ended && !seen.red.is_empty() {
        return Judgement::Wait;
    }
    let is_through = has_ended && seen.stuck.is_empty();
    // A host that has just got the branch may not have begun its checks.
    let is_settled =
        seen.passed > 0 || request.pushed_at.is_none_or(|at| now < at || now.since(at) >= settings.settle);
    let may_merge = match settings.merge {
        MergeBy::Person => false,
        MergeBy::Host => true,
        MergeBy::Piton => {
            let is_reviewed = matches!(seen.review, Review::NotNeeded | Review::Approved);
            is_through && is_settled && is_reviewed && seen.mergeable == Mergeable::Yes
        }
    };
    let needs_target = matches!(seen.mergeable, Mergeable::Behind | Mergeable::Conflict)
        || settings.merge == MergeBy::Piton && may_merge;
    if needs_target {
        let Some(tip) = tip else { return Judgement::LookAtTarget };
        if *tip != request.base {
            let reason = format!("the target is at {} by now", tip.short());
            return Judgement::BringUp { reason };
        }
    }
    let is_over = request.asked || seen.queued || request.refusals >= REFUSALS;
    if may_merge && !seen.draft && !is_over && seen.mergeable != Mergeable::Conflict {
        return Judgement::Merge;
    }
    Judgement::Wait
}

impl Request {
    pub(super) fn begin(branch: String, base: Oid, head: Oid) -> Request {
        Request {
            branch,
            base,
            on: Vec::new(),
            heads: vec![head.clone()],
            head,
            step: Step::Push,
            opened: None,
            pushed_at: None,
            seen: None,
            asked: false,
            refusals: 0,
            refused: None,
            rounds: 0,
            delivered: Vec::new(),
            merged: None,
            missing: 0,
            brought: None,
        }
    }

    /// Fold one fact into the request that a task has, if it has one.
    pub(super) fn after(before: Option<Request>, fact: &RequestFact, at: Timestamp) -> Option<Request> {
        if let RequestFact::Prepared { branch, base, head, on, .. } = fact {
            let request = match before {
                Some(request) => request.prepared_again(branch, base, head),
                None => Request::begin(branch.clone(), base.clone(), head.clone()),
            };
            return Some(Request { on: on.clone(), ..request });
        }
        let mut request = before?;
        match fact {
            RequestFact::Prepared { .. } | RequestFact::Unstacked { .. } => {}
            RequestFact::MergeBegins { .. } => request.step = Step::Merge,
            RequestFact::SentBack { remarks } => {
                request.rounds += 1;
                request.delivered.extend(remarks.iter().cloned());
                let old = request.delivered.len().saturating_sub(DELIVERED);
                request.delivered.drain(..old);
            }
            RequestFact::Returned { .. } => request.asked = false,
            RequestFact::Pushed { .. } => {
                request.pushed_at = Some(at);
                request.step = if request.opened.is_some() { Step::Follow } else { Step::Open };
            }
            RequestFact::Opened { number, url } => {
                request.opened = Some(Opened { number: *number, url: url.clone() });
                request.step = Step::Follow;
            }
            RequestFact::Seen { seen } => {
                if request.seen.as_ref() != Some(seen) {
                    request.refused = None;
                }
                request.seen = Some(seen.clone());
                request.step = Step::Follow;
            }
            RequestFact::MergeAsked { .. } => {
                request.asked = true;
                request.step = Step::Follow;
            }
            RequestFact::MergeRefused { reason, .. } => {
                request.refusals += 1;
                request.refused = Some(reason.clone());
                request.step = Step::Follow;
            }
            RequestFact::Merged { commit } => {
                request.merged = Some(commit.clone());
                request.step = Step::Take;
            }
            RequestFact::Missing { .. } => request.missing += 1,
        }
        Some(request)
    }

    fn prepared_again(mut self, branch: &str, base: &Oid, head: &Oid) -> Request {
        // A request that is over stays as it is: this work needs another one.
        if let Some(head) = self.merged_head() {
            (self.opened, self.rounds, self.brought) = (None, 0, Some(head.clone()));
        }
        if !self.heads.contains(head) {
            self.heads.push(head.clone());
            self.heads.drain(..self.heads.len().saturating_sub(HEADS));
        }
        Request {
            branch: branch.to_owned(),
            base: base.clone(),
            head: head.clone(),
            step: Step::Push,
            seen: None,
            asked: false,
            refusals: 0,
            refused: None,
            merged: None,
            missing: 0,
            ..self
        }
    }

    fn merged_head(&self) -> Option<&Oid> {
        let seen = self.seen.as_deref().filter(|seen| matches!(seen.phase, Phase::Merged { .. }));
        seen.map(|seen| &seen.head)
    }

    /// The last head that the host has merged of this task: the target had its work, whatever has become of it since.
    pub fn last_merged(&self) -> Option<&Oid> {
        self.merged_head().or(self.brought.as_ref())
    }

    /// How long to wait before the next look: longer, the longer nothing has been pushed. Checks that take an hour may be
    /// seen to end a minute later.
    pub fn pause(&self, settings: &Requests, now: Timestamp) -> Span {
        let since = self.pushed_at.map_or(Span::default(), |at| now.since(at));
        let slower = if since > Span::minutes(30) { 4 } else { 1 };
        Span(settings.poll.0.saturating_mul(slower))
    }

    /// The target is about to get it, or may have it already.
    pub fn is_merging(&self) -> bool {
        self.asked || matches!(self.step, Step::Merge | Step::Take)
    }

    /// A person has to do something on the host before it can land.
    pub fn waits_for_person(&self, settings: &Requests) -> bool {
        let Some(seen) = &self.seen else { return false };
        if self.step != Step::Follow || seen.head != self.head || !seen.pending.is_empty() {
            return false;
        }
        let may_merge = settings.merge == MergeBy::Person && self.on.is_empty();
        let is_asked_for = may_merge && seen.mergeable == Mergeable::Yes;
        let is_reviewed = matches!(seen.review, Review::NotNeeded | Review::Approved);
        let is_ruled_out = seen.mergeable == Mergeable::Blocked && !seen.queued;
        let is_target = !seen.red.is_empty() && seen.own_red().next().is_none();
        let is_held = seen.draft || !is_reviewed || is_ruled_out || !seen.stuck.is_empty() || is_target;
        is_held || is_asked_for || self.refusals >= REFUSALS
    }

    /// The tasks whose requests it stands on.
    pub fn stands_on(&self) -> String {
        self.on.iter().map(|footing| footing.task.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// As people call it.
    pub fn name(&self) -> String {
        match &self.opened {
            Some(opened) => format!("#{}", opened.number),
            None => format!("the request of {}", self.branch),
        }
    }

    /// Where it stands, in a sentence.
    pub fn words(&self) -> String {
        let name = self.name();
        match self.step {
            Step::Push => return format!("{} is about to be pushed", self.branch),
            Step::Open => return format!("a request for {} is about to be opened", self.branch),
            Step::Merge => return format!("the host is asked to merge {name}"),
            Step::Take => {
                return match &self.merged {
                    Some(commit) if self.missing > 0 => {
                        format!(
                            "the host says that it merged {name} as {}, and the target does not have that",
                            commit.short()
                        )
                    }
                    _ => format!("the host has merged {name}: the local target follows"),
                };
            }
            Step::Follow => {}
        }
        let url = self.opened.as_ref().map(|opened| format!(" ({})", opened.url)).unwrap_or_default();
        let state = match (&self.seen, &self.refused) {
            (_, Some(reason)) => format!("the host rejected the merge: {reason}"),
            (Some(seen), None) => seen.words(self),
            (None, None) => "the host has not been asked about it yet".to_owned(),
        };
        format!("{name}{url}: {state}")
    }
}

impl Seen {
    /// A request of which nothing else is known yet: no check, and no word of anybody.
    pub fn bare(phase: Phase, head: Oid) -> Seen {
        Seen {
            phase,
            head,
            draft: false,
            mergeable: Mergeable::Unknown,
            review: Review::NotNeeded,
            pending: Vec::new(),
            passed: 0,
            red: Vec::new(),
            red_on_target: Vec::new(),
            stuck: Vec::new(),
            wanted: Vec::new(),
            remarks: Vec::new(),
            queued: false,
        }
    }

    fn words(&self, request: &Request) -> String {
        let listed = |names: &[String]| names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        match &self.phase {
            Phase::Merged { .. } => return "it is merged".to_owned(),
            Phase::Closed => return "it is closed".to_owned(),
            Phase::Open => {}
        }
        if self.head != request.head {
            return "the host has not noticed the last push yet".to_owned();
        }
        if !self.pending.is_empty() {
            let ended = self.passed as usize + self.red.len() + self.stuck.len();
            let all = ended + self.pending.len();
            return format!("{ended} of {all} checks have ended, it waits for {}", listed(&self.pending));
        }
        if !self.stuck.is_empty() {
            return format!("a check did not judge, run it again on the host: {}", listed(&self.stuck));
        }
        if self.own_red().next().is_some() {
            return self.complaint(&request.name());
        }
        if !self.red.is_empty() {
            return format!(
                "it waits for the target, where the same checks are red: {}",
                listed(&self.red_on_target)
            );
        }
        match (self.review, self.mergeable) {
            _ if self.draft => "it is a draft, a person has to mark it as ready".to_owned(),
            (Review::ChangesWanted, _) => "a reviewer wants changes, and has to look again".to_owned(),
            (Review::Needed, _) => "it waits for a review".to_owned(),
            (_, Mergeable::Conflict) => "it conflicts with the target".to_owned(),
            (_, Mergeable::Behind) => "it lacks commits of the target".to_owned(),
            (_, Mergeable::Unknown) => "the host is finding out whether it can be merged".to_owned(),
            _ if !request.on.is_empty() => {
                format!("it stands on {}, and is merged after that", request.stands_on())
            }
            _ if self.queued || request.asked => "the host merges it when it can".to_owned(),
            (_, Mergeable::Blocked) => "a rule of the host is not met".to_owned(),
            (_, Mergeable::Yes) => "it can be merged".to_owned(),
        }
    }

    /// The red checks that are not red on the target, too.
    fn own_red(&self) -> impl Iterator<Item = &RedCheck> {
        self.red.iter().filter(|check| !self.red_on_target.contains(&check.name))
    }

    fn complaint(&self, name: &str) -> String {
        let red: Vec<&str> = self.own_red().take(3).map(|check| check.name.as_str()).collect();
        match (red.as_slice(), self.wanted.first()) {
            ([], Some(remark)) => format!("a review of {name} by {} asks for changes", remark.by),
            (red, _) => format!("checks of {name} are red on the host: {}", red.join(", ")),
        }
    }

    /// What the next agent reads about it.
    fn feedback(&self, delivered: &[String]) -> String {
        let mut text = String::new();
        for check in self.own_red() {
            text +=
                &format!("The check `{}` failed on the host. {}\n", check.name.replace('`', "'"), check.url);
        }
        let fresh = |remark: &&Remark| !delivered.contains(&remark.id);
        for remark in self.wanted.iter().chain(&self.remarks).filter(fresh) {
            let place = if remark.place.is_empty() { String::new() } else { format!(" on {}", remark.place) };
            text += &format!("\n{} wrote{place}:\n{}\n", remark.by, remark.text);
        }
        text
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
