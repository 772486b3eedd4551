//! A connection to the journal of a run, for reading.

use std::os::unix::fs::MetadataExt;

use piton_core::plan::RunId;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};

/// The run, and a connection to its journal that is made again when the file is another.
#[derive(Debug)]
pub(super) struct Source {
    pub project: Project,
    pub run: RunId,
    open: Option<(Journal, (u64, u64))>,
    /// How often it was opened: another number means that it may be another journal.
    opened: u32,
}

impl Source {
    pub(super) fn new(project: Project, run: RunId) -> Source {
        Source { project, run, open: None, opened: 0 }
    }

    /// The journal, and how often it was opened.
    pub(super) fn journal(&mut self) -> Outcome<(&mut Journal, u32)> {
        let gone = || Failure::new("the journal is gone");
        let is_same = self.open.as_ref().is_some_and(|(journal, file)| identity(journal) == Some(*file));
        if !is_same {
            self.open = None;
            let journal = self.project.existing_journal()?.ok_or_else(gone)?;
            let file = identity(&journal).ok_or_else(gone)?;
            self.open = Some((journal, file));
            self.opened += 1;
        }
        let opened = self.opened;
        self.open.as_mut().map(|(journal, _)| (journal, opened)).ok_or_else(gone)
    }

    /// Open it again at the next look.
    pub(super) fn close(&mut self) {
        self.open = None;
    }
}

/// Which file the journal is. On a server it stays the same: a connection that breaks is opened again.
fn identity(journal: &Journal) -> Option<(u64, u64)> {
    let Some(file) = journal.file() else { return Some((0, 0)) };
    std::fs::metadata(file).ok().map(|file| (file.dev(), file.ino()))
}
