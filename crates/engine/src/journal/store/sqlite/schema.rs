//! Opening a database: validating it, setting it up, and migrating its tables.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::{FILE, Sqlite, place};
use crate::disk;
use crate::journal::error::{JournalError, Trouble};
use crate::journal::recover;

/// `Pitn`, as other programs' databases have a number of their own.
const APPLICATION: i64 = 0x5069_746e;

/// Longer than any transaction of ours, a plan of 100,000 tasks included, with others queueing too.
pub(crate) const BUSY: Duration = Duration::from_secs(60);

/// Older ones may lose a commit when a checkpoint races with a restart of the write-ahead log.
const NEED: (i32, &str) = (3_051_003, "3.51.3");

/// Pages in the write-ahead log before they are moved into the database. Each is moved once, however often it was changed,
/// so a long log spares an engine work.
const CHECKPOINT_PAGES: i64 = 4096;

/// The same if no other process has the journal open, as for one-shot commands: the next process has to read the whole
/// log.
const ALONE_PAGES: i64 = 256;

/// A change touches some six pages with a few bytes each, and a commit has to bring all of them to the disk.
const PAGE_BYTES: i64 = 2048;

/// Writes to a log that is this long already change its bytes and nothing else, so a sync has less to bring to the
/// disk. It is longer than the log of one-shot commands gets; an engine at work makes it longer once.
const LOG_BYTES: u64 = 1024 * (PAGE_BYTES as u64 + 24);

/// Each brings the format one number up. A number that was released is never edited.
const MIGRATIONS: [&str; 5] = [
    include_str!("format-1.sql"),
    include_str!("format-2.sql"),
    include_str!("format-3.sql"),
    include_str!("format-4.sql"),
    include_str!("format-5.sql"),
];

pub(crate) const FORMAT: i64 = MIGRATIONS.len() as i64;

/// A connection that may write, and the lock that keeps a recovery away while it lives.
pub(crate) fn open_writer(folder: &Utf8Path) -> Result<Sqlite, JournalError> {
    let path = folder.join(FILE);
    let opened = || {
        refuse_old_sqlite()?;
        disk::private_folder(folder)?;
        place::refuse_network(folder)?;
        let (presence, alone) = recover::enter(folder)?;
        let connection = connection(&path)?;
        if alone {
            begin_log_anew(&connection);
        }
        Ok(Sqlite::new(connection, &path, Some(presence)))
    };
    opened().map_err(|trouble: Trouble| trouble.at(path.as_str()))
}

/// Open or create the database, checked and brought up to date.
pub(crate) fn connect(path: &Utf8Path) -> Result<Sqlite, Trouble> {
    Ok(Sqlite::new(connection(path)?, path, None))
}

fn connection(path: &Utf8Path) -> Result<Connection, Trouble> {
    let fresh = peek(path)?.is_none();
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    // From here on: closing must change nothing of a database that turns out not to be ours, and a
    // one-shot command need not pay for tidying up either. The log is moved over when it is long.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    set_up(&mut connection)?;
    let found = format(&connection)?;
    connection.execute_batch(&format!(
        "PRAGMA page_size = {PAGE_BYTES};
         PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};
         PRAGMA journal_size_limit = 16777216;"
    ))?;
    if found < FORMAT {
        use_log(&connection)?;
        migrate(&connection)?;
        lengthen_log(&connection);
    }
    if fresh && let Some(folder) = path.parent() {
        disk::sync_folder(folder)?;
    }
    Ok(connection)
}

/// A connection that cannot write, or `None` if there is no database.
pub(crate) fn open_reader(folder: &Utf8Path) -> Result<Option<Sqlite>, JournalError> {
    let path = folder.join(FILE);
    let opened = || {
        refuse_old_sqlite()?;
        if peek(&path)?.is_none() {
            return match recover::is_unfinished(folder) {
                true => Err(Trouble::Damaged { detail: "its recovery was interrupted".to_owned() }),
                false => Ok(None),
            };
        }
        place::refuse_network(folder)?;
        let connection = read_only(&path)?;
        match format(&connection)? {
            0 => Ok(None),
            found if found < FORMAT => Err(Trouble::Older { found, known: FORMAT }),
            _ => Ok(Some(Sqlite::new(connection, &path, None))),
        }
    };
    opened().map_err(|trouble| trouble.at(path.as_str()))
}

/// Open a database that may be damaged, to read what can be read of it.
pub(crate) fn inspect(path: &Utf8Path) -> Result<Sqlite, Trouble> {
    peek(path)?;
    let connection = read_only(path)?;
    format(&connection)?;
    Ok(Sqlite::new(connection, path, None))
}

/// Open without ever writing. In a folder that cannot be written SQLite cannot make the index of its
/// log; without a log there is none to be made, and the file is read as it is.
fn read_only(path: &Utf8Path) -> Result<Connection, Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let attempt = || -> Result<Connection, rusqlite::Error> {
        let mut connection = Connection::open_with_flags(path, flags)?;
        set_up(&mut connection)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))?;
        Ok(connection)
    };
    let error = match attempt() {
        Ok(connection) => return Ok(connection),
        Err(error) => error,
    };
    let log = Utf8PathBuf::from(format!("{path}-wal"));
    let has_log = log.metadata().is_ok_and(|facts| facts.len() > 0);
    match Trouble::from(error) {
        Trouble::Io { .. } | Trouble::NotOpened { .. } | Trouble::ReadOnly if !has_log => {
            let uri = format!("file:{}?immutable=1", uri_escaped(path.as_str()));
            let mut connection = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?;
            set_up(&mut connection)?;
            Ok(connection)
        }
        trouble => Err(trouble),
    }
}

/// An empty database in memory, with the tables of this version. Errors name `place`.
pub(crate) fn in_memory(place: &Utf8Path) -> Result<Sqlite, Trouble> {
    let mut connection = Connection::open_in_memory()?;
    set_up(&mut connection)?;
    migrate(&connection)?;
    Ok(Sqlite::new(connection, place, None))
}

fn uri_escaped(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

fn set_up(connection: &mut Connection) -> Result<(), rusqlite::Error> {
    connection.busy_handler(Some(patience()))?;
    connection.set_prepared_statement_cache_capacity(64);
    // Otherwise SQLite compiles a statement again whenever a bound value changes, in case there is a better plan for
    // it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // The cache grows only as it is used; a plan of 100,000 tasks is then written once, not in pieces.
    connection.execute_batch(
        "PRAGMA cache_size = -65536; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;",
    )
}

/// How to wait for another writer. SQLite's own way sleeps the longer the longer one has waited, so
/// late callers are served first and some starve; this one gives all the same chance.
fn patience() -> impl FnMut(i32) -> bool + Send + 'static {
    /// Microseconds: about as long as a commit takes.
    const PAUSE: u64 = 1000;
    let mut since = Instant::now();
    move |attempt| {
        if attempt == 0 {
            since = Instant::now();
        }
        // Up to twice as long, by the clock: those who wait should not wake together.
        let spread = u64::from(since.elapsed().subsec_nanos()) % PAUSE;
        std::thread::sleep(Duration::from_micros(PAUSE + spread));
        since.elapsed() < BUSY
    }
}

/// Empty the log, unless a process is reading from it. Nothing depends on it.
pub(super) fn move_log(connection: &mut Connection) {
    if connection.busy_handler(Some(|_: i32| false)).is_ok() {
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
    }
    let _ = connection.busy_handler(Some(patience()));
    lengthen_log(connection);
}

/// Checkpoint the log before the first change of a process that is alone. It cannot know how much of the log was
/// checkpointed already. If it did so only after its change, each next process would have to repeat it, in a log that
/// grows for ever. Nothing depends on it.
fn begin_log_anew(connection: &Connection) {
    let pages = connection.query_row("PRAGMA wal_checkpoint(NOOP)", (), |row| row.get::<_, i64>(1));
    if pages.is_ok_and(|pages| pages > ALONE_PAGES) {
        let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
    }
}

/// Nothing depends on it: a log that is too short grows by itself. Zeros are not frames of a log.
fn lengthen_log(connection: &Connection) {
    let log = connection.path().map(|path| format!("{path}-wal")).unwrap_or_default();
    // No other process may write to it meanwhile.
    let Ok(_alone) = Transaction::new_unchecked(connection, TransactionBehavior::Immediate) else { return };
    let Ok(mut log) = OpenOptions::new().append(true).open(log) else { return };
    let missing = log.metadata().map_or(0, |facts| LOG_BYTES.saturating_sub(facts.len()));
    let zeros = vec![0; usize::try_from(missing).unwrap_or_default()];
    let _ = log.write_all(&zeros).and_then(|()| log.sync_all());
}

/// Look at the head of the file without SQLite: `None` if there is nothing yet. A file that a newer version or another
/// program wrote is not even opened.
pub(crate) fn peek(path: &Utf8Path) -> Result<Option<()>, Trouble> {
    let mut head = Vec::with_capacity(100);
    match File::open(path) {
        Ok(file) => file.take(100).read_to_end(&mut head)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if head.is_empty() {
        return Ok(None);
    }
    if head.len() < 100 || !head.starts_with(b"SQLite format 3\0") {
        return Err(Trouble::Damaged { detail: "it does not begin as a database does".to_owned() });
    }
    let number =
        |at: usize| i64::from(u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    match (number(68), number(60)) {
        (APPLICATION, found) if found > FORMAT => Err(Trouble::Newer { found, known: FORMAT }),
        // All zero: made a moment ago, and not yet filled.
        (APPLICATION, _) | (0, _) => Ok(Some(())),
        _ => Err(Trouble::Foreign),
    }
}

/// The format as SQLite sees it, its log included; 0 for a database still empty.
fn format(connection: &Connection) -> Result<i64, Trouble> {
    // All of it at one moment: another process may be making the tables.
    let _moment = connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
    let pragma = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, i64>(0));
    match (pragma("PRAGMA application_id")?, pragma("PRAGMA user_version")?) {
        (APPLICATION, found) if found > FORMAT => Err(Trouble::Newer { found, known: FORMAT }),
        (APPLICATION, found) => Ok(found),
        (0, 0) if pragma("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(0),
        _ => Err(Trouble::Foreign),
    }
}

/// Switch to the write-ahead log. SQLite does not wait for other processes here, so this waits if two create the
/// database at once.
fn use_log(connection: &Connection) -> Result<(), Trouble> {
    let deadline = Instant::now() + BUSY;
    loop {
        let switched = connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get::<_, String>(0));
        match switched.map_err(Trouble::from) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let detail = format!("a write-ahead log is not possible here (mode {mode})");
                return Err(Trouble::Io { detail });
            }
            Err(Trouble::Busy) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            Err(trouble) => return Err(trouble),
        }
    }
}

fn migrate(connection: &Connection) -> Result<(), Trouble> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let found = format(&transaction)?;
    for (migration, number) in MIGRATIONS.iter().zip(1_i64..).filter(|(_, number)| *number > found) {
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "user_version", number)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    Ok(transaction.commit()?)
}

fn refuse_old_sqlite() -> Result<(), Trouble> {
    if rusqlite::version_number() < NEED.0 {
        return Err(Trouble::SqliteTooOld { found: rusqlite::version().to_owned(), need: NEED.1 });
    }
    Ok(())
}
