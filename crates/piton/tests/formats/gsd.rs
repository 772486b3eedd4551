//! Roadmaps of GSD, from outside: the worked example is planned and run, and its files are looked at byte by byte.

use piton_testkit::sandbox::Sandbox;

use crate::{landed, project, status};

const ROADMAP: &str = ".planning/ROADMAP.md";
const FIRST: &str = ".planning/phases/01-count/01-01-SUMMARY.md";
const WORK: &str = "\
[01-01]
write count.sh wc -l < \"$1\"
[01-02]
write count.sh test -f \"$1\" || exit 2; wc -l < \"$1\"
[02-01]
write docs/count.md count.sh FILE
";

fn roadmap() -> Sandbox {
    project("gsd", WORK)
}

#[test]
fn the_plan_shows_the_phases_with_what_judges_each_plan() {
    insta::assert_snapshot!(roadmap().run("plan .planning").exits(0).to_string(), @r#"
    exit: 0
    --- stdout
    Counting-lines 3 tasks in 2 groups, up to 3 at once

    Phase 1: Count
      01-01    Count one file  .planning/phases/01-count/01-01-PLAN.md:20  [grep -q 'wc -l' count.sh; sh -n count.sh]
      01-02    Reject what is not a file ← 01-01  .planning/phases/01-count/01-02-PLAN.md:16  [grep -q "exit 2" count.sh && grep -q "wc -l" count.sh; sh -n count.sh]

    Phase 2: Show
      02-01    Describe it ← 01-02  .planning/phases/02-show/02-01-PLAN.md:12  [grep -q count.sh docs/count.md; sh -n count.sh]

    critical path 3 steps: 01-01 → 01-02 → 02-01
    --- stderr
    .planning/ROADMAP.md is read as a plan of the gsd system
    "#);
}

#[test]
fn a_run_writes_a_summary_for_each_plan_and_ticks_its_box_and_nothing_else() {
    let sandbox = roadmap();
    let before = sandbox.read(ROADMAP).replace('\n', "\r\n");
    sandbox.write(ROADMAP, &before);
    let state = sandbox.read(".planning/STATE.md");
    sandbox.commit("As an editor writes it");
    let run = sandbox.run("run .planning").exits(0);
    assert!(!run.contains("attempt 2"), "{run}");
    assert_eq!(landed(&sandbox), ["01-01", "01-02", "02-01"]);
    let ticked = before.replace("- [ ] 0", "- [x] 0");
    assert_eq!(sandbox.read(ROADMAP), ticked, "the boxes of the phases and the table are GSD's");
    assert_eq!(sandbox.read(".planning/STATE.md"), state);
    let summary = sandbox.read(FIRST);
    assert!(summary.starts_with("---\nphase: \"01-count\"\nplan: \"01-01\"\n"), "{summary}");
    assert!(summary.contains("\n- landed as ") && summary.contains("` passed\n"), "{summary}");
    assert!(summary.contains("    - \"count.sh\"\n"), "{summary}");
    assert!(!sandbox.exists(".planning/.lock"), "nobody holds it any more");
    // Whatever was written, the plan is the same, and all of it is done.
    let _ = sandbox.run("run .planning").exits(0).lacks("attempt");
}

#[test]
fn a_plan_with_a_summary_is_not_done_again_and_a_tick_without_one_is_none() {
    let sandbox = roadmap();
    sandbox.write("count.sh", "wc -l < \"$1\"\n");
    sandbox.write(FIRST, "Done by hand.\n");
    sandbox.write(ROADMAP, &sandbox.read(ROADMAP).replace("- [ ] 01-02", "- [x] 01-02"));
    sandbox.commit("The first plan is done");
    let _ = sandbox.run("run .planning").exits(0).lacks("01-01    attempt");
    assert_eq!(landed(&sandbox), ["01-02", "02-01"]);
    assert_eq!(sandbox.read(FIRST), "Done by hand.\n", "it is somebody else's");
    assert_eq!(status(&sandbox, "01-01"), "completed");
}

#[test]
fn a_plan_that_gsd_carries_out_during_a_run_is_a_claim() {
    let sandbox = roadmap();
    let _ = sandbox.run("next --plan .planning").exits(0);
    let before = sandbox.read(ROADMAP);
    // A tick alone says nothing.
    sandbox.write(ROADMAP, &before.replace("- [ ] 01-01", "- [x] 01-01"));
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!(sandbox.read(ROADMAP), before);
    assert_ne!(status(&sandbox, "01-01"), "completed");
    let _ = sandbox.run("log").exits(0).says("it has no summary");
    // With a summary and work on the branch it is judged.
    sandbox.write("count.sh", "wc -l < \"$1\"\n");
    sandbox.commit("Count [01-01]");
    sandbox.write(FIRST, "Done by GSD.\n");
    sandbox.write(ROADMAP, &before.replace("- [ ] 01-01", "- [x] 01-01"));
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!(status(&sandbox, "01-01"), "completed");
    assert_eq!(sandbox.read(FIRST), "Done by GSD.\n");
}

#[test]
fn the_lock_of_gsd_is_waited_for() {
    let sandbox = roadmap();
    let _ = sandbox.run("next --plan .planning").exits(0);
    let _ = sandbox.run("doctor").exits(0);
    sandbox.write(".planning/.lock", "{\"pid\":1,\"cwd\":\"/x\",\"acquired\":\"now\"}");
    let _ = sandbox.run("doctor").says(".planning/.lock exists");
}

#[test]
fn what_git_ignores_reaches_the_agents_by_their_prompts() {
    let sandbox = roadmap();
    sandbox.write(".gitignore", ".planning/\n");
    sandbox.git(["rm", "-rq", "--cached", ".planning"]);
    sandbox.commit("The plans are nobody else's business");
    let _ = sandbox.run("run .planning").exits(0);
    assert_eq!(landed(&sandbox), ["01-01", "01-02", "02-01"]);
    assert!(sandbox.read(FIRST).contains("\n- landed as "));
    let prompt = sandbox.run("prompt 01-01").exits(0);
    let _ = prompt.says("Print the number of lines").says("Use `wc`, and no other program.");
}
