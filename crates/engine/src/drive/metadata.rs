//! Changes of modes, times and attributes outside of a worktree, if nothing keeps the agent from changing them.

use std::collections::BTreeMap;
use std::fs;

use camino::{Utf8DirEntry, Utf8Path, Utf8PathBuf};

use super::order::{Order, Trouble};
use crate::git::metadata_is_changed;
use crate::keeper::{Job, Outcome};
use piton_core::order::Pairs;
use piton_core::time::Timestamp;

/// SQLite sets the owner of its own files.
const JOURNAL: &str = "piton.db";

/// Modes by path, a folder before what is in it.
pub(super) type Modes = BTreeMap<Utf8PathBuf, u32>;

/// Whether a read-only view held these back from the agent.
pub(super) fn is_held_back(job: &Job, outcome: &Outcome) -> Result<bool, Trouble> {
    let asked = job.spec()?.and_then(|spec| spec.fence).is_some_and(|fence| fence.view);
    Ok(asked && outcome.unfenced.is_none() && outcome.unviewed.is_none())
}

/// The modes of Piton's own folder and of what lies directly in it.
pub(super) fn modes(home: &Utf8Path) -> Modes {
    let all = [home.to_owned()].into_iter().chain(inside(home));
    all.filter_map(|path| mode(&path).map(|mode| (path, mode))).into_map()
}

/// Put back modes that have changed. Returns which.
pub(super) fn put_back(before: &Modes) -> Vec<String> {
    let is_set = |(path, was): &(&Utf8PathBuf, &u32)| {
        mode(path).is_some_and(|now| now != **was) && set_mode(path, **was).is_ok()
    };
    before.iter().filter(is_set).map(|(path, _)| format!("the mode of {path}")).collect()
}

/// The files of which something other than the content has changed since the job began: in Piton's own folder, and
/// among the person's tracked files.
pub(super) fn touched(order: &Order, outcome: &Outcome) -> Result<Vec<String>, Trouble> {
    // By this machine's clock, as its files.
    let since = Timestamp(outcome.started_at_ms);
    let is_journal = |path: &Utf8Path| path.file_name().is_some_and(|name| name.starts_with(JOURNAL));
    let own = inside(&order.site.project.home).into_iter();
    let own = own.filter(|path| !is_journal(path) && metadata_is_changed(path, since));
    let names = {
        let _slot = order.site.slots.take();
        order.repo()?.metadata_changed(since)?
    };
    let all = own.map(Utf8PathBuf::into_string).chain(names);
    Ok(all.map(|name| format!("the mode, times or attributes of {name} were changed")).collect())
}

fn inside(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    folder.read_dir_utf8().into_iter().flatten().flatten().map(Utf8DirEntry::into_path).collect()
}

#[cfg(unix)]
fn mode(path: &Utf8Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let found = fs::symlink_metadata(path).ok().filter(|found| found.is_dir() || found.is_file())?;
    Some(found.permissions().mode() & 0o7777)
}

#[cfg(unix)]
fn set_mode(path: &Utf8Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn mode(_: &Utf8Path) -> Option<u32> {
    None
}

#[cfg(not(unix))]
fn set_mode(_: &Utf8Path, _: u32) -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn modes_of_pitons_own_folder_are_put_back() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(temp.path()).unwrap();
        let (file, other) = (folder.join("lock"), folder.join("other"));
        fs::write(&file, "").unwrap();
        fs::write(&other, "").unwrap();
        set_mode(&file, 0o640).unwrap();
        set_mode(folder, 0o700).unwrap();
        let before = modes(folder);
        assert_eq!(put_back(&before), [""; 0], "they are right");
        set_mode(&file, 0o444).unwrap();
        fs::remove_file(&other).unwrap();
        set_mode(folder, 0o500).unwrap();
        assert_eq!(put_back(&before), [format!("the mode of {folder}"), format!("the mode of {file}")]);
        assert_eq!((mode(folder), mode(&file)), (Some(0o700), Some(0o640)));
    }
}
