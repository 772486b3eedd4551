//! What each event means for the time of its task.

use std::collections::{BTreeMap, HashMap};

use super::path::{self, End, Life};
use super::{Bar, Cause, Phase, Timeline, Totals};
use crate::order::Arrange;
use crate::plan::{Schedule, TaskId, TaskSpec};
use crate::run::{Class, Event, Holder, Next, Proof, Recorded, RequestFact};
use crate::time::{Span, Timestamp};

/// Processes read the clock a moment before they append, so events are now and then a little out of order. A clock that
/// goes back further than this has jumped: what it said before was wrong.
const OUT_OF_ORDER: Span = Span::minutes(1);

/// A timeline that grows with each event.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    /// The latest moment that it knows.
    clock: Option<Timestamp>,
    begun: Option<Timestamp>,
    numbers: HashMap<TaskId, usize>,
    rows: Vec<Row>,
    /// Those that have ended.
    bars: Vec<Bar>,
    /// When no engine ran after one had stopped. The last one may go on.
    down: Vec<(Timestamp, Option<Timestamp>)>,
    /// The chains that are being proven.
    proofs: BTreeMap<u64, Vec<TaskId>>,
    /// How many places there are for agents, how many tasks have one, and how many more have left theirs to others while
    /// they are checked where they are to land.
    places: usize,
    in_place: usize,
    checked_there: usize,
    /// When one became free while all were taken, and by whom.
    freed: Vec<(Timestamp, usize)>,
    /// How tasks of later groups wait for earlier ones.
    schedule: Option<Schedule>,
    /// The tasks that have ended, and when.
    ended: Vec<(Timestamp, usize)>,
}

/// One task.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) task: TaskId,
    needs: Vec<TaskId>,
    /// Its group, and its level in the plan.
    turn: (u32, u32),
    /// `None` if its plan was not read: it was there from the beginning.
    added: Option<Timestamp>,
    attempt: u32,
    open: Option<Open>,
    place: Place,
    /// When its dependents could start.
    done: Option<Timestamp>,
    /// Its last bar that has ended.
    last: Option<usize>,
    pub(super) lives: Vec<Life>,
}

/// Whether a task takes one of the engine's places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    None,
    Taken,
    /// It is checked where it is to land.
    CheckedThere,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    phase: Phase,
    attempt: u32,
    from: Timestamp,
    seq: u64,
}

impl Fold {
    /// Add an event. They come in their order. Those about tasks that never start may be left out.
    pub fn read(&mut self, recorded: &Recorded) {
        let at = self.tick(recorded.at);
        let seq = recorded.seq;
        match &recorded.event {
            Event::TaskAdded { spec, level, .. } | Event::TaskChanged { spec, level, .. } => {
                self.plan(spec, *level, at);
            }
            Event::EngineStarted { session, .. } => {
                self.begun.get_or_insert(at);
                self.places = session.max_parallel as usize;
                self.schedule = Some(session.schedule);
                if let Some((_, end @ None)) = self.down.last_mut() {
                    *end = Some(at);
                }
            }
            Event::SettingsAdopted { session: Some(session), .. } => {
                self.places = session.max_parallel as usize;
                self.schedule = Some(session.schedule);
            }
            Event::EngineStopped { .. } if self.down.last().is_none_or(|(_, end)| end.is_some()) => {
                self.down.push((at, None));
            }
            Event::AttemptStarted { task, attempt, holder, agent, .. } => {
                let phase = match holder {
                    // Its checks run first.
                    Holder::Engine if agent.is_empty() => Phase::Checking,
                    Holder::Engine | Holder::Ledger(_) => Phase::Working,
                };
                let number = self.number(task);
                self.start(number, *attempt, at, seq);
                self.open(number, phase, at, seq);
                let place = if *holder == Holder::Engine { Place::Taken } else { Place::None };
                self.move_to(number, place, at);
            }
            Event::AgentEnded { task, .. } => self.enter(task, Phase::Checking, at, seq),
            Event::ConfirmationStarted { task, .. } => self.enter(task, Phase::Working, at, seq),
            Event::VerificationStarted { task, lands, .. } => {
                let (phase, place) = match lands {
                    true => (Phase::Landing, Place::CheckedThere),
                    false => (Phase::Checking, Place::Taken),
                };
                self.enter(task, phase, at, seq);
                let number = self.number(task);
                if self.rows[number].place != Place::None {
                    self.move_to(number, place, at);
                }
            }
            Event::Verified { task, .. } | Event::LandingReturned { task, .. } => self.line_up(task, at, seq),
            Event::ProofBegan { proof, chain, .. } => {
                for task in chain {
                    self.enter_from(&[Phase::Landing, Phase::Held], task, Phase::Checking, at, seq);
                }
                self.proofs.insert(*proof, chain.clone());
            }
            Event::ProofEnded { proof, .. } => {
                for task in self.proofs.remove(proof).unwrap_or_default() {
                    self.enter_from(&[Phase::Checking], &task, Phase::Landing, at, seq);
                }
            }
            Event::LandingPrepared { task, before, .. } => {
                before.iter().for_each(|carried| self.line_up(&carried.task, at, seq));
                self.line_up(task, at, seq);
            }
            Event::LandingWaits { task, .. } => self.enter(task, Phase::Held, at, seq),
            Event::Request { task, fact, .. } => match fact {
                RequestFact::Prepared { .. } | RequestFact::Returned { .. } => self.line_up(task, at, seq),
                // The host has it from here on.
                RequestFact::Opened { .. } => self.enter(task, Phase::Held, at, seq),
                RequestFact::Merged { .. } => self.enter(task, Phase::Landing, at, seq),
                RequestFact::Unstacked { .. } => {
                    self.close(task, "waits for what it stands on", at);
                    self.enter(task, Phase::Waiting, at, seq);
                }
                RequestFact::MergeBegins { .. }
                | RequestFact::SentBack { .. }
                | RequestFact::Pushed { .. }
                | RequestFact::Seen { .. }
                | RequestFact::MergeAsked { .. }
                | RequestFact::MergeRefused { .. }
                | RequestFact::Missing { .. } => {}
            },
            Event::Failed { task, class, reason, next, .. } => {
                let said = reason.lines().next().unwrap_or_default();
                self.close(task, &format!("{}: {said}", class_name(*class)), at);
                match next {
                    Next::Again { .. } if *class == Class::Limit => self.enter(task, Phase::Held, at, seq),
                    Next::Again { .. } => self.enter(task, Phase::Waiting, at, seq),
                    Next::Blocked => self.enter(task, Phase::Held, at, seq),
                    Next::Abandoned => self.end(task, End::Abandoned, at),
                    Next::Skipped => self.end(task, End::Skipped, at),
                }
            }
            Event::Released { task, .. } => {
                self.close(task, "released", at);
                self.enter(task, Phase::Waiting, at, seq);
            }
            Event::Completed { task, proof, .. } => {
                let how = if matches!(proof, Proof::Landed { .. }) { "landed" } else { "completed" };
                self.close(task, how, at);
                self.end(task, End::Done, at);
            }
            Event::LandingFound { task, .. } => {
                self.close(task, "landed", at);
                self.end(task, End::Done, at);
            }
            Event::Adopted { task, past, .. } if past.proof.is_some() => self.end(task, End::Done, at),
            Event::GivenUp { task, .. } => {
                self.close(task, "abandoned", at);
                self.end(task, End::Abandoned, at);
            }
            Event::Skipped { task, .. } => {
                self.close(task, "skipped", at);
                self.end(task, End::Skipped, at);
            }
            Event::TaskRemoved { task } => {
                self.close(task, "removed from the plan", at);
                self.end(task, End::Skipped, at);
            }
            Event::Retried { task, .. } | Event::Unblocked { task, .. } => {
                self.revive(task, &[End::Abandoned, End::Skipped], at, seq);
                self.enter_from(&[Phase::Held], task, Phase::Waiting, at, seq);
            }
            Event::Raised { task, .. } => self.revive(task, &[End::Abandoned], at, seq),
            Event::Reset { task, .. } => self.again(task, "reset", at, seq),
            Event::Reopened { task, .. } => self.again(task, "opened again", at, seq),
            Event::LandingLost { task, .. } => self.again(task, "its landing is gone", at, seq),
            Event::RunCreated { .. }
            | Event::PlanAdopted { .. }
            | Event::SettingsAdopted { session: None, .. }
            | Event::EngineStopped { .. }
            | Event::StopRequested { .. }
            | Event::RunClosed { .. }
            | Event::Marked { .. }
            | Event::HolderBound { .. }
            | Event::ClaimWaits { .. }
            | Event::WorktreeReady { .. }
            | Event::WorkCaptured { .. }
            | Event::ChecksEnded { .. }
            | Event::ReviewerStarted { .. }
            | Event::ReviewerEnded { .. }
            | Event::ProviderAsked { .. }
            | Event::ProviderUnparked { .. }
            | Event::CleanedUp { .. }
            | Event::CleanupRefused { .. }
            | Event::Rescued { .. }
            | Event::Reported { .. }
            | Event::Answered { .. }
            | Event::CommentsSent { .. }
            | Event::Adopted { .. }
            | Event::OutsideSeen { .. }
            | Event::Noted { .. }
            | Event::ContextUpdated { .. } => {}
        }
    }

    /// The time of an event. It never goes back by a little. If the clock has jumped, nothing that is known is later than
    /// what it says now.
    fn tick(&mut self, at: Timestamp) -> Timestamp {
        let clock = self.clock.unwrap_or(at);
        if clock.since(at) > OUT_OF_ORDER {
            self.pull_back(at);
            self.clock = Some(at);
            return at;
        }
        self.clock = Some(clock.max(at));
        clock.max(at)
    }

    fn pull_back(&mut self, to: Timestamp) {
        let pull = |time: &mut Timestamp| *time = (*time).min(to);
        for bar in &mut self.bars {
            pull(&mut bar.from);
            bar.to.iter_mut().for_each(pull);
        }
        for row in &mut self.rows {
            row.added.iter_mut().chain(&mut row.done).for_each(pull);
            row.open.iter_mut().for_each(|open| pull(&mut open.from));
            row.lives.iter_mut().flat_map(Life::times).for_each(pull);
        }
        self.begun.iter_mut().for_each(pull);
        self.freed.iter_mut().chain(&mut self.ended).for_each(|(at, _)| pull(at));
        for (from, end) in &mut self.down {
            pull(from);
            end.iter_mut().for_each(pull);
        }
    }

    fn plan(&mut self, spec: &TaskSpec, level: u32, at: Timestamp) {
        let number = self.number(&spec.id);
        let row = &mut self.rows[number];
        row.needs.clone_from(&spec.depends_on);
        row.turn = (spec.group, level);
        row.added.get_or_insert(at);
    }

    fn number(&mut self, task: &TaskId) -> usize {
        if let Some(&number) = self.numbers.get(task) {
            return number;
        }
        let number = self.rows.len();
        self.numbers.insert(task.clone(), number);
        self.rows.push(Row {
            task: task.clone(),
            needs: Vec::new(),
            turn: (0, 0),
            added: None,
            attempt: 0,
            open: None,
            place: Place::None,
            done: None,
            last: None,
            lives: Vec::new(),
        });
        number
    }

    /// A try begins. If it is the first, the task has waited since it could start.
    fn start(&mut self, number: usize, attempt: u32, at: Timestamp, seq: u64) {
        let begun = *self.begun.get_or_insert(at);
        self.shut(number, None, at);
        self.rows[number].attempt = attempt;
        if self.rows[number].is_alive() {
            return;
        }
        let row = &self.rows[number];
        let done = |need: &TaskId| {
            let need = *self.numbers.get(need)?;
            Some((self.rows[need].done?, need))
        };
        let last_need = row.needs.iter().filter_map(done).max();
        let before = row.lives.last().and_then(|life| life.ended);
        let known = [row.added, before, last_need.map(|(done, _)| done)];
        let ready = known.into_iter().flatten().fold(begun, Timestamp::max).min(at);
        let need =
            last_need.filter(|&(done, _)| done == ready).map(|(_, need)| (need, ready, Cause::Dependency));
        let freed = self.freed.last().filter(|&&(freed, by)| freed > ready && by != number);
        let freed = freed.map(|&(freed, by)| (by, freed, Cause::Place));
        let is_before = |other: usize| match self.schedule {
            Some(Schedule::Layered) => self.rows[other].turn.0 < row.turn.0,
            Some(Schedule::Batch) => self.rows[other].turn < row.turn,
            Some(Schedule::Flow) | None => false,
        };
        let recent = self.ended.iter().rev().take_while(|&&(ended, _)| ended > ready);
        let group = recent.copied().find(|&(_, other)| is_before(other));
        let group = group.map(|(ended, other)| (other, ended, Cause::Group));
        let turn = freed.into_iter().chain(group).max_by_key(|&(_, at, _)| at);
        let task = row.task.clone();
        self.rows[number].lives.push(Life { ready, ended: None, end: End::Done, after: turn.or(need) });
        self.rows[number].done = None;
        if ready < at {
            let (phase, from, to) = (Phase::Waiting, ready, Some(at));
            self.bars.push(Bar { task, attempt, phase, from, to, end: None, seq });
        }
    }

    fn enter(&mut self, task: &TaskId, phase: Phase, at: Timestamp, seq: u64) {
        let number = self.number(task);
        if self.rows[number].open.is_some_and(|open| open.phase == phase) {
            return;
        }
        self.shut(number, None, at);
        self.begun.get_or_insert(at);
        if !self.rows[number].is_alive() {
            self.rows[number].lives.push(Life { ready: at, ended: None, end: End::Done, after: None });
            self.rows[number].done = None;
        }
        self.open(number, phase, at, seq);
    }

    /// The same, if it is in one of these phases.
    fn enter_from(&mut self, those: &[Phase], task: &TaskId, phase: Phase, at: Timestamp, seq: u64) {
        let open = self.numbers.get(task).and_then(|&number| self.rows[number].open);
        if open.is_some_and(|open| those.contains(&open.phase)) {
            self.enter(task, phase, at, seq);
        }
    }

    /// It is in the landing line, and needs no place of its own.
    fn line_up(&mut self, task: &TaskId, at: Timestamp, seq: u64) {
        self.enter(task, Phase::Landing, at, seq);
        let number = self.number(task);
        self.move_to(number, Place::None, at);
    }

    /// The try ends.
    fn close(&mut self, task: &TaskId, end: &str, at: Timestamp) {
        let number = self.number(task);
        self.shut(number, Some(end), at);
        self.move_to(number, Place::None, at);
    }

    fn end(&mut self, task: &TaskId, end: End, at: Timestamp) {
        let number = self.number(task);
        self.ended.push((at, number));
        let row = &mut self.rows[number];
        row.done = Some(at);
        if let Some(life) = row.lives.last_mut() {
            // What was given up may be completed by hand.
            if life.ended.is_none() || life.end != End::Done {
                life.end = end;
            }
            life.ended.get_or_insert(at);
        }
    }

    /// It ended in one of these ways, and a person has it tried again. It has waited for that.
    fn revive(&mut self, task: &TaskId, those: &[End], at: Timestamp, seq: u64) {
        let number = self.number(task);
        let row = &mut self.rows[number];
        let Some(life) = row.lives.last_mut().filter(|life| those.contains(&life.end)) else { return };
        let Some(ended) = life.ended.take() else { return };
        row.done = None;
        if ended < at {
            let (task, attempt, phase) = (task.clone(), row.attempt, Phase::Held);
            self.bars.push(Bar { task, attempt, phase, from: ended, to: Some(at), end: None, seq });
        }
        self.enter(task, Phase::Waiting, at, seq);
    }

    /// What was done counts no more. A task that never started has nothing to lose.
    fn again(&mut self, task: &TaskId, why: &str, at: Timestamp, seq: u64) {
        let number = self.number(task);
        self.close(task, why, at);
        let row = &self.rows[number];
        if row.lives.is_empty() && row.done.is_none() {
            return;
        }
        if !row.is_alive() {
            // Whatever landed last has brought it about, as far as anything has.
            let others = self.rows.iter().enumerate().filter(|&(other, _)| other != number);
            let last = others.filter_map(|(other, row)| Some((row.done?, other))).max();
            let after = last.map(|(done, other)| (other, done, Cause::Dependency));
            self.rows[number].lives.push(Life { ready: at, ended: None, end: End::Done, after });
            self.rows[number].done = None;
        }
        self.enter(task, Phase::Waiting, at, seq);
    }

    fn open(&mut self, number: usize, phase: Phase, at: Timestamp, seq: u64) {
        let attempt = self.rows[number].attempt;
        self.rows[number].open = Some(Open { phase, attempt, from: at, seq });
    }

    /// End the bar that goes on. One that took no time is left out: if the try ends with it, the bar before it says so. One
    /// that goes on with the phase of the bar before it is part of that.
    fn shut(&mut self, number: usize, end: Option<&str>, at: Timestamp) {
        let row = &mut self.rows[number];
        let Some(Open { phase, attempt, from, seq }) = row.open.take() else { return };
        let end = end.map(str::to_owned);
        let follows = |last: &&mut Bar| {
            let is_try = !matches!(last.phase, Phase::Waiting | Phase::Held);
            is_try && last.attempt == attempt && last.to == Some(from) && last.end.is_none()
        };
        if let Some(last) = row.last.map(|last| &mut self.bars[last]).filter(follows)
            && (from == at || last.phase == phase)
        {
            (last.to, last.end) = (Some(at), end);
        } else if from < at || end.is_some() {
            row.last = Some(self.bars.len());
            self.bars.push(Bar { task: row.task.clone(), attempt, phase, from, to: Some(at), end, seq });
        }
    }

    fn move_to(&mut self, number: usize, place: Place, at: Timestamp) {
        let before = self.taken();
        match std::mem::replace(&mut self.rows[number].place, place) {
            Place::None => {}
            Place::Taken => self.in_place -= 1,
            Place::CheckedThere => self.checked_there -= 1,
        }
        match place {
            Place::None => {}
            Place::Taken => self.in_place += 1,
            Place::CheckedThere => self.checked_there += 1,
        }
        if self.taken() < before && before >= self.places {
            self.freed.push((at, number));
        }
    }

    /// As `Run::places_taken` counts them: not every task that is checked where it is to land leaves its place to others.
    fn taken(&self) -> usize {
        let ahead = self.places.saturating_sub(1).min(self.checked_there);
        self.in_place + self.checked_there - ahead
    }

    /// What is known so far. `now` is the end of what goes on.
    pub fn timeline(&self, now: Timestamp) -> Timeline {
        let Some(from) = self.begun else {
            let at = self.clock.unwrap_or(now);
            return Timeline { from: at, to: at, ..Timeline::default() };
        };
        let open = self.rows.iter().filter_map(|row| {
            let Open { phase, attempt, from, seq } = row.open?;
            Some(Bar { task: row.task.clone(), attempt, phase, from, to: None, end: None, seq })
        });
        let mut bars: Vec<Bar> = Vec::with_capacity(self.bars.len());
        self.bars.iter().cloned().chain(open).for_each(|bar| self.split(bar, &mut bars));
        bars.arrange_by_key(|bar| (bar.from, bar.seq));
        let ends = bars.iter().map(|bar| bar.to.unwrap_or(now.max(self.clock.unwrap_or(now))));
        let to = ends.fold(from, Timestamp::max);
        let mut totals = Totals::default();
        bars.iter().for_each(|bar| totals.add(bar.phase, bar.took(to)));
        let critical = path::steps(&self.rows, to);
        let decided = path::totals(&critical, &bars, to);
        let at_once = at_once(&bars, to);
        Timeline { from, to, bars, critical, totals, decided, at_once }
    }

    /// While no engine runs, nothing can start or land: that waits for a person.
    fn split(&self, bar: Bar, into: &mut Vec<Bar>) {
        if !matches!(bar.phase, Phase::Waiting | Phase::Landing) {
            return into.push(bar);
        }
        let mut rest = bar;
        let first = self.down.partition_point(|(_, end)| end.is_some_and(|end| end <= rest.from));
        for &(down, up) in &self.down[first..] {
            if rest.to.is_some_and(|to| to <= down) {
                break;
            }
            let down = down.max(rest.from);
            if rest.from < down {
                into.push(Bar { to: Some(down), end: None, ..rest.clone() });
            }
            let up = up.filter(|up| rest.to.is_none_or(|to| *up < to));
            match up {
                Some(up) => {
                    if down < up {
                        into.push(Bar {
                            from: down,
                            phase: Phase::Held,
                            to: Some(up),
                            end: None,
                            ..rest.clone()
                        });
                    }
                    rest.from = up;
                }
                None => {
                    into.push(Bar { from: down, phase: Phase::Held, ..rest });
                    return;
                }
            }
        }
        into.push(rest);
    }
}

impl Row {
    fn is_alive(&self) -> bool {
        self.lives.last().is_some_and(|life| life.ended.is_none())
    }

    pub(super) fn is_held(&self) -> bool {
        self.open.is_some_and(|open| open.phase == Phase::Held)
    }
}

fn class_name(class: Class) -> &'static str {
    match class {
        Class::Code => "code",
        Class::Conflict => "conflict",
        Class::Transient => "transient",
        Class::Limit => "limit",
        Class::Defect => "defect",
        Class::Stopped => "stopped",
        Class::SentBack => "sent_back",
    }
}

/// How many tasks are worked on or checked, whenever that changes.
fn at_once(bars: &[Bar], end: Timestamp) -> Vec<(Timestamp, u32)> {
    let mut changes: BTreeMap<Timestamp, i64> = BTreeMap::new();
    for bar in bars.iter().filter(|bar| matches!(bar.phase, Phase::Working | Phase::Checking)) {
        *changes.entry(bar.from).or_default() += 1;
        *changes.entry(bar.to.unwrap_or(end)).or_default() -= 1;
    }
    let mut count = 0;
    let mut at_once: Vec<(Timestamp, u32)> = Vec::new();
    for (at, change) in changes.into_iter().filter(|&(_, change)| change != 0) {
        count += change;
        at_once.push((at, u32::try_from(count).unwrap_or(0)));
    }
    at_once
}
