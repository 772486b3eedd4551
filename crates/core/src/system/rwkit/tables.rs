//! The tables of Markdown: cells at their places, found by the name of their column.

use std::ops::Range;

use crate::system::kit::text::key;
pub(super) use crate::system::kit::text::trimmed;

/// The columns of a table, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns(Vec<String>);

impl Columns {
    pub(super) fn read(text: &str, header: &[Range<usize>]) -> Columns {
        let name = |at: &Range<usize>| key(&text[at.clone()]).to_lowercase();
        let plain = |name: String| name.trim_matches(['*', '_', '`']).to_owned();
        Columns(header.iter().map(|at| plain(name(at))).collect())
    }

    /// The position of the column with one of these names, or with one of these words in its name.
    pub(super) fn find(&self, names: &[&str]) -> Option<usize> {
        let is = |name: &&str| self.0.iter().position(|own| own == name);
        let has = |name: &&str| self.0.iter().position(|own| own.split(' ').any(|word| word == *name));
        names.iter().find_map(is).or_else(|| names.iter().find_map(has))
    }

    pub(super) fn names(&self) -> &[String] {
        &self.0
    }
}

/// The cells of a line, without the space around them.
pub(super) fn cells(text: &str, line: &Range<usize>) -> Vec<Range<usize>> {
    let said = &text[line.clone()];
    let mut cells = Vec::new();
    let mut start = said.len() - said.trim_start().strip_prefix('|').unwrap_or(said.trim_start()).len();
    let mut escaped = false;
    for (at, byte) in said.bytes().enumerate().skip(start) {
        if byte == b'|' && !escaped {
            cells.push(trimmed(text, line.start + start..line.start + at));
            start = at + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    if !said[start..].trim().is_empty() {
        cells.push(trimmed(text, line.start + start..line.end));
    }
    cells
}

/// Whether these are the dashes below a header.
pub(super) fn is_rule(text: &str, cells: &[Range<usize>]) -> bool {
    let dashes =
        |cell: &Range<usize>| text[cell.clone()].bytes().all(|byte| matches!(byte, b'-' | b':' | b' '));
    !cells.is_empty() && cells.iter().all(dashes) && cells.iter().any(|cell| text[cell.clone()].contains('-'))
}
