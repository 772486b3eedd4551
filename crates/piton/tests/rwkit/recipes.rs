//! Every recipe of the document that writes, while no engine runs: the next command applies it, or says why not.

use super::edits::RECIPES;
use super::*;

/// What the next command says of a recipe, if it is refused, and what becomes of the state file.
type Outcome = (&'static str, &'static str, fn(&Value) -> bool);

const OUTCOMES: [Outcome; 14] = [
    ("claim", "", |file| file["tasks"]["T001"]["status"] == "in_progress"),
    ("complete", "T001: docs/keep.md: it does not exist", |file| {
        file["tasks"]["T001"]["status"] == "in_progress"
    }),
    ("verify", "`verification.files_exist` of T002 was set: Piton checks its files itself", |file| {
        file["tasks"]["T002"]["verification"]["files_exist"] == false
    }),
    ("sync", "`verification.state_synced` of T002 was set", |file| {
        file["tasks"]["T002"]["verification"]["state_synced"] == false && file["progress"]["verified"] == 0
    }),
    ("failed", "", |file| file["tasks"]["T001"]["status"] == "failed" && file["retry_counts"]["T001"] == 1),
    ("blocked", "", |file| file["blocked_tasks"] == serde_json::json!(["T001"])),
    ("gate", "", |file| file["quality_gates"]["unit_tests"] == "passed"),
    ("degraded", "", |file| file["degraded_phases"] == serde_json::json!(["smoke_test"])),
    ("qa cycle", "`qa_cycles` is 1: reviews are counted when they are made", |file| file["qa_cycles"] == 0),
    ("create batch", "a batch 0 was added: batches follow from dependencies", |file| {
        file["batches"].as_array().map(Vec::len) == Some(3)
    }),
    ("start batch", "the batch 0 is \"in_progress\": its status follows from its tasks", |file| {
        file["batches"][0]["status"] != "in_progress"
    }),
    ("complete batch", "", |file| file["batches"][0]["status"] == "completed"),
    ("resume point", "`resume_point` was set: it is the first task, or gate, that is not done", |file| {
        file["resume_point"]["task_id"] != "T005"
    }),
    (
        "complete execution",
        "`status` is \"completed\": it is completed when every task and gate is",
        |file| file["status"] != "completed",
    ),
];

#[test]
fn every_recipe_that_writes_is_applied_or_refused_by_the_next_command() {
    let sandbox = receipts("", "");
    let _ = sandbox.run(&format!("next --plan {LIST}")).exits(0);
    if !recipe(&sandbox, ".") {
        return;
    }
    for ((name, jq), (same, refused, holds)) in RECIPES.into_iter().zip(OUTCOMES) {
        assert_eq!(name, same);
        if name == "complete execution" {
            // There is work left.
            let _ = sandbox.run("reset T001").exits(0);
        }
        // The first task is the one that can be begun.
        let jq = jq.replace("T003", "T001").replace("T004", "T001");
        let line = format!("{jq} {STATE} > {STATE}.tmp && \\\nmv {STATE}.tmp {STATE}");
        let status = Command::new("sh").args(["-c", &line]).current_dir(sandbox.project()).status();
        assert!(status.is_ok_and(|status| status.success()), "{line}");
        let told = sandbox.run("journal add looked").exits(0);
        let file = state(&sandbox);
        let logged = file["logs"].to_string();
        if refused.is_empty() {
            assert!(!told.contains("rejected an edit"), "{name}: {told}");
        } else {
            assert!(told.contains(refused), "{name}: {told}");
            let quoted = refused.replace('"', "\\\"");
            assert!(logged.contains(&quoted), "{name} is refused in the file's own log: {logged}");
            let _ = sandbox.run("log").exits(0).says(refused);
        }
        assert!(holds(&file), "{name}: {file:#}");
        is_counted(&file);
    }
    // What each of them logged is there.
    for line in ["Task T001 BLOCKED after 3 retries", "Phase smoke_test DEGRADED", "Full pipeline completed"]
    {
        assert!(state(&sandbox)["logs"].to_string().contains(line), "{line}");
    }
    // "Initialize State" makes another file from a template: the run stays what it is.
    let template =
        r#"{"version": "3.0.0", "session_id": "", "status": "initializing", "config": {}, "tasks": {}}"#;
    sandbox.write(".claude/templates/state-template.json", template);
    let init = r#"session_id="exec-$(date +%Y%m%d-%H%M%S)"
ts=$(date -Iseconds)
jq --arg sid "$session_id" --arg ts "$ts" --arg todolist "$TODOLIST_PATH" --arg project "$PROJECT_NAME" --arg path "$(pwd)" '
  .session_id = $sid |
  .started_at = $ts |
  .updated_at = $ts |
  .status = "running" |
  .config.todolist_path = $todolist |
  .config.project_name = $project |
  .config.project_path = $path
' .claude/templates/state-template.json > .claude/rw-kit.state.json"#;
    let status = Command::new("sh").args(["-c", init]).current_dir(sandbox.project()).status();
    assert!(status.is_ok_and(|status| status.success()));
    let _ = sandbox.run("journal add looked").exits(0).says("the file was replaced by another one");
    assert_eq!(statuses(&sandbox)[0], "pending");
}

/// The errors of a task, with all that they say, and a box that is unticked.
#[test]
fn errors_are_kept_apart_and_an_unticked_box_is_ticked_again() {
    let sandbox = receipts("", "");
    let _ = sandbox.run(&format!("{RUN} --task T001")).exits(0);
    assert_eq!(marks(&sandbox), "x     ");
    sandbox.write(LIST, &sandbox.read(LIST).replace("- [x] T001", "- [ ] T001"));
    let words = "the box of T001 was unticked: it is completed, and is ticked again";
    let _ = sandbox.run("journal add looked").exits(0).says(words);
    assert_eq!(marks(&sandbox), "x     ");
    assert!(state(&sandbox)["logs"].to_string().contains(words));
    let _ = sandbox.run("log").exits(0).says(words);
    let _ = sandbox.run("journal add looked").exits(0).lacks("rejected an edit");
    let failed = r#".tasks["T002"].status = "failed" | .tasks["T002"].error = [
        {"attempt": 1, "type": "verification_failed", "step": "npm test", "message": "2 tests failed", "timestamp": "2026-01-10T11:35:00Z"},
        {"attempt": 1, "type": "implementation_error", "message": "no key"}] | .updated_at = "x""#;
    if !recipe(&sandbox, failed) {
        return;
    }
    let _ = sandbox.run("journal add looked").exits(0).lacks("rejected an edit");
    assert_eq!(statuses(&sandbox)[1], "failed");
    assert_eq!(state(&sandbox)["tasks"]["T002"]["error"], "no key");
    let logs = state(&sandbox)["logs"].to_string();
    assert!(logs.contains("2 tests failed") && logs.contains("no key"), "{logs}");
}
