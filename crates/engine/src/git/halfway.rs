//! A checkout that a landing may have left halfway: which files are ours to put back, which are a person's.
//!
//! The rule: what equals the candidate's version exists in the candidate, so nothing is lost by putting it
//! back to the old one and doing the checkout again. Everything else belongs to whoever wrote it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;

use super::door::{Git, portions};
use super::durable;
use super::error::GitError;
use super::index::TempIndex;
use super::merge::Version;
use super::repo::Repo;
use super::status::{self, Status};
use super::worktree::remove_if_there;

/// File times come from a clock that ticks more slowly than the one an intent is stamped with.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// The paths a landing changes, in the checkout where it is to change them.
pub(super) struct Concerned<'a> {
    repo: &'a Repo,
    git: &'a Git,
    top: &'a Utf8Path,
    git_dir: &'a Utf8Path,
    old: &'a Oid,
    candidate: &'a Oid,
    /// Each with its old and its new version.
    paths: BTreeMap<OsString, (Version, Version)>,
}

/// Whether what was written may not be whole.
#[derive(Debug, Clone, Copy)]
pub(super) enum CutOff {
    No,
    /// The power may have gone since then, and taken the end of what was written.
    Maybe(SystemTime),
    /// A git died while it wrote: a file may be missing or end early.
    Surely,
}

#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) ours: Vec<OsString>,
    pub(super) theirs: Vec<String>,
    /// What was checked out there, and at which commit.
    pub(super) branch: Option<String>,
    pub(super) head: Option<Oid>,
}

impl<'a> Concerned<'a> {
    pub(super) fn read(
        repo: &'a Repo,
        git: &'a Git,
        (top, git_dir): (&'a Utf8Path, &'a Utf8Path),
        (old, candidate): (&'a Oid, &'a Oid),
    ) -> Result<Concerned<'a>, GitError> {
        let differences = repo.differences(old, candidate)?;
        let files = differences.iter().filter(|found| found.is_of_file());
        let paths = files.map(|found| (found.path.clone(), (found.old.clone(), found.new.clone()))).collect();
        Ok(Concerned { repo, git, top, git_dir, old, candidate, paths })
    }

    /// Sort the concerned files that are not as `old` has them. `recovering`: some may be ours.
    pub(super) fn judge(&self, recovering: bool, cut_off: CutOff) -> Result<Judged, GitError> {
        let status = self.look()?;
        let changed: HashSet<OsString> = status.raw.into_iter().collect();
        let suspects: Vec<OsString> = self
            .paths
            .iter()
            .filter(|(path, (old, _))| changed.contains(*path) || (old.is_none() && self.in_the_way(path)))
            .map(|(path, _)| path.clone())
            .collect();
        let mut judged = Judged { branch: status.branch, head: status.head, ..Judged::default() };
        if suspects.is_empty() {
            return Ok(judged);
        }
        let index = TempIndex::copy(self.repo, self.git, self.git_dir)?;
        let mut staged: HashMap<OsString, Vec<(String, Oid)>> = HashMap::new();
        for entry in index.entries()? {
            staged.entry(entry.path).or_default().push((entry.mode, entry.oid));
        }
        // What git cannot read is not ours.
        let present = if recovering { index.refresh(self.top, &suspects).ok() } else { None };
        let present: Option<HashMap<OsString, (String, Oid)>> =
            present.map(|list| list.into_iter().map(|entry| (entry.path, (entry.mode, entry.oid))).collect());
        for path in suspects {
            let (old, new) = &self.paths[&path];
            let known = |version: Version| version == *old || version == *new;
            let index_ok = match staged.get(&path).map(Vec::as_slice) {
                None => known(None),
                Some([version]) => known(Some(version.clone())),
                Some(_) => false,
            };
            let file_ok = present.as_ref().is_some_and(|present| {
                known(present.get(&path).cloned()) || self.is_torn(&path, new.as_ref(), cut_off)
            });
            if index_ok && file_ok {
                judged.ours.push(path);
            } else {
                judged.theirs.push(path.to_string_lossy().into_owned());
            }
        }
        Ok(judged)
    }

    /// The status of the concerned files, and perhaps of others.
    fn look(&self) -> Result<Status, GitError> {
        let paths: Vec<OsString> = self.paths.keys().cloned().collect();
        // All of them, if these are more than a command line holds.
        let paths = if portions(&paths).count() == 1 { paths } else { Vec::new() };
        status::look(self.git, self.git_dir, &paths)
    }

    /// Put files back to `old`, in the index and on disk.
    pub(super) fn put_back(&self, ours: &[OsString]) -> Result<(), GitError> {
        let in_old = |path: &&OsString| self.paths.get(*path).is_some_and(|(old, _)| old.is_some());
        let (back, away): (Vec<&OsString>, Vec<&OsString>) = ours.iter().partition(in_old);
        for portion in portions(&away) {
            self.git.call(["update-index", "--force-remove", "--"]).args(portion).run()?;
        }
        for path in away {
            let file = self.file(path);
            if self.in_the_way(path) {
                fs::remove_file(&file)
                    .map_err(GitError::io(self.top.join(path.to_string_lossy().as_ref())))?;
            }
            // Folders made for it would stand in the way of a file; others are not empty.
            for folder in file.ancestors().skip(1).take_while(|folder| *folder != self.top.as_std_path()) {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
        let source = format!("--source={}", self.old);
        for portion in portions(&back) {
            self.git.call(["restore", &source, "--staged", "--worktree", "--"]).args(portion).run()?;
        }
        Ok(())
    }

    /// Sync what a checkout wrote.
    pub(super) fn sync(&self) -> Result<(), GitError> {
        let index = self.git_dir.join("index").into_std_path_buf();
        durable::sync_files(self.top, self.paths.keys().map(|path| self.file(path)).chain([index]))
    }

    fn file(&self, path: &OsString) -> PathBuf {
        self.top.as_std_path().join(path)
    }

    /// A file or link is there, tracked, untracked or ignored.
    fn in_the_way(&self, path: &OsString) -> bool {
        fs::symlink_metadata(self.file(path)).is_ok_and(|meta| !meta.is_dir())
    }

    /// Missing, or only the beginning of what the candidate has: a write that was cut off.
    fn is_torn(&self, path: &OsString, new: Option<&(String, Oid)>, cut_off: CutOff) -> bool {
        let file = self.file(path);
        let surely = match cut_off {
            CutOff::No => return false,
            CutOff::Maybe(since) if !is_younger(&file, since) => return false,
            CutOff::Maybe(_) => false,
            CutOff::Surely => true,
        };
        if new.is_none() {
            return false;
        }
        let Ok(bytes) = fs::read(&file) else { return surely && fs::symlink_metadata(&file).is_err() };
        let mut name = OsString::from(format!("{}:", self.candidate));
        name.push(path);
        let whole = self.git.call(["cat-file", "--filters"]).arg(name).bytes();
        whole.is_ok_and(|whole| whole.starts_with(&bytes))
    }

    /// With the target at the candidate: write the files again whose content a power cut took.
    pub(super) fn finish(&self, since: SystemTime) -> Result<(), GitError> {
        let changed: HashSet<OsString> = self.look()?.raw.into_iter().collect();
        let torn = |path: &OsString, new: Option<&(String, Oid)>| {
            changed.contains(path) && self.is_torn(path, new, CutOff::Maybe(since))
        };
        let torn: Vec<&OsString> = self
            .paths
            .iter()
            .filter(|(path, (_, new))| torn(path, new.as_ref()))
            .map(|(path, _)| path)
            .collect();
        for portion in portions(&torn) {
            self.git.call(["restore", "--worktree", "--"]).args(portion).run()?;
        }
        Ok(())
    }
}

/// Whether a lock file in a person's repository was left by a git that is gone: made since then, and nobody
/// alive has it open or is a git at work in these places. Only Linux lets us know.
pub(super) fn is_dead(lock: &Utf8Path, places: &[Utf8PathBuf], since: SystemTime) -> bool {
    let lock = lock.as_std_path();
    is_younger(lock, since) && cfg!(target_os = "linux") && !is_in_use(lock, places)
}

fn is_younger(file: &Path, since: SystemTime) -> bool {
    let written = fs::metadata(file).and_then(|meta| meta.modified());
    written.is_ok_and(|written| written + CLOCK_TICK >= since)
}

impl Repo {
    /// Clear away what was left when this run's engine and its gits were killed: temporary indexes, ref locks.
    /// The caller holds the run's lock, which those gits held too. `since`: when the run began.
    pub fn clear_dead_locks(&self, run: &str, since: SystemTime) -> Result<(), GitError> {
        TempIndex::sweep(self)?;
        self.remove_torn_objects()?;
        // Nobody else writes below these.
        for own in [format!("refs/piton/{run}"), format!("refs/piton/rescue/{run}")] {
            for lock in locks_below(&self.common_dir().join(own)) {
                remove_if_there(&lock)?;
            }
        }
        let heads = self.common_dir().join("refs/heads");
        let mut shared = locks_below(&self.common_dir().join("refs/piton/rescue/worktrees"));
        shared.extend(
            ["packed-refs.lock", "reftable/tables.list.lock"].map(|name| self.common_dir().join(name)),
        );
        let ours = |lock: &Utf8PathBuf| {
            lock.parent() == Some(&heads)
                && lock.file_name().is_some_and(|name| name.starts_with("worktree-"))
        };
        shared.extend(locks_below(&heads).into_iter().filter(ours));
        shared.retain(|lock| lock.exists());
        if shared.is_empty() {
            return Ok(());
        }
        let places = self.places()?;
        for lock in shared.iter().filter(|lock| is_dead(lock, &places, since)) {
            remove_if_there(lock)?;
        }
        Ok(())
    }

    /// An object that nobody synced is an empty file after a power cut. Git takes the name for the object and
    /// would never write it again; a living git gives an object its name when it is whole.
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

    /// Wherever a git of this repository may be at work.
    pub(super) fn places(&self) -> Result<Vec<Utf8PathBuf>, GitError> {
        let checkouts = self.checkouts()?.into_iter().map(|checkout| checkout.path);
        Ok(checkouts.chain([self.common_dir().to_owned()]).collect())
    }
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
                // Git closes a lock before it renames it. Our own others only look around in a checkout.
                let there = |cwd: PathBuf| places.iter().any(|place| cwd.starts_with(place));
                if is_git && !is_our_child(&process) && fs::read_link(process.join("cwd")).is_ok_and(there) {
                    return true;
                }
            }
            // Somebody else's process; or one that has ended, which holds nothing.
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

/// A container without an init keeps the dead in its list.
fn is_running(process: &Path) -> bool {
    fs::read_to_string(process.join("status")).is_ok_and(|status| !status.contains("State:\tZ"))
}
