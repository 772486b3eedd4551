//! A run that was found, and what can be done with it.

use piton_core::plan::{Check, RunId, TaskId, TaskSpec};
use piton_core::run::{Command, Recorded, Task};
use piton_core::system::Addition;
use piton_engine::claims::{Judgement, Place};
use piton_engine::files::{Aide, Mirror, Wait};
use piton_engine::journal::{CommandError, Journal};
use piton_engine::project::Project;
use piton_engine::{clock, holders};

use crate::failure::{Failure, Outcome};
use crate::progress::line;
use crate::runs::{engine, grow, judge, refusals, siblings};
use crate::ui;

/// A run that exists, with its project and a journal to read.
#[derive(Debug)]
pub(crate) struct FoundRun {
    pub project: Project,
    pub journal: Journal,
    pub run: RunId,
}

impl FoundRun {
    /// Carry out a command. Edits of the run's state file are applied first. When this returns, the file shows the run
    /// again, whether the command was accepted or not.
    pub(crate) fn command(&mut self, command: &Command) -> Outcome<Vec<Recorded>> {
        self.command_and(command, None)
    }

    /// The same, and if the command was accepted, another one before the file is written.
    pub(crate) fn command_and(
        &mut self,
        command: &Command,
        more: Option<&Command>,
    ) -> Outcome<Vec<Recorded>> {
        self.command_then(command, |_, _| Ok(more.cloned()))
    }

    /// The same with a second command that depends on the events of the first.
    pub(crate) fn command_then(
        &mut self,
        command: &Command,
        more: impl FnOnce(&FoundRun, &[Recorded]) -> Outcome<Option<Command>>,
    ) -> Outcome<Vec<Recorded>> {
        let mut mirror = self.mirror()?;
        let mut aide = AtOnce { project: self.project.clone(), run: self.run.clone() };
        match &mut mirror {
            Some(mirror) => drop(mirror.settle(&mut self.journal, &mut aide)?),
            None => self.judge_committed(decides(command))?,
        }
        let released = self.release_gone()?;
        if mirror.is_none() {
            say(&released);
        }
        siblings::look(&self.project, &mut self.journal, &self.run)?;
        let mut outcome = self.journal.command(&self.run, command, clock::now());
        if let Ok(events) = &mut outcome
            && let Some(more) = more(self, events)?
        {
            match self.journal.command(&self.run, &more, clock::now()) {
                Ok(others) => events.extend(others),
                // The first one holds, whatever has happened to the task since.
                Err(CommandError::Refused(_)) => {}
                Err(CommandError::Journal(error)) => return Err(error.into()),
            }
        }
        if let Some(mirror) = &mut mirror {
            let settled = mirror.settle(&mut self.journal, &mut aide);
            refusals::say(&self.project, &self.journal, &self.run);
            if let (Ok(_), Err(error)) = (&outcome, settled) {
                return Err(Failure::new(format!(
                    "it is recorded, but the state file could not be written: {error}"
                )));
            }
        }
        Ok(outcome?)
    }

    /// Apply edits of the run's state file, and write it again. Without such a file, judge claims that waited for a
    /// commit.
    pub(crate) fn settle_file(&mut self) -> Outcome {
        self.settle_but(None)
    }

    /// The same, except for a claim about the task that this command reports.
    pub(crate) fn settle_but(&mut self, but: Option<&TaskId>) -> Outcome {
        siblings::look(&self.project, &mut self.journal, &self.run)?;
        let mut aide = AtOnce { project: self.project.clone(), run: self.run.clone() };
        match self.mirror()? {
            Some(mut mirror) => {
                mirror.settle(&mut self.journal, &mut aide)?;
                refusals::say(&self.project, &self.journal, &self.run);
                self.release_gone()?;
            }
            None => {
                self.judge_committed(but)?;
                say(&self.release_gone()?);
            }
        }
        Ok(())
    }

    /// For an engine that begins: judge and take back what needs no file for it.
    pub(crate) fn settle_claims(&mut self) -> Outcome {
        if !self.has_state_file()? {
            self.judge_committed(None)?;
        }
        say(&self.release_gone()?);
        Ok(())
    }

    fn judge_committed(&mut self, but: Option<&TaskId>) -> Outcome {
        judge::judge_committed(&self.project, &mut self.journal, &self.run, but)
    }

    /// Take tasks back from holders whose processes have ended.
    fn release_gone(&mut self) -> Outcome<Vec<Recorded>> {
        Ok(holders::release_gone(&mut self.journal, &self.run)?)
    }

    /// Whether what is next may be something else than the journal says: its state file may have been edited, a
    /// claim waits, or a task is held as long as a process lives.
    pub(crate) fn may_have_changed(&self) -> Outcome<bool> {
        let is_open = |task: &Task| judge::is_waiting(task) || holders::is_bound(task);
        Ok(self.has_state_file()? || self.journal.under_way(&self.run)?.iter().any(is_open))
    }

    /// Whether its system keeps a file that people and scripts read and write.
    pub(crate) fn has_state_file(&self) -> Outcome<bool> {
        Ok(self.journal.facts(&self.run)?.is_some_and(|facts| facts.settings.system().keeps_files()))
    }

    fn mirror(&mut self) -> Outcome<Option<Mirror>> {
        Ok(Mirror::open_owned(&self.project, &mut self.journal, &self.run)?)
    }
}

/// The task that a command decides about, whatever was claimed of it before.
fn decides(command: &Command) -> Option<&TaskId> {
    match command {
        Command::Report { task, .. }
        | Command::Reset { task, .. }
        | Command::Skip { task, .. }
        | Command::Abandon { task, .. } => Some(task),
        _ => None,
    }
}

fn say(released: &[Recorded]) {
    released.iter().for_each(|recorded| ui::say(line::line(recorded)));
}

/// Does what a state file asks for here and now.
struct AtOnce {
    project: Project,
    run: RunId,
}

impl Aide for AtOnce {
    fn waits(&mut self, wait: &Wait) {
        ui::say(wait.to_string());
    }

    fn add(&mut self, journal: &mut Journal, task: &Addition) -> Result<(), String> {
        grow::take_up(&self.project, journal, &self.run, task)
    }

    fn judge(
        &mut self,
        task: &Task,
        spec: &TaskSpec,
        place: Option<&Place>,
    ) -> Option<Result<Judgement, String>> {
        let place = place?;
        let judged = || -> Outcome<Judgement> {
            let tell =
                |check: &Check| ui::say(format!("{} is reported done: running `{}`", task.id, check.run));
            let (name, keeper) = (format!("{}.report", task.fence), engine::keeper()?);
            let judged = place.judge(&self.project, &self.run, spec, &name, &keeper, &tell);
            judged.map_err(|no| Failure::new(no.to_string()))
        };
        Some(judged().map_err(|failure| failure.message))
    }
}
