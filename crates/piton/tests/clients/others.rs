//! Clients that `./check` does not install: their tests look only where somebody names a folder that has them.

use piton_engine::keeper::fences_are_possible;
use piton_testkit::models::{piton, say, script, shell};
use piton_testkit::sandbox::task;
use serde_json::json;

use crate::talk::a_client_that_works_by_itself_keeps_the_ledger_by_what_init_wrote;
use crate::{Bench, Client, run};

#[test]
fn gemini_works_on_a_task() {
    run(Client::Gemini, a_task);
}

#[test]
fn gemini_keeps_the_ledger_by_what_init_wrote() {
    run(Client::Gemini, a_client_that_works_by_itself_keeps_the_ledger_by_what_init_wrote);
}

#[test]
fn opencode_works_on_a_task() {
    run(Client::Opencode, a_task);
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
    let _ = heard.says("this attempt is about T1, not about T2");
    assert!(!outside.exists() || fences_are_possible().is_err());
    let used = bench.used();
    assert!(used[0].to_string().contains("\"input\":400"), "{used:?}");
    assert!(bench.argv("T1", "1.agent0").contains("prompt.md"));
}
