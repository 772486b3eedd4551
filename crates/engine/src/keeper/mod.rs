//! Keepers: start one child process, watch it, end its whole tree, and leave the outcome on disk.
//!
//! A *job* is a folder; [`Job::run`] turns it and a spec into an outcome, once, whichever process asks and however
//! often. The *keeper* is this binary in a hidden mode: it outlives an engine that dies, and its child does not outlive
//! it. Nothing depends on pids: the holder of the folder's lock controls the job. The engine takes the lock, looks, and
//! hands the very same lock to the keeper as its standard output, so there is no moment between the two in which a
//! second engine could slip in. A keeper begins when it is told to, on its standard input; one whose engine dies before
//! that has begun nothing and ends.
//!
//! This module must not know what a child is for: no agents, checks, tasks or git in here.

mod cgroup;
mod child;
mod fence;
mod job;
mod keep;
mod output;
mod pulse;
mod shell;
mod tree;
#[cfg(target_os = "linux")]
mod view;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod processes;
#[cfg(not(target_os = "linux"))]
#[path = "ps.rs"]
mod processes;
// The `ps` half is compiled for the tests here too, so that it cannot rot unseen.
#[cfg(all(test, target_os = "linux"))]
mod ps;

use std::ffi::OsString;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};

pub use cgroup::groups_are_possible;
pub use child::views_are_possible;
pub use fence::{Fence, fences_are_possible, scopes_are_possible};
#[doc(hidden)]
pub use job::Started;
pub use job::{Ended, Job, JobSpec, Keeper, Limits, Outcome, StopSignal};
pub use keep::keep;
pub use output::{Chunk, Output, Whole};
pub(crate) use processes::boot;
pub use shell::with_pipefail;

/// The variable that marks every process of a job; it holds the absolute path of the job's folder.
pub const MARKER: &str = "PITON_JOB";

#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error("cannot {deed} {path}")]
    File { deed: &'static str, path: Utf8PathBuf, source: io::Error },
    #[error("{path} is not what a keeper writes")]
    Format { path: Utf8PathBuf, source: serde_json::Error },
    #[error("cannot start the keeper {program}")]
    Spawn { program: String, source: io::Error },
    #[error("a keeper's only argument is a job's folder")]
    Arguments,
}

impl KeeperError {
    fn file(deed: &'static str, path: &Utf8Path) -> impl FnOnce(io::Error) -> KeeperError {
        move |source| KeeperError::File { deed, path: path.to_owned(), source }
    }
}

/// The entry point of the hidden mode: `args` is what follows `piton keeper`.
pub fn enter(args: &[OsString]) -> Result<(), KeeperError> {
    let [dir] = args else { return Err(KeeperError::Arguments) };
    keep(dir.to_str().map(Utf8Path::new).ok_or(KeeperError::Arguments)?)
}
