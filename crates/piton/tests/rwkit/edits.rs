//! The document's own `jq` recipes, beside an engine and without one.

use piton_testkit::sandbox::until;

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
    // Another holder claims T003, a line is logged, and a counter is counted up by hand.
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
    let _ = sandbox.run("start T001").exits(0);
    if !recipe(&sandbox, done) {
        return;
    }
    let looked = sandbox.run("journal add looked").exits(0);
    let looked = looked.says("rejected an edit of").says("T001: receipts.sh: it does not exist");
    let _ = looked.says("nothing was committed since T001 began");
    assert_eq!(statuses(&sandbox)[0], "in_progress", "the file is not there");
    sandbox.write("receipts.sh", "echo help");
    sandbox.commit("By hand");
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
    sandbox.write("other.txt", "x");
    sandbox.commit("By hand");
    sandbox.write(LIST, &sandbox.read(LIST).replace("- [ ] T001", "- [x] T001"));
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!(statuses(&sandbox)[0], "failed");
    assert_eq!(marks(&sandbox), "      ", "what is not done is not ticked");
}

/// The document's own recipes, word for word, with their variables.
pub(crate) const RECIPES: [(&str, &str); 14] = [
    (
        "claim",
        r#"jq --arg tid "T003" --arg ts "$(date -Iseconds)" '
  .tasks[$tid].status = "in_progress" |
  .tasks[$tid].started_at = $ts |
  .progress.in_progress += 1 |
  .progress.pending -= 1 |
  .updated_at = $ts
'"#,
    ),
    (
        "complete",
        r#"jq --arg tid "T003" --arg ts "$(date -Iseconds)" --argjson files '["docs/keep.md"]' '
  .tasks[$tid].status = "completed" |
  .tasks[$tid].completed_at = $ts |
  .tasks[$tid].files_modified = $files |
  .tasks[$tid].files_mentioned = $files |
  .tasks[$tid].verification.agent_done = true |
  .progress.completed += 1 |
  .progress.in_progress -= 1 |
  .updated_at = $ts
'"#,
    ),
    (
        "verify",
        r#"jq --arg tid "T002" --arg ts "$(date -Iseconds)" '
  .tasks[$tid].verification.files_exist = true |
  .updated_at = $ts
'"#,
    ),
    (
        "sync",
        r#"jq --arg tid "T002" --arg ts "$(date -Iseconds)" '
  .tasks[$tid].verification.state_synced = true |
  .progress.verified += 1 |
  .updated_at = $ts
'"#,
    ),
    (
        "failed",
        r#"jq --arg tid "T004" --arg ts "$(date -Iseconds)" --arg error "Build failed: missing dependency" '
  .tasks[$tid].status = "failed" |
  .tasks[$tid].error = $error |
  .retry_counts[$tid] = ((.retry_counts[$tid] // 0) + 1) |
  .progress.failed += 1 |
  .progress.in_progress -= 1 |
  .updated_at = $ts
'"#,
    ),
    (
        "blocked",
        r#"jq --arg tid "T004" --arg ts "$(date -Iseconds)" '
  .tasks[$tid].status = "blocked" |
  .blocked_tasks += [$tid] |
  .progress.blocked += 1 |
  .progress.failed -= 1 |
  .updated_at = $ts |
  .logs += [{"timestamp": $ts, "level": "error", "message": ("Task " + $tid + " BLOCKED after 3 retries")}]
'"#,
    ),
    (
        "gate",
        r#"jq --arg gate "unit_tests" --arg status "passed" --arg ts "$(date -Iseconds)" '
  .quality_gates[$gate] = $status |
  .updated_at = $ts
'"#,
    ),
    (
        "degraded",
        r#"jq --arg phase "smoke_test" --arg ts "$(date -Iseconds)" '
  .degraded_phases += [$phase] |
  .quality_gates[$phase] = "degraded" |
  .updated_at = $ts |
  .logs += [{"timestamp": $ts, "level": "warning", "message": ("Phase " + $phase + " DEGRADED after max fix attempts")}]
'"#,
    ),
    (
        "qa cycle",
        r#"jq --arg ts "$(date -Iseconds)" '
  .qa_cycles += 1 |
  .updated_at = $ts
'"#,
    ),
    (
        "create batch",
        r#"jq --argjson bid 0 --argjson tasks '["T001", "T002"]' --arg ts "$(date -Iseconds)" '
  .batches += [{"batch_id": $bid, "task_ids": $tasks, "status": "pending", "started_at": null, "completed_at": null, "compacted": false}] |
  .updated_at = $ts
'"#,
    ),
    (
        "start batch",
        r#"jq --argjson bid 0 --arg ts "$(date -Iseconds)" '
  .batches[$bid].status = "in_progress" |
  .batches[$bid].started_at = $ts |
  .current_batch = $bid |
  .updated_at = $ts
'"#,
    ),
    (
        "complete batch",
        r#"jq --argjson bid 0 --arg ts "$(date -Iseconds)" '
  .batches[$bid].status = "completed" |
  .batches[$bid].completed_at = $ts |
  .batches[$bid].compacted = true |
  .current_batch = null |
  .updated_at = $ts
'"#,
    ),
    (
        "resume point",
        r#"jq --argjson bid 1 --arg tid "T005" --arg phase "implementation" --arg ts "$(date -Iseconds)" '
  .resume_point = {"batch_id": $bid, "task_id": $tid, "phase": $phase} |
  .updated_at = $ts
'"#,
    ),
    (
        "complete execution",
        r#"jq --arg ts "$(date -Iseconds)" '
  .status = "completed" |
  .updated_at = $ts |
  .resume_point = {"batch_id": null, "task_id": null, "phase": null} |
  .logs += [{"timestamp": $ts, "level": "info", "message": "Full pipeline completed"}]
'"#,
    ),
];

/// A recipe as the document has it, and after it the one that adds a line to the log: when the log line is applied,
/// both are.
fn whole_recipe(sandbox: &Sandbox, jq: &str, message: &str) {
    let log = format!(
        r#"jq --arg ts "$(date -Iseconds)" --arg level "info" --arg msg "{message}" '
  .logs += [{{"timestamp": $ts, "level": $level, "message": $msg}}] |
  .updated_at = $ts
'"#
    );
    for jq in [jq, &log] {
        let line = format!("{jq} {STATE} > {STATE}.tmp && \\\nmv {STATE}.tmp {STATE}");
        let status = Command::new("sh").args(["-c", &line]).current_dir(sandbox.project()).status();
        assert!(status.is_ok_and(|status| status.success()), "{line}");
    }
}

#[test]
fn every_recipe_that_writes_is_heard_beside_an_engine() {
    if Command::new("jq").arg("--version").output().is_err() {
        return;
    }
    let sandbox = receipts(
        "[policy]\nbackoff = \"0s\"\nmax_parallel = 1\n",
        &format!("[T002]\nmeet SIDE/gate\n{}", does_well("T002")),
    );
    sandbox.fifo("gate");
    let mut run = sandbox.piton(RUN.split(' ')).spawn();
    run.until_says("T002     attempt 1 started");
    for (name, jq) in RECIPES {
        if name == "complete" {
            sandbox.write("docs/keep.md", "receipts.sh keep\n");
            sandbox.git(["add", "docs/keep.md"]);
            sandbox.git(["commit", "-q", "-m", "By hand", "docs/keep.md"]);
        }
        whole_recipe(&sandbox, jq, &format!("{name} is done"));
        run.until_says(&format!("{name} is done"));
        let heard = sandbox.run("log --json").exits(0).stdout.lines().count() as u64;
        let file = until("the file as Piton writes it", || {
            Some(state(&sandbox)).filter(|file| file["piton_seq"].as_u64() >= Some(heard))
        });
        is_counted(&file);
        let status = |id: &str| file["tasks"][id]["status"].as_str().unwrap_or_default().to_owned();
        match name {
            "claim" => assert_eq!(status("T003"), "in_progress"),
            // Its checks run meanwhile; the result comes at the end.
            "complete" => {}
            "verify" | "sync" => {
                let flags = &file["tasks"]["T002"]["verification"];
                assert_eq!((&flags["files_exist"], &flags["state_synced"]), (&false.into(), &false.into()));
            }
            "failed" => {
                assert_eq!((status("T004").as_str(), &file["retry_counts"]["T004"]), ("failed", &1.into()));
            }
            "blocked" => {
                assert_eq!(file["blocked_tasks"], serde_json::json!(["T004"]));
                assert_eq!((status("T005").as_str(), status("T006").as_str()), ("skipped", "skipped"));
            }
            "degraded" => assert_eq!(file["degraded_phases"], serde_json::json!(["smoke_test"])),
            "qa cycle" => assert_eq!(file["qa_cycles"], 0, "a round is one that was made"),
            "create batch" | "start batch" => assert_eq!(file["batches"].as_array().map(Vec::len), Some(3)),
            "complete batch" => assert_eq!(file["batches"][0]["compacted"], true),
            "resume point" => assert_eq!(file["resume_point"]["task_id"], "T002"),
            "complete execution" => assert_eq!(file["status"], "running", "there is work left"),
            _ => {}
        }
    }
    sandbox.meet("gate");
    let _ = run.wait().exits(4);
    assert_eq!(statuses(&sandbox), ["completed", "completed", "completed", "blocked", "skipped", "skipped"]);
    let file = state(&sandbox);
    is_counted(&file);
    assert_eq!(file["quality_gates"]["unit_tests"], "passed", "{file:#}");
    assert_eq!(file["quality_gates"]["smoke_test"], "degraded");
    assert_eq!(marks(&sandbox), "xxx   ");
}

/// The recipes write a file beside the state file first. That file is not work, also where checks run in the checkout.
#[test]
fn a_claim_is_judged_although_somebody_writes_the_state_file_meanwhile() {
    let sandbox = receipts("[defaults]\nchecks = [\"cat SIDE/begun && cat SIDE/gate\"]\n", "");
    sandbox.fifo("begun");
    sandbox.fifo("gate");
    // With commits, checks run in worktrees of Piton's own, where nobody writes a state file.
    let run = sandbox.piton(format!("{RUN} --no-commits --task T001").split(' ')).spawn();
    sandbox.meet("begun");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    // Any other file shows that they are compared at all.
    let files = [("T002", format!("{STATE}.tmp"), "completed"), ("T003", "other.tmp".to_owned(), "failed")];
    for (id, file, status) in files {
        let (_, made, _) = WORK.iter().find(|(task, ..)| *task == id).expect("a task");
        let _ = sandbox.run(&format!("start {id}")).exits(0);
        sandbox.write(made, "by hand\n");
        let report = sandbox.piton(["report", id, "done"]).spawn();
        sandbox.meet("begun");
        sandbox.write(file, "{}");
        sandbox.meet("gate");
        let report = report.wait();
        assert_eq!(state(&sandbox)["tasks"][id]["status"], status, "{report}");
        assert_eq!(report.contains("files changed while it ran"), status == "failed", "{report}");
    }
}

/// A new file in its place is not an edit of ours: it is kept, and the run goes on.
#[test]
fn a_file_that_is_initialised_anew_beside_an_engine_is_put_aside() {
    let sandbox = receipts(
        "[policy]\nbackoff = \"0s\"\nmax_parallel = 1\n",
        &format!("[T001]\nmeet SIDE/gate\n{}", does_well("T001")),
    );
    sandbox.fifo("gate");
    let mut run = sandbox.piton(RUN.split(' ')).spawn();
    run.until_says("T001     attempt 1 started");
    let new = r#"{"version": "3.0.0", "session_id": "exec-1", "status": "running", "tasks": {}}"#;
    sandbox.write(STATE, new);
    run.until_says("replaced by another one");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    assert_eq!(sandbox.read(format!("{STATE}.refused")), new);
    assert_eq!(statuses(&sandbox), ["completed"; 6]);
}

/// The plan's own files are looked at while the run goes on.
#[test]
fn a_task_that_has_not_begun_may_be_edited_in_the_list_while_the_run_goes_on() {
    let sandbox = receipts(
        "",
        "[T001]\nmeet SIDE/arrived\nmeet SIDE/gate\nWELL".replace("WELL", &does_well("T001")).as_str(),
    );
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    let mut run = sandbox.piton(RUN.split(' ')).spawn();
    sandbox.meet("arrived");
    sandbox.write(LIST, &sandbox.read(LIST).replace("Find receipts by shop", "Find receipts by their shop"));
    run.until_says("adopted the plan as it is now");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).lacks("asked to stop");
    assert_eq!(statuses(&sandbox), ["completed"; 6]);
    let titles = sandbox.history("main").join("\n");
    assert!(titles.contains("Find receipts by their shop"), "{titles}");
}
