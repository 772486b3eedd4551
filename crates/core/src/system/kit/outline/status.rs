//! What belongs to a box: its status, its lines, and where it ends.

use super::fields::{behind_box, status_field};
use super::word::is_none;
use super::{Node, Outline, Word};
use crate::system::kit::checklist::{Checklist, Kind, shift};
use crate::system::kit::problems::Spanned;

/// The status that a task gives itself, and where its word stands.
pub(in crate::system) fn status(list: &Checklist, text: &str, node: &Node) -> Option<Spanned<Word>> {
    let lines = list.lines.get(node.details.clone()).unwrap_or_default();
    let mut fields = lines.iter().filter_map(|line| status_field(text, line));
    let value = fields.next_back()?;
    let at = behind_box(text, value);
    let said = &text[at.clone()];
    let known = Word::read(said);
    let word = known.or_else(|| Some(Word::Pending).filter(|_| !is_none(said)))?;
    let place = known.map_or(0..said.len(), |word| word.place(said));
    Some(Spanned { value: word, at: shift(place, at.start) })
}

/// Where a box ends, with all that belongs to it, without trailing blank lines.
pub(in crate::system) fn end_of(list: &Checklist, outline: &Outline, node: usize) -> usize {
    let nodes = &outline.nodes;
    let is_below = |other: &usize| outline.above(*other).any(|above| above == node);
    let last = (node + 1..nodes.len()).take_while(is_below).last().unwrap_or(node);
    let own = nodes[node..=last].iter().map(|node| node.details.end.max(node.line)).max();
    let mut end = own.unwrap_or(nodes[node].line);
    while end > nodes[node].line && list.lines[end - 1].kind == Kind::Blank {
        end -= 1;
    }
    list.lines[end - 1].at.end
}

/// Lines without their common indentation, and without blank lines around them.
pub(in crate::system) fn joined(lines: &[(usize, String)]) -> String {
    let least =
        lines.iter().filter(|(_, line)| !line.is_empty()).map(|(indent, _)| *indent).min().unwrap_or(0);
    let mut text = String::new();
    for (indent, line) in lines {
        if line.is_empty() {
            text += if text.ends_with("\n\n") || text.is_empty() { "" } else { "\n" };
            continue;
        }
        // Deeper indentation says nothing more.
        text.extend(std::iter::repeat_n(' ', (indent - least).min(40)));
        text += line;
        text.push('\n');
    }
    text.trim_end().to_owned()
}
