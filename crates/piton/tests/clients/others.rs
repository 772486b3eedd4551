//! What only the clients have to show that `./check` does not install.

use piton_engine::keeper::fences_are_possible;
use piton_testkit::models::{Refusal, piton, say, script, shell};
use piton_testkit::sandbox::task;
use rustix::process::Signal;
use serde_json::json;

use crate::talk::a_client_that_works_by_itself_keeps_the_ledger_by_what_init_wrote;
use crate::{Bench, Client, run, with_the_others};

with_the_others![a_task, a_server_that_is_busy_for_a_moment_costs_nothing];

#[test]
fn gemini_keeps_the_ledger_by_what_init_wrote() {
    run(Client::Gemini, a_client_that_works_by_itself_keeps_the_ledger_by_what_init_wrote);
}

fn a_task(bench: &Bench) {
    let outside = bench.sandbox.root().join("outside.txt");
    let turns = [
        piton("report", json!({ "task": "T2", "what": "done" })),
        piton("report", json!({ "what": "done", "note": "told by a tool" })),
        shell(&format!("echo x > {outside}; echo done > T1.txt")),
        say("Done.\n<signal>T1_DONE</signal>"),
    ];
    let models = bench.serve([script("Please do T1", turns)]);
    bench.plan(&models, &task("T1", ""));
    let _ = bench.run_fenced().run().exits(0);
    assert_eq!(bench.sandbox.git(["show", "main:T1.txt"]), "done");
    assert_eq!(bench.events("agent_ended")[0]["report"]["note"], "told by a tool");
    let heard = bench.sandbox.run("output T1 --raw --plan plan.toml").exits(0);
    let _ = heard.says("this attempt is for T1, not for T2");
    assert!(!outside.exists() || fences_are_possible().is_err());
    let used = bench.used();
    assert!(used[0].to_string().contains("\"input\":400"), "{used:?}");
    assert!(bench.argv("T1", "1.agent0").contains("prompt.md"));
}

fn a_server_that_is_busy_for_a_moment_costs_nothing(bench: &Bench) {
    let work = [shell("echo done > T1.txt"), say("Done.").after(Refusal::busy(1))];
    let models = bench.serve([script("Please do T1", work)]);
    bench.plan(&models, &task("T1", ""));
    let _ = bench.run().run().exits(0);
    let refused = models.served().iter().filter(|served| served.status == 429).count();
    assert_eq!((refused, bench.events("agent_ended").len()), (1, 1));
}

#[test]
fn a_daily_quota_of_gemini_is_waited_for_and_no_attempt_is_spent() {
    run(Client::Gemini, |bench| {
        let models = bench.serve([script("Please do T1", [say("Done.").after(Client::Gemini.limit(0))])]);
        bench.plan(&models, &format!("attempts = 1\n{}", task("T1", "")));
        let mut engine = bench.run().spawn();
        engine.until_says("usage limit until");
        engine.signal(Signal::INT);
        let _ = engine.wait().exits(3);
        let status = bench.sandbox.run("status T1 --plan plan.toml --json").exits(0).stdout;
        assert!(status.contains("\"attempts_spent\": 0"), "{status}");
    });
}

#[test]
fn gemini_is_held_to_its_turns() {
    run(Client::Gemini, |bench| {
        let models = bench.serve([script("Please do T1", [shell("true"), shell("true"), say("Done.")])]);
        let agent = bench.profile("default", (bench.client, &bench.program), &models, 2) + "max_turns = 2\n";
        bench.plan_of(&agent, &format!("attempts = 1\n{}", task("T1", "may_change_nothing = true")));
        let said = bench.run().run().exits(4);
        let ended = bench.events("agent_ended");
        assert_eq!((models.served().len(), ended.len()), (2, 1), "{said}");
        assert_eq!(ended[0]["end"]["end"], "failed", "{ended:?}");
    });
}
