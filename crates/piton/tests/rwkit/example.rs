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
    // The order in a batch differs.
    let logs = file["logs"].take();
    assert_eq!(logs[0]["message"], "Execution started");
    insta::assert_snapshot!("finished", masked(&sandbox, &format!("{file:#}\n")));
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M plans/1-1-receipts-todolist.md");
    // A second run finds nothing to do.
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
    let ops = sandbox.run("ops --dialect rwkit").exits(0).says("piton gate NAME passed");
    let _ = ops.says("piton add ID --title TEXT --story ID").lacks("piton context");
}

#[test]
fn a_run_that_dies_in_the_middle_of_a_batch_goes_on_to_the_same_end() {
    for point in ["landing.moved:2", "engine.after-commit:12", "files.before-write:7", "files.written:9"] {
        let sandbox = receipts("", "");
        let killed = sandbox.piton(RUN.split(' ')).env("PITON_CRASH", point).run();
        assert_eq!(killed.code, None, "{point}: {killed}");
        let _ = sandbox.run(RUN).exits(0);
        assert_eq!(statuses(&sandbox), ["completed"; 6], "{point}");
        assert_eq!(marks(&sandbox), "xxxxxx", "{point}");
        is_counted(&state(&sandbox));
        let landed = sandbox.git(["log", "--oneline", "--grep", "^\\[T0"]);
        assert_eq!(landed.lines().count(), 6, "{point}: each once\n{landed}");
        let _ = sandbox.run("doctor").exits(0);
    }
}

/// What the document does by hand, each as a command.
#[test]
fn every_operation_of_the_document_is_a_command() {
    let sandbox = receipts("[gates.qa_review]\nrun = \"true\"\n", "");
    let run = |line: &str| sandbox.run(line).exits(0);
    let _ = run("next --plan plans/1-1-receipts-todolist.md").says("T001");
    let _ = run("add T007 --title More --story US-001 --after T006 --file docs/more.md");
    let _ = run("start T001 --by ann");
    let _ = run("report T001 failed --reason none --by ann");
    let _ = run("start T001 --by ann");
    sandbox.write("receipts.sh", "echo help\n");
    let _ = run("verify T001").says("receipts.sh exists");
    sandbox.commit("By hand");
    let _ = run("report T001 done --by ann --file receipts.sh");
    let _ = run("start T002 --by ann");
    let _ = run("report T002 blocked --reason stuck --by ann");
    let _ = run("gate smoke_test degraded --reason late");
    let _ = run("gate")
        .says("smoke_test           degraded")
        .says("uat                  not asked for in piton.toml");
    let _ = sandbox.run("gate qa_review failed --reason wrong").exits(1).says("has to wait");
    let _ = run("batch").says("  1 ").says("T002, T003, T004");
    let _ = run("batch 0 --compacted").says("batch 0 was followed by a compaction");
    let _ = run("resume-point").says("Resume from: Phase implementation, Batch 1, Task T003");
    let _ = sandbox.piton(["journal", "add", "error: look"]).run().exits(0).says("look");
    let _ = run("log").says("look");
    let _ = run("progress");
    // Once nothing else can go on, the gates have their turn.
    for id in ["T003", "T004", "T005", "T006", "T007"] {
        let _ = run(&format!("skip {id} --reason late"));
    }
    let _ = run("gate unit_tests degraded --reason late");
    let _ = run("gate qa_review failed --reason wrong");
    let _ = sandbox.run("complete").exits(4);
    let file = state(&sandbox);
    is_counted(&file);
    assert_eq!(
        (&file["tasks"]["T001"]["status"], &file["retry_counts"]["T001"]),
        (&"completed".into(), &1.into())
    );
    assert_eq!(file["tasks"]["T001"]["files_mentioned"], serde_json::json!(["receipts.sh"]));
    assert_eq!(file["blocked_tasks"], serde_json::json!(["T002"]));
    assert_eq!((&file["qa_cycles"], &file["batches"][0]["compacted"]), (&1.into(), &true.into()));
    let lines = file["logs"].as_array().expect("lines");
    let look = lines.iter().find(|line| line["message"] == "look").expect("it is there");
    assert_eq!(look["level"], "error");
}
