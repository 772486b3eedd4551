//! Whether a server still has what it had confirmed. One that was replaced by a standby that had not everything yet, or
//! restored from a backup, does not. What is known of its runs is then no ground for a decision.

use piton_core::plan::RunId;
use piton_core::run::Recorded;

use super::error::Trouble;
use super::query;
use super::rows::{json, key};
use super::store::{Store, values};

/// The last event of a run that a connection was sure of. Whoever has it has all before it.
#[derive(Debug)]
pub(super) struct Confirmed {
    run: RunId,
    seq: u64,
    body: String,
    /// Which connection that was: as long as it lasts, so does the server.
    connection: u64,
}

impl Confirmed {
    /// None for a file: that one does not change behind an open connection.
    pub(super) fn by(db: &Store, run: &RunId, last: &Recorded) -> Result<Option<Confirmed>, Trouble> {
        let Some(connection) = db.connection() else { return Ok(None) };
        Ok(Some(Confirmed { run: run.clone(), seq: last.seq, body: json(&last.event)?, connection }))
    }

    /// Whether this connection is the one that was sure of it.
    pub(super) fn is_by(&self, db: &Store, run: &RunId) -> bool {
        self.run == *run && db.connection() == Some(self.connection)
    }

    /// It was looked for, and is there.
    pub(super) fn renew(&mut self, db: &Store) {
        self.connection = db.connection().unwrap_or_default();
    }

    /// Fail if it is gone.
    pub(super) fn check(&self, db: &Store) -> Result<(), Trouble> {
        if db.connection() == Some(self.connection) {
            return Ok(());
        }
        let body = match query::head(db, &self.run)? {
            Some(head) => {
                db.first("SELECT body FROM events WHERE no = ?1", values![key(head.no, self.seq)], |row| {
                    row.get::<String>(0)
                })?
            }
            None => None,
        };
        if body.as_ref() == Some(&self.body) { Ok(()) } else { Err(Trouble::Rewound { seq: self.seq }) }
    }
}
