//! Fields: lines like `- **Files**: a.rs` that say something about the task above them.

use std::ops::Range;

use crate::system::kit::text::key;

const EMPHASIS: [char; 2] = ['*', '_'];

/// The name of a field, in lower case, and where its value stands in the line.
pub(in crate::system) fn field(line: &str) -> Option<(String, Range<usize>)> {
    // A field's name is short; a sentence with a colon is not a field.
    let (at, colon) = line.char_indices().take(32).find(|(_, c)| matches!(c, ':' | '\u{ff1a}'))?;
    let name = key(&line[..at]).to_lowercase();
    let after = &line[at + colon.len_utf8()..];
    let strip = |c: char| c.is_whitespace() || EMPHASIS.contains(&c);
    let value = after.trim_start_matches(strip);
    let start = line.len() - value.len();
    Some((name.trim_matches(EMPHASIS).to_owned(), start..start + value.trim_end_matches(strip).len()))
}

/// A place in a part of a text, as a place in the whole.
pub(in crate::system) fn shift(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
