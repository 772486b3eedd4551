//! Limits and outages of providers, agents that stand in meanwhile, and budgets that are held from outside.

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
    // T2 has another provider; T1 and T3 wait, and go on by themselves.
    let by = sandbox.read(sandbox.root().join("by"));
    assert_eq!(by.split_whitespace().collect::<Vec<_>>(), ["T2.second", "T1.first", "T3.first"]);
    let spent = sandbox.run("status T1 --json").exits(0).stdout;
    assert!(spent.contains("\"attempts_spent\": 0"), "{spent}");
}

#[test]
fn who_does_not_wait_for_a_limit_ends_when_nothing_else_can_be_done() {
    let sandbox = two_agents("", "echo '<signal>LIMIT:90m</signal>'; exit 1");
    let _ = sandbox.run("run plan.toml --no-wait").exits(3).says("the usage limit of first lasts until");
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
        .says("acme rejects the login of the agent `first`: the key is old")
        .says("hint: piton agents test first --plan plan.toml\n");
    assert_eq!(["T1", "T2", "T3"].map(|id| status(&sandbox, id)), ["failed", "completed", "pending"]);
    assert_eq!(sandbox.read(sandbox.root().join("tries")), "x\n", "T3 was not tried as well");
    // The plan defines it, and nothing else.
    let _ = sandbox.run("agents test first --plan plan.toml").exits(1).says("first did not answer");
    let _ = sandbox.run("agents test first").exits(1).says("hint: piton agents test first --plan PLAN");
    let _ = sandbox.run("agents --plan plan.toml").exits(0).says("first ").says("second ");
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
    let _ = sandbox.run("run plan.toml").exits(0).says("judge gave no verdict: usage limit until");
    assert_eq!(sandbox.read(sandbox.root().join("tries")), "x\n", "the work was there");
    assert_eq!(count(&sandbox.events(), "reviewer_started"), 1, "it looks whether the limit is over");
}

/// The output of a client that has approved, and used this.
fn approves(used: &str) -> String {
    let words = r#"{"type":"assistant","message":{"id":"m","model":"m","content":[{"type":"text","text":"APPROVED"}]}}"#;
    let end = r#"{"type":"result","subtype":"success","is_error":false,"modelUsage":{"m":USED}}"#;
    format!("cat > /dev/null; echo '{words}'; echo '{}'", end.replace("USED", used))
}

/// T1 is done by a script, in its first try, and judged by agents: clients of these names, which do this.
fn judged_by(judges: &[(&str, &str)], tables: &str) -> Sandbox {
    let sandbox = sandbox();
    let agent = |(name, deed): &(&str, &str)| {
        let bin = sandbox.program(name, &deed.replace("SIDE", sandbox.root().as_str()));
        format!("[agents.{name}]\nadapter = 'claude'\nprogram = '{bin}/{name}'\n")
    };
    let agents: String = judges.iter().map(agent).collect();
    let checks = judges.iter().map(|(name, _)| format!("{{ review = '{name}', ask = 'Is it good?' }}"));
    let checks = checks.collect::<Vec<_>>().join(", ");
    let plan = sandbox.plan_text("", &task("T1", &format!("checks = [{checks}]\nattempts = 1")));
    let plan = plan.replacen("\n\n[agents.default]", &format!("\n{agents}{tables}\n[agents.default]"), 1);
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    sandbox.script("[T1]\nwrite T1.txt done\nappend SIDE/tries x\n");
    sandbox
}

#[test]
fn what_reviewers_used_is_booked_also_when_one_is_cut_off() {
    let limit = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$(($(date +%s) + 1))'}}"#;
    let end = r#"{"type":"result","subtype":"success","is_error":true,"api_error":"usage_limit_reached","api_error_status":429,"result":"later","modelUsage":{"m":{"inputTokens":500,"outputTokens":1}}}"#;
    let fine = approves(r#"{"inputTokens":70,"outputTokens":1}"#);
    let second = format!(
        "if test -e SIDE/seen; then {fine}; else touch SIDE/seen; echo '{limit}'; echo '{end}'; exit 1; fi"
    );
    let first = approves(r#"{"inputTokens":6000,"outputTokens":1}"#);
    let sandbox = judged_by(&[("first", &first), ("second", &second)], "");
    let _ = sandbox.run("run plan.toml").exits(0).says("second gave no verdict: usage limit until");
    let used = |sandbox: &Sandbox| {
        let document = sandbox.run("status --json").exits(0);
        [0, 1].map(|n| {
            let part = |key: &str| crate::json(&document, &format!("/used/{n}/{key}"));
            (part("agent"), part("input_tokens"), part("tries"))
        })
    };
    assert_eq!(
        used(&sandbox),
        [("first".into(), 6000.into(), 1.into()), ("second".into(), 570.into(), 2.into())]
    );
    // What `piton verify` uses is booked, too.
    let _ = sandbox.run("verify T1").exits(0);
    assert_eq!(
        used(&sandbox),
        [("first".into(), 12000.into(), 2.into()), ("second".into(), 640.into(), 3.into())]
    );
}

/// Tells what it uses, message by message, and then waits for ever.
const SPENDER: &str = r#"cat > /dev/null
printf '{"type":"system","subtype":"init","session_id":"s1"}\n'
for i in 1 2 3; do printf '{"type":"assistant","message":{"id":"m%d","model":"m","content":[],"usage":{"input_tokens":400,"output_tokens":100}}}\n' $i; done
exec sleep 100"#;

/// A client that spends.
fn spender(budget: &str) -> Sandbox {
    spender_of("claude", SPENDER, budget, "timeout = '100s'\nattempts = 1")
}

fn spender_of(adapter: &str, program: &str, budget: &str, defaults: &str) -> Sandbox {
    let sandbox = sandbox();
    let bin = sandbox.program("spender", program);
    let plan = format!(
        "name = 'plan'\n[agents.default]\nadapter = '{adapter}'\nprogram = '{bin}/spender'\n[budget]\n{budget}\n\
         [policy]\nmax_parallel = 1\nbackoff = '0s'\n[defaults]\n{defaults}\n{}",
        task("T1", "") + &task("T2", "")
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    sandbox
}

/// What each client says in the middle of its work: one answer of the model, then a tool, then nothing any more.
const CUT_OFF: [(&str, &str); 4] = [
    (
        "claude",
        r#"{"type":"system","subtype":"init","session_id":"s1"}
{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"tool_use","name":"Bash","input":{}}],"usage":{"input_tokens":9000,"output_tokens":100}}}
{"type":"user","message":{"content":[{"type":"tool_result","content":"ok"}]}}"#,
    ),
    (
        "codex",
        r#"{"type":"thread.started","thread_id":"s1"}
{"type":"item.started","item":{"type":"command_execution","command":"ls"}}
{"type":"item.completed","item":{"type":"command_execution","status":"completed"}}"#,
    ),
    (
        "gemini",
        r#"{"type":"init","session_id":"s1"}
{"type":"tool_use","tool_name":"ls","parameters":{}}
{"type":"tool_result","status":"success","output":"ok"}"#,
    ),
    (
        "opencode",
        r#"{"type":"step_finish","sessionID":"s1","part":{"reason":"tool-calls","tokens":{"input":9000,"output":100},"cost":0.01}}"#,
    ),
];

#[test]
fn a_try_that_is_cut_off_is_booked_whatever_client_it_was() {
    for (adapter, stream) in CUT_OFF {
        let program = format!("cat > /dev/null\ncat << 'END'\n{stream}\nEND\nexec sleep 100");
        let sandbox = spender_of(adapter, &program, "run_tokens = 30000", "timeout = '1s'\nattempts = 9");
        // Each try has used some 16,000, and is cut off by its timeout before it has said so.
        let out = sandbox.run("run plan.toml").exits(3);
        let out = out.says("the agent had not finished after 1s");
        assert!(out.contains("tries are estimated)"), "{adapter}: {out}");
        assert!(out.contains("0 landed, ") && out.contains("; used ≥ "), "{adapter}: {out}");
        let document = sandbox.run("status --json").exits(0);
        let part = |key: &str| crate::json(&document, &format!("/used/0/{key}"));
        assert_eq!(
            (part("tries"), part("estimated_tries"), part("unmeasured_tries")),
            (2.into(), 2.into(), 0.into())
        );
        let tells = matches!(adapter, "claude" | "opencode");
        assert_eq!(part("input_tokens"), if tells { 18_000.into() } else { serde_json::Value::Null });
        assert_eq!(part("estimated_cost_usd").is_null(), !tells, "{adapter}");
        let _ = sandbox.run("status").exits(0).says("used: ≥ ").says("2 tries estimated");
    }
}

#[test]
fn a_try_is_booked_whose_end_no_engine_has_seen() {
    let (_, stream) = CUT_OFF[0];
    let sandbox = sandbox();
    let (_, _) = (sandbox.fifo("arrived"), sandbox.fifo("never"));
    let program = format!(
        "cat > /dev/null\nif test -e SIDE/fine; then echo x > $PITON_TASK.txt; exit 1; fi\ncat << 'END'\n{stream}\nEND\n\
         cat < SIDE/arrived; exec cat < SIDE/never"
    );
    let bin = sandbox.program("spender", &program.replace("SIDE", sandbox.root().as_str()));
    let plan = format!(
        "name = 'plan'\n[agents.default]\nadapter = 'claude'\nprogram = '{bin}/spender'\n[policy]\nbackoff = '0s'\n\
         [defaults]\nattempts = 1\n{}",
        task("T1", "")
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    let mut engine = sandbox.piton(["run", "plan.toml"]).spawn();
    engine.until_at(&sandbox, "arrived");
    engine.signal(rustix::process::Signal::KILL);
    let _ = engine.wait();
    sandbox.write(sandbox.root().join("fine"), "");
    // The next attempt does not wait for the agent of the first.
    let _ = sandbox.run("reset T1").exits(0);
    let _ = sandbox.run("run plan.toml --no-wait");
    let spent: Vec<String> =
        sandbox.events().into_iter().filter(|event| event.contains("\"note\":\"spent\"")).collect();
    let told = spent.iter().filter(|event| event.contains("\"job\":\"1.agent0\"")).collect::<Vec<_>>();
    assert!(told.len() == 1 && told[0].contains("\"input\":9000"), "{spent:#?}");
}

/// An agent's output is parsed for the client that was started, whatever the plan says when it ends.
#[test]
fn an_agent_that_works_on_is_understood_although_the_plan_names_another_client_by_now() {
    let sandbox = sandbox();
    let (_, _) = (sandbox.fifo("arrived"), sandbox.fifo("go"));
    let program = r#"cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s1"}'
cat < SIDE/arrived; cat < SIDE/go; echo x > T1.txt
echo '{"type":"result","subtype":"success","is_error":false,"result":"Did it.","modelUsage":{"m":{"inputTokens":9000,"outputTokens":100}}}'"#;
    let bin = sandbox.program("client", &program.replace("SIDE", sandbox.root().as_str()));
    let plan = |adapter: &str| {
        format!(
            "name = 'plan'\n[agents.default]\nadapter = '{adapter}'\nprogram = '{bin}/client'\n[policy]\nbackoff = '0s'\n\
             [defaults]\nattempts = 1\n{}",
            task("T1", "")
        )
    };
    sandbox.write("plan.toml", &plan("claude"));
    sandbox.commit("Plan");
    let mut engine = sandbox.piton(["run", "plan.toml"]).spawn();
    engine.until_at(&sandbox, "arrived");
    engine.signal(rustix::process::Signal::KILL);
    let _ = engine.wait();
    sandbox.write("plan.toml", &plan("codex"));
    let engine = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("go");
    let _ = engine.wait().exits(0);
    let document = sandbox.run("status --json").exits(0);
    assert_eq!(crate::json(&document, "/used/0/input_tokens"), 9000);
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

#[test]
fn a_reviewer_is_held_to_the_budget_too() {
    let fine = approves(r#"{"inputTokens":10,"outputTokens":1}"#);
    let tries = |sandbox: &Sandbox| sandbox.read(sandbox.root().join("tries"));
    let goes_on = |sandbox: &Sandbox, bound: &str| {
        assert!(!sandbox.project().join("T1.txt").exists(), "nobody has judged it");
        let _ = sandbox.program("judge", &fine);
        let plan = sandbox.read("plan.toml").replace(bound, &format!("{bound}000"));
        sandbox.write("plan.toml", &plan);
        let _ = sandbox.run("run plan.toml --replan").exits(0);
        assert_eq!(tries(sandbox), "x\n", "the work was there");
        assert_eq!(sandbox.read("T1.txt"), "done\n");
    };

    // The budget of the run: it stops, and the next run has the work judged.
    let sandbox = judged_by(&[("judge", SPENDER)], "[budget]\nrun_tokens = 1200");
    let _ = sandbox.run("run plan.toml").exits(3).says("the budget is spent: 1500 of 1200 tokens are used");
    assert_eq!(status(&sandbox, "T1"), "pending");
    assert_eq!(crate::json(&sandbox.run("status --json"), "/state/reason"), "budget");
    // With nothing left, no agent starts.
    let _ = sandbox.run("run plan.toml").exits(3);
    assert_eq!(crate::json(&sandbox.run("status --json"), "/used/0/tries"), 1);
    goes_on(&sandbox, "1200");

    // The budget of the task: a person decides whether to raise it.
    let sandbox = judged_by(&[("judge", SPENDER)], "[budget]\ntask_tokens = 1000");
    let _ = sandbox.run("run plan.toml").exits(4).says("the budget of the task is spent: 1500 of 1000");
    assert_eq!(status(&sandbox, "T1"), "blocked");
    let _ = sandbox.run("unblock T1").exits(0);
    goes_on(&sandbox, "1000");
}

#[test]
fn who_judges_a_merged_tree_is_held_to_the_budget_too() {
    let sandbox = judged_by(
        &[],
        "[agents.judge]\nadapter = 'claude'\nprogram = 'SIDE/bin/judge'\n[budget]\nrun_time = '1s'",
    );
    let _ = sandbox.program("judge", SPENDER);
    let plan = sandbox.read("plan.toml").replace("SIDE", sandbox.root().as_str());
    let landing = "backoff = \"0s\"\nlanding_checks = [{ review = 'judge', ask = 'Is it good?' }]";
    sandbox.write("plan.toml", &plan.replace("backoff = \"0s\"", landing));
    let _ = sandbox.run("run plan.toml").exits(3).says("the budget is spent: agents have worked for");
    assert_eq!(status(&sandbox, "T1"), "pending");
    assert!(!sandbox.project().join("T1.txt").exists(), "nothing lands unseen");
    let _ = sandbox.program("judge", &approves(r#"{"inputTokens":10,"outputTokens":1}"#));
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("'1s'", "'1h'"));
    let _ = sandbox.run("run plan.toml --replan").exits(0);
    assert_eq!(sandbox.read(sandbox.root().join("tries")), "x\n", "the work was there");
}
