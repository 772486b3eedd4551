//! The document's own `jq` recipes, beside an engine and without one.

use super::*;

#[test]
fn recipes_beside_an_engine_are_heard_and_it_goes_on() {
    let sandbox = receipts(
        "[policy]\nbackoff = \"0s\"\nmax_parallel = 1\n",
        "[T001]\nmeet SIDE/gate\nwrite receipts.sh help\n",
    );
    sandbox.fifo("gate");
    let mut run = sandbox.piton(RUN.split(' ')).spawn();
    run.until_says("T001     attempt 1 started");
    // T003 is claimed by somebody else, a line is logged, and a counter is counted up by hand.
    let logged = r#".logs += [{"timestamp": "2026-01-01T00:00:00Z", "level": "warning", "message": "Look at T006"}] | .progress.pending -= 3 | .updated_at = "x""#;
    if !recipe(&sandbox, logged) {
        sandbox.meet("gate");
        let _ = run.wait();
        return;
    }
    run.until_says("Look at T006");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    let file = state(&sandbox);
    is_counted(&file);
    let logs = file["logs"].as_array().expect("lines");
    let line = logs.iter().find(|line| line["message"] == "Look at T006").expect("it is kept");
    assert_eq!(line["level"], "warning");
}

#[test]
fn a_ledger_of_recipes_alone_ends_with_the_right_counts() {
    let sandbox = receipts("", "");
    let _ = sandbox.run("next --plan plans/1-1-receipts-todolist.md").exits(0);
    let claim = r#".tasks["T001"].status = "in_progress" | .tasks["T001"].started_at = "2026-01-01T00:00:00Z" | .progress.in_progress += 1 | .progress.pending -= 1"#;
    if !recipe(&sandbox, claim) {
        return;
    }
    let _ = sandbox.run("status").exits(0);
    // Four failures: the recipes' own arithmetic ends at pending -3.
    for n in 1..=4 {
        let failed = format!(
            r#".tasks["T001"].status = "failed" | .tasks["T001"].error = "Build failed {n}" | .retry_counts["T001"] = ((.retry_counts["T001"] // 0) + 1) | .progress.failed += 1 | .progress.in_progress -= 1"#
        );
        assert!(recipe(&sandbox, &failed));
        let _ = sandbox.run("journal add looked").exits(0);
    }
    let file = state(&sandbox);
    is_counted(&file);
    assert_eq!(file["tasks"]["T001"]["status"], "blocked", "{file:#}");
    assert_eq!(file["retry_counts"]["T001"], 4);
    assert_eq!(file["progress"]["skipped"], 5);
}

#[test]
fn a_claim_of_done_runs_the_checks() {
    let sandbox = receipts("", "");
    let _ = sandbox.run("next --plan plans/1-1-receipts-todolist.md").exits(0);
    let done = r#".tasks["T001"].status = "completed" | .tasks["T001"].files_modified = ["receipts.sh"] | .tasks["T001"].verification.agent_done = true | .progress.completed += 1"#;
    if !recipe(&sandbox, done) {
        return;
    }
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!(statuses(&sandbox)[0], "failed", "the file is not there");
    sandbox.write("receipts.sh", "echo help");
    assert!(recipe(&sandbox, done));
    let _ = sandbox.run("journal add looked").exits(0);
    let file = state(&sandbox);
    assert_eq!(file["tasks"]["T001"]["status"], "completed", "{file:#}");
    assert_eq!(file["tasks"]["T001"]["verification"]["state_synced"], true);
    assert_eq!(marks(&sandbox), "x     ");
}

#[test]
fn a_box_that_is_ticked_by_hand_is_a_claim() {
    let sandbox = receipts("", "");
    let _ = sandbox.run("next --plan plans/1-1-receipts-todolist.md").exits(0);
    sandbox.write(LIST, &sandbox.read(LIST).replace("- [ ] T001", "- [x] T001"));
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!(statuses(&sandbox)[0], "failed");
    assert_eq!(marks(&sandbox), "      ", "what is not done is not ticked");
}
