//! `piton add` in a plan of the execute system.

use piton_testkit::sandbox::{Output, Sandbox};
use serde_json::{Value, json};

use crate::{PLAN, shop, state};

fn add(sandbox: &Sandbox, id: &str, more: &[&str]) -> Output {
    let words = ["add", id, "--title", "Print <invoices> & send them", "--plan", PLAN];
    sandbox.piton(words.iter().chain(more).copied()).run()
}

fn file(sandbox: &Sandbox, name: &str) -> String {
    sandbox.read(format!("{PLAN}/{name}"))
}

#[test]
fn a_task_gets_its_file_and_its_entries_and_is_run() {
    let sandbox = shop();
    let _ = sandbox.run(&format!("next --plan {PLAN}")).exits(0);
    let more = ["--after", "L2-001", "--file", "src/L2-002.txt", "--check", "grep -q done src/L2-002.txt"];
    let told = add(&sandbox, "L2-002", &more).exits(0);
    let _ = told
        .says("added to docs/tasks/shop/layer_plan.json")
        .says("added to docs/tasks/shop/manifest.json")
        .says("added to docs/tasks/shop/2-backend/L2-002-print-invoices-send-them.xml")
        .says("has taken up L2-002");
    insta::assert_snapshot!(file(&sandbox, "2-backend/L2-002-print-invoices-send-them.xml"), @r#"
    <task>
      <meta>
        <id>L2-002</id>
        <name>Print &lt;invoices&gt; &amp; send them</name>
        <layer>2-backend</layer>
        <estimated-files>1</estimated-files>
      </meta>
      <dependencies></dependencies>
      <objective>Print &lt;invoices&gt; &amp; send them</objective>
      <requirements>
        <requirement id="R1">Print &lt;invoices&gt; &amp; send them</requirement>
      </requirements>
      <files-to-create>
        <file>src/L2-002.txt</file>
      </files-to-create>
      <verification>
        <step>Run: `grep -q done src/L2-002.txt`</step>
      </verification>
    </task>
    "#);
    let plan: Value = serde_json::from_str(&file(&sandbox, "layer_plan.json")).expect("JSON");
    let entry = json!({ "id": "L2-002", "name": "Print <invoices> & send them", "depends_on": ["L2-001"] });
    assert_eq!(plan["layers"][1]["tasks"][1], entry);
    assert_eq!(
        file(&sandbox, "manifest.json"),
        "{\"prd\": {\"slug\": \"shop\"}, \"summary\": {\"total_tasks\": 4}}\n"
    );
    assert_eq!(state(&sandbox)["tasks"]["L2-002"]["status"], "pending", "the state file is settled");
    assert_eq!(state(&sandbox)["metrics"]["total_tasks"], 4);
    let _ = add(&sandbox, "L2-002", &more).exits(0).says("already in the plan");
    let _ = add(&sandbox, "L2-002", &more[2..]).exits(1).says("another task L2-002");
    let _ = sandbox.run(&format!("plan {PLAN}")).exits(0);
    sandbox.script(&(crate::all_write() + "[L2-002]\nwrite src/L2-002.txt done\n"));
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
    assert_eq!(state(&sandbox)["tasks"]["L2-002"]["status"], "completed");
}

/// What a person laid out by hand stays as it is, byte for byte; what is new looks like it.
#[test]
fn the_layout_of_the_lists_stays() {
    let sandbox = shop();
    let manifest = "{\r\n  \"summary\": { \"total_tasks\": 3, \"tasks_per_layer\": {\"2-backend\": 1} },\r\n  \"task_inventory\": [\r\n    {\r\n      \"id\": \"L2-001\",\r\n      \"effort\": 3,\r\n      \"file\": \"2-backend/L2-001-task.xml\"\r\n    }\r\n  ]\r\n}\r\n";
    let layers = "{\"layers\": {\n  \"1-foundation\": {\"tasks\": [\"L1-001\",\n    \"L1-002\"]},\n  \"2-backend\": [\"L2-001\"]},\n\n \"dependency_graph\" : {\n    \"L1-002\": [\"L1-001\"],\n    \"L2-001\": [\"L1-002\"]\n }, \"note\": 1e3}";
    sandbox.write(format!("{PLAN}/manifest.json"), manifest);
    sandbox.write(format!("{PLAN}/layer_plan.json"), layers);
    let _ = add(&sandbox, "L2-002", &["--after", "L2-001", "--file", "src/L2-002.txt"]).exits(0);
    assert_eq!(
        file(&sandbox, "manifest.json"),
        manifest
            .replace("_tasks\": 3", "_tasks\": 4")
            .replace("-backend\": 1}", "-backend\": 2}")
            .replace("    }\r\n  ]", "    },\r\n    {\r\n      \"id\": \"L2-002\",\r\n      \"file\": \"2-backend/L2-002-print-invoices-send-them.xml\",\r\n      \"name\": \"Print <invoices> & send them\",\r\n      \"layer\": \"2-backend\"\r\n    }\r\n  ]")
    );
    assert_eq!(
        file(&sandbox, "layer_plan.json"),
        layers
            .replace("[\"L2-001\"]}", "[\"L2-001\", \"L2-002\"]}")
            .replace("[\"L1-002\"]\n }", "[\"L1-002\"],\n    \"L2-002\": [\"L2-001\"]\n }")
    );
    let _ = sandbox.run(&format!("next --plan {PLAN}")).exits(0);
    let _ = sandbox.run("why L2-002").exits(0).says("L2-001");
}

#[test]
fn what_the_system_does_not_know_is_refused() {
    let sandbox = shop();
    let plan =
        || -> Vec<_> { sandbox.fingerprint().into_iter().filter(|(path, _)| path.contains(PLAN)).collect() };
    let before = plan();
    let file = ["--file", "src/x.txt"];
    for (id, more, words) in [
        ("T9", &file[..], "T9 is not a task id of this system"),
        ("L4-001", &file, "--layer NAME, one of 1-foundation, 2-backend"),
        ("L2-002", &["--file", "src/x.txt", "--layer", "3-backend"], "did you mean 2-backend?"),
        ("L1-003", &["--file", "src/x.txt", "--after", "L2-001"], "in the later layer `2-backend`"),
        ("L2-002", &[], "needs a step that verifies it"),
        ("L2-002", &["--check", "echo `date` - `id`"], "would be read as something else"),
    ] {
        let _ = add(&sandbox, id, more).exits(1).says(words);
    }
    assert_eq!(plan(), before);
}

/// Only with the task's own file is there a task; what was written before it does no harm, and is not written twice.
#[test]
fn whoever_is_killed_half_way_can_do_it_again() {
    for nth in 1..=3 {
        let sandbox = shop();
        let _ = sandbox.run(&format!("next --plan {PLAN}")).exits(0);
        let more = ["--after", "L2-001", "--file", "src/L2-002.txt"];
        let words = ["add", "L2-002", "--title", "Print <invoices> & send them", "--plan", PLAN];
        let words = words.iter().chain(&more).copied();
        let killed = sandbox.piton(words).env("PITON_CRASH", format!("add.written:{nth}")).run();
        assert_eq!(killed.code, None, "{killed}");
        let _ = sandbox.run("next").exits(0).lacks("L2-002");
        let _ = sandbox.run(&format!("plan {PLAN}")).exits(0);
        let _ = add(&sandbox, "L2-002", &more).exits(0).says("has taken up L2-002");
        let manifest = "{\"prd\": {\"slug\": \"shop\"}, \"summary\": {\"total_tasks\": 4}}\n";
        assert_eq!(file(&sandbox, "manifest.json"), manifest);
        assert_eq!(file(&sandbox, "layer_plan.json").matches("L2-002").count(), 1);
        assert_eq!(state(&sandbox)["tasks"]["L2-002"]["status"], "pending");
    }
}
