//! Looking into what clients write. Everything in there may be missing, or something else.

use serde_json::Value;

use crate::run::Usage;
use crate::time::{Span, Timestamp};

/// A session's name goes onto command lines and into files.
const LONGEST_NAME: usize = 100;
/// An error message is read by people; whole pages of it are in the log.
const LONGEST_REASON: usize = 1000;
/// What a tool is called with is shown in a line.
const LONGEST_CALL: usize = 300;
/// People see the beginning of a tool's result. The log has all of it.
const LONGEST_RESULT: usize = 2000;
/// The most telling parts of a call, as the clients name them.
const TELLING: [&str; 13] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "path",
    "dir_path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
];

pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The name of a session, if it can be one.
pub(super) fn session(value: &Value, key: &str) -> Option<String> {
    let name = text(value, key);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let good = !name.is_empty() && name.len() <= LONGEST_NAME && !name.starts_with('-');
    (good && name.chars().all(plain)).then(|| name.to_owned())
}

/// A name of a model or a tool, as it may be shown.
pub(super) fn name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect()
}

/// An error message on one line, as it may be shown.
pub(super) fn reason(text: &str) -> String {
    let clean = crate::terminal::clean_text(text.as_bytes());
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST_REASON).collect()
}

/// What a tool is called with: the most telling part, or else all of it.
pub(super) fn what(input: &Value) -> String {
    let said = TELLING.iter().find_map(|key| match input.get(key)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        _ => None,
    });
    let is_empty = input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
    one_line(&said.unwrap_or_else(|| if is_empty { String::new() } else { input.to_string() }))
}

pub(super) fn one_line(text: &str) -> String {
    let clean = crate::terminal::clean_text(cut(text, 4 * LONGEST_CALL).as_bytes());
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, LONGEST_CALL)
}

pub(super) fn beginning(text: &str) -> String {
    shortened(text, LONGEST_RESULT)
}

/// At most `most` bytes of it, with a sign where something is left out.
fn shortened(text: &str, most: usize) -> String {
    let kept = cut(text, most);
    if kept.len() < text.len() { format!("{kept}…") } else { kept.to_owned() }
}

fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Tokens as reported. Tokens that are read from or written to a cache count as read, too.
pub(super) fn tokens(input: &[Option<u64>], cached: Option<u64>, output: &[Option<u64>]) -> Usage {
    let sum = |parts: &[Option<u64>]| {
        let known = parts.iter().flatten();
        parts.first().copied().flatten().map(|_| known.fold(0, |sum: u64, n| sum.saturating_add(*n)))
    };
    Usage { input: sum(input), cached, output: sum(output), cost: None }
}

/// Dollars, as millionths.
pub(super) fn dollars(value: Option<&Value>) -> Option<u64> {
    let micros = (value?.as_f64()? * 1e6).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10^15")]
    (0.0..=1e15).contains(&micros).then_some(micros as u64)
}

/// The wait that stands behind one of these: `11.054s`, `14h26m57s`. Parts of a second are left out.
pub(super) fn wait_after(words: &str, before: &[&str]) -> Option<Span> {
    let (_, rest) = before.iter().find_map(|before| words.split_once(before))?;
    let rest = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).next()?.trim_end_matches('.');
    match rest.split_once('.') {
        Some((whole, part)) => {
            Span::parse(&format!("{whole}{}", part.trim_start_matches(|c: char| c.is_ascii_digit())))
        }
        None => Span::parse(rest),
    }
}

/// When to try again after a client was told to wait. Not at once: the client has waited in vain already.
pub(super) fn after(now: Timestamp, wait: Span) -> Timestamp {
    now.plus(wait.max(Span::minutes(1)))
}
