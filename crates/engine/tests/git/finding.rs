//! Finding the repository, and holding its guard.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use camino::Utf8Path;
use piton_core::plan::Oid;
use piton_core::survey::MOST_COPIED;
use piton_engine::git::*;
use piton_engine::lock::Lock;

use crate::sandbox::{Sandbox, write};

#[test]
fn facts_of_a_repository() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    assert_eq!(repo.top(), sandbox.project());
    assert_eq!(repo.common_dir(), sandbox.project().join(".git"));
    assert_eq!(repo.current_branch().unwrap(), "main");
    assert_eq!(repo.main_checkout().unwrap(), Some(sandbox.project()));
    assert_eq!(repo.format(), ObjectFormat::Sha1);
    assert!(!repo.has_submodules() && !repo.is_linked_worktree() && repo.subdirectory().is_none());
    let first = sandbox.oid("main");
    assert_eq!(repo.branch_tip("main").unwrap(), Some(first.clone()));
    assert_eq!(repo.branch_tip("none").unwrap(), None);
    assert!(matches!(repo.resolve("--all"), Err(GitError::UnknownRevision(_))));
    sandbox.write("a", "changed\n");
    let second = sandbox.commit("second");
    assert_eq!(repo.beyond(&first, &[&second, &first]).unwrap(), std::slice::from_ref(&second));
    assert_eq!(repo.reachable_from(&second).unwrap().len(), 2);
    assert!(repo.is_ancestor(&first, &second).unwrap() && !repo.is_ancestor(&second, &first).unwrap());
    assert_eq!(repo.diff_names(&first, &second).unwrap(), ["a"]);
    assert!(repo.diff_text(&first, &second, &[], usize::MAX).unwrap().text.contains("+changed"));
}

#[test]
fn a_difference_reads_the_same_whatever_is_set_up() {
    let sandbox = Sandbox::new();
    let blank = |word: &str| format!("one\n\n{word}\n\nthree\n");
    let long = format!("{}/{}", "folder".repeat(9), "file".repeat(9));
    sandbox.write("blank", &blank("two"));
    sandbox.write("größe", "x\n");
    sandbox.write(&long, &"line\n".repeat(90));
    let first = sandbox.commit("first");
    sandbox.git(&format!("update-index --add --cacheinfo 160000,{first},sub"));
    sandbox.git("commit --quiet --message link");
    let base = sandbox.oid("main");
    sandbox.write("blank", &blank("2"));
    sandbox.write("größe", "y\n");
    sandbox.write(&long, &"changed\n".repeat(90));
    sandbox.git("mv lib/c lib/d");
    sandbox.git("add --update blank größe folder* lib");
    sandbox.git(&format!("update-index --cacheinfo 160000,{base},sub"));
    sandbox.git("commit --quiet --message all");
    let (repo, tip) = (sandbox.repo(), sandbox.oid("main"));
    let usual = repo.diff_text(&base, &tip, &[], usize::MAX).unwrap();
    for part in ["+++ b/größe\n", "\n \n-two\n+2\n \n", "rename to lib/d\n", "+Subproject commit "] {
        assert!(usual.text.contains(part), "{part}: {}", usual.text);
    }
    sandbox.write("../order", "sub\nlib\n");
    for (name, value) in [
        ("diff.suppressBlankEmpty", "true"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.srcPrefix", "x/"),
        ("diff.context", "0"),
        ("diff.interHunkContext", "9"),
        ("diff.algorithm", "histogram"),
        ("diff.renames", "false"),
        ("diff.renameLimit", "1"),
        ("diff.indentHeuristic", "false"),
        ("diff.submodule", "log"),
        ("diff.ignoreSubmodules", "all"),
        ("diff.relative", "true"),
        ("diff.orderFile", sandbox.root.join("order").as_str()),
        ("diff.external", "false"),
        ("diff.statNameWidth", "9"),
        ("diff.statGraphWidth", "5"),
        ("color.ui", "always"),
        ("core.quotePath", "true"),
        ("core.abbrev", "30"),
    ] {
        sandbox.git(&format!("config --global {name} {value}"));
        assert_eq!(repo.diff_text(&base, &tip, &[], usize::MAX).unwrap(), usual, "{name}={value}");
    }
}

#[test]
fn of_a_long_difference_there_is_a_beginning_of_whole_lines() {
    let sandbox = Sandbox::new();
    let first = sandbox.oid("main");
    sandbox.write("a", &"a line of no interest\n".repeat(200_000));
    let second = sandbox.commit("second");
    let repo = sandbox.repo();
    let whole = repo.diff_text(&first, &second, &[], usize::MAX).unwrap();
    assert!(!whole.is_cut && whole.text.len() > 4_000_000);
    let cut = repo.diff_text(&first, &second, &[], 1000).unwrap();
    assert!(cut.is_cut && cut.text.len() > 900 && cut.text.len() <= 1000, "{cut:?}");
    assert!(cut.text.ends_with('\n') && whole.text.starts_with(&cut.text), "{cut:?}");
    let just = repo.diff_text(&first, &second, &[], whole.text.len()).unwrap();
    assert_eq!(just, whole);
    let unknown = repo.diff_text(&first, &Oid::new(&"0".repeat(40)).unwrap(), &[], 1000);
    assert!(matches!(unknown, Err(GitError::Failed { .. })), "{unknown:?}");
}

#[test]
fn places_piton_cannot_work_in_are_named() {
    let sandbox = Sandbox::empty();
    assert!(matches!(sandbox.discover("project"), Err(GitError::EmptyRepository { .. })));
    assert!(matches!(sandbox.discover("home"), Err(GitError::NotARepository { .. })));
    assert!(matches!(sandbox.discover("project/.git"), Err(GitError::NotARepository { .. })));
    sandbox.git_in(&sandbox.root, "init --quiet --bare bare");
    assert!(matches!(sandbox.discover("bare"), Err(GitError::Bare { .. })));
}

#[test]
fn detached_head_has_no_branch() {
    let sandbox = Sandbox::new();
    sandbox.git("checkout --quiet --detach");
    let repo = sandbox.repo();
    assert!(matches!(repo.current_branch(), Err(GitError::DetachedHead { .. })));
    assert_eq!(repo.where_is_target("main").unwrap(), None);
}

#[test]
fn a_project_in_a_subdirectory_and_in_a_linked_worktree() {
    let sandbox = Sandbox::new();
    let repo = sandbox.discover("project/lib").unwrap();
    assert_eq!(repo.top(), sandbox.project());
    assert_eq!(repo.subdirectory(), Some(Utf8Path::new("lib")));
    sandbox.git("worktree add --quiet ../linked -b side");
    let repo = sandbox.discover("linked").unwrap();
    assert!(repo.is_linked_worktree());
    assert_eq!(repo.common_dir(), sandbox.project().join(".git"));
    assert_eq!(repo.main_checkout().unwrap(), Some(sandbox.project()));
    assert_eq!(repo.where_is_target("main").unwrap(), Some(sandbox.project()));
    assert_eq!(repo.current_branch().unwrap(), "side");
}

#[test]
fn a_bare_repository_with_worktrees_is_fine_from_a_worktree() {
    let sandbox = Sandbox::new();
    sandbox.git_in(&sandbox.root, "clone --quiet --bare project bare");
    sandbox.git_in(&sandbox.root.join("bare"), "worktree add --quiet ../linked main");
    let repo = sandbox.discover("linked").unwrap();
    assert_eq!(repo.main_checkout().unwrap(), None);
    assert_eq!(repo.where_is_target("main").unwrap(), Some(sandbox.root.join("linked")));
}

#[test]
fn nobody_told_git_who_they_are() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    assert!(!repo.identity().unwrap().configured);
    let commit = sandbox.task("T1", |at| write(&at.join("new"), "new\n"));
    assert_eq!(sandbox.git(&format!("show -s --format=%an<%ae>%cn {commit}")), "Piton<piton@localhost>Piton");
    sandbox.git("config user.name Ann");
    sandbox.git("config user.email ann@example.org");
    assert!(!repo.identity().unwrap().configured, "asked once");
    let repo = sandbox.repo();
    assert!(repo.identity().unwrap().configured);
    let tree = repo.tree_of(&commit).unwrap();
    let named = repo.commit_tree(&tree, &[&commit], "m", Some("Agent <agent@example.org>")).unwrap();
    assert_eq!(sandbox.git(&format!("show -s --format=%an<%ae>%cn {named}")), "Agent<agent@example.org>Ann");
}

#[test]
fn a_guard_lives_as_long_as_a_git_that_holds_it() {
    let sandbox = Sandbox::new();
    let path = sandbox.root.join("guard.lock");
    let guard = Arc::new(Lock::take(&path).unwrap());
    let repo = sandbox.repo().guarded_by(Arc::clone(&guard));
    assert!(repo.branch_tip("main").unwrap().is_some(), "git reads the end of file at once");
    // What a child has: a second handle. The lock stays when the first one goes.
    let child = guard.share().unwrap();
    drop((guard, repo));
    assert!(Lock::try_take(&path).unwrap().is_none());
    drop(child);
    // Waiting, since a child that another test is just starting has a copy of every handle.
    Lock::take(&path).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_git_holds_the_guard_as_long_as_it_works() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "held filter=look\n");
    sandbox.commit("attributes");
    // A filter looks at what the git that started it has for a standard input.
    let seen = sandbox.root.join("seen");
    let config = sandbox.project().join(".git/config");
    let filter = format!("[filter \"look\"]\n\tclean = \"readlink /proc/$PPID/fd/0 > {seen}; cat\"\n");
    fs::write(&config, fs::read_to_string(&config).unwrap() + &filter).unwrap();
    let path = sandbox.root.join("guard.lock");
    let repo = sandbox.repo().guarded_by(Arc::new(Lock::take(&path).unwrap()));
    let place = sandbox.root.join("worktrees/T1");
    let worktree = Worktree::add(&repo, &place, &sandbox.oid("main")).unwrap().worktree;
    write(&place.join("held"), "work\n");
    worktree.capture("work", None).unwrap();
    assert_eq!(fs::read_to_string(&seen).unwrap().trim_end(), path);
}

#[test]
fn commits_of_work_are_signed_where_the_persons_are() {
    let sandbox = Sandbox::new();
    let gpg = sandbox.root.join("gpg");
    let script =
        "#!/bin/sh\ncat > /dev/null; printf '\\n[GNUPG:] SIG_CREATED x\\n' >&2; echo 'a signature'\n";
    write(&gpg, script);
    fs::set_permissions(&gpg, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.git(&format!("config gpg.program {gpg}"));
    let (base, repo) = (sandbox.oid("HEAD"), || sandbox.repo());
    let tree = repo().tree_of(&base).unwrap();
    let is_signed =
        |commit: &Oid| sandbox.git(&format!("cat-file commit {commit}")).contains("gpgsig a signature");
    let work = || repo().commit_work(&tree, &[&base], "Work", None).unwrap();
    assert!(!is_signed(&work()));
    sandbox.git("config commit.gpgSign true");
    assert!(is_signed(&work()));
    assert!(!is_signed(&repo().commit_tree(&tree, &[&base], "Piton's own", None).unwrap()));
    sandbox.git("config piton.sign false");
    assert!(!is_signed(&work()));
    sandbox.git("config --unset piton.sign");
    sandbox.git("config gpg.program /bin/false");
    let refused = repo().commit_work(&tree, &[&base], "Work", None).unwrap_err().to_string();
    assert!(refused.contains("`git config piton.sign false` lets Piton commit"), "{refused}");
}

#[test]
fn what_git_ignores_is_listed_and_what_a_file_includes_of_it() {
    let sandbox = Sandbox::new();
    let (repo, project) = (sandbox.repo(), sandbox.project());
    assert_eq!(repo.ignored_in(&project).unwrap(), Vec::<String>::new());
    assert_eq!(repo.included_in(&project).unwrap(), None);
    sandbox.write(".gitignore", "cache/\n*.key\n");
    for file in ["cache/a/1", "cache/2", "x.key", "lib/y.key", "lib/new"] {
        sandbox.write(file, "x");
    }
    let mut ignored = repo.ignored_in(&project).unwrap();
    ignored.sort();
    assert_eq!(ignored, ["cache/", "lib/y.key", "x.key"]);
    sandbox.write(".worktreeinclude", "cache/**\n!cache/2\n*.key\nnew\na\n");
    let included = repo.included_in(&project).unwrap().unwrap();
    assert_eq!(included.files, ["cache/a/1", "lib/y.key", "x.key"], "neither work nor what git has");
    assert!(!included.has_more);
    for nth in 0..MOST_COPIED {
        sandbox.write(&format!("cache/a/more-{nth}"), "x");
    }
    let many = repo.included_in(&project).unwrap().unwrap();
    assert!(many.has_more && many.files.len() <= MOST_COPIED);
    // A link would name what somebody else wrote.
    fs::rename(project.join(".worktreeinclude"), project.join("other")).unwrap();
    std::os::unix::fs::symlink("other", project.join(".worktreeinclude")).unwrap();
    assert_eq!(repo.included_in(&project).unwrap(), None);
}

#[test]
fn the_main_branch_of_the_origin_is_known_where_git_knows_it() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    assert_eq!(repo.branch_of_origin().unwrap(), None);
    sandbox.git("remote add origin .");
    sandbox.git("fetch --quiet origin");
    sandbox.git("remote set-head origin main");
    assert_eq!(repo.branch_of_origin().unwrap().as_deref(), Some("main"));
}
