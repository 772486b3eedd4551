//! Two checkouts with one journal: each on a machine of its own, as far as Piton can tell.

use std::process::Command;

use piton_testkit::postgres::PASSWORD;
use piton_testkit::sandbox::task;
use rustix::process::Signal;

use crate::{Scene, json};

#[test]
fn a_run_is_shown_everywhere_and_led_from_where_its_worktrees_are() {
    let Some(scene) = Scene::new() else { return };
    let sandbox = &scene.sandbox;
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n");
    let other = sandbox.root().join("other");
    sandbox.git(["clone", "-q", ".", other.as_str()]);
    // Its clock is three hours ahead.
    sandbox.write(sandbox.root().join("clock"), "10800000");
    let clock = sandbox.root().join("clock");
    let there = |line: &str| {
        scene.piton(line).within(&other).env("PITON_JOURNAL", scene.kept()).env("PITON_CLOCK", &clock)
    };
    let mut run = scene.piton("run plan.toml").env("PITON_JOURNAL", scene.kept()).spawn();
    sandbox.meet("arrived");
    let status = there("status --json").run().exits(0);
    assert_eq!(json(&status)["state"]["status"], "running", "{status}");
    let id = json(&there("runs --json").run().exits(0))["runs"][0]["run"].as_str().expect("an id").to_owned();
    let second = there("run plan.toml").run();
    let _ = second.exits(1).says("the worktrees of this run are in").lacks(PASSWORD);
    // A copy of the checkout, with all that Piton keeps in it, is another one.
    let copy = sandbox.root().join("copy");
    let copied = Command::new("cp").arg("-a").arg(sandbox.project()).arg(&copy).status().expect("cp");
    assert!(copied.success());
    let second = scene.piton("run plan.toml").within(&copy).run();
    let _ = second.exits(1).says("the worktrees of this run are in");
    // Whoever works by hand may be anywhere.
    let _ = there("next --plan plan.toml").run().exits(0).lacks("begins");
    assert_eq!(json(&there("runs --json").run().exits(0))["runs"].as_array().map(Vec::len), Some(1));
    let _ = there(&format!("status T1 --run {id}")).run().exits(0).says("in_progress");
    // What is said there is heard here, and times do not jump.
    let _ = there("stop").run().exits(0);
    sandbox.meet("gate");
    let _ = run.wait().exits(3);
    let _ = there("status").run().exits(0).says("stopped");
    run = scene.piton("run plan.toml").spawn();
    let _ = run.wait().exits(0).says("T2       landed");
    let events = scene.piton("log --json").run().exits(0).stdout;
    let times: Vec<i64> = events
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["at"].clone())
        .map(|at| at.as_i64().unwrap_or_default())
        .collect();
    assert!(times.is_sorted(), "{events}");
    assert!(
        times.last().zip(times.first()).is_some_and(|(last, first)| last - first < 3_600_000),
        "{events}"
    );
}

#[test]
fn an_engine_that_is_killed_is_followed_by_the_next_one_at_once() {
    let Some(scene) = Scene::new() else { return };
    let sandbox = &scene.sandbox;
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nappend SIDE/starts x\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n");
    let run = scene.piton("run plan.toml").env("PITON_JOURNAL", scene.kept()).spawn();
    sandbox.meet("arrived");
    run.signal(Signal::KILL);
    let _ = run.wait();
    let again = scene.piton("run plan.toml").spawn();
    sandbox.meet("gate");
    let _ = again.wait().exits(0).says("T2       landed");
    assert_eq!(sandbox.read(sandbox.root().join("starts")).lines().count(), 1, "its agent was taken over");
    let _ = scene.says("doctor", "the snapshot equals the fold");
}
