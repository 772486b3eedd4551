//! The keeper itself: a small process with three threads, of which one thinks.

use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use piton_core::redact::Stream;
use rustix::process::setsid;

use super::cgroup::Group;
use super::job::{Started, now_ms};
use super::output::Log;
use super::pulse::Pulse;
use super::shim::EXEC_ERROR;
use super::tree::{Toll, Tree};
use super::{Ended, Job, JobSpec, KeeperError, MARKER, Outcome, StopSignal, processes};
use crate::lock::Lock;
use crate::{crash, disk, secrets};

/// How often a keeper looks for a wish to stop.
const GLANCE: Duration = Duration::from_millis(200);
/// A job that is over by then needs no control group.
const SETTLED: Duration = Duration::from_millis(20);
/// What a child left behind gets to end by itself, at most: nobody waits for its work.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
/// How long output may still trickle in once the tree is gone: a process outside may hold the pipe.
const DRAIN: Duration = Duration::from_secs(2);
/// How often, a second apart, an outcome is tried on a disk that refuses it. An hour's work hangs on it.
const OUTCOME_TRIES: u32 = 60;

/// Be the keeper of the job in `dir`: the main of `piton keeper DIR`, to be called from the main thread,
/// since the child dies with the thread that started it. `Ok` also if there is nothing (left) to do.
pub fn keep(dir: &Utf8Path) -> Result<(), KeeperError> {
    // No terminal can hang up or interrupt the job, and nothing of it can ask there and wait for ever. It fails for the
    // leader of a group, so whoever starts a keeper leaves it in theirs. A Ctrl-C in the instant before ends a keeper that
    // has begun nothing.
    let _ = setsid();
    let job = Job::at(dir);
    crash::point("keeper.before-lock");
    let Some(_held) = hold(&job)? else { return Ok(()) };
    crash::point("keeper.locked");
    // A job is started once; one that lost its keeper is for the engine to bury.
    if job.outcome()?.is_some() || job.was_started()? {
        return Ok(());
    }
    let spec_path = job.dir().join("spec.json");
    let spec =
        job.spec()?.ok_or_else(|| KeeperError::file("read", &spec_path)(io::ErrorKind::NotFound.into()))?;
    let mut outcome = if job.stop_requested() {
        not_run(Ended::Stopped)
    } else {
        let (marker, group) = (job.marker(), Group::make(&job.marker()));
        group.iter().for_each(|group| group.limit(spec.limits));
        let dir = group.as_ref().map(|group| group.dir().to_owned());
        job.write("started", &Started { at_ms: now_ms(), marker, group: dir })?;
        let outcome = supervise(&job, &spec, group.clone());
        group.iter().for_each(Group::remove);
        outcome.unwrap_or_else(|reason| not_run(Ended::NotStarted { reason }))
    };
    // Told, and not tried again: a second sync says nothing about what the first one lost.
    outcome.not_synced = disk::sync_file_systems(&spec.synced).err().map(|error| error.to_string());
    crash::point("keeper.before-outcome");
    let mut tries = 1;
    while let Err(error) = job.write("outcome.json", &outcome) {
        // A folder that was taken away does not come back by waiting.
        if tries == OUTCOME_TRIES || !dir.is_dir() {
            return Err(error);
        }
        tries += 1;
        thread::sleep(Duration::from_secs(1));
    }
    crash::point("keeper.after-outcome");
    Ok(())
}

/// A held lock: the engine's, inherited, or one of our own.
#[expect(dead_code, reason = "both are held for what their end does")]
enum Held {
    Inherited(File),
    Own(Lock),
}

/// The lock the engine handed over as standard input; without one (a keeper started by hand), our own try.
fn hold(job: &Job) -> Result<Option<Held>, KeeperError> {
    let path = job.lock_path();
    if let Ok(stdin) = io::stdin().as_fd().try_clone_to_owned() {
        let stdin = File::from(stdin);
        let same = match (stdin.metadata(), fs::metadata(&path)) {
            (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
            _ => false,
        };
        if same {
            // A lock belongs to the open file, so taking it again through an heir of it just succeeds.
            return Ok(stdin.try_lock().is_ok().then_some(Held::Inherited(stdin)));
        }
    }
    Ok(Lock::try_take(&path).map_err(KeeperError::file("lock", &path))?.map(Held::Own))
}

fn not_run(ended: Ended) -> Outcome {
    let now = now_ms();
    Outcome {
        ended,
        started_at_ms: now,
        ended_at_ms: now,
        output_bytes: 0,
        output_lost: 0,
        leftovers_killed: 0,
        survivors: 0,
        not_synced: None,
        unfenced: None,
        detail: None,
    }
}

enum Event {
    Ended(Ended),
    /// Nobody holds the output any more.
    Drained,
}

/// Start the child and see it through. The error is why it could not be started.
fn supervise(job: &Job, spec: &JobSpec, group: Option<Group>) -> Result<Outcome, String> {
    processes::adopt_orphans();
    let clock = Instant::now();
    let started_at_ms = now_ms();
    let log = Arc::new(Mutex::new(Log::new(job.dir(), spec.output_head, spec.output_tail)));
    let heard_ms = Arc::new(AtomicU64::new(0));
    let (tell, events) = mpsc::channel();

    // The threads come first: once there is a child, nothing may fail any more.
    let (pipe, writer) = io::pipe().map_err(|error| format!("cannot make a pipe: {error}"))?;
    let clean = secrets::of_environment(&spec.env).stream();
    let reader = Reader { pipe, clean, log: Arc::clone(&log), heard_ms: Arc::clone(&heard_ms), clock };
    let drained = tell.clone();
    small_thread("output", move || reader.run(&drained))?;
    let (send_child, child) = mpsc::channel();
    small_thread("reaper", move || {
        let Ok(child) = child.recv() else { return };
        processes::reap(child, |ended| {
            // The keeper may have stopped listening: it ended the child itself.
            let _ = tell.send(Event::Ended(ended));
        });
    })?;
    let child = spawn(job, spec, writer)?;
    crash::point("keeper.spawned");
    let _ = send_child.send(child);

    let mut tree = Tree::kept(&job.marker(), child, group);
    let pulse = Pulse::new(spec.watched.as_deref());
    let watch = Watch {
        job,
        spec,
        clock,
        heard_ms: &heard_ms,
        events: &events,
        pulse,
        gathered: false,
        felt_ms: 0,
        alive_ms: 0,
    };
    let (ended, mut drained) = watch.until_end(&mut tree);
    let grace = Duration::from_millis(spec.grace_ms);
    let toll: Toll = match ended {
        // Shells that were put into the background do not hear an INT.
        Ended::Exited { .. } | Ended::Signalled { .. } => {
            tree.end(StopSignal::Term, grace.min(LEFTOVER_GRACE))
        }
        _ => tree.end(spec.stop_signal, grace),
    };
    let deadline = Instant::now() + DRAIN;
    while !drained {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Drained) => drained = true,
            Ok(Event::Ended(_)) => {}
            Err(_) => break,
        }
    }
    let (output_bytes, output_lost) = locked(&log).close();
    let complaint = job.dir().join(EXEC_ERROR);
    let ended = match (ended, fs::read_to_string(&complaint)) {
        (Ended::Exited { .. }, Ok(reason)) if !reason.is_empty() => Ended::NotStarted { reason },
        (ended, found) => {
            // Opened ahead by a child behind a fence, and not needed.
            let _ = found.map(|_| fs::remove_file(complaint));
            ended
        }
    };
    Ok(Outcome {
        ended,
        started_at_ms,
        ended_at_ms: now_ms(),
        output_bytes,
        output_lost,
        leftovers_killed: toll.ended,
        survivors: toll.survivors,
        not_synced: None,
        unfenced: job.unfenced(),
        detail: None,
    })
}

fn spawn(job: &Job, spec: &JobSpec, output: PipeWriter) -> Result<i32, String> {
    // Checked apart, since a missing folder and a missing program give the same error.
    if !spec.cwd.is_dir() {
        return Err(format!("the working folder {} does not exist", spec.cwd));
    }
    let stdin = match &spec.stdin {
        Some(path) => File::open(path).map_err(|error| format!("cannot open {path}: {error}"))?.into(),
        None => Stdio::null(),
    };
    let errors = output.try_clone().map_err(|error| format!("cannot make a pipe: {error}"))?;
    let mut command = command(spec)?;
    command.current_dir(&spec.cwd).stdin(stdin).stdout(output).stderr(errors).process_group(0);
    for name in &spec.env_remove {
        command.env_remove(name);
    }
    command.envs(&spec.env).env(MARKER, job.marker());
    // The handle goes: the reaper waits for the child. With the command, our ends of the pipe close.
    let child = command.spawn().map_err(|error| format!("cannot start {}: {error}", spec.argv[0]))?;
    Ok(i32::try_from(child.id()).expect("a pid is a positive i32"))
}

/// The command line: through the shim on Linux, where a child can be bound to its keeper's life.
fn command(spec: &JobSpec) -> Result<Command, String> {
    let (program, args) = spec.argv.split_first().ok_or("no program was named")?;
    if cfg!(target_os = "linux") {
        // This very program, even if its file was replaced since.
        let mut command = Command::new("/proc/self/exe");
        command.arg0("piton").args(["keeper", "--exec", &std::process::id().to_string(), "--", program]);
        command.args(args);
        Ok(command)
    } else {
        let mut command = Command::new(program);
        command.args(args);
        Ok(command)
    }
}

/// What the main thread waits for.
struct Watch<'a> {
    job: &'a Job,
    spec: &'a JobSpec,
    clock: Instant,
    heard_ms: &'a AtomicU64,
    events: &'a Receiver<Event>,
    pulse: Pulse,
    /// Whether it was put into its control group.
    gathered: bool,
    /// When its pulse was felt last, and when it last beat.
    felt_ms: u64,
    alive_ms: u64,
}

impl Watch<'_> {
    /// Wait until the child ends, or has to; also tells whether its output is drained already.
    fn until_end(mut self, tree: &mut Tree) -> (Ended, bool) {
        let mut drained = false;
        loop {
            let (limit, left) = self.next_limit();
            if left.is_zero() {
                return (limit, drained);
            }
            let glance = if self.gathered { GLANCE } else { SETTLED };
            match self.events.recv_timeout(left.min(glance)) {
                Ok(Event::Ended(ended)) => return (ended, drained),
                Ok(Event::Drained) => drained = true,
                Err(RecvTimeoutError::Timeout) if self.job.stop_requested() => {
                    return (Ended::Stopped, drained);
                }
                Err(RecvTimeoutError::Timeout) if !self.gathered => {
                    tree.gather();
                    self.gathered = true;
                }
                Err(RecvTimeoutError::Timeout) => self.feel_pulse(tree),
                // Both threads are gone, and neither said how the child ended.
                Err(RecvTimeoutError::Disconnected) => return (Ended::Died, drained),
            }
        }
    }

    /// A job with a limit on silence that has been silent for a part of it may still be at work.
    fn feel_pulse(&mut self, tree: &mut Tree) {
        let Some(silence) = self.spec.silence_ms else { return };
        let now = millis(self.clock.elapsed());
        // An eighth: the limit is kept to within that much, and a look costs next to nothing.
        let step = silence / 8;
        let last = self.felt_ms.max(self.heard_ms.load(Ordering::Relaxed));
        if now.saturating_sub(last) < step {
            return;
        }
        if self.pulse.beats(tree, Duration::from_millis(now - self.felt_ms)) {
            self.alive_ms = now;
        }
        self.felt_ms = now;
    }

    /// The limit that is reached first, and how far it is.
    fn next_limit(&self) -> (Ended, Duration) {
        let now = self.clock.elapsed();
        let left = |limit: Option<u64>, since: u64| {
            limit.map_or(Duration::MAX, |ms| {
                Duration::from_millis(since.saturating_add(ms)).saturating_sub(now)
            })
        };
        let heard = self.heard_ms.load(Ordering::Relaxed);
        let wall = left(self.spec.wall_ms, 0);
        let silence = left(self.spec.silence_ms, heard.max(self.alive_ms));
        let startup = left(self.spec.startup_ms.filter(|_| heard == 0), 0);
        let all = [(Ended::WallClock, wall), (Ended::Silence, silence), (Ended::Startup, startup)];
        all.into_iter().min_by_key(|(_, left)| *left).unwrap_or((Ended::WallClock, wall))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The thread that takes the output.
struct Reader {
    pipe: PipeReader,
    /// No secret gets to the disk.
    clean: Stream,
    log: Arc<Mutex<Log>>,
    heard_ms: Arc<AtomicU64>,
    clock: Instant,
}

impl Reader {
    fn run(mut self, tell: &Sender<Event>) {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match self.pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    // Never 0, which is the time of a child that has said nothing yet.
                    self.heard_ms.store(millis(self.clock.elapsed()).max(1), Ordering::Relaxed);
                    locked(&self.log).append(&self.clean.push(&buffer[..read]));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        locked(&self.log).append(&self.clean.finish());
        let _ = tell.send(Event::Drained);
    }
}

fn locked(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Many keepers run at once and their threads do little: a small stack will do.
fn small_thread(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let builder = thread::Builder::new().name(name.to_owned()).stack_size(128 * 1024);
    builder.spawn(run).map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(())
}
