//! The files of a database.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

pub(crate) const FILE: &str = "piton.db";

/// A database and what SQLite puts beside it.
pub(crate) fn with_companions(path: &Utf8Path) -> [Utf8PathBuf; 3] {
    [path.to_owned(), Utf8PathBuf::from(format!("{path}-wal")), Utf8PathBuf::from(format!("{path}-shm"))]
}

/// The files of an open database. SQLite keeps writing to files that were removed, and no other process sees what it
/// writes there.
#[derive(Debug)]
pub(crate) struct Footing(Vec<(Utf8PathBuf, FileId)>);

impl Footing {
    /// The files as they are now.
    pub(super) fn read(path: &Utf8Path) -> Footing {
        Footing(
            with_companions(path).into_iter().filter_map(|path| Some((path.clone(), id(&path)?))).collect(),
        )
    }

    pub(crate) fn holds(&self) -> bool {
        self.0.iter().all(|(path, known)| id(path).as_ref() == Some(known))
    }

    /// Whether this one is where it was.
    pub(crate) fn knows(&self, path: &Utf8Path) -> bool {
        self.0.iter().any(|(known, was)| known == path && id(path).as_ref() == Some(was))
    }
}

/// Device and number.
type FileId = (u64, u64);

#[cfg(unix)]
fn id(path: &Utf8Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}

/// Windows does not remove what is open.
#[cfg(not(unix))]
fn id(_: &Utf8Path) -> Option<FileId> {
    None
}
