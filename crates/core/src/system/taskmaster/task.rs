//! One task as a draft: what the file says of it, and what a subtask takes from the task that it belongs to.

use std::collections::HashMap;
use std::ops::Range;

use super::file::{Item, Tag, id_text};
use super::status;
use crate::diagnostic::nearest;
use crate::system::kit::draft::{DraftTask, Standing, title_of};
use crate::system::kit::json::{Kind, Node};
use crate::system::kit::json_texts::{project_files, texts};
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::status::plain;
use crate::view::counted;

pub(super) fn task(
    tag: &Tag<'_>,
    item: &Item<'_>,
    name: String,
    file: &str,
    found: &mut Problems,
) -> DraftTask {
    let node = item.node;
    tell_id(item, found);
    let standing = standing(tag, item, found);
    let mut criteria: Vec<String> = item.text("testStrategy").into_iter().collect();
    criteria.extend(node.get("acceptanceCriteria").into_iter().flat_map(texts).map(|(text, _)| text));
    DraftTask {
        name,
        file: file.to_owned(),
        at: node.get("title").or_else(|| node.get("id")).map_or_else(|| start(node), |node| node.at.clone()),
        title: title_of(&item.title()),
        words: words(item, found),
        beside: true,
        files: files(node, found),
        criteria,
        standing,
        priority: priority(node, found),
        ..DraftTask::default()
    }
}

fn tell_id(item: &Item<'_>, found: &mut Problems) {
    match item.node.get("id") {
        Some(Node { kind: Kind::Number(number), at, .. }) if number.is_f64() => {
            let label = format!("read as {number}");
            found.repair(at.clone(), "an id with a fraction loses its last zeros", label);
        }
        Some(node) if !id_text(node).is_empty() => {}
        Some(node) => {
            let message = format!("an id must be a number or text, not {}", node.name());
            found.repair(node.at.clone(), message, format!("an id is made of the {}", made_of(item)));
        }
        None => {
            let label = format!("one is made of its {}", made_of(item));
            found.repair(start(item.node), "this task has no id", label);
        }
    }
}

/// A subtask is counted where it has no id.
fn made_of(item: &Item<'_>) -> &'static str {
    if item.id.is_empty() { "title" } else { "place" }
}

fn tell_status(item: &Item<'_>, found: &mut Problems) {
    let Some(node) = item.status() else { return };
    let label = "Piton does not take this task";
    let Some(said) = node.text() else {
        let message = format!("a status must be text, not {}", node.name());
        return found.repair(node.at.clone(), message, label);
    };
    let label = match nearest(said, status::WORDS) {
        Some(guess) => format!("{label}; did you mean `{guess}`?"),
        None => label.to_owned(),
    };
    found.repair(node.at.clone(), format!("`{}` is not a status of Task Master", cut(said)), label);
}

/// The tasks whose subtasks are tasks of their own, each read once.
#[derive(Debug, Default)]
pub(super) struct Wholes(HashMap<usize, Whole>);

/// What subtasks take from their task.
#[derive(Debug)]
pub(super) struct Whole {
    standing: Standing,
    around: String,
    files: Vec<String>,
    priority: Option<u32>,
}

impl Wholes {
    /// The task at this position of a tag.
    pub(super) fn get(&mut self, tag: &Tag<'_>, nth: usize, found: &mut Problems) -> &Whole {
        self.0.entry(nth).or_insert_with(|| Whole::new(tag, &tag.tasks[nth], found))
    }
}

impl Whole {
    fn new(tag: &Tag<'_>, item: &Item<'_>, found: &mut Problems) -> Whole {
        tell_id(item, found);
        tell_subtasks(item, found);
        let standing = status::standing(item.status()).unwrap_or_else(|| {
            tell_status(item, found);
            status::UNKNOWN
        });
        let is_open = |step: &&Item<'_>| {
            !matches!(status::standing(step.status()), Some(Standing::Claimed | Standing::Dropped))
        };
        let open = item.steps.iter().filter(is_open).count();
        if standing == Standing::Claimed && open > 0 {
            tell_open_steps(tag, item, open, "they count as done", found);
        }
        let mut parts = vec![format!(
            "This is a subtask of task {} of the list, {}. Its other subtasks are tasks of their own.",
            item.id,
            title_of(&item.title())
        )];
        let about = about(item);
        if !about.is_empty() {
            parts.push("About the whole task:".to_owned());
            parts.extend(about);
        }
        parts.extend(
            item.text("testStrategy").map(|text| format!("The whole task is tested like this: {text}")),
        );
        Whole {
            standing,
            around: parts.join("\n\n"),
            files: files(item.node, found),
            priority: priority(item.node, found),
        }
    }

    /// A subtask with what it does not say itself.
    pub(super) fn give(&self, own: DraftTask) -> DraftTask {
        let standing = match (self.standing.clone(), own.standing) {
            (_, Standing::Dropped) => Standing::Dropped,
            (_, Standing::Claimed) | (Standing::Claimed, _) => Standing::Claimed,
            // A task is in progress as soon as one of its subtasks is.
            (Standing::Open | status::IN_PROGRESS, own) => own,
            (whole, _) => whole,
        };
        let files = if own.files.is_empty() { self.files.clone() } else { own.files };
        let priority = own.priority.or(self.priority);
        DraftTask { standing, files, priority, around: self.around.clone(), ..own }
    }
}

/// How far a task is. Where all its steps are done, nothing of it is left.
fn standing(tag: &Tag<'_>, item: &Item<'_>, found: &mut Problems) -> Standing {
    let word = |item: &Item<'_>, found: &mut Problems| {
        status::standing(item.status()).unwrap_or_else(|| {
            tell_status(item, found);
            status::UNKNOWN
        })
    };
    let own = word(item, found);
    let steps: Vec<Standing> = item.steps.iter().map(|step| word(step, found)).collect();
    let open = steps.iter().filter(|step| !matches!(step, Standing::Claimed | Standing::Dropped)).count();
    let is_done = open == 0 && steps.contains(&Standing::Claimed);
    match own {
        Standing::Claimed if open > 0 => {
            tell_open_steps(tag, item, open, "the task counts as done", found);
            own
        }
        Standing::Open if is_done => {
            let message = format!("all subtasks of {} are done", tag.called(&item.id));
            found.repair(status_at(item), message, "the task counts as done");
            Standing::Claimed
        }
        _ => own,
    }
}

fn tell_open_steps(tag: &Tag<'_>, item: &Item<'_>, open: usize, label: &str, found: &mut Problems) {
    let (name, steps) = (tag.called(&item.id), counted(open as u64, "subtask"));
    found.repair(status_at(item), format!("{name} is done, but {steps} of it {} not", be(open)), label);
}

fn status_at(item: &Item<'_>) -> Range<usize> {
    item.status().map_or_else(|| start(item.node), |node| node.at.clone())
}

/// The author's own words. They do not say how far a step is: that changes while the plan stays the same.
fn words(item: &Item<'_>, found: &mut Problems) -> String {
    let title = item.title();
    // A title that is too long is cut.
    let whole = Some(&title).filter(|title| title_of(title) != **title).cloned();
    let mut parts: Vec<String> = whole.into_iter().chain(about(item)).collect();
    let steps: Vec<String> = item.steps.iter().filter_map(|step| step_words(step)).collect();
    if !steps.is_empty() {
        parts.push(format!("Its steps, some of which may be done already:\n\n{}", steps.join("\n")));
    }
    tell_subtasks(item, found);
    parts.join("\n\n")
}

/// What of `subtasks` is not a subtask.
fn tell_subtasks(item: &Item<'_>, found: &mut Problems) {
    for step in item.node.get("subtasks").and_then(Node::items).unwrap_or_default() {
        if step.entries().is_none() {
            found.repair(
                step.at.clone(),
                format!("a subtask must be an object, not {}", step.name()),
                "left out",
            );
        }
    }
    if let Some(node) = item.node.get("subtasks").filter(|node| node.items().is_none()) {
        found.repair(node.at.clone(), format!("`subtasks` must be a list, not {}", node.name()), "left out");
    }
}

/// What it says besides its title and its steps.
fn about(item: &Item<'_>) -> Vec<String> {
    let mut parts = own_words(item);
    parts.extend(item.text("agentHint"));
    let bounds = item.node.get("scopeBoundaries").map(texts).unwrap_or_default();
    let bounds: Vec<String> = bounds.into_iter().map(|(text, _)| text).collect();
    if !bounds.is_empty() {
        parts.push(format!("What belongs to it, and what does not: {}", bounds.join("; ")));
    }
    parts
}

fn own_words(item: &Item<'_>) -> Vec<String> {
    let title = item.title();
    let said = ["description", "details"].into_iter().filter_map(|name| item.text(name));
    said.filter(|text| *text != title).collect()
}

/// A step as an item of a list. A cancelled one is not to be done.
fn step_words(step: &Item<'_>) -> Option<String> {
    if status::standing(step.status()) == Some(Standing::Dropped) {
        return None;
    }
    let mut lines = vec![format!("- {} {}", step.id, step.title()).trim_end().to_owned()];
    let test = step.text("testStrategy").map(|text| format!("Test: {text}"));
    for text in own_words(step).into_iter().chain(test) {
        lines.extend(text.lines().map(|line| format!("  {}", line.trim_end()).trim_end().to_owned()));
    }
    Some(lines.join("\n"))
}

/// Files that the task is about, as objects with a path or as texts.
fn files(node: &Node, found: &mut Problems) -> Vec<String> {
    let mut files = Vec::new();
    for name in ["relevantFiles", "files"] {
        let items = node.get(name).and_then(Node::items).unwrap_or_default();
        for item in items.iter().filter_map(|item| item.get("path").or(Some(item))) {
            files.extend(project_files(item, found));
        }
    }
    files
}

/// `medium` is what the project's configuration says.
fn priority(node: &Node, found: &mut Problems) -> Option<u32> {
    let said = node.get("priority")?;
    let word = said.text().map(plain);
    match word.as_deref() {
        Some("critical") => Some(10),
        Some("high") => Some(30),
        Some("medium" | "") => None,
        Some("low") => Some(70),
        _ => {
            found.repair(said.at.clone(), "a priority is critical, high, medium or low", "ignored");
            None
        }
    }
}

pub(super) fn be(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// The first byte of a value.
pub(super) fn start(node: &Node) -> Range<usize> {
    node.at.start..node.at.start + 1
}
