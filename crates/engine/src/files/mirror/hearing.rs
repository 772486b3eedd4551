//! Edits of the state file become commands: each edit once. A claim goes to its checks first.

use camino::Utf8PathBuf;
use piton_core::chronicle::Failure;
use piton_core::plan::{TaskId, TaskSpec};
use piton_core::run::{Command, ContextUpdate, ImportedError, Note, Report, Task};
use piton_core::system::Addition;
use piton_core::system::edit::{Edit, What, commands};
use piton_core::system::state_files;

use super::{Aide, FilesError, Mirror, Wait, key, read};
use crate::claims::{Judgement, Place};
use crate::crash;
use crate::journal::Journal;

/// For the run of another list, whose state file is replaced by that of this one.
struct NotNow;

const NOT_NOW: &str = "Piton works on another list now, and the state file shows one list at a time";

impl Aide for NotNow {
    fn judge(&mut self, _: &Task, _: &TaskSpec, _: Option<&Place>) -> Option<Result<Judgement, String>> {
        Some(Err(NOT_NOW.to_owned()))
    }

    fn waits(&mut self, _: &Wait) {}

    fn add(&mut self, _: &mut Journal, _: &Addition) -> Result<(), String> {
        Err(NOT_NOW.to_owned())
    }
}

impl Mirror {
    /// Apply the edits of a version of the file.
    pub(super) fn hear(
        &mut self,
        journal: &mut Journal,
        aide: &mut dyn Aide,
        bytes: &[u8],
    ) -> Result<(), FilesError> {
        // A claim that is still being checked is in Piton's own text as well, and has to be judged again.
        if self.text().is_some_and(|text| text.as_bytes() == bytes) && self.claimed.is_empty() {
            return Ok(());
        }
        let (found, twice) = match state_files::parse(bytes) {
            Ok(found) => found,
            Err(reason) => {
                self.keep_beside("bad", bytes)?;
                let what = if bytes.iter().all(u8::is_ascii_whitespace) {
                    "the file was empty".to_owned()
                } else {
                    format!("the file is not JSON ({reason})")
                };
                let why = "it is written again; what was there is kept as `.bad`";
                return self.refuse_whole(journal, &what, why);
            }
        };
        let Some((shown, base)) = self.origin(journal, &found)? else {
            if let Some(other) = self.shows_another(journal, &found)? {
                // The edits are applied to that run, which has no engine now.
                let theirs = Mirror::open(&self.project, journal, &other)?;
                return theirs.map_or(Ok(()), |mut theirs| theirs.hear(journal, &mut NotNow, bytes));
            }
            let is_backup = read(&Utf8PathBuf::from(format!("{}.bak", self.path)))?.as_deref() == Some(bytes);
            if is_backup && self.shown.seq == 0 {
                // The run takes this file over or replaces it, and `.bak` holds a copy.
                return Ok(());
            }
            let why = if is_backup {
                "it is the one that this run began with, and is kept as `.bak`"
            } else {
                self.keep_beside("refused", bytes)?;
                "it does not say which version it changes; it is kept as `.refused`"
            };
            return self.refuse_whole(journal, "the file was replaced by another one", why);
        };
        for said in &twice {
            self.refuse(journal, said, "the last one is used")?;
        }
        for edit in self.system.edits(&base, &found) {
            if !self.is_heard(shown, &edit) {
                self.take(journal, aide, &edit, shown, bytes)?;
            }
        }
        Ok(())
    }

    /// Refuse an older version of the file, as `git show HEAD:FILE > FILE` puts it back: that undoes nothing of the
    /// run, and the refusal says so. An edit of an old copy is an edit.
    pub(super) fn refuse_older(&mut self, journal: &mut Journal, bytes: &[u8]) -> Result<(), FilesError> {
        let Ok((found, _)) = state_files::parse(bytes) else { return Ok(()) };
        let Some((shown, base)) = self.origin(journal, &found)?.filter(|(shown, _)| *shown < self.shown.seq)
        else {
            return Ok(());
        };
        // The recipes change the time with whatever else they change.
        let untouched = ["updated_at", "updated"].iter().all(|name| found.get(name) == base.get(name));
        if !untouched || !self.system.edits(&base, &found).is_empty() {
            return Ok(());
        }
        // Reported once, whether or not the write succeeds.
        self.shown.seq = shown;
        let what = format!("the file was put back as it was at event {shown} of {}", self.state.seq());
        let why = "what happened since stays; the file is written again";
        self.refuse_whole(journal, &what, why)
    }

    /// Turn one edit into commands.
    fn take(
        &mut self,
        journal: &mut Journal,
        aide: &mut dyn Aide,
        edit: &Edit,
        shown: u64,
        bytes: &[u8],
    ) -> Result<(), FilesError> {
        let file = self.file.clone();
        let mut wishes = match (&edit.task, &edit.what) {
            (Some(task), What::ReportDone { report }) => {
                match self.claim(journal, aide, task, report, &file, edit)? {
                    Some(wishes) => wishes,
                    None => return Ok(()),
                }
            }
            (None, What::Context { update, commit: Some(hash) }) => {
                let repo = self.project.repo().ok().flatten();
                let commit = repo.and_then(|repo| repo.resolve(hash).ok());
                vec![Command::ContextUpdated(Box::new(ContextUpdate { commit, ..update.clone() }))]
            }
            (_, What::Add { task }) => {
                let added = aide.add(journal, task);
                crash::point("files.added");
                self.catch_up(journal)?;
                if let Err(reason) = added {
                    self.keep_beside("refused", bytes)?;
                    self.refuse_edit(journal, &file, edit, &reason)?;
                }
                Vec::new()
            }
            _ => commands(&self.news(edit), &file, &file),
        };
        let note = Note::Heard { file: file.clone(), shown, edit: key(edit) };
        wishes.push(Command::Note { by: file.clone(), note });
        let refusals = self.commit(journal, &wishes)?;
        if let Some(reason) = refusals.first() {
            self.keep_beside("refused", bytes)?;
            self.refuse_edit(journal, &file, edit, reason)?;
        }
        self.log_rejected(journal, &file, edit)?;
        self.refuse_overruled(journal, edit)?;
        if let (Some(task), What::Start | What::Retry { start: true }) = (&edit.task, &edit.what) {
            self.mark(journal, task)?;
        }
        Ok(())
    }

    /// Fields of others that are not shown, since the run has its own there.
    fn refuse_overruled(&mut self, journal: &mut Journal, edit: &Edit) -> Result<(), FilesError> {
        let What::Carried { fields } = &edit.what else { return Ok(()) };
        let picture = self.system.picture(&self.state, &self.chronicle, &self.place(), &self.claimed);
        let Some(picture) = picture else { return Ok(()) };
        for (what, why) in self.system.overruled(fields, &picture.value) {
            self.refuse(journal, &what, &why)?;
        }
        Ok(())
    }

    /// The edit without what was applied before: lists in the file only grow, and a copy may be edited twice.
    fn news(&self, edit: &Edit) -> Edit {
        let Some(id) = &edit.task else { return edit.clone() };
        let what = match &edit.what {
            What::Report { report } => What::Report { report: self.unheard(id, report) },
            What::Errors { errors } => {
                let known =
                    self.chronicle.task(id).map(|story| story.failures.as_slice()).unwrap_or_default();
                // An error of which only the failure is known so far counts as new: now its details are known.
                let is_known = |error: &ImportedError| {
                    let same = |failure: &Failure| {
                        failure.message == error.message
                            && failure.attempt == error.attempt
                            && !failure.kind.is_empty()
                    };
                    known.iter().any(same)
                };
                What::Errors { errors: errors.iter().filter(|error| !is_known(error)).cloned().collect() }
            }
            What::Failed { reason, report } => {
                What::Failed { reason: reason.clone(), report: self.unheard(id, report) }
            }
            what => what.clone(),
        };
        Edit { task: edit.task.clone(), what }
    }

    pub(super) fn unheard(&self, id: &TaskId, report: &Report) -> Report {
        let mut report = report.clone();
        if let Some(story) = self.chronicle.task(id) {
            report.commits.retain(|made| story.commits.iter().all(|known| known.hash != made.hash));
            if story.feedback.iter().any(|known| known.text == report.feedback) {
                report.feedback.clear();
            }
        }
        report
    }

    /// Remember the report of a claim: the file is written again while the checks run, and when the claim is refused,
    /// and the report would be lost.
    pub(super) fn remember(
        &mut self,
        journal: &mut Journal,
        id: &TaskId,
        report: &Report,
        file: &str,
    ) -> Result<(), FilesError> {
        let report = self.unheard(id, report);
        if report == Report::default() {
            return Ok(());
        }
        let note = Note::Told { task: id.clone(), report: Box::new(report) };
        self.commit(journal, &[Command::Note { by: file.to_owned(), note }]).map(drop)
    }
}
