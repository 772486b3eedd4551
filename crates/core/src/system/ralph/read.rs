//! The stories of a file, as a draft of a plan.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::criteria::criteria;
use super::file::{self, Stories, Story, truth};
use super::{FILE, PROGRESS};
use crate::diagnostic::{Diagnostic, Severity};
use crate::order::Arrange;
use crate::plan::TaskId;
use crate::system::finding::join;
use crate::system::kit::draft::{Draft, DraftTask, Need, Order, Phase, Standing, title_of};
use crate::system::kit::json::{self, Kind, Node};
use crate::system::kit::json_texts::{one_line, project_files, text_of, texts};
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::status::plain;
use crate::system::kit::text;
use crate::system::{Folder, Given, Problem};

/// How many keys of a file are named that has no stories.
const KEYS: usize = 8;
/// The largest number of Piton's priorities.
const LAST: u64 = 99;

/// What the file says, and what is wrong with it.
pub(super) fn read(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let is_read = decoded.problems.iter().all(|problem| problem.severity < Severity::Error);
    let mut found = Problems::new(given.strictness);
    decoded.problems.into_iter().for_each(|problem| found.push(problem));
    let mut draft = Draft::default();
    match json::parse(&decoded.text) {
        Ok((root, twice)) => {
            twice.into_iter().for_each(|problem| found.forgive(problem));
            match file::stories(&root) {
                Some(stories) => draft = of_stories(&root, &stories, given.place, &mut found),
                None => found.push(not_one(&root)),
            }
        }
        Err(broken) if is_read => found.push(broken),
        Err(_) => {}
    }
    let around = given.place.rsplit_once('/').map_or("", |(folder, _)| folder);
    draft.context =
        Some(join(around, PROGRESS)).filter(|file| folder.files.contains_key(file)).into_iter().collect();
    let problem = |diagnostic| Problem { file: given.place.to_owned(), diagnostic };
    draft.problems = found.finish().into_iter().map(problem).collect();
    draft.texts = BTreeMap::from([(given.place.to_owned(), decoded.text)]);
    draft
}

fn not_one(root: &Node) -> Diagnostic {
    let said = Diagnostic::error(start(root), format!("this {FILE} is not a list of user stories"));
    let keys = root.entries().unwrap_or_default().iter().map(|(name, _)| format!("`{}`", cut(name)));
    let keys: Vec<String> = keys.collect();
    let said = match (&keys[..], root.entries()) {
        ([], Some(_)) => said.label("it is empty"),
        ([], None) => said.label(format!("it is {}", root.name())),
        (keys, _) => {
            let more = if keys.len() > KEYS { ", …" } else { "" };
            said.label(format!("it has {}{more}", keys[..keys.len().min(KEYS)].join(", ")))
        }
    };
    said.help("a plan has `userStories`, a list of objects with `id`, `title` and `passes`")
}

/// The first byte of a value.
fn start(node: &Node) -> Range<usize> {
    node.at.start..node.at.start + 1
}

fn of_stories(root: &Node, stories: &Stories<'_>, place: &str, found: &mut Problems) -> Draft {
    let text = |name: &str| text_of(root, name);
    let branch = root.get("branchName").and_then(|node| branch(node, found));
    let last = branch.as_deref().map(|branch| branch.rsplit('/').next().unwrap_or(branch).to_owned());
    let name = text("project").or_else(|| text("name")).or(last).unwrap_or_else(|| "prd".to_owned());
    let name = one_line(&name);
    let around =
        text("description").map(|text| format!("What all of it is for:\n{text}")).unwrap_or_default();
    let ids = stories.ids();
    let by_id = by_id(stories, &ids, found);
    let is_graph = stories.stories.iter().any(|story| !needs(story).is_empty());
    let mut tasks: Vec<(u64, DraftTask)> = Vec::with_capacity(ids.len());
    let mut by_person: Vec<Range<usize>> = Vec::new();
    for (story, id) in stories.stories.iter().zip(&ids) {
        let said = criteria(story.node, found);
        by_person.extend(said.by_person);
        let priority = priority(story.node, found);
        let needs = needs(story).into_iter().map(|(name, at)| {
            let known = by_id.get(&name.to_lowercase()).map(|nth| ids[*nth].to_string());
            Need { name: known.unwrap_or(name), at }
        });
        let task = DraftTask {
            name: id.to_string(),
            file: place.to_owned(),
            at: story.node.get("title").map_or_else(|| start(story.node), |node| node.at.clone()),
            title: title_of(&story.title()),
            words: words(story),
            around: around.clone(),
            needs: needs.collect(),
            beside: is_graph,
            files: files(story.node, found),
            criteria: said.texts,
            commands: said.commands,
            standing: standing(stories, story, found),
            priority: priority.and_then(|number| u32::try_from(number.clamp(1, LAST)).ok()),
            ..DraftTask::default()
        };
        tasks.push((priority.unwrap_or(u64::MAX), task));
    }
    // The sort keeps the order of the file among equals.
    tasks.arrange_by_key(|(priority, _)| *priority);
    tell(stories, &by_person, found);
    Draft {
        groups: vec![Phase { title: name.clone(), barrier: false }],
        name,
        branch,
        tasks: tasks.into_iter().map(|(_, task)| task).collect(),
        // Without dependencies each story builds on those before it.
        order: if is_graph { Order::Free } else { Order::All },
        ..Draft::default()
    }
}

/// Stories by the ids that others call them by. The first one of an id is meant.
fn by_id(stories: &Stories<'_>, ids: &[TaskId], found: &mut Problems) -> HashMap<String, usize> {
    let mut by_id = HashMap::new();
    for (nth, story) in stories.stories.iter().enumerate() {
        let label = format!("called `{}` here", ids[nth]);
        if story.id.is_empty() {
            found.repair(start(story.node), "this story has no id", label);
        } else if *by_id.entry(story.id.to_lowercase()).or_insert(nth) != nth {
            let at = story.node.get("id").map_or_else(|| start(story.node), |node| node.at.clone());
            found.repair(at, format!("the id `{}` was used before", cut(&story.id)), label);
        }
    }
    by_id
}

/// What is about the file as a whole.
fn tell(stories: &Stories<'_>, by_person: &[Range<usize>], found: &mut Problems) {
    for node in stories.list.items().unwrap_or_default().iter().filter(|node| node.entries().is_none()) {
        found.repair(node.at.clone(), format!("a story must be an object, not {}", node.name()), "left out");
    }
    if let Some(first) = by_person.first() {
        let message = match by_person.len() {
            1 => "a criterion asks a person to look at the result".to_owned(),
            more => format!("{more} criteria ask a person to look at the result"),
        };
        found.push(Diagnostic::warning(first.clone(), message).label("no check does that"));
    }
}

fn words(story: &Story<'_>) -> String {
    let title = story.title();
    let said = ["description", "notes"].into_iter().filter_map(|name| story.text(name));
    let steps = story.node.get("steps").into_iter().flat_map(texts).map(|(text, _)| format!("- {text}"));
    let steps: Vec<String> = steps.collect();
    // A title that is too long is cut.
    let whole = Some(&title).filter(|title| title_of(title) != **title).cloned();
    let mut parts: Vec<String> = whole.into_iter().chain(said.filter(|text| *text != title)).collect();
    if !steps.is_empty() {
        parts.push(format!("Its steps:\n{}", steps.join("\n")));
    }
    parts.join("\n\n")
}

fn standing(stories: &Stories<'_>, story: &Story<'_>, found: &mut Problems) -> Standing {
    if let Some(flag) = story.node.get(stories.flag).filter(|flag| !matches!(flag.kind, Kind::Bool(_))) {
        let label = match truth(flag) {
            Some(yes) => format!("read as {yes}"),
            None => "read as false".to_owned(),
        };
        let message = format!("`{}` must be true or false, not {}", stories.flag, flag.name());
        found.repair(flag.at.clone(), message, label);
    }
    if stories.is_done(story) { Standing::Claimed } else { Standing::Open }
}

fn needs(story: &Story<'_>) -> Vec<(String, Range<usize>)> {
    let said = ["dependsOn", "dependencies"].into_iter().filter_map(|name| story.node.get(name));
    said.flat_map(texts).collect()
}

/// 1 is first.
fn priority(node: &Node, found: &mut Problems) -> Option<u64> {
    let said = node.get("priority")?;
    let word = said.text().map(plain);
    let number = match word.as_deref() {
        Some("critical" | "p0") => Some(0),
        Some("high" | "p1") => Some(1),
        Some("medium" | "p2") => Some(2),
        Some("low" | "p3") => Some(3),
        _ => said.number(),
    };
    if number.is_none() {
        found.repair(said.at.clone(), "a priority is a number, or high, medium or low", "ignored");
    }
    number
}

fn files(node: &Node, found: &mut Problems) -> Vec<String> {
    node.get("files").map_or_else(Vec::new, |files| project_files(files, found))
}

/// The branch that the work is to land on, if git would take its name.
fn branch(node: &Node, found: &mut Problems) -> Option<String> {
    let said = node.text().map(str::trim).unwrap_or_default();
    let fits = |part: &str| {
        let first = part.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        first && !part.ends_with('.') && !part.ends_with(".lock") && !part.contains("..")
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if said.len() <= 200 && said.chars().all(is_plain) && said.split('/').all(fits) && said != "HEAD" {
        return Some(said.to_owned());
    }
    if !said.is_empty() {
        found.repair(node.at.clone(), "git would not take this name of a branch", "ignored");
    }
    None
}
