//! Landing: what reaches the target, what does not, and what happens to the checkout of a person.

use crate::{count, sandbox, status};
use piton_testkit::sandbox::{Sandbox, task, writers};

#[test]
fn a_conflict_is_resolved_by_its_agent() {
    let sandbox = sandbox();
    sandbox.write("log.txt", "Log\n");
    sandbox
        .plan(&(task("A", "checks = ['grep -q A log.txt']") + &task("B", "checks = ['grep -q B log.txt']")));
    sandbox.fifo("gate");
    sandbox.script(
        "[A]\nappend log.txt A\n[B]\nif-conflict write log.txt Log\\nA\\nB\nif-conflict exit 0\nappend log.txt B\nmeet SIDE/gate\n",
    );
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("A        landed");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).says("could not land: merge conflict in log.txt").lacks("attempt 2");
    assert_eq!(sandbox.read("log.txt"), "Log\nA\nB\n");
}

#[test]
fn conflict_markers_do_not_land() {
    let sandbox = sandbox();
    sandbox.write("log.txt", "Log\n");
    sandbox.plan(&(task("A", "checks = ['true']") + &task("B", "checks = ['true']\nattempts = 1")));
    sandbox.fifo("gate");
    sandbox.script("[A]\nappend log.txt A\n[B]\nif-conflict exit 0\nappend log.txt B\nmeet SIDE/gate\n");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("A        landed");
    sandbox.meet("gate");
    let _ = run.wait().exits(4).says("conflict markers left in log.txt");
    assert_eq!(sandbox.git(["show", "main:log.txt"]), "Log\nA");
}

/// Two tasks that are fine alone and too heavy together; the second fixes it.
fn heavy(sandbox: &Sandbox, policy: &str, check: &str) {
    sandbox.write("pack/.keep", "");
    let check = format!("checks = [\"{check}\"]");
    sandbox.plan_with(policy, &(task("A", &check) + &task("B", &check)));
    sandbox.fifo("gate");
    sandbox.script("[A]\nwrite pack/a 6\n[B]\nif-feedback write pack/b 3\nif-feedback exit 0\nwrite pack/b 6\nmeet SIDE/gate\n");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("A        landed");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).says("could not land: together with what landed before: check");
}

/// Every commit the target ever was must be light enough.
fn was_never_red(sandbox: &Sandbox) {
    let commits = sandbox.git(["rev-list", "--first-parent", "main"]);
    assert_eq!(commits.lines().count(), 4);
    for commit in commits.lines() {
        let weights = ["a", "b"].map(|file| {
            let there = sandbox.git(["ls-tree", "--name-only", commit, &format!("pack/{file}")]);
            if there.is_empty() {
                0
            } else {
                sandbox.git(["show", &format!("{commit}:pack/{file}")]).parse::<u32>().expect("a number")
            }
        });
        assert!(weights.iter().sum::<u32>() <= 10, "{commit} is red: {weights:?}");
    }
    assert_eq!(sandbox.git(["show", "main:pack/b"]), "3");
}

#[test]
fn red_together_is_caught_before_the_target_moves() {
    let sandbox = sandbox();
    heavy(&sandbox, "", &light());
    was_never_red(&sandbox);
}

/// In plain shell: the weights in `pack` come to ten at most.
fn light() -> String {
    "w=0; for f in pack/*; do w=$((w + $(cat $f))); done; test $w -le 10".to_owned()
}

#[test]
fn the_check_of_a_neighbour_counts_too() {
    let sandbox = sandbox();
    // Only A knows the limit; B lands after it.
    sandbox.write("pack/.keep", "");
    let limit = format!("checks = [\"{}\"]", light());
    sandbox.plan(&(task("A", &limit) + &task("B", "checks = ['test -s pack/b']")));
    sandbox.fifo("gate");
    sandbox.script("[A]\nwrite pack/a 6\n[B]\nif-feedback write pack/b 3\nif-feedback exit 0\nwrite pack/b 6\nmeet SIDE/gate\n");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("A        landed");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).says("together with what landed before");
    was_never_red(&sandbox);
}

/// B is checked together with what judges A. Each of the two checks waits for the other to begin.
#[test]
fn the_checks_of_different_tasks_run_beside_each_other() {
    let sandbox = sandbox();
    let root = sandbox.root().to_string();
    sandbox.fifo("gate");
    sandbox.fifo("met");
    sandbox.program("a", &format!("! test -e B.txt || cat {root}/met"));
    sandbox.program("b", &format!("echo > {root}/met"));
    let check = |name: &str| format!("checks = ['{root}/bin/{name}']");
    let tasks = task("A", &check("a")) + &task("B", &check("b"));
    sandbox.plan_with("landing_parallel = 2", &tasks);
    sandbox.script("[A]\nwrite A.txt a\n[B]\nwrite B.txt b\nmeet SIDE/gate\n");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("A        landed");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).says("B        landed").lacks("attempt 2");
}

/// A and B are red together as soon as what judges B says so. What judges A would not end there by itself.
#[test]
fn once_a_group_is_red_its_other_checks_are_ended() {
    let sandbox = sandbox();
    let root = sandbox.root().to_string();
    for fifo in ["gate", "held", "arrived", "never"] {
        sandbox.fifo(fifo);
    }
    let once = format!("mkdir {root}/$(basename $0).once 2>/dev/null &&");
    let together = format!("{once} {{ echo > {root}/arrived; exec cat {root}/never; }}; exit 0");
    sandbox.program("a", &format!("if test -e B.txt; then {together}; fi\ncat {root}/held"));
    sandbox.program("b", &format!("{once} cat {root}/arrived\ntest -e fixed.txt || ! test -e A.txt"));
    let check = |name: &str| format!("checks = ['{root}/bin/{name}']");
    let tasks = task("A", &check("a")) + &task("B", &check("b"));
    sandbox.plan_with("landing_parallel = 4", &tasks);
    sandbox.script("[A]\nwrite A.txt a\n[B]\nif-feedback write fixed.txt x\nif-feedback exit 0\nwrite B.txt b\nmeet SIDE/gate\n");
    let mut run = sandbox.piton(["run", "plan.toml", "--verbose"]).spawn();
    run.until_says("A        waits for its checks");
    sandbox.meet("gate");
    run.until_says("not all can land together");
    sandbox.meet("held");
    let _ = run.wait().exits(0).says("A        landed").says("B        landed");
}

#[test]
fn the_plans_landing_checks_run_on_the_merged_tree() {
    let sandbox = sandbox();
    let policy = format!("landing_checks = [\"{}\"]", light());
    heavy(&sandbox, &policy, "ls pack");
    was_never_red(&sandbox);
    let _ = sandbox.run("plan plan.toml").exits(0).says("before each landing");
}

#[test]
fn a_landing_check_that_fails_alone_keeps_the_work_away() {
    let sandbox = sandbox();
    sandbox.plan_with("landing_checks = ['test ! -e T1.txt']", &task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(sandbox.history("main"), ["First commit", "Plan"]);
}

#[test]
fn a_dirty_checkout_is_left_alone_while_work_lands() {
    let sandbox = sandbox();
    sandbox.write("mine.txt", "one\n");
    sandbox.write("staged.txt", "one\n");
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    sandbox.write("mine.txt", "two\n");
    sandbox.write("staged.txt", "two\n");
    sandbox.git(["add", "staged.txt"]);
    sandbox.write("untracked.txt", "three\n");
    let before = sandbox.git(["status", "--porcelain"]);
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.git(["status", "--porcelain"]), before);
    assert_eq!(
        ["mine.txt", "staged.txt", "untracked.txt", "T1.txt"].map(|file| sandbox.read(file)),
        ["two\n", "two\n", "three\n", "done\n"]
    );
    assert_eq!(sandbox.git(["stash", "list"]), "");
    assert_eq!(sandbox.git(["diff", "--cached", "--name-only"]), "staged.txt");
}

#[test]
fn while_a_landing_waits_for_a_checkout_others_are_checked() {
    let sandbox = sandbox();
    let tasks = task("T1", "") + &task("T2", "attempts = 1\nchecks = ['false']") + &task("T3", "");
    sandbox.plan(&tasks);
    let _ = (sandbox.fifo("two"), sandbox.fifo("three"));
    sandbox.script(
        "[T1]\nwrite T1.txt x\n[T2]\nmeet SIDE/two\nwrite T2.txt x\n[T3]\nmeet SIDE/three\nwrite T3.txt x\n",
    );
    sandbox.write("T1.txt", "mine");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("T1       landing waits");
    sandbox.meet("two");
    sandbox.meet("three");
    run.until_says("T2       failed: check `false` failed with exit status 1; abandoned");
    run.until_says("T3       verified, waits to land");
    std::fs::remove_file(sandbox.project().join("T1.txt")).expect("our own file");
    let _ = run.wait().exits(4).says("T3       landed");
}

#[test]
fn landing_waits_for_the_files_concerned() {
    let sandbox = sandbox();
    sandbox.plan_with(
        "landing_wait = '0s'",
        &(task("T1", "checks = ['grep -q more README.md']") + &task("T2", "")),
    );
    sandbox.script(&format!("[T1]\nappend README.md more\n{}", writers(&["T2"])));
    sandbox.write("README.md", "My own words\n");
    let waits = sandbox.run("run plan.toml --task T1").exits(3);
    shows!(waits, @r"
    exit: 3
    --- stdout
    plan-[RUN] stopped: [ROOT]/project has uncommitted changes in README.md, landing on main
      ▸ main             ░░░░░░░░░░░░░░░░░░░░ 0/2  1 pending, 1 merging

      ◆ T1       merging for [SPAN]  Do T1  [ROOT]/project has uncommitted changes in README.md
      0 landed, 2 not done; took [SPAN]; what it has cost is unknown
    --- stderr
    plan-[RUN] 2 tasks in [ROOT]/project, landing on main
    [TIME]          engine started, 3 at a time
    [TIME] T1       attempt 1 started
    [TIME] T1       verified, waits to land
    [TIME] T1       landing waits: [ROOT]/project has uncommitted changes in README.md
    [TIME]          stopped because landing waits: [ROOT]/project has uncommitted changes in README.md


    hint: commit, stash or fix what is in the way, then `piton run` again
    hint: or begin with --onto BRANCH to land elsewhere
    ");
    assert_eq!(sandbox.read("README.md"), "My own words\n");
    let _ = sandbox.run("why T1").exits(0).says("T1 is proven; landing waits");
    sandbox.git(["checkout", "-q", "README.md"]);
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.read("README.md"), "A project\nmore\n");
    assert_eq!(count(&sandbox.events(), "attempt_started"), 2, "work that was proven was done again");
}

#[test]
fn landing_goes_on_by_itself_once_the_files_are_clean() {
    let sandbox = sandbox();
    sandbox.plan_with("landing_wait = '10m'", &task("T1", "checks = ['grep -q more README.md']"));
    sandbox.script("[T1]\nappend README.md more\n");
    sandbox.write("README.md", "My own words\n");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("landing waits");
    sandbox.git(["checkout", "-q", "README.md"]);
    let _ = run.wait().exits(0);
    assert_eq!(sandbox.read("README.md"), "A project\nmore\n");
}

#[test]
fn an_untracked_file_in_the_way_is_not_overwritten() {
    let sandbox = sandbox();
    sandbox.plan_with("landing_wait = '0s'", &task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    sandbox.write("T1.txt", "precious\n");
    let _ = sandbox.run("run plan.toml").exits(3).says("T1.txt");
    assert_eq!(sandbox.read("T1.txt"), "precious\n");
}

#[test]
fn a_person_who_commits_to_the_target_meanwhile_is_merged_with() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.fifo("gate");
    sandbox.fifo("arrived");
    sandbox.script("[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n");
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    sandbox.write("person.txt", "me too\n");
    sandbox.commit("By a person");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    assert_eq!(sandbox.history("main"), ["First commit", "Plan", "By a person", "Merge worktree-T1: Do T1"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn a_landing_that_a_person_took_back_is_done_again() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    sandbox.script(&writers(&["T1", "T2"]));
    let _ = sandbox.run("run plan.toml --max-parallel 1").exits(0);
    // T2 landed last; taking it back leaves T1 as it is.
    sandbox.git(["reset", "-q", "--hard", "main^1"]);
    let _ = sandbox.run("doctor").exits(1).says("T2 landed as").says("it is not in the history of `main`");
    let _ = sandbox.run("run plan.toml").exits(0).says("no longer landed as").lacks("T1       attempt");
    assert_eq!(sandbox.read("T2.txt"), "done\n");
    assert_eq!(status(&sandbox, "T2"), "completed");
}

#[test]
fn a_rewritten_landing_is_known_by_its_trailers() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    sandbox.git(["commit", "-q", "--amend", "--no-edit", "--date=2001-01-01T00:00:00Z"]);
    let _ = sandbox.run("run plan.toml").exits(0).lacks("no longer landed").lacks("attempt 1");
}

#[test]
fn a_work_that_is_in_the_target_already_is_found() {
    let sandbox = sandbox();
    sandbox.plan_with("landing_wait = '0s'", &task("T1", "checks = ['grep -q more README.md']"));
    sandbox.script("[T1]\nappend README.md more\n");
    sandbox.write("README.md", "My own words\n");
    let _ = sandbox.run("run plan.toml").exits(3);
    // The person merges the branch by hand instead of waiting.
    sandbox.git(["checkout", "-q", "README.md"]);
    sandbox.git(["merge", "-q", "--no-ff", "-m", "By hand", "worktree-T1"]);
    let _ = sandbox.run("run plan.toml").exits(0).lacks("attempt 1");
    assert_eq!(sandbox.history("main").last().map(String::as_str), Some("By hand"));
}

#[test]
fn a_target_checked_out_elsewhere_is_moved_there() {
    let sandbox = sandbox();
    sandbox.plan_with("landing_wait = '0s'", &(task("T1", "") + &task("T2", "")));
    sandbox.script(&writers(&["T1", "T2"]));
    sandbox.git(["switch", "-q", "-c", "other"]);
    let elsewhere = sandbox.root().join("elsewhere");
    sandbox.git(["worktree", "add", "-q", elsewhere.as_str(), "main"]);
    let _ = sandbox.run("run plan.toml --base-branch main --task T1").exits(0);
    assert_eq!(sandbox.read(elsewhere.join("T1.txt")), "done\n");
    assert_eq!(sandbox.git_in(&elsewhere, ["status", "--porcelain"]), "");
    sandbox.write(elsewhere.join("T2.txt"), "precious\n");
    let _ = sandbox.run("run plan.toml").exits(3).says("[ROOT]/elsewhere");
    assert_eq!(sandbox.read(elsewhere.join("T2.txt")), "precious\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn a_file_deleted_on_one_side_is_decided_by_the_agent() {
    let sandbox = sandbox();
    sandbox.write("log.txt", "Log\n");
    sandbox.plan(&(task("A", "checks = ['test ! -e log.txt']") + &task("B", "checks = ['test -s B.txt']")));
    sandbox.fifo("gate");
    sandbox.script(
        "[A]\nremove log.txt\n[B]\nif-conflict run git rm -q log.txt\nif-conflict exit 0\nappend log.txt B\nwrite B.txt x\nmeet SIDE/gate\n",
    );
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("A        landed");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).says("could not land: merge conflict in log.txt");
    assert_eq!(sandbox.git(["ls-tree", "--name-only", "main"]), "B.txt\nREADME.md\nplan.toml");
}

#[test]
fn links_modes_and_odd_names_land_as_they_are() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "*.log\n");
    let agent = "echo x > 'ein name.txt'; echo y > -rf; ln -s README.md link; echo '#!/bin/sh' > tool; chmod +x tool; echo z > debug.log; echo 1 > T1.txt";
    sandbox.program("agent", agent);
    sandbox.write(
        "plan.toml",
        &format!("[agents.default]\ncommand = ['{}/bin/agent']\n{}", sandbox.root(), task("T1", "")),
    );
    sandbox.commit("Plan");
    let _ = sandbox.run("run plan.toml").exits(0);
    let tree = sandbox.git(["ls-tree", "--format=%(objectmode) %(path)", "main"]);
    shows!(tree, @r"
    100644 -rf
    100644 .gitignore
    100644 README.md
    100644 T1.txt
    100644 ein name.txt
    120000 link
    100644 plan.toml
    100755 tool
    ");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

/// Two tasks that an agent verifies; the second lands after the first.
fn verified_apart(second: &str) -> Sandbox {
    let sandbox = sandbox();
    let looker = "read -r text; echo look >> SIDE/looks; cat >> SIDE/looks; test -e SIDE/silent || echo 'FINDINGS: none'";
    let looker = looker.replace("SIDE", sandbox.root().as_str());
    sandbox.write(
        "piton.toml",
        &format!("[agents.looker]\ncommand = ['sh', '-c', \"\"\"{looker}\"\"\"]\n[policy]\nbackoff = '0s'\n"),
    );
    let check = |id: &str| format!("checks = [{{ review = 'looker', ask = 'whether {id} is done: well' }}]");
    sandbox.plan(&(task("A", &check("A")) + &task("B", &check("B"))));
    sandbox.fifo("gate");
    sandbox.script(&format!("[A]\nwrite A.txt a\n[B]\n{second}\nmeet SIDE/gate\n"));
    sandbox
}

fn looks(sandbox: &Sandbox) -> usize {
    sandbox.read(sandbox.root().join("looks")).lines().filter(|line| *line == "look").count()
}

/// An agent's verdict is about files. A landing that leaves them alone need not pay for it again.
#[test]
fn verifiers_are_asked_again_only_about_files_that_changed() {
    let conflicts = "if-conflict write A.txt c\nif-conflict exit 0\nwrite A.txt b";
    for (second, asked) in [("write B.txt b", 2), (conflicts, 4)] {
        let sandbox = verified_apart(second);
        let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
        run.until_says("A        landed");
        sandbox.meet("gate");
        let _ = run.wait().exits(0);
        assert_eq!(looks(&sandbox), asked, "{}", sandbox.read(sandbox.root().join("looks")));
    }
}

/// The reviewer of another task does not judge: the task that lands is not to blame.
#[test]
fn a_silent_verifier_costs_no_task_an_attempt() {
    let sandbox = verified_apart("write B.txt b");
    sandbox.write(sandbox.root().join("silent"), "");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("did not judge: it did not say what it found");
    std::fs::remove_file(sandbox.root().join("silent")).expect("it is there");
    run.until_says("A        landed");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).lacks("attempt 2");
}

/// A plan of four tasks, one of which is held in its landing check until the others wait behind it.
fn three_behind_one(policy: &str, check: &str) -> (Sandbox, String) {
    let sandbox = sandbox();
    let root = sandbox.root().to_string();
    sandbox.program(
        "held",
        &format!("echo x >> {root}/runs\ntest -e {root}/held || {{ touch {root}/held; cat {root}/arrived {root}/gate; }}"),
    );
    for fifo in ["arrived", "gate", "b", "c", "d"] {
        sandbox.fifo(fifo);
    }
    let names = ["A", "B", "C", "D"];
    let tasks: String = names.iter().map(|name| task(name, check)).collect();
    let policy =
        format!("max_parallel = 4\nlanding_parallel = 1\nlanding_checks = ['{root}/bin/held']\n{policy}");
    sandbox.plan_with(&policy, &tasks);
    sandbox.script(
        "[A]\nwrite pack/a 1\n[B]\nif-feedback write pack/b 1\nif-feedback exit 0\nmeet SIDE/b\nwrite pack/b 4\n\
         [C]\nif-feedback write pack/c 1\nif-feedback exit 0\nmeet SIDE/c\nwrite pack/c 4\n[D]\nmeet SIDE/d\nwrite pack/d 1\n",
    );
    let mut run = sandbox.piton(["run", "plan.toml", "--verbose"]).spawn();
    sandbox.meet("arrived");
    for fifo in ["b", "c", "d"] {
        sandbox.meet(fifo);
    }
    for name in ["B", "C", "D"] {
        run.until_says(&format!("{name}        waits for its checks"));
    }
    let queue = sandbox.run("queue").exits(0).stdout;
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    (sandbox, queue)
}

fn merges(sandbox: &Sandbox) -> String {
    sandbox.git(["rev-list", "--count", "--merges", "--first-parent", "main"])
}

#[test]
fn those_who_wait_are_checked_together_and_land_in_one_move() {
    let (sandbox, queue) = three_behind_one("", "checks = ['true']");
    assert!(queue.contains("is being checked where it is to land"), "{queue}");
    assert_eq!(sandbox.read(sandbox.root().join("runs")).lines().count(), 2, "one check for three tasks");
    assert_eq!(merges(&sandbox), "4", "each has one of its own");
    let moves = sandbox.git(["reflog", "main"]);
    assert_eq!(moves.lines().filter(|line| line.contains("piton")).count(), 2, "{moves}");
}

#[test]
fn one_by_one_each_of_those_who_wait_is_checked() {
    let (sandbox, _) = three_behind_one("land = 'each'", "checks = ['true']");
    assert_eq!(sandbox.read(sandbox.root().join("runs")).lines().count(), 4);
    assert_eq!(merges(&sandbox), "4");
}

/// B and C are fine alone and too heavy together. D has nothing to do with it.
#[test]
fn of_a_group_that_is_red_the_good_ones_land_and_the_other_is_told_with_whom_it_is_red() {
    let light = r#"checks = ["test $(cat pack/* | awk '{ s += $1 } END { print s }') -le 7"]"#;
    let (sandbox, _) = three_behind_one("", light);
    assert_eq!(sandbox.git(["ls-tree", "--name-only", "main:pack"]), "a\nb\nc\nd");
    let _ = sandbox.run("log").exits(0).says("not all can land together, so fewer are checked at once");
}

/// A check that counts its runs, and fails in those that are named.
fn failing_in(sandbox: &Sandbox, runs: &[u32]) -> String {
    let root = sandbox.root().to_string();
    let failing = runs.iter().map(|run| format!("test $n -ne {run} || exit 1\n")).collect::<String>();
    sandbox.program("count", &format!("echo x >> {root}/runs\nn=$(wc -l < {root}/runs)\n{failing}"));
    format!("{root}/bin/count")
}

fn runs(sandbox: &Sandbox) -> usize {
    sandbox.read(sandbox.root().join("runs")).lines().count()
}

#[test]
fn work_is_checked_once_where_it_is_to_land() {
    let sandbox = sandbox();
    let check = failing_in(&sandbox, &[]);
    sandbox.plan(&task("T1", &format!("checks = ['{check}']")));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(runs(&sandbox), 1);
    let _ = sandbox.run("checks").exits(0).says("     1       1       0").says("bin/count");
}

#[test]
fn a_check_that_is_red_and_then_passes_twice_on_the_same_files_flakes_and_costs_nothing() {
    let sandbox = sandbox();
    let check = failing_in(&sandbox, &[1]);
    sandbox.plan(&task("T1", &format!("checks = ['{check}']\nattempts = 1")));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ = sandbox
        .run("run plan.toml")
        .exits(0)
        .says("red, then passed on the same tree")
        .says("T1       landed");
    assert_eq!(runs(&sandbox), 3, "red, and two passes");
    let _ = sandbox.run("checks").exits(0).says("     3       2       1").says("it spends no attempt");
    let _ = sandbox.run("status").exits(0).says("1 check flakes");
    let counted: serde_json::Value =
        serde_json::from_str(&sandbox.run("checks --json").exits(0).stdout).expect("it is JSON");
    assert_eq!((&counted[0]["runs"], &counted[0]["flakes"]), (&3.into(), &1.into()));
}

#[test]
fn a_check_that_is_red_twice_is_red() {
    let sandbox = sandbox();
    let check = failing_in(&sandbox, &[1, 2]);
    sandbox.plan(&task("T1", &format!("checks = ['{check}']\nattempts = 1")));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("check `").lacks("red, then passed");
    assert_eq!((runs(&sandbox), status(&sandbox, "T1")), (2, "abandoned".to_owned()));
}

/// T2 begins before T1 lands, and is done after it. What is red is red without T1 as well.
#[test]
fn what_is_red_without_the_target_too_is_the_work_of_its_agent() {
    let sandbox = sandbox();
    sandbox.fifo("later");
    let tasks = task("T1", "") + &task("T2", "checks = ['test -e T2.txt']");
    sandbox.plan_with("max_parallel = 2\nlanding_checks = ['! grep -q bad T2.txt']", &tasks);
    sandbox.script("[T1]\nwrite T1.txt x\n[T2]\nif-feedback write T2.txt good\nif-feedback exit 0\nmeet SIDE/later\nwrite T2.txt bad\n");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("T1       landed");
    sandbox.meet("later");
    let said = run.wait().exits(0).says("T2       attempt 2 started").says("T2       landed");
    let _ = said.lacks("together with what landed before");
}

/// A landing check that counts its runs. T1 lands, then T2 asks for the same check and changes nothing.
fn count_runs_of(sandbox: &Sandbox, more: &str) -> usize {
    let check = format!("{{ run = '{}'{more} }}", failing_in(sandbox, &[]));
    let same = format!("checks = [{check}]\ndepends_on = ['T1']\nmay_change_nothing = true");
    sandbox.plan_with(&format!("landing_checks = [{check}]"), &(task("T1", "") + &task("T2", &same)));
    sandbox.script("[T1]\nwrite T1.txt x\n[T2]\nsay all is there\n[T3]\nsay all is there\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    runs(sandbox)
}

#[test]
fn a_pass_is_not_paid_for_twice() {
    assert_eq!(count_runs_of(&sandbox(), ""), 1, "T2 has the files that T1 has landed");
}

#[test]
fn a_check_that_is_not_cached_runs_each_time() {
    assert!(count_runs_of(&sandbox(), ", cache = false") > 1);
}

#[test]
fn a_pass_counts_for_other_runs() {
    let sandbox = sandbox();
    let once = count_runs_of(&sandbox, "");
    let plan = sandbox.read(sandbox.project().join("plan.toml"));
    let head = plan.split("[[task]]").next().unwrap_or_default();
    let check = format!("checks = ['{}/bin/count']\nmay_change_nothing = true", sandbox.root());
    sandbox.write("other.toml", &(head.to_owned() + &task("T3", &check)));
    let _ = sandbox.run("run other.toml").exits(0);
    assert_eq!(runs(&sandbox), once);

    let set_up = format!("{head}[worktree]\nsetup = 'true'\n{}", task("T3", &check));
    sandbox.write("set_up.toml", &set_up);
    let _ = sandbox.run("run set_up.toml --reset").exits(0);
    assert_eq!(runs(&sandbox), once + 1, "in a worktree that was made ready otherwise, it runs");
}

/// The machine is out of order since T1 has landed: the check that passed on the target fails there now.
#[test]
fn whether_the_target_is_red_is_seen_anew() {
    let sandbox = sandbox();
    let root = sandbox.root().to_string();
    sandbox.program("works", &format!("! test -e {root}/broken"));
    let tasks = task("T1", "") + &task("T2", "depends_on = ['T1']\nattempts = 1");
    sandbox.plan_with(&format!("landing_checks = ['{root}/bin/works']"), &tasks);
    sandbox.script(&format!("[T1]\nwrite T1.txt x\n[T2]\nwrite T2.txt x\nwrite {root}/broken x\n"));
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("`main` itself is red at");
    assert_ne!(status(&sandbox, "T2"), "abandoned");
    std::fs::remove_file(format!("{root}/broken")).expect("it is there");
    sandbox.write("more", "");
    sandbox.git(["add", "more"]);
    sandbox.commit("Go on");
    let _ = run.wait().exits(0).says("T2       landed").lacks("attempt 2");
}

/// The landing check is red without any task. No task is to blame, and what was done lands once a person has seen to it.
#[test]
fn on_a_target_that_is_red_itself_nothing_lands_and_no_task_is_to_blame() {
    let sandbox = sandbox();
    sandbox.plan_with("landing_checks = ['test -e fixed']", &task("T1", "attempts = 1"));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("`main` itself is red at");
    let _ = sandbox.run("why T1").exits(0).says("without any task: check `test -e fixed` failed");
    assert!(!sandbox.project().join("T1.txt").exists());
    sandbox.write("fixed", "");
    sandbox.git(["add", "fixed"]);
    sandbox.commit("Fix it");
    let _ = run.wait().exits(0).says("T1       landed").lacks("attempt 2");
}
