//! Where the entries of a journal begin and end.

use crate::plan::TaskId;
use crate::system::kit::entries::{self, Cut};

pub use crate::system::kit::entries::Section;
pub(super) use crate::system::kit::entries::{heading, normal};

/// An entry begins with a heading that names a task, and with any heading of that level after a rule.
pub(super) fn cut(text: &str) -> Cut<'_> {
    entries::cut(text, |line, ruled| heading(line).is_some_and(|title| ruled || task(title).is_some()))
}

/// The task that a heading such as `Task 1.2: Add it` names. What was an emoji may stand before it.
pub(super) fn task(title: &str) -> Option<TaskId> {
    let is_word = |word: &str| word.contains(|c: char| c.is_ascii_alphanumeric());
    let bare = |word: &'_ str| word.trim_matches(['*', '_', '`', '#', '[', ']']).to_owned();
    let mut words = title.split_whitespace().skip_while(|word| !is_word(word));
    if !bare(words.next()?).eq_ignore_ascii_case("task") {
        return None;
    }
    let said = words.next()?;
    let id = bare(said.split([':', '：']).next().unwrap_or_default());
    let plain = id.trim_end_matches(['.', ')']);
    let closed = plain.len() < id.len() || said.contains([':', '：']);
    // `## Task 1 and 2` is not about a single task, and `## Task list` not about any.
    let ends = closed || words.next().is_none_or(|next| !is_word(next));
    let numbered = plain.contains(|c: char| c.is_ascii_digit());
    TaskId::new(plain).ok().filter(|_| ends && numbered)
}
