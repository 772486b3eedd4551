//! Runs written in another system's form, and taken up again there.

use piton_testkit::sandbox::{Sandbox, task, writers};
use serde_json::Value;

use crate::{PLAN, follow_the_script, shop};

/// A run of a plan of Piton's own: the first task has landed, the second was given up, the third never came.
fn half_done() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    follow_the_script(&sandbox);
    let tasks = [
        task("T1", ""),
        task("T2", "depends_on = [\"T1\"]\nattempts = 1"),
        task("T3", "depends_on = [\"T2\"]\nfiles = [\"T3.txt\"]\nconfirm = true"),
    ];
    sandbox.plan(&tasks.concat());
    sandbox.script(&(writers(&["T1"]) + "[T2]\nsay no\n"));
    let _ = sandbox.run("run plan.toml").exits(4);
    sandbox
}

#[test]
fn a_run_of_pitons_own_goes_on_in_the_other_system() {
    let sandbox = half_done();
    let out = sandbox.run("export --dialect execute").exits(0);
    insta::assert_snapshot!("to_execute", out.stdout);
    let folder = "docs/tasks/plan";
    let _ = sandbox.run(&format!("plan {folder}")).exits(0).says("L1-003").says("test -s T3.txt");
    let state: Value =
        serde_json::from_str(&sandbox.read(format!("{folder}/execute-state.json"))).expect("JSON");
    assert_eq!(state["completed"], serde_json::json!(["L1-001"]));
    assert_eq!(state["abandoned"], serde_json::json!(["L1-002"]));
    // Now the other system has it: here it is Piton again, which judges it by git.
    sandbox.git(["add", "docs", ":!docs/tasks/plan/execute-state.json"]);
    sandbox.git(["commit", "-q", "-m", "Export"]);
    let _ = sandbox.run(&format!("import {folder}")).exits(0).says("L1-001   completed: its commit");
    sandbox.script("[L1-002]\nwrite T2.txt done\n[L1-003]\nwrite T3.txt done\n");
    let run = format!("run {folder} --reset-task L1-002 --resume");
    let _ = sandbox.run(&run).exits(0).lacks("L1-001   attempt");
    assert_eq!(["T1.txt", "T2.txt", "T3.txt"].map(|file| sandbox.read(file)), ["done\n", "done\n", "done\n"]);
}

#[test]
fn a_run_of_the_other_system_becomes_a_plan_of_pitons_own() {
    let sandbox = shop();
    let _ = sandbox.run(&format!("run {PLAN} --layer 1-foundation")).exits(0);
    let out = sandbox.run("export --dialect native --out kept").exits(0);
    insta::assert_snapshot!("to_native", out.stdout);
    let told = |plan: &str| {
        let text = sandbox.run(&format!("plan {plan} --json")).exits(0).stdout;
        let mut plan: Value = serde_json::from_str(&text).expect("JSON");
        let tasks = plan["tasks"].as_array_mut().expect("a list");
        // Told in the notes: the prompt has them, but they have no key of their own. Nor has what tells the author's words
        // from those of the system.
        for task in tasks {
            let task = task.as_object_mut().expect("a task");
            task.remove("exports");
            task.remove("source");
        }
        plan["tasks"].take()
    };
    assert_eq!(told("kept/shop.toml"), told(PLAN));
}

#[test]
fn what_is_there_is_named_and_nothing_is_written() {
    let sandbox = half_done();
    sandbox.write("out/manifest.json", "mine");
    let before = sandbox.fingerprint();
    let _ =
        sandbox.run("export --dialect execute --out out").exits(1).says("out/manifest.json").says("--out");
    let _ = sandbox.run("export --dialect native").exits(1).says("already one of the native system");
    let _ = sandbox.run("export nobody --dialect execute").exits(1).says("there is no run `nobody`");
    let _ = sandbox.run("export").exits(2).says("--dialect");
    assert_eq!(sandbox.fingerprint(), before);
}

#[test]
fn scripts_get_the_notes_one_by_one() {
    let sandbox = half_done();
    let text = sandbox.run("export --dialect execute --out out --json").exits(0).stdout;
    let told: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(told["files"][0], "manifest.json");
    assert_eq!(told["files"].as_array().map(Vec::len), Some(6));
    let notes = told["notes"].as_array().expect("a list");
    let is_told = |task: &str, field: &str| {
        notes.iter().any(|note| note["task"] == task && note["field"] == field && note["text"].is_string())
    };
    assert!(is_told("T1", "id") && is_told("T3", "confirm") && is_told("T2", "attempts"), "{notes:?}");
}
