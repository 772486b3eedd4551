//! Todolists: read with the plan they were made from, and with what the project around them says.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::Folder;
use piton_core::system::kit::text;
use piton_core::system::rwkit::plan::{self, Given};
use piton_core::system::rwkit::{self, Sibling};
use piton_core::toolchain::{self, Detected};

use crate::failure::Outcome;
use crate::plans::found::{FoundPlan, How, Read, config, file_of, folder_of, pictured, stays_inside};
use crate::plans::issue::{files_at, root};

/// The list and the plan beside it, by their paths in the project.
pub(super) fn source(path: &Utf8Path) -> Outcome<Folder> {
    let root = root(path, None);
    let mut folder = Folder::default();
    let beside = rwkit::plan_path(path.as_str()).map(camino::Utf8PathBuf::from);
    for path in [Some(path.to_owned()), beside.filter(|path| path.is_file())].into_iter().flatten() {
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string();
        folder.files.insert(name, file_of(&path, folder_of(&path))?);
    }
    Ok(folder)
}

pub(super) fn understand(path: &Utf8Path, source: &Folder, how: How<'_>) -> Outcome<Read> {
    let root = root(path, None);
    let config = match config(folder_of(path))? {
        Some(config) => config,
        None => how.project.map(config).transpose()?.flatten().unwrap_or_default(),
    };
    let detected = match how.tests {
        None => toolchain::detect(&files_at(&root)?),
        Some(tests) => tests.iter().map(settled).collect(),
    };
    let list = path.strip_prefix(&root).unwrap_or(path).as_str();
    let plan = rwkit::plan_path(list);
    let siblings = siblings(path, &root);
    let given = Given {
        list,
        plan: plan.as_deref(),
        config: &config,
        detected: &detected,
        siblings: &siblings,
        strict: how.strict,
    };
    let mut list = plan::read(source, &given);
    if how.lint {
        let poor = plan::lint(&list);
        list.reading.problems.extend(poor);
    }
    let picture = pictured(path, &root, &list.reading)?;
    let found = FoundPlan {
        path: path.to_owned(),
        plan: list.reading.plan.clone(),
        issue: None,
        list: Some(Box::new(list)),
        iterative: None,
    };
    Ok((found, picture))
}

/// The other lists of the master list that names this one. Where none does, those that lie beside it.
fn siblings(path: &Utf8Path, root: &Utf8Path) -> Vec<Sibling> {
    let folder = folder_of(path);
    let masters = folder.ancestors().take_while(|above| above.starts_with(root));
    let named = masters
        .map(|above| lists_of(&above.join(rwkit::MASTER)))
        .find(|lists| lists.iter().any(|list| list == path));
    let lists = named.unwrap_or_else(|| {
        let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
        let mut lists: Vec<Utf8PathBuf> = entries.map(|entry| entry.path().to_owned()).collect();
        lists.retain(|list| rwkit::is_list(list.as_str()) && list.is_file());
        lists.sort();
        lists
    });
    let read = |list: &Utf8PathBuf| {
        let name = list.strip_prefix(root).unwrap_or(list).as_str();
        Some(Sibling::read(name, &file_of(list, folder_of(list)).ok()?))
    };
    lists.iter().filter(|list| *list != path).filter_map(read).collect()
}

/// The files of the lists that a master list names, in its order.
fn lists_of(master: &Utf8Path) -> Vec<Utf8PathBuf> {
    let Ok(bytes) = file_of(master, folder_of(master)) else { return Vec::new() };
    let read = rwkit::master::read(&text::decode(&bytes).text);
    let lists = read.entries.iter().filter_map(|entry| list_of(master, entry.list.as_ref()?.as_str()));
    let inside = lists.filter(|list| stays_inside(list, folder_of(master)).is_ok());
    inside.filter_map(|list| list.canonicalize_utf8().ok()).collect()
}

/// A list that a master list names: beside it, or from the root of the project.
pub(crate) fn list_of(master: &Utf8Path, list: &str) -> Option<Utf8PathBuf> {
    let folder = folder_of(master);
    let name = Utf8Path::new(list).file_name()?;
    let beside = [folder.join(list), folder.join(name)];
    let above = folder.ancestors().map(|above| above.join(list));
    beside.into_iter().chain(above).find(|path| path.is_file())
}

/// A check that was found when the run began.
pub(super) fn settled(check: &piton_core::plan::Check) -> Detected {
    Detected { about: toolchain::About::Test, check: check.clone(), from: String::new() }
}
