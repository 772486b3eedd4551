//! Plans of other tools, from outside: each is planned, run by scripted agents, edited by hand, and its marks are looked at
//! byte by byte.
#![cfg(unix)]

mod kiro;
mod openspec;
mod ralph;
mod speckit;
mod taskmaster;
mod todo;

use piton_testkit::sandbox::Sandbox;

/// A project that is a copy of an example, with agents that act by a script.
fn project(example: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
    sandbox.copy(format!("{examples}{example}"), "");
    act(&sandbox, script);
    let (agents, binary) = (sandbox.root().join("agents.script"), env!("CARGO_BIN_EXE_piton"));
    let agent = format!("\n[agents.default]\ncommand = [\"{binary}\", \"scripted-agent\", \"{agents}\"]\n");
    sandbox.write("piton.toml", &(sandbox.read("piton.toml") + &agent + "\n[policy]\nbackoff = \"0s\"\n"));
    sandbox.commit("Plan");
    sandbox
}

fn act(sandbox: &Sandbox, script: &str) {
    sandbox.script(&script.replace("SIDE", sandbox.root().as_str()));
}

/// The tasks that landed, in order.
fn landed(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.git(["log", "--reverse", "--format=%s"]);
    let id = |line: &str| {
        line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(id, _)| id.to_owned())
    };
    log.lines().filter_map(id).collect()
}

/// What `piton status` says of a task.
fn status(sandbox: &Sandbox, id: &str) -> String {
    let told = sandbox.run(&format!("status {id} --json")).exits(0).stdout;
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    told["status"].as_str().expect("a status").to_owned()
}

#[test]
fn init_finds_the_plan_of_every_tool() {
    let plans = [
        ("todo", "TODO.md"),
        ("speckit", "specs/001-albums/tasks.md"),
        ("openspec", "openspec/changes/add-total/tasks.md"),
        ("kiro", ".kiro/specs/word-count/tasks.md"),
        ("taskmaster", ".taskmaster/tasks/tasks.json"),
        ("ralph", "prd.json"),
    ];
    for (example, plan) in plans {
        let sandbox = project(example, "");
        let _ = sandbox.run("init --dry-run").exits(0).says(&format!("piton plan {plan}"));
    }
}
