//! Projects of Python: uv, poetry, pdm and pipenv, and the tools that they configure.

use toml::{Table, Value};

use super::{About, Toolchain};
use crate::system::Folder;

/// Files that list what a project depends on, one name a line.
const REQUIREMENTS: [&str; 3] = ["requirements-dev.txt", "dev-requirements.txt", "requirements.txt"];

/// Folders of a project that hold its tests.
pub const TEST_FOLDERS: [&str; 2] = ["tests", "test"];

impl Toolchain<'_> {
    pub(super) fn python(&mut self) {
        let pyproject = self.text("pyproject.toml").parse::<toml::Table>().unwrap_or_default();
        let tools = pyproject.get("tool").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        let (setup, tox) = (self.text("setup.cfg"), self.text("tox.ini"));
        let section = |text: &str, name: &str| text.lines().any(|line| line.trim() == format!("[{name}]"));
        let tool = |name: &str| tools.contains_key(name).then_some("pyproject.toml");
        let ini = |name: &str| {
            let of_setup = section(&setup, name).then_some("setup.cfg");
            of_setup.or(section(&tox, name).then_some("tox.ini"))
        };
        let run = self.python_runner(&tools);
        let depends = self.depends_on(&pyproject, "pytest");
        let root = self.root;
        let mut add = |about, from: Option<&str>, command: &str| {
            if let Some(from) = from {
                self.add(about, from, &format!("{run}{command}"));
            }
            from.is_some()
        };
        let of = |folder: &Folder, names: &[&'static str]| {
            names.iter().find(|name| folder.files.contains_key(**name)).copied()
        };
        add(About::Format, tool("black"), "black --check .");
        let formats = tools.get("ruff").is_some_and(|ruff| ruff.get("format").is_some());
        add(About::Format, formats.then_some("pyproject.toml"), "ruff format --check .");
        add(About::Lint, of(root, &["ruff.toml", ".ruff.toml"]).or(tool("ruff")), "ruff check .");
        add(About::Lint, of(root, &[".flake8"]).or(ini("flake8")), "flake8");
        add(About::Types, of(root, &["mypy.ini", ".mypy.ini"]).or(tool("mypy")).or(ini("mypy")), "mypy .");
        add(About::Types, of(root, &["pyrightconfig.json"]).or(tool("pyright")), "pyright");
        let pytest = of(root, &["pytest.ini"]).or(tool("pytest")).or(ini("tool:pytest")).or(ini("pytest"));
        let pytest = pytest.or(of(root, &["conftest.py"])).or(depends);
        let sections = section(&tox, "testenv") || section(&tox, "tox");
        let tox = sections.then_some("tox.ini").or(of(root, &["tox.toml"])).or(tool("tox"));
        let is_named = add(About::Test, pytest, "pytest")
            || add(About::Test, tox, "tox")
            || add(About::Test, of(root, &["noxfile.py"]), "nox");
        if !is_named {
            self.python_tests(run);
        }
    }

    /// Tests that nothing is configured for: they say themselves what runs them.
    fn python_tests(&mut self, run: &str) {
        let tests = self.root.files.keys().filter(|name| is_python_test(name));
        let read: Vec<(String, String)> = tests.map(|name| (name.clone(), self.text(name))).collect();
        let first = |words: &[&str]| {
            let says = |text: &str| text.lines().any(|line| words.iter().any(|word| line.starts_with(word)));
            read.iter().find(|(_, text)| says(text)).map(|(name, _)| name)
        };
        // pytest also runs what is written for unittest.
        let of_pytest =
            first(&["import pytest", "from pytest"]).map(|name| format!("{name}, which imports pytest"));
        let of_pytest = of_pytest
            .or_else(|| first(&["def test_"]).map(|name| format!("{name}, whose tests are functions")));
        if let Some(from) = of_pytest {
            self.add(About::Test, &from, &format!("{run}pytest"));
        } else if let Some(name) = first(&["import unittest", "from unittest"]) {
            let python = if run.is_empty() { "python3" } else { "python" };
            let place = name.rsplit_once('/').map_or_else(String::new, |(folder, _)| format!(" -s {folder}"));
            let from = format!("{name}, which imports unittest");
            self.add(About::Test, &from, &format!("{run}{python} -m unittest discover{place}"));
        }
    }

    /// What a tool is started with, so that it runs in the environment of the project.
    fn python_runner(&self, tools: &Table) -> &'static str {
        const RUNNERS: [(&str, &str, &str); 4] = [
            ("uv.lock", "uv", "uv run "),
            ("poetry.lock", "poetry", "poetry run "),
            ("pdm.lock", "pdm", "pdm run "),
            ("Pipfile.lock", "pipenv", "pipenv run "),
        ];
        let locked = RUNNERS.into_iter().find(|(lock, ..)| self.has(lock));
        let named = || RUNNERS.into_iter().find(|(_, tool, _)| tools.contains_key(*tool));
        locked.or_else(named).map_or("", |(.., run)| run)
    }

    /// The file that says that a project depends on this package.
    fn depends_on(&self, pyproject: &Table, package: &str) -> Option<&'static str> {
        let at = |path: &[&str]| {
            let (first, rest) = path.split_first()?;
            rest.iter().try_fold(pyproject.get(*first)?, |value, key| value.get(key))
        };
        let lists = [
            at(&["project", "dependencies"]),
            at(&["project", "optional-dependencies"]),
            at(&["dependency-groups"]),
            at(&["tool", "uv", "dev-dependencies"]),
            at(&["tool", "pdm", "dev-dependencies"]),
            at(&["tool", "poetry", "dependencies"]),
            at(&["tool", "poetry", "dev-dependencies"]),
            at(&["tool", "poetry", "group"]),
        ];
        if lists.into_iter().flatten().any(|list| names(list, package, DEEPEST)) {
            return Some("pyproject.toml");
        }
        REQUIREMENTS.into_iter().find(|file| self.text(file).lines().any(|line| is_package(line, package)))
    }
}

/// Whether a file is one of tests, by its name: `test_sum.py`, `tests/test_sum.py`, `tests/sum_test.py`.
pub fn is_python_test(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.strip_suffix(".py").unwrap_or_default();
    let is_place = folder.is_empty() || TEST_FOLDERS.contains(&folder);
    is_place && (stem.starts_with("test_") || !folder.is_empty() && stem.ends_with("_test"))
}

/// `[tool.poetry.group.NAME.dependencies]` is no deeper.
const DEEPEST: usize = 3;

/// Whether a list of dependencies names a package: as the beginning of a text, or as a key.
fn names(list: &Value, package: &str, depth: usize) -> bool {
    match list {
        Value::String(text) => is_package(text, package),
        Value::Array(items) => {
            items.iter().any(|item| item.as_str().is_some_and(|text| is_package(text, package)))
        }
        Value::Table(table) if depth > 0 => table
            .iter()
            .any(|(key, value)| key == package || !value.is_str() && names(value, package, depth - 1)),
        _ => false,
    }
}

/// `pytest`, `pytest>=8`, `pytest[x]`; not `pytest-cov`.
fn is_package(requirement: &str, package: &str) -> bool {
    let rest = requirement.trim_start().strip_prefix(package);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c)))
}
