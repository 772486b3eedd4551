//! A person who commits to the target while Piton is at work on it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;

use camino::Utf8PathBuf;

use crate::points::{Place, crash_free};
use crate::sandbox::Sandbox;

/// The subject of the commit.
pub(crate) const PERSON: &str = "By a person";

/// The commit changes no file: then neither an index nor a checkout that is in use is in its way.
pub(crate) struct Person {
    repo: Utf8PathBuf,
    home: Utf8PathBuf,
    points: usize,
    /// How many points there are before it comes.
    waits: usize,
    is_done: bool,
}

impl Person {
    /// The one of this sandbox, if its plan has one.
    pub(crate) fn of(sandbox: &Sandbox) -> Option<Person> {
        sandbox.form.window()?;
        let points = crash_free(sandbox.form).values().sum();
        let (repo, home) = (sandbox.repo.clone(), sandbox.root.join("home"));
        Some(Person { repo, home, points, waits: 0, is_done: false })
    }

    /// At a point in the first half of the run: another one for each place to die at, and always the same for that.
    pub(crate) fn comes_at(self, place: &Place) -> Person {
        let mut hasher = DefaultHasher::new();
        place.hash(&mut hasher);
        let waits = usize::try_from(hasher.finish() % 1_000_003).expect("small") % (self.points / 2).max(1);
        Person { waits, ..self }
    }

    /// A process is about to change something, and waits as long as this takes.
    pub(crate) fn sees_a_point(&mut self) {
        match self.waits.checked_sub(1) {
            Some(waits) => self.waits = waits,
            // A git that holds the target's lock is in the way: then at the next point.
            None if !self.is_done => self.is_done = self.commits(),
            None => {}
        }
    }

    pub(crate) fn commits_unless_done(&self) {
        let history = self.git(&["log", "--format=%s", "main"]).expect("a history");
        assert!(history.lines().any(|line| line == PERSON) || self.commits(), "the target cannot be moved");
    }

    fn commits(&self) -> bool {
        let moved = || {
            let tip = self.git(&["rev-parse", "main"])?;
            let made = self.git(&["commit-tree", "main^{tree}", "-p", &tip, "-m", PERSON])?;
            self.git(&["update-ref", "refs/heads/main", &made, &tip])
        };
        moved().is_some()
    }

    fn git(&self, args: &[&str]) -> Option<String> {
        let mut git = Command::new("git");
        git.args(args).current_dir(&self.repo).env("HOME", &self.home);
        let output = git.output().expect("git starts");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }
}
