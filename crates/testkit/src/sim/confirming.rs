//! Work that one person reports as done and another confirms, or does not.

use std::collections::BTreeSet;

use piton_core::plan::{Digest, Oid, Schedule, TaskId};
use piton_core::run::{
    CheckResult, Claim, Command, Event, Evidence, Holder, Proof, Recorded, Report, Status, Task, Verdict,
};

use super::content::persons;
use super::driver::{Answer, Sim};
use super::laws::{Broken, named};

/// What a person is reporting at this moment about a task that has to be confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Saying {
    CallsDone(TaskId),
    Confirms(TaskId),
}

/// A person reported it as done, and it waits for another person to confirm that.
pub(super) fn is_waiting(task: &Task) -> bool {
    task.decided == Status::Confirming && !task.removed && matches!(task.holder, Some(Holder::Ledger(_)))
}

impl Sim {
    /// A person reports that a task is done, and knows that another person has to look at it.
    pub(super) fn calls_done(&mut self, task: &TaskId, command: &Command) -> Result<(), Broken> {
        let was_waiting = self.task(task).is_some_and(|task| is_waiting(&task));
        self.people.saying = Some(Saying::CallsDone(task.clone()));
        let answer = self.submit(command);
        self.people.saying = None;
        let is_taken = matches!(answer?, Answer::Done(_));
        named(
            "called_done_once",
            match is_taken && was_waiting {
                true => Err(format!("{task} waits to be confirmed, and is called done again")),
                false => Ok(()),
            },
        )
    }

    /// Another person looks at a task that waits, sometimes finds something to do, and reports that it is done.
    pub(super) fn confirm(&mut self, task: &TaskId, by: &str) -> Result<(), Broken> {
        let Some(known) = self.task(task).filter(is_waiting) else { return Ok(()) };
        let finds_work = self.rng.chance(30);
        if finds_work {
            let (mut tree, no) = (self.here(), self.rng.below(50));
            tree.insert(persons(no), self.rng.small(1, 9));
            self.leaves(tree);
        }
        let (tree, results) = self.looked_at(task);
        let is_green = results.iter().all(|result| result.verdict == Verdict::Pass);
        let is_known = results.iter().all(|result| is_judged(&self.journal, task, &tree, &result.check));
        let claim = Claim::Done { tree: Some(tree), results, evidence: Evidence::default() };
        let (by, fence) = (by.to_owned(), Some(known.fence));
        let command =
            Command::Report { task: task.clone(), by, fence, claim, report: Box::<Report>::default() };
        self.people.saying = Some(Saying::Confirms(task.clone()));
        let answer = self.submit(&command);
        self.people.saying = None;
        let is_taken = matches!(answer?, Answer::Done(_));
        let now = self.task(task).map(|task| task.decided);
        let expected = match (is_green, is_known) {
            (true, true) => Status::Completed,
            (true, false) => Status::Confirming,
            (false, _) => return Ok(()),
        };
        if !is_taken || now != Some(expected) {
            return Err((
                "confirmations_count",
                format!("{task} is confirmed, and is {now:?}, not {expected}"),
            ));
        }
        if expected == Status::Confirming {
            self.coverage.saw("a person found work instead of confirming");
            return Ok(());
        }
        self.coverage.saw("confirmed by a person");
        match self.submit(&command)? {
            Answer::Refused(_) => Ok(()),
            Answer::Done(_) => Err(("confirmed_once", format!("{task} is confirmed twice"))),
        }
    }

    /// When the world has calmed down, a person confirms some of the tasks that wait.
    pub(super) fn some_are_confirmed(&mut self) -> Result<(), Broken> {
        let waiting: Vec<TaskId> =
            self.state.tasks().filter(|task| is_waiting(task)).map(|task| task.id.clone()).collect();
        for task in waiting {
            if self.rng.chance(70) {
                self.confirm(&task, "cleo")?;
            }
        }
        Ok(())
    }

    /// The tasks that wait for a person to confirm something: themselves, what they need, or what comes before them.
    pub(super) fn held_up(&self) -> BTreeSet<TaskId> {
        let open: Vec<&Task> =
            self.state.tasks().filter(|task| !task.removed && !task.status().is_settled()).collect();
        let mut held: BTreeSet<TaskId> =
            open.iter().filter(|task| is_waiting(task)).map(|task| task.id.clone()).collect();
        let schedule = self.run().session.schedule;
        let in_sequence = self.run().settings.in_sequence;
        let is_before = |one: &Task, other: &Task| match schedule {
            _ if in_sequence => (one.group, one.level) < (other.group, other.level),
            Schedule::Flow => false,
            Schedule::Layered => one.group < other.group,
            Schedule::Batch => (one.group, one.level) < (other.group, other.level),
        };
        loop {
            let needs = |task: &Task| {
                self.scenario
                    .spec(&task.id)
                    .is_some_and(|spec| spec.depends_on.iter().any(|id| held.contains(id)))
            };
            let behind = |task: &Task| open.iter().any(|one| held.contains(&one.id) && is_before(one, task));
            let more: Vec<TaskId> = open
                .iter()
                .filter(|task| !held.contains(&task.id) && (needs(task) || behind(task)))
                .map(|task| task.id.clone())
                .collect();
            if more.is_empty() {
                return held;
            }
            held.extend(more);
        }
    }
}

/// Whether a check was seen to pass on this tree since the task was last completed, as the journal tells.
fn is_judged(journal: &[Recorded], id: &TaskId, tree: &Oid, check: &Digest) -> bool {
    let own = journal.iter().rev().map(|recorded| &recorded.event);
    let own = own.filter(|event| event.task() == Some(id));
    let passes = |result: &CheckResult| result.check == *check && result.verdict == Verdict::Pass;
    own.take_while(|event| !matches!(event, Event::Completed { .. } | Event::LandingLost { .. })).any(
        |event| match event {
            Event::ChecksEnded { tree: on, results, .. } => on == tree && results.iter().any(passes),
            _ => false,
        },
    )
}

/// A task that waits to be confirmed ends by a confirmation of exactly what was judged, or by a person's request, and
/// by nothing that an engine does. If the plan asks for a second look, reporting a task as done never completes it.
pub(super) fn waits_for_somebody(sim: &Sim, event: &Event, old: Option<&Task>) -> Result<(), String> {
    let Some(old) = old else { return Ok(()) };
    let saying = sim.people.saying.as_ref();
    match event {
        Event::Completed { task, .. } if saying == Some(&Saying::CallsDone(task.clone())) && old.confirm => {
            Err(format!("{task} is completed by who called it done"))
        }
        _ if !is_waiting(old) => Ok(()),
        Event::Completed { task, proof, .. } => {
            if saying != Some(&Saying::Confirms(task.clone())) {
                return Err(format!("{task} is completed, and nobody has confirmed it"));
            }
            // The event itself is the last there.
            let before = &sim.journal[..sim.journal.len() - 1];
            let on = match proof {
                Proof::Checked { tree: Some(tree), .. } => Some(tree),
                _ => None,
            };
            let unseen =
                old.judges.iter().any(|judge| on.is_none_or(|tree| !is_judged(before, task, tree, judge)));
            if unseen { Err(format!("{task} is confirmed on a tree that nobody has judged")) } else { Ok(()) }
        }
        Event::AttemptStarted { task, .. }
        | Event::WorktreeReady { task, .. }
        | Event::AgentEnded { task, .. }
        | Event::WorkCaptured { task, .. }
        | Event::VerificationStarted { task, .. }
        | Event::Verified { task, .. }
        | Event::LandingPrepared { task, .. } => {
            Err(format!("{task} waits for a person, and goes on by itself"))
        }
        _ => Ok(()),
    }
}
