//! The start of a job's child: bound to its keeper's life, within its limits, inside its fence.

use std::fs::{self, File};
use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use camino::Utf8PathBuf;

use super::{Fence, Job, JobSpec, MARKER};

/// The file in the job's folder that says why there is no fence around a program that may do without. Absent if there
/// is one.
pub(super) const UNFENCED: &str = "unfenced";

/// A child that is ready to be started.
pub(super) struct Child {
    command: Command,
    program: String,
    fence: Option<Fence>,
    unfenced: Utf8PathBuf,
}

impl Child {
    pub(super) fn of(job: &Job, marker: &str, spec: &JobSpec, output: PipeWriter) -> Result<Child, String> {
        let (program, args) = spec.argv.split_first().ok_or("no program was named")?;
        // Checked apart, since a missing folder and a missing program give the same error.
        if !spec.cwd.is_dir() {
            return Err(format!("the working folder {} does not exist", spec.cwd));
        }
        let stdin = match &spec.stdin {
            Some(path) => File::open(path).map_err(|error| format!("cannot open {path}: {error}"))?.into(),
            None => Stdio::null(),
        };
        let errors = output.try_clone().map_err(|error| format!("cannot make a pipe: {error}"))?;
        let mut command = Command::new(program);
        command.args(args).current_dir(&spec.cwd).process_group(0);
        command.stdin(stdin).stdout(output).stderr(errors);
        for name in &spec.env_remove {
            command.env_remove(name);
        }
        command.envs(&spec.env).envs(&spec.secrets).env(MARKER, marker);
        bind(&mut command, spec);
        let (fence, unfenced) = (spec.fence.clone(), job.dir().join(UNFENCED));
        Ok(Child { command, program: program.clone(), fence, unfenced })
    }

    /// Start it; its pid, or why it does not run. The thread that calls this is inside the child's fence from then on, and
    /// the child dies with it.
    pub(super) fn start(mut self) -> Result<i32, String> {
        let failed = |reason: String| format!("cannot run {}: {reason}", self.program);
        if let Some(fence) = &self.fence
            && let Err(reason) = fence.put_up()
        {
            if fence.required {
                return Err(failed(reason));
            }
            fs::write(&self.unfenced, reason).map_err(|error| failed(error.to_string()))?;
        }
        // The handle goes: the reaper waits for the child. With the command, our ends of the pipe close.
        let child = self.command.spawn().map_err(|error| failed(error.to_string()))?;
        Ok(i32::try_from(child.id()).expect("a pid is a positive i32"))
    }
}

/// Limits, and the wish to die with the parent, can only be asked for by the child itself, between fork and exec.
#[expect(unsafe_code, reason = "there is no other way to do it in the child; see below")]
fn bind(command: &mut Command, spec: &JobSpec) {
    let (keeper, limits) = (rustix::process::getpid(), spec.limits);
    let arrange = move || -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Signal, getppid, set_parent_process_death_signal};
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The keeper may have died before the signal was armed: then this process has another parent.
            if getppid() != Some(keeper) {
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = keeper;
        limits.impose()
    };
    // SAFETY: another thread of the keeper may have held any lock when this process was forked. So nothing here takes
    // one or asks for memory: these are system calls, made directly, and errors that are numbers.
    unsafe { command.pre_exec(arrange) };
}
