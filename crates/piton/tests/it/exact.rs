//! Checks judge what is committed and nothing else: in worktrees of Piton's own, which no agent writes to.

use piton_testkit::sandbox::{Sandbox, task};
use rustix::process::Signal;

use crate::{count, sandbox, status};

/// Ways in which a check passes in an agent's worktree, and not on what it commits: a name, what the agent does, the check.
const WAYS: [(&str, &str, &str); 8] = [
    ("file", "echo x > ok.log", "test -s ok.log"),
    ("folder", "mkdir build && echo x > build/ok", "test -s build/ok"),
    ("entry", "echo ok.txt >> .gitignore && echo x > ok.txt", "test -s ok.txt"),
    ("skip", "git update-index --skip-worktree a.txt && echo good > a.txt", "grep good a.txt"),
    ("assumed", "git update-index --assume-unchanged a.txt && echo good > a.txt", "grep good a.txt"),
    (
        "times",
        "git config --worktree core.trustctime false
         touch -d 2001-01-01 a.txt && git update-index --refresh && echo good > a.txt && touch -d 2001-01-01 a.txt",
        "grep good a.txt",
    ),
    (
        "stat",
        "git config --worktree core.ignoreStat true && git update-index --assume-unchanged a.txt && echo good > a.txt",
        "grep good a.txt",
    ),
    ("state", "touch $(git rev-parse --git-dir)/ok", "test -f \"$(git rev-parse --git-dir)/ok\""),
];

/// An agent that makes `ID.txt` and does something else.
fn agent(sandbox: &Sandbox, id: &str, does: &str) -> String {
    let name = format!("do-{id}");
    let programs = sandbox.program(&name, &format!("set -e\n{does}\n"));
    format!("[{id}]\nwrite {id}.txt done\nrun {}\n", programs.join(name))
}

#[test]
fn what_an_agent_left_beside_its_commit_proves_nothing() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "*.log\nbuild/\n");
    sandbox.write("a.txt", "evil\n");
    sandbox.write("tool", "#!/bin/sh\n");
    let _ = sandbox.git(["config", "extensions.worktreeConfig", "true"]);
    let tasks = WAYS.map(|(id, _, check)| task(id, &format!("checks = ['{check}']\nattempts = 1")));
    sandbox.plan_with("max_parallel = 4", &tasks.concat());
    sandbox.script(&WAYS.map(|(id, does, _)| agent(&sandbox, id, does)).concat());
    let run = sandbox.run("run plan.toml").exits(4);
    for (id, ..) in WAYS {
        assert_eq!(status(&sandbox, id), "abandoned", "{id}\n{run}");
    }
    assert_eq!(run.stderr.matches("failed: check `").count(), WAYS.len(), "{run}");
    assert_eq!(sandbox.git(["log", "--format=%s"]), "Plan\nFirst commit", "nothing has landed");
}

#[test]
fn what_a_check_leaves_is_there_for_the_next_check_and_for_no_agent() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "cache/\n");
    let warm = "sh -c \"test -e cache/a || { mkdir cache; echo T1 > cache/a; }\"";
    sandbox.plan_with(
        "max_parallel = 1",
        &(task("T1", &format!("checks = ['{warm}', 'test -s cache/a']"))
            + &task("T2", "depends_on = ['T1']\nchecks = ['grep T1 cache/a']")),
    );
    let second = agent(&sandbox, "T2", "! test -e cache");
    sandbox.script(&format!("[T1]\nwrite T1.txt x\n{second}"));
    let _ = sandbox.run("run plan.toml").exits(0);
    let left = sandbox.worktrees();
    assert!(!left.exists(), "nothing is left of a completed run: {left}");
}

#[test]
fn a_check_that_turns_gits_eyes_away_judges_nothing() {
    // The code that the agent wrote runs in a check, and may give git any command there.
    let sandbox = sandbox();
    sandbox.write("a.txt", "evil\n");
    let _ = sandbox.git(["config", "extensions.worktreeConfig", "true"]);
    let turn = "git update-index --skip-worktree a.txt; git config --worktree core.trustctime false; echo good > a.txt";
    sandbox.plan(&task("T1", &format!("checks = ['{turn}', 'grep good a.txt']\nattempts = 1")));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ =
        sandbox.run("run plan.toml").exits(4).says("it changed files while it ran: a.txt").says("and 1 more");
}

#[test]
fn a_commit_that_a_check_makes_is_not_what_was_judged() {
    let sandbox = sandbox();
    let check = "echo x > more && git add more && git -c user.name=x -c user.email=x commit -qm more";
    sandbox.plan(&task("T1", &format!("checks = ['{check}']\nattempts = 1")));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("checked out or committed something else");
}

#[test]
fn a_set_up_is_made_again_for_what_it_depends_on() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "installed\n");
    sandbox.write("needs", "one\n");
    let setup = "\n[worktree]\nsetup = 'cp needs installed'\n";
    sandbox.plan(&(task("T1", "checks = ['grep two installed']") + setup));
    sandbox.script("[T1]\nwrite needs three\n[T1 2]\nwrite needs two\n");
    let _ = sandbox.run("run plan.toml").exits(0);
}

#[test]
fn a_set_up_that_the_work_broke_is_told_to_the_agent() {
    let sandbox = sandbox();
    sandbox.write("needs", "one\n");
    let setup =
        "\n[worktree]\nsetup = 'grep -q one needs || { echo no such thing: $(cat needs); exit 7; }'\n";
    sandbox.plan(&(task("T1", "attempts = 1") + setup));
    sandbox.script("[T1]\nwrite needs two\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("check `set-up` failed with exit status 7");
    let _ = sandbox.run("output T1 --checks").says("no such thing: two");
}

#[test]
fn people_who_verify_and_report_are_judged_by_what_git_would_take() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "ok.log\n");
    sandbox.plan(&task("T1", "checks = ['test -s ok.log || test -s new.txt']"));
    sandbox.write("ok.log", "ignored\n");
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let _ = sandbox.run("verify T1").exits(1);
    let _ = sandbox.run("report T1 done").exits(1);
    // Neither committed nor ignored: git would take it.
    sandbox.write("new.txt", "work\n");
    let _ = sandbox.run("verify T1").exits(0);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "?? new.txt", "the checkout is left alone");
    sandbox.commit("Work");
    let _ = sandbox.run("report T1 done").exits(0);
    assert!(!sandbox.worktrees().exists(), "nothing is left of a completed run");
}

#[test]
fn what_a_reviewer_leaves_proves_nothing() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "left.log\n");
    let reviewer = "[agents.reviewer]\ncommand = ['sh', '-c', 'echo x > left.log; echo FINDINGS: none']\n";
    let checks = "checks = ['test -e left.log', { review = 'reviewer' }]\nattempts = 2";
    sandbox.plan(&format!("{}{reviewer}", task("T1", checks)));
    sandbox.script("[T1]\nwrite T1.txt x\n[T1 2]\nwrite T1.txt y\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("check `test -e left.log` failed");
    assert_eq!(status(&sandbox, "T1"), "abandoned");
}

#[test]
fn a_check_that_outlives_its_engine_keeps_its_worktree() {
    let sandbox = sandbox();
    let (begun, go_on) = (sandbox.fifo("begun"), sandbox.fifo("go-on"));
    sandbox.fifo("beside");
    let waits = format!("checks = ['echo x > here; cat {begun}; cat {go_on}; test -e here']");
    let after = "depends_on = ['T1']\nchecks = ['test -e README.md']";
    let tasks = task("T1", &waits) + &task("T2", after) + &task("T3", "checks = ['test -e T3.txt']");
    sandbox.plan_with("max_parallel = 2", &tasks);
    sandbox.script("[T1]\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n[T3]\nwrite T3.txt x\nmeet SIDE/beside\n");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_at(&sandbox, "begun");
    run.signal(Signal::KILL);
    assert_eq!(run.wait().code, None);
    // Another check takes another worktree, and the next engine takes this one as it is.
    let _ = sandbox.run("verify T2").exits(0);
    let mut again = sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "check.ended", 1).spawn();
    sandbox.meet("go-on");
    let pause = again.until_paused(&sandbox);
    let folders = sandbox.worktrees().read_dir_utf8().into_iter().flatten().flatten();
    let left = folders.filter(|folder| folder.path().join("here").exists()).count();
    assert_eq!(left, 1, "what the check made is there until the engine has looked at it");
    drop(pause);
    again.until_says("T1       landed");
    again.until_at(&sandbox, "beside");
    // Once more, on what T1 and T3 make together.
    again.until_at(&sandbox, "begun");
    again.until_at(&sandbox, "go-on");
    let _ = again.wait().exits(0);
    assert_eq!(count(&sandbox.events(), "attempt_started"), 3);
}

#[test]
fn worktrees_for_checks_are_cleaned_away() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = ['echo x > junk; false']\nattempts = 1"));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let folders = || {
        let all = sandbox.worktrees().read_dir_utf8().into_iter().flatten().flatten();
        all.filter(|entry| entry.file_name().starts_with(".checks")).count()
    };
    assert_eq!(folders(), 1);
    let _ = sandbox.run("clean").exits(0);
    assert_eq!(folders(), 1, "it is warm, and the run may go on");
    let _ = sandbox.run("clean --unfinished").exits(0).says("a worktree for checks");
    assert_eq!(folders(), 0);
    let _ = sandbox.run("rescue list").exits(0).lacks("checks");
}

/// The prompt of an attempt.
fn prompts(sandbox: &Sandbox) -> String {
    let runs = sandbox.own().join("runs").read_dir_utf8().into_iter().flatten().flatten();
    let tasks = runs.flat_map(|run| run.path().read_dir_utf8().into_iter().flatten().flatten());
    let jobs = tasks.flat_map(|task| task.path().read_dir_utf8().into_iter().flatten().flatten());
    jobs.filter_map(|job| std::fs::read_to_string(job.path().join("prompt.md")).ok()).collect()
}

#[test]
fn an_agent_is_told_what_is_not_committed_if_that_is_why_a_check_failed() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "*.log\n");
    sandbox.write("a.txt", "evil\n");
    sandbox.plan(
        &(task("T1", "checks = ['test -s ok.log || test -s ok.txt']")
            + &task("T2", "checks = ['grep good a.txt']\nattempts = 2")
            + &task("T3", "checks = ['false']\nattempts = 2")),
    );
    let hidden = agent(&sandbox, "T2", "git update-index --skip-worktree a.txt && echo good > a.txt");
    sandbox.script(&format!(
        "[T1]\nwrite T1.txt x\nwrite ok.log x\nwrite other.log x\n[T1 2]\nif-feedback write ok.txt x\n{hidden}\
         [T3]\nwrite T3.txt x\nwrite ok.log x\n"
    ));
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(status(&sandbox, "T1"), "completed");
    let told = prompts(&sandbox);
    assert_eq!(told.matches("This check passes in your worktree, not on your commit.").count(), 2, "{told}");
    for part in
        ["These ignored files differ:", "ok.log", "These files are not as they are committed:", "a.txt"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_person_is_told_what_is_not_committed_if_that_is_why_a_check_failed() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "*.log\n");
    sandbox.plan(&task("T1", "checks = ['test -s ok.log']"));
    sandbox.write("ok.log", "x\n");
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let _ = sandbox
        .run("verify T1")
        .exits(1)
        .says("This check passes in your checkout, not on what git would commit of it.")
        .says("  ok.log");
}

#[test]
fn a_check_may_ask_for_what_a_fresh_clone_has() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "ready\nwarm\n");
    let none = "test ! -e .env && test ! -e ready && test ! -e warm";
    let all = "test -e .env && test -e ready && touch warm";
    let checks = format!("checks = ['{all}', {{ run = '{none}', fresh = true }}, '{all}']");
    let setup = "\n[worktree]\ncopy = ['.env']\nsetup = 'touch ready'\n";
    sandbox.plan_with(
        "max_parallel = 1",
        &(task("T1", &checks) + &task("T2", &format!("{checks}\ndepends_on = ['T1']")) + setup),
    );
    sandbox.write(".env", "secret\n");
    sandbox.script("[T1]\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(0);
}

#[test]
fn a_pass_says_whether_it_was_warm_and_a_warm_one_is_not_a_fresh_one() {
    let sandbox = sandbox();
    let ran = sandbox.root().join("ran");
    let command = format!("echo x >> {ran}");
    sandbox.plan(&task("T1", &format!("checks = ['{command}', {{ run = '{command}', fresh = true }}]")));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.read(&ran).lines().count(), 2, "the same command on the same tree");
    let log = sandbox.run("log --json --plan plan.toml").exits(0).stdout;
    let passes = log.lines().filter_map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let results = event["event"]["results"].as_array().or(event["results"].as_array())?.clone();
        Some(
            results.iter().map(|result| result["ran"].as_str().unwrap_or("?").to_owned()).collect::<Vec<_>>(),
        )
    });
    assert_eq!(passes.flatten().collect::<Vec<_>>(), ["warm", "fresh"], "{log}");
    let _ = sandbox
        .run("log --verbose --plan plan.toml")
        .exits(0)
        .says("2 of 2 checks passed, 1 on what a fresh clone has");
}

#[test]
fn a_pipe_hides_no_failure() {
    let sandbox = sandbox();
    let checks = [
        ("red", "'sh -c \"exit 3\" | cat'"),
        ("inner", "\"sh -c 'false | cat'\""),
        ("asked", "{ run = 'false | cat', pipefail = false }"),
        ("green", "'echo a | grep a'"),
        ("early", "'yes | head -1'"),
    ];
    let tasks = checks.map(|(id, check)| task(id, &format!("checks = [{check}]\nattempts = 1")));
    sandbox.plan(&tasks.concat());
    sandbox.script(&checks.map(|(id, _)| format!("[{id}]\nwrite {id}.txt x\n")).concat());
    let run = sandbox
        .run("run plan.toml")
        .exits(4)
        .says("failed with exit status 3")
        .says("(SIGPIPE)")
        .says("grep x > /dev/null");
    let statuses = checks.map(|(id, _)| status(&sandbox, id));
    assert_eq!(statuses, ["abandoned", "abandoned", "completed", "completed", "abandoned"], "{run}");
    let _ = sandbox.run("plan plan.toml").says("`head` may stop reading before").says("grep x > /dev/null");
}
