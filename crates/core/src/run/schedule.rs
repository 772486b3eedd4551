//! What to do next, computed from the state alone. Resuming needs no code of its own: an engine that starts computes
//! the same actions as one that never stopped, and each action can be repeated or found done.

use std::collections::BTreeSet;

use super::command::Command;
use super::event::{Selection, StopMode};
use super::line::{MOST_TOGETHER, Proposal, Proving};
use super::overload;
use super::provider::{all_are_out, is_let_in, limits, probes};
use super::request::Step;
use super::state::{ReadyKey, Run, State};
use super::tally::Horizon;
use super::task::{Holder, Status, Task};
use super::usage::over_budget;
use crate::plan::{Exhausted, Schedule, Settings, TaskId};
use crate::time::{Span, Timestamp};

/// Something to be done outside. The fence names the attempt it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Decide to begin an attempt.
    Start { task: TaskId },
    /// Make the worktree, or bring it up to the target, and set it up.
    Prepare { task: TaskId, fence: u64 },
    /// Run the agent; `pass` counts the confirmations.
    Work { task: TaskId, fence: u64, pass: u32 },
    /// Commit what the agent left.
    Capture { task: TaskId, fence: u64, pass: u32 },
    /// Run the checks on the commit.
    Check { task: TaskId, fence: u64 },
    /// Decide to prove these candidates together.
    BeginProof { chain: Vec<TaskId>, alone: bool },
    /// Merge the chain of a proof into the target's tip, prove it, pin it. The task is the last of the chain.
    Prove { proof: u64, task: TaskId, fence: u64 },
    /// The same for one that has passed, while another was landing.
    Land { proof: u64, task: TaskId, fence: u64 },
    /// Decide that a task waits until what it stands on has landed.
    Unstack { task: TaskId, fence: u64 },
    /// Move the target to the candidate, or see that it was.
    Move { task: TaskId, fence: u64 },
    /// Take the next step of the request by which the task lands.
    Request { task: TaskId, fence: u64, step: Step },
    /// Remove the worktree of a completed task.
    Clean { task: TaskId, fence: u64 },
    /// Enter what the run has made in the project's own description.
    Context,
    /// Ask a provider whose servers failed a harmless question, for the `nth` time.
    Ask { provider: String, nth: u32 },
}

impl Action {
    /// The command of an action that is only a decision.
    pub fn decision(&self) -> Option<Command> {
        match self {
            Action::Start { task } => Some(Command::Start { task: task.clone(), holder: Holder::Engine }),
            Action::BeginProof { chain, alone } => {
                Some(Command::BeginProof { chain: chain.clone(), alone: *alone })
            }
            Action::Unstack { task, fence } => {
                Some(Command::Unstack { task: task.clone(), fence: *fence, reason: None })
            }
            _ => None,
        }
    }

    /// The task it is done for; some are done for the run as a whole.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Action::Start { task }
            | Action::Prepare { task, .. }
            | Action::Work { task, .. }
            | Action::Capture { task, .. }
            | Action::Check { task, .. }
            | Action::Prove { task, .. }
            | Action::Land { task, .. }
            | Action::Move { task, .. }
            | Action::Unstack { task, .. }
            | Action::Request { task, .. }
            | Action::Clean { task, .. } => Some(task),
            Action::BeginProof { .. } | Action::Context | Action::Ask { .. } => None,
        }
    }

    /// The attempt it belongs to; a start has no attempt yet.
    pub fn fence(&self) -> Option<u64> {
        match self {
            Action::Start { .. } | Action::BeginProof { .. } | Action::Context | Action::Ask { .. } => None,
            Action::Prepare { fence, .. }
            | Action::Work { fence, .. }
            | Action::Capture { fence, .. }
            | Action::Check { fence, .. }
            | Action::Prove { fence, .. }
            | Action::Land { fence, .. }
            | Action::Move { fence, .. }
            | Action::Unstack { fence, .. }
            | Action::Request { fence, .. }
            | Action::Clean { fence, .. } => Some(*fence),
        }
    }
}

/// Whether new attempts may start at all.
pub(super) enum Gate {
    Open,
    Closed(String),
}

impl Gate {
    pub(super) fn of(run: &Run) -> Gate {
        if run.stop.is_some() {
            return Gate::Closed("the run is being stopped".to_owned());
        }
        if run.dead > 0 && run.settings.exhausted == Exhausted::Stop {
            return Gate::Closed("a task was abandoned, and the plan says to stop then".to_owned());
        }
        if run.streak >= Settings::TRANSIENT_STREAK {
            return Gate::Closed(format!("{} tries in a row failed before any work was done", run.streak));
        }
        if let Some(used) = over_budget(run) {
            return Gate::Closed(format!("the budget is spent: {used}"));
        }
        Gate::Open
    }
}

/// Whether a time is still to come. One too far away to be true was set by a clock that has jumped since.
pub(super) fn is_future(time: Timestamp, now: Timestamp, longest: Span) -> bool {
    now < time && time.since(now) <= longest
}

/// What holds a task back although its dependencies are done, if anything does.
pub fn barrier(run: &Run, horizon: &Horizon, task: &Task) -> Option<String> {
    if let Selection::Task(_) | Selection::Group(_) = run.session.selection {
        return None;
    }
    let layers =
        matches!(run.session.schedule, Schedule::Layered | Schedule::Batch) || run.lands_in_batches();
    let open = match run.settings.exhausted {
        Exhausted::Pass | Exhausted::Skip => horizon.unsettled_cell,
        Exhausted::Stop | Exhausted::Continue => horizon.unmet_cell,
    };
    if layers && let Some((group, _)) = open.filter(|&(group, _)| group < task.group) {
        let name = run.group(group).map_or("an earlier group", |group| group.id.as_str());
        return Some(format!("the group {name} is not complete"));
    }
    // A box that a person ticked out of order says nothing about the boxes before it.
    let before = match run.settings.exhausted {
        Exhausted::Stop => horizon.unmet_cell,
        // An abandoned task holds back only what depends on it.
        Exhausted::Continue | Exhausted::Pass | Exhausted::Skip => horizon.unsettled_cell,
    };
    if run.settings.is_sequence() && before.is_some_and(|cell| cell < (task.group, task.level)) {
        return Some("a task before it is not done".to_owned());
    }
    if run.session.schedule == Schedule::Batch
        && let Some((_, level)) = horizon.unsettled_cell.filter(|&cell| cell < (task.group, task.level))
    {
        return Some(format!("the batch of level {level} is not finished"));
    }
    None
}

/// Everything that should be under way now. What already is, the caller knows.
pub fn next(state: &State, now: Timestamp) -> Vec<Action> {
    let Some(run) = state.run() else { return Vec::new() };
    let at_once = run.stops_at_once();
    let mut actions: Vec<Action> = Vec::new();
    let known = |id: &TaskId| state.task(id).ok().flatten();
    for task in state.active.iter().filter_map(known) {
        actions.extend(step(task).filter(|action| match run.stop {
            None => true,
            Some(StopMode::Finish) => !begins(action),
            Some(StopMode::AtOnce) => finishes(action),
        }));
    }
    if !at_once {
        actions.extend(landings(state, run, now));
        actions.extend(without_footing(state, run));
    }
    for task in state.cleaning.iter().filter_map(known) {
        actions.push(Action::Clean { task: task.id.clone(), fence: task.fence });
    }
    if let Gate::Open = Gate::of(run)
        && !all_are_out(run, now)
    {
        let free = run.session.max_parallel.saturating_sub(run.places_taken()) as usize;
        let mut looked_at = BTreeSet::new();
        let let_in = |task: &&Task| is_let_in(run, task, now, &mut looked_at);
        let in_turn = |task: &&Task| !task.comes_last() || is_last(state, run, now);
        let starts = startable(state, run, now).filter(in_turn).filter(let_in).take(free);
        actions.extend(starts.map(|task| Action::Start { task: task.id.clone() }));
    }
    if !run.stops_at_once() && owes_context(state, run) {
        actions.push(Action::Context);
    }
    if needs_providers(state, run) {
        let ask = |(provider, nth): (&str, u32)| Action::Ask { provider: provider.to_owned(), nth };
        actions.extend(overload::due(run, now).map(ask));
    }
    actions
}

/// Until when the line waits for more candidates, if any may come soon and no task waits for one that is there.
fn gathers_until(state: &State, run: &Run, now: Timestamp) -> Option<Timestamp> {
    let are_enough = state.queue.len() >= MOST_TOGETHER;
    let may_come = run.slots > run.judged_there;
    let is_waiting = |id: &TaskId| !run.is_its_request(id);
    let is_awaited = |id: &TaskId| state.links(id).is_ok_and(|links| links.dependents.iter().any(is_waiting));
    let is_calm = may_come && !are_enough && !state.queue.is_empty();
    let until = run.line.gathers_until(now).filter(|_| is_calm)?;
    (!state.queue.iter().any(|(_, id)| is_awaited(id))).then_some(until)
}

/// What is to be proven, and what of it to land.
fn landings(state: &State, run: &Run, now: Timestamp) -> Vec<Action> {
    let known = |id: &TaskId| state.task(id).ok().flatten();
    let last = |proof: &Proving| proof.chain.last().and_then(known).map(|task| (task.id.clone(), task.fence));
    let (line, land) = (&run.line, run.settings.land);
    let mut actions: Vec<Action> = line
        .under_way()
        .filter_map(|(proof, of)| last(of).map(|(task, fence)| Action::Prove { proof, task, fence }))
        .collect();
    if run.merging.is_none() {
        let next = line.landable(land).and_then(|(proof, of)| Some((proof, last(of)?)));
        actions.extend(next.map(|(proof, (task, fence))| Action::Land { proof, task, fence }));
    }
    let has_footing = |id: &&TaskId| known(id).is_none_or(|task| has_footing(state, task));
    let queue: Vec<&TaskId> = state.queue.iter().map(|(_, id)| id).filter(has_footing).collect();
    if !queue.is_empty() && gathers_until(state, run, now).is_none() {
        let is_exclusive = |id: &TaskId| known(id).is_some_and(|task| is_exclusive(state, task));
        let merging = run.merging.as_ref().and_then(known);
        let landing_waits = merging.is_some_and(|task| task.progress.waits.is_some());
        let wanted = line.wanted(&queue, is_exclusive, run.landing_window(), land, landing_waits);
        actions
            .extend(wanted.into_iter().map(|Proposal { chain, alone }| Action::BeginProof { chain, alone }));
    }
    actions
}

/// Whether a candidate can be proven now: what it stands on has landed, or has an open request.
fn has_footing(state: &State, task: &Task) -> bool {
    let is_there = || task.waiting == 0 || state.is_met(task) && !task.may_stay_as_it_is();
    !task.progress.stacked || is_there()
}

/// Tasks that stand on work which has no open request any more, and is not about to have one. They wait with their own kept.
fn without_footing(state: &State, run: &Run) -> Vec<Action> {
    if !run.stacks() {
        return Vec::new();
    }
    let known = |id: &TaskId| state.task(id).ok().flatten();
    let is_lost = |task: &&Task| {
        let lost = state.lost_footings(task).unwrap_or_default();
        !lost.is_empty() && task.has_no_work_under_way()
    };
    let merging = state.active.iter().filter(|id| known(id).is_some_and(|it| it.decided == Status::Merging));
    let all = state.queue.iter().map(|(_, id)| id).chain(merging).filter_map(known);
    all.filter(is_lost).map(|task| Action::Unstack { task: task.id.clone(), fence: task.fence }).collect()
}

/// Whether a candidate is proven by itself, while no other is: agents judge it, or others that its work meets, or it judges
/// the whole, or it may have nothing to land.
fn is_exclusive(state: &State, task: &Task) -> bool {
    // What lands by a request of its own cannot be built on before the host has merged it.
    state.run().is_some_and(|run| run.requests_of(&task.id).is_some())
        || task.gate
        || !task.reviews.is_empty()
        || task.may_stay_as_it_is()
        || state.is_reviewed_since(task.progress.landed_at_base)
}

/// Whether something is left that an agent may have to do.
fn needs_providers(state: &State, run: &Run) -> bool {
    let waits = |status| {
        matches!(
            status,
            Status::Pending | Status::Failed | Status::Verifying | Status::Verified | Status::Merging
        )
    };
    matches!(Gate::of(run), Gate::Open) && state.counts().sum(waits) > 0
}

/// Whether only gates are left that agents judge and that have passed before. They are judged again once, at the end, and
/// not after each landing.
fn is_last(state: &State, run: &Run, now: Timestamp) -> bool {
    let under_way = !state.active.is_empty() || !state.queue.is_empty() || run.merging.is_some();
    let soon = || paused_until(state, now).is_some();
    !under_way && !soon() && startable(state, run, now).all(Task::comes_last)
}

/// Whether only the project's description is left to update. A session that works on a part of the plan, or makes no
/// commits, leaves it alone.
pub fn owes_context(state: &State, run: &Run) -> bool {
    run.context.is_none()
        && run.settings.policy().keeps_description
        && !run.settings.no_commits
        && run.session.selection == Selection::All
        && state.is_complete()
}

/// The next step of a task the engine works on.
fn step(task: &Task) -> Option<Action> {
    let (id, fence, progress) = (task.id.clone(), task.fence, &task.progress);
    match task.decided {
        Status::InProgress if !progress.ready => Some(Action::Prepare { task: id, fence }),
        Status::InProgress | Status::Confirming => {
            let pass = progress.confirmations;
            let work = Action::Work { task: id.clone(), fence, pass };
            Some(if progress.agent_done { Action::Capture { task: id, fence, pass } } else { work })
        }
        Status::Verifying if progress.queued.is_none() => Some(Action::Check { task: id, fence }),
        Status::Merging => Some(match &progress.request {
            Some(request) if progress.intent.is_none() => {
                Action::Request { task: id, fence, step: request.step }
            }
            _ => Action::Move { task: id, fence },
        }),
        _ => None,
    }
}

/// Whether this is the current step of its task. An action in progress that is not should be stopped.
pub fn is_current(state: &State, action: &Action) -> bool {
    if let Action::Ask { provider, nth } = action {
        let is_open = |run: &Run| run.overloads.get(provider).is_some_and(|overload| overload.asked == *nth);
        return state.run().is_some_and(|run| run.stop.is_none() && is_open(run));
    }
    if let Action::BeginProof { .. } = action {
        return false;
    }
    let Some(id) = action.task() else {
        return state.run().is_some_and(|run| !run.stops_at_once() && owes_context(state, run));
    };
    state.task(id).ok().flatten().is_some_and(|task| match action {
        Action::Start { .. } | Action::Unstack { .. } => false,
        Action::Prove { proof, .. } => {
            state.run().is_some_and(|run| run.line.under_way().any(|(number, _)| number == *proof))
        }
        Action::Land { proof, .. } => state.run().is_some_and(|run| {
            let next = run.line.landable(run.settings.land);
            run.merging.is_none() && next.is_some_and(|(number, _)| number == *proof)
        }),
        Action::Clean { fence, .. } => task.decided == Status::Completed && task.fence == *fence,
        _ => task.is_engines() && step(task).as_ref() == Some(action),
    })
}

/// Actions that do not begin after a stop was requested. Actions in progress continue.
fn begins(action: &Action) -> bool {
    matches!(action, Action::Prepare { .. } | Action::Work { .. })
}

/// What is finished even when the run stops at once: it is short, and half-done otherwise.
fn finishes(action: &Action) -> bool {
    matches!(action, Action::Move { .. } | Action::Clean { .. } | Action::Capture { .. })
}

/// Tasks that may start now, in order. Looks no further than the first that a barrier holds back.
pub fn startable<'s>(state: &'s State, run: &'s Run, now: Timestamp) -> impl Iterator<Item = &'s Task> {
    let horizon = state.horizon();
    let first = run.first_group();
    let flow = run.session.schedule == Schedule::Flow;
    let selected = move |task: &Task| match &run.session.selection {
        Selection::All => true,
        Selection::From(_) => task.group >= first,
        Selection::Group(_) => task.group == first,
        Selection::Task(id) => &task.id == id,
    };
    let free = move |task: &Task| barrier(run, &horizon, task).is_none();
    let known = |id: &TaskId| state.task(id).ok().flatten();
    // Tries that were paused come first: their worktrees exist and their feedback is fresh.
    let due = |time: Timestamp| !is_future(time, now, Settings::LONGEST_PAUSE);
    let mut paused: Vec<_> = state.later.iter().filter(|(time, _)| due(*time)).map(|(_, key)| key).collect();
    paused.sort();
    let paused: Vec<&Task> =
        paused.into_iter().filter_map(|key| known(&key.task)).filter(|task| free(task)).collect();
    let ready: Box<dyn Iterator<Item = &Task>> = match &run.session.selection {
        Selection::Task(id) => Box::new(known(id).filter(|task| state.is_ready(task)).into_iter()),
        _ => {
            let from = if flow { 0 } else { first };
            let keys = state.ready.range(ReadyKey::least_of(from)..);
            let in_order = keys.filter_map(move |key| known(&key.task));
            // In a sequence the first that is free may come after others that are not; so may a task of an earlier batch.
            let is_mixed = run.settings.is_sequence() || run.lands_in_batches();
            let passes = move |task: &&Task| !is_mixed || free(task);
            let in_order = in_order.filter(passes);
            Box::new(in_order.take_while(move |task| free(task) && (flow || selected(task))))
        }
    };
    paused.into_iter().chain(ready).filter(move |task| selected(task))
}

/// When to look again although nothing happened: the end of a pause or of a limit.
pub fn wake_at(state: &State, now: Timestamp) -> Option<Timestamp> {
    let run = state.run()?;
    let gathers = gathers_until(state, run, now);
    let Some(run) = Some(run).filter(|run| over_budget(run).is_none() && run.stop.is_none()) else {
        return gathers;
    };
    // If nothing is left to start, there is no provider to wait for.
    let waits = state.counts().sum(|status| matches!(status, Status::Pending | Status::Failed)) > 0;
    let out = limits(run, now).map(|(_, until)| until).chain(probes(run, now)).filter(|_| waits);
    let asks = overload::asks(run, now).filter(|_| needs_providers(state, run));
    out.chain(asks).chain(paused_until(state, now)).chain(gathers).min()
}

/// When the next pause of a task ends. A task that is already due waits for a slot or a barrier: an event will wake the
/// engine.
pub fn paused_until(state: &State, now: Timestamp) -> Option<Timestamp> {
    state.later.iter().map(|(time, _)| *time).find(|&time| now < time)
}
