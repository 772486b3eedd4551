//! Plans of issues: written, found by number, and shown before anything is done.

use crate::{json, sandbox};
use piton_testkit::sandbox::Sandbox;

const PLANS: &str = ".claude/plans";

/// The worked example, in a repository of its own.
fn example() -> Sandbox {
    let sandbox = sandbox();
    sandbox.copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/issue"), "");
    sandbox
}

#[test]
fn the_worked_example_is_shown() {
    let sandbox = example();
    let before = sandbox.fingerprint();
    shows!(sandbox.run("plan 7").exits(0), @r#"
    exit: 0
    --- stdout
    issue-7-by-month 8 tasks (1 done before), one after the other, on issue/7-by-month

    Phase 1: Sums
      [x] 0      Create Feature Branch  (Piton does this)
      [ ] 1      Sums by month
        [ ] 1.1    Add `--by-month` to `spend.sh`
        [ ] 1.2    Write `tests/by-month.sh`  (2 steps)
      [ ] 2      Checkpoint - Months are summed

    Phase 2: Mistakes
      [ ] 3      Tell mistakes
        [ ] 3.1    Refuse options that are not known, and lines without an amount
        [ ] 3.2    Write `tests/mistakes.sh`
        [ ] 3.3    Name the option that was probably meant  (optional)
      [ ] 4      Final Checkpoint

    checks of every task
      sh check.sh  set in piton.toml
      0       git rev-parse --verify --quiet refs/heads/issue/7-by-month
      2       test -s tests/by-month.sh

    requirements
      1.1    1.1, 1.2; tests: 1.2  WHEN `sh spend.sh --by-month` is run, THE system SHALL print…
      1.2    1.1, 1.2; tests: 1.2  THE lines SHALL be in the order of the months
      1.3    1.1, 1.2; tests: 1.2  WHEN no option is given, THE system SHALL print the sum of e…
      2.1    3.1, 3.2, 3.3; tests: 3.2  IF an option is not known, THEN THE system SHALL say so on s…
      2.2    3.1, 3.2; tests: 3.2  IF a line has no amount, THEN THE system SHALL name its numb…
    --- stderr
    .claude/plans/issue-7-by-month is read as a plan of the issue system
    warning: the agent `default` is not defined in the plan or piton.toml
    hint: add to piton.toml:
      [agents.default]
      command = ["your-agent", "--its-flags"]
    "#);
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
    sandbox.write("piton.toml", "[agents.default]\ncommand = 'true'\n");
    let wrote = sandbox.run("new issue 12 greeting").exits(0);
    assert!(wrote.stderr.contains("wrote .claude/plans/issue-12-greeting"), "{wrote}");
    let plan = sandbox
        .run("plan 12")
        .exits(0)
        .says("make test")
        .says("found in Makefile")
        .says("on issue/12-greeting");
    assert!(!plan.contains("warning"), "{plan}");
    let _ = sandbox.run("new issue 12 greeting").exits(1).says("already exists").says("--force");
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
    error: issue 7 has several plans: name one

    hint: .claude/plans/issue-007-b
    hint: .claude/plans/issue-7-a
    ");
    shows!(sandbox.run("plan 9").exits(1), @r"
    exit: 1
    --- stderr
    error: there is no plan for issue 9 in .claude/plans

    hint: piton new issue 9 SLUG
    ");
    sandbox.git(["remote", "add", "origin", "https://gitlab.com/ada/shop.git"]);
    let _ = sandbox.run("run 9").exits(1).says("hint: piton plan gl:#9   asks for the issue\n");
    let _ = sandbox.run("run nine").exits(1).lacks("gl:#");
    let _ =
        sandbox.run("plan 8").exits(0).says("on issue/8").says("none: Piton trusts what the agent reports");
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

#[test]
fn signs_that_were_decoded_wrongly_are_put_right_if_asked() {
    let sandbox = example();
    let list = format!("{PLANS}/issue-7-by-month/tasks.md");
    let text = sandbox
        .read(&list)
        .replace('\n', "\r\n")
        .replace("- [ ] 4. Final", "- [\u{e2}\u{153}\u{2026}] 4. Final");
    let wrong = text.replace("sort by month", "first \u{e2}\u{2020}\u{2019} last \u{e2}\u{2020}\u{2019} end");
    sandbox.write(&list, &wrong);
    sandbox.write(format!("{list}.bak"), "mine");
    let _ = sandbox.run("plan 7").exits(0);
    assert_eq!(sandbox.read(&list), wrong, "nobody asked");
    let run = sandbox.run("plan 7 --fix-encoding").exits(0);
    let _ = run
        .says("tasks.md: \u{e2}\u{153}\u{2026} is \u{2705}; \u{e2}\u{2020}\u{2019} is \u{2192}, 2 times. It was kept as")
        .says("tasks.md.bak2");
    let right =
        wrong.replace("\u{e2}\u{2020}\u{2019}", "\u{2192}").replace("\u{e2}\u{153}\u{2026}", "\u{2705}");
    assert_eq!(sandbox.read(&list), right);
    assert_eq!(sandbox.read(format!("{list}.bak2")), wrong);
    assert_eq!(sandbox.read(format!("{list}.bak")), "mine");
    let _ = sandbox.run("plan 7 --fix-encoding").exits(0).says("the plan has no wrongly decoded characters");
    assert!(!sandbox.exists(format!("{list}.bak3")));
}
