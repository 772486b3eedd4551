//! One story: its status, what is to be done, and what its agents wrote about their work.

use std::ops::Range;

use super::board::Stage;
use crate::system::kit::checklist::{self, Checklist, Kind};
use crate::system::kit::commands::looks_like_a_command;
use crate::system::kit::draft::BoxAt;
use crate::system::kit::frontmatter::{Fields, Value};
use crate::system::kit::text::trimmed;

/// Sections about work that was done, by the beginnings of their headings.
const RESULTS: [&str; 12] = [
    "dev agent record",
    "file list",
    "change log",
    "changelog",
    "qa results",
    "senior developer review",
    "review follow",
    "completion notes",
    "debug log",
    "review triage log",
    "auto run result",
    "suggested review order",
];
/// Words in the headings of tasks, in the languages that were seen.
const TASKS: [&str; 6] = ["task", "задач", "aufgaben", "tareas", "任务", "タスク"];
/// Criteria of one story.
const CRITERIA: usize = 60;

#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    pub(super) title: Option<(String, Range<usize>)>,
    pub(super) status: Option<Status>,
    /// Its boxes that are steps.
    pub(super) steps: Vec<BoxAt>,
    pub(super) criteria: Vec<String>,
    pub(super) commands: Vec<String>,
    /// The words of its steps.
    pub(super) tasks: String,
    pub(super) words: String,
    /// What it says that agents should read.
    pub(super) context: Vec<String>,
}

/// Where a story says how far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) word: Value,
    /// What it calls a story that is to be reviewed.
    pub(super) review: &'static str,
}

impl Status {
    pub(super) fn stage(&self) -> Option<Stage> {
        Stage::read(&self.word.text)
    }
}

/// A heading and what stands below it, headings of lower levels among it.
struct Section {
    title: String,
    level: u8,
    /// Positions of lines, with the heading.
    lines: Range<usize>,
}

impl Story {
    pub(super) fn read(text: &str) -> Story {
        let list = checklist::scan(text);
        let (fields, body) = Fields::of_front(text);
        let sections = sections(&list, text);
        let mut story = Story {
            status: status(text, &fields, body, &list, &sections),
            context: fields.list("context").into_iter().map(|value| value.text).collect(),
            ..Story::default()
        };
        let title = list.lines.iter().find(|line| line.kind == Kind::Heading(1));
        story.title = title.map(|line| (plain_title(&text[line.text.clone()]), line.text.clone()));
        for section in &sections {
            story.read_section(section, &list, text);
        }
        story.criteria.truncate(CRITERIA);
        story.words = words(text, body, &list, &sections, story.status.as_ref());
        story
    }

    fn read_section(&mut self, section: &Section, list: &Checklist, text: &str) {
        let lines = &list.lines[section.lines.clone()];
        let is = |words: &[&str]| words.iter().any(|word| section.title.contains(word));
        if is_result(&section.title) {
            return;
        }
        if section.title.starts_with("acceptance criteria") || section.title.starts_with("acceptance tests") {
            let own = lines.iter().skip(1).take_while(|line| !matches!(line.kind, Kind::Heading(_)));
            let said =
                own.filter(|line| line.indent < 2 && matches!(line.kind, Kind::Item(_) | Kind::Bullet));
            self.criteria.extend(said.map(|line| text[line.text.clone()].to_owned()));
        } else if section.title.starts_with("verification") {
            for line in lines.iter().filter(|line| matches!(line.kind, Kind::Bullet | Kind::Item(_))) {
                let command = text[line.text.clone()].split('`').nth(1).map(str::trim).unwrap_or_default();
                if looks_like_a_command(command) && !self.commands.iter().any(|known| known == command) {
                    self.commands.push(command.to_owned());
                }
            }
        } else if matches!(section.level, 2 | 3) && is(&TASKS)
            || section.level == 2 && is_numbered(lines, text)
        {
            let items = lines.iter().filter_map(|line| match &line.kind {
                Kind::Item(item) if !item.struck => Some((line, item)),
                _ => None,
            });
            for (line, item) in items {
                if self.steps.iter().any(|known| known.place == item.place) {
                    continue;
                }
                self.steps.push(BoxAt::new(item));
                self.tasks.push_str(&text[line.text.clone()]);
                self.tasks.push('\n');
            }
        }
    }
}

/// `Task 1: …` and `Subtask 1.1`: the section is that of the tasks, whatever the language of its heading.
fn is_numbered(lines: &[checklist::Line], text: &str) -> bool {
    let is_one = |line: &&checklist::Line| {
        matches!(line.kind, Kind::Item(_)) && {
            let said = text[line.text.clone()].trim_start_matches('*');
            said.starts_with("Task ") || said.starts_with("Subtask ")
        }
    };
    lines.iter().filter(is_one).count() > 1
}

fn is_result(title: &str) -> bool {
    RESULTS.iter().any(|start| title.starts_with(start))
}

fn sections(list: &Checklist, text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (nth, line) in list.lines.iter().enumerate() {
        let Kind::Heading(level) = line.kind else { continue };
        let title =
            text[line.text.clone()].trim_matches(|c: char| c == '*' || c.is_whitespace()).to_lowercase();
        sections.push(Section { title, level, lines: nth..list.lines.len() });
    }
    for nth in 0..sections.len() {
        let end = sections[nth + 1..].iter().find(|later| later.level <= sections[nth].level);
        if let Some(end) = end.map(|later| later.lines.start) {
            sections[nth].lines.end = end;
        }
    }
    sections
}

/// `# Story 1.2: Sign in` is `Sign in`.
fn plain_title(title: &str) -> String {
    let rest = title
        .strip_prefix("Story ")
        .and_then(|rest| rest.split_once([':', '-', '–', '—']).map(|(_, name)| name));
    rest.map(str::trim)
        .filter(|name| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or(title)
        .to_owned()
}

/// In the fields at its beginning, as a line `Status: word`, or below a heading.
fn status(
    text: &str,
    fields: &Fields,
    body: usize,
    list: &Checklist,
    sections: &[Section],
) -> Option<Status> {
    if let Some(field) = fields.get("status") {
        return Some(Status { word: field.value.clone(), review: "in-review" });
    }
    for line in &list.lines {
        if line.at.start < body || !matches!(line.kind, Kind::Text | Kind::Bullet) {
            continue;
        }
        let said = &text[line.text.clone()];
        let bare = said.trim_start_matches('*');
        if let Some(rest) = bare.strip_prefix("Status").map(|rest| rest.trim_start_matches('*'))
            && let Some(value) = rest.strip_prefix(':')
        {
            let start = line.text.end - value.len();
            return word(text, start..line.text.end).map(|word| Status { word, review: "review" });
        }
    }
    let section = sections.iter().find(|section| section.title == "status")?;
    let line = list.lines[section.lines.clone()].iter().skip(1).find(|line| line.kind == Kind::Text)?;
    word(text, line.text.clone()).map(|word| Status { word, review: "Review" })
}

/// A word without emphasis around it.
fn word(text: &str, at: Range<usize>) -> Option<Value> {
    let at = trimmed(text, at);
    let said = &text[at.clone()];
    let inside = said.trim_matches(['*', '`', '_', ' ']);
    let start = at.start + said.find(inside)?;
    let fields = format!("x: {inside}");
    let end = Fields::read(&fields, 0..fields.len())
        .get("x")
        .map_or(0, |field| field.value.text.len())
        .min(inside.len());
    let known = &inside[..end];
    (!known.is_empty() && known.len() < 40).then(|| Value::plain(known, start..start + end))
}

/// The story without its status, without what was written about the work on it, and with its boxes open.
fn words(text: &str, body: usize, list: &Checklist, sections: &[Section], status: Option<&Status>) -> String {
    let is_left_out = |nth: usize| {
        let of_results =
            sections.iter().any(|section| is_result(&section.title) && section.lines.contains(&nth));
        let line = &list.lines[nth];
        let is_status = status.is_some_and(|status| line.at.contains(&status.word.at.start));
        of_results || is_status || line.at.start < body
    };
    let mut kept = String::new();
    for (nth, line) in list.lines.iter().enumerate().filter(|(nth, _)| !is_left_out(*nth)) {
        let said = match &line.kind {
            Kind::Item(item) => {
                let (before, after) = (line.at.start..item.place.start, item.place.end..line.at.end);
                format!("{} {}", &text[before], &text[after])
            }
            _ => text[line.at.clone()].to_owned(),
        };
        let is_blank = list.lines[nth].kind == Kind::Blank;
        if !(is_blank && kept.ends_with("\n\n")) {
            kept.push_str(said.trim_end());
            kept.push('\n');
        }
    }
    kept.trim().to_owned()
}
