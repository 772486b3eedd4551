//! Clients that `./check` does not install: their tests look only where somebody names a folder that has them.

use piton_testkit::models::{say, script, shell};
use piton_testkit::sandbox::task;

use crate::{Bench, Client, run};

#[test]
fn gemini_works_on_a_task() {
    run(Client::Gemini, a_task);
}

#[test]
fn opencode_works_on_a_task() {
    run(Client::Opencode, a_task);
}

fn a_task(bench: &Bench) {
    let turns = [shell("echo done > T1.txt"), say("Done.\n<signal>T1_DONE</signal>")];
    let models = bench.serve([script("Please do T1", turns)]);
    bench.plan(&models, &task("T1", ""));
    let _ = bench.run().run().exits(0);
    assert_eq!(bench.sandbox.git(["show", "main:T1.txt"]), "done");
    let used = bench.used();
    assert!(used[0].to_string().contains("\"input\":200"), "{used:?}");
    assert!(bench.argv("T1", "1.agent0").contains("prompt.md"));
}
