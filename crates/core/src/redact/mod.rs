//! Secrets are taken out of whatever is written down: first the exact values that are known, then what has the shape
//! of a key. Everything else passes byte for byte.
//!
//! Output comes in pieces that end anywhere, so a [`Stream`] keeps back what may be the beginning of a secret, and no
//! more: the end is the same however the bytes were cut.

mod environment;
mod shapes;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

pub use environment::{is_secret, secrets_in, secrets_in_json};
use shapes::Shapes;

/// What stands where a secret stood.
pub const MARK: &str = "[redacted]";

/// A shorter value would also match ordinary words.
const SHORTEST: usize = 8;

/// Knows what to hide.
pub struct Redactor {
    values: Vec<Vec<u8>>,
    known: Option<AhoCorasick>,
    shapes: Shapes,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("values", &self.values.len()).finish_non_exhaustive()
    }
}

impl Redactor {
    /// One that hides these values, as they are and as JSON writes them, and everything that has the shape of a key.
    pub fn new(values: impl IntoIterator<Item = String>) -> Redactor {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for value in values {
            let value = value.trim();
            let quoted = serde_json::Value::from(value).to_string();
            let quoted = quoted.trim_matches('"');
            for form in [value, quoted] {
                if form.len() >= SHORTEST && !all.iter().any(|known| known == form.as_bytes()) {
                    all.push(form.as_bytes().to_vec());
                }
            }
        }
        // Without it only shapes are hidden, which is better than nothing: it can only be too large.
        let known = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&all)
            .ok()
            .filter(|_| !all.is_empty());
        Redactor { values: all, known, shapes: Shapes::new() }
    }

    pub fn stream(self: &Arc<Redactor>) -> Stream {
        Stream { redactor: Arc::clone(self), known: Known::default(), shaped: shapes::Held::default() }
    }

    /// A whole text without its secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let finds = self.known.as_ref().is_some_and(|known| known.is_match(text))
            || self.shapes.finds(text.as_bytes());
        if !finds {
            return Cow::Borrowed(text);
        }
        let bytes = self.bytes(text.as_bytes());
        // Values begin and end where characters do.
        Cow::Owned(
            String::from_utf8(bytes)
                .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()),
        )
    }

    /// The same of bytes.
    pub fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let (mut known, mut shaped) = (Known::default(), shapes::Held::default());
        let (mut between, mut out) = (Vec::with_capacity(bytes.len()), Vec::with_capacity(bytes.len()));
        known.push(self, bytes, Part::Last, &mut between);
        shaped.push(&self.shapes, &between, Part::Last, &mut out);
        out
    }

    /// Where the part of `bytes` begins that may be the beginning of a value: from there on it is kept back.
    fn open_from(&self, bytes: &[u8]) -> usize {
        let longest = self.values.iter().map(Vec::len).max().unwrap_or(0);
        let first = (bytes.len() + 1).saturating_sub(longest).min(bytes.len());
        let may_begin =
            |rest: &[u8]| self.values.iter().any(|value| value.len() > rest.len() && value.starts_with(rest));
        (first..bytes.len()).find(|at| may_begin(&bytes[*at..])).unwrap_or(bytes.len())
    }
}

/// A part of an output. The end of an earlier part may be the beginning of a secret, so it is kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Earlier,
    Last,
}

/// Output on its way to where it is written.
#[derive(Debug)]
pub struct Stream {
    redactor: Arc<Redactor>,
    known: Known,
    shaped: shapes::Held,
}

impl Stream {
    /// What may be written now that these bytes have come.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pass(bytes, Part::Earlier)
    }

    /// What was kept back: nothing more comes.
    pub fn finish(&mut self) -> Vec<u8> {
        self.pass(&[], Part::Last)
    }

    fn pass(&mut self, bytes: &[u8], part: Part) -> Vec<u8> {
        let (mut between, mut out) = (Vec::with_capacity(bytes.len()), Vec::with_capacity(bytes.len()));
        self.known.push(&self.redactor, bytes, part, &mut between);
        self.shaped.push(&self.redactor.shapes, &between, part, &mut out);
        out
    }
}

/// The search for known values. What overlaps is hidden as one.
#[derive(Default)]
struct Known {
    kept: Vec<u8>,
    /// How many of the first kept bytes belong to a secret whose mark is already written.
    covered: usize,
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").field("kept", &self.kept.len()).finish_non_exhaustive()
    }
}

impl Known {
    fn push(&mut self, redactor: &Redactor, bytes: &[u8], part: Part, out: &mut Vec<u8>) {
        let Some(known) = &redactor.known else { return out.extend_from_slice(bytes) };
        self.kept.extend_from_slice(bytes);
        let end = if part == Part::Last { self.kept.len() } else { redactor.open_from(&self.kept) };
        let mut found: Vec<(usize, usize)> =
            known.find_overlapping_iter(&self.kept).map(|found| (found.start(), found.end())).collect();
        found.sort_unstable();
        // Up to here everything is written, or hidden behind a mark that is.
        let mut done = self.covered;
        for (start, stop) in found.into_iter().filter(|(start, _)| *start < end) {
            // What begins earlier than that overlaps what the last mark stands for.
            if start >= done {
                out.extend_from_slice(&self.kept[done..start]);
                out.extend_from_slice(MARK.as_bytes());
            }
            done = done.max(stop);
        }
        if done < end {
            out.extend_from_slice(&self.kept[done..end]);
        }
        self.covered = done.saturating_sub(end);
        self.kept.drain(..end);
    }
}

#[cfg(test)]
mod tests;
