//! What only looks changes nothing: no journal, no state, nothing in git.

use crate::sandbox;
use piton_testkit::sandbox::{Sandbox, task, writers};

/// A run with something landed, something abandoned with a worktree, something blocked and something pending.
fn with_history() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(
        &[task("A", ""), task("B", "attempts = 1"), task("C", ""), task("D", "depends_on = ['C']")].concat(),
    );
    sandbox.script(&format!("{}[B]\nwrite other.txt x\n[C]\nsignal BLOCKED:why\n", writers(&["A", "D"])));
    let _ = sandbox.run("run plan.toml").exits(4);
    sandbox
}

#[track_caller]
fn changes_nothing(sandbox: &Sandbox, line: &str, code: i32) {
    let before = sandbox.fingerprint();
    let output = sandbox.run(line).exits(code);
    let after = sandbox.fingerprint();
    let names = before.keys().chain(after.keys()).collect::<std::collections::BTreeSet<_>>();
    let changed: Vec<_> = names.into_iter().filter(|&name| before.get(name) != after.get(name)).collect();
    assert!(changed.is_empty(), "`piton {line}` changed {changed:#?}\n{output}");
}

#[test]
fn looking_before_there_is_a_run_makes_nothing() {
    let sandbox = sandbox();
    sandbox.plan(&task("A", ""));
    for (line, code) in [
        ("run plan.toml --dry-run", 0),
        ("run plan.toml --dry-run --onto elsewhere", 0),
        ("plan plan.toml", 0),
        ("status", 1),
        ("log", 1),
        ("why A", 1),
        ("next", 1),
        ("doctor", 0),
        ("clean", 0),
        ("clean --dry-run", 0),
        ("rescue list", 0),
    ] {
        changes_nothing(&sandbox, line, code);
    }
}

#[test]
fn looking_at_a_run_changes_nothing() {
    let sandbox = with_history();
    for line in [
        "run plan.toml --dry-run",
        "run plan.toml --dry-run --reset",
        "plan plan.toml",
        "plan plan.toml --json",
        "status",
        "status --all",
        "status --json",
        "status A",
        "status plan.toml",
        "why D",
        "why D --json",
        "log",
        "log --json",
        "log B -v -n 3",
        "next",
        "next --json",
        "output B",
        "output B --list",
        "output A --checks",
        "diff A",
        "diff B",
        "summary",
        "summary --markdown",
        "summary --html -",
        "doctor",
        "doctor --json",
        "clean --dry-run",
        "clean --dry-run --unfinished --json",
        "rescue list",
    ] {
        changes_nothing(&sandbox, line, 0);
    }
}

/// To compare files with commits git makes objects of them.
#[test]
fn looking_at_uncommitted_work_leaves_no_file_behind() {
    let sandbox = with_history();
    let temporary = sandbox.root().join("tmp");
    std::fs::create_dir(&temporary).expect("a new folder");
    sandbox.write(sandbox.root().join(".worktrees/project/B/loose.txt"), "not committed\n");
    // Git notes on objects that are there already that they are in use, so of those the times change.
    let names = || sandbox.fingerprint().into_keys().collect::<Vec<_>>();
    let before = names();
    let diff = sandbox.piton(["diff", "B"]).env("TMPDIR", &temporary).run().exits(0);
    let _ = diff.says("+not committed");
    assert_eq!(names(), before);
    assert_eq!(temporary.read_dir_utf8().expect("a folder").count(), 0);
}

#[test]
fn refused_commands_change_nothing() {
    let sandbox = with_history();
    for (line, code) in [
        ("retry A", 1),
        ("reset A", 1),
        ("skip A", 1),
        ("unblock B", 1),
        ("raise B --attempts 1", 1),
        ("stop", 1),
        ("retry Z", 1),
        ("start D", 1),
        ("report A done", 1),
        ("run plan.toml --onto other", 2),
    ] {
        changes_nothing(&sandbox, line, code);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let sandbox = sandbox();
    sandbox.plan(&task("A", ""));
    sandbox.script(&writers(&["A"]));
    // Root may ignore permissions, but no user can make a folder below a file.
    sandbox.write(sandbox.own(), "in the way");
    let before = sandbox.fingerprint();
    let _ = sandbox.run("run plan.toml").exits(1).says(".git/piton");
    assert_eq!(sandbox.fingerprint(), before);
}
