//! The texts that Piton puts into the file: its header, what was noted elsewhere, and entries that no agent or person
//! wrote.

use super::parse::GENERATED;
use super::section;
use crate::chronicle::{Chronicle, Entry, Story};
use crate::plan::TaskId;
use crate::run::{State, Status, Task};
use crate::system::issue::state::{Issue, TaskWord, ended_at, files, notes, since_reset};
use crate::system::kit::entries::{line, prose, quoted};
use crate::system::kit::projection::created_at;
use crate::terminal::clean_text;
use crate::time::Timestamp;
use crate::view::after_attempts;

pub(super) fn header(state: &State, chronicle: &Chronicle, issue: &Issue) -> String {
    format!(
        "# Implementation Journal\n\n**Issue**: #{} - {}\n**Branch**: {}\n**Started**: {}\n",
        issue.number,
        line(&issue.title),
        line(&issue.branch),
        created_at(state, chronicle)
    )
}

/// The written form of an entry. One that already is an entry of this file stays unchanged. Any other text is quoted,
/// so that nothing in it is taken for an entry.
pub(super) fn noted(entry: &Entry) -> String {
    let text = section::normal(&entry.text);
    let cut = section::cut(&text);
    if cut.open.is_none() && cut.entries.len() == 1 && cut.entries[0].0 == (0..text.len()) {
        return text;
    }
    let about = entry.task.as_ref().map(|task| format!(" on task {task}")).unwrap_or_default();
    let by = line(&entry.by);
    format!("## Note{about}\n\n*({by}, {})*\n\n{}", entry.at, quoted(entry.text.replace('\r', "").trim()))
}

/// What stands before the items of a list.
#[derive(Clone, Copy)]
enum Marks {
    Bullets,
    Numbers,
}

/// An entry for a task that is over and has none.
pub(super) struct Fallback<'a> {
    task: &'a Task,
    story: &'a Story,
    pub(super) completed: bool,
}

impl<'a> Fallback<'a> {
    pub(super) fn find(task: &'a Task, story: &'a Story) -> Option<Fallback<'a>> {
        match task.outcome() {
            Status::Completed => Some(Fallback { task, story, completed: true }),
            Status::Abandoned | Status::Blocked => Some(Fallback { task, story, completed: false }),
            _ => None,
        }
    }

    pub(super) fn task(&self) -> &'a TaskId {
        &self.task.id
    }

    /// When the work ended.
    pub(super) fn at(&self) -> Option<Timestamp> {
        if self.completed {
            return ended_at(self.story);
        }
        let given_up = self.story.given_up.as_ref().map(|said| said.at);
        given_up.or_else(|| self.story.failures.last().and_then(|failure| failure.at))
    }

    pub(super) fn time(&self) -> String {
        let say = |at: Option<Timestamp>| at.map_or_else(|| "unknown".to_owned(), |at| at.to_string());
        format!("{} → {}", say(self.story.started_at), say(self.at()))
    }

    pub(super) fn text(&self) -> String {
        let Fallback { task, story, completed } = self;
        let status = if *completed { "✅ Completed" } else { "❌ Failed" };
        let mut text = format!(
            "## Task {}: {}\n\n**Status**: {status}\n**Time**: {}\n\n### What I Did\n{}\n\n{GENERATED}: the agent did not write one)*\n",
            task.id,
            line(&story.title),
            self.time(),
            self.did()
        );
        let (created, modified) = files(story);
        let quoted =
            |files: &[String]| files.iter().map(|file| format!("`{}`", line(file))).collect::<Vec<_>>();
        let mut part = |title: &str, marks: Marks, items: &[String]| {
            if !items.is_empty() {
                text += &format!("\n### {title}\n");
            }
            for (item, number) in items.iter().zip(1..) {
                let item = clean_text(item.as_bytes());
                text += &match item.trim() {
                    code if code.contains('\n') => fenced(code),
                    item => match marks {
                        Marks::Numbers => format!("{number}. {item}\n"),
                        Marks::Bullets => format!("- {item}\n"),
                    },
                };
            }
        };
        let all = |list: fn(&crate::chronicle::WorkReport) -> &Vec<String>| {
            let mut all: Vec<String> = Vec::new();
            for item in since_reset(story).flat_map(list) {
                if !all.contains(item) {
                    all.push(item.clone());
                }
            }
            all
        };
        part("Files Created", Marks::Bullets, &quoted(&created));
        part("Files Modified", Marks::Bullets, &quoted(&modified));
        part("Key Decisions", Marks::Numbers, &all(|report| &report.decisions));
        part("Patterns Established", Marks::Bullets, &all(|report| &report.patterns));
        part("Exports for Other Tasks", Marks::Bullets, &all(|report| &report.exports));
        if let Some((_, next)) = self.note() {
            text += &format!("\n### What Next Task Should Know\n{}\n", prose(next));
        }
        text.trim_end().to_owned()
    }

    /// The note of the last attempt of a completed task: what was done, and behind an empty line what the next tasks
    /// should know. Entries are parsed in the same way.
    fn note(&self) -> Option<(&'a str, &'a str)> {
        self.last_note()
            .filter(|_| self.completed)?
            .split_once("\n\n")
            .filter(|(_, next)| !next.trim().is_empty())
    }

    fn last_note(&self) -> Option<&'a str> {
        let last = |told: &&crate::chronicle::WorkReport| {
            told.attempt == self.story.attempt && !told.note.trim().is_empty()
        };
        self.story.reports.iter().rfind(last).map(|told| told.note.trim())
    }

    /// The report, why it failed, what checked it, and the results of the tests.
    fn did(&self) -> String {
        let note = self.note().map(|(did, _)| did).or_else(|| self.last_note()).map(prose);
        let mut parts = Vec::new();
        if self.completed {
            parts.push(note.unwrap_or_else(|| "What was done is not recorded.".to_owned()));
            let passed = self.story.checked.iter().filter(|(_, passed)| *passed);
            let checks: Vec<String> = passed.map(|(command, _)| format!("`{}`", line(command))).collect();
            if !checks.is_empty() {
                parts.push(format!("Checks that passed: {}", checks.join(", ")));
            }
        } else {
            parts.extend(note);
            let why = notes(TaskWord::Failed, self.story);
            let why = if why.is_empty() { "no reason was recorded".to_owned() } else { why };
            parts.push(prose(&match self.task.outcome() {
                Status::Skipped => why,
                Status::Blocked => format!("It needs a person: {why}"),
                _ => format!("It was abandoned {}: {why}", after_attempts(self.task.spent)),
            }));
            let step = self.story.failures.last().and_then(|failure| failure.step.as_ref());
            parts.extend(step.map(|step| format!("The check that did not pass: `{}`", line(step))));
        }
        parts.extend(self.story.tests.map(|tests| format!("Tests: {tests}")));
        parts.join("\n\n")
    }
}

/// Code, in a fence that nothing in it closes.
fn fenced(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{code}\n{fence}\n")
}
