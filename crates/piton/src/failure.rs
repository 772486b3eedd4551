//! What went wrong, for a person: a sentence, perhaps a picture of the place, and what to do next.

use std::fmt;

use piton_core::run::Refusal;
use piton_engine::drive::EngineError;
use piton_engine::files::FilesError;
use piton_engine::git::GitError;
use piton_engine::journal::{CommandError, JournalError};
use piton_engine::lead::NoLead;
use piton_engine::takeover::AdoptError;

pub(crate) const ERROR: u8 = 1;
pub(crate) const USAGE: u8 = 2;

#[derive(Debug)]
pub(crate) struct Failure {
    pub exit: u8,
    pub message: String,
    /// Printed first, unchanged: drawn diagnostics.
    pub picture: Option<String>,
    /// The first mistake in that picture, in a line: file, line and cause.
    pub mistake: Option<String>,
    pub hints: Vec<String>,
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// As `cold` they are compiled once, and the code around the calls stays small.
impl Failure {
    #[cold]
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { exit: ERROR, message: message.into(), picture: None, mistake: None, hints: Vec::new() }
    }

    #[cold]
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { exit: USAGE, ..Failure::new(message) }
    }

    #[cold]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn io(what: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Failure {
        move |error| Failure::from_io(&what, &error)
    }

    #[cold]
    fn from_io(what: &dyn fmt::Display, error: &std::io::Error) -> Failure {
        let failure = Failure::new(format!("{what}: {error}"));
        match error.kind() {
            std::io::ErrorKind::StorageFull => {
                failure.hint("free some space, then run the same command again")
            }
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                failure.hint("Piton needs to write there; check the folder's owner and permissions")
            }
            _ => failure,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let failure = Failure::new(refusal.reason);
        match refusal.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<FilesError> for Failure {
    fn from(error: FilesError) -> Failure {
        match error {
            FilesError::Journal(error) => error.into(),
            FilesError::Io { path, source } => Failure::io(path)(source),
            FilesError::NotAFile { .. } | FilesError::Waits(_) => Failure::new(error.to_string()),
        }
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Failure {
        let failure = Failure::new(error.to_string());
        match &error {
            GitError::DetachedHead { .. } => failure
                .hint("git switch BRANCH")
                .hint("or name the target: piton run PLAN --base-branch BRANCH"),
            GitError::DamagedStore { path } => {
                failure.hint(format!("mv {path} {path}-damaged   the next `piton run` makes another"))
            }
            GitError::Missing { .. } => failure
                .hint("see https://git-scm.com/downloads, then the same command again")
                .hint("Piton uses git to see what changed, even in a project without a repository"),
            GitError::NotARepository { .. } => {
                failure.hint("git init && git commit --allow-empty -m 'First commit'")
            }
            _ => failure,
        }
    }
}

impl From<AdoptError> for Failure {
    fn from(error: AdoptError) -> Failure {
        match error {
            AdoptError::Worktree { path, source } => Failure::io(format!("cannot take over {path}"))(source),
            AdoptError::Git(error) => error.into(),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        match error {
            EngineError::Refused(refusal) => refusal.into(),
            EngineError::Git(error) => error.into(),
            EngineError::Journal(error) => error.into(),
            EngineError::NoLead(NoLead::Journal(error)) => error.into(),
            EngineError::NoLead(ref no @ NoLead::Elsewhere(ref leader)) => {
                let seat = &leader.seat;
                let failure = Failure::new(no.to_string());
                match leader.is_alive() {
                    true => failure.hint("piton status").hint("piton stop"),
                    false => {
                        failure.hint(format!("piton run   in {}, on {}, resumes it", seat.path, seat.host))
                    }
                }
            }
            EngineError::NoLead(NoLead::Io { .. })
            | EngineError::Io { .. }
            | EngineError::Keeper(_)
            | EngineError::Overtaken => Failure::new(error.to_string()),
        }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Failure {
        Failure::new(error.to_string())
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Failure {
        match error {
            CommandError::Refused(refusal) => refusal.into(),
            CommandError::Journal(error) => error.into(),
        }
    }
}

/// How a command ends when nothing went wrong.
pub(crate) type Exit = u8;

pub(crate) const FINE: Exit = 0;
