//! How Piton looks at a worktree that an agent works in: by a git directory of its own.
//!
//! An agent can write to its worktree's git directory. Settings there (`config.worktree`) name programs, `commondir`
//! names another repository, and a link in the place of a file that git writes leads to another file. So Piton never
//! runs git with that directory. Each look has a folder of its own for a git directory, with a copy of HEAD and of the
//! index. Settings, refs and objects are those of the repository. What has to change in the worktree's git directory is
//! put there afterwards, file by file, and no link is followed.

use std::ffi::OsString;
use std::fs;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;

use super::command::Git;
use super::error::GitError;
use super::index::{Scratch, TempIndex};
use super::repo::{self, Repo};
use super::status::{self, Status};
use super::worktree::{Worktree, entry_around, remove_if_there};
use crate::disk;

/// What an unfinished merge, pick or revert consists of, in the order in which it may go. The first one says that there
/// is a merge, so it is put in place last.
pub(super) const OPERATION: [&str; 10] = [
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "MERGE_AUTOSTASH",
    "SQUASH_MSG",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
];
/// What a rebase or a series of picks consists of.
pub(super) const SERIES: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];
/// Where a git keeps the larger part of an index that is split.
const SHARED_INDEX: &str = "sharedindex.";

/// One look at a worktree.
pub(super) struct View {
    git: Git,
    index: TempIndex,
    /// Its git directory; the index is in there as well.
    scratch: Arc<Scratch>,
}

impl View {
    pub(super) fn make(worktree: &Worktree, head: Option<&Oid>) -> Result<View, GitError> {
        let (repo, entry) = (worktree.repo(), worktree.git_dir());
        let scratch = Arc::new(Scratch::make(repo)?);
        let own = scratch.path();
        let git = repo.git().in_place(worktree.path(), own, repo.common_dir(), &own.join("index"));
        set_head(repo, &git, own, head)?;
        // git-lfs reads only this file.
        let common = own.join("commondir");
        disk::fill(&common, repo.common_dir().as_str().as_bytes()).map_err(GitError::io(common))?;
        // The person's settings for their own worktree, such as filters: git gives a new worktree the same.
        link(&repo.common_dir().join("config.worktree"), &own.join("config.worktree"))?;
        let sparse = entry.join("info/sparse-checkout");
        if sparse.is_file() {
            let info = own.join("info");
            fs::create_dir(&info).map_err(GitError::io(&info))?;
            link(&sparse, &info.join("sparse-checkout"))?;
        }
        for found in entry.read_dir_utf8().map_err(GitError::io(entry))?.flatten() {
            if found.file_name().starts_with(SHARED_INDEX) {
                link(found.path(), &own.join(found.file_name()))?;
            }
        }
        let index = entry.join("index");
        if index.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
            return Err(GitError::Swapped { path: index, why: "it is not a file".to_owned() });
        }
        let index = TempIndex::copy_in(Arc::clone(&scratch), &git, entry)?;
        Ok(View { git, index, scratch })
    }

    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// A copy of the worktree's index, as it was when the look began.
    pub(super) fn index(&self) -> &TempIndex {
        &self.index
    }

    /// Its own git directory.
    pub(super) fn path(&self) -> &Utf8Path {
        self.scratch.path()
    }

    pub(super) fn status(&self, worktree: &Worktree) -> Result<Status, GitError> {
        let mut status = status::read(&self.git, worktree.path(), worktree.git_dir())?;
        status.branch = worktree.branch()?;
        Ok(status)
    }
}

impl Worktree {
    /// The tree of what it holds now, tracked and untracked but not ignored. An agent may be at work in it. Nothing, if that
    /// would be more than so many files, or so many bytes of them, to read and write.
    pub fn tree_now(&self, most_files: usize, most_bytes: u64) -> Result<Option<Oid>, GitError> {
        self.check_own()?;
        let view = self.view()?;
        let status = view.status(self)?;
        if let Some(head) = status.head.as_ref().filter(|_| status.is_clean()) {
            return self.repo().tree_of(head).map(Some);
        }
        let size = |path: &OsString| {
            fs::symlink_metadata(self.path().as_std_path().join(path)).map_or(0, |meta| meta.len())
        };
        if status.raw.len() > most_files || status.raw.iter().map(size).sum::<u64>() > most_bytes {
            return Ok(None);
        }
        view.index().add_all(&status)?;
        view.index().write_tree().map(Some)
    }

    pub(super) fn view(&self) -> Result<View, GitError> {
        View::make(self, self.head()?.as_ref())
    }

    /// As if it were at this commit.
    pub(super) fn view_at(&self, commit: &Oid) -> Result<View, GitError> {
        View::make(self, Some(commit))
    }

    /// The branch that it is on, if it is on one.
    fn branch(&self) -> Result<Option<String>, GitError> {
        let name = |head: &str| head.strip_prefix("refs/heads/").unwrap_or(head).to_owned();
        let file = self.git_dir().join("HEAD");
        if !self.repo().has_reftable() && file.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
            let head = fs::read_to_string(&file).map_err(GitError::io(file))?;
            return Ok(head.strip_prefix("ref:").map(|head| name(head.trim())));
        }
        let head = format!("worktrees/{}/HEAD", self.git_dir().file_name().unwrap_or_default());
        let answer = self.repo().git().call(["symbolic-ref", "--quiet", &head]).answer()?;
        Ok((answer.code == Some(0)).then(|| name(String::from_utf8_lossy(&answer.stdout).trim_end())))
    }

    /// Detach its HEAD at a commit. No agent may be at work in it.
    pub(super) fn set_head(&self, commit: &Oid) -> Result<(), GitError> {
        let entry = self.git_dir();
        // Git appends to the log, and would follow a link.
        for log in ["logs", "logs/HEAD"] {
            if entry.join(log).is_symlink() {
                remove_if_there(&entry.join(log))?;
            }
        }
        if self.repo().has_reftable() {
            // With reftable, git does not say whose HEAD it would set from another git directory, so it runs with this
            // one. `update-ref` starts no other programs.
            let (common, index) = (self.repo().common_dir(), entry.join("index"));
            let git = self.repo().git().in_place(self.path(), entry, common, &index);
            return git.call(["update-ref", "--no-deref", "-m", "piton", "HEAD", commit.as_str()]).run();
        }
        let name = entry.file_name().unwrap_or_default();
        self.repo().write_refs(&format!("option no-deref\nupdate worktrees/{name}/HEAD {commit}\n"))
    }

    /// Give the worktree the state of a view: its index, and a merge that was begun.
    pub(super) fn take_over(&self, view: &View) -> Result<(), GitError> {
        view.index().keep(self.git_dir()).map_err(GitError::io(self.git_dir()))?;
        for file in OPERATION.iter().rev() {
            if let Ok(bytes) = fs::read(view.path().join(file)) {
                let place = self.git_dir().join(file);
                disk::replace(&place, &bytes).map_err(GitError::io(place))?;
            }
        }
        Ok(())
    }

    /// Forget a merge, pick or revert that is concluded, or whose files are gone.
    pub(super) fn end_operation(&self) -> Result<(), GitError> {
        OPERATION.iter().try_for_each(|file| remove_if_there(&self.git_dir().join(file)).map(drop))
    }

    /// Forget a rebase or a series of picks that an agent left unfinished, keeping files and HEAD.
    pub(super) fn quit_operation(&self) -> Result<(), GitError> {
        for name in SERIES {
            let path = self.git_dir().join(name);
            match path.symlink_metadata() {
                Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path).map_err(GitError::io(path))?,
                Ok(_) => drop(remove_if_there(&path)?),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// A checkout of a repository, and how git is to look at it.
pub(super) struct Inside {
    pub(super) git: Git,
    pub(super) top: Utf8PathBuf,
    pub(super) git_dir: Utf8PathBuf,
    /// The folder of the git directory goes with it.
    _view: Option<View>,
}

impl Repo {
    /// How to look at the checkout that `path` is in. Of the repository's checkouts only the one that Piton was started in
    /// is looked at as git would; in all others an agent may work.
    pub(super) fn inside(&self, path: &Utf8Path) -> Result<Inside, GitError> {
        let whole = repo::real(path)?;
        if !self.is_own()
            && let Some((top, entry)) = entry_around(self, &whole)
            && entry != self.git_dir()
        {
            let worktree = Worktree::registered(self, &top, entry);
            worktree.check_place()?;
            let view = worktree.view()?;
            let (git, git_dir) = (view.git().clone(), worktree.git_dir().to_owned());
            return Ok(Inside { git, top, git_dir, _view: Some(view) });
        }
        let (git, top, git_dir) = (self.git().clone(), self.top().to_owned(), self.git_dir().to_owned());
        if whole.starts_with(&top) {
            return Ok(Inside { git, top, git_dir, _view: None });
        }
        let Some(top) = self.main_checkout()?.filter(|top| whole.starts_with(top)) else {
            return Err(GitError::NotARepository { path: whole });
        };
        let git_dir = self.common_dir().to_owned();
        let git = self.git().in_place(&top, &git_dir, &git_dir, &git_dir.join("index"));
        Ok(Inside { git, top, git_dir, _view: None })
    }

    pub(super) fn has_reftable(&self) -> bool {
        self.common_dir().join("reftable").exists()
    }
}

/// Give a git directory of ours a HEAD.
fn set_head(repo: &Repo, git: &Git, own: &Utf8Path, commit: Option<&Oid>) -> Result<(), GitError> {
    // Without a HEAD, git does not recognize a git directory. No branch has this name.
    let text = commit.map_or_else(|| "ref: refs/heads/.none".to_owned(), Oid::to_string);
    let file = own.join("HEAD");
    fs::write(&file, format!("{text}\n")).map_err(GitError::io(file))?;
    match commit {
        Some(commit) if repo.has_reftable() => {
            let folder = own.join("reftable");
            fs::create_dir(&folder).map_err(GitError::io(folder))?;
            git.call(["update-ref", "--no-deref", "HEAD", commit.as_str()]).run()
        }
        _ => Ok(()),
    }
}

/// Make a link, whether or not its target exists.
pub(super) fn link(to: &Utf8Path, at: &Utf8Path) -> Result<(), GitError> {
    #[cfg(unix)]
    let linked = std::os::unix::fs::symlink(to, at);
    #[cfg(not(unix))]
    let linked = fs::copy(to, at).map(drop).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    });
    linked.map_err(GitError::io(at))
}
