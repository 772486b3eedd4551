//! What can go wrong with the journal, in words a person understands.

use std::fs::File;
use std::io;

use piton_core::plan::RunId;
use piton_core::run::Refusal;
use rusqlite::ffi;

/// Where the journal is, and what is the matter with it.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {trouble}")]
pub struct JournalError {
    pub place: String,
    pub trouble: Trouble,
    /// The caller's state may hold events that the journal does not: drop it and load it again.
    pub spoiled: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(
        "written by a newer Piton (format {found}, this one knows {known}): update Piton; nothing was changed"
    )]
    Newer { found: i64, known: i64 },
    #[error(
        "written by an older Piton (format {found}, this one reads {known}): `piton doctor` brings it up to date"
    )]
    Older { found: i64, known: i64 },
    #[error("there is no run {0}")]
    NoRun(RunId),
    #[error("not a database of Piton's: move it away")]
    Foreign,
    #[error("damaged ({detail}): `piton doctor --repair` keeps it aside and saves what can be read")]
    Damaged { detail: String },
    #[error(
        "event {seq} of run {run} is not understood ({reason}): a newer Piton wrote it, or it is damaged"
    )]
    UnknownEvent { run: RunId, seq: u64, reason: String },
    /// The cache beside the events; the events themselves are whole.
    #[error(
        "the snapshot of the run does not match its journal ({detail}): `piton doctor --repair` rebuilds it"
    )]
    Snapshot { detail: String },
    #[error("{detail}: start again; if it stays so, `piton doctor` says more")]
    Inconsistent { detail: String },
    #[error(
        "on a network file system ({kind}), where file locks do not protect the journal: use a local disk"
    )]
    Network { kind: String },
    #[error("no space left on the disk: nothing was changed; make room and start again")]
    Full,
    #[error("cannot be written: the file, its folder or the disk is read-only")]
    ReadOnly,
    #[error(
        "in use by another process for more than {} seconds: that process may be suspended; resume it or end it, then try again",
        super::store::BUSY.as_secs()
    )]
    Busy,
    #[error("other Piton processes have it open: stop them first")]
    Occupied,
    #[error("{detail}")]
    NotOpened { detail: String },
    #[error("{detail}; start again to see whether the last change was saved")]
    Io { detail: String },
    #[error("its files were removed or replaced while it was in use; {then}")]
    Removed { then: String },
    #[error("closed after an error")]
    Closed,
    #[error("SQLite {found} is too old: {need} or newer is needed")]
    SqliteTooOld { found: String, need: &'static str },
    #[error("SQLite: {0}")]
    Sqlite(rusqlite::Error),
    #[error("the server cannot be reached ({detail}): check its address, your name and the password there")]
    Unreachable { detail: String },
    #[error("the server is not trusted: {detail}")]
    NotTrusted { detail: String },
    /// The transaction was undone. It may be tried again.
    #[error("interrupted ({detail}); nothing was changed: try again")]
    Interrupted { detail: String },
    #[error(
        "the connection broke during a commit ({detail}); start again to see whether the last change was saved"
    )]
    InDoubt { detail: String },
    #[error(
        "the server no longer has event {seq}, which it had confirmed: it was replaced by a standby that is not \
         synchronous, or restored from a backup. Start again: what has landed is learnt from git"
    )]
    Rewound { seq: u64 },
    #[error("the server is a standby, which cannot be written to: name the primary")]
    Standby,
    #[error("the server has {setting} = {found}, so that changes may be lost: set it to {need}")]
    Setting { setting: &'static str, found: String, need: &'static str },
    #[error("PostgreSQL {found} is too old: 15 or newer is needed")]
    PostgresTooOld { found: String },
    #[error("PostgreSQL: {detail}")]
    Postgres { detail: String },
}

impl Trouble {
    pub(super) fn at(self, place: &str) -> JournalError {
        let trouble = match self {
            // SQLite reports this like any other write that fails.
            Trouble::Io { detail } if is_read_only(place) => {
                Trouble::Io { detail: format!("the disk has become read-only: {detail}") }
            }
            trouble => trouble,
        };
        JournalError { place: place.to_owned(), trouble, spoiled: false }
    }

    /// Nothing this connection says can be trusted after this.
    pub(super) fn is_fatal(&self) -> bool {
        matches!(
            self,
            Trouble::Io { .. }
                | Trouble::NotOpened { .. }
                | Trouble::Damaged { .. }
                | Trouble::Removed { .. }
                | Trouble::InDoubt { .. }
                | Trouble::Rewound { .. }
        )
    }

    pub(super) fn snapshot(detail: impl Into<String>) -> Trouble {
        Trouble::Snapshot { detail: detail.into() }
    }

    pub(super) fn inconsistent(detail: impl Into<String>) -> Trouble {
        Trouble::Inconsistent { detail: detail.into() }
    }
}

/// Whether the disk refuses all changes. The lock file is opened to find out, since closing the database file would
/// drop SQLite's own locks.
fn is_read_only(path: &str) -> bool {
    let opened = File::options().write(true).open(format!("{path}.lock"));
    opened.is_err_and(|error| error.kind() == io::ErrorKind::ReadOnlyFilesystem)
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        let rusqlite::Error::SqliteFailure(code, message) = &error else {
            return Trouble::Sqlite(error);
        };
        let detail = || message.clone().unwrap_or_else(|| error.to_string());
        match code.extended_code & 0xff {
            ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => Trouble::Damaged { detail: detail() },
            ffi::SQLITE_FULL => Trouble::Full,
            // The index of the log is the first thing that has to grow.
            ffi::SQLITE_IOERR if code.extended_code == ffi::SQLITE_IOERR_SHMSIZE => Trouble::Full,
            ffi::SQLITE_READONLY | ffi::SQLITE_PERM => Trouble::ReadOnly,
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Trouble::Busy,
            ffi::SQLITE_CANTOPEN => Trouble::NotOpened { detail: detail() },
            ffi::SQLITE_IOERR => {
                Trouble::Io { detail: format!("{} (code {})", detail(), code.extended_code) }
            }
            _ => Trouble::Sqlite(error),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Trouble::Full,
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Trouble::ReadOnly,
            _ => Trouble::NotOpened { detail: error.to_string() },
        }
    }
}

/// Why a one-shot command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Inside a transaction: refused by the rules, or by the world.
pub(super) enum Halt {
    Refused(Refusal),
    Trouble(Trouble),
}

impl<E: Into<Trouble>> From<E> for Halt {
    fn from(error: E) -> Halt {
        Halt::Trouble(error.into())
    }
}
