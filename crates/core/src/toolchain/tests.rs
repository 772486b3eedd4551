//! What is found in projects of each kind.

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
    format: files=$(gofmt -l .) && test -z "$files" (go.mod)
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

#[test]
fn python_tests_are_known_by_what_the_project_depends_on() {
    let groups =
        "[project]\nname = 'x'\n[dependency-groups]\ndev = ['pytest>=8', {include-group = 'y'}]\n[tool.uv]\n";
    assert_eq!(found(&[("pyproject.toml", groups)]), "test: uv run pytest (pyproject.toml)");
    let poetry = "[tool.poetry]\nname = 'x'\n[tool.poetry.group.dev.dependencies]\npytest = '^8'\n";
    assert_eq!(found(&[("pyproject.toml", poetry)]), "test: poetry run pytest (pyproject.toml)");
    assert_eq!(
        found(&[("requirements-dev.txt", "black\npytest == 8\n")]),
        "test: pytest (requirements-dev.txt)"
    );
    assert_eq!(found(&[("conftest.py", "")]), "test: pytest (conftest.py)");
    for other in ["[project]\ndependencies = ['pytest-cov', 'x']\n", "[project]\ndescription = 'pytest'\n"] {
        assert_eq!(found(&[("pyproject.toml", other)]), "", "{other}");
    }
    assert_eq!(found(&[("noxfile.py", "")]), "test: nox (noxfile.py)");
    assert_eq!(found(&[("tox.toml", ""), ("noxfile.py", "")]), "test: tox (tox.toml)");
}

#[test]
fn bun_and_deno_run_what_is_set_up() {
    let package = r#"{"scripts": {"lint": "biome ci"}}"#;
    insta::assert_snapshot!(found(&[("package.json", package), ("bun.lock", ""), ("bunfig.toml", "[test]\npreload = './x.ts'\n")]), @r"
    lint: bun run lint (package.json)
    test: bun test (bunfig.toml)
    ");
    let deno = r#"{"tasks": {"test": "deno test -A"}}"#;
    insta::assert_snapshot!(found(&[("deno.json", deno)]), @r"
    format: deno fmt --check (deno.json)
    lint: deno lint (deno.json)
    test: deno task test (deno.json)
    ");
}

#[test]
fn one_of_several_projects_is_named() {
    insta::assert_snapshot!(found(&[("App.slnx", "")]), @r"
    build: dotnet build (App.slnx)
    test: dotnet test (App.slnx)
    ");
    insta::assert_snapshot!(found(&[("App.sln", ""), ("a.csproj", "")]), @r"
    build: dotnet build App.sln (App.sln)
    test: dotnet test App.sln (App.sln)
    ");
    insta::assert_snapshot!(found(&[("a.csproj", ""), ("b c.fsproj", "")]), @r"
    build: dotnet build a.csproj (a.csproj)
    build: dotnet build 'b c.fsproj' (b c.fsproj)
    test: dotnet test a.csproj (a.csproj)
    test: dotnet test 'b c.fsproj' (b c.fsproj)
    ");
}

#[test]
fn java_is_built_by_its_wrapper() {
    assert_eq!(
        found(&[("settings.gradle.kts", ""), ("gradlew", "")]),
        "test: ./gradlew check (settings.gradle.kts)"
    );
    assert_eq!(found(&[("pom.xml", ""), ("mvnw", "")]), "test: ./mvnw -q verify (pom.xml)");
}

#[test]
fn cmake_counts_where_tests_are_set_up_and_the_build_is_ignored() {
    let lists = "project(x)\nEnable_Testing()\n";
    assert_eq!(found(&[("CMakeLists.txt", lists)]), "", "the build would be part of the work");
    insta::assert_snapshot!(found(&[("CMakeLists.txt", lists), (".gitignore", "*.o\n/build/\n")]), @"test: cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure (CMakeLists.txt)");
    assert_eq!(found(&[("CMakeLists.txt", "project(x)\n"), (".gitignore", "build\n")]), "");
    let presets = r#"{"configurePresets": [{"name": "base", "hidden": true}, {"name": "dev"}],
        "buildPresets": [{"name": "dev"}], "testPresets": [{"name": "base"}, {"name": "dev"}]}"#;
    insta::assert_snapshot!(found(&[("CMakePresets.json", presets)]), @"test: cmake --preset dev && cmake --build --preset dev && ctest --preset dev (CMakePresets.json)");
    let hostile = presets.replace("dev", "x; rm -rf .");
    assert_eq!(found(&[("CMakePresets.json", &hostile)]), "");
}

#[test]
fn hooks_count_where_nothing_else_looks_at_the_code() {
    const FILE: &str = ".pre-commit-config.yaml";
    assert_eq!(found(&[(FILE, "")]), "lint: pre-commit run --all-files (.pre-commit-config.yaml)");
    assert!(!found(&[(FILE, ""), ("Cargo.toml", "")]).contains("pre-commit"));
}

#[test]
fn ruby_and_swift_have_linters_where_they_are_configured() {
    insta::assert_snapshot!(found(&[("Gemfile", ""), (".rubocop.yml", ""), (".rspec", "")]), @r"
    lint: bundle exec rubocop (.rubocop.yml)
    test: bundle exec rspec (.rspec)
    ");
    insta::assert_snapshot!(found(&[("Package.swift", ""), (".swiftlint.yml", "")]), @r"
    lint: swiftlint lint --strict (.swiftlint.yml)
    build: swift build (Package.swift)
    test: swift test (Package.swift)
    ");
}

#[test]
fn a_fresh_checkout_is_made_ready_as_its_lock_file_says() {
    let lines = |files: &[(&str, &str)]| {
        let root = Folder {
            files: files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect(),
        };
        let all = set_up(&root).into_iter().map(|found| format!("{} ({})", found.run, found.from));
        all.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(lines(&[("Cargo.toml", ""), ("Cargo.lock", ""), ("uv.lock", ""), ("poetry.lock", "")]), "");
    assert_eq!(lines(&[("package-lock.json", "")]), "", "there is nothing to install");
    for (lock, package, line) in [
        ("package-lock.json", "{}", "npm ci"),
        ("pnpm-lock.yaml", "{}", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "{}", "yarn install --frozen-lockfile"),
        ("yarn.lock", r#"{"packageManager": "yarn@4.1.0"}"#, "yarn install --immutable"),
        ("bun.lockb", "{}", "bun install --frozen-lockfile"),
    ] {
        assert_eq!(lines(&[("package.json", package), (lock, "")]), format!("{line} ({lock})"));
    }
    insta::assert_snapshot!(lines(&[("mix.lock", ""), ("composer.lock", ""), ("Gemfile.lock", ""), ("poetry.lock", "")]), @r"
    poetry install --no-interaction (poetry.lock)
    mix deps.get (mix.lock)
    composer install --no-interaction (composer.lock)
    bundle install (Gemfile.lock)
    ");
}

#[test]
fn tests_of_python_say_themselves_what_runs_them() {
    let unittest = "import unittest\nclass Sum(unittest.TestCase):\n    def test_sum(self): pass\n";
    assert_eq!(
        found(&[("tests/test_sum.py", unittest)]),
        "test: python3 -m unittest discover -s tests (tests/test_sum.py, which imports unittest)"
    );
    assert_eq!(
        found(&[("test_sum.py", unittest), ("uv.lock", "")]),
        "test: uv run python -m unittest discover (test_sum.py, which imports unittest)"
    );
    assert_eq!(
        found(&[("tests/sum_test.py", "from pytest import raises\n"), ("tests/test_a.py", unittest)]),
        "test: pytest (tests/sum_test.py, which imports pytest)"
    );
    assert_eq!(
        found(&[("test_sum.py", "def test_sum():\n    assert True\n")]),
        "test: pytest (test_sum.py, whose tests are functions)"
    );
    for files in
        [[("sum.py", unittest)], [("src/test_sum.py", unittest)], [("tests/test_sum.py", "print()\n")]]
    {
        assert_eq!(found(&files), "", "{files:?}");
    }
    let configured = found(&[("tests/test_sum.py", unittest), ("tox.ini", "[testenv]\n")]);
    assert_eq!(configured, "test: tox (tox.ini)");
}

#[test]
fn projects_in_folders_are_checked_in_their_folders() {
    let folder = |files: &[(&str, &str)]| Folder {
        files: files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect(),
    };
    let place = |path: &str| RepoPath::new(path).expect("a path");
    let parts = [
        (place("backend"), folder(&[("go.mod", "")])),
        (place("apps/web"), folder(&[("package.json", r#"{"scripts": {"test": "vitest run"}}"#)])),
    ];
    let found = detect_parts(&parts);
    let last = found.last().expect("a check");
    assert_eq!(last.check.cwd.as_ref().map(RepoPath::as_str), Some("apps/web"));
    assert_eq!(
        (last.check.name.as_str(), last.from.as_str()),
        ("apps/web: npm run test", "apps/web/package.json")
    );
    assert!(found.iter().all(|found| found.check.cwd.is_some()));
    assert!(found.is_sorted_by_key(|found| found.about));
}
