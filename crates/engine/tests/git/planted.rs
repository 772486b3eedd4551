//! What an agent planted in a worktree is not run, not followed and not written through, whatever Piton does there.
//!
//! Each way out is a row. In each, a program that leaves a mark is named where git would run it, or a link leads to a
//! person's file. Then everything is done that Piton does in a worktree.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use camino::{Utf8Path, Utf8PathBuf};
use piton_engine::git::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::sandbox::{Sandbox, lines, rescue, write};

/// Settings that name a program, for a worktree's own file of settings. `EVIL` is the program.
pub(crate) const SETTINGS: [(&str, &str); 14] = [
    ("clean", "[filter \"e\"]\n\tclean = EVIL\n"),
    ("smudge", "[filter \"e\"]\n\tsmudge = EVIL\n"),
    ("process", "[filter \"e\"]\n\tprocess = EVIL\n"),
    ("required", "[filter \"e\"]\n\tclean = EVIL\n\tsmudge = EVIL\n\trequired = true\n"),
    ("textconv", "[diff \"e\"]\n\ttextconv = EVIL\n"),
    ("external-diff", "[diff \"e\"]\n\tcommand = EVIL\n[diff]\n\texternal = EVIL\n"),
    ("merge-driver", "[merge \"e\"]\n\tdriver = EVIL %A %O %B\n"),
    ("fsmonitor", "[core]\n\tfsmonitor = EVIL\n"),
    ("hooks", "[core]\n\thooksPath = HOOKS\n"),
    ("signing", "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = EVIL\n"),
    ("editor", "[core]\n\teditor = EVIL\n\tpager = EVIL\n\taskPass = EVIL\n[sequence]\n\teditor = EVIL\n"),
    ("include", "[include]\n\tpath = INCLUDED\n"),
    (
        "promisor",
        "[remote \"origin\"]\n\tpromisor = true\n\turl = ext::EVIL\n[protocol \"ext\"]\n\tallow = always\n\
         [core]\n\tsshCommand = EVIL\n\talternateRefsCommand = EVIL\n[credential]\n\thelper = EVIL\n",
    ),
    ("elsewhere", "[core]\n\tworktree = PERSONS\n\tbare = true\n"),
];
/// Files in a worktree's git folder that git or Piton writes there. Each is a link to a person's file.
const LINKS: [&str; 12] = [
    "COMMIT_EDITMSG",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "AUTO_MERGE",
    "index.piton",
    "piton-ready",
    "piton-folder",
    "piton-last",
    "logs/HEAD",
    "logs",
];

pub(crate) struct Trap {
    pub(crate) sandbox: Sandbox,
    /// The program, and what it leaves when it is run.
    pub(crate) evil: Utf8PathBuf,
    mark: Utf8PathBuf,
    /// A person's file, and what it holds.
    pub(crate) person: Utf8PathBuf,
}

const PERSONS: &str = "export PATH=/mine\n";

/// What becomes of the work in a worktree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capture {
    Done,
    Refused,
}

impl Trap {
    pub(crate) fn new() -> Trap {
        let sandbox = Sandbox::new();
        sandbox.git("config extensions.worktreeConfig true");
        sandbox.write(".gitattributes", "* filter=e diff=e merge=e\n");
        sandbox.commit("attributes");
        let (evil, mark) = (sandbox.root.join("evil"), sandbox.root.join("mark"));
        program(&evil, &format!("echo \"$0 $*\" >> {mark}; cat\n"));
        let person = sandbox.root.join("home/.profile");
        write(&person, PERSONS);
        Trap { sandbox, evil, mark, person }
    }

    pub(crate) fn entry(&self, name: &str) -> Utf8PathBuf {
        self.sandbox.project().join(".git/worktrees").join(name)
    }

    /// A worktree with work in it, where `plant` was at work as well.
    pub(crate) fn planted(&self, name: &str, plant: impl FnOnce(&Worktree)) -> Worktree {
        let worktree = self.sandbox.worktree(name);
        write(&worktree.path().join("a"), "changed\n");
        write(&worktree.path().join("new"), "new\n");
        plant(&worktree);
        worktree
    }

    fn assert_closed(&self, way: &str) {
        let run = fs::read_to_string(&self.mark).unwrap_or_default();
        assert_eq!(run, "", "{way}: the program was run");
        assert_eq!(fs::read_to_string(&self.person).unwrap(), PERSONS, "{way}: a person's file was written");
    }

    /// All that Piton does in a worktree.
    pub(crate) fn everything(&self, way: &str, worktree: &Worktree, expected: Capture) {
        let (repo, base) = (self.sandbox.repo(), self.sandbox.oid("main"));
        let path = worktree.path();
        let closed = |what: &str| self.assert_closed(&format!("{way}: {what}"));
        let _ = worktree.dirty();
        let _ = worktree.status();
        closed("status");
        if let Ok(tree) = repo.worktree_tree(path) {
            let _ = repo.diff_text(&base, &tree, &[], usize::MAX);
            let _ = repo.commit_of(path, &tree);
        }
        let _ = repo.uncommitted_in(path, &base);
        closed("diff");
        let _ = worktree.rescue(&rescue(&format!("run/{way}")));
        closed("rescue");
        let captured = worktree.capture("By Piton", None);
        closed("capture");
        assert_eq!(captured.is_err(), expected == Capture::Refused, "{way}: {captured:?}");
        if let Ok(captured) = &captured {
            let changed = repo.diff_names(&base, &captured.commit).unwrap();
            assert!(
                ["a", "new"].iter().all(|file| changed.iter().any(|found| found == file)),
                "{way}: {changed:?}"
            );
        }
        // A target that has changed the same lines.
        self.sandbox.write("a", &format!("{}{way}\n", lines("a")));
        let tip = self.sandbox.commit("target");
        if let Ok(captured) = &captured {
            let _ = worktree.bring_up_to(&tip, &captured.commit, &rescue(&format!("run/{way}")));
            closed("the merge of the target");
            let _ = worktree.detach();
        }
        let _ = worktree.checkout_detached(&base);
        closed("checkout");
        let _ = worktree.make_ready("run/T1");
        let _ = Worktree::add(&repo, path, &base);
        closed("taking it up again");
        let _ = Worktree::remove(&repo, path, &rescue(&format!("run/{way}")));
        closed("removal");
    }
}

pub(crate) fn program(path: &Utf8Path, script: &str) {
    write(path, &format!("#!/bin/sh\n{script}"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn no_setting_of_a_worktree_makes_piton_run_a_program() {
    let trap = Trap::new();
    let (hooks, included) = (trap.sandbox.root.join("hooks"), trap.sandbox.root.join("included"));
    for hook in
        ["pre-commit", "commit-msg", "post-commit", "post-checkout", "post-merge", "reference-transaction"]
    {
        program(&hooks.join(hook), &format!("exec {} {hook}\n", trap.evil));
    }
    write(&included, &format!("[filter \"e\"]\n\tclean = {0}\n\tsmudge = {0}\n", trap.evil));
    for (way, settings) in SETTINGS {
        let settings = settings
            .replace("EVIL", trap.evil.as_str())
            .replace("HOOKS", hooks.as_str())
            .replace("INCLUDED", included.as_str())
            .replace("PERSONS", trap.sandbox.root.join("home").as_str());
        let worktree = trap.planted(way, |_| write(&trap.entry(way).join("config.worktree"), &settings));
        trap.everything(way, &worktree, Capture::Done);
    }
}

/// Another repository, with settings that name the program, in every place that says where the repository is.
#[test]
fn no_tie_to_another_repository_is_followed() {
    let trap = Trap::new();
    let other = trap.sandbox.root.join("other");
    trap.sandbox.git_in(&trap.sandbox.root, &format!("clone --quiet --no-checkout project {other}"));
    for filter in ["clean", "smudge"] {
        trap.sandbox.git_in(&other, &format!("config filter.e.{filter} {}", trap.evil));
    }
    trap.sandbox.git_in(&other, &format!("config core.fsmonitor {}", trap.evil));
    let git = other.join(".git");
    for way in ["commondir", "link", "gitdir", "folder", "HEAD"] {
        let worktree = trap.planted(way, |worktree| {
            let (entry, link) = (trap.entry(way), worktree.path().join(".git"));
            match way {
                "commondir" => write(&entry.join("commondir"), git.as_str()),
                "link" => write(&link, &format!("gitdir: {git}\n")),
                "gitdir" => write(&entry.join("gitdir"), other.join(".git").as_str()),
                "folder" => {
                    fs::remove_file(&link).unwrap();
                    symlink(&git, &link).unwrap();
                }
                _ => {
                    fs::remove_file(entry.join("HEAD")).unwrap();
                    symlink(git.join("HEAD"), entry.join("HEAD")).unwrap();
                }
            }
        });
        let is_refused = ["link", "folder"].contains(&way);
        trap.everything(way, &worktree, if is_refused { Capture::Refused } else { Capture::Done });
    }
}

/// To tell whether a submodule has changes of its own, git would start another git process in there.
#[test]
fn a_submodule_is_not_looked_into() {
    let trap = Trap::new();
    for name in ["sub", "s\u{fc}b and more"] {
        let way = if name == "sub" { "submodule" } else { "odd-submodule" };
        let worktree = trap.planted(way, |worktree| {
            let inner = worktree.path().join(name);
            fs::create_dir(&inner).unwrap();
            trap.sandbox.git_in(&inner, "init --quiet");
            write(&inner.join("file"), "one\n");
            write(&inner.join(".gitattributes"), "* filter=e\n");
            trap.sandbox.git_in(&inner, "add --all");
            trap.sandbox.git_in(&inner, "commit --quiet -m inner");
            for filter in ["clean", "smudge"] {
                trap.sandbox.git_in(&inner, &format!("config filter.e.{filter} {}", trap.evil));
            }
            trap.sandbox.git_in(&inner, &format!("config core.fsmonitor {}", trap.evil));
            // As long as before: git has to look at what it holds.
            write(&inner.join("file"), "two\n");
            let head = trap.sandbox.git_in(&inner, "rev-parse HEAD");
            let entry = format!("160000,{head},{name}");
            let index = std::process::Command::new("git")
                .current_dir(worktree.path())
                .args(["update-index", "--add", "--cacheinfo", &entry])
                .status();
            assert!(index.unwrap().success());
        });
        trap.everything(way, &worktree, Capture::Done);
    }
}

#[test]
fn no_link_in_a_worktrees_git_folder_is_written_through() {
    let trap = Trap::new();
    for way in LINKS {
        let name = way.replace('/', "-");
        let worktree = trap.planted(&name, |_| {
            let (entry, person) = (trap.entry(&name), &trap.person);
            let link = entry.join(way);
            if way == "logs" {
                fs::remove_dir_all(&link).unwrap();
                let log = trap.sandbox.root.join("home/logs/HEAD");
                write(&log, "");
                fs::remove_file(&log).unwrap();
                symlink(person, &log).unwrap();
                return symlink(log.parent().unwrap(), link).unwrap();
            }
            let _ = fs::remove_file(&link);
            symlink(person, link).unwrap();
        });
        trap.everything(&name, &worktree, Capture::Done);
        let logs = trap.sandbox.root.join("home/logs");
        let _ = fs::remove_dir_all(logs);
    }
    // What is read and written: neither a link nor something that could be read for ever.
    for way in ["linked-index", "piped-index"] {
        let worktree = trap.planted(way, |_| {
            let index = trap.entry(way).join("index");
            fs::remove_file(&index).unwrap();
            match way {
                "linked-index" => symlink(&trap.person, index).unwrap(),
                _ => mknodat(CWD, index.as_std_path(), FileType::Fifo, Mode::RWXU, 0).unwrap(),
            }
        });
        trap.everything(way, &worktree, Capture::Refused);
    }
}

/// An agent that puts its worktree on the target would have the landing write files there.
#[test]
fn a_landing_writes_nothing_where_an_agent_works() {
    let trap = Trap::new();
    let sandbox = &trap.sandbox;
    let theirs = sandbox.task("T2", |path| write(&path.join("b"), "landed\n"));
    sandbox.leave_main();
    let settings = format!("[filter \"e\"]\n\tsmudge = {0}\n\tclean = {0}\n", trap.evil);
    let worktree = sandbox.worktree("T1");
    write(&trap.entry("T1").join("config.worktree"), &settings);
    write(&trap.entry("T1").join("HEAD"), "ref: refs/heads/main\n");
    for mark in ["piton-ready", "piton-folder"] {
        let old = sandbox.oid("main");
        let moved = sandbox.land(&old, &sandbox.candidate(&theirs), None);
        assert!(
            matches!(moved, Moved::Waits(Wait::Operation { what: "the work of an agent", .. })),
            "{moved:?}"
        );
        let _ = fs::remove_file(trap.entry("T1").join(mark));
        fs::write(trap.entry("T1").join("piton-ready"), "").unwrap();
    }
    trap.assert_closed("landing");
    // Its capture takes it off the branch, and the landing goes on.
    worktree.capture("By Piton", None).unwrap();
    assert_eq!(worktree.status().unwrap().branch, None);
    let old = sandbox.oid("main");
    assert_eq!(sandbox.land(&old, &sandbox.candidate(&theirs), None), Moved::Done);
    trap.assert_closed("landing after the capture");
}

/// An agent in one worktree cannot pass off the work of another worktree as its own, nor the other way round.
#[test]
fn an_entry_that_names_another_worktree_is_not_taken_for_that_ones() {
    // Whichever of the two the disk lists first.
    for lies in [0, 1] {
        let trap = Trap::new();
        let names = ["A1", "T1"];
        let worktrees = names.map(|name| trap.sandbox.worktree(name));
        let (liar, honest) = (&worktrees[lies], &worktrees[1 - lies]);
        write(&liar.path().join("forged"), "x\n");
        let forged = liar.capture("Forged", None).unwrap().commit;
        write(&trap.entry(names[lies]).join("gitdir"), honest.path().join(".git").as_str());
        let found = Worktree::open(&trap.sandbox.repo(), honest.path()).unwrap().unwrap();
        assert_eq!(found.head().unwrap(), Some(trap.sandbox.oid("main")));
        assert_ne!(found.head().unwrap(), Some(forged));
    }
}

/// What the person set up for the repository is used as before: in its settings, or in those of their own worktree.
#[test]
fn filters_of_the_person_are_used() {
    for of_one_worktree in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write(".gitattributes", "*.bin filter=large\n");
        sandbox.commit("attributes");
        sandbox.git("config extensions.worktreeConfig true");
        let (clean, smudge) = (sandbox.root.join("clean"), sandbox.root.join("smudge"));
        program(&clean, "printf 'pointer to '; tr a-z A-Z\n");
        program(&smudge, "sed 's/^pointer to //' | tr A-Z a-z\n");
        let place = if of_one_worktree { "--worktree " } else { "" };
        for (key, value) in [("clean", clean.as_str()), ("smudge", smudge.as_str()), ("required", "true")] {
            sandbox.git(&format!("config {place}filter.large.{key} {value}"));
        }
        let worktree = sandbox.worktree("T1");
        write(&worktree.path().join("x.bin"), "large\n");
        let captured = worktree.capture("m", None).unwrap();
        assert_eq!(sandbox.git(&format!("show {}:x.bin", captured.commit)), "pointer to LARGE");
        assert!(worktree.status().unwrap().is_clean());
        worktree.checkout_detached(&sandbox.oid("main")).unwrap();
        worktree.checkout_detached(&captured.commit).unwrap();
        assert_eq!(fs::read_to_string(worktree.path().join("x.bin")).unwrap(), "large\n");
    }
}

/// A git that keeps its index in two parts, and only some of the files in the checkout.
#[test]
fn split_indexes_and_sparse_worktrees_are_understood() {
    let sandbox = Sandbox::new();
    let worktree = sandbox.worktree("T1");
    sandbox.git_in(worktree.path(), "update-index --split-index");
    write(&worktree.path().join("a"), "changed\n");
    sandbox.git_in(worktree.path(), "add a");
    let captured = worktree.capture("m", None).unwrap();
    assert_eq!(sandbox.git(&format!("diff --name-only main {}", captured.commit)), "a");
    assert_eq!(sandbox.git_in(worktree.path(), "status --porcelain"), "");

    sandbox.git("sparse-checkout set --no-cone a");
    let worktree = sandbox.worktree("T2");
    assert!(!worktree.path().join("b").exists());
    write(&worktree.path().join("a"), "changed\n");
    let captured = worktree.capture("m", None).unwrap();
    assert_eq!(sandbox.git(&format!("diff --name-only main {}", captured.commit)), "a");
}
