//! Worktrees, and what agents leave in them.

use std::fs;
use std::process::Command;

use camino::Utf8Path;
use piton_engine::git::*;
use piton_engine::lock::Lock;

use crate::sandbox::{Sandbox, rescue, write};

/// Whether a process waits for the lock at `path`.
#[cfg(target_os = "linux")]
fn is_waited_for(path: &Utf8Path) -> bool {
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|lock| lock.contains("-> FLOCK") && lock.contains(&format!(":{inode} ")))
}

#[cfg(target_os = "linux")]
#[test]
fn worktrees_are_made_and_taken_away_one_at_a_time() {
    let sandbox = Sandbox::new();
    let (repo, base) = (sandbox.repo(), sandbox.oid("main"));
    let lock = repo.piton_dir().join("locks/worktrees.lock");
    let path = sandbox.root.join("worktrees/T1");
    let add = || drop(Worktree::add(&repo, &path, &base).unwrap());
    let remove = || drop(Worktree::remove(&repo, &path, &rescue("T1")).unwrap());
    let deeds: [(&(dyn Fn() + Sync), bool); 2] = [(&add, false), (&remove, true)];
    for (deed, before) in deeds {
        let held = Lock::take(&lock).unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(deed);
            while !is_waited_for(&lock) {
                assert!(!other.is_finished(), "it did not wait");
                std::thread::yield_now();
            }
            assert_eq!(path.exists(), before);
            drop(held);
        });
        assert_eq!(path.exists(), !before);
    }
}

/// The index calls a file unchanged whose size and times are those it knows, whatever a power cut left in it.
#[test]
fn a_worktree_from_before_the_machine_started_is_made_anew() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    let whole = fs::read(sandbox.project().join("a")).unwrap();
    let made = Worktree::add(&repo, &path, &base).unwrap().worktree;
    made.make_ready("me").unwrap();
    let known = fs::metadata(path.join("a")).unwrap().modified().unwrap();
    let torn = vec![0; whole.len()];
    fs::write(path.join("a"), &torn).unwrap();
    fs::File::open(path.join("a")).unwrap().set_modified(known).unwrap();
    write(&path.join("new"), "and torn, for all we know\n");
    write(&repo.common_dir().join("worktrees/T1/piton-ready"), "another boot\n");
    let again = Worktree::add(&repo, &path, &base).unwrap();
    let Making::PutRight { rescued: Some(rescued) } = again.how else { panic!("{:?}", again.how) };
    assert_eq!(fs::read(path.join("a")).unwrap(), whole);
    assert!(!path.join("new").exists());
    assert!(!again.worktree.is_ready(), "nobody has said so yet");
    assert!(repo.rescue_show(&rescued.name).unwrap().contains("for all we know"));
}

#[test]
fn a_worktree_is_made_once_and_found_again() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    let first = Worktree::add(&repo, &path, &base).unwrap();
    assert_eq!(first.how, Making::Made);
    first.worktree.make_ready("me").unwrap();
    write(&path.join("a"), "work in progress\n");
    let again = Worktree::add(&repo, &path, &base).unwrap();
    assert_eq!(again.how, Making::Existing);
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "work in progress\n");
    let status = again.worktree.status().unwrap();
    assert_eq!((status.dirty, status.branch, status.head), (vec!["a".to_owned()], None, Some(base)));
}

/// Where tasks share a worktree, each must know whether what it finds is its own.
#[test]
fn a_worktree_knows_for_whom_it_was_made_ready() {
    let sandbox = Sandbox::new();
    let worktree = sandbox.worktree("T1");
    assert!(!worktree.is_for("run/T1"));
    worktree.make_ready("run/T1").unwrap();
    assert!(worktree.is_ready() && worktree.is_for("run/T1") && !worktree.is_for("run/T"));
    worktree.make_ready("run/T2").unwrap();
    assert!(worktree.is_ready() && worktree.is_for("run/T2") && !worktree.is_for("run/T1"));
}

#[test]
fn a_folder_that_is_not_ours_is_refused_and_kept() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    write(&path.join("thesis.txt"), "years of work\n");
    assert!(matches!(Worktree::add(&repo, &path, &base), Err(GitError::ForeignFolder { .. })));
    assert!(matches!(Worktree::remove(&repo, &path, &rescue("x")), Err(GitError::ForeignFolder { .. })));
    assert!(path.join("thesis.txt").exists());
}

#[test]
fn a_half_made_worktree_is_put_right() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    let entry = sandbox.project().join(".git/worktrees/T1");
    // Killed during the checkout: some files, no index, git's own mark.
    Worktree::add(&repo, &path, &base).unwrap();
    fs::remove_file(path.join("b")).unwrap();
    fs::rename(entry.join("index"), entry.join("index.lock")).unwrap();
    fs::write(entry.join("locked"), "initializing").unwrap();
    let added = Worktree::add(&repo, &path, &base).unwrap();
    assert_eq!(added.how, Making::PutRight { rescued: None });
    assert!(added.worktree.status().unwrap().is_clean() && path.join("b").exists());
    assert!(!entry.join("locked").exists() && !entry.join("index.lock").exists());
    // Killed before there was a HEAD or a `.git`.
    fs::remove_file(path.join(".git")).unwrap();
    fs::write(entry.join("HEAD"), "0000000000000000000000000000000000000000\n").unwrap();
    fs::remove_file(entry.join("index")).unwrap();
    fs::write(entry.join("locked"), "initializing").unwrap();
    let added = Worktree::add(&repo, &path, &base).unwrap();
    assert_eq!(added.worktree.status().unwrap().head, Some(base.clone()));
    assert!(added.worktree.status().unwrap().is_clean());
    // Killed before there was a folder.
    fs::remove_dir_all(&path).unwrap();
    fs::write(entry.join("locked"), "initializing").unwrap();
    let added = Worktree::add(&repo, &path, &base).unwrap();
    assert_eq!(added.how, Making::PutRight { rescued: None });
    assert!(added.worktree.status().unwrap().is_clean());
    assert_eq!(repo.checkouts().unwrap().len(), 2);
}

#[test]
fn a_worktree_that_lost_its_registration_is_rescued_and_put_right() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    Worktree::add(&repo, &path, &base).unwrap();
    write(&path.join("new"), "only here\n");
    fs::remove_dir_all(sandbox.project().join(".git/worktrees")).unwrap();
    let added = Worktree::add(&repo, &path, &base).unwrap();
    let Making::PutRight { rescued: Some(rescued) } = added.how else { panic!("{:?}", added.how) };
    assert_eq!(sandbox.git(&format!("show {}:new", rescued.commit)), "only here");
    assert!(added.worktree.status().unwrap().is_clean() && !path.join("new").exists());
}

#[test]
fn a_deleted_folder_costs_no_commit_and_no_other_entry() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    let worktree = sandbox.worktree("T1");
    write(&path.join("new"), "new\n");
    let commit = worktree.capture("work", None).unwrap().commit;
    // A person's worktree, on a drive that is not mounted.
    sandbox.git("worktree add --quiet --detach ../drive");
    fs::remove_dir_all(sandbox.root.join("drive")).unwrap();
    fs::remove_dir_all(sandbox.root.join("worktrees")).unwrap();
    let added = Worktree::add(&repo, &path, &base).unwrap();
    let Making::PutRight { rescued: Some(rescued) } = added.how else { panic!("{:?}", added.how) };
    assert_eq!(rescued.commit, commit);
    assert!(repo.checkouts().unwrap().iter().any(|other| other.path.ends_with("drive")));
}

#[test]
fn worktrees_in_another_repository_are_refused_and_in_the_project_hidden() {
    let sandbox = Sandbox::new();
    let (repo, base) = (sandbox.repo(), sandbox.oid("main"));
    sandbox.git_in(&sandbox.root, "init --quiet other");
    let path = sandbox.root.join("other/trees/T1");
    assert!(matches!(Worktree::add(&repo, &path, &base), Err(GitError::ForeignRepository { .. })));
    assert!(!path.exists());
    for name in ["T1", "T2"] {
        Worktree::add(&repo, &sandbox.project().join(".trees").join(name), &base).unwrap();
    }
    assert_eq!(sandbox.git("status --porcelain"), "");
    let excluded = sandbox.read(".git/info/exclude");
    assert_eq!(excluded.lines().filter(|line| *line == "/.trees/").count(), 1);
    // A folder with files of its own is not hidden.
    Worktree::add(&repo, &sandbox.project().join("lib/T3"), &base).unwrap();
    sandbox.write("lib/visible", "");
    assert_eq!(sandbox.git("status --porcelain"), "?? lib/visible");
}

#[test]
fn capture_takes_what_the_agent_left_however_it_left_it() {
    let sandbox = Sandbox::new();
    let base = sandbox.oid("main");
    let worktree = sandbox.worktree("T1");
    let nothing = worktree.capture("m", None).unwrap();
    assert_eq!((nothing.commit, nothing.made_commit), (base.clone(), false));
    // On a branch of its own, half staged, with a lock left behind and a hook that says no.
    write(&sandbox.project().join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
    write(&sandbox.project().join(".git/hooks/commit-msg"), "#!/bin/sh\nexit 1\n");
    for hook in ["pre-commit", "commit-msg"] {
        let hook = sandbox.project().join(".git/hooks").join(hook);
        Command::new("chmod").arg("+x").arg(hook).status().unwrap();
    }
    sandbox.git_in(worktree.path(), "switch --quiet --create agents-own");
    write(&worktree.path().join("new"), "new\n");
    sandbox.git_in(worktree.path(), "add new");
    write(&worktree.path().join("-dash ü"), "odd name\n");
    fs::remove_file(worktree.path().join("b")).unwrap();
    fs::write(sandbox.project().join(".git/worktrees/T1/index.lock"), "").unwrap();
    let captured = worktree.capture("# not a comment\n\nPiton-Task: T1", Some("Agent <a@b>")).unwrap();
    assert!(captured.made_commit && worktree.status().unwrap().is_clean());
    let mut names = sandbox.repo().diff_names(&base, &captured.commit).unwrap();
    names.sort();
    assert_eq!(names, ["-dash ü", "b", "new"]);
    assert_eq!(sandbox.git(&format!("show -s --format=%s {}", captured.commit)), "# not a comment");
    assert_eq!(sandbox.oid("agents-own"), base, "no branch is moved");
    assert_eq!(sandbox.repo().tree_of(&captured.commit).unwrap(), captured.tree);
}

#[test]
fn autocrlf_makes_nothing_dirty_and_captures_line_feeds() {
    let sandbox = Sandbox::new();
    sandbox.git("config core.autocrlf true");
    sandbox.git("config core.safecrlf true");
    let worktree = sandbox.worktree("T1");
    assert!(fs::read_to_string(worktree.path().join("a")).unwrap().contains("\r\n"));
    assert!(worktree.status().unwrap().is_clean());
    write(&worktree.path().join("new"), "one\r\ntwo\n");
    let captured = worktree.capture("m", None).unwrap();
    assert_eq!(sandbox.repo().diff_names(&sandbox.oid("main"), &captured.commit).unwrap(), ["new"]);
    assert!(worktree.status().unwrap().is_clean());
    // The project's own checkout has line feeds still: dirty or not, it lands.
    let (old, candidate) = (sandbox.oid("main"), sandbox.candidate(&captured.commit));
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
}

#[test]
fn bringing_a_worktree_up_to_the_target_leaves_the_conflict_to_the_agent() {
    let sandbox = Sandbox::new();
    let verified = sandbox.task("T1", |at| write(&at.join("a"), "mine\n"));
    sandbox.write("a", "theirs\n");
    let tip = sandbox.commit("moved");
    let worktree = sandbox.worktree("T1");
    write(&worktree.path().join("scratch"), "unsaved\n");
    let brought = worktree.bring_up_to(&tip, &verified, &rescue("run/T1/1")).unwrap();
    assert_eq!(brought.conflicted, ["a"]);
    let rescued = brought.rescued.unwrap();
    assert_eq!(sandbox.git(&format!("show {}:scratch", rescued.commit)), "unsaved");
    let again = worktree.bring_up_to(&tip, &verified, &rescue("run/T1/1")).unwrap();
    assert_eq!((again.conflicted, again.rescued), (vec!["a".to_owned()], None));
    assert!(
        matches!(worktree.capture("m", None), Err(GitError::ConflictMarkers { files }) if files == ["a"])
    );
    // Staged with the markers in it: still a conflict.
    sandbox.git_in(worktree.path(), "add a");
    assert!(
        matches!(worktree.capture("m", None), Err(GitError::ConflictMarkers { files }) if files == ["a"])
    );
    write(&worktree.path().join("a"), "both\n");
    let captured = worktree.capture("m", None).unwrap();
    let repo = sandbox.repo();
    assert!(repo.is_ancestor(&tip, &captured.commit).unwrap());
    assert!(repo.is_ancestor(&verified, &captured.commit).unwrap());
    let done = worktree.bring_up_to(&tip, &verified, &rescue("run/T1/1")).unwrap();
    assert_eq!(done.conflicted, Vec::<String>::new());
}

#[test]
fn a_conflict_without_markers_must_be_decided() {
    let sandbox = Sandbox::new();
    let verified = sandbox.task("T1", |at| {
        fs::remove_file(at.join("b")).unwrap();
        fs::write(at.join("image"), b"\0mine").unwrap();
    });
    sandbox.write("b", "changed\n");
    fs::write(sandbox.project().join("image"), b"\0theirs").unwrap();
    let tip = sandbox.commit("moved");
    let worktree = sandbox.worktree("T1");
    let brought = worktree.bring_up_to(&tip, &verified, &rescue("run/T1/1")).unwrap();
    assert_eq!(brought.conflicted, ["b", "image"]);
    let refused = worktree.capture("m", None);
    assert!(matches!(refused, Err(GitError::Undecided { files }) if files == ["b", "image"]));
    fs::remove_file(worktree.path().join("b")).unwrap();
    sandbox.git_in(worktree.path(), "checkout --quiet --theirs image");
    sandbox.git_in(worktree.path(), "add image");
    let captured = worktree.capture("m", None).unwrap();
    assert_eq!(sandbox.repo().diff_names(&tip, &captured.commit).unwrap(), ["b"]);
}

#[test]
fn checkout_detached_is_exact_but_keeps_caches() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "target/\n");
    let base = sandbox.commit("ignore");
    let worktree = sandbox.worktree("integration");
    for (file, text) in [("target/cache", "warm"), ("junk", "x"), ("a", "dirty"), ("lib/junk", "y")] {
        write(&worktree.path().join(file), text);
    }
    let (merging, _) = sandbox.try_git_in(worktree.path(), "rebase --exec false HEAD~1");
    assert!(!merging);
    worktree.checkout_detached(&base).unwrap();
    worktree.checkout_detached(&base).unwrap();
    assert!(worktree.status().unwrap().is_clean());
    assert!(worktree.path().join("target/cache").exists() && !worktree.path().join("junk").exists());
    assert_eq!(
        sandbox.repo().worktree_tree(worktree.path()).unwrap(),
        sandbox.repo().tree_of(&base).unwrap()
    );
}

#[test]
fn the_tree_of_a_checkout_is_read_without_touching_it() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "ignored\n");
    sandbox.commit("ignore");
    sandbox.write("a", "staged\n");
    sandbox.git("add a");
    sandbox.write("a", "then changed\n");
    sandbox.write("new", "untracked\n");
    sandbox.write("ignored", "secret\n");
    let index = fs::read(sandbox.project().join(".git/index")).unwrap();
    let before = sandbox.snapshot();
    let repo = sandbox.repo();
    let tree = repo.worktree_tree(&sandbox.project().join("lib")).unwrap();
    assert_eq!(sandbox.snapshot(), before);
    assert_eq!(fs::read(sandbox.project().join(".git/index")).unwrap(), index);
    assert_eq!(sandbox.git(&format!("show {tree}:a")), "then changed");
    assert_eq!(sandbox.git(&format!("ls-tree -r --name-only {tree}")), ".gitignore\na\nb\nlib/c\nnew");
    // A change that leaves size and time of the file as they were in the index.
    sandbox.commit("all");
    let file = sandbox.project().join("a");
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    let clean = repo.worktree_tree(&sandbox.project()).unwrap();
    fs::write(&file, "THEN CHANGED\n").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert_ne!(repo.worktree_tree(&sandbox.project()).unwrap(), clean);
}
