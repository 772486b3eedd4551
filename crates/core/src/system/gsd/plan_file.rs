//! One plan of a phase: fields, then elements that look like XML. Two in three of them are not XML, since code stands in
//! them, so the known elements are looked for line by line and what is in them is text.

use std::ops::Range;

use crate::order::Arrange;
use crate::system::kit::checklist::{self, Kind};
use crate::system::kit::commands::looks_like_a_command;
use crate::system::kit::draft::commands_of;
use crate::system::kit::frontmatter::{Fields, Value};
use crate::system::kit::text::trimmed;

/// Elements that are not handed on: where GSD keeps its own instructions, and what it asks its own agents to write.
const OF_GSD: [&str; 2] = ["execution_context", "output"];
/// Criteria of one plan.
const CRITERIA: usize = 60;

/// What a plan says.
#[derive(Clone, Debug, Default)]
pub(super) struct PlanFile {
    pub(super) wave: Option<u64>,
    pub(super) needs: Vec<Value>,
    pub(super) files: Vec<Value>,
    pub(super) criteria: Vec<String>,
    pub(super) commands: Vec<String>,
    /// Where commands stand that name a folder of the author's machine.
    pub(super) of_one_machine: Vec<Range<usize>>,
    /// It was replaced by another plan.
    pub(super) superseded: bool,
    /// Its first task, or what it is about.
    pub(super) title: Option<(String, Range<usize>)>,
    /// What it is for, in its own words.
    pub(super) objective: String,
    pub(super) words: String,
    pub(super) tasks: usize,
    /// Where a person has to look at something, decide or do something.
    pub(super) checkpoints: Vec<Range<usize>>,
    /// What is odd about its layout.
    pub(super) odd: Vec<(Range<usize>, &'static str)>,
}

impl PlanFile {
    pub(super) fn read(text: &str) -> PlanFile {
        let (fields, body) = Fields::of_front(text);
        let mut plan = PlanFile {
            wave: fields.text("wave").and_then(|wave| wave.parse().ok()),
            needs: fields.list("depends_on"),
            files: fields.list("files_modified"),
            superseded: fields.text("status").is_some_and(|word| word.eq_ignore_ascii_case("superseded")),
            ..PlanFile::default()
        };
        if body == 0 {
            plan.odd.push((0..0, "it does not begin with fields between `---`"));
        }
        plan.odd.extend(fields.odd.iter().map(|at| (at.clone(), "this line is not a field")));
        if let Some(must) = fields.get("must_haves") {
            for truths in fields.below(must).filter(|field| field.name == "truths") {
                plan.criteria.extend(fields.items(truths).into_iter().map(|truth| truth.text));
            }
        }
        let whole = body..text.len();
        if let Some(at) = element(text, "objective", whole.clone()) {
            plan.objective = text[at.clone()].trim().to_owned();
            plan.title = first_line(text, at);
        }
        let heading = || lines(text, whole.clone()).find(|line| text[line.clone()].starts_with("# "));
        plan.title = plan.title.or_else(|| {
            first_line(text, {
                let line = heading()?;
                line.start + 2..line.end
            })
        });
        plan.read_tasks(text, whole.clone());
        plan.read_proofs(text, whole.clone());
        plan.criteria.truncate(CRITERIA);
        plan.words = words(text, whole);
        plan
    }

    fn read_tasks(&mut self, text: &str, whole: Range<usize>) {
        let mut from = whole.start;
        while let Some((open, start)) = opening(text, "task", from..whole.end) {
            let next = opening(text, "task", start..whole.end).map_or(whole.end, |(next, _)| next.start);
            let end = match text[start..next].find("</task>") {
                Some(length) => start + length,
                None => {
                    self.odd.push((open.clone(), "this task is not closed"));
                    text[start..next].find("</tasks>").map_or(next, |length| start + length)
                }
            };
            self.tasks += 1;
            if text[open.clone()].contains("\"checkpoint:") || text[open.clone()].contains("'checkpoint:") {
                self.checkpoints.push(open);
            } else {
                let done = elements(text, "done", start..end);
                self.criteria
                    .extend(done.into_iter().map(|at| one_line(&text[at])).filter(|line| !line.is_empty()));
                for verify in elements(text, "verify", start..end) {
                    self.read_verify(text, verify);
                }
            }
            from = end;
        }
    }

    fn read_verify(&mut self, text: &str, at: Range<usize>) {
        let automated = elements(text, "automated", at.clone());
        for place in &automated {
            for line in lines(text, place.clone()) {
                let line = trimmed(text, line);
                let said = text[line.clone()].trim_matches('`').trim();
                let said = said
                    .replace("&amp;", "&")
                    .replace("&lt;", "<")
                    .replace("&gt;", ">")
                    .replace("&quot;", "\"");
                if looks_like_a_command(&said) {
                    self.command(said, line);
                }
            }
        }
        if automated.is_empty() {
            commands_of(&text[at.clone()]).into_iter().for_each(|line| self.command(line, at.clone()));
        }
    }

    /// What the plan as a whole is judged by.
    fn read_proofs(&mut self, text: &str, whole: Range<usize>) {
        for at in elements(text, "verification", whole.clone()) {
            commands_of(&text[at.clone()]).into_iter().for_each(|line| self.command(line, at.clone()));
        }
        for at in elements(text, "success_criteria", whole) {
            let said = &text[at];
            let list = checklist::scan(said);
            let lines = list
                .lines
                .iter()
                .filter(|line| matches!(line.kind, Kind::Item(_) | Kind::Bullet | Kind::Text));
            self.criteria.extend(lines.map(|line| said[line.text.clone()].to_owned()));
        }
        let mut seen = Vec::new();
        self.criteria.retain(|line| {
            let is_new = !seen.contains(line);
            seen.push(line.clone());
            is_new
        });
    }

    fn command(&mut self, line: String, at: Range<usize>) {
        if is_of_one_machine(&line) {
            self.of_one_machine.push(at.start..at.start);
        } else if !self.commands.contains(&line) {
            self.commands.push(line);
        }
    }
}

/// Whether a command goes to a folder of somebody's machine.
fn is_of_one_machine(line: &str) -> bool {
    line.split(|c: char| c.is_whitespace() || "\"'=;&|(".contains(c)).any(|word| {
        ["/home/", "/Users/", "/root/"].iter().any(|start| word.starts_with(start))
            || word.get(1..3).is_some_and(|colon| matches!(colon, ":/" | ":\\"))
    })
}

/// The file without what is GSD's own, with its boxes open: whether one is ticked is not a part of what is asked for.
fn words(text: &str, whole: Range<usize>) -> String {
    let mut left: Vec<Range<usize>> = Vec::new();
    for name in OF_GSD {
        left.extend(whole_elements(text, name, whole.clone()));
    }
    left.arrange_by_key(|at| at.start);
    let mut kept = String::new();
    let mut from = whole.start;
    for at in left {
        if at.start >= from {
            kept.push_str(&text[from..at.start]);
            from = at.end;
        }
    }
    kept.push_str(&text[from..whole.end]);
    let boxes: Vec<(Range<usize>, &str)> =
        checklist::scan(&kept).items().map(|(_, _, item)| (item.place.clone(), " ")).collect();
    let open =
        checklist::replace(kept.as_bytes(), &kept, &boxes).and_then(|bytes| String::from_utf8(bytes).ok());
    open.unwrap_or(kept).trim().to_owned()
}

fn lines(text: &str, at: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut start = at.start;
    text[at].split_inclusive('\n').map(move |line| {
        let own = start..start + line.trim_end_matches('\n').len();
        start += line.len();
        own
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first line with something on it.
fn first_line(text: &str, at: Range<usize>) -> Option<(String, Range<usize>)> {
    let line = lines(text, at).map(|line| trimmed(text, line)).find(|line| !line.is_empty())?;
    Some((text[line.clone()].to_owned(), line))
}

/// The next `<name …>` at the beginning of a line: the tag, and where its content begins.
fn opening(text: &str, name: &str, within: Range<usize>) -> Option<(Range<usize>, usize)> {
    let tag = format!("<{name}");
    for (at, _) in text[within.clone()].match_indices(&tag) {
        let at = within.start + at;
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let rest = &text[at + tag.len()..within.end];
        if !text[line..at].trim().is_empty() || !rest.starts_with(['>', ' ', '\t', '\n']) {
            continue;
        }
        let end = rest.find('>')?;
        return Some((at..at + tag.len() + end + 1, at + tag.len() + end + 1));
    }
    None
}

/// What stands in each element of a name, also one that is not closed.
fn elements(text: &str, name: &str, within: Range<usize>) -> Vec<Range<usize>> {
    let close = format!("</{name}>");
    whole_elements(text, name, within)
        .into_iter()
        .map(|at| {
            let start = text[at.clone()].find('>').map_or(at.end, |end| at.start + end + 1);
            let end = if text[at.clone()].ends_with(&close) { at.end - close.len() } else { at.end };
            start..end.max(start)
        })
        .collect()
}

fn element(text: &str, name: &str, within: Range<usize>) -> Option<Range<usize>> {
    elements(text, name, within).into_iter().next()
}

/// The same with the tags. One that is not closed ends before the next one of the name, or at the end of its line.
fn whole_elements(text: &str, name: &str, within: Range<usize>) -> Vec<Range<usize>> {
    let close = format!("</{name}>");
    let (mut found, mut from) = (Vec::new(), within.start);
    while let Some((open, start)) = opening(text, name, from..within.end) {
        let end = match text[start..within.end].find(&close) {
            Some(length) => start + length + close.len(),
            None => text[start..within.end].find('\n').map_or(within.end, |length| start + length),
        };
        found.push(open.start..end);
        from = end;
    }
    found
}
