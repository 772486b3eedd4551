//! What a client finds where it is started.

use std::collections::BTreeMap;
use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::client::{Machine, Unread};

use crate::environment::variable;
use crate::{disk, secrets};

/// This machine, for a client with this added to its environment.
#[derive(Debug)]
pub(super) struct Here<'a> {
    pub added: &'a BTreeMap<String, String>,
    pub cwd: &'a Utf8Path,
}

impl Machine for Here<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        variable(self.added, name)
    }

    fn variables(&self) -> Vec<String> {
        let inherited = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        self.added.keys().cloned().chain(inherited).collect()
    }

    fn inherits(&self, name: &str) -> bool {
        std::env::var_os(name).is_some()
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, Unread> {
        disk::read_plain(path.into()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Unread::Missing,
            _ => Unread::Unreadable,
        })
    }

    fn is_file(&self, path: &str) -> bool {
        Utf8Path::new(path).is_file()
    }

    fn exists(&self, path: &str) -> bool {
        Utf8Path::new(path).exists()
    }

    fn holds_secret(&self, text: &str) -> bool {
        *secrets::redactor().bytes(text.as_bytes()) != *text.as_bytes()
    }

    fn git_folders(&self) -> Vec<String> {
        git_folders(self.cwd).into_iter().flatten().map(Utf8PathBuf::into_string).collect()
    }
}

/// The folder of a linked worktree in the repository, and that of the objects; or a private git directory, which has its
/// own.
fn git_folders(worktree: &Utf8Path) -> Option<Vec<Utf8PathBuf>> {
    let pointer = fs::read_to_string(worktree.join(".git")).ok()?;
    let own = worktree.join(pointer.strip_prefix("gitdir: ")?.trim_end());
    let Ok(common) = fs::read_to_string(own.join("commondir")) else { return Some(vec![own]) };
    let objects = own.join(common.trim_end()).join("objects").canonicalize_utf8().ok()?;
    Some(vec![own, objects])
}
