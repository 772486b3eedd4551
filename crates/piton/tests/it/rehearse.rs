//! `piton rehearse`: everything but the agents, in a scratch clone.

use piton_testkit::sandbox::{Sandbox, task};
use serde_json::Value;

use crate::sandbox;

fn with(tasks: &str) -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(tasks);
    // No agent is started: there would be nothing for it to do.
    sandbox.script("");
    sandbox
}

fn checked(id: &str, check: &str, more: &str) -> String {
    task(id, &format!("checks = ['{check}']\n{more}"))
}

#[test]
fn a_plan_that_can_be_run_is_said_to_be_one_and_nothing_changes() {
    let tasks = checked("T1", "test -f one.txt", "files = ['one.txt']")
        + &checked("T2", "test -f two.txt", "files = ['two.txt']\ndepends_on = ['T1']");
    let sandbox = with(&tasks);
    let before = sandbox.fingerprint();
    let said = sandbox.run("rehearse plan.toml").exits(0);
    let said = said.says("test -f one.txt  (T1): fails, as long as nothing is done");
    let _ = said.says("landed in this order: T1, T2").says("2 tasks can be run").lacks("already green");
    let after = sandbox.fingerprint();
    // Git renews the time of an object that the clone would write again.
    let differs =
        |path: &str, now: &String| before.get(path) != Some(now) && !path.contains("/.git/objects/");
    let changed: Vec<&String> =
        after.iter().filter(|(path, now)| differs(path, now)).map(|(path, _)| path).collect();
    assert!(changed.is_empty() && after.len() == before.len(), "{changed:?}");
    let _ = sandbox.run("runs").says("no run");
}

#[test]
fn checks_that_pass_before_anything_is_done_are_named() {
    let sandbox = with(&(checked("T1", "true", "") + &checked("T2", "test -f two.txt", "")));
    let said = sandbox.run("rehearse plan.toml").exits(0);
    let _ = said.says("already green: T1.").says("the checks of 1 task pass already");
    let document: Value =
        serde_json::from_str(&sandbox.run("rehearse plan.toml --json").exits(0).stdout).expect("JSON");
    assert_eq!(document["green_already"], serde_json::json!(["T1"]));
    assert_eq!(document["ready"], true);
}

#[test]
fn a_check_that_cannot_judge_is_an_error_with_the_reason() {
    let tasks = checked("T1", "no-such-program --now", "") + &checked("T2", "echo more >> README.md", "");
    let sandbox = with(&tasks);
    let failed = sandbox.run("rehearse plan.toml").exits(1);
    let failed =
        failed.says("a run of plan would fail").says("the check `no-such-program --now` cannot judge");
    let _ = failed.says("changed");
}

#[test]
fn a_hook_that_refuses_commits_is_named() {
    let sandbox = with(&checked("T1", "test -f one.txt", ""));
    let hook = sandbox.project().join(".git/hooks/pre-commit");
    sandbox.write(".git/hooks/pre-commit", "#!/bin/sh\necho 'no commits on Thursdays' >&2\nexit 1\n");
    std::process::Command::new("chmod").arg("+x").arg(hook).status().expect("chmod");
    let failed = sandbox.run("rehearse plan.toml").exits(1);
    let _ = failed.says("a hook refuses commits of agents: no commits on Thursdays");
}

#[test]
fn tasks_that_meet_in_a_file_are_named() {
    let tasks = checked("T1", "test -f a.txt", "files = ['a.txt']")
        + &checked("T2", "test -f a.txt", "files = ['a.txt']");
    let sandbox = with(&tasks);
    let document: Value =
        serde_json::from_str(&sandbox.run("rehearse plan.toml --json").exits(0).stdout).expect("JSON");
    assert_eq!(document["order"]["met_in_a_file"].as_array().map(Vec::len), Some(1), "{document}");
    assert_eq!(document["order"]["open"], serde_json::json!([]));
}

#[test]
fn what_cannot_be_set_up_is_said_before_a_run() {
    let sandbox = sandbox();
    let plan = sandbox.plan_text("", &checked("T1", "test -f one.txt", ""));
    sandbox.write("plan.toml", &(plan + "\n[worktree]\nsetup = ['false']\n"));
    sandbox.commit("Plan");
    let failed = sandbox.run("rehearse plan.toml").exits(1);
    let _ = failed.says("set-up");
}

#[test]
fn the_clone_stays_if_that_is_wanted() {
    let sandbox = with(&checked("T1", "test -f one.txt", ""));
    let said = sandbox.run("rehearse plan.toml --keep").exits(0);
    let all = format!("{}{}", said.stdout, said.stderr);
    let folder = all.lines().find_map(|line| line.strip_prefix("the scratch clone is ")).expect("it is said");
    assert!(std::path::Path::new(folder).join("rehearsal/plan.toml").is_file());
    std::fs::remove_dir_all(folder).expect("it can be removed");
}

#[test]
fn nobody_stands_in_for_a_person() {
    let person = "[[task]]\nid = 'T2'\ntitle = 'Press the button'\nprompt = 'Press it'\nby_person = true\n";
    let sandbox = with(&(checked("T1", "test -f one.txt", "files = ['one.txt']") + person));
    let _ = sandbox.run("rehearse plan.toml").exits(0).says("landed in this order: T1\n");
    let sandbox = with(person);
    let _ = sandbox.run("rehearse plan.toml").exits(0).says("nothing is left for an agent to do");
}
