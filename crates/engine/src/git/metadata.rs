//! Modes, times and attributes of a person's files. Where no read-only view protects them, changes are detected
//! afterwards. The kernel records when a file was last changed in any way, and no program can set that time.

use std::collections::BTreeSet;
use std::fs;

use camino::Utf8Path;
use piton_core::time::Timestamp;

use super::error::GitError;
use super::repo::Repo;

/// At most so many files are looked at: that takes some 50 ms.
const MOST: usize = 20_000;
/// A write sets both times together. If they are further apart, the later one is another change.
const APART_MS: i64 = 100;

impl Repo {
    /// Tracked files of the main checkout, their folders, and git's own settings, of which something other than the
    /// content was changed since then. A file whose content was written as well is not listed: it cannot be
    /// distinguished from one that was only written.
    pub fn metadata_changed(&self, since: Timestamp) -> Result<Vec<String>, GitError> {
        let own = ["", "HEAD", "config", "hooks", "info/exclude"].iter().filter_map(|name| {
            let path = self.common_dir().join(name);
            is_changed(&path, since)
                .then(|| format!("git's {}", if name.is_empty() { "folder" } else { name }))
        });
        let mut found: Vec<String> = own.collect();
        let Some(top) = self.main_checkout()? else { return Ok(found) };
        let list = self.git().at(&top).call(["ls-files", "-z"]).bytes()?;
        let names = list.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
        let names: Vec<&Utf8Path> =
            names.filter(|name| !name.is_empty()).take(MOST).map(Utf8Path::new).collect();
        // Each folder once, and the top as well, which is the parent without a name.
        let folders: BTreeSet<&Utf8Path> = names.iter().flat_map(|name| name.ancestors().skip(1)).collect();
        for name in folders.into_iter().chain(names) {
            if is_changed(&top.join(name), since) {
                found.push(if name.as_str().is_empty() {
                    "the main checkout".to_owned()
                } else {
                    name.to_string()
                });
            }
        }
        Ok(found)
    }
}

/// Whether its mode, times or attributes were changed since then, and its content was not.
#[cfg(unix)]
pub(crate) fn is_changed(path: &Utf8Path, since: Timestamp) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    let millis = |seconds: i64, nanos: i64| seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
    let changed = millis(found.ctime(), found.ctime_nsec());
    let written = millis(found.mtime(), found.mtime_nsec());
    // Its content was not written then, or at a time that has not come yet.
    let only_that = written < since.0 && written.saturating_add(APART_MS) < changed;
    changed >= since.0 && (only_that || written > changed.saturating_add(APART_MS))
}

#[cfg(not(unix))]
pub(crate) fn is_changed(_path: &Utf8Path, _since: Timestamp) -> bool {
    false
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_mode_or_a_time_that_was_changed_is_seen_and_what_was_written_is_not() {
        let temp = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(temp.path()).unwrap().join("file");
        let hour = Duration::from_secs(3600);
        let set = |time: SystemTime| {
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        fs::write(&path, "x").unwrap();
        let now = fs::symlink_metadata(&path).unwrap().modified().unwrap();
        let since = |time: SystemTime| {
            Timestamp(
                i64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()).unwrap(),
            )
        };
        assert!(!is_changed(&path, since(now - hour)), "it was only written");
        assert!(!is_changed(&path, since(now + hour)), "nothing happened since");
        set(now + hour);
        assert!(is_changed(&path, since(now)), "its time was set");
        set(now - hour);
        assert!(is_changed(&path, since(now)), "its time was set back");
        // An old file, and its mode.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(is_changed(&path, since(now)));
        assert!(!is_changed(&path, since(now + hour)), "that was before");
        assert!(!is_changed(&path.with_file_name("none"), since(now)));
    }
}
