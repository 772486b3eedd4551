//! The files that a system keeps next to its plan: what they show of a run, and what a change of them means. What
//! several systems have in common is here. Which files there are, and their words, is in each system's module.

mod ticks;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::edit::{Edit, What};
use crate::chronicle::Chronicle;
use crate::diagnostic::{Diagnostic, Severity, place};
use crate::plan::TaskId;
use crate::run::{Note, Report, State};
use crate::system::kit::entries::{self, Section};
use crate::system::kit::json;
use crate::system::kit::text;

pub(in crate::system) use ticks::Ticking;
pub use ticks::{TickedList, Ticks};

/// Where a run is on disk: what the journal does not know.
#[derive(Clone, Debug, Default)]
pub struct Place {
    pub project_path: String,
    pub tasks_path: String,
    /// Where it is not `WORKTREE_DIR/ID` with the branch `worktree-ID`.
    pub elsewhere: BTreeMap<TaskId, Workplace>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workplace {
    pub path: String,
    pub branch: String,
}

/// A state file as it should be.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What the journal says. An edit is what differs from this.
    pub value: Value,
    /// The file, which also shows the claims that are still being checked.
    pub text: String,
}

/// A state file in whatever encoding, with the names that appear twice in it; or why it is not one.
pub fn parse(bytes: &[u8]) -> Result<(Value, Vec<String>), String> {
    // Our own is UTF-8, and may be larger than anything that a person writes.
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let decoded = text::decode(bytes);
            let refused = decoded.problems.into_iter().find(|problem| problem.severity == Severity::Error);
            refused.map_or(Ok(Cow::Owned(decoded.text)), |refused| Err(refused.message))?
        }
    };
    let at = |problem: &Diagnostic| {
        let (line, column) = place(&text, problem.span.start);
        format!("line {line}, column {column}: {}", problem.message)
    };
    let (root, twice) = json::parse(&text).map_err(|broken| at(&broken))?;
    Ok((root.value(), twice.iter().map(at).collect()))
}

/// Whether a text is the beginning of a state file, or empty: it looks like that while it is written in place.
pub fn is_cut_short(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

/// A file besides the state file that other programs write, too.
pub trait Companion: Sync {
    /// What it is called in the plan's folder; `None` if it is the plan itself.
    fn name(&self) -> Option<&str>;

    /// Whether it is a list in which boxes are ticked.
    fn is_list(&self) -> bool {
        false
    }

    /// The file without the ticks of its tasks. `None`: it has none, or they cannot be taken away.
    fn opened(&self, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Compare the file with the run. A claim whose checks still run is left as it is, and reported again. `shown` are
    /// the [`ticks`](Reconciled::ticks) of the last time: a box of these that is open now was unticked.
    fn reconcile(
        &self,
        found: Option<&[u8]>,
        state: &State,
        chronicle: &Chronicle,
        claimed: &[TaskId],
        shown: &Ticks,
    ) -> Reconciled;

    /// Whether a text could be a version of this file.
    fn is_like(&self, bytes: &[u8]) -> bool;

    /// Whether one version contains everything of the other, except for ticks and status words.
    fn holds(&self, now: &[u8], left: &[u8]) -> bool;
}

/// What is to be done about such a file.
#[derive(Clone, Debug, Default)]
pub struct Reconciled {
    /// What is in it and not yet in the journal: entries, and claims that a task is done.
    pub notes: Vec<Note>,
    pub edits: Vec<Edit>,
    pub put: Put,
    /// In a list: the completed tasks whose boxes are ticked once this is done.
    pub ticks: Ticks,
}

/// What it lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Put {
    #[default]
    Nothing,
    Append(Vec<u8>),
    Whole(Vec<u8>),
}

impl Reconciled {
    /// For a file that only grows: what is new in it, and what it lacks.
    pub(super) fn grown(
        found: Option<&[u8]>,
        notes: Vec<Note>,
        problems: Vec<Diagnostic>,
        append: Option<String>,
    ) -> Reconciled {
        let odd = |problem: Diagnostic| {
            let what = What::Rejected { what: problem.message, why: problem.label };
            Edit { task: None, what }
        };
        let put = |text: String| Put::Append(entries::appended(found.unwrap_or_default(), &text));
        Reconciled {
            notes,
            edits: problems.into_iter().map(odd).collect(),
            put: append.map_or(Put::Nothing, put),
            ticks: Ticks::default(),
        }
    }
}

/// An entry that was written into a log.
pub(super) fn entry(section: Section) -> Note {
    Note::Entry { task: section.task, text: section.text, for_next: false }
}

/// What an agent has reported by writing into its copies of the plan's files.
#[derive(Clone, Debug)]
pub struct AgentReport {
    /// The last word on its task's status, if there is one.
    pub what: Option<What>,
    pub report: Report,
    /// Entries for the journal, as they were written.
    pub entries: Vec<String>,
    /// Lessons for all agents, as they were written.
    pub guardrails: Vec<String>,
}

impl AgentReport {
    /// What it reported by a command instead.
    pub fn by_command(what: What) -> AgentReport {
        let report = what.report().cloned().unwrap_or_default();
        AgentReport { what: Some(what), report, entries: Vec::new(), guardrails: Vec::new() }
    }
}

/// What changed in a copy of a state file about one task: `None` if nothing did.
pub(super) fn report_in_fields(
    task: &TaskId,
    before: &[u8],
    after: &[u8],
    edits: &dyn Fn(&Value, &Value) -> Vec<Edit>,
) -> Option<AgentReport> {
    let read = |bytes| parse(bytes).ok().map(|(value, _)| value);
    let (before, after) = (read(before)?, read(after)?);
    let own = edits(&before, &after).into_iter().filter(|edit| edit.task.as_ref() == Some(task));
    let reports: Vec<What> = own.map(|edit| edit.what).filter(|what| what.report().is_some()).collect();
    let says = |what: &&What| !matches!(what, What::Report { .. });
    let what = reports.iter().rfind(says).or(reports.last())?.clone();
    let mut report = what.report().cloned().unwrap_or_default();
    // Each further piece of advice is a report of its own.
    for more in reports.iter().filter(|other| **other != what).filter_map(What::report) {
        report.commits.extend(more.commits.iter().cloned());
        let advice = [report.feedback.as_str(), more.feedback.as_str()];
        report.feedback = advice.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    }
    Some(AgentReport { what: Some(what), report, entries: Vec::new(), guardrails: Vec::new() })
}

#[cfg(test)]
mod tests;
