//! Words that lists of tasks use: statuses, what stands for nothing, references to requirements.

use std::ops::Range;

use serde::Serialize;

use crate::system::kit::mojibake;
use crate::system::kit::text::key;

/// A status that is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Pending,
    InProgress,
    Completed,
    Blocked,
    Failed,
}

/// How each is written, with its sign; the first is what Piton writes.
const SPELLINGS: [(Word, char, &[&str]); 5] = [
    (Word::Pending, '⏳', &["pending", "not started", "todo", "to do", "open", "not done"]),
    (Word::InProgress, '🔄', &["in progress", "started", "wip", "working"]),
    (Word::Completed, '✅', &["completed", "complete", "done", "finished"]),
    (Word::Blocked, '❌', &["blocked", "halted", "waiting"]),
    (Word::Failed, '❌', &["failed", "fail"]),
];
const SIGNS: [char; 4] = ['✅', '❌', '🔄', '⏳'];

impl Word {
    /// A status as people write it.
    pub fn read(text: &str) -> Option<Word> {
        let meant = mojibake::understood(text);
        let plain = key(&meant).to_lowercase().replace(['_', '-'], " ");
        let plain = plain.trim_matches(|c: char| !c.is_alphanumeric() && !SIGNS.contains(&c));
        let words = plain.trim_start_matches(|c| c == ' ' || SIGNS.contains(&c));
        let said = SPELLINGS.iter().find(|(_, _, known)| known.iter().any(|word| words.starts_with(word)));
        let shown = plain.chars().next().filter(|_| words.is_empty());
        // A sign alone: ❌ is a failure.
        let shown = shown.and_then(|sign| SPELLINGS.iter().rfind(|(_, own, _)| *own == sign));
        said.or(shown).map(|(word, ..)| *word)
    }

    /// Where in a text that says this status the word itself stands, with the sign before it.
    pub(in crate::system) fn place(self, text: &str) -> Range<usize> {
        let plain = text.to_ascii_lowercase().replace(['_', '-'], " ");
        let known = SPELLINGS.iter().find(|(word, ..)| *word == self).map(|(_, _, known)| *known);
        let found = known.into_iter().flatten().filter_map(|word| Some((plain.find(word)?, word.len())));
        match found.min_by_key(|(at, length)| (*at, std::cmp::Reverse(*length))) {
            Some((at, length)) if has_sign(&text[..at]) => 0..at + length,
            Some((at, length)) => at..at + length,
            None => 0..text.len(),
        }
    }

    /// The status in the manner of another: with a sign if that has one, and as large a letter.
    pub(in crate::system) fn like(self, other: &str) -> String {
        let (_, sign, spelled) = SPELLINGS.iter().find(|(word, ..)| *word == self).expect("each is listed");
        let large = other.chars().find(char::is_ascii_alphabetic).is_some_and(|c| c.is_ascii_uppercase());
        let word = match spelled[0].split_once(' ') {
            _ if large => spelled[0].split(' ').map(capital).collect::<Vec<_>>().join(" "),
            Some((first, second)) => format!("{first}_{second}"),
            None => spelled[0].to_owned(),
        };
        if has_sign(other) { format!("{sign} {word}") } else { word }
    }
}

fn has_sign(text: &str) -> bool {
    mojibake::understood(text).contains(SIGNS)
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    first.to_ascii_uppercase() + rest
}

/// Words that stand for nothing.
pub(in crate::system) fn is_none(text: &str) -> bool {
    let plain = key(text).to_lowercase();
    let plain = plain.trim_matches(|c: char| !c.is_alphanumeric());
    matches!(plain, "" | "none" | "n/a" | "na" | "null" | "nothing" | "tbd")
}

/// A reference to requirements inside a line, such as `… _Requirements: 1.1_`: all of it, and its value.
pub(in crate::system) fn reference(line: &str) -> Option<(Range<usize>, Range<usize>)> {
    if !line.contains(':') {
        return None;
    }
    let lower = line.to_ascii_lowercase();
    for word in ["requirements:", "requirement:", "validates:"] {
        let Some(at) = lower.find(word) else { continue };
        let before = line[..at].trim_end_matches(['*', '_', '(', '[']);
        if before.len() == at {
            // Words of a sentence, or the start of a line, which is a field.
            continue;
        }
        let value = &line[at + word.len()..];
        let strip = |c: char| c.is_whitespace() || "*_()[]".contains(c);
        let start = line.len() - value.trim_start_matches(strip).len();
        let end = line[start..].find(['*', '_', ')', ']']).map_or(line.len(), |end| start + end);
        return Some((before.len()..line.len(), start..end.max(start)));
    }
    None
}
