//! Where the rows of a journal are. Queries are written once, as SQL with parameters `?1`, `?2`, …; this module runs them
//! on either database. What is promised of a transaction is the same; how it is kept is the business of `sqlite` and of
//! `postgres`.

mod postgres;
mod sqlite;
mod value;

use piton_core::plan::RunId;
use piton_core::time::Timestamp;

pub(crate) use postgres::Postgres;
pub use postgres::{Clock, NotAServer, Server, Surroundings};
pub(crate) use sqlite::{BUSY, connect, in_memory, inspect, open_reader, open_writer, peek};
pub(crate) use sqlite::{FILE, FORMAT, Sqlite, with_companions};
pub(crate) use value::{Bind, FromValue, Value, values};

use super::error::Trouble;

/// An open database.
#[derive(Debug)]
pub(crate) enum Store {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

impl Store {
    /// The database in words, for errors.
    pub(crate) fn place(&self) -> &str {
        match self {
            Store::Sqlite(db) => db.path().as_str(),
            Store::Postgres(db) => db.place(),
        }
    }

    /// A statement to run once or often.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement<'_>, Trouble> {
        match self {
            Store::Sqlite(db) => Ok(Statement::Sqlite(db.connection().prepare_cached(sql)?)),
            Store::Postgres(db) => Ok(Statement::Postgres(db, sql.to_owned())),
        }
    }

    /// The first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnOnce(Row<'_>) -> Result<T, Trouble>,
    ) -> Result<Option<T>, Trouble> {
        self.prepare(sql)?.first(values, read)
    }

    pub(crate) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<(), Trouble> {
        self.prepare(sql)?.execute(values).map(drop)
    }

    /// Begin to change rows of a run. Nobody else changes them until the end: nothing that is read meanwhile can be
    /// overtaken.
    pub(crate) fn begin_writing<'s>(&'s self, run: &'s RunId) -> Result<Transaction<'s>, Trouble> {
        let locked = match self {
            Store::Sqlite(db) => {
                db.begin("BEGIN IMMEDIATE")?;
                None
            }
            Store::Postgres(db) => Some(db.begin_writing(run)?),
        };
        Ok(Transaction { store: self, run: Some(run), locked })
    }

    /// Begin to read everything as of one moment; `None` if that has begun already.
    pub(crate) fn begin_reading(&self) -> Result<Option<Transaction<'_>>, Trouble> {
        if self.is_in_transaction() {
            return Ok(None);
        }
        match self {
            Store::Sqlite(db) => db.begin("BEGIN")?,
            Store::Postgres(db) => db.begin_reading()?,
        }
        Ok(Some(Transaction { store: self, run: None, locked: None }))
    }

    pub(crate) fn is_in_transaction(&self) -> bool {
        match self {
            Store::Sqlite(db) => db.is_in_transaction(),
            Store::Postgres(db) => db.is_in_transaction(),
        }
    }

    /// How many rows this connection has changed so far; or statements that may have changed some.
    pub(crate) fn changes(&self) -> u64 {
        match self {
            Store::Sqlite(db) => db.connection().total_changes(),
            Store::Postgres(db) => db.changes(),
        }
    }

    /// Changes when another connection commits.
    pub(crate) fn version(&self) -> Result<i64, Trouble> {
        match self {
            Store::Sqlite(db) => db.version(),
            Store::Postgres(db) => db.version(),
        }
    }

    /// Whether a run on a server ends at this position. Not if that cannot be told with one question.
    pub(crate) fn ends_at(&self, run: &RunId, seq: u64) -> bool {
        match self {
            Store::Sqlite(_) => false,
            Store::Postgres(db) => db.position(run).is_ok_and(|found| found == Some(seq)),
        }
    }

    /// Which connection to a server this is.
    pub(crate) fn connection(&self) -> Option<u64> {
        match self {
            Store::Sqlite(_) => None,
            Store::Postgres(db) => Some(db.connection()),
        }
    }

    /// Whether the database is in this process: it knows at once what a statement has changed.
    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self, Store::Sqlite(_))
    }

    /// After a transaction that changed this many rows.
    pub(crate) fn clear_up(&mut self, changed: u64) {
        match self {
            Store::Sqlite(db) => db.clear_up(changed),
            // Its server does that by itself.
            Store::Postgres(_) => {}
        }
    }

    /// Close it. A file is left as the next process likes to find it, if it is closed tidily.
    pub(crate) fn close(self, tidily: bool) -> Result<(), Trouble> {
        match self {
            Store::Sqlite(db) => db.close(tidily),
            Store::Postgres(_) => Ok(()),
        }
    }

    /// What is wrong with the database itself, in words.
    pub(crate) fn damage(&self) -> Result<Vec<String>, Trouble> {
        match self {
            Store::Sqlite(db) => db.check("quick_check"),
            // Its server looks after its pages.
            Store::Postgres(_) => Ok(Vec::new()),
        }
    }
}

/// A transaction. If it is dropped, it leaves nothing.
pub(crate) struct Transaction<'s> {
    store: &'s Store,
    /// The run that it changes.
    run: Option<&'s RunId>,
    locked: Option<Locked>,
}

/// What a server said when it had locked a run.
pub(crate) struct Locked {
    pub now: Option<Timestamp>,
    pub head: Option<Head>,
}

/// The row of a run: its number and last position.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub no: i64,
    pub seq: u64,
    pub layout: i64,
    pub moving: String,
}

impl Head {
    /// From the columns `no`, `seq`, `layout` and `moving`.
    pub(crate) fn read(row: Row<'_>) -> Result<Head, Trouble> {
        let seq = u64::try_from(row.get::<i64>(1)?).unwrap_or_default();
        Ok(Head { no: row.get(0)?, seq, layout: row.get(2)?, moving: row.get(3)? })
    }
}

impl Transaction<'_> {
    /// The time of what is decided in it: the caller's, unless the database has a clock for all machines.
    pub(crate) fn time(&self, of_caller: Timestamp) -> Timestamp {
        self.locked.as_ref().and_then(|locked| locked.now).unwrap_or(of_caller)
    }

    /// The row of its run, where that was read with the lock: nobody else changes it.
    pub(crate) fn head(&self) -> Option<Option<&Head>> {
        self.locked.as_ref().map(|locked| locked.head.as_ref())
    }

    pub(crate) fn commit(self) -> Result<(), Trouble> {
        match (self.store, self.run) {
            (Store::Sqlite(db), _) => db.commit(),
            (Store::Postgres(db), Some(run)) => db.commit(run),
            // It has only read.
            (Store::Postgres(_), None) => Ok(()),
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        match self.store {
            Store::Sqlite(db) => db.roll_back(),
            Store::Postgres(db) => db.roll_back(),
        }
    }
}

/// A statement. It is compiled once in the life of a connection.
pub(crate) enum Statement<'s> {
    Sqlite(rusqlite::CachedStatement<'s>),
    /// By its text: the server compiles it when it is used again.
    Postgres(&'s Postgres, String),
}

impl Statement<'_> {
    /// Run it. Returns how many rows it changed, if that is known already: on a server nobody waits for it, and an error
    /// comes with a later statement of the transaction, or with its commit.
    pub(crate) fn execute(&mut self, values: &[Value<'_>]) -> Result<Option<usize>, Trouble> {
        match self {
            Statement::Sqlite(statement) => Ok(Some(statement.execute(sqlite::bound(values))?)),
            Statement::Postgres(db, sql) => db.execute(sql, values).map(|()| None),
        }
    }

    pub(crate) fn query(&mut self, values: &[Value<'_>]) -> Result<Rows<'_>, Trouble> {
        match self {
            Statement::Sqlite(statement) => Ok(Rows::Sqlite(statement.query(sqlite::bound(values))?)),
            Statement::Postgres(db, sql) => {
                let rows = db.query(sql, values)?;
                Ok(Rows::Postgres { rows, next: 0 })
            }
        }
    }

    /// The first row, if there is one.
    pub(crate) fn first<T>(
        &mut self,
        values: &[Value<'_>],
        read: impl FnOnce(Row<'_>) -> Result<T, Trouble>,
    ) -> Result<Option<T>, Trouble> {
        self.query(values)?.next()?.map(read).transpose()
    }

    pub(crate) fn all<T>(
        &mut self,
        values: &[Value<'_>],
        mut read: impl FnMut(Row<'_>) -> Result<T, Trouble>,
    ) -> Result<Vec<T>, Trouble> {
        let mut rows = self.query(values)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(read(row)?);
        }
        Ok(all)
    }
}

/// What a query found.
pub(crate) enum Rows<'s> {
    Sqlite(rusqlite::Rows<'s>),
    Postgres { rows: Vec<tokio_postgres::Row>, next: usize },
}

impl Rows<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>, Trouble> {
        match self {
            Rows::Sqlite(rows) => Ok(rows.next()?.map(Row::Sqlite)),
            Rows::Postgres { rows, next } => {
                *next += 1;
                Ok(rows.get(*next - 1).map(Row::Postgres))
            }
        }
    }
}

/// One row; its columns are numbered from zero.
#[derive(Clone, Copy)]
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

impl<'r> Row<'r> {
    #[inline]
    pub(crate) fn value(&self, column: usize) -> Result<Value<'r>, Trouble> {
        match self {
            Row::Sqlite(row) => Ok(sqlite::value(row.get_ref(column)?)),
            Row::Postgres(row) => postgres::value(row, column),
        }
    }

    #[inline]
    pub(crate) fn get<T: FromValue<'r>>(&self, column: usize) -> Result<T, Trouble> {
        T::from_value(self.value(column)?).ok_or_else(|| unreadable(column))
    }

    /// Empty if it is not a text.
    #[inline]
    pub(crate) fn text(&self, column: usize) -> Result<&'r str, Trouble> {
        match self.value(column)? {
            Value::Text(text) => Ok(text),
            _ => Ok(""),
        }
    }
}

#[cold]
fn unreadable(column: usize) -> Trouble {
    Trouble::snapshot(format!("column {column} of a row cannot be read"))
}
