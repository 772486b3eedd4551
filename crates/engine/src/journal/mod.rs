//! The journal: an append-only table of events in SQLite, and a cache of their fold beside it.
//!
//! This is the only module with SQL. A command is decided inside the write transaction that records it; the rows that
//! changed are written in the same transaction, so a one-shot command reads and writes what it touches, whatever the
//! size of the plan. The engine keeps a complete state and commits what waits for it as one group. Other processes may
//! append at any time.
//!
//! The events are the truth. Tasks, links, counts and facts are a cache: [`Journal::prove`] compares them with the
//! fold, [`Journal::rebuild`] makes them again.

mod clean;
mod costs;
mod error;
mod lanes;
mod made;
mod past;
mod place;
mod prove;
mod query;
mod read;
mod recover;
mod remarks;
mod rows;
mod schema;
mod survey;
mod write;

#[cfg(test)]
mod tests;

use std::fs::File;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Closed, Counts, Recorded, Refusal, StopMode, StopReason};
use piton_core::time::{Span, Timestamp};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use serde::Deserialize;

pub use error::{CommandError, JournalError, Trouble};
pub use recover::{Recovery, Salvaged};

/// An open journal: one connection, to be used by one thread at a time.
#[derive(Debug)]
pub struct Journal {
    connection: Connection,
    path: Utf8PathBuf,
    writable: bool,
    /// An error showed that this connection can no longer be trusted.
    broken: bool,
    /// The run, the data version and the position at which nothing new was found.
    seen: Option<(RunId, i64, u64)>,
    /// The run that was committed to last, and its number, which it keeps.
    number: Option<(RunId, i64)>,
    /// Tasks read by the last one-shot command.
    loaded: usize,
    /// Held as long as the journal is open, so that no recovery moves the file away meanwhile.
    _presence: Option<File>,
    /// What `path` named when it was opened.
    footing: recover::Footing,
    /// The time of its last event, if it ends in the past.
    moment: Option<Timestamp>,
}

/// A place in the plan: group and dependency level.
pub type Cell = (u32, u32);

/// The results of a group of commands.
#[derive(Debug, Default)]
pub struct Committed {
    /// What other processes had appended before.
    pub foreign: Vec<Recorded>,
    /// One for each command, in order.
    pub outcomes: Vec<Result<Vec<Recorded>, Refusal>>,
}

/// How often a check has run, and its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckCount {
    pub name: String,
    pub runs: u32,
    pub passes: u32,
    /// Trees on which it was red and then passed.
    pub flakes: u32,
    /// All runs together.
    pub took: Span,
}

/// What an outline of a plan shows of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Outline {
    pub title: String,
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
}

/// A run without its tasks.
#[derive(Clone, Debug)]
pub struct RunSummary {
    pub id: RunId,
    pub name: String,
    pub plan: String,
    pub created: Timestamp,
    pub seq: u64,
    /// The engine that began last and has not recorded that it stopped.
    pub engine: Option<String>,
    pub stop: Option<StopMode>,
    pub stopped: Option<StopReason>,
    pub closed: Option<Closed>,
    pub counts: Counts,
}

impl RunSummary {
    /// Every task of it is completed, or was skipped by a person.
    pub fn is_finished(&self) -> bool {
        self.counts.is_complete()
    }

    /// It is over: it is finished, or a person closed it.
    pub fn is_over(&self) -> bool {
        self.is_finished() || self.closed.is_some()
    }
}

impl Journal {
    /// Open the journal in `folder` for writing. It is created or upgraded if necessary.
    pub fn open(folder: &Utf8Path) -> Result<Journal, JournalError> {
        let (connection, path, presence) = schema::open_writer(folder)?;
        Ok(Journal::new(connection, path, Some(presence)))
    }

    /// Whether there is one in `folder`, or what was saved of one.
    pub fn exists(folder: &Utf8Path) -> bool {
        folder.join(schema::FILE).is_file() || recover::is_unfinished(folder)
    }

    /// Open the journal in `folder` for reading, if there is one. Nothing is ever written.
    pub fn open_existing(folder: &Utf8Path) -> Result<Option<Journal>, JournalError> {
        Ok(schema::open_reader(folder)?.map(|(connection, path)| Journal::new(connection, path, None)))
    }

    fn new(connection: Connection, path: Utf8PathBuf, presence: Option<File>) -> Journal {
        Journal {
            footing: recover::Footing::read(&path),
            connection,
            path,
            writable: presence.is_some(),
            broken: false,
            seen: None,
            number: None,
            loaded: 0,
            _presence: presence,
            moment: None,
        }
    }

    /// Close tidily: what is in the log goes into the database, if no other process has it open. A journal that is only
    /// dropped is as safe, and leaves this to the next process.
    pub fn close(self) -> Result<(), JournalError> {
        if self.writable && !self.broken {
            let tidy = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
            tidy.map_err(|error| self.error(error))?;
        }
        let Journal { connection, path, .. } = self;
        connection.close().map_err(|(_, error)| Trouble::from(error).at(&path))
    }

    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    pub fn sqlite_version() -> &'static str {
        rusqlite::version()
    }

    /// How many tasks the last one-shot command read. It does not grow with the plan.
    pub fn tasks_loaded(&self) -> usize {
        self.loaded
    }

    /// Fail if the open files were removed: what is written to them is lost.
    fn check_footing(&self) -> Result<(), Trouble> {
        match self.writable && !self.footing.holds() {
            true => Err(recover::save_removed(&self.connection, &self.path, &self.footing)),
            false => Ok(()),
        }
    }

    fn error(&self, trouble: impl Into<Trouble>) -> JournalError {
        trouble.into().at(&self.path)
    }

    /// Read the database as of one moment. A nested call reads the moment of the outer one.
    fn reading<T>(&self, look: impl FnOnce(&Connection) -> Result<T, Trouble>) -> Result<T, JournalError> {
        let moment = || {
            if self.broken {
                return Err(Trouble::Closed);
            }
            if !self.connection.is_autocommit() {
                return look(&self.connection);
            }
            let transaction = self.connection.unchecked_transaction()?;
            look(&transaction)
        };
        moment().map_err(|trouble| trouble.at(&self.path))
    }
}
