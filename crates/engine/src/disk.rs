//! Files that must be whole or absent: temp file, fsync, rename, fsync of the folder.

use std::fs::File;
use std::io::{self, Write};

use camino::{Utf8Path, Utf8PathBuf};

/// How the name of a file begins that is not whole yet.
const HALF_WRITTEN: &str = ".piton-";

/// Replace `path` by `bytes` so that a crash leaves either the old file or the new one.
pub fn write(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    let mut temp = tempfile::Builder::new().prefix(HALF_WRITTEN).tempfile_in(folder)?;
    temp.write_all(bytes)?;
    temp.as_file().sync_all()?;
    temp.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Remove what writers left in `folder` when they were killed. Nobody may be writing there.
pub fn sweep(folder: &Utf8Path) {
    let left = folder.read_dir_utf8().into_iter().flatten().flatten();
    for entry in left.filter(|entry| entry.file_name().starts_with(HALF_WRITTEN)) {
        // It is in nobody's way.
        let _ = std::fs::remove_file(entry.path());
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
            let folder = File::open(folder)?;
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
