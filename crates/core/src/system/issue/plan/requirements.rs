//! `requirements.md`: what is asked for, and which tasks say that they fulfil it.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use serde::Serialize;

use crate::plan::TaskId;
use crate::system::kit::checklist::{self, Kind, number};
use crate::system::kit::outline::word::is_none;
use crate::system::kit::text::key;

/// More than this between two numbers is a slip.
const LONGEST_RANGE: u64 = 100;

/// Each criterion, in order, with the tasks that refer to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// `2.3` is the third criterion of requirement 2; `2` a requirement without any.
    pub key: String,
    pub requirement: String,
    pub text: String,
    /// Where it stands in `requirements.md`.
    #[serde(skip)]
    pub at: Range<usize>,
    pub tasks: Vec<TaskId>,
    /// Those of them that write tests.
    pub tests: Vec<TaskId>,
}

/// What can be referred to.
#[derive(Clone, Debug, Default)]
pub(super) struct Requirements {
    pub(super) coverage: Coverage,
    /// The rows behind a key, in lower case: of a requirement, all its criteria.
    keys: HashMap<String, Vec<usize>>,
    /// Headings, which a reference may name as well.
    headings: BTreeSet<String>,
}

/// A requirement whose criteria are being read.
struct Open {
    id: String,
    name: String,
    at: Range<usize>,
    level: u8,
    has_criteria: bool,
}

impl Requirements {
    pub(super) fn read(text: &str) -> Requirements {
        let mut requirements = Requirements::default();
        let list = checklist::scan(text);
        let mut current: Option<Open> = None;
        // The last criterion, which may continue, and its indentation.
        let mut last: Option<(usize, usize)> = None;
        for line in &list.lines {
            let said = text[line.text.clone()].trim();
            match &line.kind {
                Kind::Heading(level) => {
                    last = None;
                    requirements.headings.insert(key(said).to_lowercase());
                    let heading = requirement(said, *level);
                    if heading.is_some() || current.as_ref().is_some_and(|open| *level <= open.level) {
                        requirements.close(current.take());
                        let at = line.text.clone();
                        current = heading.map(|(id, name)| Open {
                            id,
                            name,
                            at,
                            level: *level,
                            has_criteria: false,
                        });
                    }
                }
                Kind::Bullet | Kind::Text | Kind::Item(_) => {
                    let whole = text[line.at.clone()].trim();
                    let counted =
                        number(said).or_else(|| number(whole).filter(|_| line.kind == Kind::Bullet));
                    let deeper = last.is_some_and(|(_, indent)| line.indent > indent);
                    match (&mut current, counted.filter(|_| !deeper)) {
                        (Some(open), Some((nth, rest))) if line.kind != Kind::Text || nth.contains('.') => {
                            let own =
                                if nth.contains('.') { nth.to_owned() } else { format!("{}.{nth}", open.id) };
                            open.has_criteria = true;
                            last = Some((requirements.add(&own, open, rest, line.text.clone()), line.indent));
                        }
                        _ => {
                            if let Some((row, _)) = last {
                                let text = &mut requirements.coverage.rows[row].text;
                                *text += " ";
                                *text += said;
                            }
                        }
                    }
                }
                Kind::Rule => last = None,
                _ => {}
            }
        }
        requirements.close(current);
        requirements
    }

    /// A requirement without criteria is one itself.
    fn close(&mut self, open: Option<Open>) {
        if let Some(open) = open.filter(|open| !open.has_criteria) {
            self.add(&open.id, &open, &open.name, open.at.clone());
        }
    }

    /// Headings of another document can be referred to as well.
    pub(super) fn know(&mut self, text: &str) {
        let list = checklist::scan(text);
        let headings = list.lines.iter().filter(|line| matches!(line.kind, Kind::Heading(_)));
        self.headings.extend(headings.map(|line| key(&text[line.text.clone()]).to_lowercase()));
    }

    fn add(&mut self, own: &str, open: &Open, text: &str, at: Range<usize>) -> usize {
        let row = self.coverage.rows.len();
        let (key, requirement, text) = (own.to_owned(), open.name.clone(), text.trim().to_owned());
        let (tasks, tests) = (Vec::new(), Vec::new());
        self.coverage.rows.push(Row { key, requirement, text, at, tasks, tests });
        for key in BTreeSet::from([own.to_lowercase(), open.id.to_lowercase()]) {
            self.keys.entry(key).or_default().push(row);
        }
        row
    }

    /// The rows that a list of references names, and the parts of it that name nothing.
    pub(super) fn resolve<'t>(&self, said: &'t str) -> (BTreeSet<usize>, Vec<&'t str>) {
        let (mut rows, mut unknown) = (BTreeSet::new(), Vec::new());
        for part in parts(said) {
            let bare = unworded(part);
            if is_none(bare) {
                continue;
            }
            if bare.eq_ignore_ascii_case("all") {
                rows.extend(0..self.coverage.rows.len());
                continue;
            }
            let named: Vec<Option<&Vec<usize>>> =
                expand(bare, |id| self.keys.contains_key(&id.to_lowercase()))
                    .iter()
                    .map(|id| self.keys.get(&id.to_lowercase()))
                    .collect();
            let heading = key(part).to_lowercase();
            let known = named.iter().all(Option::is_some) && !named.is_empty();
            rows.extend(named.into_iter().flatten().flatten());
            if !known && !self.headings.contains(&heading) {
                unknown.push(part);
            }
        }
        (rows, unknown)
    }
}

/// The parts of a list: between commas, semicolons, `&` and `and`.
pub(super) fn parts(said: &str) -> impl Iterator<Item = &str> {
    said.split([',', ';', '&', '\u{ff0c}', '\u{3001}'])
        .flat_map(|part| part.split(" and "))
        .map(|part| part.trim_matches(|c: char| c.is_whitespace() || "*_`()[].".contains(c)))
        .filter(|part| !part.is_empty())
}

/// Without a word before the number, such as `Requirement 4.5` or `AC 4.5`.
fn unworded(part: &str) -> &str {
    let words =
        ["requirements", "requirement", "reqs", "req", "criteria", "criterion", "ac", "and", "task", "tasks"];
    let first = part.split([' ', '.', '#', '\u{a0}']).next().unwrap_or_default();
    if words.iter().any(|word| first.eq_ignore_ascii_case(word)) {
        let rest = part[first.len()..].trim_start_matches(|c: char| c.is_whitespace() || ".#:".contains(c));
        return if rest.is_empty() { part } else { rest };
    }
    part
}

/// A single key, or every one of a range such as `1.1-1.7`.
pub(super) fn expand(part: &str, known: impl Fn(&str) -> bool) -> Vec<String> {
    let single = || vec![part.to_owned()];
    if known(part) {
        return single();
    }
    let split = part.split_once(['-', '–', '—', '\u{2011}']).or_else(|| part.split_once(" to "));
    let Some((from, to)) = split.map(|(from, to)| (from.trim(), to.trim())) else { return single() };
    let (stem, first) = from.rsplit_once('.').map_or(("", from), |(stem, last)| (stem, last));
    let (other, last) = to.rsplit_once('.').map_or((stem, to), |(stem, last)| (stem, last));
    let (Ok(first), Ok(last)) = (first.parse::<u64>(), last.parse::<u64>()) else { return single() };
    if stem != other || last < first || last - first > LONGEST_RANGE {
        return single();
    }
    let stem = if stem.is_empty() { String::new() } else { format!("{stem}.") };
    (first..=last).map(|nth| format!("{stem}{nth}")).collect()
}

/// The key and the name of a requirement that a heading begins.
fn requirement(heading: &str, level: u8) -> Option<(String, String)> {
    let plain = heading.trim_matches(['*', '_', ' ']);
    let word = "requirement";
    let worded = plain.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    let rest = if worded { plain[word.len()..].trim_start_matches([' ', '\u{a0}', '#', '-']) } else { plain };
    let (id, name) = number(rest)?;
    let name = name.trim_start_matches(|c: char| c.is_whitespace() || "-–—:".contains(c));
    let lettered = id.starts_with(|c: char| c.is_ascii_alphabetic());
    (worded || lettered || level >= 3).then(|| (id.to_owned(), name.trim().to_owned()))
}
