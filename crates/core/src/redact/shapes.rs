//! Keys that are known by how they look: a beginning that nothing else has, and enough signs after it.

use std::fmt;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind, PatternID};
use regex::bytes::{Match, Regex, RegexBuilder};

use super::{MARK, Part};

/// One kind of key.
struct Shape {
    /// How it begins.
    start: &'static str,
    /// The rest, as a regular expression.
    rest: &'static str,
    /// Bytes that belong to it once it was known.
    goes_on: fn(u8) -> bool,
    /// Bytes that may stand in it before it is known, and how many there are at most by then, its start included.
    may_hold: fn(u8) -> bool,
    most: usize,
}

const fn key(start: &'static str, rest: &'static str, body: fn(u8) -> bool) -> Shape {
    Shape { start, rest, goes_on: body, may_hold: body, most: 128 }
}

const SHAPES: [Shape; 27] = [
    key("sk-ant-", "[A-Za-z0-9_-]{20,}", is_dashed),
    key("sk-proj-", "[A-Za-z0-9_-]{20,}", is_dashed),
    key("sk-svcacct-", "[A-Za-z0-9_-]{20,}", is_dashed),
    key("sk-admin-", "[A-Za-z0-9_-]{20,}", is_dashed),
    key("sk-or-v1-", "[A-Za-z0-9_-]{20,}", is_dashed),
    key("sk-", "[A-Za-z0-9]{24,}", is_plain),
    key("sk_live_", "[A-Za-z0-9]{16,}", is_plain),
    key("ghp_", "[A-Za-z0-9]{30,}", is_plain),
    key("gho_", "[A-Za-z0-9]{30,}", is_plain),
    key("ghu_", "[A-Za-z0-9]{30,}", is_plain),
    key("ghs_", "[A-Za-z0-9]{30,}", is_plain),
    key("ghr_", "[A-Za-z0-9]{30,}", is_plain),
    key("github_pat_", "[A-Za-z0-9_]{30,}", is_dashed),
    key("glpat-", "[A-Za-z0-9_-]{20,}", is_dashed),
    key("xoxb-", "[A-Za-z0-9-]{20,}", is_dashed),
    key("xoxp-", "[A-Za-z0-9-]{20,}", is_dashed),
    key("xoxa-", "[A-Za-z0-9-]{20,}", is_dashed),
    key("xapp-", "[A-Za-z0-9-]{20,}", is_dashed),
    key("AKIA", "[A-Z0-9]{16,}", is_plain),
    key("ASIA", "[A-Z0-9]{16,}", is_plain),
    key("AIza", "[A-Za-z0-9_-]{35,}", is_dashed),
    key("npm_", "[A-Za-z0-9]{30,}", is_plain),
    key("pypi-", "[A-Za-z0-9_-]{50,}", is_dashed),
    key("hf_", "[A-Za-z0-9]{30,}", is_plain),
    key("ya29.", "[A-Za-z0-9_-]{30,}", is_dashed),
    // A signed token: two parts of JSON in base64 and a signature.
    Shape {
        start: "eyJ",
        rest: r"[A-Za-z0-9_-]{10,600}\.eyJ[A-Za-z0-9_-]{10,}",
        goes_on: is_dotted,
        may_hold: is_dotted,
        most: 640,
    },
    // A private key, also with its lines written as `\n`. A text that only mentions one has no base64 after it.
    Shape {
        start: "-----BEGIN ",
        rest: r"[A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\\\r\n]{40,}",
        goes_on: is_wrapped,
        may_hold: |byte| is_wrapped(byte) || matches!(byte, b' ' | b'-'),
        most: 128,
    },
];

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_dashed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_dotted(byte: u8) -> bool {
    is_dashed(byte) || byte == b'.'
}

fn is_wrapped(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b'\r' | b'\n')
}

/// The longest beginning that is kept back.
const LONGEST: usize = 640;
/// How far before a key the search for an escape goes: enough for the colour `\u001b[38;2;255;255;255m`.
const LONGEST_ESCAPE: usize = 32;

#[derive(Debug)]
pub(super) struct Shapes {
    /// How keys begin.
    starts: AhoCorasick,
    /// Made when something first begins like a key: most keepers, and there are many, never need it.
    all: OnceLock<Regex>,
}

impl Shapes {
    pub(super) fn new() -> Shapes {
        let starts = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(SHAPES.iter().map(|shape| shape.start));
        Shapes { starts: starts.expect("a few short texts can be searched for"), all: OnceLock::new() }
    }

    fn all(&self) -> &Regex {
        self.all.get_or_init(|| {
            let one = |shape: &Shape| regex::escape(shape.start) + shape.rest;
            let all: Vec<String> = SHAPES.iter().map(one).collect();
            let all = RegexBuilder::new(&all.join("|")).unicode(false).build();
            all.expect("the shapes above are regular expressions")
        })
    }

    pub(super) fn finds(&self, bytes: &[u8]) -> bool {
        self.find_at(bytes, 0).is_some()
    }

    /// The first key from `at` on.
    fn find_at<'b>(&self, bytes: &'b [u8], at: usize) -> Option<Match<'b>> {
        let mut starts = self.starts.find_overlapping_iter(&bytes[at..]);
        let begins = starts.any(|found| may_begin(bytes, at + found.start(), shape(found.pattern()).start));
        let mut from = at;
        while begins && let Some(found) = self.all().find_at(bytes, from) {
            let start = shape_of(found.as_bytes())?.start;
            if may_begin(bytes, found.start(), start) {
                return Some(found);
            }
            from = found.start() + 1;
        }
        None
    }
}

fn shape(pattern: PatternID) -> &'static Shape {
    &SHAPES[pattern.as_usize()]
}

/// Whether a key may begin there: `task-…` is not a key, although it contains `sk-`.
fn may_begin(bytes: &[u8], at: usize, start: &str) -> bool {
    at == 0
        || !is_word(bytes[at - 1])
        || !is_word(start.as_bytes()[0])
        || ends_in_escape(&bytes[at.saturating_sub(LONGEST_ESCAPE)..at])
}

/// Signs that stand for something else, so that their last letter is not part of a word: a line end in JSON (`\n`), a sign by
/// its number (`\u003d`, `\x3d`, `%3D`), or a colour of the terminal, whose start is written in one of these ways or is there
/// itself.
fn ends_in_escape(bytes: &[u8]) -> bool {
    static ESCAPES: OnceLock<Regex> = OnceLock::new();
    let escapes = ESCAPES.get_or_init(|| {
        let number = r"\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[0-7]{3}";
        let all = format!(r"(?:\\[abfnrtv0]|{number}|%[0-9A-Fa-f]{{2}}|(?:{number}|\\e|\x1b)\[[0-9;]*m)$");
        RegexBuilder::new(&all).unicode(false).build().expect("a regular expression")
    });
    escapes.is_match(bytes)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The shape that a match is of: the longest beginning it has.
fn shape_of(found: &[u8]) -> Option<&'static Shape> {
    let of = SHAPES.iter().filter(|shape| found.starts_with(shape.start.as_bytes()));
    of.max_by_key(|shape| shape.start.len())
}

/// The search for shapes in pieces of a stream.
#[derive(Default)]
pub(super) struct Held {
    /// What may yet become a key, with some bytes before it, which show whether a word begins there.
    kept: Vec<u8>,
    /// How many of them are out already: those before it.
    out: usize,
    /// Inside a key that was found: these bytes still belong to it.
    inside: Option<fn(u8) -> bool>,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("kept", &self.kept.len()).finish_non_exhaustive()
    }
}

impl Held {
    pub(super) fn push(&mut self, shapes: &Shapes, bytes: &[u8], part: Part, out: &mut Vec<u8>) {
        self.kept.extend_from_slice(bytes);
        let (kept, mut at) = (std::mem::take(&mut self.kept), self.out);
        loop {
            if let Some(inside) = self.inside {
                at += kept[at..].iter().take_while(|byte| inside(**byte)).count();
                if at == kept.len() {
                    break;
                }
                self.inside = None;
            }
            let open = if part == Part::Last { kept.len() } else { open_from(&kept, at) };
            match shapes.find_at(&kept, at).filter(|found| found.start() <= open) {
                Some(found) => {
                    out.extend_from_slice(&kept[at..found.start()]);
                    out.extend_from_slice(MARK.as_bytes());
                    at = found.end();
                    self.inside = shape_of(found.as_bytes()).map(|shape| shape.goes_on);
                }
                None => {
                    out.extend_from_slice(&kept[at..open]);
                    at = open;
                    break;
                }
            }
        }
        self.out = at.min(LONGEST_ESCAPE);
        self.kept = kept[at - self.out..].to_vec();
    }
}

/// Where the earliest part begins that reaches to the end and may yet become a key.
fn open_from(bytes: &[u8], at: usize) -> usize {
    let first = at.max(bytes.len().saturating_sub(LONGEST));
    let is_open = |from: usize| {
        let rest = &bytes[from..];
        SHAPES.iter().filter(|shape| may_begin(bytes, from, shape.start)).any(|shape| {
            let start = shape.start.as_bytes();
            start.starts_with(rest)
                || (rest.len() <= shape.most
                    && rest.starts_with(start)
                    && rest[start.len()..].iter().all(|byte| (shape.may_hold)(*byte)))
        })
    };
    (first..bytes.len()).find(|from| is_open(*from)).unwrap_or(bytes.len())
}
