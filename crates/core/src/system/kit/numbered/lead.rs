//! The number that a text begins with, in the ways that people and models write one.

use crate::system::kit::checklist::number;

/// A number, and what stands around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::system) struct Lead<'t> {
    pub(in crate::system) number: &'t str,
    /// Labels before it, such as `[GAP]`.
    pub(in crate::system) label: &'t str,
    pub(in crate::system) rest: &'t str,
    /// `7.9*`: it need not be done.
    pub(in crate::system) starred: bool,
}

/// The longest number. What is longer is something else, and would take long to look up.
const LONGEST: usize = 40;

/// What a text begins with. A whole number counts only if something ends it: `3 files` does not begin with one.
pub(in crate::system) fn lead(text: &str) -> Option<Lead<'_>> {
    leading(text).filter(|lead| lead.number.len() <= LONGEST)
}

fn leading(text: &str) -> Option<Lead<'_>> {
    let said = text.trim_start_matches(is_sign);
    let (label, said) = labelled(said);
    let said = said.trim_start_matches(is_sign);
    let bare = said.trim_start_matches(['*', '_']);
    if let Some((number, rest)) = escaped(bare) {
        return Some(Lead { number, label, rest, starred: false });
    }
    if let Some((number, rest)) = starred(bare) {
        return Some(Lead { number, label, rest, starred: true });
    }
    if let Some((number, rest)) = number(said).filter(|(number, _)| is_ended(said, number)) {
        // `TASK-001: 1.1 Name`: others refer to the second one.
        let second = self::number(rest).filter(|(inner, _)| {
            inner.starts_with(|c: char| c.is_ascii_digit())
                && inner.contains('.')
                && !number.starts_with(|c: char| c.is_ascii_digit())
                && !number.contains('.')
        });
        let (number, rest) = second.unwrap_or((number, rest));
        return Some(Lead { number, label, rest, starred: false });
    }
    let (number, rest) = dotted(bare)?;
    Some(Lead { number, label, rest, starred: false })
}

/// What may stand before a number: space, a status, and the dash of `- [ ]-6. Name`.
fn is_sign(c: char) -> bool {
    c.is_whitespace() || "✅✔☑❌🔄⏳🚧⚠\u{fe0f}".contains(c) || matches!(c, '-' | '–' | '—')
}

/// `[SPEC]`, and what follows.
fn labelled(text: &str) -> (&str, &str) {
    let inside = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((word, rest)) = inside else { return ("", text) };
    let is_label = (1..=12).contains(&word.len())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
        && word.bytes().any(|byte| byte.is_ascii_uppercase())
        && rest.starts_with(char::is_whitespace);
    if is_label { (&text[..word.len() + 2], rest.trim_start()) } else { ("", text) }
}

/// `7\. Name`, as a formatter writes it.
fn escaped(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0)?;
    let rest = text[end..].strip_prefix("\\.")?;
    rest.starts_with(char::is_whitespace).then(|| (&text[..end], rest.trim_start()))
}

/// `7.9* Name` and `7.9\* Name`.
fn starred(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.')?;
    let number = text[..end].trim_end_matches('.');
    let rest = text[end..].strip_prefix('\\').unwrap_or(&text[end..]).strip_prefix('*')?;
    let counts = number.starts_with(|c: char| c.is_ascii_digit()) && rest.starts_with(char::is_whitespace);
    counts.then(|| (number, rest.trim_start()))
}

/// Whether a number is more than a count of something.
fn is_ended(text: &str, number: &str) -> bool {
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let start = number.as_ptr() as usize - text.as_ptr() as usize;
    let behind = text[start + number.len()..].trim_start_matches(['*', '_']);
    let is_worded = text[..start].ends_with(char::is_whitespace);
    is_worded || behind.is_empty() || behind.starts_with(['.', ')', ':', '\u{ff1a}'])
}

/// `A1.1`, `2a.1`, `5b.6`: parts with a letter, and a dot between them.
fn dotted(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    let is_part = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        (1..=4).contains(&digits) && part.len() - digits <= 2
    };
    let is_it = number.contains('.') && number.split('.').all(is_part);
    let rest = text[number.len()..].trim_start_matches(['*', '_', '.', ')', ':', '\u{ff1a}']);
    let is_apart = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (is_it && is_apart && number.len() <= 20).then(|| (number, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(&str, &str, &str, bool)> {
        lead(text).map(|lead| (lead.number, lead.label, lead.rest, lead.starred))
    }

    #[test]
    fn a_number_is_found_in_every_form_that_was_seen() {
        for (text, number, rest) in [
            ("1.1 Add it", "1.1", "Add it"),
            ("1.1. Add it", "1.1", "Add it"),
            ("3. Add it", "3", "Add it"),
            ("3) Add it", "3", "Add it"),
            ("3\\. Add it", "3", "Add it"),
            ("**Task 1.1**: Add it", "1.1", "Add it"),
            ("**2.** Add it", "2", "Add it"),
            ("Task 3 Add it", "3", "Add it"),
            ("T01: Add it", "T01", "Add it"),
            ("TASK-001: 1.1 Add it", "1.1", "Add it"),
            ("TASK-001: Add it", "TASK-001", "Add it"),
            ("A1.1 Add it", "A1.1", "Add it"),
            ("C2.3 Add it", "C2.3", "Add it"),
            ("2a.1 Add it", "2a.1", "Add it"),
            ("5b.6: Add it", "5b.6", "Add it"),
            ("✅ 1.2 Add it", "1.2", "Add it"),
            ("-6. Add it", "6", "Add it"),
            ("1.1.1 Add it", "1.1.1", "Add it"),
            ("1.1：追加", "1.1", "追加"),
        ] {
            assert_eq!(read(text), Some((number, "", rest, false)), "{text}");
        }
    }

    #[test]
    fn labels_and_stars_stand_beside_a_number() {
        assert_eq!(read("[GAP] 2.3 Add it"), Some(("2.3", "[GAP]", "Add it", false)));
        assert_eq!(read("7.9* Test it"), Some(("7.9", "", "Test it", true)));
        assert_eq!(read("7.9\\* Test it"), Some(("7.9", "", "Test it", true)));
        assert_eq!(read("7. * Test it").map(|read| read.3), Some(false));
    }

    #[test]
    fn words_and_counts_are_not_numbers() {
        for text in [
            "Add it",
            "3 files are there",
            "3rd try",
            "1.5% of it",
            "10/2",
            "2026-01-02 started",
            "`1.1` is",
            "",
            "e.g. this",
            "S3 upload",
            "README.md exists",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
