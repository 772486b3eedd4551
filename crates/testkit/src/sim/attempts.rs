//! Laws about what tries cost, and about results of tries that are over.

use piton_core::plan::{Oid, TaskId};
use piton_core::run::{Action, Class, Command, Event, Holder, Reopening, Task, is_current, owes_context};

use super::driver::Sim;
use super::laws::{Verdict, ensure, known};

/// Only a code failure, or a person who sends the work back, spends an attempt, together with the passes that found work instead of confirming, and never
/// more than the budget.
pub(super) fn attempts_are_spent_by_code(sim: &Sim, event: &Event, old: Option<&Task>) -> Verdict {
    let (Some(old), Some(new)) = (old, event.task().and_then(|id| known(sim, id))) else { return Ok(()) };
    let expected = match event {
        Event::Failed { class: Class::SentBack, task, .. } => old.spent + 1 + reworked(sim, task),
        Event::Failed { class: Class::Code, task, .. } => {
            (old.spent + 1 + reworked(sim, task)).min(old.budget.max(old.spent))
        }
        Event::Reset { .. } | Event::Reopened { reason: Reopening::Content { .. }, .. } => 0,
        Event::Adopted { past, .. } => past.spent,
        _ => old.spent,
    };
    ensure(new.spent == expected, || format!("{} has spent {}, not {expected}", new.id, new.spent))?;
    ensure(new.spent <= new.budget, || format!("{} has spent {} of {}", new.id, new.spent, new.budget))?;
    // A gate may be looked at again when no attempt is left.
    let starts = matches!(event, Event::AttemptStarted { .. });
    let looks_again = new.gate && new.attempt == new.spent && (!starts || new.spent == new.budget);
    let numbered = !new.decided.holds_slot() || new.attempt == new.spent + 1 || looks_again;
    ensure(numbered, || format!("{} runs attempt {} after {} spent", new.id, new.attempt, new.spent))
}

/// Nothing lands that a person has commented on, before an agent has read the comments.
pub(super) fn comments_are_read(sim: &Sim, event: &Event) -> Verdict {
    let Event::LandingPrepared { task, before, .. } = event else { return Ok(()) };
    for id in before.iter().map(|carried| &carried.task).chain([task]) {
        let own = sim.journal.iter().rev().map(|recorded| &recorded.event);
        let last = own.filter(|event| event.task() == Some(id)).find_map(|event| match event {
            Event::CommentsSent { follow_up: None, .. } => Some(false),
            Event::AttemptStarted { agent, holder, .. } if !agent.is_empty() || *holder != Holder::Engine => {
                Some(true)
            }
            Event::Reset { .. } | Event::Completed { .. } | Event::LandingFound { .. } => Some(true),
            _ => None,
        });
        ensure(last != Some(false), || format!("{id} lands, and nobody has read the comments on it"))?;
    }
    Ok(())
}

/// A fence never decreases, and each start has one of its own.
pub(super) fn fences_never_decrease(sim: &Sim, event: &Event, old: Option<&Task>) -> Verdict {
    let (Some(old), Some(new)) = (old, event.task().and_then(|id| known(sim, id))) else { return Ok(()) };
    let grows = matches!(
        event,
        Event::AttemptStarted { .. } | Event::Reset { .. } | Event::Reopened { .. } | Event::Released { .. }
    );
    let fine = if grows { new.fence > old.fence } else { new.fence >= old.fence };
    ensure(fine, || format!("the fence of {} went from {} to {}", new.id, old.fence, new.fence))
}

/// How many confirming passes found work instead, since the failure before the last one, which is new. A task that was
/// completed and lost again starts from zero; work that is judged by other checks does not.
fn reworked(sim: &Sim, id: &TaskId) -> u32 {
    let spends = |event: &&Event| match event {
        Event::Failed { class, .. } => matches!(class, Class::Code | Class::SentBack),
        Event::Reopened { reason, .. } => *reason != Reopening::Rejudged,
        Event::Reset { .. } | Event::Completed { .. } | Event::LandingFound { .. } => true,
        _ => false,
    };
    let own = sim.journal.iter().rev().map(|recorded| &recorded.event);
    let own = own.filter(|event| event.task() == Some(id)).skip(1);
    let mut attempt: Vec<&Event> = own.take_while(|event| !spends(event)).collect();
    attempt.reverse();
    let (mut confirming, mut found) = (false, 0);
    for event in attempt {
        match event {
            Event::AttemptStarted { .. } => confirming = false,
            Event::ConfirmationStarted { .. } => confirming = true,
            Event::WorkCaptured { work, .. } => found += u32::from(confirming && work.found_work),
            _ => {}
        }
    }
    found
}

/// Whether a result of an engine may still be accepted. Rescued work stays rescued; all other results count only from
/// the engine at work. A note about what a landing waits for does no harm at any step.
pub(super) fn is_still_true(
    sim: &Sim,
    command: &Command,
    engine: &str,
    (action, candidate): (&Action, Option<&Oid>),
) -> bool {
    match command {
        Command::Rescued { .. } => true,
        _ if !is_at_work(sim, engine) => false,
        Command::LandingWaits { .. }
        | Command::LandingFound { .. }
        | Command::LandingLost { .. }
        | Command::Asked { .. } => true,
        // A person who wants all work stopped at once does not undo a description that is written.
        Command::ContextUpdated(_) => owes_context(&sim.state, sim.run()),
        _ => is_fresh(sim, action, candidate),
    }
}

/// Whether this engine was the last to begin, and has not ended.
fn is_at_work(sim: &Sim, engine: &str) -> bool {
    let mut last = sim.journal.iter().rev().map(|recorded| &recorded.event);
    let last = last.find(|e| matches!(e, Event::EngineStarted { .. } | Event::EngineStopped { .. }));
    matches!(last, Some(Event::EngineStarted { engine: at_work, .. }) if at_work == engine)
}

/// Whether this action still belongs to the current attempt.
fn is_fresh(sim: &Sim, action: &Action, candidate: Option<&Oid>) -> bool {
    let same_fence = match (action, action.task().and_then(|id| known(sim, id))) {
        (
            Action::Clean { fence, .. } | Action::Prove { fence, .. } | Action::Land { fence, .. },
            Some(task),
        ) => task.fence == *fence,
        (Action::Move { .. }, Some(task)) => {
            task.progress.intent.as_ref().map(|intent| &intent.candidate) == candidate
        }
        _ => true,
    };
    same_fence && is_current(&sim.state, action)
}
