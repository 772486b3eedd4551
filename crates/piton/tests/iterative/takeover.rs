//! Folders with earlier work by others: the log and git count, and a state file is compared with them.

use super::*;

/// A person did T1 and began T2 by hand, and the state file says more than that.
fn begun_by_hand(sandbox: &Sandbox) -> String {
    sandbox.write("habits.sh", "case $1 in mark) ;; esac");
    sandbox.commit("feat(habits): Mark a day");
    let commit = sandbox.git(["rev-parse", "--short", "HEAD"]);
    let log = format!(
        "# Progress Log\n\n## T1 - Iteration 1 - 2026-01-14T11:00:00Z\n**Did:** All of it\n**Remaining:** None\n\
         **Signal:** T1_DONE\n**Commit:** {commit}\n\n## T2 - Iteration 1 - 2026-01-14T12:00:00Z\n**Did:** A sort\n\
         **Remaining:** What is marked twice\n**Blockers:** None\n"
    );
    sandbox.write(format!("{PLAN}/progress.md"), &log);
    let state = format!(
        r#"{{ "task": "habits", "slug": "habits", "mode": "dev", "created": "2026-01-14T10:30:00Z", "phase": "verify",
        "current_task": "T3", "current_iteration": 4, "mood": "fine",
        "tasks": {{
          "T1": {{ "status": "done", "iterations_used": 3, "confirmations_used": 1, "max_iterations": 3 }},
          "T2": {{ "status": "verifying", "iterations_used": 1, "max_iterations": 8 }},
          "T3": {{ "status": "done", "iterations_used": 1, "max_iterations": 3 }}
        }},
        "commits": ["{commit}: feat(habits): Mark a day"] }}"#
    );
    sandbox.write(format!("{PLAN}/state.json"), &state);
    // Some people commit these, too. They are still files of the plan, not work.
    sandbox.commit("How far it is");
    log
}

#[test]
fn a_state_that_nothing_bears_out_is_rebuilt_and_the_difference_is_logged() {
    let sandbox = habits("");
    let before = begun_by_hand(&sandbox);
    let looked = sandbox.run("import habits --dry-run").exits(0).says("T1       completed");
    let _ = looked.says("T3: the state file says done, but it is pending");
    assert!(!sandbox.exists(format!("{PLAN}/state.json.bak")), "who asks takes nothing over");
    let run = sandbox.run("run habits").exits(0).lacks("T1       attempt");
    let _ = run.says("T2       attempt 2 started").says("T3       attempt 1 started");
    assert_eq!(statuses(&sandbox), ["done"; 3]);
    let file = state(&sandbox);
    assert_eq!((&file["mood"], &file["tasks"]["T2"]["max_iterations"]), (&"fine".into(), &8.into()));
    let commits = file["commits"].as_array().expect("a list");
    assert!(commits[0].as_str().expect("a line").contains("Mark a day"), "{commits:?}");
    let log = log(&sandbox);
    assert!(log.starts_with(&before), "nothing of it has changed:\n{log}");
    assert!(log.contains("Rebuilt the state from this log and from git:"), "{log}");
    assert!(log.contains("T3: the state file says done, but"), "{log}");
    assert!(sandbox.read(format!("{PLAN}/state.json.bak")).contains("\"mood\": \"fine\""));
}

#[test]
fn a_run_can_be_rebuilt_from_the_log_and_git_alone() {
    let sandbox = habits("");
    let _ = sandbox.run("run habits --task T1").exits(0);
    sandbox.write(format!("{PLAN}/state.json"), "{ broken");
    std::fs::remove_dir_all(sandbox.own()).expect("Piton's own folder");
    let _ = sandbox.run("import habits").exits(0).says("the log and git are used").says("T1       completed");
    let _ = sandbox.run("import habits").exits(1).says("has the run").says("--reset");
    let _ = sandbox.run("run habits").exits(0).lacks("T1       attempt");
    assert_eq!(statuses(&sandbox), ["done"; 3]);
}

#[test]
fn blockers_and_lessons_of_before_are_taken_over() {
    let sandbox = habits("");
    let log = "# Progress Log\n\n## T1 - Iteration 1\n**Did:** Asked\n**Signal:** BLOCKED: which file?\n";
    sandbox.write(format!("{PLAN}/progress.md"), log);
    let lesson = |name: &str| format!("# Guardrails\n\n## {name}\n- **When**: always\n- **Do**: quote it\n");
    sandbox.write(".claude/iterative/archive/lists-20250101/guardrails.md", &lesson("Quotes"));
    sandbox.write(
        ".claude/iterative/archive/lists-20250202/guardrails.md",
        &(lesson("Quotes") + &lesson("Days")),
    );
    let _ = sandbox.run("import habits").exits(0).says("2 guardrails from the archive");
    assert_eq!(statuses(&sandbox), ["blocked", "pending", "pending"]);
    assert_eq!(state(&sandbox)["tasks"]["T1"]["reason"], "which file?");
    let lessons = sandbox.read(format!("{PLAN}/guardrails.md"));
    assert_eq!(
        (lessons.matches("## Quotes").count(), lessons.matches("## Days").count()),
        (1, 1),
        "{lessons}"
    );
    assert_eq!(super::log(&sandbox), log, "it says so already");
    let _ = sandbox.run("retry T1").exits(0);
    let keeps = does(&sandbox, "T1", "cp \"$PITON_PROMPT\" SIDE/told.md");
    act(&sandbox, &format!("[T1]\n{keeps}{}", does_well("T1")));
    let _ = sandbox.run("run habits").exits(0);
    let told = sandbox.read(sandbox.root().join("told.md"));
    assert!(told.contains("> Days — always — quote it"), "{told}");
}
