//! Signs that were UTF-8 once and were read as Windows-1252 or Latin-1 on their way: `âœ…` is ✅. Undoing that byte by
//! byte fails where a byte was dropped, so the forms that signs take are looked up.
//!
//! This is for understanding what is read. Piton rewrites a file so only if a person asks for it.

use crate::order::Arrange;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What systems write as a status, in a bar or as an arrow, and what editors make of quotes and dashes.
const SIGNS: [&str; 43] = [
    "✅", "❌", "🔄", "→", "█", "░", "✓", "✔", "☑", "✗", "✘", "☐", "⏳", "⌛", "⚠", "🚧", "⏭", "⏸", "🔴",
    "🟡", "🟢", "├", "└", "│", "─", "┌", "┐", "┘", "┤", "┬", "┴", "►", "▶", "▼", "•", "–", "—", "…", "‘",
    "’", "“", "”", "\u{fe0f}",
];

/// Every form and its sign, the longest first.
static FORMS: LazyLock<Vec<(String, &'static str)>> = LazyLock::new(|| {
    let mut forms: Vec<(String, &'static str)> = Vec::new();
    for sign in SIGNS {
        for once in misread(sign) {
            forms.extend(misread(&once).into_iter().map(|twice| (twice, sign)));
            forms.push((once, sign));
        }
    }
    forms.arrange_by(|a, b| b.0.chars().count().cmp(&a.0.chars().count()).then_with(|| a.cmp(b)));
    forms.dedup_by(|a, b| a.0 == b.0);
    forms
});

/// The text with its signs as they were written.
pub fn understood(text: &str) -> Cow<'_, str> {
    decode(text, |_, _| {})
}

/// The same, with how often each form stands for which sign.
pub fn repaired(text: &str) -> (Cow<'_, str>, BTreeMap<(String, &'static str), usize>) {
    let mut found: BTreeMap<(String, &'static str), usize> = BTreeMap::new();
    let text = decode(text, |form, sign| *found.entry((form.to_owned(), sign)).or_default() += 1);
    (text, found)
}

fn decode<'t>(text: &'t str, mut tell: impl FnMut(&str, &'static str)) -> Cow<'t, str> {
    let is_lead = |c: char| matches!(c, 'â' | 'ð' | 'ï' | 'Ã');
    if !text.contains(is_lead) {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_lead) {
        let (before, broken) = rest.split_at(at);
        decoded += before;
        let form = FORMS.iter().find(|(form, _)| broken.starts_with(form.as_str()));
        let (length, sign) = match form {
            Some((form, sign)) => {
                tell(form, sign);
                (form.len(), *sign)
            }
            None => {
                let length = broken.chars().next().map_or(0, char::len_utf8);
                (length, &broken[..length])
            }
        };
        decoded += sign;
        rest = &broken[length..];
    }
    decoded += rest;
    if decoded == text { Cow::Borrowed(text) } else { Cow::Owned(decoded) }
}

/// What becomes of a text whose bytes are read as characters. Some programs drop bytes that Windows-1252 does not know,
/// others keep them.
fn misread(text: &str) -> Vec<String> {
    let lossy: String = text.bytes().filter_map(windows).collect();
    let kept = text.bytes().map(|byte| windows(byte).unwrap_or(char::from(byte))).collect();
    let latin = text.bytes().map(char::from).collect();
    let mut forms = vec![lossy, kept, latin];
    forms.dedup();
    forms
}

/// The character of a byte in Windows-1252.
fn windows(byte: u8) -> Option<char> {
    const HIGH: [char; 32] = [
        '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’',
        '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => Some(HIGH[usize::from(byte - 0x80)]).filter(|c| *c != '\0'),
        _ => Some(char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_understood_through_every_mistake() {
        assert_eq!(understood("**Status**: âœ… Completed"), "**Status**: ✅ Completed");
        assert_eq!(understood("âŒ Failed"), "❌ Failed", "a byte was dropped");
        assert_eq!(understood("â\u{9d}Œ Failed"), "❌ Failed", "and here it was not");
        assert_eq!(understood("ðŸ”„ In Progress"), "🔄 In Progress");
        assert_eq!(understood("10:05 â†’ 10:25"), "10:05 → 10:25");
        assert_eq!(understood("[â–ˆâ–ˆâ–‘] 66%"), "[██░] 66%");
        assert_eq!(understood("Ã¢Å“â€¦ twice"), "✅ twice");
        assert_eq!(understood("â\u{9c}\u{85} Latin-1"), "✅ Latin-1");
        assert_eq!(understood("âš\u{a0}ï¸\u{8f} and âš\u{a0}ï¸"), "⚠\u{fe0f} and ⚠\u{fe0f}");
    }

    #[test]
    fn what_is_repaired_is_told() {
        let (text, found) = repaired("âœ… a â†’ b âœ… été");
        assert_eq!(text, "✅ a → b ✅ été");
        let found: Vec<_> =
            found.iter().map(|((form, sign), times)| (form.as_str(), *sign, *times)).collect();
        assert_eq!(found, [("âœ…", "✅", 2), ("â†’", "→", 1)]);
        assert!(repaired("✅ été").1.is_empty());
    }

    #[test]
    fn text_that_only_looks_alike_stays() {
        for text in ["", "Grâce à l'été", "naïve Ãœ", "ทดสอบ 中文 ✅ ❌", "âge"] {
            assert_eq!(understood(text), text);
        }
    }
}
