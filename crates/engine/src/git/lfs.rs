//! The large files of an attempt with a private git directory. Its git-lfs keeps them in there, and finds those of the
//! repository by its alternates, wherever `lfs.storage` has them. What it added is brought over when the attempt is over.

use std::fs::{self, File};
use std::io::{self, Read, Write};

use camino::{Utf8DirEntry, Utf8Path, Utf8PathBuf};
use sha2::{Digest as _, Sha256};

use super::error::GitError;
use super::repo::Repo;
use super::view::link;
use crate::disk;

/// Where git-lfs keeps files, in a git directory or where `lfs.storage` says.
const USUAL: &str = "lfs";
/// In there, `aa/bb/aabb…`: by the SHA-256 of what they hold.
const OBJECTS: &str = "objects";
/// In a private git directory: what looks like a repository to git-lfs, with the files of one that keeps them elsewhere.
const LIKE_A_REPOSITORY: &str = "piton-lfs";

impl Repo {
    /// Where the repository's own files of git-lfs are.
    fn lfs_storage(&self) -> Result<Utf8PathBuf, GitError> {
        let named = self.lfs_storage_setting()?;
        Ok(self.common_dir().join(Some(named).filter(|named| !named.is_empty()).as_deref().unwrap_or(USUAL)))
    }
}

/// Let an attempt find the files of a repository that keeps them elsewhere. It is made at `new` and will be at `own`.
/// Git-lfs looks beside the object folders of alternates, and only there. Returns such an object folder, which is empty.
pub(super) fn lend(repo: &Repo, new: &Utf8Path, own: &Utf8Path) -> Result<Option<Utf8PathBuf>, GitError> {
    let storage = repo.lfs_storage()?;
    if storage == repo.common_dir().join(USUAL) {
        return Ok(None);
    }
    let like = new.join(LIKE_A_REPOSITORY);
    for folder in [like.join("objects"), like.join(USUAL)] {
        fs::create_dir_all(&folder).map_err(GitError::io(folder))?;
    }
    let from = storage.join(OBJECTS);
    if from.is_dir() {
        link(&from, &like.join(USUAL).join(OBJECTS))?;
    }
    Ok(Some(own.join(LIKE_A_REPOSITORY).join("objects")))
}

/// Give the repository the files that it does not have. One that is not what its name says stays behind, and goes with the
/// private git directory.
pub(super) fn bring_over(own: &Utf8Path, repo: &Repo) -> Result<(), GitError> {
    let from = own.join(USUAL).join(OBJECTS);
    if !is_folder(&own.join(USUAL)) || !is_folder(&from) {
        return Ok(());
    }
    let to = repo.lfs_storage()?.join(OBJECTS);
    for first in folders(&from) {
        for second in folders(first.path()) {
            for file in entries(second.path()) {
                let name = file.file_name();
                let is_name = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
                if !is_name || name[..2] != *first.file_name() || name[2..4] != *second.file_name() {
                    continue;
                }
                let folder = to.join(&name[..2]).join(&name[2..4]);
                let is_file = file.file_type().is_ok_and(|kind| kind.is_file());
                if is_file && !folder.join(name).exists() {
                    copy(file.path(), &folder, name).map_err(GitError::io(file.path()))?;
                }
            }
        }
    }
    Ok(())
}

/// A copy, never a link: a process with another name for the file could change it later.
fn copy(from: &Utf8Path, folder: &Utf8Path, name: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let (mut from, mut hash) = (File::open(from)?, Sha256::new());
    let mut to = tempfile::Builder::new().prefix(disk::HALF_WRITTEN).tempfile_in(folder)?;
    let mut bytes = vec![0; 1024 * 1024];
    loop {
        let count = from.read(&mut bytes)?;
        if count == 0 {
            break;
        }
        hash.update(&bytes[..count]);
        to.write_all(&bytes[..count])?;
    }
    let is_named = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>() == name;
    if !is_named {
        return Ok(());
    }
    #[cfg(unix)]
    to.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    to.as_file().sync_all()?;
    to.persist(folder.join(name)).map_err(|error| error.error)?;
    disk::sync_folder(folder)
}

/// Symbolic links are not followed.
fn is_folder(path: &Utf8Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

fn folders(path: &Utf8Path) -> impl Iterator<Item = Utf8DirEntry> {
    entries(path).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
}

fn entries(path: &Utf8Path) -> impl Iterator<Item = Utf8DirEntry> {
    path.read_dir_utf8().into_iter().flatten().flatten()
}
