//! A run and the terminal it was started on: it goes on without it.
#![cfg(target_os = "linux")]

use crate::{count, sandbox};
use piton_testkit::sandbox::{Sandbox, task, until, writers};
use rustix::process::Signal;

/// A new session on its own terminal, as a window of a desktop makes one.
const SESSION: &[&str] = &["setsid", "--ctty"];

/// T1 waits for us; T2 comes after it.
fn waiting() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nappend SIDE/starts x\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n");
    sandbox
}

#[test]
fn a_run_goes_on_when_its_terminal_is_closed() {
    let sandbox = waiting();
    let (run, mut terminal) = sandbox.piton_by(SESSION, ["run", "plan.toml"]).spawn_on_terminal();
    terminal.until_shows("T1");
    sandbox.meet("arrived");
    drop(terminal);
    let told = "note by Piton: the terminal was closed; the run continues without it";
    until("the note", || sandbox.run("log").exits(0).contains(told).then_some(()));
    let _ = sandbox.run("status").exits(0).says("running").says("attempt 1");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    let events = sandbox.events();
    assert_eq!(count(&events, "completed"), 2);
    assert_eq!(count(&events, "attempt_started"), 2, "no agent was cut off");
    assert_eq!(sandbox.read(sandbox.root().join("starts")).lines().count(), 1);
    let _ = sandbox.run("status").exits(0).says("every task is completed");
}

#[test]
fn a_hang_up_is_no_stop_wherever_the_output_goes() {
    for more in [&["--quiet"][..], &["--json"], &[]] {
        let sandbox = waiting();
        let run = sandbox.piton(["run", "plan.toml"].into_iter().chain(more.iter().copied())).spawn();
        sandbox.meet("arrived");
        run.signal(Signal::HUP);
        until("the note", || sandbox.run("log").contains("the terminal was closed").then_some(()));
        sandbox.meet("gate");
        let _ = run.wait().exits(0);
    }
}

#[test]
fn keys_still_stop_a_run_on_a_terminal() {
    let sandbox = waiting();
    let (run, mut terminal) = sandbox.piton_by(SESSION, ["run", "plan.toml"]).spawn_on_terminal();
    sandbox.meet("arrived");
    terminal.types("\u{3}");
    terminal.until_shows("Ctrl-C asked to stop");
    sandbox.meet("gate");
    terminal.until_shows("stopped on request");
    let _ = run.wait().exits(3);
    assert_eq!(count(&sandbox.events(), "completed"), 1);
}

#[test]
fn keys_that_stop_a_run_are_answered_where_nothing_else_is_shown() {
    for more in ["--quiet", "--json"] {
        let sandbox = waiting();
        let (run, mut terminal) = sandbox.piton_by(SESSION, ["run", "plan.toml", more]).spawn_on_terminal();
        sandbox.meet("arrived");
        terminal.types("\u{3}");
        terminal.until_shows("stopping: tasks in progress finish first");
        terminal.types("\u{3}");
        terminal.until_shows("stopping at once; `piton run` resumes from here");
        let _ = run.wait().exits(3);
    }
}

#[test]
fn a_detached_run_goes_on_without_the_terminal_it_was_typed_on() {
    let sandbox = waiting();
    let (run, mut terminal) = sandbox.piton_by(SESSION, ["run", "plan.toml", "--detach"]).spawn_on_terminal();
    terminal.until_shows("continues in the background (process ");
    terminal.until_shows("piton watch --run plan-");
    terminal.until_shows("piton stop --run plan-");
    let _ = run.wait().exits(0);
    sandbox.meet("arrived");
    drop(terminal);
    let _ = sandbox.run("status").exits(0).says("running").says("attempt 1");
    let _ = sandbox.run("run plan.toml --detach").exits(1).says("another engine is working on the run");
    sandbox.meet("gate");
    until("the end", || sandbox.run("status").contains("every task is completed").then_some(()));
    let events = sandbox.events();
    assert_eq!((count(&events, "completed"), count(&events, "attempt_started")), (2, 2));
    let _ = sandbox.run("log").exits(0).lacks("the terminal was closed");
    let log = sandbox.own().join("runs").read_dir_utf8().expect("runs").flatten().next().expect("a run");
    let log = sandbox.read(log.path().join("engine.log"));
    assert!(log.contains("T2       landed as") && !log.contains('\u{1b}'), "{log}");
}

#[test]
fn a_detached_run_that_cannot_begin_says_so_where_it_was_typed() {
    let sandbox = sandbox();
    let _ = sandbox.run("run plan.toml --detach").exits(1).says("plan.toml");
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml --detach --agent nobody").exits(2).says("`nobody` is not defined");
    let _ = sandbox.run("run plan.toml --detach --dry-run").exits(2);
    let out = sandbox.run("run plan.toml --detach --json").exits(0);
    let json: serde_json::Value = serde_json::from_str(&out.stdout).expect("JSON");
    assert!(json["run"].as_str().is_some_and(|run| run.starts_with("plan-")), "{out}");
    until("the end", || sandbox.run("status").contains("every task is completed").then_some(()));
    let log = json["log"].as_str().expect("a path").replace("[ROOT]", sandbox.root().as_str());
    until("the end of its process", || {
        let last = sandbox.read(&log).lines().last().map(str::to_owned)?;
        last.contains("engine_stopped").then_some(())
    });
    // A name after it is the plan's, not the flag's.
    let _ = sandbox.run("run --detach plan.toml --quiet").exits(0);
    until("the end", || (count(&sandbox.events(), "engine_stopped") == 2).then_some(()));
}

/// `piton run | head`.
#[test]
fn a_reader_that_goes_away_does_not_end_a_run() {
    for more in [&["--json"][..], &["--verbose"]] {
        let sandbox = sandbox();
        sandbox.plan(&(task("T1", "") + &task("T2", "")));
        sandbox.script(&writers(&["T1", "T2"]));
        let args = ["run", "plan.toml"].into_iter().chain(more.iter().copied());
        let _ = sandbox.piton_by(&["sh", "-c", "\"$@\" 2>&1 | head -c 1", "sh"], args).run().exits(0);
        let _ = sandbox.run("status").exits(0).says("every task is completed");
    }
}

/// What a window shows beside its text: pushed at the beginning, popped at the end.
const POPPED: &str = "\u{1b}]2;\u{7}\u{1b}[23;0t";

#[test]
fn the_window_has_a_title_and_progress_while_the_run_goes_on() {
    let sandbox = waiting();
    let run = sandbox.piton_by(SESSION, ["run", "plan.toml"]).env("TERM_PROGRAM", "WezTerm");
    let (run, mut terminal) = run.spawn_on_terminal();
    terminal.until_shows("\u{1b}[22;0t");
    terminal.until_shows("\u{1b}]2;0/2 plan · piton\u{7}\u{1b}]9;4;1;0\u{7}");
    sandbox.meet("arrived");
    sandbox.meet("gate");
    terminal.until_shows("\u{1b}]2;1/2 plan · piton\u{7}\u{1b}]9;4;1;50\u{7}");
    let _ = run.wait().exits(0);
    terminal.until_shows(&format!("\u{1b}]9;4;0;0\u{7}{POPPED}"));
    assert_eq!(terminal.shown().matches(POPPED).count(), 1);
    // Others take it for a notification.
    let sandbox = waiting();
    let (run, mut terminal) = sandbox.piton_by(SESSION, ["run", "plan.toml"]).spawn_on_terminal();
    sandbox.meet("arrived");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    terminal.until_shows(POPPED);
    assert!(!terminal.shown().contains("]9;4"));
}

#[test]
fn a_run_that_is_killed_by_keys_leaves_the_window_as_it_was() {
    let sandbox = waiting();
    let run = sandbox.piton_by(SESSION, ["run", "plan.toml"]).env("TERM_PROGRAM", "ghostty");
    let (run, mut terminal) = run.pausing_at(&sandbox, "engine.attached", 1).spawn_on_terminal();
    terminal.until_shows("]9;4;1;0");
    for _ in 0..3 {
        terminal.types("\u{3}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    terminal.until_shows(&format!("\u{1b}]9;4;0;0\u{7}{POPPED}"));
    assert_eq!(run.wait().code, None, "it was killed");
}
