//! Servers that refuse.

use piton_testkit::models::{Refusal, decline, say, script, shell};
use piton_testkit::sandbox::task;
use rustix::process::Signal;
use serde_json::json;

use crate::{Bench, Client, run, with_each_client};

with_each_client![
    a_server_that_is_busy_for_a_moment_costs_nothing,
    a_server_that_is_always_busy_is_waited_for_and_no_attempt_is_spent,
    a_usage_limit_is_waited_for_and_no_attempt_is_spent,
    a_limit_of_one_model_is_recognised,
    servers_that_fail_park_their_provider_and_an_answer_resumes_it,
    a_client_that_waits_silently_for_a_busy_server_has_met_a_limit,
];

fn a_server_that_is_busy_for_a_moment_costs_nothing(bench: &Bench) {
    let work = [shell("echo done > T1.txt"), say("Done.").after(Refusal::busy(2))];
    let models = bench.serve([script("Please do T1", work)]);
    bench.plan(&models, &task("T1", ""));
    let _ = bench.run().run().exits(0);
    let refused = models.served().iter().filter(|served| served.status == 429).count();
    assert_eq!((refused, bench.events("agent_ended").len()), (2, 1));
}

fn a_server_that_is_always_busy_is_waited_for_and_no_attempt_is_spent(bench: &Bench) {
    let models = bench.serve([script("Please do T1", [say("Done.").after(Refusal::busy(1).for_ever())])]);
    bench.plan_retrying(0, &models, &task("T1", ""));
    let out = bench.sandbox.run("run plan.toml --no-wait").exits(3);
    assert!(out.contains("limiting requests") || out.contains("429"), "{out}");
    let ended = bench.events("agent_ended");
    assert_eq!((ended.len(), &ended[0]["end"]["end"]), (1, &json!("limit")));
    let status = bench.sandbox.run("status T1 --plan plan.toml --json").exits(0).stdout;
    assert!(status.contains("\"attempts_spent\": 0"), "{status}");
}

fn a_usage_limit_is_waited_for_and_no_attempt_is_spent(bench: &Bench) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    // Codex reports minutes only.
    let until = (i64::try_from(now.as_secs()).expect("a small number") / 60 + 120) * 60;
    let models = bench.serve([script("Please do T1", [say("Done.").after(bench.client.limit(until))])]);
    bench.plan(&models, &format!("attempts = 1\n{}", task("T1", "")));
    let mut engine = bench.run().spawn();
    engine.until_says("usage limit until");
    engine.signal(Signal::INT);
    let _ = engine.wait().exits(3);
    let ended = bench.events("agent_ended");
    let end = &ended[0]["end"];
    // The end of that minute, then.
    let until = if bench.client == Client::Codex { until + 60 } else { until };
    assert_eq!((&end["end"], &end["until"]), (&json!("limit"), &json!(until * 1000)));
    let status = bench.sandbox.run("status T1 --plan plan.toml --json").exits(0).stdout;
    assert!(status.contains("\"attempts_spent\": 0"), "{status}");
}

fn a_limit_of_one_model_is_recognised(bench: &Bench) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let until = i64::try_from(now.as_secs()).expect("a small number") + 7200;
    let Some((limit, model)) = bench.client.limit_of_model(until) else { return };
    let models = bench.serve([script("Please do T1", [say("Done.").after(limit)])]);
    bench.plan(&models, &format!("attempts = 1\n{}", task("T1", "")));
    let _ =
        bench.sandbox.run("run plan.toml --no-wait").exits(3).says(&format!("usage limit of {model} until"));
    assert_eq!(bench.events("agent_ended")[0]["end"]["model"], json!(model));
}

fn servers_that_fail_park_their_provider_and_an_answer_resumes_it(bench: &Bench) {
    let body = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let down = |times: u32| Refusal { status: 503, headers: Vec::new(), body: body.clone(), times };
    let models = bench.serve([
        script("test of the connection", [say("ready").after(down(1))]),
        script("Please do T1", [shell("echo done > T1.txt").after(down(1)), say("Done.")]),
    ]);
    bench.plan_retrying(0, &models, &format!("attempts = 1\n{}", task("T1", "")));
    let out = bench.sandbox.run("run plan.toml --no-wait").exits(3);
    assert!(out.contains("does not answer; Piton asks it again at"), "{out}");
    assert_eq!(bench.events("agent_ended")[0]["end"]["end"], json!("unavailable"));
    // The next engine asks at once, and is answered.
    let _ = bench.run().run().exits(0).says("answers again");
    let status = bench.sandbox.run("status T1 --plan plan.toml --json").exits(0).stdout;
    assert!(status.contains("\"attempts_spent\": 0"), "{status}");
}

fn a_client_that_waits_silently_for_a_busy_server_has_met_a_limit(bench: &Bench) {
    let hour = vec![("retry-after".to_owned(), "3600".to_owned())];
    let busy = Refusal { headers: hour, ..Refusal::busy(1).for_ever() };
    let models = bench.serve([script("Please do T1", [say("Done.").after(busy)])]);
    bench.plan_retrying(2, &models, &format!("silence = '5s'\nattempts = 1\n{}", task("T1", "")));
    let out = bench.sandbox.run("run plan.toml --no-wait").exits(3);
    assert!(out.contains("429") || out.contains("limiting requests"), "{out}");
    assert_eq!(bench.events("agent_ended")[0]["end"]["end"], json!("limit"));
    let status = bench.sandbox.run("status T1 --plan plan.toml --json").exits(0).stdout;
    assert!(status.contains("\"attempts_spent\": 0"), "{status}");
}

/// The client itself goes on once in the same conversation.
#[test]
fn a_model_that_declines_is_asked_in_a_fresh_conversation_once() {
    let Some(bench) = Bench::with(Client::Claude) else { return run(Client::Claude, |_| {}) };
    let models = bench.serve([script("Please do T1", vec![decline("No."); 5])]);
    bench.plan(&models, &format!("attempts = 1\n{}", task("T1", "")));
    let out = bench.run().run().exits(4);
    let _ = out.says("declined twice, in two conversations:").says("safeguards flagged");
    assert_eq!(bench.events("agent_ended").len(), 2);
    assert!(!bench.argv("T1", "2.agent0").contains("--resume"), "it is a fresh conversation");
}

/// The agent of a client's plan, by another name.
fn agent(plan: &str, name: &str) -> String {
    let (_, rest) = plan.split_once("[agents.default]").expect("a plan with an agent");
    let (agent, _) = rest.split_once("[policy]").expect("and what follows");
    format!("[agents.{name}]{agent}")
}

#[test]
fn a_limit_of_one_client_leaves_the_other_at_work_and_is_over_by_itself() {
    let (Some(codex), Some(claude)) = (Bench::with(Client::Codex), Bench::with(Client::Claude)) else {
        // Says which of them is not here.
        return [Client::Codex, Client::Claude].into_iter().for_each(|client| run(client, |_| {}));
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let now = i64::try_from(now.as_secs()).expect("a small number");
    let refused = |after: i64, times: u32| Refusal { times, ..Client::Claude.limit(now + after) };
    let write = |task: &str| [shell(&format!("echo done > {task}.txt")), say("Done.")];
    let once = [shell("echo done > T1.txt").after(refused(6, 1)), say("Done.")];
    let never = [say("Done.").after(refused(7200, u32::MAX))];
    let limited = claude.serve([script("Please do T1", once), script("Please do T3", never)]);
    let free = codex.serve(["T2", "T3"].map(|id| script(&format!("Please do {id}"), write(id))));
    claude.plan(&limited, "");
    codex.plan(&free, "");
    let first = agent(&claude.sandbox.read("plan.toml"), "first");
    let second = agent(&codex.sandbox.read("plan.toml"), "second");
    let sandbox = &codex.sandbox;
    let plan = |fallback: &str, tasks: &str| {
        let policy = "[policy]\nbackoff = \"0s\"\nmax_parallel = 1\n[defaults]\ntimeout = \"100s\"\n";
        sandbox.write("plan.toml", &format!("name = \"plan\"\n{first}{fallback}{second}{policy}{tasks}"));
        sandbox.commit("Another plan");
    };
    let place = |events: &[String], task: &str| {
        let wanted = format!("\"task\":\"{task}\"");
        let begun = |event: &String| event.contains("attempt_started") && event.contains(&wanted);
        events.iter().rposition(begun).expect("it was begun")
    };
    plan("", &(task("T1", "agent = 'first'") + &task("T2", "agent = 'second'")));
    let _ = sandbox.run("run plan.toml").exits(0).says("usage limit until");
    let events = sandbox.events();
    assert!(place(&events, "T2") < place(&events, "T1"), "T1 waited, and T2 did not: {events:#?}");
    assert!(!events.iter().any(|event| event.contains("instead_of")), "nobody was to stand in");
    plan("fallback = \"second\"\n", &task("T3", "agent = 'first'"));
    let _ = sandbox.run("run plan.toml --reset").exits(0).says("by second, in place of first");
}
