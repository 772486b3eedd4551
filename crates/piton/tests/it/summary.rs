//! A run to give away.

use piton_testkit::sandbox::{Sandbox, task};
use serde_json::Value;

use crate::sandbox;

/// T1 lands, T2 lands at its second attempt, T3 is given up, T4 waits for it, T5 is skipped, T6 asks.
fn worked() -> Sandbox {
    let sandbox = sandbox();
    let fails = "attempts = 1\nchecks = [\"grep rope T3.txt || { echo no rope here; false; }\"]";
    let tasks = [
        task("T1", ""),
        task("T2", "depends_on = ['T1']"),
        task("T3", fails),
        task("T4", "depends_on = ['T3']"),
        task("T5", ""),
        task("T6", ""),
    ];
    sandbox.plan(&tasks.concat());
    sandbox.script(
        "[T1]\nwrite T1.txt x\n[T2 1]\nwrite other.txt x\n[T2]\nwrite T2.txt x\n[T3]\nwrite T3.txt nothing\n\
         [T5]\nsignal BLOCKED:why?\n[T6]\nsignal BLOCKED:left or right?\n",
    );
    let _ = sandbox.run("run plan.toml").exits(4);
    let _ = sandbox.piton(["skip", "T5", "--reason", "not needed"]).run().exits(0);
    sandbox
}

#[test]
fn a_run_is_summed_up_for_a_terminal() {
    let sandbox = worked();
    let output = sandbox.run("summary").exits(0);
    let mut filters = crate::filters();
    // How many are checked together depends on how long the agents take.
    filters.add_filter(r"\d+ check runs, \d+ passed", "[N] check runs, [N] passed");
    filters.bind(|| insta::assert_snapshot!("summary_text", output.to_string()));
    assert!(!output.stdout.contains('\u{1b}'), "{output}");
}

#[test]
fn a_file_of_html_is_written_whole_and_needs_nothing() {
    let sandbox = worked();
    let _ = sandbox.run("summary --html out/run.html").exits(0).says("wrote out/run.html");
    let page = sandbox.read("out/run.html");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{page}");
    for part in ["What needs you", "The plan", "Where the time went", "Cost by agent", "How to go on"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("left or right?") && page.contains("no rope here") && page.contains("not needed"));
    assert!(!page.contains("<script"));
    let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!elsewhere.contains("http:") && !elsewhere.contains("https:"), "it names no other place");
    let shown = sandbox.run("summary --html -").exits(0);
    assert_eq!(shown.stdout.lines().count(), page.lines().count());
    let left = std::fs::read_dir(sandbox.project().join("out")).expect("a folder").count();
    assert_eq!(left, 1, "nothing is left beside it");
    let _ = sandbox.run("summary --html missing/../plan.toml/run.html").exits(1).says("cannot");
}

#[test]
fn markdown_and_json_have_the_same() {
    let sandbox = worked();
    let text = sandbox.run("summary --markdown").exits(0).says("```mermaid").says("no rope here");
    let text = text.says("| T2 | Do T2 | ✓ completed | 2 |").says("unknown");
    assert!(text.stdout.len() <= 65_536);
    let document: Value = serde_json::from_str(&sandbox.run("summary --json").exits(0).stdout).expect("JSON");
    let results = &document["results"];
    let known = ["landed", "retried", "given_up", "skipped", "blocked"].map(|key| results[key].as_u64());
    assert_eq!(known, [Some(2), Some(1), Some(1), Some(1), Some(1)], "{results}");
    assert_eq!(document["cost"]["cost_usd"], Value::Null, "unknown is not 0");
    assert_eq!(document["tasks"][1]["attempts"][0]["end"]["class"], "code");
    let run = document["run"].as_str().expect("a run");
    for line in [
        format!("summary {run} --json"),
        format!("summary --run {run} --json"),
        "summary --plan plan.toml --json".to_owned(),
    ] {
        let again: Value = serde_json::from_str(&sandbox.run(&line).exits(0).stdout).expect("JSON");
        assert_eq!(again["tasks"], document["tasks"], "{line}");
    }
    let _ = sandbox.run("summary --markdown --json").exits(2);
    let _ = sandbox.run("summary nothing").exits(1);
}

#[test]
fn a_plan_without_a_run_has_no_summary() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    let _ = sandbox.run("summary").exits(1).says("there is no run");
}
