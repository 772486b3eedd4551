//! The worktrees that checks run in. They are Piton's own: no agent that does work ever writes to one. Each holds exactly
//! the tree that is judged; of earlier checks, ignored files such as build caches stay.
//!
//! A run has as many as it has ever needed at once. The engine and commands of people lock the one they need, and a
//! check that outlives its process keeps its worktree, too. Nothing in there exists only there.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::order::Arrange;
use piton_core::plan::{Check, Digest, Oid, RunId, WorktreeSetup};
use piton_core::run::Freshness;

use crate::git::{Deviation, ExactWorktree, GitError, Ignored, Repo, Worktree, last_in};
use crate::keeper::{Job, KeeperError};
use crate::lock::Lock;
use crate::project::{self, Project};
use crate::{boot, disk};

/// What a worktree for checks is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Commands: set up as the plan says, and warm by what earlier commands left.
    Warm,
    /// Commands that ask for what a fresh clone has.
    Fresh,
    /// Agents that review, which may leave anything behind: no command runs where they were.
    Review,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Warm, Kind::Fresh, Kind::Review];

    pub fn of(check: &Check) -> Kind {
        match check.reviewer() {
            Some(_) => Kind::Review,
            None if check.fresh => Kind::Fresh,
            None => Kind::Warm,
        }
    }

    /// What a check finds there beside the tree. By its kind and not by its past: also who takes over the check of an engine
    /// that was killed can say it.
    pub fn ran(self) -> Freshness {
        match self {
            Kind::Fresh => Freshness::Fresh,
            Kind::Warm | Kind::Review => Freshness::Warm,
        }
    }

    /// Task ids do not begin with a dot.
    fn prefix(self) -> &'static str {
        match self {
            Kind::Warm => ".checks",
            Kind::Fresh => ".fresh",
            Kind::Review => ".reviews",
        }
    }
}

/// Why there is no place to run a check in.
#[derive(Debug, thiserror::Error)]
pub enum NoWorktree {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    #[error("cannot use {path}: {source}")]
    Io { path: Utf8PathBuf, source: std::io::Error },
}

impl NoWorktree {
    pub(crate) fn io(path: &Utf8Path) -> impl FnOnce(std::io::Error) -> NoWorktree {
        move |source| NoWorktree::Io { path: path.to_owned(), source }
    }
}

/// All worktrees for checks of a run.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'a> {
    pub project: &'a Project,
    pub repo: &'a Repo,
    pub run: &'a RunId,
    /// The folder of the run's worktrees.
    pub dir: &'a Utf8Path,
}

impl Pool<'_> {
    fn path(&self, kind: Kind, number: u32) -> Utf8PathBuf {
        self.dir.join(format!("{}-{}-{number}", kind.prefix(), self.run))
    }

    fn lock_path(&self, kind: Kind, number: u32) -> Utf8PathBuf {
        self.project.home.join(format!("locks/{}-{}-{number}.lock", &kind.prefix()[1..], self.run))
    }

    /// Lease a worktree that no process uses, and make one if all are in use. For a job that has begun, it is the
    /// worktree the job runs in, if that one is free.
    pub fn take(&self, kind: Kind, commit: &Oid, begun: Option<&Job>) -> Result<Lease, NoWorktree> {
        disk::private_folder(&self.project.home).map_err(NoWorktree::io(&self.project.home))?;
        let spec = begun.map(Job::spec).transpose()?.flatten();
        let wanted = spec.and_then(|spec| self.number_of(kind, &spec.cwd));
        let runs = begun.map(Job::is_at_work).transpose()?.unwrap_or(false);
        let mut numbers = wanted.into_iter().chain(0..);
        loop {
            let number = numbers.next().expect("there is always another number");
            let path = self.lock_path(kind, number);
            let lock = match wanted == Some(number) && runs {
                // Other processes hold this lock only for a moment, to see whether the worktree is in use.
                true => Lock::take(&path).map(Some),
                false => Lock::try_take(&path),
            };
            let Some(lock) = lock.map_err(NoWorktree::io(&path))? else { continue };
            let path = self.path(kind, number);
            if wanted != Some(number) && self.is_busy(&path)? {
                continue;
            }
            let worktree = ExactWorktree::add(self.repo, &path, commit, &owner(self.run))?;
            return Ok(Lease { worktree, kind, exact: None, _lock: lock });
        }
    }

    fn number_of(&self, kind: Kind, at: &Utf8Path) -> Option<u32> {
        let below = at.strip_prefix(self.dir).ok()?.components().next()?;
        number(kind, self.run, below.as_str())
    }

    /// Whether a check whose process is gone still runs there. What is left of a check whose keeper is gone as well is
    /// cleared.
    fn is_busy(&self, path: &Utf8Path) -> Result<bool, NoWorktree> {
        let Some(last) = last_in(self.repo, path)?.filter(|last| !last.is_empty()) else { return Ok(false) };
        let job = Job::at(&last);
        if !job.dir().is_dir() {
            return Ok(false);
        }
        if job.is_at_work()? {
            return Ok(true);
        }
        job.settle()?;
        Ok(false)
    }

    /// Remove all that no process uses. What cannot be removed stays, and `piton clean` names it.
    pub fn remove(&self) {
        for path in self.paths() {
            let _ = self.discard(&path);
        }
        project::remove_worktree_dir(self.dir);
    }

    /// All that exist. If a removal was killed, only git's own folder of the worktree may be left.
    pub fn paths(&self) -> Vec<Utf8PathBuf> {
        let mut all = paths(self.dir, self.run);
        let registered =
            self.repo.common_dir().join("worktrees").read_dir_utf8().into_iter().flatten().flatten();
        let names = registered.filter_map(|entry| Some(format!(".{}", entry.file_name().strip_prefix('-')?)));
        all.extend(names.map(|name| self.dir.join(name)).filter(|path| self.has(path)));
        all.sort();
        all.dedup();
        all
    }

    /// Whether a worktree is one of these, by its name.
    pub fn has(&self, path: &Utf8Path) -> bool {
        self.find(path).is_some()
    }

    fn find(&self, path: &Utf8Path) -> Option<(Kind, u32)> {
        Kind::ALL.iter().find_map(|kind| Some((*kind, self.number_of(*kind, path)?)))
    }

    /// Remove one of these, unless it is in use.
    pub fn discard(&self, path: &Utf8Path) -> Result<(), NoWorktree> {
        let in_use = || GitError::Locked { path: path.to_owned(), why: " (a check runs in it)".to_owned() };
        let Some((kind, number)) = self.find(path) else { return Ok(()) };
        let lock = self.lock_path(kind, number);
        let _lock = Lock::try_take(&lock).map_err(NoWorktree::io(&lock))?.ok_or_else(in_use)?;
        if self.is_busy(path)? {
            return Err(in_use().into());
        }
        Ok(Worktree::remove_own(self.repo, path)?)
    }
}

fn owner(run: &RunId) -> String {
    format!("{run}/checks")
}

/// The folders of a run's worktrees for checks.
pub fn paths(dir: &Utf8Path, run: &RunId) -> Vec<Utf8PathBuf> {
    numbers(dir, run).into_iter().map(|(kind, n)| dir.join(format!("{}-{run}-{n}", kind.prefix()))).collect()
}

fn numbers(dir: &Utf8Path, run: &RunId) -> Vec<(Kind, u32)> {
    let names: Vec<String> = dir
        .read_dir_utf8()
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_owned())
        .collect();
    let of = |kind: Kind| names.iter().filter_map(move |name| Some((kind, number(kind, run, name)?)));
    let mut all: Vec<(Kind, u32)> = Kind::ALL.into_iter().flat_map(of).collect();
    all.arrange_by_key(|(_, number)| *number);
    all
}

/// The number of a folder's name, if it is one of these. Runs whose names begin alike are told apart: the rest is a number.
fn number(kind: Kind, run: &RunId, name: &str) -> Option<u32> {
    let rest =
        name.strip_prefix(kind.prefix())?.strip_prefix('-')?.strip_prefix(run.as_str())?.strip_prefix('-')?;
    rest.parse().ok().filter(|number: &u32| number.to_string() == rest)
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Lease {
    worktree: ExactWorktree,
    kind: Kind,
    /// The commit it is known to hold, and nothing else beside ignored files.
    exact: Option<Oid>,
    _lock: Lock,
}

impl Lease {
    pub fn path(&self) -> &Utf8Path {
        self.worktree.path()
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Make it hold `commit` and nothing else that is not ignored.
    pub fn make_exact(&mut self, commit: &Oid) -> Result<(), GitError> {
        let ignored = if self.kind == Kind::Fresh { Ignored::Go } else { Ignored::Stay };
        if self.exact.as_ref() != Some(commit) || ignored == Ignored::Go {
            // The files in there no longer come from what ran there last.
            self.worktree.note_last("")?;
            self.worktree.make_exact(commit, ignored)?;
            self.exact = Some(commit.clone());
        }
        Ok(())
    }

    /// Bring in what the plan copies into worktrees. What the commit has is as the commit has it.
    pub fn copy(
        &self,
        project: &Project,
        repo: &Repo,
        commit: &Oid,
        setup: &WorktreeSetup,
    ) -> Result<(), NoWorktree> {
        if self.kind == Kind::Fresh {
            return Ok(());
        }
        for file in files_to_copy(project, repo, setup)? {
            if !repo.has(commit, &file)? {
                copy_file(project, repo, self.path(), &file).map_err(|error| match error {
                    CopyError::Git(error) => NoWorktree::Git(error),
                    CopyError::Io(source) => NoWorktree::Io { path: self.path().join(&file), source },
                })?;
            }
        }
        Ok(())
    }

    /// The mark that says it is set up for a tree, unless it has that mark. What a set-up makes may depend on anything
    /// in the tree, such as the list of dependencies.
    pub fn lacks_set_up(&self, setup: &WorktreeSetup, tree: &Oid) -> Option<String> {
        let command = setup.setup.as_ref().filter(|_| self.kind != Kind::Fresh)?;
        let mark = Digest::of(&(boot::id(), command, tree)).as_str().to_owned();
        (!self.worktree.is_set_up(&mark)).then_some(mark)
    }

    pub fn mark_set_up(&mut self, mark: &str) -> Result<(), GitError> {
        // It may have changed tracked files, and what is neither tracked nor ignored would be there for one check only.
        self.exact = None;
        self.worktree.note_set_up(mark)
    }

    /// Record what is about to run in there, so that later processes see that it is in use.
    pub fn begin(&self, job: &Job) -> Result<(), GitError> {
        self.worktree.note_last(job.dir().as_str())
    }

    /// Whether this is what ran in there last.
    pub fn was_last(&self, job: &Job) -> bool {
        self.worktree.last().is_some_and(|last| last == job.dir().as_str())
    }

    /// Why what has just run in there has judged something else than `commit`, if it has.
    pub fn deviation(&mut self, commit: &Oid) -> Result<Option<String>, GitError> {
        let Deviation { mut changed, is_elsewhere, has_more } = self.worktree.deviation(commit)?;
        if !changed.is_empty() {
            // From here on the worktree no longer shows what the job changed.
            self.worktree.note_last("")?;
            // Git calls some files changed right after it wrote them, because of their line ends.
            self.worktree.make_exact(commit, Ignored::Stay)?;
            let always = self.worktree.deviation(commit)?.changed;
            changed.retain(|file| !always.contains(file));
        }
        self.exact = (changed.is_empty() && !is_elsewhere && !has_more).then(|| commit.clone());
        Ok(match changed {
            _ if is_elsewhere => Some("it checked out or committed something else while it ran".to_owned()),
            changed if !changed.is_empty() => {
                Some(format!("it changed files while it ran: {}", changed.join(", ")))
            }
            _ => None,
        })
    }
}

/// The worktrees that one caller needs for a commit, each leased when it is first asked for.
#[derive(Debug)]
pub struct Places<'a> {
    pub pool: Pool<'a>,
    pub commit: &'a Oid,
    pub tree: &'a Oid,
    pub setup: &'a WorktreeSetup,
    leases: Vec<Lease>,
    /// The set-up does not succeed on this tree, so no other check is worth a try.
    pub is_spoilt: bool,
    /// Where the work was done. The first check that fails takes it, to run there once more.
    pub work_folder: Option<WorkFolder>,
}

/// The folder where work was done. It may hold files that are not committed.
#[derive(Clone, Debug)]
pub struct WorkFolder {
    pub path: Utf8PathBuf,
    /// What it has checked out.
    pub commit: Oid,
    /// An agent's worktree, and not a person's checkout.
    pub is_agents: bool,
}

impl<'a> Places<'a> {
    pub fn new(pool: Pool<'a>, commit: &'a Oid, tree: &'a Oid, setup: &'a WorktreeSetup) -> Places<'a> {
        Places { pool, commit, tree, setup, leases: Vec::new(), is_spoilt: false, work_folder: None }
    }

    pub fn with_work_folder(self, work_folder: Option<WorkFolder>) -> Places<'a> {
        Places { work_folder, ..self }
    }

    /// The worktree of this kind: the same as before, unless the job has begun in another one.
    pub fn take(&mut self, kind: Kind, begun: Option<&Job>) -> Result<&mut Lease, NoWorktree> {
        let spec = begun.map(Job::spec).transpose()?.flatten();
        let fits = |lease: &Lease| {
            lease.kind == kind && spec.as_ref().is_none_or(|spec| spec.cwd.starts_with(lease.path()))
        };
        let place = match self.leases.iter().position(fits) {
            Some(place) => place,
            None => {
                self.leases.push(self.pool.take(kind, self.commit, begun)?);
                self.leases.len() - 1
            }
        };
        Ok(&mut self.leases[place])
    }
}

/// Why a file could not be copied.
#[derive(Debug)]
pub(crate) enum CopyError {
    Git(GitError),
    Io(std::io::Error),
}

/// The files of the project that a worktree gets: those that the plan names, and those of its `.worktreeinclude`.
pub(crate) fn files_to_copy(
    project: &Project,
    repo: &Repo,
    setup: &WorktreeSetup,
) -> Result<Vec<String>, GitError> {
    let mut files: Vec<String> = setup.copy.iter().map(ToString::to_string).collect();
    let included = repo.included_in(&project.root)?.map(|include| include.files).unwrap_or_default();
    files.extend(included.into_iter().filter(|file| !setup.copy.iter().any(|named| named.as_str() == file)));
    Ok(files)
}

/// Copy a file of the project that is not in git into a worktree, if it is there and differs.
pub(crate) fn copy_file(project: &Project, repo: &Repo, to: &Utf8Path, file: &str) -> Result<(), CopyError> {
    let from = project.root.join(file);
    if !from.is_file() {
        return Ok(());
    }
    let copied = || -> std::io::Result<()> {
        let (bytes, there) = (fs::read(&from)?, to.join(file));
        let is_plain = !there.ancestors().take_while(|part| *part != to).any(Utf8Path::is_symlink);
        if !is_plain || disk::read_plain(&there).ok().as_ref() != Some(&bytes) {
            disk::write_below(to, Utf8Path::new(file), &bytes)?;
        }
        fs::set_permissions(there, fs::metadata(&from)?.permissions())
    };
    copied().map_err(CopyError::Io)?;
    // Copied files are often secrets: they must not come back as part of the work.
    repo.exclude(file).map_err(CopyError::Git)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn the_folders_of_runs_with_names_alike_are_told_apart() {
        let (one, two) = (RunId::new("plan-1").unwrap(), RunId::new("plan-1-0").unwrap());
        assert_eq!(number(Kind::Warm, &one, ".checks-plan-1-0"), Some(0));
        assert_eq!(number(Kind::Warm, &one, ".checks-plan-1-0-3"), None);
        assert_eq!(number(Kind::Warm, &two, ".checks-plan-1-0-3"), Some(3));
        for other in
            [".checks-plan-1-00", ".checks-plan-1-", ".checks-plan-1-x", ".fresh-plan-1-0", "plan-1-0"]
        {
            assert_eq!(number(Kind::Warm, &one, other), None, "{other}");
        }
    }
}
