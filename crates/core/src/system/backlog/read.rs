//! A folder of tasks as a plan of Piton's: each file is a task, each milestone or parent a group.

use std::collections::{BTreeMap, BTreeSet};

use super::config::Config;
use super::place::{self, COMPLETED, ROOT_CONFIG, TaskPath, folded};
use super::task_file::TaskFile;
use crate::diagnostic::{Diagnostic, Severity};
use crate::order::Arrange;
use crate::plan::RepoPath;
use crate::system::finding::join;
use crate::system::kit::draft::{
    Draft, DraftTask, Need, Order, Phase, Standing, commands_of, paths_of, title_of,
};
use crate::system::kit::frontmatter::Value;
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text;
use crate::system::{Folder, Given, Problem};
use crate::view::counted;

/// What every prompt ends with.
const CLOSING: &str =
    "Do only this task, and do not change the files of tasks: Piton does when the task is completed.";

/// A task with what its file says.
struct Read<'p> {
    path: &'p TaskPath,
    file: String,
    text: String,
    said: TaskFile,
}

pub(super) fn read(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let is_read = decoded.problems.iter().all(|problem| problem.severity < Severity::Error);
    let mut found = Problems::new(given.strictness);
    decoded.problems.into_iter().for_each(|problem| found.push(problem));
    let config = Config::read(&decoded.text);
    let root = folder_of(folder, given.place, config.directory.as_deref());
    let mut draft = Draft { order: Order::Free, closing: Some(CLOSING), ..Draft::default() };
    draft.name = config.name.clone().unwrap_or_else(|| "backlog".to_owned());
    if is_read && !config.is_one {
        let told = Diagnostic::error(0..0, "this is not a configuration of Backlog.md");
        found.push(told.label("it has no `project_name` with `statuses`"));
    }
    let below = |file: &'_ String| -> Option<String> {
        let rest =
            if root.is_empty() { file.as_str() } else { file.strip_prefix(&*root)?.strip_prefix('/')? };
        Some(rest.to_owned())
    };
    let names: Vec<String> = folder.files.keys().filter_map(below).collect();
    let paths = place::tasks(names.iter().map(String::as_str));
    let mut notes: usize = 0;
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut tasks: Vec<Read<'_>> = Vec::new();
    for path in &paths {
        let file = join(&root, &path.path);
        let decoded = text::decode_with(&folder.files[&file], given.strictness);
        let is_text = decoded.problems.iter().all(|problem| problem.severity < Severity::Error);
        let problem = |diagnostic| Problem { file: file.clone(), diagnostic };
        draft.problems.extend(decoded.problems.into_iter().map(problem));
        match TaskFile::read(&decoded.text) {
            Some(said) => {
                if !seen.insert(folded(&path.name)) {
                    let at = said.title.as_ref().map_or(0..0, |title| title.at.clone());
                    let message = format!("another file is called `{}`, too", cut(&path.name));
                    let told = Diagnostic::warning(at, message).label(format!("called `{}` here", path.id));
                    draft.problems.push(Problem { file: file.clone(), diagnostic: told });
                }
                tasks.push(Read { path, file, text: decoded.text, said });
            }
            None => {
                notes += usize::from(is_text);
                draft.texts.insert(file, decoded.text);
            }
        }
    }
    if notes > 0 {
        let message = format!("{} without fields at the beginning", counted(notes as u64, "file"));
        found.push(Diagnostic::warning(0..0, message).label("not a task"));
    }
    sort(&mut tasks);
    let known = |name: &str| tasks.iter().position(|task| folded(&task.path.name) == name);
    let needs = needs(&tasks, &known);
    let parents = parents(&tasks, &known);
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for (nth, task) in tasks.iter().enumerate() {
        let title = group_of(nth, &tasks, &parents, &draft.name);
        let phases = &mut draft.groups;
        let group = *groups.entry(title.to_lowercase()).or_insert_with(|| {
            phases.push(Phase { title, barrier: false });
            phases.len() - 1
        });
        let one = draft_task(task, group, needs[nth].clone(), &config, folder, &mut draft.problems);
        draft.tasks.push(one);
    }
    for task in tasks {
        draft.texts.insert(task.file, task.text);
    }
    let problem = |diagnostic| Problem { file: given.place.to_owned(), diagnostic };
    draft.problems.extend(found.finish().into_iter().map(problem));
    draft.texts.insert(given.place.to_owned(), decoded.text);
    draft
}

/// The folder of the tasks, from the root of the project on.
fn folder_of(folder: &Folder, config: &str, directory: Option<&str>) -> String {
    let (root, name) = config.rsplit_once('/').unwrap_or(("", config));
    if name != ROOT_CONFIG {
        return root.to_owned();
    }
    // What was read along says which folders there are.
    let names = |place: &str| {
        let place = format!("{}/", join(root, place));
        folder.files.keys().filter(|file| file.starts_with(&place)).take(1).cloned().collect()
    };
    join(root, &place::of_root(directory, &names))
}

/// As the board shows them: by their place in it where they have one, then by number.
fn sort(tasks: &mut [Read<'_>]) {
    tasks.arrange_by(|a, b| {
        let place = |task: &Read<'_>| task.said.ordinal.unwrap_or(f64::MAX);
        place(a).total_cmp(&place(b))
    });
}

/// `9` and `TASK-9` in a task called `task-12` are `task-9`.
fn meant(name: &str, by: &TaskPath) -> String {
    let bare = name.trim();
    let is_number = bare.starts_with(|c: char| c.is_ascii_digit());
    let prefix = by.name.rsplit_once('-').map_or("task", |(prefix, _)| prefix);
    if is_number { folded(&format!("{prefix}-{bare}")) } else { folded(bare) }
}

/// The parent of each task, as its fields or its number say.
fn parents(tasks: &[Read<'_>], known: &dyn Fn(&str) -> Option<usize>) -> Vec<Option<usize>> {
    let parent = |(nth, task): (usize, &Read<'_>)| {
        let named = task.said.parent.as_deref().map(|name| meant(name, task.path));
        let numbered = task.path.name.rsplit_once('.').map(|(above, _)| folded(above));
        named.or(numbered).and_then(|name| known(&name)).filter(|parent| *parent != nth)
    };
    tasks.iter().enumerate().map(parent).collect()
}

/// What tasks name, and the parts that a task with parts waits for: those that do not wait for it themselves.
fn needs(tasks: &[Read<'_>], known: &dyn Fn(&str) -> Option<usize>) -> Vec<Vec<Need>> {
    let mut places: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); tasks.len()];
    let mut needs: Vec<Vec<Need>> = vec![Vec::new(); tasks.len()];
    for (nth, task) in tasks.iter().enumerate() {
        for value in &task.said.needs {
            let other = known(&meant(&value.text, task.path));
            places[nth].extend(other);
            let name = other.map_or_else(|| cut(&value.text), |other| tasks[other].path.id.to_string());
            needs[nth].push(Need { name, at: value.at.clone() });
        }
    }
    for (part, parent) in parents(tasks, known).into_iter().enumerate() {
        let Some(parent) = parent.filter(|parent| !waits(part, *parent, &places)) else { continue };
        if places[parent].insert(part) {
            needs[parent].push(Need { name: tasks[part].path.id.to_string(), at: 0..0 });
        }
    }
    needs
}

/// Whether a task waits for another one, however many stand between them.
fn waits(task: usize, other: usize, places: &[BTreeSet<usize>]) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![task]);
    while let Some(next) = open.pop() {
        if next == other {
            return true;
        }
        if seen.insert(next) {
            open.extend(places[next].iter().copied());
        }
    }
    false
}

fn group_of(nth: usize, tasks: &[Read<'_>], parents: &[Option<usize>], name: &str) -> String {
    let mut top = nth;
    // A circle of parents ends somewhere.
    for _ in 0..tasks.len().min(8) {
        if let Some(milestone) = &tasks[top].said.milestone {
            return milestone.clone();
        }
        match parents[top] {
            Some(parent) => top = parent,
            None => break,
        }
    }
    let has_parts = parents.contains(&Some(top));
    match &tasks[top].said.title {
        Some(title) if has_parts => title_of(&title.text),
        _ => name.to_owned(),
    }
}

fn draft_task(
    task: &Read<'_>,
    group: usize,
    needs: Vec<Need>,
    config: &Config,
    folder: &Folder,
    problems: &mut Vec<Problem>,
) -> DraftTask {
    let said = &task.said;
    let mut told = Vec::new();
    let at = said.title.as_ref().map_or(0..0, |title| title.at.clone());
    let standing = standing(task, config, &mut told);
    let mut files = Vec::new();
    for value in &said.files {
        // A reference may be a page of the web.
        files.extend(paths_of(&format!("`{}`", value.text), value.at.start, &mut Vec::new()));
    }
    let documents: Vec<String> =
        said.documents.iter().chain(&said.files).filter_map(|value| document(value, folder)).collect();
    let around = match documents.len() {
        0 => String::new(),
        _ => format!("The task refers to these:\n{}", documents.join("\n")),
    };
    let mut commands: Vec<String> =
        config.definition_of_done.iter().flat_map(|line| commands_of(line)).collect();
    commands.extend(said.done_when.iter().chain(&said.criteria).flat_map(|line| commands_of(line)));
    commands.dedup();
    if let Some(first) = said.odd.first() {
        let count = counted(said.odd.len() as u64, "line");
        told.push(
            Diagnostic::warning(first.clone(), format!("{count} of the fields not understood"))
                .label("left as it is"),
        );
    }
    let priority = priority(said.priority.as_ref(), &mut told);
    let problem = |diagnostic| Problem { file: task.file.clone(), diagnostic };
    problems.extend(told.into_iter().map(problem));
    let criteria = said.criteria.iter().chain(&said.done_when).chain(&config.definition_of_done).cloned();
    DraftTask {
        name: task.path.id.to_string(),
        file: task.file.clone(),
        at,
        title: title_of(said.title.as_ref().map_or(&task.path.name, |title| &title.text)),
        words: said.words.clone(),
        around,
        group,
        needs,
        beside: true,
        files,
        criteria: criteria.collect(),
        commands,
        standing,
        priority,
        ..DraftTask::default()
    }
}

fn standing(task: &Read<'_>, config: &Config, told: &mut Vec<Diagnostic>) -> Standing {
    if task.path.path.starts_with(&format!("{COMPLETED}/")) {
        return Standing::Claimed;
    }
    let Some(status) = &task.said.status else { return Standing::Open };
    let word = status.text.as_str();
    match word {
        word if word.is_empty() || config.is_open(word) => Standing::Open,
        word if config.is_done(word) => Standing::Claimed,
        word if config.knows(word) => Standing::NotOurs("its status says that somebody has it"),
        word => {
            let message = format!("`{}` is not a status of this project", cut(word));
            told.push(Diagnostic::warning(status.at.clone(), message).label("Piton does not take this task"));
            Standing::NotOurs("its status is not one of the project's")
        }
    }
}

fn priority(said: Option<&Value>, told: &mut Vec<Diagnostic>) -> Option<u32> {
    let said = said?;
    match said.text.to_lowercase().as_str() {
        "critical" | "urgent" => Some(10),
        "high" => Some(30),
        "medium" => None,
        "low" => Some(70),
        _ => {
            let message = "a priority is high, medium or low";
            told.push(Diagnostic::warning(said.at.clone(), message).label("ignored"));
            None
        }
    }
}

/// A document that exists, or a page of the web.
fn document(value: &Value, folder: &Folder) -> Option<String> {
    let text = value.text.trim();
    let is_page = text.starts_with("https://") || text.starts_with("http://");
    let is_file = RepoPath::new(text).is_ok() && !folder.files.contains_key(text);
    (is_page || is_file).then(|| format!("- {text}"))
}
