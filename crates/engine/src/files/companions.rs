//! The companion files of the state file: a log that only grows, a list whose boxes are ticked. They name no position
//! of the journal, so their content counts: what is known is ignored, and what is missing is added.

use camino::Utf8PathBuf;
use piton_core::run::Command;
use piton_core::system::edit::{Edit, What, commands};
use piton_core::system::state_files::{Put, Reconciled, Ticks};

use super::kept::{Kept, kept};
use super::mirror::{Aide, FilesError, Mirror, ROUNDS, read};
use crate::journal::Journal;
use crate::{crash, disk};

impl Mirror {
    /// Apply what is new in a file, and add what is missing. Not a byte of the rest changes. Returns whether there was
    /// nothing to do.
    pub(super) fn settle_companion(
        &mut self,
        journal: &mut Journal,
        aide: &mut dyn Aide,
        file: &Kept,
    ) -> Result<bool, FilesError> {
        let path = self.real_path(&file.path)?;
        let name = file.name().to_owned();
        for round in 0..ROUNDS {
            let found = read(&path)?;
            let mut asked = Vec::new();
            loop {
                let news = self.look(file, found.as_deref());
                let entry = |note| Command::Note { by: name.clone(), note };
                let entries: Vec<Command> = news.notes.into_iter().map(entry).collect();
                self.commit(journal, &entries)?;
                // An edit that was applied now may make more edits possible.
                let more: Vec<Edit> =
                    news.edits.into_iter().filter(|edit| !asked.contains(&edit.task)).collect();
                if more.is_empty() {
                    break;
                }
                for edit in more {
                    self.apply_companion_edit(journal, aide, file, &edit)?;
                    asked.push(edit.task);
                }
            }
            crash::point("files.before-write");
            let settled = self.look(file, found.as_deref());
            let is_list = file.companion().is_list();
            let bytes = match settled.put {
                Put::Nothing => {
                    self.remember_ticks(&name, settled.ticks, is_list);
                    return Ok(round == 0);
                }
                Put::Append(bytes) => {
                    // Other processes append, too, and no process overwrites another's lines.
                    disk::append(&path, &bytes).map_err(FilesError::io(&path))?;
                    return Ok(false);
                }
                Put::Whole(bytes) => bytes,
            };
            let displaced = disk::displace(&path, &bytes).map_err(FilesError::io(&path))?;
            crash::point("files.written");
            if displaced.as_ref().map(|file| &file.bytes) == found.as_ref() {
                self.remember_ticks(&name, settled.ticks, is_list);
                return Ok(false);
            }
            // The file was written in this very moment: that version is put back, and changed in turn. It is the same
            // file again, so that a process that is still writing it writes on in it.
            if let Some(theirs) = displaced {
                let older = theirs.bytes.clone();
                let between = theirs.put_back(&path).map_err(FilesError::io(&path))?;
                if let Some(newest) = between.filter(|file| file.bytes != bytes) {
                    newest.put_back(&path).map_err(FilesError::io(&path))?;
                    self.keep_displaced(&older)?;
                }
            }
        }
        Ok(false)
    }

    /// How the plan's own files differ from what the journal says, where there is no state file.
    pub(super) fn differences_of_companions(&self) -> Result<Vec<String>, FilesError> {
        let mut differences = Vec::new();
        for file in self.companions() {
            let found = read(&self.real_path(&file.path)?)?;
            let news = self.look(&file, found.as_deref());
            differences.extend(news.edits.iter().map(|edit| format!("it was edited: {edit}")));
            if news.put != Put::Nothing {
                differences.push(format!("{} is not up to date", file.name()));
            }
        }
        Ok(differences)
    }

    /// A process that died between exchanging such a file and putting back what it displaced left that text:
    /// it is kept. Our own, or what is there anyway, is not.
    pub(super) fn keep_displaced(&self, left: &[u8]) -> Result<(), FilesError> {
        let mut like = None;
        for file in self.companions() {
            let Some(now) = read(&file.path)? else { continue };
            if file.companion().holds(&now, left) {
                return Ok(());
            }
            if like.is_none() && file.companion().is_like(left) {
                like = Some(Utf8PathBuf::from(format!("{}.displaced", file.path)));
            }
        }
        like.map_or(Ok(()), |kept| disk::write(&kept, left).map_err(FilesError::io(&kept)))
    }

    pub(super) fn companions(&self) -> Vec<Kept> {
        kept(self.system, &self.plan)
    }

    fn look(&self, file: &Kept, found: Option<&[u8]>) -> Reconciled {
        let none = Ticks::default();
        let shown = self.shown.ticks.get(file.name()).unwrap_or(&none);
        file.companion().reconcile(found, &self.state, &self.chronicle, &self.claimed, shown)
    }

    fn remember_ticks(&mut self, name: &str, ticks: Ticks, is_list: bool) {
        if is_list {
            self.shown.ticks.insert(name.to_owned(), ticks);
        }
    }

    fn apply_companion_edit(
        &mut self,
        journal: &mut Journal,
        aide: &mut dyn Aide,
        file: &Kept,
        edit: &Edit,
    ) -> Result<(), FilesError> {
        let name = file.name().to_owned();
        let wishes = match (&edit.task, &edit.what) {
            (Some(task), What::ReportDone { .. }) if self.judged.contains(task) => return Ok(()),
            (Some(task), What::ReportDone { report }) => {
                match self.claim(journal, aide, task, report, &name, edit)? {
                    Some(wishes) => wishes,
                    None => return Ok(()),
                }
            }
            _ => commands(edit, &name, &name),
        };
        let refusals = self.commit(journal, &wishes)?;
        if file.companion().is_list() && matches!(edit.what, What::Rejected { .. }) {
            // Reported once, whether or not the write succeeds.
            self.shown.ticks.remove(&name);
            self.log_rejected(journal, &name, edit)?;
        }
        match refusals.first() {
            Some(reason) => self.refuse_edit(journal, &name, edit, reason),
            None => Ok(()),
        }
    }
}
