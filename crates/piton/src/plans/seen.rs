//! Plans that lie where people keep them.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::{FileClaim, SystemRef, finding, systems};

use crate::plans::disk::OnDisk;
use crate::plans::issues::{BEADS, is_beads};

/// Where plans that are single files are looked for.
const FILES: [&str; 3] = ["", "plans", "docs/plans"];
/// Folders below the place of a system that are looked into, such as `specs/001-login/tasks.md`.
const DEEPEST: usize = 3;
/// A place with more entries holds something else, too.
const MOST: usize = 2000;

/// The plans of a project, each by its file or folder. A file counts by its name, or by its content.
pub(crate) fn seen(root: &Utf8Path) -> Vec<Utf8PathBuf> {
    let files = FILES.iter().flat_map(|place| entries(&root.join(place)));
    let mut found: Vec<Utf8PathBuf> = files.filter(|path| path.is_file() && is_plan(path)).collect();
    for system in systems() {
        let Some(place) = system.files().usual_folder else { continue };
        let of_place = if system.files().plan_is_file {
            files_below(&root.join(place), system)
        } else {
            folders_in(&root.join(place), system)
        };
        for path in of_place {
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    let beads = root.join(BEADS);
    if is_beads(&beads) {
        found.push(beads);
    }
    found
}

/// Folders in which nobody keeps plans of their own.
const NOT_LOOKED_INTO: [&str; 5] = [".git", ".piton", "node_modules", "target", "vendor"];

/// All plans below a folder, of one system or of any, by their files or folders. If a system is named, its plans are all files
/// that it could read. Links are not followed.
pub(crate) fn below(place: &Utf8Path, wanted: Option<SystemRef>) -> Vec<(Utf8PathBuf, SystemRef)> {
    let mut found = Vec::new();
    let mut open = vec![place.to_owned()];
    while let Some(folder) = open.pop() {
        let own = finding::claimants(folder.as_str(), &OnDisk).into_iter();
        let own: Vec<SystemRef> =
            own.filter(|system| wanted.is_none_or(|wanted| wanted == *system)).collect();
        let of_folders = own.iter().filter(|system| !system.files().plan_is_file);
        found.extend(of_folders.map(|system| (folder.clone(), *system)));
        let mut folders = Vec::new();
        for path in entries(&folder) {
            let Ok(data) = path.symlink_metadata() else { continue };
            let name = path.file_name().unwrap_or_default();
            if data.is_dir() && !NOT_LOOKED_INTO.contains(&name) {
                folders.push(path);
            } else if data.is_file()
                && let Some(system) = system_of(&path, wanted)
            {
                found.push((path, system));
            }
        }
        // The first name is looked into first.
        open.extend(folders.into_iter().rev());
    }
    found
}

/// The system of which a file is a plan by itself.
fn system_of(path: &Utf8Path, wanted: Option<SystemRef>) -> Option<SystemRef> {
    let name = path.file_name().unwrap_or_default();
    let is_its = |system: &SystemRef| {
        let could_be = || system.claims_file(name, path.as_str(), &OnDisk) == FileClaim::LastResort;
        system.files().plan_is_file
            && system.collection(name).is_none()
            && (is_plan_of(path, *system) || wanted.is_some() && could_be())
    };
    systems().filter(|system| wanted.is_none_or(|wanted| wanted == *system)).find(is_its)
}

fn entries(place: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = place.read_dir_utf8().into_iter().flatten().flatten();
    let mut paths: Vec<Utf8PathBuf> = entries.map(|entry| entry.path().to_owned()).collect();
    paths.sort();
    paths
}

/// Folders that are plans of a system.
fn folders_in(place: &Utf8Path, system: SystemRef) -> Vec<Utf8PathBuf> {
    let is_its =
        |path: &Utf8PathBuf| path.is_dir() && finding::claimants(path.as_str(), &OnDisk).contains(&system);
    entries(place).into_iter().filter(|path| !is_archive(path, system) && is_its(path)).collect()
}

fn is_archive(path: &Utf8Path, system: SystemRef) -> bool {
    system.files().archive.is_some_and(|archive| path.file_name() == Some(archive.place))
}

/// Files that are plans of a system, wherever they lie below its place. Links are not followed.
fn files_below(place: &Utf8Path, system: SystemRef) -> Vec<Utf8PathBuf> {
    let (mut found, mut looked) = (Vec::new(), 0);
    let mut open = vec![(place.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let mut folders = Vec::new();
        for path in entries(&folder) {
            looked += 1;
            let Ok(data) = path.symlink_metadata() else { continue };
            if looked > MOST {
                return found;
            } else if data.is_dir() && depth < DEEPEST && !is_archive(&path, system) {
                folders.push((path, depth + 1));
            } else if data.is_file() && is_plan_of(&path, system) {
                found.push(path);
            }
        }
        // The first name is looked into first.
        open.extend(folders.into_iter().rev());
    }
    found
}

fn is_plan(path: &Utf8Path) -> bool {
    systems().filter(|system| system.files().plan_is_file).any(|system| is_plan_of(path, system))
}

fn is_plan_of(path: &Utf8Path, system: SystemRef) -> bool {
    let name = path.file_name().unwrap_or_default();
    let folder = path.parent().map_or("", Utf8Path::as_str);
    let makes_its_folder = || {
        system.claims_folder(folder, &OnDisk).is_some_and(|claim| claim.file == name)
            && finding::claimants(folder, &OnDisk).contains(&system)
    };
    match system.claims_file(name, path.as_str(), &OnDisk) {
        FileClaim::Yes => true,
        FileClaim::InItsFolder => makes_its_folder(),
        FileClaim::No | FileClaim::LastResort => system.collection(name).is_some(),
    }
}
