//! Commands of well-known programs that judge a project: what each is about. What is not known here is not run.

use crate::toolchain::About;

/// Words that a command is put behind, so that it runs in the environment of the project.
const BEFORE: [&[&str]; 11] = [
    &["uv", "run"],
    &["poetry", "run"],
    &["pdm", "run"],
    &["pipenv", "run"],
    &["hatch", "run"],
    &["bundle", "exec"],
    &["pnpm", "exec"],
    &["npx"],
    &["bunx"],
    &["python", "-m"],
    &["python3", "-m"],
];

/// Words that make a command change or send something, or never end.
const CHANGES: [&str; 14] = [
    "--fix",
    "--write",
    "--watch",
    "--watchAll",
    "-w",
    "-i",
    "--unsafe-fixes",
    "-A",
    "-a",
    "publish",
    "deploy",
    "release",
    "push",
    "--update-snapshots",
];

/// What a command judges, by its words. `None`: it does something else, or is not known.
pub(super) fn about(words: &[String]) -> Option<About> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.iter().any(|word| CHANGES.contains(word)) {
        return None;
    }
    let before = BEFORE.iter().find(|before| words.starts_with(before)).map_or(0, |before| before.len());
    let words = &words[before..];
    let (program, rest) = words.split_first()?;
    let has = |word: &str| rest.contains(&word);
    let first = rest.iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or_default();
    let checks = || has("--check");
    Some(match (*program, first) {
        ("cargo", "fmt") | ("ruff", "format") | ("deno" | "biome", "fmt" | "format") if checks() => {
            About::Format
        }
        ("cargo", "clippy") => About::Lint,
        ("cargo", "test" | "nextest") => About::Test,
        ("cargo", "check" | "build") => About::Build,
        ("npm" | "pnpm" | "yarn" | "bun", "run" | "run-script") => script(rest.get(1)?)?,
        ("npm" | "pnpm" | "yarn" | "bun", name) => script(name)?,
        ("pytest" | "tox" | "nox", _) | ("coverage", "run") | ("unittest", _) => About::Test,
        ("ruff", "check") | ("flake8" | "pylint", _) => About::Lint,
        ("black" | "isort", _) if checks() || has("--check-only") => About::Format,
        ("mypy" | "pyright" | "basedpyright", _) | ("ty", "check") => About::Types,
        ("go", "test") | ("gotestsum", _) => About::Test,
        ("go", "vet") | ("golangci-lint", "run") | ("staticcheck", _) => About::Lint,
        ("go", "build") => About::Build,
        ("mvn" | "./mvnw", _) if has("verify") || has("test") => About::Test,
        ("gradle" | "./gradlew", _) if has("check") || has("test") => About::Test,
        ("gradle" | "./gradlew", _) if has("build") || has("assemble") => About::Build,
        ("dotnet", "test") => About::Test,
        ("dotnet", "build") => About::Build,
        ("dotnet", "format") if has("--verify-no-changes") => About::Format,
        ("mix", "test") => About::Test,
        ("mix", "format") if has("--check-formatted") => About::Format,
        ("mix", "credo") => About::Lint,
        ("mix", "dialyzer") => About::Types,
        ("make" | "just", name) => script(name)?,
        ("rspec", _) | ("rake", "test" | "spec") | ("rails" | "bin/rails", "test") => About::Test,
        ("rubocop" | "standardrb", _) => About::Lint,
        ("composer", name) => script(name)?,
        ("vendor/bin/phpunit" | "vendor/bin/pest", _) => About::Test,
        ("vendor/bin/phpstan", "analyse" | "analyze") | ("vendor/bin/psalm", _) => About::Types,
        ("swift", "test") | ("deno", "test") => About::Test,
        ("swift", "build") => About::Build,
        ("swiftlint", _) | ("deno", "lint") => About::Lint,
        ("ctest", _) => About::Test,
        ("pre-commit" | "prek", "run") => About::Lint,
        ("eslint" | "oxlint", _) | ("biome", "ci" | "check" | "lint") => About::Lint,
        ("prettier", _) if checks() => About::Format,
        ("tsc", _) if has("--noEmit") => About::Types,
        ("jest" | "mocha", _) | ("vitest", "run") => About::Test,
        _ => return None,
    })
}

/// What a script of a project judges, by its name.
fn script(name: &str) -> Option<About> {
    Some(match name {
        "test" | "tests" | "test:unit" | "test:ci" | "test-unit" | "check" | "spec" => About::Test,
        "lint" | "lint:check" | "lint:ci" => About::Lint,
        "typecheck" | "type-check" | "types" | "check-types" | "check:types" | "tsc" => About::Types,
        "build" => About::Build,
        "format:check" | "fmt:check" | "format-check" | "fmt-check" | "check-format" | "check:format"
        | "prettier:check" => About::Format,
        _ => return None,
    })
}
