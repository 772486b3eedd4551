//! Differences between a list and the plan that it was made from.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::line::{is_certain, story_id};
use super::plan::RwkitReading;
use crate::diagnostic::Diagnostic;
use crate::system::Problem;

/// How many missing names are shown.
const SHOWN: usize = 5;

/// Stories, tasks and files that only one of the two names. If a plan names none of a kind, that kind is not compared.
pub(super) fn differ(read: &RwkitReading) -> Vec<Problem> {
    let (Some(plan), Some(list)) = (&read.plan, read.reading.texts.get(&read.file)) else {
        return Vec::new();
    };
    let Some(text) = read.reading.texts.get(plan) else { return Vec::new() };
    let (said, own) = (Mentions::find(text), Mentions::find(list));
    let mut problems = Vec::new();
    let mut tell = |file: &str, message: String, at: &Range<usize>, label: &str| {
        let diagnostic = Diagnostic::warning(at.clone(), message).label(label);
        problems.push(Problem { file: file.to_owned(), diagnostic });
    };
    let stories = read.todolist.stories.iter().filter(|told| story_id(&told.story.id).is_some());
    let stories: Vec<Named<'_>> = stories.map(|told| (told.story.id.as_str(), told.at.clone())).collect();
    let tasks: Vec<Named<'_>> =
        read.todolist.tasks.iter().map(|task| (task.id.as_str(), task.at.clone())).collect();
    let files = read.todolist.tasks.iter().flat_map(|task| task.files.iter().flatten());
    let files: Vec<Named<'_>> = files.map(|file| (base(file.value.as_str()), file.at.clone())).collect();
    let kinds = [
        ("stories", &stories, &said.stories, &own.stories),
        ("tasks", &tasks, &said.tasks, &own.tasks),
        ("files", &files, &said.files, &own.files),
    ];
    for (kind, listed, in_plan, in_list) in kinds {
        if in_plan.names.is_empty() {
            continue;
        }
        if let Some((names, at)) = missing(listed.iter().cloned(), &in_plan.names) {
            tell(
                &read.file,
                format!("the plan does not name these {kind}: {names}"),
                &at,
                "is the plan still right?",
            );
        }
        let planned = in_plan.places.iter().map(|at| (base(&text[at.clone()]), at.clone()));
        if let Some((names, at)) = missing(planned, &in_list.names) {
            tell(plan, format!("the list does not name these {kind}: {names}"), &at, "no task covers them");
        }
    }
    Problem::sort(&mut problems);
    problems
}

type Named<'t> = (&'t str, Range<usize>);

/// The names that are not there, and where the first of them stands.
fn missing<'t>(
    names: impl Iterator<Item = Named<'t>>,
    there: &HashSet<String>,
) -> Option<(String, Range<usize>)> {
    let (mut seen, mut first) = (BTreeSet::new(), None);
    let mut shown: Vec<String> = Vec::new();
    for (name, at) in names.filter(|(name, _)| !name.is_empty() && !there.contains(&name.to_lowercase())) {
        first.get_or_insert(at);
        if seen.insert(name.to_lowercase()) && shown.len() < SHOWN {
            shown.push(name.chars().filter(|c| !c.is_control()).take(60).collect());
        }
    }
    let more = seen.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some((shown.join(", ") + &more, first?))
}

/// The last part of a path: plans draw trees, in which files stand without their folders.
fn base(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// What a text names.
#[derive(Default)]
struct Mentions {
    stories: Kind,
    tasks: Kind,
    files: Kind,
}

#[derive(Default)]
struct Kind {
    /// In lower case.
    names: HashSet<String>,
    places: Vec<Range<usize>>,
}

impl Kind {
    fn add(&mut self, name: &str, at: Range<usize>) {
        if self.names.insert(name.to_lowercase()) {
            self.places.push(at);
        }
    }
}

impl Mentions {
    fn find(text: &str) -> Mentions {
        let mut mentions = Mentions::default();
        let apart = |c: char| c.is_whitespace() || "`\"'(),;|*<>─├└│:".contains(c);
        for word in text.split(apart).filter(|word| !word.is_empty()) {
            let bare = word.trim_matches(|c: char| "[]{}.!?".contains(c));
            // `app/[id]` keeps its brackets, `[files:` has none to keep.
            let path = word.trim_start_matches(|c: char| "[{".contains(c)).trim_end_matches(['.', '!', '?']);
            let path = if path.matches('[').count() < path.matches(']').count() {
                path.trim_end_matches(']')
            } else {
                path
            };
            let place = |part: &str| {
                let from = part.as_ptr() as usize - text.as_ptr() as usize;
                from..from + part.len()
            };
            if let Some(id) = story_id(bare) {
                mentions.stories.add(&id, place(bare));
            } else if is_task(bare) {
                mentions.tasks.add(bare, place(bare));
            } else if is_file(path) {
                mentions.files.add(base(path), place(path));
            }
        }
        mentions
    }
}

/// `T001`: three digits or more, or letters between them; a plan may mention a `T3` that is not a task.
fn is_task(word: &str) -> bool {
    let rest = word.strip_prefix('T').unwrap_or_default();
    is_certain(word)
        && rest.len() >= 3
        && rest.len() <= 12
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A name with an ending, such as `src/a.ts`: letters behind its last dot, and nothing that an address or a call has.
fn is_file(word: &str) -> bool {
    let Some((stem, end)) = base(word).rsplit_once('.') else { return false };
    let is_end = (1..=6).contains(&end.len())
        && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && end.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let is_stem = !stem.is_empty() && stem.chars().all(|c| c.is_alphanumeric() || "._-[]$@+".contains(c));
    // `e.g` and `Node.js` are words; a path or a long ending's file is not.
    let is_path = word.contains('/') || stem.contains(['.', '-', '_']) || end.len() > 1 && stem.len() > 2;
    let is_address = word.contains("//")
        || word.starts_with("www.")
        || matches!(end, "com" | "org" | "io" | "net" | "dev");
    is_end && is_stem && is_path && !is_address
}
