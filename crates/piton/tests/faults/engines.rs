//! An engine that is stopped for longer than anything waits, at the worst moments, and what others do
//! meanwhile.

use piton_testkit::cases::in_parallel;
use piton_testkit::sandbox::{Running, Sandbox, task, until, writers};
use rustix::process::{Pid, Signal, kill_process};

use crate::{sandbox, thorough};

/// Two tasks; the agent of T1 waits at a gate.
fn at_a_gate() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']\n")));
    sandbox.fifo("gate");
    sandbox.script(&("[T1]\nmeet SIDE/gate\nwrite T1.txt done\n".to_owned() + &writers(&["T2"])));
    sandbox
}

fn stopped_at_the_gate(sandbox: &Sandbox) -> Running {
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    until("the agent at its gate", || keeper(sandbox));
    run.signal(Signal::STOP);
    run
}

/// The keeper of the agent that runs, if there is one.
fn keeper(sandbox: &Sandbox) -> Option<i32> {
    let all = sandbox.processes();
    let agent = all.iter().any(|(_, line)| line.contains("scripted-agent"));
    let keeper = all.into_iter().find(|(_, line)| line.contains(" keeper /") && line.contains(".agent"));
    keeper.filter(|_| agent).map(|(pid, _)| pid)
}

fn agents(sandbox: &Sandbox) -> usize {
    let ended = sandbox.events();
    ended.iter().filter(|line| line.contains("\"event\":\"agent_ended\"")).count()
}

#[test]
fn what_others_do_while_an_engine_is_stopped_is_heard_when_it_goes_on() {
    let sandbox = at_a_gate();
    let run = stopped_at_the_gate(&sandbox);
    let _ = sandbox.run("run plan.toml").exits(1).says("another engine is working on the run");
    let _ = sandbox.run("skip T2 --reason later").exits(0);
    let _ = sandbox.run("status").exits(0).says("T1");
    // The agent ends while no engine runs.
    sandbox.meet("gate");
    let kept = || sandbox.processes().iter().any(|(_, line)| line.contains(" keeper /"));
    until("the end of the keeper", || (!kept()).then_some(()));
    run.signal(Signal::CONT);
    let _ = run.wait().exits(0).says("T1       landed as").lacks("T2       attempt");
    sandbox.assert_landed_once("main", &["T1"]);
    assert_eq!(agents(&sandbox), 1);
    let _ = sandbox.run("reset T2").exits(0);
    let _ = sandbox.run("run plan.toml").exits(0);
    sandbox.assert_landed_once("main", &["T1", "T2"]);
    sandbox.assert_tidy();
}

#[test]
fn a_keeper_that_dies_while_its_engine_is_stopped_is_buried_when_it_goes_on() {
    let sandbox = at_a_gate();
    let run = stopped_at_the_gate(&sandbox);
    let keeper = keeper(&sandbox).and_then(Pid::from_raw).expect("a keeper");
    kill_process(keeper, Signal::KILL).expect("a process of this test");
    let agent_lives = || sandbox.processes().iter().any(|(_, line)| line.contains("scripted-agent"));
    until("the end of its agent", || (!agent_lives()).then_some(()));
    run.signal(Signal::CONT);
    sandbox.meet("gate");
    let _ = run.wait().exits(0).says("the agent died with its keeper");
    sandbox.assert_landed_once("main", &["T1", "T2"]);
    assert_eq!(agents(&sandbox), 3);
    sandbox.assert_tidy();
}

#[test]
fn an_engine_killed_while_it_was_stopped_is_succeeded_by_the_next_one() {
    let sandbox = at_a_gate();
    let run = stopped_at_the_gate(&sandbox);
    run.signal(Signal::KILL);
    let ended = run.wait();
    assert_eq!(ended.code, None, "{ended}");
    let next = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("gate");
    let _ = next.wait().exits(0);
    sandbox.assert_landed_once("main", &["T1", "T2"]);
    assert_eq!(agents(&sandbox), 2, "the agent that lived on was taken over");
    sandbox.assert_tidy();
}

/// The engine holds the journal's right to write and does not let go.
#[test]
fn who_would_write_waits_for_an_engine_that_is_stopped_while_it_writes() {
    in_parallel(&[1, 3, 6], |nth| {
        let sandbox = sandbox();
        sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']\n")));
        sandbox.script(&writers(&["T1", "T2"]));
        let _ = sandbox.run("next --plan plan.toml").exits(0);
        let mut run =
            sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "journal.before-commit", *nth).spawn();
        let pause = run.until_paused(&sandbox);
        run.signal(Signal::STOP);
        let mut raise = sandbox.piton(["raise", "T2", "--attempts", "9"]).spawn();
        let _ = sandbox.run("status").exits(0).says("landing on main");
        let _ = sandbox.run("log").exits(0);
        if thorough() {
            let waited = sandbox.run("raise T2 --attempts 8").exits(1);
            let _ = waited.says("in use by another process for more than 60 seconds");
            // The first one waited as long.
            let _ = raise.wait().exits(1);
            raise = sandbox.piton(["raise", "T2", "--attempts", "9"]).spawn();
        } else {
            assert!(!raise.has_ended(), "it did not wait: {}", raise.said());
        }
        drop(pause);
        run.signal(Signal::CONT);
        let _ = raise.wait().exits(0).says("attempts");
        let _ = run.wait().exits(0);
        sandbox.assert_landed_once("main", &["T1", "T2"]);
        let _ = sandbox.run("doctor").exits(0);
    });
}

/// Two runs land on one branch. The one that holds the branch's lock is stopped, and then killed.
#[test]
fn a_landing_waits_for_one_that_is_stopped_and_goes_on_when_that_is_killed() {
    let sandbox = sandbox();
    sandbox.write("other.toml", &sandbox.plan_text("", &task("B1", "")).replace("\"plan\"", "\"other\""));
    sandbox.plan(&task("A1", ""));
    sandbox.script(&writers(&["A1", "B1"]));
    let mut first =
        sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "landing.before-move", 1).spawn();
    let pause = first.until_paused(&sandbox);
    first.signal(Signal::STOP);
    let mut second = sandbox.piton(["run", "other.toml"]).spawn();
    let pid = second.pid().to_string();
    until("the second at the lock of the branch", || {
        assert!(!second.has_ended(), "it did not wait: {}", second.said());
        let locks = std::fs::read_to_string("/proc/locks").expect("Linux");
        let waits = |line: &str| line.contains("->") && line.split_whitespace().any(|word| word == pid);
        locks.lines().any(waits).then_some(())
    });
    assert_eq!(sandbox.landed("main").len(), 0);
    first.signal(Signal::KILL);
    drop(pause);
    let _ = first.wait();
    let _ = second.wait().exits(0);
    sandbox.assert_landed_once("main", &["B1"]);
    let _ = sandbox.run("run plan.toml").exits(0).says("landing starts over");
    sandbox.assert_landed_once("main", &["A1", "B1"]);
    sandbox.assert_tidy();
}
