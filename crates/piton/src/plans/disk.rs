//! What is on disk, for systems that recognise and read plans.

use std::fs::File;
use std::io::Read;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::Disk;

use crate::failure::Failure;
use crate::plans::found::{checked, file_of, folder_of};

/// Bytes that are searched at once.
const PIECE: usize = 16 * 1024;

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

    /// Without reading more than it takes: plans may be large, and say early what they are.
    fn holds(&self, file: &str, text: &str) -> bool {
        let file = path(file);
        let Ok(mut file) =
            checked(file, folder_of(file)).and_then(|()| File::open(file).map_err(Failure::io("")))
        else {
            return false;
        };
        let (mut seen, mut piece) = (Vec::new(), vec![0; PIECE]);
        loop {
            let Ok(read) = file.read(&mut piece) else { return false };
            if read == 0 {
                return false;
            }
            // The text may begin in one piece and end in the next.
            let kept = seen.len().saturating_sub(text.len());
            seen.drain(..kept);
            seen.extend_from_slice(&piece[..read]);
            if seen.windows(text.len()).any(|window| window == text.as_bytes()) {
                return true;
            }
        }
    }

    fn real(&self, file: &str) -> Option<String> {
        path(file).canonicalize_utf8().ok().map(Utf8PathBuf::into_string)
    }
}
