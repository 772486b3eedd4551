//! Where we are, how paths are shown, and files as commands write them.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::run::shell_word;
use piton_engine::disk;

use crate::failure::{Failure, Outcome};

pub(crate) fn here() -> Outcome<Utf8PathBuf> {
    let here = std::env::current_dir().map_err(Failure::io("cannot find the current folder"))?;
    Utf8PathBuf::from_path_buf(here).map_err(|path| Failure::new(format!("{} is not UTF-8", path.display())))
}

/// A path as short as it can be said from here.
pub(crate) fn shown(path: &Utf8Path) -> String {
    here()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok().map(ToString::to_string))
        .unwrap_or_else(|| path.to_string())
}

/// The same as it is typed in a command.
pub(crate) fn typed(path: &Utf8Path) -> String {
    match shown(path).as_str() {
        "" => ".".to_owned(),
        shown => shell_word(shown),
    }
}

pub(crate) fn absolute(path: &Utf8Path) -> Utf8PathBuf {
    camino::absolute_utf8(path).unwrap_or_else(|_| path.to_owned())
}

/// Every file below a folder; links are not followed.
pub(crate) fn files_in(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path().to_owned()),
                _ => files.push(entry.path().to_owned()),
            }
        }
    }
    files
}

pub(crate) fn bytes_in(path: &Utf8Path) -> u64 {
    if path.is_symlink() {
        return 0;
    }
    let Ok(entries) = path.read_dir_utf8() else { return 0 };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => bytes_in(entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{}.{} MiB", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}

pub(crate) fn write(path: &Utf8Path, text: &str) -> Outcome {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(Failure::io(format!("cannot create {folder}")))?;
    }
    piton_engine::disk::write(path, text.as_bytes()).map_err(Failure::io(format!("cannot write {path}")))
}

/// The same for one file that was like this when it was read.
pub(crate) fn put(path: &Utf8Path, before: Option<&[u8]>, after: &[u8]) -> Outcome<bool> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Failure::io(format!("cannot create {folder}")))?;
    }
    // A link stays one; what it leads to is replaced.
    let real = path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    let put =
        |bytes: &[u8]| disk::exchange(&real, bytes).map_err(Failure::io(format!("cannot write {path}")));
    let displaced = put(after)?;
    if displaced.as_deref() == before {
        return Ok(true);
    }
    if let Some(theirs) = displaced {
        put(&theirs)?;
    }
    Ok(false)
}
