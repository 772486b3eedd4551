//! Where the files of Backlog.md lie, and what its tasks are called: by the names of their files.

use crate::plan::TaskId;
use crate::system::finding::join;
use crate::system::kit::draft::{Draft, DraftTask};

/// The configuration, which stands for the folder.
pub(super) const CONFIGS: [&str; 2] = ["config.yml", "config.yaml"];
/// The same at the root of a project. Where there is one, it alone counts.
pub(super) const ROOT_CONFIG: &str = "backlog.config.yml";
/// Where the tool keeps its folder if nobody says otherwise.
pub(super) const FOLDER: &str = "backlog";
const HIDDEN_FOLDER: &str = ".backlog";
pub(super) const TASKS: &str = "tasks";
/// What is done, whatever its status says.
pub(super) const COMPLETED: &str = "completed";
/// Folders below these that are looked into.
const DEEPEST: usize = 3;
/// Names of one folder; more are not looked at.
const MOST: usize = 10_000;

/// A file whose name says that it is a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskPath {
    pub(super) id: TaskId,
    /// `task-7`, as in the name of the file.
    pub(super) name: String,
    /// From the folder of the configuration on.
    pub(super) path: String,
}

/// `task-7` of `tasks/task-7 - Some-title.md`.
fn name_of(path: &str) -> Option<&str> {
    let stem = path.rsplit('/').next().unwrap_or(path).strip_suffix(".md")?;
    let name = stem.split_once(" - ").map_or(stem, |(name, _)| name).trim();
    let number = name.rsplit_once('-')?.1;
    let is_number =
        number.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    (is_number && !name.starts_with('-')).then_some(name)
}

/// A name to compare with others: without case, and without zeros before its numbers.
pub(super) fn folded(name: &str) -> String {
    let name = name.trim().to_lowercase();
    let (prefix, number) =
        name.rsplit_once('-').map_or(("", name.as_str()), |(prefix, number)| (prefix, number));
    let part = |part: &str| {
        let bare = part.trim_start_matches('0');
        if bare.is_empty() { "0".to_owned() } else { bare.to_owned() }
    };
    let number: Vec<String> = number.split('.').map(part).collect();
    format!("{prefix}-{}", number.join("."))
}

/// The number of a name, to sort by.
fn order_of(name: &str) -> Vec<u64> {
    let number = name.rsplit_once('-').map_or(name, |(_, number)| number);
    number.split('.').map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

/// The tasks among these files, in the order of their numbers. Of two of a name, the one whose path comes first keeps it.
/// Reader and writer call them the same.
pub(super) fn tasks<'p>(paths: impl IntoIterator<Item = &'p str>) -> Vec<TaskPath> {
    let is_task = |path: &&str| path.starts_with("tasks/") || path.starts_with("completed/");
    let mut found: Vec<(&str, &str)> =
        paths.into_iter().filter(is_task).filter_map(|path| Some((name_of(path)?, path))).collect();
    found.sort_by_cached_key(|(name, path)| {
        (order_of(name), path.starts_with("completed/"), (*path).to_owned())
    });
    found.dedup();
    let task = |(name, _): &(&str, &str)| DraftTask { name: folded_case(name), ..DraftTask::default() };
    let ids = Draft { tasks: found.iter().map(task).collect(), ..Draft::default() }.ids();
    let path = |(id, (name, path)): (TaskId, (&str, &str))| TaskPath {
        id,
        name: name.to_owned(),
        path: path.to_owned(),
    };
    ids.into_iter().zip(found).map(path).collect()
}

/// In small letters, as the tool writes names of files: `TASK-7` and `task-7` are one.
fn folded_case(name: &str) -> String {
    name.to_lowercase()
}

/// The files of tasks, by their paths from the folder of the configuration on. `names` lists a folder below it.
pub(super) fn files(names: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<(String, usize)> = vec![(TASKS.to_owned(), 0), (COMPLETED.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for name in names(&folder).into_iter().take(MOST) {
            let path = join(&folder, &name);
            if name.ends_with(".md") {
                found.push(path);
            } else if depth < DEEPEST && !name.contains('.') {
                open.push((path, depth + 1));
            }
        }
    }
    found.sort();
    found
}

/// The folder of tasks that a configuration at the root of a project is about, from that root on. `names` lists a folder of
/// the project.
pub(super) fn of_root(directory: Option<&str>, names: &dyn Fn(&str) -> Vec<String>) -> String {
    let usual =
        || if names(FOLDER).is_empty() && !names(HIDDEN_FOLDER).is_empty() { HIDDEN_FOLDER } else { FOLDER };
    directory.unwrap_or_else(usual).to_owned()
}

/// Whether there is a task below a folder.
pub(super) fn has_tasks(names: &dyn Fn(&str) -> Vec<String>) -> bool {
    !tasks(files(names).iter().map(String::as_str)).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_say_what_tasks_are_called() {
        let found = tasks([
            "tasks/task-10 - Ten.md",
            "tasks/task-9 - Nine — long.md",
            "tasks/TASK-9.2 - Part.md",
            "tasks/epics/task-epic-11.172 - Deep.md",
            "tasks/back-1.md",
            "tasks/notes.md",
            "tasks/readme-first.md",
            "completed/task-9 - Another.md",
            "drafts/task-1 - No.md",
        ]);
        let found: Vec<(&str, &str)> =
            found.iter().map(|task| (task.id.as_str(), task.path.as_str())).collect();
        assert_eq!(
            found,
            [
                ("back-1", "tasks/back-1.md"),
                ("task-9", "tasks/task-9 - Nine — long.md"),
                ("task-9-2", "completed/task-9 - Another.md"),
                ("task-9.2", "tasks/TASK-9.2 - Part.md"),
                ("task-10", "tasks/task-10 - Ten.md"),
                ("task-epic-11.172", "tasks/epics/task-epic-11.172 - Deep.md"),
            ]
        );
        assert_eq!((folded("TASK-007.02"), folded("9")), ("task-7.2".to_owned(), "-9".to_owned()));
    }
}
