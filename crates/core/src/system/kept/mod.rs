//! The files that a system keeps beside its plan: which there are, what they show of a run, and what a change of them
//! means. One door to the rooms of all systems, for whoever writes and reads the files.

mod ticks;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::edit::{Edit, What};
use super::execute::state as execute;
use super::iterative::{guardrails, progress};
use super::{issue, iterative, rwkit};
use crate::chronicle::{self, Chronicle};
use crate::diagnostic::{Diagnostic, Severity, place};
use crate::plan::{Dialect, TaskId};
use crate::run::{Note, Report, State};
use crate::system::kit::entries;
use crate::system::kit::json;
use crate::system::kit::text;

pub use execute::{Place, Workplace};

/// The state file's name in the plan's folder, if the system has one.
pub fn state_file(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Native => None,
        Dialect::Execute => Some(execute::FILE),
        Dialect::Issue => Some(issue::state::FILE),
        Dialect::Rwkit => Some(rwkit::state::FILE),
        Dialect::Iterative => Some(iterative::state::FILE),
    }
}

/// Whether the system has one state file for a whole project, whichever of its plans is worked on: then its name is one
/// in the project, not in the plan's folder.
pub fn is_of_project(dialect: Dialect) -> bool {
    dialect == Dialect::Rwkit
}

/// Where in a project the plans of a system usually lie, if each is a folder.
pub fn usual_folder(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Execute => Some("docs/tasks"),
        Dialect::Issue => Some(".claude/plans"),
        Dialect::Iterative => Some(".claude/iterative"),
        Dialect::Native | Dialect::Rwkit => None,
    }
}

/// A state file as it should be.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What the journal says: edits are told from this.
    pub value: Value,
    /// The file, which also shows the claims that are still being checked.
    pub text: String,
}

/// The state file of a run; `None` before it has begun, and where its system has none.
pub fn picture(state: &State, chronicle: &Chronicle, place: &Place, claimed: &[TaskId]) -> Option<Picture> {
    match state.run()?.settings.dialect {
        Dialect::Native => None,
        Dialect::Execute => {
            let mut file = execute::project(state, chronicle, place)?;
            let value = execute::value(&file);
            for (id, entry) in &mut file.tasks.0 {
                if claimed.iter().any(|task| task.as_str() == id) {
                    entry.status = execute::TaskStatus::Verifying;
                }
            }
            Some(Picture { value, text: execute::text(&file) })
        }
        Dialect::Rwkit => {
            let mut file = rwkit::state::project(state, chronicle, &place.project_path)?;
            let value = rwkit::state::value(&file);
            file.claim(claimed);
            Some(Picture { value, text: rwkit::state::text(&file) })
        }
        Dialect::Iterative => {
            let mut file = iterative::state::project(state, chronicle)?;
            let value = iterative::state::value(&file);
            file.claim(claimed);
            Some(Picture { value, text: iterative::state::text(&file) })
        }
        Dialect::Issue => {
            let mut file = issue::state::project(state, chronicle, &about(state))?;
            let value = issue::state::value(&file);
            for entry in &mut file.tasks {
                if claimed.iter().any(|task| task.as_str() == entry.id) {
                    // This file has no word for it: as it was claimed.
                    entry.status = issue::state::TaskWord::Completed;
                }
            }
            Some(Picture { value, text: issue::state::text(&file) })
        }
    }
}

/// A state file as somebody left it, whatever encoding their tool has, with what is said twice in it; or why it is none.
pub fn parse(bytes: &[u8]) -> Result<(Value, Vec<String>), String> {
    // Our own is UTF-8, and may be larger than anything that a person writes.
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let decoded = text::decode(bytes, false);
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

/// Whether a text is the beginning of a state file, or nothing at all: so it is while somebody writes it in place.
pub fn is_cut_short(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

/// What somebody wants who changed a state file from `shown` to `found`.
pub fn edits(dialect: Dialect, shown: &Value, found: &Value) -> Vec<Edit> {
    match dialect {
        Dialect::Native => Vec::new(),
        Dialect::Execute => execute::edits(shown, found),
        Dialect::Issue => issue::state::edits(shown, found),
        Dialect::Rwkit => rwkit::state::edits(shown, found),
        Dialect::Iterative => iterative::state::edits(shown, found),
    }
}

/// Fields of others in `fields` that the file does not show since the run has its own there, each with the reason.
pub fn overruled(dialect: Dialect, fields: &Value, shown: &Value) -> Vec<(String, String)> {
    match dialect {
        Dialect::Execute => execute::overruled(fields, shown),
        Dialect::Native | Dialect::Issue | Dialect::Rwkit | Dialect::Iterative => Vec::new(),
    }
}

/// A file beside the state file that others write, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Told in words; it only grows.
    Journal,
    /// A list in the plan's folder, in which boxes are ticked.
    Boxes(&'static str),
    /// The plan itself is such a list.
    List,
    /// What the last validation found. Nobody else writes it.
    Report,
    /// What each iteration did and left to do; it only grows, and no entry may change.
    Progress,
    /// What was learned; it only grows.
    Guardrails,
}

/// What is to be done about such a file.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// What is in it that nobody has heard of: entries, and claims that a task is done.
    pub notes: Vec<Note>,
    pub edits: Vec<Edit>,
    pub put: Put,
    /// In a list: the completed tasks whose boxes are ticked once this is done.
    pub ticks: BTreeSet<TaskId>,
}

/// What it lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Put {
    #[default]
    Nothing,
    Append(Vec<u8>),
    Whole(Vec<u8>),
}

/// The files beside the state file, of which some may not be there.
pub fn beside(dialect: Dialect, is_there: impl Fn(&str) -> bool) -> Vec<Beside> {
    match dialect {
        Dialect::Native | Dialect::Execute => Vec::new(),
        Dialect::Rwkit => vec![Beside::List],
        Dialect::Iterative => {
            let lists = iterative::plan::LISTS.into_iter().filter(|name| is_there(name));
            [Beside::Progress, Beside::Guardrails].into_iter().chain(lists.map(Beside::Boxes)).collect()
        }
        Dialect::Issue => {
            let list = issue::plan::LISTS.into_iter().find(|name| is_there(name)).map(Beside::Boxes);
            [Beside::Journal, Beside::Report].into_iter().chain(list).collect()
        }
    }
}

impl Beside {
    /// What it is called in the plan's folder; `None` if it is the plan itself.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Beside::Journal => Some(issue::journal::FILE),
            Beside::Boxes(name) => Some(name),
            Beside::Report => Some(issue::tell::REPORT),
            Beside::Progress => Some(progress::FILE),
            Beside::Guardrails => Some(guardrails::FILE),
            Beside::List => None,
        }
    }

    /// Compare the file with the run. What is claimed is being checked: it is left as it is, and told again. `shown` are the
    /// [`ticks`](Settled::ticks) of the last time: a box of these that is open now was unticked by somebody.
    pub fn settle(
        self,
        found: Option<&[u8]>,
        state: &State,
        chronicle: &Chronicle,
        claimed: &[TaskId],
        shown: &BTreeSet<TaskId>,
    ) -> Settled {
        match self {
            Beside::Journal | Beside::Progress | Beside::Guardrails => self.grow(found, state, chronicle),
            Beside::Boxes(_) | Beside::List => {
                found.map(|bytes| self.boxes(bytes, (state, chronicle), claimed, shown)).unwrap_or_default()
            }
            Beside::Report => {
                let about = about(state);
                let stale =
                    || found.filter(|bytes| self.is_like(bytes)).map(|_| issue::tell::unverified(&about));
                let report = issue::tell::verification(&about, state, chronicle).or_else(stale);
                let new = report.filter(|text| found != Some(text.as_bytes()));
                Settled {
                    put: new.map_or(Put::Nothing, |text| Put::Whole(text.into_bytes())),
                    ..Settled::default()
                }
            }
        }
    }

    /// What is new in a file that only grows, and what it lacks.
    fn grow(self, found: Option<&[u8]>, state: &State, chronicle: &Chronicle) -> Settled {
        let text = found.map(entries::text);
        let shown = text.as_deref();
        let entry = |section: issue::journal::Section| Note::Entry {
            task: section.task,
            text: section.text,
            for_next: false,
        };
        let (notes, problems, append): (Vec<Note>, Vec<Diagnostic>, Option<String>) = match self {
            Beside::Guardrails => {
                let settled = guardrails::settle(shown, chronicle);
                let lesson = |text| Note::Guardrail { text };
                (settled.heard.into_iter().map(lesson).collect(), Vec::new(), settled.append)
            }
            Beside::Progress => {
                let settled = progress::settle(shown, state, chronicle);
                let changed = changed(&settled.changed, shown.unwrap_or_default(), chronicle);
                let heard = settled.heard.into_iter().map(entry).chain(changed);
                (heard.collect(), Vec::new(), settled.append)
            }
            _ => {
                let settled = issue::journal::settle(shown, state, chronicle, &about(state));
                (settled.heard.into_iter().map(entry).collect(), settled.problems, settled.append)
            }
        };
        let odd = |problem: Diagnostic| {
            let what = What::Nonsense { what: problem.message, why: problem.label };
            Edit { task: None, what }
        };
        let put = |text: String| Put::Append(entries::appended(found.unwrap_or_default(), &text));
        Settled {
            notes,
            edits: problems.into_iter().map(odd).collect(),
            put: append.map_or(Put::Nothing, put),
            ticks: BTreeSet::new(),
        }
    }

    /// Whether a text could be a version of this file.
    pub fn is_like(self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        match self {
            Beside::Journal => text.contains("## Task "),
            Beside::Report => issue::tell::is_report(&text),
            Beside::Progress => text.contains("- Iteration ") || text.contains("# Progress Log"),
            Beside::Guardrails => text.contains("# Guardrails"),
            Beside::Boxes(_) | Beside::List => !self.ticked(bytes).is_empty() || text.contains("[ ]"),
        }
    }

    /// Whether everything of one version is in the other, ticks and words for a status aside.
    pub fn holds(self, now: &[u8], left: &[u8]) -> bool {
        let text = |bytes| text::decode(bytes, false).text;
        match self {
            Beside::Journal => issue::journal::added(&entries::text(now), &entries::text(left)).is_empty(),
            // It can be made again.
            Beside::Report => true,
            Beside::Progress => progress::added(&entries::text(now), &entries::text(left)).is_empty(),
            Beside::Guardrails => guardrails::added(&entries::text(now), &entries::text(left)).is_empty(),
            Beside::Boxes(_) => issue::boxes::bare(now).starts_with(&issue::boxes::bare(left)),
            Beside::List => {
                let open = |bytes| text(bytes).replace("[x]", "[ ]").replace("[X]", "[ ]");
                open(now) == open(left)
            }
        }
    }
}

/// Entries that somebody changed, as far as that was not told yet. So many are told at once: who changes more of a log
/// has written another.
fn changed(found: &[Diagnostic], text: &str, chronicle: &Chronicle) -> Vec<Note> {
    const MOST: usize = 20;
    let is_told = |edit: &str| {
        let same = |told: &chronicle::Refused| told.file == progress::FILE && told.edit == edit;
        chronicle.refused.iter().any(same)
    };
    let note = |problem: &Diagnostic| {
        let edit = chronicle::cut(&problem.message, chronicle::TEXT);
        let line = place(text, problem.span.start).0;
        let reason = format!("entries are only added (line {line})");
        let file = progress::FILE.to_owned();
        (!is_told(&edit)).then_some(Note::EditRefused { file, edit, reason, task: None })
    };
    found.iter().take(MOST).filter_map(note).collect()
}

/// The issue that a run is about.
pub fn about(state: &State) -> issue::state::Issue {
    let Some(run) = state.run() else { return issue::state::Issue::default() };
    let about = run.settings.issue.clone().unwrap_or_default();
    issue::state::Issue {
        number: about.number,
        title: about.title,
        branch: run.target.clone().unwrap_or_default(),
    }
}

/// The files of which an agent gets a copy to write into.
pub fn offered(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Native => &[],
        Dialect::Execute => &[execute::FILE],
        Dialect::Issue => &[issue::state::FILE, issue::journal::FILE, issue::tell::REPORT],
        Dialect::Rwkit => &[rwkit::state::FILE],
        Dialect::Iterative => &[iterative::state::FILE, progress::FILE, guardrails::FILE],
    }
}

/// Files of the plan's folder that an agent is pointed to: it gets copies of those that its worktree lacks.
pub fn shown_along(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Native | Dialect::Execute | Dialect::Issue | Dialect::Rwkit => &[],
        Dialect::Iterative => &["context.md", "brief.md", "tasks.md", "plan.md"],
    }
}

/// What an agent has told by writing into its copies.
#[derive(Clone, Debug)]
pub struct Told {
    /// The last word on its task's status, if there is one.
    pub what: Option<What>,
    pub report: Report,
    /// Entries for the journal, as they were written.
    pub entries: Vec<String>,
    /// Lessons for everybody, as they were written.
    pub guardrails: Vec<String>,
}

/// What changed in a copy about one task: `None` if nothing did.
pub fn told(dialect: Dialect, task: &TaskId, name: &str, before: &[u8], after: &[u8]) -> Option<Told> {
    if dialect == Dialect::Issue && name == issue::journal::FILE {
        let text = entries::text;
        let new = issue::journal::added(&text(before), &text(after)).into_iter();
        let own: Vec<String> =
            new.filter(|section| section.task.as_ref() == Some(task)).map(|section| section.text).collect();
        let parsed = issue::journal::parse(own.last()?);
        let what = (parsed.status == Some(issue::journal::Outcome::Failed)).then(|| What::Failed {
            reason: parsed.did.lines().next().unwrap_or_default().to_owned(),
            report: Report::default(),
        });
        return Some(Told { what, report: parsed.report(), entries: own, guardrails: Vec::new() });
    }
    if dialect == Dialect::Iterative && name != iterative::state::FILE {
        return told_in_words(task, name, before, after);
    }
    let read = |bytes| parse(bytes).ok().map(|(value, _)| value);
    let (before, after) = (read(before)?, read(after)?);
    let own = edits(dialect, &before, &after).into_iter().filter(|edit| edit.task.as_ref() == Some(task));
    let told: Vec<What> = own.map(|edit| edit.what).filter(|what| what.report().is_some()).collect();
    let says = |what: &&What| !matches!(what, What::Told { .. });
    let what = told.iter().rfind(says).or(told.last())?.clone();
    let mut report = what.report().cloned().unwrap_or_default();
    // Advice beyond the first piece is told piece by piece.
    for more in told.iter().filter(|other| **other != what).filter_map(What::report) {
        report.commits.extend(more.commits.iter().cloned());
        let advice = [report.feedback.as_str(), more.feedback.as_str()];
        report.feedback = advice.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    }
    Some(Told { what: Some(what), report, entries: Vec::new(), guardrails: Vec::new() })
}

/// What an agent of the iterative system wrote into its copy of the log or of the lessons: everything that is new there,
/// whatever unit it names. Its last entry about its own unit may say that the unit is done, or blocked; what it writes
/// about another one says nothing of either.
pub fn told_in_words(task: &TaskId, name: &str, before: &[u8], after: &[u8]) -> Option<Told> {
    let (before, after) = (entries::text(before), entries::text(after));
    let mut told =
        Told { what: None, report: Report::default(), entries: Vec::new(), guardrails: Vec::new() };
    match name {
        progress::FILE => {
            let new = progress::added(&before, &after).into_iter().map(|section| section.text);
            told.entries = new.collect();
            let mut read = told.entries.iter().map(|entry| progress::parse(entry));
            let last = read.rfind(|entry| entry.is_iteration_of(task)).unwrap_or_default();
            told.report = last.report();
            told.what = match last {
                _ if last.is_blocked() => {
                    Some(What::Blocked { reason: last.blocker().to_owned(), report: last.report() })
                }
                _ if last.is_done() => Some(What::ReportDone { report: last.report() }),
                _ => None,
            };
        }
        guardrails::FILE => told.guardrails = guardrails::added(&before, &after),
        _ => return None,
    }
    let is_new = !told.entries.is_empty() || !told.guardrails.is_empty();
    is_new.then_some(told)
}

#[cfg(test)]
mod tests;
