//! A tasks folder that lies outside of its project, as both descriptions of the system have it.

use std::fs;

use camino::Utf8PathBuf;
use piton_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::{PLAN, all_write, shop};

/// Whether the manifest of a plan says which project it is about.
#[derive(Clone, Copy, PartialEq)]
enum Manifest {
    NamesProject,
    NamesNone,
}

/// The plan of the shop, moved to where no repository is.
fn moved_out(manifest_says: Manifest) -> (Sandbox, Utf8PathBuf) {
    let sandbox = shop();
    let plan = sandbox.root().join("docs/tasks/shop");
    fs::create_dir_all(sandbox.root().join("docs/tasks")).expect("a new folder");
    fs::rename(sandbox.project().join(PLAN), &plan).expect("our own folder");
    let mut manifest: Value = json!({ "prd": { "slug": "shop" }, "summary": { "total_tasks": 3 } });
    if manifest_says == Manifest::NamesProject {
        manifest["prd"]["project_path"] = json!(sandbox.project());
    }
    sandbox.write(plan.join("manifest.json"), &manifest.to_string());
    sandbox.commit("The plan is elsewhere");
    (sandbox, plan)
}

fn state(plan: &Utf8PathBuf) -> Value {
    let text = fs::read_to_string(plan.join("execute-state.json")).expect("a state file");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn every_command_finds_the_run_by_its_plan_from_anywhere() {
    let (sandbox, plan) = moved_out(Manifest::NamesProject);
    let _ = sandbox.run(&format!("next --plan {plan}")).exits(0).says("L1-001");
    assert!(!plan.join(".piton").exists() && sandbox.own().join("piton.db").exists());
    for folder in [sandbox.project().to_owned(), sandbox.root().to_owned(), plan.clone()] {
        for command in ["status", "why L1-001", "log", "next", "progress", "queue", "orient", "prompt L1-001"]
        {
            let line = format!("{command} --plan {plan}");
            let _ = sandbox.piton(line.split_whitespace()).within(&folder).run().exits(0);
        }
        // A relative path says the same.
        let relative = match folder.as_str() {
            _ if folder == plan => ".",
            _ if folder == sandbox.project() => "../docs/tasks/shop",
            _ => "docs/tasks/shop",
        };
        let line = format!("status --plan {relative} --json");
        let _ = sandbox.piton(line.split_whitespace()).within(&folder).run().exits(0).says("\"total\": 3");
    }
    // A command in the plan's folder means that plan.
    let _ = sandbox.piton(["status"]).within(&plan).run().exits(0).says("2 pending");
    let _ = sandbox.run(&format!("start L1-001 --plan {plan} --by ada")).exits(0);
    assert_eq!(state(&plan)["tasks"]["L1-001"]["status"], "in_progress");
    let _ = sandbox.run(&format!("reset L1-001 --plan {plan}")).exits(0);
    let _ = sandbox.run(&format!("run {plan}")).exits(0);
    assert_eq!(state(&plan)["metrics"]["tasks_completed"], 3);
    assert_eq!(state(&plan)["tasks_path"], plan.as_str());
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

/// Nothing but the command line names the project the first time; from then on the state file does.
#[test]
fn a_project_that_was_named_by_hand_is_found_again_by_the_state_file() {
    let (sandbox, plan) = moved_out(Manifest::NamesNone);
    let project = sandbox.project().to_owned();
    let line = format!("run {plan} --project-path {project} --layer 1-foundation");
    let _ = sandbox.piton(line.split_whitespace()).within(sandbox.root()).run().exits(0);
    for line in [format!("status {plan}"), format!("why L2-001 --plan {plan}"), format!("run {plan}")] {
        let _ = sandbox.piton(line.split_whitespace()).within(sandbox.root()).run().exits(0);
    }
    assert_eq!(state(&plan)["metrics"]["tasks_completed"], 3);
    assert_eq!(sandbox.git(["ls-files", "src"]).lines().count(), 3);
    assert!(!plan.join(".piton").exists());
}

/// What another system left says where its project is, too.
#[test]
fn a_state_file_that_another_system_left_names_the_project() {
    let (sandbox, plan) = moved_out(Manifest::NamesNone);
    let left = json!({ "schema_version": "2.0", "project_path": sandbox.project(), "status": "in_progress",
        "tasks": { "L1-001": { "status": "pending" } } });
    sandbox.write(plan.join("execute-state.json"), &left.to_string());
    let _ = sandbox.piton(["run", plan.as_str()]).within(sandbox.root()).run().exits(0);
    assert_eq!(sandbox.git(["ls-files", "src"]).lines().count(), 3);
}

#[test]
fn an_agent_gets_its_copy_of_the_state_where_such_plans_usually_lie() {
    let (sandbox, plan) = moved_out(Manifest::NamesProject);
    let failed = "/\"L1-001\": {/,/\"status\"/s/\"status\": \"[a-z_]*\"/\"status\": \"failed\"/";
    let edit = format!("sed '{failed}' {PLAN}/execute-state.json > t && mv t {PLAN}/execute-state.json");
    let program = sandbox.program("give-up", &edit).join("give-up");
    let work = "[L1-001]\nwrite src/L1-001.txt done\n";
    let gives_up = all_write().replace(work, &format!("{work}[L1-001 1]\nrun {program}\n"));
    sandbox.script(&gives_up);
    let run = sandbox.run(&format!("run {plan}")).exits(0);
    let _ = run.says("marked as failed in execute-state.json").says("L1-001   attempt 2 started");
    assert_eq!(sandbox.git(["ls-files", "docs"]), "", "the copy is no work");
}
