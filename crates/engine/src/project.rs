//! Where things are: the project, its repository, and Piton's own folder.

use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{io, thread};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Digest, RepoPath, RunId, TaskId};
use piton_core::run::Run;

use crate::git::{self, GitError, Repo, Worktree};
use crate::journal::{Journal, JournalError, Server};
use crate::lock::Lock;
use crate::{disk, environment};

/// How long a run's lock is waited for before another engine is believed to hold it.
const PATIENCE: Duration = Duration::from_secs(3);

/// The file in Piton's folder that says which server has the journal.
const SERVER_FILE: &str = "journal.url";

/// A project: a git repository, or a plain folder, in which an engine works in place.
#[derive(Clone, Debug)]
pub struct Project {
    pub root: Utf8PathBuf,
    /// Piton's own folder: out of reach of `git clean`, the same from every worktree.
    pub home: Utf8PathBuf,
    /// The server that has its journal; without one it is a file in Piton's folder.
    server: Option<Server>,
    /// The folder it was found from: a branch is that of the checkout around it.
    from: Utf8PathBuf,
    /// Found when it is asked for: the ledger rarely needs git, and each question to it takes longer than
    /// everything else that a short command does.
    repo: OnceLock<Option<Repo>>,
    /// Piton's own, where it has none; found in the same way.
    store: OnceLock<Repo>,
}

impl Project {
    /// The project around a path. Without a repository, Piton's folder is `.piton` in that path.
    pub fn around(path: &Utf8Path) -> Result<Project, GitError> {
        if let Some(project) = Project::known(path) {
            return Ok(project);
        }
        match Repo::discover(path) {
            Ok(repo) => {
                let root = repo.main_checkout()?.unwrap_or_else(|| repo.top().to_owned());
                let from = path.to_owned();
                Ok(Project::new(root, repo.piton_dir(), from, OnceLock::from(Some(repo))))
            }
            Err(GitError::NotARepository { .. }) => Ok(Project::without_git(path)),
            // The ledger needs git no more than a missing one gives it.
            Err(GitError::Missing { .. }) if path.join(".piton").is_dir() => Ok(Project::without_git(path)),
            Err(error) => Err(error),
        }
    }

    fn new(root: Utf8PathBuf, home: Utf8PathBuf, from: Utf8PathBuf, repo: OnceLock<Option<Repo>>) -> Project {
        Project { root, home, server: None, from, repo, store: OnceLock::new() }
    }

    /// The same project, with its journal on a server.
    #[must_use]
    pub fn on(self, server: Server) -> Project {
        environment::journal_is_on_a_server();
        Project { server: Some(server), ..self }
    }

    /// The server that has its journal, if it is on one.
    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// Open its journal for writing. It is created or upgraded if necessary.
    pub fn journal(&self) -> Result<Journal, JournalError> {
        match &self.server {
            Some(server) => Journal::connect(server),
            None => Journal::open(&self.home),
        }
    }

    /// Open its journal for reading, if there is one. Nothing is ever written.
    pub fn existing_journal(&self) -> Result<Option<Journal>, JournalError> {
        match &self.server {
            Some(server) => Journal::connect_existing(server),
            None => Journal::open_existing(&self.home),
        }
    }

    /// Whether there may be a journal. A server is not asked.
    pub fn may_have_journal(&self) -> bool {
        self.server.is_some() || Journal::exists(&self.home)
    }

    /// What this folder of Piton's is called where several machines meet.
    pub fn home_id(&self) -> io::Result<String> {
        let file = self.home.join("id");
        disk::private_folder(&self.home)?;
        let _lock = Lock::take(&self.home.join("locks/id.lock"))?;
        if !file.exists() {
            disk::write(&file, uuid::Uuid::now_v7().to_string().as_bytes())?;
        }
        std::fs::read_to_string(&file)
    }

    /// The URL, without a password, of the server that runs of this checkout were last begun on.
    pub fn server_of_runs(&self) -> io::Result<Option<String>> {
        match std::fs::read_to_string(self.home.join(SERVER_FILE)) {
            Ok(url) => Ok(Some(url.trim().to_owned()).filter(|url| !url.is_empty())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Remember where the runs of this checkout are: on this server, or in Piton's folder.
    pub fn remember_server(&self, url: Option<&str>) -> io::Result<()> {
        let file = self.home.join(SERVER_FILE);
        match url {
            Some(url) => {
                disk::private_folder(&self.home)?;
                disk::write(&file, format!("{url}\n").as_bytes())
            }
            None => match std::fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        }
    }

    /// The project of an ordinary repository that has a journal already, found without git. What was begun without git
    /// goes on without it, although there is a `.git` by now.
    fn known(path: &Utf8Path) -> Option<Project> {
        let path = path.canonicalize_utf8().ok()?;
        let is_begun = |folder: &Utf8Path| Repo::has_store(&folder.join(".piton"));
        let is_top = |folder: &&Utf8Path| folder.join(".git").symlink_metadata().is_ok() || is_begun(folder);
        let top = path.ancestors().find(is_top)?;
        let in_git = || {
            let common = git::common_dir(top)?;
            let root = common.parent().filter(|_| common.file_name() == Some(".git"))?;
            let project = Project::new(root.to_owned(), common.join("piton"), path.clone(), OnceLock::new());
            is_home(&project.home).then_some(project)
        };
        in_git().or_else(|| is_begun(top).then(|| Project::without_git(top)))
    }

    /// Its repository, if it has one.
    pub fn repo(&self) -> Result<Option<&Repo>, GitError> {
        if self.repo.get().is_none() {
            let found = Repo::discover(&self.from)?;
            return Ok(self.repo.get_or_init(|| Some(found)).as_ref());
        }
        Ok(self.repo.get().and_then(Option::as_ref))
    }

    /// The repository that trees and rescued content of the project are in: its own, else Piton's store, if there is one.
    pub fn repo_or_store(&self) -> Result<Option<&Repo>, GitError> {
        if let Some(repo) = self.repo()? {
            return Ok(Some(repo));
        }
        if self.store.get().is_none() && Repo::has_store(&self.home) {
            let found = Repo::of_store(&self.home, &self.root)?;
            return Ok(Some(self.store.get_or_init(|| found)));
        }
        Ok(self.store.get())
    }

    /// The same for a caller that needs one: where there is none, a store is made.
    pub fn repo_or_new_store(&self) -> Result<&Repo, GitError> {
        if let Some(store) = self.repo_or_store()? {
            return Ok(store);
        }
        let made = Repo::make_store(&self.home, &self.root)?;
        Ok(self.store.get_or_init(|| made))
    }

    /// What of a run's work counts wherever git would pass over it, from the root.
    pub fn outputs(&self, run: &Run) -> Vec<RepoPath> {
        let root = self.root.canonicalize_utf8().unwrap_or_else(|_| self.root.clone());
        run.settings.form.outputs(Utf8Path::new(&run.plan).strip_prefix(root).ok().map(Utf8Path::as_str))
    }

    /// A plan in `.claude` is about the folder that holds it.
    fn without_git(path: &Utf8Path) -> Project {
        let known = path.ancestors().find(|folder| is_home(&folder.join(".piton")));
        let inside = path.ancestors().find(|folder| folder.file_name() == Some(".claude"));
        let root = known.or_else(|| inside?.parent()).unwrap_or(path);
        let (root, from, home) = (root.to_owned(), path.to_owned(), root.join(".piton"));
        Project::new(root, home, from, OnceLock::from(None))
    }

    /// The holder of this lock is the run's one engine; `None` if another one works on the run.
    pub fn engine_lock(&self, run: &RunId) -> io::Result<Option<Lock>> {
        disk::private_folder(&self.home)?;
        let path = self.engine_lock_path(run);
        // Another process may just be looking, and git commands of an engine that died hold its lock to their end.
        let patience = Instant::now() + PATIENCE;
        loop {
            match Lock::try_take(&path)? {
                None if Instant::now() < patience => thread::sleep(Duration::from_millis(20)),
                taken => return Ok(taken),
            }
        }
    }

    /// Held from looking for a plan's run until it is made: two who begin at once begin one run.
    pub fn beginning_lock(&self) -> io::Result<Lock> {
        disk::private_folder(&self.home)?;
        Lock::take(&self.home.join("locks/begin.lock"))
    }

    /// Held while a plan and its run are changed together, from the plan's files to the journal.
    pub fn plan_lock(&self, plan: &Utf8Path) -> io::Result<Lock> {
        disk::private_folder(&self.home)?;
        Lock::take(&self.plan_lock_path(plan))
    }

    /// The same, or `None` if another process changes the plan at this moment.
    pub fn try_plan_lock(&self, plan: &Utf8Path) -> io::Result<Option<Lock>> {
        Lock::try_take(&self.plan_lock_path(plan))
    }

    fn plan_lock_path(&self, plan: &Utf8Path) -> Utf8PathBuf {
        let digest = Digest::of_bytes(plan.as_str().as_bytes());
        self.home.join(format!("locks/plan-{}.lock", digest.short()))
    }

    /// Whether an engine works on the run now, here or elsewhere.
    pub fn is_led(&self, journal: &Journal, run: &RunId) -> bool {
        let elsewhere = || journal.leader(run).ok().flatten().is_some_and(|leader| leader.is_alive());
        self.engine_lives(run) || elsewhere()
    }

    /// Whether an engine works on the run now on this machine. Asks without leaving anything behind.
    pub fn engine_lives(&self, run: &RunId) -> bool {
        Lock::is_held(&self.engine_lock_path(run))
    }

    fn engine_lock_path(&self, run: &RunId) -> Utf8PathBuf {
        self.home.join(format!("locks/run-{run}.lock"))
    }

    /// The folder of a task's jobs: its agents' and checks' specs, output and outcomes.
    pub fn task_folder(&self, run: &RunId, task: &TaskId) -> Utf8PathBuf {
        self.home.join("runs").join(run.as_str()).join(task.as_str())
    }

    /// The folder of checks that ran where candidates were to land. Task ids do not begin with a dot.
    pub fn landing_folder(&self, run: &RunId) -> Utf8PathBuf {
        self.home.join("runs").join(run.as_str()).join(".landing")
    }

    /// Where worktrees go if nobody says otherwise: beside the project, in a folder of its own so that projects do not
    /// clash.
    pub fn worktree_dir(&self) -> Utf8PathBuf {
        let name = self.root.file_name().unwrap_or("project");
        self.root.parent().unwrap_or(&self.root).join(".worktrees").join(name)
    }

    /// Where the worktree of this name is, if this run ever made one. Looks only.
    pub fn worktree_path_if_owned(&self, run: &RunId, dir: &Utf8Path, name: &str) -> Option<Utf8PathBuf> {
        let paths = [dir.join(format!("{name}-{run}")), dir.join(name)];
        paths.into_iter().find(|path| self.owner(path).as_deref() == Some(run.as_str()))
    }

    /// The run that a worktree's folder belongs to.
    pub fn owner(&self, path: &Utf8Path) -> Option<String> {
        let named = std::fs::read_to_string(self.owner_record(path)).ok();
        named.filter(|name| RunId::new(name).is_ok())
    }

    fn owner_record(&self, path: &Utf8Path) -> Utf8PathBuf {
        git::owner_record(&self.home, path)
    }

    /// Give a worktree that is there to a run.
    pub fn give_worktree(&self, path: &Utf8Path, run: &RunId) -> io::Result<()> {
        let _lock = Lock::take(&self.home.join("locks/worktree-owners.lock"))?;
        disk::private_folder(&self.home.join("worktrees"))?;
        disk::replace(&self.owner_record(path), run.as_str().as_bytes())
    }

    /// Where the worktree of this name is, or goes; with the run's id where another run has that folder. Another run has it
    /// from the moment it claims it, made or not; an engine that lives may be about to make it. Nobody else's is rescued or
    /// removed.
    pub fn worktree_path(&self, run: &RunId, dir: &Utf8Path, name: &str) -> io::Result<Utf8PathBuf> {
        let _lock = Lock::take(&self.home.join("locks/worktree-owners.lock"))?;
        disk::private_folder(&self.home.join("worktrees"))?;
        let (plain, suffixed) = (dir.join(name), dir.join(format!("{name}-{run}")));
        let path = match self.owner(&plain) {
            _ if self.owner(&suffixed).as_deref() == Some(run.as_str()) => suffixed,
            Some(other) if other != run.as_str() && self.is_in_use(&plain, &other) => suffixed,
            _ => plain,
        };
        if self.owner(&path).as_deref() != Some(run.as_str()) {
            self.claim_worktree(&path, run)?;
        }
        Ok(path)
    }

    /// Say that a worktree's folder is a run's, wherever it is.
    pub(crate) fn claim(&self, path: &Utf8Path, run: &RunId) -> io::Result<()> {
        let _lock = Lock::take(&self.home.join("locks/worktree-owners.lock"))?;
        disk::private_folder(&self.home.join("worktrees"))?;
        if self.owner(path).as_deref() == Some(run.as_str()) {
            Ok(())
        } else {
            self.claim_worktree(path, run)
        }
    }

    /// Whether a folder that another run has claimed is there, may come, or is one that git still knows.
    fn is_in_use(&self, path: &Utf8Path, by: &str) -> bool {
        let is_registered = || {
            let repo = self.repo().ok().flatten();
            repo.is_some_and(|repo| Worktree::is_registered(repo, path).unwrap_or(true))
        };
        path.symlink_metadata().is_ok()
            || RunId::new(by).is_ok_and(|by| self.engine_lives(&by))
            || is_registered()
    }

    /// All records of a run are one file under many names: to make a file takes a busy file system much longer than to
    /// name one once more.
    fn claim_worktree(&self, path: &Utf8Path, run: &RunId) -> io::Result<()> {
        let (folder, record) = (self.home.join("worktrees"), self.owner_record(path));
        let first = folder.join(format!("{run}.run"));
        let is_named =
            |file: &Utf8Path| std::fs::read(file).is_ok_and(|name| name == run.as_str().as_bytes());
        if is_named(&first) && std::fs::hard_link(&first, &record).is_ok() {
            return Ok(());
        }
        // The first one; or it was another run's; or this file system knows no such names, or has enough of them.
        disk::sweep(&folder);
        disk::replace(&record, run.as_str().as_bytes())?;
        if !first.exists() {
            // Then the next is a file of its own too.
            let _ = std::fs::hard_link(&record, &first);
        }
        Ok(())
    }
}

/// Whether runs were begun from this folder of Piton's.
fn is_home(folder: &Utf8Path) -> bool {
    Journal::exists(folder) || folder.join(SERVER_FILE).is_file()
}

/// Take the folder of worktrees away if that was the last of it: only empty folders go, and only those that Piton names
/// itself.
pub fn remove_worktree_dir(dir: &Utf8Path) {
    let _ = std::fs::remove_dir(dir);
    if let Some(parent) = dir.parent().filter(|parent| parent.file_name() == Some(".worktrees")) {
        let _ = std::fs::remove_dir(parent);
    }
}

/// Digits that tell the runs of a plan apart.
const TAIL: usize = 6;

/// A new run's id: the plan's name, and enough of a time-ordered unique id to tell runs apart.
pub fn new_run_id(plan: &str) -> RunId {
    let unique = uuid::Uuid::now_v7().simple().to_string();
    let tail = &unique[unique.len() - TAIL..];
    let name = format!("{}{tail}", run_prefix(plan));
    RunId::new(&name).unwrap_or_else(|_| RunId::new(&format!("run-{tail}")).expect("hex digits are valid"))
}

/// What the ids of a plan's runs begin with.
pub(crate) fn run_prefix(plan: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = plan.chars().map(plain).take(40).collect();
    let slug = name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    if slug.is_empty() { "run-".to_owned() } else { format!("{slug}-") }
}

/// Whether a run was one of a plan of this name.
pub(crate) fn is_run_of(plan: &str, run: &str) -> bool {
    let tail = run.strip_prefix(&run_prefix(plan));
    tail.is_some_and(|tail| tail.len() == TAIL && tail.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_has_one_owner_however_its_record_came_to_be() {
        let temp = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(temp.path().to_owned()).unwrap();
        let (project, dir) = (Project::without_git(&root), root.join("trees"));
        let (ours, theirs) = (RunId::new("ours-1").unwrap(), RunId::new("theirs-1").unwrap());
        let place = |run: &RunId, name: &str| project.worktree_path(run, &dir, name).unwrap();
        for name in ["T1", "T2", "T3"] {
            assert_eq!(place(&ours, name), dir.join(name));
            std::fs::create_dir_all(dir.join(name)).unwrap();
        }
        assert_eq!(place(&theirs, "T1"), dir.join("T1-theirs-1"), "the folder belongs to another run");
        // A worktree that was taken over is not given back by a look at it, nor are those beside it.
        project.give_worktree(&dir.join("T2"), &theirs).unwrap();
        assert_eq!(place(&theirs, "T2"), dir.join("T2"));
        assert_eq!(place(&ours, "T2"), dir.join("T2-ours-1"));
        assert_eq!(project.owner(&dir.join("T3")).as_deref(), Some("ours-1"));
        std::fs::remove_dir(dir.join("T3")).unwrap();
        let lock = project.engine_lock(&ours).unwrap().unwrap();
        let suffixed = dir.join("T3-theirs-1");
        assert_eq!(place(&theirs, "T3"), suffixed, "an engine that lives may be about to make it");
        drop(lock);
        std::fs::remove_file(project.owner_record(&suffixed)).unwrap();
        assert_eq!(place(&theirs, "T3"), dir.join("T3"), "nothing is there any more");
        assert_eq!(project.owner(&dir.join("T3")).as_deref(), Some("theirs-1"));
        assert_eq!(project.owner(&dir.join("T1")).as_deref(), Some("ours-1"));
        // A power cut may leave any of them empty.
        let records = project.home.join("worktrees").read_dir_utf8().unwrap();
        for record in records.map(Result::unwrap) {
            std::fs::write(record.path(), "").unwrap();
        }
        assert_eq!(project.owner(&dir.join("T1")), None);
        assert_eq!(place(&ours, "T4"), dir.join("T4"));
        assert_eq!(project.owner(&dir.join("T4")).as_deref(), Some("ours-1"));
    }
}
