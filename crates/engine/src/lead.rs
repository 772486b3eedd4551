//! The right to lead a run whose journal is on a server: a thread keeps it while an engine works.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use camino::Utf8PathBuf;
use piton_core::plan::RunId;

use crate::journal::{Journal, JournalError, Leader, Seat};
use crate::project::Project;

/// Several renewals may be lost before the lease is.
const EVERY: Duration = Duration::from_secs(8);

/// How long the end of an engine waits until the lease is given back. Without that it ends by itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a run is not led from here.
#[derive(Debug, thiserror::Error)]
pub enum NoLead {
    #[error("the worktrees of this run are in {} on {}", .0.seat.path, .0.seat.host)]
    Elsewhere(Box<Leader>),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("cannot write {path}: {source}")]
    Io { path: Utf8PathBuf, source: io::Error },
}

/// See to it that only this project can lead a run whose journal is on a server: its work is here.
pub fn settle(project: &Project, journal: &mut Journal, run: &RunId) -> Result<(), NoLead> {
    if project.server().is_some() {
        let fence = take(project, journal, run)?;
        journal.end_lead(run, fence)?;
    }
    Ok(())
}

/// Whether the work of a run is in another folder of Piton's, on whichever machine.
pub fn is_elsewhere(project: &Project, journal: &Journal, run: &RunId) -> Result<bool, JournalError> {
    let leader = journal.leader(run)?;
    Ok(leader.is_some_and(|leader| project.home_id().is_ok_and(|home| home != leader.seat.home)))
}

fn take(project: &Project, journal: &mut Journal, run: &RunId) -> Result<i64, NoLead> {
    let seat = seat(project).map_err(|source| NoLead::Io { path: project.home.clone(), source })?;
    journal.take_lead(run, &seat)?.map_err(|other| NoLead::Elsewhere(Box::new(other)))
}

/// Held by an engine. In a project whose journal is a file it is nothing: the run's lock is enough there.
#[derive(Debug, Default)]
pub(crate) struct Lead {
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    end: Option<Sender<()>>,
    ended: Receiver<()>,
    is_lost: Arc<AtomicBool>,
}

impl Lead {
    /// Take it, for a caller that has the run's lock.
    pub(crate) fn take(project: &Project, run: &RunId) -> Result<Lead, NoLead> {
        if project.server().is_none() {
            return Ok(Lead::default());
        }
        let mut journal = project.journal()?;
        let fence = take(project, &mut journal, run)?;
        let ((end, asked), (tell, ended)) = (channel(), channel());
        let is_lost = Arc::new(AtomicBool::new(false));
        let (lost, run) = (Arc::clone(&is_lost), run.clone());
        thread::spawn(move || {
            keep(&mut journal, &run, fence, &asked, &lost);
            drop(tell);
        });
        Ok(Lead { kept: Some(Kept { end: Some(end), ended, is_lost }) })
    }

    /// Whether another one leads meanwhile.
    pub(crate) fn is_lost(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.is_lost.load(Ordering::Relaxed))
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.end = None;
            let _ = kept.ended.recv_timeout(PATIENCE);
        }
    }
}

fn keep(journal: &mut Journal, run: &RunId, fence: i64, asked: &Receiver<()>, lost: &AtomicBool) {
    while let Err(RecvTimeoutError::Timeout) = asked.recv_timeout(EVERY) {
        // A server that is away is asked again: nobody else can take the lead meanwhile.
        if let Ok(false) = journal.renew_lead(run, fence) {
            lost.store(true, Ordering::Relaxed);
            return;
        }
    }
    let _ = journal.end_lead(run, fence);
}

/// Where this process would lead from.
fn seat(project: &Project) -> io::Result<Seat> {
    Ok(Seat { home: project.home_id()?, host: host(), path: project.root.to_string() })
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
