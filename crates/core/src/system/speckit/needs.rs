//! What waits for what: clauses of a task, and the lines of a "Dependencies" section that leave no doubt. An edge needs
//! ids on both sides; everything else is prose.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::ids::{Named, ids_in, numbered};
use super::line::needs_word;
use crate::diagnostic::Diagnostic;
use crate::system::kit::checklist::{Checklist, Kind};
use crate::system::kit::draft::{Entries, Need};
use crate::view::counted;

/// The most tasks that ranges of one file may stand for: more would take too long.
const MOST: usize = 100_000;

/// The ids of a file, in its order.
#[derive(Debug, Default)]
pub(super) struct Known {
    ids: Vec<String>,
    all: HashSet<String>,
    /// By what stands before the number: the numbers with the positions of their ids.
    series: HashMap<String, BTreeMap<u64, Vec<usize>>>,
    left: usize,
}

impl Known {
    pub(super) fn new(ids: Vec<String>) -> Known {
        let mut series: HashMap<String, BTreeMap<u64, Vec<usize>>> = HashMap::new();
        for (nth, id) in ids.iter().enumerate() {
            if let Some((stem, number, _)) = numbered(id) {
                series.entry(stem.to_owned()).or_default().entry(number).or_default().push(nth);
            }
        }
        let all = ids.iter().cloned().collect();
        Known { ids, all, series, left: MOST }
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.all.contains(id)
    }

    /// The ids that a name stands for. A range stands for those that exist; an id that does not is named as it is.
    fn of(&mut self, named: &Named) -> Vec<String> {
        let Some(last) = &named.last else { return vec![named.first.clone()] };
        let ends = numbered(&named.first).zip(numbered(last));
        let Some(((stem, first, _), (other, last_number, _))) = ends.filter(|(from, to)| from.1 <= to.1)
        else {
            return vec![named.first.clone(), last.clone()];
        };
        if stem != other {
            return vec![named.first.clone(), last.clone()];
        }
        let Some(series) = self.series.get(stem) else { return Vec::new() };
        let all = series.range(first..=last_number).flat_map(|(_, all)| all.iter().copied());
        let mut ids: Vec<String> = all.take(self.left).map(|nth| self.ids[nth].clone()).collect();
        self.left -= ids.len();
        // An end that does not exist is said.
        ids.extend([&named.first, last].into_iter().filter(|end| !self.has(end)).cloned());
        ids
    }

    fn all(&mut self, text: &str, at: usize) -> Vec<Need> {
        let mut needs = Vec::new();
        for named in ids_in(text) {
            let place = at + named.at.start..at + named.at.end;
            needs.extend(self.of(&named).into_iter().map(|name| Need { name, at: place.clone() }));
        }
        needs
    }
}

/// What a part of a task's text says that it waits for: in parentheses, or as a line of its own.
pub(super) fn needs_in(text: &str, at: &Range<usize>, known: &mut Known) -> Vec<Need> {
    let said = &text[at.clone()];
    let mut needs = Vec::new();
    let mut clauses: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    while let Some(open) = said[from..].find('(').map(|open| from + open + 1) {
        let end = said[open..].find(')').map_or(said.len(), |end| open + end);
        clauses.push(open..end);
        from = end;
    }
    let begins = said.trim_start_matches(|c: char| !c.is_alphanumeric());
    if needs_word(begins).is_some_and(|end| begins[..end].split_whitespace().count() <= 2 && starts(begins)) {
        clauses.push(said.len() - begins.len()..said.len());
    }
    for clause in clauses {
        let Some(start) = needs_word(&said[clause.clone()]) else { continue };
        let start = clause.start + start;
        let list = &said[start..clause.end];
        needs.extend(known.all(&list[..length_of_list(list)], at.start + start));
    }
    needs
}

/// Whether a line begins with words for dependencies.
fn starts(line: &str) -> bool {
    let plain = line.to_ascii_lowercase();
    [
        "depends on",
        "depends upon",
        "depends:",
        "dependencies:",
        "dependency:",
        "deps:",
        "blocked by",
        "requires",
    ]
    .iter()
    .any(|word| plain.starts_with(word))
}

/// How much of a text is ids and what stands between them. Prose behind them says something else.
fn length_of_list(text: &str) -> usize {
    let mut end = 0;
    for named in ids_in(text) {
        let between = text[end..named.at.start].to_ascii_lowercase();
        let words = between.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
        let mut words =
            words.filter(|word| !["and", "or", "task", "tasks", "all", "of", "plus"].contains(word));
        if words.next().is_some() {
            break;
        }
        end = named.at.end;
    }
    end
}

/// What the "Dependencies" sections of a file say: who waits, and for whom.
pub(super) fn in_sections(
    list: &Checklist,
    entries: &Entries,
    text: &str,
    known: &mut Known,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(String, Need)> {
    let mut edges = Vec::new();
    for section in &entries.sections {
        let is_one = |title: &Range<usize>| {
            let title = text[title.clone()].to_lowercase();
            title.contains("dependenc") || title.contains("execution order") || title.contains("blocking")
        };
        let above = section.parent.map(|above| &entries.sections[above].title);
        if !is_one(&section.title) && !above.is_some_and(is_one) {
            continue;
        }
        let (mut unused, mut first) = (0_u64, None);
        for line in &list.lines[section.lines.clone()] {
            if !matches!(line.kind, Kind::Bullet | Kind::Text) || ids_in(&text[line.text.clone()]).is_empty()
            {
                continue;
            }
            match edge(text, &line.text, known) {
                Some(found) => edges.extend(found),
                None => {
                    unused += 1;
                    first.get_or_insert(line.text.clone());
                }
            }
        }
        if let Some(first) = first {
            let message = format!("{} about the order of tasks not used", counted(unused, "line"));
            let told = Diagnostic::warning(first, message).label("Piton cannot be sure what this asks for");
            problems
                .push(told.help("write it like `T008 blocks T009, T015`, or `(depends on T008)` at a task"));
        }
    }
    edges
}

/// A line of ids, one word between them, and ids.
fn edge(text: &str, at: &Range<usize>, known: &mut Known) -> Option<Vec<(String, Need)>> {
    /// A word, and whether what stands before it comes first.
    const WORDS: [(&str, bool); 8] = [
        (" must complete before ", true),
        (" must be done before ", true),
        (" must be completed before ", true),
        (" before ", true),
        (" blocks ", true),
        (" block ", true),
        (" depends on ", false),
        (" depend on ", false),
    ];
    const DOUBTS: [&str; 12] =
        ["can", "may", "could", "if", "unless", "not", "no", "should", "or", "parallel", "except", "but"];
    let said = &text[at.clone()];
    let plain = said.to_ascii_lowercase();
    let is_doubtful = plain.split(|c: char| !c.is_alphabetic()).any(|word| DOUBTS.contains(&word));
    let (word, is_first) = WORDS.iter().find(|(word, _)| plain.contains(word))?;
    let (start, end) = plain.find(word).map(|start| (start, start + word.len()))?;
    let others = WORDS.iter().map(|(word, _)| plain.matches(word.trim()).count()).max().unwrap_or(0);
    if is_doubtful || others > 1 || plain.contains('\u{2192}') || plain.contains("->") {
        return None;
    }
    let left = known.all(&said[..start], at.start);
    let right = known.all(&said[end..], at.start + end);
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let (before, after) = if *is_first { (left, right) } else { (right, left) };
    let pairs = after.iter().flat_map(|after| before.iter().map(|need| (after.name.clone(), need.clone())));
    // Two long ranges would make a dependency of each with each.
    let pairs: Vec<(String, Need)> = pairs.take(known.left).collect();
    known.left -= pairs.len();
    Some(pairs)
}
