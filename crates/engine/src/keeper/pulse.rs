//! Signs of life of a job that prints nothing: its processes compute, or files change where it works. A build is silent
//! for half an hour and alive; a client that waits for an answer that never comes is not.

use std::fs;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};

use super::tree::Tree;

/// `USER_HZ`, in which Linux tells processor time: 100 on every machine that Rust is built for.
const TICKS: u64 = 100;
/// The share of one processor, in percent, from which a job counts as busy. A client that only waits still wakes
/// now and then to draw a sign of waiting, and takes less than this; whatever builds or tests takes far more.
const BUSY: u64 = 5;
/// At most so many files are looked at: a look should take less than a second on a slow disk.
const FILES: usize = 30_000;

#[derive(Debug)]
pub(super) struct Pulse {
    watched: Option<Utf8PathBuf>,
    ticks: u64,
    /// The latest change among the files, once they were looked at.
    latest: Option<SystemTime>,
}

impl Pulse {
    pub(super) fn new(watched: Option<&Utf8Path>) -> Pulse {
        Pulse { watched: watched.map(Utf8Path::to_owned), ticks: 0, latest: None }
    }

    /// Whether there was any sign since the last look, `since` ago.
    pub(super) fn beats(&mut self, tree: &mut Tree, since: Duration) -> bool {
        // If processes cannot be listed, only the files can tell.
        let ticks = tree.ticks().unwrap_or(self.ticks);
        let spent = ticks.abs_diff(std::mem::replace(&mut self.ticks, ticks));
        let passed = u64::try_from(since.as_millis()).unwrap_or(u64::MAX).saturating_mul(TICKS) / 1000;
        let latest = self.watched.as_deref().and_then(latest_change);
        let before = std::mem::replace(&mut self.latest, latest);
        // File times are compared with each other, not with our clock: the files may be on another machine.
        let changed = before.is_some() && before != latest;
        changed || spent > (passed.saturating_mul(BUSY) / 100).max(1)
    }
}

/// When something below was last written, made or removed.
fn latest_change(folder: &Utf8Path) -> Option<SystemTime> {
    let mut open = vec![folder.as_std_path().to_owned()];
    let (mut latest, mut left) = (None, FILES);
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        // What was removed shows in its folder.
        latest = latest.max(fs::metadata(&folder).and_then(|data| data.modified()).ok());
        for entry in entries.flatten() {
            let Some(fewer) = left.checked_sub(1) else { return latest };
            left = fewer;
            // A link is looked at, not followed.
            let Ok(data) = entry.metadata() else { continue };
            if data.is_dir() {
                open.push(entry.path());
            } else {
                latest = latest.max(data.modified().ok());
            }
        }
    }
    latest
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_change_anywhere_below_is_seen() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(temp.path()).unwrap();
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/c"), "x").unwrap();
        let before = latest_change(folder).unwrap();
        assert_eq!(latest_change(folder), Some(before), "and nothing else is");
        let later = before + Duration::from_secs(100);
        fs::File::options().write(true).open(folder.join("a/b/c")).unwrap().set_modified(later).unwrap();
        assert_eq!(latest_change(folder), Some(later));
        assert_eq!(latest_change(&folder.join("gone")), None);
    }
}
