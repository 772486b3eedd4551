//! Things that are taken away under those who work with them: worktrees, job folders, the journal.

use std::fs;

use piton_testkit::cases::in_parallel;
use piton_testkit::sandbox::{Output, Running, Sandbox, task, until, writers};

use crate::sandbox;

/// T1's agent is at a gate, where it waits once; T2 waits for T1.
fn at_a_gate() -> (Sandbox, Running) {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']\n")));
    sandbox.script(&("[T1]\nwrite T1.txt done\nrun sh SIDE/once.sh\n".to_owned() + &writers(&["T2"])));
    wait_once(&sandbox);
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    until("the agent at its gate", || sandbox.root().join("held").exists().then_some(()));
    (sandbox, run)
}

/// The first process that runs the script waits.
fn wait_once(sandbox: &Sandbox) {
    sandbox.fifo("gate");
    let once = "mv SIDE/gate SIDE/held 2>/dev/null && read go < SIDE/held\ntrue\n";
    sandbox.write(sandbox.root().join("once.sh"), &once.replace("SIDE", sandbox.root().as_str()));
}

#[track_caller]
fn assert_done(sandbox: &Sandbox) {
    sandbox.assert_landed_once("main", &["T1", "T2"]);
    assert_eq!(sandbox.git(["show", "main:T1.txt"]), "done");
    let _ = sandbox.run("doctor").exits(0);
    sandbox.assert_tidy();
}

#[test]
fn a_worktree_that_is_deleted_under_its_agent_is_made_anew() {
    in_parallel(&["T1", ""], |what| {
        let (sandbox, run) = at_a_gate();
        // The name of a task is a link to its slot.
        let place = sandbox.worktrees().join(what).canonicalize_utf8().expect("it is there");
        fs::remove_dir_all(place).expect("it is there");
        sandbox.meet("held");
        let _ = run.wait().exits(0).says(".slot-0 no longer exists").lacks("attempt 2");
        assert_done(&sandbox);
    });
}

/// The first attempt's work is in a commit: the second goes on from it, wherever it is made.
#[test]
fn a_worktree_that_is_gone_between_two_attempts_is_made_again_with_what_was_done() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = ['test -e T1.txt -a -e more.txt']\n"));
    // The second attempt finds what the first one wrote.
    sandbox.script("[T1]\nrun cp T1.txt more.txt\n[T1 1]\nwrite T1.txt done\n");
    let crash = sandbox.piton(["run", "plan.toml"]).env("PITON_CRASH", "prepare.added:2").spawn();
    let _ = crash.wait().says("T1       attempt 2");
    let place = sandbox.worktrees().join("T1").canonicalize_utf8().expect("it is there");
    fs::remove_dir_all(place).expect("it is there");
    let _ = sandbox.run("run plan.toml").exits(0).lacks("attempt 3");
    assert_eq!(sandbox.git(["show", "main:more.txt"]), "done");
    sandbox.assert_tidy();
}

#[test]
fn a_job_whose_folder_is_deleted_under_its_keeper_died_and_is_run_again() {
    let (sandbox, run) = at_a_gate();
    let jobs = sandbox.own().join("runs");
    fs::remove_dir_all(&jobs).expect("it is there");
    sandbox.meet("held");
    let _ = run.wait().exits(0).says("the agent died with its keeper").lacks("attempt 2");
    assert_done(&sandbox);
}

/// An engine can still read what it has open, even if other processes cannot.
#[test]
fn a_journal_that_is_deleted_under_its_engine_is_saved_by_it() {
    let cases: [&[&str]; 4] =
        [&["piton.db"], &["piton.db-wal"], &["piton.db-shm"], &["piton.db", "piton.db-wal", "piton.db-shm"]];
    in_parallel(&cases, |files| {
        let (sandbox, run) = at_a_gate();
        for file in *files {
            fs::remove_file(sandbox.own().join(file)).expect("it is there");
        }
        let out = run.wait().exits(1).says("its files were removed or replaced while it was in use");
        let lost = if **files == ["piton.db-shm"] { "nothing is lost" } else { "its content is saved" };
        let _ = out.says(lost);
        // The agent lives on, and the next engine takes it over.
        let next = sandbox.piton(["run", "plan.toml"]).spawn();
        sandbox.meet("held");
        let _ = next.wait().exits(0).lacks("T1       attempt 1 started");
        assert_eq!(sandbox.events().iter().filter(|line| line.contains("agent_ended")).count(), 2);
        assert_done(&sandbox);
    });
}

/// A command fails if the journal that it writes to was deleted: no engine would read it.
#[test]
fn a_command_whose_journal_is_deleted_under_it_does_not_succeed() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let skip = ["skip", "T1", "--reason", "no"];
    let mut skip = sandbox.piton(skip).pausing_at(&sandbox, "journal.before-commit", 1).spawn();
    let pause = skip.until_paused(&sandbox);
    fs::remove_file(sandbox.own().join("piton.db")).expect("it is there");
    drop(pause);
    let _ = skip.wait().exits(1).says("piton.db: its files were removed");
    let _ = sandbox.run("status").exits(1).says("piton doctor --repair");
    let _ = sandbox.run("doctor --repair").exits(0);
    // It was saved with what had been committed.
    let _ = sandbox.run("status T1").exits(0).says("skipped");
    let _ = sandbox.run("doctor").exits(0);
}

#[test]
fn a_journal_that_is_replaced_under_its_engine_is_noticed_and_both_are_kept() {
    let (sandbox, run) = at_a_gate();
    let garbage = sandbox.own().join("garbage");
    fs::write(&garbage, "no database\n").expect("a new file");
    fs::rename(&garbage, sandbox.own().join("piton.db")).expect("a file");
    let _ = run.wait().exits(1).says("its files were removed or replaced while it was in use");
    let next = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("held");
    let _ = next.wait().exits(0).lacks("T1       attempt 1 started");
    assert_eq!(
        fs::read_to_string(sandbox.own().join("piton.db.damaged-1")).ok().as_deref(),
        Some("no database\n")
    );
    assert_done(&sandbox);
}

/// The same file, with other bytes in it. What is still in the log, or in memory, goes on for a while.
#[test]
fn a_journal_that_is_overwritten_under_its_engine_is_said_to_be_damaged_and_nothing_lands_twice() {
    let sandbox = sandbox();
    sandbox.plan(&["T0", "T1", "T2"].map(|id| task(id, "")).concat());
    sandbox.script(&(writers(&["T0", "T2"]) + "[T1]\nwrite T1.txt done\nrun sh SIDE/once.sh\n"));
    wait_once(&sandbox);
    // Its end moves the log into the database.
    let _ = sandbox.run("run plan.toml --task T0").exits(0);
    let run = sandbox.piton(["run", "plan.toml", "--task", "T1"]).spawn();
    until("the agent at its gate", || sandbox.root().join("held").exists().then_some(()));
    let path = sandbox.own().join("piton.db");
    let length = usize::try_from(fs::metadata(&path).expect("it is there").len()).expect("small");
    fs::write(&path, vec![0x5a; length]).expect("our own file");
    sandbox.meet("held");
    let damaged =
        |out: Output| out.exits(1).says("piton.db: damaged").says("`piton doctor --repair` keeps it aside");
    let _ = damaged(run.wait());
    let _ = damaged(sandbox.run("status"));
    let _ = damaged(sandbox.run("run plan.toml"));
    let _ =
        sandbox.run("doctor --repair").exits(0).says("nothing of it could be read").says("piton run PLAN");
    let out = sandbox.run("run plan.toml").exits(0).lacks("T0       attempt");
    let _ = out.says("whose journal no longer exists, so not done again: T0");
    sandbox.assert_landed_once("main", &["T0", "T1", "T2"]);
    let doctor = sandbox.run("doctor").exits(0);
    // What only the lost run knew of is still there and is reported, if its engine got that far.
    if sandbox.git(["for-each-ref", "refs/piton"]).contains("/captured/T1") {
        let _ = doctor.says("work of T1 is kept as refs/piton/plan-");
    }
}

/// What the journal knew is also in the commits: nothing that landed is done again, but what was taken back.
#[test]
fn what_landed_before_its_journal_was_lost_is_not_done_again() {
    let sandbox = sandbox();
    sandbox.plan(&["T1", "T2", "T3"].map(|id| task(id, "")).concat());
    sandbox.script(&writers(&["T1", "T2", "T3"]));
    let _ = sandbox.run("run plan.toml --task T1").exits(0);
    let _ = sandbox.run("run plan.toml --task T2").exits(0);
    sandbox.git(["revert", "--no-edit", "-m", "1", "HEAD"]);
    fs::remove_dir_all(sandbox.own()).expect("it is there");
    let out =
        sandbox.run("run plan.toml").exits(0).says("whose journal no longer exists, so not done again: T1\n");
    let _ = out.lacks("T1       attempt").says("T2       attempt 1").says("T3       attempt 1");
    let landed = sandbox.git(["log", "--first-parent", "--format=%s", "--grep=^Merge worktree-T1", "main"]);
    assert_eq!(landed.lines().count(), 1, "{landed}");
    assert_eq!(sandbox.git(["show", "main:T2.txt"]), "done");
    // A person begins the next one, and wants everything done again.
    fs::remove_dir_all(sandbox.own()).expect("it is there");
    let out = sandbox.run("run plan.toml --reset --no-commits").lacks("whose journal no longer exists");
    let _ = out.says("T1       attempt 1");
}

/// Ids come back in every plan, and so do titles.
#[test]
fn what_another_plan_landed_is_not_taken_for_this_one() {
    let sandbox = sandbox();
    sandbox.script(&writers(&["T1", "T2"]));
    let plan = sandbox.plan_text("", &task("T1", "")).replace("name = \"plan\"", "name = \"plan-b\"");
    sandbox.write("plan.toml", &plan);
    sandbox.write("copy.toml", &plan);
    sandbox.write("longer.toml", &(plan.clone() + &task("T2", "")));
    sandbox.write("titled.toml", &plan.replace("Do T1", "Undo T1"));
    sandbox.write("named.toml", &plan.replace("plan-b", "plan"));
    sandbox.commit("Plans");
    let _ = sandbox.run("run plan.toml").exits(0);
    // The journal still knows the run that did it, and that run is not of this file.
    let _ = sandbox.run("run longer.toml").lacks("whose journal no longer exists").says("T1       attempt 1");
    // A copy of the whole plan would do it again only if that is asked for.
    let _ = sandbox
        .run("run copy.toml --reset")
        .lacks("whose journal no longer exists")
        .says("T1       attempt 1");
    for other in ["titled.toml", "named.toml"] {
        fs::remove_dir_all(sandbox.own()).expect("it is there");
        let out = sandbox.run(&format!("run {other}"));
        let _ = out.lacks("whose journal no longer exists").says("T1       attempt 1");
    }
    fs::remove_dir_all(sandbox.own()).expect("it is there");
    let _ = sandbox
        .run("run copy.toml")
        .exits(0)
        .says("whose journal no longer exists")
        .lacks("T1       attempt");
}
