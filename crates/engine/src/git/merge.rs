//! Landing's object work: merges, commits and differences, with no checkout involved.

use piton_core::plan::Oid;

use super::door::{fields, lossy, oid};
use super::error::GitError;
use super::repo::Repo;
use crate::crash;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    Clean { tree: Oid },
    Conflict { files: Vec<String>, messages: String },
}

/// A path that differs between two trees: `A`dded, `M`odified, `D`eleted or changed in `T`ype.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pub status: char,
    pub path: String,
}

impl Repo {
    /// Merge two commits in the object database. `ours` is the target's tip: its attributes decide, not
    /// those of some checkout (where git is new enough to be told).
    pub fn merge(&self, ours: &Oid, theirs: &Oid) -> Result<Merged, GitError> {
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--messages"];
        let mut call = self.git().call(args).args([ours.as_str(), theirs.as_str()]);
        if self.git().has_attr_source()? {
            call = call.global(format!("--attr-source={ours}"));
        }
        let answer = call.answer()?;
        if answer.code != Some(0) && answer.code != Some(1) {
            if answer.stderr.contains("unrelated histories") {
                return Err(GitError::Unrelated { ours: ours.clone(), theirs: theirs.clone() });
            }
            return Err(answer.failed());
        }
        let mut rest = fields(&answer.stdout);
        let Some(tree) = rest.next().map(lossy).as_deref().and_then(oid) else {
            return Err(answer.unexpected());
        };
        if answer.code == Some(0) {
            crash::point("landing.merged");
            return Ok(Merged::Clean { tree });
        }
        let mut files: Vec<String> = rest.by_ref().take_while(|name| !name.is_empty()).map(lossy).collect();
        let (named, messages) = read_messages(rest);
        if files.is_empty() {
            // A conflict about a directory may leave no file in conflict.
            files = named;
        }
        files.sort();
        files.dedup();
        Ok(Merged::Conflict { files, messages })
    }

    /// A commit of `tree`. `author` is `Name <email>`; without one it is whoever commits.
    pub fn commit_tree(
        &self,
        tree: &Oid,
        parents: &[&Oid],
        message: &str,
        author: Option<&str>,
    ) -> Result<Oid, GitError> {
        let mut call = self.git().call(["commit-tree", tree.as_str(), "-m", message]);
        for parent in parents {
            call = call.args(["-p", parent.as_str()]);
        }
        for (key, value) in self.identity_env(author)? {
            call = call.env(key, value);
        }
        call.oid()
    }

    /// What differs between two commits or trees. A rename is a deletion and an addition.
    pub fn changed(&self, from: &Oid, to: &Oid) -> Result<Vec<Change>, GitError> {
        let call = self.git().call(["diff-tree", "-r", "-z", "--no-renames", "--name-status"]);
        let list = call.args([from.as_str(), to.as_str()]).bytes()?;
        Ok(read_changes(&list))
    }

    pub fn diff_names(&self, from: &Oid, to: &Oid) -> Result<Vec<String>, GitError> {
        Ok(self.changed(from, to)?.into_iter().map(|change| change.path).collect())
    }

    /// The difference as people read it.
    pub fn diff_text(&self, from: &Oid, to: &Oid) -> Result<String, GitError> {
        let args =
            ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--stat", "--patch"];
        Ok(lossy(&self.git().call(args).args([from.as_str(), to.as_str(), "--"]).bytes()?))
    }
}

/// What `diff-tree -z --name-status` lists.
pub(super) fn read_changes(list: &[u8]) -> Vec<Change> {
    let mut rest = fields(list);
    let mut changes = Vec::new();
    while let (Some(status), Some(path)) = (rest.next(), rest.next()) {
        changes.push(Change { status: lossy(status).chars().next().unwrap_or('?'), path: lossy(path) });
    }
    changes
}

/// Records of `count, that many paths, kind, text`.
pub(super) fn read_messages<'a>(mut rest: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, String) {
    let (mut named, mut messages) = (Vec::new(), String::new());
    while let Some(count) = rest.next().and_then(|count| lossy(count).parse::<usize>().ok()) {
        let paths: Vec<String> = rest.by_ref().take(count).map(lossy).collect();
        let (kind, text) =
            (rest.next().map(lossy).unwrap_or_default(), rest.next().map(lossy).unwrap_or_default());
        // "Auto-merging" is noise for whoever must resolve this.
        if kind.starts_with("CONFLICT") {
            named.extend(paths);
            messages.push_str(&text);
        }
    }
    (named, messages)
}
