//! Files that must be whole or absent: temp file, fsync, rename, fsync of the folder.

use std::fs::File;
use std::io::{self, Write};
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};

/// How the name of a file begins that is not whole yet.
pub const HALF_WRITTEN: &str = ".piton-";

/// Tells one version of a file from another, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    inode: u64,
    length: u64,
    written: Option<SystemTime>,
}

impl FileStamp {
    pub(crate) fn read(path: &Utf8Path) -> Option<FileStamp> {
        let data = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&data);
        #[cfg(not(unix))]
        let inode = 0;
        Some(FileStamp { inode, length: data.len(), written: data.modified().ok() })
    }
}

/// How many bytes are free for the user on the disk of a folder, which need not exist yet. `None`: the system does not tell.
pub fn room(folder: &Utf8Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let there = folder.ancestors().find(|above| above.exists())?;
        let disk = rustix::fs::statvfs(there.as_std_path()).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// Replace `path` by `bytes` so that a crash leaves either the old file or the new one.
pub fn write(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    let temp = synced(folder, bytes)?;
    temp.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// A file that [`displace`] took the place of. A process that has it open keeps writing to it, so it can be put back as
/// it is. It is removed when this is dropped.
#[derive(Debug)]
pub struct Displaced {
    pub bytes: Vec<u8>,
    /// The file itself, where the file system can exchange two files.
    file: Option<tempfile::TempPath>,
}

impl Displaced {
    /// Put it back where it was, and get what is there now.
    pub fn put_back(self, path: &Utf8Path) -> io::Result<Option<Displaced>> {
        let displaced = match self.file {
            Some(file) => swap(file, path)?,
            None => return displace(path, &self.bytes),
        };
        sync_folder(folder_of(path))?;
        Ok(displaced)
    }

    /// Leave it beside its place, under a name of [`half_written`].
    pub fn leave(self) -> io::Result<()> {
        self.file.map_or(Ok(()), |file| file.keep().map(drop).map_err(|error| error.error))
    }
}

/// The same, returning what it displaced: if another process replaced the file in the instant before, its version was
/// overwritten but is not lost. Other programs read and write such a file too, so its permissions stay.
pub fn exchange(path: &Utf8Path, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
    Ok(displace(path, bytes)?.map(|displaced| displaced.bytes))
}

/// The same for a caller that may put it back.
pub fn displace(path: &Utf8Path, bytes: &[u8]) -> io::Result<Option<Displaced>> {
    let folder = folder_of(path);
    let temp = synced(folder, bytes)?;
    #[cfg(unix)]
    {
        let readable_by_all = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        let before = std::fs::metadata(path).map_or(readable_by_all, |data| data.permissions());
        temp.as_file().set_permissions(before)?;
    }
    let displaced = swap(temp.into_temp_path(), path)?;
    sync_folder(folder)?;
    Ok(displaced)
}

/// Replace a file below `root`, with its folders, by `bytes`, and nothing anywhere else: the agent that works in there
/// may have put a link in the way.
pub fn write_below(root: &Utf8Path, path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let mut folder = root.to_owned();
    for part in folder_of(path).components().filter(|part| part.as_str() != ".") {
        folder.push(part);
        match std::fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(io::Error::other(format!("{folder} is not a folder"))),
            Err(_) => std::fs::create_dir(&folder)?,
        }
    }
    // A link of this name is replaced, not followed.
    write(&root.join(path), bytes)
}

/// What a file holds, if it is one: a pipe of that name could be read for ever.
pub fn read_plain(path: &Utf8Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other(format!("{path} is not a file")));
    }
    std::fs::read(path)
}

/// Replace `path` by `bytes` so that a killed process leaves either the old file or the new one. A power cut may leave
/// anything: use it for files that are worth nothing after one, and whose readers treat an unreadable file as absent.
pub fn replace(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let mut temp = tempfile::Builder::new().prefix(HALF_WRITTEN).tempfile_in(folder_of(path))?;
    temp.write_all(bytes)?;
    temp.persist(path).map(drop).map_err(|error| error.error)
}

/// Write a file that most likely exists and is empty. The write is neither atomic nor synced. It is quicker than
/// `std::fs::write`, which truncates: some file systems flush a truncated file on close, even if it was empty.
pub fn fill(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.len() > bytes.len() as u64 {
        file.set_len(0)?;
    }
    file.write_all(bytes)
}

/// Make a file that holds `bytes` from its first moment, unless there is one. It is not synced.
pub fn create_new(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let mut temp = builder.prefix(HALF_WRITTEN).tempfile_in(folder_of(path))?;
    temp.write_all(bytes)?;
    temp.persist_noclobber(path).map(drop).map_err(|error| error.error)
}

fn folder_of(path: &Utf8Path) -> &Utf8Path {
    path.parent().filter(|folder| !folder.as_str().is_empty()).unwrap_or(Utf8Path::new("."))
}

/// A file that is whole and on the disk, under a temporary name.
fn synced(folder: &Utf8Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut temp = tempfile::Builder::new().prefix(HALF_WRITTEN).tempfile_in(folder)?;
    temp.write_all(bytes)?;
    temp.as_file().sync_all()?;
    Ok(temp)
}

fn swap(temp: tempfile::TempPath, path: &Utf8Path) -> io::Result<Option<Displaced>> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, &*temp, CWD, path.as_std_path(), RenameFlags::EXCHANGE) {
            // What it displaced has the temporary name now, and goes with it.
            Ok(()) => {
                let bytes = std::fs::read(&temp)?;
                return Ok(Some(Displaced { bytes, file: Some(temp) }));
            }
            Err(Errno::NOENT) => match temp.persist_noclobber(path) {
                Ok(()) => return Ok(None),
                // Another process made it in this instant.
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    return swap(error.path, path);
                }
                Err(error) => return Err(error.error),
            },
            // Not every file system can do it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let displaced = match std::fs::read(path) {
        Ok(bytes) => Some(Displaced { bytes, file: None }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    temp.persist(path).map_err(|error| error.error)?;
    Ok(displaced)
}

/// Append to a file, durably. Other processes may append at the same time.
pub fn append(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Remove a folder with all that is in it, if it is the expected one. No link is followed, and nothing on another
/// device is touched: the agent that worked in there may have put either in the way.
#[cfg(unix)]
pub fn remove_folder(path: &Utf8Path, is_it: impl FnOnce(u64, u64) -> bool) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, unlinkat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = openat(CWD, folder_of(path).as_std_path(), flags, Mode::empty())?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = openat(&parent, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    let found = fstat(&folder)?;
    if !is_it(device_of(&found), found.st_ino) {
        return Err(io::Error::other("another folder has taken its place"));
    }
    empty_folder(&folder, device_of(&found))?;
    Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
}

/// The device number, as the standard library reports it.
#[cfg(unix)]
#[cfg_attr(target_vendor = "apple", allow(clippy::cast_sign_loss, reason = "so does the standard library"))]
fn device_of(stat: &rustix::fs::Stat) -> u64 {
    #[cfg(target_vendor = "apple")]
    return stat.st_dev as u64;
    #[cfg(not(target_vendor = "apple"))]
    stat.st_dev
}

#[cfg(unix)]
fn empty_folder(folder: &impl std::os::fd::AsFd, device: u64) -> io::Result<()> {
    use rustix::fs::{AtFlags, Dir, Mode, OFlags, chmodat, fchmod, fstat, openat, unlinkat};
    use rustix::io::Errno;
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if ![c".", c".."].contains(&name.as_c_str()) {
            names.push(name);
        }
    }
    for name in names {
        let mut removed = unlinkat(folder, &name, AtFlags::empty());
        if removed == Err(Errno::ACCESS) {
            // Some tools write-protect their caches.
            fchmod(folder, Mode::RWXU)?;
            removed = unlinkat(folder, &name, AtFlags::empty());
        }
        match removed {
            Ok(()) | Err(Errno::NOENT) => continue,
            // Which error a folder gives depends on the system.
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || openat(folder, &name, flags, Mode::empty());
        let inner = match open() {
            Err(Errno::ACCESS) => {
                chmodat(folder, &name, Mode::RWXU, AtFlags::empty())?;
                open()?
            }
            open => open?,
        };
        if device_of(&fstat(&inner)?) != device {
            return Err(io::Error::other(format!("{} is on another device", name.to_string_lossy())));
        }
        empty_folder(&inner, device)?;
        unlinkat(folder, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// The same where folders have no numbers to know them by.
#[cfg(not(unix))]
pub fn remove_folder(path: &Utf8Path, is_it: impl FnOnce(u64, u64) -> bool) -> io::Result<()> {
    let _ = is_it;
    std::fs::remove_dir_all(path)
}

/// What writers left in `folder` when they were killed.
pub fn half_written(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let left = folder.read_dir_utf8().into_iter().flatten().flatten();
    let ours = left.filter(|entry| entry.file_name().starts_with(HALF_WRITTEN));
    ours.map(|entry| entry.path().to_owned()).collect()
}

/// Remove what writers left in `folder` when they were killed. No process may be writing there.
pub fn sweep(folder: &Utf8Path) {
    for path in half_written(folder) {
        // If it stays, it does no harm.
        let _ = std::fs::remove_file(path);
    }
}

/// Make a folder's entries durable: a renamed or new file is not safe before this.
pub fn sync_folder(folder: &Utf8Path) -> io::Result<()> {
    // Windows cannot open a folder as a file, and makes renames durable itself.
    if cfg!(windows) { Ok(()) } else { File::open(folder)?.sync_all() }
}

/// Make everything durable that was written in the file systems around these folders.
pub fn sync_file_systems(folders: &[Utf8PathBuf]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let mut done = Vec::new();
        for folder in folders {
            let folder = match File::open(folder) {
                // It was removed meanwhile: there is nothing left to sync.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            let device = std::os::unix::fs::MetadataExt::dev(&folder.metadata()?);
            if !done.contains(&device) {
                rustix::fs::syncfs(&folder)?;
                done.push(device);
            }
        }
    }
    #[cfg(all(unix, not(target_os = "linux")))]
    if !folders.is_empty() {
        rustix::fs::sync();
    }
    #[cfg(not(unix))]
    let _ = folders;
    Ok(())
}

/// Create a folder only its owner may enter, with its parents.
pub fn private_folder(path: &Utf8Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_written_below_a_folder_stays_there_whatever_links_say() {
        let temp = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(temp.path()).unwrap();
        let (inside, outside) = (root.join("in"), root.join("out"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "old").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.join("file"), inside.join("link")).unwrap();
        assert!(write_below(&inside, Utf8Path::new("folder/file"), b"new").is_err());
        write_below(&inside, Utf8Path::new("link"), b"new").unwrap();
        write_below(&inside, Utf8Path::new("a/b/c"), b"new").unwrap();
        assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "old");
        assert!(!inside.join("link").is_symlink());
        assert_eq!(read_plain(&inside.join("a/b/c")).unwrap(), b"new");
        assert!(read_plain(&inside).is_err());
    }

    #[test]
    fn what_is_filled_holds_that_and_nothing_of_before() {
        let temp = tempfile::tempdir().unwrap();
        let file = Utf8Path::from_path(temp.path()).unwrap().join("file");
        for text in ["", "a", "longer than before", "short", "equal", ""] {
            fill(&file, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
    }
}
