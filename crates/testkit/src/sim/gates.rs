//! Gates, which judge the whole project, and agents that report that nothing had to be done.

use piton_core::plan::Oid;
use piton_core::run::{
    AgentEnd, CheckResult, Class, Command, Event, Proof, Status, StopReason, Task, Verdict,
};

use super::driver::Sim;
use super::laws::Broken;
use super::world::Checking;

impl Sim {
    /// The current tree of the whole project.
    pub(super) fn whole(&mut self) -> Oid {
        let in_place = self.run().settings.no_commits;
        let tree = if in_place { self.checkout.clone() } else { self.git.tip().clone() };
        self.git.tree_oid(&tree)
    }

    /// At the end, compare gates with the target, which people may have moved. Returns whether one has to be checked
    /// again.
    pub(super) fn reopen_gates(&mut self) -> Result<bool, Broken> {
        let whole = self.whole();
        let passed = |task: &&Task| task.gate && !task.removed && task.decided == Status::Completed;
        let stale = self.state.tasks().filter(passed).filter(|task| task.held_on() != Some(&whole));
        let stale: Vec<_> = stale.map(|task| task.id.clone()).collect();
        for task in &stale {
            self.coverage.saw("a gate saw another target at the end");
            let reason = "the target holds something else".to_owned();
            self.submit(&self.of_engine(Command::Reopen { task: task.clone(), reason }))?;
        }
        Ok(!stale.is_empty())
    }

    /// A task that changed nothing is proven on the target's tree.
    pub(super) fn nothing_to_land(&mut self, task: &Task) -> Vec<Command> {
        let (tip, tree) = (self.git.target, self.whole());
        let judges = if task.gate { task.judges.clone() } else { task.commands().cloned().collect() };
        let wanted = self.unproven(std::slice::from_ref(task), judges, &tree);
        let now = self.git.tip().clone();
        let results: Vec<CheckResult> =
            wanted.iter().map(|check| self.run_check(task, check, &now, Checking::Honest)).collect();
        let (id, fence) = (task.id.clone(), task.fence);
        if let Some(cut) = self.no_verdict(task, &results) {
            return vec![cut];
        }
        if results.iter().any(|result| result.verdict != Verdict::Pass) {
            let (tip, reason, feedback) = (super::git::oid(tip), "red".to_owned(), String::new());
            return vec![Command::LandingFailed {
                task: id,
                fence,
                tip,
                reason,
                feedback,
                pointers: Box::default(),
            }];
        }
        vec![Command::NothingToLand { task: id, fence, tree, results }]
    }
}

/// A gate that is held back until all else is done.
pub(super) fn may_come_last(task: &Task) -> bool {
    task.gate && !task.reviews.is_empty() && task.progress.checks_first
}

/// A run ends complete only on a tree on which every gate holds. This looks at the simulated world, and not at what the
/// gates reported.
pub(super) fn hold_at_the_end(sim: &Sim, event: &Event) -> Result<(), String> {
    let Event::EngineStopped { reason: StopReason::Completed, .. } = event else { return Ok(()) };
    let tree = if sim.run().settings.no_commits { &sim.checkout } else { sim.git.tip() };
    let gates = sim.scenario.plan.tasks.iter().filter(|spec| spec.gate);
    for (gate, check) in
        gates.flat_map(|spec| spec.checks.iter().map(move |check| (&spec.id, check.digest())))
    {
        let holds = sim.scenario.subjects.holds(sim.scenario.predicates[&check], tree);
        if !holds && !sim.lied.contains(&check) {
            let predicate = sim.scenario.predicates[&check];
            return Err(format!("the run ends complete, and {predicate:?} of the gate {gate} is red"));
        }
    }
    Ok(())
}

/// A report that nothing had to be done counts only once a fresh agent found nothing to do, either, unless the plan
/// says that there may be nothing to do.
pub(super) fn already_is_confirmed(sim: &Sim, event: &Event) -> Result<(), String> {
    let Event::Completed { task, proof: Proof::Checked { already: Some(_), .. }, .. } = event else {
        return Ok(());
    };
    let own = sim.journal.iter().map(|recorded| &recorded.event).filter(|event| event.task() == Some(task));
    let own: Vec<&Event> = own.collect();
    let said = own.iter().rposition(|e| matches!(e, Event::AgentEnded { end: AgentEnd::Already { .. }, .. }));
    let Some(said) = said else { return Err(format!("{task} was already so, and nobody said it")) };
    let spec = sim.scenario.spec(task);
    let spared = spec.is_some_and(|spec| spec.check_first || spec.may_change_nothing);
    let confirming = |e: &&Event| matches!(e, Event::ConfirmationStarted { .. });
    let looked = own.iter().skip(said).any(confirming) || own[..said].iter().rev().take(3).any(confirming);
    if spared || looked { Ok(()) } else { Err(format!("{task} was already so, and nobody looked again")) }
}

impl Sim {
    /// What has been seen of gates.
    pub(super) fn notice_gates(&mut self, event: &Event) {
        let gate = |sim: &Sim, id| sim.task(id).filter(|task| task.gate);
        let reopened = |sim: &Sim, id| {
            sim.journal.iter().any(|r| matches!(&r.event, Event::Reopened { task, .. } if task == id))
        };
        match event {
            Event::Completed { task, proof, .. } => {
                if matches!(proof, Proof::Checked { already: Some(_), .. }) {
                    self.coverage.saw("completed, and was already so");
                }
                if let Some(gate) = gate(self, task).filter(|_| reopened(self, task)) {
                    self.coverage.saw("a gate passed again");
                    if !gate.reviews.is_empty() {
                        self.coverage.saw("a gate was judged by an agent again");
                    }
                }
            }
            Event::Failed { task, class: Class::Code, .. } => {
                if self.task(task).is_some_and(|task| task.progress.already.is_some()) {
                    self.coverage.saw("said to be already so, and it was not");
                }
                if gate(self, task).is_some_and(|gate| gate.progress.checks_first) {
                    self.coverage.saw("a gate failed that had passed");
                }
            }
            Event::Failed { task, class: Class::Transient, reason, .. }
                if reason.contains("did not judge") =>
            {
                let _ = task;
                self.coverage.saw("a reviewer gave no verdict");
            }
            _ => {}
        }
    }
}
