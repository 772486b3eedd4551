//! A tracer: every process of a started command is stopped at the system calls that change the disk or make
//! it durable, and the watcher decides how it goes on.
//!
//! A seccomp filter stops those calls and no others, so that everything else runs at full speed. The filter
//! stays with a process as long as it lives, and without a tracer its calls would fail. So the tracer is a
//! thread that stays until the last process of the command has ended, and takes them all along when its own
//! process goes.

mod calls;
mod process;
mod tracer;

use std::fmt;
use std::io;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use calls::Calls;

/// A process is about to make a call, or has just made it.
#[derive(Debug, Clone)]
pub struct Point {
    pub who: Who,
    pub pid: i32,
    /// Of the thread: several threads of a process may be at a call each.
    pub thread: i32,
    /// The command that was started.
    pub root: i32,
    /// The call, by the kernel's name for it.
    pub call: &'static str,
    /// The descriptor it is about, for the calls that take one.
    pub fd: Option<i32>,
    /// Absolute paths, in the order of the arguments. For a descriptor, the path of its file.
    pub paths: Vec<String>,
    /// The result of the call, at its end; before it, `None`.
    pub end: Option<i64>,
}

/// The kind of process that makes a call, by its command line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// `piton run`.
    Engine,
    /// `piton keeper`.
    Keeper,
    /// Git, by its subcommand.
    Git(String),
    /// What runs inside a job: an agent, a check, and whatever they start.
    Job,
    /// Anything else, by its program and first argument.
    Other(String),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Engine => f.write_str("engine"),
            Who::Keeper => f.write_str("keeper"),
            Who::Git(command) => write!(f, "git {command}"),
            Who::Job => f.write_str("job"),
            Who::Other(name) => f.write_str(name),
        }
    }
}

/// How the process continues.
pub enum Answer {
    Go,
    /// Go on, and show me the end of the call too.
    Follow,
    /// The call is not made and fails with this error number.
    Fail(i32),
    /// `kill -9` for this process alone. If it is the one at the point, it does not make the call.
    Kill(i32),
    /// `kill -9` for everything that was started; the call is not made.
    KillAll,
    /// Hold all traced processes while this runs, then go on.
    Freeze(Box<dyn FnOnce() + Send>),
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Go => f.write_str("Go"),
            Answer::Follow => f.write_str("Follow"),
            Answer::Fail(errno) => write!(f, "Fail({errno})"),
            Answer::Kill(pid) => write!(f, "Kill({pid})"),
            Answer::KillAll => f.write_str("KillAll"),
            Answer::Freeze(_) => f.write_str("Freeze"),
        }
    }
}

/// A command at work with a tracer at its side.
#[derive(Debug)]
pub struct Traced {
    pid: i32,
    ended: Receiver<ExitStatus>,
    tracer: JoinHandle<()>,
}

/// Start a program and watch it. `prepare` sets its folder, environment and output; its input is empty.
pub fn start(
    program: &str,
    args: &[&str],
    prepare: impl FnOnce(&mut Command),
    calls: Calls,
    watch: impl FnMut(&Point) -> Answer + Send + 'static,
) -> io::Result<Traced> {
    // It waits until the tracer is there: a filtered call before that would fail.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read go && exec \"$@\" < /dev/null", "sh", program]).args(args);
    prepare(&mut command);
    tracer::start(command, calls, Box::new(watch))
}

impl Traced {
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Wait for the command's own end, which others of its processes may outlive. `None`: not in this time.
    pub fn end(&self, patience: Duration) -> Option<ExitStatus> {
        match self.ended.recv_timeout(patience) {
            Ok(status) => Some(status),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the tracer is gone"),
        }
    }

    /// Wait until the last process of it has ended.
    pub fn all_end(self) {
        self.tracer.join().expect("the tracer and its watcher do not panic");
    }
}
