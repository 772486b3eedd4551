//! The recipes of both descriptions of the system, to the letter: each is applied, or refused where it is seen.

use std::fs;
use std::process::{Command, Stdio};

use piton_testkit::sandbox::{Sandbox, until};
use serde_json::json;

use crate::takeover::leave;
use crate::{PLAN, all_write, edit, shop, state, statuses};

fn ledger() -> Sandbox {
    let sandbox = shop();
    let _ = sandbox.run(&format!("next --plan {PLAN}")).exits(0).says("L1-001");
    sandbox
}

fn log(sandbox: &Sandbox) -> String {
    sandbox.run("log --verbose").exits(0).stdout
}

/// Reading, changing and writing the state as the newer description has it. `false` where there is no Python.
#[must_use]
fn save_state(sandbox: &Sandbox, change: &str) -> bool {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        piton_testkit::skipped("there is no python3 here: the recipes cannot be tried");
        return false;
    }
    let script = format!(
        "import json
from datetime import datetime
from pathlib import Path

def load_state(tasks_path: str) -> dict:
    state_file = Path(tasks_path) / 'execute-state.json'
    if state_file.exists():
        return json.loads(state_file.read_text())
    return None

def save_state(tasks_path: str, state: dict):
    state['updated_at'] = datetime.utcnow().isoformat() + 'Z'
    state_file = Path(tasks_path) / 'execute-state.json'
    state_file.write_text(json.dumps(state, indent=2))

state = load_state('{PLAN}')
{change}
save_state('{PLAN}', state)
"
    );
    let python =
        Command::new("python3").args(["-W", "ignore", "-c", &script]).current_dir(sandbox.project()).status();
    assert!(python.expect("a Python").success(), "{script}");
    true
}

/// A shell in the folder of the plan.
fn shell(sandbox: &Sandbox, line: &str) {
    let status = Command::new("sh").args(["-c", line]).current_dir(sandbox.project().join(PLAN)).status();
    assert!(status.expect("a shell").success(), "{line}");
}

#[test]
fn the_lifecycle_of_a_task_written_by_save_state_is_heard_step_by_step() {
    let sandbox = ledger();
    let began =
        "state['status'] = 'in_progress'; state['current_layer'] = '1-foundation'; state['current_batch'] = 1
state['layers']['1-foundation']['status'] = 'in_progress'
task = state['tasks']['L1-001']; task['status'] = 'in_progress'; task['attempts'] = 1";
    if !save_state(&sandbox, began) {
        return;
    }
    let _ = sandbox.run("next").exits(0);
    assert_eq!(statuses(&sandbox), ["in_progress", "pending", "pending"]);
    let failed = "task = state['tasks']['L1-001']; task['status'] = 'failed'
task['errors'].append({'attempt': 1, 'type': 'verification_failed', 'step': 'pytest tests/api/test_projects.py',
    'message': 'test_create_duplicate_slug failed', 'timestamp': '2026-01-10T11:35:00Z'})
task['retry_feedback'].append({'attempt': 2, 'feedback': 'Add IntegrityError handling'})
task['retry_feedback'].append({'attempt': 2, 'feedback': 'Mind the slug'})
state['failed'].append('L1-001'); state['metrics']['tasks_failed'] += 1";
    assert!(save_state(&sandbox, failed));
    let _ = sandbox.run("next").exits(0);
    let task = &state(&sandbox)["tasks"]["L1-001"];
    assert_eq!(task["status"], "failed");
    let error = json!({ "attempt": 1, "type": "verification_failed", "step": "pytest tests/api/test_projects.py",
        "message": "test_create_duplicate_slug failed", "timestamp": "2026-01-10T11:35:00Z" });
    assert_eq!(task["errors"], json!([error]));
    let told: Vec<_> =
        task["retry_feedback"].as_array().into_iter().flatten().map(|one| &one["feedback"]).collect();
    assert_eq!(told, ["Add IntegrityError handling", "Mind the slug"]);
    assert!(!log(&sandbox).contains("rejected an edit"), "{}", log(&sandbox));
}

/// The same beside an engine: what follows from the tasks and contradicts them is refused in the log, not in silence.
#[test]
fn what_contradicts_the_tasks_is_refused_where_it_is_seen_beside_an_engine_too() {
    for engine in [false, true] {
        let sandbox = ledger();
        let mut running = None;
        if engine {
            sandbox.fifo("begun");
            sandbox.fifo("gate");
            sandbox.script(&all_write().replace("[L1-001]\n", "[L1-001]\nmeet SIDE/begun\nmeet SIDE/gate\n"));
            let mut run = sandbox.piton(["run", PLAN]).spawn();
            run.until_at(&sandbox, "begun");
            until("the attempt in the file", || (statuses(&sandbox)[0] == "in_progress").then_some(()));
            running = Some(run);
        }
        // Complete execution; set the point to resume from; start a batch; merge what is not verified.
        edit(&sandbox, |state| {
            state["status"] = json!("completed");
            state["current_layer"] = json!("2-backend");
            state["current_batch"] = json!(2);
            state["layers"]["1-foundation"]["status"] = json!("completed");
            state["merge_queue"] = json!([{ "task_id": "L2-001", "priority": 1, "status": "merged" }]);
            state["completed"] = json!(["L2-001"]);
        });
        match &running {
            Some(_) => {
                until("an answer", || log(&sandbox).contains("`completed` names L2-001").then_some(()));
            }
            None => drop(sandbox.run("next").exits(0)),
        }
        for refused in [
            "`status` is \"completed\"",
            "`current_layer` is \"2-backend\"",
            "`current_batch` is 2",
            "the status of the layer 1-foundation is \"completed\"",
            "L2-001 is \"merged\" in `merge_queue`",
            "`completed` names L2-001",
        ] {
            assert!(
                log(&sandbox).contains(&format!("rejected an edit of execute-state.json: {refused}")),
                "{refused}\n{}",
                log(&sandbox)
            );
        }
        if let Some(mut run) = running {
            run.until_at(&sandbox, "gate");
            let _ = run.wait().exits(0);
            assert_eq!(statuses(&sandbox), ["completed"; 3]);
        }
    }
}

/// `rm` the state, prune, remove the worktrees, start: what was begun goes on, and the command says at once what begins
/// again.
#[test]
fn a_full_reset_is_said_to_need_its_flag_and_works_with_it() {
    let sandbox = shop();
    let _ = sandbox.run(&format!("run {PLAN} --layer 1-foundation")).exits(0);
    let first = state(&sandbox)["piton_run"].clone();
    shell(&sandbox, "rm execute-state.json && cd ../../.. && git worktree prune && rm -rf .worktrees/");
    let run = sandbox.run(&format!("run {PLAN} --layer 1-foundation")).exits(0);
    let _ = run.says("execute-state.json was deleted").says(&format!("piton run {PLAN} --reset"));
    assert_eq!(state(&sandbox)["piton_run"], first);
    assert_eq!(statuses(&sandbox), ["completed", "completed", "pending"]);
    shell(&sandbox, "rm execute-state.json");
    sandbox.script(&all_write().replace(" done", " done\\nagain"));
    let _ = sandbox.run(&format!("run {PLAN} --reset")).exits(0).lacks("was deleted");
    assert_ne!(state(&sandbox)["piton_run"], first);
    assert_eq!(statuses(&sandbox), ["completed"; 3]);
}

/// `--resume` and `--reset-task` go on from what another system left, as plain `run` does.
#[test]
fn resume_and_reset_task_take_a_foreign_state_over() {
    let abandoned = json!({
        "L1-001": { "status": "abandoned", "attempts": 5,
            "errors": [{ "attempt": 5, "type": "verification_failed", "message": "no paper" }] },
    });
    let sandbox = shop();
    leave(&sandbox, &abandoned);
    let _ = sandbox.run(&format!("run {PLAN} --reset-task L9-001 --resume")).exits(1).says("no task L9-001");
    let _ = sandbox.run(&format!("run {PLAN} --reset-task L1-001 --resume")).exits(0);
    assert_eq!(statuses(&sandbox), ["completed"; 3]);
    assert_eq!(state(&sandbox)["tasks"]["L1-001"]["attempts"], 1);
    let sandbox = shop();
    leave(&sandbox, &abandoned);
    let _ = sandbox.run(&format!("run {PLAN} --resume")).exits(4);
    assert_eq!(statuses(&sandbox), ["abandoned", "pending", "pending"]);
    // With nothing left there is nothing to resume.
    let sandbox = shop();
    let _ = sandbox.run(&format!("run {PLAN} --resume")).exits(1).says("there is no run of");
}

#[test]
fn what_failed_elsewhere_is_failed_here_with_its_reason() {
    let sandbox = shop();
    leave(
        &sandbox,
        &json!({ "L1-001": { "status": "failed", "attempts": 2,
            "errors": [{ "attempt": 2, "type": "merge_conflict", "step": "git merge", "message": "both changed a.rs",
                "timestamp": "2026-01-10T11:35:00Z" }] },
            "L1-002": { "status": "failed" } }),
    );
    let _ = sandbox.run(&format!("import {PLAN}")).exits(0);
    assert_eq!(statuses(&sandbox), ["failed", "failed", "pending"]);
    let error = &state(&sandbox)["tasks"]["L1-001"]["errors"][0];
    assert_eq!((&error["type"], &error["step"]), (&json!("merge_conflict"), &json!("git merge")));
    assert_eq!(error["timestamp"], "2026-01-10T11:35:00Z");
    assert_eq!(state(&sandbox)["tasks"]["L1-002"]["attempts"], 1);
    let _ = sandbox.run("status").exits(0).says("both changed a.rs");
    let _ = sandbox.run("why L1-001").exits(0).says("both changed a.rs");
}

/// A run that cannot have them would be called complete without them.
#[test]
fn open_tasks_that_only_the_state_file_has_are_named_and_nothing_begins() {
    let sandbox = shop();
    let tasks = |status: &str| json!({ "L1-001": { "status": "pending" }, "L9-001": { "status": status } });
    leave(&sandbox, &tasks("pending"));
    for line in [format!("run {PLAN}"), format!("import {PLAN}"), format!("next --plan {PLAN}")] {
        let _ = sandbox.run(&line).exits(1).says("1 open task that the plan lacks").says("piton add L9-001");
    }
    let _ = sandbox.run(&format!("import {PLAN} --dry-run")).exits(0).says("L9-001");
    assert_eq!(state(&sandbox)["tasks"]["L9-001"]["status"], "pending", "nothing is written");
    // One that is done, or was given up, is carried along.
    for status in ["completed", "abandoned"] {
        let sandbox = shop();
        leave(&sandbox, &tasks(status));
        let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
        assert_eq!(state(&sandbox)["tasks"]["L9-001"]["status"], status);
    }
}

/// What a link in the plan leads to outside of the project is not read.
#[test]
fn a_task_behind_a_link_out_of_the_project_is_refused() {
    for folder in [false, true] {
        let sandbox = shop();
        let (plan, outside) = (sandbox.project().join(PLAN), sandbox.root().join("outside"));
        let part = if folder { "2-backend".to_owned() } else { "2-backend/L2-001-task.xml".to_owned() };
        fs::rename(plan.join(&part), &outside).expect("our own file");
        std::os::unix::fs::symlink(&outside, plan.join(&part)).expect("a new link");
        for line in [format!("plan {PLAN}"), format!("run {PLAN}"), format!("next --plan {PLAN}")] {
            let _ = sandbox.run(&line).exits(1).says("is a link that leads out of the project");
        }
        assert!(!sandbox.exists(format!("{PLAN}/execute-state.json")));
        // Inside of the project it may lead anywhere.
        let inside = sandbox.project().join("elsewhere");
        fs::rename(&outside, &inside).expect("our own file");
        fs::remove_file(plan.join(&part)).expect("our own link");
        std::os::unix::fs::symlink(&inside, plan.join(&part)).expect("a new link");
        let _ = sandbox.run(&format!("plan {PLAN}")).exits(0);
    }
}

/// `git branch | grep worktree-` while the first attempt is under way.
#[test]
fn the_file_names_a_branch_and_a_worktree_that_are_there() {
    let sandbox = shop();
    sandbox.fifo("begun");
    sandbox.fifo("gate");
    sandbox.script(&all_write().replace("[L1-001]\n", "[L1-001]\nmeet SIDE/begun\nmeet SIDE/gate\n"));
    let mut run = sandbox.piton(["run", PLAN, "--verbose"]).spawn();
    run.until_at(&sandbox, "begun");
    let task = until("the branch in the file", || {
        let task = state(&sandbox)["tasks"]["L1-001"].clone();
        task["branch"].is_string().then_some(task)
    });
    let branch = task["branch"].as_str().expect("a name").to_owned();
    assert_eq!(sandbox.git(["rev-parse", &branch]), sandbox.git(["rev-parse", "main"]));
    assert!(camino::Utf8Path::new(task["worktree_path"].as_str().expect("a path")).is_dir());
    assert!(state(&sandbox)["worktrees"]["L1-001"]["created_at"].is_string());
    assert_eq!(state(&sandbox)["options"]["verbose"], true);
    run.until_at(&sandbox, "gate");
    let _ = run.wait().exits(0);
    assert_eq!(sandbox.git(["branch", "--list", "worktree-*"]), "");
    assert_eq!(sandbox.git(["for-each-ref", "refs/piton"]), "");
    let _ = sandbox.run(&format!("run {PLAN} --quiet")).exits(0);
    assert_eq!(state(&sandbox)["options"]["verbose"], false);
    assert_eq!(state(&sandbox)["options"]["quiet"], true);
}

/// "Atomic Updates" and "Concurrency Considerations", as they stand there, without an engine and beside one: a
/// copy that takes the file's place, behind the lock that is touched.
#[test]
fn a_state_that_takes_the_files_place_behind_the_touched_lock_is_heard() {
    const WRITE: &str = "
while [ -f execute-state.lock ]; do sleep 0.1; done
touch execute-state.lock
STATE_JSON=$(jq '.note = \"NOTE\" | .tasks[\"L2-001\"].retry_feedback += [{\"attempt\": 2, \"feedback\": \"NOTE\"}]' execute-state.json)
echo \"$STATE_JSON\" > execute-state.json.tmp
mv execute-state.json.tmp execute-state.json
rm execute-state.lock
";
    if Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_err() {
        piton_testkit::skipped("there is no jq here: the recipes cannot be tried");
        return;
    }
    let sandbox = ledger();
    shell(&sandbox, &WRITE.replace("NOTE", "first"));
    let _ = sandbox.run("next").exits(0).lacks("rejected an edit");
    assert_eq!(state(&sandbox)["note"], "first");
    sandbox.fifo("begun");
    sandbox.fifo("gate");
    sandbox.script(&all_write().replace("[L1-001]\n", "[L1-001]\nmeet SIDE/begun\nmeet SIDE/gate\n"));
    let mut run = sandbox.piton(["run", PLAN]).spawn();
    run.until_at(&sandbox, "begun");
    shell(&sandbox, &WRITE.replace("NOTE", "second"));
    until("the advice", || log(&sandbox).contains("reported: second").then_some(()));
    let created = until("the worktree in the file", || {
        let entry = state(&sandbox)["worktrees"]["L1-001"].clone();
        (entry["status"] == "active").then_some(entry)
    });
    // A worktree of Piton's own is not theirs to change.
    edit(&sandbox, |state| state["worktrees"]["L1-001"]["status"] = json!("cleaned"));
    until("an answer", || log(&sandbox).contains("`worktrees.L1-001.status` is \"cleaned\"").then_some(()));
    until("the file to be put right", || (state(&sandbox)["worktrees"]["L1-001"] == created).then_some(()));
    edit(&sandbox, |state| drop(state["worktrees"].as_object_mut().expect("an object").remove("L1-001")));
    until("an answer", || log(&sandbox).contains("`worktrees.L1-001` was removed").then_some(()));
    run.until_at(&sandbox, "gate");
    let _ = run.wait().exits(0);
    assert_eq!(
        (statuses(&sandbox), &state(&sandbox)["note"]),
        (vec!["completed".to_owned(); 3], &json!("second"))
    );
    let told = &state(&sandbox)["tasks"]["L2-001"]["retry_feedback"];
    let told: Vec<_> = told.as_array().into_iter().flatten().map(|one| &one["feedback"]).collect();
    assert_eq!(told, ["first", "second"]);
    // "Backup Before Reset", put back: nothing that happened is taken back.
    shell(&sandbox, "cp execute-state.json execute-state.json.bak");
    let _ = sandbox.run("journal add later").exits(0);
    shell(&sandbox, "cp execute-state.json.bak execute-state.json");
    let _ = sandbox.run("journal add looked").exits(0).says("the file was put back as it was at event");
    assert_eq!(statuses(&sandbox), ["completed"; 3]);
}

/// Every command says the same about a layer in which a task was abandoned.
#[test]
fn a_blocked_layer_is_blocked_in_every_face() {
    let sandbox = shop();
    sandbox.script("[L1-001]\nwrite src/L1-001.txt wrong\n");
    let _ = sandbox.run(&format!("run {PLAN}")).exits(4);
    assert_eq!(state(&sandbox)["layers"]["1-foundation"]["status"], "blocked");
    let shown: serde_json::Value =
        serde_json::from_str(&sandbox.run("status --json").exits(0).stdout).expect("JSON");
    assert_eq!(shown["groups"][0]["status"], "blocked");
}
