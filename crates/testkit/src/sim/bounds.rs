//! Laws about the number of gate checks, and about how a run may end.

use piton_core::plan::TaskId;
use piton_core::run::{Event, Holder, Proof, Reopening, Status, StopReason, Task};

use super::driver::Sim;

/// Nothing is left to do for a task: it is completed, or a person skipped it. Skipping a gate does not pass it.
pub(super) fn is_finished(task: &Task) -> bool {
    let by_a_person = task.decided == Status::Skipped && !task.progress.left_behind;
    task.decided == Status::Completed || by_a_person && !task.gate
}

/// A run ends complete only if each task is completed, or a person explicitly skipped it.
pub(super) fn complete_but_for_skips(sim: &Sim, event: &Event) -> Result<(), String> {
    let Event::EngineStopped { reason: StopReason::Completed, .. } = event else { return Ok(()) };
    let said = |id: &TaskId| {
        let own = sim.journal.iter().rev().map(|recorded| &recorded.event);
        let mut own = own.filter(|event| event.task() == Some(id));
        matches!(
            own.find(|event| matches!(event, Event::Skipped { .. } | Event::Failed { .. })),
            Some(Event::Skipped { .. })
        )
    };
    let open = sim.state.tasks().filter(|task| !task.removed && task.decided != Status::Completed);
    for task in open {
        if task.gate || task.decided != Status::Skipped || !said(&task.id) {
            return Err(format!("the run ends complete, and {} is {}", task.id, task.status()));
        }
    }
    Ok(())
}

/// A run is closed only where no engine works on it and something is left; and what an engine does comes after it began.
pub(super) fn the_closed_rest(sim: &Sim, event: &Event) -> Result<(), String> {
    let mut last = sim.journal.iter().rev().map(|recorded| &recorded.event);
    match event {
        Event::RunClosed { .. } => {
            let engine =
                last.find(|e| matches!(e, Event::EngineStarted { .. } | Event::EngineStopped { .. }));
            if matches!(engine, Some(Event::EngineStarted { .. })) {
                return Err("a run is closed while an engine works on it".to_owned());
            }
            match sim.state.tasks().filter(|task| !task.removed).all(is_finished) {
                true => Err("a run is closed that is complete".to_owned()),
                false => Ok(()),
            }
        }
        Event::AttemptStarted { task, holder: Holder::Engine, .. } => {
            match last.find(|e| matches!(e, Event::EngineStarted { .. } | Event::RunClosed { .. })) {
                Some(Event::RunClosed { .. }) => Err(format!("{task} is begun in a run that is closed")),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// How often gates may be checked again, according to the plan. Actions of people are counted as they happen.
#[derive(Default)]
struct Bound {
    gates: usize,
    /// Landings of gates: each is paid for with an attempt.
    fixes: usize,
    /// Completions of other tasks: each once, also where it was blocked and is retried after the gates have passed.
    others: usize,
    /// Other changes of the whole: people who move the target, and attempts in place, where nothing lands.
    moves: usize,
}

impl Bound {
    fn of(sim: &Sim) -> Bound {
        let mut bound = Bound { moves: sim.people.moves, ..Bound::default() };
        let in_place = sim.run().settings.no_commits;
        for event in sim.journal.iter().map(|recorded| &recorded.event) {
            let gate = event.task().and_then(|id| sim.task(id)).filter(|task| task.gate);
            match event {
                Event::TaskAdded { spec, .. } if spec.gate => bound.gates += 1,
                Event::TaskAdded { .. } => bound.others += 1,
                Event::Reopened { .. } | Event::LandingLost { .. } if gate.is_none() => bound.others += 1,
                Event::AttemptStarted { .. } if in_place => bound.moves += 1,
                Event::PlanAdopted { .. } => bound.moves += 1,
                // It brings the target's changes.
                Event::Completed { task, .. } if sim.run().is_its_request(task) => bound.moves += 1,
                _ => {}
            }
            bound.fixes += fixes(event, gate.as_ref());
        }
        bound
    }

    /// Each gate once for each change of the whole, and once at the end.
    fn rechecks(&self) -> usize {
        self.gates * (self.fixes + self.others + self.moves + 1)
    }
}

/// How many fixes of a gate an event allows: the plan allows its attempts except for the first look, and people allow
/// more.
fn fixes(event: &Event, gate: Option<&Task>) -> usize {
    let all = || gate.map_or(0, |gate| gate.budget as usize);
    match event {
        Event::TaskAdded { spec, .. } if spec.gate => (spec.attempts as usize).saturating_sub(1),
        Event::TaskChanged { spec, .. } if spec.gate => spec.attempts as usize,
        Event::Retried { .. }
        | Event::Unblocked { .. }
        | Event::LandingLost { .. }
        | Event::Reopened { reason: Reopening::Rejudged, .. }
            if gate.is_some() =>
        {
            1
        }
        Event::Raised { attempts, .. } if gate.is_some() => *attempts as usize,
        Event::Reset { .. }
        | Event::Adopted { .. }
        | Event::Reopened { reason: Reopening::Content { .. } | Reopening::Checks, .. } => all(),
        _ => 0,
    }
}

/// Gates are checked again only because something landed after them, and the plan bounds the number in advance. Their
/// rounds of fixes count over the whole run.
pub(super) fn are_bounded(sim: &Sim, event: &Event, old: Option<&Task>) -> Result<(), String> {
    let of = |which: &dyn Fn(&Event) -> bool| sim.journal.iter().filter(|r| which(&r.event)).count();
    if let Event::Completed { task, proof: Proof::Landed { .. }, .. } = event
        && let Some(gate) = sim.task(task).filter(|task| task.gate && !sim.run().is_its_request(&task.id))
    {
        let landed = of(
            &|event| matches!(event, Event::Completed { task: it, proof: Proof::Landed { .. }, .. } if it == task),
        );
        let own = sim.journal.iter().filter(|r| r.event.task() == Some(task));
        let allowed: usize = own.map(|recorded| fixes(&recorded.event, Some(&gate))).sum();
        if landed > allowed {
            return Err(format!("{task} has landed {landed} fixes, and {allowed} are allowed"));
        }
    }
    let (Event::Reopened { task, reason: Reopening::Stale { .. }, .. }, Some(old)) = (event, old) else {
        return Ok(());
    };
    let new = sim.task(task);
    if new.as_ref().is_none_or(|new| (new.spent, new.budget) != (old.spent, old.budget)) {
        return Err(format!("{task} is open again, and its rounds of fixes are counted from the start"));
    }
    let again = of(&|event| matches!(event, Event::Reopened { task: it, .. } if it == task));
    let in_place = sim.run().settings.no_commits;
    let came = of(&|event| match event {
        Event::Completed { task: it, .. } | Event::LandingFound { task: it, .. } => it != task,
        Event::AttemptStarted { task: it, .. } => in_place && it != task,
        Event::PlanAdopted { .. } => true,
        _ => false,
    });
    let moves = sim.people.moves;
    if again > came + moves {
        return Err(format!(
            "{task} looks again for the {again}th time, after {came} landings and {moves} moves"
        ));
    }
    let rechecks = of(&|event| matches!(event, Event::Reopened { reason: Reopening::Stale { .. }, .. }));
    let bound = Bound::of(sim).rechecks();
    if rechecks > bound {
        return Err(format!("gates look again for the {rechecks}th time, and the plan allows {bound}"));
    }
    Ok(())
}
