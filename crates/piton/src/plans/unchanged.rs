//! Whether the file of a plan is still the one that was read last. Then it need not be read again: the plan is the same, and
//! there is nothing to say about it.

use std::fs::Metadata;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Digest;
use piton_core::system::SystemRef;
use piton_core::system::config::read_config;
use piton_engine::project::Project;
use piton_engine::{clock, disk};
use serde::{Deserialize, Serialize};

use crate::plans::found::{FoundPlan, config_file, folder_of};

/// Seconds. The coarsest clocks of file systems tick every two: what was written later may be written again unseen.
const SETTLED: i64 = 2;

/// The files that a plan is read from, as they are now.
#[derive(Debug)]
pub(crate) struct Stamp {
    plan: Utf8PathBuf,
    files: Vec<Seen>,
}

/// A file. Every change of it also changes one of these.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    path: Utf8PathBuf,
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds: when its content was written, and when anything about it was changed.
    written: (i64, i64),
    changed: (i64, i64),
}

/// What was read, and from what.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// Another version may say something else about the same plan.
    version: String,
    files: Vec<Seen>,
    hash: Digest,
}

impl Stamp {
    /// `None` where more than its own file and `piton.toml` makes a plan of that system what it is.
    pub(crate) fn of(plan: &Utf8Path, system: SystemRef) -> Option<Stamp> {
        let is_file = system.files().plan_is_file && system.policy().as_written;
        let settings = config_file(folder_of(plan));
        let files = [plan.to_owned()].into_iter().chain(settings).filter(|_| is_file);
        let files: Vec<Seen> = files.map(Seen::at).collect::<Option<_>>()?;
        (!files.is_empty()).then(|| Stamp { plan: plan.to_owned(), files })
    }

    /// The digest of the plan, if it was read from these very files and nothing was wrong with it.
    pub(crate) fn hash(&self, project: &Project) -> Option<Digest> {
        let note = std::fs::read_to_string(self.place(project)).ok()?;
        let note: Note = serde_json::from_str(&note).ok()?;
        (note.version == env!("CARGO_PKG_VERSION") && note.files == self.files).then_some(note.hash)
    }

    /// Record what was read after this stamp was taken, and its digest. Nothing is lost if that fails.
    pub(crate) fn keep(self, project: &Project, found: &FoundPlan, hash: &Digest) {
        if !found.read.reading().problems.is_empty() || !self.is_settled() || self.has_poor_settings() {
            return;
        }
        let place = self.place(project);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let note = Note { version, files: self.files, hash: hash.clone() };
        if let (Ok(note), Some(folder)) = (serde_json::to_vec(&note), place.parent()) {
            let _ = disk::private_folder(folder).and_then(|()| disk::replace(&place, &note));
        }
    }

    fn place(&self, project: &Project) -> Utf8PathBuf {
        project.home.join("read").join(Digest::of_bytes(self.plan.as_str().as_bytes()).as_str())
    }

    /// Whether a later change of a file is sure to get another time.
    fn is_settled(&self) -> bool {
        let latest = clock::now().0 / 1000 - SETTLED;
        self.files.iter().all(|file| file.written.0 < latest && file.changed.0 < latest)
    }

    /// Problems of `piton.toml` are reported whenever it is read.
    fn has_poor_settings(&self) -> bool {
        let texts = self.files[1..].iter().map(|file| std::fs::read_to_string(&file.path));
        texts.into_iter().any(|text| text.is_ok_and(|text| !read_config(&text).1.is_empty()))
    }
}

impl Seen {
    fn at(path: Utf8PathBuf) -> Option<Seen> {
        let data = std::fs::metadata(&path).ok()?;
        Seen::of(path, &data)
    }

    #[cfg(unix)]
    fn of(path: Utf8PathBuf, data: &Metadata) -> Option<Seen> {
        use std::os::unix::fs::MetadataExt;
        Some(Seen {
            path,
            device: data.dev(),
            inode: data.ino(),
            bytes: data.len(),
            written: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        })
    }

    /// Without such facts every plan is read.
    #[cfg(not(unix))]
    fn of(_: Utf8PathBuf, _: &Metadata) -> Option<Seen> {
        None
    }
}
