//! The lock of other programs: a file that exists while a script writes, made with `touch`, removed with `rm`. Some
//! programs make a folder of that name instead.

use std::fs;
use std::io;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{clock, disk};

/// The holder of an older lock is dead: a script writes a file in milliseconds.
pub(super) const STALE: Duration = Duration::from_secs(30);
/// How the text of a lock that Piton made begins. A script leaves it empty.
const OURS: &str = "piton ";
/// The same of one that is JSON.
const OURS_IN_JSON: &str = "{\"by\":\"piton ";

/// What other programs expect in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing.
    Line,
    /// An object with the number of the process that holds it: while that lives, the lock is waited for.
    Json,
}

/// Held until dropped.
#[derive(Debug)]
pub(super) struct Touched {
    path: Utf8PathBuf,
    mark: String,
}

impl Touched {
    /// Take it, unless a script holds it that may still be at work.
    pub(super) fn try_take(path: &Utf8Path, form: Form) -> io::Result<Option<Touched>> {
        let (process, unique) = (std::process::id(), uuid::Uuid::now_v7().simple());
        let mark = match form {
            Form::Line => format!("{OURS}{process} {unique}\n"),
            Form::Json => {
                format!("{OURS_IN_JSON}{unique}\",\"pid\":{process},\"acquired\":\"{}\"}}\n", clock::now())
            }
        };
        // The write is atomic: an empty lock left by Piton would look like a script's.
        match disk::create_new(path, mark.as_bytes()) {
            Ok(()) => return Ok(Some(Touched { path: path.to_owned(), mark })),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
        // The caller holds a lock that dies with its process, so a file of ours in here was left behind.
        if is_stale(path) || is_ours(path) {
            let removed = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                // Only one Piton process at a time gets here: the lock is free now, unless a script is quicker.
                _ => return Touched::try_take(path, form),
            }
        }
        Ok(None)
    }
}

/// Whether a Piton process made it.
pub(super) fn is_ours(path: &Utf8Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.starts_with(OURS) || text.starts_with(OURS_IN_JSON))
}

/// How long ago a file was written; `None` if it is not there.
pub(super) fn age(path: &Utf8Path) -> Option<Duration> {
    let made = fs::metadata(path).and_then(|data| data.modified()).ok()?;
    // If the clock went back, the file lies in the future. Were its age zero, it would stay young for ever: far ahead
    // counts as stale.
    let age = clock::system_time(clock::now()).duration_since(made);
    Some(age.unwrap_or_else(|ahead| if ahead.duration() > STALE { STALE * 2 } else { Duration::ZERO }))
}

/// Whether a file was written so long ago that no script can still be writing it.
pub(super) fn is_stale(path: &Utf8Path) -> bool {
    age(path).is_some_and(|age| age > STALE)
}

impl Drop for Touched {
    fn drop(&mut self) {
        // If a script replaced it as stale, the lock that is there now is not ours.
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
        drop(Touched::try_take(&path, Form::Line).expect("readable").expect("free"));
        assert!(!path.exists());
        // One of us died.
        fs::write(&path, "piton 1 0\n").expect("our own file");
        drop(Touched::try_take(&path, Form::Line).expect("readable").expect("left by a dead process"));
        // As a script makes it.
        let file = File::create(&path).expect("a file");
        assert!(Touched::try_take(&path, Form::Line).expect("readable").is_none());
        file.set_modified(clock::system_time(clock::now()) - 2 * STALE).expect("our own file");
        let held = Touched::try_take(&path, Form::Line).expect("readable").expect("stale");
        fs::write(&path, "another process\n").expect("our own file");
        drop(held);
        assert!(path.exists(), "what is not ours stays");
    }

    #[test]
    fn one_that_is_json_names_the_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Utf8PathBuf::from_path_buf(folder.path().join(".lock")).expect("UTF-8");
        let held = Touched::try_take(&path, Form::Json).expect("readable").expect("free");
        let text = fs::read_to_string(&path).expect("it is there");
        let said: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(said["pid"], std::process::id());
        assert!(is_ours(&path));
        drop(held);
        assert!(!path.exists());
        fs::write(&path, "{\"pid\":1,\"cwd\":\"/x\"}").expect("our own file");
        assert!(Touched::try_take(&path, Form::Json).expect("readable").is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_is_a_lock_as_well() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Utf8PathBuf::from_path_buf(folder.path().join("x.lock")).expect("UTF-8");
        fs::create_dir(&path).expect("a new folder");
        assert!(Touched::try_take(&path, Form::Line).expect("readable").is_none());
        let long_ago = clock::system_time(clock::now()) - 2 * STALE;
        File::open(&path).and_then(|folder| folder.set_modified(long_ago)).expect("our own folder");
        drop(Touched::try_take(&path, Form::Line).expect("readable").expect("stale"));
        assert!(!path.exists());
    }
}
