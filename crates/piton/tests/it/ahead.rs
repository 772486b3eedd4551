//! Conflicts that are seen while agents are at work.

use piton_testkit::sandbox::{Running, Sandbox, task};

use crate::sandbox;

/// A and B change the same line, and are held before they end. The first look comes after half a minute.
fn both_at_work(policy: &str) -> (Sandbox, Running) {
    let sandbox = sandbox();
    sandbox.write("log.txt", "Log\n");
    sandbox.git(["add", "log.txt"]);
    sandbox.plan_with(
        policy,
        &(task("A", "checks = ['grep -q A log.txt']") + &task("B", "checks = ['grep -q B log.txt']")),
    );
    for fifo in ["a", "b", "hold-a", "hold-b"] {
        sandbox.fifo(fifo);
    }
    sandbox.script(
        "[A]\nappend log.txt A\nmeet SIDE/a\nmeet SIDE/hold-a\n\
         [B]\nif-conflict write log.txt Log\\nA\\nB\nif-conflict exit 0\nappend log.txt B\nmeet SIDE/b\nmeet SIDE/hold-b\n",
    );
    let clock = sandbox.root().join("clock");
    sandbox.write(&clock, "0");
    let run = sandbox.piton(["run", "plan.toml", "--verbose"]).env("PITON_CLOCK", &clock).spawn();
    sandbox.meet("a");
    sandbox.meet("b");
    (sandbox, run)
}

fn half_a_minute_later(sandbox: &Sandbox) {
    sandbox.write(sandbox.root().join("clock"), "31000");
}

fn let_go(sandbox: &Sandbox, mut run: Running) {
    sandbox.meet("hold-a");
    run.until_says("A        landed");
    sandbox.meet("hold-b");
    let _ = run.wait().exits(0).says("B        landed");
}

#[test]
fn work_that_changes_the_same_lines_is_seen_before_it_lands() {
    let (sandbox, mut run) = both_at_work("");
    half_a_minute_later(&sandbox);
    run.until_says("a conflict is coming: with A in log.txt");
    let _ = sandbox.run("status").exits(0).says("B will be in conflict with A in log.txt");
    let _ = sandbox.run("queue").exits(0).says("B will be in conflict with A in log.txt");
    let _ = sandbox.run("why B").exits(0).says("its work will be in conflict with A in log.txt");
    let _ = sandbox.run("why A").exits(0).lacks("in conflict");
    let told = sandbox.run("status --json").exits(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(json["conflicts_ahead"]["B"][0]["with"], "A", "{json}");
    let _ = sandbox.run("prompt B").exits(0).says("it will be in conflict with A in log.txt");
    let_go(&sandbox, run);
    let _ = sandbox.run("status").exits(0).lacks("in conflict");
}

#[test]
fn what_a_person_commits_meets_work_under_way() {
    let (sandbox, mut run) = both_at_work("max_parallel = 2");
    sandbox.write("log.txt", "Log\nof a person\n");
    sandbox.git(["add", "log.txt"]);
    sandbox.commit("Write the log");
    half_a_minute_later(&sandbox);
    run.until_says("A        a conflict is coming: with the target in log.txt");
    sandbox.git(["revert", "--no-edit", "HEAD"]);
    let_go(&sandbox, run);
}

#[test]
fn whoever_does_not_want_it_is_not_told() {
    let (sandbox, mut run) = both_at_work("early_conflicts = false");
    half_a_minute_later(&sandbox);
    // The engine hears of it in the turn in which it would look, too.
    let _ = sandbox.run("guardrail add heard").exits(0);
    run.until_says("heard");
    let_go(&sandbox, run);
    let _ = sandbox.run("log").exits(0).lacks("a conflict is coming");
}
