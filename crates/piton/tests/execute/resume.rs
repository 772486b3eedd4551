//! A run that another system left: what each status of a task comes to, and what may have become of its worktree and
//! its branch.

use std::fs;

use camino::Utf8PathBuf;
use piton_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::takeover::leave;
use crate::{PLAN, all_write, shop, state, statuses};

const DONE: [&str; 3] = ["completed"; 3];

/// The branch and the worktree of the first task, as the other system makes them.
fn worktree(sandbox: &Sandbox) -> Utf8PathBuf {
    let path = sandbox.worktrees().join("L1-001");
    sandbox.git(["worktree", "add", "-q", "-b", "worktree-L1-001", path.as_str()]);
    path
}

/// The same with the work committed in it, with a message that does not name the task.
fn worktree_with_work(sandbox: &Sandbox) -> Utf8PathBuf {
    let path = worktree(sandbox);
    sandbox.write(path.join("src/L1-001.txt"), "done\n");
    sandbox.git_in(&path, ["add", "-A"]);
    sandbox.git_in(&path, ["commit", "-q", "-m", "Work"]);
    path
}

/// The first task has this status, and its worktree and branch are recorded.
fn left_as(sandbox: &Sandbox, status: &str, attempts: u32) {
    leave(sandbox, &json!({ "L1-001": recorded(sandbox, status, attempts) }));
}

fn recorded(sandbox: &Sandbox, status: &str, attempts: u32) -> Value {
    let path = sandbox.worktrees().join("L1-001");
    json!({ "status": status, "attempts": attempts, "worktree_path": path, "branch": "worktree-L1-001" })
}

/// An agent that works on the first task again would spoil it.
fn spoil_the_first(sandbox: &Sandbox) {
    sandbox.script(&all_write().replace("write src/L1-001.txt done\n", "write src/L1-001.txt spoilt\n"));
}

/// The first task is landed as it was found, and everything else with it.
#[track_caller]
fn lands_as_it_was(sandbox: &Sandbox, why: &str) {
    spoil_the_first(sandbox);
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0).says(why).lacks("L1-001   agent");
    assert_eq!(sandbox.git(["show", "main:src/L1-001.txt"]), "done");
    assert_eq!(statuses(sandbox), DONE);
    let _ = sandbox.run("doctor").exits(0);
}

/// The first task is worked on again, under this number.
#[track_caller]
fn begins_again(sandbox: &Sandbox, why: &str, attempt: u32) {
    let _ = sandbox
        .run(&format!("run {PLAN}"))
        .exits(0)
        .says(why)
        .says(&format!("L1-001   attempt {attempt} st"));
    assert_eq!(statuses(sandbox), DONE);
    assert_eq!(state(sandbox)["tasks"]["L1-001"]["attempts"], attempt);
    let _ = sandbox.run("doctor").exits(0);
}

#[test]
fn what_was_abandoned_stays_so_and_blocks_its_layer() {
    let sandbox = shop();
    let path = worktree(&sandbox);
    sandbox.write(path.join("src/half.txt"), "half done\n");
    left_as(&sandbox, "abandoned", 5);
    let run = sandbox.run(&format!("run {PLAN}")).exits(4).says("it was abandoned");
    let _ = run.lacks("attempt 1");
    assert_eq!(statuses(&sandbox), ["abandoned", "pending", "pending"]);
    let state = state(&sandbox);
    assert_eq!(state["layers"]["1-foundation"]["status"], "blocked");
    // What it left is still there, and the file says where.
    assert_eq!(sandbox.read(path.join("src/half.txt")), "half done\n");
    assert_eq!(state["tasks"]["L1-001"]["worktree_path"], path.as_str());
    assert_eq!(state["worktrees"]["L1-001"]["status"], "abandoned");
}

#[test]
fn what_failed_is_tried_again_where_it_was_and_told_why() {
    let sandbox = shop();
    let path = worktree(&sandbox);
    sandbox.write(path.join("src/first.txt"), "committed\n");
    sandbox.git_in(&path, ["add", "-A"]);
    sandbox.git_in(&path, ["commit", "-q", "-m", "First try"]);
    sandbox.write(path.join("src/second.txt"), "not committed\n");
    let mut task = recorded(&sandbox, "failed", 2);
    task["errors"] = json!([{ "attempt": 2, "type": "verification_failed", "message": "no invoice" }]);
    task["retry_feedback"] = json!([{ "attempt": 3, "feedback": "write an invoice" }]);
    leave(&sandbox, &json!({ "L1-001": task }));
    sandbox.script(&all_write().replace("[L1-001]\n", "[L1-001]\nif-feedback write src/told.txt yes\n"));
    let _ = sandbox.run(&format!("import {PLAN}")).exits(0);
    // Its worktree is known without a ref, too.
    for name in sandbox.git(["for-each-ref", "--format=%(refname)", "refs/piton"]).lines() {
        sandbox.git(["update-ref", "-d", name]);
    }
    let _ = sandbox.run("clean --unfinished --dry-run").exits(0).says("the worktree of L1-001");
    assert_eq!(state(&sandbox)["tasks"]["L1-001"]["attempts"], 2, "the next one has not begun");
    assert_eq!(state(&sandbox)["tasks"]["L1-001"]["worktree_path"], path.as_str());
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0).says("L1-001   attempt 3 started");
    for (file, text) in [("told", "yes"), ("first", "committed"), ("second", "not committed")] {
        assert_eq!(sandbox.git(["show", &format!("main:src/{file}.txt")]), text);
    }
    assert_eq!(statuses(&sandbox), DONE);
}

#[test]
fn what_failed_as_often_as_it_may_is_abandoned() {
    let sandbox = shop();
    left_as(&sandbox, "failed", 5);
    let run =
        sandbox.run(&format!("run {PLAN}")).exits(4).says("failed → abandoned: 5 of 5 attempts are spent");
    let _ = run.lacks("attempt 6");
    assert_eq!(statuses(&sandbox), ["abandoned", "pending", "pending"]);
}

#[test]
fn what_was_under_way_without_a_worktree_begins_again() {
    let sandbox = shop();
    left_as(&sandbox, "in_progress", 2);
    begins_again(&sandbox, "its worktree no longer exists", 2);
}

/// As after `rm -rf`: git still lists it.
#[test]
fn a_worktree_whose_folder_is_gone_is_made_again() {
    for status in ["in_progress", "verifying"] {
        let sandbox = shop();
        let path = worktree_with_work(&sandbox);
        fs::remove_dir_all(&path).expect("our own folder");
        left_as(&sandbox, status, 2);
        begins_again(&sandbox, "its worktree no longer exists", 2);
        // The branch may be all there is of what was done before.
        assert_eq!(sandbox.git(["show", "worktree-L1-001:src/L1-001.txt"]), "done");
    }
}

#[test]
fn what_was_being_verified_is_verified_again() {
    let sandbox = shop();
    worktree_with_work(&sandbox);
    left_as(&sandbox, "verifying", 1);
    lands_as_it_was(&sandbox, "only its checks run again");
}

#[test]
fn what_was_verified_lands_also_without_its_worktree() {
    for status in ["verified", "merging"] {
        let sandbox = shop();
        let path = worktree_with_work(&sandbox);
        fs::remove_dir_all(&path).expect("our own folder");
        left_as(&sandbox, status, 1);
        lands_as_it_was(&sandbox, "its work is on worktree-L1-001");
    }
}

#[test]
fn work_whose_worktree_and_branch_are_gone_is_done_again() {
    for status in ["verifying", "verified", "merging"] {
        let sandbox = shop();
        left_as(&sandbox, status, 3);
        begins_again(&sandbox, "its worktree no longer exists", 3);
    }
}

/// A person deleted the branch under its worktree: what was committed there is unknown.
#[test]
fn a_worktree_whose_branch_is_gone_loses_no_file() {
    for status in ["in_progress", "verifying", "verified"] {
        let sandbox = shop();
        let path = worktree_with_work(&sandbox);
        sandbox.write(path.join("src/half.txt"), "half done\n");
        sandbox.git(["update-ref", "-d", "refs/heads/worktree-L1-001"]);
        left_as(&sandbox, status, 2);
        begins_again(&sandbox, "its branch is gone", 2);
        let kept = sandbox.run("rescue list").exits(0).stdout;
        let kept = kept.split_whitespace().find(|word| word.contains("L1-001")).expect("a rescue").to_owned();
        let shown = sandbox.run(&format!("rescue show {kept}")).exits(0);
        let _ = shown.says("src/half.txt").says("src/L1-001.txt");
    }
}

/// A person looks into the branch in a worktree of their own, which stays as it is.
#[test]
fn a_branch_that_is_checked_out_elsewhere_is_left_there() {
    for status in ["in_progress", "verified"] {
        let sandbox = shop();
        let path = worktree_with_work(&sandbox);
        let elsewhere = sandbox.root().join("elsewhere");
        sandbox.git(["worktree", "remove", path.as_str()]);
        sandbox.git(["worktree", "add", "-q", elsewhere.as_str(), "worktree-L1-001"]);
        sandbox.write(elsewhere.join("mine.txt"), "mine\n");
        let tip = sandbox.git(["rev-parse", "worktree-L1-001"]);
        left_as(&sandbox, status, 1);
        match status {
            "verified" => lands_as_it_was(&sandbox, "its work is on worktree-L1-001"),
            _ => begins_again(&sandbox, "its worktree no longer exists", 1),
        }
        assert_eq!(sandbox.git(["rev-parse", "worktree-L1-001"]), tip);
        assert_eq!(sandbox.git_in(&elsewhere, ["symbolic-ref", "HEAD"]), "refs/heads/worktree-L1-001");
        assert_eq!(sandbox.git_in(&elsewhere, ["status", "--porcelain"]), "?? mine.txt");
    }
}

#[test]
fn a_worktree_that_somebody_locked_goes_on_and_is_not_taken_away() {
    for (reason, told) in [("I am looking", "is locked (I am looking): "), ("", "is locked: ")] {
        let sandbox = shop();
        let path = worktree_with_work(&sandbox);
        sandbox.git(["worktree", "lock", "--reason", reason, path.as_str()]);
        left_as(&sandbox, "in_progress", 1);
        let run = sandbox.run(&format!("run {PLAN}")).exits(0).says("L1-001   attempt 1 resumed");
        let _ = run.says("worktree kept: ").says(told);
        assert_eq!(statuses(&sandbox), DONE);
        assert!(path.join("src/L1-001.txt").exists());
        assert!(sandbox.git(["worktree", "list", "--porcelain"]).contains("\nlocked"));
        // The person unlocks it.
        sandbox.git(["worktree", "unlock", path.as_str()]);
        let _ = sandbox.run("clean").exits(0);
        assert!(!path.exists());
    }
}

/// It may be on a drive that is not there, with work in it.
#[test]
fn a_locked_worktree_whose_folder_is_gone_is_not_forgotten() {
    let sandbox = shop();
    let path = worktree_with_work(&sandbox);
    sandbox.git(["worktree", "lock", "--reason", "on a drive", path.as_str()]);
    fs::remove_dir_all(&path).expect("our own folder");
    left_as(&sandbox, "in_progress", 1);
    let run = sandbox.run(&format!("run {PLAN}")).exits(4);
    let _ = run.says("needs a person: ").says("is locked (on a drive): `git worktree unlock` unlocks it");
    assert!(sandbox.git(["worktree", "list", "--porcelain"]).contains("locked on a drive"));
    sandbox.git(["worktree", "unlock", path.as_str()]);
    let _ = sandbox.run("unblock L1-001").exits(0);
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
    assert_eq!(statuses(&sandbox), DONE);
}

/// The other system died after git had moved the base and before it recorded that.
#[test]
fn what_was_being_merged_and_is_in_the_base_is_completed() {
    for (folder_is_there, how) in [(true, "--no-ff"), (false, "--no-ff"), (false, "--ff-only")] {
        let sandbox = shop();
        let path = worktree_with_work(&sandbox);
        let hash = sandbox.git(["rev-parse", "--short", "worktree-L1-001"]);
        sandbox.git(["merge", "-q", how, "worktree-L1-001"]);
        if !folder_is_there {
            sandbox.git(["worktree", "remove", path.as_str()]);
        }
        let mut task = recorded(&sandbox, "merging", 2);
        if how == "--ff-only" {
            task["commits"] = json!([{ "hash": hash, "type": "implementation", "attempt": 2 }]);
        }
        leave(&sandbox, &json!({ "L1-001": task }));
        lands_as_it_was(&sandbox, "merging → completed");
        assert_eq!(state(&sandbox)["tasks"]["L1-001"]["attempts"], 2);
        assert!(!path.exists(), "it is of no more use");
    }
}

/// A branch without commits of its own is part of every base.
#[test]
fn a_branch_without_a_commit_of_its_own_is_not_merged_work() {
    for status in ["merging", "verified"] {
        let sandbox = shop();
        worktree(&sandbox);
        sandbox.write("more.txt", "by a person\n");
        sandbox.git(["add", "more.txt"]);
        sandbox.git(["commit", "-q", "-m", "More"]);
        left_as(&sandbox, status, 1);
        begins_again(&sandbox, "the same attempt continues", 1);
    }
}

#[test]
fn what_was_being_merged_without_a_merge_is_verified_again_and_lands() {
    let sandbox = shop();
    worktree_with_work(&sandbox);
    left_as(&sandbox, "merging", 1);
    lands_as_it_was(&sandbox, "only its checks run again");
}

/// A merge that a person began in their checkout is theirs to end. Until then the landing waits.
#[test]
fn a_merge_that_was_left_in_the_checkout_is_named_and_not_touched() {
    let sandbox = shop();
    let config = sandbox.read("piton.toml") + "landing_wait = \"0s\"\n";
    sandbox.write("piton.toml", &config);
    sandbox.commit("Do not wait");
    worktree_with_work(&sandbox);
    sandbox.git(["merge", "-q", "--no-ff", "--no-commit", "worktree-L1-001"]);
    let before = |sandbox: &Sandbox| {
        let head = sandbox.git(["rev-parse", "HEAD", "MERGE_HEAD"]);
        (head, sandbox.git(["diff", "--cached"]), sandbox.git(["status", "--porcelain"]))
    };
    let found = before(&sandbox);
    left_as(&sandbox, "merging", 1);
    spoil_the_first(&sandbox);
    let run = sandbox.run(&format!("run {PLAN}")).exits(3).says("a merge is in progress in");
    let _ = run.says("git merge --abort");
    assert_eq!(before(&sandbox), found);
    assert_eq!(statuses(&sandbox), ["merging", "pending", "pending"]);
    sandbox.git(["merge", "--abort"]);
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
    assert_eq!(sandbox.git(["show", "main:src/L1-001.txt"]), "done");
    assert_eq!(statuses(&sandbox), DONE);
}

#[test]
fn what_was_waiting_runs_when_it_is_ready() {
    let sandbox = shop();
    leave(&sandbox, &json!({ "L1-001": { "status": "pending", "attempts": 0, "worktree_path": null } }));
    begins_again(&sandbox, "3 to be done", 1);
}

/// What was taken over goes the whole way: its worktree and its branch go when it has landed.
#[test]
fn a_worktree_and_a_branch_that_were_taken_over_are_cleaned_up() {
    for status in ["in_progress", "verified"] {
        let sandbox = shop();
        let path = worktree_with_work(&sandbox);
        left_as(&sandbox, status, 1);
        let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
        assert!(!path.exists(), "{status}");
        assert_eq!(sandbox.git(["branch", "--format=%(refname:short)"]), "main", "{status}");
        assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1, "{status}");
    }
}

/// Ids come back in every plan, and so do the names of worktrees.
#[test]
fn a_worktree_of_another_run_is_not_taken_over() {
    for status in ["in_progress", "verified"] {
        let sandbox = shop();
        sandbox.script("[L1-001]\nwrite src/L1-001.txt wrong\n");
        let _ = sandbox.run(&format!("run {PLAN}")).exits(4);
        let theirs = sandbox.worktrees().join("L1-001");
        assert!(theirs.join("src/L1-001.txt").exists());
        // A second plan with the same ids, which another system was working on.
        let other = "docs/tasks/other";
        sandbox.git(["mv", PLAN, other]);
        let titled = sandbox.read(format!("{other}/manifest.json")).replace("shop", "other");
        sandbox.write(format!("{other}/manifest.json"), &titled);
        sandbox.git(["commit", "-q", "-a", "-m", "Another plan"]);
        crate::write_plan(&sandbox);
        sandbox.commit("And the first one");
        let task = json!({ "status": status, "attempts": 1, "worktree_path": theirs });
        sandbox.write(
            format!("{other}/execute-state.json"),
            &json!({ "tasks": { "L1-001": task } }).to_string(),
        );
        sandbox.script(&all_write());
        let run = sandbox.run(&format!("run {other}")).exits(0);
        let _ = run.says("its worktree belongs to another run").says("L1-001   attempt 1 started");
        assert_eq!(sandbox.read(theirs.join("src/L1-001.txt")), "wrong\n");
    }
}

/// A process that takes a run over may die, too.
#[test]
fn a_take_over_that_dies_is_begun_again() {
    for status in ["in_progress", "verified"] {
        let sandbox = shop();
        let path = worktree_with_work(&sandbox);
        if status == "in_progress" {
            sandbox.write(path.join("src/half.txt"), "half done\n");
        }
        left_as(&sandbox, status, 1);
        let killed = sandbox.piton(["run", PLAN]).env("PITON_CRASH", "import.adopted:1").spawn().wait();
        assert_eq!(killed.code, None, "{killed}");
        let _ = sandbox.run("status").exits(1).says("no run");
        let why = match status {
            "verified" => "only its checks run again",
            _ => "the same attempt continues",
        };
        let _ = sandbox.run(&format!("run {PLAN}")).exits(0).says(why);
        assert_eq!(statuses(&sandbox), DONE);
        assert!(!path.exists());
        let landed = sandbox.git(["ls-tree", "-r", "--name-only", "main", "src"]);
        assert_eq!(landed.contains("half.txt"), status == "in_progress", "{landed}");
        let _ = sandbox.run("doctor").exits(0);
    }
}

/// A run is taken over again, from a file that says more.
#[test]
fn a_second_take_over_goes_on_where_the_first_one_was() {
    let sandbox = shop();
    let path = worktree(&sandbox);
    sandbox.write(path.join("src/half.txt"), "half done\n");
    left_as(&sandbox, "in_progress", 2);
    let _ = sandbox.run(&format!("import {PLAN}")).exits(0).says("the same attempt continues");
    left_as(&sandbox, "in_progress", 3);
    let _ = sandbox.run(&format!("import {PLAN} --reset")).exits(0).says("the same attempt continues");
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0).says("L1-001   attempt 3 started");
    assert_eq!(sandbox.git(["show", "main:src/half.txt"]), "half done");
}
