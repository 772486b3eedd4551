//! OS locks on files: they die with the process that holds them, so a stale one cannot exist.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;

use camino::{Utf8Path, Utf8PathBuf};

/// An exclusive lock, held until dropped, or until the last process that inherited it is gone.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: Utf8PathBuf,
}

impl Lock {
    /// Take the lock, or `None` if another process holds it.
    pub fn try_take(path: &Utf8Path) -> io::Result<Option<Lock>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { file, path: path.to_owned() })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Take the lock, waiting for its holder.
    pub fn take(path: &Utf8Path) -> io::Result<Lock> {
        let file = open(path)?;
        file.lock()?;
        Ok(Lock { file, path: path.to_owned() })
    }

    /// Whether a process holds the lock at `path`. Creates nothing. The check itself holds the lock for an instant, so
    /// another process may see it held.
    pub fn is_held(path: &Utf8Path) -> bool {
        File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// The same lock under a second handle. A child that inherits it (as its standard output, say) keeps the lock alive
    /// when this process dies, so no other process takes the lock before that child ends.
    pub fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

fn open(path: &Utf8Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}
