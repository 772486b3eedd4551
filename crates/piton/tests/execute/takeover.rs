//! State files that another system left, taken over.

use piton_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::{PLAN, shop, state, statuses};

/// A state file as the system itself writes it, without anything of Piton's.
fn foreign(tasks: &Value) -> String {
    json!({
        "schema_version": "2.0",
        "prd_slug": "shop",
        "project_path": "/home/somebody/shop",
        "worktree_dir": "/home/somebody/.worktrees",
        "tasks_path": "/home/somebody/shop/docs/tasks/shop",
        "started_at": "2026-01-10T10:00:00Z",
        "updated_at": "2026-01-10T12:30:00Z",
        "status": "in_progress",
        "tasks": tasks,
        "metrics": { "tasks_completed": 17 },
        "dashboard": "mine",
    })
    .to_string()
}

pub(crate) fn leave(sandbox: &Sandbox, tasks: &Value) {
    sandbox.write(format!("{PLAN}/execute-state.json"), &foreign(tasks));
}

/// As the system does it: a branch, a commit, a merge.
pub(crate) fn land(sandbox: &Sandbox, id: &str, name: &str) -> String {
    sandbox.git(["switch", "-q", "-c", &format!("worktree-{id}")]);
    sandbox.write(format!("src/{id}.txt"), "done\n");
    sandbox.git(["add", "src"]);
    sandbox.git(["commit", "-q", "-m", &format!("[{id}] {name}")]);
    let hash = sandbox.git(["rev-parse", "--short", "HEAD"]);
    sandbox.git(["switch", "-q", "main"]);
    sandbox.git([
        "merge",
        "-q",
        "--no-ff",
        "-m",
        &format!("Merge worktree-{id}: {name}"),
        &format!("worktree-{id}"),
    ]);
    sandbox.git(["branch", "-q", "-d", &format!("worktree-{id}")]);
    hash
}

#[test]
fn a_run_goes_on_where_the_other_system_left_it() {
    let sandbox = shop();
    let hash = land(&sandbox, "L1-001", "Add invoices");
    leave(
        &sandbox,
        &json!({
            "L1-001": { "status": "completed", "attempts": 1, "commits": [{ "hash": hash, "type": "implementation", "attempt": 1 }] },
            "L1-002": {
                "status": "failed", "attempts": 2,
                "errors": [{ "attempt": 2, "type": "verification_failed", "message": "no store" }],
                "retry_feedback": [{ "attempt": 3, "feedback": "write a store" }]
            },
        }),
    );
    let _ = sandbox
        .run(&format!("run {PLAN}"))
        .exits(0)
        .says("L1-001   completed: its commit")
        .says("attempt 3 started")
        .lacks("L1-001   attempt");
    assert_eq!(statuses(&sandbox), ["completed", "completed", "completed"]);
    let state = state(&sandbox);
    assert_eq!(state["dashboard"], "mine");
    assert_eq!(state["tasks"]["L1-002"]["attempts"], 3);
    assert_eq!(state["tasks"]["L1-002"]["errors"][0]["message"], "no store");
    assert_eq!(state["metrics"]["tasks_completed"], 3);
    assert!(sandbox.read(format!("{PLAN}/execute-state.json.bak")).contains("/home/somebody"));
}

/// A state that claims undone tasks are done is not believed.
#[test]
fn a_claim_that_git_does_not_bear_out_is_corrected() {
    let sandbox = shop();
    leave(
        &sandbox,
        &json!({
            "L1-001": { "status": "completed", "attempts": 1, "commits": [{ "hash": "abc1234" }] },
            "L1-002": { "status": "completed", "attempts": 1 },
            "L2-001": { "status": "completed", "attempts": 1, "commits": [] },
        }),
    );
    let out = sandbox.run(&format!("import {PLAN}")).exits(0);
    let _ = out
        .says("corrected 3 tasks")
        .says("completed → pending: its commit abc1234 is not part of the target");
    assert_eq!(statuses(&sandbox), ["pending", "pending", "pending"]);
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
    assert_eq!(statuses(&sandbox), ["completed", "completed", "completed"]);
}

/// What is done out of order stays done.
#[test]
fn what_git_has_is_done_whatever_the_order_and_the_claim() {
    let sandbox = shop();
    land(&sandbox, "L2-001", "Serve invoices");
    leave(&sandbox, &json!({ "L1-001": { "status": "pending" } }));
    let _ = sandbox.run(&format!("import {PLAN}")).exits(0).says("not mentioned → completed");
    assert_eq!(statuses(&sandbox), ["pending", "pending", "completed"]);
}

#[test]
fn without_a_state_file_the_history_tells_but_only_of_tasks_with_the_same_name() {
    let sandbox = shop();
    land(&sandbox, "L1-001", "Add invoices");
    land(&sandbox, "L1-002", "Another plan's task");
    let dry = sandbox.run(&format!("import {PLAN} --dry-run")).exits(0);
    let _ = dry.says("L1-001").lacks("L1-002");
    let _ = sandbox.run(&format!("import {PLAN}")).exits(0);
    assert_eq!(statuses(&sandbox), ["completed", "pending", "pending"]);
    let _ = sandbox.run(&format!("import {PLAN}")).exits(1).says("already").says("--reset");
}

#[test]
fn a_worktree_with_work_in_it_goes_on_under_the_same_number() {
    let sandbox = shop();
    let path = sandbox.worktrees().join("L1-001");
    sandbox.git(["worktree", "add", "-q", "-b", "worktree-L1-001", path.as_str()]);
    sandbox.write(path.join("src/half.txt"), "half done\n");
    leave(
        &sandbox,
        &json!({ "L1-001": { "status": "in_progress", "attempts": 2, "worktree_path": path, "branch": "worktree-L1-001" } }),
    );
    let _ = sandbox
        .run(&format!("run {PLAN}"))
        .exits(0)
        .says("the same attempt continues in it")
        .says("L1-001   attempt 2");
    // What was uncommitted there is part of what landed.
    assert_eq!(sandbox.git(["show", "main:src/half.txt"]), "half done");
    assert_eq!(state(&sandbox)["tasks"]["L1-001"]["attempts"], 2);
}

#[test]
fn verified_work_only_has_its_checks_run_again() {
    let sandbox = shop();
    let path = sandbox.worktrees().join("L1-001");
    sandbox.git(["worktree", "add", "-q", "-b", "worktree-L1-001", path.as_str()]);
    sandbox.write(path.join("src/L1-001.txt"), "done\n");
    sandbox.git_in(&path, ["add", "-A"]);
    sandbox.git_in(&path, ["commit", "-q", "-m", "[L1-001] Add invoices"]);
    leave(
        &sandbox,
        &json!({ "L1-001": { "status": "verified", "attempts": 1, "worktree_path": path, "branch": "worktree-L1-001" } }),
    );
    // Its agent would spoil it.
    sandbox
        .script(&crate::all_write().replace("write src/L1-001.txt done\n", "write src/L1-001.txt spoilt\n"));
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0).says("only its checks run again");
    assert_eq!(sandbox.git(["show", "main:src/L1-001.txt"]), "done");
}

#[test]
fn a_state_file_that_cannot_be_read_is_kept_and_git_is_asked() {
    let sandbox = shop();
    land(&sandbox, "L1-001", "Add invoices");
    sandbox.write(format!("{PLAN}/execute-state.json"), "{\"tasks\": {\"L1-001\": ");
    let _ = sandbox.run(&format!("import {PLAN}")).exits(0).says("execute-state.json:1:").says("git decides");
    assert_eq!(statuses(&sandbox), ["completed", "pending", "pending"]);
    assert_eq!(sandbox.read(format!("{PLAN}/execute-state.json.bad")), "{\"tasks\": {\"L1-001\": ");
}

/// A run begins when it says so, not with the first task that was worked on.
#[test]
fn the_time_a_run_began_is_carried_over() {
    let sandbox = shop();
    let task = json!({ "status": "failed", "attempts": 1, "started_at": "2026-01-10T11:00:00Z",
        "errors": [{ "attempt": 1, "message": "no" }] });
    leave(&sandbox, &json!({ "L1-001": task }));
    let _ = sandbox.run(&format!("import {PLAN}")).exits(0);
    assert_eq!(state(&sandbox)["started_at"], "2026-01-10T10:00:00Z");
    assert_eq!(state(&sandbox)["tasks"]["L1-001"]["started_at"], "2026-01-10T11:00:00Z");
}

#[test]
fn a_second_copy_of_the_state_file_is_named() {
    let sandbox = shop();
    leave(&sandbox, &json!({}));
    sandbox.write("execute-state.json", "{}");
    let warning =
        "execute-state.json is a second copy of the state file; docs/tasks/shop/execute-state.json is used";
    let _ = sandbox.run(&format!("import {PLAN}")).exits(0).says(warning);
    let _ = sandbox.run("doctor").exits(0).says("execute-state.json is a second copy of its state file");
    let _ = sandbox.run(&format!("run {PLAN} --layer 1-foundation")).exits(0).says(warning);
    std::fs::remove_file(sandbox.project().join("execute-state.json")).expect("our own file");
    let _ = sandbox.run("doctor").exits(0).lacks("second copy");
}

#[test]
fn a_state_file_that_lies_outside_the_project_is_left_alone() {
    let sandbox = shop();
    let outside = sandbox.root().join("state.json");
    sandbox.write(&outside, &foreign(&json!({ "L1-001": { "status": "failed", "attempts": 1 } })));
    let file = sandbox.project().join(PLAN).join("execute-state.json");
    std::os::unix::fs::symlink(&outside, &file).expect("a new link");
    let before = sandbox.read(&outside);
    for command in ["import", "run"] {
        let refused = sandbox.run(&format!("{command} {PLAN}")).exits(1);
        let _ = refused.says("leads out of the project").lacks("believed");
    }
    assert_eq!(sandbox.read(&outside), before);
    let _ = sandbox.run("status").exits(1).says("no run");
}

/// A worktree in there would be part of other work.
#[test]
fn worktrees_that_were_recorded_inside_another_repository_are_refused() {
    let sandbox = shop();
    let other = sandbox.root().join("other");
    sandbox.write(other.join("file"), "x");
    sandbox.git_in(&other, ["init", "-q"]);
    let mut state: Value = serde_json::from_str(&foreign(&json!({}))).expect("JSON");
    state["worktree_dir"] = json!(other);
    sandbox.write(format!("{PLAN}/execute-state.json"), &state.to_string());
    let _ = sandbox.run(&format!("run {PLAN}")).exits(1).says("lies inside another repository");
    let place = sandbox.root().join("trees");
    let _ = sandbox.run(&format!("run {PLAN} --worktree-dir {place}")).exits(0);
    assert_eq!(statuses(&sandbox), ["completed"; 3]);
}

/// Paths of another machine, or of another system, are nowhere here.
#[test]
fn a_project_that_was_moved_goes_on_where_it_is() {
    let sandbox = shop();
    let hash = land(&sandbox, "L1-001", "Add invoices");
    let mut state: Value = serde_json::from_str(&foreign(&json!({
        "L1-001": { "status": "completed", "attempts": 1, "commits": [format!("{hash}: [L1-001] Add invoices")] },
        "L1-002": { "status": "in_progress", "attempts": 2, "branch": "worktree-L1-002",
            "worktree_path": "C:\\Users\\ada\\.worktrees\\L1-002" },
    })))
    .expect("JSON");
    for (field, path) in
        [("project_path", "C:\\Users\\ada\\shop"), ("worktree_dir", "C:\\Users\\ada\\.worktrees")]
    {
        state[field] = json!(path);
    }
    sandbox.write(format!("{PLAN}/execute-state.json"), &state.to_string());
    let _ =
        sandbox.run(&format!("run {PLAN}")).exits(0).says("L1-002   attempt 2 started").lacks("L1-001   att");
    assert_eq!(statuses(&sandbox), ["completed"; 3]);
    assert_eq!(crate::state(&sandbox)["project_path"], sandbox.project().as_str());
}

/// Hashes as people and models write them.
#[test]
fn a_hash_counts_if_it_means_one_commit() {
    let sandbox = shop();
    let hash = land(&sandbox, "L1-001", "Add invoices");
    for (said, understood) in [
        (hash.to_uppercase(), true),
        (format!("  {hash} "), true),
        ("ghi9012".to_owned(), false),
        ("HEAD".to_owned(), false),
        ("--all".to_owned(), false),
        ("main".to_owned(), false),
    ] {
        // Under a title of its own: only the hash can tell.
        leave(
            &sandbox,
            &json!({ "L1-002": { "status": "completed", "attempts": 1, "commits": [{ "hash": said }] } }),
        );
        let out = sandbox.run(&format!("import {PLAN} --dry-run")).exits(0);
        let owned = out.contains("also belongs to L1-001");
        assert_eq!(owned, understood, "{said:?}\n{out}");
        let _ = out.says("L1-002   completed → pending");
    }
}
