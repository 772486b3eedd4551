//! Tests that are skipped because something is missing on this machine.

use std::fs::OpenOptions;
use std::io::Write;

/// Names the file that `./check` shows at its end: what a test prints is not shown if it passes.
const FILE: &str = "PITON_TEST_SKIPPED";

/// Report why the running test is skipped. The text must not contain a tab or a newline.
#[expect(clippy::print_stderr, reason = "a skipped test should be seen")]
pub fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
    let Ok(file) = std::env::var(FILE) else { return };
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // One write for the whole line, since other tests write at the same time.
    let line = format!("{why}\t{test}\n");
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.and_then(|mut file| file.write_all(line.as_bytes())).expect("a file to write to");
}
