//! A private git directory for an attempt: git works in there as people use it, nothing of the repository changes before
//! the attempt is over, and then what was made is brought over and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use camino::{Utf8Path, Utf8PathBuf};
use piton_engine::git::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::planted::{Capture, SETTINGS, Trap, program};
use crate::sandbox::{Sandbox, rescue, write};

const OWN: &str = "piton-own";

fn own(sandbox: &Sandbox, name: &str) -> Utf8PathBuf {
    sandbox.project().join(".git/worktrees").join(name).join(OWN)
}

fn isolated(sandbox: &Sandbox, name: &str) -> Worktree {
    let worktree = sandbox.worktree(name);
    worktree.make_ready("run/T1").unwrap();
    worktree.isolate().unwrap();
    worktree
}

/// An agent's git, words split at spaces.
fn agent(sandbox: &Sandbox, worktree: &Worktree, args: &str) -> String {
    sandbox.git_in(worktree.path(), args)
}

/// Every file of the git directory but for the private ones, with its bytes.
fn repository(sandbox: &Sandbox) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![sandbox.project().join(".git")]);
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir_utf8().unwrap().map(Result::unwrap) {
            if entry.file_name() == OWN {
                continue;
            }
            match entry.path().is_dir() {
                true => folders.push(entry.path().to_owned()),
                false => drop(files.insert(entry.path().to_string(), fs::read(entry.path()).unwrap())),
            }
        }
    }
    files
}

/// That a person's git has nothing to complain about.
fn assert_healthy(sandbox: &Sandbox, what: &str) {
    let (ok, said) = sandbox.try_git_in(&sandbox.project(), "fsck --full --no-dangling");
    assert!(ok && !said.contains("error") && !said.contains("missing"), "{what}: {said}");
    let (ok, said) = sandbox.try_git_in(&sandbox.project(), "gc --quiet --prune=now");
    assert!(ok && !said.contains("error"), "{what}: {said}");
}

#[test]
fn git_works_as_people_use_it_and_changes_nothing_in_the_repository() {
    let sandbox = Sandbox::new();
    for n in 1..=4 {
        sandbox.write("count", &format!("{n}\n"));
        sandbox.commit("more");
    }
    sandbox.git("branch side HEAD~1");
    sandbox.write("a", "of the person\n");
    sandbox.git("stash");
    let worktree = isolated(&sandbox, "T1");
    let before = repository(&sandbox);
    let git = |args: &str| agent(&sandbox, &worktree, args);
    assert_eq!(git("status --porcelain"), "");
    assert_eq!(git("stash list"), "", "the person's is not the agent's");
    write(&worktree.path().join("a"), "stashed\n");
    git("stash");
    assert_eq!(git("status --porcelain"), "");
    git("stash pop");
    assert_eq!(git("status --porcelain"), " M a");
    let said = git("commit --all --message one");
    assert!(!said.contains("error") && !said.contains("lock"), "{said}");
    git("checkout -b mine");
    write(&worktree.path().join("b"), "two\n");
    git("commit --all --message two");
    git("bisect start HEAD HEAD~3");
    git("bisect reset");
    git("rebase --quiet --force-rebase HEAD~2");
    git("checkout -b other side");
    git("cherry-pick mine");
    git("reset --quiet --hard mine");
    git("tag v1");
    git("branch -f main side");
    git("branch -D side");
    git("update-ref -d refs/remotes/none");
    git("config user.name Somebody");
    git("gc --quiet");
    assert_eq!(repository(&sandbox), before);
    let list = sandbox.git("worktree list --porcelain");
    assert!(list.contains(worktree.path().as_str()), "{list}");
    let captured = worktree.capture("By Piton", None).unwrap();
    assert!(!captured.made_commit, "the agent has committed everything");
    let log = sandbox.git(&format!("log --format=%s main..{}", captured.commit));
    assert_eq!(log, "two\none");
    assert_eq!(sandbox.git("branch --format=%(refname:short)"), "main\nside");
    assert_eq!(sandbox.git("stash list").lines().count(), 1);
    assert_eq!(git("status --porcelain"), "");
    assert_eq!(git("rev-parse --abbrev-ref HEAD"), "HEAD");
    assert!(!own(&sandbox, "T1").exists());
    assert_healthy(&sandbox, "afterwards");
}

#[test]
fn work_is_captured_wherever_its_agent_ended() {
    let ends: [(&str, &[&str]); 6] = [
        ("detached", &["commit --all --message x"]),
        ("branch", &["checkout -b mine", "commit --all --message x"]),
        ("packed-branch", &["checkout -b mine", "commit --all --message x", "pack-refs --all"]),
        ("uncommitted", &[]),
        ("staged", &["add --all"]),
        ("orphan", &["checkout --orphan none"]),
    ];
    for (name, commands) in ends {
        let sandbox = Sandbox::new();
        let worktree = isolated(&sandbox, name);
        write(&worktree.path().join("a"), "changed\n");
        commands.iter().for_each(|args| drop(agent(&sandbox, &worktree, args)));
        write(&worktree.path().join("new"), "new\n");
        assert_eq!(worktree.rejoin().unwrap(), None, "{name}: nothing is lost");
        let captured = worktree.capture("By Piton", None).unwrap();
        let changed = sandbox.git(&format!("diff --name-only main {}", captured.commit));
        assert_eq!(changed, "a\nnew", "{name}");
        let parents = sandbox.git(&format!("rev-list --count main..{}", captured.commit));
        assert_eq!(
            parents,
            if name.contains("ed-b") || name == "branch" || name == "detached" { "2" } else { "1" },
            "{name}"
        );
        assert_healthy(&sandbox, name);
    }
}

/// A kill may have hit the git process that was setting it.
#[test]
fn a_dead_lock_of_its_head_keeps_no_attempt_from_coming_over() {
    let sandbox = Sandbox::new();
    let worktree = isolated(&sandbox, "T1");
    write(&worktree.path().join("a"), "changed\n");
    agent(&sandbox, &worktree, "commit --all --message x");
    let lock = sandbox.project().join(".git/worktrees/T1/HEAD.lock");
    write(&lock, "");
    assert_eq!(worktree.rejoin().unwrap(), None);
    assert_eq!(sandbox.git(&format!("diff --name-only main {}", worktree.head().unwrap().unwrap())), "a");
    assert!(!lock.exists());
}

#[test]
fn repositories_of_other_formats_are_understood() {
    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let sandbox = Sandbox::empty();
        fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
        let init = format!("init --quiet --initial-branch=main {format}");
        if !sandbox.try_git_in(&sandbox.project(), &init).0 {
            // This git does not know it.
            continue;
        }
        sandbox.write("a", "first\n");
        sandbox.commit("first");
        let worktree = isolated(&sandbox, "T1");
        assert_eq!(agent(&sandbox, &worktree, "log --format=%s main"), "first", "{format}");
        write(&worktree.path().join("a"), "changed\n");
        agent(&sandbox, &worktree, "checkout -b mine");
        agent(&sandbox, &worktree, "commit --all --message one");
        write(&worktree.path().join("new"), "new\n");
        let captured = worktree.capture("By Piton", None).unwrap();
        let log = sandbox.git(&format!("log --format=%s {}", captured.commit));
        assert_eq!(log, "By Piton\none\nfirst", "{format}");
        assert_healthy(&sandbox, format);
    }
}

#[test]
fn many_objects_come_over_as_a_pack() {
    let sandbox = Sandbox::new();
    let worktree = isolated(&sandbox, "T1");
    for n in 0..300 {
        write(&worktree.path().join(format!("many/{n}")), &format!("{n}\n"));
    }
    agent(&sandbox, &worktree, "add --all");
    agent(&sandbox, &worktree, "commit --quiet --message many");
    let packs = || sandbox.project().join(".git/objects/pack").read_dir_utf8().unwrap().count();
    let before = packs();
    let captured = worktree.capture("By Piton", None).unwrap();
    assert!(packs() > before);
    assert_eq!(sandbox.git(&format!("diff --name-only main {}", captured.commit)).lines().count(), 300);
    assert_healthy(&sandbox, "a pack");
}

/// A person collects garbage while an attempt is under way, and looks at everything.
#[test]
fn a_persons_git_works_beside_an_attempt() {
    let sandbox = Sandbox::new();
    let worktree = isolated(&sandbox, "T1");
    write(&worktree.path().join("a"), "committed\n");
    agent(&sandbox, &worktree, "commit --all --message one");
    write(&worktree.path().join("b"), "staged\n");
    agent(&sandbox, &worktree, "add b");
    // The base is reachable by nothing else.
    sandbox.git("commit --quiet --amend --allow-empty --message amended");
    assert_healthy(&sandbox, "while it works");
    sandbox.git("worktree prune");
    let list = sandbox.git("worktree list");
    assert!(list.contains("worktrees/T1") && !list.contains("prunable"), "{list}");
    assert_eq!(agent(&sandbox, &worktree, "log --format=%s -1"), "one");
    let captured = worktree.capture("By Piton", None).unwrap();
    let log = sandbox.git(&format!("log --format=%s {}", captured.commit));
    assert_eq!(log, "By Piton\none\nfirst");
}

#[test]
fn files_of_git_lfs_come_over_by_their_content() {
    let sandbox = Sandbox::new();
    let worktree = isolated(&sandbox, "T1");
    let own = own(&sandbox, "T1").join("lfs/objects");
    // The SHA-256 of "x\n", and of something else.
    let right = "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac";
    let wrong = "ff".repeat(32);
    let place = |name: &str| format!("{}/{}/{name}", &name[..2], &name[2..4]);
    for name in [right, &wrong] {
        write(&own.join(place(name)), "x\n");
    }
    write(&own.join("aa/bb").join(right), "x\n");
    let outside = sandbox.root.join("outside");
    write(&outside, "x\n");
    fs::create_dir_all(own.join("73/cc")).unwrap();
    symlink(&outside, own.join("73/cc").join(format!("73cc{}", &right[4..]))).unwrap();
    worktree.rejoin().unwrap();
    let all = sandbox.project().join(".git/lfs/objects");
    assert_eq!(fs::read_to_string(all.join(place(right))).unwrap(), "x\n");
    assert!(!all.join(place(&wrong)).exists() && !all.join("aa/bb").exists());
    assert!(!all.join("73/cc").exists(), "no link is followed");
}

/// `git worktree repair` points a worktree back to its entry, at the commit where the attempt began. What the agent had
/// committed by then is in its private git directory.
#[test]
fn a_person_who_repairs_worktrees_during_an_attempt_loses_no_work() {
    let sandbox = Sandbox::new();
    let worktree = isolated(&sandbox, "T1");
    write(&worktree.path().join("a"), "before\n");
    agent(&sandbox, &worktree, "commit --all --message before");
    sandbox.git(&format!("worktree repair {}", worktree.path()));
    assert_healthy(&sandbox, "after the repair");
    // The agent's git sees the beginning of the attempt now, with its files as they are.
    write(&worktree.path().join("b"), "after\n");
    let (_, said) = sandbox.try_git_in(worktree.path(), "commit --all --message after");
    let captured = worktree.capture("By Piton", None).unwrap();
    for (file, text) in [("a", "before"), ("b", "after")] {
        assert_eq!(sandbox.git(&format!("show {}:{file}", captured.commit)), text, "{said}");
    }
    let log = sandbox.git(&format!("log --format=%s {}", captured.commit));
    assert!(log.ends_with("first"), "{log}");
    // Both commits of the agent are found again, by their names at least.
    let all = sandbox.git("log --format=%s --reflog --all");
    let reflog = sandbox.git("for-each-ref");
    assert!(all.contains("before"), "{all}\n{reflog}");
    assert_healthy(&sandbox, "in the end");
}

#[test]
fn what_only_a_stash_or_a_branch_of_an_attempt_reaches_is_rescued() {
    let sandbox = Sandbox::new();
    let worktree = isolated(&sandbox, "T1");
    let git = |args: &str| agent(&sandbox, &worktree, args);
    write(&worktree.path().join("a"), "stashed\n");
    git("stash");
    git("checkout -b aside");
    write(&worktree.path().join("b"), "on a branch\n");
    git("commit --all --message aside");
    git("checkout --detach main");
    write(&worktree.path().join("lib/c"), "dropped\n");
    git("commit --all --message dropped");
    git("reset --quiet --hard main");
    write(&worktree.path().join("new"), "work\n");
    let captured = worktree.capture("By Piton", None).unwrap();
    assert_eq!(sandbox.git(&format!("diff --name-only main {}", captured.commit)), "new");
    // Only the worktree's records keep these.
    assert_healthy(&sandbox, "before it goes");
    worktree.isolate().unwrap();
    let removed = Worktree::remove(&sandbox.repo(), worktree.path(), &rescue("run/T1")).unwrap();
    let rescued = removed.rescued.unwrap();
    let text = sandbox.git(&format!("log --format= --patch -m {}", rescued.name));
    for kept in ["+stashed", "+on a branch", "+dropped", "+work"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    assert_healthy(&sandbox, "after it went");
}

#[test]
fn a_folder_that_is_gone_does_not_take_an_attempts_commits_along() {
    let sandbox = Sandbox::new();
    let worktree = isolated(&sandbox, "T1");
    write(&worktree.path().join("a"), "committed\n");
    agent(&sandbox, &worktree, "commit --all --message one");
    fs::remove_dir_all(worktree.path()).unwrap();
    let added = Worktree::add(&sandbox.repo(), worktree.path(), &sandbox.oid("main")).unwrap();
    let (_, rescued) = added.parts();
    assert_eq!(sandbox.git(&format!("log --format=%s -1 {}", rescued.unwrap().name)), "one");
}

/// The states that a kill between two steps leaves for the next process.
#[test]
fn what_is_half_made_or_half_gone_is_put_right() {
    for state in ["half-made", "not-named", "half-gone", "named-and-gone"] {
        let sandbox = Sandbox::new();
        let worktree = isolated(&sandbox, "T1");
        let (own, entry) = (own(&sandbox, "T1"), sandbox.project().join(".git/worktrees/T1"));
        let module = own.join("modules/sub/HEAD");
        write(&module, "ref: refs/heads/main\n");
        match state {
            "half-made" => {
                fs::rename(&own, entry.join("piton-own.new")).unwrap();
                fs::remove_file(entry.join("piton-own.new/config")).unwrap();
                write(&worktree.path().join(".git"), &format!("gitdir: {entry}\n"));
            }
            "not-named" => write(&worktree.path().join(".git"), &format!("gitdir: {entry}\n")),
            "half-gone" => {
                fs::rename(&own, entry.join("piton-own.old")).unwrap();
                fs::remove_dir_all(entry.join("piton-own.old/objects")).unwrap();
            }
            _ => {
                fs::rename(&own, sandbox.root.join("away")).unwrap();
                write(&module, "ref: refs/heads/main\n");
            }
        }
        write(&worktree.path().join("a"), "work\n");
        let found = Worktree::open(&sandbox.repo(), worktree.path()).unwrap().unwrap();
        let captured = found.capture("By Piton", None).unwrap();
        assert_eq!(sandbox.git(&format!("diff --name-only main {}", captured.commit)), "a", "{state}");
        found.isolate().unwrap();
        assert_eq!(agent(&sandbox, &found, "status --porcelain"), "", "{state}");
        assert_eq!(fs::read_to_string(&module).unwrap(), "ref: refs/heads/main\n", "{state}");
        found.rejoin().unwrap();
        assert!(module.exists() && !own.join("HEAD").exists(), "{state}: submodules keep their repositories");
        assert_eq!(agent(&sandbox, &found, "rev-parse HEAD"), captured.commit.as_str(), "{state}");
        assert_healthy(&sandbox, state);
    }
}

#[test]
fn what_is_made_ahead_is_filled_by_the_next_attempt_and_by_no_later_one() {
    let sandbox = Sandbox::new();
    let (worktree, own) = (sandbox.worktree("T1"), own(&sandbox, "T1"));
    worktree.make_ready("run/T1").unwrap();
    let ahead = own.with_file_name("piton-own.ahead");
    // A kill may come while it is made.
    fs::create_dir_all(ahead.join("objects")).unwrap();
    worktree.make_ahead();
    let file = |path: &Utf8Path| fs::metadata(path).unwrap().ino();
    let made = file(&ahead.join("index"));
    worktree.isolate().unwrap();
    assert_eq!(file(&own.join("index")), made);
    assert!(!ahead.exists());
    assert_eq!(agent(&sandbox, &worktree, "status --porcelain"), "");
    write(&worktree.path().join("a"), "work\n");
    agent(&sandbox, &worktree, "commit --all --message one");
    // From an agent that worked here without a sandbox.
    write(&ahead.join("commondir"), "elsewhere\n");
    worktree.rejoin().unwrap();
    assert!(!ahead.exists());
    worktree.isolate().unwrap();
    assert!(!own.join("commondir").exists());
    assert_eq!(agent(&sandbox, &worktree, "log -1 --format=%s"), "one");
    assert_healthy(&sandbox, "afterwards");
}

/// A merge that Piton has begun is concluded by the agent, and one that the agent has begun is seen by Piton.
#[test]
fn an_unfinished_merge_goes_along_both_ways() {
    let sandbox = Sandbox::new();
    let worktree = sandbox.worktree("T1");
    write(&worktree.path().join("a"), "ours\n");
    let ours = worktree.capture("By Piton", None).unwrap().commit;
    sandbox.write("a", "theirs\n");
    let tip = sandbox.commit("theirs");
    worktree.bring_up_to(&tip, &ours, &rescue("run/T1")).unwrap();
    worktree.isolate().unwrap();
    assert!(agent(&sandbox, &worktree, "status").contains("both modified"));
    worktree.rejoin().unwrap();
    assert_eq!(worktree.status().unwrap().unmerged, ["a"]);
    worktree.isolate().unwrap();
    write(&worktree.path().join("a"), "both\n");
    agent(&sandbox, &worktree, "add a");
    let captured = worktree.capture("By Piton", None).unwrap();
    let parents = sandbox.git(&format!("show --no-patch --format=%P {}", captured.commit));
    assert_eq!(parents, format!("{ours} {tip}"));
}

#[test]
fn piton_finds_the_project_from_inside_an_attempt_and_reads_no_setting_there() {
    let trap = Trap::new();
    let worktree = isolated(&trap.sandbox, "T1");
    let settings = format!("[core]\n\tfsmonitor = {0}\n\tsshCommand = {0}\n\tworktree = /\n", trap.evil);
    write(&own(&trap.sandbox, "T1").join("config"), &settings);
    let inside = Repo::discover_with(&trap.sandbox.door(), worktree.path()).unwrap();
    assert_eq!(inside.common_dir(), trap.sandbox.project().join(".git"));
    let plain = Sandbox::new();
    let isolated = isolated(&plain, "T1");
    assert_eq!(common_dir(isolated.path()), Some(plain.project().join(".git")));
    assert_eq!(inside.top(), worktree.path());
    assert_eq!(inside.main_checkout().unwrap(), Some(trap.sandbox.project()));
    assert_eq!(inside.branch_tip("main").unwrap(), Some(trap.sandbox.oid("main")));
}

#[test]
fn nothing_that_is_planted_in_a_private_git_directory_is_run_or_followed() {
    let trap = Trap::new();
    let (hooks, included) = (trap.sandbox.root.join("hooks"), trap.sandbox.root.join("included"));
    for hook in ["pre-commit", "post-checkout", "post-index-change", "reference-transaction"] {
        program(&hooks.join(hook), &format!("exec {} {hook}\n", trap.evil));
    }
    write(&included, &format!("[filter \"e\"]\n\tclean = {0}\n\tsmudge = {0}\n", trap.evil));
    let plant = |way: &str, act: &dyn Fn(&Utf8Path)| {
        let worktree = trap.planted(way, |worktree| {
            worktree.isolate().unwrap();
            act(&own(&trap.sandbox, way));
        });
        trap.everything(way, &worktree, Capture::Done);
    };
    for (way, settings) in SETTINGS {
        let settings = settings
            .replace("EVIL", trap.evil.as_str())
            .replace("HOOKS", hooks.as_str())
            .replace("INCLUDED", included.as_str())
            .replace("PERSONS", trap.sandbox.root.join("home").as_str());
        plant(way, &|own| write(&own.join("config"), &settings));
    }
    plant("hooks-linked", &|own| {
        fs::remove_file(own.join("hooks")).unwrap();
        symlink(&hooks, own.join("hooks")).unwrap();
    });
    // A link or a pipe in the place of everything that is read.
    let replaced = [
        "HEAD",
        "index",
        "packed-refs",
        "MERGE_HEAD",
        "MERGE_MSG",
        "logs/HEAD",
        "refs",
        "objects",
        "rebase-merge",
    ];
    for place in replaced {
        for kind in ["link", "pipe"] {
            plant(&format!("{kind}-{}", place.replace('/', "-")), &|own| {
                let place = own.join(place);
                let _ = fs::remove_file(&place);
                let _ = fs::remove_dir_all(&place);
                match kind {
                    "link" => symlink(&trap.person, &place).unwrap(),
                    _ => mknodat(CWD, place.as_std_path(), FileType::Fifo, Mode::RWXU, 0).unwrap(),
                }
            });
        }
    }
    plant("piped-object", &|own| {
        let folder = own.join("objects/ab");
        fs::create_dir_all(&folder).unwrap();
        let object = folder.join("c".repeat(38));
        mknodat(CWD, object.as_std_path(), FileType::Fifo, Mode::RWXU, 0).unwrap();
        fs::write(own.join("HEAD"), format!("ab{}\n", "c".repeat(38))).unwrap();
    });
    plant("alternates", &|own| write(&own.join("objects/info/alternates"), "/\n../../../../..\n"));
    plant("commondir", &|own| write(&own.join("commondir"), trap.sandbox.root.join("home").as_str()));
}

/// An agent that damages its own objects loses its commits, and neither its files nor anything of the repository.
#[test]
fn objects_that_are_not_what_they_are_called_do_not_come_over() {
    for way in ["all-gone", "gone", "forged-blob", "forged-commit", "forged-graph", "half", "index-lies"] {
        let sandbox = Sandbox::new();
        let worktree = isolated(&sandbox, way);
        let own = own(&sandbox, way);
        write(&worktree.path().join("a"), "committed\n");
        agent(&sandbox, &worktree, "commit --all --message one");
        let object = |name: &str| {
            let oid = agent(&sandbox, &worktree, &format!("rev-parse {name}"));
            own.join("objects").join(&oid[..2]).join(&oid[2..])
        };
        let forge = |name: &str, by: &str| {
            let (name, by) = (object(name), object(by));
            fs::remove_file(&name).unwrap();
            fs::copy(by, &name).unwrap();
        };
        match way {
            "all-gone" => {
                fs::remove_dir_all(&own).unwrap();
                fs::create_dir(&own).unwrap();
            }
            "gone" => fs::remove_dir_all(own.join("objects")).unwrap(),
            "forged-blob" | "forged-commit" => {
                write(&worktree.path().join("b"), "another\n");
                agent(&sandbox, &worktree, "commit --all --message two");
                if way == "forged-blob" { forge("HEAD:a", "HEAD:b") } else { forge("HEAD~1", "HEAD") }
            }
            "forged-graph" => {
                agent(&sandbox, &worktree, "commit-graph write --reachable");
                let graph = own.join("objects/info/commit-graph");
                fs::remove_file(&graph).unwrap();
                fs::write(graph, "no graph").unwrap();
            }
            "half" => fs::write(object("HEAD^{tree}"), "").unwrap(),
            _ => {
                agent(
                    &sandbox,
                    &worktree,
                    &format!("update-index --add --cacheinfo 100644,{},lie", "1".repeat(40)),
                );
            }
        }
        let before = sandbox.git("count-objects -v");
        let keeps_commits = ["forged-graph", "index-lies"].contains(&way);
        // With no record of the commits left, they are unknown.
        let lost = worktree.rejoin().unwrap();
        assert_eq!(lost.is_some(), !keeps_commits && way != "all-gone", "{way}: {lost:?}");
        let captured = worktree.capture("By Piton", None).unwrap();
        let changed = sandbox.git(&format!("diff --name-only main {}", captured.commit));
        let files = if way.starts_with("forged-b") || way == "forged-commit" { "a\nb" } else { "a" };
        assert_eq!(changed, files, "{way}: {before}");
        assert_eq!(sandbox.git(&format!("show {}:a", captured.commit)), "committed", "{way}");
        assert_eq!(!captured.made_commit, keeps_commits, "{way}");
        assert_healthy(&sandbox, way);
        worktree.isolate().unwrap();
        assert_eq!(agent(&sandbox, &worktree, "status --porcelain"), "", "{way}");
    }
}
