//! Tasks of other lists, which some tasks wait for: a process sees them completed, or open again.

use piton_core::plan::{Outside, TaskId, TaskSpec};
use piton_core::run::{Command, Event, Recorded, Status, Task};

use super::driver::Sim;
use super::laws::Broken;
use crate::Rng;

/// A few tasks wait for one of another list.
pub(super) fn give(rng: &mut Rng, tasks: &mut [TaskSpec]) {
    if !rng.chance(8) {
        return;
    }
    for task in tasks {
        if rng.chance(25) {
            task.outside = vec![Outside { list: "other.md".to_owned(), task: task.id.clone() }];
        }
    }
}

/// Whether the other list ever completes it. It does if the scenario promises that everything completes.
fn is_ever_done(sim: &Sim, task: &TaskId) -> bool {
    sim.scenario.promise || !task.as_str().ends_with('3')
}

impl Sim {
    /// A process looks at the other list.
    pub(super) fn look_at_others(&mut self) -> Result<(), Broken> {
        let waiting = self.state.tasks().filter(|task| !task.removed).flat_map(|task| &task.outside);
        let all: Vec<Outside> = waiting.map(|known| known.need.clone()).collect();
        let Some(need) = self.rng.pick(&all).cloned() else { return Ok(()) };
        let done = is_ever_done(self, &need.task) && self.rng.chance(80);
        self.see(need, done)
    }

    /// The other list ends: what it ever completes is completed now.
    pub(super) fn others_end(&mut self) -> Result<(), Broken> {
        let open = self.state.tasks().filter(|task| !task.removed).flat_map(|task| &task.outside);
        let open: Vec<Outside> = open.filter(|known| !known.done).map(|known| known.need.clone()).collect();
        for need in open {
            let done = is_ever_done(self, &need.task);
            self.see(need, done)?;
        }
        Ok(())
    }

    fn see(&mut self, need: Outside, done: bool) -> Result<(), Broken> {
        self.submit(&Command::SeeOutside { task: need.task.clone(), need, done }).map(drop)
    }
}

/// No attempt begins before everything that the task waits for in other lists was seen to be completed.
pub(super) fn starts_wait_for_other_lists(sim: &Sim, event: &Event) -> Result<(), String> {
    let Event::AttemptStarted { task, .. } = event else { return Ok(()) };
    let needs = sim.scenario.spec(task).map(|spec| spec.outside.as_slice()).unwrap_or_default();
    let open = needs.iter().find(|need| !was_seen(&sim.journal, task, need));
    open.map_or(Ok(()), |open| Err(format!("{task} starts before {open} is completed")))
}

fn was_seen(journal: &[Recorded], waits: &TaskId, awaited: &Outside) -> bool {
    let last = journal.iter().rev().find_map(|recorded| match &recorded.event {
        Event::OutsideSeen { task, need, done } if task == waits && need == awaited => Some(*done),
        _ => None,
    });
    last.unwrap_or(false)
}

/// Recompute which tasks wait for another list, themselves or through a dependency: the state has to agree.
pub(super) fn waiting_is_derived(sim: &Sim) -> Result<(), String> {
    for spec in &sim.scenario.plan.tasks {
        let Ok(Some(task)) = sim.state.task(&spec.id) else { continue };
        let own = spec.outside.iter().any(|need| !was_seen(&sim.journal, &spec.id, need));
        let of = |id: &TaskId| sim.state.task(id).ok().flatten().map(Task::status);
        let needs = spec.depends_on.iter().any(|id| of(id) == Some(Status::Waiting));
        let dead = spec.depends_on.iter().any(|id| of(id).is_some_and(Status::is_dead));
        let is_open = matches!(task.decided, Status::Pending | Status::Failed);
        let expected = is_open && !dead && (own || needs);
        if (task.status() == Status::Waiting) != expected {
            return Err(format!("{} is {}; waits: {expected}", spec.id, task.status()));
        }
    }
    Ok(())
}
