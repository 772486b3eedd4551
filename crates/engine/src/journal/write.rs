//! Writing: decide, append and keep the snapshot, in one transaction.

use piton_core::plan::RunId;
use piton_core::run::{Command, Event, Missing, Recorded, State, Stop, decide};
use piton_core::time::Timestamp;

use super::append::{Appended, MANY, rebuild_rows, record};
use super::confirmed::Confirmed;
use super::error::{CommandError, Halt, JournalError, Trouble};
use super::query::{self, Head, NextTasks};
use super::store::{Store, Transaction};
use super::survey::Extent;
use super::{Committed, Journal, clean, survey};
use crate::{crash, secrets};

/// If a decision asks for more tasks this often, the whole state is loaded: a long chain of dependents would be loaded
/// link by link.
pub(super) const ROUNDS: usize = 48;

/// A command is tried again so often if its transaction was undone by the server, or by the loss of it.
const INTERRUPTIONS: usize = 3;

impl Journal {
    /// Decide and record one command on what it touches.
    pub fn command(
        &mut self,
        run: &RunId,
        command: &Command,
        now: Timestamp,
    ) -> Result<Vec<Recorded>, CommandError> {
        self.seen = None;
        let mut outcome = self.one_shot(run, command, now);
        if let Err(Halt::Trouble(Trouble::Snapshot { .. })) = outcome {
            self.rebuild(run)?;
            outcome = self.one_shot(run, command, now);
        }
        for _ in 0..INTERRUPTIONS {
            let Err(Halt::Trouble(Trouble::Interrupted { .. })) = outcome else { break };
            outcome = self.one_shot(run, command, now);
        }
        outcome.map_err(|halt| match halt {
            Halt::Refused(refusal) => CommandError::Refused(refusal),
            Halt::Trouble(trouble) => CommandError::Journal(self.error(trouble)),
        })
    }

    /// The events that a command would give now, or why it would be refused. Nothing is recorded.
    pub fn rehearse(
        &mut self,
        run: &RunId,
        command: &Command,
        now: Timestamp,
    ) -> Result<Vec<Recorded>, CommandError> {
        let mut outcome = || -> Result<Vec<Recorded>, Halt> {
            // Dropped without a commit, it leaves nothing.
            let transaction = self.store.begin_writing(run)?;
            one_shot(&self.store, &transaction, run, command, now, &mut self.loaded)
        };
        match outcome() {
            Ok(events) => Ok(events),
            // An outdated cache is made again when the command is really decided.
            Err(Halt::Trouble(Trouble::Snapshot { .. })) => Ok(Vec::new()),
            Err(Halt::Refused(refusal)) => Err(CommandError::Refused(refusal)),
            Err(Halt::Trouble(trouble)) => Err(CommandError::Journal(self.error(trouble))),
        }
    }

    fn one_shot(&mut self, run: &RunId, command: &Command, now: Timestamp) -> Result<Vec<Recorded>, Halt> {
        let mut loaded = 0;
        let outcome = self.writing(run, |db, moment| one_shot(db, moment, run, command, now, &mut loaded));
        self.loaded = loaded;
        outcome
    }

    /// Decide and record a group of commands on the engine's complete state, in one transaction, after
    /// folding what others have appended. A command that is refused does not hold up the others.
    pub fn commit(
        &mut self,
        run: &RunId,
        state: &mut State,
        commands: &[Command],
        now: Timestamp,
    ) -> Result<Committed, JournalError> {
        self.commit_with(run, state, commands, |_| Vec::new(), now)
    }

    /// The same, and in the same transaction the commands that follow from the new state.
    pub fn commit_with(
        &mut self,
        run: &RunId,
        state: &mut State,
        commands: &[Command],
        follow: impl Fn(&State) -> Vec<Command>,
        now: Timestamp,
    ) -> Result<Committed, JournalError> {
        let known = state.seq();
        let mut outcome = self.commit_once(run, state, commands, &follow, now);
        for _ in 0..INTERRUPTIONS {
            let Err(JournalError { trouble: Trouble::Interrupted { .. }, .. }) = outcome else { break };
            // Nothing of what was decided was recorded. Others may have appended something.
            let spoiled = |error| JournalError { spoiled: true, ..error };
            *state = match self.load(run) {
                Err(JournalError { trouble: Trouble::NoRun(_), .. }) => State::new(),
                loaded => loaded.map_err(spoiled)?,
            };
            let mut foreign = self.events(run, known, None, usize::MAX).map_err(spoiled)?;
            foreign.retain(|recorded| recorded.seq <= state.seq());
            outcome = self.commit_once(run, state, commands, &follow, now).map(|mut committed| {
                foreign.append(&mut committed.foreign);
                Committed { foreign, ..committed }
            });
        }
        outcome
    }

    fn commit_once(
        &mut self,
        run: &RunId,
        state: &mut State,
        commands: &[Command],
        follow: impl Fn(&State) -> Vec<Command>,
        now: Timestamp,
    ) -> Result<Committed, JournalError> {
        let mut touched = false;
        let (seen, number, confirmed) = (self.seen.take(), self.number.take(), self.confirmed.take());
        let outcome = self.writing(run, |db, moment| {
            let now = moment.time(now);
            confirmed.as_ref().map_or(Ok(()), |confirmed| confirmed.check(db))?;
            let (version, head) = match moment.head() {
                Some(head) => (None, head.cloned()),
                None => {
                    let version = db.version()?;
                    // If no other connection has written since, the run is as this connection left it.
                    let alone =
                        seen.is_some_and(|(r, v, seq)| r == *run && v == version && seq == state.seq());
                    let head = match number {
                        Some((written, no)) if alone && written == *run => {
                            Some(Head::current(no, state.seq()))
                        }
                        _ => query::head(db, run)?,
                    };
                    (Some(version), head)
                }
            };
            let foreign = query::foreign(db, run, head.as_ref(), state.seq())?;
            touched = !foreign.is_empty();
            query::fold(state, &foreign)?;
            state.take_changes();
            let (mut counts, mut all) = (Vec::with_capacity(commands.len()), Vec::new());
            let mut appended = Appended::new(run, head.as_ref());
            let mut take = |state: &mut State, command: &Command| -> Result<(), Halt> {
                let events = match decide(state, command, now) {
                    Ok(events) => events,
                    Err(Stop::Refused(refusal)) => {
                        counts.push(Err(refusal));
                        return Ok(());
                    }
                    Err(Stop::Missing(missing)) => return Err(incomplete(&missing).into()),
                };
                let placed = placed(events, state.seq(), now);
                touched |= !placed.is_empty();
                fold_and_append(db, state, &placed, &mut appended)?;
                counts.push(Ok(placed.len()));
                match all.is_empty() {
                    // The events of a large plan are many.
                    true => all = placed,
                    false => all.extend(placed),
                }
                Ok(())
            };
            commands.iter().try_for_each(|command| take(state, command))?;
            follow(state).iter().try_for_each(|command| take(state, command))?;
            let no = appended.write_rows(db, state)?;
            let last = all.last().map(|(recorded, _)| recorded).or(foreign.last());
            let confirmed = last.map(|last| Confirmed::by(db, run, last)).transpose()?.flatten();
            let mut events = all.into_iter().map(|(recorded, _)| recorded);
            let taken = |count: Result<usize, _>| count.map(|count| events.by_ref().take(count).collect());
            let outcomes = counts.into_iter().map(taken).collect();
            Ok((version, no, confirmed, Committed { foreign, outcomes }))
        });
        self.confirmed = confirmed;
        match outcome {
            Ok((version, no, confirmed, committed)) => {
                self.confirmed.iter_mut().for_each(|known| known.renew(&self.store));
                self.confirmed = confirmed.or(self.confirmed.take());
                self.seen = version.map(|version| (run.clone(), version, state.seq()));
                self.number = no.map(|no| (run.clone(), no));
                Ok(committed)
            }
            Err(halt) => Err(JournalError { spoiled: touched, ..self.halted(halt) }),
        }
    }

    /// Make the snapshot of a run again from its events.
    pub fn rebuild(&mut self, run: &RunId) -> Result<State, JournalError> {
        let outcome = self.writing(run, |db, _| Ok(rebuild_rows(db, run, |_| {})?));
        outcome.map_err(|halt| self.halted(halt))
    }

    pub(super) fn halted(&self, halt: Halt) -> JournalError {
        match halt {
            Halt::Trouble(trouble) => self.error(trouble),
            // No single command is decided here, so none can be refused.
            Halt::Refused(refusal) => self.error(Trouble::inconsistent(refusal.reason)),
        }
    }

    /// One transaction that holds the right to write from its start: nothing that was read in it can
    /// be overtaken.
    pub(super) fn writing<T>(
        &mut self,
        run: &RunId,
        body: impl FnOnce(&Store, &Transaction<'_>) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        let outcome = self.transaction(run, body);
        if let Err(Halt::Trouble(trouble)) = &outcome {
            self.broken |= trouble.is_fatal();
        }
        outcome
    }

    fn transaction<T>(
        &mut self,
        run: &RunId,
        body: impl FnOnce(&Store, &Transaction<'_>) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        if self.broken {
            return Err(Trouble::Closed.into());
        }
        if !self.writable {
            return Err(Trouble::ReadOnly.into());
        }
        let transaction = self.store.begin_writing(run)?;
        let before = self.store.changes();
        let value = body(&self.store, &transaction)?;
        let changed = self.store.changes() - before;
        if changed == 0 {
            return Ok(value);
        }
        crash::point("journal.before-commit");
        transaction.commit()?;
        crash::point("journal.after-commit");
        self.check_footing()?;
        self.store.clear_up(changed);
        Ok(value)
    }
}

fn one_shot(
    db: &Store,
    moment: &Transaction<'_>,
    run: &RunId,
    command: &Command,
    now: Timestamp,
    loaded: &mut usize,
) -> Result<Vec<Recorded>, Halt> {
    let (now, head) = (moment.time(now), query::locked_head(db, moment, run)?);
    let (mut base, mut extent) = match &head {
        None => (State::new(), Extent::Whole),
        Some(head) if command.surveys() => survey::part(db, head, command)?,
        Some(head) => (query::part(db, head)?, Extent::Part),
    };
    let mut rounds = 0;
    loop {
        let (missing, next) = match decide(&base, command, now) {
            Err(Stop::Refused(refusal)) => return Err(Halt::Refused(refusal)),
            Err(Stop::Missing(missing)) => (missing, NextTasks::Needs),
            Ok(events) => {
                let placed = placed(events, base.seq(), now);
                // A part may lack something halfway, and the copy is then spoiled. A whole state lacks nothing.
                let mut state = match extent {
                    Extent::Whole => std::mem::take(&mut base),
                    Extent::Part => base.clone(),
                };
                match placed.iter().try_for_each(|(recorded, _)| state.apply(recorded)) {
                    Err(missing) => (missing, NextTasks::Dependents),
                    Ok(()) => {
                        record(db, run, head.as_ref(), &mut state, lines(&placed))?;
                        return Ok(placed.into_iter().map(|(recorded, _)| recorded).collect());
                    }
                }
            }
        };
        rounds += 1;
        match &head {
            Some(head) if extent == Extent::Part && rounds > ROUNDS => {
                (base, extent) = (query::snapshot(db, head)?, Extent::Whole);
                *loaded += base.tasks().count();
            }
            Some(head) if extent == Extent::Part => {
                *loaded += query::fill(db, head.no, &mut base, missing, next)?;
            }
            _ => return Err(incomplete(&missing).into()),
        }
    }
}

pub(super) fn incomplete(missing: &Missing) -> Trouble {
    Trouble::inconsistent(format!("the loaded run does not have {missing:?}"))
}

/// Fold events into a complete state and append them. Of many, one thread does the one, and another the other.
fn fold_and_append(
    db: &Store,
    state: &mut State,
    placed: &[(Recorded, Option<String>)],
    appended: &mut Appended<'_>,
) -> Result<(), Trouble> {
    let mut fold = || query::fold(state, placed.iter().map(|(recorded, _)| recorded));
    if placed.len() < MANY {
        fold()?;
        return appended.append(db, lines(placed));
    }
    std::thread::scope(|scope| {
        let folding = scope.spawn(fold);
        let outcome = appended.append(db, lines(placed));
        folding.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        outcome
    })
}

/// Events with their place in the journal and, where it was made already, their JSON.
fn placed(events: Vec<Event>, seq: u64, at: Timestamp) -> Vec<(Recorded, Option<String>)> {
    let redactor = secrets::redactor();
    let clean = events.into_iter().map(|event| clean::without_secrets(event, &redactor));
    clean.zip(seq + 1..).map(|((event, text), seq)| (Recorded { seq, at, event }, text)).collect()
}

fn lines(placed: &[(Recorded, Option<String>)]) -> impl Iterator<Item = (&Recorded, Option<&str>)> {
    placed.iter().map(|(recorded, text)| (recorded, text.as_deref()))
}
