//! What a run of the iterative system has to know about its folder, beyond the tasks: its brief, and what only its own
//! files show of each unit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{RepoPath, TaskId};

/// The folder, as its files describe it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iterative {
    /// The folder's name: commits and the archive call the work so.
    pub slug: String,
    /// What it is called in full.
    pub name: String,
    pub mode: Mode,
    /// What it is about; several where one is done after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<Domain>,
    /// The result that is wanted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done_when: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<TaskId, AboutUnit>,
}

/// Folders of the plan that outputs of knowledge go to.
pub const SHELVES: [&str; 6] = ["sources", "outputs", "analysis", "drafts", "data", "planning"];

impl Iterative {
    /// Where to look for what is made that is not code: the folders for it of the plan's own, which is at `place` in the
    /// project if it lies there, and whatever the units name.
    pub fn makes(&self, place: Option<&str>) -> Vec<RepoPath> {
        if self.mode == Mode::Development {
            return Vec::new();
        }
        let shelves = place.into_iter().flat_map(|place| SHELVES.map(|shelf| format!("{place}/{shelf}")));
        let named = self.units.values().flat_map(|unit| unit.outputs.iter().cloned());
        let all = shelves.chain(named).filter_map(|path| RepoPath::new(path.trim_end_matches('/')).ok());
        all.collect::<BTreeSet<RepoPath>>().into_iter().collect()
    }

    /// What each unit makes, as far as its names are paths.
    pub fn outputs(&self) -> Vec<(TaskId, Vec<RepoPath>)> {
        let paths = |unit: &AboutUnit| {
            let paths = unit.outputs.iter().filter_map(|path| RepoPath::new(path.trim_end_matches('/')).ok());
            paths.collect()
        };
        self.units.iter().map(|(id, unit)| (id.clone(), paths(unit))).collect()
    }
}

/// What a list says about one unit, which is a task or a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutUnit {
    /// What it makes, from the root of the project; folders may end in `/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// As it is written, whichever profile does the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What an agent says that is done with it, without the tags around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
}

/// Whether code is written, or something to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Development,
    Knowledge,
}

impl Mode {
    pub const ALL: [Mode; 2] = [Mode::Development, Mode::Knowledge];

    pub fn word(self) -> &'static str {
        match self {
            Mode::Development => "development",
            Mode::Knowledge => "knowledge",
        }
    }

    /// Also the short form, whatever its case.
    pub fn read(text: &str) -> Option<Mode> {
        let word = text.trim().to_lowercase();
        let long = Mode::ALL.into_iter().find(|mode| mode.word() == word);
        long.or((word == "dev").then_some(Mode::Development))
    }
}

/// What the work is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    Feature,
    Bug,
    Refactor,
    Research,
    Writing,
    Analysis,
    Planning,
}

impl Domain {
    pub const ALL: [Domain; 7] = [
        Domain::Feature,
        Domain::Bug,
        Domain::Refactor,
        Domain::Research,
        Domain::Writing,
        Domain::Analysis,
        Domain::Planning,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Domain::Feature => "feature",
            Domain::Bug => "bug",
            Domain::Refactor => "refactor",
            Domain::Research => "research",
            Domain::Writing => "writing",
            Domain::Analysis => "analysis",
            Domain::Planning => "planning",
        }
    }

    pub fn read(text: &str) -> Option<Domain> {
        let word = text.trim().to_lowercase();
        Domain::ALL.into_iter().find(|domain| domain.word() == word)
    }

    /// The mode that such work is done in.
    pub fn mode(self) -> Mode {
        match self {
            Domain::Feature | Domain::Bug | Domain::Refactor => Mode::Development,
            Domain::Research | Domain::Writing | Domain::Analysis | Domain::Planning => Mode::Knowledge,
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_looked_for_in_the_plans_folders_and_where_units_say() {
        let unit = |output: &str| AboutUnit { outputs: vec![output.to_owned()], ..AboutUnit::default() };
        let ids = ["R1", "R2", "R3"].map(|id| TaskId::new(id).expect("an id"));
        let outputs = ["docs/report.md", ".claude/iterative/why/data/", "../up.md"];
        let units = ids.into_iter().zip(outputs.map(unit)).collect();
        let mut about = Iterative { mode: Mode::Knowledge, units, ..Iterative::default() };
        let made = |about: &Iterative, place| -> Vec<String> {
            about.makes(place).iter().map(ToString::to_string).collect()
        };
        let all = made(&about, Some(".claude/iterative/why"));
        assert_eq!(all.len(), SHELVES.len() + 1, "{all:?}");
        assert!(all.contains(&".claude/iterative/why/sources".to_owned()), "{all:?}");
        assert_eq!(made(&about, None), [".claude/iterative/why/data", "docs/report.md"]);
        about.mode = Mode::Development;
        assert!(made(&about, Some("x")).is_empty(), "code is what git has");
    }
}
