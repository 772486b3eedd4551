//! The coverage-guided fuzzer: libFuzzer over the targets of `piton-fuzz`, on a stable toolchain.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The options that make the compiler report to libFuzzer which path an input took. All of them are stable.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

const CORPUS: &str = "crates/fuzz/corpus";

pub(crate) fn fuzz(root: &Path, mut words: impl Iterator<Item = String>) -> Result<()> {
    let (mut targets, mut minutes): (Vec<String>, u64) = (Vec::new(), 1);
    // Every target has a corpus of its name: asking the crate itself would mean building the engine here.
    let mut known: Vec<String> = Vec::new();
    for entry in fs::read_dir(root.join(CORPUS))? {
        known.extend(entry?.file_name().into_string());
    }
    known.sort();
    while let Some(word) = words.next() {
        if word == "--minutes" {
            let text = words.next().context("--minutes wants a number")?;
            minutes = text.parse().with_context(|| format!("{text:?} is not a number"))?;
        } else {
            ensure!(known.contains(&word), "no target {word:?}; there are {known:?}");
            targets.push(word);
        }
    }
    let program = build(root)?;
    let mut broken = Vec::new();
    for target in if targets.is_empty() { known } else { targets } {
        println!("\n==> {target} for {minutes} min");
        if !search(root, &program, &target, minutes)? {
            broken.push(target);
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    bail!(
        "promises were broken: {broken:?}. Keep the input, in crates/fuzz/corpus/TARGET, and fix the reader"
    )
}

/// Build the fuzzer apart from everything else, so that no other build has to be made again.
fn build(root: &Path) -> Result<PathBuf> {
    let host = Command::new("rustc").arg("-vV").output().context("rustc does not start")?;
    let told = String::from_utf8_lossy(&host.stdout).into_owned();
    let host = told.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let folder = root.join("target").join("fuzz");
    // With a target named, the flags are not used for build scripts.
    let status = Command::new("cargo")
        .args([
            "build",
            "--locked",
            "--package",
            "piton-fuzz",
            "--features",
            "libfuzzer",
            "--profile",
            "fuzz",
        ])
        .args(["--target", host, "--target-dir"])
        .arg(&folder)
        .env("RUSTFLAGS", COVERAGE)
        .current_dir(root)
        .status()?;
    ensure!(status.success(), "the fuzzer could not be built");
    Ok(folder.join(host).join("fuzz").join("piton-fuzz"))
}

/// Returns whether nothing broke. New inputs go to `target/fuzz/found`, and inputs that break a promise to
/// `target/fuzz/broken`.
fn search(root: &Path, program: &Path, target: &str, minutes: u64) -> Result<bool> {
    let folder = root.join("target").join("fuzz");
    let (found, broken) = (folder.join("found").join(target), folder.join("broken").join(target));
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&broken)?;
    let words = folder.join(format!("{target}.dict"));
    let status = Command::new(program)
        .env("PITON_FUZZ", target)
        .env("PITON_FUZZ_WORDS", &words)
        .arg(&found)
        .arg(root.join(CORPUS).join(target))
        .arg(format!("-dict={}", words.display()))
        .arg(format!("-artifact_prefix={}/", broken.display()))
        .arg(format!("-max_total_time={}", minutes * 60))
        // A reader that takes a second for 16 KiB is broken too.
        .args(["-timeout=5", "-max_len=16384", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"])
        .status()?;
    Ok(status.success())
}
