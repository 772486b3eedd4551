//! The pool of worktrees that agents work in. A slot stays where it is when its task is done, with its caches; the next task
//! gets it moved to its base. Checks never run here: they have worktrees of their own (`check_worktrees`).
//!
//! Who has a slot is written in a record of Piton's own folder. The link from a task's name to its slot is for people.

use std::collections::BTreeSet;
use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Digest, Oid, Reuse, RunId, WorktreeSetup};
use piton_core::slots::{FreeSlot, choose, is_cache, surplus};
use serde::{Deserialize, Serialize};

use crate::git::{GitError, Removed, Repo, Rescue, Rescued, Worktree};
use crate::lock::Lock;
use crate::project::Project;
use crate::{boot, clock, crash, disk, warm};

/// Task ids do not begin with a dot.
const PREFIX: &str = ".slot-";

/// The slots of one folder of worktrees.
#[derive(Clone, Copy, Debug)]
pub struct SlotPool<'a> {
    pub project: &'a Project,
    pub repo: &'a Repo,
    /// The folder of the run's worktrees.
    pub dir: &'a Utf8Path,
    pub setup: &'a WorktreeSetup,
}

/// What is known of a slot. One without a record is nobody's to use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum Record {
    Held {
        /// The path that names it, such as `…/T1`.
        name: Utf8PathBuf,
        /// How git writes files besides what is committed, when its task got it.
        conversion: Digest,
    },
    Free {
        /// Caches that are older than the machine's last start may be torn.
        boot: String,
        commit: Oid,
        is_warm: bool,
        since: i64,
        bytes: u64,
        conversion: Digest,
    },
    /// It is being made before a task asks for it, as long as somebody holds the lock for that. Nobody has worked in it.
    Making,
    /// It is being removed. What it holds is as it was in this boot; in none if all of it was rescued, or never finished.
    Going { boot: String },
}

/// A slot, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub path: Utf8PathBuf,
    pub bytes: Option<u64>,
    pub state: SlotState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// Under this name.
    Held(Utf8PathBuf),
    /// The next task may have it, with caches or without.
    Free { is_warm: bool },
    /// An engine is making it for the next task.
    Coming,
    /// Nobody uses it again: it is being removed, or its record is lost.
    Leftover,
}

/// Where the worktree of this name is: in a slot, or in its own place.
pub fn place_of(project: &Project, name: &Utf8Path) -> Utf8PathBuf {
    slot_of(project, name).map_or_else(|| name.to_owned(), |(dir, number)| path_in(dir, number))
}

fn slot_of<'a>(project: &Project, name: &'a Utf8Path) -> Option<(&'a Utf8Path, u32)> {
    let dir = name.parent()?;
    let holds = |number: &u32| record(project, dir, *number).is_some_and(|record| record.is_held_by(name));
    // A power cut may have taken the record: then the link counts, as far as nobody else has the slot.
    let is_unknown = |number: &u32| record(project, dir, *number).is_none() && path_in(dir, *number).is_dir();
    let linked = linked(name);
    let known = linked.filter(holds).or_else(|| numbers(project, dir).into_iter().find(holds));
    known.or(linked.filter(is_unknown)).map(|number| (dir, number))
}

/// The slot that a link names.
fn linked(name: &Utf8Path) -> Option<u32> {
    let target = name.read_link_utf8().ok()?;
    number(target.as_str())
}

fn number(name: &str) -> Option<u32> {
    let rest = name.strip_prefix(PREFIX)?;
    rest.parse().ok().filter(|number: &u32| number.to_string() == rest)
}

fn path_in(dir: &Utf8Path, number: u32) -> Utf8PathBuf {
    dir.join(format!("{PREFIX}{number}"))
}

fn records(project: &Project) -> Utf8PathBuf {
    project.home.join("slots")
}

/// What the records of one folder's slots end with.
fn ending(dir: &Utf8Path) -> String {
    let dir: Utf8PathBuf = dir.components().collect();
    format!("-{}", Digest::of_bytes(dir.as_str().as_bytes()).short())
}

fn record_path(project: &Project, dir: &Utf8Path, number: u32) -> Utf8PathBuf {
    records(project).join(format!("{number}{}", ending(dir)))
}

fn record(project: &Project, dir: &Utf8Path, number: u32) -> Option<Record> {
    serde_json::from_str(&fs::read_to_string(record_path(project, dir, number)).ok()?).ok()
}

/// All numbers that have a folder or a record.
fn numbers(project: &Project, dir: &Utf8Path) -> BTreeSet<u32> {
    let names = |folder: &Utf8Path| {
        let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_owned()).collect::<Vec<_>>()
    };
    let ending = ending(dir);
    let recorded = names(&records(project));
    let recorded = recorded.iter().filter_map(|name| name.strip_suffix(&ending)?.parse().ok());
    names(dir).iter().filter_map(|name| number(name)).chain(recorded).collect()
}

impl Record {
    fn is_held_by(&self, name: &Utf8Path) -> bool {
        matches!(self, Record::Held { name: holder, .. } if holder == name)
    }
}

/// How many slots no task has.
pub(crate) fn free(project: &Project, dir: &Utf8Path) -> usize {
    let is_free = |number: &u32| matches!(record(project, dir, *number), Some(Record::Free { .. }));
    numbers(project, dir).iter().filter(|number| is_free(number)).count()
}

/// Held while a slot is made ahead: one at a time in each repository.
fn makers_lock(project: &Project) -> Utf8PathBuf {
    project.home.join("locks/slot-ahead.lock")
}

/// Whether a task that has no worktree yet gets a slot. Where all tasks share one worktree there is nothing to choose.
pub fn is_used(setup: &WorktreeSetup) -> bool {
    setup.reuse != Reuse::Never && setup.shared.is_none()
}

/// The size of an index from which on git takes longer for a new worktree than for one that it clears: some 1,000 files.
const LARGE: u64 = 100_000;

/// Whether to wait for this slot takes less time than a new one costs: in writing its files, or in filling its caches.
pub(crate) fn saves_time(repo: &Repo, path: &Utf8Path, setup: &WorktreeSetup) -> bool {
    let is_large = || fs::metadata(repo.common_dir().join("index")).is_ok_and(|index| index.len() > LARGE);
    let is_warm = |folder: &str| {
        path.join(folder).is_dir()
            && is_cache(folder, &setup.warm, |file| path.join(folder).join(file).is_file())
    };
    let top = || path.read_dir_utf8().into_iter().flatten().flatten();
    let has_caches = || {
        top().any(|entry| is_warm(entry.file_name())) || setup.warm.iter().any(|path| is_warm(path.as_str()))
    };
    is_large() || setup.reuse == Reuse::Warm && has_caches()
}

impl SlotPool<'_> {
    pub fn path(&self, number: u32) -> Utf8PathBuf {
        path_in(self.dir, number)
    }

    fn record(&self, number: u32) -> Option<Record> {
        record(self.project, self.dir, number)
    }

    fn lock(&self) -> Result<Lock, GitError> {
        let (lock, folder) = (self.project.home.join("locks/slots.lock"), records(self.project));
        disk::private_folder(&folder).map_err(GitError::io(&folder))?;
        let held = Lock::take(&lock).map_err(GitError::io(lock))?;
        // Only who has the lock writes there.
        disk::sweep(&folder);
        Ok(held)
    }

    /// The lock has to be held.
    fn note(&self, number: u32, record: &Record) -> Result<(), GitError> {
        let path = record_path(self.project, self.dir, number);
        let text = serde_json::to_vec(record).expect("a record is plain data");
        // Synced: what an agent has done is found by it after a power cut.
        disk::write(&path, &text).map_err(GitError::io(path))
    }

    fn forget(&self, number: u32) -> Result<(), GitError> {
        let path = record_path(self.project, self.dir, number);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GitError::io(path)(error)),
            _ => Ok(()),
        }
    }

    /// Where the task of this name works: in the slot it has, in one that it gets now, or, if something is in the place of
    /// its name already, there.
    pub fn take(&self, run: &RunId, name: &Utf8Path, base: &Oid) -> Result<Utf8PathBuf, GitError> {
        if let Some((_, number)) = slot_of(self.project, name) {
            return Ok(self.path(number));
        }
        let is_there = name.symlink_metadata().is_ok() && linked(name).is_none();
        if is_there || !is_used(self.setup) || Worktree::is_registered(self.repo, name)? {
            return Ok(name.to_owned());
        }
        let _lock = self.lock()?;
        let number = choose(base, &self.free(), &numbers(self.project, self.dir));
        let path = self.path(number);
        self.project.claim(&path, run).map_err(GitError::io(&path))?;
        let conversion = self.repo.conversion();
        self.note(number, &Record::Held { name: name.to_owned(), conversion })?;
        crash::point("slot.taken");
        Ok(path)
    }

    /// Let go of a slot that turned out to be of no use, as it is: nobody gets it again.
    pub fn abandon(&self, name: &Utf8Path) -> Result<(), GitError> {
        unlink(name);
        slot_of(self.project, name).map_or(Ok(()), |(_, number)| self.forget(number))
    }

    /// Show people the slot under the name of its task.
    pub fn show(&self, name: &Utf8Path) {
        let Some((_, number)) = slot_of(self.project, name) else { return };
        if linked(name) == Some(number) {
            return;
        }
        unlink(name);
        let target = format!("{PREFIX}{number}");
        // Where links cannot be made, the record alone says it.
        #[cfg(unix)]
        let _ = std::os::unix::fs::symlink(target, name);
        #[cfg(windows)]
        let _ = std::os::windows::fs::symlink_dir(target, name);
    }

    /// Whether an ignored folder stays in the slot at `path`.
    pub fn stays<'a>(&'a self, path: &'a Utf8Path) -> impl Fn(&str) -> bool + 'a {
        move |folder| {
            let has = |file: &str| path.join(folder).join(file).is_file();
            self.setup.reuse == Reuse::Warm && is_cache(folder, &self.setup.warm, has)
        }
    }

    /// The task of this name is done: its slot is cleared for the next one, at `tip`. One that cannot be used again, and a
    /// worktree that is not a slot, is removed.
    pub fn give_back(
        &self,
        name: &Utf8Path,
        tip: &Oid,
        rescue: &Rescue,
    ) -> Result<Option<Rescued>, GitError> {
        let Some((_, number)) = slot_of(self.project, name) else {
            return Worktree::remove(self.repo, name, rescue).map(|removed| removed.rescued);
        };
        let path = self.path(number);
        let now = self.repo.conversion();
        let held = self.record(number);
        let is_known = |held: &Record| matches!(held, Record::Held { conversion, .. } if *conversion == now);
        let is_kept = is_used(self.setup) && held.as_ref().is_some_and(is_known);
        let worktree = if is_kept { Worktree::open(self.repo, &path)? } else { None };
        let Some(worktree) = worktree.filter(Worktree::is_reusable) else {
            return remove(self.project, self.repo, name, rescue).map(|removed| removed.rescued);
        };
        let parked = match worktree.park(tip, rescue, &self.stays(&path)) {
            Err(error) if error.is_kill() => return Err(error),
            // Git does not clear what a tool has write-protected. Who removes all of it does.
            Err(_) => return remove(self.project, self.repo, name, rescue).map(|removed| removed.rescued),
            Ok(parked) => parked,
        };
        crash::point("slot.parked");
        unlink(name);
        let free = self.free_record(&path, tip, parked.is_warm, now);
        let _lock = self.lock()?;
        self.note(number, &free)?;
        crash::point("slot.freed");
        Ok(parked.rescued)
    }

    /// Make a slot at `tip` that no task has asked for yet, with the main checkout's caches. It is free when all of it is
    /// there, and not before. Says whether there is one now.
    pub fn make_ahead(
        &self,
        run: &RunId,
        tip: &Oid,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<bool, GitError> {
        let lock = makers_lock(self.project);
        let Some(_maker) = Lock::try_take(&lock).map_err(GitError::io(lock))? else { return Ok(true) };
        let number = {
            let _lock = self.lock()?;
            let number = choose(tip, &[], &numbers(self.project, self.dir));
            self.note(number, &Record::Making)?;
            number
        };
        let path = self.path(number);
        let made = self.project.claim(&path, run).map_err(GitError::io(&path));
        let made = made.and_then(|()| self.make(&path, tip, is_unwanted));
        crash::point("slot.ahead");
        let made = {
            let _lock = self.lock()?;
            let most = self.setup.keep_bytes();
            let others: u64 = self.free().iter().map(|slot| slot.bytes).fold(0, u64::saturating_add);
            match made {
                Ok(Record::Free { bytes, .. }) if is_unwanted() || others.saturating_add(bytes) > most => {
                    self.doom(number).map(|()| false)
                }
                Ok(record) => return self.note(number, &record).map(|()| true),
                Err(error) => self.doom(number).and(Err(error)),
            }
        };
        self.remove_going(number)?;
        made
    }

    fn make(&self, path: &Utf8Path, tip: &Oid, is_unwanted: &dyn Fn() -> bool) -> Result<Record, GitError> {
        let conversion = self.repo.conversion();
        let worktree = Worktree::add(self.repo, path, tip)?.worktree;
        worktree.remember_files()?;
        warm::fill(&self.project.root, &worktree, &self.setup.warm, is_unwanted)?;
        // As one that a task has left, whatever the checkout's caches hold.
        let rescue = Rescue::at("worktrees/slot", "Left in a worktree of the pool");
        let parked = worktree.park(tip, &rescue, &self.stays(path))?;
        Ok(self.free_record(path, tip, parked.is_warm, conversion))
    }

    fn free_record(&self, path: &Utf8Path, commit: &Oid, is_warm: bool, conversion: Digest) -> Record {
        let (boot, since, bytes) = (boot::id().to_owned(), clock::now().0, bytes_in(path));
        Record::Free { boot, commit: commit.clone(), is_warm, since, bytes, conversion }
    }

    /// The slots that a task may get.
    fn free(&self) -> Vec<FreeSlot> {
        let now = self.repo.conversion();
        let all = numbers(self.project, self.dir).into_iter();
        all.filter_map(|number| match self.record(number)? {
            Record::Free { boot, commit, is_warm, since, bytes, conversion }
                if boot == boot::id() && conversion == now && self.path(number).is_dir() =>
            {
                Some(FreeSlot { number, commit, is_warm, since, bytes })
            }
            _ => None,
        })
        .collect()
    }

    /// Remove what is beyond the bound, what cannot be used again, and after a run also what is not warm. What cannot be
    /// removed now is named by `piton clean`.
    pub fn trim(&self, has_ended: bool) -> Result<(), GitError> {
        let doomed: Vec<u32> = {
            let _lock = self.lock()?;
            let free = self.free();
            let mut doomed = surplus(&free, self.setup.keep_bytes(), has_ended);
            let is_useless = |number: &u32| match self.record(*number) {
                Some(Record::Free { .. }) => free.iter().all(|slot| slot.number != *number),
                Some(Record::Going { .. }) => true,
                Some(Record::Making) => !Lock::is_held(&makers_lock(self.project)),
                Some(Record::Held { .. }) | None => false,
            };
            doomed.extend(numbers(self.project, self.dir).into_iter().filter(is_useless));
            for number in &doomed {
                self.doom(*number)?;
            }
            doomed
        };
        for number in doomed {
            self.remove_going(number)?;
        }
        if has_ended {
            self.remove_halves();
        }
        Ok(())
    }

    /// Remove copies that were never finished. Who makes one has a slot.
    fn remove_halves(&self) {
        for number in numbers(self.project, self.dir) {
            if !matches!(self.record(number), Some(Record::Held { .. } | Record::Making)) {
                let _ = fs::remove_dir_all(warm::staging(&self.path(number)));
            }
        }
    }

    /// Remove a slot that no task has. What somebody may have put there since is rescued.
    pub fn discard(&self, path: &Utf8Path) -> Result<(), GitError> {
        let Some(number) = path.file_name().and_then(number) else { return Ok(()) };
        {
            let _lock = self.lock()?;
            let why = match self.record(number) {
                Some(Record::Held { .. }) => Some(" (a task has it)"),
                Some(Record::Making) if Lock::is_held(&makers_lock(self.project)) => {
                    Some(" (it is being made)")
                }
                _ => None,
            };
            if let Some(why) = why {
                return Err(GitError::Locked { path: path.to_owned(), why: why.to_owned() });
            }
            self.doom(number)?;
        }
        self.remove_going(number)
    }

    fn doom(&self, number: u32) -> Result<(), GitError> {
        match self.record(number) {
            Some(Record::Going { .. }) => Ok(()),
            Some(Record::Free { boot, .. }) => self.note(number, &Record::Going { boot }),
            // Nobody has worked in it, so what differs in there is half made and not work.
            Some(Record::Making) => self.note(number, &Record::Going { boot: String::new() }),
            Some(Record::Held { .. }) | None => {
                self.note(number, &Record::Going { boot: boot::id().to_owned() })
            }
        }
    }

    fn remove_going(&self, number: u32) -> Result<(), GitError> {
        let path = self.path(number);
        let is_nobodys = matches!(self.record(number), Some(Record::Going { boot }) if boot != boot::id());
        if !is_nobodys || holds_repository(&path) {
            let rescue = Rescue::at(&format!("worktrees/slot-{number}"), "Left in a worktree of the pool");
            let rescued = match Worktree::open(self.repo, &path)? {
                Some(worktree) => worktree.rescue_all(&rescue).map(drop),
                None => Worktree::remove(self.repo, &path, &rescue).map(drop),
            };
            if matches!(rescued, Err(GitError::NestedRepositories { .. })) {
                // Somebody's repository is in there: it is nobody's to remove.
                self.forget(number)?;
            }
            rescued?;
            let _lock = self.lock()?;
            self.note(number, &Record::Going { boot: String::new() })?;
            crash::point("slot.doomed");
        }
        // What a removal that was killed has left of it, or a power cut, is not what somebody made.
        Worktree::remove_own(self.repo, &path)?;
        let _ = fs::remove_dir_all(warm::staging(&path));
        crash::point("slot.removed");
        self.forget(number)
    }
}

/// All slots of a folder of worktrees, for people.
pub fn all(project: &Project, dir: &Utf8Path) -> Vec<Seen> {
    let of = |number| {
        let (state, bytes) = match record(project, dir, number) {
            Some(Record::Held { name, .. }) => (SlotState::Held(name), None),
            Some(Record::Free { bytes, is_warm, .. }) => (SlotState::Free { is_warm }, Some(bytes)),
            Some(Record::Making) if Lock::is_held(&makers_lock(project)) => (SlotState::Coming, None),
            Some(Record::Making | Record::Going { .. }) | None => (SlotState::Leftover, None),
        };
        Seen { path: path_in(dir, number), bytes, state }
    };
    numbers(project, dir).into_iter().map(of).collect()
}

/// Remove the worktree of this name, in a slot or not, with what exists only there rescued.
pub fn remove(project: &Project, repo: &Repo, name: &Utf8Path, rescue: &Rescue) -> Result<Removed, GitError> {
    let Some((dir, number)) = slot_of(project, name) else { return Worktree::remove(repo, name, rescue) };
    let removed = Worktree::remove(repo, &path_in(dir, number), rescue)?;
    unlink(name);
    let record = record_path(project, dir, number);
    match fs::remove_file(&record) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GitError::io(record)(error)),
        _ => Ok(removed),
    }
}

/// Take the link of a name away, and nothing else that may be there.
fn unlink(name: &Utf8Path) {
    if linked(name).is_some() {
        #[cfg(unix)]
        let _ = fs::remove_file(name);
        #[cfg(not(unix))]
        let _ = fs::remove_dir(name);
    }
}

/// Whether there is a repository below a folder. Its own does not count.
fn holds_repository(folder: &Utf8Path) -> bool {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let mut folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .any(|entry| entry.path().join(".git").symlink_metadata().is_ok() || holds_repository(entry.path()))
}

fn bytes_in(path: &Utf8Path) -> u64 {
    let entries = path.read_dir_utf8().into_iter().flatten().flatten();
    let of = |entry: camino::Utf8DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes_in(entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(of).fold(0, u64::saturating_add)
}
