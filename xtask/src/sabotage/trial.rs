//! Runs some tests of a built program with one rule taken out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::bench::Key;

/// With a rule taken out, a test often waits for something that will not come. Few tests take longer than some seconds, and
/// waiting is most of the time that the whole catalogue takes.
pub(super) const LIMIT: Duration = Duration::from_secs(30);

/// How long the other tests have after the first has failed: one is enough.
const REST: Duration = Duration::from_secs(5);

/// Short against the time of any test that starts a process.
const POLL: Duration = Duration::from_millis(10);

/// A test program, and where it runs.
#[derive(Clone)]
pub(super) struct Program {
    package: String,
    path: PathBuf,
    folder: PathBuf,
    tree: PathBuf,
    place: PathBuf,
    tests: Vec<String>,
}

/// How the tests ended.
pub(super) struct Trial {
    pub(super) failed: Vec<String>,
    /// Those that had not ended when the time was over, or when their process died.
    pub(super) unfinished: Vec<String>,
    pub(super) skipped: Vec<String>,
    pub(super) took: Duration,
}

impl Program {
    pub(super) fn new(
        key: &Key,
        path: PathBuf,
        folder: PathBuf,
        tree: PathBuf,
        place: PathBuf,
    ) -> Result<Program> {
        let listed =
            Command::new(&path).current_dir(&folder).args(["--list", "--format", "terse"]).output()?;
        ensure!(listed.status.success(), "{} does not list its tests", path.display());
        let listed = String::from_utf8(listed.stdout)?;
        let tests =
            listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect();
        Ok(Program { package: key.0.clone(), path, folder, tree, place, tests })
    }

    /// The tests with these names, which need not name their module.
    pub(super) fn named(&self, names: &[String]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for name in names {
            let end = format!("::{name}");
            let before = found.len();
            found.extend(self.tests.iter().filter(|test| *test == name || test.ends_with(&end)).cloned());
            ensure!(found.len() > before, "there is no test {name} in {}", self.path.display());
        }
        Ok(found)
    }

    /// Run the tests with this number switched on. No process of theirs is left.
    pub(super) fn run(
        &self,
        names: &[String],
        env: &BTreeMap<String, String>,
        number: u32,
        limit: Duration,
    ) -> Result<Trial> {
        let tests = self.named(names)?;
        let mark = u64::from(std::process::id()) * 10_000 + u64::from(number);
        let [out, err, skipped] =
            ["out", "err", "skipped"].map(|name| self.place.join(format!("{name}-{number}")));
        drop(fs::remove_file(&skipped));
        let mut command = Command::new("prlimit");
        command.arg(format!("--locks={mark}:unlimited")).arg("--").arg(&self.path);
        command.args(&tests).arg("--exact").current_dir(&self.folder).process_group(0);
        command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        // As cargo sets them. Insta would ask cargo for the workspace; a snapshot that differs is a failure, not a new truth.
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("CARGO_PKG_NAME", &self.package);
        command.env("INSTA_WORKSPACE_ROOT", &self.tree).env("INSTA_UPDATE", "no");
        command.env("PITON_TEST_SKIPPED", &skipped);
        command.env_remove("RUST_BACKTRACE").envs(env);
        let begun = Instant::now();
        let mut child = command.spawn().context("cannot start prlimit, which is part of util-linux")?;
        let mut end = begun + limit;
        let mut failed_at = None;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if Instant::now() > end {
                break None;
            }
            if failed_at.is_none() && fs::read_to_string(&out)?.contains("... FAILED") {
                failed_at = Some(Instant::now());
                end = end.min(Instant::now() + REST);
            }
            sleep(POLL);
        };
        let took = begun.elapsed();
        end_marked(mark)?;
        if status.is_none() {
            child.wait()?;
        }
        let said = String::from_utf8_lossy(&fs::read(&out)?).into_owned();
        let ended = |test: &String, how: &str| {
            said.lines().any(|line| line.starts_with(&format!("test {test} ")) && line.ends_with(how))
        };
        let failed: Vec<String> = tests.iter().filter(|test| ended(test, "... FAILED")).cloned().collect();
        let is_unfinished = |test: &&String| !ended(test, "... ok") && !ended(test, "... FAILED");
        let unfinished: Vec<String> = tests.iter().filter(is_unfinished).cloned().collect();
        let passed = status.is_some_and(|status| status.success());
        if !said.contains("running ") || (passed && !(failed.is_empty() && unfinished.is_empty())) {
            bail!("the tests did not run: {said}{}", fs::read_to_string(&err)?);
        }
        let skipped_here = fs::read_to_string(&skipped).unwrap_or_default();
        let skipped_here: BTreeSet<String> =
            skipped_here.lines().map(|line| line.replace('\t', ": ")).collect();
        for file in [&out, &err, &skipped] {
            drop(fs::remove_file(file));
        }
        Ok(Trial { failed, unfinished, skipped: skipped_here.into_iter().collect(), took })
    }
}

/// End every process with this mark: the tests, and what they started and left.
fn end_marked(mark: u64) -> Result<()> {
    let begun = Instant::now();
    loop {
        let marked = marked(mark)?;
        if marked.is_empty() {
            return Ok(());
        }
        ensure!(begun.elapsed() < LIMIT, "processes {marked:?} do not end");
        Command::new("kill").arg("-KILL").args(&marked).stderr(Stdio::null()).status()?;
        sleep(POLL);
    }
}

fn marked(mark: u64) -> Result<Vec<String>> {
    let mut marked = Vec::new();
    for process in fs::read_dir("/proc")? {
        let process = process?;
        let (name, path) = (process.file_name().to_string_lossy().into_owned(), process.path());
        if name.bytes().all(|byte| byte.is_ascii_digit()) && is_marked(&path, mark) {
            marked.push(name);
        }
    }
    Ok(marked)
}

/// Whether it lives and has the mark. One that is dead already is its parent's to bury.
fn is_marked(process: &Path, mark: u64) -> bool {
    let read = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
    let limits = read("limits");
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max file locks"));
    soft.and_then(|words| words.split_whitespace().next()) == Some(mark.to_string().as_str())
        && !read("stat").rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X'])
}
