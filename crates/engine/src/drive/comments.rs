//! Comments of people on lines of a task's work, with where these lines are now.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Oid, RepoPath};
use piton_core::prompt::Commented;
use piton_core::run::{Comment, Event, Note, Run, Side, Task};

use crate::git::Repo;
use crate::journal::{Journal, JournalError};
use crate::project::Project;

/// A file beyond this is not compared: nobody comments on its lines.
const LARGEST: u64 = 4 << 20;

/// Those that its next agent has to read.
pub(super) fn gather(
    journal: &Journal,
    project: &Project,
    run: &Run,
    task: &Task,
) -> Result<Vec<Commented>, JournalError> {
    let mut found = Vec::new();
    for seq in &task.progress.comments {
        if let Some(recorded) = journal.event(&run.id, *seq)?
            && let Event::Noted { by, note: Note::Commented { comment, .. } } = recorded.event
        {
            found.push((by, *comment));
        }
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let now = Now::of(project, run, task);
    Ok(found
        .into_iter()
        .map(|(by, comment)| {
            let place =
                comment.place(now.content_of(&comment.blob).as_deref(), now.version(&comment).as_deref());
            Commented { by, comment, place }
        })
        .collect())
}

/// What the next agent finds.
struct Now {
    repo: Option<Repo>,
    /// Its worktree, if that exists.
    worktree: Option<Utf8PathBuf>,
    /// What was captured of the work last, and where it began.
    work: Option<Oid>,
    base: Option<Oid>,
}

impl Now {
    fn of(project: &Project, run: &Run, task: &Task) -> Now {
        let place = run.settings.worktree.place(&task.id);
        let worktree = match &run.worktree_dir {
            Some(dir) => project.worktree_path_if_owned(&run.id, dir.as_str().into(), place),
            None => Some(project.root.clone()),
        };
        Now {
            repo: project.repo_or_store().ok().flatten().cloned(),
            worktree: worktree.filter(|path| path.exists()),
            work: task.progress.commit.clone().or_else(|| task.progress.tree.clone()),
            base: task.progress.base.clone(),
        }
    }

    fn content_of(&self, blob: &Oid) -> Option<String> {
        self.repo.as_ref()?.text_of(blob)
    }

    fn version(&self, comment: &Comment) -> Option<String> {
        match comment.side {
            Side::New => match &self.worktree {
                Some(worktree) => read(&worktree.join(comment.file.as_str())),
                None => self.at(self.work.as_ref(), &comment.file),
            },
            Side::Old => self.at(self.base.as_ref(), &comment.file),
        }
    }

    fn at(&self, tree: Option<&Oid>, file: &RepoPath) -> Option<String> {
        let repo = self.repo.as_ref()?;
        let mut files: BTreeMap<String, Oid> = repo.files_at(tree?, file).ok()?;
        repo.text_of(&files.remove(file.as_str())?)
    }
}

/// An agent can put a link where the file was: that is not followed.
fn read(path: &Utf8Path) -> Option<String> {
    let facts = path.symlink_metadata().ok()?;
    if !facts.is_file() || facts.len() > LARGEST {
        return None;
    }
    std::fs::read_to_string(path).ok()
}
