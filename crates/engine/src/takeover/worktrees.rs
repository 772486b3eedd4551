//! Worktrees that a run takes over. A resumed task must find its worktree as it was, with its branch. Repeating this
//! changes nothing.

use camino::Utf8Path;
use piton_core::plan::{Oid, RunId};
use piton_core::system::kit::takeover::Belief;

use crate::git::{GitError, RefChange, Repo, Worktree};
use crate::project::Project;
use crate::slots;

/// Give a run the worktrees of the tasks that it resumes.
pub fn adopt(project: &Project, repo: &Repo, run: &RunId, beliefs: &[Belief]) -> Result<(), AdoptError> {
    for belief in beliefs {
        let work = belief.past.as_ref().and_then(|past| past.work.as_ref()?.commit.clone());
        let mut head = work.clone();
        if let Some(path) = belief.worktree.as_deref().map(Utf8Path::new) {
            let given = project.give_worktree(path, run);
            given.map_err(|source| AdoptError::Worktree { path: path.to_string(), source })?;
            if let Some(worktree) = Worktree::open(repo, &slots::place_of(project, path))? {
                worktree.make_ready(&format!("{run}/{}", belief.task))?;
                worktree.detach()?;
                head = worktree.head()?;
            }
        }
        let pin = |what: &str, commit: &Oid| RefChange::pin(&format!("{run}/{what}/{}", belief.task), commit);
        let mut pins = Vec::new();
        if let Some(work) = &work {
            pins.push(pin("captured", work)?);
        }
        let branch = repo.branch_tip(&format!("worktree-{}", belief.task))?;
        if let Some(tip) = branch.filter(|tip| Some(tip) == head.as_ref()) {
            pins.push(pin("shown", &tip)?);
        }
        repo.change_refs(&pins)?;
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    #[error("cannot take over {path}")]
    Worktree { path: String, source: std::io::Error },
    #[error(transparent)]
    Git(#[from] GitError),
}
