//! What an agent in a repository should leave alone, compared before and after: refs, settings, hooks, the
//! checkout, and the files that tie a worktree to its repository.

use std::collections::BTreeMap;
use std::fs;
use std::time::UNIX_EPOCH;

use camino::Utf8Path;
use piton_core::plan::{Digest, Oid};
use serde::{Deserialize, Serialize};

use super::command::{lossy, oid};
use super::error::GitError;
use super::repo::Repo;
use super::status;
use super::worktree::{Worktree, points_to};
use crate::disk;

/// The files in a worktree's git folder that say which repository it belongs to.
const TIES: [&str; 2] = ["commondir", "gitdir"];
/// Of a larger file only size and time are looked at.
const LARGEST: u64 = 4 * 1024 * 1024;
/// At most so much is read of all files together; of the rest, again only size and time.
const MOST: u64 = 64 * 1024 * 1024;

/// The files of the main checkout that differ from its commit.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Uncommitted {
    head: Option<Oid>,
    /// Files that differ from that commit, or are untracked; `None` for a deleted file.
    changed: BTreeMap<String, Option<Look>>,
}

impl Uncommitted {
    pub fn has_changed(&self, name: &str) -> bool {
        self.changed.contains_key(name)
    }
}

/// What a file was like.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Look {
    size: u64,
    /// When it was written, in nanoseconds.
    time: u64,
    digest: Option<Digest>,
}

impl Look {
    /// `left`: how much may still be read.
    fn at(path: &Utf8Path, left: &mut u64) -> Option<Look> {
        let data = fs::symlink_metadata(path).ok()?;
        let time = data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let size = data.len();
        let digest = if data.is_symlink() {
            fs::read_link(path).ok().map(|to| Digest::of_bytes(to.as_os_str().as_encoded_bytes()))
        } else if data.is_file() && size <= LARGEST && size <= *left {
            *left -= size;
            fs::read(path).ok().map(|bytes| Digest::of_bytes(&bytes))
        } else {
            None
        };
        Some(Look { size, time: time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(0)), digest })
    }

    fn is_same(one: Option<&Look>, other: Option<&Look>) -> bool {
        match (one, other) {
            (Some(Look { digest: Some(one), .. }), Some(Look { digest: Some(other), .. })) => one == other,
            (Some(one), Some(other)) => (one.size, one.time) == (other.size, other.time),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Changed,
    /// It is again as in its commit, and its changes are lost.
    PutBack,
    Removed,
}

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

    /// Put one ref back to where it was, or delete it if it did not exist; only if it is still where it was found.
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
            // An example hook never runs.
            if !entry.file_name().ends_with(".sample") {
                look(format!("hooks/{}", entry.file_name()));
            }
        }
        seen
    }

    /// What the main checkout has that is in no commit.
    pub fn uncommitted(&self) -> Result<Uncommitted, GitError> {
        let Some(top) = self.main_checkout()? else { return Ok(Uncommitted::default()) };
        let status = status::look(&self.git().at(&top), &top.join(".git"), &[])?;
        let mut left = MOST;
        let names = status.dirty.into_iter().chain(status.untracked);
        let changed = names.map(|name| {
            let look = Look::at(&top.join(&name), &mut left);
            (name, look)
        });
        Ok(Uncommitted { head: status.head, changed: changed.collect() })
    }

    /// What happened to files of the main checkout since `before`.
    pub fn fates(&self, before: &Uncommitted, now: &Uncommitted) -> Result<Vec<(String, Fate)>, GitError> {
        let mut fates = Vec::new();
        for (name, found) in &now.changed {
            let was = before.changed.get(name);
            if was.is_some_and(|was| Look::is_same(was.as_ref(), found.as_ref())) {
                continue;
            }
            let fate = if found.is_some() { Fate::Changed } else { Fate::Removed };
            fates.push((name.clone(), fate));
        }
        let gone: Vec<_> =
            before.changed.iter().filter(|(name, _)| !now.changed.contains_key(*name)).collect();
        let Some(top) = self.main_checkout()?.filter(|_| !gone.is_empty()) else { return Ok(fates) };
        // Files that another commit changed are as that commit says: nothing was put back.
        let moved = match (&before.head, &now.head) {
            (Some(was), Some(head)) if was != head => {
                self.diff_names(&self.tree_of(was)?, &self.tree_of(head)?)?
            }
            _ => Vec::new(),
        };
        let mut left = MOST;
        for (name, was) in gone {
            match Look::at(&top.join(name), &mut left) {
                // It was committed, or is ignored now.
                found if Look::is_same(was.as_ref(), found.as_ref()) => {}
                None => fates.push((name.clone(), Fate::Removed)),
                Some(_) if moved.contains(name) => {}
                Some(_) => fates.push((name.clone(), Fate::PutBack)),
            }
        }
        Ok(fates)
    }
}

impl Repo {
    /// Whether a file of the main checkout was, when this was seen, as one of these commits has it.
    pub fn is_as_in(&self, commits: &[Oid], seen: &Uncommitted, name: &str) -> Result<bool, GitError> {
        let Some(look) = seen.changed.get(name) else { return Ok(false) };
        for commit in commits {
            let is_same = match (look, self.file_at(commit, name)?) {
                (Some(look), Some(bytes)) => {
                    look.digest == Some(Digest::of_bytes(&bytes)) || self.is_by_filters(commit, name, look)?
                }
                (None, None) => !self.has(commit, name)?,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if is_same {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same for a file that filters change on its way into a commit, such as the ends of its lines, if it still is
    /// what was seen.
    fn is_by_filters(&self, commit: &Oid, name: &str, seen: &Look) -> Result<bool, GitError> {
        let (Some(top), Some(entry)) = (self.main_checkout()?, self.entry_at(commit, name)?) else {
            return Ok(false);
        };
        if !Look::is_same(Some(seen), Look::at(&top.join(name), &mut { LARGEST }).as_ref()) {
            return Ok(false);
        }
        // Another process may remove it right now.
        let now = self.git().at(&top).call(["hash-object", "--", name]).answer()?;
        Ok(now.code == Some(0) && oid(lossy(&now.stdout).trim()) == Some(entry.oid))
    }
}

impl Worktree {
    /// What ties it to its repository.
    pub fn ties(&self) -> BTreeMap<String, String> {
        let read = |name: &str, path: &Utf8Path| Some((name.to_owned(), fs::read_to_string(path).ok()?));
        let inside = TIES.iter().filter_map(|name| read(name, &self.git_dir().join(name)));
        inside.chain(read(".git", &self.path().join(".git"))).collect()
    }

    /// Tie it as before. Returns what had to be written. A git process that followed other ties would run what they
    /// name.
    pub fn tie_again(&self, before: &BTreeMap<String, String>) -> Result<Vec<String>, GitError> {
        let now = self.ties();
        let mut written = Vec::new();
        for (name, text) in before.iter().filter(|(name, text)| now.get(*name) != Some(*text)) {
            let path = if name == ".git" { self.path().join(name) } else { self.git_dir().join(name) };
            if name == ".git" && points_to(self.path(), self.git_dir()) {
                // At its private git directory while an agent works in it, and at its usual one before and after.
                continue;
            }
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
