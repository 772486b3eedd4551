//! Files that git ignores and a worktree needs, caches that are worth a copy, and what agents read by themselves.

use super::{Project, Survey, Topic};
use crate::plan::RepoPath;
use crate::view::counted;

/// What a `.worktreeinclude` matches. More files than this are not copied into every worktree: whole folders belong into
/// `warm`.
pub const MOST_COPIED: usize = 500;

/// The project's `.worktreeinclude`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Include {
    /// Files that it matches and that git ignores.
    pub files: Vec<String>,
    /// It matches more than [`MOST_COPIED`].
    pub has_more: bool,
}

/// Names that are shown of several.
const SHOWN: usize = 3;

/// What instructs agents, and is read by them in their worktrees.
const GUIDES: [&str; 6] =
    ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".windsurfrules", "CONVENTIONS.md"];

/// Files with settings of one machine.
const LOCAL: [&str; 9] = [
    ".env",
    ".envrc",
    ".dev.vars",
    ".npmrc",
    "local.properties",
    "master.key",
    "terraform.tfvars",
    "CLAUDE.local.md",
    "AGENTS.local.md",
];

/// Examples of settings, which are no settings.
const EXAMPLES: [&str; 5] = [".example", ".sample", ".template", ".dist", ".defaults"];

/// No deeper than `apps/web/config/master.key`.
const DEEPEST: usize = 3;
/// A project with more of them has them made by a program.
const MOST_LOCAL: usize = 20;

/// Caches that are right in another place, too. Others hold paths of the checkout that they were made in.
const WARM: [&str; 7] =
    ["target", "node_modules", "_build", ".gradle", ".turbo", ".stack-work", "dist-newstyle"];

impl Survey {
    pub(super) fn guides(&mut self, project: &Project<'_>) {
        let is_there = |name: &&&str| project.root.files.contains_key(**name);
        let there: Vec<&str> = GUIDES.iter().filter(is_there).copied().collect();
        if !there.is_empty() {
            self.add(Topic::Guide, &there.join(", "), "agents read it in their worktrees", true);
        }
    }

    /// Only names are shown and written, never what is in the files.
    pub(super) fn copies(&mut self, project: &Project<'_>) {
        if let Some(include) = project.include {
            let (why, is_used) = match (include.files.len(), include.has_more) {
                (_, true) => {
                    let why = format!("it matches more than {MOST_COPIED} files; only the first are copied");
                    (why, true)
                }
                (0, false) => ("it matches nothing that git ignores".to_owned(), false),
                (count, false) => {
                    let names = include.files.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
                    let more =
                        if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
                    (format!("each worktree gets {names}{more}"), true)
                }
            };
            self.add(Topic::Copy, ".worktreeinclude", &why, is_used);
        }
        let is_included =
            |path: &str| project.include.is_some_and(|include| include.files.iter().any(|file| file == path));
        let local = project.ignored.iter().filter(|path| is_local(path) && !is_included(path));
        let (mut taken, mut left) = (Vec::new(), 0_u64);
        for path in local {
            match RepoPath::new(path) {
                Ok(path) if taken.len() < MOST_LOCAL => taken.push(path),
                Ok(_) | Err(_) => left += 1,
            }
        }
        for path in &taken {
            self.add(Topic::Copy, path.as_str(), "git ignores it, and a worktree needs it", true);
        }
        if left > 0 {
            let why = "name what a worktree needs in [worktree] copy";
            self.add(Topic::Copy, &counted(left, "other file"), why, false);
        }
        self.wanted.copy = taken;
    }

    pub(super) fn caches(&mut self, project: &Project<'_>) {
        let folders = project.ignored.iter().filter_map(|path| path.strip_suffix('/'));
        let caches =
            folders.filter(|folder| WARM.contains(folder)).filter_map(|folder| RepoPath::new(folder).ok());
        let caches: Vec<RepoPath> = caches.collect();
        for path in &caches {
            self.add(Topic::Warm, path.as_str(), "git ignores it; a new worktree gets a copy", true);
        }
        self.wanted.warm = caches;
    }
}

fn is_local(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_example = EXAMPLES.iter().any(|end| name.ends_with(end));
    let is_known = LOCAL.contains(&name) || GUIDES.contains(&name) || name.starts_with(".env.");
    !name.is_empty() && path.matches('/').count() <= DEEPEST && is_known && !is_example
}
