//! A claim of the ledger needs evidence: work of its own, a check of its own, or an explicit word.

use crate::{folder, json, sandbox, status};
use piton_testkit::sandbox::{Sandbox, task};

/// Three tasks that the same check judges, which passes whatever was done.
fn shared() -> Sandbox {
    let sandbox = sandbox();
    let tasks: Vec<String> = ["T1", "T2", "T3"].iter().map(|id| task(id, "checks = ['true']")).collect();
    sandbox.plan(&tasks.concat());
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    sandbox
}

fn spent(sandbox: &Sandbox, id: &str) -> serde_json::Value {
    json(&sandbox.run(&format!("status {id} --json")).exits(0), "/attempts_spent")
}

#[test]
fn one_commit_is_the_work_of_one_task() {
    let sandbox = shared();
    sandbox.write("a.txt", "x");
    sandbox.commit("By hand");
    let _ = sandbox.run("report T1 done").exits(0).says("completed, its checks passed");
    let commit = sandbox.git(["rev-parse", "HEAD"]);
    for id in ["T2", "T3"] {
        let refused = sandbox.run(&format!("report {id} done")).exits(1).says("there is no evidence that");
        let _ = refused.says("already counts for T1").says("done --no-change --reason").lacks("running");
        assert_eq!((status(&sandbox, id).as_str(), spent(&sandbox, id)), ("pending", 0.into()));
    }
    // Unless it is named, or nothing had to change.
    let _ = sandbox.run(&format!("report T2 done --commit {commit}")).exits(0).says("its checks passed");
    let _ = sandbox.run("report T3 done --no-change").exits(2);
    let _ = sandbox.piton(["report", "T3", "done", "--no-change", "--reason", "so before"]).run().exits(0);
    let _ = sandbox.run("status --all").exits(0).says("reported, not proven");
    let _ = sandbox.run("log T3").exits(0).says("Nothing had to change: so before");
    let _ = sandbox.run("report T3 failed --no-change --reason no").exits(2);
    let _ = sandbox.run("doctor").exits(0);
}

/// Agents say *already*, and people who keep the ledger say *no change*. Outside of an attempt either is reported, not
/// proven.
#[test]
fn already_is_the_same_word_as_no_change() {
    let sandbox = shared();
    let _ = sandbox.run("report T1 already").exits(2).says("say why: --reason TEXT");
    let _ = sandbox.piton(["report", "T1", "already", "--reason", "so before"]).run().exits(0);
    let _ = sandbox.piton(["report", "T2", "done", "--no-change", "--reason", "so before"]).run().exits(0);
    for id in ["T1", "T2"] {
        let _ = sandbox.run(&format!("status {id}")).exits(0).says("reported, not proven");
        let _ = sandbox.run(&format!("log {id}")).exits(0).says("Nothing had to change: so before");
    }
}

#[test]
fn a_commit_counts_from_the_start_of_its_task() {
    let sandbox = shared();
    sandbox.write("a.txt", "x");
    sandbox.commit("Of nobody");
    let _ = sandbox.run("start T1").exits(0);
    let _ = sandbox.run("report T1 done").exits(1).says("nothing was committed since T1 began");
    assert_eq!(status(&sandbox, "T1"), "in_progress");
    sandbox.write("b.txt", "x");
    sandbox.commit("By hand");
    let _ = sandbox.run("report T1 done").exits(0);
    // Without `piton start`, what was there before still counts as work.
    let _ = sandbox.run("report T2 done").exits(0);
    let _ = sandbox.run("report T3 done").exits(1);
}

#[test]
fn work_that_is_not_committed_makes_a_claim_wait_and_says_how_to_commit_it() {
    let sandbox = shared();
    sandbox.write("a b.txt", "x");
    let waits = sandbox.run("report T1 done").exits(1);
    let waits = waits.says("reported done by you, and waits: not committed: a b.txt").lacks("running");
    assert!(waits.stderr.contains("git add -- 'a b.txt' && git commit -m 'Task T1'"), "{waits}");
    assert_eq!((status(&sandbox, "T1").as_str(), spent(&sandbox, "T1")), ("in_progress", 0.into()));
    let why = sandbox.run("why T1").exits(0).says("not committed: a b.txt");
    // The command that is printed is one that works.
    let command =
        why.stdout.lines().find(|line| line.contains("git add")).expect("a command").trim().to_owned();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &command]).current_dir(sandbox.project());
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        shell.env(name, "tester@localhost");
    }
    assert!(shell.status().expect("a shell").success(), "{command}");
    let _ = sandbox.run("report T1 done").exits(0).says("completed, its checks passed");
}

/// After the report a commit is enough: the next command sees it, and so does an engine that starts.
#[test]
fn a_claim_that_waits_is_judged_once_its_work_is_committed() {
    for command in ["next", "start T2", "run plan.toml --task T3"] {
        let sandbox = shared();
        sandbox.script("[T3]\nwrite T3.txt x\n");
        let _ = sandbox.run("start T1 --by ada").exits(0);
        sandbox.write("a.txt", "x");
        let _ = sandbox.run("report T1 done --by ada --file a.txt --note first").exits(1);
        // As long as it is not committed, nothing happens.
        let _ = sandbox.run("next").exits(0).says("reported done by ada, not committed: a.txt");
        assert_eq!(status(&sandbox, "T1"), "in_progress");
        sandbox.commit("By hand");
        let judged = sandbox.run(command).exits(0).says("what ada reported done is committed: T1 is checked");
        assert_eq!(status(&sandbox, "T1"), "completed", "{judged}");
        let _ = sandbox.run("report T2 done").exits(1).says("there is no evidence that T2 was done");
    }
    // `piton reset` does not answer that it is done.
    let sandbox = shared();
    sandbox.write("a.txt", "x");
    let _ = sandbox.run("report T1 done").exits(1);
    sandbox.commit("By hand");
    let _ = sandbox.run("reset T1").exits(0).lacks("judged");
    assert_eq!(status(&sandbox, "T1"), "pending");
}

#[test]
fn a_claim_for_a_task_nobody_began_spends_no_attempt() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let refused = sandbox.run("report T1 done").exits(1);
    let _ = refused.says("it was never started, and check `test -s T1.txt` failed");
    assert_eq!((status(&sandbox, "T1").as_str(), spent(&sandbox, "T1")), ("pending", 0.into()));
}

#[test]
fn without_git_files_that_differ_from_the_start_are_the_work() {
    let sandbox = folder();
    let tasks = task("T1", "checks = []\nfiles = ['a.txt']") + &task("T2", "checks = []\nfiles = ['a.txt']");
    sandbox.write("plan.toml", &sandbox.plan_text("", &tasks));
    sandbox.write("a.txt", "before");
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let _ = sandbox.run("report T1 done --file a.txt").exits(1).says("there is no evidence that T1 was done");
    let _ = sandbox.run("start T1").exits(0);
    let _ = sandbox.run("report T1 done --file a.txt").exits(1);
    sandbox.write("a.txt", "after");
    let _ = sandbox.run("report T1 done").exits(0).says("its files have changed; without a check");
    let _ = sandbox.run("start T2").exits(0);
    let _ = sandbox.run("report T2 done --file a.txt").exits(1);
    let _ = sandbox.run("status --all").exits(0).says("its files have changed, without a check");
}

#[test]
fn a_task_can_be_begun_before_its_turn() {
    let sandbox = sandbox();
    let second = task("T2", "group = 'two'");
    let groups = "[[group]]\nid = 'one'\n[[group]]\nid = 'two'\n";
    sandbox.plan(&format!("{}{second}{groups}", task("T1", "group = 'one'")));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let refused = sandbox.run("report T2 done").exits(1);
    let _ = refused.says("the group one is not complete").says("piton start T2 --ahead");
    let _ = sandbox.run("start T2 --ahead").exits(0).says("attempt 1 started by you");
    sandbox.write("T2.txt", "x");
    sandbox.commit("By hand");
    let _ = sandbox.run("report T2 done").exits(0).says("completed, its checks passed");
}
