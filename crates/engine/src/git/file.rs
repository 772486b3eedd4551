//! One file of a commit: its text, and the tree with another text in its place. No checkout is touched.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use piton_core::plan::Oid;

use super::command::fields;
use super::error::GitError;
use super::index::{Entry, TempIndex};
use super::repo::Repo;

impl Repo {
    /// What a commit has at `path`. A link or a folder is not a file.
    pub fn file_at(&self, commit: &Oid, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        match self.entry_at(commit, path)? {
            Some(entry) => self.git().call(["cat-file", "blob", entry.oid.as_str()]).bytes().map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn entry_at(&self, commit: &Oid, path: &str) -> Result<Option<Entry>, GitError> {
        let list = self.git().call(["ls-tree", "-z", "--full-tree", commit.as_str(), "--", path]).bytes()?;
        Ok(fields(&list).find_map(Entry::parse).filter(|entry| entry.mode.starts_with("100")))
    }

    /// The tree of `commit` with `text` in the file at `path`, and that text as an object.
    pub fn with_file(&self, commit: &Oid, path: &str, text: &str) -> Result<(Oid, Oid), GitError> {
        let mode = self.entry_at(commit, path)?.map_or_else(|| "100644".to_owned(), |entry| entry.mode);
        let index = TempIndex::empty(self)?;
        let file = index.sibling("content");
        fs::write(&file, text).map_err(GitError::io(file.clone()))?;
        let blob = index.call(["hash-object", "-w", "--no-filters", "--", file.as_str()]).oid()?;
        index.call(["read-tree", commit.as_str()]).run()?;
        let info = format!("{mode},{blob},{path}");
        index.call(["update-index", "--add", "--replace", "--cacheinfo", info.as_str()]).run()?;
        Ok((index.write_tree()?, blob))
    }

    /// When a commit was made, to the second.
    pub fn committed_at(&self, commit: &Oid) -> Result<SystemTime, GitError> {
        let told = self.git().call(["show", "--no-patch", "--format=%ct", commit.as_str(), "--"]).line()?;
        let seconds =
            told.parse().map_err(|_| GitError::Unexpected { args: "show".to_owned(), answer: told })?;
        Ok(UNIX_EPOCH + Duration::from_secs(seconds))
    }
}
