//! The project around a plan: its root, and the checks that it has.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Check;
use piton_core::survey::{self, CheckSeen};
use piton_core::system::{Detects, Folder, SystemRef};
use piton_core::toolchain::{self, Detected};
use piton_engine::git::Repo;

use crate::failure::{Failure, Outcome};
use crate::plans::found::{How, folder_of};
use crate::programs::missing;

/// A file at a project's root that is larger than this configures nothing.
const LARGEST: u64 = 1 << 20;

/// The root of the project that a plan is for: the repository around it, or the folder that its own place is in. The files
/// of a plan that is one file are always named from the repository around it.
pub(super) fn root(path: &Utf8Path, system: SystemRef, given: Option<&Utf8Path>) -> Utf8PathBuf {
    let given = given.filter(|_| !system.files().plan_is_file);
    if let Some(given) = given.and_then(|given| given.canonicalize_utf8().ok()) {
        return given;
    }
    let is_top = |above: &&Utf8Path| above.join(".git").exists() || Repo::has_store(&above.join(".piton"));
    let repository = path.ancestors().find(is_top);
    let place = || path.ancestors().find(|above| above.file_name() == Some(".claude"))?.parent();
    repository.or_else(place).unwrap_or(folder_of(path)).to_owned()
}

/// The project's own checks, as far as they count for plans of this system.
pub(super) fn detected(root: &Utf8Path, system: SystemRef, how: How<'_>) -> Outcome<Vec<Detected>> {
    match (system.policy().detects, how.tests) {
        (Detects::Never, _) => Ok(Vec::new()),
        (Detects::AtBeginning | Detects::Once, Some(tests)) => Ok(tests.iter().map(settled).collect()),
        (Detects::Always, _) | (_, None) => Ok(toolchain::detect(&files_at(root)?)),
    }
}

/// A check that was found when the run began.
fn settled(check: &Check) -> Detected {
    Detected { about: toolchain::About::Test, check: check.clone(), from: String::new() }
}

/// A CI of more files than this is made by a program.
const MOST_CI: usize = 50;

/// The checks that a project has, its CI included; for those that cannot run here, the program that they lack.
pub(crate) fn checks(root: &Utf8Path) -> Outcome<Vec<CheckSeen>> {
    Ok(survey::checks(&files_at(root)?, &ci_files(root), &|check| missing(check, root)))
}

/// The files of a project's CI, by their names.
pub(crate) fn ci_files(root: &Utf8Path) -> Vec<(String, String)> {
    let mut names: Vec<String> = Vec::new();
    for folder in ["", ".github/workflows"] {
        let entries = root.join(folder).read_dir_utf8().into_iter().flatten().flatten();
        let paths = entries.map(|entry| Utf8Path::new(folder).join(entry.file_name()).into_string());
        names.extend(paths.filter(|path| survey::is_ci(path)));
    }
    names.sort();
    names.truncate(MOST_CI);
    let text = |name: String| {
        let path = root.join(&name);
        let is_plain = |data: std::fs::Metadata| data.is_file() && data.len() <= LARGEST;
        path.symlink_metadata()
            .is_ok_and(is_plain)
            .then(|| std::fs::read(&path).ok())
            .flatten()
            .map(|bytes| (name, String::from_utf8_lossy(&bytes).into_owned()))
    };
    names.into_iter().filter_map(text).collect()
}

/// The files at a project's root: their names, and the text of those that configure something.
pub(crate) fn files_at(root: &Utf8Path) -> Outcome<Folder> {
    let mut files = Folder::default();
    for entry in root.read_dir_utf8().into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(data) = path.metadata().ok().filter(std::fs::Metadata::is_file) else { continue };
        let is_read = toolchain::READ.contains(&entry.file_name()) && data.len() <= LARGEST;
        let text = is_read.then(|| std::fs::read(path)).transpose();
        let text = text.map_err(Failure::io(format!("cannot read {path}")))?;
        files.files.insert(entry.file_name().to_owned(), text.unwrap_or_default());
    }
    Ok(files)
}
