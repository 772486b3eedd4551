//! Claims that a task is done: judged by what is on the issue's branch, wherever that is checked out.

use piton_testkit::sandbox::until;
use serde_json::json;

use super::edits::{COMPLETE, about, log, status, tick};
use super::*;

/// A run that a person keeps by hand, whose checkout stays on the main branch.
fn ledger() -> Sandbox {
    let sandbox = months();
    let _ = sandbox.run(&format!("next --plan {PLAN}")).exits(0);
    sandbox
}

/// Commit files on the issue's branch, and go back.
fn commit_there(sandbox: &Sandbox, files: &[(&str, &str)]) {
    sandbox.git(["switch", "-q", BRANCH]);
    for (path, text) in files {
        sandbox.write(path, text);
    }
    sandbox.git(["add", "spend.sh", "tests"]);
    sandbox.git(["commit", "-q", "-m", "By hand"]);
    sandbox.git(["switch", "-q", "main"]);
}

#[test]
fn a_claim_is_judged_by_the_issues_branch_and_not_by_the_checkout() {
    let sandbox = ledger();
    // Here every check passes; there it does not.
    commit_there(&sandbox, &[("spend.sh", BY_MONTH), ("tests/red.sh", "exit 1\n")]);
    tick(&sandbox, "1.1");
    let _ = sandbox.run("next").exits(0);
    assert_eq!(status(&sandbox, "1.1"), "failed", "{}", log(&sandbox));
    // And the other way round.
    sandbox.write("tests/red.sh", "exit 1\n");
    let report = sandbox.run("report 1.1 done").exits(1);
    assert!(report.contains("in a worktree of "), "{report}");
    fs::remove_file(sandbox.project().join("tests/red.sh")).expect("our own file");
    commit_there(&sandbox, &[("tests/red.sh", "exit 0\n")]);
    sandbox.write("tests/worse.sh", "exit 1\n");
    // If the process dies here, the next one goes on.
    let dies = sandbox.piton(["report", "1.1", "done"]).env("PITON_CRASH", "claims.judged:1").run();
    assert_ne!(dies.code, Some(0), "{dies}");
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 2);
    let _ = sandbox.run("report 1.1 done").exits(0);
    assert_eq!(status(&sandbox, "1.1"), "completed", "{}", log(&sandbox));
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 2, "it stays for the next");
    let _ = sandbox.run("clean --unfinished").exits(0).says("a worktree for checks");
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
    assert_eq!(sandbox.git(["for-each-ref", "--format=%(refname)", "refs/piton"]), "");
}

#[test]
fn work_that_is_not_on_the_branch_proves_nothing() {
    let sandbox = ledger();
    sandbox.write("spend.sh", BY_MONTH);
    tick(&sandbox, "1.1");
    let _ = sandbox.run("next").exits(0);
    assert_eq!((status(&sandbox, "1.1").as_str(), ticked(&sandbox)), ("pending", vec!["0".to_owned()]));
    let told = log(&sandbox);
    assert!(told.contains("its work is not on `issue/7-by-month`"), "{told}");
    let report = sandbox.run("report 1.1 done").exits(1);
    assert!(report.contains("commit it there first"), "{report}");
    assert_eq!(status(&sandbox, "1.1"), "pending");
    // The list that the claim is made in is not work, wherever it is.
    sandbox.git(["stash", "-q"]);
    sandbox.git(["switch", "-q", BRANCH]);
    tick(&sandbox, "1.1");
    let _ = sandbox.run("next").exits(0);
    assert_eq!(status(&sandbox, "1.1"), "pending");
    // Where the branch is checked out, what is committed counts, and git supplies what the report left out.
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.write("tests/by-month.sh", TRY_MONTHS);
    tick(&sandbox, "1.1");
    let _ = sandbox.run("next").exits(0).says("it waits: not committed: spend.sh, tests/by-month.sh");
    assert_eq!((status(&sandbox, "1.1").as_str(), ticked(&sandbox)), ("in_progress", vec!["0".to_owned()]));
    sandbox.commit("By hand");
    let _ = sandbox.run("next").exits(0);
    let told = entry(&sandbox, "1.1");
    assert_eq!(told["status"], "completed", "{}", log(&sandbox));
    assert_eq!(
        (&told["files_created"], &told["files_modified"]),
        (&json!(["tests/by-month.sh"]), &json!(["spend.sh"]))
    );
    assert_eq!(told["notes"], "(auto-updated by orchestrator)");
    assert!(journal(&sandbox).contains("### Files Modified\n- `spend.sh`\n"), "{}", journal(&sandbox));
    // The same commit is not the work of another task.
    let _ = sandbox.run("report 1.2 done").exits(1).says("already counts for 1.1");
    sandbox.write("tests/mistakes.sh", "true\n");
    sandbox.commit("By hand");
    let _ = sandbox.run("report 1.2 done").exits(0);
    assert_eq!(entry(&sandbox, "1.2")["files_created"], json!(["tests/mistakes.sh"]), "since the last one");
}

#[test]
fn what_a_claim_tells_is_kept_although_it_is_refused() {
    let sandbox = ledger();
    if !about(&sandbox, "1.1", COMPLETE) {
        return;
    }
    let _ = sandbox.run("next").exits(0);
    let told = entry(&sandbox, "1.1");
    assert_eq!((&told["status"], &told["exports"]), (&json!("pending"), &json!(["--by-month"])));
    assert!(log(&sandbox).contains("1.1: reported done"), "{}", log(&sandbox));
}

/// Work from before the run cannot be done again, so the report names the commit.
#[test]
fn a_commit_of_the_branch_can_be_named_as_the_work() {
    let sandbox = ledger();
    let _ = sandbox.run("report 1.1 done").exits(1);
    sandbox.git(["switch", "-q", "-c", "aside"]);
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.git(["commit", "-q", "-m", "By month", "spend.sh"]);
    let aside = sandbox.git(["rev-parse", "HEAD"]);
    let _ = sandbox.run(&format!("report 1.1 done --commit {aside}")).exits(1);
    let base = sandbox.git(["rev-parse", "main"]);
    let _ = sandbox.run(&format!("report 1.1 done --commit {base}")).exits(0);
    assert_eq!(status(&sandbox, "1.1"), "completed");
}

/// A person fixes by hand what no agent could, in the worktree of all tasks: Piton commits it, as it does for agents.
#[test]
fn work_in_the_worktree_of_all_tasks_is_committed_when_its_checks_pass() {
    let sandbox = months();
    act(&sandbox, "[1.2]\nwrite tests/by-month.sh exit 1\n");
    let _ = sandbox.run("run 7").exits(4);
    let _ = sandbox.run("retry 1.2").exits(0);
    let place = workplace(&sandbox);
    let tip = sandbox.git(["rev-parse", BRANCH]);
    // What the agent left does not pass, so the branch stays where it is.
    let _ = sandbox.run("report 1.2 done").exits(1).says("in a worktree of");
    assert_eq!(sandbox.git(["rev-parse", BRANCH]), tip);
    let _ = sandbox.run("retry 1.2").exits(0);
    sandbox.write(place.join("tests/by-month.sh"), TRY_MONTHS);
    // If the process dies here, the next one goes on.
    let dies = sandbox.piton(["report", "1.2", "done"]).env("PITON_CRASH", "claims.landed:1").run();
    assert_ne!(dies.code, Some(0), "{dies}");
    let _ = sandbox.run("report 1.2 done").exits(0);
    assert_eq!(status(&sandbox, "1.2"), "completed");
    let subjects = sandbox.git(["log", "--format=%s", &format!("{tip}..{BRANCH}")]);
    assert!(subjects.starts_with("[1.2] ") && subjects.lines().count() == 1, "{subjects}");
    assert_eq!(sandbox.git(["show", &format!("{BRANCH}:tests/by-month.sh")]) + "\n", TRY_MONTHS);
    act(&sandbox, "");
    let _ = sandbox.run("run 7").exits(0);
    is_whole(&sandbox);
    assert_eq!(statuses(&sandbox), ALL_DONE);
}

/// The document's own flow: its sub-agents write files and do not commit.
#[test]
fn an_issue_is_not_completed_by_files_that_nobody_committed() {
    let sandbox = super::edits::ledger();
    for (id, file, text) in WORK {
        sandbox.write(file, text);
        if !about(&sandbox, id, super::edits::BEGIN) || !about(&sandbox, id, COMPLETE) {
            return;
        }
        let _ = sandbox.run("next").exits(0);
    }
    assert_eq!(ticked(&sandbox), ["0"], "{}", log(&sandbox));
    assert!(!statuses(&sandbox)[1..].contains(&"done".to_owned()), "{:?}", statuses(&sandbox));
    let run = sandbox.run("run 7").exits(3).lacks("Closes #7");
    let _ = run.says("1.1 is reported done by execution-state.json, and waits: not committed: spend.sh");
    let text = journal(&sandbox);
    assert!(text.contains("git add -- spend.sh && git commit -m 'Task 1.1'"), "its own log says so: {text}");
    assert_eq!(sandbox.git(["diff", "--name-only", "main", BRANCH]), "");
    sandbox.commit("By hand");
    let _ = sandbox.run("next").exits(0);
    assert_eq!(status(&sandbox, "1.1"), "completed", "{}", log(&sandbox));
}

#[test]
fn an_engine_waits_for_a_claim_to_be_decided_and_goes_on() {
    let sandbox = months();
    sandbox.write("piton.toml", &sandbox.read("piton.toml").replace("\"0s\"", "\"1h\""));
    act(&sandbox, "[1.1]\ncrash\n");
    let mut engine = sandbox.piton(["run", "7"]).spawn();
    until("a try that fails", || {
        (sandbox.exists(format!("{PLAN}/execution-state.json")) && status(&sandbox, "1.1") == "failed")
            .then_some(())
    });
    sandbox.git(["switch", "-q", BRANCH]);
    sandbox.write("spend.sh", BY_MONTH);
    // Its check does not end before the engine had every reason to; those after it do.
    let gate = sandbox.fifo("gate");
    sandbox.write("tests/gate.sh", &format!("test -e {gate}.open || {{ cat {gate}; touch {gate}.open; }}\n"));
    sandbox.git(["add", "tests/gate.sh"]);
    sandbox.git(["commit", "-q", "-m", "By month", "spend.sh", "tests/gate.sh"]);
    tick(&sandbox, "1.1");
    engine.until_says("started by tasks.md");
    engine.until_at(&sandbox, "gate");
    let _ = engine.wait().exits(0).says("1.2      landed").lacks("1.1      landed");
    assert_eq!(statuses(&sandbox), ALL_DONE);
}
