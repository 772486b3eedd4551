//! Servers of providers that fail, limits that a person lifts, models that decline, and what it all has cost. The clients
//! here are stand-ins; real ones are tried in `clients`.

use piton_testkit::sandbox::{Sandbox, task};

use crate::{count, sandbox, status};

const BEGINS: &str = r#"echo '{"type":"system","subtype":"init","session_id":"s1"}'"#;
const DOWN: &str = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"Overloaded","modelUsage":{}}"#;
const FINE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"ready","modelUsage":{"opus":{"inputTokens":1000,"outputTokens":100,"costUSD":0.5}}}"#;

/// A client that does this when it is given a task, and that when it is asked the test question.
fn client(work: &str, question: &str, tasks: &[&str]) -> Sandbox {
    let sandbox = sandbox();
    let program = format!(
        "asked=$(cat)\n{BEGINS}\ncase $asked in *'test of the connection'*) {question};; *) {work};; esac\n"
    );
    let bin = sandbox.program("client", &program.replace("SIDE", sandbox.root().as_str()));
    let tasks: String = tasks.iter().map(|id| task(id, "")).collect();
    let plan = format!(
        "name = 'plan'\n[agents.default]\nadapter = 'claude'\nprogram = '{bin}/client'\nprovider = 'acme'\n\
         [policy]\nbackoff = '0s'\nmax_parallel = 1\n[defaults]\nattempts = 1\n{tasks}"
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    sandbox
}

fn fails() -> String {
    format!("echo '{DOWN}'; exit 1")
}

fn works() -> String {
    format!("echo x > $PITON_TASK.txt; echo '{FINE}'")
}

#[test]
fn a_task_that_alone_fails_its_servers_is_tried_again_and_then_blocked() {
    let work = format!("if test $PITON_TASK = T1; then {}; else {}; fi", fails(), works());
    let sandbox = client(&work, &format!("echo '{FINE}'"), &["T1", "T2"]);
    let _ = sandbox.run("run plan.toml").exits(4).says("acme answers again");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["blocked", "completed"]);
    let spent = sandbox.run("status T1 --json").exits(0).stdout;
    assert!(spent.contains("\"attempts_spent\": 0"), "{spent}");
}

#[test]
fn a_provider_that_does_not_answer_is_waited_for_unless_nobody_wants_to() {
    let down = format!("test -e SIDE/fine || {{ {}; }}", fails());
    let sandbox = client(&format!("{down}; {}", works()), &format!("{down}; echo '{FINE}'"), &["T1", "T2"]);
    let out = sandbox.run("run plan.toml --no-wait").exits(3);
    let _ = out.says("acme does not answer, and its agents do not start until it does: Overloaded");
    let _ =
        sandbox.run("status").exits(0).says("acme does not answer, Piton asks again in").says("Overloaded");
    // The agent that tests whether it is over gets the true answer, and decides.
    let refused = sandbox.run("unpark acme").exits(1);
    let _ =
        refused.says("acme still does not accept agents: Overloaded").says("hint: piton unpark acme --force");
    let _ = sandbox.run("unpark nobody").exits(1).says("the provider nobody is not parked; parked: acme");
    sandbox.write(sandbox.root().join("fine"), "");
    // The next engine asks at once.
    let _ = sandbox.run("run plan.toml").exits(0).says("acme answers again");
    let events = sandbox.events();
    assert_eq!((count(&events, "provider_asked"), count(&events, "\"class\":\"code\"")), (2, 0));
    let spent = sandbox.run("status T1 --json").exits(0).stdout;
    assert!(spent.contains("\"attempts_spent\": 0"), "{spent}");
}

#[test]
fn a_limit_can_be_lifted_by_a_question_by_retry_or_by_force() {
    let limit = r#"{"type":"result","subtype":"success","is_error":true,"api_error":"usage_limit_reached","api_error_status":429,"result":"used up","modelUsage":{}}"#;
    let limited = format!("test -e SIDE/fine || {{ echo '{limit}'; exit 1; }}");
    let sandbox = client(&format!("{limited}; {}", works()), &format!("{limited}; echo '{FINE}'"), &["T1"]);
    let _ = sandbox.run("run plan.toml --no-wait").exits(3).says("the usage limit of acme lasts until");
    let _ = sandbox.run("unpark acme").exits(1).says("acme still does not accept agents: used up");
    let _ = sandbox.run("retry T1").exits(0).says("acme does not accept agents yet: used up");
    let _ = sandbox.run("unpark acme --force").exits(0).says("you allowed agents of acme to start again");
    let _ = sandbox.run("unpark acme --force").exits(1).says("agents of acme are not held back");
    let _ = sandbox.run("run plan.toml --no-wait").exits(3).says("the usage limit of acme lasts until");
    sandbox.write(sandbox.root().join("fine"), "");
    let _ = sandbox.run("retry T1").exits(0).says("you allowed agents of acme to start again");
    let _ = sandbox.run("run plan.toml --no-wait").exits(0);
}

/// A command as agent reports it in its last line, whatever the prompt is.
#[test]
fn a_question_that_a_command_answers_with_a_limit_lifts_nothing() {
    let sandbox = sandbox();
    let agent = "command = ['echo', '<signal>LIMIT:2h</signal>']";
    sandbox.write("plan.toml", &format!("name = 'plan'\n[agents.default]\n{agent}\n{}", task("T1", "")));
    sandbox.commit("Plan");
    let _ = sandbox.run("run plan.toml --no-wait").exits(3).says("the usage limit of default lasts until");
    let why = sandbox.run("why T1").exits(0).says("one would wait: the usage limit of default lasts until");
    let _ = why.says("piton unpark default");
    let out = sandbox.run("unpark default").exits(1);
    let _ = out.says("default still does not accept agents: the agent reached a usage limit until");
}

#[test]
fn a_model_that_declines_gets_a_fresh_conversation_once() {
    let declined = r#"{"type":"result","subtype":"success","is_error":true,"stop_reason":"refusal","result":"The safeguards flagged this","modelUsage":{}}"#;
    let work = format!("printf '%s ' \"$@\" >> SIDE/argv; echo >> SIDE/argv; echo '{declined}'; exit 1");
    let sandbox = client(&work, "true", &["T1"]);
    let _ = sandbox
        .run("run plan.toml")
        .exits(4)
        .says("the model declined")
        .says("the model declined twice, in two conversations: The safeguards flagged this");
    assert_eq!(status(&sandbox, "T1"), "blocked");
    let argv = sandbox.read(sandbox.root().join("argv"));
    assert_eq!((argv.lines().count(), argv.contains("--resume")), (2, false), "{argv}");
}

#[test]
fn a_client_that_is_cut_off_while_its_servers_refuse_it_has_met_a_limit() {
    let retry = r#"{"type":"system","subtype":"api_retry","error":"rate_limit","error_status":429}"#;
    let sandbox = client(&format!("echo '{retry}'; exec sleep 100"), "true", &["T1"]);
    let plan = sandbox.read("plan.toml").replace("attempts = 1", "attempts = 1\ntimeout = '1s'");
    sandbox.write("plan.toml", &plan);
    let out = sandbox.run("run plan.toml --no-wait").exits(3);
    let _ = out
        .says("the usage limit of acme lasts until")
        .says("it waits for its servers: rate_limit (HTTP 429)");
    let spent = sandbox.run("status T1 --json").exits(0).stdout;
    assert!(spent.contains("\"attempts_spent\": 0"), "{spent}");
}

#[test]
fn what_was_used_is_shown_by_whatever_somebody_wants_to_know_it_by() {
    let sandbox = client(&works(), "true", &["T1", "T2"]);
    let _ = sandbox.run("cost --plan plan.toml");
    let _ = sandbox.run("run plan.toml").exits(0);
    let by_task = sandbox.run("cost").exits(0).stdout;
    let lines: Vec<&str> = by_task.lines().collect();
    assert!(lines[0].starts_with("T1     1k tokens in, 100 out, $0.50; 1 try, worked "), "{by_task}");
    assert!(lines[2].starts_with("total  2k tokens in, 200 out, $1.00; 2 tries, worked "), "{by_task}");
    for (by, name) in [("attempt", "T1 1"), ("agent", "default"), ("model", "opus")] {
        let _ = sandbox.run(&format!("cost --by {by}")).exits(0).says(name);
    }
    for by in ["run", "day"] {
        let document = sandbox.run(&format!("cost --by {by} --json")).exits(0);
        assert_eq!(crate::json(&document, "/total/cost_usd"), 1.0);
        assert_eq!(crate::json(&document, "/rows/0/tries"), 2);
    }
}
