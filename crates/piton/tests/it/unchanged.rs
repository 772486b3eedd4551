//! A plan that was read before and has not changed since need not be read again, and one that has changed is.

use std::fs::{File, FileTimes};

use crate::sandbox;
use piton_testkit::sandbox::{Output, Sandbox, task};

/// Run a command with the clock an hour ahead: then no file can be written in the moment in which it was written last.
fn later(sandbox: &Sandbox, line: &str) -> Output {
    let clock = sandbox.root().join("clock");
    sandbox.write(&clock, "3600000");
    sandbox.piton(line.split(' ')).env("PITON_CLOCK", clock.as_str()).run()
}

fn notes(sandbox: &Sandbox) -> usize {
    std::fs::read_dir(sandbox.own().join("read")).map_or(0, Iterator::count)
}

#[test]
fn a_plan_is_noted_when_it_was_read_and_cannot_have_changed_since() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    assert_eq!(notes(&sandbox), 0, "it was written a moment ago, and may be again");
    let first = later(&sandbox, "next --plan plan.toml").exits(0);
    assert_eq!(notes(&sandbox), 1);
    assert_eq!(later(&sandbox, "next --plan plan.toml").exits(0).stdout, first.stdout);
    let _ = later(&sandbox, "start T1 --plan plan.toml").exits(0).says("attempt 1 started");
    assert_eq!(sandbox.events().iter().filter(|event| event.contains("run_created")).count(), 1);
}

#[test]
fn a_plan_that_was_changed_is_read_whatever_its_length_and_its_time() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    let _ = later(&sandbox, "next --plan plan.toml").exits(0);
    let path = sandbox.project().join("plan.toml");
    let looked = || std::fs::metadata(&path).expect("the plan is there");
    let (text, before) = (sandbox.read("plan.toml"), looked());
    sandbox.write("plan.toml", &text.replacen("[[task]]", "[[tosk]]", 1));
    let times = FileTimes::new().set_modified(before.modified().expect("it has a time"));
    let file = File::options().write(true).open(&path).expect("the plan is there");
    file.set_times(times).expect("it is ours");
    assert_eq!(
        (looked().len(), looked().modified().ok()),
        (before.len(), before.modified().ok()),
        "it looks the same"
    );
    let _ = later(&sandbox, "next --plan plan.toml").exits(1).says("tosk");
    sandbox.write("plan.toml", &text);
    let _ = later(&sandbox, "next --plan plan.toml").exits(0);
}

#[test]
fn what_a_plan_warns_of_is_said_each_time() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + "[[group]]\nid = 'used'\n[[group]]\nid = 'empty'\n"));
    let text = sandbox.read("plan.toml").replacen("[[task]]", "[[task]]\ngroup = 'used'", 1);
    sandbox.write("plan.toml", &text);
    for _ in 0..2 {
        let _ = later(&sandbox, "next --plan plan.toml").exits(0).says("no task is in the group `empty`");
    }
    assert_eq!(notes(&sandbox), 0);
}

#[test]
fn settings_of_the_project_count_as_part_of_the_plan() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    let _ = later(&sandbox, "next --plan plan.toml").exits(0);
    sandbox.write("piton.toml", "[polcy]\n");
    let _ = later(&sandbox, "next --plan plan.toml").exits(1).says("polcy");
}

#[test]
fn what_a_changed_plan_asks_for_is_asked_of_a_run_that_was_complete() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = []"));
    let _ = later(&sandbox, "report T1 done --plan plan.toml --no-change --reason nothing").exits(0);
    for _ in 0..2 {
        let _ = later(&sandbox, "complete").exits(0);
    }
    assert_eq!(notes(&sandbox), 1);
    sandbox.plan(&(task("T1", "checks = []") + &task("T2", "checks = []")));
    for _ in 0..2 {
        let _ = later(&sandbox, "complete").exits(4).says("T2       has changed in the plan, or is new");
    }
}
