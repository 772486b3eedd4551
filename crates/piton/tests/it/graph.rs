//! The plan as a graph.

use piton_testkit::sandbox::{Sandbox, task, writers};

use crate::sandbox;

/// T2 and T3 after T1; T4 after both.
fn diamond() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(
        &(task("T1", "")
            + &task("T2", "depends_on = ['T1']")
            + &task("T3", "depends_on = ['T1']")
            + &task("T4", "depends_on = ['T2', 'T3']")),
    );
    sandbox.script(&writers(&["T1", "T2", "T3", "T4"]));
    sandbox
}

#[test]
fn a_plan_is_drawn_before_it_has_a_run_and_afterwards() {
    let sandbox = diamond();
    shows!(sandbox.run("graph plan.toml").exits(0), @r"
    exit: 0
    --- stdout
    plan 4 tasks in 3 levels: 4 pending

    · T1  Do T1
    ├─ · T2  Do T2
    │  └─ · T4  Do T4  also after T3
    └─ · T3  Do T3
    ");
    let _ = sandbox.run("graph").exits(1).says("there is no run");
    let _ = sandbox.run("run plan.toml --task T1").exits(0);
    shows!(sandbox.run("graph").exits(0), @r"
    exit: 0
    --- stdout
    plan-[RUN] 4 tasks in 3 levels: 3 pending, 1 completed

    ✓ T1  Do T1
    ├─ · T2  Do T2
    │  └─ · T4  Do T4  also after T3
    └─ · T3  Do T3
    ");
    assert_eq!(sandbox.run("graph plan.toml").exits(0).stdout, sandbox.run("graph").stdout);
}

#[test]
fn a_narrow_terminal_cuts_titles() {
    let sandbox = diamond();
    let narrow = sandbox.piton(["graph", "plan.toml"]).env("COLUMNS", "12").run().exits(0);
    let lines: Vec<&str> = narrow.stdout.lines().skip(2).collect();
    assert_eq!(lines, ["· T1  Do T1", "├─ · T2  Do ", "│  └─ · T4  ", "└─ · T3  Do "]);
}

#[test]
fn a_plan_is_drawn_for_other_programs() {
    let sandbox = diamond();
    let _ = sandbox.run("run plan.toml --task T1").exits(0);
    let _ = sandbox.run("graph --format dot").exits(0).says("\"T2\" -> \"T4\";");
    let _ = sandbox.run("graph --format mermaid").exits(0).says("n0[\"T1: Do T1\"]:::done").says("n0 --> n1");
    let svg = sandbox.run("graph --format svg").exits(0);
    let _ = svg.says("<title>T1: Do T1 (completed)</title>").lacks("<script");
    let _ = sandbox.run("graph --format gif").exits(2).says("[possible values: text, dot, mermaid, svg]");
}

#[test]
fn a_large_plan_says_that_groups_are_folded() {
    let sandbox = sandbox();
    let group = |name: &str| format!("[[group]]\nid = \"{name}\"\n");
    let tasks: String = (0..80)
        .map(|n| task(&format!("T{n}"), &format!("group = '{}'", if n < 40 { "base" } else { "roof" })))
        .collect();
    sandbox.write("plan.toml", &sandbox.plan_text("", &(group("base") + &group("roof") + &tasks)));
    let shown = sandbox.run("graph plan.toml").exits(0);
    let _ = shown.says("· base  40 tasks, 0 completed").says("80 tasks are folded into their groups");
    let all = sandbox.run("graph plan.toml --all").exits(0);
    assert!(all.stdout.contains("T79") && !all.stderr.contains("behind"), "{all}");
}

#[test]
fn what_a_title_holds_stays_text() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "").replace("Do T1", "red <b>"));
    let _ = sandbox.run("graph plan.toml").exits(0).says("red <b>");
    let _ = sandbox.run("graph plan.toml --format svg").exits(0).says("red &lt;b&gt;").lacks("<b>");
}
