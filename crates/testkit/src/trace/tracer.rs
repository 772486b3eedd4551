//! The tracer's thread. Only the thread that attached to a process may control it.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::{Answer, Calls, Point, Traced, Who, calls, process};

type Watch = Box<dyn FnMut(&Point) -> Answer + Send>;

pub(super) fn start(command: Command, calls: Calls, watch: Watch) -> io::Result<Traced> {
    let (mut child, mut gate) = spawn_filtered(command, calls)?;
    let pid = i32::try_from(child.id()).expect("a process id");
    let (tell, ended) = channel();
    let (attached, is_attached) = channel();
    let tracer = thread::spawn(move || {
        let result = ptrace::seize(Pid::from_raw(pid), options());
        let seized = result.is_ok();
        let _ = attached.send(result);
        if seized {
            Tracer::new(pid, tell, watch).follow_all();
        }
    });
    match is_attached.recv().expect("the tracer says so") {
        Ok(()) => gate.write_all(b"go\n")?,
        Err(error) => {
            child.kill()?;
            child.wait()?;
            return Err(error.into());
        }
    }
    // Only the tracer may wait for its end: if two threads wait for the same process, only one of them gets its status.
    Ok(Traced { pid, ended, tracer })
}

/// The filter is the starting thread's and is inherited, so that thread does nothing else.
fn spawn_filtered(
    mut command: Command,
    calls: Calls,
) -> io::Result<(std::process::Child, std::process::ChildStdin)> {
    let filter = calls.filter();
    command.stdin(Stdio::piped());
    let spawned = thread::spawn(move || {
        seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
        command.spawn()
    });
    let mut child = spawned.join().expect("starting does not panic")?;
    let gate = child.stdin.take().expect("asked for");
    Ok((child, gate))
}

fn options() -> Options {
    Options::PTRACE_O_TRACESECCOMP
        | Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEVFORKDONE
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL
}

struct Tracer {
    root: i32,
    tell: Sender<ExitStatus>,
    watch: Watch,
    threads: HashMap<Pid, Thread>,
    who: HashMap<i32, Who>,
    /// Events that came while all processes were being frozen.
    waiting: VecDeque<WaitStatus>,
    /// All processes are being killed, new ones too.
    killing: bool,
}

/// One thread of a traced process.
struct Thread {
    process: i32,
    stopped: bool,
    /// The kernel holds it until its child has begun another program; it can neither run nor stop.
    held: bool,
    /// The call whose end is to be shown.
    followed: Option<Point>,
}

impl Thread {
    fn new(thread: Pid) -> Thread {
        Thread { process: process::of_thread(thread.as_raw()), stopped: false, held: false, followed: None }
    }
}

impl Tracer {
    fn new(root: i32, tell: Sender<ExitStatus>, watch: Watch) -> Tracer {
        let root_thread = Pid::from_raw(root);
        Tracer {
            root,
            tell,
            watch,
            threads: HashMap::from([(root_thread, Thread::new(root_thread))]),
            who: HashMap::new(),
            waiting: VecDeque::new(),
            killing: false,
        }
    }

    /// Until the last one has ended.
    fn follow_all(&mut self) {
        loop {
            let status = match self.waiting.pop_front() {
                Some(status) => status,
                None => match self.hear() {
                    Some(status) => status,
                    None => return,
                },
            };
            self.go_on_from(status);
        }
    }

    /// The next event of any traced process; `None` if there is no process left.
    fn hear(&mut self) -> Option<WaitStatus> {
        // Only of this thread's own tracees: other threads of this process have children and tracees, too.
        let whose = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None, Some(whose)) {
                Ok(status) => {
                    self.note(status);
                    return Some(status);
                }
                Err(Errno::ECHILD) => return None,
                Err(Errno::EINTR) => {}
                Err(error) => panic!("cannot wait for the traced processes: {error}"),
            }
        }
    }

    fn note(&mut self, status: WaitStatus) {
        let Some(thread) = status.pid() else { return };
        if let WaitStatus::Exited(..) | WaitStatus::Signaled(..) = status {
            self.threads.remove(&thread);
            self.who.remove(&thread.as_raw());
            return;
        }
        let known = self.threads.entry(thread).or_insert_with(|| Thread::new(thread));
        (known.stopped, known.held) = (true, false);
    }

    fn go_on_from(&mut self, status: WaitStatus) {
        match status {
            WaitStatus::Exited(pid, code) => self.ended(pid, ExitStatus::from_raw(code << 8)),
            WaitStatus::Signaled(pid, signal, _) => self.ended(pid, ExitStatus::from_raw(signal as i32)),
            _ if self.killing => self.kill_all(),
            WaitStatus::PtraceEvent(thread, _, libc::PTRACE_EVENT_SECCOMP) => self.at_entry(thread),
            WaitStatus::PtraceEvent(thread, _, event) => {
                match event {
                    libc::PTRACE_EVENT_VFORK => self.held(thread),
                    libc::PTRACE_EVENT_EXEC => self.became_another(thread),
                    _ => {}
                }
                self.resume(thread, None);
            }
            WaitStatus::PtraceSyscall(thread) => self.at_exit(thread),
            WaitStatus::Stopped(thread, signal) => self.resume(thread, Some(signal)),
            WaitStatus::Continued(_) | WaitStatus::StillAlive => {}
        }
    }

    fn ended(&mut self, pid: Pid, status: ExitStatus) {
        if pid.as_raw() == self.root {
            // The receiver may be gone.
            let _ = self.tell.send(status);
        }
    }

    fn held(&mut self, thread: Pid) {
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.held = true;
        }
    }

    fn became_another(&mut self, leader: Pid) {
        self.who.remove(&leader.as_raw());
        // If another thread than the first one called exec, it has the first one's id now.
        if let Some(former) = ptrace::getevent(leader).ok().and_then(|id| i32::try_from(id).ok())
            && former != leader.as_raw()
        {
            self.threads.remove(&Pid::from_raw(former));
        }
    }

    fn resume(&mut self, thread: Pid, signal: Option<Signal>) {
        self.runs(thread);
        gone_is_fine(ptrace::cont(thread, signal));
    }

    fn runs(&mut self, thread: Pid) {
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.stopped = false;
        }
    }

    fn at_entry(&mut self, thread: Pid) {
        let point = match ptrace::getregs(thread) {
            Ok(registers) => self.point(thread, &registers),
            // Another process killed it while it was stopped.
            Err(_) => None,
        };
        match point {
            Some(point) => self.show(thread, point),
            None => self.resume(thread, None),
        }
    }

    fn at_exit(&mut self, thread: Pid) {
        let followed = self.threads.get_mut(&thread).and_then(|thread| thread.followed.take());
        match (followed, ptrace::getregs(thread)) {
            (Some(mut point), Ok(registers)) => {
                point.end = Some(registers.rax.cast_signed());
                self.show(thread, point);
            }
            _ => self.resume(thread, None),
        }
    }

    fn point(&mut self, thread: Pid, registers: &libc::user_regs_struct) -> Option<Point> {
        let call = calls::by_number(registers.orig_rax.cast_signed())?;
        let r = registers;
        let args = [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9];
        let pid = self.threads.get(&thread)?.process;
        let fd = call.places.iter().find_map(|place| match place {
            calls::Place::Descriptor(at) => Some(process::descriptor(args[*at])),
            _ => None,
        });
        let paths: Vec<_> =
            call.places.iter().map(|place| process::path(thread.as_raw(), &args, *place)).collect();
        // Files that exist only in the kernel, such as control groups, are on no disk.
        if !paths.is_empty()
            && paths.iter().all(|path| path.starts_with("/sys/") || path.starts_with("/proc/"))
        {
            return None;
        }
        let who = self.who.entry(pid).or_insert_with(|| process::who(pid)).clone();
        let (root, thread) = (self.root, thread.as_raw());
        Some(Point { who, pid, thread, root, call: call.name, fd, paths, end: None })
    }

    fn show(&mut self, thread: Pid, point: Point) {
        match (self.watch)(&point) {
            Answer::Go => self.resume(thread, None),
            Answer::Follow => {
                if let Some(known) = self.threads.get_mut(&thread) {
                    known.followed = Some(point);
                }
                self.runs(thread);
                gone_is_fine(ptrace::syscall(thread, None));
            }
            Answer::Fail(errno) => {
                fail(thread, errno, point.end.is_some());
                self.resume(thread, None);
            }
            Answer::Kill(pid) => {
                gone_is_fine(kill(Pid::from_raw(pid), Signal::SIGKILL));
                if pid != point.pid {
                    self.resume(thread, None);
                }
            }
            Answer::KillAll => {
                self.killing = true;
                self.kill_all();
            }
            Answer::Freeze(act) => {
                self.freeze();
                act();
                self.resume(thread, None);
            }
        }
    }

    /// A process that starts meanwhile is stopped at once, and is reported and killed.
    fn kill_all(&mut self) {
        for thread in self.threads.values() {
            gone_is_fine(kill(Pid::from_raw(thread.process), Signal::SIGKILL));
        }
    }

    /// Stop all processes, and keep events that come until then for later. A process that starts meanwhile is stopped
    /// at once.
    fn freeze(&mut self) {
        let moving = |thread: &Thread| !thread.stopped && !thread.held;
        for (thread, _) in self.threads.iter().filter(|(_, thread)| moving(thread)) {
            gone_is_fine(ptrace::interrupt(*thread));
        }
        while self.threads.values().any(moving) {
            let Some(status) = self.hear() else { return };
            self.waiting.push_back(status);
        }
    }
}

/// The call is skipped, or was made and returns an error.
fn fail(thread: Pid, errno: i32, made: bool) {
    let Ok(mut registers) = ptrace::getregs(thread) else { return };
    if !made {
        registers.orig_rax = (-1_i64).cast_unsigned();
    }
    registers.rax = (-i64::from(errno)).cast_unsigned();
    gone_is_fine(ptrace::setregs(thread, registers));
}

/// Any process may be killed at any moment, even while it is stopped.
fn gone_is_fine(result: nix::Result<()>) {
    match result {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("cannot steer a traced process: {error}"),
    }
}
