//! Laws about the end: what must become true once nothing goes wrong any more.

use std::collections::BTreeSet;

use piton_core::plan::{Exhausted, Schedule, Settings, TaskId};
use piton_core::run::{Event, Holder, Status, next, wake_at};

use super::driver::Sim;
use super::laws::{self, Broken, named};

/// Starts of an engine that a calm world may need: each ends a streak of failures.
const MOST_ROUNDS: usize = 60;

impl Sim {
    /// The world calms down: engines are started until one finds nothing to do.
    pub(super) fn come_to_rest(&mut self) -> Result<(), Broken> {
        (self.calm, self.git.dirty) = (true, false);
        for _ in 0..MOST_ROUNDS {
            self.ledgers_let_go()?;
            self.some_are_confirmed()?;
            self.others_end()?;
            let before = self.journal.len();
            self.start_now()?;
            self.run_down()?;
            let quiet = self.journal[before..]
                .iter()
                .all(|r| matches!(r.event, Event::EngineStarted { .. } | Event::EngineStopped { .. }));
            if quiet && self.held_by_ledger().is_empty() {
                return self.at_rest();
            }
        }
        Err(("comes_to_rest", format!("{MOST_ROUNDS} engines found something to do")))
    }

    fn held_by_ledger(&self) -> Vec<(TaskId, String)> {
        let held = self.state.tasks().filter_map(|task| match &task.holder {
            Some(Holder::Ledger(name)) if task.decided == Status::InProgress => {
                Some((task.id.clone(), name.clone()))
            }
            _ => None,
        });
        held.collect()
    }

    fn ledgers_let_go(&mut self) -> Result<(), Broken> {
        for (task, by) in self.held_by_ledger() {
            self.ledger_reports(&task, &by)?;
        }
        Ok(())
    }

    fn at_rest(&mut self) -> Result<(), Broken> {
        self.note(|| "at rest".to_owned());
        laws::fold_agrees(self)?;
        named("rest_is_quiet", self.rest_is_quiet())?;
        named("all_settled_or_told_why", self.all_settled_or_told_why())?;
        named("promises_are_kept", self.promises_are_kept())
    }

    /// At rest there is nothing to do and nothing to wait for.
    fn rest_is_quiet(&self) -> Result<(), String> {
        let actions = next(&self.state, self.now());
        let wake = wake_at(&self.state, self.now());
        if !actions.is_empty() || wake.is_some() {
            return Err(format!("{actions:?}, wake at {wake:?}"));
        }
        if self.run().engine.is_some() || self.run().merging.is_some() || self.run().slots > 0 {
            return Err("something is still held".to_owned());
        }
        Ok(())
    }

    /// At rest every task is settled, or what holds it back will not go away by itself.
    fn all_settled_or_told_why(&mut self) -> Result<(), String> {
        let run = self.run();
        let given_up = run.dead > 0 && run.settings.exhausted == Exhausted::Stop;
        let passes = matches!(run.settings.exhausted, Exhausted::Pass | Exhausted::Skip);
        let in_batches = run.whole().is_some_and(|whole| !whole.groups.is_empty());
        let layers = (run.session.schedule != Schedule::Flow || in_batches) && !passes;
        let tasks = || self.state.tasks().filter(|task| !task.removed);
        let dead_group = tasks().filter(|task| task.status().is_dead()).map(|task| task.group).min();
        let is_persons = |task: &&piton_core::run::Task| task.by_person && task.decided == Status::Blocked;
        let person = tasks().filter(is_persons).map(|task| (task.group, task.level)).min();
        let person = person.filter(|_| run.settings.is_sequence());
        let held_up = self.held_up();
        let mut seen = BTreeSet::new();
        for task in tasks().filter(|task| !task.status().is_settled()) {
            if given_up && matches!(task.decided, Status::Pending | Status::Failed) {
                seen.insert("gate closed for good");
            } else if layers && dead_group.is_some_and(|group| group < task.group) {
                seen.insert("barrier closed for good");
            } else if person.is_some_and(|cell| cell < (task.group, task.level)) {
                seen.insert("comes after what a person does");
            } else if task.status() == Status::Waiting {
                seen.insert("waits for another list");
            } else if held_up.contains(&task.id) {
                seen.insert("nobody confirmed it");
            } else {
                return Err(format!("{} is {} for ever", task.id, task.status()));
            }
        }
        seen.into_iter().for_each(|what| self.coverage.saw(what));
        Ok(())
    }

    /// If no person interferes and every agent succeeds within its budget, everything completes. Only a task that
    /// conflicted too often may be given up, with the tasks that depend on it.
    fn promises_are_kept(&mut self) -> Result<(), String> {
        let mut tasks = self.state.tasks().filter(|task| !task.removed);
        if tasks.all(|task| task.decided == Status::Completed) {
            self.coverage.saw("all completed");
            return Ok(());
        }
        if !self.scenario.promise {
            return Ok(());
        }
        let conflicted = |task: &piton_core::run::Task| {
            matches!(task.decided, Status::Abandoned | Status::Skipped)
                && task.conflicts > Settings::CONFLICTS
        };
        let broken = self.state.tasks().find(|task| {
            matches!(task.decided, Status::Abandoned | Status::Blocked | Status::Skipped) && !conflicted(task)
        });
        match broken {
            Some(task) => Err(format!("{} is {} with a good agent", task.id, task.decided)),
            None if self.state.tasks().any(conflicted) => Ok(()),
            None => Err("something is left over, and nothing was given up".to_owned()),
        }
    }
}
