//! Taking an agent's work out of its worktree, and bringing the worktree up to a moved target.

use std::fs;

use piton_core::plan::Oid;

use super::door::{fields, lossy};
use super::error::GitError;
use super::merge::Merged;
use super::rescue::{Rescue, Rescued};
use super::status::Status;
use super::worktree::Worktree;

/// Git looks this far to call a file binary.
const BINARY_WINDOW: usize = 8000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    pub commit: Oid,
    pub tree: Oid,
    /// `false`: the agent had committed everything itself.
    pub made_commit: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BroughtUp {
    pub conflicted: Vec<String>,
    pub rescued: Option<Rescued>,
}

impl Worktree {
    /// Commit whatever is uncommitted, on top of wherever HEAD is, and conclude a merge. A branch the agent
    /// checked out is not moved: HEAD is detached first. Nobody may be working in it.
    pub fn capture(&self, message: &str, author: Option<&str>) -> Result<Captured, GitError> {
        self.break_stale_lock()?;
        let status = self.status()?;
        if !status.nested.is_empty() {
            return Err(GitError::NestedRepositories {
                worktree: self.path().to_owned(),
                paths: status.nested,
            });
        }
        self.refuse_conflicts(&status)?;
        let made_commit = !status.is_clean();
        if made_commit {
            if status.branch.is_some() {
                self.detach()?;
            }
            self.git().call(["add", "--all"]).run()?;
            let mut call = self.git().call([
                "commit",
                "--quiet",
                "--no-verify",
                "--no-status",
                "--cleanup=whitespace",
                "--allow-empty",
                "--allow-empty-message",
                "--no-gpg-sign",
                "-m",
                message,
            ]);
            for (key, value) in self.repo().identity_env(author)? {
                call = call.env(key, value);
            }
            call.run()?;
        }
        let head = self.head()?;
        let commit = head.ok_or_else(|| GitError::EmptyRepository { path: self.path().to_owned() })?;
        let tree = self.repo().tree_of(&commit)?;
        Ok(Captured { commit, tree, made_commit })
    }

    /// Of `files`, those with conflict markers in them.
    pub fn conflict_markers(&self, files: &[String]) -> Vec<String> {
        let marked = |file: &&String| {
            fs::read(self.path().join(file.as_str()))
                .is_ok_and(|bytes| !is_binary(&bytes) && has_markers(&bytes))
        };
        files.iter().filter(marked).cloned().collect()
    }

    fn refuse_conflicts(&self, status: &Status) -> Result<(), GitError> {
        let mut files = status.unmerged.clone();
        if let (Some(head), Some(merging)) = (&status.head, &status.merge_head) {
            // `git add` makes git forget which files were in conflict; the merge can be asked again.
            if let Merged::Conflict { files: conflicted, .. } = self.repo().merge(head, merging)? {
                files.extend(conflicted);
            }
        }
        files.sort();
        files.dedup();
        let marked = self.conflict_markers(&files);
        if !marked.is_empty() {
            return Err(GitError::ConflictMarkers { files: marked });
        }
        let undecided = self.undecided(status)?;
        if undecided.is_empty() { Ok(()) } else { Err(GitError::Undecided { files: undecided }) }
    }

    /// Conflicts that leave no markers: one side deleted the file, or it is binary. That the file looks
    /// whole proves nothing; only `git add` or its absence shows that somebody decided.
    fn undecided(&self, status: &Status) -> Result<Vec<String>, GitError> {
        if status.unmerged.is_empty() {
            return Ok(Vec::new());
        }
        let list = self.git().call(["ls-files", "--unmerged", "-z"]).bytes()?;
        let lines: Vec<String> = fields(&list).map(lossy).collect();
        let stages = |file: &str| {
            let of_file =
                lines.iter().filter_map(|line| line.split_once('\t')).filter(|(_, path)| *path == file);
            of_file.filter_map(|(facts, _)| facts.rsplit(' ').next()).collect::<Vec<_>>()
        };
        let undecided = |file: &&String| {
            let Ok(bytes) = fs::read(self.path().join(file.as_str())) else { return false };
            let stages = stages(file);
            is_binary(&bytes) || !(stages.contains(&"2") && stages.contains(&"3"))
        };
        Ok(status.unmerged.iter().filter(undecided).cloned().collect())
    }

    /// For the next try after a conflict: the verified commit `from`, with the merge of `tip` begun and its
    /// conflicts left in the files. What was uncommitted is rescued. Nobody may be working in it.
    pub fn bring_up_to(&self, tip: &Oid, from: &Oid, rescue: &Rescue) -> Result<BroughtUp, GitError> {
        self.break_stale_lock()?;
        let status = self.status()?;
        if let Some(head) = &status.head {
            let from_there = self.repo().is_ancestor(from, head)?;
            let merging = status.merge_head.as_ref() == Some(tip);
            if from_there && (merging || self.repo().is_ancestor(tip, head)?) {
                return Ok(BroughtUp { conflicted: status.unmerged, rescued: None });
            }
        }
        let rescued = self.rescue(rescue)?;
        self.checkout_detached(from)?;
        let call =
            self.git().call(["merge", "--quiet", "--no-ff", "--no-commit", "--no-verify", "--no-autostash"]);
        let mut call = call.args(["--no-edit", tip.as_str()]);
        for (key, value) in self.repo().identity_env(None)? {
            call = call.env(key, value);
        }
        let answer = call.answer()?;
        let status = self.status()?;
        match answer.code {
            Some(0) => Ok(BroughtUp { conflicted: Vec::new(), rescued }),
            Some(1) if !status.unmerged.is_empty() => Ok(BroughtUp { conflicted: status.unmerged, rescued }),
            _ => Err(answer.failed()),
        }
    }
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_WINDOW).any(|byte| *byte == 0)
}

/// A beginning, a middle and an end, in that order: a heading underlined with `=======` is no conflict.
pub(super) fn has_markers(bytes: &[u8]) -> bool {
    let mut wanted = [&b"<<<<<<<"[..], b"=======", b">>>>>>>"].into_iter();
    let mut next = wanted.next();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(marker) = next else { break };
        let rest = line.strip_prefix(marker);
        if rest.is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\r'))) {
            next = wanted.next();
        }
    }
    next.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_told_from_headings() {
        assert!(has_markers(b"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> 1234\n"));
        assert!(has_markers(b"<<<<<<< HEAD\r\nb\r\n=======\r\nc\r\n>>>>>>> 1234\r\n"));
        assert!(!has_markers(b"Title\n=======\n\n>>>>>>> quoted\n"));
        assert!(!has_markers(b"<<<<<<<<< nine\n=======\n>>>>>>> x\n"));
    }
}
