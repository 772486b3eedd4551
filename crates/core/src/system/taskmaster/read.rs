//! The tasks of the current tag, as a draft of a plan.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::file::{self, Item, MASTER, Tag, id_text};
use super::{FOLDER, STATE, status};
use crate::diagnostic::{Diagnostic, Severity, nearest};
use crate::plan::RepoPath;
use crate::system::kit::draft::{Draft, DraftTask, Need, Order, Standing, title_of};
use crate::system::kit::json::{self, Kind, Node};
use crate::system::kit::json_texts::texts;
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::status::plain;
use crate::system::kit::text;
use crate::system::{Folder, Given, Problem};
use crate::view::counted;

/// How far the search goes for circles that steps would make, all together. Real files need a few thousand.
const STEPS: usize = 1_000_000;
/// How many keys of a file are named that is not one of Task Master.
const KEYS: usize = 8;

/// What the file says, and what is wrong with it.
pub(super) fn read(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let mut found = Problems::new(given.strictness);
    let is_read = decoded.problems.iter().all(|problem| problem.severity < Severity::Error);
    decoded.problems.into_iter().for_each(|problem| found.push(problem));
    let mut draft = Draft { order: Order::Free, ..Draft::default() };
    match json::parse(&decoded.text) {
        Ok((root, twice)) => {
            twice.into_iter().for_each(|problem| found.forgive(problem));
            draft = of_file(&root, current(folder, given).as_deref(), given, &mut found);
        }
        Err(broken) if is_read => found.push(broken),
        Err(_) => {}
    }
    let problem = |diagnostic| Problem { file: given.place.to_owned(), diagnostic };
    draft.problems = found.finish().into_iter().map(problem).collect();
    draft.texts = BTreeMap::from([(given.place.to_owned(), decoded.text)]);
    draft
}

/// The tag that Task Master works on, where its state file says so.
fn current(folder: &Folder, given: &Given<'_>) -> Option<String> {
    let (_, bytes) = folder
        .files
        .iter()
        .find(|(name, _)| *name != given.place && name.rsplit('/').next() == Some(STATE))?;
    let (root, _) = json::parse(&text::decode(bytes).text).ok()?;
    let tag = root.get("currentTag")?.text()?.trim();
    (!tag.is_empty()).then(|| tag.to_owned())
}

fn of_file(root: &Node, wanted: Option<&str>, given: &Given<'_>, found: &mut Problems) -> Draft {
    let tags = file::tags(root);
    let Some(tag) = chosen(&tags, wanted, found) else {
        found.push(not_one(root));
        return Draft::default();
    };
    tell_others(&tags, tag, found);
    let said = root.get("metadata").or_else(|| root.get("meta")).and_then(|about| about.get("projectName"));
    let name = match (tag.name, said.and_then(Node::text)) {
        (MASTER, Some(name)) => name.to_owned(),
        (MASTER, None) => FOLDER.trim_start_matches('.').to_owned(),
        (tag, _) => tag.to_owned(),
    };
    let mut draft = Draft { name, groups: tag.groups(), order: Order::Free, ..Draft::default() };
    draft.tasks = tag
        .tasks
        .iter()
        .zip(tag.names())
        .map(|(item, name)| task(tag, item, name, given.place, found))
        .collect();
    needs(tag, &mut draft, found);
    tell_repeated(tag, found);
    tell_elsewhere(&draft, found);
    for item in tag.list.items().unwrap_or_default().iter().filter(|item| item.entries().is_none()) {
        found.repair(item.at.clone(), format!("a task must be an object, not {}", item.name()), "left out");
    }
    draft
}

/// The current tag; without one the tag `master`; without that the first one.
fn chosen<'t, 'n>(tags: &'t [Tag<'n>], wanted: Option<&str>, found: &mut Problems) -> Option<&'t Tag<'n>> {
    let named = |name: &str| tags.iter().find(|tag| tag.name == name);
    let tag = wanted.and_then(named).or_else(|| named(MASTER)).or(tags.first())?;
    if let Some(wanted) = wanted.filter(|wanted| *wanted != tag.name) {
        let message = format!("there is no tag `{}`, which `{FOLDER}/{STATE}` calls current", cut(wanted));
        let label = format!("the tag `{}` is read instead", tag.name);
        found.forgive(Diagnostic::warning(start(tag.list), message).label(label));
    }
    Some(tag)
}

/// Tasks that are not read are not passed over in silence.
fn tell_others(tags: &[Tag<'_>], chosen: &Tag<'_>, found: &mut Problems) {
    let is_open = |item: &&Item<'_>| status::standing(item.status()) == Some(Standing::Open);
    let others = tags.iter().filter(|tag| tag.name != chosen.name);
    let open: Vec<(&str, usize)> = others
        .map(|tag| (tag.name, tag.tasks.iter().filter(is_open).count()))
        .filter(|(_, n)| *n > 0)
        .collect();
    let Some((first, _)) = open.first() else { return };
    let count: usize = open.iter().map(|(_, count)| count).sum();
    let message = match open.len() {
        1 => format!(
            "{} of the tag `{}` {} not read",
            counted(count as u64, "open task"),
            cut(first),
            be(count)
        ),
        tags => format!("{} of {tags} other tags {} not read", counted(count as u64, "open task"), be(count)),
    };
    let said = Diagnostic::warning(start(chosen.list), message);
    let said = said.label(format!("the tag `{}` is the current one", chosen.name));
    found.push(said.help("`task-master use-tag NAME` makes another one current"));
}

fn be(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// The first byte of a value.
fn start(node: &Node) -> Range<usize> {
    node.at.start..node.at.start + 1
}

fn not_one(root: &Node) -> Diagnostic {
    let message = "this is not a file of tasks of Task Master";
    let said = Diagnostic::error(start(root), message);
    match root.entries() {
        Some([]) => said.label("it is empty"),
        Some(entries) => {
            let keys: Vec<String> =
                entries.iter().take(KEYS).map(|(name, _)| format!("`{}`", cut(name))).collect();
            let more = if entries.len() > KEYS { ", …" } else { "" };
            said.label(format!("no list `tasks`, nor tags with one; it has {}{more}", keys.join(", ")))
        }
        None => said.label(format!("it is {}", root.name())),
    }
}

fn task(tag: &Tag<'_>, item: &Item<'_>, name: String, file: &str, found: &mut Problems) -> DraftTask {
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
        Some(_) if !item.id.is_empty() => {}
        Some(node) => {
            let message = format!("an id must be a number or text, not {}", node.name());
            found.repair(node.at.clone(), message, "an id is made of the title");
        }
        None => found.repair(start(item.node), "this task has no id", "one is made of its title"),
    }
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

/// Two tasks of one id. Names that are not numbers are told where all names are made.
fn tell_repeated(tag: &Tag<'_>, found: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (item, id) in tag.tasks.iter().zip(tag.ids()) {
        let is_number = tag.called(&item.id).bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if is_number && !item.id.is_empty() && !seen.insert(&item.id) {
            let at = item.node.get("id").map_or_else(|| start(item.node), |node| node.at.clone());
            found.repair(
                at,
                format!("the id `{}` was used before", cut(&item.id)),
                format!("called `{id}` here"),
            );
        }
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
    let at = || item.status().map_or_else(|| start(item.node), |node| node.at.clone());
    match own {
        Standing::Claimed if open > 0 => {
            let message = format!(
                "{} is done, but {} of it {} not",
                tag.called(&item.id),
                counted(open as u64, "subtask"),
                be(open)
            );
            found.repair(at(), message, "the task counts as done");
            own
        }
        Standing::Open if is_done => {
            let message = format!("all subtasks of {} are done", tag.called(&item.id));
            found.repair(at(), message, "the task counts as done");
            Standing::Claimed
        }
        _ => own,
    }
}

/// The author's own words. They do not say how far a step is: that changes while the plan stays the same.
fn words(item: &Item<'_>, found: &mut Problems) -> String {
    let title = item.title();
    // A title that is too long is cut.
    let whole = Some(&title).filter(|title| title_of(title) != **title).cloned();
    let mut parts: Vec<String> = whole.into_iter().chain(own_words(item)).collect();
    parts.extend(item.text("agentHint"));
    if let Some(bounds) = item.node.get("scopeBoundaries") {
        let bounds: Vec<String> = texts(bounds).into_iter().map(|(text, _)| text).collect();
        if !bounds.is_empty() {
            parts.push(format!("What belongs to it, and what does not: {}", bounds.join("; ")));
        }
    }
    let steps: Vec<String> = item.steps.iter().filter_map(|step| step_words(step)).collect();
    if !steps.is_empty() {
        parts.push(format!("Its steps, some of which may be done already:\n\n{}", steps.join("\n")));
    }
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
    parts.join("\n\n")
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
            for (path, at) in texts(item) {
                match RepoPath::new(&path) {
                    Ok(_) => files.push(path),
                    Err(reason) => {
                        let message = format!("{:?} cannot be a file of the project: {reason}", cut(&path));
                        found.repair(at, message, "left out");
                    }
                }
            }
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

/// What tasks name themselves, and what their subtasks wait for in other tasks: that, unless the tasks would wait for
/// each other then. A subtask that is named stands for its task.
fn needs(tag: &Tag<'_>, draft: &mut Draft, found: &mut Problems) {
    let ids = tag.tasks.iter().enumerate().rev().map(|(nth, item)| (item.id.to_lowercase(), nth));
    let places: HashMap<String, usize> = ids.collect();
    let place = |id: &str| {
        let task = || id.split_once('.').and_then(|(task, _)| places.get(&task.to_lowercase()));
        places.get(&id.to_lowercase()).or_else(task).copied()
    };
    let mut graph: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); tag.tasks.len()];
    for (nth, item) in tag.tasks.iter().enumerate() {
        tell_dependencies(item, found);
        for (id, at) in dependencies(item.node) {
            let other = place(&id);
            let is_new = other.is_none_or(|other| other != nth && graph[nth].insert(other));
            if is_new {
                let name = other.map_or(id.as_str(), |other| &tag.tasks[other].id);
                draft.tasks[nth].needs.push(Need { name: tag.called(name), at });
            }
        }
    }
    let mut left = STEPS;
    for (nth, item) in tag.tasks.iter().enumerate() {
        for (id, at) in item.steps.iter().flat_map(|step| dependencies(step.node)) {
            // An id without a dot is a sibling.
            let Some((task, _)) = id.split_once('.') else { continue };
            let Some(other) = place(task) else {
                found.repair(at, format!("there is no subtask `{}`", cut(&id)), "not waited for");
                continue;
            };
            if other == nth || graph[nth].contains(&other) {
                continue;
            }
            if reaches(&graph, other, nth, &mut left) {
                let (one, two) = (tag.called(&item.id), tag.called(task));
                let label = "this subtask does not make its task wait";
                found.repair(at, format!("{one} and {two} would wait for each other"), label);
                continue;
            }
            graph[nth].insert(other);
            draft.tasks[nth].needs.push(Need { name: tag.called(&tag.tasks[other].id), at });
        }
    }
}

fn dependencies(node: &Node) -> Vec<(String, Range<usize>)> {
    let items = node.get("dependencies").and_then(Node::items).unwrap_or_default();
    items.iter().map(|item| (id_text(item), item.at.clone())).filter(|(id, _)| !id.is_empty()).collect()
}

fn tell_dependencies(item: &Item<'_>, found: &mut Problems) {
    for item in std::iter::once(item).chain(&item.steps) {
        if let Some(node) = item.node.get("dependencies").filter(|node| node.items().is_none()) {
            let message = format!("`dependencies` must be a list, not {}", node.name());
            found.repair(node.at.clone(), message, "ignored");
        }
    }
}

/// Whether one task waits for another, whatever is between them. Where that takes too long, it may.
fn reaches(graph: &[BTreeSet<usize>], from: usize, to: usize, left: &mut usize) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(nth) = open.pop() {
        if nth == to || *left == 0 {
            return true;
        }
        *left -= 1;
        if seen.insert(nth) {
            *left = left.saturating_sub(graph[nth].len());
            open.extend(graph[nth].iter().copied());
        }
    }
    false
}

/// Tasks that somebody else has are left to them. People expect that of few, so it is said once for each reason.
fn tell_elsewhere(draft: &Draft, found: &mut Problems) {
    let mut counts: BTreeMap<&str, (usize, &DraftTask)> = BTreeMap::new();
    for task in &draft.tasks {
        if let Standing::NotOurs(why) = task.standing
            && task.standing != status::UNKNOWN
        {
            counts.entry(why).or_insert((0, task)).0 += 1;
        }
    }
    for (why, (count, first)) in counts {
        let message = match count {
            1 => format!("Piton does not take {}: {why}", first.name),
            more => format!("Piton does not take {} and {} more: {why}", first.name, more - 1),
        };
        let said = Diagnostic::warning(first.at.clone(), message).label("left to a person");
        found.push(said.help(format!("set its status to `{}`, and Piton does it", status::OPEN)));
    }
}
