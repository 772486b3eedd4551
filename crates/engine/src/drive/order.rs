//! An action with everything it takes to carry it out: no worker looks at the journal or the state.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::ErrorKind;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::order::Pairs;
use piton_core::plan::{Check, Digest, Oid, RepoPath, TaskId, TaskSpec};
use piton_core::prompt::Prompts;
use piton_core::run::{self, Action, CheckResult, CheckRun, Class, Command, Footing, Note, Run, Task};
use piton_core::time::Span;

use super::briefing::Briefing;
use super::follow::HostRest;
use super::lanes::{Lane, Lanes};
use crate::check_worktrees::{NoWorktree, Pool};
use crate::checks::{AgentJob, Bench, Cut, First, NoResult, Passed};
use crate::git::{GitError, Repo, Rescued, Worktree};
use crate::host::Host;
use crate::keeper::{Job, Keeper, KeeperError};
use crate::project::Project;
use crate::sandbox::Guard;
use crate::slots::SlotPool;
use crate::{checks, clock, slots};

/// What all actions of an engine share.
pub(super) struct Site {
    pub project: Project,
    /// Its git children hold the engine's lock: a new engine waits for those of a dead one.
    pub repo: Option<Repo>,
    /// The command line in front of a job's folder.
    pub keeper: Vec<String>,
    pub prompts: Prompts,
    /// Files that belong to Piton or the plan, which no task may change.
    pub owned: Vec<piton_core::plan::RepoPath>,
    pub sandbox: Option<piton_core::plan::Sandbox>,
    pub settle_files: super::SettleFiles,
    pub summary: super::Summary,
    pub reserve: super::Reserve,
    pub slots: Slots,
    pub lanes: Arc<Lanes>,
    pub called: Called,
    pub red_tip: RedTip,
    pub passed: Passed,
    pub host_rest: HostRest,
}

/// The target's tip, while checks are red on it without any candidate. Whoever starts the engine again has it judged again.
#[derive(Debug, Default)]
pub(super) struct RedTip(Mutex<Option<Red>>);

#[derive(Debug)]
struct Red {
    tip: Oid,
    by: Vec<Digest>,
    reason: String,
}

impl RedTip {
    pub(super) fn keep(&self, tip: &Oid, by: Vec<Digest>, reason: &str) {
        let red = Red { tip: tip.clone(), by, reason: reason.to_owned() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(red);
    }

    /// Why nothing that these checks judge can land on this commit, if that is known.
    pub(super) fn reason_for(&self, tip: &Oid, checks: &[&Check]) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let judges = |by: &Digest| checks.iter().any(|check| check.digest() == *by);
        let red = known.as_ref().filter(|red| red.tip == *tip && red.by.iter().any(judges))?;
        Some(red.reason.clone())
    }
}

/// Keepers that were called while git made a worktree, one for each task: its agent need not wait for one then.
#[derive(Debug, Default)]
pub(super) struct Called(Mutex<BTreeMap<TaskId, (Job, Keeper)>>);

impl Called {
    pub(super) fn put(&self, task: &TaskId, job: Job, keeper: Keeper) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(task.clone(), (job, keeper));
    }

    /// The one for this job. Any other of the task was called for nothing, and ends.
    pub(super) fn take(&self, task: &TaskId, job: &Job) -> Option<Keeper> {
        let called = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(task);
        called.and_then(|(of, keeper)| (of.dir() == job.dir()).then_some(keeper))
    }
}

/// Room for git work beside the landing: as much as there are processors. Everybody waits for the landing,
/// and a crowd of other gits would only slow it down.
#[derive(Debug)]
pub(super) struct Slots {
    free: Mutex<usize>,
    freed: Condvar,
}

/// Given back when dropped.
#[derive(Debug)]
pub(super) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(super) fn new() -> Slots {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        Slots { free: Mutex::new(processors), freed: Condvar::new() }
    }

    pub(super) fn take(&self) -> Slot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

/// What its agent has made of a task.
pub(super) fn commit_of(task: &Task) -> Result<&Oid, Trouble> {
    let commit = task.progress.commit.as_ref();
    commit.ok_or_else(|| Trouble::Transient("there is no commit to work on".to_owned()))
}

#[derive(Clone)]
pub(super) struct Order {
    pub action: Action,
    pub site: Arc<Site>,
    pub run: Arc<Run>,
    pub task: Task,
    pub spec: Arc<TaskSpec>,
    pub briefing: Briefing,
    /// Of a proof: the candidates that are merged before this one, in their order.
    pub ahead: Vec<Member>,
    /// Of a proof that has passed: the tree on which it did.
    pub passed: Option<Oid>,
    /// The open requests that it stands on. `None`: one of them is not there.
    pub on: Option<Vec<Footing>>,
    /// What its own request was proven on, as long as that is open: names and branches.
    pub below: Vec<Below>,
    /// Of a request of the run: the heads that the host has merged so far.
    pub brought: Vec<Oid>,
    /// The tasks that landed since the oldest base among these. Of a request of the run: all of them.
    pub neighbours: Vec<Neighbour>,
    pub running: Running,
    /// Where its worktree is, once it was asked for.
    pub place: OnceLock<Utf8PathBuf>,
    /// The checks that it has run.
    pub ran: Arc<Mutex<Ran>>,
    /// Of a proof: where its checks run.
    pub _lane: Option<Arc<Lane>>,
}

/// An open request that another one stands on.
#[derive(Clone, Debug)]
pub(super) struct Below {
    pub name: String,
    pub branch: String,
}

/// A candidate for landing.
#[derive(Clone)]
pub(super) struct Member {
    pub task: Task,
    pub spec: Arc<TaskSpec>,
}

/// Checks that have run for an action.
#[derive(Debug, Default)]
pub(super) struct Ran {
    runs: Vec<CheckRun>,
    /// How many of them could run at the same time, if they prove a candidate for landing.
    lanes: Option<u32>,
}

/// A task that landed, and what judges it.
#[derive(Clone, Debug)]
pub(super) struct Neighbour {
    pub task: TaskId,
    /// The merge that brought it, where Piton made it.
    pub landed: Option<Oid>,
    pub gate: bool,
    pub checks: Vec<Check>,
}

/// The job an action is at, so that it can be stopped from outside, and the agents it has come by.
#[derive(Clone, Debug, Default)]
pub(super) struct Running(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    stopped: bool,
    /// All so far. Several may be at work.
    jobs: Vec<Job>,
    agents: Vec<AgentJob>,
    /// The program of a host that is being asked.
    asks: Option<Host>,
}

impl Inner {
    fn end_jobs(&self) {
        let is_over = |job: &&Job| job.outcome().is_ok_and(|outcome| outcome.is_some());
        for job in self.jobs.iter().filter(|job| !is_over(job)) {
            // If the wish cannot be written, the job ends by its own limits.
            let _ = job.request_stop();
        }
    }
}

impl Running {
    /// Note the job, and the agent if it is one's; `false` if it must not begin any more.
    pub(super) fn begin(&self, job: &Job, agent: Option<&str>) -> bool {
        let Ok(mut inner) = self.0.lock() else { return false };
        inner.jobs.push(job.clone());
        inner.agents.extend(agent.map(|agent| AgentJob { agent: agent.to_owned(), job: job.clone() }));
        // A job that was begun by an earlier engine is waited for even now: its end is on its way.
        !inner.stopped
    }

    /// The agents so far; the last may be at work.
    pub(super) fn agents(&self) -> Vec<AgentJob> {
        self.0.lock().map(|inner| inner.agents.clone()).unwrap_or_default()
    }

    /// Whether its job has begun.
    pub(super) fn has_begun(&self) -> bool {
        let job = self.0.lock().ok().and_then(|inner| inner.jobs.last().cloned());
        job.is_some_and(|job| job.is_begun().unwrap_or(true))
    }

    /// Note the program that is about to be asked, so that it ends with the action. `false`: it must not begin any more.
    pub(super) fn asks(&self, host: &Host) -> bool {
        let Ok(mut inner) = self.0.lock() else { return false };
        inner.asks = Some(host.clone());
        !inner.stopped
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.lock().is_ok_and(|inner| inner.stopped)
    }

    pub(super) fn stop(&self) {
        self.stop_if(|_| true);
    }

    /// Stop at this job, unless the action has gone on.
    pub(super) fn stop_at(&self, job: &Job) {
        self.stop_if(|now| now.is_some_and(|now| now.dir() == job.dir()));
    }

    fn stop_if(&self, wanted: impl FnOnce(Option<&Job>) -> bool) {
        if let Ok(mut inner) = self.0.lock()
            && wanted(inner.jobs.last())
            && !std::mem::replace(&mut inner.stopped, true)
        {
            inner.end_jobs();
            inner.asks.iter().for_each(Host::stop);
        }
    }

    /// End what is at work. The action itself goes on.
    pub(super) fn end_jobs(&self) {
        if let Ok(inner) = self.0.lock() {
            inner.end_jobs();
        }
    }
}

fn no_target() -> Trouble {
    Trouble::Defect("this run has no target branch".to_owned())
}

/// What stands in the way of an action.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Defect(String),
    #[error("{0}")]
    Transient(String),
    /// The run is being stopped.
    #[error("stopped with the run")]
    Stopped,
    /// No provider lets whoever is needed work.
    #[error("{0}")]
    Out(String),
    /// A reviewer has to say first that it begins.
    #[error("{} is the first agent since a usage limit", .0.agent)]
    First(First),
    /// A reviewer was not let work by its provider, or may use no more.
    #[error("{} gave no verdict", .0.agent)]
    Cut(Box<Cut>),
}

impl From<NoResult> for Trouble {
    fn from(no: NoResult) -> Trouble {
        match no {
            NoResult::Stopped => Trouble::Stopped,
            NoResult::Keeper(error) => Trouble::Keeper(error),
            NoResult::Out { reason } => Trouble::Out(reason),
            NoResult::First(first) => Trouble::First(first),
            NoResult::Cut(cut) => Trouble::Cut(cut),
        }
    }
}

impl From<NoWorktree> for Trouble {
    fn from(no: NoWorktree) -> Trouble {
        match no {
            NoWorktree::Git(error) => Trouble::Git(error),
            NoWorktree::Keeper(error) => Trouble::Keeper(error),
            NoWorktree::Io { source, .. } => Trouble::Io(source),
        }
    }
}

impl Trouble {
    pub(super) fn class(&self) -> Class {
        match self {
            // No retry mends these: somebody has to move a folder, a branch or the plan.
            Trouble::Git(
                GitError::ForeignFolder { .. }
                | GitError::Swapped { .. }
                | GitError::ForeignRepository { .. }
                | GitError::Locked { .. }
                | GitError::BadAuthor(_)
                | GitError::NotKept { .. }
                | GitError::NotSigned { .. }
                | GitError::Unrelated { .. },
            )
            | Trouble::Defect(_) => Class::Defect,
            // What its plan asks for cannot be had on this machine.
            Trouble::Io(error) if error.kind() == std::io::ErrorKind::Unsupported => Class::Defect,
            Trouble::Stopped => Class::Stopped,
            Trouble::Out(_) | Trouble::First(_) | Trouble::Cut(_) => Class::Limit,
            _ => Class::Transient,
        }
    }
}

impl Trouble {
    /// What is wrong with the disk, if that is what it is: no fault of the work, and it passes when somebody sees to it.
    pub(super) fn of_the_disk(&self) -> Option<&'static str> {
        const KINDS: [(ErrorKind, &str); 3] = [
            (ErrorKind::StorageFull, "No space left on device"),
            (ErrorKind::QuotaExceeded, "Disk quota exceeded"),
            (ErrorKind::ReadOnlyFilesystem, "Read-only file system"),
        ];
        if let Trouble::Git(GitError::NotKept { .. }) = self {
            // What it has taken already may be lost: a second try would say nothing about the first.
            return None;
        }
        // Git says it in words.
        let said = matches!(self, Trouble::Git(GitError::Failed { .. })).then(|| self.to_string());
        let mut cause: Option<&(dyn Error + 'static)> = Some(self);
        while let Some(error) = cause {
            let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            let is = |(of, words): &(ErrorKind, &str)| {
                kind == Some(*of) || said.as_ref().is_some_and(|said| said.contains(words))
            };
            if let Some((_, words)) = KINDS.into_iter().find(is) {
                return Some(words);
            }
            cause = error.source();
        }
        None
    }
}

impl Order {
    pub(super) fn fence(&self) -> u64 {
        self.task.fence
    }

    pub(super) fn repo(&self) -> Result<&Repo, Trouble> {
        self.site.repo.as_ref().ok_or_else(|| Trouble::Defect("the engine needs a git repository".to_owned()))
    }

    /// The branch that its work lands on, or is based on as long as it does not land.
    pub(super) fn target(&self) -> Result<&str, Trouble> {
        match self.action {
            Action::Prove { .. } | Action::Land { .. } | Action::Move { .. } | Action::Request { .. } => {
                self.run.target_of(&self.task.id).ok_or_else(no_target)
            }
            _ => self.run_branch(),
        }
    }

    /// The branch that the tasks of the run land on.
    pub(super) fn run_branch(&self) -> Result<&str, Trouble> {
        self.run.target.as_deref().ok_or_else(no_target)
    }

    /// What people call the group that its task is the request of, if it is that of a group.
    pub(super) fn batch(&self) -> Option<String> {
        self.run.whole().filter(|whole| whole.task != self.task.id)?;
        let group = self.run.group(self.task.group)?;
        Some(if group.title.is_empty() { group.id.to_string() } else { group.title.clone() })
    }

    /// Whether its task is a request of the run as a whole, or of a group.
    pub(super) fn is_request_of_run(&self) -> bool {
        self.run.is_its_request(&self.task.id)
    }

    pub(super) fn tip(&self) -> Result<Oid, Trouble> {
        self.tip_of(self.target()?)
    }

    pub(super) fn tip_of(&self, branch: &str) -> Result<Oid, Trouble> {
        let tip = self.repo()?.branch_tip(branch)?;
        tip.ok_or_else(|| Trouble::Defect(format!("the target branch `{branch}` no longer exists")))
    }

    /// Where the agent works.
    pub(super) fn workplace(&self) -> Result<Utf8PathBuf, Trouble> {
        if self.run.settings.no_commits {
            return Ok(self.site.project.root.clone());
        }
        if let Some(place) = self.place.get() {
            return Ok(place.clone());
        }
        let place = slots::place_of(&self.site.project, &self.named_place()?);
        Ok(self.place.get_or_init(|| place).clone())
    }

    /// The path under which people find where the agent works.
    pub(super) fn named_place(&self) -> Result<Utf8PathBuf, Trouble> {
        let name = self.run.settings.worktree.place(&self.task.id);
        Ok(self.site.project.worktree_path(&self.run.id, &self.worktree_dir()?, name)?)
    }

    /// The slots that agents work in. `dir`: the folder of the run's worktrees.
    pub(super) fn slot_pool<'a>(&'a self, dir: &'a Utf8Path) -> Result<SlotPool<'a>, Trouble> {
        let setup = &self.run.settings.worktree;
        Ok(SlotPool { project: &self.site.project, repo: self.repo()?, dir, setup })
    }

    pub(super) fn worktree_dir(&self) -> Result<Utf8PathBuf, Trouble> {
        let dir = self.run.worktree_dir.as_ref();
        dir.map(Utf8PathBuf::from)
            .ok_or_else(|| Trouble::Defect("this run has no folder for worktrees".to_owned()))
    }

    pub(super) fn worktree(&self) -> Result<Worktree, Trouble> {
        let path = self.workplace()?;
        let found = Worktree::open(self.repo()?, &path)?;
        found.ok_or_else(|| Trouble::Transient(format!("the worktree {path} no longer exists")))
    }

    /// What counts as work wherever git would pass over it.
    pub(super) fn outputs(&self) -> Vec<RepoPath> {
        self.site.project.outputs(&self.run)
    }

    /// What an agent changes: its files, and the objects of its commits.
    pub(super) fn touched(&self) -> Result<Vec<Utf8PathBuf>, Trouble> {
        let mut folders = vec![self.workplace()?];
        folders.extend(self.site.repo.as_ref().map(|repo| repo.common_dir().to_owned()));
        Ok(folders)
    }

    /// Whose work is in the worktree.
    pub(super) fn owner(&self) -> String {
        format!("{}/{}", self.run.id, self.task.id)
    }

    pub(super) fn jobs(&self) -> Utf8PathBuf {
        self.site.project.task_folder(&self.run.id, &self.task.id)
    }

    /// Checks of a proof belong to no task.
    pub(super) fn shared_jobs(&self) -> Utf8PathBuf {
        self.site.project.landing_folder(&self.run.id)
    }

    /// Count a check that has run.
    pub(super) fn ran(&self, run: CheckRun) {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).runs.push(run);
    }

    /// So many checks of a proof could run at the same time.
    pub(super) fn could_run_at_once(&self, lanes: usize) {
        let mut ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        ran.lanes = ran.lanes.max(u32::try_from(lanes).ok());
    }

    /// The command that tells which checks have run, if any has.
    pub(super) fn checks_ran(&self) -> Option<Command> {
        let ran = std::mem::take(&mut *self.ran.lock().unwrap_or_else(PoisonError::into_inner));
        let (by, task, Ran { runs, lanes }) = ("Piton".to_owned(), self.task.id.clone(), ran);
        (!runs.is_empty()).then(|| Command::Note { by, note: Note::ChecksRan { task, runs, lanes } })
    }

    /// Processor time of a check that has just run.
    pub(super) fn cpu_of(&self, result: &CheckResult) -> Option<Span> {
        let job = Job::at(self.site.project.home.join(&result.log));
        job.outcome().ok().flatten()?.cpu_ms.map(Span)
    }

    /// The number of the proof that this makes.
    pub(super) fn proof(&self) -> Option<u64> {
        match self.action {
            Action::Prove { proof, .. } | Action::Land { proof, .. } => Some(proof),
            _ => None,
        }
    }

    /// A job of this attempt.
    pub(super) fn job(&self, what: &str) -> Job {
        Job::at(self.jobs().join(format!("{}.{what}", self.fence())))
    }

    /// Its agent's, in a pass.
    pub(super) fn agent_job(&self, pass: u32) -> Job {
        self.job(&format!("agent{pass}"))
    }

    /// The candidates of a proof, in their order. This one is the last.
    pub(super) fn chain(&self) -> impl Iterator<Item = &Task> {
        self.ahead.iter().map(|member| &member.task).chain([&self.task])
    }

    pub(super) fn commit(&self) -> Result<&Oid, Trouble> {
        commit_of(&self.task)
    }

    pub(super) fn tree(&self) -> Result<&Oid, Trouble> {
        self.task
            .progress
            .tree
            .as_ref()
            .ok_or_else(|| Trouble::Transient("there is no tree to check".to_owned()))
    }

    /// Who keeps its agents inside.
    pub(super) fn guard(&self) -> Guard {
        Guard::new(&self.run.session.fences, self.site.sandbox, &self.site.project)
    }

    /// How this attempt's checks of a tree run: in place, unless they are given another place.
    pub(super) fn bench<'a>(&'a self, jobs: &'a Utf8Path, tree: &Oid) -> Bench<'a> {
        let name = format!("{}.check.{}", self.fence(), tree.short());
        let env = checks::environment_of_commands();
        let reviewers_env = crate::agent::environment(&self.run.id, &self.task.id, self.task.attempt);
        let agents = Cow::Borrowed(&self.run.settings.agents);
        let Site { project, keeper, prompts, .. } = &*self.site;
        let now = clock::now();
        let who = |agent: &String| run::reviewer(&self.run, agent, &self.task.id, now);
        let entries = agents.keys().map(|agent| (agent.clone(), who(agent))).into_map();
        let (guard, cwd) = (self.guard(), project.root.clone());
        Bench {
            jobs,
            home: &project.home,
            name,
            cwd,
            env,
            reviewers_env,
            keeper,
            agents,
            entries,
            guard,
            prompts,
        }
    }

    /// The worktrees that checks run in. `dir`: the folder of the run's worktrees.
    pub(super) fn pool<'a>(&'a self, dir: &'a Utf8Path) -> Result<Pool<'a>, Trouble> {
        Ok(Pool { project: &self.site.project, repo: self.repo()?, run: &self.run.id, dir })
    }

    /// The command that tells what was kept of a worktree.
    pub(super) fn rescued(&self, kept: Rescued) -> Command {
        Command::Rescued { task: self.task.id.clone(), reference: kept.name, commit: kept.commit }
    }

    /// A command about what was found on the task's tree, or that there is none.
    pub(super) fn on_tree(&self, command: impl FnOnce(Oid) -> Command) -> Vec<Command> {
        vec![match self.tree() {
            Ok(tree) => command(tree.clone()),
            Err(trouble) => self.failed(&trouble),
        }]
    }

    /// What passed on a merged tree says nothing about the task's own.
    pub(super) fn own_results(&self, results: &[CheckResult]) -> Vec<CheckResult> {
        if matches!(self.action, Action::Check { .. }) { results.to_vec() } else { Vec::new() }
    }

    /// The command that says the try ended in trouble.
    pub(super) fn failed(&self, trouble: &Trouble) -> Command {
        Command::TryFailed {
            action: self.action.clone(),
            class: trouble.class(),
            reason: trouble.to_string(),
            feedback: String::new(),
        }
    }

    /// The names the branch for people may have.
    pub(super) fn branches(&self) -> [String; 2] {
        let plain = format!("worktree-{}", self.task.id);
        [plain.clone(), format!("{plain}-{}", self.run.id)]
    }

    /// Pins under `refs/piton/`: nothing that matters may be unreferenced.
    pub(super) fn pin_name(&self, what: &str) -> String {
        format!("{}/{what}/{}", self.run.id, self.task.id)
    }
}
