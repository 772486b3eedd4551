//! Servers that refuse.

use piton_testkit::models::{Refusal, say, script, shell};
use piton_testkit::sandbox::task;
use rustix::process::Signal;
use serde_json::json;

use crate::{Bench, run, with_each_client};

with_each_client![
    a_server_that_is_busy_for_a_moment_costs_nothing,
    a_server_that_is_always_busy_is_given_up_after_a_while,
    a_usage_limit_is_waited_for_and_no_attempt_is_spent,
];

fn a_server_that_is_busy_for_a_moment_costs_nothing(bench: &Bench) {
    let work = [shell("echo done > T1.txt"), say("Done.").after(Refusal::busy(2))];
    let models = bench.serve([script("Please do T1", work)]);
    bench.plan(&models, &task("T1", ""));
    let _ = bench.run().run().exits(0);
    let refused = models.served().iter().filter(|served| served.status == 429).count();
    assert_eq!((refused, bench.events("agent_ended").len()), (2, 1));
}

fn a_server_that_is_always_busy_is_given_up_after_a_while(bench: &Bench) {
    let models = bench.serve([script("Please do T1", [say("Done.").after(Refusal::busy(1).for_ever())])]);
    bench.plan_retrying(0, &models, &task("T1", ""));
    let out = bench.run().run().exits(4);
    assert!(out.contains("limiting requests") || out.contains("429"), "{out}");
    // Five tries that failed for reasons outside are too many for one attempt.
    assert_eq!(bench.events("agent_ended").len(), 6);
    let _ = bench.sandbox.run("why T1 --plan plan.toml").exits(0).says("blocked");
}

fn a_usage_limit_is_waited_for_and_no_attempt_is_spent(bench: &Bench) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    // Codex tells minutes only.
    let until = (i64::try_from(now.as_secs()).expect("a small number") / 60 + 120) * 60;
    let models = bench.serve([script("Please do T1", [say("Done.").after(bench.client.limit(until))])]);
    bench.plan(&models, &format!("attempts = 1\n{}", task("T1", "")));
    let mut engine = bench.run().spawn();
    engine.until_says("usage limit until");
    engine.signal(Signal::INT);
    let _ = engine.wait().exits(3);
    let ended = bench.events("agent_ended");
    let end = &ended[0]["end"];
    assert_eq!((&end["end"], &end["until"]), (&json!("limit"), &json!(until * 1000)));
    let status = bench.sandbox.run("status T1 --plan plan.toml --json").exits(0).stdout;
    assert!(status.contains("\"attempts_spent\": 0"), "{status}");
}
