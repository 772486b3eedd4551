//! Worktrees that go from one task to the next: what stays, and every way in which something else might.

use std::fs;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;
use piton_engine::git::*;

use crate::sandbox::{Sandbox, lines, rescue, write};

/// A slot that an agent works in, with `target`, `node_modules` and `.env` ignored.
struct Slot {
    sandbox: Sandbox,
    repo: Repo,
    worktree: Worktree,
    base: Oid,
}

fn stays(folder: &str) -> bool {
    folder.ends_with("target/") || folder.ends_with("node_modules/")
}

impl Slot {
    fn new() -> Slot {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", "target\nnode_modules\n.env\n*.log\n");
        let base = sandbox.commit("ignored");
        let worktree = sandbox.worktree(".slot-0");
        worktree.remember_files().unwrap();
        worktree.make_ready("run/T1").unwrap();
        let repo = sandbox.repo();
        Slot { sandbox, repo, worktree, base }
    }

    fn path(&self) -> &Utf8Path {
        self.worktree.path()
    }

    fn entry(&self) -> Utf8PathBuf {
        self.repo.common_dir().join("worktrees/-slot-0")
    }

    fn git(&self, args: &str) -> String {
        self.sandbox.git_in(self.path(), args)
    }

    fn park(&self) -> Parked {
        self.worktree.park(&self.base, &rescue("left"), &stays).unwrap()
    }

    fn hand_over(&self, to: &Oid) -> Option<Rescued> {
        let rescued = self.worktree.hand_over(to, &rescue("found"), &stays).unwrap();
        self.worktree.make_ready("run/T2").unwrap();
        rescued
    }

    /// The next agent sees a worktree like a new one, but for the caches.
    #[track_caller]
    fn assert_like_new(&self, at: &Oid) {
        let status = self.worktree.status().unwrap();
        assert!(status.is_clean() && status.nested.is_empty(), "{status:?}");
        assert_eq!(status.head.as_ref(), Some(at));
        assert_eq!(self.git("status --porcelain"), "");
        for file in self.git("ls-files").lines() {
            let held = self.repo.file_at(at, file).unwrap().unwrap();
            assert_eq!(fs::read(self.path().join(file)).unwrap(), held, "{file}");
        }
        assert!(self.git("ls-files -v").lines().all(|line| line.starts_with("H ")), "a flag is left");
        let ignored = self.git("ls-files --others --ignored --exclude-standard --directory");
        assert!(ignored.lines().all(stays), "{ignored}");
    }
}

#[test]
fn caches_stay_and_only_files_that_differ_are_written() {
    let slot = Slot::new();
    write(&slot.path().join("target/debug/app"), "built\n");
    write(&slot.path().join("lib/node_modules/x"), "installed\n");
    write(&slot.path().join("a"), "agent's\n");
    slot.git("commit --quiet --all --message work");
    let work = slot.sandbox.oid("worktrees/-slot-0/HEAD");
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    for file in ["target/debug/app", "b"] {
        fs::File::open(slot.path().join(file)).unwrap().set_modified(long_ago).unwrap();
    }
    let age = |file: &str| fs::metadata(slot.path().join(file)).unwrap().modified().unwrap();
    let parked = slot.park();
    assert!(parked.is_warm);
    assert!(slot.repo.rescue_show(&parked.rescued.unwrap().name).unwrap().contains("agent's"));
    assert!(slot.worktree.is_ready() && !slot.worktree.is_for("run/T1"));
    // What it held was committed meanwhile, and something more.
    slot.sandbox.git(&format!("merge --quiet --ff-only {work}"));
    slot.sandbox.write("lib/c", "another\n");
    let next = slot.sandbox.commit("next");
    let of_b = age("b");
    assert_eq!(slot.hand_over(&next), None);
    slot.assert_like_new(&next);
    assert_eq!(fs::read_to_string(slot.path().join("a")).unwrap(), "agent's\n");
    assert_eq!((age("b"), age("target/debug/app")), (of_b, long_ago), "nobody wrote them");
    assert_eq!(fs::read_to_string(slot.path().join("lib/node_modules/x")).unwrap(), "installed\n");
}

#[test]
fn ignored_files_outside_of_caches_do_not_reach_the_next() {
    let slot = Slot::new();
    write(&slot.path().join(".env"), "TOKEN=1\n");
    write(&slot.path().join("lib/.env"), "TOKEN=2\n");
    write(&slot.path().join("trace.log"), "secret\n");
    write(&slot.path().join("out.log/page"), "secret\n");
    write(&slot.path().join("target/x"), "kept\n");
    slot.park();
    slot.hand_over(&slot.base);
    slot.assert_like_new(&slot.base);
    for gone in [".env", "lib/.env", "trace.log", "out.log"] {
        assert!(!slot.path().join(gone).exists(), "{gone}");
    }
    assert!(slot.path().join("target/x").exists());
}

#[test]
fn untracked_files_are_rescued_and_do_not_reach_the_next() {
    let slot = Slot::new();
    write(&slot.path().join("notes.txt"), "only here\n");
    write(&slot.path().join("a"), "not committed\n");
    let rescued = slot.park().rescued.unwrap();
    let shown = slot.repo.rescue_show(&rescued.name).unwrap();
    assert!(shown.contains("only here") && shown.contains("not committed"), "{shown}");
    slot.hand_over(&slot.base);
    slot.assert_like_new(&slot.base);
}

#[test]
fn settings_of_the_worktree_do_not_reach_the_next() {
    let slot = Slot::new();
    slot.sandbox.git("config extensions.worktreeConfig true");
    slot.git("config --worktree user.name Mallory");
    slot.git("config --worktree core.hooksPath /tmp/hooks");
    assert!(slot.entry().join("config.worktree").exists());
    slot.park();
    slot.hand_over(&slot.base);
    assert!(!slot.entry().join("config.worktree").exists());
    let (set, said) = slot.sandbox.try_git_in(slot.path(), "config core.hooksPath");
    assert!(!set, "{said}");
}

#[test]
fn flags_in_the_index_and_forged_times_do_not_reach_the_next() {
    let slot = Slot::new();
    let age = fs::metadata(slot.path().join("a")).unwrap().modified().unwrap();
    slot.git("update-index --skip-worktree a");
    slot.git("update-index --assume-unchanged b");
    let same_size = |file: &str| fs::read_to_string(slot.path().join(file)).unwrap().replace(' ', "-");
    for file in ["a", "b", "lib/c"] {
        fs::write(slot.path().join(file), same_size(file)).unwrap();
        fs::File::open(slot.path().join(file)).unwrap().set_modified(age).unwrap();
    }
    assert!(!slot.git("ls-files -v").lines().all(|line| line.starts_with("H ")));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        slot.git("config core.fileMode false");
        fs::set_permissions(slot.path().join("b"), fs::Permissions::from_mode(0o755)).unwrap();
        slot.park();
        let mode = fs::metadata(slot.path().join("b")).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0, "a program for the next");
    }
    slot.park();
    slot.hand_over(&slot.base);
    slot.assert_like_new(&slot.base);
}

#[test]
fn hooks_logs_refs_and_notes_of_the_worktree_do_not_reach_the_next() {
    let slot = Slot::new();
    slot.git("update-ref refs/worktree/mine HEAD");
    slot.git("update-ref refs/bisect/bad HEAD");
    for file in ["hooks/pre-commit", "info/exclude", "FETCH_HEAD", "ORIG_HEAD", "BISECT_LOG", "config"] {
        write(&slot.entry().join(file), "planted\n");
    }
    slot.park();
    slot.hand_over(&slot.base);
    let mut left: Vec<String> =
        slot.entry().read_dir_utf8().unwrap().map(|entry| entry.unwrap().file_name().to_owned()).collect();
    left.sort();
    assert_eq!(left, ["HEAD", "commondir", "gitdir", "index", "piton-folder", "piton-ready"]);
    assert!(!slot.sandbox.try_git_in(slot.path(), "rev-parse --verify refs/worktree/mine").0);
}

#[test]
fn an_unfinished_merge_does_not_reach_the_next() {
    let slot = Slot::new();
    slot.sandbox.write("a", "theirs\n");
    let theirs = slot.sandbox.commit("theirs");
    write(&slot.path().join("a"), "ours\n");
    slot.git("commit --quiet --all --message ours");
    assert!(!slot.sandbox.try_git_in(slot.path(), &format!("merge {theirs}")).0, "a conflict");
    assert!(slot.park().rescued.is_some());
    slot.hand_over(&theirs);
    slot.assert_like_new(&theirs);
    assert!(!slot.entry().join("MERGE_HEAD").exists());
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_cache_goes_and_what_it_leads_to_stays() {
    let slot = Slot::new();
    let outside = slot.sandbox.root.join("outside");
    write(&outside.join("thesis.txt"), "years of work\n");
    std::os::unix::fs::symlink(&outside, slot.path().join("target")).unwrap();
    assert!(!slot.park().is_warm);
    assert!(slot.path().join("target").symlink_metadata().is_err());
    assert!(outside.join("thesis.txt").exists());
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_tracked_folder_goes_and_what_it_leads_to_stays() {
    let slot = Slot::new();
    let outside = slot.sandbox.root.join("outside");
    write(&outside.join("c"), &lines("lib/c"));
    write(&outside.join("thesis.txt"), "years of work\n");
    fs::remove_dir_all(slot.path().join("lib")).unwrap();
    std::os::unix::fs::symlink(&outside, slot.path().join("lib")).unwrap();
    slot.park();
    slot.hand_over(&slot.base);
    slot.assert_like_new(&slot.base);
    assert!(!slot.path().join("lib").is_symlink());
    assert!(outside.join("thesis.txt").exists() && outside.join("c").exists());
}

#[test]
fn a_worktree_with_another_repository_inside_is_not_cleared() {
    let slot = Slot::new();
    slot.git("init --quiet inner");
    write(&slot.path().join("inner/work"), "only here\n");
    let refused = slot.worktree.park(&slot.base, &rescue("left"), &stays);
    assert!(matches!(refused, Err(GitError::NestedRepositories { .. })), "{refused:?}");
    assert!(slot.path().join("inner/work").exists());
    let refused = slot.worktree.hand_over(&slot.base, &rescue("left"), &stays);
    assert!(matches!(refused, Err(GitError::NestedRepositories { .. })), "{refused:?}");
    assert!(slot.path().join("inner/work").exists());
}

#[test]
fn a_sparse_worktree_is_not_reused_and_a_free_slot_that_became_sparse_comes_whole() {
    let slot = Slot::new();
    assert!(slot.worktree.is_reusable());
    slot.git("sparse-checkout set elsewhere");
    assert!(!slot.worktree.is_reusable());
    assert!(!slot.path().join("lib/c").exists());
    slot.hand_over(&slot.base);
    slot.assert_like_new(&slot.base);
    assert!(slot.worktree.is_reusable());
}

#[test]
fn settings_about_files_are_told_from_others() {
    let slot = Slot::new();
    let before = slot.repo.conversion();
    slot.sandbox.git("remote add origin elsewhere");
    assert_eq!(slot.repo.conversion(), before, "that says nothing about files");
    slot.sandbox.git("config core.autocrlf true");
    assert_ne!(slot.repo.conversion(), before);
}

#[test]
fn files_of_a_commit_with_other_attributes_are_written_again() {
    for is_parked_before in [true, false] {
        let slot = Slot::new();
        write(&slot.path().join("target/x"), "built\n");
        if is_parked_before {
            slot.park();
        }
        slot.sandbox.write("lib/.gitattributes", "* text eol=crlf\n");
        let next = slot.sandbox.commit("attributes");
        if !is_parked_before {
            assert!(!slot.worktree.park(&next, &rescue("left"), &stays).unwrap().is_warm);
        }
        slot.hand_over(&next);
        assert_eq!(
            fs::read_to_string(slot.path().join("lib/c")).unwrap(),
            lines("lib/c").replace('\n', "\r\n")
        );
        assert_eq!(slot.git("status --porcelain"), "");
        assert!(!slot.path().join("target").exists(), "it is as good as new");
    }
}

#[test]
fn attributes_of_the_one_before_do_not_reach_the_files_of_the_next() {
    for is_committed in [true, false] {
        let slot = Slot::new();
        write(&slot.path().join(".gitattributes"), "* text eol=crlf\n");
        fs::remove_file(slot.path().join("lib/c")).unwrap();
        slot.git("checkout --quiet -- lib/c");
        assert_eq!(
            fs::read_to_string(slot.path().join("lib/c")).unwrap(),
            lines("lib/c").replace('\n', "\r\n")
        );
        if is_committed {
            slot.git("add .gitattributes");
            slot.git("commit --quiet --message attributes");
        }
        slot.park();
        slot.hand_over(&slot.base);
        slot.assert_like_new(&slot.base);
    }
}

#[test]
fn a_cache_that_the_next_commit_does_not_ignore_goes() {
    let slot = Slot::new();
    write(&slot.path().join("target/x"), "built\n");
    assert!(slot.park().is_warm);
    slot.sandbox.write(".gitignore", "node_modules\n");
    let next = slot.sandbox.commit("tracked");
    slot.hand_over(&next);
    slot.assert_like_new(&next);
    assert!(!slot.path().join("target").exists());
}

#[test]
fn what_somebody_put_into_a_free_slot_is_rescued() {
    let slot = Slot::new();
    slot.park();
    write(&slot.path().join("a"), "a person was here\n");
    write(&slot.path().join("new"), "and here\n");
    let rescued = slot.hand_over(&slot.base).unwrap();
    let shown = slot.repo.rescue_show(&rescued.name).unwrap();
    assert!(shown.contains("a person was here") && shown.contains("and here"), "{shown}");
    slot.assert_like_new(&slot.base);
}

#[test]
fn a_move_that_was_killed_is_finished_and_nothing_of_it_is_taken_for_work() {
    let slot = Slot::new();
    slot.park();
    for file in ["a", "b", "lib/c"] {
        slot.sandbox.write(file, "next\n");
    }
    let next = slot.sandbox.commit("next");
    // Killed when some files were written, with the lock of its index.
    write(&slot.entry().join("piton-moving"), "\n");
    write(&slot.path().join("a"), "next\n");
    write(&slot.path().join("b"), "ne");
    write(&slot.repo.piton_dir().join("indexes/-slot-0.lock"), "");
    assert_eq!(slot.hand_over(&next), None);
    slot.assert_like_new(&next);
    assert_eq!(slot.repo.rescue_list("").unwrap(), []);
}

#[test]
fn caches_from_before_the_machine_started_are_not_believed() {
    let slot = Slot::new();
    write(&slot.path().join("target/x"), "torn\n");
    slot.park();
    write(&slot.entry().join("piton-ready"), "another-boot nobody\n");
    slot.hand_over(&slot.base);
    slot.assert_like_new(&slot.base);
    assert!(!slot.path().join("target").exists());
}

#[test]
fn a_slot_is_cleared_and_moved_although_its_remembered_index_is_torn() {
    let slot = Slot::new();
    let index = slot.repo.common_dir().join("piton/indexes/-slot-0");
    assert!(index.is_file());
    write(&slot.path().join("a"), "agent's\n");
    fs::write(&index, "").unwrap();
    let parked = slot.park();
    assert!(slot.repo.rescue_show(&parked.rescued.unwrap().name).unwrap().contains("agent's"));
    for torn in ["", "DIRC and no more"] {
        fs::write(&index, torn).unwrap();
        assert_eq!(slot.hand_over(&slot.base), None);
        slot.assert_like_new(&slot.base);
        slot.park();
    }
    fs::remove_dir_all(index.parent().unwrap()).unwrap();
    assert_eq!(slot.hand_over(&slot.base), None);
    slot.assert_like_new(&slot.base);
}
