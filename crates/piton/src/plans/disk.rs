//! What is on disk, for systems that recognise and read plans.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::Disk;

use crate::plans::found::{file_of, folder_of};

pub(crate) struct OnDisk;

fn path(path: &str) -> &Utf8Path {
    Utf8Path::new(if path.is_empty() { "." } else { path })
}

impl Disk for OnDisk {
    fn is_file(&self, file: &str) -> bool {
        path(file).is_file()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = path(folder).read_dir_utf8().into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_owned()).collect();
        names.sort();
        names
    }

    fn read(&self, file: &str) -> Option<Vec<u8>> {
        file_of(path(file), folder_of(path(file))).ok()
    }

    fn real(&self, file: &str) -> Option<String> {
        path(file).canonicalize_utf8().ok().map(Utf8PathBuf::into_string)
    }
}
