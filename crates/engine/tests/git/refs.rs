//! Refs read from their files, against what git itself lists.

use std::fs;

use crate::sandbox::{Sandbox, write};

/// What is done next, as a dice with a memory would have it.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

#[test]
fn refs_in_files_are_those_that_git_lists_whatever_was_done_to_them() {
    const NAMES: [&str; 9] = [
        "refs/heads/a",
        "refs/heads/a-b",
        "refs/heads/deep/er/c",
        "refs/tags/v1.0",
        "refs/piton/run/captured/T1",
        "refs/remotes/origin/main",
        "refs/bisect/bad",
        "refs/worktree/own",
        "refs/notes/ü",
    ];
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    sandbox.git("tag -a -m Tag annotated");
    let mut objects = vec![sandbox.oid("HEAD"), sandbox.oid("HEAD^{tree}"), sandbox.oid("annotated")];
    sandbox.write("a", "changed\n");
    objects.push(sandbox.commit("second"));
    let linked = sandbox.worktree("linked");
    let seen_from_there = sandbox.discover("worktrees/linked").unwrap();
    let mut dice = Dice(7);
    let mut symbolic = 0;
    for _ in 0..60 {
        let (name, object) = (NAMES[dice.roll(NAMES.len())], &objects[dice.roll(objects.len())]);
        let folder = if dice.roll(3) == 0 { linked.path().to_owned() } else { sandbox.project() };
        // Some are refused (a branch at a tree), which is as good as anything else.
        let done = match dice.roll(10) {
            0 => "pack-refs --all".to_owned(),
            1 => "pack-refs --all --no-prune".to_owned(),
            2 | 3 => format!("update-ref --no-deref -d {name}"),
            4 => format!("symbolic-ref refs/remotes/origin/HEAD {name}"),
            5 => format!("symbolic-ref refs/symbolic/{} {name}", dice.roll(2)),
            _ => format!("update-ref {name} {object}"),
        };
        let _ = sandbox.try_git_in(&folder, &done);
        for repo in [&repo, &seen_from_there] {
            let listed = repo.all_refs().unwrap();
            symbolic += usize::from(listed.contains_key("refs/remotes/origin/HEAD"));
            for (name, branch) in
                NAMES.iter().filter_map(|name| Some((*name, name.strip_prefix("refs/heads/")?)))
            {
                let tip = repo.branch_tip(branch).unwrap();
                assert_eq!(tip.as_ref(), listed.get(name), "{branch} after git {done}");
            }
            assert_eq!(repo.refs_in_files(), Some(listed), "after git {done}");
        }
    }
    assert!(symbolic > 0, "some symbolic refs named something");
}

#[test]
fn refs_that_are_not_plain_files_are_left_to_git() {
    let sandbox = Sandbox::new();
    let (repo, git_dir) = (sandbox.repo(), sandbox.project().join(".git"));
    let plain = repo.refs_in_files().unwrap();
    // What git passes over.
    write(&git_dir.join("refs/heads/x.lock"), "");
    write(&git_dir.join("refs/heads/.hidden"), "?");
    assert_eq!(repo.refs_in_files(), Some(plain.clone()));
    fs::remove_file(git_dir.join("refs/heads/x.lock")).unwrap();
    let zero = format!("{}\n", "0".repeat(40));
    for odd in ["", "no object\n", &zero, "ref: HEAD\n", "ref: refs/heads/odd\n", &"a".repeat(5000)] {
        write(&git_dir.join("refs/heads/odd"), odd);
        assert_eq!(repo.refs_in_files(), None, "{odd:?}");
        // Git follows it, or passes over it.
        let listed = repo.all_refs().unwrap();
        assert_eq!(listed.contains_key("refs/heads/odd"), odd.contains("HEAD"), "{odd:?}");
    }
    // Only the beginning of a long one is read, and it may be another's name.
    let deep = format!("refs/heads/{}", "deeper/".repeat(140));
    write(&git_dir.join("refs/heads/odd"), &format!("ref: {}/x\n", &deep[..deep.len() - 1]));
    assert!(deep.len() < 1024 && repo.refs_in_files().is_some_and(|all| !all.contains_key("refs/heads/odd")));
    write(&git_dir.join("refs/heads/odd"), &format!("ref: {deep}{}\n", "x".repeat(1024)));
    assert_eq!(repo.refs_in_files(), None);
    // To git this space is a letter, so there is no such branch.
    write(&git_dir.join("refs/heads/odd"), "ref: refs/heads/main\u{2003}\n");
    assert_eq!(repo.refs_in_files(), Some(repo.all_refs().unwrap()));
    fs::remove_file(git_dir.join("refs/heads/odd")).unwrap();
    // Git refuses the first and passes over the second.
    for broken in ["refs/heads/x", "refs/heads/x\r\n"] {
        write(&git_dir.join("packed-refs"), &format!("{} {broken}", plain["refs/heads/main"]));
        assert_eq!(repo.refs_in_files(), None, "{broken:?}");
    }
    fs::remove_file(git_dir.join("packed-refs")).unwrap();
    write(&git_dir.join("refs/heads/not a name"), plain["refs/heads/main"].as_str());
    assert_eq!(repo.refs_in_files(), None);
    fs::remove_file(git_dir.join("refs/heads/not a name")).unwrap();
    write(&git_dir.join("packed-refs"), "this is no list\n");
    assert_eq!(repo.refs_in_files(), None);
    fs::remove_file(git_dir.join("packed-refs")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("main", git_dir.join("refs/heads/link")).unwrap();
        assert_eq!(repo.refs_in_files(), None);
        fs::remove_file(git_dir.join("refs/heads/link")).unwrap();
    }
    assert_eq!(repo.refs_in_files(), Some(plain));
    // Gits before 2.45 know no other way of keeping refs.
    let other = sandbox.root.join("other");
    let (made, _) =
        sandbox.try_git_in(&sandbox.root, &format!("clone --quiet --ref-format=reftable project {other}"));
    if made {
        let repo = sandbox.discover("other").unwrap();
        assert_eq!(repo.refs_in_files(), None);
        assert!(repo.all_refs().unwrap().contains_key("refs/heads/main"));
        // Also without the file that git leaves where branches would be.
        fs::remove_file(other.join(".git/refs/heads")).unwrap();
        assert_eq!(repo.refs_in_files(), None);
    }
}

#[test]
fn a_branch_whose_file_is_not_plain_is_gits_to_read() {
    let sandbox = Sandbox::new();
    let (repo, heads) = (sandbox.repo(), sandbox.project().join(".git/refs/heads"));
    let tip = sandbox.oid("HEAD");
    sandbox.git("symbolic-ref refs/heads/another refs/heads/main");
    std::os::unix::fs::symlink("main", heads.join("linked")).unwrap();
    write(&heads.join("torn"), "");
    write(&heads.join("odd"), "no object\n");
    assert_eq!(repo.branch_tip("another").unwrap(), Some(tip.clone()));
    assert_eq!(repo.branch_tip("linked").unwrap(), Some(tip));
    for broken in ["torn", "odd", "none", "none/below"] {
        assert_eq!(repo.branch_tip(broken).ok().flatten(), None, "{broken}");
    }
}
