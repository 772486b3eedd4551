//! What git processes of ours leave behind when they are killed, and the proof that no living process holds it.
//!
//! An engine that starts clears it, since the last one may have died with its git processes. So does a running engine
//! when a git process of its own was killed, by a person or by the kernel for lack of memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};

use super::error::GitError;
use super::index::TempIndex;
use super::repo::Repo;
use super::status;
use super::worktree::{INITIALIZING, remove_if_there};
use crate::lock::Lock;

/// File times come from a clock that ticks more slowly than the one an intent is stamped with.
const CLOCK_TICK: Duration = Duration::from_millis(20);
/// How often an action is repeated because a git process of ours was killed. If more are killed, a person probably
/// wants Piton to stop.
const REPEATS: usize = 5;
/// How often Piton looks at what a killed git process left, while other git processes are at work: they end in a
/// moment.
const LOOKS: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(50);

/// Whether a lock file in a person's repository was left by a git process that is gone: it was made after `since`, no
/// living process has it open, and no git process is at work in these places. Only Linux can tell.
pub(super) fn is_dead(lock: &Utf8Path, places: &[Utf8PathBuf], since: SystemTime) -> bool {
    is_younger(lock.as_std_path(), since) && is_unused(lock, places)
}

pub(super) fn is_younger(file: &Path, since: SystemTime) -> bool {
    let written = fs::metadata(file).and_then(|meta| meta.modified());
    written.is_ok_and(|written| written + CLOCK_TICK >= since)
}

fn is_unused(lock: &Utf8Path, places: &[Utf8PathBuf]) -> bool {
    cfg!(target_os = "linux") && !is_in_use(lock.as_std_path(), places)
}

impl Repo {
    /// Run `act`, which can be repeated. If a git process of ours is killed meanwhile, clear what it left as
    /// [`Repo::clear_dead_locks`] does, and run `act` again.
    pub fn despite_kills<T, E>(
        &self,
        run: &str,
        since: SystemTime,
        is_kill: impl Fn(&E) -> bool,
        mut act: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        for _ in 0..REPEATS {
            self.clear_if_lost(run, since);
            match act() {
                Err(error) if is_kill(&error) => {}
                ended => return ended,
            }
        }
        act()
    }

    /// Clear away what a killed git process of ours left, if that has not been done. What cannot be cleared makes a
    /// later git command fail, which reports it.
    pub fn clear_if_lost(&self, run: &str, since: SystemTime) {
        if self.git().has_lost_one() {
            let _ = self.clear_after_kill(run, since);
        }
    }

    /// Whether a git process of ours was killed, and what it left may still be there.
    pub fn has_lost_a_process(&self) -> bool {
        self.git().has_lost_one()
    }

    /// Runs while no git process of ours changes anything.
    fn clear_after_kill(&self, run: &str, since: SystemTime) -> Result<(), GitError> {
        for _ in 0..LOOKS {
            // A git process that is killed after this is handled by the next call.
            let cleared = self.git().alone(|| {
                let cleared = self.clear_dead_locks(run, since);
                if matches!(cleared, Ok(true)) {
                    self.git().forget_lost();
                }
                cleared
            });
            match cleared.transpose()? {
                Some(true) => return Ok(()),
                Some(false) | None => thread::sleep(BETWEEN),
            }
        }
        Ok(())
    }

    /// Clear away what was left when this run's engine or its git processes were killed: temporary indexes, ref locks,
    /// and the empty folder of a worktree that is gone. Returns whether all of it is gone: another git process that is
    /// at work may hold some of it. The caller holds the run's lock, which those git processes held too, and none of
    /// its own is at work. `since`: when the run began.
    pub fn clear_dead_locks(&self, run: &str, since: SystemTime) -> Result<bool, GitError> {
        TempIndex::sweep(self)?;
        self.remove_torn_objects()?;
        for lock in self.locks_of(run) {
            remove_if_there(&lock)?;
        }
        let heads = self.common_dir().join("refs/heads");
        let ours = |lock: &Utf8PathBuf| {
            lock.parent() == Some(&heads)
                && lock.file_name().is_some_and(|name| name.starts_with("worktree-"))
        };
        let mut shared = self.shared_locks();
        shared.extend(locks_below(&heads).into_iter().filter(ours));
        shared.retain(|lock| is_younger(lock.as_std_path(), since));
        let places = if shared.is_empty() { Vec::new() } else { self.places() };
        let mut all = true;
        for lock in shared {
            if is_unused(&lock, &places) {
                remove_if_there(&lock)?;
            } else {
                all = false;
            }
        }
        Ok(self.remove_abandoned_entries()? && all)
    }

    /// Locks of refs that only one run writes.
    pub fn locks_of(&self, run: &str) -> Vec<Utf8PathBuf> {
        let own = [format!("refs/piton/{run}"), format!("refs/piton/rescue/{run}")];
        own.iter().flat_map(|refs| locks_below(&self.common_dir().join(refs))).collect()
    }

    /// Locks that were left by dead git processes, ours or others: no process has them open, and no git process is at
    /// work here. Only Linux can tell.
    pub fn unused_locks(&self) -> Vec<Utf8PathBuf> {
        let mut found = self.shared_locks();
        for own in ["refs/heads", "refs/piton"] {
            found.extend(locks_below(&self.common_dir().join(own)));
        }
        for git_dir in status::git_dirs(self.common_dir()) {
            let names = ["index.lock", "HEAD.lock", "ORIG_HEAD.lock", "AUTO_MERGE.lock"];
            found.extend(names.map(|name| git_dir.join(name)));
        }
        found.sort();
        found.dedup();
        found.retain(|lock| lock.exists());
        let places = if found.is_empty() { Vec::new() } else { self.places() };
        found.retain(|lock| is_unused(lock, &places));
        found
    }

    /// Remove one that [`Repo::unused_locks`] found, if that is still so.
    pub fn remove_unused_lock(&self, lock: &Utf8Path) -> Result<bool, GitError> {
        if is_unused(lock, &self.places()) { remove_if_there(lock) } else { Ok(false) }
    }

    /// Locks of what all runs share.
    fn shared_locks(&self) -> Vec<Utf8PathBuf> {
        let mut found = locks_below(&self.common_dir().join("refs/piton/rescue/worktrees"));
        let names = ["packed-refs.lock", "reftable/tables.list.lock"];
        found.extend(names.map(|name| self.common_dir().join(name)));
        found.retain(|lock| lock.exists());
        found
    }

    /// Remove folders in `worktrees` that belong to no worktree: a git process was killed when it had removed all but
    /// that folder, or before it had written where the worktree is. A folder that is being made looks like that for a
    /// moment, too. Returns whether none is left.
    fn remove_abandoned_entries(&self) -> Result<bool, GitError> {
        let abandoned = || {
            let entries = status::git_dirs(self.common_dir()).into_iter().skip(1);
            entries.filter(|entry| is_abandoned(entry))
        };
        if abandoned().next().is_none() {
            return Ok(true);
        }
        let path = self.lock_path("worktrees.lock")?;
        let Some(_lock) = Lock::try_take(&path).map_err(GitError::io(path))? else { return Ok(false) };
        let places = self.places();
        for entry in abandoned() {
            if !is_unused(&entry, &places) {
                return Ok(false);
            }
            for file in BEGINNING {
                remove_if_there(&entry.join(file))?;
            }
            // Another process may have filled it by now.
            let _ = fs::remove_dir(&entry);
        }
        // As git does after the last one.
        let _ = fs::remove_dir(self.common_dir().join("worktrees"));
        Ok(true)
    }

    /// An object that was not synced is an empty file after a power cut. Git sees the name, takes the object for
    /// stored, and would never write it again. A living git process renames an object only when it is whole, so an
    /// empty one is never in progress.
    fn remove_torn_objects(&self) -> Result<(), GitError> {
        let objects = self.common_dir().join("objects");
        for folder in (0..=0xff).map(|n| objects.join(format!("{n:02x}"))) {
            let files = folder.read_dir_utf8().into_iter().flatten().flatten();
            let hex = |name: &str| name.bytes().all(|byte| byte.is_ascii_hexdigit());
            for file in files.filter(|file| hex(file.file_name())) {
                if file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() == 0) {
                    remove_if_there(file.path())?;
                }
            }
        }
        Ok(())
    }

    /// All places where a git process of this repository may be at work. Read from files: `git worktree list` fails
    /// while a worktree is half made.
    pub(super) fn places(&self) -> Vec<Utf8PathBuf> {
        let mut places = vec![self.common_dir().to_owned(), self.top().to_owned()];
        if self.common_dir().file_name() == Some(".git") {
            places.extend(self.common_dir().parent().map(Utf8Path::to_owned));
        }
        for entry in status::git_dirs(self.common_dir()).into_iter().skip(1) {
            let Ok(text) = fs::read_to_string(entry.join("gitdir")) else { continue };
            let folder = entry.join(text.trim_end());
            places.extend(
                folder
                    .parent()
                    .map(|folder| folder.canonicalize_utf8().unwrap_or_else(|_| folder.to_owned())),
            );
        }
        places
    }
}

/// What git writes first when it makes a worktree. Without the second it does not know where that is.
const BEGINNING: [&str; 2] = ["locked", "gitdir"];

fn is_abandoned(entry: &Utf8Path) -> bool {
    let Ok(mut names) = entry.read_dir_utf8() else { return false };
    let begun = names.all(|name| name.is_ok_and(|name| BEGINNING.contains(&name.file_name())));
    let text = |name: &str| fs::read_to_string(entry.join(name)).unwrap_or_default();
    begun && text("gitdir").trim().is_empty() && ["", INITIALIZING].contains(&text("locked").trim())
}

fn locks_below(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        let Ok(entries) = folder.read_dir_utf8() else { continue };
        for entry in entries.flatten() {
            let path = entry.path().to_owned();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if path.extension() == Some("lock") {
                found.push(path);
            }
        }
    }
    found
}

fn is_in_use(lock: &Path, places: &[Utf8PathBuf]) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    for process in processes.flatten().map(|entry| entry.path()) {
        // Everything else in there has no such file.
        let Ok(name) = fs::read_to_string(process.join("comm")) else { continue };
        let is_git = name.starts_with("git");
        match fs::read_dir(process.join("fd")) {
            Ok(files) => {
                let mut targets = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
                if targets.any(|target| target == lock) {
                    return true;
                }
                // Git closes a lock before it renames it, so an open file is not the only sign. Our own git processes
                // do not count: they only read a checkout.
                let there = |cwd: PathBuf| places.iter().any(|place| cwd.starts_with(place));
                if is_git && !is_our_child(&process) && fs::read_link(process.join("cwd")).is_ok_and(there) {
                    return true;
                }
            }
            // Another user's process; or one that has ended, which holds nothing.
            Err(_) if is_git && is_running(&process) => return true,
            Err(_) => {}
        }
    }
    false
}

fn is_our_child(process: &Path) -> bool {
    let ours = format!("PPid:\t{}", std::process::id());
    fs::read_to_string(process.join("status")).is_ok_and(|status| status.lines().any(|line| line == ours))
}

/// A container without an init process keeps zombies in its list.
fn is_running(process: &Path) -> bool {
    fs::read_to_string(process.join("status")).is_ok_and(|status| !status.contains("State:\tZ"))
}
