//! Looking into what clients write. Everything in there may be missing, or something else.

use serde_json::Value;

use crate::run::Usage;

/// A session's name goes onto command lines and into files.
const LONGEST_NAME: usize = 100;
/// An error message is read by people; whole pages of it are in the log.
const LONGEST_REASON: usize = 1000;

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

/// Tokens as told; what is read from and written to a cache is read, too.
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
