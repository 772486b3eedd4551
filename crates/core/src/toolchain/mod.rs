//! Which checks a project has, by the files at its root: for plans that carry no commands of their own. Only what is
//! really set up is found: a script that exists, a tool that has a configuration.

mod node;
mod others;
mod python;
mod set_up;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;

use crate::plan::{Argv, Check, RepoPath};
use crate::system::Folder;
use crate::system::config::{CHECK_TIMEOUT, check_name};
use crate::system::kit::text;

/// Files whose content is read. For all others at the root the name is enough.
pub const READ: &[&str] = &[
    ".gitignore",
    ".justfile",
    "CMakeLists.txt",
    "CMakePresets.json",
    "Cargo.toml",
    "GNUmakefile",
    "Justfile",
    "Makefile",
    "bunfig.toml",
    "composer.json",
    "deno.json",
    "dev-requirements.txt",
    "justfile",
    "makefile",
    "package.json",
    "pyproject.toml",
    "requirements-dev.txt",
    "requirements.txt",
    "setup.cfg",
    "tox.ini",
];

/// What a check is about. They are run in this order: what is quick, first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    Format,
    Lint,
    Types,
    Build,
    Test,
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            About::Format => "format",
            About::Lint => "lint",
            About::Types => "types",
            About::Build => "build",
            About::Test => "test",
        })
    }
}

/// A check, and the file that speaks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Detected {
    pub about: About,
    pub check: Check,
    pub from: String,
}

pub use python::{TEST_FOLDERS, is_python_test};
pub use set_up::{SetUp, set_up};

/// The checks of projects in folders of a repository, each to be run in its own folder.
pub fn detect_parts(parts: &[(RepoPath, Folder)]) -> Vec<Detected> {
    let of_part = |(place, files): &(RepoPath, Folder)| {
        let own = |found: Detected| {
            let name = format!("{place}: {}", found.check.name);
            let check = Check { name, cwd: Some(place.clone()), ..found.check };
            Detected { check, from: format!("{place}/{}", found.from), ..found }
        };
        detect(files).into_iter().map(own).collect::<Vec<_>>()
    };
    let mut found: Vec<Detected> = parts.iter().flat_map(of_part).collect();
    found.sort_by_key(|detected| detected.about);
    found
}

/// The checks of a project whose root has these files, and those of its folders `tests` and `test`.
pub fn detect(root: &Folder) -> Vec<Detected> {
    let mut toolchain = Toolchain { root, found: Vec::new() };
    toolchain.rust();
    toolchain.node();
    toolchain.python();
    toolchain.go();
    toolchain.others();
    toolchain.cmake();
    // What runs everything by hand comes in where nothing else did.
    toolchain.targets();
    toolchain.hooks();
    toolchain.found.sort_by_key(|detected| detected.about);
    toolchain.found
}

struct Toolchain<'r> {
    root: &'r Folder,
    found: Vec<Detected>,
}

impl Toolchain<'_> {
    fn has(&self, name: &str) -> bool {
        self.root.files.contains_key(name)
    }

    /// The first of these files that is there.
    fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().find(|name| self.has(name)).copied()
    }

    fn text(&self, name: &str) -> String {
        self.root.files.get(name).map(|bytes| text::decode(bytes).text).unwrap_or_default()
    }

    fn add(&mut self, about: About, from: &str, command: &str) {
        let run = Argv::parse(command);
        let check = Check::new(check_name(&run), run, CHECK_TIMEOUT);
        self.found.push(Detected { about, check, from: from.to_owned() });
    }

    /// Whether there is a check of this kind by now.
    fn knows(&self, about: About) -> bool {
        self.found.iter().any(|found| found.about == about)
    }

    fn rust(&mut self) {
        const FILE: &str = "Cargo.toml";
        if self.has(FILE) {
            self.add(About::Format, FILE, "cargo fmt --check");
            self.add(About::Lint, FILE, "cargo clippy");
            self.add(About::Test, FILE, "cargo test");
        }
    }

    fn go(&mut self) {
        const FILE: &str = "go.mod";
        if self.has(FILE) {
            // Red also where gofmt cannot read a file, or is not there: its own exit code counts.
            self.add(About::Format, FILE, "files=$(gofmt -l .) && test -z \"$files\"");
            self.add(About::Lint, FILE, "go vet ./...");
            self.add(About::Build, FILE, "go build ./...");
            self.add(About::Test, FILE, "go test ./...");
        }
        if let Some(config) = self.first(&[".golangci.yml", ".golangci.yaml", ".golangci.toml"]) {
            self.add(About::Lint, config, "golangci-lint run");
        }
    }

    fn targets(&mut self) {
        let makers = [
            (self.first(&["GNUmakefile", "makefile", "Makefile"]), "make"),
            (self.first(&["justfile", "Justfile", ".justfile"]), "just"),
        ];
        let names = [
            (About::Format, &["format-check", "fmt-check", "check-format", "check-fmt"][..]),
            (About::Lint, &["lint"]),
            (About::Types, &["typecheck", "type-check", "types"]),
            (About::Build, &["build"]),
            (About::Test, &["test", "check", "tests"]),
        ];
        for (file, program) in makers {
            let Some(file) = file else { continue };
            let targets = targets(&self.text(file));
            for (about, names) in names {
                let known = self.knows(about);
                if let Some(name) =
                    names.iter().find(|name| !known && targets.iter().any(|target| target == *name))
                {
                    self.add(about, file, &format!("{program} {name}"));
                }
            }
        }
    }

    /// What runs before a commit, where nothing else looks at the code.
    fn hooks(&mut self) {
        const FILE: &str = ".pre-commit-config.yaml";
        if self.has(FILE) && !self.knows(About::Format) && !self.knows(About::Lint) {
            self.add(About::Lint, FILE, "pre-commit run --all-files");
        }
    }
}

/// What can be made by a Makefile, or by a justfile, which looks much the same.
fn targets(text: &str) -> Vec<String> {
    let rules = text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '.']));
    let names = rules.filter_map(|line| {
        let (names, rest) = line.split_once(':')?;
        (!rest.starts_with('=') && !names.contains('=')).then_some(names)
    });
    names.flat_map(str::split_whitespace).map(|name| name.trim_start_matches('@').to_owned()).collect()
}
