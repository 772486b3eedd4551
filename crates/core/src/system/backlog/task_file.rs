//! One task: fields at the beginning, then sections, which newer versions of the tool put between comments.

use std::ops::Range;

use crate::system::kit::checklist::{self, Checklist, Kind};
use crate::system::kit::draft::BoxAt;
use crate::system::kit::frontmatter::{Fields, Value, front};

/// Sections that are not handed on as words: criteria are listed apart, and the others are about work that was done.
const LEFT_OUT: [&str; 5] =
    ["acceptance criteria", "definition of done", "final summary", "comments", "discussion"];
/// Criteria of one task.
const CRITERIA: usize = 60;

#[derive(Clone, Debug, Default)]
pub(super) struct TaskFile {
    pub(super) title: Option<Value>,
    pub(super) status: Option<Value>,
    pub(super) updated: Option<Value>,
    pub(super) needs: Vec<Value>,
    pub(super) files: Vec<Value>,
    pub(super) documents: Vec<Value>,
    pub(super) milestone: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) priority: Option<Value>,
    pub(super) ordinal: Option<f64>,
    pub(super) criteria: Vec<String>,
    /// What the definition of done asks for.
    pub(super) done_when: Vec<String>,
    /// The boxes of its acceptance criteria.
    pub(super) boxes: Vec<BoxAt>,
    pub(super) words: String,
    /// Lines between the fields that are not fields.
    pub(super) odd: Vec<Range<usize>>,
}

impl TaskFile {
    /// `None`: it has no fields, so it is a note of somebody.
    pub(super) fn read(text: &str) -> Option<TaskFile> {
        let (at, body) = front(text)?;
        let fields = Fields::read(text, at);
        let value = |name: &str| fields.get(name).map(|field| field.value.clone());
        let said = |name: &str| fields.text(name).map(str::to_owned);
        let files = ["modified_files", "references"].into_iter().flat_map(|name| fields.list(name));
        let mut task = TaskFile {
            title: value("title").filter(|value| !value.text.is_empty()),
            status: value("status"),
            updated: value("updated_date").filter(|value| !value.text.is_empty()),
            needs: fields.list("dependencies"),
            files: files.collect(),
            documents: fields.list("documentation"),
            milestone: said("milestone"),
            parent: said("parent_task_id"),
            priority: value("priority").filter(|value| !value.text.is_empty()),
            ordinal: fields.text("ordinal").and_then(|number| number.parse().ok()),
            odd: fields.odd.clone(),
            ..TaskFile::default()
        };
        let list = checklist::scan(text);
        task.read_body(text, body, &list);
        Some(task)
    }

    fn read_body(&mut self, text: &str, body: usize, list: &Checklist) {
        let mut section = String::new();
        for line in list.lines.iter().filter(|line| line.at.start >= body) {
            let said = &text[line.text.clone()];
            let whole = text[line.at.clone()].trim();
            match &line.kind {
                Kind::Heading(level) if *level <= 2 => section = said.trim().to_lowercase(),
                Kind::Comment if is_marker(whole) => continue,
                _ => {}
            }
            let is = |name: &str| section.starts_with(name);
            match &line.kind {
                Kind::Item(item) if is("acceptance criteria") => {
                    self.boxes.push(BoxAt::new(item));
                    self.criteria.push(without_number(said).to_owned());
                }
                Kind::Bullet if is("acceptance criteria") => self.criteria.push(said.to_owned()),
                Kind::Item(_) | Kind::Bullet if is("definition of done") => {
                    self.done_when.push(without_number(said).to_owned());
                }
                _ if LEFT_OUT.iter().any(|name| section.starts_with(name)) => {}
                Kind::Item(item) => {
                    let (before, after) = (line.at.start..item.place.start, item.place.end..line.at.end);
                    self.words.push_str(&format!("{} {}\n", &text[before], &text[after]));
                }
                Kind::Blank if self.words.ends_with("\n\n") => {}
                _ => {
                    self.words.push_str(text[line.at.clone()].trim_end());
                    self.words.push('\n');
                }
            }
        }
        self.words = self.words.trim().to_owned();
        self.criteria.truncate(CRITERIA);
        self.done_when.truncate(CRITERIA);
    }
}

/// `<!-- SECTION:PLAN:BEGIN -->`, `<!-- AC:END -->`.
fn is_marker(line: &str) -> bool {
    line.starts_with("<!--") && (line.contains(":BEGIN") || line.contains(":END"))
}

/// `#1 text` is `text`.
fn without_number(text: &str) -> &str {
    let Some(rest) = text.strip_prefix('#') else { return text };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let behind = rest[digits..].trim_start();
    if digits > 0 && rest[digits..].starts_with(' ') { behind } else { text }
}
