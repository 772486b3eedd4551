//! Plans of the execute system, from outside: run, steered, edited by hand and taken over.
#![cfg(unix)]

mod add;
mod example;
mod export;
mod files;
mod in_place;
mod outside;
mod recipes;
mod resume;
mod rewritten;
mod runs;
mod surroundings;
mod takeover;

use piton_testkit::sandbox::Sandbox;
use serde_json::Value;

/// Where the plan of these tests is.
const PLAN: &str = "docs/tasks/shop";

/// Three tasks in two layers, each with its file and its dependency.
const TASKS: [(&str, &str, &str, &[&str]); 3] = [
    ("1-foundation", "L1-001", "Add invoices", &[]),
    ("1-foundation", "L1-002", "Store invoices", &["L1-001"]),
    ("2-backend", "L2-001", "Serve invoices", &["L1-002"]),
];

/// A project with that plan in it, whose agents follow the script.
fn shop() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    write_plan(&sandbox);
    follow_the_script(&sandbox);
    sandbox.script(&all_write());
    sandbox.commit("Plan");
    sandbox
}

/// Agents of this project do what [`Sandbox::script`] says.
fn follow_the_script(sandbox: &Sandbox) {
    let script = sandbox.root().join("agents.script");
    let agent = format!(
        "[agents.default]\ncommand = [\"{}\", \"scripted-agent\", \"{script}\"]\n",
        env!("CARGO_BIN_EXE_piton")
    );
    sandbox.write("piton.toml", &(agent + "[policy]\nbackoff = \"0s\"\n"));
}

/// Every task does its work.
fn all_write() -> String {
    TASKS.iter().map(|(_, id, ..)| format!("[{id}]\nwrite src/{id}.txt done\n")).collect()
}

fn write_plan(sandbox: &Sandbox) {
    sandbox.write(
        format!("{PLAN}/manifest.json"),
        "{\"prd\": {\"slug\": \"shop\"}, \"summary\": {\"total_tasks\": 3}}\n",
    );
    let mut layers = serde_json::json!([]);
    for layer in ["1-foundation", "2-backend"] {
        let tasks: Vec<Value> = TASKS
            .iter()
            .filter(|task| task.0 == layer)
            .map(|(_, id, name, needs)| serde_json::json!({ "id": id, "name": name, "depends_on": needs }))
            .collect();
        layers
            .as_array_mut()
            .expect("a list")
            .push(serde_json::json!({ "id": layer, "name": layer, "tasks": tasks }));
    }
    sandbox.write(format!("{PLAN}/layer_plan.json"), &serde_json::json!({ "layers": layers }).to_string());
    for (layer, id, name, _) in TASKS {
        sandbox.write(format!("{PLAN}/{layer}/{id}-task.xml"), &task_xml(layer, id, name));
    }
}

fn task_xml(layer: &str, id: &str, name: &str) -> String {
    format!(
        "<task>
  <meta><id>{id}</id><name>{name}</name><layer>{layer}</layer><priority>1</priority>
    <estimated-files>1</estimated-files></meta>
  <context><prd-excerpt>Invoices survive a restart.</prd-excerpt><tech-stack>Shell</tech-stack></context>
  <dependencies></dependencies>
  <objective>{name}.</objective>
  <requirements><requirement id=\"R1\">Write src/{id}.txt</requirement></requirements>
  <test-requirements><test id=\"T1\">The file holds the word done</test></test-requirements>
  <files-to-create><file>src/{id}.txt</file></files-to-create>
  <verification>
    <step>Run: `test -s src/{id}.txt` - it is there</step>
    <step>Verify: `src/{id}.txt` contains `done`</step>
    <step>Check: it reads well</step>
  </verification>
  <exports><interface name=\"{id}\" type=\"service\">{name}</interface></exports>
</task>
"
    )
}

/// The state file.
fn state(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read(format!("{PLAN}/execute-state.json"))).expect("JSON")
}

/// The statuses of the tasks in the state file, in their order.
fn statuses(sandbox: &Sandbox) -> Vec<String> {
    let state = state(sandbox);
    TASKS
        .iter()
        .map(|(_, id, ..)| state["tasks"][id]["status"].as_str().expect("a word").to_owned())
        .collect()
}

/// Edit the state file as a script does: read, change, write beside it, rename.
fn edit(sandbox: &Sandbox, change: impl FnOnce(&mut Value)) {
    let mut value = state(sandbox);
    change(&mut value);
    replace(sandbox, &serde_json::to_string_pretty(&value).expect("JSON"));
}

fn replace(sandbox: &Sandbox, text: &str) {
    sandbox.write(format!("{PLAN}/execute-state.json.tmp"), text);
    let folder = sandbox.project().join(PLAN);
    std::fs::rename(folder.join("execute-state.json.tmp"), folder.join("execute-state.json"))
        .expect("our own file");
}
