//! PostgreSQL: a database that several machines share. The server's locks keep writers apart, and its clock orders them.

mod passwords;
mod schema;
mod server;
mod session;
mod settings;
mod surroundings;
mod tls;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::{Duration, Instant};

use piton_core::plan::RunId;
use piton_core::time::Timestamp;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Row;
use uuid::Uuid;

pub use server::{Clock, NotAServer, Server};
pub(crate) use session::value;
pub use surroundings::Surroundings;

use self::session::Session;
use super::{Head, Locked, Value, values};
use crate::journal::error::Trouble;

/// How long a transaction waits for another one, in seconds; as long as with SQLite. A client that vanished in a
/// transaction holds its locks no longer either.
const LOCK_SECONDS: u64 = 60;

/// How long a server may be away that was there before: a restart or a failover takes less.
const AWAY: Duration = Duration::from_secs(60);

/// Locks the row of a run. What stands outside of the brackets is read when the lock is there: the time then orders what is
/// decided.
const LOCK: &str =
    "WITH locked AS MATERIALIZED (SELECT no, seq, layout, moving FROM runs WHERE id = ?1 FOR UPDATE)
    SELECT no, seq, layout, moving, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
    current_setting('synchronous_commit') AS synchronous FROM locked";
const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
    current_setting('synchronous_commit') AS synchronous";

/// Between two tries to reach it.
const PAUSE: Duration = Duration::from_millis(100);

/// An open database.
pub(crate) struct Postgres {
    runtime: Runtime,
    server: Server,
    writable: bool,
    session: RefCell<Session>,
    /// A transaction has begun.
    open: Cell<bool>,
    /// It only reads.
    reads: Cell<bool>,
    changes: Cell<u64>,
    /// How often it was opened again.
    connection: Cell<u64>,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.server.fmt(f)
    }
}

impl Postgres {
    /// Open the database for writing. Its tables are made or upgraded if necessary.
    pub(crate) fn open_writer(server: &Server) -> Result<Postgres, Trouble> {
        let db = Postgres::connect(server, true)?;
        schema::bring_up_to_date(&db)?;
        db.forget_old_commits();
        Ok(db)
    }

    /// Open it for reading, if there is a journal in it. Nothing is ever written.
    pub(crate) fn open_reader(server: &Server) -> Result<Option<Postgres>, Trouble> {
        let db = Postgres::connect(server, false)?;
        Ok(schema::is_there(&db)?.then_some(db))
    }

    fn connect(server: &Server, writable: bool) -> Result<Postgres, Trouble> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let session = schema::enter(&runtime, server, writable)?;
        let (session, server) = (RefCell::new(session), server.clone());
        Ok(Postgres {
            runtime,
            server,
            writable,
            session,
            open: Cell::new(false),
            reads: Cell::new(false),
            changes: Cell::new(0),
            connection: Cell::new(0),
        })
    }

    pub(super) fn place(&self) -> &str {
        self.server.place()
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes.get()
    }

    pub(super) fn connection(&self) -> u64 {
        self.connection.get()
    }

    pub(super) fn is_in_transaction(&self) -> bool {
        self.open.get()
    }

    pub(super) fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Trouble> {
        self.session.borrow().query(&self.runtime, sql, values)
    }

    /// Nobody waits for what this comes to: the next question, or the commit, does.
    pub(super) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<(), Trouble> {
        self.changes.set(self.changes.get() + 1);
        self.session.borrow().send(&self.runtime, sql, values)
    }

    fn ask(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>, Trouble> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    fn run(&self, sql: &str) -> Result<(), Trouble> {
        self.session.borrow().run(&self.runtime, sql)
    }

    /// The sum of all positions: each commit that records something makes it larger.
    pub(super) fn version(&self) -> Result<i64, Trouble> {
        let row = self.ask("SELECT coalesce(sum(seq), 0)::bigint FROM runs", &[])?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
    }

    /// The last position of a run. This is one question, and no transaction.
    pub(super) fn position(&self, run: &RunId) -> Result<Option<u64>, Trouble> {
        let row = self.ask("SELECT seq FROM runs WHERE id = ?1", values![run.as_str()])?;
        let seq: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
        Ok(seq.and_then(|seq| u64::try_from(seq).ok()))
    }

    /// Begin to read as of one moment. It is said with the first question.
    pub(super) fn begin_reading(&self) -> Result<(), Trouble> {
        if self.session.borrow().is_lost() {
            self.open_again()?;
        }
        self.session.borrow().send_text("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        self.open.set(true);
        self.reads.set(true);
        Ok(())
    }

    /// Begin to change a run: nobody else does until the end.
    pub(super) fn begin_writing(&self, run: &RunId) -> Result<Locked, Trouble> {
        self.on_a_connection(|| {
            self.session.borrow().send_text("BEGIN");
            let mut found = self.ask(LOCK, values![run.as_str()])?;
            if found.is_none() {
                // To make a run, a process holds the row of the format. Perhaps this one was made meanwhile.
                self.ask("SELECT 1 FROM format FOR UPDATE", &[])?;
                found = self.ask(LOCK, values![run.as_str()])?;
            }
            let head = found.as_ref().map(|row| Head::read(super::Row::Postgres(row))).transpose()?;
            let Some(facts) = found.map_or_else(|| self.ask(NOW, &[]), |row| Ok(Some(row)))? else {
                return Err(Trouble::inconsistent("the server does not say what time it is"));
            };
            // It may have been changed since the connection was opened.
            schema::demand_durable(facts.try_get("synchronous")?)?;
            let now = self.server.clock_says(Timestamp(facts.try_get("now")?));
            Ok(Locked { now, head })
        })
    }

    /// Begin a transaction, on a new connection if the old one turns out to be broken: nothing has been done yet.
    fn on_a_connection<T>(&self, begin: impl Fn() -> Result<T, Trouble>) -> Result<T, Trouble> {
        if self.session.borrow().is_lost() {
            self.open_again()?;
        }
        let mut outcome = begin();
        if matches!(outcome, Err(Trouble::Interrupted { .. })) {
            self.open_again()?;
            outcome = begin();
        }
        match &outcome {
            Ok(_) => self.open.set(true),
            // A part of it may have begun.
            Err(_) => {
                self.open.set(true);
                self.roll_back();
            }
        }
        outcome
    }

    /// Wait for a server that restarts, or for the one that takes its place.
    fn open_again(&self) -> Result<(), Trouble> {
        let deadline = Instant::now() + AWAY;
        loop {
            match schema::enter(&self.runtime, &self.server, self.writable) {
                Ok(session) => {
                    self.session.replace(session);
                    self.connection.set(self.connection.get() + 1);
                    return Ok(());
                }
                // The old primary may come back as a standby while another server takes its place.
                Err(Trouble::Unreachable { .. } | Trouble::Interrupted { .. } | Trouble::Standby)
                    if Instant::now() < deadline =>
                {
                    std::thread::sleep(PAUSE);
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// The commit leaves with what was written before it. If its answer is lost, its id says whether it was made.
    pub(super) fn commit(&self, run: &RunId) -> Result<(), Trouble> {
        let id = Uuid::now_v7();
        let insert = "INSERT INTO commits (id) VALUES (?1)";
        self.session.borrow().send(&self.runtime, insert, &[Value::Bytes(id.as_bytes())])?;
        match self.run("COMMIT") {
            Ok(()) => {
                self.open.set(false);
                Ok(())
            }
            Err(Trouble::Interrupted { detail }) if self.session.borrow().is_lost() => {
                self.open.set(false);
                match self.was_committed(run, id) {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(Trouble::Interrupted { detail }),
                    Err(_) => Err(Trouble::InDoubt { detail }),
                }
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Whether a commit was made whose answer was lost. Its transaction may still be at work: it has ended when its lock
    /// is free.
    fn was_committed(&self, run: &RunId, id: Uuid) -> Result<bool, Trouble> {
        self.begin_writing(run)?;
        let found = self.ask("SELECT 1 FROM commits WHERE id = ?1", &[Value::Bytes(id.as_bytes())]);
        self.roll_back();
        Ok(found?.is_some())
    }

    /// An answer is looked for within minutes.
    fn forget_old_commits(&self) {
        let old = "DELETE FROM commits WHERE at < clock_timestamp() - interval '1 day'";
        self.session.borrow().send_text(old);
    }

    /// End what is left of a transaction. The server does that by itself where the connection is lost.
    pub(super) fn roll_back(&self) {
        if self.open.replace(false) && !self.session.borrow().is_lost() {
            let session = self.session.borrow();
            match self.reads.replace(false) {
                true => {
                    session.send_text("ROLLBACK");
                    session.flush(&self.runtime);
                }
                // It is waited for: others wait for the lock.
                false => drop(session.run(&self.runtime, "ROLLBACK")),
            }
        }
    }
}

/// SQL as it is written for SQLite, in the words of PostgreSQL.
fn dialect(sql: &str) -> String {
    let mut words: Vec<&str> = sql.split(' ').collect();
    // Its planner knows by itself which index is the best one.
    while let Some(at) = words.windows(2).position(|pair| pair == ["INDEXED", "BY"]) {
        words.drain(at..(at + 3).min(words.len()));
    }
    words.join(" ").replace('?', "$").replace(" CROSS JOIN ", " JOIN ").replace("instr(", "strpos(")
}

#[cfg(test)]
mod tests {
    use super::dialect;

    #[test]
    fn hints_for_sqlite_are_left_out() {
        let sql = "SELECT a FROM t INDEXED BY i CROSS JOIN u USING (r) WHERE t.r = ?1 AND instr(b, ?12) > 0";
        let expected = "SELECT a FROM t JOIN u USING (r) WHERE t.r = $1 AND strpos(b, $12) > 0";
        assert_eq!(dialect(sql), expected);
    }
}
