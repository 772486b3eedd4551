//! The folders, links and empty files of a private git directory. Making a file takes a busy file system many times as
//! long as filling it, so they are made while git writes the files of a new worktree.

use std::fs::{self, File};
use std::io;

use camino::Utf8Path;

use super::error::GitError;
use super::view::link;
use super::worktree::Worktree;
use crate::crash;

/// Where they wait in the worktree's entry until an attempt begins.
pub(super) const AHEAD: &str = "piton-own.ahead";

const FOLDERS: [&str; 5] = ["refs/heads", "objects/info", "objects/pack", "info", "logs"];
const FILES: [&str; 5] = ["HEAD", "objects/info/alternates", "config", "packed-refs", "index"];

impl Worktree {
    /// Make what [`Worktree::isolate`] will fill. For a new worktree, in which no agent has worked.
    pub fn make_ahead(&self) {
        // Where this is impossible, `isolate` says why.
        let _ = make(&self.git_dir().join(AHEAD), self.repo().common_dir());
        crash::point("isolate.ahead");
    }
}

/// Make them at `place`. What is there already stays.
pub(super) fn make(place: &Utf8Path, common: &Utf8Path) -> Result<(), GitError> {
    for folder in FOLDERS.map(|name| place.join(name)) {
        fs::create_dir_all(&folder).map_err(GitError::io(folder))?;
    }
    let excludes = common.join("info/exclude").is_file().then_some("info/exclude");
    for file in FILES.into_iter().chain(excludes).map(|name| place.join(name)) {
        let made = File::options().append(true).create(true).open(&file);
        made.map(drop).map_err(GitError::io(file))?;
    }
    match link(&common.join("hooks"), &place.join("hooks")) {
        Err(GitError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
