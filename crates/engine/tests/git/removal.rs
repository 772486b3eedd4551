//! Nothing is removed that exists only once.

use std::fs;

use camino::Utf8Path;
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

/// An agent commits and goes back: only the reflog of its worktree knows, and that goes with it.
#[test]
fn what_only_the_reflog_of_a_worktree_reaches_is_rescued_before_it_goes() {
    let collect = |sandbox: &Sandbox| {
        sandbox.git("reflog expire --expire=now --expire-unreachable=now --all");
        sandbox.git("gc --quiet --prune=now");
    };
    let remove = |sandbox: &Sandbox, name: &str| {
        let path = sandbox.root.join("worktrees").join(name);
        Worktree::remove(&sandbox.repo(), &path, &rescue(name)).unwrap().rescued
    };
    let commit = |sandbox: &Sandbox, worktree: &Worktree, file: &str| {
        write(&worktree.path().join(file), &format!("{file}\n"));
        sandbox.git_in(worktree.path(), "add --all");
        sandbox.git_in(worktree.path(), &format!("commit --quiet --message {file}"));
    };
    let sandbox = Sandbox::new();
    // Two that were taken back one after the other, clean otherwise.
    let worktree = sandbox.worktree("T1");
    for file in ["one", "two"] {
        commit(&sandbox, &worktree, file);
        sandbox.git_in(worktree.path(), "reset --quiet --hard HEAD~1");
    }
    let kept = remove(&sandbox, "T1").unwrap();
    // One, and beside it a change that is not committed.
    let worktree = sandbox.worktree("T2");
    commit(&sandbox, &worktree, "three");
    sandbox.git_in(worktree.path(), "reset --quiet --hard HEAD~1");
    write(&worktree.path().join("a"), "dirty\n");
    let dirty = remove(&sandbox, "T2").unwrap();
    // Its folder is gone, its records are not.
    let worktree = sandbox.worktree("T3");
    commit(&sandbox, &worktree, "four");
    sandbox.git_in(worktree.path(), "reset --quiet --hard HEAD~1");
    fs::remove_dir_all(worktree.path()).unwrap();
    let gone = remove(&sandbox, "T3").unwrap();
    collect(&sandbox);
    let files = |of: &Rescued| {
        let commits = sandbox.git(&format!("rev-list {} --not main", of.commit));
        commits.lines().map(|oid| sandbox.git(&format!("ls-tree --name-only {oid}"))).collect::<String>()
    };
    let texts = [files(&kept), files(&dirty), files(&gone)];
    assert!(texts[0].contains("one") && texts[0].contains("two"), "{texts:?}");
    assert!(texts[1].contains("three"), "{texts:?}");
    assert_eq!(sandbox.git(&format!("show {}:a", dirty.commit)), "dirty");
    assert!(texts[2].contains("four"), "{texts:?}");
    assert_eq!(sandbox.repo().rescue_list("").unwrap().len(), 3, "one ref for each");
    // Again: what is under a ref by now needs no other. History that was only written again needs none either.
    let worktree = sandbox.worktree("T4");
    commit(&sandbox, &worktree, "five");
    sandbox.git_in(worktree.path(), "commit --quiet --amend --message reworded");
    sandbox.git_in(worktree.path(), "branch kept");
    assert_eq!(remove(&sandbox, "T4"), None);
}

/// What an agent puts in the place of its folder is not removed.
#[test]
fn what_has_taken_the_place_of_a_worktree_is_neither_captured_nor_rescued_nor_removed() {
    let check = |swap: fn(&Sandbox, &Utf8Path)| {
        let sandbox = Sandbox::new();
        let worktree = sandbox.worktree("T1");
        let (repo, path) = (sandbox.repo(), worktree.path().to_owned());
        write(&path.join("a"), "work\n");
        let other = sandbox.root.join("other");
        write(&other.join("precious"), "mine\n");
        write(&other.join("deep/precious"), "mine\n");
        fs::rename(&path, sandbox.root.join("away")).unwrap();
        swap(&sandbox, &path);
        let is_refused = |error: GitError| assert!(matches!(error, GitError::Swapped { .. }), "{error}");
        is_refused(Worktree::remove(&repo, &path, &rescue("x")).unwrap_err());
        is_refused(Worktree::open(&repo, &path).unwrap_err());
        is_refused(Worktree::add(&repo, &path, &sandbox.oid("main")).unwrap_err());
        is_refused(worktree.capture("m", None).unwrap_err());
        is_refused(worktree.rescue(&rescue("x")).unwrap_err());
        is_refused(worktree.checkout_detached(&sandbox.oid("main")).unwrap_err());
        assert_eq!(repo.rescue_list("").unwrap(), []);
        for place in [&other, &path] {
            assert_eq!(fs::read_to_string(place.join("precious")).unwrap(), "mine\n");
            assert_eq!(fs::read_to_string(place.join("deep/precious")).unwrap(), "mine\n");
            assert!(!place.join("a").exists());
        }
        // The worktree is put back: all is well.
        if path.is_symlink() {
            fs::remove_file(&path).unwrap();
        } else {
            fs::remove_dir_all(&path).unwrap();
        }
        fs::rename(sandbox.root.join("away"), &path).unwrap();
        let kept = Worktree::remove(&repo, &path, &rescue("x")).unwrap().rescued.unwrap();
        assert_eq!(sandbox.git(&format!("show {}:a", kept.commit)), "work");
        assert!(!path.exists());
    };
    check(|sandbox, path| std::os::unix::fs::symlink(sandbox.root.join("other"), path).unwrap());
    // A folder with a `.git` of the worktree's in it looks like the worktree, but for its number.
    check(|sandbox, path| {
        write(&path.join("precious"), "mine\n");
        write(&path.join("deep/precious"), "mine\n");
        fs::copy(sandbox.root.join("away/.git"), path.join(".git")).unwrap();
    });
}

/// A link inside is removed, and what it leads to stays.
#[test]
fn a_removal_follows_no_link_and_takes_what_is_write_protected() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let sandbox = Sandbox::new();
    let worktree = sandbox.worktree("T1");
    let path = worktree.path();
    write(&sandbox.root.join("other/precious"), "mine\n");
    symlink(sandbox.root.join("other"), path.join("link")).unwrap();
    write(&path.join("cache/deep/file"), "made again by anybody\n");
    for folder in ["cache/deep", "cache"] {
        fs::set_permissions(path.join(folder), fs::Permissions::from_mode(0o555)).unwrap();
    }
    Worktree::remove(&sandbox.repo(), path, &rescue("x")).unwrap();
    assert!(!path.exists());
    assert_eq!(fs::read_to_string(sandbox.root.join("other/precious")).unwrap(), "mine\n");
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
