//! Tasks that only a table has: one to a row, with columns for what a line has as tags.

use std::ops::Range;

use super::line::{bare, is_certain, plain, priority_of, story_id};
use super::tables::{Columns, cells, is_rule};
use super::todolist::{Task, says_blocked, task_id};
use crate::system::kit::checklist::{Line, Mark, number};
use crate::system::kit::files::files;
use crate::system::kit::outline::Word;
use crate::system::kit::problems::{Problems, Spanned};

const TASK: [&str; 4] = ["task", "task id", "id", "tasks"];
const STORY: [&str; 2] = ["story", "user story"];
const DEPS: [&str; 4] = ["deps", "dependencies", "depends on", "dependency"];
const STATUS: [&str; 2] = ["status", "done"];

/// A row that names a task.
pub(super) struct TaskRow<'a> {
    pub(super) id: Spanned<String>,
    text: &'a str,
    columns: &'a Columns,
    cells: Vec<Range<usize>>,
    /// What stands next to the id in its cell.
    rest: &'a str,
    indent: usize,
}

impl<'a> TaskRow<'a> {
    pub(super) fn read(text: &'a str, columns: &'a Columns, line: &Line) -> Option<TaskRow<'a>> {
        let own = columns.find(&TASK)?;
        let cells = cells(text, &line.text);
        let at = cells.get(own).filter(|_| !is_rule(text, &cells))?;
        let said = &text[at.clone()];
        let (id, rest) = number(said).filter(|(id, _)| is_certain(id))?;
        let start = at.start + (id.as_ptr() as usize - said.as_ptr() as usize);
        let id = Spanned { value: id.to_owned(), at: start..start + id.len() };
        Some(TaskRow { id, text, columns, cells, rest, indent: line.indent })
    }

    /// What it waits for.
    pub(super) fn deps(&self) -> Option<Range<usize>> {
        self.cell(&DEPS)
    }

    pub(super) fn story(&self) -> Option<Spanned<String>> {
        let said = self.word(&STORY)?;
        let first = bare(said.value.split_whitespace().next().unwrap_or_default());
        Some(Spanned { value: story_id(first).unwrap_or(said.value), at: said.at })
    }

    /// The task without its story. `heading` stands above the table.
    pub(super) fn task(&self, line: usize, heading: &str, found: &mut Problems) -> Task {
        let text = self.text;
        let status = self.cell(&STATUS);
        let (mark, place) = status.as_ref().map_or((Mark::Open, None), |at| mark(&text[at.clone()], at));
        let mut named = None;
        if let Some(at) = self.cell(&["files", "file"]) {
            files(text, &at, named.get_or_insert_default(), found);
        }
        Task {
            id: task_id(&self.id, line, found),
            title: self.title(heading),
            mark,
            place,
            line,
            in_table: true,
            blocked: status.is_some_and(|at| says_blocked(&text[at])) && !mark.is_done(),
            at: self.id.at.clone(),
            note: self.note(),
            priority: self.word(&["priority"]).and_then(|said| priority_of(&said.value)),
            story: None,
            section: None,
            agent: self.word(&["agent"]),
            size: self.word(&["size"]),
            deps: self.deps().into_iter().collect(),
            files: named,
            others: Vec::new(),
            steps: Vec::new(),
            details: 0..0,
            indent: self.indent,
        }
    }

    fn cell(&self, names: &[&str]) -> Option<Range<usize>> {
        self.columns.find(names).and_then(|nth| self.cells.get(nth)).cloned()
    }

    fn word(&self, names: &[&str]) -> Option<Spanned<String>> {
        let at = self.cell(names)?;
        let value = bare(&self.text[at.clone()]).trim().to_owned();
        (!value.is_empty() && value != "-").then_some(Spanned { value, at })
    }

    /// What it says about itself, or what the table is about.
    fn title(&self, heading: &str) -> String {
        let own = Some(plain(std::iter::once(self.rest))).filter(|title| !title.is_empty());
        let described = || self.word(&["description", "title", "name"]).map(|said| said.value);
        own.or_else(described).unwrap_or_else(|| {
            let story = self.story().map(|story| story.value).unwrap_or_default();
            format!("{heading}: {story}").trim_matches([' ', ':']).to_owned()
        })
    }

    /// What no other field has a place for.
    fn note(&self) -> String {
        let used = [&TASK[..], &STORY, &DEPS, &STATUS, &["agent", "size", "priority"]].concat();
        let cells = self.columns.names().iter().zip(&self.cells);
        let cells = cells.filter(|(name, cell)| !used.contains(&name.as_str()) && !cell.is_empty());
        let said =
            cells.map(|(name, cell)| format!("{name}: {}", plain(std::iter::once(&self.text[cell.clone()]))));
        said.collect::<Vec<_>>().join("; ")
    }
}

/// What a cell says about a status: a box, a sign or a word.
fn mark(said: &str, at: &Range<usize>) -> (Mark, Option<Range<usize>>) {
    let inside = said.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inside {
        Some("x" | "X") => (Mark::Done, Some(at.start + 1..at.end - 1)),
        Some(" ") => (Mark::Open, Some(at.start + 1..at.end - 1)),
        _ if Word::read(said) == Some(Word::Completed) => (Mark::Done, None),
        _ => (Mark::Open, None),
    }
}
