//! `piton add`: one more task, in the plan and in its run.

use crate::{count, folder, json, sandbox, status};
use piton_testkit::sandbox::{Output, Sandbox, task, writers};

/// One task, with words of its author around it, and a ledger for it.
fn ledger() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&format!("# First things first\n{}# The end", task("T1", "")));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    sandbox
}

/// `piton add ID`, with a title, a check and more.
fn add(sandbox: &Sandbox, id: &str, more: &[&str]) -> Output {
    let (title, check) = (format!("Do {id}"), format!("test -s {id}.txt"));
    let words = ["add", id, "--title", &title, "--check", &check];
    sandbox.piton(words.iter().chain(more).copied()).run()
}

#[test]
fn a_task_is_added_to_the_plan_and_to_the_run() {
    let sandbox = ledger();
    let before = sandbox.read("plan.toml");
    let more = ["--after", "T1", "--file", "T2.txt", "--description", "Do it \"well\",\nand soon"];
    shows!(add(&sandbox, "T2", &more).exits(0), @r"
    exit: 0
    --- stdout
    T2 is added to plan.toml
    the run plan-[RUN] has taken up T2
    ");
    let after = sandbox.read("plan.toml");
    let block = after.strip_prefix(&before).expect("what was there stays as it was");
    insta::assert_snapshot!(block.trim_start(), @r#"
    [[task]]
    id = "T2"
    title = "Do T2"
    prompt = """
    Do it "well",
    and soon"""
    depends_on = ["T1"]
    files = ["T2.txt"]
    checks = ["test -s T2.txt"]
    "#);
    assert_eq!(status(&sandbox, "T2"), "pending");
    assert_eq!(count(&sandbox.events(), "plan_adopted"), 1);
    // The plan need not be adopted.
    sandbox.script(&writers(&["T1", "T2"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["completed", "completed"]);
}

#[test]
fn adding_twice_is_adding_once_and_another_task_of_the_id_is_refused() {
    let sandbox = ledger();
    let _ = add(&sandbox, "T2", &[]).exits(0);
    let (plan, events) = (sandbox.read("plan.toml"), sandbox.events());
    shows!(add(&sandbox, "T2", &[]).exits(0), @r"
    exit: 0
    --- stdout
    T2 is already in the plan
    ");
    shows!(add(&sandbox, "T2", &["--after", "T1"]).exits(1), @r"
    exit: 1
    --- stderr
    error: the plan already has another task T2

    hint: `piton status T2` shows it; give yours another id
    ");
    let _ = add(&sandbox, "t2", &[]).exits(1).says("already has another task t2");
    assert_eq!((sandbox.read("plan.toml"), sandbox.events()), (plan, events));
}

#[test]
fn what_no_plan_can_hold_is_refused_before_anything_is_written() {
    let sandbox = sandbox();
    let groups = "[[group]]\nid = 'one'\n[[group]]\nid = 'two'\n";
    sandbox.plan(&(groups.to_owned() + &task("T1", "group = 'one'") + &task("T10", "group = 'two'")));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let (plan, events) = (sandbox.read("plan.toml"), sandbox.events());
    for (id, more, code, words) in [
        ("T2", &["--layer", "one", "--after", "TX10"][..], 1, "did you mean T10?"),
        ("T2", &["--layer", "one", "--after", "T2"], 1, "T2 cannot wait for itself"),
        ("T2", &["--layer", "one", "--after", "T10"], 1, "waits for `T10` in the later group `two`"),
        ("T2", &["--layer", "tow"], 1, "did you mean two?"),
        ("T2", &[], 1, "--layer NAME, one of one, two"),
        ("T2", &["--layer", "one", "--check", "a\u{7}"], 1, "cannot be part of a plan"),
        ("../T2", &[], 2, "invalid value '../T2'"),
        ("T2", &["--layer", "one", "--file", "../x"], 2, "invalid value '../x'"),
    ] {
        let _ = add(&sandbox, id, more).exits(code).says(words);
    }
    let unproven = ["add", "T2", "--title", "Do T2", "--layer", "one"];
    let _ = sandbox.piton(unproven).run().exits(1).says("nothing checks this task");
    let two_lines = ["add", "T2", "--title", "Do\nT2", "--layer", "one", "--no-check"];
    let _ = sandbox.piton(two_lines).run().exits(1).says("a title is one line");
    assert_eq!((sandbox.read("plan.toml"), sandbox.events()), (plan, events));
    let told = sandbox.piton(unproven.iter().chain(&["--no-check", "--json"]).copied()).run().exits(0);
    assert_eq!(json(&told, "/taken_up"), serde_json::json!(["T2"]));
}

#[test]
fn a_plan_without_a_run_is_changed_and_nothing_else() {
    let sandbox = folder();
    sandbox.write("plan.toml", &task("T1", "").replace('\n', "\r\n"));
    shows!(add(&sandbox, "T2", &["--plan", "plan.toml"]).exits(0), @r"
    exit: 0
    --- stdout
    T2 is added to plan.toml
    --- stderr
    the plan has no run yet
    ");
    let plan = sandbox.read("plan.toml");
    assert_eq!(plan.matches('\n').count(), plan.matches("\r\n").count(), "{plan:?}");
    let _ = sandbox.run("status").exits(1).says("there is no run");
    let _ = sandbox.run("next --plan plan.toml").exits(0).says("T2");
}

#[test]
fn a_plan_that_was_changed_otherwise_is_not_adopted_by_the_way() {
    let sandbox = ledger();
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("Please", "Kindly"));
    let plan = sandbox.read("plan.toml");
    let refused = add(&sandbox, "T2", &[]).exits(1);
    let _ = refused.says("changes more than it adds").says("piton run plan.toml");
    assert_eq!(sandbox.read("plan.toml"), plan);
}

#[test]
fn what_a_killed_add_left_in_the_plan_is_taken_up_by_the_next() {
    for next in ["the same again", "another", "run"] {
        let sandbox = ledger();
        let words = ["add", "T2", "--title", "Do T2", "--check", "test -s T2.txt"];
        let killed = sandbox.piton(words).env("PITON_CRASH", "add.written:1").run();
        assert_eq!(killed.code, None, "{killed}");
        assert!(sandbox.read("plan.toml").contains("\"T2\""));
        let _ = sandbox.run("status T2").exits(1);
        sandbox.script(&writers(&["T1", "T2", "T3"]));
        match next {
            "the same again" => {
                let _ = add(&sandbox, "T2", &[]).exits(0).says("already").says("has taken up T2");
            }
            "another" => {
                let _ = add(&sandbox, "T3", &[]).exits(0).says("has taken up T2, T3");
            }
            _ => {
                let _ = sandbox.run("run plan.toml").exits(0).says("+ T2");
            }
        }
        let _ = sandbox.run("run plan.toml").exits(0);
        assert_eq!(status(&sandbox, "T2"), "completed", "{next}");
    }
}

/// An engine that waits in T1, with T2 behind it.
fn held() -> (Sandbox, piton_testkit::sandbox::Running) {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script(&format!(
        "[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n{}",
        writers(&["T2", "T3"])
    ));
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    (sandbox, run)
}

#[test]
fn an_engine_at_work_takes_up_what_is_added() {
    let (sandbox, run) = held();
    let _ = sandbox.run("raise T2 --attempts 9").exits(0);
    let _ = add(&sandbox, "T3", &["--after", "T2"]).exits(0);
    sandbox.meet("gate");
    let _ = run.wait().exits(0).lacks("the plan changed");
    assert_eq!(["T1", "T2", "T3"].map(|id| status(&sandbox, id)), ["completed"; 3]);
    assert!(sandbox.history("main").contains(&"Merge worktree-T3: Do T3".to_owned()));
    let attempts = |line: &&String| line.contains("\"raised\"") && line.contains("\"attempts\":9");
    assert_eq!(sandbox.events().iter().filter(attempts).count(), 2, "what was allowed still holds");
}

/// Between the plan's file and the journal the engine sees a plan that is not its run's.
#[test]
fn an_engine_at_work_waits_for_whoever_is_adding() {
    let (sandbox, run) = held();
    let words = ["add", "T3", "--title", "Do T3", "--check", "test -s T3.txt"];
    let mut adding = sandbox.piton(words).pausing_at(&sandbox, "add.written", 1).spawn();
    let pause = adding.until_paused(&sandbox);
    sandbox.meet("gate");
    let _ = run.wait().exits(0).lacks("the plan changed");
    drop(pause);
    let _ = adding.wait().exits(0).says("has taken up T3");
    assert_eq!(["T1", "T2", "T3"].map(|id| status(&sandbox, id)), ["completed", "completed", "pending"]);
    let _ = sandbox.run("run plan.toml").exits(0);
}
