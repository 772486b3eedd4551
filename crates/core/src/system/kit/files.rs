//! The files that a task names: a list with commas, in which paths may have spaces and brackets of their own.

use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::plan::RepoPath;
use crate::system::kit::problems::{Problems, Spanned, cut};
use crate::system::kit::text::{key, trimmed};

/// Words that stand for nothing.
pub(in crate::system) fn is_none(text: &str) -> bool {
    let plain = key(text).to_lowercase();
    let plain = plain.trim_matches(|c: char| !c.is_alphanumeric());
    matches!(plain, "" | "none" | "n/a" | "na" | "null" | "nothing" | "no")
}

/// Add the files of one list. What cannot be a file of the project is reported and left out.
pub(in crate::system) fn files(
    text: &str,
    at: &Range<usize>,
    files: &mut Vec<Spanned<RepoPath>>,
    found: &mut Problems,
) {
    for part in parts(text, at) {
        let at = unwrapped(text, part);
        let said = &text[at.clone()];
        if is_none(said) {
            continue;
        }
        match RepoPath::new(said) {
            Ok(path) if files.len() < 1000 && files.iter().any(|known| known.value == path) => {}
            Ok(path) => files.push(Spanned { value: path, at }),
            Err(reason) => {
                let message = format!("{:?} cannot be a file of the project: {reason}", cut(said));
                found.push(Diagnostic::warning(at, message).label("left out"));
            }
        }
    }
}

/// Between commas and semicolons that are not inside brackets.
fn parts(text: &str, at: &Range<usize>) -> Vec<Range<usize>> {
    let (mut parts, mut start, mut depth) = (Vec::new(), at.start, 0_usize);
    for (nth, c) in text[at.clone()].char_indices() {
        match c {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth = depth.saturating_sub(1),
            ',' | ';' | '\u{ff0c}' | '\u{3001}' if depth == 0 => {
                parts.push(start..at.start + nth);
                start = at.start + nth + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(start..at.end);
    parts
}

/// Without quotes around it, and without a word about it: `` `a.ts` (new) ``.
fn unwrapped(text: &str, part: Range<usize>) -> Range<usize> {
    let mut at = trimmed(text, part);
    let said = &text[at.clone()];
    if let Some(open) = said.strip_suffix(')').and_then(|rest| rest.rfind(" (")).filter(|open| *open > 0) {
        at = trimmed(text, at.start..at.start + open);
    }
    let said = &text[at.clone()];
    let inside = said.trim_matches(['`', '"', '\'']);
    match inside.is_empty() {
        true => at,
        false => {
            let start = at.start + (inside.as_ptr() as usize - said.as_ptr() as usize);
            trimmed(text, start..start + inside.len())
        }
    }
}
