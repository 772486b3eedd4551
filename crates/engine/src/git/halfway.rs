//! A checkout that a landing may have left halfway: which files are ours to put back, which are a person's.
//!
//! The rule: what equals the candidate's version exists in the candidate, so nothing is lost by putting it
//! back to the old one and doing the checkout again. Everything else is left as it is.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use camino::Utf8Path;
use piton_core::plan::Oid;

use super::command::{Git, portions};
use super::durable;
use super::error::GitError;
use super::index::TempIndex;
use super::leftover::is_younger;
use super::merge::Version;
use super::repo::Repo;
use super::status::{self, Status};

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

/// What an earlier landing may have written into the checkout.
#[derive(Debug, Clone, Copy)]
pub(super) enum Written {
    /// Nothing: every change is a person's.
    Nothing,
    /// Some files, each of them whole.
    Whole,
    /// Some files. The power may have failed since then, and files may end early.
    MaybeCutOff(SystemTime),
    /// Some files. A git process died while it wrote: files may be missing or end early.
    CutOff,
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

    /// Sort the concerned files that are not as `old` has them.
    pub(super) fn judge(&self, written: Written) -> Result<Judged, GitError> {
        let status = self.look()?;
        let changed: HashSet<OsString> = status.raw.into_iter().collect();
        let suspects: Vec<OsString> = self
            .paths
            .iter()
            .filter(|(path, (old, _))| changed.contains(*path) || (old.is_none() && self.in_the_way(path)))
            .map(|(path, _)| path.clone())
            .collect();
        let theirs = self.obstacles();
        let mut judged = Judged { branch: status.branch, head: status.head, theirs, ..Judged::default() };
        if suspects.is_empty() {
            return Ok(judged);
        }
        let index = TempIndex::copy(self.repo, self.git, self.git_dir)?;
        let mut staged: HashMap<OsString, Vec<(String, Oid)>> = HashMap::new();
        for entry in index.entries()? {
            staged.entry(entry.path).or_default().push((entry.mode, entry.oid));
        }
        // Content that git cannot read is not ours.
        let present = match (!matches!(written, Written::Nothing)).then(|| index.refresh(self.top, &suspects))
        {
            Some(Err(error)) if error.is_kill() => return Err(error),
            present => present.and_then(Result::ok),
        };
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
                known(present.get(&path).cloned()) || self.is_torn(&path, new.as_ref(), written)
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

    /// What is in the way of new files and is not removed by this landing: a file where one needs a folder, or files in
    /// a folder at its own path. Git would delete them if they are ignored, and ignored files are the person's too.
    fn obstacles(&self) -> Vec<String> {
        let goes = |path: &Path| {
            self.paths.get(path.as_os_str()).is_some_and(|(old, new)| old.is_some() && new.is_none())
        };
        let mut found = BTreeSet::new();
        for path in self.paths.iter().filter(|(_, (old, new))| old.is_none() && new.is_some()).map(|(p, _)| p)
        {
            for folder in Path::new(path).ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty())
            {
                let is_other = fs::symlink_metadata(self.top.as_std_path().join(folder))
                    .is_ok_and(|meta| !meta.is_dir());
                if is_other && !goes(folder) {
                    found.insert(folder.to_string_lossy().into_owned());
                }
            }
            let mut open = vec![PathBuf::from(path)];
            while let Some(folder) = open.pop() {
                let place = self.top.as_std_path().join(&folder);
                if !fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_dir()) {
                    continue;
                }
                for entry in fs::read_dir(place).into_iter().flatten().flatten() {
                    let inner = folder.join(entry.file_name());
                    if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                        open.push(inner);
                    } else if !goes(&inner) {
                        found.insert(inner.to_string_lossy().into_owned());
                    }
                }
            }
        }
        found.into_iter().collect()
    }

    /// Put files back to `old`, on disk and in `index`, which stands for that of the checkout.
    pub(super) fn put_back(&self, ours: &[OsString], index: &TempIndex) -> Result<(), GitError> {
        let in_old = |path: &&OsString| self.paths.get(*path).is_some_and(|(old, _)| old.is_some());
        let (back, away): (Vec<&OsString>, Vec<&OsString>) = ours.iter().partition(in_old);
        for portion in portions(&away) {
            index.call(["update-index", "--force-remove", "--"]).args(portion).run()?;
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
            index.call(["restore", &source, "--staged", "--worktree", "--"]).args(portion).run()?;
        }
        Ok(())
    }

    /// A person switched branches while the files were written. Put back the files that are the same in their branch
    /// and in `old`. The caller holds the lock of the index.
    pub(super) fn give_back(&self) -> Result<(), GitError> {
        let mut judged = self.judge(Written::Whole)?;
        let Some(head) = &judged.head else { return Ok(()) };
        let differences = self.repo.differences(self.old, head)?;
        let other: HashSet<&OsString> = differences.iter().map(|found| &found.path).collect();
        judged.ours.retain(|path| !other.contains(path));
        if judged.ours.is_empty() {
            return Ok(());
        }
        let index = TempIndex::copy(self.repo, self.git, self.git_dir)?;
        self.put_back(&judged.ours, &index)?;
        index.keep(self.git_dir).map_err(GitError::io(self.git_dir))
    }

    /// The target did not move although its files were written: put back what is at the candidate's version. The caller
    /// holds the lock of the index.
    pub(super) fn undo(&self) -> Result<(), GitError> {
        let judged = self.judge(Written::Whole)?;
        if judged.ours.is_empty() || !judged.theirs.is_empty() {
            return Ok(());
        }
        let index = TempIndex::copy(self.repo, self.git, self.git_dir)?;
        self.put_back(&judged.ours, &index)?;
        index.keep(self.git_dir).map_err(GitError::io(self.git_dir))
    }

    /// Sync what a checkout wrote.
    pub(super) fn sync(&self) -> Result<(), GitError> {
        let index = self.git_dir.join("index").into_std_path_buf();
        durable::sync_files(self.top, self.paths.keys().map(|path| self.file(path)).chain([index])).map(drop)
    }

    fn file(&self, path: &OsString) -> PathBuf {
        self.top.as_std_path().join(path)
    }

    /// A file or link is there, tracked, untracked or ignored.
    fn in_the_way(&self, path: &OsString) -> bool {
        fs::symlink_metadata(self.file(path)).is_ok_and(|meta| !meta.is_dir())
    }

    /// Missing, or only the beginning of what the candidate has: a write that was cut off.
    fn is_torn(&self, path: &OsString, new: Option<&(String, Oid)>, written: Written) -> bool {
        let file = self.file(path);
        let surely = match written {
            Written::Nothing | Written::Whole => return false,
            Written::MaybeCutOff(since) if !is_younger(&file, since) => return false,
            Written::MaybeCutOff(_) => false,
            Written::CutOff => true,
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

    /// With the target at the candidate: write the files again whose content a power cut has lost.
    pub(super) fn finish(&self, since: SystemTime) -> Result<(), GitError> {
        let changed: HashSet<OsString> = self.look()?.raw.into_iter().collect();
        let torn = |path: &OsString, new: Option<&(String, Oid)>| {
            changed.contains(path) && self.is_torn(path, new, Written::MaybeCutOff(since))
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
