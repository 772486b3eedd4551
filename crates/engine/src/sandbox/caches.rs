//! The caches of build tools, and what an agent behind a fence may do with each: one table for the fence, `piton doctor`
//! and the documentation.
//!
//! A cache is shared if it holds what its tool fetches. If it holds programs that you start later, outside of the fence,
//! it is read-only to agents, or each attempt has an empty one of its own.

use std::collections::BTreeMap;
use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk;

/// The variable that moves the caches of all tools that have no variable of their own.
pub(super) const CACHE_HOME: &str = "XDG_CACHE_HOME";

/// What an agent may do with a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is yours and all agents'. It is made if the project uses the tool.
    Shared,
    /// It is read-only.
    ReadOnly,
    /// It is read-only. If it does not exist, the attempt has one of its own.
    ReadOnlyOrPrivate,
    /// Each attempt has one of its own, which is removed after it.
    Private,
}

/// A cache of one tool.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    pub tool: &'static str,
    /// Files of a project that uses the tool.
    pub signs: &'static [&'static str],
    /// Variables that say where it is, and what is below that. The first that is set counts. The first one is also set
    /// to a private place of an attempt.
    pub variables: &'static [(&'static str, &'static str)],
    /// Where it is otherwise.
    pub usual: &'static str,
    pub access: Access,
    /// The parts of it that are shared, if not all; for a private cache, the parts that are shared nevertheless.
    pub shared: &'static [&'static str],
}

const CARGO: &[&str] = &["Cargo.toml"];
const NODE: &[&str] = &["package.json"];
const PYTHON: &[&str] =
    &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "requirements-dev.txt", "tox.ini"];
const JVM: &[&str] =
    &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradlew"];
const MAVEN: &[&str] = &["pom.xml", "mvnw"];
const DOTNET: &[&str] =
    &["*.csproj", "*.fsproj", "*.vbproj", "*.sln", "*.slnx", "global.json", "Directory.Build.props"];

pub const CACHES: &[Cache] = &[
    Cache {
        tool: "cargo",
        signs: CARGO,
        variables: &[("CARGO_HOME", "")],
        usual: "~/.cargo",
        access: Access::Shared,
        shared: &["registry/", "git/", ".package-cache", ".package-cache-mutate"],
    },
    Cache {
        tool: "cargo install",
        signs: CARGO,
        variables: &[("CARGO_INSTALL_ROOT", "")],
        usual: "~/.cargo/bin",
        access: Access::Private,
        shared: &[],
    },
    Cache {
        tool: "rustup",
        signs: CARGO,
        variables: &[("RUSTUP_HOME", "")],
        usual: "~/.rustup",
        access: Access::ReadOnly,
        shared: &[],
    },
    Cache {
        tool: "npm, npx",
        signs: NODE,
        variables: &[("npm_config_cache", ""), ("NPM_CONFIG_CACHE", "")],
        usual: "~/.npm",
        access: Access::Private,
        // What npx runs lies beside it.
        shared: &["_cacache/"],
    },
    Cache {
        tool: "pnpm",
        signs: &["pnpm-lock.yaml", "pnpm-workspace.yaml"],
        variables: &[("npm_config_store_dir", ""), ("PNPM_HOME", "store")],
        usual: "~/.local/share/pnpm/store",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "yarn",
        signs: &["yarn.lock"],
        variables: &[("YARN_GLOBAL_FOLDER", "")],
        usual: "~/.yarn/berry",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "yarn 1",
        signs: &["yarn.lock"],
        variables: &[("YARN_CACHE_FOLDER", "")],
        usual: "~/.cache/yarn",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "bun",
        signs: &["bun.lock", "bun.lockb", "bunfig.toml"],
        variables: &[("BUN_INSTALL_CACHE_DIR", ""), ("BUN_INSTALL", "install/cache")],
        usual: "~/.bun/install/cache",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "deno",
        signs: &["deno.json", "deno.jsonc", "deno.lock"],
        variables: &[("DENO_DIR", "")],
        usual: "~/.cache/deno",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "corepack",
        signs: NODE,
        variables: &[("COREPACK_HOME", "")],
        usual: "~/.cache/node/corepack",
        access: Access::ReadOnlyOrPrivate,
        shared: &[],
    },
    Cache {
        tool: "playwright",
        signs: &["playwright.config.ts", "playwright.config.js", "playwright.config.mjs"],
        variables: &[("PLAYWRIGHT_BROWSERS_PATH", "")],
        usual: "~/.cache/ms-playwright",
        access: Access::ReadOnlyOrPrivate,
        shared: &[],
    },
    Cache {
        tool: "puppeteer",
        signs: &[".puppeteerrc.cjs", ".puppeteerrc.json", "puppeteer.config.js"],
        variables: &[("PUPPETEER_CACHE_DIR", "")],
        usual: "~/.cache/puppeteer",
        access: Access::ReadOnlyOrPrivate,
        shared: &[],
    },
    Cache {
        tool: "cypress",
        signs: &["cypress.config.ts", "cypress.config.js", "cypress.json"],
        variables: &[("CYPRESS_CACHE_FOLDER", "")],
        usual: "~/.cache/Cypress",
        access: Access::ReadOnlyOrPrivate,
        shared: &[],
    },
    Cache {
        tool: "pip",
        signs: PYTHON,
        variables: &[("PIP_CACHE_DIR", "")],
        usual: "~/.cache/pip",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "uv",
        signs: &["uv.lock", "uv.toml"],
        variables: &[("UV_CACHE_DIR", "")],
        usual: "~/.cache/uv",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "uv python",
        signs: &["uv.lock", "uv.toml"],
        variables: &[("UV_PYTHON_INSTALL_DIR", "")],
        usual: "~/.local/share/uv/python",
        access: Access::ReadOnlyOrPrivate,
        shared: &[],
    },
    Cache {
        tool: "uv tool",
        signs: &["uv.lock", "uv.toml"],
        variables: &[("UV_TOOL_DIR", "")],
        usual: "~/.local/share/uv/tools",
        access: Access::Private,
        shared: &[],
    },
    Cache {
        tool: "poetry",
        signs: &["poetry.lock"],
        variables: &[("POETRY_CACHE_DIR", "")],
        usual: "~/.cache/pypoetry",
        access: Access::Shared,
        shared: &["cache/", "artifacts/"],
    },
    Cache {
        tool: "poetry (virtualenvs)",
        signs: &["poetry.lock"],
        variables: &[("POETRY_VIRTUALENVS_PATH", "")],
        usual: "~/.cache/pypoetry/virtualenvs",
        access: Access::Private,
        shared: &[],
    },
    Cache {
        tool: "pipenv (virtualenvs)",
        signs: &["Pipfile"],
        variables: &[("WORKON_HOME", "")],
        usual: "~/.local/share/virtualenvs",
        access: Access::Private,
        shared: &[],
    },
    Cache {
        tool: "pre-commit",
        signs: &[".pre-commit-config.yaml"],
        variables: &[("PRE_COMMIT_HOME", "")],
        usual: "~/.cache/pre-commit",
        access: Access::Private,
        shared: &[],
    },
    Cache {
        tool: "go (modules)",
        signs: &["go.mod"],
        variables: &[("GOMODCACHE", ""), ("GOPATH", "pkg/mod")],
        usual: "~/go/pkg/mod",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "go (builds)",
        signs: &["go.mod"],
        variables: &[("GOCACHE", "")],
        usual: "~/.cache/go-build",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "maven",
        signs: MAVEN,
        variables: &[],
        usual: "~/.m2/repository",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "mvnw",
        signs: MAVEN,
        variables: &[("MAVEN_USER_HOME", "")],
        usual: "~/.m2/wrapper",
        access: Access::Private,
        shared: &[],
    },
    Cache {
        tool: "gradle",
        signs: JVM,
        // Its home also says how to reach its daemons, and those are outside of the fence.
        variables: &[("GRADLE_USER_HOME", "")],
        usual: "~/.gradle",
        access: Access::Private,
        shared: &[],
    },
    Cache {
        tool: "gradle (dependencies)",
        signs: JVM,
        variables: &[("GRADLE_RO_DEP_CACHE", ""), ("GRADLE_USER_HOME", "caches")],
        usual: "~/.gradle/caches",
        access: Access::ReadOnly,
        shared: &[],
    },
    Cache {
        tool: "nuget",
        signs: DOTNET,
        variables: &[("NUGET_PACKAGES", "")],
        usual: "~/.nuget/packages",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "nuget (http)",
        signs: DOTNET,
        variables: &[("NUGET_HTTP_CACHE_PATH", "")],
        usual: "~/.local/share/NuGet/http-cache",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "dotnet",
        signs: DOTNET,
        variables: &[("DOTNET_CLI_HOME", "")],
        usual: "~/.dotnet",
        access: Access::Private,
        shared: &[],
    },
    Cache {
        tool: "composer",
        signs: &["composer.json"],
        variables: &[("COMPOSER_CACHE_DIR", ""), ("COMPOSER_HOME", "cache")],
        usual: "~/.cache/composer",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "bundler",
        signs: &["Gemfile"],
        variables: &[("BUNDLE_USER_CACHE", ""), ("BUNDLE_USER_HOME", "cache")],
        usual: "~/.bundle/cache",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "ccache",
        signs: &[],
        variables: &[("CCACHE_DIR", "")],
        usual: "~/.cache/ccache",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "sccache",
        signs: &[],
        variables: &[("SCCACHE_DIR", "")],
        usual: "~/.cache/sccache",
        access: Access::Shared,
        shared: &[],
    },
    Cache {
        tool: "everything else",
        signs: &[],
        variables: &[(CACHE_HOME, "")],
        usual: "~/.cache",
        access: Access::Private,
        shared: &[],
    },
];

/// pip does not use a cache that is a link if its user is root, so it is told where the cache is.
const NOT_BY_LINK: [&str; 1] = ["PIP_CACHE_DIR"];

/// Large folders that hold dependencies and build output, not the project's own code.
const NOT_LOOKED_INTO: [&str; 5] = ["node_modules", "target", "vendor", "dist", "build"];
/// How deep, and at how many files, Piton looks into a project: packages of a workspace are in `crates/NAME` or
/// `packages/NAME`.
const DEPTH: usize = 3;
const MOST_FILES: usize = 4000;

impl Access {
    pub fn word(self) -> &'static str {
        match self {
            Access::Shared => "shared",
            Access::ReadOnly => "read-only",
            Access::ReadOnlyOrPrivate => "read-only; private if there is none",
            Access::Private => "private",
        }
    }
}

impl Cache {
    /// Where it is, by the variables as `said`. `None` where there is no home folder.
    fn place(&self, said: &dyn Fn(&str) -> Option<String>) -> Option<Utf8PathBuf> {
        let moved =
            |(name, below): &(&str, &str)| said(name).map(|folder| Utf8Path::new(&folder).join(below));
        let place = match self.variables.iter().find_map(moved) {
            Some(place) => place,
            None => usual(self.usual, said)?,
        };
        place.is_absolute().then_some(place)
    }

    /// The places of it that are shared.
    fn shared_places(&self, place: &Utf8Path) -> Vec<Place> {
        if self.access == Access::Shared && self.shared.is_empty() {
            return vec![Place { path: place.to_owned(), is_folder: true }];
        }
        let part = |name: &&str| Place {
            path: place.join(name.trim_end_matches('/')),
            is_folder: name.ends_with('/'),
        };
        self.shared.iter().map(part).collect()
    }

    /// Whether one of these files says that a project uses the tool.
    fn is_used(&self, files: &[String]) -> bool {
        let is_sign = |file: &str| {
            self.signs.iter().any(|sign| match sign.strip_prefix('*') {
                Some(end) => file.ends_with(end),
                None => file == *sign,
            })
        };
        files.iter().any(|file| is_sign(file))
    }

    /// Whether agents share nothing of it.
    pub(super) fn is_without_share(&self) -> bool {
        self.access != Access::Shared && self.shared.is_empty()
    }

    /// Its name for a folder.
    fn folder(&self) -> String {
        let letters = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        self.tool.chars().map(letters).collect::<String>().trim_end_matches('-').replace("--", "-")
    }
}

/// Where a place below the home folder is: what is below `~/.cache` and `~/.local/share` moves with these two.
fn usual(place: &str, said: &dyn Fn(&str) -> Option<String>) -> Option<Utf8PathBuf> {
    let moved = |prefix: &str, variable: &str| {
        let below = place.strip_prefix(prefix)?.trim_start_matches('/');
        Some(Utf8Path::new(&said(variable)?).join(below)).filter(|place| place.is_absolute())
    };
    let data = || moved("~/.local/share/", "XDG_DATA_HOME");
    let home = || Some(Utf8Path::new(&said("HOME")?).join(place.strip_prefix("~/")?));
    moved("~/.cache", CACHE_HOME).or_else(data).or_else(home)
}

/// A folder, or a file, that agents write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub path: Utf8PathBuf,
    is_folder: bool,
}

/// What has to be done about the caches for one attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrangement {
    /// Opened to the agent, if they are there.
    pub shared: Vec<Place>,
    /// Made before, since the project's tools need them.
    made: Vec<Place>,
    pub env: BTreeMap<String, String>,
    pub env_remove: Vec<String>,
    /// A link in the attempt's own folder, and where it leads.
    links: Vec<(Utf8PathBuf, Utf8PathBuf)>,
}

/// Everything that decides about it.
pub(super) struct Facts<'a> {
    /// The attempt's own folder for caches.
    pub private: &'a Utf8Path,
    /// Variables as the agent would see them.
    pub said: &'a dyn Fn(&str) -> Option<String>,
    /// Those that the agent's profile sets: a person decided about them.
    pub settled: &'a dyn Fn(&str) -> bool,
    /// Names of the project's files.
    pub files: &'a [String],
    pub exists: &'a dyn Fn(&Utf8Path) -> bool,
    /// More places that the agent may write to.
    pub opened: &'a [Utf8PathBuf],
}

pub(super) fn arrange(facts: &Facts<'_>) -> Arrangement {
    let mut all = Arrangement::default();
    let cache_home = usual("~/.cache", facts.said);
    let moves_home = !(facts.settled)(CACHE_HOME);
    let mut seen: Vec<Utf8PathBuf> = facts.opened.to_vec();
    for cache in CACHES {
        let Some(place) = cache.place(facts.said) else { continue };
        let is_settled = cache.variables.iter().any(|(name, _)| (facts.settled)(name));
        let own = facts.private.join(cache.folder());
        let shared = cache.shared_places(&place);
        let mut tell = |place: &Utf8Path| {
            let mut names = cache.variables.iter();
            if let Some((first, _)) = names.next().filter(|_| !is_settled) {
                all.env.insert((*first).to_owned(), place.to_string());
                // The same variable in another letter case. One that names a folder below the place is not the same.
                let spellings =
                    names.filter(|(name, below)| below.is_empty() && name.eq_ignore_ascii_case(first));
                all.env_remove.extend(spellings.map(|(name, _)| (*name).to_owned()));
            }
        };
        match cache.access {
            Access::Shared if NOT_BY_LINK.contains(&cache.variables.first().map_or("", |(name, _)| name)) => {
                tell(&place);
            }
            Access::Shared => {}
            Access::Private => tell(&own),
            Access::ReadOnly | Access::ReadOnlyOrPrivate if (facts.exists)(&place) => {
                tell(&place);
                seen.push(place);
            }
            Access::ReadOnly => {}
            Access::ReadOnlyOrPrivate => tell(&own),
        }
        if cache.access == Access::Private && !is_settled {
            let link = |part: &Place| Some((own.join(part.path.file_name()?), part.path.clone()));
            all.links.extend(shared.iter().filter_map(link));
        }
        if cache.is_used(facts.files) {
            all.made.extend(shared.iter().cloned());
        }
        seen.extend(shared.iter().map(|place| place.path.clone()));
        all.shared.extend(shared);
    }
    if let (Some(home), true) = (cache_home, moves_home) {
        let own = all.env.get(CACHE_HOME).map(Utf8PathBuf::from);
        let link = |place: &Utf8PathBuf| {
            let below = place.strip_prefix(&home).ok().filter(|below| !below.as_str().is_empty())?;
            Some((own.as_ref()?.join(below), place.clone()))
        };
        all.links.extend(seen.iter().filter_map(link));
    }
    all
}

impl Arrangement {
    #[cfg(test)]
    pub(super) fn made_paths(&self) -> impl Iterator<Item = &Utf8Path> {
        self.made.iter().map(|place| place.path.as_path())
    }

    #[cfg(test)]
    pub(super) fn link_pairs(&self) -> impl Iterator<Item = (Utf8PathBuf, Utf8PathBuf)> {
        self.links.iter().cloned()
    }

    /// Make what has to be there before the fence goes up. It may be there already.
    pub(super) fn carry_out(&self, private: &Utf8Path) -> io::Result<()> {
        for place in &self.made {
            // If that fails, the tool itself reports what is missing.
            let _ = if place.is_folder { fs::create_dir_all(&place.path) } else { make_file(&place.path) };
        }
        disk::private_folder(private)?;
        for folder in self.env.values().map(Utf8Path::new).filter(|folder| folder.starts_with(private)) {
            disk::private_folder(folder)?;
        }
        // A place inside of another linked place is there already.
        let is_inside = |link: &Utf8Path| {
            self.links.iter().any(|(other, to)| link != other && link.starts_with(other) && to.exists())
        };
        for (link, to) in self.links.iter().filter(|(link, to)| to.exists() && !is_inside(link)) {
            if let Some(folder) = link.parent() {
                disk::private_folder(folder)?;
            }
            make_link(to, link)?;
        }
        Ok(())
    }
}

fn make_file(path: &Utf8Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::File::options().create(true).append(true).open(path).map(drop)
}

#[cfg(unix)]
fn make_link(to: &Utf8Path, link: &Utf8Path) -> io::Result<()> {
    match std::os::unix::fs::symlink(to, link) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

#[cfg(not(unix))]
fn make_link(_to: &Utf8Path, _link: &Utf8Path) -> io::Result<()> {
    Ok(())
}

/// The names of a project's files, near its top.
pub(super) fn files_of(project: &Utf8Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![(project.to_owned(), 1)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = folder.read_dir_utf8() else { continue };
        for entry in entries.flatten() {
            if names.len() >= MOST_FILES {
                return names;
            }
            let (name, kind) = (entry.file_name(), entry.file_type());
            if kind.is_ok_and(|kind| kind.is_dir()) {
                if depth < DEPTH && !name.starts_with('.') && !NOT_LOOKED_INTO.contains(&name) {
                    folders.push((entry.path().to_owned(), depth + 1));
                }
            } else {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// A cache as it is on this machine.
#[derive(Clone, Debug)]
pub struct Here {
    pub cache: &'static Cache,
    pub place: Utf8PathBuf,
    pub exists: bool,
}

/// The caches of the tools that a project uses, by its files and by the variables of this process.
pub fn caches_here(project: &Utf8Path) -> Vec<Here> {
    let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let here = |cache: &'static Cache| {
        let place = cache.place(&said)?;
        Some(Here { cache, exists: place.exists(), place })
    };
    tools_of(project).into_iter().filter_map(here).collect()
}

/// Tools that a project uses, by its files.
pub fn tools_of(project: &Utf8Path) -> Vec<&'static Cache> {
    let files = files_of(project);
    CACHES.iter().filter(|cache| cache.is_used(&files)).collect()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn list(all: &[&str]) -> String {
    all.iter().map(|one| code(one)).collect::<Vec<_>>().join(", ")
}

impl Cache {
    /// What an agent may do with it, in words.
    pub fn access_in_words(&self) -> String {
        match (self.access, self.shared) {
            (access, []) => access.word().to_owned(),
            (Access::Private, shared) => format!("private, but {} is shared", list(shared)),
            (access, shared) => format!("{}: {}", access.word(), list(shared)),
        }
    }
}

/// The table, as the documentation shows it.
pub fn as_markdown() -> String {
    let mut table =
        "| tool | found by | variable | usual place | an agent's |\n|---|---|---|---|---|\n".to_owned();
    for cache in CACHES {
        let variables: Vec<String> = cache
            .variables
            .iter()
            .map(|(name, below)| if below.is_empty() { code(name) } else { code(&format!("{name}/{below}")) })
            .collect();
        let access = cache.access_in_words();
        let row = [cache.tool.to_owned(), list(cache.signs), variables.join(", "), code(cache.usual), access];
        table += &format!("| {} |\n", row.join(" | "));
    }
    table
}
