//! Words that lists of tasks use: statuses, what stands for nothing, references to requirements.

use std::ops::Range;

use serde::Serialize;

use crate::dialect::mojibake;
use crate::dialect::text::key;

/// A status that is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Pending,
    InProgress,
    Completed,
    Blocked,
    Failed,
}

impl Word {
    /// A status as people write it.
    pub fn read(text: &str) -> Option<Word> {
        let meant = mojibake::understood(text);
        let plain = key(&meant).to_lowercase().replace(['_', '-'], " ");
        let plain = plain.trim_matches(|c: char| !c.is_alphanumeric() && !"✅❌🔄⏳".contains(c));
        let words = plain.trim_start_matches(['✅', '❌', '🔄', '⏳', ' ']);
        let begins = |known: &[&str]| known.iter().any(|word| words.starts_with(word));
        if begins(&["not started", "pending", "todo", "to do", "open", "not done"]) {
            Some(Word::Pending)
        } else if begins(&["in progress", "started", "wip", "working"]) {
            Some(Word::InProgress)
        } else if begins(&["completed", "complete", "done", "finished"]) {
            Some(Word::Completed)
        } else if begins(&["blocked", "halted", "waiting"]) {
            Some(Word::Blocked)
        } else if begins(&["failed", "fail"]) {
            Some(Word::Failed)
        } else {
            match plain.chars().next() {
                Some('✅') if words.is_empty() => Some(Word::Completed),
                Some('❌') if words.is_empty() => Some(Word::Failed),
                Some('🔄') if words.is_empty() => Some(Word::InProgress),
                Some('⏳') if words.is_empty() => Some(Word::Pending),
                _ => None,
            }
        }
    }
}

/// Words that stand for nothing.
pub(super) fn is_none(text: &str) -> bool {
    let plain = key(text).to_lowercase();
    let plain = plain.trim_matches(|c: char| !c.is_alphanumeric());
    matches!(plain, "" | "none" | "n/a" | "na" | "null" | "nothing" | "tbd")
}

/// A reference to requirements inside a line, such as `… _Requirements: 1.1_`: all of it, and its value.
pub(super) fn reference(line: &str) -> Option<(Range<usize>, Range<usize>)> {
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
