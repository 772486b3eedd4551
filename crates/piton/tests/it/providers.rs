//! Providers that let nobody work, who stands in meanwhile, and budgets that are held from outside.

use crate::{count, place, sandbox, status};
use piton_testkit::sandbox::{Sandbox, task};

/// A plan in which T1 and T3 are for `first`, and T2 is for `second`. `first` has these further keys; it meets what this
/// line of shell says, until a file `SIDE/fine` is there.
fn two_agents(first: &str, meets: &str) -> Sandbox {
    let sandbox = sandbox();
    let work = "echo x > $PITON_TASK.txt; echo $PITON_TASK";
    let first_program = format!("if test -e SIDE/fine; then {work}.first >> SIDE/by; else {meets}; fi");
    for (name, line) in [("first", &first_program), ("second", &format!("{work}.second >> SIDE/by"))] {
        sandbox.program(name, &line.replace("SIDE", sandbox.root().as_str()));
    }
    let bin = sandbox.root().join("bin");
    let tasks =
        task("T1", "agent = 'first'") + &task("T2", "agent = 'second'") + &task("T3", "agent = 'first'");
    let plan = format!(
        "name = 'plan'\n[agents.first]\ncommand = ['{bin}/first']\n{first}\n[agents.second]\ncommand = ['{bin}/second']\n\
         [policy]\nbackoff = '0s'\nmax_parallel = 1\n[defaults]\ntimeout = '100s'\n{tasks}"
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    sandbox
}

#[test]
fn a_usage_limit_of_one_provider_holds_nobody_else_up() {
    let sandbox = two_agents("", "touch SIDE/fine; echo '<signal>LIMIT:2s</signal>'; exit 1");
    let _ = sandbox
        .run("run plan.toml")
        .exits(0)
        .says("usage limit until")
        .says("limit: the agent reached a usage limit");
    // T2 is somebody else's; T1 and T3 wait, and go on by themselves.
    let by = sandbox.read(sandbox.root().join("by"));
    assert_eq!(by.split_whitespace().collect::<Vec<_>>(), ["T2.second", "T1.first", "T3.first"]);
    let spent = sandbox.run("status T1 --json").exits(0).stdout;
    assert!(spent.contains("\"attempts_spent\": 0"), "{spent}");
}

#[test]
fn who_does_not_wait_for_a_limit_ends_when_nothing_else_can_be_done() {
    let sandbox = two_agents("", "echo '<signal>LIMIT:90m</signal>'; exit 1");
    let _ = sandbox.run("run plan.toml --no-wait").exits(3).says("a usage limit of first holds until");
    assert_eq!(["T1", "T2", "T3"].map(|id| status(&sandbox, id)), ["failed", "completed", "pending"]);
    let _ = sandbox.run("status").exits(0).says("usage limit of first, over in 1h");
}

#[test]
fn somebody_stands_in_where_the_plan_names_one() {
    let sandbox = two_agents("fallback = 'second'", "echo '<signal>LIMIT:90m</signal>'; exit 1");
    let _ = sandbox.run("run plan.toml").exits(0).says("by second, in place of first");
    let events = sandbox.events();
    assert_eq!((count(&events, "attempt_started"), count(&events, "failed")), (4, 1));
    let begun = &events[place(&events, "attempt_started", "T3")];
    assert!(begun.contains("\"agent\":\"second\",\"instead_of\":\"first\""), "{begun}");
}

#[test]
fn a_provider_that_refuses_is_left_alone_until_somebody_has_seen_to_it() {
    let sandbox = two_agents(
        "provider = 'acme'",
        "echo x >> SIDE/tries; echo '<signal>REFUSED:the key is old</signal>'; exit 1",
    );
    let _ = sandbox
        .run("run plan.toml")
        .exits(3)
        .says("acme does not let the agent `first` in: the key is old")
        .says("hint: piton agents test first");
    assert_eq!(["T1", "T2", "T3"].map(|id| status(&sandbox, id)), ["failed", "completed", "pending"]);
    assert_eq!(sandbox.read(sandbox.root().join("tries")), "x\n", "T3 was not tried as well");
    sandbox.write(sandbox.root().join("fine"), "");
    let _ = sandbox.run("run plan.toml").exits(0);
    let spent = sandbox.run("status T1 --json").exits(0).stdout;
    assert!(spent.contains("\"attempts_spent\": 0"), "{spent}");
}

#[test]
fn a_reviewer_that_meets_a_limit_judges_later_and_nothing_is_done_twice() {
    let sandbox = sandbox();
    let review = "if test -e SIDE/seen; then echo APPROVED; else touch SIDE/seen; echo '<signal>LIMIT:2s</signal>'; exit 1; fi";
    sandbox.program("review", &review.replace("SIDE", sandbox.root().as_str()));
    let checks = "checks = ['test -s T1.txt', { review = 'judge', ask = 'Is it good?' }]\nattempts = 1";
    let judge = format!("[agents.judge]\ncommand = ['{}/bin/review']\n", sandbox.root());
    sandbox.write(
        "plan.toml",
        &(judge + &sandbox.plan_text("", &task("T1", checks))).replacen("name = \"plan\"\n", "", 1),
    );
    let text = format!("name = \"plan\"\n{}", sandbox.read("plan.toml"));
    sandbox.write("plan.toml", &text);
    sandbox.commit("Plan");
    sandbox.script("[T1]\nwrite T1.txt done\nappend SIDE/tries x\n");
    let _ = sandbox.run("run plan.toml").exits(0).says("judge came to no verdict: usage limit until");
    assert_eq!(sandbox.read(sandbox.root().join("tries")), "x\n", "the work was there");
    assert_eq!(count(&sandbox.events(), "reviewer_started"), 1, "it looks whether the limit is over");
}

/// A client that tells what it uses, message by message, and then waits for ever.
fn spender(budget: &str) -> Sandbox {
    let sandbox = sandbox();
    let message = r#"{"type":"assistant","message":{"id":"m%d","model":"m","content":[],"usage":{"input_tokens":400,"output_tokens":100}}}"#;
    let line = format!(
        "cat > /dev/null\nprintf '{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\"}}\\n'\n\
         for i in 1 2 3; do printf '{message}\\n' $i; done\nexec sleep 100"
    );
    let bin = sandbox.program("spender", &line);
    let plan = format!(
        "name = 'plan'\n[agents.default]\nadapter = 'claude'\nprogram = '{bin}/spender'\n[budget]\n{budget}\n\
         [policy]\nmax_parallel = 1\n[defaults]\ntimeout = '100s'\nattempts = 1\n{}",
        task("T1", "") + &task("T2", "")
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    sandbox
}

#[test]
fn a_run_stops_in_the_middle_of_an_attempt_when_its_budget_is_spent() {
    let sandbox = spender("run_tokens = 1200");
    let _ = sandbox.run("run plan.toml").exits(3).says("the budget is spent: 1500 of 1200 tokens are used");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["pending", "pending"]);
    let document = sandbox.run("status --json").exits(0);
    assert_eq!(crate::json(&document, "/used/0/input_tokens"), 1200);
    assert_eq!(crate::json(&document, "/state/reason"), "budget");
}

#[test]
fn an_attempt_and_a_task_have_budgets_of_their_own() {
    let sandbox = spender("attempt_tokens = 1000");
    let _ = sandbox
        .run("run plan.toml --task T1")
        .exits(4)
        .says("stopped at the budget of one attempt: 1500 of 1000");
    assert_eq!(status(&sandbox, "T1"), "abandoned");
    let sandbox = spender("task_tokens = 1000");
    let _ =
        sandbox.run("run plan.toml --task T1").exits(4).says("the budget of the task is spent: 1500 of 1000");
    assert_eq!(status(&sandbox, "T1"), "blocked");
    let sandbox = spender("run_time = '1s'");
    let _ = sandbox.run("run plan.toml").exits(3).says("the budget is spent: agents have worked for");
}
