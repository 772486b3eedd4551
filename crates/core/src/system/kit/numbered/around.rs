//! What a task should know of the list around it: what is above it, and what its heading says. It is worked out once for
//! each of these, however many tasks they have.

use std::collections::HashMap;

use super::{NumberedList, Part};
use crate::system::kit::checklist::{Checklist, Kind};

/// More of one part is left to the file: every task has a copy of it.
const LONGEST: usize = 3000;
/// The same in a list that is far longer than people write.
const SHORTER: usize = 200;
const MANY: usize = 2000;

pub(in crate::system) struct Surroundings<'l> {
    boxes: &'l NumberedList,
    list: &'l Checklist,
    text: &'l str,
    of_parents: HashMap<usize, String>,
    of_sections: HashMap<usize, String>,
}

impl<'l> Surroundings<'l> {
    pub(in crate::system) fn new(
        boxes: &'l NumberedList,
        list: &'l Checklist,
        text: &'l str,
    ) -> Surroundings<'l> {
        Surroundings { boxes, list, text, of_parents: HashMap::new(), of_sections: HashMap::new() }
    }

    /// Of the task at this position.
    pub(in crate::system) fn of(&mut self, nth: usize) -> String {
        let one = &self.boxes.boxes[nth];
        let parent = one.parent.filter(|parent| self.boxes.boxes[*parent].part == Part::Parent);
        let (boxes, list, text) = (self.boxes, self.list, self.text);
        let longest = if boxes.boxes.len() > MANY { SHORTER } else { LONGEST };
        let above = parent.map(|parent| {
            let said = || {
                let parent = &boxes.boxes[parent];
                let whole = format!("It is a part of: {}\n{}", parent.title, parent.words(list, text));
                brief(whole.trim(), longest)
            };
            self.of_parents.entry(parent).or_insert_with(said).clone()
        });
        let heading = one.section.map(|section| {
            let said = || brief(prose(boxes, section, list, text).trim(), longest);
            self.of_sections.entry(section).or_insert_with(said).clone()
        });
        let parts = above.into_iter().chain(heading).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n\n")
    }
}

/// What stands between a heading and its first box.
fn prose(boxes: &NumberedList, section: usize, list: &Checklist, text: &str) -> String {
    let heading = boxes.sections[section].at.start;
    let start = list.lines.partition_point(|line| line.at.start <= heading);
    let lines = list.lines.iter().skip(start);
    let lines = lines.take_while(|line| !matches!(line.kind, Kind::Heading(_) | Kind::Item(_) | Kind::Rule));
    let lines = lines.filter(|line| !matches!(line.kind, Kind::Comment | Kind::Code));
    let lines: Vec<&str> = lines.map(|line| text[line.at.clone()].trim()).collect();
    lines.join("\n")
}

/// A text of at most so many characters.
pub(in crate::system) fn brief(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}… (the rest is in the file)", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
