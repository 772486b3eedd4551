//! The operations of the ledger beyond start and report: verify, orient, progress, notes, queue, complete, ops.

use crate::{json, sandbox, status};
use piton_testkit::sandbox::{Sandbox, task, writers};
use serde_json::{Value, json as value};

/// Two tasks, one after the other, and a ledger for them.
fn ledger() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    sandbox
}

/// Without a check, a report is taken as it is.
fn unchecked() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan("[[task]]\nid = 'A'\ntitle = 'Do A'\nprompt = 'a'\nchecks = []\n[[task]]\nid = 'B'\ntitle = 'Do B'\nprompt = 'b'\nchecks = []\ndepends_on = ['A']\n");
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    sandbox
}

fn document(sandbox: &Sandbox, line: &str, code: i32) -> Value {
    json(&sandbox.run(line).exits(code), "")
}

#[test]
fn verify_runs_the_checks_and_changes_nothing() {
    let sandbox = ledger();
    let before = sandbox.events();
    shows!(sandbox.run("verify T1").exits(1), @r"
    exit: 1
    --- stdout
    ✗ test -s T1.txt
    --- stderr
    in the project
    running `test -s T1.txt`

    Check `test -s T1.txt` failed with exit status 1.
    ");
    sandbox.write("T1.txt", "x");
    shows!(sandbox.run("verify T1").exits(0), @r"
    exit: 0
    --- stdout
    ✓ test -s T1.txt
    --- stderr
    in the project
    running `test -s T1.txt`
    ");
    let told = document(&sandbox, "verify T1 --json", 0);
    assert_eq!((&told["passed"], &told["checks"][0]["verdict"]["verdict"]), (&value!(true), &value!("pass")));
    assert_eq!(sandbox.events(), before);
    assert_eq!(status(&sandbox, "T1"), "pending");
    shows!(sandbox.run("verify T9").exits(1), @r"
    exit: 1
    --- stderr
    error: there is no task T9 in the run plan-[RUN]

    hint: piton status --all
    ");
    let unchecked = unchecked();
    shows!(unchecked.run("verify A").exits(1), @r"
    exit: 1
    --- stderr
    error: A has no check, so nothing can prove it
    ");
}

#[test]
fn verify_looks_where_the_engine_left_the_work() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1\nchecks = ['test -s T1.txt', 'test -e mended']"));
    sandbox.script("[T1]\nwrite T1.txt done\n");
    let _ = sandbox.run("run plan.toml --quiet").exits(4);
    let told = document(&sandbox, "verify T1 --json", 1);
    let place = sandbox.worktrees().join("T1");
    assert_eq!(told["place"], value!(place.as_str().replace(sandbox.root().as_str(), "[ROOT]")));
    let verdicts: Vec<&Value> =
        told["checks"].as_array().expect("a list").iter().map(|c| &c["verdict"]["verdict"]).collect();
    assert_eq!(verdicts, ["pass", "fail"]);
    sandbox.write(place.join("mended"), "");
    let _ = sandbox.run("verify T1").exits(0);
}

#[test]
fn what_the_checks_count_beats_what_is_told() {
    let sandbox = sandbox();
    let runner =
        sandbox.program("runner", "printf '\\033[32m==== 3 passed, 1 skipped in 0.01s ====\\033[0m\\n'");
    sandbox.plan("[[task]]\nid = 'A'\ntitle = 'Do A'\nprompt = 'a'\nchecks = ['runner']\n[[task]]\nid = 'B'\ntitle = 'Do B'\nprompt = 'b'\nchecks = []\n");
    let piton = |line: &str| sandbox.piton(line.split('|')).with_path(&runner).run();
    let _ = piton("next|--plan|plan.toml").exits(0);
    shows!(piton("verify|A").exits(0), @r"
    exit: 0
    --- stdout
    ✓ runner  (3 passed, 0 failed, 1 skipped)
    --- stderr
    in the project
    running `runner`
    ");
    let _ = piton("report|A|done|--test-results|99 passed").exits(0);
    assert_eq!(
        json(&piton("progress|--json").exits(0), "/tests"),
        value!({ "passed": 3, "failed": 0, "skipped": 1 })
    );
    // If Piton counted no tests itself, the report counts: a text, or a file with a runner's output.
    sandbox.write("out.txt", "test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out\n");
    let _ = piton("report|B|done|--test-results|out.txt|--no-change|--reason|nothing").exits(0);
    assert_eq!(
        json(&piton("progress|--json").exits(0), "/tests"),
        value!({ "passed": 8, "failed": 0, "skipped": 3 })
    );
    shows!(piton("report|B|done|--test-results|all green").exits(2), @r"
    exit: 2
    --- stderr
    error: --test-results contains no tests

    hint: the output of cargo test, nextest, pytest, jest, vitest or go test -v, or a JUnit report
    hint: or in short: --test-results '12 passed, 1 failed'
    ");
    shows!(piton("report|B|done|--commit|ghi9012").exits(2), @r"
    exit: 2
    --- stderr
    error: `ghi9012` is not a commit hash
    ");
}

#[test]
fn feedback_of_a_failed_try_reaches_the_next() {
    let sandbox = unchecked();
    let words =
        ["report", "A", "failed", "--reason", "it does not compile", "--feedback", "Add the missing import"];
    let _ = sandbox.piton(words).run().exits(0);
    let oriented = sandbox.run("orient A").exits(0);
    assert!(oriented.stdout.contains("This is attempt 2."), "{oriented}");
    assert!(oriented.stdout.ends_with("\n```text\nAdd the missing import\n```\n"), "{oriented}");
}

#[test]
fn orient_tells_what_was_done_before_and_fits_where_it_must() {
    let sandbox = unchecked();
    let words = [
        "report",
        "A",
        "done",
        "--note",
        "the parser is generated",
        "--file",
        "src/parse.rs",
        "--file",
        "src/nowhere.rs",
        "--export",
        "parse()",
        "--decision",
        "no regexes",
    ];
    sandbox.write("src/parse.rs", "fn parse() {}\n");
    sandbox.commit("By hand");
    // A file that does not exist is not work, even if a report names it.
    let _ = sandbox.piton(words).run().exits(0).says("src/nowhere.rs does not exist, so it is not recorded");
    let _ = sandbox.piton(["guardrail", "add", "No new dependencies", "--by", "ann"]).run().exits(0);
    let _ = sandbox.piton(["journal", "add", "B may take a while", "--task", "B"]).run().exits(0);
    shows!(sandbox.run("orient B").exits(0), @r"
    exit: 0
    --- stdout
    # plan-[RUN]: 1 of 2 tasks are completed

    ## Guardrails: heed them
    - No new dependencies

    ## Finished work
    - A: Do A

    ## What it made for others
    - A: parse()

    ## Decisions
    - A: no regexes

    ## Notes handed over
    - A: the parser is generated

    ## Changed files
    - A: src/parse.rs

    ## Journal
    - B: B may take a while (you)

    # Task B: Do B

    b
    ");
    let told = document(&sandbox, "orient --json", 0);
    assert_eq!(told["exports"], value!([{ "task": "A", "text": "parse()" }]));
    assert_eq!(told["guardrails"], value!([{ "by": "ann", "text": "No new dependencies" }]));
    assert_eq!((&told["left_out"], told.get("task")), (&value!({}), None));
    for n in 0..40 {
        let text = format!("entry {n} {}", "x".repeat(200));
        let _ = sandbox.piton(["journal", "add", &text]).run().exits(0);
    }
    let cut = sandbox.run("orient B --max-bytes 3000").exits(0).stdout;
    assert!(cut.len() <= 3000 && cut.contains("entry 39") && cut.contains("older left out"), "{cut}");
    let cut = sandbox.run("orient B --max-bytes 3000 --json").exits(0).stdout;
    assert!(cut.len() <= 3000, "{cut}");
}

#[test]
fn notes_are_kept_and_told() {
    let sandbox = ledger();
    shows!(sandbox.piton(["journal", "add", "T1 needs a key\nask Ann", "--task", "T1", "--by", "bob"]).run().exits(0), @r"
    exit: 0
    --- stdout
    [TIME] T1       note by bob: T1 needs a key
    ");
    shows!(sandbox.piton(["guardrail", "add", "Never touch \u{1b}[31mmain"]).run().exits(0), @r"
    exit: 0
    --- stdout
    [TIME]          guardrail by you: Never touch main
    ");
    shows!(sandbox.run("guardrail list").exits(0), @r"
    exit: 0
    --- stdout
    Never touch main  (you)
    ");
    assert_eq!(document(&sandbox, "guardrail list --json", 0)[0]["text"], value!("Never touch main"));
    shows!(sandbox.run("journal add x --task T9").exits(1), @r"
    exit: 1
    --- stderr
    error: there is no task T9 in the run plan-[RUN]

    hint: `piton status` lists the tasks
    ");
    shows!(sandbox.piton(["journal", "add", " \n "]).run().exits(2), @r"
    exit: 2
    --- stderr
    error: there is nothing to write down
    ");
}

#[test]
fn progress_queue_and_complete_tell_how_far_it_is() {
    let sandbox = ledger();
    shows!(sandbox.run("progress").exits(0), @r"
    exit: 0
    --- stdout
    plan-[RUN] not started
    ░░░░░░░░░░░░░░░░░░░░   0%  0 of 2 tasks
    2 pending
    ");
    shows!(sandbox.run("complete").exits(4), @r"
    exit: 4
    --- stdout
    T1       pending
    T2       pending
    --- stderr
    2 of 2 tasks not completed
    ");
    shows!(sandbox.run("queue").exits(0), @r"
    exit: 0
    --- stderr
    nothing has landed, and nothing is in the queue
    ");
    sandbox.script(&writers(&["T1", "T2"]));
    let _ = sandbox.run("run plan.toml --quiet").exits(0);
    shows!(sandbox.run("progress").exits(0), @r"
    exit: 0
    --- stdout
    plan-[RUN] every task is completed
    ████████████████████ 100%  2 of 2 tasks
    ");
    shows!(sandbox.run("complete").exits(0), @r"
    exit: 0
    --- stdout
    every task is completed
    ");
    shows!(sandbox.run("queue").exits(0), @r"
    exit: 0
    --- stdout
      1  merged   T1       Do T1
      2  merged   T2       Do T2
    ");
    let queue = document(&sandbox, "queue --json", 0);
    assert_eq!(
        (&queue[1]["task"], &queue[1]["status"], &queue[1]["position"]),
        (&value!("T2"), &value!("merged"), &value!(2))
    );
    let complete = document(&sandbox, "complete --json", 0);
    assert_eq!((&complete["complete"], &complete["missing"]), (&value!(true), &value!([])));
}

#[test]
fn complete_tells_what_was_only_reported() {
    let sandbox = unchecked();
    let _ = sandbox.run("report A done --no-change --reason nothing").exits(0);
    let _ = sandbox.run("report B done --no-change --reason nothing").exits(0);
    shows!(sandbox.run("complete").exits(0), @r"
    exit: 0
    --- stdout
    every task is completed
    reported, not proven: A, B
    ");
}

#[test]
fn the_description_of_the_project_is_kept_by_some_runs_only() {
    let sandbox = ledger();
    shows!(sandbox.run("context").exits(0), @r"
    exit: 0
    --- stdout
    none: this run keeps no description of the project
    ");
    assert_eq!(document(&sandbox, "context --json", 0)["status"], value!("none"));
}

#[test]
fn every_operation_is_listed_with_what_it_replaces() {
    let sandbox = sandbox();
    shows!(sandbox.run("ops --dialect native").exits(0), @r"
    exit: 0
    --- stdout
    initialise      piton next --plan PLAN
    add a task      piton add ID --title TEXT --check COMMAND
    next            piton next
    start           piton start ID --by NAME
    report done     piton report ID done --commit HASH --test-results FILE
    report failed   piton report ID failed --reason WHY --feedback TEXT
    report blocked  piton report ID blocked --reason WHY
    verify          piton verify ID
    orient          piton orient ID
    progress        piton progress
    log             piton log
    journal         piton journal add TEXT --task ID
    guardrail       piton guardrail add TEXT
    drop guardrail  piton guardrail remove TEXT
    merge queue     piton queue
    worktrees       piton doctor
    answer          piton answer ID TEXT
    reset a task    piton reset ID
    reset all       piton run PLAN --reset
    complete        piton complete
    context update  piton context
    ");
    shows!(sandbox.run("ops --dialect execute").exits(0), @r#"
    exit: 0
    --- stdout
    initialise      piton next --plan PLAN
                    instead of: write execute-state.json with every task pending
    add a task      piton add ID --title TEXT --check COMMAND
                    instead of: jq '.tasks["ID"] = {"status": "pending", "attempts": 0}' execute-state.json > tmp && mv tmp execute-state.json
    next            piton next
                    instead of: jq -r '.tasks | to_entries[] | select(.value.status == "in_progress" or .value.status == "pending") | .key' execute-state.json
    start           piton start ID --by NAME
                    instead of: jq '.tasks["ID"].status = "in_progress" | .tasks["ID"].attempts += 1' execute-state.json > tmp && mv tmp execute-state.json
    report done     piton report ID done --commit HASH --test-results FILE
                    instead of: jq '.tasks["ID"].status = "completed" | .completed += ["ID"]' execute-state.json > tmp && mv tmp execute-state.json
    report failed   piton report ID failed --reason WHY --feedback TEXT
                    instead of: jq '.tasks["ID"].errors += [{"message": "WHY"}] | .tasks["ID"].retry_feedback += [{"feedback": "TEXT"}]' execute-state.json > tmp && mv tmp execute-state.json
    report blocked  piton report ID blocked --reason WHY
                    instead of: jq '.tasks["ID"].status = "failed"' execute-state.json > tmp && mv tmp execute-state.json
    verify          piton verify ID
                    instead of: run the verification steps of ID's XML by hand
    orient          piton orient ID
                    instead of: jq '{completed, tasks: .tasks["ID"]}' execute-state.json; cat */ID-*.xml
    progress        piton progress
                    instead of: watch -n 5 'cat execute-state.json | jq .metrics'
    log             piton log
                    instead of: git log --all --oneline | grep "L2-"
    journal         piton journal add TEXT --task ID
    guardrail       piton guardrail add TEXT
    drop guardrail  piton guardrail remove TEXT
    merge queue     piton queue
                    instead of: jq '.merge_queue' execute-state.json
    worktrees       piton doctor
                    instead of: git worktree list; git branch | grep worktree-
    answer          piton answer ID TEXT
    reset a task    piton reset ID
                    instead of: jq '.tasks["ID"] = {"status": "pending", "attempts": 0}' execute-state.json > tmp && mv tmp execute-state.json
    reset all       piton run PLAN --reset
                    instead of: rm execute-state.json; git worktree prune; rm -rf .worktrees/
    complete        piton complete
                    instead of: jq '.metrics.tasks_remaining' execute-state.json
    context update  piton context
                    instead of: jq '.context_update' execute-state.json
    "#);
    let told = document(&ledger(), "ops --json", 0);
    assert_eq!((&told["dialect"], &told["operations"][0]["replaces"]), (&value!("native"), &Value::Null));
}

/// Only `complete` and `status` look at the end of a run that has no engine.
#[test]
fn a_run_of_the_ledger_is_complete_only_if_its_gates_held_on_what_there_is() {
    let sandbox = sandbox();
    let gate = task("G", "gate = true\nchecks = ['test ! -e bad.txt']");
    sandbox.plan(&(task("A", "") + &task("B", "") + &gate));
    let does = |id: &str| {
        let _ = sandbox.run(&format!("start {id} --plan plan.toml")).exits(0);
        sandbox.write(format!("{id}.txt"), "done");
        sandbox.commit(id);
        sandbox.run(&format!("report {id} done")).exits(0)
    };
    let _ = does("A");
    let _ = sandbox.run("report G done").exits(0).says("completed, its checks passed");
    let _ = does("B").says("G        completed before, and open again: B was completed after it had passed");
    let _ = sandbox.run("complete").exits(4).says("G        pending");
    let _ = sandbox.run("report G done").exits(0);
    let _ = sandbox.run("complete").exits(0).says("every task is completed");
    // A person commits something else.
    sandbox.write("bad.txt", "x");
    sandbox.commit("Bad");
    let stale = sandbox.run("complete").exits(4);
    let _ = stale.says("G        has not passed on what there is now: changed since it passed: bad.txt");
    let status = sandbox.run("status").exits(0).says("not complete: a gate has not passed");
    let _ = status.says("the gate G has not passed on what there is now: changed since it passed: bad.txt");
    let told = document(&sandbox, "status --json", 0);
    assert_eq!((&told["state"]["status"], &told["state"]["gates"]), (&value!("stale"), &value!(["G"])));
    assert_eq!(document(&sandbox, "complete --json", 4)["complete"], value!(false));
    let _ = sandbox.run("report G done").exits(1).says("open again: changed since it passed: bad.txt");
    std::fs::remove_file(sandbox.project().join("bad.txt")).expect("it is there");
    sandbox.commit("Good");
    let _ = sandbox.run("report G done").exits(0);
    let _ = sandbox.run("complete").exits(0).says("every task is completed");
}
