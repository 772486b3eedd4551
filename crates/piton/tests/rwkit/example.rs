//! The good day, and one that is interrupted.

use super::*;

#[test]
fn a_list_is_worked_on_batch_by_batch_and_its_boxes_are_ticked() {
    let sandbox = receipts("", "");
    let before = sandbox.read(LIST);
    let run = sandbox.run(RUN).exits(0);
    assert!(!run.contains("attempt 2"), "{run}");
    assert_eq!(statuses(&sandbox), ["completed"; 6]);
    assert_eq!(marks(&sandbox), "xxxxxx");
    let opened: String = sandbox.read(LIST).replace("- [x] T", "- [ ] T");
    assert_eq!(opened, before, "nothing else of the list has changed");
    let mut file = state(&sandbox);
    is_counted(&file);
    // Who is first in a batch differs.
    let logs = file["logs"].take();
    assert_eq!(logs[0]["message"], "Execution started");
    insta::assert_snapshot!("finished", masked(&sandbox, &format!("{file:#}\n")));
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M plans/1-1-receipts-todolist.md");
    // Whoever asks again finds nothing to do.
    let _ = sandbox.run(RUN).exits(0).lacks("attempt");
}

#[test]
fn every_reading_recipe_of_the_document_gives_the_right_answer() {
    let sandbox = receipts("", "");
    let _ = sandbox.run(RUN).exits(0);
    let Some(progress) = jq(&sandbox, ".progress.completed") else { return };
    assert_eq!(progress, "6");
    let gates = jq(&sandbox, ".quality_gates").expect("jq is there");
    assert!(gates.starts_with(r#"{"unit_tests":"passed","integration_tests":null"#), "{gates}");
    for (filter, answer) in [
        (".blocked_tasks", "[]"),
        (".degraded_phases", "[]"),
        (".resume_point", r#"{"batch_id":null,"task_id":null,"phase":null}"#),
        (".resume_point.phase // empty", ""),
        (".batches | map(.task_ids | length)", "[1,3,2]"),
        (".status", r#""completed""#),
    ] {
        assert_eq!(jq(&sandbox, filter).expect("jq is there"), answer, "{filter}");
    }
}

#[test]
fn a_run_that_is_stopped_in_the_middle_of_a_batch_goes_on_there() {
    let sandbox = receipts("", "[T003]\nmeet SIDE/gate\nwrite docs/keep.md x\n[T004]\nhang\n");
    sandbox.fifo("gate");
    let mut run = sandbox.piton(RUN.split(' ')).spawn();
    run.until_says("T002     landed");
    let _ = sandbox.run("stop --now").exits(0);
    let _ = run.wait().exits(3);
    let paused = state(&sandbox);
    assert_eq!((&paused["status"], &paused["stop_reason"]), (&"paused".into(), &"user".into()));
    assert_eq!(paused["resume_point"]["batch_id"], 1);
    let _ = sandbox.run("resume-point").exits(0).says("Resume from: Phase implementation, Batch 1");
    act(&sandbox, "");
    let _ = sandbox.run(RUN).exits(0).lacks("T001     attempt").lacks("T002     attempt");
    assert_eq!(statuses(&sandbox), ["completed"; 6]);
    is_counted(&state(&sandbox));
}

#[test]
fn what_it_is_said_before_anything_is_done() {
    let sandbox = receipts("", "");
    sandbox.write(
        LIST,
        &sandbox
            .read(LIST)
            .replace("[deps: T004] [files: docs/find.md]", "[deps: T009] [files: docs/find.md]"),
    );
    let _ = sandbox
        .run("plan plans/1-1-receipts-todolist.md")
        .exits(1)
        .says("T009")
        .says("plans/1-1-receipts-todolist.md:36:67")
        .says("plans/1-1-receipts-todolist.md has 1 problem");
    let _ = sandbox.run("new rwkit shop").exits(0).says("plans/shop-todolist.md");
    let _ = sandbox.run("plan plans/shop-todolist.md").exits(0).says("T002");
    let _ = sandbox.run("ops --dialect rwkit").exits(0).says("piton gate NAME passed");
}
