//! Sabotage: each rule that Piton depends on is taken out in turn, and a test has to notice.
//!
//! A test that has never failed proves little. The catalogue, `sabotage.toml`, names for every rule the line that
//! makes it hold, what that line is when the rule is gone, and the tests that then fail. It works in a checkout and
//! a build folder of its own, so that it disturbs no other build. One build holds all rules behind switches; the few that
//! no switch can take out get a build each.

mod bench;
mod catalogue;
mod known;
mod report;
mod schema;
mod trial;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

pub(crate) use catalogue::rotten;

use super::part::Part;
use bench::{Bench, Key};
use catalogue::Sabotage;
use report::{Report, Verdict};
use schema::{Change, has_home};
use trial::{LIMIT, Program};

/// A rule that is taken out, by its number.
struct Rule<'a> {
    number: u32,
    one: &'a Sabotage,
    change: Change,
}

impl Rule<'_> {
    fn program(&self) -> Key {
        (self.one.package.clone(), self.one.binary.clone())
    }
}

/// The numbers of the runs in which no rule is taken out. The catalogue is far shorter.
const WITHOUT: u32 = 5000;

pub(crate) fn sabotage(root: &Path, mut words: impl Iterator<Item = String>) -> Result<()> {
    let all = catalogue::read(root)?;
    let (mut lists, mut again, mut part, mut wanted) = (false, false, Part { nth: 1, of: 1 }, Vec::new());
    let mut json: Option<PathBuf> = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--part" => part = Part::read(&words.next().unwrap_or_default())?,
            "--list" => lists = true,
            "--again" => again = true,
            "--json" => json = Some(words.next().context("--json wants a file")?.into()),
            _ if word.starts_with('-') => {
                bail!(
                    "unknown option {word}; there are --list, --part 1/2, --again, --json FILE, and words that a rule or a file contains"
                )
            }
            _ => wanted.push(word),
        }
    }
    let is_wanted = |one: &&Sabotage| wanted.is_empty() || wanted.iter().any(|word| one.contains(word));
    let mut chosen: Vec<&Sabotage> = all.iter().filter(is_wanted).collect();
    ensure!(!chosen.is_empty(), "no rule and no file contains any of {wanted:?}");
    chosen.sort_by_key(|one| (&one.file, &one.package, &one.binary));
    let chosen: Vec<&Sabotage> = chosen.into_iter().skip(part.nth - 1).step_by(part.of).collect();
    if lists {
        for one in &chosen {
            let text = std::fs::read_to_string(root.join(&one.file)).with_context(|| one.file.clone())?;
            let change = Change::new(0, &text, &one.from, &one.to);
            let switch = change.is_some_and(|change| has_home(&one.file, &text, &change));
            let apart = if switch { "" } else { ", in a build of its own" };
            println!("{}\n    {}, noticed by {}{apart}", one.rule, one.file, one.tests.join(", "));
        }
        println!("{} rules", chosen.len());
        return Ok(());
    }
    let rotten = rotten(root)?;
    ensure!(rotten.is_empty(), "the catalogue does not fit the sources:\n{}", rotten.join("\n"));
    let report = Report::new(json.as_deref())?;
    Run { bench: Bench::set_up(root, &part, again)?, report }.perform(&all, &chosen)
}

/// One call of the command.
struct Run {
    bench: Bench,
    report: Report,
}

impl Run {
    fn perform(&self, all: &[Sabotage], chosen: &[&Sabotage]) -> Result<()> {
        let mut rules = Vec::new();
        let is_chosen = |one: &Sabotage| chosen.iter().any(|other| std::ptr::eq(*other, one));
        for (number, one) in (1..).zip(all) {
            let text = self.bench.original(&one.file)?;
            match Change::new(number, &text, &one.from, &one.to) {
                Some(change) if text.matches(&one.from).count() == 1 => {
                    rules.push(Rule { number, one, change });
                }
                _ if is_chosen(one) => self.add(one, Duration::ZERO, &Verdict::TextNotFound)?,
                _ => {}
            }
        }
        let (known, open): (Vec<_>, Vec<_>) = rules
            .iter()
            .filter(|rule| is_chosen(rule.one))
            .partition(|rule| self.bench.known.is_caught(rule.one));
        for rule in known {
            self.add(rule.one, Duration::ZERO, &Verdict::CaughtBefore)?;
        }
        if !open.is_empty() {
            let begun = Instant::now();
            let (programs, left) = self.bench.build_switched(&rules, &open)?;
            let (apart, switched): (Vec<&Rule<'_>>, Vec<&Rule<'_>>) =
                open.into_iter().partition(|rule| left.contains(&rule.number));
            println!(
                "{:>4} s  to build; {} rules have a switch, {} get a build each",
                begun.elapsed().as_secs(),
                switched.len(),
                apart.len()
            );
            self.report.begin_stage(switched.len());
            self.try_switched(&programs, switched)?;
            self.report.begin_stage(apart.len());
            // A build without a rule takes the place of the programs.
            let controls = apart.iter().map(|rule| self.control(&programs[&rule.program()], rule));
            let controls = controls.collect::<Result<Vec<_>>>()?;
            for (rule, control) in apart.into_iter().zip(controls) {
                let begun = Instant::now();
                let verdict = match control {
                    Err(verdict) => verdict,
                    Ok(took) => match self.bench.build_without(&rules, &left, rule)? {
                        Err(error) => Verdict::DidNotBuild(error),
                        Ok(program) => self.try_rule(&program, rule, took)?,
                    },
                };
                self.add(rule.one, begun.elapsed(), &verdict)?;
            }
        }
        self.report.finish()
    }

    /// Take out rules that have switches, as many at a time as there are processors.
    fn try_switched(&self, programs: &BTreeMap<Key, Program>, rules: Vec<&Rule<'_>>) -> Result<()> {
        let mut groups: BTreeMap<_, Vec<&Rule<'_>>> = BTreeMap::new();
        for rule in rules {
            let one = rule.one;
            groups.entry((rule.program(), &one.env, &one.tests)).or_default().push(rule);
        }
        let queue: Mutex<VecDeque<Vec<&Rule<'_>>>> = Mutex::new(groups.into_values().collect());
        let next = || queue.lock().expect("no thread panics while it takes").pop_front();
        let work = || -> Result<()> {
            while let Some(group) = next() {
                let program = &programs[&group[0].program()];
                let control = self.control(program, group[0])?;
                for rule in group {
                    let begun = Instant::now();
                    match &control {
                        Ok(took) => {
                            let verdict = self.try_rule(program, rule, *took)?;
                            self.add(rule.one, begun.elapsed(), &verdict)?;
                        }
                        Err(verdict) => self.add(rule.one, Duration::ZERO, verdict)?,
                    }
                }
            }
            Ok(())
        };
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            all.into_iter().try_for_each(|one| one.join().expect("a trial does not panic"))
        })
    }

    /// How long the tests of a rule take without any sabotage.
    fn control(&self, program: &Program, rule: &Rule<'_>) -> Result<Result<Duration, Verdict>> {
        let one = rule.one;
        let trial = program.run(&one.tests, &one.env, WITHOUT + rule.number, 8 * LIMIT)?;
        let failed = [trial.failed, trial.unfinished].concat();
        Ok(if failed.is_empty() { Ok(trial.took) } else { Err(Verdict::FailsAnyway(failed)) })
    }

    fn try_rule(&self, program: &Program, rule: &Rule<'_>, control: Duration) -> Result<Verdict> {
        let one = rule.one;
        let trial = program.run(&one.tests, &one.env, rule.number, LIMIT.max(4 * control))?;
        Ok(if !trial.failed.is_empty() {
            Verdict::Caught(trial.failed)
        } else if !trial.unfinished.is_empty() {
            let unfinished = trial.unfinished.iter().map(|test| format!("{test} (did not end)"));
            Verdict::Caught(unfinished.collect())
        } else if !trial.skipped.is_empty() {
            Verdict::Skipped(trial.skipped)
        } else {
            Verdict::NotCaught
        })
    }

    fn add(&self, one: &Sabotage, took: Duration, verdict: &Verdict) -> Result<()> {
        if let Verdict::Caught(_) = verdict {
            self.bench.known.note_caught(one)?;
        }
        self.report.add(one, took, verdict)
    }
}
