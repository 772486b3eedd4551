//! What an engine appends to the journal, and what it reads from it.

use piton_core::run::{Command, Event, Note, Recorded, Refusal, State};

use super::{EngineError, Loop, briefing};
use crate::clock;

impl Loop<'_> {
    /// Decide on commands and append the events, after folding what other processes appended before.
    pub(super) fn commit(
        &mut self,
        commands: &[Command],
    ) -> Result<Vec<Result<Vec<Recorded>, Refusal>>, EngineError> {
        self.commit_with(commands, |_| Vec::new())
    }

    /// The same, with the commands that follow.
    pub(super) fn commit_with(
        &mut self,
        commands: &[Command],
        follow: impl Fn(&State) -> Vec<Command>,
    ) -> Result<Vec<Result<Vec<Recorded>, Refusal>>, EngineError> {
        let ours = |commands: &[Command]| -> Vec<Command> {
            commands.iter().map(|command| command.clone().of_engine(&self.name)).collect()
        };
        let follow = |state: &State| ours(&follow(state));
        let done =
            self.journal.commit_with(&self.run, &mut self.state, &ours(commands), follow, clock::now())?;
        for recorded in done.foreign.iter().chain(done.outcomes.iter().flatten().flatten()) {
            self.notice(recorded);
        }
        Ok(done.outcomes)
    }

    /// An engine that has lost its run leaves it as it is. Its lock keeps other engines away. Another engine can own
    /// the run only if a person removed the lock file.
    pub(super) fn owns_the_run(&self) -> Result<(), EngineError> {
        match self.state.run().and_then(|run| run.engine.as_ref()) {
            Some(engine) if *engine == self.name && !self.lead.is_lost() => Ok(()),
            _ => Err(EngineError::Overtaken),
        }
    }

    pub(super) fn hear_others(&mut self) -> Result<(), EngineError> {
        for recorded in self.journal.catch_up(&self.run, &mut self.state)? {
            self.notice(&recorded);
        }
        Ok(())
    }

    fn notice(&mut self, recorded: &Recorded) {
        // A landing that waits is reported again and again, and people are told about it: that is not progress.
        let is_idle = |event: &Event| {
            matches!(event, Event::LandingWaits { .. } | Event::Noted { note: Note::Seen { .. }, .. })
        };
        if !is_idle(&recorded.event) {
            self.idle_since = None;
        }
        // A plan read again may have changed any task.
        if matches!(recorded.event, Event::TaskChanged { .. }) {
            self.specs.clear();
        }
        if let Some(guardrails) = &mut self.guardrails {
            briefing::heed(guardrails, recorded);
        }
        self.observer.event(recorded, &self.state);
    }
}
