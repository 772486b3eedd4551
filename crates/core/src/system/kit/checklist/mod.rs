//! Lists with boxes in Markdown, which several systems keep their tasks in: every line with its kind and place, and
//! every box with its mark, so that it can be ticked where it stands.
//!
//! What looks like a box and is not understood counts as an open box, and is reported. Boxes in code, comments, quotes
//! and tables are not items. They are kept apart, and reported if they look like tasks.

mod fences;
mod field;
mod item;
mod scan;
#[cfg(test)]
mod tests;
mod tick;

use std::ops::Range;

use crate::diagnostic::Diagnostic;

pub(in crate::system) use field::{field, shift};
pub(in crate::system) use item::mark;
pub use item::{Advice, Advised, number};
pub use scan::scan;
pub use tick::{replace, tick};

/// A text, line by line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checklist {
    pub lines: Vec<Line>,
    /// What is wrong with its layout and its boxes.
    pub problems: Vec<Diagnostic>,
    /// Where boxes stand that are not items: in code, in a comment, in the middle of a sentence.
    pub ignored: Vec<Range<usize>>,
}

/// One line, without its end. All places are bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub at: Range<usize>,
    /// Columns before what it says; a tab goes to the next multiple of four.
    pub indent: usize,
    /// What it says, without bullet, box, heading signs and comments.
    pub text: Range<usize>,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Blank,
    /// With its level, from 1.
    Heading(u8),
    Item(Item),
    Bullet,
    Text,
    /// `---`.
    Rule,
    /// In a fence, or a fence itself.
    Code,
    Comment,
    Quote,
    Table,
    FrontMatter,
}

/// A line with a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub mark: Mark,
    /// Between the brackets; may be empty.
    pub place: Range<usize>,
    /// `[ ]*`.
    pub optional: bool,
    /// Crossed out: it was dropped.
    pub struck: bool,
    /// A number before the box, such as `3` of `3. [ ] …`.
    pub ordinal: Option<Range<usize>>,
    /// Words about its status behind the text.
    pub advice: Option<Advice>,
}

/// What stands in a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mark {
    #[default]
    Open,
    Done,
    /// `[-]`.
    InProgress,
    /// `[~]`.
    Partial,
    /// Anything else, which is not done.
    Other,
}

impl Mark {
    pub fn is_done(self) -> bool {
        self == Mark::Done
    }

    /// How it is written.
    pub(in crate::system) fn sign(self) -> &'static str {
        match self {
            Mark::Open => " ",
            Mark::Done => "x",
            Mark::InProgress => "-",
            Mark::Partial => "~",
            Mark::Other => "?",
        }
    }
}

impl Checklist {
    /// The items, with the positions of their lines.
    pub fn items(&self) -> impl Iterator<Item = (usize, &Line, &Item)> {
        self.lines.iter().enumerate().filter_map(|(nth, line)| match &line.kind {
            Kind::Item(item) => Some((nth, line, item)),
            _ => None,
        })
    }
}
