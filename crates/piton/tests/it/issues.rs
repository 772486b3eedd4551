//! Plans of issues: written, found by number, and shown before anything is done.

use crate::{json, sandbox};
use piton_testkit::sandbox::Sandbox;

const PLANS: &str = ".claude/plans";

/// The worked example, in a repository of its own.
fn example() -> Sandbox {
    macro_rules! copy {
        ($sandbox:ident, $($name:literal),* $(,)?) => {
            $($sandbox.write($name, include_str!(concat!("../../../../examples/issue/", $name)));)*
        };
    }
    let sandbox = sandbox();
    copy![
        sandbox,
        "piton.toml",
        "check.sh",
        "spend.sh",
        "tests/sum.sh",
        ".claude/plans/issue-7-by-month/requirements.md",
        ".claude/plans/issue-7-by-month/design.md",
        ".claude/plans/issue-7-by-month/tasks.md",
    ];
    sandbox
}

#[test]
fn the_worked_example_is_shown() {
    let sandbox = example();
    let before = sandbox.fingerprint();
    shows!(sandbox.run("plan 7").exits(0), "the_worked_example");
    assert_eq!(sandbox.fingerprint(), before, "showing a plan changes nothing");
    let whole = sandbox.run("plan 7").stdout;
    for name in ["#7", "007", ".claude/plans/issue-7-by-month", ".claude/plans/issue-7-by-month/tasks.md"] {
        assert_eq!(sandbox.run(&format!("plan {name}")).exits(0).stdout, whole, "{name}");
    }
}

#[test]
fn a_plan_in_json_has_its_boxes_and_what_covers_what() {
    let plan = example().run("plan 7 --json").exits(0);
    assert_eq!(json(&plan, "/issue/branch"), "issue/7-by-month");
    assert_eq!(json(&plan, "/boxes/1/role"), "parent");
    assert_eq!(json(&plan, "/boxes/2/parent"), "1");
    assert_eq!(json(&plan, "/before/0/done"), true);
    assert_eq!(json(&plan, "/coverage/0/tests"), serde_json::json!(["1.2"]));
    assert_eq!(json(&plan, "/tasks/1/checks/0/name"), "sh check.sh");
    assert_eq!(json(&plan, "/max_parallel"), 1);
}

#[test]
fn a_new_plan_is_fine_as_it_is() {
    let sandbox = sandbox();
    sandbox.write("Makefile", "test:\n\ttrue\n");
    let wrote = sandbox.run("new issue 12 greeting").exits(0);
    assert!(wrote.stderr.contains("wrote .claude/plans/issue-12-greeting"), "{wrote}");
    let plan = sandbox
        .run("plan 12")
        .exits(0)
        .says("make test")
        .says("found in Makefile")
        .says("on issue/12-greeting");
    assert!(!plan.contains("warning"), "{plan}");
    let _ = sandbox.run("new issue 12 greeting").exits(1).says("exists already").says("--force");
    let _ = sandbox.run("new issue 12 greeting --force").exits(0);
    let _ = sandbox.run("new issue 12").exits(2).says("piton new issue NUMBER SLUG");
    let _ = sandbox.run("new issue twelve x").exits(2).says("is not the number of an issue");
    let long = "x".repeat(256);
    for slug in ["../x", "a/b", "C:", "con", &long] {
        let _ = sandbox
            .run(&format!("new issue 13 {slug}"))
            .exits(2)
            .says("cannot be part of a folder and a branch");
    }
    assert!(!sandbox.exists(".claude/plans/issue-13"));
}

#[test]
fn a_number_with_two_plans_or_none_is_refused() {
    let sandbox = sandbox();
    for name in ["issue-7-a", "issue-007-b", "issue-8"] {
        sandbox.write(format!("{PLANS}/{name}/tasks.md"), "- [ ] 1. a\n");
    }
    sandbox.write("piton.toml", "[defaults]\nchecks = []\n");
    shows!(sandbox.run("plan 7").exits(2), @r"
    exit: 2
    --- stderr
    error: issue 7 has several plans: say which

    hint: .claude/plans/issue-007-b
    hint: .claude/plans/issue-7-a
    ");
    shows!(sandbox.run("plan 9").exits(1), @r"
    exit: 1
    --- stderr
    error: there is no plan for issue 9 in .claude/plans

    hint: piton new issue 9 SLUG
    ");
    let _ = sandbox.run("plan 8").exits(0).says("on issue/8").says("none: what the agent says is believed");
    let _ = sandbox.run("status 8").exits(1).says("there is no run of .claude/plans/issue-8");
    let _ = sandbox.run("run 8 --max-parallel 2 --dry-run").exits(2).says("one after the other");
}

#[test]
fn a_project_without_checks_is_refused_unless_that_is_meant() {
    let sandbox = sandbox();
    sandbox.write(format!("{PLANS}/issue-1-x/plan.md"), "## Tasks\n- [ ] a\n");
    let _ = sandbox.run("plan 1").exits(1).says("no checks were found in the project").says("checks = []");
    sandbox.write("package.json", "{\"scripts\": {\"test\": \"node --test\", \"lint\": \"x\"}}");
    let _ = sandbox.run("plan 1").exits(0).says("npm run lint").says("found in package.json");
}

#[test]
fn a_folder_of_two_systems_is_refused() {
    let sandbox = sandbox();
    sandbox.write("both/tasks.md", "- [ ] 1. a\n");
    sandbox.write("both/design.md", "");
    sandbox.write("both/plan.toml", "");
    let _ = sandbox.run("plan both").exits(2).says("--dialect issue").says("--dialect native");
    sandbox.write("piton.toml", "[defaults]\nchecks = []\n");
    let _ = sandbox.run("plan both --dialect issue").exits(0).says("on issue/both");
}
