//! Files that show the state of a task: those it should make, and what other systems wrote about their work.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Oid, RepoPath, TaskId};
use piton_core::system::kit::takeover::{Files, Onto};
use piton_core::system::kit::text;

use crate::git::{GitError, Repo};
use crate::project::Project;

/// The first missing file of each task, and the branch it should be on.
pub(super) fn look_for(
    project: &Project,
    files: &Files,
) -> Result<(BTreeMap<TaskId, String>, Onto), GitError> {
    let mut ground = Ground::Folder(project.root.clone());
    let mut onto = Onto::Nowhere;
    if let (Some(repo), Some(branch)) = (project.repo()?, files.onto.as_deref()) {
        let tip = repo.branch_tip(branch)?;
        onto = tip.clone().map_or(Onto::Missing, Onto::At);
        if let Some(tip) = tip {
            let checkout = repo.checked_out_at(branch)?.filter(|path| path.is_dir());
            ground = checkout.map_or(Ground::Tip(repo, tip), Ground::Folder);
        }
    }
    let mut missing = BTreeMap::new();
    for (task, files_of) in &files.of {
        for file in files_of {
            if !ground.has(file, files.may_be_empty)? {
                missing.insert(task.clone(), file.clone());
                break;
            }
        }
    }
    Ok((missing, onto))
}

/// What the next task begins with; files of earlier tasks have to be in it.
enum Ground<'a> {
    /// The branch is checked out there, or will be made from what is checked out there.
    Folder(Utf8PathBuf),
    Tip(&'a Repo, Oid),
}

impl Ground<'_> {
    /// A name that is not a path of the project cannot be looked for.
    fn has(&self, file: &str, may_be_empty: bool) -> Result<bool, GitError> {
        let Ok(path) = RepoPath::new(file) else { return Ok(true) };
        Ok(match self {
            Ground::Folder(folder) if may_be_empty => folder.join(path.as_str()).exists(),
            Ground::Folder(folder) => {
                let path = folder.join(path.as_str());
                path.is_dir() || path.metadata().is_ok_and(|data| data.len() > 0)
            }
            Ground::Tip(repo, tip) => repo.has(tip, path.as_str())?,
        })
    }
}

/// The text of a file; empty if it does not exist.
pub fn text_of(path: &Utf8Path) -> String {
    std::fs::read(path).map(|bytes| text::decode(&bytes).text).unwrap_or_default()
}

/// A file of every folder in an archive, each with the name of its folder, in their order.
pub fn archived(archive: &Utf8Path, file: &str) -> Vec<(String, String)> {
    let entries = archive.read_dir_utf8().into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path().to_owned()).collect();
    folders.sort();
    let told = |folder: &Utf8PathBuf| {
        (folder.file_name().unwrap_or_default().to_owned(), text_of(&folder.join(file)))
    };
    folders.iter().map(told).collect()
}
