//! The state of a checkout, read without touching it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;

use super::command::{Git, fields, lossy, oid, os};
use super::error::GitError;
use super::index::Entry;
use crate::disk;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// `None` on a branch without a commit.
    pub head: Option<Oid>,
    pub branch: Option<String>,
    /// Tracked paths that differ from HEAD, staged or not, with the unmerged ones.
    pub dirty: Vec<String>,
    pub untracked: Vec<String>,
    pub unmerged: Vec<String>,
    /// Other repositories inside: their content is in none of the lists above, nor in any commit of ours.
    pub nested: Vec<String>,
    /// Submodules with a checkout of their own.
    pub submodules: Vec<String>,
    /// The commit being merged.
    pub merge_head: Option<Oid>,
    /// The same paths as git has them.
    pub(super) raw: Vec<OsString>,
    /// Submodules, with a checkout or without.
    pub(super) gitlinks: Vec<OsString>,
}

impl Status {
    /// Whether a commit would take nothing.
    pub fn is_clean(&self) -> bool {
        self.dirty.is_empty() && self.untracked.is_empty() && self.merge_head.is_none()
    }
}

pub(super) fn read(git: &Git, top: &Utf8Path, git_dir: &Utf8Path) -> Result<Status, GitError> {
    let mut status = look(git, git_dir, &[])?;
    find_repositories(git, top, &mut status)?;
    Ok(status)
}

/// Without a search for other repositories. `paths`: only these, unless there are none.
pub(super) fn look(git: &Git, git_dir: &Utf8Path, paths: &[OsString]) -> Result<Status, GitError> {
    // The content of submodules is not looked at: that would run git in there, with its settings.
    let call = git.call([
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--untracked-files=all",
        "--ignore-submodules=dirty",
        "--no-renames",
    ]);
    let mut status = Status::parse(&call.arg("--").args(paths).bytes()?);
    status.merge_head = head_file(&git_dir.join("MERGE_HEAD"));
    Ok(status)
}

/// Tracked files that differ from HEAD, staged or not.
pub(super) fn changed(git: &Git) -> Result<Vec<String>, GitError> {
    let call =
        git.call(["status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=dirty"]);
    Ok(Status::parse(&call.arg("--no-renames").bytes()?).dirty)
}

impl Status {
    /// What `status --porcelain=v2 -z` lists.
    pub(super) fn parse(list: &[u8]) -> Status {
        let mut status = Status::default();
        for field in fields(list) {
            let (kind, rest) = (field.first(), field.get(2..).unwrap_or_default());
            match kind {
                Some(b'#') => {
                    let text = lossy(rest);
                    match text.split_once(' ') {
                        Some(("branch.oid", value)) => status.head = oid(value),
                        Some(("branch.head", value)) if value != "(detached)" => {
                            status.branch = Some(value.to_owned());
                        }
                        _ => {}
                    }
                }
                Some(b'1') => status.add_dirty(after(rest, 7)),
                Some(b'u') => {
                    let path = after(rest, 9);
                    status.unmerged.push(lossy(path));
                    status.add_dirty(path);
                }
                // Git names a folder here, with every file asked for, only when it is a repository.
                Some(b'?') if rest.ends_with(b"/") => status.nested.push(lossy(&rest[..rest.len() - 1])),
                Some(b'?') => {
                    status.untracked.push(lossy(rest));
                    status.raw.push(os(rest));
                }
                _ => {}
            }
        }
        status
    }

    fn add_dirty(&mut self, path: &[u8]) {
        self.dirty.push(lossy(path));
        self.raw.push(os(path));
    }
}

/// A `git init` in a folder with tracked files stays invisible to `git status`, and so do submodules.
fn find_repositories(git: &Git, top: &Utf8Path, status: &mut Status) -> Result<(), GitError> {
    let list = git.call(["ls-files", "--stage", "-z"]).bytes()?;
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    for entry in fields(&list).filter_map(Entry::parse) {
        let path = Path::new(&entry.path);
        if entry.mode == "160000" {
            if has_git(&top.as_std_path().join(path)) {
                status.submodules.push(path.to_string_lossy().into_owned());
            }
            status.gitlinks.push(entry.path);
            continue;
        }
        for folder in path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty()) {
            if !folders.insert(folder.to_owned()) {
                break;
            }
        }
    }
    let strays = folders.iter().filter(|folder| has_git(&top.as_std_path().join(folder)));
    status.nested.extend(strays.map(|folder| folder.to_string_lossy().into_owned()));
    Ok(())
}

fn has_git(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(".git")).is_ok()
}

/// What follows the `n`-th space.
fn after(field: &[u8], n: usize) -> &[u8] {
    field.splitn(n + 1, |byte| *byte == b' ').nth(n).unwrap_or_default()
}

/// A pseudo-ref such as `MERGE_HEAD`; its first line, should there be several.
fn head_file(path: &Utf8Path) -> Option<Oid> {
    heads_in(path).into_iter().next()
}

/// All of them: a merge may be of several.
pub(super) fn heads_in(path: &Utf8Path) -> Vec<Oid> {
    let text = disk::read_plain(path).unwrap_or_default();
    lossy(&text).lines().filter_map(oid).collect()
}

/// The operation a checkout is in the middle of, as people call it.
pub(super) fn operation(git_dir: &Utf8Path) -> Option<&'static str> {
    [
        ("MERGE_HEAD", "a merge"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase or am"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("sequencer", "a cherry-pick or revert"),
        ("BISECT_LOG", "a bisect"),
    ]
    .into_iter()
    .find(|(file, _)| git_dir.join(file).exists())
    .map(|(_, name)| name)
}

/// The git directories of all checkouts: the common one and one for each linked worktree.
pub(super) fn git_dirs(common: &Utf8Path) -> Vec<Utf8PathBuf> {
    let linked = common.join("worktrees").read_dir_utf8().into_iter().flatten();
    let linked = linked.filter_map(|entry| entry.ok().map(camino::Utf8DirEntry::into_path));
    std::iter::once(common.to_owned()).chain(linked).collect()
}
