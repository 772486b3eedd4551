//! Who is asked: the program of a host, or one in the project.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::asked::TrackerWrite;

use super::error::IssuesError;
use crate::host::{Host, Local, Question};

/// What answers questions about issues.
#[derive(Clone, Debug)]
pub enum Tracker {
    Host(Host),
    /// A program that keeps issues in the project.
    Local(Local),
    /// No program is there that could be asked: a file that it wrote, in this project.
    File(Utf8PathBuf),
}

impl Tracker {
    /// The repository at the host. Empty: the issues are in the project itself.
    pub(super) fn of(&self) -> String {
        match self {
            Tracker::Host(host) => format!("{}/{}", host.place().host, host.place().full_name()),
            Tracker::Local(_) | Tracker::File(_) => String::new(),
        }
    }

    pub(super) fn read(&self, args: &[String]) -> Result<String, IssuesError> {
        match self {
            Tracker::Host(host) => {
                Ok(host.ask(&Question::read(args.iter().cloned())).map(|answer| answer.text())?)
            }
            Tracker::Local(local) => local.ask(args).map_err(IssuesError::Odd),
            Tracker::File(path) => read_file(path),
        }
    }

    /// Do something once. `Ok(Some)`: it may have happened, and this is what went wrong.
    pub(super) fn write(&self, write: &TrackerWrite) -> Result<Option<IssuesError>, IssuesError> {
        match self {
            Tracker::Host(host) => {
                let question = Question::write(write.args.iter().cloned());
                let question = match &write.text {
                    Some(text) => question.with_text(text.clone()),
                    None => question,
                };
                match host.ask(&question) {
                    Ok(_) => Ok(None),
                    Err(failure) if failure.may_have_happened() => Ok(Some(failure.into())),
                    Err(failure) => Err(failure.into()),
                }
            }
            // It says by its exit code what it did, but may have been killed after it.
            Tracker::Local(local) => Ok(local.ask(&write.args).err().map(IssuesError::Odd)),
            Tracker::File(path) => {
                Err(IssuesError::Odd(format!("without its program nothing is written to {path}")))
            }
        }
    }

    /// Whether anything can be written to it.
    pub fn is_writable(&self) -> bool {
        !matches!(self, Tracker::File(_))
    }
}

fn read_file(path: &Utf8Path) -> Result<String, IssuesError> {
    let bytes = std::fs::read(path).map_err(IssuesError::io(path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
