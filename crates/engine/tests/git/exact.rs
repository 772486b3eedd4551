//! Worktrees that hold exactly one commit, whatever git was told to do in there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use camino::Utf8Path;
use piton_engine::git::*;

use crate::sandbox::{Sandbox, lines, write};

#[test]
fn an_exact_worktree_is_exact_whatever_git_was_told_in_there() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "target/\n");
    let base = sandbox.commit("ignore");
    sandbox.git("config extensions.worktreeConfig true");
    let path = sandbox.root.join("exact");
    let repo = sandbox.repo();
    let add = || ExactWorktree::add(&repo, &path, &base, "run/checks").unwrap();
    let exact = add();
    exact.make_exact(&base, Ignored::Stay).unwrap();
    assert_eq!(exact.deviation(&base).unwrap(), Deviation::default());
    let git = |args: &str| sandbox.git_in(&path, args);
    // As if the worktree were of long ago: the index is younger than every file, so git has no reason to doubt their times,
    // and what is changed now can only be seen by the time of that change.
    let modified = |file: &Utf8Path| fs::metadata(file).unwrap().modified().unwrap();
    let set_modified = |file: &Utf8Path, time| {
        fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
    };
    let (index, c) = (sandbox.project().join(".git/piton/indexes/exact"), path.join("lib/c"));
    let age = modified(&c);
    change_long_ago(&index, &["a", "b", "lib/c"]);
    set_modified(&index, age + Duration::from_secs(60));
    // Told that nothing has changed, in every way.
    git("update-index --skip-worktree a");
    git("update-index --assume-unchanged b");
    for setting in
        ["core.trustctime false", "core.checkStat minimal", "core.fileMode false", "core.ignoreStat true"]
    {
        git(&format!("config --worktree {setting}"));
    }
    for file in ["a", "b", "lib/c"] {
        write(&path.join(file), &lines(file).replace('1', "7"));
    }
    set_modified(&c, age);
    fs::set_permissions(path.join(".gitignore"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(exact.deviation(&base).unwrap().changed, [".gitignore", "a", "b", "lib/c"]);
    // Other things in the way, with a branch and an unfinished merge.
    git("checkout --quiet -b side");
    for (file, text) in [("target/cache", "warm"), ("junk", "x"), ("lib/junk", "y")] {
        write(&path.join(file), text);
    }
    sandbox.git_in(&path, "init --quiet nested");
    write(&path.join("nested/file"), "x");
    let deviation = exact.deviation(&base).unwrap();
    assert!(deviation.has_more && !deviation.is_elsewhere, "{deviation:?}");
    let side = sandbox.git("rev-parse side");
    add().make_exact(&base, Ignored::Stay).unwrap();
    assert_eq!(exact.deviation(&base).unwrap(), Deviation::default());
    assert_eq!(fs::read_to_string(path.join("lib/c")).unwrap(), lines("lib/c"));
    assert_eq!(git("ls-files -v"), "H .gitignore\nH a\nH b\nH lib/c", "nor does the git of others lie");
    assert_eq!(git("status --porcelain"), "");
    assert!(path.join("target/cache").exists(), "what is ignored stays");
    assert_eq!(sandbox.git("rev-parse side"), side, "no branch is moved");
    exact.make_exact(&base, Ignored::Go).unwrap();
    assert!(!path.join("target").exists());
    // A commit of another tree is something else, although nothing is changed; one of the same tree is not.
    git("commit --quiet --allow-empty -m same");
    assert!(!exact.deviation(&base).unwrap().is_elsewhere);
    write(&path.join("more"), "x");
    git("add more");
    git("commit --quiet -m more");
    assert!(exact.deviation(&base).unwrap().is_elsewhere);
    assert!(repo.rescue_list("").unwrap().is_empty(), "nothing in there is worth it");
}

/// Say in an index that these files were changed last in 2001. An entry begins with that time, in seconds, and ends with
/// the length of the file's name and the name.
fn change_long_ago(index: &Utf8Path, files: &[&str]) {
    const BEFORE_LENGTH: usize = 60;
    let mut bytes = fs::read(index).unwrap();
    for file in files {
        let length = u16::try_from(file.len()).unwrap().to_be_bytes();
        let end = [&length, file.as_bytes(), b"\0"].concat();
        let at = bytes.windows(end.len()).position(|part| part == end).expect("it is tracked");
        bytes[at - BEFORE_LENGTH..][..4].copy_from_slice(&1_000_000_000_u32.to_be_bytes());
    }
    fs::write(index, bytes).unwrap();
}

#[test]
fn an_exact_worktree_of_before_the_machine_started_is_read_again() {
    let sandbox = Sandbox::new();
    let (repo, path) = (sandbox.repo(), sandbox.root.join("exact"));
    let base = sandbox.oid("HEAD");
    let add = || ExactWorktree::add(&repo, &path, &base, "run/checks").unwrap();
    let exact = add();
    exact.make_exact(&base, Ignored::Stay).unwrap();
    exact.note_last("a job").unwrap();
    assert_eq!(add().last().as_deref(), Some("a job"));
    let own = sandbox.project().join(".git/worktrees/exact");
    write(&own.join("piton-ready"), "an-older-boot run/checks\n");
    // What the power cut took, the index calls whole.
    write(&path.join("a"), "");
    write(&own.join("index"), "");
    let exact = add();
    assert_eq!(exact.last(), None, "what changed in there is not that job's doing");
    exact.make_exact(&base, Ignored::Stay).unwrap();
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), lines("a"));
    assert!(repo.rescue_list("").unwrap().is_empty());
}

/// A power cut empties any of the files that were not synced, or takes them away.
#[test]
fn whatever_a_power_cut_leaves_of_an_exact_worktree_is_used_or_made_again_and_never_rescued() {
    let sandbox = Sandbox::new();
    let (repo, path) = (sandbox.repo(), sandbox.root.join(".exact"));
    let base = sandbox.oid("HEAD");
    let add = || ExactWorktree::add(&repo, &path, &base, "run/checks").unwrap();
    let own = sandbox.project().join(".git/worktrees/-exact");
    let files: Vec<_> = ["HEAD", "commondir", "gitdir", "index", "piton-ready", "piton-folder"]
        .map(|name| own.join(name))
        .into_iter()
        .chain([sandbox.project().join(".git/piton/indexes/-exact"), path.join(".git"), path.join("a")])
        .collect();
    add().make_exact(&base, Ignored::Stay).unwrap();
    for file in &files {
        assert!(file.is_file(), "{file}");
    }
    for (nth, first) in files.iter().enumerate() {
        for second in &files[nth..] {
            for takes in [true, false] {
                add().make_exact(&base, Ignored::Stay).unwrap();
                write(&path.join("a"), "a check was at work here");
                write(&own.join("piton-ready"), "an-older-boot run/checks\n");
                write(first, "");
                write(second, "");
                if takes {
                    fs::remove_file(second).unwrap();
                }
                let exact = add();
                exact.make_exact(&base, Ignored::Stay).unwrap();
                let case = format!("{first} and {second}, which is gone: {takes}");
                assert_eq!(fs::read_to_string(path.join("a")).unwrap(), lines("a"), "{case}");
                assert_eq!(exact.deviation(&base).unwrap(), Deviation::default(), "{case}");
                assert!(repo.rescue_list("").unwrap().is_empty(), "{case}");
            }
        }
    }
}

/// How git writes `lib/c` there.
fn line_ends(path: &Utf8Path) -> &'static str {
    if fs::read_to_string(path.join("lib/c")).unwrap().contains("\r\n") { "crlf" } else { "lf" }
}

#[test]
fn files_of_a_commit_with_other_attributes_or_settings_are_written_again() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "target/\n");
    sandbox.write("target/tracked", "although it is ignored\n");
    sandbox.git("add --force target/tracked");
    let base = sandbox.commit("base");
    sandbox.git("rm --quiet target/tracked");
    sandbox.write("lib/.gitattributes", "* text eol=crlf\n");
    let next = sandbox.commit("attributes");
    let (repo, path) = (sandbox.repo(), sandbox.root.join("exact"));
    let exact = ExactWorktree::add(&repo, &path, &base, "run/checks").unwrap();
    let make = |commit| {
        exact.make_exact(commit, Ignored::Stay).unwrap();
        assert_eq!(exact.deviation(commit).unwrap(), Deviation::default());
        assert_eq!(sandbox.git_in(&path, "status --porcelain"), "");
    };
    make(&base);
    write(&path.join("target/cache"), "warm");
    // As one that was killed when it had written the attributes, and nothing else.
    write(&path.join("lib/.gitattributes"), "* text eol=crlf\n");
    for (commit, ends) in [(&next, "crlf"), (&base, "lf"), (&next, "crlf")] {
        make(commit);
        assert_eq!(line_ends(&path), ends);
        assert_eq!(path.join("target/tracked").exists(), commit == &base);
        assert_eq!(fs::read_to_string(path.join("target/cache")).unwrap(), "warm");
    }
    make(&base);
    sandbox.git("config core.autocrlf true");
    make(&base);
    assert_eq!(line_ends(&path), "crlf");
}

#[test]
fn attributes_that_a_check_left_are_not_those_of_the_next_commit() {
    let sandbox = Sandbox::new();
    let base = sandbox.oid("HEAD");
    sandbox.write("lib/c", "another\n");
    let next = sandbox.commit("next");
    let (repo, path) = (sandbox.repo(), sandbox.root.join("exact"));
    let exact = ExactWorktree::add(&repo, &path, &base, "run/checks").unwrap();
    exact.make_exact(&base, Ignored::Stay).unwrap();
    write(&path.join(".gitattributes"), "* text eol=crlf\n");
    exact.make_exact(&next, Ignored::Stay).unwrap();
    assert_eq!(line_ends(&path), "lf");
    assert!(!path.join(".gitattributes").exists());
}
