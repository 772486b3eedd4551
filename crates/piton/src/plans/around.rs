//! The project around a plan: its root, and the checks that it has.

use camino::{Utf8DirEntry, Utf8Path, Utf8PathBuf};
use piton_core::plan::{Check, RepoPath};
use piton_core::survey::{self, CheckSeen};
use piton_core::system::{Detects, Folder, SystemRef, finding};
use piton_core::toolchain::{self, Detected, is_python_test};
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
    Ok(survey::checks(&files_at(root)?, &[], &ci_files(root), &|check| missing(check, root)))
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

/// Folders in which nobody keeps a project of their own that is to be checked.
const NO_PARTS: [&str; 14] = [
    "build",
    "dist",
    "doc",
    "docs",
    "example",
    "examples",
    "fixtures",
    "node_modules",
    "out",
    "target",
    "test",
    "testdata",
    "tests",
    "vendor",
];
/// No deeper than `apps/web`.
const DEEPEST_PART: usize = 2;
/// A repository with more folders near its root is made by a program.
const MOST_FOLDERS: usize = 200;

/// Folders of a repository that have checks of their own, with the files at their tops. Folders below such a one are not
/// looked into, and links are not followed.
pub(crate) fn parts_of(root: &Utf8Path) -> Outcome<Vec<(RepoPath, Folder)>> {
    let (mut parts, mut looked) = (Vec::new(), 0);
    let mut open = vec![(String::new(), 0)];
    while let Some((place, depth)) = open.pop() {
        let entries = root.join(&place).read_dir_utf8().into_iter().flatten().flatten();
        let is_folder = |entry: &Utf8DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let mut names: Vec<String> =
            entries.filter(is_folder).map(|entry| entry.file_name().to_owned()).collect();
        names.retain(|name| !name.starts_with(['.', '_']) && !NO_PARTS.contains(&name.as_str()));
        names.sort();
        let mut below = Vec::new();
        for name in names {
            looked += 1;
            if looked > MOST_FOLDERS {
                return Ok(parts);
            }
            let path = finding::join(&place, &name);
            let Ok(place) = RepoPath::new(&path) else { continue };
            let files = files_at(&root.join(&path))?;
            if !toolchain::detect(&files).is_empty() {
                parts.push((place, files));
            } else if depth + 1 < DEEPEST_PART {
                below.push((path, depth + 1));
            }
        }
        // The first name is looked into first.
        open.extend(below.into_iter().rev());
    }
    Ok(parts)
}

/// Tests of which the text is read: the first ones say how all are run.
const MOST_TESTS: usize = 20;

/// The files at a project's root: their names, and the text of those that configure something.
pub(crate) fn files_at(root: &Utf8Path) -> Outcome<Folder> {
    let mut files = Folder::default();
    add_files(root, "", &mut files, &|name| toolchain::READ.contains(&name), usize::MAX)?;
    for folder in ["", toolchain::TEST_FOLDERS[0], toolchain::TEST_FOLDERS[1]] {
        add_files(
            root,
            folder,
            &mut files,
            &|name| is_python_test(&finding::join(folder, name)),
            MOST_TESTS,
        )?;
    }
    Ok(files)
}

/// Add the files of a folder: the text of those that are to be read, and the names of all others at the root.
fn add_files(
    root: &Utf8Path,
    folder: &str,
    files: &mut Folder,
    is_wanted: &dyn Fn(&str) -> bool,
    most: usize,
) -> Outcome {
    let mut read = 0;
    let mut entries: Vec<Utf8DirEntry> =
        root.join(folder).read_dir_utf8().into_iter().flatten().flatten().collect();
    entries.sort_by(|a, b| a.file_name().cmp(b.file_name()));
    for entry in &entries {
        let (path, name) = (entry.path(), finding::join(folder, entry.file_name()));
        let is_read = read < most && is_wanted(entry.file_name());
        if !is_read && (!folder.is_empty() || files.files.contains_key(&name)) {
            continue;
        }
        let Some(data) = path.metadata().ok().filter(std::fs::Metadata::is_file) else { continue };
        let is_read = is_read && data.len() <= LARGEST;
        read += usize::from(is_read);
        let text = is_read.then(|| std::fs::read(path)).transpose();
        let text = text.map_err(Failure::io(format!("cannot read {path}")))?;
        files.files.insert(name, text.unwrap_or_default());
    }
    Ok(())
}
