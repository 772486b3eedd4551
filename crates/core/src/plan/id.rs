//! Names that come from outside, validated once into types that cannot hurt: they become file names,
//! branch names and arguments, so they hold no separators, control characters or leading dashes.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Longest id: it must fit, with prefixes and suffixes, in a file name and a ref name.
const LONGEST: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadId {
    #[error("it is empty")]
    Empty,
    #[error("it has {0} characters; {LONGEST} are allowed")]
    TooLong(usize),
    #[error("it starts with {0:?}; an id starts with a letter or a digit")]
    Start(char),
    #[error("it holds {0:?}; letters, digits and `. _ - # @` are allowed")]
    Character(char),
    #[error("it holds `..`")]
    DotDot,
    #[error("it ends with {0:?}, which git or a file system would not take")]
    End(String),
    #[error("{0:?} is a device name on Windows")]
    Reserved(String),
    #[error("it is not a git object id")]
    NotAnObject,
    #[error("it is absolute, or leaves the project")]
    Outside,
    #[error("it starts with a dash, which programs take for an option")]
    Dash,
}

/// A task's id as the plan spells it. Ordered as people count: `T9` before `T10`.
#[derive(Clone, Eq)]
pub struct TaskId(Arc<str>, u64);

impl TaskId {
    pub fn new(text: &str) -> Result<TaskId, BadId> {
        safe_name(text)?;
        Ok(TaskId(text.into(), beginning(text)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key under which two ids are the same folder on a case-insensitive file system.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// A run's id: the plan's name and a few characters that make it unique.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RunId(Arc<str>);

impl RunId {
    pub fn new(text: &str) -> Result<RunId, BadId> {
        safe_name(text)?;
        Ok(RunId(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A group's name: a layer, a batch, a phase.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct GroupId(Arc<str>);

impl GroupId {
    pub fn new(text: &str) -> Result<GroupId, BadId> {
        safe_name(text)?;
        Ok(GroupId(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A git object id, as git prints it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Oid(Arc<str>);

impl Oid {
    pub fn new(text: &str) -> Result<Oid, BadId> {
        let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if hex && matches!(text.len(), 40 | 64) { Ok(Oid(text.into())) } else { Err(BadId::NotAnObject) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form for people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

/// A path inside the project, with `/` between its parts and no way out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RepoPath(Arc<str>);

impl RepoPath {
    pub fn new(text: &str) -> Result<RepoPath, BadId> {
        let slashed = text.replace('\\', "/");
        let mut path = slashed.as_str();
        while let Some(rest) = path.strip_prefix("./") {
            path = rest;
        }
        if path.is_empty() {
            return Err(BadId::Empty);
        }
        if let Some(c) = path.chars().find(|c| c.is_control()) {
            return Err(BadId::Character(c));
        }
        let drive = path.as_bytes().get(1) == Some(&b':');
        if path.starts_with('/') || drive || path.split('/').any(|part| part == "..") {
            return Err(BadId::Outside);
        }
        if path.starts_with('-') {
            return Err(BadId::Dash);
        }
        Ok(RepoPath(path.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name that is safe as one path component, one ref component and one argument.
fn safe_name(text: &str) -> Result<(), BadId> {
    let Some(first) = text.chars().next() else { return Err(BadId::Empty) };
    let count = text.chars().count();
    if count > LONGEST {
        return Err(BadId::TooLong(count));
    }
    if !first.is_ascii_alphanumeric() {
        return Err(BadId::Start(first));
    }
    if let Some(c) = text.chars().find(|&c| !c.is_ascii_alphanumeric() && !"._-#@".contains(c)) {
        return Err(BadId::Character(c));
    }
    if text.contains("..") {
        return Err(BadId::DotDot);
    }
    // All of it is ASCII from here on, so it can be cut anywhere.
    for end in [".", ".lock"] {
        let at = text.len().saturating_sub(end.len());
        if text[at..].eq_ignore_ascii_case(end) {
            return Err(BadId::End(end.to_owned()));
        }
    }
    let stem = text.split('.').next().unwrap_or_default();
    let device = |name: &&str| stem.eq_ignore_ascii_case(name);
    let numbered = |name: &&str| {
        stem.len() == 4 && stem[..3].eq_ignore_ascii_case(name) && stem.as_bytes()[3].is_ascii_digit()
    };
    if ["con", "prn", "aux", "nul"].iter().any(device) || ["com", "lpt"].iter().any(numbered) {
        return Err(BadId::Reserved(text.to_owned()));
    }
    Ok(())
}

impl Ord for TaskId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.1.cmp(&other.1).then_with(|| natural(&self.0, &other.0))
    }
}

impl PartialEq for TaskId {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1 && self.0 == other.0
    }
}

impl Hash for TaskId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Serialize for TaskId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The first eight bytes of a key whose bytes are ordered as ids are: a number is its length and its digits. Maps of
/// ids compare them all the time, and these bytes save a look at the text, which is elsewhere in memory.
fn beginning(text: &str) -> u64 {
    let (mut key, mut at, mut rest) = ([0; 8], 0, text.as_bytes());
    let mut push = |byte: u8| {
        if at < key.len() {
            key[at] = byte;
            at += 1;
        }
    };
    while let Some(&first) = rest.first() {
        if first.is_ascii_digit() {
            let (digits, after) = number(rest);
            // Against anything but a digit every digit compares alike, so one stands for all.
            push(b'0');
            push(u8::try_from(digits.len()).unwrap_or(u8::MAX));
            digits.iter().for_each(|digit| push(*digit));
            rest = after;
        } else {
            push(first);
            rest = &rest[1..];
        }
    }
    u64::from_be_bytes(key)
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compare runs of digits as numbers and the rest as text; equal only for equal strings.
fn natural(a: &str, b: &str) -> Ordering {
    // Ids of a plan are much alike, and a map of them compares all the time. So their common beginning is skipped,
    // except for the digits of a number that continues after it.
    let (x, y) = (a.as_bytes(), b.as_bytes());
    let Some(differ) = x.iter().zip(y).position(|(c, d)| c != d) else { return x.len().cmp(&y.len()) };
    let shared = x[..differ].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    by_numbers(&x[shared..], &y[shared..]).then_with(|| a.cmp(b))
}

/// Numbers that differ in leading zeros only are equal here.
fn by_numbers(mut x: &[u8], mut y: &[u8]) -> Ordering {
    loop {
        match (x.first(), y.first()) {
            (Some(c), Some(d)) if c.is_ascii_digit() && d.is_ascii_digit() => {
                let (m, rest_x) = number(x);
                let (n, rest_y) = number(y);
                let order = m.len().cmp(&n.len()).then_with(|| m.cmp(n));
                if order.is_ne() {
                    return order;
                }
                (x, y) = (rest_x, rest_y);
            }
            (Some(c), Some(d)) if c == d => (x, y) = (&x[1..], &y[1..]),
            (None, None) => return Ordering::Equal,
            (c, d) => return c.cmp(&d),
        }
    }
}

/// The leading digits without their leading zeros, and what follows.
fn number(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let zeros = digits.iter().position(|&b| b != b'0').unwrap_or(digits.len());
    (&digits[zeros..], rest)
}

macro_rules! text_type {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        /// Reading validates again: a journal or a spec on disk is not trusted more than a plan.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                $name::new(&text).map_err(serde::de::Error::custom)
            }
        }

        impl std::str::FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                $name::new(text)
            }
        }
    )*};
}

text_type!(TaskId, RunId, GroupId, Oid, RepoPath);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_ids_are_refused_with_the_reason() {
        let long = "x".repeat(300);
        let cases = [
            "", "../../x", "-rf", "con", "COM1.txt", "T1/x", "T 1", "🧗", "T1.", "a.lock", "a..b", "T\u{7}",
            ".x", "@{u}", &long,
        ];
        let said: Vec<String> = cases
            .iter()
            .map(|text| {
                format!(
                    "{:.12}: {}",
                    text.escape_default().to_string(),
                    TaskId::new(text).expect_err("must be refused")
                )
            })
            .collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        : it is empty
        ../../x: it starts with '.'; an id starts with a letter or a digit
        -rf: it starts with '-'; an id starts with a letter or a digit
        con: "con" is a device name on Windows
        COM1.txt: "COM1.txt" is a device name on Windows
        T1/x: it holds '/'; letters, digits and `. _ - # @` are allowed
        T 1: it holds ' '; letters, digits and `. _ - # @` are allowed
        \u{1f9d7}: it starts with '🧗'; an id starts with a letter or a digit
        T1.: it ends with ".", which git or a file system would not take
        a.lock: it ends with ".lock", which git or a file system would not take
        a..b: it holds `..`
        T\u{7}: it holds '\u{7}'; letters, digits and `. _ - # @` are allowed
        .x: it starts with '.'; an id starts with a letter or a digit
        @{u}: it starts with '@'; an id starts with a letter or a digit
        xxxxxxxxxxxx: it has 300 characters; 100 are allowed
        "#);
    }

    #[test]
    fn ids_order_as_people_count() {
        let mut ids: Vec<TaskId> =
            ["1.10", "T10", "1.9", "T9", "2", "10", "L2-003", "L2-3", "T09", "L10-001"]
                .iter()
                .map(|text| TaskId::new(text).expect("valid"))
                .collect();
        ids.sort();
        assert_eq!(format!("{ids:?}"), "[1.9, 1.10, 2, 10, L2-003, L2-3, L10-001, T09, T9, T10]");
    }

    #[test]
    fn paths_stay_inside() {
        assert_eq!(RepoPath::new("./a\\b.rs").expect("valid").as_str(), "a/b.rs");
        for bad in ["/etc/passwd", "a/../../b", "C:\\x", "", "a\0b", "-x", "./-x", ".\\-x"] {
            assert!(RepoPath::new(bad).is_err(), "{bad:?}");
        }
        assert!(RepoPath::new("..a/b..").is_ok());
        assert_eq!(RepoPath::new("././a").expect("valid").as_str(), "a", "a path has one spelling");
    }

    proptest::proptest! {
        #[test]
        fn the_order_is_total(a in "[0-9a-zA-Z.#-]{1,8}", b in "[0-9a-zA-Z.#-]{1,8}", c in "[0-9a-zA-Z.#-]{1,8}") {
            use proptest::prop_assert;
            prop_assert!(natural(&a, &b) == natural(&b, &a).reverse());
            let from_the_start = by_numbers(a.as_bytes(), b.as_bytes()).then_with(|| a.cmp(&b));
            prop_assert!(natural(&a, &b) == from_the_start, "what is shared says nothing");
            prop_assert!((natural(&a, &b) == Ordering::Equal) == (a == b));
            let by_beginning = beginning(&a).cmp(&beginning(&b)).then_with(|| natural(&a, &b));
            prop_assert!(by_beginning == natural(&a, &b), "{a} and {b}");
            if natural(&a, &b).is_le() && natural(&b, &c).is_le() {
                prop_assert!(natural(&a, &c).is_le());
            }
        }
    }
}
