//! From the first task to the last landing, in good days, and killed in between.

use piton_testkit::sandbox::Sandbox;
use rustix::process::Signal;

use super::*;

/// What Piton prints at the end of a run, for the pull request.
fn request(said: &str) -> &str {
    let (_, request) = said.split_once("\nFor the ").expect(said);
    request
}

#[test]
fn every_task_lands_on_the_branch_of_the_issue() {
    let sandbox = months();
    let before = sandbox.read(format!("{PLAN}/tasks.md"));
    let run = sandbox.run("run 7").exits(0);
    is_whole(&sandbox);
    insta::assert_snapshot!("finished", golden(&sandbox));
    insta::assert_snapshot!("request", request(&run.stderr));
    let subjects = sandbox.git(["log", "--merges", "--reverse", "--format=%s", BRANCH]);
    let landed: Vec<&str> = subjects.lines().map(|line| line.split(':').next().unwrap_or_default()).collect();
    let all = WORK.map(|(id, ..)| format!("Merge worktree-{id}"));
    assert_eq!(landed, all);
    // One folder beside the project was enough, and of the list nothing but the boxes changed.
    let folders = sandbox.root().read_dir_utf8().expect("a folder").flatten();
    let mut folders: Vec<String> =
        folders.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().to_owned()).collect();
    folders.sort();
    assert_eq!(folders, ["done", "home", "project", "project-issue-7-by-month"]);
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 2);
    let after = sandbox.read(format!("{PLAN}/tasks.md"));
    assert_eq!(after.replace("[x]", "[ ]"), before);
}

/// The same end, whatever happened on the way.
#[track_caller]
fn ends_as_if_nothing_had_happened(sandbox: &Sandbox) {
    is_whole(sandbox);
    insta::assert_snapshot!("finished", golden(sandbox));
    let landed = sandbox.git(["log", "--merges", "--reverse", "--format=%s", BRANCH]);
    let landed: Vec<&str> = landed.lines().map(|line| line.split(':').next().unwrap_or_default()).collect();
    assert_eq!(landed, WORK.map(|(id, ..)| format!("Merge worktree-{id}")), "each landed once");
    assert_eq!(told(sandbox), TASKS, "each is told of once");
}

#[test]
fn a_run_that_dies_over_its_files_goes_on_to_the_same_end() {
    for point in ["files.before-write:7", "files.written:5"] {
        dies_at(point);
    }
}

#[test]
fn a_run_that_dies_over_a_task_goes_on_to_the_same_end() {
    for point in ["work.ended:2", "landing.moved:4"] {
        dies_at(point);
    }
}

#[track_caller]
fn dies_at(point: &str) {
    let sandbox = months();
    let killed = sandbox.piton(["run", "7"]).env("PITON_CRASH", point).run();
    assert_eq!(killed.code, None, "{point}: {killed}");
    let _ = sandbox.run("run 7").exits(0);
    ends_as_if_nothing_had_happened(&sandbox);
}

#[test]
fn a_run_that_is_killed_goes_on_to_the_same_end_and_its_agent_is_waited_for() {
    let sandbox = months();
    sandbox.fifo("gate");
    act(&sandbox, &format!("[1.2]\nmeet SIDE/gate\n{}", does_well("1.2")));
    let mut first = sandbox.piton(["run", "7"]).spawn();
    first.until_says("1.2      attempt 1 started");
    first.signal(Signal::KILL);
    assert_eq!(first.wait().code, None);
    let mut second = sandbox.piton(["run", "7"]).spawn();
    second.until_at(&sandbox, "gate");
    let _ = second.wait().exits(0).lacks("attempt 2 started");
    ends_as_if_nothing_had_happened(&sandbox);
}

/// What git does not have is copied, and what has to be installed is, before each task: the last one may ask for more.
#[test]
fn the_worktree_gets_what_the_project_needs_and_no_commit_has_it() {
    let sandbox = months();
    let settings = "\n[worktree]\ncopy = [\".env\"]\nsetup = \"sh setup.sh\"\n";
    sandbox.write("piton.toml", &(sandbox.read("piton.toml") + settings));
    sandbox.write("setup.sh", &format!("echo >> {}/setups.txt\n", sandbox.root()));
    sandbox.write(".gitignore", ".env\n");
    sandbox
        .write("check.sh", "set -eu\ntest \"$(cat .env)\" = SECRET=1\nfor t in tests/*.sh; do sh $t; done\n");
    sandbox.commit("Needs");
    sandbox.write(".env", "SECRET=1\n");
    let _ = sandbox.run("run 7").exits(0);
    assert_eq!(statuses(&sandbox), ALL_DONE);
    // Once for each task, and once for each tree that was checked.
    assert_eq!(sandbox.read(sandbox.root().join("setups.txt")).lines().count(), TASKS.len() + 5);
    assert!(!sandbox.git(["ls-tree", "-r", "--name-only", BRANCH]).contains(".env"));
}

/// The small kind of plan: one file, a list without numbers, and criteria that are not tasks.
#[test]
fn a_plan_without_numbers_is_worked_on_and_ticked() {
    let sandbox = months();
    let plan = ".claude/plans/issue-9-small/plan.md";
    let list = "# Plan: Issue #9 - Small\n\n## Tasks\n\n- [x] Write nothing\n- [ ] Write the second file\n  - [ ] with a word in it\n- [ ] Write the third file\n\n## Acceptance Criteria\n\n- [ ] it works\n";
    sandbox.write(plan, list);
    sandbox.commit("Small");
    sandbox.script("[2]\nwrite 2.txt x\n[3]\nwrite 3.txt x\n");
    let run = sandbox.run("run 9").exits(0).says("2        landed").says("3        landed").says("Closes #9");
    let _ = run.lacks("1        attempt").says("Small (#9)");
    let done = list.replace("- [ ] Write", "- [x] Write").replace("- [ ] with", "- [x] with");
    assert_eq!(sandbox.read(plan), done);
    assert_eq!(sandbox.git(["diff", "--name-only", "main", "issue/9-small"]), "2.txt\n3.txt");
    let _ = sandbox.run("progress --plan 9").exits(0).says("## Progress: 3/3 (100%)");
}
