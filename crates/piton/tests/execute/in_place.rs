//! The state file written as one description of the system writes it: truncated, and then filled in place. And the lock
//! of its recipes, left behind.

use std::fs::{self, File};
use std::io::Write;

use piton_testkit::sandbox::Sandbox;
use serde_json::json;

use crate::{PLAN, all_write, shop, state, statuses};

fn ledger() -> Sandbox {
    let sandbox = shop();
    let _ = sandbox.run(&format!("next --plan {PLAN}")).exits(0).says("L1-001");
    sandbox
}

/// A writer who has truncated the file and has yet to fill it, and what it is going to write.
fn begin(sandbox: &Sandbox, name: &str) -> (File, String) {
    let mut edited = state(sandbox);
    edited[name] = json!(true);
    let path = sandbox.project().join(PLAN).join("execute-state.json");
    let file = File::options().write(true).truncate(true).open(path).expect("our own file");
    (file, serde_json::to_string_pretty(&edited).expect("JSON"))
}

#[test]
fn a_file_that_somebody_writes_in_place_is_waited_for() {
    for half in [false, true] {
        let sandbox = ledger();
        let (mut file, text) = begin(&sandbox, "mine");
        let (first, rest) = text.split_at(if half { text.len() / 2 } else { 0 });
        file.write_all(first.as_bytes()).expect("our own file");
        let mut start = sandbox.piton(["start", "L1-001", "--by", "ada"]).spawn();
        start.until_says("execute-state.json is half-written");
        file.write_all(rest.as_bytes()).expect("our own file");
        let _ = start.wait().exits(0);
        assert_eq!(state(&sandbox)["mine"], true);
        assert_eq!(statuses(&sandbox), ["in_progress", "pending", "pending"]);
        assert!(!sandbox.exists(format!("{PLAN}/execute-state.json.bad")));
    }
}

/// It is opened in the very moment in which Piton puts another one in its place.
#[test]
fn a_file_that_is_displaced_while_somebody_writes_it_is_put_back() {
    let sandbox = ledger();
    let start = sandbox.piton(["start", "L1-001", "--by", "ada"]);
    // The first write shows the start; what was settled before it had nothing to write.
    let mut start = start.pausing_at(&sandbox, "files.before-write", 1).spawn();
    let pause = start.until_paused(&sandbox);
    let (mut file, text) = begin(&sandbox, "mine");
    drop(pause);
    start.until_says("execute-state.json is half-written");
    file.write_all(text.as_bytes()).expect("our own file");
    let _ = start.wait().exits(0);
    assert_eq!(state(&sandbox)["mine"], true);
    assert_eq!(statuses(&sandbox), ["in_progress", "pending", "pending"]);
}

#[test]
fn an_engine_beside_such_a_writer_loses_no_edit() {
    let sandbox = shop();
    sandbox.fifo("begun");
    sandbox.fifo("gate");
    sandbox.script(&all_write().replace("[L1-001]\n", "[L1-001]\nmeet SIDE/begun\nmeet SIDE/gate\n"));
    let mut run = sandbox.piton(["run", PLAN]).spawn();
    run.until_at(&sandbox, "begun");
    let (mut file, text) = begin(&sandbox, "mine");
    run.until_at(&sandbox, "gate");
    run.until_says("L1-001   landed");
    assert_eq!(sandbox.read(format!("{PLAN}/execute-state.json")), "", "it is waited for");
    file.write_all(text.as_bytes()).expect("our own file");
    drop(file);
    let _ = run.wait().exits(0);
    assert_eq!(state(&sandbox)["mine"], true);
    assert_eq!(statuses(&sandbox), ["completed"; 3]);
}

#[test]
fn what_was_left_half_written_is_kept_aside() {
    let sandbox = ledger();
    drop(begin(&sandbox, "mine"));
    let _ = sandbox.run("doctor").exits(1).says("it is half-written");
    sandbox.age(format!("{PLAN}/execute-state.json"));
    let _ = sandbox.run("start L1-001 --by ada").exits(0).lacks("half-written");
    assert_eq!(sandbox.read(format!("{PLAN}/execute-state.json.bad")), "");
    assert_eq!(statuses(&sandbox), ["in_progress", "pending", "pending"]);
}

#[test]
fn a_lock_that_was_left_is_said_at_once_named_by_the_doctor_and_cleared() {
    let sandbox = ledger();
    let lock = sandbox.project().join(PLAN).join("execute-state.lock");
    // By a script, just now.
    drop(File::create(&lock).expect("a new file"));
    let _ = sandbox.run("doctor").exits(0).says("execute-state.lock exists").says("by a script");
    let mut waits = sandbox.piton(["start", "L1-001", "--by", "ada"]).spawn();
    waits.until_says("execute-state.lock exists: a script is writing, or left it behind");
    fs::remove_file(&lock).expect("our own lock");
    let _ = waits.wait().exits(0);
    // By a script, long ago; and by a Piton that died.
    for text in ["", "piton 1 0\n"] {
        sandbox.write(&lock, text);
        if text.is_empty() {
            sandbox.age(&lock);
        }
        let _ = sandbox.run("doctor").exits(1).says("execute-state.lock exists");
        let _ = sandbox.run("doctor --repair").exits(0).says("fixed  ");
        assert!(!lock.exists());
        sandbox.write(&lock, text);
        if text.is_empty() {
            sandbox.age(&lock);
        }
        let _ = sandbox.run("next").exits(0).lacks("is there");
        assert!(!lock.exists(), "the next command clears it");
    }
}
