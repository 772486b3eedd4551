//! The start of a job's child: bound to its keeper's life, within its limits, inside its fence.

use std::fs::{self, File};
use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::fence::Enclosure;
use super::{Job, JobSpec, MARKER};

/// The file in the job's folder that says why there is no fence around a program that may do without. Absent if there
/// is one.
pub(super) const UNFENCED: &str = "unfenced";
/// The file that says why the fence around it comes without a read-only view. Absent if it has one.
pub(super) const UNVIEWED: &str = "unviewed";

/// A child that is ready to be started.
pub(super) struct Child {
    job: Job,
    marker: String,
    spec: JobSpec,
    output: PipeWriter,
}

impl Child {
    pub(super) fn new(job: &Job, marker: &str, spec: &JobSpec, output: PipeWriter) -> Result<Child, String> {
        // Checked apart, since a missing folder and a missing program give the same error.
        if !spec.cwd.is_dir() {
            return Err(format!("the working folder {} does not exist", spec.cwd));
        }
        Ok(Child { job: job.clone(), marker: marker.to_owned(), spec: spec.clone(), output })
    }

    /// Start it. Returns its pid, or why it does not run. It dies with the thread that calls this.
    pub(super) fn start(self) -> Result<i32, String> {
        let program = self.spec.argv.first().ok_or("no program was named")?;
        let failed = |reason: String| format!("cannot run {program}: {reason}");
        let note = |file: &str, reason: String| {
            fs::write(self.job.dir().join(file), reason).map_err(|error| failed(error.to_string()))
        };
        let mut wanted = self.spec.fence.clone();
        loop {
            let enclosure = match &wanted {
                Some(fence) => Enclosure::around(fence, &self.spec.cwd, self.spec.stdin.as_deref()),
                None => Ok(Enclosure::default()),
            };
            let mut command = self.command()?;
            let started = enclosure.and_then(|enclosure| {
                bind(&mut command, &self.spec, enclosure);
                command.spawn().map_err(|error| Refusal::from_error(&error))
            });
            match (started, &mut wanted) {
                // The handle is dropped: the reaper waits for the child. When the command is dropped, our ends of the
                // pipe close.
                (Ok(child), _) => return Ok(i32::try_from(child.id()).expect("a pid is a positive i32")),
                (Err(Refusal::View(reason)), Some(fence)) => {
                    note(UNVIEWED, reason)?;
                    fence.view = false;
                }
                (Err(Refusal::Fence(reason)), Some(fence)) if !fence.required => {
                    note(UNFENCED, reason)?;
                    wanted = None;
                }
                (Err(Refusal::View(reason) | Refusal::Fence(reason) | Refusal::Start(reason)), _) => {
                    return Err(failed(reason));
                }
            }
        }
    }

    fn command(&self) -> Result<Command, String> {
        let (program, args) = self.spec.argv.split_first().ok_or("no program was named")?;
        let stdin = match &self.spec.stdin {
            Some(path) => File::open(path).map_err(|error| format!("cannot open {path}: {error}"))?.into(),
            None => Stdio::null(),
        };
        let output = || self.output.try_clone().map_err(|error| format!("cannot make a pipe: {error}"));
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.spec.cwd).process_group(0);
        command.stdin(stdin).stdout(output()?).stderr(output()?);
        for name in &self.spec.env_remove {
            command.env_remove(name);
        }
        command.envs(&self.spec.env).envs(&self.spec.secrets).env(MARKER, &self.marker);
        Ok(command)
    }
}

/// Why a child was not started: this says without what it may be tried again.
pub(super) enum Refusal {
    View(String),
    Fence(String),
    Start(String),
}

/// Between fork and exec a child can report only one number: the system's error, and in higher bits what was refused.
/// System errors never use those bits.
const VIEW: i32 = 1 << 16;
const FENCE: i32 = 2 << 16;
const NUMBER: i32 = VIEW - 1;

impl Refusal {
    fn from_error(error: &io::Error) -> Refusal {
        let number = error.raw_os_error().unwrap_or_default();
        let of_system = io::Error::from_raw_os_error(number & NUMBER);
        match number & !NUMBER {
            VIEW => Refusal::View(format!("a read-only view cannot be made: {of_system}")),
            FENCE => Refusal::Fence(format!("the sandbox cannot be set up: {of_system}")),
            _ => Refusal::Start(error.to_string()),
        }
    }
}

/// Only the child itself can set its limits, its fence and its death with the parent, between fork and exec.
#[expect(unsafe_code, reason = "there is no other way to do it in the child; see below")]
fn bind(command: &mut Command, spec: &JobSpec, mut enclosure: Enclosure) {
    let (keeper, limits) = (rustix::process::getpid(), spec.limits);
    let arrange = move || -> io::Result<()> {
        // The limits come first, so that they apply to a user namespace as a whole.
        limits.impose()?;
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Signal, getppid, set_parent_process_death_signal};
            let refused = |what: i32| move |number: i32| io::Error::from_raw_os_error(what | number);
            // Inside the fence no mount can be changed, so the view comes first.
            enclosure.view().map_err(refused(VIEW))?;
            enclosure.fence().map_err(refused(FENCE))?;
            // This comes last: the kernel clears it when a process gets other rights.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The keeper may have died before the signal was armed: then this process has another parent.
            if getppid() != Some(keeper) {
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (keeper, &mut enclosure);
        Ok(())
    };
    // SAFETY: another thread of the keeper may have held any lock when this process was forked. So nothing here takes
    // one or asks for memory: these are system calls, made directly, and errors that are numbers.
    unsafe { command.pre_exec(arrange) };
}

/// Whether a read-only view can be made here, found out by making one, or why not. It costs a fork.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "it has to be tried where it is made, see `bind`")]
pub fn views_are_possible() -> Result<(), String> {
    use super::view::View;
    static ANSWER: std::sync::OnceLock<Result<(), String>> = std::sync::OnceLock::new();
    let find_out = || {
        let root = camino::Utf8Path::new("/");
        let mut view = View::new(&["/tmp".into()], root, None)?;
        let mut command = Command::new("/");
        // The program to start is a folder, so exec fails with an error of its own.
        let arrange =
            move || view.enter().map_err(|error| io::Error::from_raw_os_error(VIEW | error.raw_os_error()));
        // SAFETY: as in `bind`.
        unsafe { command.pre_exec(arrange) };
        match command.spawn().map_err(|error| Refusal::from_error(&error)) {
            Err(Refusal::View(reason)) => Err(reason),
            _ => Ok(()),
        }
    };
    ANSWER.get_or_init(find_out).clone()
}

#[cfg(not(target_os = "linux"))]
pub fn views_are_possible() -> Result<(), String> {
    Err("only Linux has namespaces".to_owned())
}

/// A namespace of its own for this process.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "a table of descriptors can be unshared in the same way, which this is not for"
)]
pub(super) fn unshare(what: rustix::thread::UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: no caller loses a descriptor: the table of descriptors stays shared.
    unsafe { rustix::thread::unshare_unsafe(what.difference(rustix::thread::UnshareFlags::FILES)) }
}

/// Make a mount read-only, with all that is mounted below it. There is no safe function for this call.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "neither the standard library nor rustix has this call")]
pub(super) fn make_read_only(mount: &std::ffi::CStr) -> rustix::io::Result<()> {
    // What is set, what is cleared, how mounts spread, and a user namespace.
    let attributes: [u64; 4] = [1, 0, 0, 0];
    // SAFETY: both pointers are good for the call, which keeps neither, and the size is that of what the second leads to.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            mount.as_ptr(),
            libc::AT_RECURSIVE,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()
            .raw_os_error()
            .map_or(rustix::io::Errno::IO, rustix::io::Errno::from_raw_os_error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_told_by_its_number() {
        let of = |number: i32| Refusal::from_error(&io::Error::from_raw_os_error(number));
        let number = rustix::io::Errno::PERM.raw_os_error();
        assert!(
            matches!(of(VIEW | number), Refusal::View(reason) if reason.starts_with("a read-only view cannot be made: Operation not permitted"))
        );
        assert!(
            matches!(of(FENCE | number), Refusal::Fence(reason) if reason.starts_with("the sandbox cannot be set up: Operation not permitted"))
        );
        assert!(
            matches!(of(number), Refusal::Start(reason) if reason.starts_with("Operation not permitted"))
        );
    }
}
