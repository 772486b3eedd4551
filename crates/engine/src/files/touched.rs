//! The lock of the shell recipes: a file that is there while somebody writes, made with `touch`, removed with `rm`.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{clock, disk};

/// Whoever holds it for longer than this is gone: a script writes a file in milliseconds.
pub(super) const STALE: Duration = Duration::from_secs(30);
/// How the text of our own begins; a script leaves it empty.
const OURS: &str = "piton ";
const PAUSE: Duration = Duration::from_millis(20);

/// Held until dropped.
#[derive(Debug)]
pub(super) struct Touched {
    path: Utf8PathBuf,
    mark: String,
}

impl Touched {
    /// Take it, waiting for a holder that may still be at work. Of those who ask here, one at a time does.
    pub(super) fn take(path: &Utf8Path) -> io::Result<Touched> {
        loop {
            if let Some(taken) = Touched::try_take(path)? {
                return Ok(taken);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Take it, unless somebody holds it who may still be at work.
    pub(super) fn try_take(path: &Utf8Path) -> io::Result<Option<Touched>> {
        let mark = format!("{OURS}{} {}\n", std::process::id(), uuid::Uuid::now_v7().simple());
        // Whole at once: an empty one that we left behind would be taken for a script's.
        match disk::create_new(path, mark.as_bytes()) {
            Ok(()) => return Ok(Some(Touched { path: path.to_owned(), mark })),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
        let Ok(made) = fs::metadata(path).and_then(|data| data.modified()) else { return Ok(None) };
        // A clock that went back makes it young for ever; one from the future is nobody's.
        let age = clock::system_time(clock::now()).duration_since(made);
        let stale = age.map_or_else(|ahead| ahead.duration() > STALE, |age| age > STALE);
        // Whoever asks holds a lock that dies with its process; one of ours that is here has been left.
        let left = fs::read_to_string(path).is_ok_and(|text| text.starts_with(OURS));
        if stale || left {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(None)
    }
}

impl Drop for Touched {
    fn drop(&mut self) {
        // If somebody thought it stale, the one that is there now is theirs.
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.mark) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn it_is_honoured_while_young_and_taken_when_stale() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Utf8PathBuf::from_path_buf(folder.path().join("x.lock")).expect("UTF-8");
        drop(Touched::take(&path).expect("free"));
        assert!(!path.exists());
        // One of us died.
        fs::write(&path, "piton 1 0\n").expect("our own file");
        drop(Touched::take(&path).expect("nobody's"));
        // As a script makes it.
        let file = File::create(&path).expect("a file");
        assert!(Touched::try_take(&path).expect("readable").is_none());
        file.set_modified(clock::system_time(clock::now()) - 2 * STALE).expect("our own file");
        let held = Touched::take(&path).expect("stale");
        fs::write(&path, "somebody else's\n").expect("our own file");
        drop(held);
        assert!(path.exists(), "what is not ours stays");
    }
}
