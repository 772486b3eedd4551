//! Stopping, from a keyboard, from another terminal, and by force; then going on.

use crate::{count, json, place, sandbox, status};
use piton_testkit::sandbox::{Running, Sandbox, task, until, writers};
use rustix::process::Signal;

/// T1 waits for us twice and counts its starts; T2 comes after it.
fn waiting() -> (Sandbox, Running) {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nappend SIDE/starts x\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n");
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    (sandbox, run)
}

fn starts(sandbox: &Sandbox) -> usize {
    sandbox.read(sandbox.root().join("starts")).lines().count()
}

/// The same agents, which wait for no other process.
fn at_once(sandbox: &Sandbox) {
    sandbox.script("[T1]\nappend SIDE/starts x\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n");
}

#[test]
fn once_interrupted_it_finishes_what_runs() {
    let (sandbox, mut run) = waiting();
    run.signal(Signal::INT);
    run.until_says("Ctrl-C asked to stop");
    sandbox.meet("gate");
    let _ = run
        .wait()
        .exits(3)
        .says("tasks in progress finish first")
        .says("stopped on request")
        .says("piton run plan.toml   resumes from here");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["completed", "pending"]);
    let _ = sandbox.run("run plan.toml").exits(0).lacks("T1       attempt");
    assert_eq!(starts(&sandbox), 1);
}

#[test]
fn twice_interrupted_it_stops_at_once() {
    let (sandbox, mut run) = waiting();
    run.signal(Signal::INT);
    run.until_says("Ctrl-C asked to stop");
    run.signal(Signal::INT);
    let _ = run.wait().exits(3).says("stopping at once");
    assert_eq!(sandbox.history("main"), ["First commit", "Plan"]);
    at_once(&sandbox);
    let _ = sandbox.run("run plan.toml").exits(0).says("T1       attempt 1 resumed");
    assert_eq!(starts(&sandbox), 2);
}

/// What an agent has done is not paid for again because its checks were stopped.
#[test]
fn stopped_in_its_checks_a_task_goes_on_with_them() {
    let sandbox = sandbox();
    let (arrived, gate) = (sandbox.fifo("arrived"), sandbox.fifo("gate"));
    sandbox.plan(&task("T1", &format!("checks = [\"cat '{arrived}' '{gate}'\"]")));
    sandbox.script("[T1]\nappend SIDE/starts x\nwrite T1.txt x\n");
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    let _ = sandbox.run("stop --now").exits(0);
    let _ = run.wait().exits(3);
    let again = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    sandbox.meet("gate");
    let _ = again.wait().exits(0).says("T1       landed").lacks("attempt");
    assert_eq!(starts(&sandbox), 1);
}

#[test]
fn termination_is_a_stop_too() {
    let (sandbox, mut run) = waiting();
    run.signal(Signal::TERM);
    run.until_says("asked to stop");
    sandbox.meet("gate");
    let _ = run.wait().exits(3);
}

#[test]
fn another_process_can_ask_to_stop() {
    let (sandbox, run) = waiting();
    shows!(sandbox.run("stop").exits(0), @r"
    exit: 0
    --- stdout
    [TIME]          you asked to stop
    ");
    sandbox.meet("gate");
    let _ = run.wait().exits(3);
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["completed", "pending"]);
    let _ = sandbox.run("stop").exits(1).says("no engine is working on the run");
}

#[test]
fn another_process_can_stop_it_at_once() {
    let (sandbox, run) = waiting();
    let _ = sandbox.run("stop --now").exits(0).says("asked to stop at once");
    let _ = run.wait().exits(3).says("paused until the run resumes");
    at_once(&sandbox);
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(count(&sandbox.events(), "completed"), 2);
}

#[test]
fn a_second_engine_is_refused() {
    let (sandbox, run) = waiting();
    shows!(sandbox.run("run plan.toml").exits(1), @r"
    exit: 1
    --- stderr
    error: another engine is working on the run plan-[RUN]

    hint: piton status
    hint: piton stop
    ");
    let _ = sandbox.run("status").exits(0).says("running").says("attempt 1");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    assert_eq!(starts(&sandbox), 1);
}

#[test]
fn an_engine_that_is_killed_loses_nothing() {
    let (sandbox, run) = waiting();
    run.signal(Signal::KILL);
    assert_eq!(run.wait().code, None);
    let _ = sandbox.run("status").exits(0).says("interrupted: its engine has ended; `piton run` resumes it");
    let _ = sandbox
        .run("doctor")
        .exits(0)
        .says("its engine ended unexpectedly")
        .says("agent0 of T1 is still at work");
    let mut again = sandbox.piton(["run", "plan.toml"]).spawn();
    again.until_says("engine started");
    sandbox.meet("gate");
    let _ = again.wait().exits(0);
    assert_eq!(starts(&sandbox), 1, "the agent was not adopted");
    assert_eq!(count(&sandbox.events(), "attempt_started"), 2);
}

/// What a dead engine left is parked, as if that engine had been told to stop at once.
#[test]
fn what_a_killed_engine_left_running_can_be_stopped() {
    for line in ["stop", "stop --now"] {
        let (sandbox, run) = waiting();
        run.signal(Signal::KILL);
        assert_eq!(run.wait().code, None);
        insta::allow_duplicates! {
            shows!(sandbox.run(line).exits(0), @r"
            exit: 0
            --- stdout
            [TIME] T1       agent stopped after [SPAN]
            [TIME] T1       paused until the run resumes
            [TIME]          you asked to stop at once
            [TIME]          stopped on request
            --- stderr
            the engine of the run plan-[RUN] has ended; stopping what it left: the agent of T1
            hint: piton run plan.toml   resumes it
            ");
        }
        let _ = sandbox.run("doctor").exits(0).lacks("still at work").lacks("unexpectedly");
        let _ = sandbox.run("status").exits(0).says("stopped on request");
        let _ = sandbox.run("stop").exits(1).says("nothing that one has started is running");
        at_once(&sandbox);
        let _ = sandbox.run("run plan.toml").exits(0).says("T1       attempt 1 resumed");
        assert_eq!(starts(&sandbox), 2);
        let spent = sandbox.run("status T1 --json").exits(0);
        assert_eq!(json(&spent, "/attempts_spent"), 0, "{line}: it cost the task nothing");
    }
}

#[test]
fn checks_that_a_killed_engine_left_running_can_be_stopped() {
    let sandbox = sandbox();
    let (arrived, gate) = (sandbox.fifo("arrived"), sandbox.fifo("gate"));
    sandbox.plan(&task("T1", &format!("checks = [\"cat '{arrived}' '{gate}'\"]")));
    sandbox.script("[T1]\nappend SIDE/starts x\nwrite T1.txt x\n");
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    run.signal(Signal::KILL);
    assert_eq!(run.wait().code, None);
    let _ = sandbox.run("stop").exits(0).says("stopping what it left: a check of what is to land");
    let again = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    sandbox.meet("gate");
    let _ = again.wait().exits(0).says("T1       landed").lacks("attempt");
    assert_eq!(starts(&sandbox), 1, "the work of its agent was there");
}

/// The proof of a merged tree is begun again, too.
#[test]
fn stopped_in_a_check_of_its_landing_a_task_lands_later() {
    let sandbox = sandbox();
    let (arrived, gate) = (sandbox.fifo("arrived"), sandbox.fifo("gate"));
    sandbox.plan_with(&format!("landing_checks = [\"cat '{arrived}' '{gate}'\"]"), &task("T1", ""));
    sandbox.script("[T1]\nappend SIDE/starts x\nwrite T1.txt x\n");
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    let _ = sandbox.run("stop --now").exits(0);
    let _ = run.wait().exits(3);
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    run.signal(Signal::KILL);
    assert_eq!(run.wait().code, None);
    let _ = sandbox.run("stop").exits(0).says("a check of what is to land");
    let again = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    sandbox.meet("gate");
    let _ = again.wait().exits(0);
    assert_eq!(starts(&sandbox), 1);
}

#[test]
fn a_run_that_was_asked_to_stop_is_stopping_until_its_engine_has_ended() {
    let (sandbox, run) = waiting();
    let state = |sandbox: &Sandbox| json(&sandbox.run("status --json").exits(0), "/state/status");
    assert_eq!(state(&sandbox), "running");
    let _ = sandbox.run("stop").exits(0);
    let _ = sandbox.run("status").exits(0).says("stopping: tasks in progress finish first").lacks("running");
    assert_eq!(state(&sandbox), "stopping");
    sandbox.meet("gate");
    let _ = run.wait().exits(3);
    assert_eq!(state(&sandbox), "stopped");
}

#[test]
fn an_agent_that_ended_while_no_engine_was_there_is_taken_in() {
    let (sandbox, run) = waiting();
    run.signal(Signal::KILL);
    assert_eq!(run.wait().code, None);
    sandbox.meet("gate");
    until("the outcome of the agent", || {
        let runs = sandbox.own().join("runs");
        let run = runs.read_dir_utf8().ok()?.next()?.ok()?.into_path();
        run.join("T1/1.agent0/outcome.json").exists().then_some(())
    });
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(starts(&sandbox), 1);
}

#[test]
fn an_engine_killed_between_an_effect_and_its_event_goes_on() {
    // The crash tests go through all of them.
    for point in ["work.ended", "capture.committed", "landing.moved", "engine.before-commit:6", "clean.done"]
    {
        let sandbox = sandbox();
        sandbox.plan(&task("T1", ""));
        sandbox.script("[T1]\nappend SIDE/starts x\nwrite T1.txt x\n");
        let crashed = sandbox.piton(["run", "plan.toml"]).env("PITON_CRASH", point).run();
        assert_eq!(crashed.code, None, "{point} was not reached\n{crashed}");
        let again = sandbox.run("run plan.toml");
        assert_eq!(again.code, Some(0), "{point}\n{again}");
        assert_eq!(sandbox.history("main"), ["First commit", "Plan", "Merge worktree-T1: Do T1"], "{point}");
        assert_eq!(starts(&sandbox), 1, "{point}: the agent ran twice");
        assert_eq!(sandbox.git(["for-each-ref", "--format=%(refname)"]), "refs/heads/main", "{point}");
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{point}");
        let _ = sandbox.run("doctor").exits(0);
    }
}

#[test]
fn a_stopped_run_can_be_asked_about() {
    let (sandbox, run) = waiting();
    let _ = sandbox.run("stop --now").exits(0);
    let _ = run.wait().exits(3);
    let _ = sandbox.run("status").exits(0).says("stopped on request");
    let _ = sandbox.run("why T1").exits(0).says("no engine is working on this run");
    let _ = sandbox.run("why T2").exits(0).says("T2 waits for 1 task it depends on");
    let _ = sandbox.run("output T1").exits(0);
}

#[test]
fn a_log_can_begin_some_time_ago() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    sandbox.script(&writers(&["T1", "T2"]));
    let clock = sandbox.root().join("clock");
    let at = |hours: u64, line: &str| {
        sandbox.write(&clock, &(hours * 3_600_000).to_string());
        sandbox.piton(line.split(' ')).env("PITON_CLOCK", &clock).run()
    };
    let _ = at(0, "run plan.toml --task T1").exits(0);
    let _ = at(3, "run plan.toml").exits(0);
    let _ = at(3, "log --since 2h").exits(0).says("T2       landed").lacks("T1       landed");
    let _ = at(3, "log --since 4h").exits(0).says("T2       landed").says("T1       landed");
    let _ = at(9, "log --since 2h").exits(0).lacks("landed");
    let _ = at(9, "log --since soon").exits(2).says("a span is a number with its unit");
}

#[test]
fn a_log_can_be_followed_to_the_end_of_the_run() {
    let (sandbox, run) = waiting();
    let follower = sandbox.piton(["log", "-f"]).spawn();
    let reader = sandbox.piton(["output", "T1", "-f"]).spawn();
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    let _ = follower.wait().exits(0).says("T2       landed as");
    let _ = reader.wait().exits(0);
    let events = sandbox.events();
    assert!(place(&events, "completed", "T1") < place(&events, "attempt_started", "T2"));
}

#[test]
fn what_a_person_does_meanwhile_is_heard() {
    let (sandbox, run) = waiting();
    let _ = sandbox.run("skip T2 --reason later").exits(0).says("skipped by you: later");
    sandbox.meet("gate");
    let _ = run.wait().says("skipped by you");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["completed", "skipped"]);
}

#[test]
fn what_the_engine_holds_nobody_else_reports_on() {
    let (sandbox, run) = waiting();
    let _ = sandbox.run("start T1").exits(1).says("T1 is in_progress by the engine");
    let _ = sandbox.run("report T1 done").exits(1).says("you cannot report on it");
    let _ = sandbox.run("report T1 blocked --reason mischief").exits(1);
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
}

#[test]
fn a_task_that_is_reset_while_it_runs_starts_over() {
    let (sandbox, run) = waiting();
    let _ = sandbox.run("reset T1").exits(0);
    // The first agent is gone; another one comes to the same place.
    sandbox.meet("arrived");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    assert_eq!(starts(&sandbox), 2);
    assert_eq!(sandbox.history("main").len(), 4);
}

#[test]
fn a_task_that_is_skipped_while_it_runs_is_stopped() {
    let (sandbox, run) = waiting();
    let _ = sandbox.run("skip T1").exits(0);
    let _ = run.wait().exits(0).says("completed, 1 skipped");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["skipped", "completed"]);
    assert_eq!(sandbox.history("main").last().map(String::as_str), Some("Merge worktree-T2: Do T2"));
}

#[test]
fn an_agent_whose_keeper_is_killed_dies_and_is_run_again() {
    let sandbox = sandbox();
    let root = sandbox.root();
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    let agent = format!(
        "echo x >> {root}/starts; echo $PPID > {root}/keeper; test $(wc -l < {root}/starts) -gt 1 || {{ cat {root}/arrived; cat {root}/gate; }}; \
         echo $PITON_ATTEMPT > T1.txt"
    );
    sandbox.program("agent", &agent);
    sandbox.write(
        "plan.toml",
        &format!(
            "[policy]\nbackoff = '0s'\n[agents.default]\ncommand = ['{root}/bin/agent']\n{}",
            task("T1", "attempts = 1")
        ),
    );
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    let keeper: i32 = sandbox.read(root.join("keeper")).trim().parse().expect("a process id");
    rustix::process::kill_process(rustix::process::Pid::from_raw(keeper).expect("not zero"), Signal::KILL)
        .expect("the keeper");
    let _ = run.wait().exits(0).says("cut off: the agent died with its keeper");
    assert_eq!(starts(&sandbox), 2);
    assert_eq!(sandbox.git(["show", "main:T1.txt"]), "1");
}
