//! The right to work on a run, and engines that died with it.

use piton_core::plan::RunId;
use piton_core::run::{Command, StopReason};
use piton_engine::drive::EngineError;
use piton_engine::journal::Journal;
use piton_engine::lock::Lock;
use piton_engine::project::Project;
use piton_engine::{clock, lead};

use crate::failure::{Failure, Outcome};

pub(crate) fn take_lock(project: &Project, run: &RunId) -> Outcome<Lock> {
    let taken = project.engine_lock(run).map_err(Failure::io(format!("cannot lock {}", project.home)))?;
    let lock = taken.ok_or_else(|| {
        Failure::new(format!("another engine is working on the run {run}"))
            .hint("piton status")
            .hint("piton stop")
    })?;
    if project.server().is_some() {
        lead::settle(project, &mut project.journal()?, run).map_err(EngineError::from)?;
    }
    Ok(lock)
}

/// The same for a caller that does not hold the run's lock.
pub(crate) fn forget_dead_engine(project: &Project, journal: &mut Journal, run: &RunId) -> Outcome {
    if project.is_led(journal, run) || lead::is_elsewhere(project, journal, run)? {
        return Ok(());
    }
    let lock = project.engine_lock(run).map_err(Failure::io(format!("cannot lock {}", project.home)))?;
    lock.map_or(Ok(()), |_alone| detach(journal, run))
}

pub(crate) fn detach(journal: &mut Journal, run: &RunId) -> Outcome {
    if let Some(engine) = journal.facts(run)?.and_then(|facts| facts.engine) {
        let gone = Command::Detach { engine, reason: StopReason::death(), tip: Vec::new() };
        journal.command(run, &gone, clock::now())?;
    }
    Ok(())
}
