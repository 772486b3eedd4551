//! Nothing is removed that exists only once.

use std::fs;

use piton_engine::git::*;

use crate::sandbox::{Sandbox, rescue, write};

#[test]
fn removal_rescues_first_and_survives_collection() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "ignored\n");
    sandbox.commit("ignore");
    let worktree = sandbox.worktree("T1");
    let path = worktree.path().to_owned();
    write(&path.join("new"), "committed\n");
    let commit = worktree.capture("work", None).unwrap().commit;
    write(&path.join("a"), "staged\n");
    sandbox.git_in(&path, "add a");
    write(&path.join("a"), "dirty\n");
    write(&path.join("untracked"), "here only\n");
    write(&path.join("ignored"), "not rescued\n");
    let removed = Worktree::remove(&sandbox.repo(), &path, &rescue("run/T1/1")).unwrap();
    let rescued = removed.rescued.unwrap();
    assert_eq!(rescued.name, "refs/piton/rescue/run/T1/1");
    assert!(!path.exists());
    let repo = sandbox.repo();
    let pinned = sandbox.task("T2", |at| write(&at.join("pinned"), "pinned\n"));
    repo.change_refs(&[RefChange::pin("verified/T2", &pinned).unwrap()]).unwrap();
    let loose = sandbox.task("T3", |at| write(&at.join("loose"), "loose\n"));
    for name in ["T2", "T3"] {
        let mut rescue = rescue(name);
        rescue.kept = vec!["refs".to_owned()];
        let removed = Worktree::remove(&repo, &sandbox.root.join("worktrees").join(name), &rescue).unwrap();
        assert_eq!(removed.rescued.is_some(), name == "T3", "a pinned commit needs no rescue");
    }
    sandbox.git("reflog expire --expire=now --all");
    sandbox.git("gc --quiet --prune=now");
    for (file, text) in [("a", "dirty"), ("untracked", "here only"), ("new", "committed")] {
        assert_eq!(sandbox.git(&format!("show {}:{file}", rescued.commit)), text);
    }
    assert!(!sandbox.git(&format!("ls-tree --name-only {}", rescued.commit)).contains("ignored\n"));
    assert_eq!(sandbox.git(&format!("show {}^2:a", rescued.commit)), "staged");
    assert!(repo.is_ancestor(&commit, &rescued.commit).unwrap());
    assert_eq!(repo.resolve(pinned.as_str()).unwrap(), pinned);
    assert_eq!(repo.resolve(loose.as_str()).unwrap(), loose);
    // Again: nothing is there, nothing to do.
    let again = Worktree::remove(&repo, &path, &rescue("run/T1/1")).unwrap();
    assert_eq!(again.rescued, None);
    assert_eq!(repo.rescue_list("run/T1").unwrap(), std::slice::from_ref(&rescued));
    assert!(repo.rescue_show(&rescued.name).unwrap().contains("+here only"));
    let folder = sandbox.root.join("back");
    repo.rescue_restore("run/T1/1", RestoreInto::Folder(&folder)).unwrap();
    assert_eq!(fs::read_to_string(folder.join("untracked")).unwrap(), "here only\n");
    repo.rescue_restore("run/T1/1", RestoreInto::Branch("back")).unwrap();
    assert_eq!(sandbox.oid("back"), rescued.commit);
    let taken = repo.rescue_restore("T3", RestoreInto::Branch("back"));
    assert!(matches!(taken, Err(GitError::BranchMoved { .. })));
}

#[test]
fn rescue_does_not_touch_and_does_not_overwrite() {
    let sandbox = Sandbox::new();
    let worktree = sandbox.worktree("T1");
    assert_eq!(worktree.rescue(&rescue("r/1")).unwrap(), None);
    write(&worktree.path().join("a"), "one\n");
    let first = worktree.rescue(&rescue("r/1")).unwrap().unwrap();
    assert_eq!(worktree.status().unwrap().dirty, ["a"]);
    assert_eq!(worktree.rescue(&rescue("r/1")).unwrap().unwrap(), first, "the same content once");
    write(&worktree.path().join("a"), "two\n");
    let second = worktree.rescue(&rescue("r/1")).unwrap().unwrap();
    assert_eq!(second.name, "refs/piton/rescue/r/1-2");
    assert_eq!(sandbox.repo().rescue_list("").unwrap().len(), 2);
    assert!(matches!(RefChange::unpin("rescue/r/1"), Err(GitError::BadName(_))));
}

#[test]
fn rescue_of_a_merge_in_conflict() {
    let sandbox = Sandbox::new();
    let verified = sandbox.task("T1", |at| write(&at.join("a"), "mine\n"));
    sandbox.write("a", "theirs\n");
    let tip = sandbox.commit("moved");
    let worktree = sandbox.worktree("T1");
    worktree.bring_up_to(&tip, &verified, &rescue("x")).unwrap();
    let rescued = worktree.rescue(&rescue("x")).unwrap().unwrap();
    assert!(sandbox.git(&format!("show {}:a", rescued.commit)).contains("<<<<<<<"));
    assert_eq!(worktree.status().unwrap().unmerged, ["a"]);
}

#[test]
fn nested_repositories_refuse_removal_and_capture() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    for inside in ["vendor/dep", "lib", "."] {
        let worktree = sandbox.worktree("T1");
        fs::create_dir_all(worktree.path().join(inside)).unwrap();
        let dot_git = worktree.path().join(".git");
        let own = fs::read(&dot_git).unwrap();
        if inside == "." {
            fs::remove_file(&dot_git).unwrap();
        }
        sandbox.git_in(&worktree.path().join(inside), "init --quiet");
        let paths_of = |error| match error {
            GitError::NestedRepositories { paths, .. } => paths,
            other => panic!("{other}"),
        };
        let refused = Worktree::remove(&repo, worktree.path(), &rescue("x")).unwrap_err();
        assert_eq!(paths_of(refused), [inside]);
        assert_eq!(paths_of(worktree.capture("m", None).unwrap_err()), [inside]);
        assert!(worktree.path().join(inside).join(".git/HEAD").exists());
        fs::remove_dir_all(worktree.path().join(inside).join(".git")).unwrap();
        if inside == "." {
            fs::write(&dot_git, own).unwrap();
        }
    }
    Worktree::remove(&repo, &sandbox.root.join("worktrees/T1"), &rescue("x")).unwrap();
}

#[test]
fn an_interrupted_removal_is_finished() {
    let sandbox = Sandbox::new();
    let worktree = sandbox.worktree("T1");
    fs::remove_file(worktree.path().join(".git")).unwrap();
    fs::remove_dir_all(worktree.path().join("lib")).unwrap();
    Worktree::remove(&sandbox.repo(), worktree.path(), &rescue("x")).unwrap();
    assert!(!worktree.path().exists());
    assert_eq!(sandbox.repo().checkouts().unwrap().len(), 1);
}

#[test]
fn a_submodule_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.git_in(&sandbox.root, "clone --quiet project module");
    sandbox.git("submodule --quiet add ../module sub");
    let base = sandbox.commit("submodule");
    assert!(sandbox.repo().has_submodules());
    sandbox.write("sub/a", "dirty in there\n");
    let task = sandbox.task("T1", |at| write(&at.join("a"), "work\n"));
    assert_eq!(sandbox.repo().diff_names(&base, &task).unwrap(), ["a"]);
    assert_eq!(sandbox.land(&base, &sandbox.candidate(&task), None), Moved::Done);
    assert_eq!(sandbox.read("sub/a"), "dirty in there\n");
    let path = sandbox.root.join("worktrees/T1");
    sandbox.git_in(&path, "submodule --quiet update --init");
    let refused = Worktree::remove(&sandbox.repo(), &path, &rescue("x"));
    assert!(matches!(refused, Err(GitError::NestedRepositories { paths, .. }) if paths == ["sub"]));
}
