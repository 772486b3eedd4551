//! Moving a target that is checked out: its files, then the index, then the ref, and only forward.
//!
//! `git merge` would move whatever branch is checked out by the time it looks. So Piton does each step itself: a
//! two-tree `read-tree` writes the files with a temporary index, while Piton holds the lock of the checkout's own
//! index; a compare-and-swap moves the ref under its name. A person who switches branches needs that lock too. If their
//! switch was past the lock and had not yet written HEAD, Piton notices that afterwards, and restores the files of
//! their branch.

use std::fs::{self, File};
use std::io::{self, Write};
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;

use super::branch::branch_ref;
use super::command::{Git, lossy};
use super::error::GitError;
use super::halfway::{Concerned, Written};
use super::index::TempIndex;
use super::leftover;
use super::repo::{self, Repo};
use super::status;
use super::target::{LandingLease, Moved, Wait};
use super::worktree::remove_if_there;
use crate::crash;

/// The locks that are in the way of a landing, as far as they are there.
pub(super) fn locks_in(git_dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let names = ["index.lock", "HEAD.lock"];
    names.map(|name| git_dir.join(name)).into_iter().filter(|lock| lock.exists()).collect()
}

/// Clear stale locks that only a merge takes. An engine of an earlier version may have left them.
pub(super) fn clear_of_merges(
    git_dir: &Utf8Path,
    branch: &str,
    checkout: &Utf8Path,
    recovering: Option<SystemTime>,
) -> Result<(), GitError> {
    for lock in ["ORIG_HEAD.lock", "AUTO_MERGE.lock"].map(|name| git_dir.join(name)) {
        if lock.exists() && is_left(&lock, branch, checkout, recovering) {
            remove_if_there(&lock)?;
        }
    }
    Ok(())
}

/// Whether a lock in the checkout of a target is stale. The caller holds the lease, so a lock marked with this target
/// was left by an engine that died. Any other lock is stale only if it is younger than the intent and no process uses
/// it.
pub(super) fn is_left(
    lock: &Utf8Path,
    branch: &str,
    checkout: &Utf8Path,
    recovering: Option<SystemTime>,
) -> bool {
    let is_marked = || Ok::<_, GitError>(fs::read_to_string(lock).ok() == Some(mark(branch)?));
    is_marked().unwrap_or(false)
        || recovering.is_some_and(|since| leftover::is_dead(lock, &[checkout.to_owned()], since))
}

fn mark(branch: &str) -> Result<String, GitError> {
    Ok(format!("piton: landing on {}\n", branch_ref(branch)?))
}

/// The lock of a checkout's index. If its holder dies, or fails without knowing how far its git process came, the lock
/// stays: it says that the files may not be whole.
struct IndexLock {
    path: Utf8PathBuf,
    /// Open as long as the lock is held, so that other processes see that it is taken.
    _file: File,
}

impl IndexLock {
    /// `None`: another process has it.
    fn take(git_dir: &Utf8Path, mark: &str) -> Result<Option<IndexLock>, GitError> {
        let path = git_dir.join("index.lock");
        let mut file = match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            other => other.map_err(GitError::io(path.clone()))?,
        };
        match file.write_all(mark.as_bytes()) {
            Ok(()) => Ok(Some(IndexLock { path, _file: file })),
            Err(error) => {
                // No file was changed yet, so the lock need not stay.
                remove_if_there(&path)?;
                Err(GitError::io(path)(error))
            }
        }
    }

    fn release(self) -> Result<(), GitError> {
        remove_if_there(&self.path).map(drop)
    }
}

/// One try to move a branch that is checked out.
pub(super) struct Step<'a> {
    pub(super) repo: &'a Repo,
    pub(super) lease: &'a LandingLease,
    pub(super) old: &'a Oid,
    pub(super) candidate: &'a Oid,
    pub(super) recovering: Option<SystemTime>,
}

impl Step<'_> {
    /// `None`: the branch is no longer checked out there, or no longer at `old`, or a git process is at work there.
    pub(super) fn move_checkout(&self, checkout: &Utf8Path) -> Result<Option<Moved>, GitError> {
        let git = self.repo.git().at(checkout);
        let git_dir = repo::git_dir_of(&git)?;
        if let Some(what) = status::operation(&git_dir) {
            return Ok(Some(Moved::Waits(Wait::Operation { checkout: checkout.to_owned(), what })));
        }
        // If the ref is locked, the files would be changed for nothing.
        if let Some(wait) = self.repo.clear_ref_lock(self.lease, self.candidate, self.recovering)? {
            return Ok(Some(Moved::Waits(wait)));
        }
        clear_of_merges(&git_dir, &self.lease.branch, checkout, self.recovering)?;
        let locks = locks_in(&git_dir);
        for lock in &locks {
            if !is_left(lock, &self.lease.branch, checkout, self.recovering) {
                return Ok(Some(Moved::Waits(Wait::Locked { path: lock.clone() })));
            }
        }
        let concerned = Concerned::read(self.repo, &git, (checkout, &git_dir), (self.old, self.candidate))?;
        // Judge the files while the lock still says that a checkout was cut off.
        let written = match self.recovering {
            _ if !locks.is_empty() => Written::CutOff,
            Some(since) => Written::MaybeCutOff(since),
            None => Written::Nothing,
        };
        let index = TempIndex::copy(self.repo, &git, &git_dir)?;
        let judged = concerned.judge(written)?;
        if judged.branch.as_ref() != Some(&self.lease.branch) || judged.head.as_ref() != Some(self.old) {
            return Ok(None);
        }
        if !judged.theirs.is_empty() {
            let files = judged.theirs;
            return Ok(Some(Moved::Waits(Wait::Files { checkout: checkout.to_owned(), files })));
        }
        crash::point("landing.judged");
        for lock in &locks {
            remove_if_there(lock)?;
        }
        let Some(lock) = IndexLock::take(&git_dir, &mark(&self.lease.branch)?)? else {
            return Ok(Some(Moved::Waits(Wait::Locked { path: git_dir.join("index.lock") })));
        };
        // From here on no other git process changes the index. What was judged has to be what is there.
        if !index.is_current(&git_dir) || !self.is_there(&git, &git_dir)? {
            lock.release()?;
            return Ok(None);
        }
        if !judged.ours.is_empty() {
            concerned.put_back(&judged.ours, &index)?;
        }
        let moved = self.forward(&git, &git_dir, &concerned, &index)?;
        if moved.is_none() && !judged.ours.is_empty() {
            // What was put back is put back in the index as well.
            index.keep(&git_dir).map_err(GitError::io(git_dir.clone()))?;
        }
        let synced = concerned.sync();
        lock.release()?;
        synced?;
        Ok(moved)
    }

    /// With the lock of the index in hand and every file concerned at `old`.
    fn forward(
        &self,
        git: &Git,
        git_dir: &Utf8Path,
        concerned: &Concerned<'_>,
        index: &TempIndex,
    ) -> Result<Option<Moved>, GitError> {
        let write =
            |from: &Oid, to: &Oid| index.call(["read-tree", "-m", "-u", from.as_str(), to.as_str()]).answer();
        let mut written = write(self.old, self.candidate)?;
        if written.code != Some(0) {
            // Git has looked at times alone. A file with the right content and another time is not in the way: a
            // program touched it, or a recovery put it back and was killed before it updated the index.
            index.call(["update-index", "-q", "--refresh"]).answer()?;
            written = write(self.old, self.candidate)?;
        }
        if written.code != Some(0) {
            // The files were all at `old` a moment ago: what is at the candidate's version now was written by this git.
            concerned.undo()?;
            // A person may have changed one of them in between.
            let files = concerned.judge(Written::Whole)?.theirs;
            return Ok(Some(Moved::Waits(if files.is_empty() {
                let said = written.stderr.trim_end();
                Wait::Refused {
                    message: format!("{said} To go on, commit your changes, or put the file back"),
                }
            } else {
                Wait::Files { checkout: git.dir().to_owned(), files }
            })));
        }
        crash::point("landing.files");
        if !self.is_there(git, git_dir)? {
            // A person was in the middle of a switch. Their index is as they left it.
            let back = write(self.candidate, self.old)?;
            return if back.code == Some(0) { Ok(None) } else { Err(back.failed()) };
        }
        index.keep(git_dir).map_err(GitError::io(git_dir))?;
        crash::point("landing.indexed");
        let moved = self.repo.swap_ref(git, self.lease, self.old, self.candidate)?;
        if moved != Moved::Done {
            concerned.undo()?;
        } else if !self.is_there(git, git_dir)? {
            concerned.give_back()?;
        }
        Ok(Some(moved))
    }

    /// Whether the target is what is checked out there.
    fn is_there(&self, git: &Git, git_dir: &Utf8Path) -> Result<bool, GitError> {
        let name = branch_ref(&self.lease.branch)?;
        let file = git_dir.join("HEAD");
        let is_plain = !file.is_symlink() && !self.repo.common_dir().join("reftable").exists();
        if let Some(text) = fs::read_to_string(&file).ok().filter(|_| is_plain) {
            return Ok(text.trim_end() == format!("ref: {name}"));
        }
        let answer = git.call(["symbolic-ref", "--quiet", "HEAD"]).answer()?;
        Ok(answer.code == Some(0) && lossy(&answer.stdout).trim_end() == name)
    }
}
