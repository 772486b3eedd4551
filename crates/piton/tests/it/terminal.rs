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
