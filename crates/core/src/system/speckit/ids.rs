//! Ids of tasks in a text: `T001`, `T068A`, `T028.1`, `T-HF04`, and ranges of them.

use std::ops::Range;

/// One id, or all from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) first: String,
    /// The other end of a range.
    pub(super) last: Option<String>,
    pub(super) at: Range<usize>,
}

/// How many bytes of a text are an id.
pub(super) fn id_at(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let run = |from: usize, is: fn(&u8) -> bool| bytes[from..].iter().take_while(|byte| is(byte)).count();
    if bytes.first() != Some(&b'T') {
        return None;
    }
    // `T-HF04`, or plain digits: three at least, as many as Spec Kit writes.
    let letters = if bytes.get(1) == Some(&b'-') { 1 + run(2, u8::is_ascii_uppercase) } else { 0 };
    let digits = run(1 + letters, u8::is_ascii_digit);
    let mut end = 1 + letters + digits;
    let is_one = if letters > 0 { letters <= 5 && digits >= 1 } else { digits >= 3 };
    if !is_one || digits > 9 {
        return None;
    }
    if bytes.get(end).is_some_and(u8::is_ascii_alphabetic)
        && !bytes.get(end + 1).is_some_and(u8::is_ascii_alphanumeric)
    {
        end += 1;
    }
    let part = if bytes.get(end) == Some(&b'.') { run(end + 1, u8::is_ascii_digit) } else { 0 };
    if (1..=3).contains(&part) {
        end += 1 + part;
    }
    let is_over = !bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    is_over.then_some(end)
}

/// All ids and ranges in a text, in order.
pub(super) fn ids_in(text: &str) -> Vec<Named> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find('T').map(|start| at + start) {
        let is_inside = text[..start].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let Some(length) = id_at(&text[start..]).filter(|_| !is_inside) else {
            at = start + 1;
            continue;
        };
        let mut end = start + length;
        let first = text[start..end].to_owned();
        let last = range_end(&text[end..], &first).map(|(last, length)| {
            end += length;
            last
        });
        found.push(Named { first, last, at: start..end });
        at = end;
    }
    found
}

/// The end of a range that goes on here, such as `-T012`, `–T012`, `-012` or ` to T012`, and how long that is.
fn range_end(text: &str, first: &str) -> Option<(String, usize)> {
    let bare = text.trim_start_matches([' ', '*', '`']);
    let sign = ["..", "…", "-", "–", "—", "‑", "to ", "through ", "~"]
        .iter()
        .find(|sign| bare.starts_with(**sign))?;
    let rest = bare[sign.len()..].trim_start_matches([' ', '*', '`', '.']);
    let from = text.len() - rest.len();
    if let Some(length) = id_at(rest) {
        return Some((rest[..length].to_owned(), from + length));
    }
    // `T022-025` says the letter once. A dash before a year or a word says something else.
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let same = first.len() == digits + 1 && *sign == "-" && !bare.starts_with("- ");
    let is_over = !rest[digits..].starts_with(|c: char| c.is_alphanumeric() || c == '-');
    (same && digits >= 3 && is_over).then(|| (format!("T{}", &rest[..digits]), from + digits))
}

/// What stands before the number of an id, the number, and what stands behind it.
pub(super) fn numbered(id: &str) -> Option<(&str, u64, &str)> {
    let start = id.find(|c: char| c.is_ascii_digit())?;
    let end = id[start..].find(|c: char| !c.is_ascii_digit()).map_or(id.len(), |end| start + end);
    Some((&id[..start], id[start..end].parse().ok()?, &id[end..]))
}
