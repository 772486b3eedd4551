//! Where the rows of a journal are. Queries are written once, as SQL with parameters `?1`, `?2`, …; this module runs them.

mod sqlite;
mod value;

use piton_core::plan::RunId;

pub(crate) use sqlite::{BUSY, connect, in_memory, inspect, open_reader, open_writer, peek};
pub(crate) use sqlite::{FILE, Sqlite, with_companions};
pub(crate) use value::{Bind, FromValue, Value, values};

use super::error::Trouble;

/// An open database.
#[derive(Debug)]
pub(crate) enum Store {
    Sqlite(Sqlite),
}

impl Store {
    /// The database in words, for errors.
    pub(crate) fn place(&self) -> &str {
        match self {
            Store::Sqlite(db) => db.path().as_str(),
        }
    }

    /// A statement to run once or often. It is compiled once in the life of the connection.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement<'_>, Trouble> {
        match self {
            Store::Sqlite(db) => Ok(Statement::Sqlite(db.connection().prepare_cached(sql)?)),
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
    pub(crate) fn begin_writing(&self, _run: &RunId) -> Result<Transaction<'_>, Trouble> {
        match self {
            Store::Sqlite(db) => db.begin("BEGIN IMMEDIATE")?,
        }
        Ok(Transaction { store: self })
    }

    /// Begin to read everything as of one moment; `None` if that has begun already.
    pub(crate) fn begin_reading(&self) -> Result<Option<Transaction<'_>>, Trouble> {
        match self {
            Store::Sqlite(db) if db.is_in_transaction() => return Ok(None),
            Store::Sqlite(db) => db.begin("BEGIN")?,
        }
        Ok(Some(Transaction { store: self }))
    }

    /// How many rows this connection has changed so far.
    pub(crate) fn changes(&self) -> u64 {
        match self {
            Store::Sqlite(db) => db.connection().total_changes(),
        }
    }

    /// Changes when another connection commits, and only then.
    pub(crate) fn version(&self) -> Result<i64, Trouble> {
        match self {
            Store::Sqlite(db) => db.version(),
        }
    }

    /// After a transaction that changed this many rows.
    pub(crate) fn clear_up(&mut self, changed: u64) {
        match self {
            Store::Sqlite(db) => db.clear_up(changed),
        }
    }

    /// What is wrong with the database itself, in words.
    pub(crate) fn damage(&self) -> Result<Vec<String>, Trouble> {
        match self {
            Store::Sqlite(db) => db.check("quick_check"),
        }
    }
}

/// A transaction. If it is dropped, it leaves nothing.
pub(crate) struct Transaction<'s> {
    store: &'s Store,
}

impl Transaction<'_> {
    pub(crate) fn commit(self) -> Result<(), Trouble> {
        match self.store {
            Store::Sqlite(db) => db.commit(),
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        match self.store {
            Store::Sqlite(db) => db.roll_back(),
        }
    }
}

/// A statement that was compiled.
pub(crate) enum Statement<'s> {
    Sqlite(rusqlite::CachedStatement<'s>),
}

impl Statement<'_> {
    /// Run it. Returns the number of rows that it changed.
    pub(crate) fn execute(&mut self, values: &[Value<'_>]) -> Result<usize, Trouble> {
        match self {
            Statement::Sqlite(statement) => Ok(statement.execute(sqlite::bound(values))?),
        }
    }

    pub(crate) fn query(&mut self, values: &[Value<'_>]) -> Result<Rows<'_>, Trouble> {
        match self {
            Statement::Sqlite(statement) => Ok(Rows::Sqlite(statement.query(sqlite::bound(values))?)),
        }
    }

    /// The first row, if there is one.
    pub(crate) fn first<T>(
        &mut self,
        values: &[Value<'_>],
        read: impl FnOnce(Row<'_>) -> Result<T, Trouble>,
    ) -> Result<Option<T>, Trouble> {
        self.query(values)?.next()?.map(|row| read(row)).transpose()
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
}

impl Rows<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>, Trouble> {
        match self {
            Rows::Sqlite(rows) => Ok(rows.next()?.map(Row::Sqlite)),
        }
    }
}

/// One row; its columns are numbered from zero.
#[derive(Clone, Copy)]
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
}

impl<'r> Row<'r> {
    pub(crate) fn value(&self, column: usize) -> Result<Value<'r>, Trouble> {
        match self {
            Row::Sqlite(row) => Ok(sqlite::value(row.get_ref(column)?)),
        }
    }

    pub(crate) fn get<T: FromValue<'r>>(&self, column: usize) -> Result<T, Trouble> {
        let value = T::from_value(self.value(column)?);
        value.ok_or_else(|| Trouble::snapshot(format!("column {column} of a row cannot be read")))
    }

    /// Empty if it is not a text.
    pub(crate) fn text(&self, column: usize) -> Result<&'r str, Trouble> {
        match self.value(column)? {
            Value::Text(text) => Ok(text),
            _ => Ok(""),
        }
    }
}
