//! Branches and pins: refs that Piton makes, moves and takes away.

use std::fs;

use camino::Utf8PathBuf;
use piton_core::plan::Oid;

use super::command::{lossy, oid};
use super::error::GitError;
use super::repo::{Checkout, Repo};
use super::status;
use crate::crash;

/// A ref under `refs/piton/` that keeps a commit from being collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Without `refs/piton/`.
    pub name: String,
    pub oid: Oid,
}

/// A change of one ref, made only if the ref is where it is expected to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefChange {
    name: String,
    from: From,
    /// `None`: delete it.
    to: Option<Oid>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum From {
    Anywhere,
    Nothing,
    At(Oid),
}

impl RefChange {
    /// Keep `oid` under `refs/piton/<name>`; a pin that is there already is moved.
    pub fn pin(name: &str, oid: &Oid) -> Result<RefChange, GitError> {
        Ok(RefChange { name: pin_ref(name)?, from: From::Anywhere, to: Some(oid.clone()) })
    }

    /// Rescued content cannot be unpinned: it may exist nowhere else.
    pub fn unpin(name: &str) -> Result<RefChange, GitError> {
        Ok(RefChange { name: pin_ref(name)?, from: From::Anywhere, to: None })
    }

    /// Put a branch at `oid`: from `expected`, or newly made if that is `None`. The caller has to check whether it is
    /// checked out.
    pub fn branch(branch: &str, oid: &Oid, expected: Option<&Oid>) -> Result<RefChange, GitError> {
        let from = expected.map_or(From::Nothing, |oid| From::At(oid.clone()));
        Ok(RefChange { name: branch_ref(branch)?, from, to: Some(oid.clone()) })
    }

    /// A line for `update-ref --stdin`. The names are valid, so there is nothing to quote.
    fn line(&self) -> String {
        let name = &self.name;
        match (&self.to, &self.from) {
            (Some(to), From::Anywhere) => format!("update {name} {to}\n"),
            (Some(to), From::Nothing) => format!("create {name} {to}\n"),
            (Some(to), From::At(from)) => format!("update {name} {to} {from}\n"),
            (None, From::At(from)) => format!("delete {name} {from}\n"),
            (None, From::Anywhere | From::Nothing) => format!("delete {name}\n"),
        }
    }
}

impl Repo {
    /// Change refs, all or none. A ref that already has its new value is left alone.
    pub fn change_refs(&self, changes: &[RefChange]) -> Result<(), GitError> {
        let mut lines = String::new();
        for change in changes {
            if self.ref_tip(&change.name)? != change.to {
                lines.push_str(&change.line());
            }
        }
        if !lines.is_empty() {
            self.write_refs(&lines)?;
        }
        crash::point("refs.changed");
        Ok(())
    }

    /// Put a branch at `oid`: from `expected`, or newly made if that is `None`. A branch that is already
    /// there is fine; one that is checked out is never touched.
    pub fn set_branch(&self, branch: &str, oid: &Oid, expected: Option<&Oid>) -> Result<(), GitError> {
        let change = RefChange::branch(branch, oid, expected)?;
        let found = self.ref_tip(&change.name)?;
        if found.as_ref() == Some(oid) {
            return Ok(());
        }
        if let Some(path) = self.checked_out_at(branch)? {
            return Err(GitError::BranchCheckedOut { branch: branch.to_owned(), path });
        }
        let moved = |found| Err(GitError::BranchMoved { branch: branch.to_owned(), found });
        if found.as_ref() != expected {
            return moved(found);
        }
        let Err(error) = self.change_refs(std::slice::from_ref(&change)) else { return Ok(()) };
        match self.ref_tip(&change.name)? {
            Some(now) if now == *oid => Ok(()),
            now if now.as_ref() != expected => moved(now),
            _ => Err(error),
        }
    }

    /// The change that removes a branch, if it exists, `target` contains all its commits, and it is not checked out
    /// anywhere.
    pub fn branch_removal(&self, branch: &str, target: &Oid) -> Result<Option<RefChange>, GitError> {
        let name = branch_ref(branch)?;
        let Some(tip) = self.ref_tip(&name)? else { return Ok(None) };
        let merged = self.is_recent(&tip, target)? || self.is_ancestor(&tip, target)?;
        let spent = merged && self.checked_out_at(branch)?.is_none();
        Ok(spent.then_some(RefChange { name, from: From::At(tip), to: None }))
    }

    pub fn checked_out_at(&self, branch: &str) -> Result<Option<Utf8PathBuf>, GitError> {
        Ok(self.holders(branch)?.into_iter().next().map(|checkout| checkout.path))
    }

    /// The checkouts that have `branch`.
    pub(super) fn holders(&self, branch: &str) -> Result<Vec<Checkout>, GitError> {
        let heads = self.heads_at(branch)?;
        match heads.as_deref() {
            Some([]) => return Ok(Vec::new()),
            Some([only]) if only == self.git_dir() => {
                let (path, branch) = (self.top().to_owned(), Some(branch.to_owned()));
                return Ok(vec![Checkout { path, branch, ..Checkout::default() }]);
            }
            _ => {}
        }
        let mut all = self.checkouts()?;
        all.retain(|checkout| !checkout.bare && checkout.branch.as_deref() == Some(branch));
        Ok(all)
    }

    /// The git directories whose HEAD is at `branch`. `None`: only git can tell.
    fn heads_at(&self, branch: &str) -> Result<Option<Vec<Utf8PathBuf>>, GitError> {
        let head = format!("ref: {}", branch_ref(branch)?);
        let mut found = Vec::new();
        if self.common_dir().join("reftable").exists() {
            return Ok(None);
        }
        for git_dir in status::git_dirs(self.common_dir()) {
            let file = git_dir.join("HEAD");
            if file.is_symlink() {
                return Ok(None);
            }
            if fs::read_to_string(file).is_ok_and(|text| text.trim_end() == head) {
                found.push(git_dir);
            }
        }
        Ok(Some(found))
    }

    pub fn pin_at(&self, name: &str) -> Result<Option<Oid>, GitError> {
        self.ref_tip(&pin_ref(name)?)
    }

    /// The pins below `prefix`, which is a whole number of path parts, or empty for all.
    pub fn pins(&self, prefix: &str) -> Result<Vec<Pin>, GitError> {
        let pattern =
            if prefix.is_empty() { "refs/piton".to_owned() } else { valid(&format!("refs/piton/{prefix}"))? };
        let list =
            self.git().call(["for-each-ref", "--format=%(objectname) %(refname)", &pattern]).bytes()?;
        Ok(read_pins(&lossy(&list)))
    }
}

/// Lines of an object and a ref.
pub(super) fn read_pins(list: &str) -> Vec<Pin> {
    let pin = |line: &str| {
        let (id, name) = line.split_once(' ')?;
        Some(Pin { name: name.strip_prefix("refs/piton/")?.to_owned(), oid: oid(id)? })
    };
    list.lines().filter_map(pin).collect()
}

pub(super) fn branch_ref(branch: &str) -> Result<String, GitError> {
    // `HEAD` as a branch makes every later command ambiguous; git itself refuses it too.
    if branch.starts_with('-') || branch == "HEAD" {
        return Err(GitError::BadName(branch.to_owned()));
    }
    valid(&format!("refs/heads/{branch}"))
}

fn pin_ref(name: &str) -> Result<String, GitError> {
    if name.starts_with("rescue/") {
        return Err(GitError::BadName(name.to_owned()));
    }
    valid(&format!("refs/piton/{name}"))
}

/// The rules of `git check-ref-format`, without starting it.
pub(super) fn valid(name: &str) -> Result<String, GitError> {
    let bad_part = |part: &str| {
        part.is_empty()
            || part.starts_with('.')
            || part.ends_with('.')
            || part.ends_with(".lock")
            || part == "@"
    };
    let bad_char = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    if name.split('/').any(bad_part) || name.contains(bad_char) || name.contains("..") || name.contains("@{")
    {
        return Err(GitError::BadName(name.to_owned()));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_git_would_not_take() {
        for bad in [
            "", "a//b", "/a", "a/", ".a", "a.lock", "a..b", "a b", "a~1", "a^", "a:b", "a@{1}", "-a", "HEAD",
            "a\nb",
        ] {
            assert!(branch_ref(bad).is_err(), "{bad:?}");
        }
        for good in ["main", "issue/12-slug", "worktree-T1.2", "ünï", "a@b"] {
            assert!(branch_ref(good).is_ok(), "{good:?}");
        }
    }
}
