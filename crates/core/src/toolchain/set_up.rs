//! What makes a fresh checkout ready: it fetches what the project depends on, as its lock file says.

use serde::Serialize;
use serde_json::Value;

use super::Toolchain;
use crate::plan::Argv;
use crate::system::Folder;

/// A command that makes a fresh checkout ready, and the file that speaks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetUp {
    pub run: Argv,
    pub from: String,
}

/// The commands that a fresh checkout of a project needs. Tools that fetch what is missing by themselves, such as cargo, go,
/// uv or Maven, need none.
pub fn set_up(root: &Folder) -> Vec<SetUp> {
    let toolchain = Toolchain { root, found: Vec::new() };
    let mut all = Vec::new();
    let mut add = |from: &str, line: &str| all.push(SetUp { run: Argv::parse(line), from: from.to_owned() });
    if let Some((lock, line)) = toolchain.node_set_up() {
        add(lock, line);
    }
    for (lock, line) in [
        ("poetry.lock", "poetry install --no-interaction"),
        ("pdm.lock", "pdm sync"),
        ("Pipfile.lock", "pipenv sync --dev"),
        ("mix.lock", "mix deps.get"),
        ("composer.lock", "composer install --no-interaction"),
        ("Gemfile.lock", "bundle install"),
    ] {
        let is_other = lock == "poetry.lock" && toolchain.has("uv.lock");
        if toolchain.has(lock) && !is_other {
            add(lock, line);
        }
    }
    all
}

impl Toolchain<'_> {
    fn node_set_up(&self) -> Option<(&'static str, &'static str)> {
        let package = serde_json::from_str::<Value>(&self.text("package.json")).ok()?;
        let named = package["packageManager"].as_str().unwrap_or_default();
        Some(match self.node_manager(&package) {
            "pnpm" if self.has("pnpm-lock.yaml") => ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
            "yarn" if self.has("yarn.lock") => {
                let is_classic =
                    named.starts_with("yarn@1") || (named.is_empty() && !self.has(".yarnrc.yml"));
                let line =
                    if is_classic { "yarn install --frozen-lockfile" } else { "yarn install --immutable" };
                ("yarn.lock", line)
            }
            "bun" => (self.first(&["bun.lock", "bun.lockb"])?, "bun install --frozen-lockfile"),
            "npm" => (self.first(&["package-lock.json", "npm-shrinkwrap.json"])?, "npm ci"),
            _ => return None,
        })
    }
}
