//! Taking an agent's work out of its worktree, and bringing the worktree up to a moved target.

use piton_core::plan::Oid;

use super::command::{fields, lossy};
use super::error::GitError;
use super::merge::Merged;
use super::rescue::{Rescue, Rescued};
use super::status::{self, Status};
use super::view::View;
use super::worktree::Worktree;
use crate::disk;

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
    /// Commit whatever is uncommitted, on top of wherever HEAD is, and conclude a merge. A branch the agent checked out
    /// is not moved: HEAD is detached first. No agent may be at work in the worktree.
    pub fn capture(&self, message: &str, author: Option<&str>) -> Result<Captured, GitError> {
        self.break_stale_lock()?;
        self.check_own()?;
        let view = self.view()?;
        let status = view.status(self)?;
        if !status.nested.is_empty() {
            return Err(GitError::NestedRepositories {
                worktree: self.path().to_owned(),
                paths: status.nested,
            });
        }
        self.refuse_conflicts(&view, &status)?;
        let made_commit = !status.is_clean();
        let head =
            if made_commit { Some(self.commit(&view, &status, message, author)?) } else { status.head };
        let commit = head.ok_or_else(|| GitError::EmptyRepository { path: self.path().to_owned() })?;
        if !made_commit && status.branch.is_some() {
            self.set_head(&commit)?;
        }
        let tree = self.repo().tree_of(&commit)?;
        Ok(Captured { commit, tree, made_commit })
    }

    fn commit(
        &self,
        view: &View,
        status: &Status,
        message: &str,
        author: Option<&str>,
    ) -> Result<Oid, GitError> {
        let repo = self.repo();
        view.index().add_all(status)?;
        let tree = view.index().write_tree()?;
        let mut parents: Vec<Oid> = status.head.iter().cloned().collect();
        for merged in status::heads_in(&self.git_dir().join("MERGE_HEAD")) {
            let is_there = match &status.head {
                Some(head) => repo.is_ancestor(&merged, head)?,
                None => false,
            };
            if !is_there && !parents.contains(&merged) {
                parents.push(merged);
            }
        }
        let parents: Vec<&Oid> = parents.iter().collect();
        let commit = repo.commit_work(&tree, &parents, &tidied(message), author)?;
        self.take_over(view)?;
        self.set_head(&commit)?;
        self.end_operation()?;
        Ok(commit)
    }

    /// Of `files`, those with conflict markers in them.
    pub fn conflict_markers(&self, files: &[String]) -> Vec<String> {
        let marked = |file: &&String| {
            disk::read_plain(&self.path().join(file.as_str()))
                .is_ok_and(|bytes| !is_binary(&bytes) && has_markers(&bytes))
        };
        files.iter().filter(marked).cloned().collect()
    }

    fn refuse_conflicts(&self, view: &View, status: &Status) -> Result<(), GitError> {
        let mut files = status.unmerged.clone();
        if let (Some(head), Some(merging)) = (&status.head, &status.merge_head) {
            // `git add` makes git forget which files were in conflict; the merge is computed again to find them.
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
        let undecided = self.undecided(view, status)?;
        if undecided.is_empty() { Ok(()) } else { Err(GitError::Undecided { files: undecided }) }
    }

    /// Conflicts that leave no markers: one side deleted the file, or it is binary. That the file looks
    /// whole proves nothing; only `git add` or its absence shows that it was resolved.
    fn undecided(&self, view: &View, status: &Status) -> Result<Vec<String>, GitError> {
        if status.unmerged.is_empty() {
            return Ok(Vec::new());
        }
        let list = view.git().call(["ls-files", "--unmerged", "-z"]).bytes()?;
        let lines: Vec<String> = fields(&list).map(lossy).collect();
        let stages = |file: &str| {
            let of_file =
                lines.iter().filter_map(|line| line.split_once('\t')).filter(|(_, path)| *path == file);
            of_file.filter_map(|(facts, _)| facts.rsplit(' ').next()).collect::<Vec<_>>()
        };
        let undecided = |file: &&String| {
            let Ok(bytes) = disk::read_plain(&self.path().join(file.as_str())) else { return false };
            let stages = stages(file);
            is_binary(&bytes) || !(stages.contains(&"2") && stages.contains(&"3"))
        };
        Ok(status.unmerged.iter().filter(undecided).cloned().collect())
    }

    /// For the next try after a conflict: the verified commit `from`, with the merge of `tip` begun and its conflicts
    /// left in the files. What was uncommitted is rescued. No agent may be at work in the worktree.
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
        let view = self.view()?;
        let merge = ["merge", "--quiet", "--no-ff", "--no-commit", "--no-verify", "--no-autostash"];
        let mut call = view.index().call(merge).args(["--no-edit", tip.as_str()]);
        for (key, value) in self.repo().identity_env(None)? {
            call = call.env(key, value);
        }
        let answer = call.answer()?;
        self.take_over(&view)?;
        let status = self.status()?;
        match answer.code {
            Some(0) => Ok(BroughtUp { conflicted: Vec::new(), rescued }),
            Some(1) if !status.unmerged.is_empty() => Ok(BroughtUp { conflicted: status.unmerged, rescued }),
            _ => Err(answer.failed()),
        }
    }
}

/// A message without needless space, as git itself leaves one.
fn tidied(message: &str) -> String {
    let mut lines: Vec<&str> = message.lines().map(str::trim_end).collect();
    lines.dedup_by(|next, line| next.is_empty() && line.is_empty());
    lines.join("\n").trim_matches('\n').to_owned()
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_WINDOW).any(|byte| *byte == 0)
}

/// A beginning, a middle and an end, in that order: a heading underlined with `=======` is not a conflict.
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
    fn messages_have_no_needless_space() {
        assert_eq!(tidied("\n\nOne  \n\n\n\nTwo\n  three\n\n"), "One\n\nTwo\n  three");
        assert_eq!(tidied(" \n"), "");
    }

    #[test]
    fn markers_are_told_from_headings() {
        assert!(has_markers(b"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> 1234\n"));
        assert!(has_markers(b"<<<<<<< HEAD\r\nb\r\n=======\r\nc\r\n>>>>>>> 1234\r\n"));
        assert!(!has_markers(b"Title\n=======\n\n>>>>>>> quoted\n"));
        assert!(!has_markers(b"<<<<<<<<< nine\n=======\n>>>>>>> x\n"));
    }
}
