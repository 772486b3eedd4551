//! Projects of other languages: Elixir, Java, Swift, .NET, Ruby, PHP and what CMake builds.

use serde_json::Value;

use super::{About, Toolchain};
use crate::run::shell_word;

impl Toolchain<'_> {
    pub(super) fn others(&mut self) {
        if self.has("mix.exs") {
            if self.has(".formatter.exs") {
                self.add(About::Format, ".formatter.exs", "mix format --check-formatted");
            }
            if self.has(".credo.exs") {
                self.add(About::Lint, ".credo.exs", "mix credo");
            }
            self.add(About::Test, "mix.exs", "mix test");
        }
        if let Some(build) =
            self.first(&["build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"])
        {
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
            if self.has(".swiftlint.yml") {
                self.add(About::Lint, ".swiftlint.yml", "swiftlint lint --strict");
            }
            self.add(About::Build, "Package.swift", "swift build");
            self.add(About::Test, "Package.swift", "swift test");
        }
        self.dotnet();
        if self.has("Gemfile") && self.has(".rubocop.yml") {
            self.add(About::Lint, ".rubocop.yml", "bundle exec rubocop");
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

    /// What is built: a solution where there is one. Where there are several, each has to be named.
    fn dotnet(&mut self) {
        let of = |ends: &[&str]| -> Vec<String> {
            let names = self.root.files.keys().filter(|name| ends.iter().any(|end| name.ends_with(end)));
            names.cloned().collect()
        };
        let solutions = of(&[".sln", ".slnx"]);
        let projects = of(&[".csproj", ".fsproj", ".vbproj"]);
        let is_only = solutions.len() + projects.len() == 1;
        let built = if solutions.is_empty() { projects } else { solutions };
        for file in built {
            let name = if is_only { String::new() } else { format!(" {}", shell_word(&file)) };
            self.add(About::Build, &file, &format!("dotnet build{name}"));
            self.add(About::Test, &file, &format!("dotnet test{name}"));
        }
    }

    /// Only where tests are set up, and where the build goes to a place that git ignores.
    pub(super) fn cmake(&mut self) {
        const PRESETS: &str = "CMakePresets.json";
        const LISTS: &str = "CMakeLists.txt";
        let presets = serde_json::from_str::<Value>(&self.text(PRESETS)).unwrap_or_default();
        let names = |kind: &str| -> Vec<String> {
            let all = presets[kind].as_array().into_iter().flatten();
            all.filter(|preset| preset["hidden"] != true)
                .filter_map(|preset| Some(preset["name"].as_str()?.to_owned()))
                .collect()
        };
        let (configure, build) = (names("configurePresets"), names("buildPresets"));
        let tested = names("testPresets").into_iter().find(|name| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            configure.contains(name)
                && build.contains(name)
                && name.chars().all(is_plain)
                && !name.starts_with('-')
        });
        if let Some(preset) = tested {
            let line = format!(
                "cmake --preset {preset} && cmake --build --preset {preset} && ctest --preset {preset}"
            );
            self.add(About::Test, PRESETS, &line);
            return;
        }
        let lists = self.text(LISTS).to_lowercase().replace(' ', "");
        let is_tested = lists
            .lines()
            .any(|line| line.starts_with("enable_testing(") || line.starts_with("include(ctest)"));
        let is_ignored =
            |line: &str| matches!(line.trim().trim_start_matches('/').trim_end_matches(['/', '*']), "build");
        if is_tested && self.text(".gitignore").lines().any(is_ignored) {
            let line =
                "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";
            self.add(About::Test, LISTS, line);
        }
    }
}
