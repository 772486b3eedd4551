//! All crashes: the tests take a sample, this takes all of them.
//!
//! It is long. Every point is hit by killing the engine alone, by killing everything, and, where it is a git process's,
//! by killing that process alone while its engine lives.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::part::Part;

/// Pairs of kills, one in a run and one in its recovery, by default. `--double all` is all of them, the
/// square of what is long already: months on two cores.
const PAIRS: &str = "300";

pub(crate) fn crash(root: &Path, mut words: impl Iterator<Item = String>) -> Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    // Not nextest: it ends tests that take long, and all of these do.
    command.current_dir(root).args(["test", "--package", "piton", "--test", "crash", "--"]);
    command
        .env("PITON_CRASH_SYSCALLS", "all")
        .env("PITON_CRASH_POWER", "all")
        .env("PITON_CRASH_DOUBLE", PAIRS);
    let mut tests = vec!["matrix::", "power::", "syscalls::", "clean::", "batch::", "garbage_collection"];
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("{word} wants a value"))?;
        match word.as_str() {
            "--sample" => command.env("PITON_CRASH_SYSCALLS", &value).env("PITON_CRASH_POWER", &value),
            "--double" => command.env("PITON_CRASH_DOUBLE", value),
            "--plan" => command.env("PITON_CRASH_PLAN", value),
            "--who" => {
                tests = vec!["a_kill_at_any_change", "a_clean_that_is_killed"];
                command.env("PITON_CRASH_WHO", value)
            }
            "--seed" => command.env("PITON_CRASH_SEED", value),
            "--part" => {
                let part = Part::read(&value)?;
                if part.nth > 1 {
                    tests = vec!["a_kill_at_any_change"];
                }
                command.env("PITON_CRASH_PART", value)
            }
            "--point" => {
                tests = vec!["a_kill_at_any_change"];
                command.env("PITON_CRASH_POINT", value)
            }
            "--power" => {
                tests = vec!["a_power_cut_loses_nothing"];
                command.env("PITON_CRASH_POWER", value)
            }
            _ => bail!("unknown option {word}"),
        };
    }
    // One after the other: each is parallel in itself.
    let status = command.args(tests).args(["--test-threads", "1", "--nocapture"]).status()?;
    if status.success() { Ok(()) } else { bail!("not everything was survived") }
}
