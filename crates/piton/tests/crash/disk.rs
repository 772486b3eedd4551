//! What a power cut leaves of a sandbox: `kill -9` cannot show that a sync is missing.
//!
//! The model is a journaling file system at its worst. Names (new files, renames, links, removals) survive.
//! The content of a file is what it was at its last sync, or at the last sync of everything, or before the
//! run; a file that was never synced is empty.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use camino::{Utf8Path, Utf8PathBuf};
use piton_testkit::trace::{Answer, Point};

/// Contents by inode, since renames and links leave them alone, each with when it was seen.
type Contents = HashMap<u64, (u64, Vec<u8>)>;

pub(crate) struct Disk {
    root: Utf8PathBuf,
    durable: Contents,
    /// By the thread that waits for its sync.
    under_way: HashMap<i32, Contents>,
    /// How many syncs have begun.
    begun: u64,
}

impl Disk {
    /// All that is there now is durable.
    pub(crate) fn of(root: &Utf8Path) -> Disk {
        Disk { root: root.to_owned(), durable: contents(root, 0), under_way: HashMap::new(), begun: 0 }
    }

    pub(crate) fn is_sync(point: &Point) -> bool {
        ["fsync", "fdatasync", "syncfs", "sync"].contains(&point.call)
    }

    /// Take note of a sync. What counts is what was there when it began, and that it ended well.
    pub(crate) fn see(&mut self, point: &Point) -> Answer {
        if !Disk::is_sync(point) {
            return Answer::Go;
        }
        match point.end {
            None => {
                self.begun += 1;
                let seen = match (point.call, point.fd) {
                    ("fsync" | "fdatasync", Some(fd)) => {
                        one(&format!("/proc/{}/fd/{fd}", point.pid), self.begun)
                    }
                    _ => contents(&self.root, self.begun),
                };
                self.under_way.insert(point.thread, seen);
                Answer::Follow
            }
            Some(end) => {
                let seen = self.under_way.remove(&point.thread).unwrap_or_default();
                for (inode, (begun, bytes)) in seen.into_iter().filter(|_| end == 0) {
                    // Of two at once, the one that began first may end last.
                    let newer = self.durable.get(&inode).is_none_or(|(known, _)| *known < begun);
                    if newer {
                        self.durable.insert(inode, (begun, bytes));
                    }
                }
                Answer::Go
            }
        }
    }

    /// Whether a power cut would leave this file as it is.
    pub(crate) fn keeps(&self, path: &str) -> bool {
        let Some((inode, (_, bytes))) = one(path, 0).into_iter().next() else { return true };
        self.durable.get(&inode).map_or(&[][..], |(_, durable)| durable) == bytes
    }

    /// Cut the power: nothing may be running any more. Says which files lost something.
    pub(crate) fn lose(&self) -> Vec<String> {
        let mut lost = Vec::new();
        for path in files(&self.root) {
            let inode = fs::symlink_metadata(&path).expect("nobody is at work").ino();
            let durable = self.durable.get(&inode).map_or(&[][..], |(_, bytes)| bytes);
            if fs::read(&path).expect("a readable file") != durable {
                overwrite(&path, durable);
                lost.push(path.strip_prefix(&self.root).expect("inside").to_string());
            }
        }
        lost
    }
}

/// Objects of git may not be written to, even by their owner.
fn overwrite(path: &Utf8Path, bytes: &[u8]) {
    let before = fs::metadata(path).expect("a file").permissions();
    let mut open = before.clone();
    std::os::unix::fs::PermissionsExt::set_mode(&mut open, 0o600);
    fs::set_permissions(path, open).expect("our own file");
    fs::write(path, bytes).expect("our own file");
    fs::set_permissions(path, before).expect("our own file");
}

fn contents(root: &Utf8Path, when: u64) -> Contents {
    files(root).iter().flat_map(|path| one(path.as_str(), when)).collect()
}

/// A folder has no content, and a file may go while it is looked at.
fn one(path: &str, when: u64) -> Contents {
    let read = || {
        let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some((meta.ino(), (when, fs::read(path).ok()?)))
    };
    read().into_iter().collect()
}

/// The files below a folder, without what the tests themselves wrote down.
fn files(root: &Utf8Path) -> Vec<Utf8PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            let (path, name) = (entry.path().to_owned(), entry.file_name());
            let evidence = folder == root && (name == "began.txt" || name.starts_with("said-"));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && !evidence => found.push(path),
                _ => {}
            }
        }
    }
    found
}
