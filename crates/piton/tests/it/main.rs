//! The binary from outside: each command's good day and its bad ones, with exit codes, in a sandbox.
#![cfg(unix)]

use piton_testkit::sandbox::{Output, Sandbox};

/// Compare an output with a snapshot, with everything that differs between two runs taken out.
macro_rules! shows {
    ($output:expr, $($snapshot:tt)*) => {
        crate::filters().bind(|| insta::assert_snapshot!($output.to_string(), $($snapshot)*))
    };
}

mod adding;
mod ahead;
mod answers;
mod beginning;
mod caches;
mod demo;
mod escalation;
mod escapes;
mod evidence;
mod exact;
mod examples;
mod failures;
mod feedback;
mod fences;
mod graph;
mod identity;
mod inbox;
mod init;
mod issues;
mod landing;
mod ledger;
mod ledger_ops;
mod machines;
mod mcp;
mod notify;
mod order;
mod outages;
mod output;
mod people;
mod plans;
mod prompts;
mod providers;
mod readonly;
mod rehearse;
mod replanning;
mod repositories;
mod review;
mod running;
mod runs;
mod screens;
mod serve;
mod serve_attacks;
mod sessions;
mod shells;
mod show;
mod sixth;
mod slots;
mod stopping;
mod storage;
mod summary;
mod terminal;
mod timeline;
mod tutorial;
mod unchanged;
mod usage;
mod watch;
mod watchdog;
mod without_git;

/// A repository with one commit on `main`.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_piton"))
}

/// A folder without git.
fn folder() -> Sandbox {
    Sandbox::without_git(env!("CARGO_BIN_EXE_piton"))
}

fn filters() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    for (pattern, instead) in [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[TIME]"),
        (r"\b\d\d:\d\d:\d\d\b", "[TIME]"),
        (r"\bplan-[0-9a-f]{6}\b", "plan-[RUN]"),
        (r"\b[0-9a-f]{64}\b", "[DIGEST]"),
        (r"\b[0-9a-f]{40}\b", "[COMMIT]"),
        (r"\b[0-9a-f]{10}\b", "[COMMIT]"),
        // A column that is as wide as the age in it.
        (r" +for (\d)", " for $1"),
        (r" *\b(\d+m )?\d+(\.\d+)?(ms|s)\b", " [SPAN]"),
        (r"\b\d+(\.\d+)? (B|KiB|MiB)\b", "[SIZE]"),
        (r"\bgit \d+\.\d+\b", "git [VERSION]"),
        (r"\bSQLite \d+\.\d+\.\d+\b", "SQLite [VERSION]"),
        (r"\b\d+ events\b", "[N] events"),
        (r"(ok  |note)   agents can(not)? [^\n]*", "[FENCES]"),
        (r"the processes of a job are [^\n]*", "[GROUPS]"),
    ] {
        settings.add_filter(pattern, instead);
    }
    settings
}

/// The value of a JSON document's field, by a path such as `/tasks/0/status`.
fn json(output: &Output, pointer: &str) -> serde_json::Value {
    let document: serde_json::Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output}"));
    document.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in\n{document:#}")).clone()
}

/// A task's status, from `status TASK --json`.
#[track_caller]
fn status(sandbox: &Sandbox, task: &str) -> String {
    let output = sandbox.run(&format!("status {task} --json")).exits(0);
    json(&output, "/status").as_str().expect("a status is text").to_owned()
}

/// Where in the journal an event of a task is, counted from 0; the last one if there are several.
#[track_caller]
fn place(events: &[String], event: &str, task: &str) -> usize {
    let wanted = (format!("\"event\":\"{event}\""), format!("\"task\":\"{task}\""));
    let found = events.iter().rposition(|line| line.contains(&wanted.0) && line.contains(&wanted.1));
    found.unwrap_or_else(|| panic!("no {event} of {task} in\n{}", events.join("\n")))
}

/// How many events of this kind there are.
fn count(events: &[String], event: &str) -> usize {
    events.iter().filter(|line| line.contains(&format!("\"event\":\"{event}\""))).count()
}

#[test]
fn every_file_here_is_a_module() {
    let listed = include_str!("main.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    for entry in std::fs::read_dir(folder).expect("this folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        let Some(module) = name.strip_suffix(".rs").filter(|&name| name != "main") else { continue };
        assert!(listed.contains(&format!("\nmod {module};")), "{name} is not listed in main.rs");
    }
}
