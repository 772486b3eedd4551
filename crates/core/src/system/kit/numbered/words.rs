//! What is written below a box: its lines, without the marks of the boxes among them.

use super::{NumberedBox, NumberedList, Part};
use crate::system::kit::checklist::{Checklist, Kind, Line};

/// Say of each box which lines belong to it.
pub(super) fn gather(read: &mut NumberedList, list: &Checklist) {
    let mut of_line = vec![None; list.lines.len()];
    for (nth, one) in read.boxes.iter().enumerate() {
        of_line[one.line] = Some(nth);
    }
    for nth in 0..read.boxes.len() {
        let one = &read.boxes[nth];
        if !matches!(one.part, Part::Step | Part::Criterion) {
            let end = end(read, list, &of_line, nth);
            let one = &mut read.boxes[nth];
            one.details = one.line + 1..end.max(one.line + 1);
        }
    }
}

/// Where the lines of a box end: at the next one that is not its step, at a heading, a rule, or text beside it.
fn end(read: &NumberedList, list: &Checklist, of_line: &[Option<usize>], nth: usize) -> usize {
    let one = &read.boxes[nth];
    let is_step = |other: usize| {
        read.boxes[other].part == Part::Step
            && std::iter::successors(read.boxes[other].parent, |above| read.boxes[*above].parent)
                .any(|above| above == nth)
    };
    let mut blank = false;
    let mut end = one.line + 1;
    for (line, of) in list.lines.iter().zip(of_line).skip(one.line + 1) {
        let leaves = match &line.kind {
            Kind::Heading(_) | Kind::Rule => true,
            Kind::Item(_) => !of.is_some_and(is_step),
            Kind::Blank => false,
            _ => blank && line.indent <= one.indent && one.place.is_some(),
        };
        if leaves {
            break;
        }
        blank = line.kind == Kind::Blank;
        end += 1;
    }
    end
}

impl NumberedBox {
    /// What its author wrote below it. Steps are bullets: whether they are ticked is not part of the words.
    pub(in crate::system) fn words(&self, list: &Checklist, text: &str) -> String {
        let lines = &list.lines[self.details.clone()];
        let said = |line: &Line| !matches!(line.kind, Kind::Blank | Kind::Comment);
        let margin = lines.iter().filter(|line| said(line)).map(|line| line.indent).min().unwrap_or(0);
        let mut words = String::new();
        for line in lines {
            let pad = " ".repeat(line.indent.saturating_sub(margin));
            match &line.kind {
                Kind::Comment => continue,
                Kind::Blank => {}
                Kind::Item(_) => words.extend([&pad, "- ", &text[line.text.clone()]]),
                _ => words.extend([&pad, text[line.at.clone()].trim()]),
            }
            words.push('\n');
        }
        words.trim_matches('\n').to_owned()
    }

    /// The lines that belong to it, as they are in the file, with their places.
    pub(in crate::system) fn lines<'l>(
        &self,
        list: &'l Checklist,
    ) -> impl Iterator<Item = &'l Line> + use<'l> {
        list.lines[self.details.clone()].iter()
    }
}
