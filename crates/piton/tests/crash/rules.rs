//! The recovery rules of the design, one by one.

use std::fs;

use camino::Utf8PathBuf;

use piton_testkit::cases::in_parallel;

use crate::sandbox::{Ended, Sandbox};
use crate::syscalls::all_wanted;

const AGENT: &str = r#"
[agents.default]
command = ["sh", "-c", 'exec "$HOME/piton" scripted-agent "$HOME/agents.script"']

[policy]
max_parallel = 1
backoff = "10ms"
landing_wait = "50ms"

[[task]]
id = "T1"
title = "First"
prompt = "Write t1.txt."
checks = ["test -s t1.txt"]

[[task]]
id = "T2"
title = "Second"
prompt = "Write t2.txt."
checks = ["test -s t2.txt"]
"#;

const SCRIPT: &str = "
[T1]
run sh ROOT/began.sh
write t1.txt One
[T2]
run sh ROOT/began.sh
write t2.txt Two
";

/// Whether the target is what the user has checked out: files first, then the ref, or the ref alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    CheckedOut,
    Elsewhere,
}

const TARGETS: [Target; 2] = [Target::CheckedOut, Target::Elsewhere];

/// Two tasks, one after the other, on a target with two commits.
pub(crate) fn two_tasks(target: Target) -> Sandbox {
    let mut sandbox = Sandbox::new("plan.toml", SCRIPT, &[("a.txt", "a\n"), ("plan.toml", AGENT)]);
    sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "Go on"]);
    if target == Target::Elsewhere {
        sandbox.git(&["switch", "--quiet", "--create", "mine"]);
        sandbox.run_args = &["--base-branch", "main"];
    }
    sandbox
}

/// The end of everything here: both landed once, nothing is left, the user's checkout is clean.
#[track_caller]
fn assert_done(sandbox: &Sandbox, last: &Ended, agents: [usize; 2]) {
    assert_eq!(last.code(), Some(0), "{}", last.text);
    sandbox.assert_landed_once(&["T1", "T2"]);
    assert_eq!(sandbox.git(&["ls-tree", "--name-only", "main"]), "a.txt\nplan.toml\nt1.txt\nt2.txt");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    let left: Vec<String> =
        sandbox.leftovers().into_iter().filter(|left| left != "refs/heads/mine").collect();
    assert_eq!(left, Vec::<String>::new());
    assert_eq!([sandbox.runs_of("T1"), sandbox.runs_of("T2")], agents, "runs of the agents");
    sandbox.piton(&["doctor"]).expect(0);
}

/// The candidate that T1's intent names.
fn candidate(sandbox: &Sandbox) -> String {
    let prepared = sandbox.events_of("T1", "landing_prepared");
    prepared[0]["intent"]["candidate"].as_str().expect("an id").to_owned()
}

/// A person commits to `main`, wherever it is checked out.
fn commit_by_person(sandbox: &Sandbox) -> String {
    let commit = sandbox.git(&["commit-tree", "main^{tree}", "-p", "main", "-m", "By a person"]);
    // The same tree: nothing in a checkout has to change.
    sandbox.git(&["update-ref", "refs/heads/main", &commit]);
    commit
}

/// Whatever no ref and no worktree holds is gone afterwards.
/// Worktrees of checks hold nothing for long. Here they are gone at once.
fn collect_garbage(sandbox: &Sandbox) {
    for entry in sandbox.root.join(".worktrees/p").read_dir_utf8().into_iter().flatten().flatten() {
        if entry.file_name().starts_with(".checks") {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    sandbox.git(&["worktree", "prune", "--expire=now"]);
    let expire = ["-c", "gc.reflogExpire=now", "-c", "gc.reflogExpireUnreachable=now"];
    sandbox.git(&[&expire[..], &["gc", "--quiet", "--prune=now"]].concat());
}

fn ref_lock(sandbox: &Sandbox) -> Utf8PathBuf {
    sandbox.repo.join(".git/refs/heads/main.lock")
}

#[test]
fn a_target_that_has_moved_already_counts_as_landed() {
    in_parallel(&TARGETS, |target| {
        let sandbox = two_tasks(*target);
        sandbox.run_crashing("landing.moved", 1);
        sandbox.assert_landed_once(&["T1"]);
        assert!(sandbox.events_of("T1", "completed").is_empty(), "not journaled yet");
        let tip = sandbox.git(&["rev-parse", "main"]);
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
        assert_eq!(sandbox.events_of("T1", "completed")[0]["proof"]["commit"], tip.as_str());
    });
}

#[test]
fn a_target_that_has_not_moved_is_moved_to_the_same_candidate() {
    in_parallel(&TARGETS, |target| {
        let sandbox = two_tasks(*target);
        sandbox.run_crashing("landing.before-move", 1);
        sandbox.assert_landed_once(&[]);
        let candidate = candidate(&sandbox);
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
        sandbox.git(&["merge-base", "--is-ancestor", &candidate, "main"]);
    });
}

#[test]
fn a_target_that_a_person_moved_on_gets_a_new_candidate_on_top() {
    in_parallel(&TARGETS, |target| {
        let sandbox = two_tasks(*target);
        sandbox.run_crashing("landing.before-move", 1);
        let commit = commit_by_person(&sandbox);
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
        sandbox.git(&["merge-base", "--is-ancestor", &commit, "main"]);
        assert_eq!(sandbox.events_of("T1", "landing_returned").len(), 1);
    });
}

#[test]
fn a_target_that_a_person_took_back_stops_what_was_built_on_it() {
    in_parallel(&TARGETS, |target| {
        let sandbox = two_tasks(*target);
        sandbox.run_crashing("landing.before-move", 1);
        // Empty commits only: nothing in a checkout has to change.
        sandbox.git(&["update-ref", "refs/heads/main", "main~1"]);
        let last = sandbox.run().expect(4);
        assert!(last.text.contains("was moved away from"), "{}", last.text);
        assert_eq!(sandbox.events_of("T1", "failed")[0]["class"], "defect");
        // If the other one had begun before that, its work stands on what was taken back as well.
        let also = sandbox.events_of("T2", "failed");
        assert!(also.iter().all(|failed| failed["class"] == "defect"), "{also:?}");
        sandbox.assert_landed_once(if also.is_empty() { &["T2"] } else { &[] });
        sandbox.piton(&["clean", "--unfinished"]).expect(0);
        sandbox.piton(&["reset", "T1", "--plan", "plan.toml"]).expect(0);
        if !also.is_empty() {
            sandbox.piton(&["reset", "T2", "--plan", "plan.toml"]).expect(0);
        }
        // Work that no target has exists once: its branch stays.
        let stays = |task: &str| sandbox.git(&["for-each-ref", &format!("refs/heads/worktree-{task}")]);
        let before = [stays("T1"), stays("T2")];
        sandbox.run().expect(0);
        sandbox.assert_landed_once(&["T1", "T2"]);
        assert_eq!([sandbox.runs_of("T1"), sandbox.runs_of("T2")], [2, 1 + also.len()]);
        assert_eq!([stays("T1"), stays("T2")], before);
    });
}

#[test]
fn a_landing_that_a_person_took_back_between_runs_is_made_again() {
    let sandbox = two_tasks(Target::CheckedOut);
    let last = sandbox.run();
    assert_done(&sandbox, &last, [1, 1]);
    sandbox.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    sandbox.assert_landed_once(&["T1"]);
    let last = sandbox.run();
    assert_done(&sandbox, &last, [1, 2]);
    assert_eq!(sandbox.events_of("T2", "landing_lost").len(), 1);
    assert!(sandbox.events_of("T1", "landing_lost").is_empty());
}

#[test]
fn a_ref_lock_with_our_candidate_is_removed() {
    in_parallel(&TARGETS, |target| {
        let sandbox = two_tasks(*target);
        sandbox.run_crashing("landing.before-move", 1);
        fs::write(ref_lock(&sandbox), format!("{}\n", candidate(&sandbox))).expect("a lock");
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
    });
}

#[test]
fn a_ref_lock_of_somebody_else_is_waited_for_and_named() {
    in_parallel(&TARGETS, |target| {
        let sandbox = two_tasks(*target);
        sandbox.run_crashing("landing.before-move", 1);
        let lock = ref_lock(&sandbox);
        let theirs = sandbox.git(&["rev-parse", "main~1"]);
        fs::write(&lock, &theirs).expect("a lock");
        let last = sandbox.run().expect(3);
        assert!(last.text.contains(lock.as_str()), "{}", last.text);
        assert_eq!(fs::read_to_string(&lock).expect("still there"), theirs);
        sandbox.assert_landed_once(&[]);
        fs::remove_file(&lock).expect("a lock");
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
    });
}

#[test]
fn an_empty_ref_lock_goes_if_it_is_younger_than_the_intent() {
    in_parallel(&TARGETS, |target| {
        let sandbox = two_tasks(*target);
        sandbox.run_crashing("landing.before-move", 1);
        let lock = ref_lock(&sandbox);
        let old = fs::File::create(&lock).expect("a lock");
        old.set_modified(std::time::UNIX_EPOCH).expect("a time");
        let last = sandbox.run().expect(3);
        assert!(last.text.contains(lock.as_str()), "{}", last.text);
        fs::File::create(&lock).expect("a lock").set_modified(std::time::SystemTime::now()).expect("a time");
        // Held open by a live process: this one, and then no longer.
        let held = fs::File::open(&lock).expect("a lock");
        sandbox.run().expect(3);
        drop((held, old));
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
    });
}

#[test]
fn locks_that_gits_of_the_run_left_behind_are_removed() {
    in_parallel(&["work.ended", "check.ended", "landing.before-move"], |point| {
        let sandbox = two_tasks(Target::CheckedOut);
        sandbox.run_crashing(point, 1);
        let run = sandbox.events()[0]["run"].as_str().expect("an id").to_owned();
        let pins = ["candidate", "captured", "shown"].map(|what| format!("refs/piton/{run}/{what}/T1"));
        let entry = sandbox.entry("T1");
        let own = ["index", "HEAD", "ORIG_HEAD", "AUTO_MERGE"].map(|name| format!("{entry}/{name}"));
        let shared = ["packed-refs", "refs/heads/worktree-T1"].map(str::to_owned);
        for name in pins.iter().chain(&own).chain(&shared) {
            let lock = sandbox.repo.join(".git").join(format!("{name}.lock"));
            fs::create_dir_all(lock.parent().expect("a folder")).expect("a folder");
            fs::write(lock, "").expect("a lock");
        }
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
    });
}

#[test]
fn a_worktree_that_git_was_killed_over_does_not_stop_everything() {
    let sandbox = two_tasks(Target::CheckedOut);
    sandbox.run_crashing("prepare.added", 1);
    // With this file empty, no git can list the worktrees.
    let entry = sandbox.repo.join(".git").join(sandbox.entry("T1"));
    fs::write(entry.join("commondir"), "").expect("a file");
    let last = sandbox.run();
    assert_done(&sandbox, &last, [1, 1]);
}

#[test]
fn a_worktree_without_its_ready_event_is_made_anew() {
    in_parallel(&["prepare.added", "prepare.done"], |point| {
        let sandbox = two_tasks(Target::CheckedOut);
        sandbox.run_crashing(point, 1);
        assert!(sandbox.events_of("T1", "worktree_ready").is_empty());
        fs::write(sandbox.worktree("T1").join("stray.txt"), "from nobody knows where\n").expect("a file");
        sandbox.run().expect(0);
        sandbox.assert_landed_once(&["T1", "T2"]);
        assert_eq!(sandbox.git(&["ls-tree", "--name-only", "main"]), "a.txt\nplan.toml\nt1.txt\nt2.txt");
        // It exists only once, so Piton keeps it and says so.
        let rescued = sandbox.events_of("T1", "rescued");
        let commit = rescued[0]["commit"].as_str().expect("an id");
        assert_eq!(sandbox.git(&["show", &format!("{commit}:stray.txt")]), "from nobody knows where");
        let rescue = sandbox.git(&["for-each-ref", "--format=%(objectname)", "refs/piton/rescue"]);
        assert_eq!(rescue, commit);
    });
}

/// The steps by which an attempt gets a git directory of its own, and by which what it made there comes over.
#[test]
fn an_attempt_behind_a_fence_survives_a_kill_at_every_step_around_it() {
    if let Err(why) = piton_engine::keeper::fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let points = ["isolate.ahead", "isolate.made", "rejoin.objects", "rejoin.brought", "rejoin.left"];
    in_parallel(&points, |point| {
        let script = SCRIPT.replace(
            "write t1.txt One",
            "write t1.txt One\nrun git checkout --quiet -b mine\nrun git add t1.txt\nrun git commit --quiet -m Own",
        );
        let plan = format!("{AGENT}{}", crate::reference::FENCE);
        let mut sandbox = Sandbox::new("plan.toml", &script, &[("a.txt", "a\n"), ("plan.toml", &plan)]);
        sandbox.fenced = true;
        sandbox.run_crashing(point, 1);
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
        assert!(sandbox.git(&["log", "--format=%s", "main"]).contains("Own"), "{point}");
        assert!(!sandbox.repo.join(".git/refs/heads/mine").exists());
        sandbox.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    });
}

#[test]
fn what_was_rescued_before_a_crash_is_journaled_by_the_next_engine() {
    let points = [
        ("", "slot.rescued"),
        ("", "slot.cleared"),
        ("", "slot.parked"),
        ("[worktree]\nreuse = \"never\"\n", "worktree.rescued"),
        ("[worktree]\nreuse = \"never\"\n", "worktree.removed"),
    ];
    in_parallel(&points, |(reuse, point)| {
        let plan = AGENT.replacen("[policy]", &format!("{reuse}[policy]"), 1);
        let sandbox = Sandbox::new("plan.toml", SCRIPT, &[("a.txt", "a\n"), ("plan.toml", &plan)]);
        sandbox.run_crashing("landing.moved", 1);
        let stray = sandbox.root.join(".worktrees/p/T1/stray.txt");
        fs::write(stray, "from nobody knows where\n").expect("a file");
        sandbox.run_crashing(point, 1);
        assert!(sandbox.events_of("T1", "rescued").is_empty());
        sandbox.run().expect(0);
        let rescued = sandbox.events_of("T1", "rescued");
        assert_eq!(rescued.len(), 1, "{rescued:?}");
        let commit = rescued[0]["commit"].as_str().expect("an id");
        assert_eq!(sandbox.git(&["show", &format!("{commit}:stray.txt")]), "from nobody knows where");
    });
}

#[test]
fn what_a_killed_removal_of_a_slot_has_left_is_removed_and_not_rescued() {
    let sandbox = two_tasks(Target::CheckedOut);
    sandbox.run_crashing("slot.doomed", 1);
    let records = sandbox.repo.join(".git/piton/slots");
    let doomed =
        records.read_dir_utf8().expect("records").flatten().find(|record| {
            fs::read_to_string(record.path()).is_ok_and(|text| text.contains("\"boot\":\"\""))
        });
    let doomed = doomed.expect("one that counts for nobody");
    let number = doomed.file_name().split('-').next().expect("a number");
    fs::remove_file(sandbox.root.join(format!(".worktrees/p/.slot-{number}/a.txt"))).expect("a file");
    fs::write(records.join(".piton-half"), "").expect("a file");
    let last = sandbox.run();
    assert_done(&sandbox, &last, [1, 1]);
}

#[test]
fn a_worktree_deleted_while_nobody_looks_costs_at_most_its_uncommitted_work() {
    let points = [
        ("prepare.done", 1),
        ("work.ended", 2),
        ("capture.pinned", 2),
        ("check.ended", 1),
        ("land.merged", 1),
        ("landing.before-move", 1),
        ("landing.moved", 1),
    ];
    in_parallel(&points, |(point, runs)| {
        let sandbox = two_tasks(Target::CheckedOut);
        sandbox.run_crashing(point, 1);
        fs::remove_dir_all(sandbox.worktree("T1")).expect("a worktree");
        let last = sandbox.run();
        assert_done(&sandbox, &last, [*runs, 1]);
        assert!(sandbox.began().iter().all(|began| began.attempt == 1), "nothing is spent");
    });
}

#[test]
fn a_branch_deleted_while_nobody_looks_is_not_needed() {
    in_parallel(&["capture.pinned", "check.ended", "landing.before-move", "landing.moved"], |point| {
        let sandbox = two_tasks(Target::CheckedOut);
        sandbox.run_crashing(point, 1);
        sandbox.git(&["branch", "--quiet", "-D", "worktree-T1"]);
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
    });
}

#[test]
fn a_branch_moved_while_nobody_looks_does_not_land() {
    in_parallel(&["capture.pinned", "check.ended", "land.merged"], |point| {
        let sandbox = two_tasks(Target::CheckedOut);
        sandbox.run_crashing(point, 1);
        // A person goes on where the agent stopped: that is not verified.
        sandbox.git(&["switch", "--quiet", "--create", "theirs", "worktree-T1"]);
        fs::write(sandbox.repo.join("stray.txt"), "by a person\n").expect("a file");
        sandbox.git(&["add", "stray.txt"]);
        sandbox.git(&["commit", "--quiet", "-m", "By a person"]);
        let commit = sandbox.git(&["rev-parse", "HEAD"]);
        sandbox.git(&["switch", "--quiet", "main"]);
        sandbox.git(&["branch", "--quiet", "-M", "theirs", "worktree-T1"]);
        sandbox.run().expect(0);
        sandbox.assert_landed_once(&["T1", "T2"]);
        assert_eq!(sandbox.git(&["ls-tree", "--name-only", "main"]), "a.txt\nplan.toml\nt1.txt\nt2.txt");
        assert_eq!(sandbox.git(&["rev-parse", "worktree-T1"]), commit, "it exists once");
    });
}

#[test]
fn what_is_verified_needs_neither_worktree_nor_branch() {
    in_parallel(&["land.merged", "landing.before-move"], |point| {
        let sandbox = two_tasks(Target::CheckedOut);
        sandbox.run_crashing(point, 1);
        fs::remove_dir_all(sandbox.worktree("T1")).expect("a worktree");
        sandbox.git(&["worktree", "prune"]);
        sandbox.git(&["branch", "--quiet", "-D", "worktree-T1"]);
        collect_garbage(&sandbox);
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
    });
}

#[test]
fn a_garbage_collection_between_any_two_steps_loses_nothing() {
    let (_, passes) = two_tasks(Target::CheckedOut).run_traced();
    let mut points: Vec<(&str, usize)> = Vec::new();
    for (point, &count) in &passes {
        // What only keepers and the journal pass says nothing about git. Pins come one after the other.
        let passes = match point.split_once('.') {
            Some(("keeper" | "journal" | "job" | "engine", _)) => 0,
            Some(("landing", "pinned")) => count / 2,
            _ => 1,
        };
        points.extend((1..=passes).map(|nth| (point.as_str(), nth)));
    }
    if !all_wanted() {
        points = points.into_iter().step_by(2).collect();
    }
    in_parallel(&points, |(point, nth)| {
        let sandbox = two_tasks(Target::CheckedOut);
        sandbox.run_crashing(point, *nth);
        collect_garbage(&sandbox);
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
    });
}

#[test]
fn verified_work_is_not_paid_for_again_because_a_git_failed() {
    let sandbox = two_tasks(Target::CheckedOut);
    sandbox.run_crashing("check.ended", 1);
    let pins = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/piton"]);
    let pin = pins.lines().find(|name| name.contains("/captured/")).expect("a pin").to_owned();
    let (run, _) = pin.split_once("/captured/").expect("a pin of a run");
    // A file where git needs a folder.
    let blocked = sandbox.repo.join(".git").join(run).join("candidate");
    fs::write(&blocked, "").expect("a file");
    let last = sandbox.run().expect(3);
    assert!(last.text.contains("candidate"), "{}", last.text);
    fs::remove_file(&blocked).expect("a file");
    let last = sandbox.run();
    assert_done(&sandbox, &last, [1, 1]);
}

#[test]
fn what_git_left_after_it_moved_the_target_is_cleared_away() {
    let sandbox = two_tasks(Target::CheckedOut);
    sandbox.run_crashing("landing.moved", 1);
    let locks = ["HEAD.lock", "AUTO_MERGE.lock"].map(|name| sandbox.repo.join(".git").join(name));
    for lock in &locks {
        fs::write(lock, "").expect("a lock");
    }
    // The next landing is later than these, so for that one they would be a person's.
    let last = sandbox.run();
    assert_done(&sandbox, &last, [1, 1]);
}

#[test]
fn files_of_a_landing_that_a_power_cut_emptied_are_written_again() {
    in_parallel(&["landing.before-move", "landing.moved"], |point| {
        let sandbox = two_tasks(Target::CheckedOut);
        sandbox.run_crashing(point, 1);
        fs::write(sandbox.repo.join("t1.txt"), "").expect("a file");
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
        assert_eq!(fs::read_to_string(sandbox.repo.join("t1.txt")).expect("a file"), "One\n");
    });
}

#[test]
fn a_file_that_a_person_emptied_before_the_landing_is_theirs() {
    let sandbox = two_tasks(Target::CheckedOut);
    let theirs = sandbox.repo.join("t1.txt");
    fs::write(&theirs, "").expect("a file");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(&theirs).expect("a file").set_modified(long_ago).expect("a time");
    let last = sandbox.run().expect(3);
    assert!(last.text.contains("has uncommitted changes in t1.txt"), "{}", last.text);
    assert_eq!(fs::read_to_string(&theirs).expect("a file"), "");
}

#[test]
fn a_worktree_that_a_power_cut_emptied_is_made_anew() {
    let every = [".git", "gitdir", "commondir", "index"];
    in_parallel(&[&every[..], &[".git"], &["gitdir"], &["index"]], |emptied| {
        let sandbox = two_tasks(Target::CheckedOut);
        sandbox.run_crashing("prepare.done", 1);
        let (worktree, entry) = (sandbox.worktree("T1"), sandbox.repo.join(".git").join(sandbox.entry("T1")));
        for name in *emptied {
            let folder = if *name == ".git" { &worktree } else { &entry };
            fs::write(folder.join(name), "").expect("a file");
        }
        let last = sandbox.run();
        assert_done(&sandbox, &last, [1, 1]);
    });
}

/// Its job was prepared and its worktree journaled as ready, and the agent had not started.
#[test]
fn an_agent_does_not_begin_in_a_worktree_from_before_a_power_cut() {
    let sandbox = two_tasks(Target::CheckedOut);
    sandbox.run_crashing("job.prepared", 1);
    fs::write(sandbox.worktree("T1").join(".git"), "").expect("a file");
    sandbox.reboot();
    let last = sandbox.run();
    assert_done(&sandbox, &last, [1, 1]);
}

#[test]
fn an_object_that_a_power_cut_emptied_is_written_again() {
    let sandbox = two_tasks(Target::CheckedOut);
    sandbox.run_crashing("prepare.done", 1);
    fs::write(sandbox.root.join("one"), "One\n").expect("a file");
    // What the agent is going to write: git would take the name for the object.
    let id = sandbox.git(&["hash-object", "../one"]);
    let folder = sandbox.repo.join(".git/objects").join(&id[..2]);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(&id[2..]), "").expect("a file");
    let last = sandbox.run();
    assert_done(&sandbox, &last, [1, 1]);
    assert_eq!(sandbox.git(&["show", "main:t1.txt"]), "One");
}

/// The check passes, but it judges what it changed before.
#[test]
fn a_check_that_nobody_has_looked_at_before_its_worktree_moved_on_is_run_again() {
    let plan = AGENT.replace("test -s t1.txt", "echo ran >> $HOME/ran.txt; echo b > a.txt");
    let sandbox = Sandbox::new("plan.toml", SCRIPT, &[("a.txt", "a\n"), ("plan.toml", &plan)]);
    sandbox.run_crashing("check.ended", 1);
    // Meanwhile another process has used it.
    let worktrees = sandbox.git(&["worktree", "list", "--porcelain"]);
    let of_checks = worktrees.lines().find_map(|line| {
        let path = line.strip_prefix("worktree ")?;
        path.contains("/.checks-").then(|| path.to_owned())
    });
    let path = Utf8PathBuf::from(of_checks.expect("a worktree for checks"));
    sandbox.git(&["-C", path.as_str(), "reset", "--quiet", "--hard"]);
    let entry =
        sandbox.repo.join(".git/worktrees").join(path.file_name().unwrap_or("").replacen('.', "-", 1));
    fs::write(entry.join("piton-last"), "").expect("a file");
    let ran = || fs::read_to_string(sandbox.root.join("home/ran.txt")).expect("it ran").lines().count();
    assert_eq!(ran(), 1);
    sandbox.run();
    assert!(ran() > 1, "the first result does not count");
    sandbox.assert_landed_once(&["T2"]);
    let failed = sandbox.events_of("T1", "failed");
    assert!(failed[0].to_string().contains("it changed files while it ran: a.txt"), "{failed:?}");
}
