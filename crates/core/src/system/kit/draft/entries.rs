//! The outermost boxes of a Markdown list, each with the lines that belong to it and the section that it stands in.

use std::ops::Range;

use crate::system::kit::checklist::{Checklist, Item, Kind, Line, field};

/// The longest text of a section that is handed on with each of its tasks, in bytes.
const LONGEST_INTRODUCTION: usize = 1500;

/// A list, by its sections and outermost boxes.
#[derive(Clone, Debug, Default)]
pub(in crate::system) struct Entries {
    /// In the order of the file. The first one is what stands before any heading.
    pub(in crate::system) sections: Vec<Section>,
    pub(in crate::system) entries: Vec<Entry>,
}

/// A heading and what stands below it, up to the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::system) struct Section {
    /// 0 before any heading.
    pub(in crate::system) level: u8,
    /// The words of the heading.
    pub(in crate::system) title: Range<usize>,
    /// The section around it.
    pub(in crate::system) parent: Option<usize>,
    /// The positions of its lines, without the heading.
    pub(in crate::system) lines: Range<usize>,
}

/// A box that stands in no other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::system) struct Entry {
    /// The position of its line.
    pub(in crate::system) line: usize,
    /// A position in [`Entries::sections`].
    pub(in crate::system) section: usize,
    /// The positions of the lines that belong to it.
    pub(in crate::system) details: Vec<usize>,
}

impl Entries {
    pub(in crate::system) fn of(list: &Checklist) -> Entries {
        let mut all = Entries { sections: vec![Section::default()], entries: Vec::new() };
        // The box that the next lines may belong to, its indent, and whether a blank line came since.
        let mut open: Option<(usize, usize, bool)> = None;
        // The headings around the current line.
        let mut path: Vec<usize> = Vec::new();
        for (nth, line) in list.lines.iter().enumerate() {
            match (&line.kind, open) {
                (Kind::Heading(level), _) => {
                    all.begin(*level, line, nth, &mut path);
                    open = None;
                }
                (Kind::Item(_), Some((entry, indent, _))) if line.indent >= indent + 2 => {
                    all.entries[entry].details.push(nth);
                    open = Some((entry, indent, false));
                }
                (Kind::Item(_), _) => {
                    let section = all.sections.len() - 1;
                    open = Some((all.entries.len(), line.indent, false));
                    all.entries.push(Entry { line: nth, section, details: Vec::new() });
                }
                (Kind::Blank, Some((entry, indent, _))) => {
                    all.entries[entry].details.push(nth);
                    open = Some((entry, indent, true));
                }
                (Kind::Rule, _) => open = None,
                (kind, Some((entry, indent, after_blank))) => {
                    let is_deeper = line.indent > indent;
                    let goes_on = !after_blank && matches!(kind, Kind::Text | Kind::Code | Kind::Comment);
                    match is_deeper || goes_on {
                        true => all.entries[entry].details.push(nth),
                        false => open = None,
                    }
                }
                (_, None) => {}
            }
            let last = all.sections.last_mut().expect("there is always one");
            last.lines.end = nth + 1;
        }
        all
    }

    fn begin(&mut self, level: u8, line: &Line, nth: usize, path: &mut Vec<usize>) {
        while path.last().is_some_and(|above| self.sections[*above].level >= level) {
            path.pop();
        }
        let parent = path.last().copied();
        path.push(self.sections.len());
        self.sections.push(Section { level, title: line.text.clone(), parent, lines: nth + 1..nth + 1 });
    }

    /// A section and those around it, from the inside out.
    pub(in crate::system) fn around(&self, section: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(section), |section| self.sections[*section].parent)
    }

    /// The prose at the beginning of a section, up to its first box.
    pub(in crate::system) fn introduction(&self, section: usize, list: &Checklist, text: &str) -> String {
        let mut said = String::new();
        for line in &list.lines[self.sections[section].lines.clone()] {
            match line.kind {
                Kind::Item(_) => break,
                Kind::Blank | Kind::Text | Kind::Bullet | Kind::Quote
                    if said.len() < LONGEST_INTRODUCTION =>
                {
                    said.push_str(text[line.at.clone()].trim_end());
                    said.push('\n');
                }
                _ => {}
            }
        }
        said.trim().to_owned()
    }
}

impl Entry {
    /// The boxes in it, with the positions of their lines.
    pub(in crate::system) fn steps<'c>(
        &'c self,
        list: &'c Checklist,
    ) -> impl Iterator<Item = (usize, &'c Line, &'c Item)> {
        self.details.iter().filter_map(|nth| match &list.lines[*nth].kind {
            Kind::Item(item) => Some((*nth, &list.lines[*nth], item)),
            _ => None,
        })
    }

    /// The lines that belong to it, without its indent, and its steps without their boxes: whether one is ticked is not a
    /// part of what is asked for.
    pub(in crate::system) fn words(&self, list: &Checklist, text: &str) -> String {
        let mut words = String::new();
        let smallest =
            self.details.iter().map(|nth| &list.lines[*nth]).filter(|line| line.kind != Kind::Blank);
        let smallest = smallest.map(|line| line.indent).min().unwrap_or(0);
        for line in self.details.iter().map(|nth| &list.lines[*nth]) {
            let indent = " ".repeat(line.indent.saturating_sub(smallest).min(20));
            match &line.kind {
                Kind::Comment => continue,
                Kind::Item(item) if item.struck => continue,
                Kind::Item(_) => words.push_str(&format!("{indent}- {}", &text[line.text.clone()])),
                _ => words.push_str(&format!("{indent}{}", text[line.at.clone()].trim())),
            }
            words.push('\n');
        }
        words.trim().to_owned()
    }

    /// What its fields say, such as `**File**: src/a.rs`, by their names in small letters, and where.
    pub(in crate::system) fn fields(&self, list: &Checklist, text: &str) -> Vec<(String, Range<usize>)> {
        let lines = self.details.iter().map(|nth| &list.lines[*nth]);
        let lines = lines.filter(|line| matches!(line.kind, Kind::Text | Kind::Bullet));
        let value = |line: &Line| {
            let (name, at) = field(&text[line.text.clone()])?;
            Some((name, line.text.start + at.start..line.text.start + at.end))
        };
        lines.filter_map(value).collect()
    }
}
