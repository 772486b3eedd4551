//! Issues in the table of systems.

use super::read;
use super::write::SnapshotFile;
use crate::system::asked::{MARK, Snapshot};
use crate::system::state_files::Companion;
use crate::system::{Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, System};

#[derive(Clone, Copy, Debug)]
pub struct Tracker;

/// Its row.
pub static TRACKER: Tracker = Tracker;

/// The plan's own file, in which issues close while a run goes on.
static SNAPSHOT_FILE: SnapshotFile = SnapshotFile;

impl System for Tracker {
    fn name(&self) -> &'static str {
        "tracker"
    }

    fn about(&self) -> &'static str {
        "Issues of GitHub, GitLab or Beads, as in gh:label:NAME"
    }

    fn plain(&self) -> Form {
        Form::Added(&TRACKER)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files { plan_is_file: true, ..Files::default() }
    }

    fn claims_file(&self, name: &str, path: &str, disk: &dyn Disk) -> FileClaim {
        let is_one = || disk.read(path).is_some_and(|bytes| Snapshot::read(&bytes).is_some());
        let is_like = || disk.holds(path, &format!("\"{MARK}\""));
        match name.ends_with(".json") && is_like() {
            true if is_one() => FileClaim::Yes,
            true => FileClaim::LastResort,
            false => FileClaim::No,
        }
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read::read(folder, given).plan(&TRACKER, given))
    }

    fn companions(&self, _: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        vec![&SNAPSHOT_FILE]
    }
}
