//! Todolists of the rw-kit system, from outside: the worked example in `examples/rwkit` is run, fails, is edited by hand
//! and taken over. Its agents are scripted.
#![cfg(unix)]

mod adding;
mod edits;
mod example;
mod export;
mod failing;
mod files;
mod lists;
mod recipes;
mod takeover;

use std::process::{Command, Stdio};

use piton_testkit::sandbox::Sandbox;
use piton_testkit::text::timeless;
use serde_json::Value;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rwkit");
const LIST: &str = "plans/1-1-receipts-todolist.md";
const RUN: &str = "run plans/1-1-receipts-todolist.md";
const STATE: &str = ".claude/rw-kit.state.json";
const TASKS: [&str; 6] = ["T001", "T002", "T003", "T004", "T005", "T006"];

/// What a good agent does for each task.
const WORK: [(&str, &str, &str); 6] = [
    ("T001", "receipts.sh", "case $1 in keep) echo $2,$3,$4 >> kept.csv;; help) echo keep;; esac"),
    ("T002", "tests/keep.sh", "grep -q keep receipts.sh"),
    ("T003", "docs/keep.md", "receipts.sh keep DAY SHOP AMOUNT"),
    (
        "T004",
        "receipts.sh",
        "case $1 in keep) echo $2,$3,$4 >> kept.csv;; find) grep \",$2,\" kept.csv;; help) echo keep find;; esac",
    ),
    ("T005", "tests/find.sh", "grep -q find receipts.sh"),
    ("T006", "docs/find.md", "receipts.sh find SHOP"),
];

fn does_well(id: &str) -> String {
    let (_, file, text) = WORK.iter().find(|(task, ..)| *task == id).expect("a task");
    format!("write {file} {text}\n")
}

/// A project that is a copy of the example, whose agents all do well but for what `others` says.
fn receipts(settings: &str, others: &str) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    sandbox.copy(EXAMPLE, "");
    let (script, binary) = (sandbox.root().join("agents.script"), env!("CARGO_BIN_EXE_piton"));
    let agent = format!("\n[agents.default]\ncommand = [\"{binary}\", \"scripted-agent\", \"{script}\"]\n");
    let settings = settings.replace("SIDE", sandbox.root().as_str());
    let policy = if settings.contains("[policy]") { "" } else { "[policy]\nbackoff = \"0s\"\n" };
    sandbox.write("piton.toml", &(sandbox.read("piton.toml") + &agent + policy + &settings));
    act(&sandbox, others);
    sandbox.commit("Plan");
    sandbox
}

fn act(sandbox: &Sandbox, others: &str) {
    let usual = TASKS.iter().filter(|id| !others.contains(&format!("[{id}]")));
    let usual: String = usual.map(|id| format!("[{id}]\n{}", does_well(id))).collect();
    sandbox.script(&format!("{usual}{others}"));
}

fn state(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read(STATE)).expect("JSON")
}

fn statuses(sandbox: &Sandbox) -> Vec<String> {
    let state = state(sandbox);
    TASKS.iter().map(|id| state["tasks"][id]["status"].as_str().unwrap_or("none").to_owned()).collect()
}

/// The marks of the tasks' boxes, in their order.
fn marks(sandbox: &Sandbox) -> String {
    let text = sandbox.read(LIST);
    let lines = text.lines().filter(|line| line.contains("] T0"));
    lines.map(|line| line.chars().nth(3).unwrap_or('?')).collect()
}

/// The progress of the file is what a recount of its tasks gives.
fn is_counted(state: &Value) {
    let count = |word: &str| {
        let tasks = state["tasks"].as_object().expect("tasks");
        tasks.values().filter(|task| task["status"] == word).count() as u64
    };
    for word in ["completed", "in_progress", "pending", "failed", "blocked", "skipped"] {
        assert_eq!(state["progress"][word].as_u64(), Some(count(word)), "{word}: {state:#}");
    }
}

/// What a recipe of the document prints, or `None` where there is no `jq`.
fn jq(sandbox: &Sandbox, filter: &str) -> Option<String> {
    let made = Command::new("jq").args(["-c", filter, STATE]).current_dir(sandbox.project()).output().ok()?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(String::from_utf8_lossy(&made.stdout).trim().to_owned())
}

/// Change the file as the document's recipes do: a copy beside it that takes its place.
fn recipe(sandbox: &Sandbox, filter: &str) -> bool {
    let line = format!("jq '{filter}' {STATE} > {STATE}.tmp && mv {STATE}.tmp {STATE}");
    let is_there = Command::new("jq").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if is_there.is_err() {
        return false;
    }
    let status = Command::new("sh").args(["-c", &line]).current_dir(sandbox.project()).status();
    assert!(status.is_ok_and(|status| status.success()), "{line}");
    true
}

/// A text with everything taken out that differs between two runs.
fn masked(sandbox: &Sandbox, text: &str) -> String {
    let text = timeless(&text.replace(sandbox.project().as_str(), "[PROJECT]"));
    let mut out = String::new();
    for line in text.lines() {
        let is_named = ["session_id", "piton_seq", "piton_run"].iter().any(|name| line.contains(name));
        out += if is_named { line.split(':').next().unwrap_or_default() } else { line };
        out.push('\n');
    }
    out
}
