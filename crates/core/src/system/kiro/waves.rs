//! The graph at the end of newer lists: waves of tasks, as JSON in a fence. Tasks of one wave wait for those of the one
//! before. File order holds around every checkpoint, whatever the graph says.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::system::kit::checklist::{Checklist, Kind, shift};
use crate::system::kit::draft::Need;
use crate::system::kit::json::{self, Node};
use crate::system::kit::problems::{Problems, cut};
use crate::view::counted;

/// More edges than these take too long to follow: then the order of the file counts.
const EDGES: usize = 200_000;

/// The waves of a list, each with the numbers of its tasks and where they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Waves {
    waves: Vec<Vec<(String, Range<usize>)>>,
    at: Range<usize>,
}

/// A task that the order counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered<'l> {
    pub(super) name: &'l str,
    pub(super) number: &'l str,
    /// Everything before it is done first, and everything after it later.
    pub(super) is_checkpoint: bool,
}

impl Waves {
    /// The graph of a list, if it has one that can be read.
    pub(super) fn read(list: &Checklist, text: &str, found: &mut Problems) -> Option<Waves> {
        let heading = list.lines.iter().find(|line| {
            matches!(line.kind, Kind::Heading(_))
                && text[line.text.clone()].to_lowercase().contains("dependency graph")
        });
        for at in fences(list) {
            let inside = &text[at.clone()];
            if !inside.contains("\"waves\"") {
                continue;
            }
            match json::parse(inside) {
                Ok((root, _)) => {
                    let waves = waves(&root, at.start);
                    if !waves.is_empty() {
                        return Some(Waves { waves, at });
                    }
                    let told = Diagnostic::warning(at, "these waves name no tasks");
                    found.push(told.label("the order of the file counts"));
                }
                Err(broken) => {
                    let told = Diagnostic::warning(
                        shift(broken.span.clone(), at.start),
                        format!("this graph is not JSON: {}", broken.message),
                    );
                    found.push(told.label("the order of the file counts"));
                }
            }
            return None;
        }
        if let Some(heading) = heading {
            let told = Diagnostic::warning(heading.text.clone(), "this graph has no waves in JSON");
            found.push(told.label("the order of the file counts"));
        }
        None
    }

    /// For each task, in the order of the file, those that it waits for. `None` where the graph has too many edges.
    pub(super) fn needs(&self, tasks: &[Ordered<'_>], found: &mut Problems) -> Option<Vec<Vec<Need>>> {
        let by_number = self.places(tasks, found);
        let mut needs: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
        let (mut start, mut wall, mut edges) = (0, None, 0);
        for end in 0..=tasks.len() {
            if end < tasks.len() && !tasks[end].is_checkpoint {
                continue;
            }
            // Between two checkpoints, the waves say who waits for whom.
            let mut of_wave: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (nth, need) in needs.iter_mut().enumerate().take(end).skip(start) {
                match by_number.get(&nth) {
                    Some(wave) => of_wave.entry(*wave).or_default().push(nth),
                    // What the graph leaves out comes after what stands before it.
                    None if nth > start => need.push(nth - 1),
                    None => {}
                }
            }
            let waves: Vec<Vec<usize>> = of_wave.into_values().collect();
            for pair in waves.windows(2) {
                edges += pair[0].len() * pair[1].len();
                if edges > EDGES {
                    let told = Diagnostic::warning(self.at.clone(), "these waves are too large");
                    found.push(told.label("the order of the file counts"));
                    return None;
                }
                pair[1].iter().for_each(|nth| needs[*nth].extend(&pair[0]));
            }
            for need in &mut needs[start..end] {
                need.extend(wall.filter(|_| need.is_empty()));
            }
            if end < tasks.len() {
                let waited: BTreeSet<usize> = needs[start..end].iter().flatten().copied().collect();
                needs[end].extend((start..end).filter(|nth| !waited.contains(nth)));
                needs[end].extend(wall.filter(|_| start == end));
                (start, wall) = (end + 1, Some(end));
            }
        }
        let need = |nth: usize| Need { name: tasks[nth].name.to_owned(), at: self.at.clone() };
        Some(needs.into_iter().map(|all| all.into_iter().map(need).collect()).collect())
    }

    /// The wave of each task that the graph names. Says what it names twice or in vain, and what it leaves out.
    fn places(&self, tasks: &[Ordered<'_>], found: &mut Problems) -> BTreeMap<usize, usize> {
        let mut known: HashMap<String, usize> = HashMap::new();
        for (nth, task) in tasks.iter().enumerate().filter(|(_, task)| !task.number.is_empty()) {
            known.entry(task.number.to_lowercase()).or_insert(nth);
        }
        let mut places = BTreeMap::new();
        let mut unknown: Option<(usize, Range<usize>, &str)> = None;
        for (wave, names) in self.waves.iter().enumerate() {
            for (name, at) in names {
                match known.get(&name.to_lowercase()) {
                    Some(nth) => {
                        places.entry(*nth).or_insert(wave);
                    }
                    None => {
                        let first = unknown.get_or_insert_with(|| (0, at.clone(), name));
                        first.0 += 1;
                    }
                }
            }
        }
        if let Some((count, at, name)) = unknown {
            let told = Diagnostic::warning(
                at,
                format!("the graph names {} that Piton does not run", counted(count as u64, "task")),
            );
            found.push(told.label(format!("`{}` is the first: not in the list, or optional", cut(name))));
        }
        let missing: Vec<&Ordered<'_>> = tasks
            .iter()
            .enumerate()
            .filter(|(nth, task)| !places.contains_key(nth) && !task.is_checkpoint)
            .map(|(_, task)| task)
            .collect();
        if let Some(first) = missing.first() {
            let message = format!("the graph leaves out {}", counted(missing.len() as u64, "task"));
            let told = Diagnostic::warning(self.at.start..self.at.start, message);
            found.push(
                told.label(format!("`{}` is the first: each comes after the one before it", first.name)),
            );
        }
        places
    }
}

/// What stands in fences, without their first and last lines.
fn fences(list: &Checklist) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<Range<usize>> = None;
    for line in &list.lines {
        match (&line.kind, &mut open) {
            (Kind::Code, None) => open = Some(line.at.end..line.at.end),
            (Kind::Code, Some(at)) => at.end = line.at.start,
            (_, _) => found.extend(open.take()),
        }
    }
    found.extend(open);
    found
}

/// The names in the waves of a document, in any of the forms that were seen: an object with `tasks`, or a list.
fn waves(root: &Node, by: usize) -> Vec<Vec<(String, Range<usize>)>> {
    let Some(all) = root.get("waves").and_then(Node::items) else { return Vec::new() };
    let names = |wave: &Node| {
        let tasks = wave.items().or_else(|| wave.get("tasks").and_then(Node::items)).unwrap_or_default();
        let name = |task: &Node| {
            let named = task.get("id").unwrap_or(task);
            let text = named.text().map(str::to_owned);
            let text = text.or_else(|| named.number().map(|number| number.to_string()));
            let text = text.or_else(|| match &named.kind {
                json::Kind::Number(number) => Some(number.to_string()),
                _ => None,
            });
            Some((text?.trim().trim_end_matches('.').to_owned(), shift(named.at.clone(), by)))
        };
        tasks.iter().filter_map(name).collect::<Vec<_>>()
    };
    all.iter().map(names).filter(|wave| !wave.is_empty()).collect()
}
