//! What is kept: cleaning up, bringing back, and a journal that was damaged.

use crate::{count, json, sandbox, status};
use piton_testkit::sandbox::{Sandbox, task, writers};

/// One task done, and one abandoned with work that only its worktree holds.
fn ended() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&(task("A", "") + &task("B", "attempts = 1")));
    sandbox.script(&format!("{}[B]\nwrite other.txt precious\n", writers(&["A"])));
    let _ = sandbox.run("run plan.toml --max-parallel 1").exits(4);
    sandbox
}

#[test]
fn what_clean_removes_can_be_brought_back() {
    let sandbox = ended();
    sandbox.write(sandbox.worktrees().join("B/late.txt"), "not even committed");
    let _ = sandbox.run("clean").exits(0).lacks("the worktree of B");
    let said = sandbox.run("clean --dry-run --unfinished").exits(0).says("would remove the worktree of B");
    drop(said);
    assert!(sandbox.worktrees().join("B").exists());
    let _ = sandbox
        .run("clean --unfinished")
        .exits(0)
        .says("removing the worktree of B")
        .says("what was only there is kept as refs/piton/rescue/");
    assert!(!sandbox.worktrees().join("B").exists());
    let list = sandbox.run("rescue list --json").exits(0);
    let name = json(&list, "/0/name");
    let name = name.as_str().expect("a name").to_owned();
    let short =
        sandbox.run("rescue list").exits(0).stdout.split_whitespace().next().expect("a name").to_owned();
    let _ = sandbox.run(&format!("rescue show {short}")).exits(0).says("late.txt");
    let _ = sandbox.run(&format!("rescue restore {short} --into {}/back", sandbox.root())).exits(0);
    let back = sandbox.root().join("back");
    assert_eq!(
        ["late.txt", "other.txt"].map(|file| sandbox.read(back.join(file))),
        ["not even committed", "precious\n"]
    );
    let _ = sandbox.run(&format!("rescue restore {name} --branch found")).exits(0);
    assert_eq!(sandbox.git(["show", "found:late.txt"]), "not even committed");
    let _ = sandbox.run(&format!("rescue restore {name} --branch main")).exits(1);
    let _ = sandbox.run("rescue show nothing").exits(1);
    let _ = sandbox.run("rescue restore nothing").exits(2);
}

/// A git process that was killed at the ref of a rescue leaves a lock, and the empty folder of the worktree's records.
#[test]
fn clean_goes_on_where_one_that_was_killed_left_a_lock() {
    let sandbox = ended();
    sandbox.write(sandbox.worktrees().join("B/late.txt"), "not even committed");
    let run = json(&sandbox.run("status --json").exits(0), "/run");
    let run = run.as_str().expect("a run").to_owned();
    let lock = format!(".git/refs/piton/rescue/{run}/B.lock");
    sandbox.write(&lock, "");
    let _ = sandbox.run("doctor").exits(1).says("a git process that died left");
    let _ =
        sandbox.run("clean --unfinished").exits(0).says("what was only there is kept as").lacks("kept the");
    assert!(!sandbox.exists(&lock) && !sandbox.worktrees().join("B").exists());
    let _ = sandbox.run("doctor").exits(0);
    // What does not disturb a run is found by `piton doctor`.
    sandbox.write(".git/AUTO_MERGE.lock", "");
    let _ = sandbox.run("doctor").exits(1).says("AUTO_MERGE.lock");
    let _ = sandbox.run("doctor --repair").exits(0).says("removed [ROOT]/project/.git/AUTO_MERGE.lock");
    let _ = sandbox.run("doctor").exits(0);
}

/// An agent without a fence may put a link to anything in the place of its worktree.
#[test]
fn clean_touches_nothing_behind_a_link_in_the_place_of_a_worktree() {
    let sandbox = ended();
    let slot = sandbox.worktrees().join("B").canonicalize_utf8().expect("a link to its slot");
    let (place, away) = (slot, sandbox.root().join("away"));
    let other = sandbox.root().join("other");
    sandbox.write(other.join("precious.txt"), "mine");
    std::fs::rename(&place, &away).expect("our own folder");
    std::os::unix::fs::symlink(&other, &place).expect("a link");
    let _ = sandbox.run("clean --unfinished").exits(0).says("it is a link to [ROOT]/other");
    assert_eq!(sandbox.read(other.join("precious.txt")), "mine");
    assert!(place.is_symlink() && !other.join(".git").exists());
    std::fs::remove_file(&place).expect("our own link");
    std::fs::rename(&away, &place).expect("our own folder");
    let _ = sandbox.run("clean --unfinished").exits(0);
    assert!(!place.exists());
}

#[test]
fn a_cleaned_task_can_still_be_tried_again() {
    let sandbox = ended();
    let _ = sandbox.run("clean --unfinished").exits(0);
    let _ = sandbox.run("retry B").exits(0);
    sandbox.script(&writers(&["B"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.read("B.txt"), "done\n");
}

#[test]
fn clean_after_a_finished_run_leaves_the_journal() {
    let sandbox = sandbox();
    sandbox.plan(&task("A", ""));
    sandbox.script(&writers(&["A"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    shows!(sandbox.run("clean").exits(0), @r"
    exit: 0
    --- stdout
    removing the output of agents and checks, [ROOT]/project/.git/piton/runs/plan-[RUN] ([SIZE])
    --- stderr
    [SIZE] in all, 1 thing
    ");
    let _ = sandbox.run("clean").exits(0).says("nothing to clean");
    let _ = sandbox.run("status").exits(0).says("every task is completed");
    let _ = sandbox.run("log").exits(0).says("landed as");
}

/// Of tasks that left nothing, not even git is asked.
#[test]
fn clean_starts_as_many_git_processes_for_many_tasks_as_for_one() {
    let processes = |tasks: usize| {
        let sandbox = sandbox();
        let ids: Vec<String> = (0..tasks).map(|n| format!("T{n}")).collect();
        sandbox.plan(&ids.iter().map(|id| task(id, "checks = []")).collect::<String>());
        for id in &ids {
            let report = format!("report {id} done --plan plan.toml --no-change --reason nothing");
            let _ = sandbox.run(&report).exits(0);
        }
        let log = sandbox.root().join("log");
        let bin =
            sandbox.program("git", &format!("echo started >> {log}\nPATH=${{PATH#*:}}\nexec git \"$@\""));
        let _ = sandbox.piton(["clean", "--dry-run"]).with_path(&bin).run().exits(0);
        sandbox.read(&log).lines().count()
    };
    assert_eq!(processes(1), processes(12));
}

#[test]
fn clean_leaves_a_run_at_work_alone() {
    let sandbox = sandbox();
    sandbox.plan(&task("A", ""));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[A]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite A.txt x\n");
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    let _ = sandbox.run("clean --unfinished").exits(0).says("nothing to clean");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
}

#[test]
fn what_somebody_left_in_a_worktree_is_kept_when_it_goes() {
    let sandbox = sandbox();
    sandbox.plan_with("landing_wait = '0s'", &task("A", "checks = ['grep -q more README.md']"));
    sandbox.script("[A]\nappend README.md more\n");
    sandbox.write("README.md", "My own words\n");
    let _ = sandbox.run("run plan.toml").exits(3);
    // After the work was captured and proven, and before it lands.
    sandbox.write(sandbox.worktrees().join("A/late.txt"), "precious\n");
    sandbox.git(["checkout", "-q", "README.md"]);
    let _ = sandbox.run("run plan.toml").exits(0).says("uncommitted work kept as refs/piton/rescue/");
    assert!(!sandbox.worktrees().exists());
    assert_eq!(sandbox.git(["ls-files"]), "README.md\nplan.toml");
    let name =
        sandbox.run("rescue list").exits(0).stdout.split_whitespace().next().expect("a name").to_owned();
    let _ = sandbox.run(&format!("rescue show {name}")).exits(0).says("+precious");
}

fn change(sandbox: &Sandbox, sql: &str) {
    let journal = rusqlite::Connection::open(sandbox.own().join("piton.db")).expect("a database");
    journal.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[test]
fn a_healthy_project_is_said_to_be() {
    let sandbox = ended();
    shows!(sandbox.run("doctor").exits(0), @r"
    exit: 0
    --- stdout
    ok     git [VERSION]  (2.38 or newer is needed)
    [FENCES]
    ok     [GROUPS]
    ok     SQLite [VERSION], built in
    ok     Piton keeps its own in [ROOT]/project/.git/piton
    ok     the journal's database is whole  (quick_check)
    ok     plan-[RUN]: the snapshot equals the fold of its [N] events
    ");
    assert_eq!(json(&sandbox.run("doctor --json").exits(0), "/healthy"), true);
}

/// What has happened to tasks is summed up as it happens: nobody reads it again to answer these.
#[test]
fn what_a_run_has_come_to_is_told_without_reading_what_happened() {
    let sandbox = sandbox();
    sandbox.plan(&["A", "B", "C"].map(|id| task(id, "checks = []")).concat());
    for line in [
        "start A --by me --plan plan.toml",
        "guardrail add careful",
        "report A done --by me --note easy --no-change --reason nothing",
        "report B done --by me --note harder --no-change --reason nothing",
        "journal add remember",
    ] {
        let _ = sandbox.run(line).exits(0);
    }
    let asked = [
        "progress --json",
        "orient --max-bytes 3000",
        "orient C --json",
        "cost --json",
        "cost --by agent --json",
        "guardrail list",
        "guardrail search careful",
        "prompt C",
        "clean --dry-run",
    ];
    let answers = || asked.map(|line| sandbox.run(line).exits(0).stdout);
    let before = answers();
    assert!(before[1].contains("harder") && before[1].contains("2 of 3 tasks are completed"), "{before:?}");
    change(&sandbox, "UPDATE events SET body = 'unreadable' WHERE task IN ('A', 'B')");
    assert_eq!(answers(), before);
}

#[test]
fn a_snapshot_changed_by_hand_is_found_and_mended() {
    let sandbox = ended();
    change(&sandbox, "UPDATE tasks SET spent = 7 WHERE id = 'B'");
    let _ = sandbox.run("doctor").exits(1).says("the snapshot is wrong").says("piton doctor --repair");
    let _ = sandbox.run("doctor --repair").exits(0).says("the snapshot was rebuilt");
    assert_eq!(status(&sandbox, "B"), "abandoned");
    let _ = sandbox.run("doctor").exits(0);
}

#[test]
fn a_journal_of_a_newer_version_is_not_written_to() {
    let sandbox = ended();
    change(&sandbox, "PRAGMA user_version = 99");
    let before = sandbox.fingerprint();
    for line in ["status", "retry B", "run plan.toml", "next"] {
        let _ = sandbox
            .run(line)
            .exits(1)
            .says("written by a newer Piton (format 99")
            .says("update Piton; nothing was changed");
    }
    let _ = sandbox.run("doctor --repair").exits(1).says("written by a newer Piton");
    let after = sandbox.fingerprint();
    let changed: Vec<_> = after
        .iter()
        .filter(|(name, what)| name.ends_with("piton.db") && before.get(*name) != Some(*what))
        .collect();
    assert!(changed.is_empty(), "{changed:?}");
}

#[test]
fn a_damaged_journal_is_kept_aside_and_read_as_far_as_it_goes() {
    let sandbox = ended();
    change(&sandbox, "PRAGMA wal_checkpoint(TRUNCATE)");
    let path = sandbox.own().join("piton.db");
    let mut bytes = std::fs::read(&path).expect("the database");
    // Every page of the cache and of the events but the first ones: Piton must report what is lost.
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0x5a);
    std::fs::write(&path, &bytes).expect("our own file");
    let _ = sandbox.run("doctor").exits(1).says("damaged");
    let before: Vec<String> = names(&sandbox);
    let _ = sandbox.run("doctor --repair").exits(0).says("the damaged file is kept as");
    let after = names(&sandbox);
    assert!(before.iter().all(|name| after.contains(name)), "{before:?} {after:?}");
    let kept = after.iter().any(|name| {
        name != "piton.db"
            && name.starts_with("piton")
            && std::fs::read(sandbox.own().join(name)).is_ok_and(|kept| kept == bytes)
    });
    assert!(kept, "the damaged file was not kept as it was: {after:?}");
    let _ = sandbox.run("doctor").exits(0);
    sandbox.script(&writers(&["A", "B"]));
    // Whatever was lost, the run can go on, and what is in the target is not done again.
    let again = sandbox.run("run plan.toml");
    assert!(matches!(again.code, Some(0 | 4)), "{again}");
}

fn names(sandbox: &Sandbox) -> Vec<String> {
    let entries = sandbox.own().read_dir_utf8().expect("Piton's folder");
    entries
        .map(|entry| entry.expect("an entry").file_name().to_owned())
        .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect()
}

#[test]
fn a_journal_that_is_no_database_is_said_to_be_damaged() {
    let sandbox = ended();
    for name in ["piton.db-wal", "piton.db-shm"] {
        let _ = std::fs::remove_file(sandbox.own().join(name));
    }
    std::fs::write(
        sandbox.own().join("piton.db"),
        "this is not a database, whatever its name is ".repeat(100),
    )
    .expect("our own file");
    let _ = sandbox.run("status").exits(1).says("piton.db").says("damaged");
    let _ = sandbox.run("run plan.toml").exits(1).says("piton doctor --repair");
}

#[test]
fn a_worktree_that_went_away_is_made_anew() {
    let sandbox = ended();
    let place = sandbox.worktrees().join("B");
    let slot = place.canonicalize_utf8().expect("a link to its slot");
    std::fs::remove_file(&place).expect("the link");
    let _ = sandbox.run("doctor").exits(0).lacks("its worktree no longer exists");
    std::fs::remove_dir_all(slot).expect("it is there");
    let _ = sandbox.run("doctor").exits(0).says("its worktree no longer exists");
    let _ = sandbox.run("retry B").exits(0);
    sandbox.script(&writers(&["B"]));
    let _ = sandbox.run("run plan.toml").exits(0);
}

#[test]
fn pitons_own_folder_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = ended();
    let mode = std::fs::metadata(sandbox.own()).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn git_clean_does_not_reach_what_piton_keeps() {
    let sandbox = ended();
    sandbox.git(["clean", "-qfdx"]);
    let _ = sandbox.run("status").exits(0);
    assert_eq!(count(&sandbox.events(), "completed"), 1);
}
