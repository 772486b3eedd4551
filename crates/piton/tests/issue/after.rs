//! What comes after the last task: the pull request, the comment, and the archive.

use std::fs;

use crate::{BRANCH, PLAN, act, months};
use piton_testkit::sandbox::{Output, Sandbox};

/// A place to push to.
fn with_origin(sandbox: &Sandbox) {
    sandbox.git(["init", "--quiet", "--bare", sandbox.root().join("origin.git").as_str()]);
    sandbox.git(["remote", "add", "origin", sandbox.root().join("origin.git").as_str()]);
}

/// The newest run of a plan says whether it is finished, not one before it.
#[test]
fn a_plan_that_is_begun_anew_is_not_put_away() {
    let sandbox = months();
    let _ = sandbox.run("run 7").exits(0);
    sandbox.git(["checkout", "-q", "--", "."]);
    sandbox.git(["branch", "-q", "-D", BRANCH]);
    act(&sandbox, "[1.2]\nexit 1\n");
    let _ = sandbox.run("run 7 --reset").exits(4);
    let report = sandbox.read(format!("{PLAN}/verification-report.txt"));
    assert!(report.ends_with("Result: not known yet\n"), "{report}");
    let _ = sandbox.run("archive").exits(0).says("there is no finished plan to archive");
    let _ = sandbox.run("archive 7").exits(1).says("is not finished, so it stays");
    assert!(sandbox.project().join(PLAN).is_dir());
}

/// Run with a `gh` that writes down what it is asked for.
fn run_with_gh(sandbox: &Sandbox) -> Output {
    with_origin(sandbox);
    let said = sandbox.root().join("gh.txt");
    let script = format!("for word; do printf '%s|' \"$word\"; done >> {said}\necho >> {said}\n");
    let folder = sandbox.program("gh", &script);
    sandbox.piton(["run", "7", "--gh"]).with_path(&folder).run()
}

fn asked(sandbox: &Sandbox) -> String {
    sandbox.read(sandbox.root().join("gh.txt"))
}

#[test]
fn a_finished_issue_is_pushed_and_its_pull_request_is_sent() {
    let sandbox = months();
    let _ = run_with_gh(&sandbox).exits(0).says("done: gh pr create");
    let said = asked(&sandbox);
    assert!(said.starts_with(&format!("pr|create|--head|{BRANCH}|--title|")), "{said}");
    assert!(
        said.contains("Closes #7") && said.contains("issue|comment|7|--body|## Progress: 8/8 (100%)"),
        "{said}"
    );
    assert!(!said.contains("needs review"), "{said}");
    let there = sandbox.git(["ls-remote", "origin", BRANCH]);
    assert!(there.starts_with(&sandbox.git(["rev-parse", BRANCH])), "{there}");
}

#[test]
fn an_issue_that_needs_a_person_gets_a_label_and_a_comment() {
    let sandbox = months();
    act(&sandbox, "[1.2]\nexit 1\n");
    let _ = run_with_gh(&sandbox).exits(4).says("done: gh issue edit");
    let said = asked(&sandbox);
    assert!(said.starts_with("issue|edit|7|--add-label|needs review|\n"), "{said}");
    assert!(said.contains("### Needs a person") && !said.contains("pr|create"), "{said}");
    assert_eq!(sandbox.git(["ls-remote", "origin"]), "", "nothing is pushed that is not finished");
}

#[test]
fn without_gh_the_work_is_safe_and_it_is_said() {
    let sandbox = months();
    with_origin(&sandbox);
    // Nothing but what the run itself needs.
    let only = sandbox.root().join("only");
    fs::create_dir_all(&only).expect("a folder");
    let all = std::env::var("PATH").expect("a path");
    for program in ["git", "sh", "awk", "sort", "cat", "test", "cp", "mkdir", "dirname", "printf", "env"] {
        let found = all
            .split(':')
            .map(|folder| format!("{folder}/{program}"))
            .find(|path| fs::metadata(path).is_ok());
        if let Some(found) = found {
            std::os::unix::fs::symlink(found, only.join(program)).expect("a link");
        }
    }
    let run = sandbox.piton(["run", "7", "--gh"]).env("PATH", only.as_str()).run();
    let _ = run.exits(1).says("`gh` is not installed; the work itself is safe");
    let _ = sandbox.run("next").exits(0).says("ALL_COMPLETE");
}

#[test]
fn only_the_plan_of_a_finished_issue_is_put_away() {
    let sandbox = months();
    let _ = sandbox.run("next --plan 7").exits(0);
    let _ = sandbox.run("archive 7").exits(1).says("is not finished, so it stays");
    let _ = sandbox.run("archive").exits(0).says("there is no finished plan to archive");
    let _ = sandbox.run("run 7").exits(0);
    let _ = sandbox.run("archive --dry-run").exits(0).says("would move");
    assert!(sandbox.project().join(PLAN).is_dir());
    let _ = sandbox.run("archive").exits(0).says("moved");
    let away = sandbox.project().join(".claude/plans/archive/completed/issue-7-by-month");
    assert!(!sandbox.project().join(PLAN).exists() && away.join("journal.md").is_file());
    let _ = sandbox.run("archive").exits(0).says("there is no finished plan to archive");
    let _ = sandbox.run("status").exits(0).says("every task is completed");
}
