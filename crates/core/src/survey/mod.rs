//! What `piton init` finds in a project, and the `piton.toml` that comes of it.
//!
//! Values in, findings with their reasons and a text out. The program looks at disk, git and `PATH`; nothing here does, and
//! nothing is run. Texts of the project are hostile: they may name a check, and are shown on one line.

mod branch;
mod ci;
mod files;
mod known;
#[cfg(test)]
mod tests;
mod wanted;

use std::fmt;

use serde::Serialize;

use crate::client::Adapter;
use crate::plan::{Check, RepoPath};
use crate::system::Folder;
use crate::system::config::{Config, DEFAULT_AGENT};
use crate::terminal::one_line;
use crate::toolchain::{self, About, Detected};
use crate::view::counted;

pub use branch::Branches;
pub use ci::{Ran, is_ci, ran};
pub use files::{Include, MOST_COPIED};
pub use wanted::{Lacking, Wanted};

/// What was looked at.
#[derive(Clone, Copy)]
pub struct Project<'a> {
    /// The files at its root, with the texts of those that [`toolchain::READ`] names.
    pub root: &'a Folder,
    /// The same of folders that may be projects of their own. They count if the root says nothing about tests.
    pub parts: &'a [(RepoPath, Folder)],
    /// The files of its CI, each with its text.
    pub ci: &'a [(String, String)],
    pub repository: &'a Repository,
    /// The clients whose programs are installed.
    pub clients: &'a [Adapter],
    /// What git ignores and is there. Folders end with `/`, and what is in them is not listed.
    pub ignored: &'a [String],
    /// Its `.worktreeinclude`.
    pub include: Option<&'a Include>,
    pub plans: &'a [PlanSeen],
    /// The program that a check or a command needs and that is not installed.
    pub missing: &'a dyn Fn(&Check) -> Option<String>,
    /// Its `piton.toml`, as far as there is one.
    pub config: Option<&'a Config>,
}

impl fmt::Debug for Project<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Project").field("repository", &self.repository).finish_non_exhaustive()
    }
}

/// Whether git keeps the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repository {
    Missing,
    /// Without a commit.
    Empty,
    With(Branches),
}

/// A plan that lies in the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanSeen {
    pub path: String,
    /// The command that looks at it.
    #[serde(skip)]
    pub command: String,
    pub system: &'static str,
    pub size: Size,
}

/// How much there is to do in a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    Tasks {
        open: usize,
        all: usize,
    },
    /// It lists other plans.
    Collection,
    /// A program has to be asked for its tasks.
    Unasked,
    /// Why it cannot be read.
    Unreadable(String),
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    Branch,
    Agent,
    Check,
    SetUp,
    Guide,
    Copy,
    Warm,
    Plan,
}

impl Topic {
    pub fn name(self) -> &'static str {
        match self {
            Topic::Branch => "branch",
            Topic::Agent => "agent",
            Topic::Check => "check",
            Topic::SetUp => "setup",
            Topic::Guide => "guide",
            Topic::Copy => "copy",
            Topic::Warm => "warm",
            Topic::Plan => "plan",
        }
    }
}

/// Something that was found, and the file or the reason that speaks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    pub topic: Topic,
    pub what: String,
    pub why: String,
    /// Whether anything comes of it. What was found and cannot be used is shown, too.
    #[serde(rename = "used")]
    pub is_used: bool,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    pub found: Vec<Found>,
    pub wanted: Wanted,
    /// The branch that work is to land on, as far as one is known.
    pub target: Option<String>,
    /// The command to type next.
    pub next: String,
}

/// A check that a project has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSeen {
    pub check: Check,
    /// The files that speak for it.
    pub why: String,
    /// The program that it needs and that is not installed: it could only fail.
    pub missing: Option<String>,
}

/// The checks that the project's own files name, and those that its CI runs beyond them.
pub fn checks(
    root: &Folder,
    parts: &[(RepoPath, Folder)],
    ci: &[(String, String)],
    missing: &dyn Fn(&Check) -> Option<String>,
) -> Vec<CheckSeen> {
    let of_files = toolchain::detect(root);
    let all: Vec<Ran> = ci.iter().flat_map(|(file, text)| ran(file, text)).collect();
    let of_ci = ci::beyond(&of_files, &all);
    let told = |found: Detected, why: String| {
        let missing = missing(&found.check);
        (found.about, CheckSeen { check: found.check, why, missing })
    };
    let of_files = of_files.into_iter().map(|found| {
        let also = all.iter().find(|ran| ran.speaks_for(&found.check));
        let why = also.map_or_else(|| found.from.clone(), |ran| format!("{}, {}", found.from, ran.file));
        told(found, why)
    });
    let of_ci = of_ci.into_iter().map(|found| {
        let why = found.from.clone();
        told(found, why)
    });
    let mut seen: Vec<_> = of_files.chain(of_ci).collect();
    if seen.iter().all(|(about, _)| *about != About::Test) {
        let of_parts = toolchain::detect_parts(parts).into_iter();
        seen.extend(of_parts.map(|found| {
            let why = found.from.clone();
            told(found, why)
        }));
    }
    seen.sort_by_key(|(about, _)| *about);
    seen.into_iter().map(|(_, seen)| seen).collect()
}

/// Look through what is known of a project.
pub fn survey(project: &Project<'_>) -> Survey {
    let mut survey =
        Survey { found: Vec::new(), wanted: Wanted::default(), target: None, next: next(project.plans) };
    survey.branch(project);
    survey.agents(project);
    survey.checks(project);
    survey.set_up(project);
    survey.guides(project);
    survey.copies(project);
    survey.caches(project);
    for plan in project.plans {
        let (why, is_used) = plan.told();
        survey.add(Topic::Plan, &plan.path, &why, is_used);
    }
    survey
}

impl Survey {
    fn add(&mut self, topic: Topic, what: &str, why: &str, is_used: bool) {
        self.found.push(Found { topic, what: one_line(what), why: one_line(why), is_used });
    }

    fn agents(&mut self, project: &Project<'_>) {
        let usual = project.config.map(|config| {
            let name = config.defaults.agent.as_deref().unwrap_or(DEFAULT_AGENT);
            (name, config.agents.get(name))
        });
        if let Some((name, Some(agent))) = usual {
            let client =
                if agent.adapter.is_command() { "a command of your own" } else { agent.adapter.name() };
            self.add(Topic::Agent, name, &format!("{client}, as piton.toml says"), true);
            return;
        }
        let Some((first, others)) = project.clients.split_first() else {
            let known: Vec<&str> = Adapter::known().map(|client| client.name()).collect();
            let why = format!("none of {} is installed", known.join(", "));
            self.add(Topic::Agent, "none", &why, false);
            return;
        };
        let others: Vec<&str> = others.iter().map(|client| client.name()).collect();
        let why = match others.is_empty() {
            true => "it is installed".to_owned(),
            false => format!("it is installed; so is {}", others.join(", ")),
        };
        self.add(Topic::Agent, first.name(), &why, true);
        self.wanted.agent = Some(*first);
    }

    fn checks(&mut self, project: &Project<'_>) {
        for seen in checks(project.root, project.parts, project.ci, project.missing) {
            let place = seen.check.cwd.as_ref().map_or_else(String::new, |cwd| format!(" (in {cwd})"));
            let line = format!("{}{place}", seen.check.run);
            match seen.missing {
                None => {
                    self.add(Topic::Check, &line, &seen.why, true);
                    self.wanted.checks.push((seen.check, seen.why));
                }
                Some(program) => {
                    let why = format!("{}; not used: `{program}` is not installed", seen.why);
                    self.add(Topic::Check, &line, &why, false);
                    self.wanted.unusable.push(seen.check);
                }
            }
        }
    }

    fn set_up(&mut self, project: &Project<'_>) {
        for found in toolchain::set_up(project.root) {
            let line = found.run.to_string();
            let check = Check::new(line.clone(), found.run.clone(), crate::time::Span::minutes(1));
            match (project.missing)(&check) {
                None => {
                    self.add(Topic::SetUp, &line, &found.from, true);
                    self.wanted.set_up.push((line, found.from));
                }
                Some(program) => {
                    let why = format!("{}; not used: `{program}` is not installed", found.from);
                    self.add(Topic::SetUp, &line, &why, false);
                }
            }
        }
    }

    /// The lines for a terminal.
    pub fn text(&self) -> String {
        const WIDEST: usize = 44;
        let width = |found: &Found| found.what.chars().count();
        let wide = self.found.iter().map(width).filter(|width| *width <= WIDEST).max().unwrap_or(0);
        let mut text = String::new();
        for (nth, found) in self.found.iter().enumerate() {
            let is_first = nth == 0 || self.found[nth - 1].topic != found.topic;
            let topic = if is_first { found.topic.name() } else { "" };
            let gap = " ".repeat(wide.saturating_sub(width(found)));
            text += format!("{topic:8}{}{gap}  {}", found.what, found.why).trim_end();
            text.push('\n');
        }
        text
    }
}

impl PlanSeen {
    fn told(&self) -> (String, bool) {
        match &self.size {
            Size::Tasks { open: 0, all } => {
                (format!("{}: all done ({})", self.system, counted(*all as u64, "task")), true)
            }
            Size::Tasks { open, all } => {
                (format!("{}: {open} of {} open", self.system, counted(*all as u64, "task")), true)
            }
            Size::Collection => (format!("{}: a list of plans", self.system), true),
            Size::Unasked => (format!("{}: issues, which the command asks for", self.system), true),
            Size::Unreadable(why) => (format!("{}: {why}", self.system), false),
        }
    }

    fn open(&self) -> usize {
        match self.size {
            Size::Tasks { open, .. } => open,
            Size::Collection | Size::Unasked | Size::Unreadable(_) => 0,
        }
    }
}

/// The plan with the most to do, or how to get one.
fn next(plans: &[PlanSeen]) -> String {
    let most = plans.iter().map(PlanSeen::open).max().filter(|most| *most > 0);
    let first = plans.iter().find(|plan| Some(plan.open()) == most);
    let is_unknown = |plan: &&PlanSeen| matches!(plan.size, Size::Collection | Size::Unasked);
    let first = first.or_else(|| plans.iter().find(is_unknown));
    // A plan with mistakes is a beginning: the command says where they are.
    let first = first.or_else(|| plans.iter().find(|plan| matches!(plan.size, Size::Unreadable(_))));
    first.map_or_else(|| "piton new plan".to_owned(), |plan| plan.command.clone())
}
