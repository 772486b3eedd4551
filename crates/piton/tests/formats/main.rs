//! Plans of other tools, from outside: each is planned, run by scripted agents, edited by hand, and its marks are looked at
//! byte by byte.
#![cfg(unix)]

mod backlog;
mod beads;
mod bmad;
mod clone;
mod gsd;
mod issues;
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
        ("gsd", ".planning/ROADMAP.md"),
        ("bmad", "_bmad-output/implementation-artifacts/sprint-status.yaml"),
        ("bmad-v4", "docs/stories"),
        ("bmad-stories", "_bmad-output/specs/spec-greetings/stories.yaml"),
        ("backlog", "backlog/config.yml"),
        ("beads", ".beads"),
    ];
    for (example, plan) in plans {
        let sandbox = project(example, "");
        let _ = sandbox.run("init --dry-run").exits(0).says(&format!("piton plan {plan}"));
    }
}

#[test]
fn every_plan_below_a_folder_is_counted() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
    for example in ["speckit", "taskmaster", "todo"] {
        sandbox.copy(format!("{examples}{example}"), example);
    }
    sandbox.write("broken/plan.toml", "[[task]]\nid = 'T1'\ntitle = 'One'\n");
    let told = sandbox.run("plan . --every").exits(0);
    let told = told.says(
        "./speckit/specs/001-albums/tasks.md  speckit: 9 boxes made 8 tasks, 1 done before, 2 warnings\n",
    );
    let told = told.says("./broken/plan.toml  native: 1 task, 2 errors\n").says("    broken/plan.toml:1: ");
    let told =
        told.says("\n\nnative     1 plan: 1 task, 2 errors\n").says("taskmaster 1 plan: 4 tasks, 1 warning");
    let _ = told.lacks("TODO.md").lacks("about the order");
    let _ = sandbox
        .run("plan . --every --all")
        .exits(0)
        .says("tasks.md:51: 1 line about the order of tasks not used");
    // A file that could be read as a plan of several systems is read as one of the named one.
    let told = sandbox.run("plan . --every --dialect todo").exits(0);
    let _ = told.says("./todo/TODO.md  todo: ").lacks("plan.toml");
    let told = sandbox.run("plan . --every --json").exits(0).stdout;
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((&told["plans"][0]["system"], &told["plans"][0]["errors"]), (&"native".into(), &2.into()));
    assert_eq!(told["systems"].as_array().map(Vec::len), Some(3));
    let _ = sandbox.run("plan todo/TODO.md --every").exits(2).says("is not a folder");
    let _ = sandbox.run("plan todo --every").exits(1).says("there is no plan below todo");
}
