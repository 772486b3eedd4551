//! One unit: the fields below its box.

use std::ops::Range;

use super::brief::{left, placeholder};
use crate::diagnostic::Diagnostic;
use crate::plan::{RepoPath, TaskId};
use crate::system::kit::checklist::{Checklist, Kind, Line, field, shift};
use crate::system::kit::files::{files, is_none};
use crate::system::kit::outline::{Node, joined};
use crate::system::kit::problems::{Problems, Spanned, cut};

/// A larger number of iterations is not accepted as a limit.
const MOST: u32 = 100;

/// What a list says about a unit. Places are bytes of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unit {
    /// What no field says, as Markdown.
    pub(super) body: String,
    pub(super) files: Vec<Spanned<RepoPath>>,
    pub(super) outputs: Vec<Spanned<RepoPath>>,
    pub(super) criteria: Vec<String>,
    /// Without the tags around it.
    pub(super) signal: Option<String>,
    pub(super) limit: Option<u32>,
    /// None: it has no such line. Empty values say that it waits for nothing.
    pub(super) depends: Option<Vec<Range<usize>>>,
    pub(super) model: Option<Spanned<String>>,
    pub(super) skill: Option<String>,
    pub(super) max_turns: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Files,
    Criteria,
    Completion,
    Limit,
    Depends,
    Model,
    Output,
    MaxTurns,
    Skill,
    /// Read with the box.
    Status,
}

impl Field {
    fn parse(name: &str) -> Option<Field> {
        Some(match name {
            "files" | "file" => Field::Files,
            "criteria" | "criterion" | "acceptance criteria" | "success criteria" => Field::Criteria,
            "completion" | "completion signal" | "signal" => Field::Completion,
            "max iterations" | "max iteration" | "max_iterations" | "max-iterations" | "iterations" => {
                Field::Limit
            }
            "depends" | "depends on" | "dependencies" | "dependency" => Field::Depends,
            "model" => Field::Model,
            "output" | "outputs" => Field::Output,
            "max turns" | "max_turns" | "max-turns" => Field::MaxTurns,
            "skill" | "skills" => Field::Skill,
            "status" => Field::Status,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Field::Files => "Files",
            Field::Criteria => "Criteria",
            Field::Completion => "Completion",
            Field::Limit => "Max iterations",
            Field::Depends => "Depends",
            Field::Model => "Model",
            Field::Output => "Output",
            Field::MaxTurns => "Max turns",
            Field::Skill => "Skill",
            Field::Status => "Status",
        }
    }
}

/// The fields of a unit, and what is wrong with them.
pub(super) fn read(list: &Checklist, text: &str, node: &Node, found: &mut Problems) -> Unit {
    let mut reader =
        Reader { text, id: &node.id, found, unit: Unit::default(), said: Vec::new(), open: None };
    let mut body: Vec<(usize, String)> = Vec::new();
    for line in list.lines.get(node.details.clone()).unwrap_or_default() {
        if !matches!(line.kind, Kind::Blank | Kind::Comment) && !reader.goes_on(line) {
            reader.open = None;
        }
        let said = &text[line.text.clone()];
        match &line.kind {
            Kind::Blank => body.push((usize::MAX, String::new())),
            Kind::Heading(_) | Kind::Rule | Kind::Comment | Kind::FrontMatter => {}
            Kind::Item(item) if item.struck => {}
            Kind::Bullet | Kind::Text | Kind::Item(_) if reader.open.is_some() => reader.more(line),
            Kind::Item(_) => body.push((line.indent, format!("- {said}"))),
            Kind::Bullet | Kind::Text => {
                if !reader.field(line) {
                    body.push((line.indent, text[line.at.clone()].trim().to_owned()));
                }
            }
            Kind::Code | Kind::Quote | Kind::Table => {
                body.push((line.indent, text[line.at.clone()].trim().to_owned()));
            }
        }
    }
    let mut unit = reader.unit;
    unit.body = joined(&body);
    unit
}

struct Reader<'a, 'f> {
    text: &'a str,
    id: &'a TaskId,
    found: &'f mut Problems,
    unit: Unit,
    /// Fields that were said.
    said: Vec<Field>,
    /// The last one, its indentation, and whether it had a value of its own.
    open: Option<(Field, usize, bool)>,
}

impl Reader<'_, '_> {
    /// Whether a line is a part of the field before it: deeper, and below one that can hold a list.
    fn goes_on(&self, line: &Line) -> bool {
        self.open.is_some_and(|(_, indent, _)| line.indent > indent)
    }

    /// A line below a field.
    fn more(&mut self, line: &Line) {
        let Some((field, _, whole)) = self.open else { return };
        let said = self.text[line.text.clone()].trim();
        let is_item = matches!(line.kind, Kind::Bullet | Kind::Item(_));
        match field {
            // The rest of a sentence.
            Field::Criteria if !is_item && whole && !self.unit.criteria.is_empty() => {
                if let Some(last) = self.unit.criteria.last_mut() {
                    last.push(' ');
                    last.push_str(&plain(said));
                }
            }
            field => self.take(field, line.text.clone()),
        }
        self.open = self.open.map(|(field, indent, _)| (field, indent, true));
    }

    /// Whether the line is a field, known or not. An unknown one is reported, and stays in the text.
    fn field(&mut self, line: &Line) -> bool {
        let said = &self.text[line.text.clone()];
        let Some((name, value)) = field(said) else { return false };
        let at = shift(value, line.text.start);
        let Some(field) = Field::parse(&name) else {
            let is_name = !name.is_empty()
                && name.split(' ').count() <= 3
                && name.chars().all(|c| c.is_alphanumeric() || " _-".contains(c));
            if is_name && line.kind == Kind::Bullet {
                let message = format!("`{}` is not a known field", cut(&name));
                let told = Diagnostic::warning(line.text.clone(), message);
                self.found.push(told.label("passed to the agent as is"));
            }
            return false;
        };
        let lists = matches!(field, Field::Files | Field::Criteria | Field::Output | Field::Depends);
        if !lists && self.said.contains(&field) {
            let message = format!("`{}` of `{}` appears twice", field.name(), self.id);
            self.found.push(Diagnostic::warning(line.text.clone(), message).label("the last one is used"));
        }
        if !self.said.contains(&field) {
            self.said.push(field);
        }
        self.open = lists.then_some((field, line.indent, !at.is_empty()));
        if field == Field::Depends {
            self.unit.depends.get_or_insert_default();
        }
        if !at.is_empty() {
            self.take(field, at);
        }
        true
    }

    fn take(&mut self, field: Field, at: Range<usize>) {
        let text = self.text;
        let said = text[at.clone()].trim();
        if field != Field::Status && placeholder(said) {
            return self.found.push(left(at, said));
        }
        let unticked = || said.trim_matches(['`', '"', '\'', '*']).trim();
        match field {
            Field::Files => files(text, &at, &mut self.unit.files, self.found),
            Field::Output => files(text, &at, &mut self.unit.outputs, self.found),
            Field::Criteria if is_none(said) => {}
            Field::Criteria => self.unit.criteria.push(plain(said)),
            Field::Completion => self.signal(said, &at),
            Field::Limit => self.unit.limit = self.number(field, &at).or(self.unit.limit),
            Field::MaxTurns => self.unit.max_turns = self.number(field, &at),
            Field::Depends => self.unit.depends.get_or_insert_default().push(at),
            Field::Model if is_none(said) => {}
            Field::Model => self.unit.model = Some(Spanned { value: plain(unticked()), at }),
            Field::Skill => self.unit.skill = Some(plain(unticked())).filter(|skill| !is_none(skill)),
            Field::Status => {}
        }
    }

    /// `<signal>T1_DONE</signal>`.
    fn signal(&mut self, said: &str, at: &Range<usize>) {
        let bare = said.trim_matches(['`', '"', '\'', '*', ' ']);
        let inside = bare.strip_prefix("<signal>").unwrap_or(bare);
        let signal = inside.strip_suffix("</signal>").unwrap_or(inside).trim();
        let own = format!("{}_DONE", self.id);
        if !signal.eq_ignore_ascii_case(&own) {
            let message = format!("the signal of `{}` is `{own}`", self.id);
            let told = Diagnostic::warning(at.clone(), message);
            self.found.push(told.label("this one is different, so it is ignored"));
        }
        self.unit.signal = Some(plain(signal));
    }

    /// A number, which words may follow; of a range the larger one counts.
    fn number(&mut self, field: Field, at: &Range<usize>) -> Option<u32> {
        let said = self.text[at.clone()].trim_matches(['`', '"', '\'', '*', ' ']);
        let digits = said.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        let starts = said.starts_with(|c: char| c.is_ascii_digit());
        // `8 (3 would be too few)` is 8, and `5-10` is 10.
        let numbers: Vec<u32> = digits.take(2).map(|part| part.parse().unwrap_or(u32::MAX)).collect();
        let first = said.bytes().take_while(u8::is_ascii_digit).count();
        let is_range = said[first..].trim_start().starts_with(['-', '–', '—']) && numbers.len() == 2;
        let number = if is_range { numbers.last() } else { numbers.first() }.copied().filter(|_| starts);
        let name = field.name();
        let told = match number {
            Some(0) | None => {
                let message = format!("`{name}` of `{}` is {:?}", self.id, cut(said));
                self.found
                    .push(Diagnostic::error(at.clone(), message).label("write a whole number, at least 1"));
                return None;
            }
            Some(number) if field == Field::Limit && number > MOST => {
                Some((format!("`{}` may have {} iterations", self.id, cut(said)), MOST))
            }
            Some(number) if is_range => Some((format!("`{name}` of `{}` is a range", self.id), number)),
            Some(_) => None,
        };
        match told {
            Some((message, number)) => {
                let told = Diagnostic::warning(at.clone(), message);
                self.found.push(told.label(format!("read as {number}")));
                Some(number)
            }
            None => number,
        }
    }
}

/// On one line, and without what a terminal would take for an order.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).collect()
}
