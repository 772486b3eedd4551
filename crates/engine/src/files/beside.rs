//! The files beside the state file: a journal that only grows, a list whose boxes are ticked. They name no position of
//! the journal, so what counts is what they hold: what is known is no news, and what is missing is put in.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::dialect::edit::{Edit, What, commands};
use piton_core::dialect::kept::{self, Beside, Put, Settled};

use super::mirror::{FilesError, Judge, Mirror, ROUNDS, read};
use crate::journal::Journal;
use crate::{crash, disk};

impl Mirror {
    /// Hear what is new in a file, and put in what is missing. Not a byte of the rest changes.
    pub(super) fn settle_beside(
        &mut self,
        journal: &mut Journal,
        judge: &mut dyn Judge,
        beside: Beside,
        folder: &Utf8Path,
    ) -> Result<(), FilesError> {
        let path = self.real_path(&folder.join(beside.name()))?;
        for _ in 0..ROUNDS {
            let found = read(&path)?;
            for edit in self.look(beside, found.as_deref()).edits {
                self.take_beside(journal, judge, beside, &edit)?;
            }
            crash::point("files.before-write");
            let bytes = match self.look(beside, found.as_deref()).put {
                Put::Nothing => return Ok(()),
                // Others append too, and none of us takes anything from the other.
                Put::Append(bytes) => return disk::append(&path, &bytes).map_err(FilesError::io(&path)),
                Put::Whole(bytes) => bytes,
            };
            let displaced = disk::exchange(&path, &bytes).map_err(FilesError::io(&path))?;
            crash::point("files.written");
            if displaced == found {
                return Ok(());
            }
            // Somebody wrote in this very moment: theirs is put back, and changed in turn.
            if let Some(theirs) = displaced {
                disk::exchange(&path, &theirs).map_err(FilesError::io(&path))?;
            }
        }
        Ok(())
    }

    /// A process that died between exchanging such a file and putting back what it displaced left somebody's text:
    /// it is kept. Our own, or what is there anyway, is not.
    pub(super) fn keep_displaced(&self, folder: &Utf8Path, left: &[u8]) -> Result<(), FilesError> {
        for beside in kept::beside(self.dialect) {
            let path = folder.join(beside.name());
            let Some(now) = read(&path)? else { continue };
            if beside.holds(&now, left) {
                return Ok(());
            }
            if beside.is_like(left) {
                let kept = Utf8PathBuf::from(format!("{path}.displaced"));
                return disk::write(&kept, left).map_err(FilesError::io(&kept));
            }
        }
        Ok(())
    }

    fn look(&self, beside: Beside, found: Option<&[u8]>) -> Settled {
        beside.settle(found, &self.state, &self.chronicle, &self.place(), &self.claimed)
    }

    fn take_beside(
        &mut self,
        journal: &mut Journal,
        judge: &mut dyn Judge,
        beside: Beside,
        edit: &Edit,
    ) -> Result<(), FilesError> {
        let wishes = match (&edit.task, &edit.what) {
            (Some(task), What::ReportDone { report }) => {
                match self.claim(journal, judge, task, report, beside.name(), edit)? {
                    Some(wishes) => wishes,
                    None => return Ok(()),
                }
            }
            _ => commands(edit, beside.name(), beside.name()),
        };
        let refusals = self.commit(journal, &wishes)?;
        match refusals.first() {
            Some(reason) => self.refuse_in(journal, beside.name(), &edit.to_string(), reason),
            None => Ok(()),
        }
    }
}
