//! The shim between a keeper and its child: one process that arranges its own death, its limits and its fence, then
//! becomes the child.
//!
//! All of this can only be asked for by the child itself, and code between fork and exec would have to be unsafe; a
//! second exec of this binary does the same safely.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{Job, KeeperError, MARKER};

/// The file in the job's folder that says why the program could not be run. Empty or absent if it was.
pub(super) const EXEC_ERROR: &str = "exec-error";
/// The file there that says why there is no fence around a program that may do without. Absent if there is one.
pub(super) const UNFENCED: &str = "unfenced";

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
            return failed(program, io::Error::other("the keeper is gone"), None);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = keeper;
    match arrange() {
        Ok(complaint) => failed(program, Command::new(program).args(args).exec(), complaint),
        Err(error) => failed(program, error, None),
    }
}

/// What the job's spec wants of the process itself. Behind a fence the reason for a failure can only be written to a
/// file that was opened before.
fn arrange() -> io::Result<Option<File>> {
    let Some(dir) = std::env::var_os(MARKER).and_then(|dir| dir.into_string().ok()) else { return Ok(None) };
    let job = Job::at(&dir);
    let Some(spec) = job.spec().map_err(io::Error::other)? else { return Ok(None) };
    spec.limits.impose()?;
    default_signals();
    let Some(fence) = &spec.fence else { return Ok(None) };
    let complaint = File::create(job.dir().join(EXEC_ERROR))?;
    match fence.put_up() {
        Ok(()) => {}
        Err(reason) if fence.required => return Err(io::Error::other(reason)),
        Err(reason) => std::fs::write(job.dir().join(UNFENCED), reason)?,
    }
    Ok(Some(complaint))
}

/// Signals that whoever started Piton ignores (a shell's `&` does so with SIGINT) would be ignored by the child too.
/// One that is caught falls back to its default with the exec, so each is caught for that long. The mask is emptied
/// by the standard library.
fn default_signals() {
    use signal_hook::consts::{
        SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1,
        SIGUSR2,
    };
    let caught = std::sync::Arc::default();
    for signal in [
        SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1,
        SIGUSR2,
    ] {
        // A signal that cannot be caught has its default.
        let _ = signal_hook::flag::register(signal, std::sync::Arc::clone(&caught));
    }
}

fn failed(program: &OsString, source: io::Error, complaint: Option<File>) -> KeeperError {
    let program = program.to_string_lossy().into_owned();
    let opened = || {
        let dir = std::env::var_os(MARKER)?;
        File::create(std::path::Path::new(&dir).join(EXEC_ERROR)).ok()
    };
    if let Some(mut complaint) = complaint.or_else(opened) {
        // If this cannot be written, the keeper reports the exit code instead.
        let _ = write!(complaint, "cannot run {program}: {source}");
    }
    KeeperError::Exec { program, source }
}
