//! Lock files of git processes that died, or that are at work right now.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use camino::Utf8PathBuf;
use piton_testkit::cases::in_parallel;
use piton_testkit::sandbox::{Sandbox, task, writers};

use crate::{sandbox, thorough};

fn project() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan_with("landing_wait = '0s'", &task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    sandbox
}

fn lock(sandbox: &Sandbox, name: &str) -> (Utf8PathBuf, File) {
    let path = sandbox.project().join(".git").join(name);
    let file = File::create_new(&path).expect("a new file");
    (path, file)
}

#[track_caller]
fn assert_done(sandbox: &Sandbox) {
    sandbox.assert_landed_once("main", &["T1"]);
    let agents = sandbox.events().iter().filter(|line| line.contains("agent_ended")).count();
    assert_eq!(agents, 1, "no agent was paid for twice");
    let _ = sandbox.run("doctor").exits(0);
    sandbox.assert_tidy();
}

/// It was there before the run began, so it is not Piton's.
#[test]
fn a_lock_from_before_the_run_is_left_alone_and_named_where_it_is_in_the_way() {
    let mut cases = vec![
        ("index.lock", 3, "remove [ROOT]/project/.git/index.lock if no git process is running"),
        ("HEAD.lock", 3, "remove [ROOT]/project/.git/HEAD.lock if no git process is running"),
        (
            "refs/heads/main.lock",
            3,
            "remove [ROOT]/project/.git/refs/heads/main.lock if no git process is running",
        ),
        ("refs/heads/worktree-T1.lock", 0, "landed as"),
        ("config.lock", 0, "landed as"),
    ];
    if thorough() {
        // Git waits for it, each time.
        cases.push(("packed-refs.lock", 0, "packed-refs.lock"));
    }
    in_parallel(&cases, |(name, code, words)| {
        let sandbox = project();
        let (path, file) = lock(&sandbox, name);
        // Clocks of file systems are coarse: what is as young as the run may be the run's.
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("our own file");
        drop(file);
        let _ = sandbox.run("run plan.toml").exits(*code).says(words);
        fs::remove_file(path).expect("it was left alone");
        let _ = sandbox.run("run plan.toml").exits(0);
        if *name == "packed-refs.lock" {
            // No ref could be deleted. Piton said so, and deletes them now.
            let _ = sandbox.run("clean").exits(0);
            sandbox.git(["branch", "-q", "-d", "worktree-T1"]);
        }
        assert_done(&sandbox);
    });
}

/// A lock that a dead git process left since the landing began is removed. For a lock of a live one, Piton waits.
#[test]
fn a_lock_that_comes_up_during_a_landing_is_taken_away_only_if_its_holder_is_dead() {
    let names = ["index.lock", "HEAD.lock", "refs/heads/main.lock"];
    let cases: Vec<_> = names.iter().flat_map(|name| [true, false].map(|lives| (*name, lives))).collect();
    in_parallel(&cases, |(name, lives)| {
        let sandbox = project();
        let mut run =
            sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "landing.before-move", 1).spawn();
        let pause = run.until_paused(&sandbox);
        let (path, holder) = lock(&sandbox, name);
        if *lives {
            drop(pause);
            let _ = run.wait().exits(3).says(&format!("{name} if no git process is running"));
            assert!(path.exists(), "a lock that is held was taken away");
            drop(holder);
            fs::remove_file(&path).expect("it was left alone");
            let _ = sandbox.run("run plan.toml").exits(0);
        } else {
            drop(holder);
            drop(pause);
            let _ = run.wait().exits(0);
        }
        assert_done(&sandbox);
    });
}
