//! Who leads a run whose journal is on a server. In a file, the lock of the run says that.
//!
//! A lead is a lease: it is over unless it is renewed, by the server's clock. Its number, the fence, grows with each
//! leader, so that an old one cannot renew what a new one has.

use piton_core::plan::RunId;
use piton_core::time::{Span, Timestamp};

use super::Journal;
use super::error::{JournalError, Trouble};
use super::store::{Row, Store, values};
use crate::clock;

/// So long a leader leads that does not renew its lease.
const LEASE: Span = Span::seconds(30);

/// Where a run is led from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The id of Piton's folder, which has the run's worktrees.
    pub home: String,
    pub host: String,
    pub path: String,
}

/// Who leads a run, or led it last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    pub seat: Seat,
    fence: i64,
    until: Timestamp,
}

impl Leader {
    /// Whether it still leads, as far as is known.
    pub fn is_alive(&self) -> bool {
        clock::now() < self.until
    }

    /// Whether a seat may take the run. A folder that was moved may, and a copy of one that is at work may not.
    fn leaves_it_to(&self, seat: &Seat, now: Timestamp) -> bool {
        self.seat.home == seat.home && (self.seat == *seat || self.until <= now)
    }
}

impl Journal {
    /// Who leads a run, if somebody ever did.
    pub fn leader(&self, run: &RunId) -> Result<Option<Leader>, JournalError> {
        match &self.store {
            Store::Sqlite(_) => Ok(None),
            Store::Postgres(_) => self.reading(|db| leader(db, run)),
        }
    }

    /// Lead a run from this seat, for the time of a lease. The caller holds the run's lock there. The run of another seat
    /// is not taken, since its work is there. Returns the fence, or who has the run.
    pub fn take_lead(&mut self, run: &RunId, seat: &Seat) -> Result<Result<i64, Leader>, JournalError> {
        let outcome = self.writing(run, |db, moment| {
            let (before, now) = (leader(db, run)?, moment.time(clock::now()));
            let fence = match before {
                Some(before) if !before.leaves_it_to(seat, now) => return Ok(Err(before)),
                Some(before) => before.fence + 1,
                None => 1,
            };
            let until = now.plus(LEASE);
            db.execute(
                "INSERT INTO leads (run, home, host, path, fence, until) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                 ON CONFLICT (run) DO UPDATE SET host = ?3, path = ?4, fence = ?5, until = ?6",
                values![run.as_str(), seat.home, seat.host, seat.path, fence, until.0],
            )?;
            Ok(Ok(fence))
        });
        outcome.map_err(|halt| self.halted(halt))
    }

    /// Lead on; `false` if another one leads.
    pub fn renew_lead(&mut self, run: &RunId, fence: i64) -> Result<bool, JournalError> {
        self.set_lead(run, fence, LEASE)
    }

    /// Lead no longer.
    pub fn end_lead(&mut self, run: &RunId, fence: i64) -> Result<bool, JournalError> {
        self.set_lead(run, fence, Span(0))
    }

    fn set_lead(&mut self, run: &RunId, fence: i64, for_now: Span) -> Result<bool, JournalError> {
        let outcome = self.writing(run, |db, moment| {
            if leader(db, run)?.is_none_or(|leader| leader.fence != fence) {
                return Ok(false);
            }
            let until = moment.time(clock::now()).plus(for_now);
            db.execute("UPDATE leads SET until = ?2 WHERE run = ?1", values![run.as_str(), until.0])?;
            Ok(true)
        });
        outcome.map_err(|halt| self.halted(halt))
    }
}

fn leader(db: &Store, run: &RunId) -> Result<Option<Leader>, Trouble> {
    let read = |row: Row<'_>| {
        let seat = Seat { home: row.get(0)?, host: row.get(1)?, path: row.get(2)? };
        Ok(Leader { seat, fence: row.get(3)?, until: Timestamp(row.get(4)?) })
    };
    db.first("SELECT home, host, path, fence, until FROM leads WHERE run = ?1", values![run.as_str()], read)
}
