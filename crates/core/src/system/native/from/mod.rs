//! A plan that is made of a list in another text: boxes, bullets or numbered lines become tasks.

use std::fmt::Write;

use super::starter::head;
use super::toml_text;
use super::write::block;
use crate::plan::{GroupId, TaskId};
use crate::run::Refusal;
use crate::system::kit::checklist::{Checklist, Kind, Line, number, scan};
use crate::system::kit::draft::{named, slug};
use crate::system::kit::text;
use crate::system::{Asked, ListText, UsualChecks};
use crate::terminal::one_line;
use crate::view::counted;

/// A longer title is cut; the prompt has all of it.
const LONGEST_TITLE: usize = 100;
/// Notes that are shown of many.
const NOTES: usize = 20;
/// Characters of a line that a note shows.
const SHOWN: usize = 50;

/// The text of a plan, and what is to be said about how it was made.
pub(super) fn from(
    name: &str,
    asked: &Asked<'_>,
    list: &ListText<'_>,
) -> Result<(String, Vec<String>), Refusal> {
    let text = text::decode(list.bytes).text;
    let mut reader = Reader::new(&text);
    reader.read();
    if reader.tasks.is_empty() {
        let what = if reader.left_out > 0 { "nothing that is open" } else { "no list" };
        return Err(Refusal {
            reason: format!("{} has {what} to make tasks of", list.name),
            hint: Some("write each task as a line like `- [ ] what is to be done`".to_owned()),
            stale: false,
        });
    }
    let mut said = vec![format!("{} from {}", counted(reader.tasks.len() as u64, "task"), list.name)];
    if reader.left_out > 0 {
        said.push(format!("{} left out: done or crossed out", counted(reader.left_out, "task")));
    }
    let notes = &reader.notes;
    said.extend(notes.iter().take(NOTES).map(|(line, note)| format!("{}:{line}: {note}", list.name)));
    if notes.len() > NOTES {
        said.push(format!("and {} more lines that are not part of a task", notes.len() - NOTES));
    }
    let text = written(&reader, &head(name, asked), asked.checks);
    Ok((text, said))
}

/// One task of the list.
#[derive(Debug)]
struct Listed {
    /// Its own, as a name that Piton can use, and the words behind it.
    named: Option<(TaskId, String)>,
    /// All of its line.
    words: String,
    /// The lines below, each with the columns before it.
    body: Vec<(usize, String)>,
    /// The heading above it, as its position.
    heading: Option<usize>,
}

struct Reader<'t> {
    text: &'t str,
    list: Checklist,
    /// Only lines with boxes are tasks, where there are any.
    has_boxes: bool,
    tasks: Vec<Listed>,
    headings: Vec<String>,
    left_out: u64,
    /// Lines that became no part of a task, by their numbers.
    notes: Vec<(usize, String)>,
}

/// What the lines before belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    /// Nothing.
    Outside,
    /// The last task, which stands so far from the margin.
    Task { indent: usize, is_after_blank: bool },
    /// One that is left out.
    LeftOut { indent: usize, is_after_blank: bool },
    /// Lines that were reported.
    Reported,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Reader<'t> {
        let list = scan(text);
        let has_boxes = list.items().next().is_some();
        let (tasks, headings, notes) = (Vec::new(), Vec::new(), Vec::new());
        Reader { text, list, has_boxes, tasks, headings, left_out: 0, notes }
    }

    fn read(&mut self) {
        let lines = std::mem::take(&mut self.list.lines);
        let mut within = Within::Outside;
        for (nth, line) in lines.iter().enumerate() {
            within = self.line(nth, line, within);
        }
        self.list.lines = lines;
    }

    fn line(&mut self, nth: usize, line: &Line, within: Within) -> Within {
        let indent = line.indent;
        match (&line.kind, within) {
            (Kind::Blank, Within::Task { indent, .. }) => {
                self.below(0, "");
                Within::Task { indent, is_after_blank: true }
            }
            (Kind::Blank, Within::LeftOut { indent, .. }) => Within::LeftOut { indent, is_after_blank: true },
            (Kind::Blank, _) => Within::Outside,
            (Kind::Heading(_), _) => {
                self.headings.push(self.text[line.text.clone()].to_owned());
                Within::Outside
            }
            (Kind::Comment | Kind::Rule, _) => within,
            // Deeper than the line of the task, or its next line: a part of it.
            (_, Within::Task { indent: own, is_after_blank })
                if indent > own || (!is_after_blank && !self.is_listed(line)) =>
            {
                self.below(indent, self.text[line.at.clone()].trim());
                Within::Task { indent: own, is_after_blank: false }
            }
            (_, Within::LeftOut { indent: own, is_after_blank })
                if indent > own || (!is_after_blank && !self.is_listed(line)) =>
            {
                // Nothing that is open is lost in silence.
                if matches!(&line.kind, Kind::Item(item) if !item.mark.is_done() && !item.struck) {
                    self.note(nth, line, "left out with the done task above");
                }
                Within::LeftOut { indent: own, is_after_blank: false }
            }
            (Kind::Item(item), _) => {
                if item.mark.is_done() || item.struck {
                    self.left_out += 1;
                    return Within::LeftOut { indent, is_after_blank: false };
                }
                self.task(nth, line)
            }
            (Kind::Bullet, _) if !self.has_boxes => self.task(nth, line),
            (_, Within::Reported) => within,
            (Kind::FrontMatter, _) => Within::Outside,
            _ => {
                self.note(nth, line, "not part of a task");
                Within::Reported
            }
        }
    }

    /// Whether a line begins a task.
    fn is_listed(&self, line: &Line) -> bool {
        matches!(line.kind, Kind::Item(_)) || line.kind == Kind::Bullet
    }

    fn note(&mut self, nth: usize, line: &Line, why: &str) {
        let said = one_line(self.text[line.at.clone()].trim());
        let shown: String = said.chars().take(SHOWN).collect();
        let more = if said.chars().count() > SHOWN { "…" } else { "" };
        self.notes.push((nth + 1, format!("{why}: {shown}{more}")));
    }

    fn task(&mut self, nth: usize, line: &Line) -> Within {
        let words = self.text[line.text.clone()].trim();
        if title(words).is_empty() {
            self.note(nth, line, "not part of a task");
            return Within::Reported;
        }
        let named = number(words).and_then(|(id, rest)| {
            let is_name = id.contains(|c: char| c.is_ascii_alphabetic()) && !title(rest).is_empty();
            is_name.then(|| named(id)).flatten().map(|id| (id, rest.to_owned()))
        });
        let heading = self.headings.len().checked_sub(1);
        self.tasks.push(Listed { named, words: words.to_owned(), body: Vec::new(), heading });
        Within::Task { indent: line.indent, is_after_blank: false }
    }

    /// A line below the last task.
    fn below(&mut self, indent: usize, line: &str) {
        if let Some(task) = self.tasks.last_mut() {
            task.body.push((indent, line.to_owned()));
        }
    }

    /// The id and the title of each task: its own id, where all have one and no two are alike; else a number.
    fn names(&self) -> Vec<(TaskId, String)> {
        let own: Vec<&(TaskId, String)> = self.tasks.iter().filter_map(|task| task.named.as_ref()).collect();
        let mut folded: Vec<String> = own.iter().map(|(id, _)| id.folded()).collect();
        folded.sort_unstable();
        folded.dedup();
        if folded.len() == self.tasks.len() {
            return own.into_iter().map(|(id, words)| (id.clone(), title(words))).collect();
        }
        let numbered = |nth| TaskId::new(&format!("T{nth}")).expect("a letter and a number");
        self.tasks.iter().enumerate().map(|(nth, task)| (numbered(nth + 1), title(&task.words))).collect()
    }

    /// The headings that have tasks below them, if they are several.
    fn groups(&self) -> Vec<Option<usize>> {
        let mut groups: Vec<Option<usize>> = self.tasks.iter().map(|task| task.heading).collect();
        groups.dedup();
        if groups.len() > 1 { groups } else { Vec::new() }
    }
}

/// Words as a title: on one line, without the signs that make them bold, and cut if they are many.
fn title(words: &str) -> String {
    let plain = one_line(words);
    let plain = plain.replace("**", "");
    let plain = plain.trim();
    let cut: String = plain.chars().take(LONGEST_TITLE).collect();
    match cut.rsplit_once(' ').filter(|_| cut.len() < plain.len()) {
        Some((words, _)) => format!("{}…", words.trim_end()),
        None => cut,
    }
}

impl Listed {
    /// Its own words, and all that stands below it, as far to the left as possible.
    fn prompt(&self) -> String {
        let margin = self.body.iter().filter(|(_, line)| !line.is_empty()).map(|(indent, _)| *indent).min();
        let mut prompt = self.words.clone();
        for (indent, line) in &self.body {
            let shift = " ".repeat(indent.saturating_sub(margin.unwrap_or(0)));
            let _ = write!(prompt, "\n{shift}{line}");
        }
        prompt.trim().to_owned()
    }
}

fn written(reader: &Reader<'_>, head: &str, checks: UsualChecks<'_>) -> String {
    let mut toml = head.to_owned();
    toml +=
        "\n# Each task waits for the one before it. Remove `depends_on` where tasks may run side by side.\n";
    let groups = reader.groups();
    let group_ids: Vec<String> =
        groups.iter().enumerate().map(|(nth, group)| group_id(nth, heading(reader, *group))).collect();
    for (id, group) in group_ids.iter().zip(&groups) {
        let title = one_line(heading(reader, *group));
        let title = if title.trim().is_empty() { "Tasks" } else { title.trim() };
        let _ = write!(toml, "\n[[group]]\nid = {}\ntitle = {}\n", toml_text(id), toml_text(title));
    }
    let names = reader.names();
    let unproven = checks == UsualChecks::Found(&[]);
    for (nth, (task, (id, title))) in reader.tasks.iter().zip(&names).enumerate() {
        let _ = write!(toml, "\n[[task]]\nid = {}\ntitle = {}\n", toml_text(id.as_str()), toml_text(title));
        if let Some(group) = groups.iter().position(|group| *group == task.heading) {
            let _ = writeln!(toml, "group = {}", toml_text(&group_ids[group]));
        }
        if let Some(before) = nth.checked_sub(1) {
            let _ = writeln!(toml, "depends_on = [{}]", toml_text(names[before].0.as_str()));
        }
        if unproven {
            toml += "checks = []   # CHANGE THIS: a command that proves it\n";
        }
        let _ = writeln!(toml, "prompt = {}", block(&task.prompt()));
    }
    toml
}

fn heading<'r>(reader: &'r Reader<'_>, heading: Option<usize>) -> &'r str {
    heading.map_or("", |nth| &reader.headings[nth])
}

fn group_id(nth: usize, title: &str) -> String {
    let slug = slug(title);
    let id = if slug.is_empty() { format!("{}", nth + 1) } else { format!("{}-{slug}", nth + 1) };
    if GroupId::new(&id).is_ok() { id } else { format!("{}", nth + 1) }
}

#[cfg(test)]
mod tests;
