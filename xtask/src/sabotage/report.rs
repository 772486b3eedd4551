//! The output: a line for each rule, with an estimate of the time left, and at the end a list of what needs work.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::catalogue::Sabotage;

pub(super) enum Verdict {
    Caught(Vec<String>),
    /// In an earlier run, with the same entry and the same sources.
    CaughtBefore,
    NotCaught,
    /// The tests lack something on this machine.
    Skipped(Vec<String>),
    /// Tests that fail without any sabotage would notice nothing.
    FailsAnyway(Vec<String>),
    DidNotBuild(String),
    /// The last commit does not contain the text that the current catalogue quotes.
    TextNotFound,
}

pub(super) struct Report {
    /// One JSON object for each rule, in lines.
    json: Option<File>,
    tally: Mutex<Tally>,
}

#[derive(Default)]
struct Tally {
    caught: usize,
    skipped: usize,
    /// What needs work, as it was printed.
    unproven: Vec<String>,
    stage: Option<Stage>,
}

/// Rules that take about the same time each.
struct Stage {
    begun: Instant,
    done: usize,
    of: usize,
}

impl Report {
    pub(super) fn new(json: Option<&Path>) -> Result<Report> {
        let create =
            |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
        Ok(Report { json: json.map(create).transpose()?, tally: Mutex::default() })
    }

    /// The next `of` rules that are reported are alike, and begin now.
    pub(super) fn begin_stage(&self, of: usize) {
        let mut tally = self.tally.lock().expect("no thread panics while it counts");
        tally.stage = Some(Stage { begun: Instant::now(), done: 0, of });
    }

    pub(super) fn add(&self, one: &Sabotage, took: Duration, verdict: &Verdict) -> Result<()> {
        let mut tally = self.tally.lock().expect("no thread panics while it counts");
        let progress = tally.stage.as_mut().map(|stage| {
            stage.done += 1;
            progress(stage.done, stage.of, stage.begun.elapsed())
        });
        let text = format!("{}\n        {verdict}", one.rule);
        println!("{:>4} s  {}{text}", took.as_secs(), progress.unwrap_or_default());
        if let Some(mut file) = self.json.as_ref() {
            let line = json!({
                "rule": one.rule,
                "file": one.file,
                "program": format!("{} {}", one.package, one.binary),
                "verdict": verdict.name(),
                "details": verdict.details(),
                "seconds": took.as_secs_f64(),
            });
            writeln!(file, "{line}")?;
        }
        match verdict {
            Verdict::Caught(_) | Verdict::CaughtBefore => tally.caught += 1,
            Verdict::Skipped(_) => tally.skipped += 1,
            _ => tally.unproven.push(text),
        }
        Ok(())
    }

    /// The sum of it all. An error if the tests of a rule did not notice that it was gone, or could not show it.
    pub(super) fn finish(&self) -> Result<()> {
        let tally = self.tally.lock().expect("no thread panics while it counts");
        let all = tally.caught + tally.skipped + tally.unproven.len();
        println!();
        tally.unproven.iter().for_each(|text| println!("{text}"));
        if tally.skipped > 0 {
            println!("{} of {all} rules cannot be tested on this machine", tally.skipped);
        }
        println!("{} of {all} rules are missed when they are gone", tally.caught);
        match tally.unproven.len() {
            0 => Ok(()),
            1 => bail!("no test was seen to notice that the rule above is gone"),
            more => bail!("no test was seen to notice that the {more} rules above are gone"),
        }
    }
}

/// How many of the stage are done, and how long the rest takes at this speed.
fn progress(done: usize, of: usize, elapsed: Duration) -> String {
    let (done_so_far, rest) =
        (u32::try_from(done).unwrap_or(u32::MAX), u32::try_from(of - done).unwrap_or(0));
    let left = (elapsed / done_so_far.max(1)) * rest;
    format!("[{done}/{of}, about {} min left]  ", left.as_secs().div_ceil(60))
}

impl Verdict {
    fn name(&self) -> &'static str {
        match self {
            Verdict::Caught(_) => "caught",
            Verdict::CaughtBefore => "caught before",
            Verdict::NotCaught => "not caught",
            Verdict::Skipped(_) => "skipped",
            Verdict::FailsAnyway(_) => "fails anyway",
            Verdict::DidNotBuild(_) => "did not build",
            Verdict::TextNotFound => "text not found",
        }
    }

    fn details(&self) -> Vec<String> {
        match self {
            Verdict::Caught(texts) | Verdict::Skipped(texts) | Verdict::FailsAnyway(texts) => texts.clone(),
            Verdict::DidNotBuild(error) => vec![error.clone()],
            Verdict::CaughtBefore | Verdict::NotCaught | Verdict::TextNotFound => Vec::new(),
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let details = self.details().join(", ");
        match self {
            Verdict::Caught(_) => write!(f, "caught by {details}"),
            Verdict::CaughtBefore => write!(f, "caught in an earlier run"),
            Verdict::NotCaught => write!(f, "NOT CAUGHT"),
            Verdict::Skipped(_) => write!(f, "not tested on this machine: {details}"),
            Verdict::FailsAnyway(_) => write!(f, "these fail without any sabotage: {details}"),
            Verdict::DidNotBuild(_) => write!(f, "did not build: {details}"),
            Verdict::TextNotFound => write!(f, "text not found"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::progress;

    #[test]
    fn the_time_left_follows_the_speed_of_the_stage() {
        assert_eq!(progress(10, 40, Duration::from_secs(60)), "[10/40, about 3 min left]  ");
        assert_eq!(progress(1, 2, Duration::from_secs(61)), "[1/2, about 2 min left]  ");
        assert_eq!(progress(40, 40, Duration::from_secs(90)), "[40/40, about 0 min left]  ");
    }
}
