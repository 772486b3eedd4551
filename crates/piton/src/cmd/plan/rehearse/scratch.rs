//! A clone to try things in, which is removed in the end.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::RepoPath;
use piton_engine::git::Repo;
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};

/// A folder with a clone of the project in it, and room beside that.
pub(super) struct Scratch {
    folder: Utf8PathBuf,
    /// Removes the folder; `None` if it is to stay.
    guard: Option<tempfile::TempDir>,
    pub(super) project: Project,
    /// The hooks that commits in the project run, where there are any.
    pub(super) hooks: Option<Utf8PathBuf>,
}

impl Scratch {
    /// `copy` are files that git does not have and that worktrees get.
    pub(super) fn make(
        repo: &Repo,
        project: &Project,
        target: &str,
        copy: &[RepoPath],
        keep: bool,
    ) -> Outcome<Scratch> {
        let made = tempfile::Builder::new().prefix("piton-rehearse-").tempdir();
        let made = made.map_err(Failure::io("cannot make a temporary folder"))?;
        let folder = Utf8PathBuf::from_path_buf(made.path().to_owned())
            .map_err(|path| Failure::new(format!("{} is not UTF-8", path.display())))?;
        let clone = folder.join(project.root.file_name().unwrap_or("project"));
        repo.clone_to(&clone, target)?;
        for file in copy {
            copy_file(&project.root.join(file.as_str()), &clone.join(file.as_str()))?;
        }
        let hooks = repo.hooks()?.filter(|folder| folder.is_dir());
        let guard = if keep {
            let _ = made.keep();
            None
        } else {
            Some(made)
        };
        let project = Project::around(&clone)?;
        Ok(Scratch { folder, guard, project, hooks })
    }

    /// A place beside the clone.
    pub(super) fn beside(&self, name: &str) -> Utf8PathBuf {
        self.folder.join(name)
    }

    /// Remove it, or say where it stays.
    pub(super) fn end(self) -> Option<Utf8PathBuf> {
        self.guard.is_none().then_some(self.folder)
    }
}

/// A file that is not there is not needed: that is how a run takes it, too.
fn copy_file(from: &Utf8Path, to: &Utf8Path) -> Outcome {
    if !from.is_file() {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).map_err(Failure::io(format!("cannot create {folder}")))?;
    }
    std::fs::copy(from, to).map(drop).map_err(Failure::io(format!("cannot copy {from}")))
}
