//! Projects of JavaScript and TypeScript: npm, pnpm, yarn, bun and Deno.

use serde_json::Value;

use super::{About, Toolchain};

impl Toolchain<'_> {
    /// The program that installs what a project depends on, by its lock file or by what `package.json` says.
    pub(super) fn node_manager(&self, package: &Value) -> &'static str {
        const LOCKS: [(&str, &str); 6] = [
            ("pnpm-lock.yaml", "pnpm"),
            ("yarn.lock", "yarn"),
            ("bun.lock", "bun"),
            ("bun.lockb", "bun"),
            ("package-lock.json", "npm"),
            ("npm-shrinkwrap.json", "npm"),
        ];
        let named = package["packageManager"].as_str().and_then(|said| said.split('@').next());
        let locked = LOCKS.into_iter().find(|(lock, _)| self.has(lock)).map(|(_, manager)| manager);
        match locked.or(named) {
            Some("pnpm") => "pnpm",
            Some("yarn") => "yarn",
            Some("bun") => "bun",
            _ => "npm",
        }
    }

    pub(super) fn node(&mut self) {
        const FILE: &str = "package.json";
        if let Some(config) = self.first(&["deno.json", "deno.jsonc"]) {
            self.add(About::Format, config, "deno fmt --check");
            self.add(About::Lint, config, "deno lint");
            let deno = serde_json::from_str::<Value>(&self.text(config)).unwrap_or_default();
            let has_task = !deno["tasks"]["test"].is_null();
            self.add(About::Test, config, if has_task { "deno task test" } else { "deno test" });
        }
        let Ok(package) = serde_json::from_str::<Value>(&self.text(FILE)) else { return };
        let manager = self.node_manager(&package);
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
        let bun = self.text("bunfig.toml").parse::<toml::Table>().unwrap_or_default();
        if bun.contains_key("test")
            && !self.found.iter().any(|found| found.from == FILE && found.about == About::Test)
        {
            self.add(About::Test, "bunfig.toml", "bun test");
        }
        let typed =
            ["dependencies", "devDependencies"].iter().any(|kind| package[*kind]["typescript"].is_string());
        if typed && self.has("tsconfig.json") && !self.knows(About::Types) {
            let command = match manager {
                "pnpm" => "pnpm exec tsc --noEmit",
                "yarn" => "yarn run tsc --noEmit",
                "bun" => "bun x tsc --noEmit",
                _ => "npx --no-install tsc --noEmit",
            };
            self.add(About::Types, "tsconfig.json", command);
        }
    }
}
