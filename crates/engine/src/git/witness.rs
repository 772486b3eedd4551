//! What somebody who works in a repository should leave alone, seen before and after: refs, settings, hooks, the
//! checkout, and the files that tie a worktree to its repository.

use std::collections::BTreeMap;
use std::fs;

use camino::Utf8Path;
use piton_core::plan::{Digest, Oid};

use super::door::{lossy, oid};
use super::error::GitError;
use super::repo::Repo;
use super::status;
use super::worktree::Worktree;
use crate::disk;

/// The files in a worktree's git folder that say which repository it belongs to.
const TIES: [&str; 2] = ["commondir", "gitdir"];

impl Repo {
    /// Every ref, and where it is, as git says. See [`Repo::refs_in_files`], which is faster where it can tell.
    pub fn all_refs(&self) -> Result<BTreeMap<String, Oid>, GitError> {
        let list = self.git().call(["for-each-ref", "--format=%(objectname) %(refname)"]).bytes()?;
        let read = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            Some((name.to_owned(), oid(id)?))
        };
        Ok(lossy(&list).lines().filter_map(read).collect())
    }

    /// Put one ref back to where it was, or away if it was not there; only if it is still where it was found.
    pub fn put_back(&self, name: &str, was: Option<&Oid>, found: Option<&Oid>) -> Result<(), GitError> {
        let line = match (was, found) {
            (Some(was), Some(found)) => format!("update {name} {was} {found}\n"),
            (Some(was), None) => format!("create {name} {was}\n"),
            (None, Some(found)) => format!("delete {name} {found}\n"),
            (None, None) => return Ok(()),
        };
        self.write_refs(&line)
    }

    /// The files that decide what git does here and which programs it runs, by name, with a digest of each.
    pub fn settings_seen(&self) -> BTreeMap<String, Digest> {
        let mut seen = BTreeMap::new();
        let mut look = |name: String| {
            if let Ok(bytes) = disk::read_plain(&self.common_dir().join(&name)) {
                seen.insert(name, Digest::of_bytes(&bytes));
            }
        };
        for name in ["HEAD", "config", "config.worktree", "info/attributes"] {
            look(name.to_owned());
        }
        for entry in self.common_dir().join("hooks").read_dir_utf8().into_iter().flatten().flatten() {
            look(format!("hooks/{}", entry.file_name()));
        }
        seen
    }

    /// Files of the main checkout that differ from its commit, or are in none.
    pub fn changes_in_checkout(&self) -> Result<Vec<String>, GitError> {
        let Some(top) = self.main_checkout()? else { return Ok(Vec::new()) };
        let status = status::look(&self.git().at(&top), &top.join(".git"), &[])?;
        Ok(status.dirty.into_iter().chain(status.untracked).collect())
    }
}

impl Worktree {
    /// What ties it to its repository.
    pub fn ties(&self) -> BTreeMap<String, String> {
        let read = |name: &str, path: &Utf8Path| Some((name.to_owned(), fs::read_to_string(path).ok()?));
        let inside = TIES.iter().filter_map(|name| read(name, &self.git_dir().join(name)));
        inside.chain(read(".git", &self.path().join(".git"))).collect()
    }

    /// Tie it as before; says what had to be written. A git that followed other ties would run what they name.
    pub fn tie_again(&self, before: &BTreeMap<String, String>) -> Result<Vec<String>, GitError> {
        let now = self.ties();
        let mut written = Vec::new();
        for (name, text) in before.iter().filter(|(name, text)| now.get(*name) != Some(*text)) {
            let path = if name == ".git" { self.path().join(name) } else { self.git_dir().join(name) };
            if path.is_dir() && !path.is_symlink() {
                // Another repository, which capturing finds and names.
                continue;
            }
            disk::write(&path, text.as_bytes()).map_err(GitError::io(path))?;
            written.push(name.clone());
        }
        Ok(written)
    }
}
