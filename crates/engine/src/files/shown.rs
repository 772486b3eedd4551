//! What the files of a run showed when Piton last wrote them. A box that was unticked, and an older version that
//! was put back, differ by this from files that Piton has yet to bring up to date.
//!
//! Written after the files: if a process dies in between, too little is recorded, and no edit is reported that a person
//! did not make.

use std::collections::BTreeMap;
use std::fs;

use camino::Utf8PathBuf;
use piton_core::plan::RunId;
use piton_core::system::state_files::Ticks;
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::project::Project;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Shown {
    /// The position of the journal that the state file named; 0 before it was written.
    pub(super) seq: u64,
    /// The completed tasks whose boxes were ticked, by the name of their list.
    pub(super) ticks: BTreeMap<String, Ticks>,
}

impl Shown {
    /// As the last process left it; one that cannot be read says nothing.
    pub(super) fn load(project: &Project, run: &RunId) -> Shown {
        let text = fs::read_to_string(path(project, run)).ok();
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// For the next process. Where it cannot be written, the next one knows too little.
    pub(super) fn save(&self, project: &Project, run: &RunId) {
        let place = path(project, run);
        let folder = place.parent().unwrap_or(&project.home);
        let text = serde_json::to_vec(self).unwrap_or_default();
        let _ = disk::private_folder(folder).and_then(|()| disk::replace(&place, &text));
    }
}

fn path(project: &Project, run: &RunId) -> Utf8PathBuf {
    project.home.join("runs").join(run.as_str()).join("files-shown.json")
}
