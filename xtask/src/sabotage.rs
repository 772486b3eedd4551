//! Sabotage: each rule that Piton depends on is taken out in turn, and a test has to notice.
//!
//! A test that has never failed proves little. The catalogue, `sabotage.toml`, names for every rule the line that
//! makes it hold, what that line is when the rule is gone, and the tests that then fail. It works in a checkout and
//! a build folder of its own, so that it disturbs no other build.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::part::Part;

const CATALOGUE: &str = "xtask/sabotage.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    sabotage: Vec<Sabotage>,
}

/// One rule, the way to take it out, and the tests that notice.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sabotage {
    rule: String,
    file: String,
    /// A text that is in the file exactly once.
    from: String,
    to: String,
    package: String,
    /// The test program: the name of an integration test, or `lib`.
    binary: String,
    /// At least one of these has to fail.
    tests: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

enum Verdict {
    Caught(Vec<String>),
    NotCaught,
    DidNotBuild(String),
    /// The last commit does not contain the text that the current catalogue quotes.
    TextNotFound,
}

pub(crate) fn sabotage(root: &Path, mut words: impl Iterator<Item = String>) -> Result<()> {
    let all = read(root)?;
    let (mut lists, mut part, mut wanted) = (false, Part { nth: 1, of: 1 }, Vec::new());
    let mut together = 1;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--part" => part = Part::read(&words.next().unwrap_or_default())?,
            "--list" => lists = true,
            "--together" => {
                let number = words.next().unwrap_or_default();
                together = number.parse().with_context(|| format!("{number:?} is not a number"))?;
            }
            _ if word.starts_with('-') => {
                bail!(
                    "unknown option {word}; there are --list, --part 1/2, --together 8, and words that a rule or a file contains"
                )
            }
            _ => wanted.push(word),
        }
    }
    let is_wanted = |one: &&Sabotage| wanted.is_empty() || wanted.iter().any(|word| one.contains(word));
    let mut chosen: Vec<&Sabotage> = all.iter().filter(is_wanted).collect();
    ensure!(!chosen.is_empty(), "no rule and no file contains any of {wanted:?}");
    // Those of one crate follow each other, so that the crates below it are not built again for each.
    chosen.sort_by_key(|one| (&one.file, &one.package, &one.binary));
    let chosen: Vec<&Sabotage> = chosen.into_iter().skip(part.nth - 1).step_by(part.of).collect();
    if lists {
        for one in &chosen {
            println!("{}\n    {}, noticed by {}", one.rule, one.file, one.tests.join(", "));
        }
        println!("{} rules", chosen.len());
        return Ok(());
    }
    let rotten = rotten(root)?;
    ensure!(rotten.is_empty(), "the catalogue does not fit the sources:\n{}", rotten.join("\n"));
    let bench = Bench::set_up(root, &part)?;
    bench.control(&chosen)?;
    let mut missed = 0;
    for batch in batches(&chosen, together) {
        let begun = Instant::now();
        let company = if batch.rules.len() > 1 { bench.perform_together(&batch)? } else { Vec::new() };
        if !company.is_empty() {
            println!("{:>4} s  {} rules at once", begun.elapsed().as_secs(), batch.rules.len());
        }
        for one in &batch.rules {
            let begun = Instant::now();
            let caught = company.iter().find(|(rule, _)| *rule == one.rule).map(|(_, tests)| tests.clone());
            let verdict = caught.map_or_else(|| bench.perform(one), |tests| Ok(Verdict::Caught(tests)))?;
            let told = match &verdict {
                Verdict::Caught(tests) => format!("caught by {}", tests.join(", ")),
                Verdict::NotCaught => "NOT CAUGHT".to_owned(),
                Verdict::DidNotBuild(error) => format!("did not build: {error}"),
                Verdict::TextNotFound => "text not found".to_owned(),
            };
            missed += usize::from(!matches!(verdict, Verdict::Caught(_)));
            println!("{:>4} s  {}\n        {told}", begun.elapsed().as_secs(), one.rule);
        }
    }
    println!("{} of {} rules are missed when they are gone", chosen.len() - missed, chosen.len());
    if missed == 0 { Ok(()) } else { bail!("{missed} rules could be taken out unnoticed") }
}

/// Rules that are taken out at once, each in a file of its own, and the tests of others that have to pass nevertheless: if
/// these fail, it is not clear which rule a test noticed.
struct Batch<'a> {
    rules: Vec<&'a Sabotage>,
    others: BTreeSet<&'a str>,
}

fn batches<'a>(chosen: &[&'a Sabotage], most: usize) -> Vec<Batch<'a>> {
    let mut programs: BTreeMap<_, Vec<Vec<&Sabotage>>> = BTreeMap::new();
    for &one in chosen {
        let batches = programs.entry((&one.package, &one.binary, &one.env)).or_default();
        let fits = |batch: &&mut Vec<&Sabotage>| {
            batch.len() < most && batch.iter().all(|other| other.file != one.file)
        };
        match batches.iter_mut().find(fits) {
            Some(batch) => batch.push(one),
            None => batches.push(vec![one]),
        }
    }
    let tests = |rules: &[&'a Sabotage]| -> BTreeSet<&'a str> {
        rules.iter().flat_map(|one| &one.tests).map(String::as_str).collect()
    };
    let with_others = |batches: Vec<Vec<&'a Sabotage>>| -> Vec<Batch<'a>> {
        let next = |nth: usize| tests(&batches[(nth + 1) % batches.len()]);
        let others: Vec<BTreeSet<&str>> =
            (0..batches.len()).map(|nth| &next(nth) - &tests(&batches[nth])).collect();
        batches.into_iter().zip(others).map(|(rules, others)| Batch { rules, others }).collect()
    };
    programs.into_values().flat_map(with_others).collect()
}

/// Where the catalogue no longer fits the sources. Cheap: nothing is built.
pub(crate) fn rotten(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for one in read(root)? {
        let text = fs::read_to_string(root.join(&one.file)).unwrap_or_default();
        let times = text.matches(&one.from).count();
        if times != 1 {
            problems
                .push(format!("{CATALOGUE}: {}: its text stands in {} {times} times", one.rule, one.file));
        }
        if one.from == one.to || one.tests.is_empty() {
            problems.push(format!("{CATALOGUE}: {}: nothing is taken out, or no test looks", one.rule));
        }
        let sources = one.test_sources(root)?;
        for test in &one.tests {
            let name = test.rsplit("::").next().unwrap_or(test);
            if !sources.contains(&format!("fn {name}(")) {
                problems.push(format!(
                    "{CATALOGUE}: {}: there is no test {test} in {} of {}",
                    one.rule, one.binary, one.package
                ));
            }
        }
    }
    Ok(problems)
}

fn read(root: &Path) -> Result<Vec<Sabotage>> {
    let text =
        fs::read_to_string(root.join(CATALOGUE)).with_context(|| format!("cannot read {CATALOGUE}"))?;
    let catalogue: Catalogue = toml::from_str(&text).with_context(|| format!("cannot read {CATALOGUE}"))?;
    Ok(catalogue.sabotage)
}

impl Sabotage {
    fn contains(&self, word: &str) -> bool {
        self.rule.to_lowercase().contains(&word.to_lowercase()) || self.file.contains(word)
    }

    fn folder(&self) -> PathBuf {
        Path::new("crates").join(self.package.trim_start_matches("piton-"))
    }

    /// Everything the test program is made of.
    fn test_sources(&self, root: &Path) -> Result<String> {
        let package = root.join(self.folder());
        let tests = package.join("tests");
        let single = tests.join(format!("{}.rs", self.binary));
        let mut files = Vec::new();
        if self.binary == "lib" {
            super::tidy::collect(&package.join("src"), &mut files)?;
        } else if single.exists() {
            files.push(single);
        } else {
            super::tidy::collect(&tests.join(&self.binary), &mut files)?;
        }
        files.iter().map(|file| Ok(fs::read_to_string(file)?)).collect()
    }
}

/// A checkout of the last commit, with a build folder beside it.
struct Bench {
    tree: PathBuf,
    target: PathBuf,
    nextest: bool,
}

impl Bench {
    fn set_up(root: &Path, part: &Part) -> Result<Bench> {
        let place = root.join("target").join("sabotage").join(part.nth.to_string());
        let (tree, target) = (place.join("tree"), place.join("target"));
        let git = |folder: &Path, args: &[&str]| -> Result<String> {
            let output = Command::new("git").current_dir(folder).args(args).output()?;
            ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let head = git(root, &["rev-parse", "HEAD"])?;
        if tree.join(".git").exists() {
            // A run that was killed in the middle of a sabotage left it there.
            git(&tree, &["checkout", "--quiet", "--force", "--detach", &head])?;
        } else {
            fs::create_dir_all(&place)?;
            git(root, &["worktree", "prune"])?;
            let tree = tree.to_str().context("the path of this checkout is no text")?;
            git(root, &["worktree", "add", "--quiet", "--detach", tree, &head])?;
        }
        let changed = git(root, &["status", "--porcelain", "--untracked-files=no"])?;
        if !changed.is_empty() {
            println!("what is not committed is not looked at; the sources are those of {}", &head[..12]);
        }
        let nextest = Command::new("cargo").args(["nextest", "--version"]).output()?.status.success();
        Ok(Bench { tree, target, nextest })
    }

    /// A test that fails without any sabotage would notice nothing.
    fn control(&self, chosen: &[&Sabotage]) -> Result<()> {
        let mut programs: BTreeMap<(&str, &str), Sabotage> = BTreeMap::new();
        for one in chosen {
            let all = programs.entry((&one.package, &one.binary)).or_insert_with(|| Sabotage {
                tests: Vec::new(),
                env: BTreeMap::new(),
                ..(*one).clone()
            });
            all.tests.extend(one.tests.iter().cloned());
            all.env.extend(one.env.clone());
        }
        for mut all in programs.into_values() {
            all.tests = all.tests.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
            let begun = Instant::now();
            match self.run(&all)? {
                Verdict::NotCaught | Verdict::TextNotFound => {}
                Verdict::Caught(tests) => bail!("these fail without any sabotage: {}", tests.join(", ")),
                Verdict::DidNotBuild(error) => bail!("{} does not build: {error}", all.package),
            }
            println!(
                "{:>4} s  without sabotage {} tests of {} {} pass",
                begun.elapsed().as_secs(),
                all.tests.len(),
                all.package,
                all.binary
            );
        }
        Ok(())
    }

    fn perform(&self, one: &Sabotage) -> Result<Verdict> {
        let file = self.tree.join(&one.file);
        let whole = fs::read_to_string(&file).with_context(|| format!("cannot read {}", one.file))?;
        if whole.matches(&one.from).count() != 1 {
            return Ok(Verdict::TextNotFound);
        }
        fs::write(&file, whole.replacen(&one.from, &one.to, 1))?;
        let verdict = self.run(one);
        fs::write(&file, whole)?;
        verdict
    }

    /// Take several rules out at once: those that were noticed, and by which tests. None if that is not clear.
    fn perform_together(&self, batch: &Batch<'_>) -> Result<Vec<(String, Vec<String>)>> {
        let mut wholes = Vec::new();
        for one in &batch.rules {
            let file = self.tree.join(&one.file);
            let whole = fs::read_to_string(&file).with_context(|| format!("cannot read {}", one.file))?;
            fs::write(&file, whole.replacen(&one.from, &one.to, 1))?;
            wholes.push((file, whole));
        }
        let mut all = batch.rules[0].clone();
        all.tests = batch.rules.iter().flat_map(|one| one.tests.clone()).collect();
        all.tests.extend(batch.others.iter().map(|&test| test.to_owned()));
        let verdict = self.run(&all);
        for (file, whole) in wholes {
            fs::write(&file, whole)?;
        }
        let Verdict::Caught(failed) = verdict? else { return Ok(Vec::new()) };
        if failed.iter().any(|test| batch.others.contains(test.as_str())) {
            return Ok(Vec::new());
        }
        let noticed = |one: &&Sabotage| {
            let tests: Vec<String> = one.tests.iter().filter(|test| failed.contains(test)).cloned().collect();
            (!tests.is_empty()).then(|| (one.rule.clone(), tests))
        };
        Ok(batch.rules.iter().filter_map(noticed).collect())
    }

    /// Build the test program, then run the tests that are named.
    fn run(&self, one: &Sabotage) -> Result<Verdict> {
        let mut builds = vec![self.cargo(one, &["test", "--no-run"])];
        if self.tree.join(one.folder()).join("examples").is_dir() && one.binary != "lib" {
            // Some tests start an example, which has to be as sabotaged as they are.
            let mut examples = Command::new("cargo");
            examples.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.target);
            examples.env("CARGO_PROFILE_DEV_DEBUG", "0");
            examples.args(["build", "--locked", "--examples", "--package", &one.package]);
            builds.push(examples);
        }
        for mut build in builds {
            let built = build.output()?;
            if built.status.success() {
                continue;
            }
            let said = String::from_utf8_lossy(&built.stderr).into_owned();
            let error = said.lines().find(|line| line.starts_with("error")).unwrap_or("no reason was given");
            return Ok(Verdict::DidNotBuild(error.to_owned()));
        }
        let output = if self.nextest {
            let filter: Vec<String> = one.tests.iter().map(|test| format!("test({test})")).collect();
            let mut command = self.cargo(one, &["nextest", "run"]);
            command.args([
                "--profile",
                "sabotage",
                "--no-fail-fast",
                "--color",
                "never",
                "--failure-output",
                "never",
            ]);
            command.args(["-E", &filter.join(" | ")]).output()?
        } else {
            self.cargo(one, &["test"]).args(["--no-fail-fast", "--"]).args(&one.tests).output()?
        };
        if output.status.success() {
            return Ok(Verdict::NotCaught);
        }
        let failed = failed(&output, &one.tests);
        ensure!(
            !failed.is_empty(),
            "{}: the tests did not run: {}",
            one.rule,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(Verdict::Caught(failed))
    }

    fn cargo(&self, one: &Sabotage, verb: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.target).args(verb);
        command.args(["--locked", "--package", &one.package]);
        if one.binary == "lib" {
            command.arg("--lib");
        } else {
            command.args(["--test", &one.binary]);
        }
        // The sabotage may leave something unused, and a snapshot that differs is a failure, not a new truth. A backtrace
        // is not needed here.
        command.env("INSTA_UPDATE", "no").env("CARGO_PROFILE_DEV_DEBUG", "0").envs(&one.env);
        command
    }
}

/// Which of the tests failed, by what the runner printed. One that did not end in time has failed too.
fn failed(output: &Output, tests: &[String]) -> Vec<String> {
    let said =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    let lines = said.lines().map(str::trim).filter(|line| {
        let marks = ["FAIL", "TIMEOUT", "SIG", "ABORT", "LEAK-FAIL"];
        marks.iter().any(|mark| line.starts_with(mark)) || line.ends_with("... FAILED")
    });
    let lines: Vec<&str> = lines.collect();
    tests.iter().filter(|test| lines.iter().any(|line| line.contains(test.as_str()))).cloned().collect()
}
