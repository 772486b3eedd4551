//! Which run owns a state file: most files lie beside their plan, some exist once per project.

use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::RunId;
use piton_core::system::{SystemRef, state_files};

use super::mirror::{Aide, FilesError, Mirror, read};
use crate::journal::Journal;
use crate::lock::Lock;
use crate::project::Project;

/// The right to work on a plan whose system has one state file for a whole project: it shows one plan at a time. `Ok(None)`
/// where each plan has its own. Otherwise the plan that an engine works on, if it has said so yet.
pub fn alone(
    project: &Project,
    system: SystemRef,
    plan: &Utf8Path,
) -> io::Result<Result<Option<Lock>, Utf8PathBuf>> {
    if !system.files().of_project {
        return Ok(Ok(None));
    }
    let path = project.home.join(format!("locks/engine-{}.lock", system.name()));
    match Lock::try_take(&path)? {
        Some(lock) => {
            fs::write(&path, plan.as_str())?;
            Ok(Ok(Some(lock)))
        }
        None => Ok(Err(Utf8PathBuf::from(fs::read_to_string(&path)?))),
    }
}

impl Mirror {
    /// The state file of a run, if its system keeps one and no other run has taken it over.
    pub fn open_owned(
        project: &Project,
        journal: &mut Journal,
        run: &RunId,
    ) -> Result<Option<Mirror>, FilesError> {
        let mirror = Mirror::open(project, journal, run)?;
        Ok(match mirror {
            Some(mirror) if mirror.owner(journal)?.as_ref() == Some(run) => Some(mirror),
            _ => None,
        })
    }

    /// The same for a run that is worked on from now on. Edits for the run that had the file before are applied a last time.
    pub fn taken(
        project: &Project,
        journal: &mut Journal,
        aide: &mut dyn Aide,
        run: &RunId,
    ) -> Result<Option<Mirror>, FilesError> {
        let Some(mirror) = Mirror::open(project, journal, run)? else { return Ok(None) };
        match mirror.owner(journal)? {
            Some(other) if other != *run && mirror.system.files().of_project => {
                if let Some(mut theirs) = Mirror::open(project, journal, &other)? {
                    theirs.settle(journal, aide)?;
                }
                Ok(Some(mirror))
            }
            Some(other) if other != *run => Ok(None),
            _ => Ok(Some(mirror)),
        }
    }

    /// The run that the file is of: the newest one of the plan. One file for all plans is of the run that it shows.
    fn owner(&self, journal: &Journal) -> Result<Option<RunId>, FilesError> {
        let plan = self.plan.as_str();
        if !self.system.files().of_project {
            return Ok(journal.runs()?.into_iter().find(|other| other.plan == plan).map(|other| other.id));
        }
        // A file that cannot be read shows no run. The error is reported when the file is written.
        let shown = read(&self.path).ok().flatten().and_then(|bytes| state_files::parse(&bytes).ok());
        let shown = shown.as_ref().and_then(|(file, _)| RunId::new(file.get("piton_run")?.as_str()?).ok());
        let is_ours = |run: &RunId| -> Result<bool, FilesError> {
            Ok(journal.facts(run)?.is_some_and(|facts| facts.settings.system() == self.system))
        };
        if let Some(shown) = shown
            && is_ours(&shown)?
        {
            return Ok(Some(shown));
        }
        for other in journal.runs()? {
            if is_ours(&other.id)? {
                return Ok(Some(other.id));
            }
        }
        Ok(None)
    }
}
