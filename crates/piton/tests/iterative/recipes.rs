//! What the document does by hand, to the letter: each is applied, or refused where it is seen.

use std::process::{Command, Stdio};

use super::*;

/// A line of the document, in the project.
#[track_caller]
fn shell(sandbox: &Sandbox, line: &str) {
    let status = Command::new("sh").args(["-c", line]).current_dir(sandbox.project()).status();
    assert!(status.expect("a shell").success(), "{line}");
}

/// "Cleanup": moved with the day, or removed. Nothing of it comes back, and Piton says that the plan of its run is gone.
#[test]
fn a_folder_that_is_put_away_by_hand_stays_away() {
    let sandbox = habits("");
    let _ = sandbox.run("run habits").exits(0);
    shell(
        &sandbox,
        &format!(
            "mkdir -p .claude/iterative/archive\nmv {PLAN} .claude/iterative/archive/habits-$(date +%Y%m%d)"
        ),
    );
    let words = format!("its plan {PLAN} was moved to .claude/iterative/archive/habits-");
    for line in ["doctor", "doctor --repair", "doctor --repair", "doctor", "status", "log"] {
        let told = sandbox.run(line).exits(0).says(&words);
        let _ = told.lacks("it is missing").lacks("fixed  ");
        assert!(!sandbox.exists(PLAN), "{line}");
    }
    shell(&sandbox, "rm -rf .claude/iterative/archive");
    let _ = sandbox.run("doctor --repair").exits(0).says(&format!("its plan {PLAN} no longer exists"));
    assert!(!sandbox.exists(PLAN));
}

/// "Task/Phase Timeout", "Blocked Task/Phase", and other fields that are set in `state.json`, while no engine runs.
#[test]
fn every_change_of_the_state_is_applied_or_refused_by_the_next_command() {
    if Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_err() {
        piton_testkit::skipped("there is no jq here: the recipes cannot be tried");
        return;
    }
    let sandbox = habits("");
    let _ = sandbox.run("run habits --task T1").exits(0);
    let file = format!("{PLAN}/state.json");
    let unit = |id: &str| state(&sandbox)["tasks"][id].clone();
    for (filter, refused, id, status) in [
        (".tasks.T2.status = \"in_progress\" | .current_task = \"T2\"", "", "T2", "in_progress"),
        (".tasks.T2.status = \"blocked\" | .tasks.T2.reason = \"no key\"", "", "T2", "blocked"),
        (".tasks.T2.status = \"pending\"", "", "T2", "pending"),
        (".tasks.T2.status = \"timeout\"", "", "T2", "timeout"),
        (".tasks.T2.max_iterations = 12", "", "T2", "in_progress"),
        (".tasks.T1.status = \"pending\"", "T1: reset: T1 is completed and cannot be reset", "T1", "done"),
        (
            ".tasks.T9 = {\"status\": \"pending\"}",
            "a unit \"T9\" was added: the list has no such unit",
            "T1",
            "done",
        ),
        (".phase = \"deliver\"", "`phase` is \"deliver\": not everything is done and reviewed", "T1", "done"),
        (
            ".tasks.T2.status = \"fine\"",
            "the status of T2 is \"fine\": this is not a status of a unit",
            "T2",
            "in_progress",
        ),
    ] {
        shell(&sandbox, &format!("jq '{filter}' {file} > {file}.tmp && mv {file}.tmp {file}"));
        let told = sandbox.run("next").exits(0);
        if refused.is_empty() {
            assert!(!told.contains("rejected an edit"), "{filter}: {told}");
        } else {
            assert!(told.contains(refused), "{filter}: {told}");
            assert!(
                log(&sandbox).contains(&format!("Rejected an edit of state.json: {refused}")),
                "{}",
                log(&sandbox)
            );
            let _ = sandbox.run("log").exits(0).says(refused);
        }
        assert_eq!(unit(id)["status"], status, "{filter}");
    }
    assert_eq!(unit("T2")["max_iterations"], 12);
    // The box of what is done.
    let list = format!("{PLAN}/tasks.md");
    let ticked = sandbox.read(&list);
    sandbox.write(&list, &ticked.replace("- [x] **T1**", "- [ ] **T1**"));
    let words = "the box of T1 was unticked: it is completed, and is ticked again";
    let _ = sandbox.run("next").exits(0).says(&format!("rejected an edit of tasks.md: {words}"));
    assert_eq!(sandbox.read(&list), ticked);
    assert_eq!(log(&sandbox).matches(words).count(), 1, "{}", log(&sandbox));
    // An older state takes nothing back: "trust git/files", "log discrepancy".
    let old = sandbox.read(&file);
    let _ = sandbox.run("journal add later").exits(0);
    sandbox.write(&file, &old);
    let _ = sandbox.run("next").exits(0).says("the file was put back as it was at event");
    assert_eq!(log(&sandbox).matches("the file was put back as it was at event").count(), 1);
    let _ = sandbox.run("next").exits(0).lacks("rejected an edit");
}
