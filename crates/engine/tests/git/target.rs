//! Moving the target while a person works in its checkout.

use std::fs;
use std::time::{Duration, SystemTime};

use piton_core::plan::Oid;
use piton_engine::git::*;

use crate::sandbox::{Sandbox, lines, long_ago, waits_for_files, write};

#[test]
fn a_target_checked_out_nowhere_moves_by_compare_and_swap() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let task = sandbox.task("T1", |at| write(&at.join("a"), "work\n"));
    let candidate = sandbox.candidate(&task);
    sandbox.leave_main();
    let repo = sandbox.repo();
    assert_eq!(repo.landed_state("main", &old, &candidate).unwrap(), LandedState::AtOld);
    let before = sandbox.snapshot();
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
    assert_eq!(sandbox.oid("main"), candidate);
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done, "again");
    assert_eq!(repo.landed_state("main", &old, &candidate).unwrap(), LandedState::Landed);
    assert_eq!(sandbox.snapshot(), before);
}

#[test]
fn a_target_that_a_person_moved_is_left_alone() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let task = sandbox.task("T1", |at| write(&at.join("a"), "work\n"));
    let candidate = sandbox.candidate(&task);
    sandbox.write("b", "by hand\n");
    let now = sandbox.commit("person");
    let repo = sandbox.repo();
    for _ in 0..2 {
        assert_eq!(sandbox.land(&old, &candidate, long_ago()), Moved::TargetMoved { now: Some(now.clone()) });
        let state = repo.landed_state("main", &old, &candidate).unwrap();
        assert_eq!(state, LandedState::MovedForward { tip: now.clone() });
        if repo.where_is_target("main").unwrap().is_some() {
            sandbox.leave_main();
        }
    }
    sandbox.git(&format!("branch --force main {task}"));
    sandbox.git("commit --quiet --amend --allow-empty --message rewritten");
    sandbox.git("branch --force main");
    let tip = sandbox.oid("main");
    assert_eq!(
        repo.landed_state("main", &now, &candidate).unwrap(),
        LandedState::Elsewhere { tip: Some(tip) }
    );
    sandbox.git("branch --delete --force main");
    assert_eq!(repo.landed_state("main", &old, &candidate).unwrap(), LandedState::Elsewhere { tip: None });
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::TargetMoved { now: None });
}

#[test]
fn a_landed_candidate_stays_landed_when_work_goes_on() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("a"), "work\n")));
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
    sandbox.write("b", "on top\n");
    sandbox.commit("person");
    assert_eq!(sandbox.repo().landed_state("main", &old, &candidate).unwrap(), LandedState::Landed);
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
}

#[test]
fn a_dirty_checkout_is_the_same_to_the_byte_after_a_landing() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "ignored\n");
    let old = sandbox.commit("ignore");
    let task = sandbox.task("T1", |at| {
        write(&at.join("a"), "work\n");
        write(&at.join("dir/new"), "new\n");
    });
    let candidate = sandbox.candidate(&task);
    sandbox.write("b", "staged\n");
    sandbox.git("add b");
    sandbox.write("b", "and changed\n");
    sandbox.write("lib/c", "dirty\n");
    sandbox.write("staged-new", "new\n");
    sandbox.git("add staged-new");
    sandbox.write("dir/other", "untracked\n");
    sandbox.write("ignored", "ignored\n");
    // Stashed and brought back, what was staged would not be staged any more.
    sandbox.git("config merge.autostash true");
    let (mut files, _) = sandbox.snapshot();
    let staged = sandbox.git("diff --cached --raw");
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
    assert_eq!(sandbox.oid("main"), candidate);
    files.insert(sandbox.project().join("a").to_string(), b"work\n".to_vec());
    files.insert(sandbox.project().join("dir/new").to_string(), b"new\n".to_vec());
    assert_eq!(sandbox.snapshot().0, files);
    assert_eq!(sandbox.git("diff --cached --raw"), staged);
    assert_eq!(sandbox.git("stash list"), "");
}

/// A recovery that was cut off in turn has put a file back, and not written down when.
#[test]
fn a_file_whose_time_alone_differs_is_not_in_the_way() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let task = sandbox.task("T1", |at| write(&at.join("a"), "work\n"));
    let candidate = sandbox.candidate(&task);
    let path = sandbox.project().join("a");
    let same = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, same).unwrap();
    let age = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().write(true).open(&path).unwrap().set_modified(age).unwrap();
    assert_eq!(sandbox.land(&old, &candidate, long_ago()), Moved::Done);
    assert_eq!((sandbox.oid("main"), fs::read_to_string(&path).unwrap()), (candidate, "work\n".to_owned()));
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn files_in_the_way_make_the_landing_wait() {
    let check = |spoil: fn(&Sandbox), expected: &str| {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", ".env\n");
        let old = sandbox.commit("ignore");
        let task = sandbox.task("T1", |at| {
            write(&at.join("a"), "work\n");
            write(&at.join("new"), "new\n");
            write(&at.join(".env"), "KEY=theirs\n");
            fs::remove_file(at.join("b")).unwrap();
            sandbox.git_in(at, "add --force .env");
        });
        let candidate = sandbox.candidate(&task);
        spoil(&sandbox);
        let before = sandbox.snapshot();
        for recovering in [None, long_ago()] {
            let files = waits_for_files(sandbox.land(&old, &candidate, recovering));
            assert_eq!(files, [expected]);
            assert_eq!(sandbox.snapshot(), before);
            assert_eq!(sandbox.oid("main"), old);
        }
    };
    check(|s| s.write("a", "dirty\n"), "a");
    check(
        |s| {
            s.write("a", "staged\n");
            s.git("add a");
        },
        "a",
    );
    check(
        |s| {
            s.write("a", "staged only\n");
            s.git("add a");
            s.write("a", &lines("a"));
        },
        "a",
    );
    check(|s| s.write("new", "untracked\n"), "new");
    check(|s| s.write(".env", "KEY=mine\n"), ".env");
    check(|s| s.write("b", "edited, while the landing deletes it\n"), "b");
    check(|s| fs::remove_file(s.project().join("a")).unwrap(), "a");
}

#[test]
fn a_folder_or_a_file_where_the_landing_needs_the_other_makes_it_wait() {
    let check = |spoil: fn(&Sandbox), expected: &str| {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", "build\n*.log\n");
        let old = sandbox.commit("ignore");
        let task = sandbox.task("T1", |at| {
            write(&at.join("new"), "new\n");
            write(&at.join("deep/er/new"), "new\n");
            sandbox.git_in(at, "add --force --all");
        });
        let candidate = sandbox.candidate(&task);
        spoil(&sandbox);
        let before = sandbox.snapshot();
        for recovering in [None, long_ago()] {
            assert_eq!(waits_for_files(sandbox.land(&old, &candidate, recovering)), [expected]);
            assert_eq!(sandbox.snapshot(), before);
            assert_eq!(sandbox.oid("main"), old);
        }
    };
    check(|s| s.write("new/precious", "mine\n"), "new/precious");
    // Git itself would take these away, since they are ignored.
    check(|s| s.write("new/inner/run.log", "mine\n"), "new/inner/run.log");
    check(
        |s| {
            s.write(".git/info/exclude", "deep\n");
            s.write("deep", "mine\n");
        },
        "deep",
    );
}

/// An empty folder holds nothing that could be lost.
#[test]
fn an_empty_folder_is_not_in_the_way() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("new"), "new\n")));
    fs::create_dir_all(sandbox.project().join("new/inner")).unwrap();
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
    assert_eq!(sandbox.read("new"), "new\n");
}

/// What a landing may leave in the checkout when its engine dies, at each of its steps.
#[test]
fn a_landing_that_died_with_the_lock_of_the_index_is_finished_by_whoever_holds_the_lease() {
    const MARK: &str = "piton: landing on refs/heads/main\n";
    let check = |leave: fn(&Sandbox, &Oid)| {
        let sandbox = Sandbox::new();
        let old = sandbox.oid("main");
        let task = sandbox.task("T1", |at| {
            write(&at.join("a"), "work\n");
            write(&at.join("new"), "new\n");
            fs::remove_file(at.join("b")).unwrap();
        });
        let candidate = sandbox.candidate(&task);
        sandbox.write("lib/c", "a person's own\n");
        leave(&sandbox, &candidate);
        // The lock says whose it is, so that no clock and no list of processes is needed.
        sandbox.write(".git/index.lock", MARK);
        let moved = sandbox.land(&old, &candidate, None);
        if moved == Moved::Done && sandbox.project().join(".git/index.lock").exists() {
            let (repo, since) = (sandbox.repo(), SystemTime::now() + Duration::from_secs(60));
            let lease = LandingLease::take(&repo, "main").unwrap();
            assert_eq!(repo.settle_target(&lease, &old, &candidate, since).unwrap(), None);
        }
        assert_eq!(moved, Moved::Done);
        assert_eq!(sandbox.oid("main"), candidate);
        assert_eq!(sandbox.git("status --porcelain").trim(), "M lib/c");
        assert!(!sandbox.project().join(".git/index.lock").exists());
    };
    check(|_, _| ());
    check(|s, _| s.write("a", "wo"));
    check(|s, _| fs::remove_file(s.project().join("a")).unwrap());
    check(|s, candidate| drop(s.git(&format!("read-tree -m -u HEAD {candidate}"))));
    check(|s, candidate| {
        s.git(&format!("read-tree -m -u HEAD {candidate}"));
        s.git(&format!("update-ref refs/heads/main {candidate}"));
    });
    // One that is for another target is left alone.
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("a"), "work\n")));
    sandbox.write(".git/index.lock", &MARK.replace("main", "other"));
    let path = sandbox.project().join(".git/index.lock");
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Waits(Wait::Locked { path }));
}

#[test]
fn a_landing_leaves_one_line_in_the_reflogs_and_no_trace_of_a_merge() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("a"), "work\n")));
    let before = sandbox.git("reflog HEAD").lines().count();
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
    for name in ["HEAD", "main"] {
        let log = sandbox.git(&format!("reflog {name}"));
        assert!(log.lines().next().unwrap().ends_with("piton: land"), "{log}");
    }
    assert_eq!(sandbox.git("reflog HEAD").lines().count(), before + 1);
    for name in ["ORIG_HEAD", "AUTO_MERGE", "index.lock", "HEAD.lock"] {
        assert!(!sandbox.project().join(".git").join(name).exists(), "{name}");
    }
}

#[test]
fn an_operation_or_a_lock_makes_the_landing_wait() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("a"), "work\n")));
    let git_dir = sandbox.project().join(".git");
    fs::write(git_dir.join("CHERRY_PICK_HEAD"), format!("{old}\n")).unwrap();
    let moved = sandbox.land(&old, &candidate, None);
    assert!(matches!(moved, Moved::Waits(Wait::Operation { what: "a cherry-pick", .. })), "{moved:?}");
    fs::remove_file(git_dir.join("CHERRY_PICK_HEAD")).unwrap();
    let lock = git_dir.join("index.lock");
    fs::write(&lock, "").unwrap();
    let waits = Moved::Waits(Wait::Locked { path: lock.clone() });
    assert_eq!(sandbox.land(&old, &candidate, None), waits);
    let later = Some(SystemTime::now() + Duration::from_secs(60));
    assert_eq!(sandbox.land(&old, &candidate, later), waits, "older than the intent");
    let held = fs::File::open(&lock).unwrap();
    assert_eq!(sandbox.land(&old, &candidate, long_ago()), waits, "somebody has it open");
    drop(held);
    assert!(lock.exists());
    if cfg!(target_os = "linux") {
        // A child that another test is just starting may have a copy of the handle for a moment.
        let moved =
            (0..100).map(|_| sandbox.land(&old, &candidate, long_ago())).find(|moved| *moved != waits);
        assert_eq!(moved, Some(Moved::Done));
        assert_eq!(sandbox.git("status --porcelain"), "");
    }
}

#[test]
fn a_branch_being_rebased_elsewhere_makes_the_landing_wait() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "more\n");
    let old = sandbox.commit("second");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("b"), "work\n")));
    let (ok, _) = sandbox.try_git_in(&sandbox.project(), "rebase --quiet --exec false --force-rebase HEAD~1");
    assert!(!ok);
    let moved = sandbox.land(&old, &candidate, None);
    assert!(matches!(moved, Moved::Waits(Wait::Operation { what: "a rebase", .. })), "{moved:?}");
}

#[test]
fn a_leftover_ref_lock_is_ours_only_with_our_candidate_in_it() {
    for checked_out in [false, true] {
        let sandbox = Sandbox::new();
        let old = sandbox.oid("main");
        let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("a"), "work\n")));
        if !checked_out {
            sandbox.leave_main();
        }
        let lock = sandbox.project().join(".git/refs/heads/main.lock");
        let before = sandbox.snapshot();
        // An empty one may be ours if it was made after the intent; without an intent it is not.
        for (foreign, recovering) in [(String::new(), None), (format!("{old}\n"), long_ago())] {
            fs::write(&lock, foreign).unwrap();
            let waits = Moved::Waits(Wait::Locked { path: lock.clone() });
            assert_eq!(sandbox.land(&old, &candidate, recovering), waits);
            assert!(lock.exists());
            assert_eq!(sandbox.snapshot(), before);
        }
        fs::write(&lock, format!("{candidate}\n")).unwrap();
        assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
        assert_eq!(sandbox.oid("main"), candidate);
        assert_eq!(sandbox.git("status --porcelain"), "");
    }
}

#[test]
fn a_half_done_checkout_is_finished() {
    let check = |leave: fn(&Sandbox, &Oid)| {
        let sandbox = Sandbox::new();
        sandbox.write("kind", "a file\n");
        let old = sandbox.commit("kind");
        let task = sandbox.task("T1", |at| {
            write(&at.join("a"), "work\n");
            write(&at.join("deep/new"), "new\n");
            fs::remove_file(at.join("b")).unwrap();
            fs::remove_file(at.join("kind")).unwrap();
            write(&at.join("kind/of"), "now a folder\n");
        });
        let candidate = sandbox.candidate(&task);
        sandbox.write("lib/c", "a person's own\n");
        leave(&sandbox, &candidate);
        assert_eq!(sandbox.land(&old, &candidate, long_ago()), Moved::Done);
        assert_eq!(sandbox.oid("main"), candidate);
        assert_eq!(sandbox.git("status --porcelain").trim(), "M lib/c");
        assert_eq!(sandbox.read("a"), "work\n");
        assert_eq!(sandbox.read("kind/of"), "now a folder\n");
        assert_eq!(sandbox.read("lib/c"), "a person's own\n");
    };
    // Some files, index and ref as they were.
    check(|s, _| s.write("a", "work\n"));
    check(|s, _| {
        s.write("deep/new", "new\n");
        fs::remove_file(s.project().join("b")).unwrap();
        fs::remove_file(s.project().join("kind")).unwrap();
        s.write("kind/of", "now a folder\n");
    });
    // All files and the index, but not the ref.
    check(|s, candidate| drop(s.git(&format!("read-tree -m -u HEAD {candidate}"))));
    if cfg!(target_os = "linux") {
        // Killed in the middle of a write, with the index locked.
        check(|s, _| {
            s.write("a", "wo");
            s.write("deep/new", "");
            fs::remove_file(s.project().join("kind")).unwrap();
            s.write(".git/index.lock", "half an index");
        });
    }
}

#[test]
fn a_half_done_checkout_with_a_persons_work_in_it_waits() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let task = sandbox.task("T1", |at| {
        write(&at.join("a"), "work\n");
        write(&at.join("b"), "work\n");
    });
    let candidate = sandbox.candidate(&task);
    sandbox.write("a", "work\n");
    sandbox.write("b", "a person came by\n");
    sandbox.write(".git/index.lock", "");
    let before = sandbox.snapshot();
    assert_eq!(waits_for_files(sandbox.land(&old, &candidate, long_ago())), ["b"]);
    assert_eq!(sandbox.snapshot(), before);
    assert!(sandbox.project().join(".git/index.lock").exists());
}

#[test]
fn landings_on_one_target_are_serialised() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    let lease = LandingLease::take(&repo, "main").unwrap();
    assert!(LandingLease::try_take(&repo, "main").unwrap().is_none());
    assert!(LandingLease::try_take(&repo, "other").unwrap().is_some());
    drop(lease);
    LandingLease::take(&repo, "main").unwrap();
    let elsewhere = Sandbox::new();
    let lease = LandingLease::take(&elsewhere.repo(), "main").unwrap();
    let old = sandbox.oid("main");
    assert!(matches!(repo.move_target(&lease, &old, &old, None), Err(GitError::WrongLease)));
}

#[test]
fn a_target_in_a_linked_worktree_and_one_whose_folder_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.leave_main();
    sandbox.git("worktree add --quiet ../linked main");
    let old = sandbox.oid("main");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("a"), "work\n")));
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
    let linked = sandbox.root.join("linked");
    assert_eq!(fs::read_to_string(linked.join("a")).unwrap(), "work\n");
    assert_eq!(sandbox.git_in(&linked, "status --porcelain"), "");
    let next = sandbox.candidate(&sandbox.task("T2", |at| write(&at.join("b"), "work\n")));
    sandbox.git("worktree lock ../linked");
    fs::remove_dir_all(&linked).unwrap();
    let moved = sandbox.land(&candidate, &next, None);
    assert!(matches!(moved, Moved::Waits(Wait::Away { .. })), "{moved:?}");
    sandbox.git("worktree unlock ../linked");
    assert_eq!(sandbox.land(&candidate, &next, None), Moved::Done);
}

#[test]
fn waits_say_what_a_person_can_do() {
    let files: Vec<String> = (1..=7).map(|n| format!("f{n}")).collect();
    let wait = Wait::Files { checkout: "/p".into(), files };
    assert_eq!(wait.to_string(), "/p has uncommitted changes in f1, f2, f3, f4, f5 and 2 more");
    let wait = Wait::Locked { path: "/p/.git/index.lock".into() };
    assert!(wait.to_string().contains("/p/.git/index.lock"));
}
