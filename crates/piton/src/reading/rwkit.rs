//! Todolists: read with the plan they were made from, and with what the project around them says.

use camino::Utf8Path;
use piton_core::dialect::Folder;
use piton_core::dialect::rwkit::plan::{self, Given};
use piton_core::dialect::rwkit::{self};
use piton_core::dialect::toolchain::{self, Detected};

use super::issue::{files_at, root};
use super::{FoundPlan, How, Read, config, file_of, folder_of, pictured};
use crate::failure::Outcome;

/// The list and the plan beside it, by their paths in the project.
pub(super) fn source(path: &Utf8Path) -> Outcome<Folder> {
    let root = root(path, None);
    let mut folder = Folder::default();
    let beside = rwkit::plan_path(path.as_str()).map(camino::Utf8PathBuf::from);
    for path in [Some(path.to_owned()), beside.filter(|path| path.is_file())].into_iter().flatten() {
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string();
        folder.files.insert(name, file_of(&path)?);
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
    let given =
        Given { list, plan: plan.as_deref(), config: &config, detected: &detected, strict: how.strict };
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

/// A check that was found when the run began.
pub(super) fn settled(check: &piton_core::plan::Check) -> Detected {
    Detected { about: toolchain::About::Test, check: check.clone(), from: String::new() }
}
