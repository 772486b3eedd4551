//! Which checks a project has, by the files at its root: for plans that carry no commands of their own. Only what is
//! really set up is found: a script that exists, a tool that has a configuration.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::plan::{Argv, Check};
use crate::system::Folder;
use crate::system::config::{CHECK_TIMEOUT, check_name};
use crate::system::kit::text;

/// Files whose content is read. For all others at the root the name is enough.
pub const READ: [&str; 11] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "composer.json",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
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

/// The checks of a project whose root has these files.
pub fn detect(root: &Folder) -> Vec<Detected> {
    let mut toolchain = Toolchain { root, found: Vec::new() };
    toolchain.rust();
    toolchain.node();
    toolchain.python();
    toolchain.go();
    toolchain.others();
    // What runs everything by hand comes in where nothing else did.
    toolchain.targets();
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

    fn rust(&mut self) {
        const FILE: &str = "Cargo.toml";
        if self.has(FILE) {
            self.add(About::Format, FILE, "cargo fmt --check");
            self.add(About::Lint, FILE, "cargo clippy");
            self.add(About::Test, FILE, "cargo test");
        }
    }

    fn node(&mut self) {
        const FILE: &str = "package.json";
        if let Some(config) = self.first(&["deno.json", "deno.jsonc"]) {
            self.add(About::Format, config, "deno fmt --check");
            self.add(About::Lint, config, "deno lint");
            self.add(About::Test, config, "deno test");
        }
        let Ok(package) = serde_json::from_str::<Value>(&self.text(FILE)) else { return };
        let manager = package["packageManager"].as_str().and_then(|said| said.split('@').next());
        let locks = [
            ("pnpm-lock.yaml", "pnpm"),
            ("yarn.lock", "yarn"),
            ("bun.lock", "bun"),
            ("bun.lockb", "bun"),
            ("package-lock.json", "npm"),
        ];
        let locked = locks.into_iter().find(|(lock, _)| self.has(lock)).map(|(_, manager)| manager);
        let manager = match locked.or(manager) {
            Some("pnpm") => "pnpm",
            Some("yarn") => "yarn",
            Some("bun") => "bun",
            _ => "npm",
        };
        let scripts = [
            (
                About::Format,
                &["format:check", "fmt:check", "check:format", "format-check", "prettier:check"][..],
            ),
            (About::Lint, &["lint", "lint:check"]),
            (About::Types, &["typecheck", "type-check", "types", "check-types", "check:types", "tsc"]),
            (About::Build, &["build"]),
            (About::Test, &["test", "test:unit", "test:ci"]),
        ];
        for (about, names) in scripts {
            let is_there = |name: &&&str| {
                package["scripts"][**name].as_str().is_some_and(|script| {
                    // What `npm init` writes, and what never ends.
                    !script.trim().is_empty()
                        && !script.contains("no test specified")
                        && !script.contains("--watch")
                })
            };
            if let Some(name) = names.iter().find(is_there) {
                self.add(about, FILE, &format!("{manager} run {name}"));
            }
        }
        let typed =
            ["dependencies", "devDependencies"].iter().any(|kind| package[*kind]["typescript"].is_string());
        if typed && self.has("tsconfig.json") && !self.found.iter().any(|found| found.about == About::Types) {
            let command = match manager {
                "pnpm" => "pnpm exec tsc --noEmit",
                "yarn" => "yarn run tsc --noEmit",
                "bun" => "bun x tsc --noEmit",
                _ => "npx --no-install tsc --noEmit",
            };
            self.add(About::Types, "tsconfig.json", command);
        }
    }

    fn python(&mut self) {
        let pyproject = self.text("pyproject.toml").parse::<toml::Table>().unwrap_or_default();
        let tools = pyproject.get("tool").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        let (setup, tox) = (self.text("setup.cfg"), self.text("tox.ini"));
        let section = |text: &str, name: &str| text.lines().any(|line| line.trim() == format!("[{name}]"));
        let tool = |name: &str| tools.contains_key(name).then_some("pyproject.toml");
        let ini = |name: &str| {
            let of_setup = section(&setup, name).then_some("setup.cfg");
            of_setup.or(section(&tox, name).then_some("tox.ini"))
        };
        let runners = [
            ("uv.lock", "uv run "),
            ("poetry.lock", "poetry run "),
            ("pdm.lock", "pdm run "),
            ("Pipfile.lock", "pipenv run "),
        ];
        let run = runners.into_iter().find(|(lock, _)| self.has(lock)).map_or("", |(_, run)| run);
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
        if !add(About::Test, pytest, "pytest") {
            let tox = section(&tox, "testenv") || section(&tox, "tox");
            add(About::Test, tox.then_some("tox.ini").or(tool("tox")), "tox");
        }
    }

    fn go(&mut self) {
        const FILE: &str = "go.mod";
        if self.has(FILE) {
            self.add(About::Format, FILE, "test -z \"$(gofmt -l .)\"");
            self.add(About::Lint, FILE, "go vet ./...");
            self.add(About::Build, FILE, "go build ./...");
            self.add(About::Test, FILE, "go test ./...");
        }
        if let Some(config) = self.first(&[".golangci.yml", ".golangci.yaml", ".golangci.toml"]) {
            self.add(About::Lint, config, "golangci-lint run");
        }
    }

    fn others(&mut self) {
        if self.has("mix.exs") {
            if self.has(".formatter.exs") {
                self.add(About::Format, ".formatter.exs", "mix format --check-formatted");
            }
            if self.has(".credo.exs") {
                self.add(About::Lint, ".credo.exs", "mix credo");
            }
            self.add(About::Test, "mix.exs", "mix test");
        }
        if let Some(build) = self.first(&["build.gradle.kts", "build.gradle"]) {
            self.add(
                About::Test,
                build,
                if self.has("gradlew") { "./gradlew check" } else { "gradle check" },
            );
        }
        if self.has("pom.xml") {
            let command = if self.has("mvnw") { "./mvnw -q verify" } else { "mvn -q verify" };
            self.add(About::Test, "pom.xml", command);
        }
        if self.has("Package.swift") {
            self.add(About::Build, "Package.swift", "swift build");
            self.add(About::Test, "Package.swift", "swift test");
        }
        let solution =
            self.root.files.keys().find(|name| name.ends_with(".sln") || name.ends_with(".csproj"));
        if let Some(solution) = solution.cloned() {
            self.add(About::Build, &solution, "dotnet build");
            self.add(About::Test, &solution, "dotnet test");
        }
        if self.has(".rspec") && self.has("Gemfile") {
            self.add(About::Test, ".rspec", "bundle exec rspec");
        }
        if let Ok(composer) = serde_json::from_str::<Value>(&self.text("composer.json"))
            && !composer["scripts"]["test"].is_null()
        {
            self.add(About::Test, "composer.json", "composer test");
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
                let known = self.found.iter().any(|found| found.about == about);
                if let Some(name) =
                    names.iter().find(|name| !known && targets.iter().any(|target| target == *name))
                {
                    self.add(about, file, &format!("{program} {name}"));
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> String {
        let root = Folder {
            files: files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect(),
        };
        let lines = detect(&root)
            .into_iter()
            .map(|found| format!("{}: {} ({})", found.about, found.check.run, found.from));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_rust_project_has_its_three() {
        insta::assert_snapshot!(found(&[("Cargo.toml", "[workspace]")]), @r"
        format: cargo fmt --check (Cargo.toml)
        lint: cargo clippy (Cargo.toml)
        test: cargo test (Cargo.toml)
        ");
    }

    #[test]
    fn only_scripts_that_exist_are_run_and_by_the_manager_that_locked() {
        let package = r#"{"scripts": {"test": "vitest run", "lint": "eslint .", "build": "tsc -b", "dev": "vite"},
            "devDependencies": {"typescript": "5"}}"#;
        insta::assert_snapshot!(found(&[("package.json", package), ("pnpm-lock.yaml", ""), ("tsconfig.json", "{}")]), @r"
        lint: pnpm run lint (package.json)
        types: pnpm exec tsc --noEmit (tsconfig.json)
        build: pnpm run build (package.json)
        test: pnpm run test (package.json)
        ");
        let fresh = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1", "test:unit": "jest --watch"}}"#;
        assert_eq!(found(&[("package.json", fresh)]), "");
        assert_eq!(found(&[("package.json", "{")]), "");
        let yarn = r#"{"packageManager": "yarn@4.1.0", "scripts": {"typecheck": "tsc"}}"#;
        assert_eq!(found(&[("package.json", yarn)]), "types: yarn run typecheck (package.json)");
    }

    #[test]
    fn python_tools_count_where_they_are_configured() {
        let pyproject = "[project]\nname = 'x'\n[tool.ruff]\nline-length = 100\n[tool.ruff.format]\n[tool.mypy]\n[tool.pytest.ini_options]\n";
        insta::assert_snapshot!(found(&[("pyproject.toml", pyproject), ("uv.lock", "")]), @r"
        format: uv run ruff format --check . (pyproject.toml)
        lint: uv run ruff check . (pyproject.toml)
        types: uv run mypy . (pyproject.toml)
        test: uv run pytest (pyproject.toml)
        ");
        assert_eq!(found(&[("pyproject.toml", "[project]\nname = 'x'\n")]), "");
        insta::assert_snapshot!(found(&[("setup.cfg", "[flake8]\nmax=1\n[tool:pytest]\n"), ("tox.ini", "[tox]\n")]), @r"
        lint: flake8 (setup.cfg)
        test: pytest (setup.cfg)
        ");
        assert_eq!(found(&[("tox.ini", "[testenv]\ncommands = x\n")]), "test: tox (tox.ini)");
    }

    #[test]
    fn a_makefile_fills_what_nothing_else_has() {
        let makefile = "CC := gcc\n.PHONY: test lint\ntest lint: all\n\tcc x\nbuild:\n\ttest: no\n";
        insta::assert_snapshot!(found(&[("Makefile", makefile), ("go.mod", "module x")]), @r#"
        format: test -z "$(gofmt -l .)" (go.mod)
        lint: go vet ./... (go.mod)
        build: go build ./... (go.mod)
        test: go test ./... (go.mod)
        "#);
        insta::assert_snapshot!(found(&[("Makefile", makefile)]), @r"
        lint: make lint (Makefile)
        build: make build (Makefile)
        test: make test (Makefile)
        ");
        assert_eq!(
            found(&[("justfile", "set shell := ['sh']\ntest FLAG:\n  cargo test\n")]),
            "test: just test (justfile)"
        );
    }

    #[test]
    fn others_are_known_by_their_files() {
        insta::assert_snapshot!(found(&[("mix.exs", ""), (".formatter.exs", ""), ("build.gradle", ""), ("gradlew", ""),
            ("pom.xml", ""), ("deno.json", "{}"), ("a.sln", ""), ("composer.json", r#"{"scripts": {"test": ["phpunit"]}}"#)]), @r"
        format: deno fmt --check (deno.json)
        format: mix format --check-formatted (.formatter.exs)
        lint: deno lint (deno.json)
        build: dotnet build (a.sln)
        test: deno test (deno.json)
        test: mix test (mix.exs)
        test: ./gradlew check (build.gradle)
        test: mvn -q verify (pom.xml)
        test: dotnet test (a.sln)
        test: composer test (composer.json)
        ");
        assert_eq!(found(&[("README.md", "cargo test")]), "");
    }
}
