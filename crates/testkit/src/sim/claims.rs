//! Claims of the ledger and their evidence: what people show, and laws about which claims are accepted.

use std::collections::BTreeMap;

use piton_core::plan::{Check, TaskId};
use piton_core::run::{Command, Event, Evidence, Holder, HolderProcess, Mark, Proof, Status, Task};

use super::driver::{Answer, Sim};
use super::git::{CommitNo, commit_no, oid};
use super::laws::Broken;

type Verdict = Result<(), String>;

/// What people who work by the ledger have done, as it really was.
#[derive(Clone, Debug, Default)]
pub(super) struct Works {
    /// Commits that they made for a task, in order.
    pub(super) made: Vec<(CommitNo, TaskId)>,
    /// How many there were when a task was begun.
    begun: BTreeMap<TaskId, usize>,
    /// A person begins a task before its turn, on purpose.
    pub(super) ahead: bool,
    /// The claim that is being decided.
    pub(super) claiming: Option<(TaskId, Evidence)>,
    /// The process that has just ended.
    ended: Option<HolderProcess>,
}

fn process(pid: usize) -> HolderProcess {
    let pid = u32::try_from(pid).unwrap_or_default();
    HolderProcess { pid, born: 1, boot: String::new(), space: String::new() }
}

impl Sim {
    /// The process that began a task leaves a mark, unless it died before.
    pub(super) fn leaves_mark(&mut self, task: &TaskId) -> Result<(), Broken> {
        let Some(known) = self.task(task) else { return Ok(()) };
        if known.decided != Status::InProgress || known.is_engines() || self.rng.chance(10) {
            return Ok(());
        }
        let made = self.people.works.made.len();
        self.people.works.begun.entry(task.clone()).or_insert(made);
        let mark = Mark { tip: Some(oid(self.git.target)), ..Mark::default() };
        let fence = known.fence;
        self.submit(&Command::Mark { task: task.clone(), fence, mark })?;
        if self.rng.chance(30) {
            let process = process(self.rng.below(3));
            self.submit(&Command::Bind { task: task.clone(), fence, process })?;
        }
        Ok(())
    }

    /// A person begins a task, works on it, and reports that.
    pub(super) fn works_to_the_end(&mut self, task: &TaskId, by: &str) -> Result<(), Broken> {
        let holder = Holder::Ledger(by.to_owned());
        if let Answer::Done(_) = self.submit(&Command::Start { task: task.clone(), holder })? {
            self.leaves_mark(task)?;
        }
        self.ledger_reports(task, by)
    }

    /// A holder that is no longer at work loses the task.
    pub(super) fn holder_is_gone(&mut self, task: &TaskId) -> Result<(), Broken> {
        let is_held = |task: &&Task| matches!(task.holder, Some(Holder::Ledger(_)));
        let held: Vec<TaskId> = self.state.tasks().filter(is_held).map(|task| task.id.clone()).collect();
        let task = self.rng.pick(&held).unwrap_or(task);
        let Some(known) = self.task(task) else { return Ok(()) };
        let (task, fence) = (task.clone(), known.fence);
        let command = if self.rng.chance(50) {
            // A process ends, and perhaps not the one that holds the task.
            Command::HolderGone { task, fence, process: process(self.rng.below(3)) }
        } else {
            Command::Release { task, fence, reason: "nobody is at it".to_owned() }
        };
        self.people.works.ended = match &command {
            Command::HolderGone { process, .. } => Some(process.clone()),
            _ => None,
        };
        let answer = self.submit(&command)?;
        self.people.works.ended = None;
        match answer {
            Answer::Done(_) => self.coverage.saw("a holder was not at work"),
            Answer::Refused(_) => {}
        }
        Ok(())
    }

    /// What a person can show of a task: all that was committed by hand since it was begun, for this task or another;
    /// or nothing; or work that is not committed; or their word.
    pub(super) fn shown_for(&mut self, task: &TaskId) -> Evidence {
        let begun = self.people.works.begun.get(task).copied().unwrap_or(0);
        let made = &self.people.works.made[begun..];
        let there = |no: &CommitNo| self.git.is_ancestor(*no, self.git.target);
        let seen = match self.run().settings.no_commits {
            false => {
                let commits = made.iter().map(|(no, _)| *no).filter(there).map(oid).collect();
                Evidence { commits, ..Evidence::default() }
            }
            true if made.iter().any(|(_, made_for)| made_for == task) => Evidence::file("its file"),
            true => Evidence::default(),
        };
        match self.rng.below(24) {
            0 => Evidence::default(),
            1 => Evidence::no_change("it was so before"),
            2 => Evidence { uncommitted: vec!["new.rs".to_owned()], owed: self.rng.chance(50), ..seen },
            3 if !seen.commits.is_empty() => {
                let named = seen.commits.last().cloned().into_iter().collect();
                Evidence { commits: Vec::new(), named, ..seen }
            }
            _ => seen,
        }
    }
}

/// A claim completes a task only with evidence: a commit of the target that counts for no other task, or that was
/// named; a check that no other task of the plan has; or the statement that nothing had to change.
pub(super) fn completion_has_evidence(sim: &Sim, event: &Event, old: Option<&Task>) -> Verdict {
    let (Event::Completed { task, proof, counts, .. }, Some(old)) = (event, old) else { return Ok(()) };
    let Some((claimed, evidence)) = &sim.people.works.claiming else { return Ok(()) };
    if claimed != task || matches!(proof, Proof::Landed { .. }) {
        return Ok(());
    }
    if !evidence.uncommitted.is_empty() && evidence.owed && evidence.no_change.is_none() {
        return Err(format!("{task} is completed, and its work is not committed"));
    }
    for commit in counts {
        if !commit_no(commit).is_some_and(|no| sim.git.is_ancestor(no, sim.git.target)) {
            return Err(format!("{task} is completed by {commit}, which the target does not have"));
        }
        let twice = sim.state.tasks().find(|other| other.id != *task && other.counts.contains(commit));
        if let Some(other) = twice.filter(|_| !evidence.named.contains(commit)) {
            return Err(format!("{commit} counts for {task} and for {}", other.id));
        }
    }
    let has_check = |spec: &piton_core::plan::TaskSpec| {
        let others = sim.scenario.plan.tasks.iter().filter(|other| other.id != spec.id);
        let theirs: Vec<_> = others.flat_map(|other| other.checks.iter().map(Check::digest)).collect();
        spec.checks.iter().any(|check| !theirs.contains(&check.digest()))
    };
    let is_own = || sim.scenario.spec(task).is_some_and(has_check);
    let rests = match proof {
        Proof::Reported => evidence.no_change.is_some() || (old.may_stay_as_it_is() && old.judges.is_empty()),
        Proof::Work { commits, files } => !commits.is_empty() || !files.is_empty(),
        _ if !evidence.files.is_empty() => true,
        _ => !counts.is_empty() || old.may_stay_as_it_is() || old.decided == Status::Confirming || is_own(),
    };
    if rests { Ok(()) } else { Err(format!("{task} is completed by {proof:?}, and nothing shows its work")) }
}

/// Nothing is begun that depends on a claim whose work is not committed.
pub(super) fn nothing_builds_on_uncommitted(sim: &Sim, event: &Event) -> Verdict {
    let Event::AttemptStarted { task, .. } = event else { return Ok(()) };
    let needs = sim.scenario.spec(task).map(|spec| spec.depends_on.as_slice()).unwrap_or_default();
    for need in needs {
        let mut told = sim.journal.iter().rev().map(|recorded| &recorded.event);
        let last = told.find(|event| {
            use Event::*;
            let tells = matches!(
                event,
                ClaimWaits { .. }
                    | Completed { .. }
                    | Adopted { .. }
                    | LandingFound { .. }
                    | Failed { .. }
                    | Reset { .. }
                    | Skipped { .. }
                    | Released { .. }
                    | AttemptStarted { .. }
                    | TaskRemoved { .. }
            );
            tells && event.task() == Some(need)
        });
        if let Some(Event::ClaimWaits { .. }) = last {
            return Err(format!("{task} begins, and the work on {need} is not committed"));
        }
    }
    Ok(())
}

/// The end of a process releases a task only if that process held it, and no claim about it waits. A hold by name alone
/// is never released in this way.
pub(super) fn only_the_bound_are_released(sim: &Sim, event: &Event, old: Option<&Task>) -> Verdict {
    let (Event::Released { task, .. }, Some(ended)) = (event, &sim.people.works.ended) else { return Ok(()) };
    let is_bound = |old: &Task| old.progress.process.as_ref() == Some(ended);
    match old {
        Some(old) if !is_bound(old) => Err(format!("{task} is free again, and {ended} did not hold it")),
        Some(old) if !old.progress.uncommitted.is_empty() => {
            Err(format!("{task} is free again, and what was called done waits for a commit"))
        }
        _ => Ok(()),
    }
}

/// Whether the claim that is being decided says that nothing had to change.
pub(super) fn says_no_change(sim: &Sim, task: &TaskId) -> bool {
    let claiming = sim.people.works.claiming.as_ref();
    claiming.is_some_and(|(claimed, evidence)| claimed == task && evidence.no_change.is_some())
}
