//! Files compared by their content.

use std::collections::BTreeMap;

use piton_core::order::Pairs;
use piton_core::plan::{Oid, RepoPath};

use super::command::{lossy, oid, portions};
use super::error::GitError;
use super::index::read_entries;
use super::repo::Repo;

impl Repo {
    /// The files at a place in a commit or a tree, each with its object.
    pub fn files_at(&self, tree: &Oid, place: &RepoPath) -> Result<BTreeMap<String, Oid>, GitError> {
        let list = self.git().call(["ls-tree", "-r", "-z", tree.as_str(), "--", place.as_str()]).bytes()?;
        let named = read_entries(&list).into_iter();
        Ok(named.map(|entry| (entry.path.to_string_lossy().into_owned(), entry.oid)).into_map())
    }

    /// The content of a file by its object; `None` if it no longer exists, or is not text.
    pub fn text_of(&self, blob: &Oid) -> Option<String> {
        String::from_utf8(self.git().call(["cat-file", "blob", blob.as_str()]).bytes().ok()?).ok()
    }

    /// Write a text as an object.
    pub fn keep_text(&self, text: &str) -> Result<(), GitError> {
        self.git().call(["hash-object", "-w", "--stdin", "--no-filters"]).input(text.to_owned()).run()
    }

    /// Files of the checkout, each with the object that it would be. Nothing is written.
    pub fn files_now(&self, files: &[String]) -> Result<BTreeMap<String, Oid>, GitError> {
        let mut found = BTreeMap::new();
        for portion in portions(files) {
            let objects = lossy(&self.git().call(["hash-object", "--"]).args(portion).bytes()?);
            found.extend(portion.iter().cloned().zip(objects.lines().filter_map(oid)));
        }
        Ok(found)
    }
}
