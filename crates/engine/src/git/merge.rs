//! Landing's object work: merges, commits and differences, with no checkout involved.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use camino::Utf8Path;
use piton_core::plan::{Oid, RepoPath};

use super::command::{Call, fields, lossy, oid, os};
use super::error::GitError;
use super::index::TempIndex;
use super::repo::Repo;
use crate::crash;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    Clean { tree: Oid },
    Conflict { files: Vec<String>, messages: String },
}

/// The mode of a folder.
const FOLDER: &str = "040000";

/// Mode and object of a path; `None`: absent.
pub(super) type Version = Option<(String, Oid)>;

/// A path that differs between two trees.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) path: OsString,
    pub(super) old: Version,
    pub(super) new: Version,
}

/// A file that differs, with its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersions {
    pub file: String,
    pub old: Option<Oid>,
    pub new: Option<Oid>,
}

impl Difference {
    pub(super) fn is_of_file(&self) -> bool {
        let is_folder = |version: &Version| version.as_ref().is_some_and(|(mode, _)| mode == FOLDER);
        !is_folder(&self.old) && !is_folder(&self.new)
    }
}

impl Repo {
    /// Merge two commits in the object database. `ours` is the target's tip: its attributes decide, not those of some
    /// checkout (if git is new enough for that option).
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

    /// A commit of `tree` for Piton itself. `author` is `Name <email>`; without one it is the person who commits.
    pub fn commit_tree(
        &self,
        tree: &Oid,
        parents: &[&Oid],
        message: &str,
        author: Option<&str>,
    ) -> Result<Oid, GitError> {
        self.commit_tree_as(&["commit-tree"], tree, parents, message, author)?.oid()
    }

    /// A commit of Piton's own that is the same one whenever it is made of the same: it has the time of its latest parent.
    pub fn commit_again(&self, tree: &Oid, parents: &[&Oid], message: &str) -> Result<Oid, GitError> {
        let words = parents.iter().map(|parent| parent.as_str());
        let times = self.git().call(["log", "--no-walk", "--format=%ct"]).args(words).arg("--").line()?;
        let latest =
            times.lines().filter_map(|time| time.trim().parse::<u64>().ok()).max().unwrap_or_default();
        let date = format!("@{latest} +0000");
        let call = self.commit_tree_as(&["commit-tree"], tree, parents, message, None)?;
        call.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date).oid()
    }

    /// The same as [`Repo::commit_tree`] for the person's history: signed if their own commits are.
    pub fn commit_work(
        &self,
        tree: &Oid,
        parents: &[&Oid],
        message: &str,
        author: Option<&str>,
    ) -> Result<Oid, GitError> {
        if !self.signs()? {
            return self.commit_tree(tree, parents, message, author);
        }
        let signed = self.commit_tree_as(&["commit-tree", "-S"], tree, parents, message, author)?;
        signed.oid().map_err(|error| match error {
            GitError::Failed { stderr, .. } if is_about_signing(&stderr) => GitError::NotSigned { stderr },
            error => error,
        })
    }

    fn commit_tree_as(
        &self,
        command: &[&str],
        tree: &Oid,
        parents: &[&Oid],
        message: &str,
        author: Option<&str>,
    ) -> Result<Call<'_>, GitError> {
        let mut call = self.git().call(command).args([tree.as_str(), "-m", message]);
        for parent in parents {
            call = call.args(["-p", parent.as_str()]);
        }
        for (key, value) in self.identity_env(author)? {
            call = call.env(key, value);
        }
        Ok(call)
    }

    /// A commit of a tree that a checkout holds: its HEAD if that has the tree, else a new one that no ref names.
    pub fn commit_of(&self, checkout: &Utf8Path, tree: &Oid) -> Result<Oid, GitError> {
        let inside = self.inside(checkout)?;
        let head = super::repo::resolve(&inside.git, "HEAD")?;
        match head {
            Some(head) if self.tree_of(&head)? == *tree => Ok(head),
            head => self.commit_tree(tree, &head.iter().collect::<Vec<_>>(), "What is judged", None),
        }
    }

    /// What differs between two commits or trees, folders too. A rename is a deletion and an addition.
    pub(super) fn differences(&self, from: &Oid, to: &Oid) -> Result<Arc<Vec<Difference>>, GitError> {
        // A landing needs the same difference when it is built and again when the target moves.
        let asked = (self.tree_of(from)?, self.tree_of(to)?);
        if asked.0 == asked.1 {
            return Ok(Arc::default());
        }
        if let Some(found) = self.last_differences(&asked) {
            return Ok(found);
        }
        let call = self.git().call(["diff-tree", "-r", "-t", "-z", "--no-renames", "--raw", "--no-abbrev"]);
        let list = call.args([asked.0.as_str(), asked.1.as_str()]).bytes()?;
        Ok(self.keep_differences(asked, read_differences(&list)))
    }

    pub fn diff_names(&self, from: &Oid, to: &Oid) -> Result<Vec<String>, GitError> {
        let differences = self.differences(from, to)?;
        let files = differences.iter().filter(|difference| difference.is_of_file());
        Ok(files.map(|difference| difference.path.to_string_lossy().into_owned()).collect())
    }

    /// The files that differ, each with its object before and after. A link, which is not a file, has none.
    pub fn file_versions(&self, from: &Oid, to: &Oid) -> Result<Vec<FileVersions>, GitError> {
        let file = |version: &Version| {
            version.as_ref().filter(|(mode, _)| mode.starts_with("100")).map(|(_, object)| object.clone())
        };
        let differences = self.differences(from, to)?;
        let files = differences.iter().filter(|difference| difference.is_of_file());
        Ok(files
            .map(|difference| FileVersions {
                file: difference.path.to_string_lossy().into_owned(),
                old: file(&difference.old),
                new: file(&difference.new),
            })
            .collect())
    }

    /// Files that are new in `to`, and those that were changed or removed.
    pub fn changed_files(&self, from: &Oid, to: &Oid) -> Result<(Vec<String>, Vec<String>), GitError> {
        let differences = self.differences(from, to)?;
        let files = differences.iter().filter(|difference| difference.is_of_file());
        let (new, old): (Vec<&Difference>, Vec<&Difference>) = files.partition(|found| found.old.is_none());
        let names = |files: Vec<&Difference>| {
            files.into_iter().map(|file| file.path.to_string_lossy().into_owned()).collect()
        };
        Ok((names(new), names(old)))
    }

    /// The merged `tree` as it may land on `tip`: with `owned` files and folders as `tip` has them, and with
    /// every object of it on disk.
    pub fn settle(&self, tree: Oid, tip: &Oid, owned: &[RepoPath]) -> Result<Oid, GitError> {
        let differences = self.differences(tip, &tree)?;
        let is_owned = |difference: &&Difference| {
            let below = |path: &RepoPath| Path::new(&difference.path).starts_with(path.as_str());
            difference.is_of_file() && owned.iter().any(below)
        };
        let changed: Vec<&Difference> = differences.iter().filter(is_owned).collect();
        if !changed.is_empty() {
            let index = TempIndex::empty(self)?;
            index.call(["read-tree", tree.as_str()]).run()?;
            let restored = index.restore(&changed)?;
            return self.settle(restored, tip, &[]);
        }
        let new = differences.iter().filter_map(|difference| difference.new.as_ref());
        self.sync_objects(new.map(|(_, object)| object).chain([&tree]))?;
        Ok(tree)
    }
}

/// Git names the program, or the key.
fn is_about_signing(said: &str) -> bool {
    ["gpg", "sign", "key"].iter().any(|word| said.contains(word))
}

/// What `diff-tree -z --raw` lists.
pub(super) fn read_differences(list: &[u8]) -> Vec<Difference> {
    let mut rest = fields(list);
    let mut found = Vec::new();
    while let (Some(facts), Some(path)) = (rest.next(), rest.next()) {
        let facts = lossy(facts);
        let mut words = facts.trim_start_matches(':').split(' ');
        let (old_mode, new_mode) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut version = |mode: &str| {
            let object = words.next().and_then(oid)?;
            (mode != "000000").then(|| (mode.to_owned(), object))
        };
        let old = version(old_mode);
        found.push(Difference { path: os(path), old, new: version(new_mode) });
    }
    found
}

/// Records of `count, that many paths, kind, text`.
pub(super) fn read_messages<'a>(mut rest: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, String) {
    let (mut named, mut messages) = (Vec::new(), String::new());
    while let Some(count) = rest.next().and_then(|count| lossy(count).parse::<usize>().ok()) {
        let paths: Vec<String> = rest.by_ref().take(count).map(lossy).collect();
        let (kind, text) =
            (rest.next().map(lossy).unwrap_or_default(), rest.next().map(lossy).unwrap_or_default());
        // "Auto-merging" is noise for the agent that must resolve this.
        if kind.starts_with("CONFLICT") {
            named.extend(paths);
            messages.push_str(&text);
        }
    }
    (named, messages)
}
