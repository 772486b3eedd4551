//! Chores with logic in them.
//!
//! `cargo xtask generate [--check]` writes the files that are made from the code.
//! `cargo xtask tidy` looks after the house rules.
//! `cargo xtask simulate [--seeds N | --queues N | --takeovers N] [--from S] [--seed S | --queue S | --takeover S] [--trace]` lives through seeds
//! of the simulator. For many of them: `cargo run --release -p xtask -- simulate --seeds 100000`.
//! `cargo xtask makespan [--plans N]` measures the scheduler against the least time there is.
//! `cargo xtask queues [--seeds N] [--changes N] [--slots K] [--gap PERCENT] [--write]` measures the landing line against other queues.
//! `--write` puts the tables into `docs/performance.md`.
//! `cargo xtask fuzz [TARGET…] [--minutes N]` looks for inputs that break a reader.
//! `cargo xtask crash [--plan native|fenced|execute] [--sample N] [--double N|all] [--part 1/3] [--who alone] [--seed S]` kills the real binary at every
//! change of the disk, and cuts the power at every commit to the journal. One of them again:
//! `--point 'KIND #NTH'`, or `--power 'KIND #NTH'`.
//! `cargo xtask sabotage [WORD…] [--list] [--part 1/2] [--again] [--json FILE]` takes every rule out in turn, and demands that a test notices.

#![expect(clippy::print_stdout, reason = "a chore speaks to the terminal it was started in")]

mod circles;
mod crash;
mod fuzz;
mod generate;
mod links;
mod messages;
mod part;
mod queues;
mod sabotage;
mod tidy;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use piton_testkit::makespan::{LANDING, Makespan, Shape, makespan as live, quantile};
use piton_testkit::sim::{self, Coverage, Options, Violation, World};

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("generate") => generate::generate(root, words.next().as_deref() == Some("--check")),
        Some("tidy") => tidy::tidy(root),
        Some("simulate") => simulate(words),
        Some("makespan") => makespan(words),
        Some("queues") => queues::queues(root, words),
        Some("fuzz") => fuzz::fuzz(root, words),
        Some("crash") => crash::crash(root, words),
        Some("sabotage") => sabotage::sabotage(root, words),
        other => {
            bail!(
                "no such chore: {other:?}; there are generate, tidy, simulate, makespan, queues, fuzz, crash and sabotage"
            )
        }
    }
}

fn simulate(mut words: impl Iterator<Item = String>) -> Result<()> {
    let (mut seeds, mut from, mut one, mut options) = (1000, 0, None, Options::default());
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64> {
            let text = words.next().with_context(|| format!("{word} wants a number"))?;
            text.parse().with_context(|| format!("{text:?} is not a number"))
        };
        match word.as_str() {
            "--seeds" => seeds = number()?,
            "--queues" => (seeds, options.world) = (number()?, World::Queue),
            "--from" => from = number()?,
            "--seed" => one = Some(number()?),
            "--queue" => (one, options.world) = (Some(number()?), World::Queue),
            "--requests" => (seeds, options.world) = (number()?, World::Requests),
            "--request" => (one, options.world) = (Some(number()?), World::Requests),
            "--takeovers" => (seeds, options.world) = (number()?, World::TakeOver),
            "--takeover" => (one, options.world) = (Some(number()?), World::TakeOver),
            "--trace" => options.trace = true,
            _ => bail!("unknown option {word}"),
        }
    }
    if let Some(seed) = one {
        let outcome = sim::simulate(seed, options).map_err(anyhow::Error::new)?;
        outcome.trace.iter().for_each(|line| println!("{line}"));
        println!("seed {seed}: every law holds, {} events", outcome.coverage.events);
        return Ok(());
    }
    let begun = Instant::now();
    let mut coverage = Coverage::default();
    let mut broken: BTreeMap<&'static str, Vec<Violation>> = BTreeMap::new();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let live = |thread: usize| {
            let (mut seen, mut wrong) = (Coverage::default(), Vec::new());
            for seed in (from..from + seeds).skip(thread).step_by(threads) {
                // A violation is printed without its trace: the command that repeats it shows the trace.
                match sim::simulate(seed, Options { trace: false, ..options }) {
                    Ok(outcome) => seen.merge(&outcome.coverage),
                    Err(violation) => wrong.push(violation),
                }
            }
            (seen, wrong)
        };
        let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || live(thread))).collect();
        for one in all {
            let (seen, wrong) = one.join().expect("a simulation does not panic");
            coverage.merge(&seen);
            for violation in wrong {
                broken.entry(violation.law).or_default().push(violation);
            }
        }
    });
    for (what, n) in &coverage.seen {
        println!("{n:>12}  {what}");
    }
    println!("{seeds} seeds, {} events, {:.1} s", coverage.events, begun.elapsed().as_secs_f64());
    for violations in broken.values_mut() {
        violations.sort_by_key(|violation| violation.seed);
        let seeds: Vec<String> = violations.iter().map(|violation| violation.seed.to_string()).collect();
        println!("\n{} times, by {}: {}", seeds.len(), seeds.join(" "), violations[0]);
    }
    if broken.is_empty() { Ok(()) } else { bail!("laws were broken: {}", broken.len()) }
}

/// How far the scheduler is from the least time there is, over many plans.
fn makespan(mut words: impl Iterator<Item = String>) -> Result<()> {
    let mut plans = 1000;
    match (words.next().as_deref(), words.next()) {
        (None, _) => {}
        (Some("--plans"), Some(text)) => {
            plans = text.parse().with_context(|| format!("{text:?} is not a number"))?;
        }
        (Some(word), _) => bail!("unknown option {word}; there is --plans N"),
    }
    let all: Vec<Makespan> = (0..plans).map(live).collect();
    println!("time taken / max(longest chain, work / slots), landings of {LANDING} ms on top");
    println!("{:>8}  {:>6}  {:>6}  {:>6}  {:>6}", "", "plans", "median", "p90", "max");
    let row = |name: &str, of: &[Makespan]| {
        let [median, p90, max] = [0.5, 0.9, 1.0].map(|part| quantile(of, part));
        println!("{name:>8}  {:>6}  {median:>6.3}  {p90:>6.3}  {max:>6.3}", of.len());
    };
    for shape in Shape::ALL {
        let of: Vec<Makespan> = all.iter().copied().filter(|m| m.shape == shape).collect();
        row(&format!("{shape:?}").to_lowercase(), &of);
    }
    row("all", &all);
    Ok(())
}
