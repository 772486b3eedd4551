//! The keeper itself: a small process with three threads, of which the main one decides.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::setsid;

use super::cgroup::Group;
use super::child::Child;
use super::job::{Started, Word, now_ms};
use super::output::Log;
use super::pulse::Pulse;
use super::tree::{Toll, Tree};
use super::{Ended, Job, JobSpec, KeeperError, Outcome, StopSignal, processes};
use crate::{crash, disk, secrets};

/// How often a keeper looks for a request to stop.
const GLANCE: Duration = Duration::from_millis(200);
/// A job that is over by then needs no control group, which takes long to make.
const SETTLED: Duration = Duration::from_millis(20);
/// The longest that processes which a child left behind get to end by themselves: their work is not needed.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
/// How long output may still trickle in once the tree is gone: a process outside may hold the pipe.
const DRAIN: Duration = Duration::from_secs(2);
/// How often, a second apart, a keeper tries to write an outcome to a disk that refuses it. An hour's work may depend
/// on it.
const OUTCOME_TRIES: u32 = 60;

/// Be the keeper of the job in `dir`: the main of `piton keeper DIR`. `Ok` also if there is nothing (left) to do.
pub fn keep(dir: &Utf8Path) -> Result<(), KeeperError> {
    // No terminal can hang up or interrupt the job, and nothing of it can ask there and wait for ever. It fails for the
    // leader of a group, so a keeper stays in the group of the process that starts it. A Ctrl-C in the instant before
    // ends a keeper that has begun nothing.
    let _ = setsid();
    default_signals();
    let job = Job::at(dir);
    crash::point("keeper.before-lock");
    let Some(_lock) = inherited_lock(&job) else { return Ok(()) };
    crash::point("keeper.locked");
    // A job is started once; one that lost its keeper is for the engine to bury.
    if job.is_begun()? {
        return Ok(());
    }
    let marker = job.marker();
    let hands = Hands::hire();
    if !hears_something(&job)? {
        // It was stopped before the engine's word: then it is over, whatever the word would have been.
        return job.conclude(&not_run(Ended::Stopped));
    }
    let Some(Word { mut spec, secrets }) = hear()? else { return Ok(()) };
    let mut outcome = if job.stop_requested() {
        not_run(Ended::Stopped)
    } else {
        let started = Started { at_ms: now_ms(), marker, spec: spec.clone(), group: None };
        job.begin(&started)?;
        spec.secrets = secrets;
        let kept = hands.and_then(|hands| supervise(&job, &spec, started, &hands));
        kept.unwrap_or_else(|reason| not_run(Ended::NotStarted { reason }))
    };
    // Reported, and not tried again: a second sync says nothing about what the first one lost.
    outcome.not_synced = disk::sync_file_systems(&spec.synced).err().map(|error| error.to_string());
    crash::point("keeper.before-outcome");
    let mut tries = 1;
    while let Err(error) = job.conclude(&outcome) {
        // Waiting does not help if the folder was removed.
        if tries == OUTCOME_TRIES || !dir.is_dir() {
            return Err(error);
        }
        tries += 1;
        thread::sleep(Duration::from_secs(1));
    }
    crash::point("keeper.after-outcome");
    Ok(())
}

/// Signals that the process that started Piton ignores (a shell's `&` does so with SIGINT) would be ignored by the child
/// too. One that is caught falls back to its default with the exec, so the keeper catches each, and does then what is the
/// default.
fn default_signals() {
    use signal_hook::consts::{
        SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2,
    };
    let always = Arc::new(AtomicBool::new(true));
    for signal in
        [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2]
    {
        // A signal that cannot be caught has its default.
        let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&always));
    }
}

/// The lock the engine handed over as standard output. Without it, this keeper was not started by an engine.
fn inherited_lock(job: &Job) -> Option<File> {
    let handed = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
    let (handed_is, lock_is) = (handed.metadata().ok()?, fs::metadata(job.lock_path()).ok()?);
    let same = (handed_is.dev(), handed_is.ino()) == (lock_is.dev(), lock_is.ino());
    // A lock belongs to the open file, so taking it again through an inherited handle succeeds.
    (same && handed.try_lock().is_ok()).then_some(handed)
}

/// Wait until the engine writes something, or is gone. `false` if the job was asked to stop meanwhile.
fn hears_something(job: &Job) -> Result<bool, KeeperError> {
    let glance = Timespec::try_from(GLANCE).ok();
    loop {
        match poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], glance.as_ref()) {
            Ok(0) if job.stop_requested() => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => {
                return Err(KeeperError::file("wait for", Utf8Path::new("the standard input"))(error.into()));
            }
        }
    }
}

/// The engine's word that all is prepared. `None` if the engine is gone, or has cancelled the job.
fn hear() -> Result<Option<Word>, KeeperError> {
    let mut line = String::new();
    io::stdin()
        .read_line(&mut line)
        .map_err(KeeperError::file("read", Utf8Path::new("the standard input")))?;
    // A line that was cut off does not count.
    Ok(serde_json::from_str(&line).ok())
}

fn not_run(ended: Ended) -> Outcome {
    let now = now_ms();
    Outcome {
        ended,
        started_at_ms: now,
        ended_at_ms: now,
        cpu_ms: None,
        output_bytes: 0,
        output_lost: 0,
        leftovers_killed: 0,
        survivors: 0,
        not_synced: None,
        unfenced: None,
        unviewed: None,
        detail: None,
    }
}

enum Event {
    Ended(Ended),
    /// No process holds the output any more.
    Drained,
}

/// The threads beside the main one. They are started before the engine's word, since otherwise the child would have to
/// wait for them.
struct Hands {
    child: Sender<Child>,
    started: Receiver<Result<i32, String>>,
    output: Sender<Reader>,
    events: Receiver<Event>,
    /// Whether there is no child any more, also none that was adopted.
    childless: Arc<AtomicBool>,
}

impl Hands {
    fn hire() -> Result<Hands, String> {
        let (tell, events) = mpsc::channel();
        let (child, to_start) = mpsc::channel::<Child>();
        let (output, to_read) = mpsc::channel::<Reader>();
        let (tell_start, started) = mpsc::channel();
        let drained = tell.clone();
        let childless = Arc::new(AtomicBool::new(false));
        let gone = Arc::clone(&childless);
        small_thread("output", move || {
            if let Ok(reader) = to_read.recv() {
                reader.run(&drained);
            }
        })?;
        small_thread("reaper", move || {
            let Ok(child) = to_start.recv() else { return };
            let child = child.start();
            let _ = tell_start.send(child.clone());
            // Its life is the child's, which would die with it.
            let Ok(child) = child else { return };
            processes::reap(child, |ended| {
                // The keeper may have stopped listening: it ended the child itself.
                let _ = tell.send(Event::Ended(ended));
            });
            gone.store(true, Ordering::Release);
        })?;
        Ok(Hands { child, started, output, events, childless })
    }

    /// Start the child, and read its output. Returns its pid.
    fn start(&self, child: Child, reader: Reader) -> Result<i32, String> {
        let lost = "the thread that starts it was lost";
        self.child.send(child).map_err(|_| lost)?;
        let child = self.started.recv().map_err(|_| lost)??;
        // Sent only now, since it takes a while to collect the secrets that the output must not hold. That thread waits
        // for nothing else.
        let _ = self.output.send(reader);
        Ok(child)
    }
}

/// Start the child and watch it until its end. The error is why it could not be started.
fn supervise(job: &Job, spec: &JobSpec, started: Started, hands: &Hands) -> Result<Outcome, String> {
    processes::adopt_orphans();
    let clock = Instant::now();
    let started_at_ms = started.at_ms;
    let log = Arc::new(Mutex::new(Log::new(job.dir(), spec.output_head, spec.output_tail)));
    let heard_ms = Arc::new(AtomicU64::new(0));
    // Once there is a child, nothing may fail any more.
    let (pipe, writer) = io::pipe().map_err(|error| format!("cannot make a pipe: {error}"))?;
    let env = spec.env.clone().into_iter().chain(spec.secrets.clone()).collect();
    let reader = Reader { pipe, env, log: Arc::clone(&log), heard_ms: Arc::clone(&heard_ms), clock };
    let child = hands.start(Child::new(job, &started.marker, spec, writer)?, reader)?;
    crash::point("keeper.spawned");

    let mut tree = Tree::kept(&started.marker, child, Arc::clone(&hands.childless));
    let pulse = Pulse::new(spec.watched.as_deref());
    let watch = Watch {
        job,
        spec,
        started,
        clock,
        heard_ms: &heard_ms,
        events: &hands.events,
        pulse,
        gathered: false,
        felt_ms: 0,
        alive_ms: 0,
    };
    let (ended, mut drained) = watch.until_end(&mut tree);
    let grace = Duration::from_millis(spec.grace_ms);
    let toll: Toll = match ended {
        // Shells in the background ignore INT.
        Ended::Exited { .. } | Ended::Signalled { .. } => {
            tree.end(StopSignal::Term, grace.min(LEFTOVER_GRACE))
        }
        _ => tree.end(spec.stop_signal, grace),
    };
    tree.disband();
    let deadline = Instant::now() + DRAIN;
    while !drained {
        match hands.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Drained) => drained = true,
            Ok(Event::Ended(_)) => {}
            Err(_) => break,
        }
    }
    let (output_bytes, output_lost) = locked(&log).close();
    Ok(Outcome {
        ended,
        started_at_ms,
        ended_at_ms: now_ms(),
        cpu_ms: children_cpu_ms(),
        output_bytes,
        output_lost,
        leftovers_killed: toll.ended,
        survivors: toll.survivors,
        not_synced: None,
        unfenced: job.unfenced(),
        unviewed: job.unviewed(),
        detail: None,
    })
}

/// Processor time of all children that have ended, and of theirs. Only Linux tells it in a file.
fn children_cpu_ms() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may have spaces and parentheses in it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(13);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1))
}

/// What the main thread waits for.
struct Watch<'a> {
    job: &'a Job,
    spec: &'a JobSpec,
    started: Started,
    clock: Instant,
    heard_ms: &'a AtomicU64,
    events: &'a Receiver<Event>,
    pulse: Pulse,
    /// Whether it was put into its control group.
    gathered: bool,
    /// When its signs of life were last looked for, and when there was last one.
    felt_ms: u64,
    alive_ms: u64,
}

impl Watch<'_> {
    /// Wait until the child ends, or has to. Also returns whether its output is drained already.
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
                Err(RecvTimeoutError::Timeout) if !self.gathered => self.gather(tree),
                Err(RecvTimeoutError::Timeout) => self.feel_pulse(tree),
                // Both threads are gone, and neither said how the child ended.
                Err(RecvTimeoutError::Disconnected) => return (Ended::Died, drained),
            }
        }
    }

    /// Put it into a control group, if one can be made. The group is recorded first, so that the process that cleans up
    /// finds it.
    fn gather(&mut self, tree: &mut Tree) {
        self.gathered = true;
        let Some(group) = Group::make(&self.started.marker) else { return };
        group.limit(self.spec.limits);
        self.started.group = Some(group.dir().to_owned());
        match self.job.amend(&self.started) {
            Ok(()) => tree.gather(group),
            Err(_) => group.remove(),
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
    /// What the child gets besides what it inherits.
    env: BTreeMap<String, String>,
    log: Arc<Mutex<Log>>,
    heard_ms: Arc<AtomicU64>,
    clock: Instant,
}

impl Reader {
    /// No secret gets to the disk.
    fn run(mut self, tell: &Sender<Event>) {
        let mut clean = secrets::of_environment(&self.env).stream();
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match self.pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    // Never 0, which means that the child has printed nothing yet.
                    self.heard_ms.store(millis(self.clock.elapsed()).max(1), Ordering::Relaxed);
                    locked(&self.log).append(&clean.push(&buffer[..read]));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        locked(&self.log).append(&clean.finish());
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
