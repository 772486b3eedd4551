//! What follows from a claim of a ledger's holder. A claim that a task is done needs evidence: work that is this task's
//! own, a check that proves this task and no other, or an explicit word that nothing had to change.

use super::{Decision, Rules, held_by_another};
use crate::plan::{Digest, Oid, TaskId};
use crate::run::command::{Claim, Refusal, Stop};
use crate::run::event::{CheckResult, Class, Event, Verdict};
use crate::run::evidence::{Evidence, Mark};
use crate::run::holding::HolderProcess;
use crate::run::task::{Holder, Proof, Status, Task};
use crate::run::verdict;

/// The most file names in a message: people do not read longer lists.
const FILES: usize = 5;

/// Why a claim may be believed once its checks have passed.
enum Ground {
    /// Work that is this task's own.
    Work { commits: Vec<Oid>, files: Vec<String> },
    /// A check that the plan gives to this task alone has passed, or nothing has to change.
    Checks,
    /// The holder says that nothing had to change.
    Word,
}

impl Rules<'_> {
    pub(super) fn report(
        &self,
        id: &TaskId,
        by: &str,
        seen: Option<u64>,
        claim: &Claim,
        advice: &str,
    ) -> Decision {
        let task = self.task(id)?;
        let holder = Holder::Ledger(by.to_owned());
        let mut events = Vec::new();
        let fence = match task.decided {
            Status::InProgress if task.holder.as_ref() == Some(&holder) => task.fence,
            // A task must not be confirmed by the holder that did the work.
            Status::Confirming if matches!(task.holder, Some(Holder::Ledger(_))) => {
                if let Claim::ToConfirm { .. } = claim {
                    return Err(Refusal::hinted(
                        format!("{id} is already reported done; someone else has to confirm it"),
                        format!("`piton confirm {id}` if nothing is left to do"),
                    ));
                }
                task.fence
            }
            Status::Pending | Status::Failed => {
                events = self.start(id, &holder)?;
                task.fence + 1
            }
            // What a person does waits for nobody else to unblock it.
            Status::Blocked if task.by_person && !matches!(claim, Claim::Blocked { .. }) => {
                events = self.start(id, &holder)?;
                task.fence + 1
            }
            status => {
                return Err(held_by_another(task).unwrap_or_else(|| {
                    let held = task.holder.as_ref().map(|h| format!(" by {h}")).unwrap_or_default();
                    Refusal::because(format!("{id} is {status}{held}: {by} cannot report on it"))
                }));
            }
        };
        if seen.is_some_and(|seen| seen != task.fence) {
            return Err(Refusal::stale(format!("{id} was started or reset again while its checks ran")));
        }
        // A holder that starts a task leaves a mark. A state file that only calls a task done starts nothing.
        let begun = events.is_empty() && task.progress.mark.is_some();
        let task_then = Task { fence, ..task.clone() };
        match claim {
            Claim::Blocked { reason } => {
                events.push(self.failure(&task_then, Class::Defect, reason, "", None));
            }
            Claim::Failed { reason } => {
                let feedback = if advice.is_empty() { reason } else { advice };
                events.push(self.failure(&task_then, Class::Code, reason, feedback, None));
            }
            Claim::Done { evidence, .. } | Claim::ToConfirm { evidence, .. }
                if self.waits(task, evidence) =>
            {
                let files = evidence.uncommitted.clone();
                events.push(Event::ClaimWaits { task: id.clone(), fence, by: by.to_owned(), files });
            }
            Claim::Done { tree, results, evidence } | Claim::ToConfirm { tree, results, evidence } => {
                let looks_again = claim.asks_again(task);
                let judged = tree
                    .as_ref()
                    .filter(|_| looks_again || results.iter().any(|result| !result.verdict.lets_pass()));
                let failed = self.not_passed(&task_then, results);
                let ground = self.ground(task, results, evidence, begun, failed.is_some())?;
                if let Some(tree) = judged {
                    // The results are journaled: they say why it failed, or what passed before another agent confirms
                    // it.
                    let (tree, results) = (tree.clone(), results.clone());
                    events.push(Event::ChecksEnded { task: id.clone(), fence, tree, results });
                }
                events.push(match failed {
                    Some(failed) => failed,
                    None if looks_again => {
                        let (agent, instead_of) = (String::new(), None);
                        Event::ConfirmationStarted { task: id.clone(), fence, agent, instead_of }
                    }
                    None => {
                        let saw = evidence.whole.clone().filter(|_| task.gate);
                        self.proven(&task_then, tree.as_ref(), results, ground, saw)?
                    }
                });
            }
        }
        let done = events.iter().find_map(|event| match event {
            Event::Completed { proof: Proof::Checked { tree, .. }, .. } => Some(tree.clone()),
            Event::Completed { .. } => Some(None),
            _ => None,
        });
        if let (Some(tree), Claim::Done { evidence, .. } | Claim::ToConfirm { evidence, .. }) = (done, claim)
        {
            events.extend(self.gates_after_claim(task, tree.as_ref(), evidence)?);
        }
        Ok(events)
    }

    /// Whether work has to be committed before the claim can be judged.
    fn waits(&self, task: &Task, evidence: &Evidence) -> bool {
        let has_none = || {
            evidence.named.is_empty()
                && evidence.files.is_empty()
                && !needs_none(task)
                && self.free(task, &evidence.commits).is_empty()
        };
        !evidence.uncommitted.is_empty() && evidence.no_change.is_none() && (evidence.owed || has_none())
    }

    /// The end of a claim whose checks passed.
    fn proven(
        &self,
        task: &Task,
        tree: Option<&Oid>,
        results: &[CheckResult],
        ground: Ground,
        saw: Option<Oid>,
    ) -> Result<Event, Stop> {
        let passed = |judge: &Digest| results.iter().any(|r| &r.check == judge && r.verdict == Verdict::Pass);
        if !task.judges.iter().all(passed) {
            return Err(Refusal::because(format!("some checks of {} have not run", task.id)));
        }
        let (proof, counts) = match ground {
            Ground::Word => (Proof::Reported, Vec::new()),
            Ground::Work { commits, files } if task.judges.is_empty() => {
                (Proof::Work { commits: commits.clone(), files }, commits)
            }
            Ground::Checks if task.judges.is_empty() => (Proof::Reported, Vec::new()),
            Ground::Work { commits, .. } => (Proof::Checked { tree: tree.cloned(), already: None }, commits),
            Ground::Checks => (Proof::Checked { tree: tree.cloned(), already: None }, Vec::new()),
        };
        Ok(Event::Completed { task: task.id.clone(), fence: task.fence, proof, counts, saw })
    }

    /// The evidence for a claim. If its checks failed, the task must have been started: only then is an attempt spent.
    fn ground(
        &self,
        task: &Task,
        results: &[CheckResult],
        evidence: &Evidence,
        begun: bool,
        failed: bool,
    ) -> Result<Ground, Stop> {
        if let Some(reason) = &evidence.no_change {
            return match reason.trim() {
                "" => Err(Refusal::because(format!("say why nothing had to change for {}", task.id))),
                _ => Ok(Ground::Word),
            };
        }
        let commits = match evidence.named.is_empty() {
            true => self.free(task, &evidence.commits),
            false => evidence.named.clone(),
        };
        if !commits.is_empty() || !evidence.files.is_empty() {
            return Ok(Ground::Work { commits, files: evidence.files.clone() });
        }
        let own = results.iter().any(|result| {
            result.verdict == Verdict::Pass
                && task.judges.contains(&result.check)
                && self.is_own(task, &result.check)
        });
        if needs_none(task) || (own && !failed) || (begun && failed) {
            return Ok(Ground::Checks);
        }
        let failed = failed.then(|| verdict::reason(results).unwrap_or_default());
        Err(self.no_ground(task, evidence, begun, failed.as_deref()))
    }

    /// Those of these commits that count neither for another task nor for this one before it was opened again.
    fn free(&self, task: &Task, commits: &[Oid]) -> Vec<Oid> {
        let is_free =
            |commit: &&Oid| !task.counts.contains(commit) && self.counted_for(task, commit).is_none();
        commits.iter().filter(is_free).cloned().collect()
    }

    /// Another task that this commit counts for.
    fn counted_for(&self, task: &Task, commit: &Oid) -> Option<&TaskId> {
        let counts = |other: &&Task| {
            other.counts.contains(commit)
                || matches!(&other.proof, Some(Proof::Landed { commit: landed, verified })
                    if landed == commit || verified == commit)
        };
        self.state.tasks().filter(|other| other.id != task.id).find(counts).map(|other| &other.id)
    }

    /// Whether the plan gives this check to no other task. A check of the whole project passes even if nothing was
    /// done.
    fn is_own(&self, task: &Task, check: &Digest) -> bool {
        let others = self.state.tasks().filter(|other| other.id != task.id && !other.removed);
        !others.into_iter().any(|other| other.judges.contains(check))
    }

    fn no_ground(&self, task: &Task, evidence: &Evidence, begun: bool, failed: Option<&str>) -> Stop {
        let id = &task.id;
        let since = if begun { format!("since {id} began") } else { "since the run began".to_owned() };
        let counted =
            evidence.commits.last().and_then(|commit| Some((commit, self.counted_for(task, commit)?)));
        let shared = self.run.settings.worktree.shared.is_some();
        let why = match (counted, &self.run.target) {
            _ if failed.is_some() => format!("it was never started, and {}", failed.unwrap_or_default()),
            (Some((commit, other)), _) => {
                format!(
                    "commit {} already counts for {other}, and there is no other commit {since}",
                    commit.short()
                )
            }
            _ if self.run.settings.no_commits && begun => {
                format!("no file that {id} names has changed since it began")
            }
            _ if self.run.settings.no_commits => "it was never started".to_owned(),
            (None, Some(branch)) if shared => {
                format!("its work is not on `{branch}`; commit it there first")
            }
            (None, Some(_)) => format!("nothing was committed {since}"),
            (None, None) => format!("no file that {id} names has changed since it began"),
        };
        Refusal::hinted(
            format!("there is no evidence that {id} was done: {why}"),
            format!(
                "piton report {id} done --commit HASH   names its commit; or, if nothing had to change: \
                 piton report {id} done --no-change --reason TEXT"
            ),
        )
    }

    /// Take a task back from a holder of the ledger that does not work on it any more.
    pub(super) fn release(&self, id: &TaskId, fence: u64, reason: &str) -> Decision {
        self.in_a_ledgers_hands(id, fence)?;
        Ok(vec![Event::Released { task: id.clone(), fence, reason: reason.to_owned() }])
    }
}

impl<'a> Rules<'a> {
    /// A holder counts as working while this process lives.
    pub(super) fn bind(&self, id: &TaskId, fence: u64, process: &HolderProcess) -> Decision {
        if self.in_a_ledgers_hands(id, fence)?.progress.process.as_ref() == Some(process) {
            return Ok(Vec::new());
        }
        Ok(vec![Event::HolderBound { task: id.clone(), fence, process: process.clone() }])
    }

    /// That process has ended. A claim that waits for a commit does not need its process any more, so it stays.
    pub(super) fn holder_gone(&self, id: &TaskId, fence: u64, process: &HolderProcess) -> Decision {
        let task = self.in_a_ledgers_hands(id, fence)?;
        if task.progress.process.as_ref() != Some(process) || !task.progress.uncommitted.is_empty() {
            return Err(Refusal::stale(format!("{id} is not held by {process}")));
        }
        let name = task.holder.as_ref().map(ToString::to_string).unwrap_or_default();
        let reason = format!("{name} held it through {process}, which has ended");
        Ok(vec![Event::Released { task: id.clone(), fence, reason }])
    }

    /// The task, if a holder of the ledger works on it in this attempt.
    fn in_a_ledgers_hands(&self, id: &TaskId, fence: u64) -> Result<&'a Task, Stop> {
        let task = self.task(id)?;
        let held = task.decided == Status::InProgress && matches!(task.holder, Some(Holder::Ledger(_)));
        if task.fence != fence || !held {
            return Err(Refusal::stale(format!("{id} was started or reset since")));
        }
        Ok(task)
    }

    /// Remember where a task began. Tries after the first are compared with the same mark.
    pub(super) fn mark(&self, id: &TaskId, fence: u64, mark: &Mark) -> Decision {
        if self.in_a_ledgers_hands(id, fence)?.progress.mark.is_some() {
            return Ok(Vec::new());
        }
        Ok(vec![Event::Marked { task: id.clone(), fence, mark: Box::new(mark.clone()) }])
    }
}

/// Whether a claim needs no work of its own: nothing has to change, or the claim that is to be confirmed had evidence.
/// The word of an agent that all is there already proves nothing for another holder.
fn needs_none(task: &Task) -> bool {
    task.may_change_nothing || task.progress.checks_first || task.decided == Status::Confirming
}

/// What a claim waits for, in words.
pub fn waits_for(files: &[String]) -> String {
    let named = files.iter().take(FILES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(FILES) {
        0 => format!("not committed: {named}"),
        more => format!("not committed: {named} and {more} more"),
    }
}
