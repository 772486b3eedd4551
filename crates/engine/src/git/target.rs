//! Moving the target: the one step of a landing that others can see.
//!
//! A process that moves a target holds its lease; git itself holds it too while it works, so a killed engine's git is
//! waited for. A target that is checked out moves with its files: see `forward`.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use camino::Utf8PathBuf;
use piton_core::plan::Oid;
use sha2::{Digest, Sha256};

use super::branch::branch_ref;
use super::command::Git;
use super::error::GitError;
use super::forward::{self, Step};
use super::halfway::Concerned;
use super::leftover;
use super::repo::{self, Checkout, Repo};
use super::status;
use super::worktree::remove_if_there;
use crate::crash;
use crate::lock::Lock;

/// The right to move one branch of one repository, held across all runs and processes.
#[derive(Debug, Clone)]
pub struct LandingLease {
    pub(super) branch: String,
    common: Utf8PathBuf,
    lock: Arc<Lock>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    Done,
    /// It was moved, or (`None`) deleted: the merge must be built again.
    TargetMoved {
        now: Option<Oid>,
    },
    /// Nothing was changed; a person has to do something first.
    Waits(Wait),
}

/// Why a landing waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// Files the landing would change are changed, staged or in the way there.
    Files {
        checkout: Utf8PathBuf,
        files: Vec<String>,
    },
    Operation {
        checkout: Utf8PathBuf,
        what: &'static str,
    },
    /// Another git process holds this lock, or died with it.
    Locked {
        path: Utf8PathBuf,
    },
    /// The branch is checked out more than once.
    SeveralCheckouts {
        paths: Vec<Utf8PathBuf>,
    },
    /// Its checkout is on a drive that is not there.
    Away {
        checkout: Utf8PathBuf,
    },
    /// Git refused, for the reason given.
    Refused {
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandedState {
    Landed,
    AtOld,
    /// There is a new commit on top of the old tip.
    MovedForward {
        tip: Oid,
    },
    /// Rewound, rewritten or deleted.
    Elsewhere {
        tip: Option<Oid>,
    },
}

impl LandingLease {
    /// Wait for the lease.
    pub fn take(repo: &Repo, branch: &str) -> Result<LandingLease, GitError> {
        let path = lease_path(repo, branch)?;
        let lock = Lock::take(&path).map_err(GitError::io(path))?;
        Ok(LandingLease::new(repo, branch, lock))
    }

    /// The lease, unless another process is landing there.
    pub fn try_take(repo: &Repo, branch: &str) -> Result<Option<LandingLease>, GitError> {
        let path = lease_path(repo, branch)?;
        let lock = Lock::try_take(&path).map_err(GitError::io(path))?;
        Ok(lock.map(|lock| LandingLease::new(repo, branch, lock)))
    }

    fn new(repo: &Repo, branch: &str, lock: Lock) -> LandingLease {
        let common = repo.common_dir().to_owned();
        LandingLease { branch: branch.to_owned(), common, lock: Arc::new(lock) }
    }

    pub fn branch(&self) -> &str {
        &self.branch
    }
}

fn lease_path(repo: &Repo, branch: &str) -> Result<Utf8PathBuf, GitError> {
    let digest = Sha256::digest(branch_ref(branch)?.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    repo.lock_path(&format!("target-{hex}.lock"))
}

impl Repo {
    /// The checkout that has `branch`, if one is there.
    pub fn where_is_target(&self, branch: &str) -> Result<Option<Utf8PathBuf>, GitError> {
        Ok(self.holders(branch)?.into_iter().find(|holder| holder.path.exists()).map(|holder| holder.path))
    }

    /// What a landing on `branch` would wait for if it came now, whatever it changes. Nothing is touched.
    pub fn in_the_way(&self, branch: &str) -> Result<Option<Wait>, GitError> {
        if let Some(wait) = self.rewriting(branch)? {
            return Ok(Some(wait));
        }
        let holders = self.holders(branch)?;
        if let Some(holder) = holders.iter().find(|holder| !holder.path.exists() && holder.locked.is_some()) {
            return Ok(Some(Wait::Away { checkout: holder.path.clone() }));
        }
        let mut paths: Vec<Utf8PathBuf> =
            holders.into_iter().map(|holder| holder.path).filter(|path| path.exists()).collect();
        if paths.len() > 1 {
            return Ok(Some(Wait::SeveralCheckouts { paths }));
        }
        let Some(checkout) = paths.pop() else { return Ok(None) };
        let git = self.git().at(&checkout);
        if let Some(what) = status::operation(&repo::git_dir_of(&git)?) {
            return Ok(Some(Wait::Operation { checkout, what }));
        }
        let files = status::changed(&git)?;
        Ok((!files.is_empty()).then_some(Wait::Files { checkout, files }))
    }

    /// The question after a crash: did the target get there?
    pub fn landed_state(&self, branch: &str, old: &Oid, candidate: &Oid) -> Result<LandedState, GitError> {
        let Some(tip) = self.branch_tip(branch)? else { return Ok(LandedState::Elsewhere { tip: None }) };
        Ok(if tip == *old {
            LandedState::AtOld
        } else if self.is_ancestor(candidate, &tip)? {
            LandedState::Landed
        } else if self.is_ancestor(old, &tip)? {
            LandedState::MovedForward { tip }
        } else {
            LandedState::Elsewhere { tip: Some(tip) }
        })
    }

    /// Move the lease's branch from `old` to `candidate`, a descendant of it.
    ///
    /// `recovering` is the time of the journaled intent when this is not the first try: then what a killed
    /// git left in the checkout, younger than that, is cleared away first.
    pub fn move_target(
        &self,
        lease: &LandingLease,
        old: &Oid,
        candidate: &Oid,
        recovering: Option<SystemTime>,
    ) -> Result<Moved, GitError> {
        if lease.common != self.common_dir() {
            return Err(GitError::WrongLease);
        }
        let repo = self.guarded_by(Arc::clone(&lease.lock));
        let moved = loop {
            if let Some(moved) = repo.verdict(lease, old, candidate)? {
                break moved;
            }
            crash::point("landing.before-move");
            let holders = repo.holders(&lease.branch)?;
            let away = holders.iter().find(|holder| !holder.path.exists() && holder.locked.is_some());
            if let Some(holder) = away {
                return Ok(Moved::Waits(Wait::Away { checkout: holder.path.clone() }));
            }
            let here: Vec<&Checkout> = holders.iter().filter(|holder| holder.path.exists()).collect();
            if let Some(holder) = here.iter().find(|holder| repo.is_pitons(&holder.path)) {
                // An agent checked out the target. Piton writes nothing where agents work, so the landing waits for the
                // agent's end.
                let (checkout, what) = (holder.path.clone(), "the work of an agent");
                return Ok(Moved::Waits(Wait::Operation { checkout, what }));
            }
            match here[..] {
                [] => break repo.move_ref(lease, old, candidate, recovering)?,
                [holder] => {
                    let step = Step { repo: &repo, lease, old, candidate, recovering };
                    // Otherwise the branch was switched or moved meanwhile: look again.
                    if let Some(moved) = step.move_checkout(&holder.path)? {
                        break moved;
                    }
                }
                _ => {
                    let paths = here.iter().map(|holder| holder.path.clone()).collect();
                    break Moved::Waits(Wait::SeveralCheckouts { paths });
                }
            }
        };
        if moved == Moved::Done {
            repo.sync_ref(&branch_ref(&lease.branch)?)?;
            crash::point("landing.moved");
        }
        Ok(moved)
    }

    /// After a crash, with the target at `candidate`: clear away what the git that moved it left in the checkout,
    /// younger than `since`, and write the files again that a power cut took. Returns what is in the way. Afterwards
    /// the move is on the disk, whichever process made it and however far it got.
    pub fn settle_target(
        &self,
        lease: &LandingLease,
        old: &Oid,
        candidate: &Oid,
        since: SystemTime,
    ) -> Result<Option<Wait>, GitError> {
        let repo = self.guarded_by(Arc::clone(&lease.lock));
        repo.sync_ref(&branch_ref(&lease.branch)?)?;
        if repo.branch_tip(&lease.branch)?.as_ref() != Some(candidate) {
            return Ok(None);
        }
        let is_a_persons = |holder: &&Checkout| holder.path.exists() && !repo.is_pitons(&holder.path);
        for holder in repo.holders(&lease.branch)?.iter().filter(is_a_persons) {
            let git = repo.git().at(&holder.path);
            let git_dir = repo::git_dir_of(&git)?;
            forward::clear_of_merges(&git_dir, &lease.branch, &holder.path, Some(since))?;
            for lock in forward::locks_in(&git_dir) {
                // A git process at work there may be a person's, or another one of ours.
                if !forward::is_left(&lock, &lease.branch, &holder.path, Some(since)) {
                    return Ok(Some(Wait::Locked { path: lock }));
                }
                remove_if_there(&lock)?;
            }
            let concerned = Concerned::read(&repo, &git, (&holder.path, &git_dir), (old, candidate))?;
            concerned.finish(since)?;
            concerned.sync()?;
        }
        Ok(None)
    }

    /// The position of the ref decides, unless it is still at `old`.
    pub(super) fn verdict(
        &self,
        lease: &LandingLease,
        old: &Oid,
        candidate: &Oid,
    ) -> Result<Option<Moved>, GitError> {
        let now = self.branch_tip(&lease.branch)?;
        Ok(match now {
            Some(tip) if tip == *old => None,
            Some(tip) if self.is_ancestor(candidate, &tip)? => Some(Moved::Done),
            now => Some(Moved::TargetMoved { now }),
        })
    }

    fn move_ref(
        &self,
        lease: &LandingLease,
        old: &Oid,
        candidate: &Oid,
        recovering: Option<SystemTime>,
    ) -> Result<Moved, GitError> {
        if let Some(wait) = self.rewriting(&lease.branch)? {
            return Ok(Moved::Waits(wait));
        }
        if let Some(wait) = self.clear_ref_lock(lease, candidate, recovering)? {
            return Ok(Moved::Waits(wait));
        }
        self.swap_ref(self.git(), lease, old, candidate)
    }

    /// The only way a target moves: under its own name, from `old` or not at all. Whatever branch is checked out, no
    /// other branch can move.
    pub(super) fn swap_ref(
        &self,
        git: &Git,
        lease: &LandingLease,
        old: &Oid,
        candidate: &Oid,
    ) -> Result<Moved, GitError> {
        let name = branch_ref(&lease.branch)?;
        let call = git.call(["update-ref", "-m", "piton: land", "--end-of-options"]);
        let answer = call.args([&name, candidate.as_str(), old.as_str()]).answer()?;
        if answer.code == Some(0) {
            return Ok(Moved::Done);
        }
        let refused = || Moved::Waits(Wait::Refused { message: answer.stderr.clone() });
        Ok(self.verdict(lease, old, candidate)?.unwrap_or_else(refused))
    }

    /// A branch that is being rebased or bisected counts as checked out: the end of that operation will set the branch.
    fn rewriting(&self, branch: &str) -> Result<Option<Wait>, GitError> {
        let name = branch_ref(branch)?;
        for git_dir in status::git_dirs(self.common_dir()) {
            let said = |file: &str, text: &str| {
                std::fs::read_to_string(git_dir.join(file)).is_ok_and(|found| found.trim_end() == text)
            };
            let rebased = said("rebase-merge/head-name", &name) || said("rebase-apply/head-name", &name);
            let what = if rebased { "a rebase" } else { "a bisect" };
            if rebased || said("BISECT_START", branch) {
                return Ok(Some(Wait::Operation { checkout: git_dir, what }));
            }
        }
        Ok(None)
    }

    /// A lock that holds our candidate was left by a git process of ours that died: no other process knows the id, and
    /// since we hold the lease that process is gone. An empty one may be ours as well, since git makes the file before
    /// it writes the id: it is removed if it is younger than the intent and no living git process can have made it. Any
    /// other lock is not ours.
    pub(super) fn clear_ref_lock(
        &self,
        lease: &LandingLease,
        candidate: &Oid,
        recovering: Option<SystemTime>,
    ) -> Result<Option<Wait>, GitError> {
        let path = self.common_dir().join(format!("{}.lock", branch_ref(&lease.branch)?));
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(None) };
        let ours = match recovering {
            _ if text.trim_end() == candidate.as_str() => true,
            Some(since) if text.is_empty() => leftover::is_dead(&path, &self.places(), since),
            _ => false,
        };
        if !ours {
            return Ok(Some(Wait::Locked { path }));
        }
        remove_if_there(&path)?;
        Ok(None)
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Files { checkout, files } => {
                let shown = files.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
                let more = files.len().saturating_sub(5);
                write!(f, "{checkout} has uncommitted changes in {shown}")?;
                if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
            }
            Wait::Operation { checkout, what } => {
                write!(f, "{what} is in progress in {checkout}")?;
                let is_merge = *what == "a merge";
                if is_merge { f.write_str(": `git merge --abort` there ends it") } else { Ok(()) }
            }
            Wait::Locked { path } => {
                write!(f, "git is running there, or was killed: remove {path} if no git process is running")
            }
            Wait::SeveralCheckouts { paths } => {
                let paths = paths.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(", ");
                write!(f, "the branch is checked out more than once: {paths}")
            }
            Wait::Away { checkout } => write!(f, "its checkout {checkout} is locked and not there"),
            Wait::Refused { message } => write!(f, "git refused: {message}"),
        }
    }
}
