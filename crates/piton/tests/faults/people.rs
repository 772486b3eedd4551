//! A person works in the same repository during a run, above all at each step of a landing.
//!
//! Whatever they do, nothing of theirs is lost, the work lands once in the end, and the run says plainly what
//! it made of it.

use piton_testkit::cases::in_parallel;
use piton_testkit::sandbox::{Sandbox, task};

use crate::{sandbox, thorough};

/// The steps of a landing, as crash points: the merge is built; pinned and durable; the intent is journaled; the
/// checkout was found clean; the target has moved; the worktree is gone; so are branch and pins.
const STEPS: [&str; 7] = [
    "land.merged",
    "land.durable",
    "landing.before-move",
    "landing.judged",
    "landing.moved",
    "worktree.removed",
    "clean.done",
];

/// Before that: the worktree is made, the agent is done, its work is proven.
const BEFORE: [&str; 3] = ["prepare.added", "work.ended", "check.ended"];

/// What a person does.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Commit,
    CommitTheSameFile,
    Amend,
    Rewind,
    Delete,
    Rename,
    ChangeTheFile,
    Stage,
    Stash,
    Switch,
    CheckOutDetached,
    Collect,
    PruneWorktrees,
    PackRefs,
    Maintain,
}

const DEEDS: [Deed; 15] = [
    Deed::Commit,
    Deed::CommitTheSameFile,
    Deed::Amend,
    Deed::Rewind,
    Deed::Delete,
    Deed::Rename,
    Deed::ChangeTheFile,
    Deed::Stage,
    Deed::Stash,
    Deed::Switch,
    Deed::CheckOutDetached,
    Deed::Collect,
    Deed::PruneWorktrees,
    Deed::PackRefs,
    Deed::Maintain,
];

/// A project with a person's own change in it, and a task that changes a file and adds one.
fn project() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("mine.txt", "one\n");
    sandbox.write("log.txt", "Log\n");
    sandbox.commit("A second commit");
    let checks = "checks = ['grep -q T1 log.txt']";
    sandbox.plan_with("landing_wait = '0s'\nlanding_checks = ['test -e README.md']", &task("T1", checks));
    sandbox.script(
        "[T1]\nif-conflict write log.txt Log\\nAnother\\nT1\nif-conflict exit 0\nwrite log.txt Log\\nT1\nwrite new/T1.txt done\n",
    );
    // What a rewind takes away is not the plan.
    sandbox.write("last.txt", "last\n");
    sandbox.commit("A last commit");
    sandbox.git(["branch", "aside"]);
    sandbox.write("mine.txt", "mine, and not committed\n");
    sandbox
}

impl Deed {
    /// Done in the main checkout. Says which commit must not be lost.
    fn done(self, sandbox: &Sandbox) -> Option<String> {
        let commit = |file: &str, text: &str| {
            sandbox.write(file, text);
            sandbox.git(["add", file]);
            sandbox.git(["commit", "-q", "-m", "By hand", "--", file]);
            Some(sandbox.git(["rev-parse", "HEAD"]))
        };
        match self {
            Deed::Commit => return commit("by-hand.txt", "by hand\n"),
            Deed::CommitTheSameFile => {
                return commit("log.txt", &format!("{}Another\n", sandbox.read("log.txt")));
            }
            Deed::Amend => {
                sandbox.git([
                    "commit",
                    "-q",
                    "--amend",
                    "--only",
                    "--no-edit",
                    "--date=2001-01-01T00:00:00Z",
                ]);
                return Some(sandbox.git(["rev-parse", "HEAD"]));
            }
            Deed::Rewind => drop(sandbox.git(["reset", "-q", "--keep", "HEAD~1"])),
            Deed::Delete => {
                sandbox.git(["switch", "-q", "aside"]);
                sandbox.git(["branch", "-q", "-D", "main"]);
            }
            Deed::Rename => drop(sandbox.git(["branch", "-q", "-m", "main", "trunk"])),
            Deed::ChangeTheFile => sandbox.write("log.txt", "My own words\n"),
            Deed::Stage => {
                sandbox.write("new/T1.txt", "My own file\n");
                sandbox.git(["add", "new/T1.txt"]);
            }
            Deed::Stash => drop(sandbox.git(["stash", "-q"])),
            Deed::Switch => drop(sandbox.git(["switch", "-q", "aside"])),
            Deed::CheckOutDetached => drop(sandbox.git(["checkout", "-q", "--detach", "HEAD"])),
            Deed::Collect => {
                sandbox.git(["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
                sandbox.git(["gc", "-q", "--prune=now"]);
            }
            Deed::PruneWorktrees => drop(sandbox.git(["worktree", "prune", "--expire=now"])),
            Deed::PackRefs => drop(sandbox.git(["pack-refs", "--all", "--prune"])),
            Deed::Maintain => {
                let tasks = "--task=gc";
                sandbox.git(["-c", "gc.pruneExpire=now", "maintenance", "run", "--quiet", tasks]);
            }
        }
        None
    }

    /// Afterwards, as far as what Piton says asks for it.
    fn set_right(self, sandbox: &Sandbox, old: &str) {
        match self {
            Deed::Delete => drop(sandbox.git(["branch", "main", old])),
            Deed::Rename => drop(sandbox.git(["branch", "-q", "-m", "trunk", "main"])),
            Deed::ChangeTheFile | Deed::Stage => drop(sandbox.git(["stash", "-q"])),
            _ => {}
        }
    }
}

/// What the person has in hand after their deed: all of it must be there at the end.
fn belongings(sandbox: &Sandbox) -> Vec<String> {
    let file = |name: &str| if sandbox.exists(name) { sandbox.read(name) } else { "absent".to_owned() };
    vec![file("mine.txt"), sandbox.git(["stash", "list"]), file("by-hand.txt")]
}

/// Whether the landing has been seen by everybody before the person comes.
fn is_over(point: &str) -> bool {
    STEPS.iter().skip_while(|step| **step != "landing.moved").any(|step| *step == point)
}

/// How the run should end, and what it should say.
fn expected(point: &str, deed: Deed) -> (i32, &'static str) {
    match deed {
        _ if is_over(point) => (0, "landed as"),
        // The landing begins with what is there.
        Deed::Commit if BEFORE.contains(&point) => (0, "landed as"),
        Deed::Commit => (0, "landing starts over: `main` was moved to"),
        Deed::CommitTheSameFile => (0, "could not land: merge conflict in log.txt"),
        // The same change by another name.
        Deed::Amend if BEFORE.contains(&point) => (0, "landed as"),
        Deed::Amend => (0, "landing starts over: `main` was moved to"),
        Deed::Rewind => (4, "`piton reset T1` do it again on the current branch"),
        Deed::Delete | Deed::Rename => (4, "no longer exists: `git branch main"),
        Deed::ChangeTheFile => (3, "landing waits: [ROOT]/project has uncommitted changes in log.txt"),
        Deed::Stage => (3, "landing waits: [ROOT]/project has uncommitted changes in new/T1.txt"),
        _ => (0, "landed as"),
    }
}

#[test]
fn whatever_a_person_does_during_a_landing_nothing_is_lost_or_landed_twice() {
    let daily = [Deed::Commit, Deed::Stash, Deed::Switch, Deed::ChangeTheFile];
    let before = BEFORE.iter().flat_map(|step| daily.map(|deed| (*step, deed)));
    let during = STEPS.iter().flat_map(|step| DEEDS.map(|deed| (*step, deed)));
    let mut cases: Vec<_> = before.chain(during).collect();
    if !thorough() {
        // Where it matters most: between the journaled intent and the move, and right after it.
        cases.retain(|(step, _)| ["work.ended", "landing.before-move", "landing.moved"].contains(step));
    }
    in_parallel(&cases, |(point, deed)| {
        let sandbox = project();
        let old = sandbox.git(["rev-parse", "main"]);
        let mut run = sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, point, 1).spawn();
        let pause = run.until_paused(&sandbox);
        let kept = deed.done(&sandbox);
        let before = belongings(&sandbox);
        drop(pause);
        let (code, words) = expected(point, *deed);
        let out = run.wait().exits(code).says(words);
        assert_eq!(belongings(&sandbox), before, "{out}");
        deed.set_right(&sandbox, &old);
        match deed {
            _ if code != 4 => {}
            Deed::Delete | Deed::Rename => drop(sandbox.run("retry T1").exits(0)),
            _ => start_over(&sandbox),
        }
        let last = sandbox.run("run plan.toml").exits(0);
        sandbox.assert_landed_once("main", &["T1"]);
        assert_eq!(sandbox.git(["show", "main:log.txt"]).matches("T1").count(), 1, "{out}\n{last}");
        assert_eq!(sandbox.git(["show", "main:new/T1.txt"]), "done");
        if let Some(kept) = kept {
            sandbox.git(["merge-base", "--is-ancestor", &kept, "main"]);
        }
        let subjects = sandbox.git(["log", "--format=%s", "main"]);
        let taken_back = !subjects.lines().any(|subject| subject == "A last commit");
        assert_eq!(taken_back, matches!(deed, Deed::Rewind) && !is_over(point), "{out}\n{last}");
        let _ = sandbox.run("doctor").exits(0);
    });
}

/// A landing replaces the index as a whole. What a person has staged since it was read is not lost.
#[test]
fn what_a_person_stages_in_the_instant_before_a_landing_stays_staged() {
    let sandbox = project();
    let mut run = sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "landing.judged", 1).spawn();
    let pause = run.until_paused(&sandbox);
    sandbox.write("staged.txt", "mine\n");
    sandbox.git(["add", "staged.txt", "mine.txt"]);
    drop(pause);
    let out = run.wait().exits(0).says("landed as");
    sandbox.assert_landed_once("main", &["T1"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "M  mine.txt\nA  staged.txt", "{out}");
}

/// A landing that waits for a rebase is looked at again, and goes on with what the rebase made.
#[test]
fn a_landing_that_waits_for_a_rebase_goes_on_by_itself_when_the_rebase_is_over() {
    let cases = [(["rebase", "--continue"], "landing starts over"), (["rebase", "--abort"], "landed as")];
    in_parallel(&cases, |(end, words)| {
        let sandbox = project();
        let plan = sandbox.read("plan.toml").replace("landing_wait = '0s'", "landing_wait = '10m'");
        sandbox.git(["stash", "-q"]);
        sandbox.write("plan.toml", &plan);
        sandbox.commit("Wait for people");
        let mut run =
            sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "landing.before-move", 1).spawn();
        let pause = run.until_paused(&sandbox);
        // It rewrites the last two commits, and stops after the first of them.
        let edit = "sequence.editor=sed -i -e '1a exec git commit -q --amend -m Reworded' -e '1a break'";
        sandbox.git(["-c", edit, "rebase", "-q", "-i", "HEAD~2"]);
        assert!(sandbox.exists(".git/rebase-merge"));
        drop(pause);
        run.until_says("landing waits: a rebase is in progress");
        sandbox.git(*end);
        let out = run.wait().exits(0).says(words);
        sandbox.assert_landed_once("main", &["T1"]);
        assert_eq!(sandbox.git(["symbolic-ref", "HEAD"]), "refs/heads/main");
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{out}");
        let subjects = sandbox.git(["log", "--format=%s", "--first-parent", "main"]);
        assert_eq!(
            subjects.matches("Reworded").count() + subjects.matches("A last").count(),
            1,
            "{subjects}"
        );
        let _ = sandbox.run("doctor").exits(0);
    });
}

/// A person may switch branches at any moment: their branch stays where it was, and its files as they were.
/// `git switch` writes files and index under the lock of the index, and HEAD after it: it may be anywhere in between.
#[test]
fn a_person_who_switches_branches_during_a_landing_keeps_their_branch_and_its_files() {
    let whole = ["switch", "-q", "aside"];
    // The branches have the same files: what is left of a switch is its last step.
    let last_step = ["symbolic-ref", "HEAD", "refs/heads/aside"];
    let cases = [
        ("landing.before-move", whole),
        ("landing.judged", whole),
        ("landing.judged", last_step),
        ("landing.files", last_step),
        ("landing.indexed", last_step),
    ];
    in_parallel(&cases, |(point, switch)| {
        let sandbox = project();
        let aside = sandbox.git(["rev-parse", "aside"]);
        let mut run = sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, point, 1).spawn();
        let pause = run.until_paused(&sandbox);
        sandbox.git(*switch);
        drop(pause);
        let out = run.wait().exits(0).says("landed as");
        assert_eq!(sandbox.git(["rev-parse", "aside"]), aside, "{point}: {out}");
        assert_eq!(sandbox.git(["symbolic-ref", "HEAD"]), "refs/heads/aside");
        sandbox.assert_landed_once("main", &["T1"]);
        assert_eq!(sandbox.git(["status", "--porcelain"]), " M mine.txt", "{point}: {out}");
        assert_eq!(sandbox.read("log.txt"), "Log\n");
        assert!(!sandbox.exists("new"), "{point}: {out}");
        let _ = sandbox.run("doctor").exits(0);
    });
}

/// What Piton says if the target was rewritten.
fn start_over(sandbox: &Sandbox) {
    let _ = sandbox.run("clean --unfinished").exits(0);
    let _ = sandbox.run("reset T1").exits(0);
}

/// A target that is checked out nowhere moves in one step, from where it was or not at all.
#[test]
fn a_target_that_is_checked_out_nowhere_is_moved_from_where_it_was_or_not_at_all() {
    let cases = [
        ("commit", 0, "landing starts over: `release` was moved to"),
        ("rewind", 4, "`piton reset T1` do it again on the current branch"),
        ("delete", 4, "no longer exists: `git branch release"),
    ];
    in_parallel(&cases, |(deed, code, words)| {
        let sandbox = project();
        sandbox.git(["branch", "release"]);
        let old = sandbox.git(["rev-parse", "release"]);
        let line = ["run", "plan.toml", "--onto", "release"];
        let mut run = sandbox.piton(line).pausing_at(&sandbox, "landing.before-move", 1).spawn();
        let pause = run.until_paused(&sandbox);
        match *deed {
            "commit" => {
                let commit = sandbox.git(["commit-tree", "-p", "release", "-m", "By hand", "release^{tree}"]);
                sandbox.git(["update-ref", "refs/heads/release", &commit]);
            }
            "rewind" => drop(sandbox.git(["branch", "-q", "-f", "release", "release~1"])),
            _ => drop(sandbox.git(["branch", "-q", "-D", "release"])),
        }
        drop(pause);
        let _ = run.wait().exits(*code).says(words);
        match *deed {
            "delete" => {
                sandbox.git(["branch", "release", &old]);
                let _ = sandbox.run("retry T1").exits(0);
            }
            "rewind" => start_over(&sandbox),
            _ => {}
        }
        let _ = sandbox.run("run plan.toml").exits(0);
        sandbox.assert_landed_once("release", &["T1"]);
        assert_eq!(sandbox.git(["rev-parse", "main"]), old);
    });
}

/// Loose objects disappear when git packs them. Their content is still on the disk.
#[test]
fn objects_that_are_packed_while_they_are_synced_are_kept() {
    let cases: Vec<_> = [1, 3].into_iter().flat_map(|nth| ["gc", "repack"].map(|how| (nth, how))).collect();
    in_parallel(&cases, |(nth, how)| {
        let sandbox = project();
        let mut run = sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "sync.file", *nth).spawn();
        let pause = run.until_paused(&sandbox);
        match *how {
            "gc" => drop(sandbox.git(["gc", "-q", "--prune=now"])),
            _ => drop(sandbox.git(["repack", "-q", "-a", "-d", "-k"])),
        }
        drop(pause);
        let out = run.wait().exits(0).lacks("could not save");
        sandbox.assert_landed_once("main", &["T1"]);
        let _ = sandbox.run("doctor").exits(0);
        drop(out);
    });
}

/// Whatever git's own upkeep may collect, prune or pack, nothing that a run needs is among it.
#[test]
fn the_upkeep_of_git_at_any_step_of_a_run_takes_nothing_away() {
    let points = [
        "prepare.added",
        "prepare.done",
        "work.ended",
        "capture.committed",
        "capture.pinned",
        "check.ended",
        "land.merged",
        "refs.changed",
    ];
    let upkeep = [Deed::Collect, Deed::PruneWorktrees, Deed::PackRefs, Deed::Maintain];
    let mut cases: Vec<_> = points.iter().flat_map(|point| upkeep.map(|deed| (*point, deed))).collect();
    if !thorough() {
        cases.retain(|(point, deed)| matches!(deed, Deed::Collect) || *point == "capture.committed");
    }
    in_parallel(&cases, |(point, deed)| {
        let sandbox = project();
        let mut run = sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, point, 1).spawn();
        let pause = run.until_paused(&sandbox);
        deed.done(&sandbox);
        drop(pause);
        let out = run.wait().exits(0).lacks("attempt 2");
        sandbox.assert_landed_once("main", &["T1"]);
        let agents = sandbox.events().iter().filter(|line| line.contains("agent_ended")).count();
        assert_eq!(agents, 1, "{out}");
        sandbox.git(["fsck", "--connectivity-only"]);
        let _ = sandbox.run("doctor").exits(0);
        sandbox.assert_tidy();
    });
}
