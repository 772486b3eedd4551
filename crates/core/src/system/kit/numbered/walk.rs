//! From lines to boxes: each line is looked at once, and a box knows what it stands below.

use std::collections::HashMap;

use super::{NumberedBox, NumberedList, Part, Section, lead};
use crate::diagnostic::Diagnostic;
use crate::system::kit::checklist::{Checklist, Item, Kind, Line, Mark};
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text::key;

pub(super) fn walk(list: &Checklist, text: &str, found: &mut Problems) -> NumberedList {
    let mut walker = Walker {
        list,
        text,
        found,
        read: NumberedList::default(),
        open: Vec::new(),
        latest: HashMap::new(),
        stands_for: None,
        section: None,
    };
    for (nth, line) in list.lines.iter().enumerate() {
        match &line.kind {
            Kind::Heading(level) => walker.heading(nth, line, *level),
            Kind::Item(item) => walker.item(nth, line, item),
            _ => {}
        }
    }
    walker.read
}

struct Walker<'l, 'f> {
    list: &'l Checklist,
    text: &'l str,
    found: &'f mut Problems,
    read: NumberedList,
    /// Boxes that the next line may stand below, with their indentation.
    open: Vec<(usize, usize)>,
    /// Where a number was seen last.
    latest: HashMap<String, usize>,
    /// The heading that is a task, below which boxes are its steps.
    stands_for: Option<usize>,
    section: Option<usize>,
}

impl Walker<'_, '_> {
    fn heading(&mut self, nth: usize, line: &Line, level: u8) {
        self.open.clear();
        let said = &self.text[line.text.clone()];
        let sections = &self.read.sections;
        let above = std::iter::successors(self.section, |nth| sections[*nth].parent);
        let parent = above.into_iter().find(|nth| sections[*nth].level < level);
        let within = parent.is_some_and(|nth| sections[nth].is_criteria);
        let is_criteria = within || is_about_criteria(&key(said).to_lowercase());
        self.section = Some(self.read.sections.len());
        let title = title(said);
        self.read.sections.push(Section { title, level, at: line.text.clone(), parent, is_criteria });
        self.stands_for = self.heading_task(nth, line, said);
    }

    /// `### 1.1 Name` or `## Task 1: Name`, with boxes below it that have no numbers: a task, and these are its steps.
    fn heading_task(&mut self, nth: usize, line: &Line, said: &str) -> Option<usize> {
        let found = lead(said)?;
        let is_group = found.number.bytes().all(|byte| byte.is_ascii_digit());
        let is_worded = said
            .trim_start_matches(['*', '_'])
            .get(..5)
            .is_some_and(|word| word.eq_ignore_ascii_case("task "));
        if is_group && !is_worded {
            return None;
        }
        let below = self.list.lines[nth + 1..].iter();
        let below = below.take_while(|line| !matches!(line.kind, Kind::Heading(_)));
        // The indentation of a box that nobody has to tick: nor has anybody to tick those below it.
        let mut aside = None;
        // Without a box that has to be ticked, nothing could say that the heading is done.
        let is_step = |line: &&Line| {
            let Kind::Item(item) = &line.kind else { return false };
            if self.is_like_legend(item, &self.text[line.text.clone()])
                || aside.is_some_and(|indent| line.indent > indent)
            {
                return false;
            }
            aside = (item.struck || item.optional).then_some(line.indent);
            aside.is_none()
        };
        let mut steps = below.filter(is_step).peekable();
        steps.peek()?;
        let is_numbered = |line: &Line| {
            let ordinal = matches!(&line.kind, Kind::Item(Item { ordinal: Some(_), .. }));
            ordinal || lead(&self.text[line.text.clone()]).is_some()
        };
        if steps.any(is_numbered) {
            return None;
        }
        let (number, title) = (found.number.to_owned(), title(found.rest));
        let one = NumberedBox { number, title, ..self.begun(nth, line) };
        Some(self.push(one, None))
    }

    fn begun(&self, nth: usize, line: &Line) -> NumberedBox {
        NumberedBox {
            id: None,
            number: String::new(),
            title: String::new(),
            part: Part::Task,
            mark: Mark::Open,
            place: None,
            optional: false,
            dropped: false,
            at: line.text.clone(),
            parent: None,
            section: self.section,
            indent: line.indent,
            line: nth,
            details: nth + 1..nth + 1,
        }
    }

    fn item(&mut self, nth: usize, line: &Line, item: &Item) {
        let said = &self.text[line.text.clone()];
        let found = lead(said);
        let ordinal = item.ordinal.as_ref().map(|at| &self.text[at.clone()]);
        if self.is_legend(item, said) {
            return;
        }
        let (number, title, starred) = match (found, ordinal) {
            (Some(found), _) if found.label.is_empty() => (found.number, title(found.rest), found.starred),
            (Some(found), _) => {
                (found.number, format!("{} {}", found.label, title(found.rest)), found.starred)
            }
            (None, Some(ordinal)) => (ordinal, title(said), false),
            (None, None) => ("", title(said), false),
        };
        while self.open.pop_if(|(indent, _)| *indent >= line.indent).is_some() {}
        let one = NumberedBox {
            number: number.to_owned(),
            title,
            mark: item.mark,
            place: Some(item.place.clone()),
            optional: item.optional || starred,
            dropped: item.struck,
            ..self.begun(nth, line)
        };
        if let Some(task) = self.stands_for {
            let parent = Some(self.open.last().map_or(task, |(_, above)| *above));
            // Nothing else in the list stands below a step, whatever number it has.
            let number = String::new();
            self.push(NumberedBox { part: Part::Step, number, parent, ..one }, Some(line.indent));
            return;
        }
        let above = self.open.last().map(|(_, above)| *above);
        let is_criteria = self.section.is_some_and(|nth| self.read.sections[nth].is_criteria);
        if number.is_empty() {
            let inside = above.is_some_and(|above| self.read.boxes[above].part != Part::Criterion);
            let part = if is_criteria && !inside { Part::Criterion } else { Part::Task };
            self.push(NumberedBox { part, parent: above, ..one }, Some(line.indent));
            return;
        }
        let Some((parent, is_local)) = self.parent(number, above, line) else {
            self.push(NumberedBox { parent: None, ..one }, Some(line.indent));
            return;
        };
        let number = if is_local { String::new() } else { one.number.clone() };
        self.push(NumberedBox { parent: Some(parent), number, ..one }, Some(line.indent));
    }

    /// What a numbered box is below, and whether its number only counts the parts of that. Numbers say what is below what,
    /// unless a box stands below one that cannot be beside it.
    fn parent(&mut self, number: &str, above: Option<usize>, line: &Line) -> Option<(usize, bool)> {
        let prefixes = number.rmatch_indices('.').map(|(at, _)| number[..at].to_lowercase());
        let by_number = prefixes.into_iter().find_map(|prefix| self.latest.get(&prefix).copied());
        let by_number = by_number.map(|nth| (nth, false));
        let Some(above) = above else { return by_number };
        let boxes = &self.read.boxes;
        let is_below =
            |nth: usize| std::iter::successors(Some(nth), |nth| boxes[*nth].parent).any(|nth| nth == above);
        let base = &boxes[above].number;
        if base.is_empty() || by_number.is_some_and(|(nth, _)| is_below(nth)) {
            return by_number.filter(|(nth, _)| is_below(*nth)).or(Some((above, false)));
        }
        let parts = |number: &str| number.split('.').count();
        match (parts(base), parts(number)) {
            (1, 1) => match (base.parse::<u64>(), number.parse::<u64>()) {
                // The next one, only indented. A first part of it would have another number.
                (Ok(base), Ok(next)) if next == base.saturating_add(1) && above + 1 == boxes.len() => {
                    boxes[above].parent.map(|nth| (nth, false))
                }
                (_, Ok(_)) => Some((above, true)),
                _ => Some((above, false)),
            },
            (above, own) if above >= own => by_number,
            _ => {
                let message = format!("`{}` is below `{}`", cut(number), cut(base));
                self.found.repair(line.text.clone(), message, "its place decides, not its number");
                Some((above, false))
            }
        }
    }

    fn push(&mut self, one: NumberedBox, indent: Option<usize>) -> usize {
        let nth = self.read.boxes.len();
        if !one.number.is_empty() && !one.dropped {
            self.latest.insert(one.number.to_lowercase(), nth);
        }
        self.open.extend(indent.map(|indent| (indent, nth)));
        self.read.boxes.push(one);
        nth
    }

    /// `- [P] tasks = different files` explains a label. It is not a box.
    fn is_legend(&mut self, item: &Item, said: &str) -> bool {
        let is_legend = self.is_like_legend(item, said);
        if is_legend {
            let told = Diagnostic::warning(item.place.clone(), "this is read as the explanation of a label");
            self.found.push(told.label("not a task"));
        }
        is_legend
    }

    fn is_like_legend(&self, item: &Item, said: &str) -> bool {
        let is_letter = self.text[item.place.clone()].trim().starts_with(|c: char| c.is_ascii_uppercase());
        let is_prose = said.contains('=') || said.starts_with(char::is_lowercase);
        item.mark == Mark::Other && is_letter && is_prose && item.ordinal.is_none() && lead(said).is_none()
    }
}

/// Headings, in lower case, whose boxes say how it is known that all is done.
fn is_about_criteria(heading: &str) -> bool {
    const WORDS: [&str; 12] = [
        "criteria",
        "definition of done",
        "completion checklist",
        "acceptance checklist",
        "success metrics",
        "验收",
        "完成标准",
        "驗收",
        "受け入れ",
        "完了条件",
        "완료 기준",
        "критерии",
    ];
    WORDS.iter().any(|word| heading.contains(word))
}

/// What a box or a heading says, on one line, without comments and without emphasis around all of it.
fn title(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        plain += before;
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    plain += rest;
    let plain = plain.trim().trim_start_matches(['–', '—']).trim_start();
    let plain = plain.strip_prefix("- ").unwrap_or(plain);
    let inside = plain.strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
    let plain = inside.filter(|inside| !inside.contains("**")).unwrap_or(plain);
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).collect()
}
