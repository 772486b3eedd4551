//! JSON as people write it in settings: with comments, and with a comma behind the last of a list.

use std::ops::Range;

/// What a file holds besides JSON.
pub(super) struct Relaxed {
    /// The same text with spaces in place of all that: everything stands where it stood.
    pub(super) plain: String,
    pub(super) comments: Vec<Range<usize>>,
    /// Commas behind the last member or item.
    commas: Vec<usize>,
}

impl Relaxed {
    pub(super) fn of(text: &str) -> Relaxed {
        let comments = comments(text);
        let mut plain = text.as_bytes().to_vec();
        for byte in comments.iter().flat_map(|at| plain_range(text, at)) {
            plain[byte] = b' ';
        }
        let commas = last_commas(&plain);
        for at in &commas {
            plain[*at] = b' ';
        }
        // Whole comments are blanked, so no letter is cut in two.
        Relaxed { plain: String::from_utf8(plain).unwrap_or_else(|_| text.to_owned()), comments, commas }
    }

    /// The comma that stands behind the last one, which ends at `end`.
    pub(super) fn comma_behind(&self, end: usize) -> Option<usize> {
        let next = self.commas.iter().copied().find(|at| *at >= end)?;
        self.plain[end..next].trim().is_empty().then_some(next)
    }

    /// This place, or the end of the comment that it is in.
    pub(super) fn out_of_comment(&self, at: usize) -> usize {
        self.comments.iter().find(|comment| comment.start < at && at < comment.end).map_or(at, |it| it.end)
    }
}

/// The places of a comment that are blanked: its lines stay lines.
fn plain_range<'t>(text: &'t str, at: &Range<usize>) -> impl Iterator<Item = usize> + use<'t> {
    at.clone().filter(|byte| !matches!(text.as_bytes()[*byte], b'\n' | b'\r'))
}

/// Where comments stand. A comment without an end does not count: the file breaks off there.
fn comments(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut found, mut at, mut quoted) = (Vec::new(), 0, false);
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'\\', _) if quoted => at += 1,
            (b'"', _) => quoted = !quoted,
            (b'/', Some(b'/')) if !quoted => {
                let line = &text[at..];
                let end = at + line.find(['\n', '\r']).unwrap_or(line.len());
                found.push(at..end);
                at = end;
                continue;
            }
            (b'/', Some(b'*')) if !quoted => {
                let Some(end) = text[at + 2..].find("*/").map(|end| at + 2 + end + 2) else { break };
                found.push(at..end);
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Commas behind the last one of a list. One with nothing before it is a mistake, and stays.
fn last_commas(plain: &[u8]) -> Vec<usize> {
    let (mut found, mut comma, mut quoted, mut escaped) = (Vec::new(), None, false, false);
    let mut follows_value = false;
    for (at, byte) in plain.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => (quoted, comma, follows_value) = (!quoted, None, true),
            _ if quoted => {}
            b',' => (comma, follows_value) = (follows_value.then_some(at), false),
            b'}' | b']' => {
                found.extend(comma.take());
                follows_value = true;
            }
            b'{' | b'[' => (comma, follows_value) = (None, false),
            byte if byte.is_ascii_whitespace() => {}
            _ => (comma, follows_value) = (None, true),
        }
    }
    found
}
