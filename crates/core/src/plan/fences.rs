//! What holds agents back, and which of their changes a person should look at.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use super::{Check, RepoPath, scripts};
use crate::time::Span;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fences {
    pub sandbox: Sandbox,
    /// Folders and files outside that agents may write to: absolute, or below `~/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// The most memory one process of an agent may fill, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u32>,
    /// The most processes that the user may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// The longest an agent may take to say anything at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup: Option<Span>,
    /// Files that no task may change unless it names them, besides those that are always protected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<Pattern>,
    pub protect: Protect,
}

impl Fences {
    pub fn is_default(&self) -> bool {
        *self == Fences::default()
    }
}

/// Whether agents are kept from writing outside of their worktree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sandbox {
    /// Where the system can.
    #[default]
    Auto,
    /// Or they are not started.
    On,
    Off,
}

impl Sandbox {
    pub const ALL: [(&str, Sandbox); 3] =
        [("auto", Sandbox::Auto), ("on", Sandbox::On), ("off", Sandbox::Off)];
}

/// What a change of a protected file leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protect {
    #[default]
    Report,
    /// The work is rejected.
    Block,
}

impl Protect {
    pub const ALL: [(&str, Protect); 2] = [("report", Protect::Report), ("block", Protect::Block)];
}

/// A pattern of paths in the project: `*` within a folder, `**` across them, `?`, `[a-z]`, `{a,b}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    pub fn new(text: &str) -> Result<Pattern, String> {
        if text.is_empty() || text.starts_with('/') || text.split('/').any(|part| part == "..") {
            return Err("it is not a path from the top of the project".to_owned());
        }
        if text.chars().any(char::is_control) {
            return Err("it holds a control character".to_owned());
        }
        glob(text).map(|_| Pattern(text.to_owned())).map_err(|error| error.kind().to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn glob(text: &str) -> Result<globset::Glob, globset::Error> {
    GlobBuilder::new(text).literal_separator(true).build()
}

/// What judges work rather than being work: what a project's machines run, and how its tests are run.
const ALWAYS: [&str; 28] = [
    ".github/**",
    ".gitlab-ci.yml",
    ".gitlab/**",
    ".circleci/**",
    ".buildkite/**",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker/**",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".pre-commit-config.yaml",
    ".husky/**",
    "codecov.yml",
    ".codecov.yml",
    "**/.config/nextest.toml",
    "**/jest.config.*",
    "**/vitest.config.*",
    "**/karma.conf.*",
    "**/playwright.config.*",
    "**/cypress.config.*",
    "**/.mocharc*",
    "**/.nycrc*",
    "**/conftest.py",
    "**/pytest.ini",
    "**/tox.ini",
    "**/phpunit.xml*",
    "**/.rspec",
];

/// The files whose changes are reported.
#[derive(Debug)]
pub struct Protected(GlobSet);

impl Protected {
    pub fn new(more: &[Pattern]) -> Protected {
        let mut set = GlobSetBuilder::new();
        // Patterns were tried when they were read.
        for glob in
            ALWAYS.into_iter().chain(more.iter().map(Pattern::as_str)).filter_map(|text| glob(text).ok())
        {
            set.add(glob);
        }
        Protected(set.build().unwrap_or_else(|_| GlobSet::empty()))
    }

    /// Those of `files` that are protected and that the task does not name as its own.
    pub fn touched(&self, files: &[String], own: &[RepoPath]) -> Vec<String> {
        files.iter().filter(|file| self.0.is_match(file) && !is_own(file, own)).cloned().collect()
    }
}

/// Those of `files` that one of the checks executes and that the task does not name as its own.
pub fn executed<'c>(
    files: &[String],
    own: &[RepoPath],
    checks: impl IntoIterator<Item = &'c Check>,
) -> Vec<String> {
    let scripts: Vec<String> = checks.into_iter().flat_map(scripts).collect();
    files.iter().filter(|file| scripts.contains(file) && !is_own(file, own)).cloned().collect()
}

/// Whether a task names a file, or a folder it is in.
fn is_own(file: &str, own: &[RepoPath]) -> bool {
    own.iter().any(|own| {
        file.strip_prefix(own.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_judges_work_is_protected_unless_the_task_names_it() {
        let more = ["tests/**", "Makefile"].map(|text| Pattern::new(text).expect("a pattern"));
        let files = [
            "src/a.rs",
            "tests/a/b.rs",
            "crates/x/tests/c.rs",
            "Makefile",
            ".github/workflows/ci.yml",
            "web/jest.config.js",
            "pytest.ini",
            "-rf",
            "<b>",
        ];
        let files = files.map(str::to_owned);
        let own = [RepoPath::new("tests/a").expect("a path")];
        let touched = Protected::new(&more).touched(&files, &own);
        assert_eq!(touched, ["Makefile", ".github/workflows/ci.yml", "web/jest.config.js", "pytest.ini"]);
        assert_eq!(Protected::new(&more).touched(&files, &[]).len(), 5);
    }

    #[test]
    fn patterns_stay_inside_the_project() {
        for bad in ["", "/etc/**", "../x", "a/../b", "a[", "a\u{0}b", "{a"] {
            assert!(Pattern::new(bad).is_err(), "{bad:?}");
        }
    }
}
