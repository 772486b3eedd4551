//! From the first attempt to the last landing, and what the state file shows on the way.

use std::fs;

use piton_testkit::hosts::{CheckResult, ScriptedHost};

use crate::{PLAN, all_write, shop, state, statuses};

#[test]
fn a_plan_runs_as_it_is_and_its_state_file_tells_all_of_it() {
    let sandbox = shop();
    let run = format!("run {PLAN}");
    let _ = sandbox.run(&run).exits(0).says("read as a plan of the execute system");
    assert_eq!(statuses(&sandbox), ["completed", "completed", "completed"]);
    let state = state(&sandbox);
    assert_eq!(state["status"], "completed");
    assert_eq!(state["metrics"]["tasks_completed"], 3);
    assert_eq!(state["metrics"]["completed_tasks"], 3);
    assert_eq!(state["completed"].as_array().map(Vec::len), Some(3));
    assert_eq!(state["layers"]["1-foundation"]["tasks_completed"], 2);
    // The commit it names is in the repository, with the message people look for.
    let hash = state["tasks"]["L1-001"]["commits"][0]["hash"].as_str().expect("a hash").to_owned();
    assert_eq!(sandbox.git(["log", "-1", "--format=%s", &hash]), "[L1-001] Add invoices");
    let merges = sandbox.git(["log", "--merges", "--reverse", "--format=%s"]);
    assert_eq!(
        merges.lines().collect::<Vec<_>>(),
        [
            "Merge worktree-L1-001: Add invoices",
            "Merge worktree-L1-002: Store invoices",
            "Merge worktree-L2-001: Serve invoices"
        ]
    );
    // The state file is not work, and does not disturb any.
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn a_task_that_fails_five_times_is_abandoned_and_what_was_verified_has_landed() {
    let sandbox = shop();
    sandbox.script("[L1-001]\nwrite src/L1-001.txt done\n[L1-002]\nwrite src/L1-002.txt wrong\n");
    let _ = sandbox.run(&format!("run {PLAN}")).exits(4).says("abandoned");
    assert_eq!(statuses(&sandbox), ["completed", "abandoned", "pending"]);
    let state = state(&sandbox);
    assert_eq!(state["status"], "abandoned");
    assert_eq!(state["layers"]["1-foundation"]["status"], "blocked");
    assert_eq!(state["abandoned"][0], "L1-002");
    let task = &state["tasks"]["L1-002"];
    assert_eq!(task["attempts"], 5);
    assert_eq!(task["errors"].as_array().map(Vec::len), Some(5));
    assert_eq!(task["errors"][0]["type"], "verification_failed");
    assert_eq!(task["errors"][0]["step"], "src/L1-002.txt holds done");
    assert_eq!(task["retry_feedback"][0]["attempt"], 2);
    // The worktree is kept, so that a person can look into it.
    let worktree = task["worktree_path"].as_str().expect("a path");
    assert!(fs::exists(worktree).expect("readable"), "{worktree}");
    assert_eq!(state["worktrees"]["L1-002"]["status"], "abandoned");
}

#[test]
fn a_task_that_is_reset_goes_on_and_the_old_file_is_kept() {
    let sandbox = shop();
    sandbox.script("[L1-001]\nwrite src/L1-001.txt wrong\n");
    let _ = sandbox.run(&format!("run {PLAN}")).exits(4);
    sandbox.script(&all_write());
    let _ = sandbox.run(&format!("run {PLAN} --reset-task L1-001 --resume")).exits(0);
    assert_eq!(statuses(&sandbox), ["completed", "completed", "completed"]);
    let kept = sandbox.read(format!("{PLAN}/execute-state.json.bak"));
    assert!(kept.contains("\"abandoned\""), "{kept}");
    assert_eq!(state(&sandbox)["tasks"]["L1-001"]["attempts"], 1);
}

#[test]
fn a_run_that_was_killed_goes_on_and_its_file_with_it() {
    let sandbox = shop();
    let killed = sandbox.piton(["run", PLAN]).env("PITON_CRASH", "capture.pinned:2").spawn().wait();
    assert_eq!(killed.code, None, "{killed}");
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
    assert_eq!(statuses(&sandbox), ["completed", "completed", "completed"]);
    assert_eq!(state(&sandbox)["metrics"]["total_attempts"], 3, "nobody was paid twice");
}

#[test]
fn reset_begins_anew_and_keeps_the_old_file() {
    let sandbox = shop();
    let _ = sandbox.run(&format!("run {PLAN} --layer 1-foundation")).exits(0);
    assert_eq!(state(&sandbox)["status"], "stopped");
    assert_eq!(state(&sandbox)["stop_reason"], "filter");
    let old = state(&sandbox)["piton_run"].clone();
    let _ = sandbox.run(&format!("run {PLAN} --reset --dry-run")).exits(0);
    assert_eq!(state(&sandbox)["piton_run"], old, "a dry run writes nothing");
    // The work is in the history already, so every agent finds nothing to change; that is not what is asked here.
    let _ = sandbox.run(&format!("run {PLAN} --reset"));
    assert_ne!(state(&sandbox)["piton_run"], old);
    assert!(sandbox.read(format!("{PLAN}/execute-state.json.bak")).contains(old.as_str().expect("an id")));
}

#[test]
fn the_variables_of_the_system_stand_in_for_flags() {
    let sandbox = shop();
    let run = || sandbox.piton(["run", PLAN, "--dry-run", "--json"]);
    let _ = run().env("EXECUTE_MAX_PARALLEL", "7").run().exits(0).says("\"max_parallel\": 7");
    let _ = run().env("EXECUTE_MAX_PARALLEL", "seven").run().exits(2).says("not a number");
    let _ = run().env("EXECUTE_MAX_PARALLEL", "11").run().exits(2).says("from 1 to 10");
    let flag = sandbox.piton(["run", PLAN, "--dry-run", "--json", "--max-parallel", "2"]);
    let _ = flag.env("EXECUTE_MAX_PARALLEL", "7").run().exits(0).says("\"max_parallel\": 2");
}

/// No task may change how it is judged, nor the file that records its result.
#[test]
fn what_an_agent_does_to_the_plan_and_its_state_file_does_not_land() {
    let sandbox = shop();
    let spoil = format!(
        "write src/L1-001.txt done\nwrite {PLAN}/execute-state.json nonsense\nwrite {PLAN}/2-backend/L2-001-task.xml nonsense\n"
    );
    sandbox.script(&all_write().replace("write src/L1-001.txt done\n", &spoil));
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
    assert_eq!(sandbox.git(["log", "--format=%h", "--", &format!("{PLAN}/execute-state.json")]), "");
    assert_eq!(sandbox.git(["diff", "--stat", "HEAD~3", "--", PLAN]), "");
}

/// In place there is one checkout for the work and for what Piton keeps beside it, which is not work.
#[test]
fn without_commits_the_state_file_is_not_part_of_the_work() {
    let sandbox = shop();
    // Some people have it in their history.
    sandbox.write(format!("{PLAN}/execute-state.json"), "{}");
    // As if the file were written at this moment, which shows in the folder for an instant.
    let step = format!("$PITON journal add busy; touch {PLAN}/.piton-new; test -s src/L1-001.txt");
    let task = crate::task_xml("1-foundation", "L1-001", "Add invoices");
    let task = task.replace("test -s src/L1-001.txt", &step.replace("$PITON", env!("CARGO_BIN_EXE_piton")));
    sandbox.write(format!("{PLAN}/1-foundation/L1-001-task.xml"), &task);
    sandbox.commit("Everything");
    sandbox.script("[L1-001]\nsay nothing\n[L1-001 2]\nwrite src/L1-001.txt done\n[L1-002]\nwrite src/L1-002.txt done\n[L2-001]\nwrite src/L2-001.txt done\n");
    let run = sandbox.run(&format!("run {PLAN} --no-commits")).exits(0).says("the agent changed nothing");
    let _ = run.lacks("did not judge");
    assert_eq!(statuses(&sandbox), ["completed", "completed", "completed"]);
    let state = state(&sandbox);
    assert_eq!(state["tasks"]["L1-001"]["attempts"], 2);
    assert_eq!(state["tasks"]["L1-001"]["merged_at"], serde_json::Value::Null);
    assert_eq!(sandbox.history("main").len(), 3, "nothing was committed");
}

const DESCRIPTION: &str = "# Shop\n\nSells things.\n\n<project-context version=\"1.0\">\n  <meta>\n    \
    <last-updated>2026-01-01</last-updated>\n    <last-context-hash>none</last-context-hash>\n  </meta>\n  <features>\n  \
    </features>\n  <api-registry>\n  </api-registry>\n  <schema-registry>\n  </schema-registry>\n</project-context>\n";

#[test]
fn what_the_tasks_export_is_entered_in_the_projects_description() {
    let sandbox = shop();
    sandbox.write("PROJECT.md", DESCRIPTION);
    let api = "<api endpoint=\"/api/invoices\" method=\"GET\">All of them</api>";
    let file = format!("{PLAN}/2-backend/L2-001-task.xml");
    sandbox.write(&file, &sandbox.read(&file).replace("</exports>", &format!("{api}</exports>")));
    sandbox.commit("Describe");
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
    let told = sandbox.git(["show", "main:PROJECT.md"]);
    assert!(told.contains("L2-001") && told.starts_with("# Shop\n\nSells things.\n"), "{told}");
    let update = &state(&sandbox)["context_update"];
    assert_eq!(update["status"], "completed");
    assert_eq!(update["project_md_path"], sandbox.project().join("PROJECT.md").as_str());
    assert_eq!(update["endpoints_added"], serde_json::json!(["/api/invoices"]));
    let commit = update["commit_hash"].as_str().expect("a real hash").to_owned();
    assert_eq!(sandbox.git(["rev-parse", "main"]), commit);
    assert_eq!(sandbox.git(["diff-tree", "--no-commit-id", "--name-only", "-r", &commit]), "PROJECT.md");
}

/// A commit on the local branch alone would keep the next run from landing anything.
#[test]
fn the_description_is_left_to_people_where_the_target_moves_by_requests() {
    let sandbox = shop();
    sandbox.write("PROJECT.md", DESCRIPTION);
    sandbox.commit("Describe");
    let host = ScriptedHost::github(&sandbox);
    host.checks("*", [("build", CheckResult::Green)]);
    let run = ["run", PLAN, "--land", "pr", "--poll", "1"];
    let _ = sandbox.piton(run).with_path(host.bin()).run().exits(0);
    assert_eq!(state(&sandbox)["context_update"]["status"], "skipped");
    assert_eq!(host.tip("main").as_deref(), Some(sandbox.git(["rev-parse", "main"]).trim()));
    assert_eq!(sandbox.read("PROJECT.md"), DESCRIPTION);
}

#[test]
fn a_run_that_dies_over_the_description_goes_on_and_enters_it_once() {
    for point in ["context.pinned", "context.moved"] {
        let sandbox = shop();
        sandbox.write("PROJECT.md", DESCRIPTION);
        sandbox.commit("Describe");
        let killed = sandbox.piton(["run", PLAN]).env("PITON_CRASH", format!("{point}:1")).spawn().wait();
        assert_eq!(killed.code, None, "{point}: {killed}");
        let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
        assert_eq!(state(&sandbox)["context_update"]["status"], "completed", "{point}");
        assert_eq!(
            sandbox.git(["log", "--format=%h", "--", "PROJECT.md"]).lines().count(),
            2,
            "{point}: first, and once"
        );
        let _ = sandbox.run("doctor").exits(0);
    }
}

/// The ways of looking that people know from the system's own pages.
#[test]
fn what_people_look_with_finds_what_it_should() {
    let sandbox = shop();
    sandbox.script("[L1-001]\nwrite src/L1-001.txt done\n[L1-002]\nwrite src/L1-002.txt wrong\n");
    let _ = sandbox.run(&format!("run {PLAN}")).exits(4);
    let log = sandbox.git(["log", "--all", "--oneline"]);
    assert!(log.lines().any(|line| line.contains("[L1-001] Add invoices")), "{log}");
    assert!(log.lines().any(|line| line.contains("L1-002")), "{log}");
    let branches = sandbox.git(["branch"]);
    assert!(
        branches.lines().any(|line| line.trim().trim_start_matches("+ ") == "worktree-L1-002"),
        "{branches}"
    );
    let worktrees = sandbox.git(["worktree", "list"]);
    // Its name is a link to where it is.
    let place = sandbox.worktrees().join("L1-002").canonicalize_utf8().expect("a link");
    assert!(worktrees.lines().any(|line| line.starts_with(&format!("{place} "))), "{worktrees}");
    let metrics = &state(&sandbox)["metrics"];
    let counted = ["total_tasks", "completed_tasks", "failed_tasks", "total_attempts"]
        .map(|name| metrics[name].as_u64());
    assert_eq!(counted, [Some(3), Some(1), Some(1), Some(6)]);
}
