//! In which order tasks start, and which of them.

use crate::{place, sandbox, status};
use piton_testkit::sandbox::{Sandbox, task, writers};

/// Two layers: A, B and C after A; then D.
fn layers(sandbox: &Sandbox, policy: &str) {
    let tasks = [
        task("A", "group = 'one'"),
        task("B", "group = 'one'"),
        task("C", "group = 'one'\ndepends_on = ['A']"),
        task("D", "group = 'two'"),
    ];
    sandbox.plan_with(policy, &format!("[[group]]\nid = 'one'\n[[group]]\nid = 'two'\n{}", tasks.concat()));
    sandbox.fifo("gate");
    sandbox.script(&format!("[B]\nmeet SIDE/gate\nwrite B.txt x\n{}", writers(&["A", "C", "D"])));
}

#[test]
fn layers_are_worked_on_in_order_and_freed_slots_are_filled() {
    let sandbox = sandbox();
    layers(&sandbox, "");
    let mut run = sandbox.piton(["run", "plan.toml", "--max-parallel", "2"]).spawn();
    // C gets the slot of A while B is still at work.
    run.until_says("C        landed");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    let events = sandbox.events();
    assert!(place(&events, "completed", "B") < place(&events, "attempt_started", "D"));
}

#[test]
fn batches_wait_for_each_other() {
    let sandbox = sandbox();
    layers(&sandbox, "schedule = 'batch'");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("A        landed");
    let _ = sandbox.run("why C").exits(0).says("the batch of level 0 is not finished");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    let events = sandbox.events();
    assert!(place(&events, "completed", "B") < place(&events, "attempt_started", "C"));
    assert!(place(&events, "completed", "C") < place(&events, "attempt_started", "D"));
}

#[test]
fn flow_knows_no_layers() {
    let sandbox = sandbox();
    layers(&sandbox, "");
    let mut run = sandbox.piton(["run", "plan.toml", "--schedule", "flow"]).spawn();
    run.until_says("D        landed");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
}

#[test]
fn priority_goes_before_the_id_and_ids_count_as_people_do() {
    let sandbox = sandbox();
    sandbox.plan(
        &["T10", "T2", "T1"].map(|id| task(id, if id == "T1" { "priority = 60" } else { "" })).concat(),
    );
    sandbox.script(&writers(&["T1", "T2", "T10"]));
    let _ = sandbox.run("run plan.toml --max-parallel 1").exits(0);
    let merges = sandbox.history("main").split_off(2);
    assert_eq!(merges, ["T2", "T10", "T1"].map(|id| format!("Merge worktree-{id}: Do {id}")));
}

#[test]
fn no_more_tasks_are_at_work_than_allowed() {
    let sandbox = sandbox();
    let ids = ["T1", "T2", "T3", "T4", "T5"];
    sandbox.plan(&ids.map(|id| task(id, "")).concat());
    sandbox.script(&writers(&ids));
    let _ = sandbox.run("run plan.toml --max-parallel 2").exits(0);
    let (mut working, mut most) = (0_i32, 0_i32);
    for event in sandbox.events() {
        working += i32::from(event.contains("\"attempt_started\""))
            - i32::from(event.contains("\"event\":\"work_captured\""));
        most = most.max(working);
    }
    assert_eq!(most, 2);
}

#[test]
fn one_layer_alone() {
    let sandbox = sandbox();
    layers(&sandbox, "");
    let _ = sandbox.run("run plan.toml --layer two").exits(0).says("what was selected is completed");
    assert_eq!(["A", "D"].map(|id| status(&sandbox, id)), ["pending", "completed"]);
    let _ = sandbox.run("status").exits(0).says("stopped: what was selected is done");
}

#[test]
fn a_layer_and_those_after_it() {
    let sandbox = sandbox();
    sandbox.plan(&format!(
        "[[group]]\nid = 'one'\n[[group]]\nid = 'two'\n[[group]]\nid = 'three'\n{}",
        [task("A", "group = 'one'"), task("B", "group = 'two'"), task("C", "group = 'three'")].concat()
    ));
    sandbox.script(&writers(&["A", "B", "C"]));
    let _ = sandbox.run("run plan.toml --start-layer two").exits(0);
    assert_eq!(["A", "B", "C"].map(|id| status(&sandbox, id)), ["pending", "completed", "completed"]);
    let events = sandbox.events();
    assert!(place(&events, "completed", "B") < place(&events, "attempt_started", "C"));
}

#[test]
fn one_task_alone_needs_what_it_depends_on() {
    let sandbox = sandbox();
    layers(&sandbox, "");
    shows!(sandbox.run("run plan.toml --task C").exits(1), @r"
    exit: 1
    --- stderr
    error: C depends on tasks that are not done: A

    hint: piton run plan.toml   works on the whole plan
    ");
    let _ = sandbox.run("run plan.toml --task A").exits(0);
    let _ = sandbox.run("run plan.toml --task C").exits(0);
    assert_eq!(["A", "B", "C"].map(|id| status(&sandbox, id)), ["completed", "pending", "completed"]);
}

#[test]
fn a_selection_that_is_not_done_is_no_success() {
    let sandbox = sandbox();
    sandbox.plan(&(task("A", "attempts = 1") + &task("B", "")));
    sandbox.script("[A]\nsay no\n");
    let _ = sandbox.run("run plan.toml --task A").exits(4);
}

#[test]
fn unknown_selections_name_what_there_is() {
    let sandbox = sandbox();
    layers(&sandbox, "");
    let _ = sandbox
        .run("run plan.toml --layer three")
        .exits(1)
        .says("there is no layer three")
        .says("the layers are one, two");
    let _ = sandbox.run("run plan.toml --task Z").exits(1).says("there is no task Z");
    // Nothing was begun on the way.
    let _ = sandbox.run("status").exits(1).says("there is no run");
}

#[test]
fn an_empty_layer_holds_nobody_up() {
    let sandbox = sandbox();
    sandbox.plan(&format!(
        "[[group]]\nid = 'one'\n[[group]]\nid = 'two'\n[[group]]\nid = 'three'\n{}{}",
        task("A", "group = 'one'"),
        task("C", "group = 'three'")
    ));
    sandbox.script(&writers(&["A", "C"]));
    let _ = sandbox.run("run plan.toml").exits(0).says("every task is completed");
}
