//! Branches, pins and merges without a checkout.

use std::fs;

use camino::Utf8Path;
use piton_core::plan::RepoPath;
use piton_engine::git::*;

use crate::sandbox::{Sandbox, lines, write};

#[test]
fn branches_are_moved_by_compare_and_swap_and_never_under_a_checkout() {
    let sandbox = Sandbox::new();
    let (repo, base) = (sandbox.repo(), sandbox.oid("main"));
    let task = sandbox.task("T1", |at| write(&at.join("a"), "x\n"));
    repo.set_branch("worktree-T1", &base, None).unwrap();
    assert!(matches!(repo.set_branch("worktree-T1", &task, None), Err(GitError::BranchMoved { .. })));
    repo.set_branch("worktree-T1", &task, Some(&base)).unwrap();
    repo.set_branch("worktree-T1", &task, Some(&base)).unwrap();
    assert!(matches!(repo.set_branch("main", &task, Some(&base)), Err(GitError::BranchCheckedOut { .. })));
    assert!(matches!(repo.set_branch("a..b", &task, None), Err(GitError::BadName(_))));
    assert_eq!(repo.branch_removal("worktree-T1", &base).unwrap(), None, "its commit is nowhere else");
    let away = repo.branch_removal("worktree-T1", &task).unwrap().unwrap();
    repo.change_refs(&[RefChange::branch("worktree-T1", &base, Some(&task)).unwrap()]).unwrap();
    assert!(repo.change_refs(std::slice::from_ref(&away)).is_err(), "it was moved in between");
    repo.change_refs(&[RefChange::branch("worktree-T1", &task, Some(&base)).unwrap()]).unwrap();
    repo.change_refs(&[away]).unwrap();
    assert_eq!(repo.branch_removal("worktree-T1", &task).unwrap(), None, "it is gone");
    assert_eq!(repo.branch_removal("main", &task).unwrap(), None, "it is checked out");
    let pin = RefChange::pin("run/T1/verified", &task).unwrap();
    let taken = RefChange::branch("main", &task, None).unwrap();
    assert!(repo.change_refs(&[pin.clone(), taken]).is_err());
    assert_eq!(repo.pin_at("run/T1/verified").unwrap(), None, "all or none");
    repo.change_refs(std::slice::from_ref(&pin)).unwrap();
    repo.change_refs(&[pin]).unwrap();
    assert_eq!(repo.pin_at("run/T1/verified").unwrap(), Some(task.clone()));
    assert_eq!(repo.pins("run").unwrap(), [Pin { name: "run/T1/verified".to_owned(), oid: task }]);
    let unpin = RefChange::unpin("run/T1/verified").unwrap();
    repo.change_refs(std::slice::from_ref(&unpin)).unwrap();
    repo.change_refs(&[unpin]).unwrap();
    assert_eq!(repo.pins("").unwrap(), []);
}

#[test]
fn merges_are_built_without_a_checkout() {
    type Edit = fn(&Utf8Path);
    let check = |task: Edit, person: Edit, expected: &[&str]| {
        let sandbox = Sandbox::new();
        let task = sandbox.task("T1", task);
        person(&sandbox.project());
        let ours = sandbox.commit("person");
        let before = sandbox.snapshot();
        let merged = sandbox.repo().merge(&ours, &task).unwrap();
        assert_eq!(sandbox.snapshot(), before);
        match merged {
            Merged::Clean { tree } => {
                assert!(expected.is_empty(), "clean: {}", sandbox.git(&format!("ls-tree -r {tree}")));
            }
            Merged::Conflict { files, messages } => {
                assert_eq!(files, expected);
                assert!(messages.contains("CONFLICT"), "{messages}");
            }
        }
    };
    let move_a: Edit = |at| fs::rename(at.join("a"), at.join("moved")).unwrap();
    let edit_a: Edit = |at| write(&at.join("a"), &lines("a").replace("a 3\n", "a three\n"));
    let edit_b: Edit = |at| write(&at.join("b"), "b\n");
    let other_a: Edit = |at| write(&at.join("a"), &lines("a").replace("a 3\n", "a drei\n"));
    let delete_a: Edit = |at| fs::remove_file(at.join("a")).unwrap();
    let binary: Edit = |at| fs::write(at.join("image"), b"\0one").unwrap();
    let other_binary: Edit = |at| fs::write(at.join("image"), b"\0two").unwrap();
    check(edit_a, edit_b, &[]);
    check(move_a, edit_a, &[]);
    check(edit_a, other_a, &["a"]);
    check(edit_a, edit_a, &[]);
    check(delete_a, edit_a, &["a"]);
    check(binary, other_binary, &["image"]);
    check(move_a, delete_a, &["moved"]);
}

#[test]
fn the_targets_attributes_decide_a_merge() {
    let sandbox = Sandbox::new();
    let task = sandbox.task("T1", |at| write(&at.join("log"), "task\n"));
    sandbox.write("log", "person\n");
    sandbox.write(".gitattributes", "log merge=union\n");
    let ours = sandbox.commit("union");
    // The checkout says otherwise.
    sandbox.write(".gitattributes", "log -merge\n");
    let merged = sandbox.repo().merge(&ours, &task).unwrap();
    assert!(matches!(merged, Merged::Clean { .. }), "{merged:?}");
}

#[test]
fn unrelated_histories_are_named() {
    let sandbox = Sandbox::new();
    let ours = sandbox.oid("main");
    let tree = sandbox.repo().tree_of(&ours).unwrap();
    let root = sandbox.repo().commit_tree(&tree, &[], "root", None).unwrap();
    assert!(matches!(sandbox.repo().merge(&ours, &root), Err(GitError::Unrelated { .. })));
}

#[test]
fn owned_paths_are_put_back() {
    let sandbox = Sandbox::new();
    sandbox.write("state.json", "{}\n");
    let base = sandbox.commit("state");
    let task = sandbox.task("T1", |at| {
        write(&at.join("state.json"), "{\"done\": true}\n");
        write(&at.join(".plan/notes"), "scribbled\n");
        fs::remove_dir_all(at.join("lib")).unwrap();
        write(&at.join("lib"), "now a file\n");
        write(&at.join("a"), "work\n");
    });
    let repo = sandbox.repo();
    let paths: Vec<RepoPath> =
        ["state.json", ".plan", "lib", "absent"].iter().map(|path| RepoPath::new(path).unwrap()).collect();
    let tree = repo.settle(repo.tree_of(&task).unwrap(), &base, &paths).unwrap();
    assert_eq!(repo.diff_names(&base, &tree).unwrap(), ["a"]);
    assert_eq!(repo.settle(tree.clone(), &base, &paths).unwrap(), tree);
}
