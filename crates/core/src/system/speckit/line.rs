//! The line of a task: `T021 [P] [US2] Write exporter in src/export.rs (depends on T014, T015)`.

use std::ops::Range;

use super::ids::id_at;

/// Words in brackets that say where a task belongs, and nothing about the work.
const LABELS: [&str; 14] = [
    "p",
    "found",
    "foundation",
    "foundational",
    "setup",
    "shared",
    "infra",
    "polish",
    "test",
    "tests",
    "docs",
    "deferred",
    "story",
    "convergence",
];

/// A task's line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TaskLine {
    /// Empty: it has none.
    pub(super) id: String,
    /// `[P]`.
    pub(super) beside: bool,
    /// `US2`, in capitals.
    pub(super) story: Option<String>,
    /// It is marked as deferred or blocked.
    pub(super) waits: Option<&'static str>,
    /// Its id is crossed out, or it is called deleted.
    pub(super) dropped: bool,
    /// What is to be done, without labels; a place in the text of the file.
    pub(super) rest: Range<usize>,
}

impl TaskLine {
    pub(super) fn read(text: &str, at: Range<usize>) -> TaskLine {
        let mut line = TaskLine::default();
        let said = &text[at.clone()];
        let bare = said.trim_start_matches(['*', '_', '[', ' ']);
        let (bare, struck) = match bare.strip_prefix("~~") {
            Some(inside) => (inside, true),
            None => (bare, false),
        };
        let mut rest = said;
        if let Some(length) = id_at(bare) {
            line.id = bare[..length].to_owned();
            rest = bare[length..].trim_start_matches("~~");
            rest = rest.trim_start_matches(['*', '_', ']', ':', '.', ')', ' ', '\u{ff1a}']);
            line.dropped = struck && !line.id.is_empty();
        }
        rest = without_tracker(rest);
        loop {
            let open = rest.trim_start_matches([' ', '*', '_', '-', ':']);
            let label = open.strip_prefix('[').and_then(|inside| inside.split_once(']'));
            let Some((label, after)) = label.filter(|(_, after)| !after.starts_with('(')) else { break };
            if !line.take(label) {
                break;
            }
            rest = after;
        }
        let rest =
            rest.trim_start_matches(|c: char| c.is_whitespace() || "*_-:".contains(c) || c == '\u{ff1a}');
        let rest = if rest.is_empty() { &said[said.len()..] } else { rest };
        let start = at.start + (rest.as_ptr() as usize - said.as_ptr() as usize);
        let emphasised = text[at.start..start].ends_with("**") && rest.contains("**");
        // `**Bold title** - text`: the signs are taken away with all others.
        line.rest = if emphasised { start - 2..at.end } else { start..at.end };
        line
    }

    /// Whether words in brackets are a label.
    fn take(&mut self, label: &str) -> bool {
        let plain = label.trim().to_lowercase();
        let story = plain.split(['+', ',', '/', ' ']).next().unwrap_or_default();
        if is_story(story) {
            self.story = Some(story.to_uppercase());
            return true;
        }
        let first = plain.split(':').next().unwrap_or_default().trim();
        match first {
            "p" => self.beside = true,
            "deferred" => self.waits = Some("it is marked as deferred"),
            "blocked" => self.waits = Some("it is marked as blocked"),
            _ => return LABELS.contains(&plain.as_str()),
        }
        true
    }
}

/// `us2`, `us1.5`.
fn is_story(word: &str) -> bool {
    let number = word.strip_prefix("us").unwrap_or_default();
    number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Without the id of another tracker, such as `(antwort-58h.1)`.
fn without_tracker(rest: &str) -> &str {
    let inside = rest.trim_start().strip_prefix('(').and_then(|inside| inside.split_once(')'));
    let Some((inside, after)) = inside else { return rest };
    let is_one = inside.split_once('-').is_some_and(|(name, number)| {
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
        let plain = number.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
        is_name && plain && number.bytes().any(|byte| byte.is_ascii_digit())
    });
    if is_one { after } else { rest }
}

/// What a task is called: its text without what it waits for.
pub(super) fn without_needs(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, inside, after)) = clause(rest) {
        plain.push_str(before.trim_end());
        let is_need = needs_word(inside).is_some() && !super::ids::ids_in(inside).is_empty();
        if !is_need {
            plain.push_str(&rest[before.trim_end().len()..rest.len() - after.len()]);
        }
        rest = after;
    }
    plain.push_str(rest);
    plain.trim().to_owned()
}

/// What stands before, inside of and behind the first pair of parentheses.
fn clause(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('(')?;
    let (inside, after) = rest.split_once(')')?;
    Some((before, inside, after))
}

/// Where the names of tasks begin that a text waits for, if it says so at all.
pub(super) fn needs_word(text: &str) -> Option<usize> {
    const WORDS: [&str; 9] = [
        "depends on",
        "depends upon",
        "depends:",
        "dependencies:",
        "dependency:",
        "deps:",
        "blocked by",
        "requires",
        "after",
    ];
    // As long as the text, so that places are the same.
    let plain = text.to_ascii_lowercase();
    let found = WORDS.iter().filter_map(|word| plain.find(word).map(|at| (at, at + word.len())));
    let (start, end) = found.min()?;
    let before = plain[..start].trim_end();
    let is_denied = ["no longer", "not", "doesn't", "never"].iter().any(|word| before.ends_with(word));
    let is_part = plain[..start].chars().next_back().is_some_and(char::is_alphanumeric);
    (!is_denied && !is_part).then_some(end)
}
