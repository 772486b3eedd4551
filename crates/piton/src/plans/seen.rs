//! Plans that lie where people keep them.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::rwkit as lists;

use crate::plans::found::{LARGEST, is_execute};
use crate::plans::issue;
use crate::plans::issue::PLANS;
use crate::plans::iterative;
use crate::plans::iterative::ARCHIVE;
use crate::plans::iterative::PLACE as ITERATIVE;

/// Where folders of the execute system are kept, from the root of a project.
const EXECUTE: &str = "docs/tasks";
/// Where lists and plans that are single files are looked for.
const FILES: [&str; 3] = ["", "plans", "docs/plans"];

/// The plans of a project, each by its file or folder. A file counts as one by its name, or if it has tasks.
pub(crate) fn seen(root: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = |place: &str| -> Vec<Utf8PathBuf> {
        let entries = root.join(place).read_dir_utf8().into_iter().flatten().flatten();
        let mut paths: Vec<Utf8PathBuf> = entries.map(|entry| entry.path().to_owned()).collect();
        paths.sort();
        paths
    };
    let files = FILES.iter().flat_map(|place| entries(place)).filter(|path| path.is_file());
    let files = files.filter(|path| {
        let name = path.file_name().unwrap_or_default();
        is_native(path) || lists::is_list(name) || lists::is_master(name)
    });
    let is_issue = |path: &Utf8PathBuf| path.is_dir() && issue::is_issue(path);
    let is_iterative = |path: &Utf8PathBuf| {
        path.file_name() != Some(ARCHIVE) && path.is_dir() && iterative::is_iterative(path)
    };
    let execute = entries(EXECUTE).into_iter().filter(|path| path.is_dir() && is_execute(path));
    let issues = entries(PLANS).into_iter().filter(is_issue);
    let iterative = entries(ITERATIVE).into_iter().filter(is_iterative);
    files.chain(execute).chain(issues).chain(iterative).collect()
}

fn is_native(path: &Utf8Path) -> bool {
    let is_small = || path.metadata().is_ok_and(|data| data.len() <= LARGEST);
    let has_tasks = || std::fs::read_to_string(path).is_ok_and(|text| text.contains("[[task]]"));
    path.extension() == Some("toml") && is_small() && has_tasks()
}
