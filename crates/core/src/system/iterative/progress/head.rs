//! The heading of an entry: `T1 - Iteration 2 - 2026-01-14T10:30:00Z`, however it is spelled.

use std::fmt;

use crate::plan::TaskId;
use crate::system::kit::entries;
use crate::system::kit::mojibake;

/// What an entry is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An iteration of a unit.
    Iteration,
    /// Checks that were run.
    Tests,
    Fix,
    Revise,
    Review,
    /// Anything else.
    #[default]
    Other,
}

/// Words that stand in place of a unit.
const WORDS: [(&str, Kind); 8] = [
    ("tests", Kind::Tests),
    ("test", Kind::Tests),
    ("fix", Kind::Fix),
    ("fixes", Kind::Fix),
    ("revise", Kind::Revise),
    ("revision", Kind::Revise),
    ("review", Kind::Review),
    ("reviews", Kind::Review),
];

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Head {
    pub kind: Kind,
    pub unit: Option<TaskId>,
    /// As its writer counted: a number may come twice, or out of order.
    pub number: Option<u32>,
    /// As it is written, if it is.
    pub time: Option<String>,
}

/// As this system writes it. One that is about anything else has words of its own.
impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, &self.unit) {
            (Kind::Iteration | Kind::Other, Some(unit)) => write!(f, "{unit}")?,
            (Kind::Iteration | Kind::Other, None) => f.write_str("Note")?,
            (Kind::Tests, _) => f.write_str("Tests")?,
            (Kind::Fix, _) => f.write_str("Fix")?,
            (Kind::Revise, _) => f.write_str("Revise")?,
            (Kind::Review, _) => f.write_str("Review")?,
        }
        if let Some(number) = self.number {
            write!(f, " - Iteration {number}")?;
        }
        match &self.time {
            Some(time) => write!(f, " - {time}"),
            None => Ok(()),
        }
    }
}

/// Whether a line begins an entry: a heading of the second level, or one that can be nothing else.
pub(super) fn begins(line: &str) -> bool {
    let title = line.trim_start();
    let is_iteration = || {
        let depth = title.len() - title.trim_start_matches('#').len();
        let is_heading = line.len() - title.len() <= 3 && (1..=4).contains(&depth);
        is_heading && {
            let head = head(&title[depth..]);
            head.kind == Kind::Iteration && head.number.is_some()
        }
    };
    entries::heading(line).is_some() || is_iteration()
}

/// Read what stands in a heading.
pub(super) fn head(title: &str) -> Head {
    let plain: String = mojibake::understood(title)
        .chars()
        .map(|c| match c {
            // Typographic dashes stand between parts, never in an id or a time.
            '\u{2010}'..='\u{2015}' | '\u{2212}' | '|' | '·' | '•' | '→' => ' ',
            '*' | '`' | '[' | ']' | '(' | ')' | '#' | '\u{200b}' | '\u{feff}' => ' ',
            '：' => ':',
            c => c,
        })
        .collect();
    let trim = |token: &'_ str| token.trim_matches(['-', ':', ',', ';', '.']).to_owned();
    let mut tokens: Vec<String> =
        plain.split_whitespace().map(trim).filter(|token| token.contains(char::is_alphanumeric)).collect();
    let is = |token: Option<&String>, words: &[&str]| {
        token.is_some_and(|token| words.iter().any(|word| token.eq_ignore_ascii_case(word)))
    };
    // `Task T1`, `Phase R1`.
    if is(tokens.first(), &["task", "phase", "unit"]) && tokens.get(1).and_then(|token| unit(token)).is_some()
    {
        tokens.remove(0);
    }
    let mut tokens = tokens.into_iter().peekable();
    let mut head = Head::default();
    let Some(first) = tokens.next() else { return head };
    match WORDS.iter().find(|(word, _)| first.eq_ignore_ascii_case(word)) {
        Some((_, kind)) => {
            head.kind = *kind;
            let lettered = |token: &String| token.starts_with(|c: char| c.is_alphabetic());
            let named = tokens.peek().filter(|token| lettered(token) && counted(token).is_none());
            if let Some(id) = named.and_then(|token| unit(token)) {
                head.unit = Some(id);
                tokens.next();
            }
        }
        None => match unit(&first) {
            Some(id) => head.unit = Some(id),
            None => return head,
        },
    }
    let Some(number) = tokens.peek().and_then(|token| counted(token)) else {
        head.time = time(tokens);
        return head;
    };
    tokens.next();
    head.number = match number {
        Counted::Here(number) => Some(number),
        Counted::Next => tokens.next_if(|token| amount(token).is_some()).and_then(|token| amount(&token)),
    };
    if head.unit.is_some() && head.kind == Kind::Other {
        head.kind = Kind::Iteration;
    }
    if tokens.next_if(|token| token.eq_ignore_ascii_case("of")).is_some() {
        tokens.next_if(|token| amount(token).is_some());
    }
    head.time = time(tokens);
    head
}

/// A unit's id has a number in it: `T1`, `R2`, `US-001`.
fn unit(token: &str) -> Option<TaskId> {
    TaskId::new(token).ok().filter(|_| token.contains(|c: char| c.is_ascii_digit()))
}

enum Counted {
    Next,
    Here(u32),
}

/// `Iteration`, `Iter`, `iter2`, `it.`
fn counted(token: &str) -> Option<Counted> {
    let lower = token.to_lowercase();
    let word = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let known = matches!(word.trim_end_matches(['.', '-', '_']), "iteration" | "iter" | "it" | "itr");
    match lower[word.len()..].parse() {
        Ok(number) if known => Some(Counted::Here(number)),
        _ => (known && word.len() == lower.len()).then_some(Counted::Next),
    }
}

/// `2`, `2/5`.
fn amount(token: &str) -> Option<u32> {
    token.split('/').next().and_then(|number| number.parse().ok())
}

/// Whatever is left, if a number is in it: a template's `{timestamp}` is not a time.
fn time(tokens: impl Iterator<Item = String>) -> Option<String> {
    let time = tokens.collect::<Vec<_>>().join(" ");
    time.contains(|c: char| c.is_ascii_digit()).then_some(time)
}
