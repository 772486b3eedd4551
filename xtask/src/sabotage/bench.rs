//! A checkout of the last commit with a build folder beside it, and the one build with all switches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Rule;
use super::known::Known;
use super::schema::{Change, Rewritten, rewrite};
use super::trial::Program;
use crate::part::Part;

/// Where the switch is added.
const HOME: &str = "crates/core/src/lib.rs";

/// The number is a resource limit that the kernel ignores: every process inherits it, and tests that clear the environment
/// keep it. So rules can be taken out at the same time, each in its own processes.
const SWITCH: &str = r#"
#[allow(missing_docs)]
pub mod sabotage_switch {
    pub fn on() -> u32 {
        static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
        *ON.get_or_init(|| {
            let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
            let words = limits.lines().find_map(|line| line.strip_prefix("Max file locks"));
            let number = words.and_then(|words| words.split_whitespace().next()?.parse::<u64>().ok());
            number.map_or(0, |number| (number % 10_000) as u32)
        })
    }
}
"#;

/// A test program, by its package and its name.
pub(super) type Key = (String, String);

pub(super) struct Bench {
    /// Held as long as this command uses the folder.
    _lock: File,
    place: PathBuf,
    tree: PathBuf,
    target: PathBuf,
    pub(super) known: Known,
}

enum Built {
    Programs(BTreeMap<Key, Program>),
    Broken(Vec<Diagnostic>),
}

impl Bench {
    pub(super) fn set_up(root: &Path, part: &Part, again: bool) -> Result<Bench> {
        let place = root.join("target").join("sabotage").join(part.nth.to_string());
        let (tree, target) = (place.join("tree"), place.join("target"));
        let head = git(root, &["rev-parse", "HEAD"])?.trim().to_owned();
        fs::create_dir_all(&place)?;
        let lock = File::create(place.join("lock"))?;
        ensure!(lock.try_lock().is_ok(), "another command works in {}", place.display());
        if !tree.join(".git").exists() {
            git(root, &["worktree", "prune"])?;
            let tree = tree.to_str().context("the path of this checkout is no text")?;
            git(root, &["worktree", "add", "--quiet", "--detach", tree, &head])?;
        } else if git(&tree, &["rev-parse", "HEAD"])?.trim() != head {
            // The files stay as they are until the build: what the commit did not change is not built again.
            git(&tree, &["reset", "--quiet", "--mixed", &head])?;
            git(&tree, &["clean", "--quiet", "--force", "-d"])?;
        }
        if !git(root, &["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
            println!("what is not committed is not looked at; the sources are those of {}", &head[..12]);
        }
        let known = Known::open(&place, git(&tree, &["ls-tree", "-r", "HEAD"])?, again)?;
        Ok(Bench { _lock: lock, place, tree, target, known })
    }

    /// A file of the last commit.
    pub(super) fn original(&self, file: &str) -> Result<String> {
        git(&self.tree, &["show", &format!("HEAD:{file}")])
    }

    /// Build the programs of `open` with a switch for every rule that can have one, so that other rules find them built. The
    /// rules without a switch are returned.
    pub(super) fn build_switched(
        &self,
        rules: &[Rule<'_>],
        open: &[&Rule<'_>],
    ) -> Result<(BTreeMap<Key, Program>, BTreeSet<u32>)> {
        let mut left: BTreeSet<u32> =
            rules.iter().filter(|rule| self.known.has_no_switch(rule.one)).map(|rule| rule.number).collect();
        loop {
            let files = self.write(rules, &left, None)?;
            left.extend(files.values().flat_map(|file| &file.left));
            let broken = match self.build(rules, open)? {
                Built::Programs(programs) => return Ok((programs, left)),
                Built::Broken(broken) => broken,
            };
            let blamed = blamed(&broken, &files);
            let Some(first) = broken.first() else { bail!("cargo failed without saying why") };
            ensure!(!blamed.is_empty(), "the build fails, and not for a rule:\n{}", first.rendered());
            for rule in rules.iter().filter(|rule| blamed.contains(&rule.number)) {
                println!("        no switch for: {}", rule.one.rule);
                self.known.note_no_switch(rule.one)?;
            }
            left.extend(blamed);
        }
    }

    /// Build the program of one rule with this rule taken out for good, or say why that is not possible.
    pub(super) fn build_without(
        &self,
        rules: &[Rule<'_>],
        left: &BTreeSet<u32>,
        rule: &Rule<'_>,
    ) -> Result<Result<Program, String>> {
        self.write(rules, left, Some(rule))?;
        match self.build(rules, &[rule])? {
            Built::Programs(mut programs) => {
                let program = programs.remove(&rule.program()).context("cargo built another program")?;
                Ok(Ok(program))
            }
            Built::Broken(errors) => {
                Ok(Err(errors.first().map_or("no reason was given", |error| &error.message).to_owned()))
            }
        }
    }

    /// Write the sources with their switches. What is as it should be is not touched, so that it is not built again.
    fn write(
        &self,
        rules: &[Rule<'_>],
        left: &BTreeSet<u32>,
        fixed: Option<&Rule<'_>>,
    ) -> Result<BTreeMap<String, Rewritten>> {
        let mut files: BTreeSet<&str> = rules.iter().map(|rule| rule.one.file.as_str()).collect();
        files.insert(HOME);
        let changed = git(&self.tree, &["diff", "--name-only", "-z", "HEAD"])?;
        let is_stale = |file: &&str| !files.contains(file) || !self.tree.join(file).exists();
        let stale: Vec<&str> = changed.split_terminator('\0').filter(is_stale).collect();
        if !stale.is_empty() {
            git(&self.tree, &[&["checkout", "--quiet", "HEAD", "--"], stale.as_slice()].concat())?;
        }
        let mut written = BTreeMap::new();
        for file in files {
            let original = self.original(file)?;
            let of_it = rules.iter().filter(|rule| rule.one.file == file && !left.contains(&rule.number));
            let changes: Vec<Change> = of_it.map(|rule| rule.change.clone()).collect();
            let fixed = fixed.filter(|rule| rule.one.file == file).map(|rule| &rule.change);
            let krate = if file.starts_with("crates/core/") { "crate" } else { "piton_core" };
            let switch = format!("{krate}::sabotage_switch::on");
            let mut new = if file.ends_with(".rs") {
                rewrite(&original, &switch, &changes, fixed).with_context(|| file.to_owned())?
            } else {
                Rewritten { text: original, ..Rewritten::default() }
            };
            if file == HOME {
                new.text.push_str(SWITCH);
            }
            let path = self.tree.join(file);
            if fs::read_to_string(&path).ok().as_ref() != Some(&new.text) {
                fs::write(&path, &new.text)?;
            }
            written.insert(file.to_owned(), new);
        }
        Ok(written)
    }

    fn build(&self, rules: &[Rule<'_>], wanted: &[&Rule<'_>]) -> Result<Built> {
        let of_all: BTreeSet<Key> = wanted.iter().map(|rule| rule.program()).collect();
        // Dependencies have the features that all packages want, whichever of these are built.
        let packages: BTreeSet<&str> = rules.iter().map(|rule| rule.one.package.as_str()).collect();
        let mut tests = self.cargo(&["test", "--no-run"], &packages);
        if of_all.iter().any(|(_, binary)| binary == "lib") {
            tests.arg("--lib");
        }
        let mut starts_examples = false;
        for (package, binary) in of_all.iter().filter(|(_, binary)| binary != "lib") {
            tests.args(["--test", binary]);
            let folder = package.trim_start_matches("piton-");
            starts_examples |= self.tree.join("crates").join(folder).join("examples").is_dir();
        }
        // Some tests start an example, which has to be as sabotaged as they are.
        let examples = starts_examples.then(|| self.cargo(&["build", "--examples"], &packages));
        let mut programs = BTreeMap::new();
        for mut build in std::iter::once(tests).chain(examples) {
            let output = build.output()?;
            let messages = lines::<Message>(&output.stdout);
            if !output.status.success() {
                let errors = messages.into_iter().filter_map(|message| message.message);
                let errors: Vec<Diagnostic> =
                    errors.filter(|error| error.level.starts_with("error")).collect();
                if errors.iter().all(|error| error.spans.is_empty()) {
                    bail!("cargo failed: {}", errors.first().map_or("", |error| error.rendered()));
                }
                return Ok(Built::Broken(errors));
            }
            for message in messages {
                let (Some(path), Some(target), Some(manifest)) =
                    (message.executable, message.target, message.manifest_path)
                else {
                    continue;
                };
                let folder = manifest.parent().context("a manifest lies in a folder")?.to_owned();
                let is_test = target.kind.iter().any(|kind| kind == "test");
                let binary = if is_test { target.name } else { "lib".to_owned() };
                let of_it = |key: &&Key| {
                    folder.ends_with(Path::new("crates").join(key.0.trim_start_matches("piton-")))
                        && key.1 == binary
                };
                if (is_test || message.profile.is_some_and(|profile| profile.test))
                    && let Some(key) = of_all.iter().find(of_it)
                {
                    let program = Program::new(key, path, folder, self.tree.clone(), self.place.clone())?;
                    programs.insert(key.clone(), program);
                }
            }
        }
        for key in &of_all {
            ensure!(programs.contains_key(key), "cargo built no program {} of {}", key.1, key.0);
        }
        Ok(Built::Programs(programs))
    }

    fn cargo(&self, verb: &[&str], packages: &BTreeSet<&str>) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.target).args(verb);
        command.args(["--locked", "--message-format", "json"]).stderr(Stdio::inherit());
        command.args(packages.iter().flat_map(|package| ["--package", package]));
        // A backtrace is not needed here.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        command
    }
}

fn git(folder: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(folder).args(args).output()?;
    ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// The rules whose arms have errors in them. Where an error is in no arm, all rules of its function.
fn blamed(errors: &[Diagnostic], files: &BTreeMap<String, Rewritten>) -> BTreeSet<u32> {
    let mut blamed = BTreeSet::new();
    for error in errors {
        let places = |all: bool| {
            let mut places = Vec::new();
            error.places(all, &mut places);
            places
        };
        let rules = |all: bool| {
            let (mut arms, mut functions) = (BTreeSet::new(), BTreeSet::new());
            for (file, place) in places(all) {
                let Some(file) = files.get(file) else { continue };
                let (arm, function) = file.rules_at(&place);
                arms.extend(arm);
                functions.extend(function);
            }
            (arms, functions)
        };
        let ((arms, functions), (_, around)) = (rules(false), rules(true));
        let found = [arms, functions, around].into_iter().find(|rules| !rules.is_empty());
        blamed.extend(found.unwrap_or_default());
    }
    blamed
}

/// The lines of a cargo command that are messages of this kind.
fn lines<T: DeserializeOwned>(bytes: &[u8]) -> Vec<T> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[derive(Deserialize)]
struct Message {
    message: Option<Diagnostic>,
    target: Option<Target>,
    profile: Option<Profile>,
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    rendered: Option<String>,
    spans: Vec<Span>,
    children: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

impl Diagnostic {
    fn rendered(&self) -> &str {
        self.rendered.as_deref().unwrap_or(&self.message)
    }

    /// Where the error is, or everything that it points at.
    fn places<'d>(&'d self, all: bool, places: &mut Vec<(&'d str, Range<usize>)>) {
        for span in self.spans.iter().filter(|span| all || span.is_primary) {
            let mut inner = Some(span);
            while let Some(span) = inner {
                places.push((&span.file_name, span.byte_start..span.byte_end));
                inner = span.expansion.as_ref().map(|expansion| &expansion.span);
            }
        }
        if all {
            self.children.iter().for_each(|child| child.places(all, places));
        }
    }
}
