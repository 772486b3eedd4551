//! What an earlier run found out about a commit, so that a run that was killed goes on where it was.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;

use super::catalogue::Sabotage;

pub(super) struct Known {
    /// The rules of this commit that were caught.
    caught: Notes,
    /// The rules whose arms did not compile. That hardly changes with a commit, and costs a build to find out.
    no_switch: Notes,
}

/// A file with the fingerprint of a rule in each line.
struct Notes {
    lines: BTreeSet<String>,
    file: Mutex<File>,
}

impl Known {
    pub(super) fn open(place: &Path, head: &str, again: bool) -> Result<Known> {
        let open = |name: &str| Notes::open(&place.join(name), again);
        Ok(Known { caught: open(&format!("caught-{head}"))?, no_switch: open("no-switch")? })
    }

    pub(super) fn is_caught(&self, one: &Sabotage) -> bool {
        self.caught.lines.contains(&one.fingerprint())
    }

    pub(super) fn note_caught(&self, one: &Sabotage) -> Result<()> {
        self.caught.note(one)
    }

    pub(super) fn has_no_switch(&self, one: &Sabotage) -> bool {
        self.no_switch.lines.contains(&one.fingerprint())
    }

    pub(super) fn note_no_switch(&self, one: &Sabotage) -> Result<()> {
        self.no_switch.note(one)
    }
}

impl Notes {
    fn open(path: &Path, again: bool) -> Result<Notes> {
        if again {
            drop(fs::remove_file(path));
        }
        let lines = fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect();
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Notes { lines, file: Mutex::new(file) })
    }

    fn note(&self, one: &Sabotage) -> Result<()> {
        let mut file = self.file.lock().expect("no thread panics while it writes");
        Ok(file.write_all(format!("{}\n", one.fingerprint()).as_bytes())?)
    }
}
