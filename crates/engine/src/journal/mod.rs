//! The journal: an append-only table of events in SQLite or PostgreSQL, and a cache of their fold beside it.
//!
//! This is the only module with SQL. A command is decided inside the write transaction that records it; the rows that
//! changed are written in the same transaction, so a one-shot command reads and writes what it touches, whatever the
//! size of the plan. The engine keeps a complete state and commits what waits for it as one group. Other processes may
//! append at any time.
//!
//! The events are the truth. Tasks, links, counts and facts are a cache: [`Journal::prove`] compares them with the
//! fold, [`Journal::rebuild`] makes them again.

mod append;
mod clean;
mod confirmed;
mod copy;
mod costs;
mod error;
mod lanes;
mod lead;
mod made;
mod past;
mod prove;
mod query;
mod read;
mod recover;
mod remarks;
mod rows;
mod store;
mod survey;
mod write;

#[cfg(test)]
mod tests;

use camino::Utf8Path;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Closed, Counts, Recorded, Refusal, StopMode, StopReason};
use piton_core::time::{Span, Timestamp};
use serde::Deserialize;

pub use copy::Copied;
pub use error::{CommandError, JournalError, Trouble};
pub use lead::{Leader, Seat};
pub use recover::{Recovery, Salvaged};
pub use store::{Clock, NotAServer, Server, Surroundings};

use confirmed::Confirmed;
use store::{Postgres, Store};

/// An open journal: one connection, to be used by one thread at a time.
#[derive(Debug)]
pub struct Journal {
    store: Store,
    writable: bool,
    /// An error showed that this connection can no longer be trusted.
    broken: bool,
    /// The run, the data version and the position at which nothing new was found.
    seen: Option<(RunId, i64, u64)>,
    /// The run that was committed to last, and its number, which it keeps.
    number: Option<(RunId, i64)>,
    /// The last event that a server has confirmed.
    confirmed: Option<Confirmed>,
    /// Tasks read by the last one-shot command.
    loaded: usize,
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
        Ok(Journal::new(Store::Sqlite(store::open_writer(folder)?), true))
    }

    /// Whether there is one in `folder`, or what was saved of one.
    pub fn exists(folder: &Utf8Path) -> bool {
        folder.join(store::FILE).is_file() || recover::is_unfinished(folder)
    }

    /// Open the journal in `folder` for reading, if there is one. Nothing is ever written.
    pub fn open_existing(folder: &Utf8Path) -> Result<Option<Journal>, JournalError> {
        Ok(store::open_reader(folder)?.map(|db| Journal::new(Store::Sqlite(db), false)))
    }

    /// Open the journal on a server for writing. It is created or upgraded if necessary.
    pub fn connect(server: &Server) -> Result<Journal, JournalError> {
        let db = Postgres::open_writer(server).map_err(|trouble| trouble.at(server.place()))?;
        Ok(Journal::new(Store::Postgres(Box::new(db)), true))
    }

    /// Open the journal on a server for reading, if there is one. Nothing is ever written.
    pub fn connect_existing(server: &Server) -> Result<Option<Journal>, JournalError> {
        let db = Postgres::open_reader(server).map_err(|trouble| trouble.at(server.place()))?;
        Ok(db.map(|db| Journal::new(Store::Postgres(Box::new(db)), false)))
    }

    fn new(store: Store, writable: bool) -> Journal {
        Journal {
            store,
            writable,
            broken: false,
            seen: None,
            number: None,
            confirmed: None,
            loaded: 0,
            moment: None,
        }
    }

    /// Close tidily: what is in the log goes into the database, if no other process has it open. A journal that is only
    /// dropped is as safe, and leaves this to the next process.
    pub fn close(self) -> Result<(), JournalError> {
        let (place, tidily) = (self.place().to_owned(), self.writable && !self.broken);
        self.store.close(tidily).map_err(|trouble| trouble.at(&place))
    }

    /// The file that holds it, or the database on a server, without its password.
    pub fn place(&self) -> &str {
        self.store.place()
    }

    /// The file that holds it, unless it is on a server.
    pub fn file(&self) -> Option<&Utf8Path> {
        match &self.store {
            Store::Sqlite(db) => Some(db.path()),
            Store::Postgres(_) => None,
        }
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
        match &self.store {
            Store::Sqlite(db) if self.writable && !db.footing().holds() => Err(recover::save_removed(db)),
            Store::Sqlite(_) | Store::Postgres(_) => Ok(()),
        }
    }

    fn error(&self, trouble: impl Into<Trouble>) -> JournalError {
        trouble.into().at(self.place())
    }

    /// Read the database as of one moment. A nested call reads the moment of the outer one. All of it is read again if a
    /// server was lost meanwhile.
    fn reading<T>(&self, look: impl Fn(&Store) -> Result<T, Trouble>) -> Result<T, JournalError> {
        let moment = || {
            if self.broken {
                return Err(Trouble::Closed);
            }
            let _moment = self.store.begin_reading()?;
            look(&self.store)
        };
        let mut outcome = moment();
        if matches!(outcome, Err(Trouble::Interrupted { .. })) && !self.store.is_in_transaction() {
            outcome = moment();
        }
        outcome.map_err(|trouble| self.error(trouble))
    }
}
