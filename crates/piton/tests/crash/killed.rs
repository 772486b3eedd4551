//! `kill -9` while an agent is in the middle of its work: of the engine alone, and of everything.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use piton_testkit::cases::in_parallel;

use crate::reference::{self, Killed};
use crate::rules::{Target, two_tasks};
use crate::sandbox::Sandbox;

/// Every run of an agent in the crash-free run. Who of a pair runs again is not known beforehand.
const MIDDLES: [&[&str]; 9] = [
    &["L1-001.1"],
    &["L1-002.1"],
    &["L1-002.2"],
    &["L2-001.1"],
    &["L2-002.1"],
    &["L2-003.1"],
    &["L2-004.1"],
    &["L2-001.2", "L2-002.2"],
    &["L2-003.2", "L2-004.2"],
];

/// All of them with `PITON_THOROUGH=1`; otherwise a first one, one of a retry, and one of a pair that runs again.
fn middles() -> Vec<&'static [&'static str]> {
    let wanted = |at: &usize| std::env::var_os("PITON_THOROUGH").is_some() || [0, 2, 7].contains(at);
    (0..MIDDLES.len()).filter(wanted).map(|at| MIDDLES[at]).collect()
}

#[test]
fn an_agent_outlives_its_engine_and_is_adopted_by_the_next_one() {
    in_parallel(&middles(), |middle| {
        let sandbox = reference::sandbox();
        let gates = sandbox.gates(middle);
        let engine = sandbox.start_run(&[]);
        let here = gates.wait();
        engine.signal(Signal::KILL);
        engine.end(&sandbox);
        let next = sandbox.start_run(&[]);
        gates.open(&here);
        next.end(&sandbox).expect(0);
        reference::assert_recovers(&sandbox, Killed::Engine);
    });
}

#[test]
fn what_an_agent_finishes_while_no_engine_lives_is_taken_as_it_is() {
    in_parallel(&[MIDDLES[2], MIDDLES[8]], |middle| {
        let sandbox = reference::sandbox();
        let gates = sandbox.gates(middle);
        let engine = sandbox.start_run(&[]);
        let here = gates.wait();
        engine.signal(Signal::KILL);
        engine.end(&sandbox);
        let (task, _) = here.split_once('.').expect("TASK.RUN");
        let began = sandbox.began();
        let held = began.iter().rfind(|began| began.task == task).expect("the one at the gate");
        gates.open(&here);
        let since = Instant::now();
        // It may wait for its other half, which the next engine starts.
        while Sandbox::outcome(&held.job).is_none() && since.elapsed() < Duration::from_secs(1) {
            thread::sleep(Duration::from_millis(5));
        }
        reference::assert_recovers(&sandbox, Killed::Engine);
    });
}

/// Two agents in one worktree would each take the other's work for its own.
#[test]
fn an_agent_of_a_task_that_was_reset_meanwhile_is_ended_before_the_next_one_begins() {
    let sandbox = two_tasks(Target::CheckedOut);
    let gates = sandbox.gates(&["T1.1", "T1.2"]);
    let engine = sandbox.start_run(&[]);
    gates.wait();
    engine.signal(Signal::KILL);
    engine.end(&sandbox);
    sandbox.piton(&["reset", "T1", "--plan", "plan.toml"]).expect(0);
    let held = sandbox.began()[0].job.clone();
    assert_eq!(Sandbox::outcome(&held), None, "it outlived its engine");
    let next = sandbox.start_run(&[]);
    let here = gates.wait();
    assert_eq!(Sandbox::outcome(&held).as_deref(), Some("stopped"));
    let marker = format!("PITON_JOB={held}");
    assert_eq!(sandbox.processes_with(&marker), [], "the next one is at work");
    gates.open(&here);
    next.end(&sandbox).expect(0);
    sandbox.assert_landed_once(&["T1", "T2"]);
    assert_eq!(sandbox.runs_of("T1"), 2);
}

#[test]
fn an_agent_that_died_with_everything_else_is_run_again_and_no_attempt_is_spent() {
    in_parallel(&middles(), |middle| {
        let sandbox = reference::sandbox();
        let gates = sandbox.gates(middle);
        let engine = sandbox.start_run(&[]);
        let here = gates.wait();
        sandbox.kill_all();
        engine.end(&sandbox);
        let (task, run) = here.split_once('.').expect("TASK.RUN");
        let run: usize = run.parse().expect("a number");
        // Failures by class are part of the end: nothing but `transient` may have been added.
        reference::assert_recovers(&sandbox, Killed::Everything);
        let mut runs = sandbox.began();
        runs.retain(|began| began.task == task);
        assert_eq!(Sandbox::outcome(&runs[run - 1].job).as_deref(), Some("died"));
        assert_eq!(runs[run - 1].attempt, runs[run].attempt, "the try after a death keeps the number");
    });
}

#[test]
fn a_keeper_that_is_killed_takes_its_agent_along_and_the_engine_goes_on() {
    in_parallel(&[MIDDLES[1], MIDDLES[7]], |middle| {
        let sandbox = reference::sandbox();
        let gates = sandbox.gates(middle);
        let engine = sandbox.start_run(&[]);
        let here = gates.wait();
        let (task, _) = here.split_once('.').expect("TASK.RUN");
        let job = sandbox.began().into_iter().rfind(|began| began.task == task).expect("at the gate").job;
        let line = format!(" keeper {job}");
        let keeper = sandbox.processes().into_iter().find(|(_, found)| found.trim_end().ends_with(&line));
        let (keeper, _) = keeper.expect("a keeper for the agent at the gate");
        sandbox.signal(keeper, Signal::KILL);
        engine.end(&sandbox).expect(0);
        assert_eq!(Sandbox::outcome(&job).as_deref(), Some("died"));
        reference::assert_recovers(&sandbox, Killed::Keeper);
    });
}

/// At random moments, so that git is hit in the middle of its work too. The harness that hits every
/// one of its steps is another one; `PITON_CRASH_MOMENTS=500` makes this one long.
#[test]
fn everything_is_killed_at_moments_spread_over_the_run() {
    let wanted = std::env::var("PITON_CRASH_MOMENTS").ok().and_then(|text| text.parse().ok());
    let moments: Vec<u64> = (0..wanted.unwrap_or(4)).map(|n| 40 + n * 137 % 1100).collect();
    in_parallel(&moments, |moment| {
        let sandbox = reference::sandbox();
        let engine = sandbox.start_run(&[]);
        thread::sleep(Duration::from_millis(*moment));
        sandbox.kill_all();
        engine.end(&sandbox);
        reference::assert_recovers(&sandbox, Killed::Everything);
    });
}
