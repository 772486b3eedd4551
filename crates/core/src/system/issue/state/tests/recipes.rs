//! The recipes that people and agents of this system know, run by the real programs on what is written here.

use std::io::Write as _;
use std::process::{Command as Process, Stdio};

use super::*;
use crate::system::issue::journal::reconcile;
use crate::system::issue::progress::Progress;

/// What a program says of this text. `None`: it is not installed.
#[expect(clippy::disallowed_methods, reason = "the recipes are for these programs, so they are the judges")]
fn run(program: &str, args: &[&str], input: &str) -> Option<String> {
    let mut process = Process::new(program);
    let mut child = process.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    Some(String::from_utf8(output.stdout).expect("text"))
}

fn jq(args: &[&str], input: &str) -> Option<String> {
    run("jq", args, input)
}

#[test]
fn every_recipe_that_reads_the_file_works() {
    let bench = over();
    let text = shown(&bench);
    let Some(same) = jq(&["."], &text) else { return };
    assert_eq!(same, text, "byte for byte as jq writes it");
    let says = |recipe: &str| jq(&["-r", recipe], &text).expect("it ran a moment ago");
    assert_eq!(says(r#".tasks[] | select(.status == "completed") | .exports[]"#), "Exporter\nexport()\n");
    assert_eq!(says(r#".tasks[] | select(.status == "completed") | .patterns[]"#), "Errors are values\n");
    assert_eq!(says(r#".tasks[] | select(.id == "10") | .status"#), "failed\n");
    assert_eq!(says(r#".tasks[] | select(.id == "1") | .files_created[]"#), "src/export.rs\nsrc/new.rs\n");
    assert_eq!(says(".tasks | length"), "3\n");
    let first = says(r#".tasks[] | select(.status == "pending") | {id, description} | @json"#);
    assert_eq!(first, "");
    let fresh = shown(&fresh());
    let next = jq(&["-r", r#".tasks[] | select(.status == "pending") | {id, description} | @json"#], &fresh);
    let next = next.expect("it ran a moment ago");
    assert_eq!(next.lines().next(), Some(r#"{"id":"1","description":"Add part 1"}"#));
    let progress = Progress::new(&bench.state);
    for (word, counted) in [
        ("completed", progress.completed),
        ("in_progress", progress.in_progress),
        ("pending", progress.pending),
        ("failed", progress.failed),
    ] {
        let recipe = format!("[.tasks[] | select(.status == \"{word}\")] | length");
        assert_eq!(says(&recipe).trim(), counted.to_string());
    }
}

#[test]
fn every_recipe_that_writes_the_file_is_heard() {
    let bench = fresh();
    let edited = |recipe: &str, input: &str| jq(&[recipe], input);
    let recipe = r#"(.tasks[] | select(.id == "1")) |= . + {
        "status": "in_progress", "started_at": "2026-01-20T10:05:00Z" }"#;
    let Some(found) = edited(recipe, &shown(&bench)) else { return };
    let found: Value = serde_json::from_str(&found).expect("JSON");
    let start = edits(&json(&bench), &found);
    assert_eq!(start, [Edit { task: Some(id("1")), what: What::Start }]);
    let mut bench = bench;
    for command in commands(&start[0], "ann") {
        bench.accept(&command);
    }
    let recipe = r#"(.tasks[] | select(.id == "1")) |= . + {
        "status": "completed",
        "completed_at": "2026-01-20T11:00:00Z",
        "files_created": ["src/export.rs"],
        "files_modified": ["src/lib.rs"],
        "exports": ["Exporter", "export()"],
        "patterns": ["Errors are values"],
        "notes": "The writer streams, so large exports fit.",
        "test_results": {"passed": 5, "failed": 0, "skipped": 1}
    }"#;
    let found = edited(recipe, &shown(&bench)).expect("it ran a moment ago");
    let found = edited(r#".updated_at = "2026-01-20T11:00:00Z""#, &found).expect("it ran a moment ago");
    let found: Value = serde_json::from_str(&found).expect("JSON");
    let report = Report { decisions: Vec::new(), ..told() };
    assert_eq!(
        edits(&json(&bench), &found),
        [Edit { task: Some(id("1")), what: What::ReportDone { report } }]
    );
}

#[test]
fn the_recipe_that_looks_for_an_entry_finds_one_for_each_task_that_is_over() {
    let bench = over();
    let journal = reconcile(None, &bench.state, &bench.chronicle, &issue()).append.expect("a new file");
    for task in ["1", "2", "10"] {
        let count = run("grep", &["-c", &format!("## Task {task}:")], &journal);
        assert!(count.is_none_or(|count| count == "1\n"), "{task}");
    }
    let count = run("grep", &["-c", "auto-generated"], &journal);
    assert!(count.is_none_or(|count| count == "3\n"));
}
