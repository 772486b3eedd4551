//! Why there are no issues, or why one could not be changed.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::host::{Failure, Kind, NoPlace};
use piton_core::run::shell_word;

use crate::git::GitError;
use crate::journal::JournalError;

/// Why there are no issues.
#[derive(Debug, thiserror::Error)]
pub enum IssuesError {
    #[error("this repository has no remote, so Piton does not know whose issues {ask} means")]
    NoRemote { ask: String },
    #[error("the remote `{remote}` does not say whose issues {ask} means: {why}")]
    NoPlace { remote: String, ask: String, why: NoPlace },
    #[error("the remote `{remote}` is at {host}, which is not {}", .asked.name())]
    OtherHost { remote: String, host: String, asked: Kind, instead: String },
    #[error("{0}")]
    Host(#[from] Failure),
    /// A program answered something that cannot be used, or said what is wrong.
    #[error("{0}")]
    Odd(String),
    #[error("there is no folder {path} with the issues of Beads")]
    NoBeads { path: Utf8PathBuf },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{path}: {source}")]
    Io { path: Utf8PathBuf, source: io::Error },
}

impl IssuesError {
    pub(super) fn io(path: &Utf8Path) -> impl FnOnce(io::Error) -> IssuesError {
        move |source| IssuesError::Io { path: path.to_owned(), source }
    }

    /// Whether it may be over by itself after a while.
    pub fn passes(&self) -> bool {
        matches!(self, IssuesError::Host(failure) if failure.passes())
    }

    /// What a person can do about it, with the command to type.
    pub fn hint(&self) -> Option<String> {
        match self {
            IssuesError::Host(failure) => failure.hint(),
            IssuesError::NoRemote { .. } => {
                Some("git remote add origin URL   names the repository whose issues are meant".to_owned())
            }
            IssuesError::OtherHost { instead, .. } => Some(format!("piton plan {}", shell_word(instead))),
            IssuesError::NoPlace { .. } => {
                Some("git remote add upstream URL   names the repository whose issues are meant".to_owned())
            }
            _ => None,
        }
    }
}
