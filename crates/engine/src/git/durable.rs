//! What must survive a power cut before the journal records it.
//!
//! Git syncs what it writes for us. An agent's git syncs nothing by itself. Our git finds such objects and does not
//! write them again, so Piton has to sync them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;

use super::command::oid;
use super::error::GitError;
use super::repo::Repo;
use crate::{crash, disk};

/// Beyond this many files the whole file system is synced: one call instead of thousands.
const MANY: usize = 256;

impl Repo {
    /// Sync every object that `commit` has and `known` does not.
    pub fn sync_commits(&self, known: &Oid, commit: &Oid) -> Result<(), GitError> {
        let list = ["rev-list", "--objects", "--no-object-names", commit.as_str(), "--not", known.as_str()];
        let list = self.git().call(list).arg("--").line()?;
        self.sync_objects(&list.lines().filter_map(oid).collect::<Vec<_>>())
    }

    /// Sync these objects and the folders that name them, which git itself never does. It syncs the packs it
    /// makes, so only loose ones can be in danger.
    pub fn sync_objects<'a>(&self, objects: impl IntoIterator<Item = &'a Oid>) -> Result<(), GitError> {
        let place = self.common_dir().join("objects");
        let objects: Vec<&Oid> = objects.into_iter().collect();
        let file = |oid: &Oid| {
            let (folder, name) = oid.as_str().split_at(2);
            place.join(folder).join(name).into_std_path_buf()
        };
        let vanished = sync_files(&place, objects.iter().map(|oid| file(oid)))?;
        if vanished.is_empty() {
            return Ok(());
        }
        // A `git gc` has packed them meanwhile. Where they are now is synced, and they have to be there.
        self.sync_all()?;
        for oid in objects.into_iter().filter(|oid| vanished.contains(&file(oid))) {
            if !self.has_object(oid)? {
                return Err(not_kept(&file(oid))(io::ErrorKind::NotFound.into()));
            }
        }
        Ok(())
    }

    /// Sync everything in the file system of the repository.
    pub(super) fn sync_all(&self) -> Result<(), GitError> {
        sync_file_system(self.common_dir())
    }

    /// Git syncs the file of a ref, not the folder that names it.
    pub(super) fn sync_ref(&self, name: &str) -> Result<(), GitError> {
        let file = self.common_dir().join(name);
        for folder in [file.parent(), Some(&self.common_dir().join("reftable"))].into_iter().flatten() {
            if folder.is_dir() {
                match disk::sync_folder(folder) {
                    // Its last ref was packed in this moment.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    synced => synced.map_err(not_kept(folder.as_std_path()))?,
                }
            }
        }
        let packed = self.common_dir().join("packed-refs");
        if !file.exists() && packed.exists() {
            // A process that packs refs need not sync them.
            sync_files(self.common_dir(), std::iter::once(packed.into_std_path_buf()))?;
        }
        Ok(())
    }
}

/// Sync files in `place`, and the folders that name them. One that is not there needs no sync; those that vanish in the
/// middle of it are given back.
pub(super) fn sync_files(
    place: &Utf8Path,
    files: impl Iterator<Item = PathBuf>,
) -> Result<BTreeSet<PathBuf>, GitError> {
    let files: Vec<PathBuf> = files.collect();
    let mut vanished = BTreeSet::new();
    if files.len() > MANY || cfg!(not(unix)) {
        return sync_file_system(place).map(|()| vanished);
    }
    let mut folders = BTreeSet::new();
    // A link is synced with its folder, and opening its target may never return.
    for file in files.iter().filter(|file| file.symlink_metadata().is_ok_and(|meta| meta.is_file())) {
        crash::point("sync.file");
        match File::open(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => drop(vanished.insert(file.clone())),
            open => {
                open.and_then(|open| open.sync_all()).map_err(not_kept(file))?;
                folders.extend(file.parent());
            }
        }
    }
    for folder in folders {
        match File::open(folder) {
            // Git removes a folder with its last file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                vanished.extend(files.iter().filter(|file| file.parent() == Some(folder)).cloned());
            }
            open => open.and_then(|folder| folder.sync_all()).map_err(not_kept(folder))?,
        }
    }
    Ok(vanished)
}

fn sync_file_system(folder: &Utf8Path) -> Result<(), GitError> {
    disk::sync_file_systems(&[folder.to_owned()]).map_err(not_kept(folder.as_std_path()))
}

/// After a failed sync the next one may succeed although the data is lost: a second try proves nothing.
fn not_kept(path: &Path) -> impl FnOnce(io::Error) -> GitError {
    let path = Utf8PathBuf::from(path.to_string_lossy().into_owned());
    move |source| GitError::NotKept { path, source }
}
