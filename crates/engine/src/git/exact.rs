//! Worktrees in which nobody but checks works. Each is brought to exactly one commit, and compared with it, by an index
//! and settings that only this room writes: what git is told about a file elsewhere does not count here.

use std::fs::{self, File};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Digest, Oid};

use super::command::Call;
use super::error::GitError;
use super::repo::Repo;
use super::status::Status;
use super::view::View;
use super::worktree::{Worktree, remove_if_there};
use crate::disk;

/// What decides whether git takes a file for unchanged, or leaves it out. They win over every file of settings.
const PINNED: [&str; 5] = [
    "core.trustctime=true",
    "core.checkStat=default",
    "core.ignoreStat=false",
    "core.sparseCheckout=false",
    "core.untrackedCache=false",
];
/// The same where the file system keeps modes and links.
const MODES: [&str; 2] = ["core.fileMode=true", "core.symlinks=true"];
/// Where our indexes are, in Piton's folder. The one in a worktree's git folder is a copy, for the git of those who run in
/// there: a reviewer could write to it.
const INDEXES: &str = "indexes";
/// What was last run in there, and for what it was set up.
const LAST: &str = "piton-last";
const SET_UP: &str = "piton-set-up";
/// How git wrote its files besides what is committed.
const CONVERSION: &str = "piton-conversion";

/// What becomes of ignored files when a worktree is made exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    Stay,
    Go,
}

/// Whether modes and links of files are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modes {
    Compared,
    /// The file system does not keep them.
    Ignored,
}

#[derive(Debug)]
pub struct ExactWorktree {
    worktree: Worktree,
    modes: Modes,
}

/// How a worktree differs from the commit it was brought to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Deviation {
    /// Tracked files that are not as the commit has them.
    pub changed: Vec<String>,
    pub is_elsewhere: bool,
    /// Files that are neither tracked nor ignored.
    pub has_more: bool,
}

impl ExactWorktree {
    /// The one at `path`, made at `commit` if there is none that was finished for `owner`. Nobody may be at work in it; what
    /// it holds is of no value.
    pub fn add(repo: &Repo, path: &Utf8Path, commit: &Oid, owner: &str) -> Result<ExactWorktree, GitError> {
        make_indexes(repo)?;
        let found = Worktree::open(repo, path)?.filter(|found| found.is_for(owner) && found.is_whole());
        let worktree = if let Some(worktree) = found {
            if !worktree.is_ready() {
                // What it holds since the machine started says nothing about what ran in there before.
                remove_if_there(&worktree.git_dir().join(LAST))?;
                remove_if_there(&index_of(repo, worktree.git_dir()))?;
                worktree.break_stale_lock()?;
            }
            worktree
        } else {
            Worktree::remove_own(repo, path)?;
            let conversion = repo.conversion();
            let worktree = Worktree::add(repo, path, commit)?.worktree;
            copy_with_age(&worktree.git_dir().join("index"), &index_of(repo, worktree.git_dir()))?;
            note(&worktree, CONVERSION, conversion.as_str())?;
            worktree
        };
        worktree.make_ready(owner)?;
        Ok(ExactWorktree::over(worktree))
    }

    /// One that is there.
    pub(super) fn over(worktree: Worktree) -> ExactWorktree {
        let modes = if keeps_modes(worktree.path()) { Modes::Compared } else { Modes::Ignored };
        ExactWorktree { worktree, modes }
    }

    /// Remember its index as the one that knows its files. Nobody may have worked in it since git wrote them.
    pub(super) fn remember_index(worktree: &Worktree) -> Result<(), GitError> {
        make_indexes(worktree.repo())?;
        copy_with_age(&worktree.git_dir().join("index"), &index_of(worktree.repo(), worktree.git_dir()))
    }

    pub fn path(&self) -> &Utf8Path {
        self.worktree.path()
    }

    /// Bring it to `commit`, on a detached HEAD. Whatever else was there is gone, but for ignored files if they may
    /// stay.
    pub fn make_exact(&self, commit: &Oid, ignored: Ignored) -> Result<(), GitError> {
        let (view, conversion) = (self.quiet_view()?, self.worktree.repo().conversion());
        if self.index().is_file() && !self.keeps_conversion(&view, commit, &conversion)? {
            self.distrust_files(&view)?;
        }
        self.reset(&view, commit)?;
        self.note(CONVERSION, conversion.as_str())?;
        // Twice: also other repositories, which a test may have made.
        let clean = self.call(&view, ["clean", "--quiet", "-d", "--force", "--force"]);
        match ignored {
            Ignored::Stay => clean.run()?,
            Ignored::Go => clean.arg("-x").run()?,
        }
        self.conclude(commit)
    }

    /// A view of it, with nothing left of what was under way in there.
    pub(super) fn quiet_view(&self) -> Result<View, GitError> {
        let worktree = &self.worktree;
        worktree.break_stale_lock()?;
        worktree.quit_operation()?;
        for file in ["config.worktree", "info/sparse-checkout"] {
            remove_if_there(&worktree.git_dir().join(file))?;
        }
        // Of a git that was killed.
        remove_if_there(&Utf8PathBuf::from(format!("{}.lock", self.index())))?;
        worktree.view()
    }

    /// Bring the tracked files to `commit`. What is not tracked stays.
    pub(super) fn reset(&self, view: &View, commit: &Oid) -> Result<(), GitError> {
        let reset = self.call(view, ["reset", "--quiet", "--hard", commit.as_str()]);
        // Attributes that somebody left there are not the commit's. Git looks at this from 2.41 on.
        reset.env("GIT_ATTR_SOURCE", commit.as_str()).run()
    }

    /// Whether git would write the files that are there as it did, as far as they are the same in `commit`.
    fn keeps_conversion(&self, view: &View, commit: &Oid, conversion: &Digest) -> Result<bool, GitError> {
        if self.noted(CONVERSION).is_none_or(|noted| noted != conversion.as_str()) {
            return Ok(false);
        }
        let differ = ["diff-index", "--cached", "--quiet", commit.as_str(), "--", ":(glob)**/.gitattributes"];
        self.call(view, differ).env("GIT_LITERAL_PATHSPECS", "0").yes()
    }

    /// Have the next reset write every file again: an index that was read from a tree knows no file's time. If that reset is
    /// killed, the next one sees by the index or by the note that it was not finished.
    fn distrust_files(&self, view: &View) -> Result<(), GitError> {
        let tree = self.call(view, ["write-tree"]).oid()?;
        self.call(view, ["read-tree", tree.as_str()]).run()
    }

    /// Make a commit whose files are there its HEAD, with the index that knows them.
    pub(super) fn conclude(&self, commit: &Oid) -> Result<(), GitError> {
        self.worktree.end_operation()?;
        self.worktree.set_head(commit)?;
        self.publish_index()
    }

    /// Forget what is known of its files.
    pub(super) fn forget_index(&self) -> Result<(), GitError> {
        make_indexes(self.worktree.repo())?;
        remove_if_there(&self.index()).map(drop)
    }

    /// Give those who work there a copy of the index.
    pub(super) fn publish_index(&self) -> Result<(), GitError> {
        copy_with_age(&self.index(), &self.worktree.git_dir().join("index"))
    }

    pub(super) fn index(&self) -> Utf8PathBuf {
        index_of(self.worktree.repo(), self.worktree.git_dir())
    }

    /// How it differs from `commit` now.
    pub fn deviation(&self, commit: &Oid) -> Result<Deviation, GitError> {
        let status = self.status(&[])?;
        // Another commit of the same tree will do: an engine that takes over a check merges again.
        let is_elsewhere = match &status.head {
            Some(head) if head == commit => false,
            Some(head) => self.worktree.repo().tree_of(head)? != self.worktree.repo().tree_of(commit)?,
            None => true,
        };
        Ok(Deviation {
            is_elsewhere,
            has_more: !status.untracked.is_empty() || !status.nested.is_empty(),
            changed: status.dirty,
        })
    }

    pub(super) fn status(&self, more: &[&str]) -> Result<Status, GitError> {
        self.status_in(&self.worktree.view()?, more)
    }

    pub(super) fn status_in(&self, view: &View, more: &[&str]) -> Result<Status, GitError> {
        let call = self.call(view, ["status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"]);
        let call = call.args(["--ignore-submodules=dirty", "--no-renames"]).args(more);
        Ok(Status::parse(&call.bytes()?))
    }

    pub(super) fn call<'a>(&self, view: &'a View, args: impl IntoIterator<Item = &'a str>) -> Call<'a> {
        let mut call = view.git().call(args);
        for setting in settings(self.modes) {
            call = call.global("-c").global(setting);
        }
        call.env("GIT_INDEX_FILE", self.index().as_str())
    }

    /// Write down what is about to run in there, or what it was set up for.
    pub fn note_last(&self, what: &str) -> Result<(), GitError> {
        self.note(LAST, what)
    }

    pub fn note_set_up(&self, what: &str) -> Result<(), GitError> {
        self.note(SET_UP, what)
    }

    /// What was last run in there.
    pub fn last(&self) -> Option<String> {
        last(&self.worktree)
    }

    pub fn is_set_up(&self, what: &str) -> bool {
        self.noted(SET_UP).is_some_and(|text| text == what)
    }

    fn noted(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.worktree.git_dir().join(name)).ok()
    }

    fn note(&self, name: &str, text: &str) -> Result<(), GitError> {
        note(&self.worktree, name, text)
    }
}

fn note(worktree: &Worktree, name: &str, text: &str) -> Result<(), GitError> {
    let path = worktree.git_dir().join(name);
    if path.is_symlink() {
        // It would be followed.
        remove_if_there(&path)?;
    }
    fs::write(&path, text).map_err(GitError::io(path))
}

/// What decides whether git takes a file for unchanged.
pub(super) fn settings(modes: Modes) -> impl Iterator<Item = &'static str> {
    let modes = if modes == Modes::Compared { &MODES[..] } else { &[] };
    PINNED.iter().chain(modes).copied()
}

/// What was last run in a worktree of this kind, if it is one. Looks only.
pub fn last_in(repo: &Repo, path: &Utf8Path) -> Result<Option<String>, GitError> {
    Ok(Worktree::open(repo, path)?.as_ref().and_then(last))
}

fn last(worktree: &Worktree) -> Option<String> {
    fs::read_to_string(worktree.git_dir().join(LAST)).ok()
}

fn make_indexes(repo: &Repo) -> Result<(), GitError> {
    let folder = repo.piton_dir().join(INDEXES);
    disk::private_folder(&folder).map_err(GitError::io(folder))
}

fn index_of(repo: &Repo, entry: &Utf8Path) -> Utf8PathBuf {
    repo.piton_dir().join(INDEXES).join(entry.file_name().unwrap_or_default())
}

/// Remove the index of a worktree that goes.
pub(super) fn forget(repo: &Repo, entry: &Utf8Path) -> Result<(), GitError> {
    remove_if_there(&index_of(repo, entry)).map(drop)
}

/// The age of an index tells git which files may have changed in the very moment it was written.
pub(super) fn copy_with_age(from: &Utf8Path, to: &Utf8Path) -> Result<(), GitError> {
    // A link there would be followed.
    remove_if_there(to)?;
    fs::copy(from, to).map_err(GitError::io(from))?;
    let age = fs::metadata(from).and_then(|meta| meta.modified());
    let set = |age| File::options().write(true).open(to)?.set_modified(age);
    age.and_then(set).map_err(GitError::io(to))
}

/// Whether the file system keeps what git calls a mode, tried on a file that git does not look at.
#[cfg(unix)]
fn keeps_modes(worktree: &Utf8Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let file = worktree.join(".git");
    let Ok(before) = fs::metadata(&file).map(|meta| meta.permissions()) else { return true };
    let takes = |mode: u32| {
        let set = fs::set_permissions(&file, fs::Permissions::from_mode(mode));
        set.and_then(|()| fs::metadata(&file))
            .is_ok_and(|meta| meta.permissions().mode() & 0o100 == mode & 0o100)
    };
    let keeps = takes(0o744) && takes(0o644);
    // It is ours, and its mode tells nobody anything.
    let _ = fs::set_permissions(&file, before);
    keeps
}

#[cfg(not(unix))]
fn keeps_modes(_: &Utf8Path) -> bool {
    false
}
