//! SQLite: a file on this machine, its write-ahead log, and one writer at a time.

mod files;
mod place;
mod schema;

use std::fs::File;

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ParamsFromIter, ToSql, params_from_iter};

pub(crate) use files::{FILE, Footing, with_companions};
pub(crate) use schema::{BUSY, FORMAT, connect, in_memory, inspect, open_reader, open_writer, peek};

use super::Value;
use crate::journal::error::Trouble;

/// Rows changed by one transaction after which the log is moved over at once: the next process would
/// have to read all of it.
const BULK: u64 = 10_000;

/// An open database, as a file or in memory.
#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    path: Utf8PathBuf,
    /// What `path` named when it was opened.
    footing: Footing,
    /// Held by a connection that may write, so that no recovery moves the file away meanwhile.
    _presence: Option<File>,
}

impl Sqlite {
    fn new(connection: Connection, path: &Utf8Path, presence: Option<File>) -> Sqlite {
        Sqlite { footing: Footing::read(path), connection, path: path.to_owned(), _presence: presence }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        &self.path
    }

    pub(crate) fn footing(&self) -> &Footing {
        &self.footing
    }

    /// Close it, and move what is in the log into the database, if no other process has it open.
    pub(crate) fn close(self, tidily: bool) -> Result<(), Trouble> {
        if tidily {
            self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        }
        Ok(self.connection.close().map_err(|(_, error)| error)?)
    }

    pub(super) fn is_in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    // The statements of a transaction are prepared once, which saves time at each commit.

    pub(super) fn begin(&self, how: &str) -> Result<(), Trouble> {
        self.connection.prepare_cached(how)?.execute(())?;
        Ok(())
    }

    pub(super) fn commit(&self) -> Result<(), Trouble> {
        self.connection.prepare_cached("COMMIT")?.execute(())?;
        Ok(())
    }

    pub(super) fn roll_back(&self) {
        if self.is_in_transaction() {
            // If the rollback fails, nothing was committed, and closing the connection commits nothing.
            let _ = self.connection.prepare_cached("ROLLBACK").and_then(|mut end| end.execute(()));
        }
    }

    pub(super) fn version(&self) -> Result<i64, Trouble> {
        Ok(self.connection.prepare_cached("PRAGMA data_version")?.query_row((), |row| row.get(0))?)
    }

    pub(super) fn clear_up(&mut self, changed: u64) {
        if changed > BULK {
            schema::move_log(&mut self.connection);
        }
    }

    /// SQLite's own check: an empty list if all is well.
    pub(crate) fn check(&self, pragma: &str) -> Result<Vec<String>, Trouble> {
        let mut select = self.connection.prepare(&format!("PRAGMA {pragma}"))?;
        let lines = select.query_map((), |row| row.get::<_, String>(0))?;
        let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
        Ok(lines.into_iter().filter(|line| line != "ok").collect())
    }
}

pub(super) fn bound<'a, 'v>(values: &'a [Value<'v>]) -> ParamsFromIter<&'a [Value<'v>]> {
    params_from_iter(values)
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// The tables have no real numbers.
#[inline]
pub(super) fn value(value: ValueRef<'_>) -> Value<'_> {
    match value {
        ValueRef::Null | ValueRef::Real(_) => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Text),
        ValueRef::Blob(bytes) => Value::Bytes(bytes),
    }
}
