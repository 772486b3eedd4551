//! The keys of `piton.toml` that follow from what was found: as a whole file, or as the lines that a file lacks.

use serde::Serialize;

use crate::client::Adapter;
use crate::plan::{Check, RepoPath};
use crate::system::config::{Config, DEFAULT_AGENT, toml_list, toml_text};

/// What `piton.toml` is to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub agent: Option<Adapter>,
    /// Each with what speaks for it.
    pub checks: Vec<(Check, String)>,
    /// Checks whose programs are not installed.
    pub unusable: Vec<Check>,
    pub set_up: Vec<(String, String)>,
    pub copy: Vec<RepoPath>,
    pub warm: Vec<RepoPath>,
}

/// A line that a file lacks, and the table that it belongs into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lacking {
    pub table: &'static str,
    pub line: String,
}

const AGENTS: &str = "[agents.default]";
const DEFAULTS: &str = "[defaults]";
const WORKTREE: &str = "[worktree]";

impl Wanted {
    /// The whole file.
    pub fn text(&self) -> String {
        let mut toml =
            "# What holds for every plan of this project. Piton found it with `piton init`.\n".to_owned();
        match self.agent {
            Some(agent) => {
                toml += &format!("\n{AGENTS}\n{}\n", said(agent));
            }
            None => {
                let first = Adapter::known().next().map_or("", |client| client.name());
                toml += "\n# CHANGE THIS: no coding agent was found. Install one and name it, or name any command.\n";
                toml += &format!("# {AGENTS}\n# adapter = \"{first}\"\n");
            }
        }
        toml += &format!("\n{DEFAULTS}\n");
        if self.checks.is_empty() {
            toml += "# CHANGE THIS: commands that prove a task done. ";
            let lines: Vec<String> = self.unusable.iter().map(entry).collect();
            toml += &match lines.is_empty() {
                true => "No check was found.\n# checks = [\"make test\"]\n".to_owned(),
                false => format!(
                    "The programs of these are not installed here.\n# checks = [{}]\n",
                    lines.join(", ")
                ),
            };
        } else {
            toml += &format!("{}\n", self.checks_line(true));
        }
        let worktree = self.worktree();
        if !worktree.is_empty() {
            toml += &format!("\n{WORKTREE}\n");
            toml.extend(worktree.into_iter().map(|(_, line)| line + "\n"));
        }
        toml
    }

    /// What a file does not say yet. A key that it has is a decision, whatever its value is.
    pub fn lacking(&self, config: &Config) -> Vec<Lacking> {
        let mut lacking = Vec::new();
        let usual = config.defaults.agent.as_deref().unwrap_or(DEFAULT_AGENT);
        if let Some(agent) =
            self.agent.filter(|_| usual == DEFAULT_AGENT && !config.agents.contains_key(usual))
        {
            lacking.push(Lacking { table: AGENTS, line: said(agent) });
        }
        if config.defaults.checks.is_none() && !self.checks.is_empty() {
            lacking.push(Lacking { table: DEFAULTS, line: self.checks_line(false) });
        }
        for (key, line) in self.worktree() {
            let has = match key {
                "copy" => config.worktree.copy.is_some(),
                "setup" => config.worktree.setup.is_some(),
                _ => config.worktree.warm.is_some(),
            };
            if !has {
                lacking.push(Lacking { table: WORKTREE, line });
            }
        }
        lacking
    }

    /// One check a line, with what speaks for it.
    fn checks_line(&self, is_long: bool) -> String {
        let lines: Vec<String> = self.checks.iter().map(|(check, _)| entry(check)).collect();
        if !is_long {
            return format!("checks = [{}]", lines.join(", "));
        }
        let wide = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        let mut text = "checks = [\n".to_owned();
        for (line, (_, why)) in lines.iter().zip(&self.checks) {
            let gap = " ".repeat(wide - line.chars().count());
            text += &format!("    {line},{gap}  # {}\n", comment(why));
        }
        text + "]"
    }

    fn worktree(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if !self.copy.is_empty() {
            let comment = "files that git ignores and a worktree needs";
            lines.push(("copy", format!("copy = {}  # {comment}", toml_list(&self.copy))));
        }
        if !self.set_up.is_empty() {
            let (all, why): (Vec<&str>, Vec<&str>) =
                self.set_up.iter().map(|(line, why)| (line.as_str(), why.as_str())).unzip();
            let comment = comment(&why.join(", "));
            lines.push(("setup", format!("setup = {}  # {comment}", toml_text(&all.join(" && ")))));
        }
        if !self.warm.is_empty() {
            let comment = "caches that a new worktree gets a copy of";
            lines.push(("warm", format!("warm = {}  # {comment}", toml_list(&self.warm))));
        }
        lines
    }
}

/// A check as `checks` lists it.
fn entry(check: &Check) -> String {
    let run = toml_text(&check.run.to_string());
    match &check.cwd {
        Some(cwd) => {
            let (cwd, name) = (toml_text(cwd.as_str()), toml_text(&check.name));
            format!("{{ run = {run}, cwd = {cwd}, name = {name} }}")
        }
        None => run,
    }
}

fn said(agent: Adapter) -> String {
    let others = Adapter::known().filter(|other| *other != agent);
    let others: Vec<String> = others.map(|other| toml_text(other.name())).collect();
    format!("adapter = {}  # or {}", toml_text(agent.name()), others.join(", "))
}

/// A text that stays a comment.
fn comment(text: &str) -> String {
    crate::terminal::one_line(text)
}
