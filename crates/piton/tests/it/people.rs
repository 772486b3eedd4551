//! What a person may say about a task, and what is answered when it makes no sense.

use crate::{json, sandbox, status};
use piton_testkit::sandbox::{Sandbox, task, writers};

/// A is done, B is abandoned with work in its worktree, C is blocked, D depends on C, E on B.
fn ended() -> Sandbox {
    let sandbox = sandbox();
    let tasks = [
        task("A", ""),
        task("B", "attempts = 1"),
        task("C", ""),
        task("D", "depends_on = ['C']"),
        task("E", "depends_on = ['B']"),
    ];
    sandbox.plan(&tasks.concat());
    sandbox
        .script(&format!("{}[B]\nwrite other.txt x\n[C]\nsignal BLOCKED:why\n", writers(&["A", "D", "E"])));
    let _ = sandbox.run("run plan.toml").exits(4);
    sandbox
}

#[test]
fn an_abandoned_task_can_be_tried_again_with_its_work_kept() {
    let sandbox = ended();
    let _ = sandbox
        .run("retry B")
        .exits(0)
        .says("you asked to retry it")
        .says("piton run plan.toml   resumes it");
    sandbox.script(&format!("[B]\nrun cat other.txt\nwrite B.txt x\n{}", writers(&["E"])));
    let _ = sandbox.run("run plan.toml").exits(4).says("B        attempt 2 started").says("E        landed");
    assert_eq!(sandbox.git(["show", "main:other.txt"]), "x");
    assert_eq!(["B", "E", "C"].map(|id| status(&sandbox, id)), ["completed", "completed", "blocked"]);
}

#[test]
fn a_reset_starts_over() {
    let sandbox = ended();
    let _ = sandbox.run("reset B").exits(0).says("reset by you");
    assert_eq!(json(&sandbox.run("status B --json").exits(0), "/attempts_spent"), 0);
    sandbox.script(&writers(&["B", "E"]));
    let _ = sandbox.run("run plan.toml").exits(4).says("B        attempt 1 started");
    assert_eq!(status(&sandbox, "B"), "completed");
    // The worktree stays, with what was in it.
    assert_eq!(sandbox.git(["show", "main:other.txt"]), "x");
}

#[test]
fn more_attempts_can_be_allowed() {
    let sandbox = ended();
    let _ = sandbox.run("raise B --attempts 3").exits(0).says("you allowed 3 attempts");
    sandbox.script(&writers(&["B", "E"]));
    let _ = sandbox.run("run plan.toml").exits(4).says("B        attempt 2 started");
    assert_eq!(status(&sandbox, "B"), "completed");
}

#[test]
fn whoever_names_no_run_hears_which_one_was_taken_where_there_are_several() {
    let sandbox = ended();
    let _ = sandbox.run("raise B --attempts 3").exits(0).lacks("in the run");
    let _ = sandbox.run("run plan.toml --reset --task A").exits(4);
    let newest = json(&sandbox.run("status --json").exits(0), "/run");
    let newest = newest.as_str().expect("an id");
    let _ = sandbox.run("skip C").exits(0).says(&format!("in the run {newest}"));
    let _ = sandbox.run("unblock C --plan plan.toml").lacks("in the run");
}

#[test]
fn of_several_unfinished_runs_the_one_that_has_the_task_is_meant() {
    let sandbox = ended();
    let other = sandbox.plan_text("", &task("X1", "attempts = 1"));
    sandbox.write("other.toml", &other);
    sandbox.script("[X1]\nsay no\n");
    let _ = sandbox.run("run other.toml").exits(4);
    let _ = sandbox.run("why X1").exits(0).says("X1");
    let _ = sandbox.run("retry X1").exits(0).says("piton run other.toml   resumes it");
    let _ = sandbox.run("unblock C").exits(0).says("piton run plan.toml   resumes it");
    let _ = sandbox.run("why Z").exits(2).says("several runs are unfinished here");
}

#[test]
fn going_on_without_a_task() {
    let sandbox = ended();
    let _ = sandbox
        .piton(["skip", "C", "--reason", "not this year"])
        .run()
        .exits(0)
        .says("skipped by you: not this year");
    assert_eq!(["C", "D"].map(|id| status(&sandbox, id)), ["skipped", "pending"]);
    let _ = sandbox.run("why C").exits(0).says("C was skipped by a person").says("piton reset C");
    let _ = sandbox.run("run plan.toml").exits(4).says("D        landed");
}

#[test]
fn a_run_ends_complete_but_for_what_a_person_skipped() {
    let sandbox = sandbox();
    sandbox.plan(&(task("A", "") + &task("B", "attempts = 1") + &task("C", "depends_on = ['B']")));
    sandbox.script(&format!("{}[B]\nwrite other.txt x\n", writers(&["A", "C"])));
    let _ = sandbox.run("run plan.toml").exits(4);
    let _ = sandbox.run("complete").exits(4);
    let _ = sandbox.piton(["skip", "B", "--reason", "not this year"]).run().exits(0);
    let run = sandbox.run("run plan.toml").exits(0).says("C        landed").says("completed, 1 skipped");
    let _ = run.says("not this year");
    let _ =
        sandbox.run("status").exits(0).says("completed, 1 skipped, landing on main").says("not this year");
    let _ = sandbox.run("progress").exits(0).says("completed, 1 skipped").says("1 skipped");
    let _ =
        sandbox.run("complete").exits(0).says("completed, 1 skipped").says("B        skipped: not this year");
    let _ = sandbox.run("log").exits(0).says("completed, 1 skipped");
    for line in ["status --json", "progress --json"] {
        let told = sandbox.run(line).exits(0);
        assert_eq!(
            (json(&told, "/state/status"), json(&told, "/state/skipped")),
            ("completed".into(), 1.into())
        );
        assert_eq!(
            (json(&told, "/skipped/0/task"), json(&told, "/skipped/0/reason")),
            ("B".into(), "not this year".into())
        );
    }
    let told = sandbox.run("complete --json").exits(0);
    assert_eq!((json(&told, "/complete"), json(&told, "/skipped/0/task")), (true.into(), "B".into()));
    let _ = sandbox.run("run plan.toml").exits(0).lacks("attempt");
    // After that is taken back, work is left.
    let _ = sandbox.run("reset B").exits(0);
    let _ = sandbox.run("complete").exits(4);
}

#[test]
fn refusals_say_why_and_what_would_help() {
    let sandbox = ended();
    let mut all = String::new();
    for line in [
        "retry A",
        "retry D",
        "retry Z",
        "reset A",
        "reset D",
        "skip A",
        "unblock A",
        "unblock B",
        "unblock D",
        "raise B --attempts 1",
        "raise B --attempts 101",
        "start A",
        "stop",
    ] {
        all += &format!("$ piton {line}\n{}", sandbox.run(line).exits(1).stderr);
    }
    shows!(all, @r"
    $ piton retry A
    error: A is completed: it has not failed, so there is nothing to retry
    $ piton retry D
    error: D is pending: it has not failed, so there is nothing to retry
    $ piton retry Z
    error: there is no task Z in the run plan-[RUN]

    hint: piton status --all
    $ piton reset A
    error: A is completed and cannot be reset

    hint: a new task in the plan can change or undo what it did: `piton run plan.toml --replan`
    $ piton reset D
    error: D is pending: there is nothing to reset
    $ piton skip A
    error: A is completed and cannot be skipped

    hint: a new task in the plan can change or undo what it did: `piton run plan.toml --replan`
    $ piton unblock A
    error: A is completed, not blocked
    $ piton unblock B
    error: B is abandoned, not blocked
    $ piton unblock D
    error: D itself is not blocked: a task that it depends on is

    hint: `piton why D` names it
    $ piton raise B --attempts 1
    error: B has spent 1 of 1 attempts

    hint: give a number from 2 to 100
    $ piton raise B --attempts 101
    error: B has spent 1 of 1 attempts

    hint: give a number from 2 to 100
    $ piton start A
    error: A is completed
    $ piton stop
    error: no engine is working on the run plan-[RUN], and nothing that one has started is running

    hint: piton status
    ");
}

#[test]
fn what_a_person_says_can_be_read_as_json() {
    let sandbox = ended();
    for line in [
        "unblock C --json",
        "retry B --json",
        "raise B --attempts 9 --json",
        "skip B --json",
        "reset B --json",
    ] {
        let output = sandbox.run(line).exits(0);
        assert!(json(&output, "/seq").is_u64(), "{output}");
        assert_eq!(output.stderr, "");
    }
}

#[test]
fn a_skipped_task_can_come_back() {
    let sandbox = ended();
    let _ = sandbox.run("skip C").exits(0);
    let _ = sandbox.run("retry C").exits(1).says("`piton reset C` puts it back into the plan");
    let _ = sandbox.run("reset C").exits(0);
    assert_eq!(["C", "D"].map(|id| status(&sandbox, id)), ["pending", "pending"]);
}

#[test]
fn the_name_of_the_person_is_written_down() {
    let sandbox = ended();
    let _ = sandbox.piton(["unblock", "C"]).env("USER", "ada").run().exits(0).says("unblocked by ada");
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id() {
    let sandbox = ended();
    let id = json(&sandbox.run("status --json").exits(0), "/run");
    let id = id.as_str().expect("an id");
    let _ = sandbox.run(&format!("status --run {}", &id[..6])).exits(0);
    let _ = sandbox.piton(["status"]).env("PITON_RUN", id).run().exits(0);
    let _ = sandbox
        .run("status --run other")
        .exits(1)
        .says("there is no run `other`")
        .says(&format!("--run {id}"));
}
