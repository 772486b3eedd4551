//! Runs of another system whose history was rewritten since: recorded commits that the target no longer has. What the
//! target has instead counts only if it is surely the same work.

use piton_testkit::sandbox::Sandbox;
use serde_json::json;

use crate::takeover::{land, leave};
use crate::{PLAN, shop, state, statuses};

const FIRST: [&str; 3] = ["completed", "pending", "pending"];
const NONE: [&str; 3] = ["pending", "pending", "pending"];

/// Work on a branch of its own, in words that name no task; the branch is gone afterwards, the commit is not.
fn lost(sandbox: &Sandbox, files: &[(&str, &str)]) -> String {
    sandbox.git(["switch", "-q", "-c", "lost"]);
    for (file, text) in files {
        sandbox.write(file, text);
        sandbox.git(["add", file]);
        sandbox.git(["commit", "-q", "-m", "Work"]);
    }
    let hash = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.git(["switch", "-q", "main"]);
    sandbox.git(["branch", "-q", "-D", "lost"]);
    hash
}

/// A commit by another person in the target.
fn commit(sandbox: &Sandbox, file: &str, text: &str, message: &str) -> String {
    sandbox.write(file, text);
    sandbox.git(["add", file]);
    sandbox.git(["commit", "-q", "-m", message]);
    sandbox.git(["rev-parse", "HEAD"])
}

/// Everything that a commit has and the target has not, as one commit in the target.
fn squash(sandbox: &Sandbox, hash: &str, message: &str) -> String {
    sandbox.git(["merge", "-q", "--squash", hash]);
    sandbox.git(["commit", "-q", "-m", message]);
    sandbox.git(["rev-parse", "HEAD"])
}

/// Tasks that are called completed, each with its commit.
fn claim(sandbox: &Sandbox, tasks: &[(&str, &str)]) {
    let task = |hash: &str| json!({ "status": "completed", "attempts": 1, "commits": [{ "hash": hash }] });
    leave(sandbox, &tasks.iter().map(|(id, hash)| ((*id).to_owned(), task(hash))).collect());
}

#[track_caller]
fn believes(sandbox: &Sandbox, expected: [&str; 3], why: &str) {
    let _ = sandbox.run(&format!("import {PLAN}")).exits(0).says(why);
    assert_eq!(statuses(sandbox), expected);
    let _ = sandbox.run("doctor").exits(0);
}

fn short(hash: &str) -> &str {
    &hash[..10]
}

const WORK: &[(&str, &str)] = &[("src/L1-001.txt", "done\n")];

#[test]
fn what_was_reset_away_is_to_be_done_again() {
    let sandbox = shop();
    let before = sandbox.git(["rev-parse", "main"]);
    let hash = land(&sandbox, "L1-001", "Add invoices");
    sandbox.git(["reset", "-q", "--hard", &before]);
    claim(&sandbox, &[("L1-001", &hash)]);
    believes(&sandbox, NONE, &format!("completed → pending: its commit {hash} is not part of the target"));
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
    assert_eq!(statuses(&sandbox), ["completed"; 3]);
}

#[test]
fn what_was_rebased_is_known_by_its_subject() {
    let sandbox = shop();
    let before = sandbox.git(["rev-parse", "main"]);
    let hash = land(&sandbox, "L1-001", "Add invoices");
    let old = sandbox.git(["rev-parse", "main"]);
    sandbox.git(["reset", "-q", "--hard", &before]);
    commit(&sandbox, "more.txt", "more\n", "More");
    sandbox.git(["cherry-pick", &format!("{old}^2")]);
    let new = sandbox.git(["rev-parse", "main"]);
    claim(&sandbox, &[("L1-001", &hash)]);
    let why = format!("its commit {hash} is not part of the target, but {} there names it", short(&new));
    believes(&sandbox, FIRST, &why);
}

#[test]
fn what_was_squashed_is_known_by_its_trailer() {
    let sandbox = shop();
    let hash = lost(&sandbox, WORK);
    commit(&sandbox, "src/L1-001.txt", "mended in review\n", "feat: invoices (#4)\n\nTask: L1-001");
    claim(&sandbox, &[("L1-001", &hash)]);
    believes(&sandbox, FIRST, "there names it");
}

/// Ids come back in every plan: what was there before the work began is not it.
#[test]
fn a_trailer_from_before_the_work_began_is_another_plans() {
    let sandbox = shop();
    commit(&sandbox, "old.txt", "old\n", "feat: something old\n\nTask: L1-001");
    let hash = lost(&sandbox, WORK);
    claim(&sandbox, &[("L1-001", &hash)]);
    believes(&sandbox, NONE, "is not part of the target");
}

#[test]
fn what_was_squashed_is_known_by_the_files_it_leaves() {
    let sandbox = shop();
    let hash =
        lost(&sandbox, &[("src/L1-001.txt", "half\n"), ("src/L1-001.txt", "done\n"), ("src/b.txt", "b\n")]);
    let squashed = squash(&sandbox, &hash, "Invoices (#4)");
    commit(&sandbox, "more.txt", "more\n", "More");
    claim(&sandbox, &[("L1-001", &hash)]);
    believes(&sandbox, FIRST, &format!("but {} there leaves the same files", short(&squashed)));
    // What it is believed by is what the run goes on with.
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0).lacks("L1-001   attempt");
    assert_eq!(state(&sandbox)["tasks"]["L1-001"]["commits"][0]["hash"], hash.as_str());
}

/// On another base, beside another person's change of the same file.
#[test]
fn what_was_squashed_is_known_by_its_change() {
    let sandbox = shop();
    let long: String = (0..30).map(|n| format!("line {n}\n")).collect();
    commit(&sandbox, "src/log.txt", &long, "Log");
    let changed = long.replace("line 20\n", "line 20\n  and more\n");
    let hash = lost(&sandbox, &[("src/log.txt", &changed), ("src/L1-001.txt", "done\n")]);
    commit(&sandbox, "src/log.txt", &long.replace("line 1\n", "line 1\nmine\n"), "Mine");
    let squashed = squash(&sandbox, &hash, "Invoices (#4)");
    claim(&sandbox, &[("L1-001", &hash)]);
    believes(&sandbox, FIRST, &format!("but {} there makes the same change", short(&squashed)));
}

#[test]
fn what_was_rebased_in_other_words_is_known_by_its_changes() {
    let sandbox = shop();
    let hash = lost(&sandbox, &[("src/a.txt", "a\n"), ("src/L1-001.txt", "done\n")]);
    commit(&sandbox, "more.txt", "more\n", "More");
    sandbox.git(["cherry-pick", &format!("{hash}^")]);
    sandbox.git(["commit", "-q", "--amend", "-m", "Other words"]);
    claim(&sandbox, &[("L1-001", &hash)]);
    let half = sandbox.run(&format!("import {PLAN} --dry-run")).exits(0);
    let _ = half.says("completed → pending: its commit");
    sandbox.git(["cherry-pick", &hash]);
    believes(&sandbox, FIRST, "there makes the same change");
}

#[test]
fn a_change_of_nothing_is_not_done_by_whatever_is_there() {
    let sandbox = shop();
    sandbox.git(["switch", "-q", "-c", "lost"]);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "Nothing"]);
    let hash = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.git(["switch", "-q", "main"]);
    sandbox.git(["branch", "-q", "-D", "lost"]);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "Nothing else"]);
    claim(&sandbox, &[("L1-001", &hash)]);
    believes(&sandbox, NONE, "is not part of the target");
}

/// The task put back what was there before it, so the same files are older than the task.
#[test]
fn what_was_there_before_the_work_began_is_not_the_work() {
    let sandbox = shop();
    commit(&sandbox, "src/L1-001.txt", "done\n", "Done once");
    commit(&sandbox, "src/L1-001.txt", "undone\n", "Undone");
    let hash = lost(&sandbox, WORK);
    claim(&sandbox, &[("L1-001", &hash)]);
    believes(&sandbox, NONE, "is not part of the target");
}

#[test]
fn what_was_taken_back_since_is_not_done() {
    // By a message that says so, by one that does not, and beside other work on the same file.
    for way in ["revert", "in silence", "in part"] {
        let sandbox = shop();
        let long: String = (0..30).map(|n| format!("line {n}\n")).collect();
        commit(&sandbox, "src/L1-001.txt", &long, "Log");
        let changed = long.replace("line 20\n", "done\n");
        let hash = lost(&sandbox, &[("src/L1-001.txt", &changed)]);
        let squashed = squash(&sandbox, &hash, "Invoices (#4)");
        match way {
            "revert" => drop(sandbox.git(["revert", "--no-edit", &squashed])),
            "in silence" => drop(commit(&sandbox, "src/L1-001.txt", &long, "Tidy up")),
            _ => {
                commit(&sandbox, "src/L1-001.txt", &changed.replace("line 1\n", "mine\n"), "Mine");
                sandbox.git(["revert", "--no-edit", &squashed]);
            }
        }
        claim(&sandbox, &[("L1-001", &hash)]);
        believes(&sandbox, NONE, "is not part of the target");
    }
}

#[test]
fn what_a_revert_took_back_is_done_when_the_revert_is_taken_back() {
    let sandbox = shop();
    let hash = lost(&sandbox, WORK);
    let squashed = squash(&sandbox, &hash, "Invoices (#4)");
    sandbox.git(["revert", "--no-edit", &squashed]);
    sandbox.git(["revert", "--no-edit", "HEAD"]);
    claim(&sandbox, &[("L1-001", &hash)]);
    believes(&sandbox, FIRST, "not part of the target, but");
}

/// Whether it was recorded, or is known by its name.
#[test]
fn a_landing_that_a_person_reverted_is_not_done() {
    for recorded in [true, false] {
        for merge in [true, false] {
            let sandbox = shop();
            let hash = land(&sandbox, "L1-001", "Add invoices");
            match merge {
                true => drop(sandbox.git(["revert", "--no-edit", "-m", "1", "HEAD"])),
                false => drop(sandbox.git(["revert", "--no-edit", "HEAD^2"])),
            }
            let by = sandbox.git(["rev-parse", "HEAD"]);
            let status = if recorded { "completed" } else { "pending" };
            let commits = if recorded { json!([{ "hash": hash }]) } else { json!([]) };
            leave(&sandbox, &json!({ "L1-001": { "status": status, "attempts": 1, "commits": commits } }));
            let out = sandbox.run(&format!("import {PLAN}")).exits(0);
            if recorded {
                let _ = out.says(&format!("completed → pending: {} reverted its work", short(&by)));
            }
            assert_eq!(statuses(&sandbox), NONE);
        }
    }
}

#[test]
fn one_change_is_the_work_of_one_task() {
    let sandbox = shop();
    let first = lost(&sandbox, &[("src/same.txt", "same\n")]);
    sandbox.git(["switch", "-q", "-c", "other"]);
    let second = commit(&sandbox, "src/same.txt", "same\n", "Work of another day");
    sandbox.git(["switch", "-q", "main"]);
    assert_ne!(first, second);
    let squashed = squash(&sandbox, &first, "The same (#4)");
    claim(&sandbox, &[("L1-001", &first), ("L1-002", &second)]);
    let why = format!("{} there does the same, but for L1-001", short(&squashed));
    believes(&sandbox, FIRST, &why);
}

/// The one landed as it should, the other never did.
#[test]
fn the_landing_of_another_task_with_the_same_change_does_not_count() {
    let sandbox = shop();
    let second = lost(&sandbox, &[("src/L1-001.txt", "done\n")]);
    let first = land(&sandbox, "L1-001", "Add invoices");
    claim(&sandbox, &[("L1-001", &first), ("L1-002", &second)]);
    believes(&sandbox, FIRST, "there does the same, but for L1-001");
}

/// Models like to write down the commit that happens to be checked out.
#[test]
fn a_commit_that_is_recorded_for_everything_proves_nothing() {
    let sandbox = shop();
    let first = land(&sandbox, "L1-001", "Add invoices");
    let merge = sandbox.git(["rev-parse", "HEAD"]);
    claim(&sandbox, &[("L1-001", &first), ("L1-002", &merge)]);
    believes(&sandbox, FIRST, &format!("its commit {} also belongs to L1-001", short(&merge)));
    let sandbox = shop();
    let plan = sandbox.git(["rev-parse", "HEAD"]);
    claim(&sandbox, &[("L1-001", &plan), ("L1-002", &plan)]);
    believes(&sandbox, NONE, &format!("its commit {} also belongs to L1-002", short(&plan)));
}

#[test]
fn a_change_that_differs_only_in_blanks_is_another_change() {
    let sandbox = shop();
    let hash = lost(&sandbox, &[("src/L1-001.txt", "if done:\n    stop\n")]);
    commit(&sandbox, "src/L1-001.txt", "if done:\nstop\n", "Nearly");
    claim(&sandbox, &[("L1-001", &hash)]);
    believes(&sandbox, NONE, "is not part of the target");
}

#[test]
fn work_that_was_being_merged_and_is_squashed_into_the_base_is_completed() {
    let sandbox = shop();
    let hash = lost(&sandbox, WORK);
    let squashed = squash(&sandbox, &hash, "Invoices (#4)");
    leave(
        &sandbox,
        &json!({ "L1-001": { "status": "merging", "attempts": 1, "commits": [{ "hash": hash }] } }),
    );
    believes(&sandbox, FIRST, &format!("but {} there leaves the same files", short(&squashed)));
}

/// A person worked on a branch, squashed all of it into the target, and goes on there.
#[test]
fn a_branch_of_many_tasks_that_was_squashed_is_known_as_a_whole() {
    for branch_is_there in [true, false] {
        let sandbox = shop();
        sandbox.git(["switch", "-q", "-c", "feature"]);
        let mut tasks = Vec::new();
        for id in ["L1-001", "L1-002"] {
            sandbox.git(["switch", "-q", "-c", "work"]);
            let hash = commit(&sandbox, &format!("src/{id}.txt"), "done\n", "Work");
            sandbox.git(["switch", "-q", "feature"]);
            sandbox.git(["merge", "-q", "--no-ff", "-m", "Merge", "work"]);
            sandbox.git(["branch", "-q", "-d", "work"]);
            tasks.push((id, hash));
        }
        sandbox.git(["switch", "-q", "main"]);
        commit(&sandbox, "more.txt", "more\n", "More");
        let squashed = squash(&sandbox, "feature", "All of it (#4)");
        if !branch_is_there {
            sandbox.git(["branch", "-q", "-D", "feature"]);
        }
        claim(&sandbox, &[("L1-001", &tasks[0].1), ("L1-002", &tasks[1].1)]);
        let why = format!("but {} there contains it, with other work", short(&squashed));
        let _ = sandbox
            .run(&format!("import {PLAN} --dry-run"))
            .exits(0)
            .says(&why)
            .says("2 completed, 1 to be done");
        // A part of it may be taken back.
        sandbox.git(["rm", "-q", "src/L1-001.txt"]);
        sandbox.git(["commit", "-q", "-m", "Not yet"]);
        believes(&sandbox, ["pending", "completed", "pending"], "1 completed, 2 to be done");
    }
}

/// The branch went on: what was squashed is not all of it.
#[test]
fn what_a_squashed_branch_did_not_have_yet_is_not_done() {
    let sandbox = shop();
    sandbox.git(["switch", "-q", "-c", "feature"]);
    let first = commit(&sandbox, "src/L1-001.txt", "done\n", "Work");
    sandbox.git(["switch", "-q", "main"]);
    squash(&sandbox, "feature", "The first (#4)");
    sandbox.git(["switch", "-q", "feature"]);
    let second = commit(&sandbox, "src/L1-002.txt", "done\n", "Work");
    sandbox.git(["switch", "-q", "main"]);
    claim(&sandbox, &[("L1-001", &first), ("L1-002", &second)]);
    believes(&sandbox, FIRST, "there leaves the same files");
}

/// A run of Piton's own, whose landings a person squashed, rebased in other words, or threw away.
#[test]
fn a_run_goes_on_after_its_landings_were_rewritten() {
    for (way, done) in [("squashed", true), ("squashed beside other work", true), ("thrown away", false)] {
        let sandbox = shop();
        let before = sandbox.git(["rev-parse", "main"]);
        let _ = sandbox.run(&format!("run {PLAN} --layer 1-foundation")).exits(0);
        let landed = sandbox.git(["rev-parse", "main"]);
        sandbox.git(["reset", "-q", "--hard", &before]);
        match way {
            "squashed" => drop(squash(&sandbox, &landed, "All of it")),
            "thrown away" => {}
            _ => {
                commit(&sandbox, "more.txt", "more\n", "More");
                squash(&sandbox, &landed, "All of it");
            }
        }
        let run = sandbox.run(&format!("run {PLAN}")).exits(0);
        assert_eq!(run.contains("no longer landed"), !done, "{way}\n{run}");
        assert_eq!(run.contains("L1-001   attempt"), !done, "{way}\n{run}");
        assert_eq!(statuses(&sandbox), ["completed"; 3], "{way}");
        let _ = sandbox.run("doctor").exits(0);
    }
}
