//! The first filling of a slot: a copy of the main checkout's caches, with their times.
//!
//! Build tools compare the times of files. So a tracked file that is the same in both checkouts gets the time it has in the
//! main one, and any other is newer than every cache. Then a tool decides in the slot as it would in the main checkout.
//! Nothing is visible in the slot before all of it is there.

use std::collections::HashMap;
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::RepoPath;

use crate::git::{GitError, Worktree};
use crate::{clock, crash};

/// So long a build in the main checkout is waited for. An agent that starts without caches loses no more than that.
const PATIENCE: Duration = Duration::from_secs(10);
const BETWEEN: Duration = Duration::from_millis(50);
/// Files by which cargo keeps others out of a folder of builds, and how deep they are: below a profile, or below that of
/// another platform.
const CARGO_LOCK: &str = ".cargo-lock";
const DEPTH: usize = 2;

/// Where copies are made, next to the slot.
pub(crate) fn staging(slot: &Utf8Path) -> Utf8PathBuf {
    let name = slot.file_name().unwrap_or_default().trim_start_matches('.');
    slot.with_file_name(format!(".filling-{name}"))
}

/// Copy what the worktree lacks of these folders from the checkout at `root`. Nobody may be working in it. Says whether
/// there is anything new. `is_unwanted` is asked between two files.
pub(crate) fn fill(
    root: &Utf8Path,
    worktree: &Worktree,
    folders: &[RepoPath],
    is_unwanted: &dyn Fn() -> bool,
) -> Result<bool, GitError> {
    let slot = worktree.path();
    let lacks = |path: &&Utf8Path| {
        let is_folder = |path: &Utf8Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        is_folder(&root.join(path)) && slot.join(path).symlink_metadata().is_err()
    };
    let wanted: Vec<&Utf8Path> =
        folders.iter().map(|path| Utf8Path::new(path.as_str())).filter(lacks).collect();
    if wanted.is_empty() {
        return Ok(false);
    }
    let staged = staging(slot);
    remove(&staged).map_err(GitError::io(&staged))?;
    let mut copied: Vec<(Utf8PathBuf, &Utf8Path)> = Vec::new();
    for (number, path) in wanted.into_iter().enumerate() {
        // What git does not ignore would come back as part of the work.
        if !worktree.ignores(path)? {
            continue;
        }
        let (from, to) = (root.join(path), staged.join(number.to_string()));
        fs::create_dir_all(&staged).map_err(GitError::io(&staged))?;
        let Some(_locks) = locks(&from).map_err(GitError::io(&from))? else { continue };
        copy(&from, &to, &mut HashMap::new(), is_unwanted).map_err(GitError::io(&from))?;
        copied.push((to, path));
    }
    if !copied.is_empty() {
        // Before any cache is there: an old file that differs would be taken for built.
        align(root, worktree)?;
        crash::point("slot.filled");
    }
    for (from, path) in &copied {
        let to = slot.join(path);
        let above = to.parent().unwrap_or(slot);
        // A link on the way leads elsewhere.
        let is_plain = !above.ancestors().take_while(|part| *part != slot).any(Utf8Path::is_symlink);
        if is_plain {
            fs::create_dir_all(above).and_then(|()| fs::rename(from, &to)).map_err(GitError::io(&to))?;
        }
    }
    remove(&staged).map_err(GitError::io(&staged))?;
    Ok(!copied.is_empty())
}

fn remove(folder: &Utf8Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The locks of a tool that builds there. `None`: somebody builds, and does not end.
fn locks(folder: &Utf8Path) -> io::Result<Option<Vec<File>>> {
    let until = Instant::now() + PATIENCE;
    let mut held = Vec::new();
    for path in lock_files(folder, DEPTH) {
        let file = File::open(&path)?;
        loop {
            match file.try_lock_shared() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(BETWEEN),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        held.push(file);
    }
    Ok(Some(held))
}

fn lock_files(folder: &Utf8Path, depth: usize) -> Vec<Utf8PathBuf> {
    let mut found: Vec<Utf8PathBuf> =
        [folder.join(CARGO_LOCK)].into_iter().filter(|file| file.is_file()).collect();
    if depth > 0 {
        let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        found.extend(folders.flat_map(|entry| lock_files(entry.path(), depth - 1)));
    }
    found
}

/// Copy a folder with its times. Links are copied and not followed. Files with several names stay one. `fs::copy` shares
/// the blocks where the file system can.
fn copy(
    from: &Utf8Path,
    to: &Utf8Path,
    named: &mut HashMap<(u64, u64), Utf8PathBuf>,
    is_unwanted: &dyn Fn() -> bool,
) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in from.read_dir_utf8()? {
        if is_unwanted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let entry = entry?;
        let (source, target, meta) = (entry.path(), to.join(entry.file_name()), entry.metadata()?);
        if meta.is_dir() {
            copy(source, &target, named, is_unwanted)?;
        } else if meta.is_symlink() {
            link(&source.read_link_utf8()?, &target)?;
        } else if meta.is_file() {
            match identity(&meta).and_then(|id| named.get(&id)) {
                Some(first) => fs::hard_link(first, &target)?,
                None => {
                    fs::copy(source, &target)?;
                    set_modified(&target, meta.modified()?)?;
                    named.extend(identity(&meta).map(|id| (id, target)));
                }
            }
        }
    }
    set_modified(to, fs::metadata(from)?.modified()?)
}

/// Which file it is, if it has other names.
fn identity(meta: &Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (meta.nlink() > 1).then(|| (meta.dev(), meta.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        None
    }
}

fn link(to: &Utf8Path, at: &Utf8Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(to, at);
    #[cfg(windows)]
    return std::os::windows::fs::symlink_file(to, at);
}

#[cfg(unix)]
fn set_modified(path: &Utf8Path, time: SystemTime) -> io::Result<()> {
    File::open(path)?.set_modified(time)
}

/// A folder's time counts for nobody there, and it cannot be opened like a file.
#[cfg(not(unix))]
fn set_modified(path: &Utf8Path, time: SystemTime) -> io::Result<()> {
    if path.is_dir() { Ok(()) } else { File::options().write(true).open(path)?.set_modified(time) }
}

/// Give each tracked file the time that the same file has in the checkout at `root`; one that differs is new.
fn align(root: &Utf8Path, worktree: &Worktree) -> Result<(), GitError> {
    let now = clock::system_time(clock::now());
    for file in worktree.tracked_files()? {
        let (here, there) = (worktree.path().join(&file), root.join(&file));
        if !here.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
            continue;
        }
        let time = time_if_same(&here, &there).unwrap_or(now);
        set_modified(&here, time).map_err(GitError::io(here))?;
    }
    worktree.refresh_files()
}

fn time_if_same(here: &Utf8Path, there: &Utf8Path) -> Option<SystemTime> {
    let (mine, theirs) = (fs::metadata(here).ok()?, fs::symlink_metadata(there).ok()?);
    if !theirs.is_file() || mine.len() != theirs.len() || fs::read(here).ok()? != fs::read(there).ok()? {
        return None;
    }
    // Changed while it was read: then it is not known which time belongs to what was read.
    let after = fs::symlink_metadata(there).ok()?.modified().ok()?;
    theirs.modified().ok().filter(|time| *time == after)
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_times_links_and_second_names() {
        let temp = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(temp.path()).unwrap();
        let (from, to) = (root.join("from"), root.join("to"));
        fs::create_dir_all(from.join("deps")).unwrap();
        fs::write(from.join("deps/lib"), "built").unwrap();
        fs::hard_link(from.join("deps/lib"), from.join("lib")).unwrap();
        link(Utf8Path::new("deps/lib"), &from.join("link")).unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        set_modified(&from.join("lib"), old).unwrap();
        set_modified(&from.join("deps"), old).unwrap();
        copy(&from, &to, &mut HashMap::new(), &|| false).unwrap();
        let age = |file: &str| fs::metadata(to.join(file)).unwrap().modified().unwrap();
        assert_eq!([age("lib"), age("deps/lib"), age("deps")], [old; 3]);
        assert_eq!(to.join("link").read_link_utf8().unwrap(), "deps/lib");
        use std::os::unix::fs::MetadataExt;
        assert_eq!(fs::metadata(to.join("lib")).unwrap().nlink(), 2, "one file");
    }

    #[test]
    fn a_build_that_is_under_way_is_seen_by_the_lock_of_its_tool() {
        let temp = tempfile::tempdir().unwrap();
        let target = Utf8Path::from_path(temp.path()).unwrap();
        for folder in ["debug", "x86/release"] {
            fs::create_dir_all(target.join(folder)).unwrap();
            fs::write(target.join(folder).join(CARGO_LOCK), "").unwrap();
        }
        let held = locks(target).unwrap().unwrap();
        assert_eq!(held.len(), 2);
        let build = File::open(target.join("debug").join(CARGO_LOCK)).unwrap();
        assert!(matches!(build.try_lock(), Err(TryLockError::WouldBlock)), "a build waits for the copy");
        drop(held);
        build.try_lock().unwrap();
        assert!(File::open(target.join("debug").join(CARGO_LOCK)).unwrap().try_lock_shared().is_err());
    }
}
