//! The folder of a worktree: the very one that was made, and nothing else.
//!
//! An agent without a fence can move its folder away and put a link, another folder or a mount in its place. What is
//! there then is not Piton's: it is neither captured nor removed.

use std::fs::{self, Metadata};
use std::io;

use camino::Utf8Path;

use super::error::GitError;
use crate::{boot, disk};

/// In a worktree's git folder: the boot in which its folder was made, or last seen to be it, and its device and inode.
/// Not in the note about its owner: all worktrees of a run share that one file.
pub(super) const RECORD: &str = "piton-folder";

/// Which folder it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    /// `None` if it was recorded before the machine was restarted, since devices may get new numbers then.
    device: Option<u64>,
    inode: u64,
}

impl Identity {
    fn from_metadata(meta: &Metadata) -> Identity {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Identity { device: Some(meta.dev()), inode: meta.ino() }
        }
        #[cfg(not(unix))]
        {
            let _ = meta;
            Identity { device: None, inode: 0 }
        }
    }

    fn is(self, device: u64, inode: u64) -> bool {
        self.inode == inode && self.device.is_none_or(|known| known == device)
    }
}

/// Note which folder a worktree has.
pub(super) fn record(path: &Utf8Path, entry: &Utf8Path) -> Result<(), GitError> {
    let meta = fs::symlink_metadata(path).map_err(GitError::io(path))?;
    let Identity { device, inode } = Identity::from_metadata(&meta);
    let file = entry.join(RECORD);
    let text = format!("{} {} {inode}\n", boot::id(), device.unwrap_or_default());
    if file.is_symlink() {
        // A link would be followed.
        fs::remove_file(&file).map_err(GitError::io(&file))?;
    }
    disk::fill(&file, text.as_bytes()).map_err(GitError::io(file))
}

/// `None`: it was made by an earlier version, or a power cut took the note.
fn recorded(entry: &Utf8Path) -> Option<Identity> {
    let text = fs::read_to_string(entry.join(RECORD)).ok()?;
    let mut words = text.strip_suffix('\n')?.split(' ');
    let (boot, device, inode) = (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(Identity { device: (boot == boot::id()).then_some(device), inode })
}

/// Refuse whatever has taken the place of a worktree's folder, and a folder with something mounted in it.
pub(super) fn check(path: &Utf8Path, entry: &Utf8Path) -> Result<(), GitError> {
    let swapped = |why: String| Err(GitError::Swapped { path: path.to_owned(), why });
    let meta = match fs::symlink_metadata(path) {
        // Nothing is there that could be mistaken for it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta.map_err(GitError::io(path))?,
    };
    if meta.is_symlink() {
        let target = fs::read_link(path).map(|target| target.to_string_lossy().into_owned());
        return swapped(format!("it is a link to {}, not a worktree", target.unwrap_or_default()));
    }
    if !meta.is_dir() {
        return swapped("it is a file, not a worktree".to_owned());
    }
    if let Some(mount) = mounted_in(path) {
        return swapped(format!("something is mounted at {mount}, which is not Piton's"));
    }
    let now = Identity::from_metadata(&meta);
    match recorded(entry) {
        Some(known) if !known.is(now.device.unwrap_or_default(), now.inode) => {
            swapped("another folder has taken its place".to_owned())
        }
        _ => Ok(()),
    }
}

/// Record which folder it is, if that is not known yet.
pub(super) fn record_if_unknown(path: &Utf8Path, entry: &Utf8Path) -> Result<(), GitError> {
    if recorded(entry).is_some() { Ok(()) } else { record(path, entry) }
}

/// Remove the folder of a worktree with all that is in it, and nothing that is elsewhere.
pub(super) fn remove(path: &Utf8Path, entry: &Utf8Path) -> Result<(), GitError> {
    check(path, entry)?;
    let known = recorded(entry);
    let is_it = |device, inode| known.is_none_or(|known| known.is(device, inode));
    disk::remove_folder(path, is_it).map_err(GitError::io(path))
}

/// Where something is mounted at a folder or below it. Only Linux tells.
fn mounted_in(path: &Utf8Path) -> Option<String> {
    if cfg!(target_os = "linux") {
        mount_in(&fs::read_to_string("/proc/self/mountinfo").ok()?, path)
    } else {
        None
    }
}

/// Lines with a place in the fifth field, in which spaces and the like are octal numbers.
fn mount_in(list: &str, path: &Utf8Path) -> Option<String> {
    let places = list.lines().filter_map(|line| line.split(' ').nth(4)).map(|place| {
        [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
            .iter()
            .fold(place.to_owned(), |place, (octal, plain)| place.replace(octal, plain))
    });
    let mut below = places.filter(|place| Utf8Path::new(place).starts_with(path));
    below.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_at_a_folder_and_below_it_are_seen() {
        let list = "22 28 0:21 / /proc rw,nosuid - proc proc rw\n\
                    40 28 8:1 /srv/data /w/T\\0401/data rw - ext4 /dev/sda1 rw\n\
                    41 28 8:1 /srv /w/T2 rw - ext4 /dev/sda1 rw\n";
        let found = |path: &str| mount_in(list, Utf8Path::new(path));
        assert_eq!(found("/w/T 1").as_deref(), Some("/w/T 1/data"));
        assert_eq!(found("/w/T2").as_deref(), Some("/w/T2"));
        assert_eq!(found("/w/T"), None);
        assert_eq!(found("/w/T2/inner"), None, "it lies in what is mounted, as everything does");
    }
}
