//! Plans that lie where people keep them.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::{FileClaim, finding, systems};

use crate::plans::disk::OnDisk;

/// Where plans that are single files are looked for.
const FILES: [&str; 3] = ["", "plans", "docs/plans"];

/// The plans of a project, each by its file or folder. A file counts by its name, or by its content.
pub(crate) fn seen(root: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = |place: &str| -> Vec<Utf8PathBuf> {
        let entries = root.join(place).read_dir_utf8().into_iter().flatten().flatten();
        let mut paths: Vec<Utf8PathBuf> = entries.map(|entry| entry.path().to_owned()).collect();
        paths.sort();
        paths
    };
    let files = FILES.iter().flat_map(|place| entries(place)).filter(|path| path.is_file() && is_plan(path));
    let folders = systems().filter_map(|system| Some((system, system.files().usual_folder?)));
    let folders = folders.flat_map(|(system, place)| {
        let is_its = move |path: &Utf8PathBuf| {
            path.is_dir() && finding::claimants(path.as_str(), &OnDisk).contains(&system)
        };
        let is_archive =
            move |path: &Utf8PathBuf| path.file_name() == system.files().archive.map(|archive| archive.place);
        entries(place).into_iter().filter(move |path| !is_archive(path) && is_its(path))
    });
    files.chain(folders).collect()
}

fn is_plan(path: &Utf8Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let is_claimed = |claim| claim == FileClaim::Yes;
    systems().filter(|system| system.files().plan_is_file).any(|system| {
        is_claimed(system.claims_file(name, path.as_str(), &OnDisk)) || system.collection(name).is_some()
    })
}
