//! Branches and pins: refs that Piton makes, moves and takes away.

use piton_core::plan::Oid;

use super::door::{lossy, oid};
use super::error::GitError;
use super::repo::Repo;
use crate::crash;

/// A ref under `refs/piton/` that keeps a commit from being collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Without `refs/piton/`.
    pub name: String,
    pub oid: Oid,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeletedBranch {
    Deleted,
    Absent,
    /// Its commits are not all in the target.
    NotMerged {
        tip: Oid,
    },
    CheckedOut {
        path: camino::Utf8PathBuf,
    },
}

impl Repo {
    /// Put a branch at `oid`: from `expected`, or newly made if that is `None`. A branch that is already
    /// there is fine; one that is checked out is never touched.
    pub fn set_branch(&self, branch: &str, oid: &Oid, expected: Option<&Oid>) -> Result<(), GitError> {
        let name = branch_ref(branch)?;
        let found = self.ref_tip(&name)?;
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
        // An empty old value means: must not exist.
        let old = expected.map_or("", Oid::as_str);
        let call = self.git().call(["update-ref", "-m", "piton", "--create-reflog", "--end-of-options"]);
        let answer = call.args([&name, oid.as_str(), old]).answer()?;
        if answer.code == Some(0) {
            return Ok(());
        }
        match self.ref_tip(&name)? {
            Some(now) if now == *oid => Ok(()),
            now if now.as_ref() != expected => moved(now),
            _ => Err(answer.failed()),
        }
    }

    /// Take a branch away, but only if `target` has all its commits and nobody has it checked out.
    pub fn delete_branch_if_merged(&self, branch: &str, target: &Oid) -> Result<DeletedBranch, GitError> {
        let name = branch_ref(branch)?;
        let Some(tip) = self.ref_tip(&name)? else { return Ok(DeletedBranch::Absent) };
        if let Some(path) = self.checked_out_at(branch)? {
            return Ok(DeletedBranch::CheckedOut { path });
        }
        if !self.is_ancestor(&tip, target)? {
            return Ok(DeletedBranch::NotMerged { tip });
        }
        self.git().call(["update-ref", "-d", "--end-of-options", &name, tip.as_str()]).run()?;
        Ok(DeletedBranch::Deleted)
    }

    fn checked_out_at(&self, branch: &str) -> Result<Option<camino::Utf8PathBuf>, GitError> {
        let holds = |checkout: &super::Checkout| checkout.branch.as_deref() == Some(branch);
        Ok(self.checkouts()?.into_iter().find(holds).map(|checkout| checkout.path))
    }

    /// Keep `oid` under `refs/piton/<name>`; a pin that is there already is moved.
    pub fn pin(&self, name: &str, oid: &Oid) -> Result<(), GitError> {
        let full = pin_ref(name)?;
        self.git().call(["update-ref", "--end-of-options", &full, oid.as_str()]).run()?;
        crash::point("landing.pinned");
        Ok(())
    }

    /// Rescued content has no way out by this door: it may exist nowhere else.
    pub fn unpin(&self, name: &str) -> Result<(), GitError> {
        let full = pin_ref(name)?;
        self.git().call(["update-ref", "-d", "--end-of-options", &full]).run()
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
