//! Keepers with real processes. Nothing here sleeps to synchronise: children report through FIFOs, and the
//! end of a process is seen as the end of the FIFO it held.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(target_os = "linux")]
mod daemons;
mod fenced;
#[cfg(target_os = "linux")]
mod views;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use piton_engine::keeper::{Ended, Job, JobSpec, KeeperError, Outcome, Whole};
use piton_engine::lock::Lock;
use piton_testkit::skipped;
use rustix::process::{Pid, Signal, kill_process};

/// Far beyond what anything here takes: only a bug gets there.
const FOREVER: Duration = Duration::from_secs(60);

/// A folder with one job, and a folder for its child to work in.
struct Bench {
    _temp: tempfile::TempDir,
    root: Utf8PathBuf,
    job: Job,
}

impl Bench {
    fn new() -> Bench {
        let temp = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(temp.path()).unwrap().canonicalize_utf8().unwrap();
        fs::create_dir(root.join("work")).unwrap();
        let job = Job::at(root.join("job"));
        Bench { _temp: temp, root, job }
    }

    fn work(&self, name: &str) -> Utf8PathBuf {
        self.root.join("work").join(name)
    }

    fn sh(&self, script: &str) -> JobSpec {
        JobSpec { grace_ms: 300, ..JobSpec::new(["sh", "-c", script], self.root.join("work")) }
    }

    /// A script that counts its starts, then goes on.
    fn counting(&self, script: &str) -> JobSpec {
        self.sh(&format!("echo start >> starts; {script}"))
    }

    fn starts(&self) -> usize {
        fs::read_to_string(self.work("starts")).unwrap_or_default().lines().count()
    }

    fn run(&self, spec: &JobSpec) -> Outcome {
        self.job.run(spec, &keeper()).unwrap()
    }

    fn run_sh(&self, script: &str) -> Outcome {
        self.run(&self.sh(script))
    }

    fn run_aside(&self, spec: &JobSpec) -> JoinHandle<Outcome> {
        let (job, spec) = (self.job.clone(), spec.clone());
        thread::spawn(move || job.run(&spec, &keeper()).unwrap())
    }

    /// An engine of its own, to be killed or crashed.
    fn engine(&self, spec: &JobSpec) -> Command {
        let mut command = Command::new(jobs());
        command.args(["run", self.job.dir().as_str(), &serde_json::to_string(spec).unwrap()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    fn line(&self, name: &str) -> Lifeline {
        Lifeline::new(&self.work(name))
    }

    fn text(&self) -> String {
        String::from_utf8(self.job.output().read_all().unwrap().head).unwrap()
    }
}

/// The reading end of a FIFO: what its writers say, and that all of them are gone.
struct Lifeline {
    heard: Receiver<String>,
}

impl Lifeline {
    fn new(path: &Utf8Path) -> Lifeline {
        fifo(path);
        let (tell, heard) = mpsc::channel();
        let path = path.to_owned();
        thread::spawn(move || {
            for line in BufReader::new(File::open(path).unwrap()).lines() {
                tell.send(line.unwrap()).ok();
            }
        });
        Lifeline { heard }
    }

    fn hear(&self) -> String {
        self.heard.recv_timeout(FOREVER).expect("the child should report")
    }

    /// Wait until the other end is closed.
    fn hear_end(&self) {
        assert_eq!(self.heard.recv_timeout(FOREVER), Err(mpsc::RecvTimeoutError::Disconnected));
    }
}

fn fifo(path: &Utf8Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn jobs() -> Utf8PathBuf {
    // target/debug/deps/keeper-… → target/debug/examples/jobs
    let own = Utf8PathBuf::from_path_buf(std::env::current_exe().unwrap()).unwrap();
    let path = own.parent().unwrap().parent().unwrap().join("examples/jobs");
    assert!(path.exists(), "{path} is missing: cargo build -p piton-engine --example jobs");
    path
}

fn keeper() -> Vec<String> {
    vec![jobs().into_string(), "keeper".to_owned()]
}

fn crashing_keeper(point: &str) -> Vec<String> {
    let mut program = vec!["env".to_owned(), format!("PITON_CRASH={point}")];
    program.extend(keeper());
    program
}

fn outcome_of(engine: Child) -> Outcome {
    serde_json::from_slice(&engine.wait_with_output().unwrap().stdout).unwrap()
}

fn kill(pid: &str) {
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
}

fn reason(outcome: &Outcome) -> &str {
    match &outcome.ended {
        Ended::NotStarted { reason } => reason,
        other => panic!("started, and {other:?}"),
    }
}

#[test]
fn an_exit_code_and_both_streams_in_order() {
    let bench = Bench::new();
    let spec = bench.counting("echo out; echo err >&2; echo out again; exit 7");
    let outcome = bench.run(&spec);
    assert_eq!(outcome.ended, Ended::Exited { code: 7 });
    assert_eq!(bench.text(), "out\nerr\nout again\n");
    assert_eq!(outcome.output_bytes, 18);
    assert!(outcome.started_at_ms > 0 && outcome.ended_at_ms >= outcome.started_at_ms);
    assert_eq!(outcome.leftovers_killed, 0);
    // Asked again, even for something else, it is the same job.
    assert_eq!(bench.run_sh("exit 8"), outcome);
    assert_eq!(bench.job.outcome().unwrap(), Some(outcome));
    assert_eq!(bench.starts(), 1);
}

#[test]
fn a_signal() {
    let outcome = Bench::new().run_sh("kill -9 $$");
    assert_eq!(outcome.ended, Ended::Signalled { signal: 9 });
}

#[test]
fn what_cannot_start_says_why() {
    let bench = Bench::new();
    let outcome = bench.run(&JobSpec::new(["no-such-program", "x"], &bench.root));
    assert!(reason(&outcome).starts_with("cannot run no-such-program: No such file"), "{outcome:?}");

    let bench = Bench::new();
    fs::write(bench.work("plain"), "#!/bin/sh\n").unwrap();
    let outcome = bench.run(&JobSpec::new(["./plain"], bench.root.join("work")));
    assert!(reason(&outcome).starts_with("cannot run ./plain: Permission denied"), "{outcome:?}");

    let bench = Bench::new();
    let outcome = bench.run(&JobSpec::new(["true"], "/no/such/folder"));
    assert_eq!(reason(&outcome), "the working folder /no/such/folder does not exist");

    let bench = Bench::new();
    let outcome = bench.run(&JobSpec { stdin: Some("/no/prompt".into()), ..bench.sh("cat") });
    assert!(reason(&outcome).starts_with("cannot open /no/prompt: "), "{outcome:?}");

    let bench = Bench::new();
    let outcome = bench.run(&JobSpec::new(Vec::<String>::new(), &bench.root));
    assert_eq!(reason(&outcome), "no program was named");

    // Without a keeper nothing is decided: the job can be run later.
    let bench = Bench::new();
    let error = bench.job.run(&bench.sh("true"), &["/no/keeper".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "cannot start the keeper /no/keeper");
    assert_eq!(bench.run_sh("true").ended, Ended::Exited { code: 0 });
}

/// What is written of a job under way is not synced: the child goes with the power.
#[test]
fn what_a_power_cut_tore_counts_for_nothing() {
    let bench = Bench::new();
    fs::create_dir_all(bench.job.dir()).unwrap();
    fs::write(bench.job.dir().join("started.json"), "").unwrap();
    let outcome = bench.run(&bench.sh("echo here"));
    assert_eq!((outcome.ended, bench.text().as_str()), (Ended::Exited { code: 0 }, "here\n"));
}

#[test]
fn standard_input_is_the_file_or_nothing() {
    let bench = Bench::new();
    fs::write(bench.work("prompt"), "do it\n").unwrap();
    bench.run(&JobSpec { stdin: Some(bench.work("prompt")), ..bench.sh("cat") });
    assert_eq!(bench.text(), "do it\n");

    let bench = Bench::new();
    assert_eq!(bench.run_sh("cat").ended, Ended::Exited { code: 0 });
    assert_eq!(bench.text(), "");
}

#[test]
fn the_environment_is_inherited_changed_and_marked() {
    let bench = Bench::new();
    let mut spec = bench.sh("echo \"${CARGO_MANIFEST_DIR-gone} ${PATH:+path} $ADDED $PITON_JOB\"");
    spec.env.insert("ADDED".to_owned(), "a b".to_owned());
    spec.env_remove.push("CARGO_MANIFEST_DIR".to_owned());
    bench.run(&spec);
    assert_eq!(bench.text(), format!("gone path a b {}\n", bench.job.dir()));
}

#[cfg(target_os = "linux")]
#[test]
fn no_descriptor_of_the_keeper_reaches_the_child() {
    // A leaked lock would keep the job alive as long as the child's last daemon.
    let bench = Bench::new();
    bench.run_sh("for fd in /proc/self/fd/*; do readlink $fd; done");
    assert!(bench.text().contains("/dev/null"), "{}", bench.text());
    assert!(!bench.text().contains(bench.job.dir().as_str()), "{}", bench.text());
}

/// Four ways to survive: ignore TERM, leave the group, leave everything (session, parent, marker), and keep
/// the output open.
const STUBBORN: &str = "
    (trap '' TERM; exec 9>deaf; echo up >&9; sleep 1000) &
    setsid sh -c 'exec 9>session; echo up >&9; exec sleep 1000' &
    (setsid env -i sh -c 'exec 9>orphan; echo up >&9; exec /bin/sleep 1000' >/dev/null 2>&1 &)
    (trap '' TERM HUP INT; exec 9>holder; echo up >&9; exec sleep 1000) &
    exec 9>child; echo up >&9; wait; sleep 1000";

const STUBBORN_LINES: [&str; 5] = ["deaf", "session", "orphan", "holder", "child"];

#[test]
fn a_stop_ends_the_whole_tree() {
    let bench = Bench::new();
    let lines = STUBBORN_LINES.map(|name| bench.line(name));
    let runner = bench.run_aside(&bench.sh(STUBBORN));
    lines.iter().for_each(|line| assert_eq!(line.hear(), "up"));
    bench.job.request_stop().unwrap();
    let outcome = runner.join().unwrap();
    assert_eq!(outcome.ended, Ended::Stopped);
    assert!(outcome.leftovers_killed >= 4, "{outcome:?}");
    assert_eq!(outcome.survivors, 0);
    lines.iter().for_each(Lifeline::hear_end);
}

#[test]
fn limits_end_the_whole_tree() {
    for ended in [Ended::Silence, Ended::WallClock] {
        let bench = Bench::new();
        let lines = STUBBORN_LINES.map(|name| bench.line(name));
        let mut spec = bench.sh(STUBBORN);
        // Long enough for the tree to be up on a busy machine; nothing else depends on it.
        *if ended == Ended::Silence { &mut spec.silence_ms } else { &mut spec.wall_ms } = Some(3_000);
        assert_eq!(bench.run(&spec).ended, ended);
        for line in &lines {
            assert_eq!(line.hear(), "up");
            line.hear_end();
        }
    }
}

#[test]
fn a_talkative_child_is_not_silent() {
    let bench = Bench::new();
    let mut spec = bench.sh("while :; do echo .; sleep 0.1; done");
    (spec.silence_ms, spec.wall_ms) = (Some(20_000), Some(1_000));
    assert_eq!(bench.run(&spec).ended, Ended::WallClock);
}

#[test]
fn what_a_child_leaves_behind_is_ended() {
    let bench = Bench::new();
    let line = bench.line("left");
    let up = bench.work("up");
    fifo(&up);
    let outcome = bench.run_sh(
        "setsid sh -c 'exec 9>left; echo up >&9; echo > up; exec 9<&-; exec 9>left; exec sleep 1000' & read x < up; exit 3",
    );
    assert_eq!(outcome.ended, Ended::Exited { code: 3 });
    assert_eq!(outcome.leftovers_killed, 1);
    assert_eq!(line.hear(), "up");
    line.hear_end();
}

#[cfg(target_os = "linux")]
#[test]
fn a_stranger_who_holds_the_output_does_not_hold_the_keeper() {
    let bench = Bench::new();
    let line = bench.line("line");
    fifo(&bench.work("go"));
    let runner = bench.run_aside(&bench.sh("echo hello; echo $$ > line; read x < go"));
    let pipe = File::options().write(true).open(format!("/proc/{}/fd/1", line.hear())).unwrap();
    fs::write(bench.work("go"), "go\n").unwrap();
    assert_eq!(runner.join().unwrap().ended, Ended::Exited { code: 0 });
    drop(pipe);
    assert_eq!(bench.text(), "hello\n");
}

#[test]
fn a_flood_keeps_its_head_and_its_tail() {
    let bench = Bench::new();
    let mut spec = bench.sh("echo the start; yes | head -c 20000000; echo the end");
    (spec.output_head, spec.output_tail) = (100_000, 60_000);
    let outcome = bench.run(&spec);
    assert_eq!(outcome.ended, Ended::Exited { code: 0 });
    assert_eq!((outcome.output_bytes, outcome.output_lost), (20_000_018, 0));
    let Whole { head, omitted, tail } = bench.job.output().read_all().unwrap();
    assert_eq!(head.len(), 100_000);
    assert!(head.starts_with(b"the start\ny\n"));
    assert!(tail.len() >= 30_000 && tail.len() <= 60_000);
    assert!(tail.ends_with(b"y\nthe end\n"));
    assert_eq!(omitted + (head.len() + tail.len()) as u64, 20_000_018);
    assert_eq!(bench.job.output().tail(8).unwrap(), b"the end\n");
}

#[test]
fn output_can_be_followed_while_it_comes() {
    let bench = Bench::new();
    let line = bench.line("line");
    fifo(&bench.work("go"));
    let runner = bench.run_aside(&bench.sh("echo one; echo up > line; read x < go; echo two"));
    line.hear();
    let output = bench.job.output();
    let mut chunk = output.read_from(0, 100).unwrap();
    while chunk.bytes.is_empty() {
        // The child has written; the keeper is about to.
        thread::yield_now();
        chunk = output.read_from(0, 100).unwrap();
    }
    assert_eq!(chunk.bytes, b"one\n");
    assert_eq!(output.read_from(chunk.next(), 100).unwrap().bytes, b"");
    fs::write(bench.work("go"), "go\n").unwrap();
    runner.join().unwrap();
    assert_eq!(output.read_from(chunk.next(), 100).unwrap().bytes, b"two\n");
}

#[test]
fn a_stop_before_the_start_starts_nothing() {
    let bench = Bench::new();
    bench.job.request_stop().unwrap();
    assert_eq!(bench.run(&bench.counting("true")).ended, Ended::Stopped);
    assert_eq!(bench.starts(), 0);
}

#[test]
fn a_killed_keeper_takes_its_tree_along() {
    let bench = Bench::new();
    let [child, grandchild] = ["child", "grandchild"].map(|name| bench.line(name));
    let spec = bench.counting(
        "setsid sh -c 'exec 9>grandchild; echo up >&9; exec sleep 1000' &
         exec 9>child; echo $PPID >&9; echo said; wait",
    );
    let mut engine = bench.engine(&spec).spawn().unwrap();
    let keeper_pid = child.hear();
    grandchild.hear();
    engine.kill().unwrap();
    engine.wait().unwrap();
    kill(&keeper_pid);
    // Before any sweep: on Linux the kernel itself ends the child.
    if cfg!(target_os = "linux") {
        child.hear_end();
    }
    let outcome = bench.run(&spec);
    assert_eq!(outcome.ended, Ended::Died);
    assert!(outcome.leftovers_killed >= 1, "{outcome:?}");
    grandchild.hear_end();
    assert_eq!(bench.starts(), 1);
    assert_eq!(bench.run(&spec), outcome);
}

#[test]
fn a_runner_sees_its_keeper_die() {
    let bench = Bench::new();
    let child = bench.line("child");
    let runner = bench.run_aside(&bench.sh("exec 9>child; echo $PPID >&9; sleep 1000"));
    kill(&child.hear());
    let outcome = runner.join().unwrap();
    assert_eq!(outcome.ended, Ended::Died);
    assert!(outcome.detail.as_deref().unwrap().contains("signal: 9"), "{outcome:?}");
    child.hear_end();
}

#[test]
fn a_running_keeper_is_adopted() {
    let bench = Bench::new();
    let line = bench.line("line");
    fifo(&bench.work("go"));
    let spec = bench.counting("echo up > line; read x < go; exit 5");
    let mut engine = bench.engine(&spec).spawn().unwrap();
    line.hear();
    engine.kill().unwrap();
    engine.wait().unwrap();
    assert!(Lock::try_take(&bench.job.dir().join("lock")).unwrap().is_none());
    let runner = bench.run_aside(&spec);
    fs::write(bench.work("go"), "go\n").unwrap();
    assert_eq!(runner.join().unwrap().ended, Ended::Exited { code: 5 });
    assert_eq!(bench.starts(), 1);
}

#[test]
fn an_engine_may_crash_anywhere() {
    for point in ["job.spawned", "job.prepared", "job.told", "job.outcome-seen"] {
        let bench = Bench::new();
        let spec = bench.counting("exit 4");
        let crashed = bench.engine(&spec).env("PITON_CRASH", point).spawn().unwrap().wait().unwrap();
        assert!(!crashed.success(), "{point}");
        assert_eq!(bench.run(&spec).ended, Ended::Exited { code: 4 }, "{point}");
        assert_eq!(bench.starts(), 1, "{point}");
    }
}

#[test]
fn a_keeper_may_crash_anywhere() {
    let cases = [
        ("keeper.before-lock", Ended::Died, 0..=0),
        ("keeper.locked", Ended::Died, 0..=0),
        ("keeper.spawned", Ended::Died, 0..=1),
        ("keeper.before-outcome", Ended::Died, 1..=1),
        ("keeper.after-outcome", Ended::Exited { code: 4 }, 1..=1),
    ];
    for (point, ended, starts) in cases {
        let bench = Bench::new();
        let spec = bench.counting("exit 4");
        let outcome = bench.job.run(&spec, &crashing_keeper(point)).unwrap();
        assert_eq!(outcome.ended, ended, "{point}");
        assert_eq!(bench.run(&spec), outcome, "{point}");
        assert!(starts.contains(&bench.starts()), "{point}");
    }
}

#[test]
fn an_engine_and_its_keeper_may_crash_together() {
    let cases = [
        // Nothing had begun, so the next engine begins it.
        ("keeper.before-lock", Ended::Exited { code: 4 }, 1..=1),
        ("keeper.locked", Ended::Exited { code: 4 }, 1..=1),
        ("keeper.spawned", Ended::Died, 0..=1),
        ("keeper.before-outcome", Ended::Died, 1..=1),
        ("keeper.after-outcome", Ended::Exited { code: 4 }, 1..=1),
    ];
    for (point, ended, starts) in cases {
        let bench = Bench::new();
        let spec = bench.counting("exit 4");
        let mut engine = bench.engine(&spec);
        engine.env("PITON_CRASH", "job.told").env("KEEPER_CRASH", point);
        assert!(!engine.status().unwrap().success());
        let outcome = bench.run(&spec);
        assert_eq!(outcome.ended, ended, "{point}");
        assert!(starts.contains(&bench.starts()), "{point}");
    }
}

#[test]
fn a_keeper_begins_nothing_before_all_is_prepared() {
    // Its engine dies over the preparations.
    for point in ["job.spawned", "job.prepared"] {
        let bench = Bench::new();
        let mut engine = bench.engine(&bench.counting("true"));
        assert!(!engine.env("PITON_CRASH", point).status().unwrap().success());
        drop(Lock::take(&bench.job.dir().join("lock")).unwrap());
        assert_eq!((bench.starts(), bench.job.is_begun().unwrap()), (0, false), "{point}");
    }
    // Its engine finds that it cannot be prepared.
    let bench = Bench::new();
    let spec = bench.counting("exit 4");
    let refused = bench.job.run_with(None, || Err::<JobSpec, _>(KeeperError::Arguments), &keeper());
    assert!(matches!(refused, Err(KeeperError::Arguments)), "{refused:?}");
    assert!(Lock::try_take(&bench.job.dir().join("lock")).unwrap().is_some(), "nobody is left");
    assert_eq!((bench.starts(), bench.job.is_begun().unwrap()), (0, false));
    // The next try may.
    assert_eq!(bench.run(&spec).ended, Ended::Exited { code: 4 });
    // What has begun is not prepared again, whether it has ended or was lost.
    let again = |bench: &Bench| {
        let ended = bench.job.run_with(None, || -> Result<_, KeeperError> { panic!("twice") }, &keeper());
        (ended.unwrap().ended, bench.starts())
    };
    assert_eq!(again(&bench), (Ended::Exited { code: 4 }, 1));
    let bench = Bench::new();
    let mut engine = bench.engine(&bench.counting("true"));
    engine.env("PITON_CRASH", "job.told").env("KEEPER_CRASH", "keeper.before-outcome");
    assert!(!engine.status().unwrap().success());
    assert_eq!(again(&bench), (Ended::Died, 1));
}

#[test]
fn many_runners_start_one_child() {
    for _ in 0..10 {
        let bench = Bench::new();
        let spec = bench.counting("exit 6");
        let engines: Vec<Child> = (0..3).map(|_| bench.engine(&spec).spawn().unwrap()).collect();
        let threads: Vec<_> = (0..3).map(|_| bench.run_aside(&spec)).collect();
        let mut outcomes: Vec<Outcome> = engines.into_iter().map(outcome_of).collect();
        outcomes.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
        assert_eq!(outcomes[0].ended, Ended::Exited { code: 6 });
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
        assert_eq!(bench.starts(), 1);
    }
}

#[test]
fn a_keeper_that_was_called_ahead_is_the_one_that_begins() {
    let bench = Bench::new();
    let spec = bench.counting("exit 4");
    let called = bench.job.call_ahead(&keeper(), &[]).unwrap();
    assert!(called.is_some() && bench.job.call_ahead(&keeper(), &[]).unwrap().is_none(), "one is enough");
    let no_other = ["/no/keeper".to_owned()];
    let outcome = bench.job.run_with(called, || Ok::<_, KeeperError>(spec.clone()), &no_other).unwrap();
    assert_eq!((outcome.ended, bench.starts()), (Ended::Exited { code: 4 }, 1));
    assert!(bench.job.call_ahead(&keeper(), &[]).unwrap().is_none(), "it has ended");
    // One that waits obeys a stop like any other, so no caller waits for ever.
    let bench = Bench::new();
    let called = bench.job.call_ahead(&keeper(), &[]).unwrap();
    bench.job.settle().unwrap();
    let prepare = || -> Result<_, KeeperError> { panic!("it is over") };
    assert_eq!(bench.job.run_with(called, prepare, &no_other).unwrap().ended, Ended::Stopped);
    // One that is not needed leaves the job to others.
    let bench = Bench::new();
    drop(bench.job.call_ahead(&keeper(), &[]).unwrap());
    bench.job.settle().unwrap();
    assert!(!bench.job.is_begun().unwrap());
    assert_eq!(bench.run_sh("exit 5").ended, Ended::Exited { code: 5 });
}

#[test]
fn a_job_is_settled_whatever_has_become_of_it() {
    // Under way with its engine dead; lost; and lost before it began.
    let crashes = [(None, true), (Some("keeper.before-outcome"), true), (Some("keeper.locked"), false)];
    for (point, begun) in crashes {
        let bench = Bench::new();
        let (line, stay) = (bench.line("line"), "exec 9>line; echo up >&9; sleep 1000");
        let mut engine = bench.engine(&bench.sh(if point.is_none() { stay } else { "true" }));
        point.map(|point| engine.env("KEEPER_CRASH", point));
        assert!(!engine.env("PITON_CRASH", "job.told").status().unwrap().success());
        match point {
            None => drop(line.hear()),
            Some(_) => drop(Lock::take(&bench.job.dir().join("lock")).unwrap()),
        }
        // A keeper that is killed while it writes the outcome leaves it half-written.
        let half = bench.job.dir().join(".piton-outcome");
        fs::write(&half, "{").unwrap();
        bench.job.settle().unwrap();
        assert_eq!((bench.job.is_begun().unwrap(), half.exists()), (begun, !begun), "{point:?}");
        let ended = bench.job.outcome().unwrap().map(|outcome| outcome.ended);
        let stopped = if point.is_none() { Ended::Stopped } else { Ended::Died };
        assert_eq!(ended, begun.then_some(stopped), "{point:?}");
        bench.job.settle().unwrap();
    }
}

/// Start a keeper with everything in place but for the lock, or for a job that has not begun.
#[test]
fn a_late_keeper_does_nothing() {
    let by_hand = |bench: &Bench, lock: Option<&Lock>| {
        let spec = serde_json::to_value(bench.counting("true")).unwrap();
        let word = serde_json::json!({ "spec": spec, "secrets": {} }).to_string();
        fs::write(bench.work("word"), word).unwrap();
        let out = lock.map_or(Stdio::null(), |lock| lock.share().unwrap().into());
        let mut keeper = Command::new(jobs());
        keeper.args(["keeper", bench.job.dir().as_str()]);
        keeper.stdin(fs::File::open(bench.work("word")).unwrap()).stdout(out);
        assert!(keeper.status().unwrap().success());
    };
    let lock = |bench: &Bench| Lock::take(&bench.job.dir().join("lock")).unwrap();
    let bench = Bench::new();
    let spec = bench.counting("true");
    assert_eq!(bench.job.run(&spec, &crashing_keeper("keeper.locked")).unwrap().ended, Ended::Died);
    by_hand(&bench, Some(&lock(&bench)));
    assert_eq!(bench.starts(), 0);
    assert_eq!(bench.job.outcome().unwrap().unwrap().ended, Ended::Died);

    // Nor does one that finds a job begun and lost: that is for an engine to settle.
    let bench = Bench::new();
    let spec = bench.counting("true");
    let mut engine = bench.engine(&spec);
    engine.env("PITON_CRASH", "job.told").env("KEEPER_CRASH", "keeper.before-outcome");
    assert!(!engine.status().unwrap().success());
    by_hand(&bench, Some(&lock(&bench)));
    assert_eq!((bench.starts(), bench.job.outcome().unwrap()), (1, None));

    // Nor does one that did not get the lock, whether another process has it or not.
    let bench = Bench::new();
    let spec = bench.counting("true");
    let held = lock(&bench);
    by_hand(&bench, None);
    drop(held);
    by_hand(&bench, None);
    assert_eq!((bench.starts(), bench.job.outcome().unwrap()), (0, None));

    // One that was given it is as good as any.
    by_hand(&bench, Some(&lock(&bench)));
    assert_eq!(bench.starts(), 1);
    assert_eq!(bench.run(&spec).ended, Ended::Exited { code: 0 });
    assert_eq!(bench.starts(), 1);
}

#[test]
fn a_job_of_another_pid_namespace_is_respected() {
    let unshared = |command: &Command| {
        let mut inside = Command::new("unshare");
        inside.args(["-p", "-f", "--kill-child", "--mount-proc"]);
        inside.arg(command.get_program()).args(command.get_args());
        inside.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        inside
    };
    if !unshared(&Command::new("true")).status().is_ok_and(|status| status.success()) {
        return skipped("unshare is not permitted here");
    }
    let bench = Bench::new();
    let line = bench.line("line");
    fifo(&bench.work("go"));
    let spec = bench.counting("echo up > line; read x < go; exit 5");
    let engine = unshared(&bench.engine(&spec)).spawn().unwrap();
    line.hear();
    let runner = bench.run_aside(&spec);
    fs::write(bench.work("go"), "go\n").unwrap();
    let outcome = runner.join().unwrap();
    assert_eq!(outcome.ended, Ended::Exited { code: 5 });
    assert_eq!(outcome_of(engine), outcome);
    assert_eq!(bench.starts(), 1);

    // The namespace ends, and with it everything in it, keeper included.
    let bench = Bench::new();
    let line = bench.line("line");
    let spec = bench.counting("exec 9>line; echo up >&9; sleep 1000");
    let mut engine = unshared(&bench.engine(&spec)).spawn().unwrap();
    line.hear();
    engine.kill().unwrap();
    engine.wait().unwrap();
    assert_eq!(bench.run(&spec).ended, Ended::Died);
    line.hear_end();
    assert_eq!(bench.starts(), 1);
}

/// A keeper adopts every orphan of its tree; unreaped they would fill the process table.
#[cfg(target_os = "linux")]
#[test]
fn orphans_are_reaped_while_the_child_runs() {
    let bench = Bench::new();
    let line = bench.line("line");
    fifo(&bench.work("go"));
    let runner = bench.run_aside(&bench.sh(
        "for i in 1 2 3 4 5 6 7 8; do (true & exec true); done; exec 9>line; echo $PPID >&9; read x < go",
    ));
    let keeper_pid = line.hear();
    let children = format!("/proc/{keeper_pid}/task/{keeper_pid}/children");
    // Only the child itself is left.
    while fs::read_to_string(&children).unwrap().split_whitespace().count() > 1 {
        thread::yield_now();
    }
    let mut go = File::options().write(true).open(bench.work("go")).unwrap();
    go.write_all(b"go\n").unwrap();
    assert_eq!(runner.join().unwrap().ended, Ended::Exited { code: 0 });
}

/// A job survives a terminal that hangs up, and Ctrl-C in it.
#[cfg(target_os = "linux")]
#[test]
fn a_keeper_has_a_session_of_its_own() {
    let bench = Bench::new();
    bench.run_sh("cat /proc/$PPID/stat > keeper; echo $PPID > pid");
    let stat = fs::read_to_string(bench.work("keeper")).unwrap();
    // After its name, which may have spaces: its state, its parent, its group, its session.
    let session = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap();
    assert_eq!(session, fs::read_to_string(bench.work("pid")).unwrap().trim_end(), "{stat}");
}
