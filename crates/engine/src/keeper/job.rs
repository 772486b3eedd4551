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
use super::child::UNFENCED;
use super::fence::Fence;
use super::tree::Tree;
use super::{KeeperError, Output};
use crate::lock::Lock;
use crate::{clock, crash, disk};

const MIB: u64 = 1024 * 1024;

/// What to run and how long. Written once; the spec on disk wins over a later one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The program and its arguments. No shell, unless the caller names one.
    pub argv: Vec<String>,
    pub cwd: Utf8PathBuf,
    /// Added to the inherited environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Values for the environment that are written nowhere: the keeper is told them.
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
    /// Impose them on this process and all it starts. Lower ones that hold already stay.
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

    /// What it says of its environment is written down, so no secret may be in there.
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
    /// It had not said anything yet.
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
    /// Why it ran without the fence it was to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfenced: Option<String>,
    /// What is known about a keeper that died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Outcome {
    pub fn ended_at(&self) -> Timestamp {
        Timestamp(self.ended_at_ms)
    }
}

/// Written by the keeper before it starts the child: from here on the job is never started again.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub(super) at_ms: i64,
    pub(super) marker: String,
    /// The control group for its processes, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<Utf8PathBuf>,
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

    /// Start the job unless somebody did, wait for its end, and return the outcome. `keeper_program` is the
    /// command line in front of the folder, such as `[current_exe, "keeper"]`.
    ///
    /// Calling it again, or from several processes at once, adopts the running keeper or takes the outcome.
    /// A job that was started but has neither is [`Ended::Died`]: its remains are swept away first.
    pub fn run(&self, spec: &JobSpec, keeper_program: &[String]) -> Result<Outcome, KeeperError> {
        self.run_with(|| Ok(spec.clone()), keeper_program)
    }

    /// The same for a job that takes some preparing, which is done only if it has not begun, and while its keeper starts.
    pub fn run_with<E: From<KeeperError>>(
        &self,
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
                // Nothing is written here any more, except a wish to stop that comes too late.
                disk::sweep(&self.dir);
                return Ok(outcome);
            }
            let lock = self.wait_for_lock()?;
            if self.outcome()?.is_some() {
                continue;
            }
            let started = self.started()?;
            match prepare.take().filter(|_| started.is_none()) {
                Some(prepare) => last_keeper = Some(self.keeper_lifetime(lock, prepare, keeper_program)?),
                None => self.bury(&lock, started, last_keeper.as_deref())?,
            }
        }
    }

    /// The outcome, if the job has ended.
    pub fn outcome(&self) -> Result<Option<Outcome>, KeeperError> {
        self.read("outcome.json")
    }

    /// The spec, if the job was ever run.
    pub fn spec(&self) -> Result<Option<JobSpec>, KeeperError> {
        self.noted("spec.json")
    }

    /// Whether its child was started, or it has ended without one.
    pub fn is_begun(&self) -> Result<bool, KeeperError> {
        Ok(self.started()?.is_some() || self.outcome()?.is_some())
    }

    /// Ask for the end of the job. The wish is durable: a keeper that comes later sees it too.
    pub fn request_stop(&self) -> io::Result<()> {
        disk::private_folder(&self.dir)?;
        disk::write(&self.dir.join("stop"), b"")
    }

    /// When its child was started, in milliseconds; `None` if it was not yet.
    pub fn started_at_ms(&self) -> Option<i64> {
        Some(self.started().ok()??.at_ms)
    }

    pub fn stop_requested(&self) -> bool {
        self.dir.join("stop").exists()
    }

    pub fn output(&self) -> Output {
        Output::of(self)
    }

    /// Hand the lock to a new keeper, tell it to begin once all is prepared, and wait for its end; returns how it ended.
    fn keeper_lifetime<E: From<KeeperError>>(
        &self,
        lock: Lock,
        prepare: impl FnOnce() -> Result<JobSpec, E>,
        keeper_program: &[String],
    ) -> Result<String, E> {
        let (mut keeper, mut word) = self.call_keeper(lock, keeper_program)?;
        crash::point("job.spawned");
        let told = prepare().and_then(|spec| {
            let spec = spec.with_secrets_apart();
            if self.spec()?.is_none() {
                self.note("spec.json", &spec)?;
            }
            crash::point("job.spec-written");
            Ok(format!("{}\n", serde_json::json!(spec.secrets)))
        });
        if let Ok(secrets) = &told {
            // One that cannot be told is gone already: how it ended says more.
            let _ = word.write_all(secrets.as_bytes());
        }
        // One that is not told ends and has begun nothing, also where it is not told because this process was killed.
        drop(word);
        crash::point("job.told");
        let ended = match keeper.wait() {
            Ok(status) => status.to_string(),
            // Somebody else reaped it; the lock tells its end just as well.
            Err(error) => format!("unknown end: {error}"),
        };
        told.map(|_| ended)
    }

    /// A new keeper with the lock, and the pipe on which it is told to begin.
    fn call_keeper(
        &self,
        lock: Lock,
        keeper_program: &[String],
    ) -> Result<(process::Child, PipeWriter), KeeperError> {
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
        let keeper = command.spawn().map_err(failed)?;
        // From here the keeper alone holds the lock: it is free again exactly when the keeper is gone.
        drop(lock);
        Ok((keeper, word))
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
            output_bytes: self.output().end().unwrap_or(0),
            output_lost: 0,
            leftovers_killed: toll.ended,
            survivors: toll.survivors,
            not_synced: None,
            unfenced: self.unfenced(),
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

    /// The marker's value: canonical, so that two ways to the folder give one marker.
    pub(super) fn marker(&self) -> String {
        self.dir.canonicalize_utf8().unwrap_or_else(|_| self.dir.clone()).into_string()
    }

    /// What its keeper wrote about a fence that could not be put up.
    pub(super) fn unfenced(&self) -> Option<String> {
        fs::read_to_string(self.dir.join(UNFENCED)).ok()
    }

    pub(super) fn started(&self) -> Result<Option<Started>, KeeperError> {
        self.noted("started")
    }

    /// The end of the job, kept from here on whatever happens.
    pub(super) fn conclude(&self, outcome: &Outcome) -> Result<(), KeeperError> {
        let path = self.dir.join("outcome.json");
        disk::write(&path, &json(&path, outcome)?).map_err(KeeperError::file("write", &path))
    }

    /// Of a job that is under way. With the power goes its child, so nothing is waited for until it is on the disk.
    pub(super) fn note(&self, name: &str, value: &impl Serialize) -> Result<(), KeeperError> {
        let path = self.dir.join(name);
        disk::replace(&path, &json(&path, value)?).map_err(KeeperError::file("write", &path))
    }

    /// What was noted; nothing if only a power cut can have left it like this.
    fn noted<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, KeeperError> {
        match self.read(name) {
            Err(KeeperError::Format { .. }) => Ok(None),
            read => read,
        }
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, KeeperError> {
        let path = self.dir.join(name);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
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
