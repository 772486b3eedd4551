//! Commits that only a worktree's own records reach: an agent made them and went back, or was in the middle of an
//! operation. The reflog is removed with the worktree, and then git collects them.

use std::fs;

use camino::Utf8Path;
use piton_core::plan::Oid;

use super::command::{lossy, oid};
use super::error::GitError;
use super::repo::Repo;
use super::rescue::Rescue;
use super::status;
use super::worktree::Worktree;
use crate::disk;

/// Files in a worktree's git folder that name commits, besides HEAD.
const NOTES: [&str; 14] = [
    "ORIG_HEAD",
    "MERGE_HEAD",
    "MERGE_AUTOSTASH",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_HEAD",
    "rebase-merge/orig-head",
    "rebase-merge/stopped-sha",
    "rebase-merge/autostash",
    "rebase-apply/orig-head",
    "rebase-apply/autostash",
    "sequencer/head",
    "sequencer/abort-safety",
];
/// Those of them that name uncommitted work.
const ASIDE: [&str; 3] = ["MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash"];
/// At most so many commits are looked at, the newest first: a command line has no room for more. Older ones are usually
/// ancestors of these.
const MOST: usize = 1000;
/// How far back the history of HEAD is followed before all refs are read.
const FEW: usize = 8;

impl Repo {
    /// The commits that the records in a worktree's git folder name and neither `head` nor a ref reaches, without those
    /// that others of them reach. None if all their files exist elsewhere: then an agent only rewrote its history.
    pub(super) fn lonely_commits(
        &self,
        git_dir: &Utf8Path,
        head: Option<&Oid>,
        rescue: &Rescue,
    ) -> Result<Vec<Oid>, GitError> {
        let mut named = if rescue.reflogs { named_in(git_dir) } else { Vec::new() };
        let mut known = head.cloned();
        for _ in 0..FEW {
            let Some(commit) = known.filter(|_| !named.is_empty()) else { break };
            named.retain(|name| *name != commit);
            known = self.parent(&commit)?;
        }
        if named.is_empty() {
            return Ok(named);
        }
        let refs = Repo::keepers(rescue).into_iter().map(|place| format!("--glob={place}"));
        let kept: Vec<String> = refs.chain(head.map(Oid::to_string)).collect();
        let list = |options: &[&str], of: &[Oid]| {
            let call = self.git().call(["rev-list", "--ignore-missing"]).args(options);
            call.args(of.iter().map(Oid::as_str)).arg("--not").args(&kept).arg("--").line()
        };
        let beyond = list(&[], &named)?;
        let beyond: Vec<Oid> = beyond.lines().filter_map(oid).collect();
        named.retain(|name| beyond.contains(name));
        if named.is_empty() {
            return Ok(named);
        }
        // The trees of the refs show what they contain, and not only what their history contained.
        let content = [
            "--objects-edge-aggressive",
            "--no-object-names",
            "--filter=object:type=blob",
            "--filter-provided-objects",
        ];
        if list(&content, &named)?.lines().all(|line| line.starts_with('-')) {
            return Ok(Vec::new());
        }
        let call = self.git().call(["merge-base", "--independent"]).args(named.iter().map(Oid::as_str));
        Ok(call.line()?.lines().filter_map(oid).collect())
    }
}

impl Worktree {
    /// Uncommitted work that a rebase or a merge put aside, which is named nowhere else.
    pub(super) fn set_aside(&self) -> Result<Vec<Oid>, GitError> {
        let mut found = Vec::new();
        for note in ASIDE {
            for commit in status::heads_in(&self.git_dir().join(note)) {
                if self.repo().has_object(&commit)? {
                    found.push(commit);
                }
            }
        }
        Ok(found)
    }
}

/// The commits that the records of a worktree name, the newest first.
pub(super) fn named_in(git_dir: &Utf8Path) -> Vec<Oid> {
    let mut found: Vec<Oid> = Vec::new();
    let mut add = |text: &str| {
        let is_any = text.bytes().any(|digit| digit != b'0');
        if let Some(oid) = oid(text).filter(|oid| is_any && !found.contains(oid)) {
            found.push(oid);
        }
    };
    for note in NOTES {
        for line in lossy(&disk::read_plain(&git_dir.join(note)).unwrap_or_default()).lines() {
            add(line.trim_end());
        }
    }
    for file in files_below(&git_dir.join("refs")) {
        add(fs::read_to_string(file).unwrap_or_default().trim_end());
    }
    for log in files_below(&git_dir.join("logs")) {
        let bytes = fs::read(log).unwrap_or_default();
        // Each line begins with the old and the new commit.
        for line in String::from_utf8_lossy(&bytes).lines().rev() {
            line.splitn(3, ' ').take(2).for_each(&mut add);
        }
    }
    found.truncate(MOST);
    found
}

fn files_below(folder: &Utf8Path) -> Vec<camino::Utf8PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path().to_owned()),
                Ok(kind) if kind.is_file() => found.push(entry.path().to_owned()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}
