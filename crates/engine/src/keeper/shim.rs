//! The shim between a keeper and its child: one process that arranges its own death, then becomes the child.
//!
//! A parent-death signal can only be asked for by the child itself, and code between fork and exec would
//! have to be unsafe; a second exec of this binary does the same safely.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{KeeperError, MARKER};

/// The file in the job's folder that says why the program could not be run.
pub(super) const EXEC_ERROR: &str = "exec-error";

/// Become `argv`, to be killed when the process `keeper` ends. Returns only if that failed.
pub fn exec_child(keeper: i32, argv: &[OsString]) -> KeeperError {
    let Some((program, args)) = argv.split_first() else {
        return KeeperError::Arguments;
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
        let bound = set_parent_process_death_signal(Some(Signal::KILL));
        // The keeper may have died before the signal was armed: then this process has another parent.
        if bound.is_err() || getppid() != Pid::from_raw(keeper) {
            return failed(program, std::io::Error::other("the keeper is gone"));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = keeper;
    let error = Command::new(program).args(args).exec();
    failed(program, error)
}

fn failed(program: &OsString, source: std::io::Error) -> KeeperError {
    let program = program.to_string_lossy().into_owned();
    if let Some(dir) = std::env::var_os(MARKER) {
        // If this cannot be written, the keeper reports the exit code instead.
        let _ = std::fs::write(
            std::path::Path::new(&dir).join(EXEC_ERROR),
            format!("cannot run {program}: {source}"),
        );
    }
    KeeperError::Exec { program, source }
}
