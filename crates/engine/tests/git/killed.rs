//! A git process of ours is killed while we live.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use piton_engine::git::*;

use crate::sandbox::{Sandbox, long_ago, rescue, write};

/// A git that kills itself when an argument is `word`, until `left` is used up. It leaves `lock`, as a killed git does.
fn deadly(sandbox: &Sandbox, word: &str, lock: &str, times: usize) -> Repo {
    let bin = sandbox.root.join("bin");
    let lock = sandbox.project().join(".git").join(lock);
    let left = sandbox.root.join("left");
    fs::write(&left, "x".repeat(times)).unwrap();
    let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do\n  if test \"$word\" = {word} && test -s {left}; then\n    \
         text=$(cat {left}); printf %s \"${{text#x}}\" > {left}; mkdir -p $(dirname {lock}); : > {lock}; kill -9 $$\n  \
         fi\ndone\nexec {} \"$@\"\n",
        real.display()
    );
    write(&bin.join("git"), &script);
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let home = sandbox.root.join("home");
    let env = [("HOME", home.as_str()), ("GIT_CONFIG_NOSYSTEM", "1"), ("PATH", path.as_str())];
    Repo::discover_with(&Git::with_env(&sandbox.project(), &env), &sandbox.project()).unwrap()
}

fn since() -> SystemTime {
    long_ago().unwrap()
}

#[test]
fn what_a_killed_git_left_is_cleared_and_its_work_is_done_again() {
    for lock in ["packed-refs.lock", "refs/heads/worktree-T1.lock", "refs/piton/run/captured/T1.lock"] {
        let sandbox = Sandbox::new();
        let repo = deadly(&sandbox, "--stdin", lock, 2);
        let main = sandbox.oid("main");
        let pin = || repo.change_refs(&[RefChange::pin("run/captured/T1", &main)?]);
        let mut tries = 0;
        let done = repo.despite_kills("run", since(), GitError::is_kill, || {
            tries += 1;
            pin()
        });
        done.unwrap();
        assert_eq!(tries, 3);
        assert_eq!(repo.pin_at("run/captured/T1").unwrap(), Some(main.clone()));
        assert!(!sandbox.project().join(".git").join(lock).exists(), "{lock}");
        assert!(!repo.has_lost_a_process());
    }
}

#[test]
fn a_question_to_a_git_that_is_killed_is_asked_again_at_once() {
    let sandbox = Sandbox::new();
    let repo = deadly(&sandbox, "--is-ancestor", "unused", 2);
    let first = sandbox.oid("main");
    sandbox.write("a", "more\n");
    let second = sandbox.commit("more");
    assert!(repo.is_ancestor(&first, &second).unwrap());
    // If it is killed again and again, the error says so.
    let repo = deadly(&sandbox, "--is-ancestor", "unused", 9);
    assert!(repo.is_ancestor(&first, &second).unwrap_err().is_kill());
}

#[test]
fn a_lock_that_somebody_holds_is_not_cleared() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    let lock = sandbox.project().join(".git/packed-refs.lock");
    let held = fs::File::create(&lock).unwrap();
    assert!(!repo.clear_dead_locks("run", since()).unwrap());
    assert!(lock.exists());
    assert_eq!(repo.unused_locks(), Vec::<camino::Utf8PathBuf>::new());
    drop(held);
    // A child that another test is just starting may have a copy of the handle for a moment.
    assert!((0..100).any(|_| repo.clear_dead_locks("run", since()).unwrap()));
    assert!(!lock.exists());
}

/// Git takes the folder of a worktree's records away last.
#[test]
fn the_empty_folder_of_a_worktree_that_is_gone_goes_too() {
    let sandbox = Sandbox::new();
    let worktree = sandbox.worktree("T1");
    let entries = sandbox.project().join(".git/worktrees");
    fs::create_dir(entries.join("T2")).unwrap();
    // One that a git process had only begun to make, and one that a person locked.
    write(&entries.join("T3/locked"), "initializing\n");
    write(&entries.join("T4/locked"), "mine\n");
    let repo = sandbox.repo();
    assert!(repo.clear_dead_locks("run", since()).unwrap());
    assert!(!entries.join("T2").exists() && entries.join("T1").exists());
    assert!(!entries.join("T3").exists() && entries.join("T4/locked").exists());
    fs::remove_dir_all(entries.join("T4")).unwrap();
    Worktree::remove(&repo, worktree.path(), &rescue("x")).unwrap();
    fs::create_dir_all(entries.join("T2")).unwrap();
    assert!(repo.clear_dead_locks("run", since()).unwrap());
    assert!(!entries.exists());
}
