//! A job: a folder, its files, and the engine's half of the protocol.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, PipeWriter, Write};
use std::process::{self, Command};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::redact;
use piton_core::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::cgroup::Group;
use super::child::{UNFENCED, UNVIEWED};
use super::fence::Fence;
use super::tree::Tree;
use super::{KeeperError, Output};
use crate::lock::Lock;
use crate::{clock, crash, disk};

const MIB: u64 = 1024 * 1024;
/// The file that says that a job has begun.
const STARTED: &str = "started.json";

/// What to run and how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The program and its arguments. No shell, unless the caller names one.
    pub argv: Vec<String>,
    pub cwd: Utf8PathBuf,
    /// Added to the inherited environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Values for the environment that are never written to disk: the keeper gets them on its standard input.
    #[serde(skip)]
    pub secrets: BTreeMap<String, String>,
    /// Removed from the inherited environment.
    #[serde(default)]
    pub env_remove: Vec<String>,
    /// The file given as standard input; nothing (`/dev/null`) without it.
    #[serde(default)]
    pub stdin: Option<Utf8PathBuf>,
    /// Folders in whose file systems everything is synced before the outcome is written: one that says "done"
    /// must not outlive what was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synced: Vec<Utf8PathBuf>,
    /// The longest the child may run.
    #[serde(default)]
    pub wall_ms: Option<u64>,
    /// The longest the child may say nothing, compute nothing and change nothing.
    #[serde(default)]
    pub silence_ms: Option<u64>,
    /// The longest the child may take to say anything at all.
    #[serde(default)]
    pub startup_ms: Option<u64>,
    /// The folder in which a changed file is a sign of life.
    #[serde(default)]
    pub watched: Option<Utf8PathBuf>,
    /// How the tree is asked to end.
    #[serde(default)]
    pub stop_signal: StopSignal,
    /// The time between asking and insisting (KILL).
    pub grace_ms: u64,
    #[serde(default)]
    pub limits: Limits,
    /// What it may write; without one, all that its user may.
    #[serde(default)]
    pub fence: Option<Fence>,
    /// How many bytes of the output's beginning are kept.
    pub output_head: u64,
    /// At most this many bytes of its end are kept, and at least half of that.
    pub output_tail: u64,
}

/// How a tree of processes is asked to end. Which one makes it clean up differs from program to program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignal {
    #[default]
    Term,
    Int,
}

/// Bounds that the system itself enforces, on each process of the job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The most memory one process may fill, in bytes. What is only reserved does not count.
    pub memory: Option<u64>,
    /// The most processes that the user may have, of this job and all others.
    pub processes: Option<u64>,
}

impl Limits {
    /// Impose them on this process and all it starts. Lower limits that it already has stay.
    pub(super) fn impose(self) -> io::Result<()> {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        for (resource, limit) in [(Resource::Data, self.memory), (Resource::Nproc, self.processes)] {
            let Some(limit) = limit else { continue };
            let most = getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
        Ok(())
    }
}

impl JobSpec {
    /// A spec without limits: 5 s of grace, 8 MiB of each end of the output.
    pub fn new(argv: impl IntoIterator<Item = impl Into<String>>, cwd: impl Into<Utf8PathBuf>) -> JobSpec {
        JobSpec {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: cwd.into(),
            env: BTreeMap::new(),
            secrets: BTreeMap::new(),
            env_remove: Vec::new(),
            stdin: None,
            synced: Vec::new(),
            wall_ms: None,
            silence_ms: None,
            startup_ms: None,
            watched: None,
            stop_signal: StopSignal::Term,
            grace_ms: 5_000,
            limits: Limits::default(),
            fence: None,
            output_head: 8 * MIB,
            output_tail: 8 * MIB,
        }
    }

    /// The environment in the spec is written to disk, so no secret may be in it.
    fn with_secrets_apart(mut self) -> JobSpec {
        let all = std::mem::take(&mut self.env).into_iter();
        let (secrets, plain): (BTreeMap<_, _>, _) =
            all.partition(|(name, value)| redact::is_secret(name, value));
        self.env = plain;
        self.secrets.extend(secrets);
        self
    }
}

/// How a job ended. A limit or a stop counts as such whatever the child then exited with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ended {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    WallClock,
    Silence,
    /// It had not printed anything yet.
    Startup,
    Stopped,
    /// The keeper was lost, and the child with it: what it did is unknown.
    Died,
    /// The program never ran.
    NotStarted {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub ended: Ended,
    pub started_at_ms: i64,
    pub ended_at_ms: i64,
    /// Processor time of the child and its children, where the machine tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Everything the child wrote, kept or not.
    #[serde(default)]
    pub output_bytes: u64,
    /// The part of it that could not be written (a full disk), beyond what the caps left out.
    #[serde(default)]
    pub output_lost: u64,
    /// Processes other than the child itself that had to be ended.
    #[serde(default)]
    pub leftovers_killed: u32,
    /// Processes that could not be ended (another user's, or stuck in the kernel).
    #[serde(default)]
    pub survivors: u32,
    /// Why the disk may not have kept what the child wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_synced: Option<String>,
    /// Why it ran without its fence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfenced: Option<String>,
    /// Why its fence came without its read-only view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unviewed: Option<String>,
    /// What is known about a keeper that died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Outcome {
    /// By the clock that decisions go by.
    pub fn ended_at(&self) -> Timestamp {
        clock::noted_here(Timestamp(self.ended_at_ms))
    }
}

/// Written by the keeper before it starts the child: from here on the job is never started again.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub(super) at_ms: i64,
    pub(super) marker: String,
    pub(super) spec: JobSpec,
    /// The control group for its processes, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<Utf8PathBuf>,
}

/// What a keeper reads on its standard input when all is prepared.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Word {
    pub(super) spec: JobSpec,
    pub(super) secrets: BTreeMap<String, String>,
}

/// A keeper that has the lock of its job and waits for the word to begin. A keeper that is dropped without the word
/// ends and has begun nothing; so does a keeper whose engine is killed.
#[derive(Debug)]
pub struct Keeper {
    process: process::Child,
    word: Option<PipeWriter>,
}

impl Keeper {
    fn tell(&mut self, spec: JobSpec) {
        let mut spec = spec.with_secrets_apart();
        let word = Word { secrets: std::mem::take(&mut spec.secrets), spec };
        if let (Some(mut ear), Ok(mut line)) = (self.word.take(), serde_json::to_vec(&word)) {
            line.push(b'\n');
            // If the write fails, the keeper is gone already: how it ended says more.
            let _ = ear.write_all(&line);
        }
    }

    /// Wait for its end. Returns how it ended.
    fn end(&mut self) -> String {
        self.word = None;
        match self.process.wait() {
            Ok(status) => status.to_string(),
            // It was reaped elsewhere; the lock shows its end just as well.
            Err(error) => format!("unknown end: {error}"),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

/// A handle on a job's folder.
#[derive(Debug, Clone)]
pub struct Job {
    dir: Utf8PathBuf,
}

impl Job {
    pub fn at(dir: impl AsRef<Utf8Path>) -> Job {
        let dir = dir.as_ref();
        Job { dir: camino::absolute_utf8(dir).unwrap_or_else(|_| dir.to_owned()) }
    }

    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// Start the job unless it is started, wait for its end, and return the outcome. `keeper_program` is the
    /// command line in front of the folder, such as `[current_exe, "keeper"]`.
    ///
    /// Calling it again, or from several processes at once, adopts the running keeper or takes the outcome.
    /// A job that was started but has neither is [`Ended::Died`]: its remains are swept away first.
    pub fn run(&self, spec: &JobSpec, keeper_program: &[String]) -> Result<Outcome, KeeperError> {
        self.run_with(None, || Ok(spec.clone()), keeper_program)
    }

    /// The same for a job that needs preparation. It is prepared only if it has not begun, while its keeper starts, or
    /// with a keeper that was started ahead.
    pub fn run_with<E: From<KeeperError>>(
        &self,
        mut called: Option<Keeper>,
        prepare: impl FnOnce() -> Result<JobSpec, E>,
        keeper_program: &[String],
    ) -> Result<Outcome, E> {
        disk::private_folder(&self.dir).map_err(KeeperError::file("create", &self.dir))?;
        let mut prepare = Some(prepare);
        let mut last_keeper = None;
        loop {
            // A finished job needs no lock; a running one is waited for here.
            if let Some(outcome) = self.outcome()? {
                crash::point("job.outcome-seen");
                // Nothing is written here any more, except a request to stop that comes too late.
                disk::sweep(&self.dir);
                return Ok(outcome);
            }
            if let Some(mut keeper) = called.take()
                && let Some(prepare) = prepare.take()
            {
                let spec = prepare()?;
                crash::point("job.prepared");
                keeper.tell(spec);
                crash::point("job.told");
                last_keeper = Some(keeper.end());
                continue;
            }
            let lock = self.wait_for_lock()?;
            if self.outcome()?.is_some() {
                continue;
            }
            match self.started()? {
                None if prepare.is_some() => called = Some(self.call(lock, keeper_program)?),
                started => self.bury(&lock, started, last_keeper.as_deref())?,
            }
        }
    }

    /// Start a keeper for a job that will be run soon, so that the engine does not have to wait for it then. Also
    /// create the `files` that will be filled, since a busy file system takes longer to create a file than to fill it.
    /// `None` if the job has begun, or another process holds its lock.
    pub fn call_ahead(
        &self,
        keeper_program: &[String],
        files: &[&str],
    ) -> Result<Option<Keeper>, KeeperError> {
        disk::private_folder(&self.dir).map_err(KeeperError::file("create", &self.dir))?;
        let path = self.lock_path();
        let Some(lock) = Lock::try_take(&path).map_err(KeeperError::file("lock", &path))? else {
            return Ok(None);
        };
        if self.is_begun()? {
            return Ok(None);
        }
        let keeper = self.call(lock, keeper_program)?;
        for name in files.iter().chain([&STARTED]) {
            // If that fails, the process that writes to it reports it.
            let _ = File::options().create(true).append(true).open(self.dir.join(name));
        }
        Ok(Some(keeper))
    }

    /// End the job if it is under way. Afterwards it has an outcome, or was never begun and is not now.
    pub fn settle(&self) -> Result<(), KeeperError> {
        if self.outcome()?.is_none() {
            if Lock::is_held(&self.lock_path()) {
                self.request_stop().map_err(KeeperError::file("stop", &self.dir))?;
            } else if self.started()?.is_none() {
                return Ok(());
            }
            let lock = self.wait_for_lock()?;
            match self.started()? {
                Some(started) if self.outcome()?.is_none() => self.bury(&lock, Some(started), None)?,
                _ => {}
            }
        }
        // Its keeper may have been killed while it wrote.
        disk::sweep(&self.dir);
        Ok(())
    }

    /// Try once more to end processes that survived the end of the job. Returns how many are left.
    pub fn end_survivors(&self, outcome: &Outcome) -> Result<u32, KeeperError> {
        if outcome.survivors == 0 {
            return Ok(0);
        }
        let started = self.started()?;
        let marker = started.as_ref().map_or_else(|| self.marker(), |started| started.marker.clone());
        let mut left =
            Tree::marked(&marker, started.and_then(|started| started.group).map(|dir| Group::at(&dir)));
        let toll = left.sweep_again();
        if toll.survivors == 0 {
            left.disband();
        }
        Ok(toll.survivors)
    }

    /// The outcome, if the job has ended.
    pub fn outcome(&self) -> Result<Option<Outcome>, KeeperError> {
        self.read("outcome.json")
    }

    /// What its child was started with, if it was.
    pub fn spec(&self) -> Result<Option<JobSpec>, KeeperError> {
        Ok(self.started()?.map(|started| started.spec))
    }

    /// Whether its child was started, or it has ended without one.
    pub fn is_begun(&self) -> Result<bool, KeeperError> {
        Ok(self.started()?.is_some() || self.outcome()?.is_some())
    }

    /// Whether its keeper is at work now: its child, and what that started, may still change files.
    pub fn is_at_work(&self) -> Result<bool, KeeperError> {
        Ok(self.outcome()?.is_none() && Lock::is_held(&self.lock_path()))
    }

    /// Ask for the end of the job. The request is durable: a keeper that starts later sees it, too.
    pub fn request_stop(&self) -> io::Result<()> {
        disk::private_folder(&self.dir)?;
        disk::write(&self.dir.join("stop"), b"")
    }

    /// When its child was started; `None` if it was not yet.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.started_at_ms().map(|at| clock::noted_here(Timestamp(at)))
    }

    /// The same in milliseconds, by this machine's clock.
    pub fn started_at_ms(&self) -> Option<i64> {
        Some(self.started().ok()??.at_ms)
    }

    pub fn stop_requested(&self) -> bool {
        self.dir.join("stop").exists()
    }

    pub fn output(&self) -> Output {
        Output::new(self)
    }

    /// A new keeper, to which the lock is handed.
    fn call(&self, lock: Lock, keeper_program: &[String]) -> Result<Keeper, KeeperError> {
        let log_path = self.dir.join("keeper.log");
        let log = File::options()
            .create(true)
            .append(true)
            .open(&log_path)
            .map_err(KeeperError::file("open", &log_path))?;
        let (program, args) = keeper_program.split_first().ok_or(KeeperError::Arguments)?;
        let failed = |source| KeeperError::Spawn { program: program.clone(), source };
        let handed = lock.share().map_err(KeeperError::file("share", lock.path()))?;
        let (ear, word) = io::pipe().map_err(failed)?;
        let mut command = Command::new(program);
        command.args(args).arg(&self.dir).stdin(ear).stdout(handed).stderr(log);
        let process = command.spawn().map_err(failed)?;
        // From here the keeper alone holds the lock: it is free again exactly when the keeper is gone.
        drop(lock);
        crash::point("job.spawned");
        Ok(Keeper { process, word: Some(word) })
    }

    /// Close a job whose keeper is gone: nothing of it lives on, and the outcome says so.
    fn bury(
        &self,
        _lock: &Lock,
        started: Option<Started>,
        keeper_end: Option<&str>,
    ) -> Result<(), KeeperError> {
        let now = now_ms();
        let (started_at_ms, marker, group) = match started {
            Some(started) => (started.at_ms, started.marker, started.group),
            None => (now, self.marker(), None),
        };
        let mut left = Tree::marked(&marker, group.map(|dir| Group::at(&dir)));
        let toll = left.sweep();
        left.disband();
        let said = String::from_utf8_lossy(&fs::read(self.dir.join("keeper.log")).unwrap_or_default())
            .trim()
            .to_owned();
        let detail = [keeper_end.unwrap_or_default(), &said]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("; ");
        let outcome = Outcome {
            ended: Ended::Died,
            started_at_ms,
            ended_at_ms: now_ms(),
            cpu_ms: None,
            output_bytes: self.output().end().unwrap_or(0),
            output_lost: 0,
            leftovers_killed: toll.ended,
            survivors: toll.survivors,
            not_synced: None,
            unfenced: self.unfenced(),
            unviewed: self.unviewed(),
            detail: (!detail.is_empty()).then_some(detail),
        };
        self.conclude(&outcome)
    }

    fn wait_for_lock(&self) -> Result<Lock, KeeperError> {
        let path = self.lock_path();
        loop {
            match Lock::take(&path) {
                // A signal handler of the engine ran while we waited.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(KeeperError::file("lock", &path)),
            }
        }
    }

    pub(super) fn lock_path(&self) -> Utf8PathBuf {
        self.dir.join("lock")
    }

    /// The marker's value: the canonical path, so that two paths to the folder give one marker.
    pub(super) fn marker(&self) -> String {
        self.dir.canonicalize_utf8().unwrap_or_else(|_| self.dir.clone()).into_string()
    }

    /// What its keeper wrote about a fence that could not be put up.
    pub(super) fn unfenced(&self) -> Option<String> {
        fs::read_to_string(self.dir.join(UNFENCED)).ok()
    }

    /// What its keeper wrote about a view that could not be made.
    pub(super) fn unviewed(&self) -> Option<String> {
        fs::read_to_string(self.dir.join(UNVIEWED)).ok()
    }

    /// When it began, and with what; a torn file counts as absent.
    pub(super) fn started(&self) -> Result<Option<Started>, KeeperError> {
        match self.read(STARTED) {
            Err(KeeperError::Format { .. }) => Ok(None),
            read => read,
        }
    }

    /// Write the outcome of the job durably.
    pub(super) fn conclude(&self, outcome: &Outcome) -> Result<(), KeeperError> {
        let path = self.dir.join("outcome.json");
        disk::write(&path, &json(&path, outcome)?).map_err(KeeperError::file("write", &path))
    }

    /// Record that the job has begun. This is not synced, since a power cut ends its child, too. It is not atomic,
    /// since there is no child yet: a torn file counts as absent.
    pub(super) fn begin(&self, started: &Started) -> Result<(), KeeperError> {
        let path = self.dir.join(STARTED);
        disk::fill(&path, &json(&path, started)?).map_err(KeeperError::file("write", &path))
    }

    /// Record more about a job that has begun. The write is atomic, so the job never looks as if it had not begun.
    pub(super) fn amend(&self, started: &Started) -> Result<(), KeeperError> {
        let path = self.dir.join(STARTED);
        disk::replace(&path, &json(&path, started)?).map_err(KeeperError::file("write", &path))
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, KeeperError> {
        let path = self.dir.join(name);
        match fs::read(&path) {
            Ok(bytes) => std::str::from_utf8(&bytes)
                .map_err(serde::de::Error::custom)
                .and_then(serde_json::from_str)
                .map(Some)
                .map_err(|source| KeeperError::Format { path, source }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(KeeperError::file("read", &path)(error)),
        }
    }
}

fn json(path: &Utf8Path, value: &impl Serialize) -> Result<Vec<u8>, KeeperError> {
    let bytes = serde_json::to_vec_pretty(value);
    let mut bytes = bytes.map_err(|source| KeeperError::Format { path: path.to_owned(), source })?;
    bytes.push(b'\n');
    Ok(bytes)
}

pub(super) fn now_ms() -> i64 {
    clock::now().0
}
