//! What people and agents report about their work.

use serde::{Deserialize, Serialize};

/// A report of a person or an agent about their work. Every part is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Files that were made or changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Which of them are new.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exports: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Conventions that later work should follow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// What the next try, or the next reader, should do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub feedback: String,
    /// Commits that are named as this task's work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitMade>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// Why nothing had to change, if they say that it was done already.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub already: String,
}

impl Report {
    /// Fields that are empty here are filled from the other report.
    pub fn or(self, other: &Report) -> Report {
        fn list<T: Clone>(own: Vec<T>, other: &[T]) -> Vec<T> {
            if own.is_empty() { other.to_vec() } else { own }
        }
        fn text(own: String, other: &str) -> String {
            if own.is_empty() { other.to_owned() } else { own }
        }
        Report {
            note: text(self.note, &other.note),
            feedback: text(self.feedback, &other.feedback),
            files: list(self.files, &other.files),
            created: list(self.created, &other.created),
            exports: list(self.exports, &other.exports),
            decisions: list(self.decisions, &other.decisions),
            patterns: list(self.patterns, &other.patterns),
            commits: list(self.commits, &other.commits),
            tests: self.tests.or(other.tests),
            already: text(self.already, &other.already),
        }
    }
}

/// A commit, as its author names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitMade {
    /// As it was given; a short one is not made longer here.
    pub hash: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
}

/// How many tests ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tests {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl std::ops::AddAssign for Tests {
    fn add_assign(&mut self, more: Tests) {
        self.passed = self.passed.saturating_add(more.passed);
        self.failed = self.failed.saturating_add(more.failed);
        self.skipped = self.skipped.saturating_add(more.skipped);
    }
}

impl std::fmt::Display for Tests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}
