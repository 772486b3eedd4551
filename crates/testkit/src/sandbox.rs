//! A place of its own for the real binary: a temporary folder with a home, a project and a repository, an
//! environment built from nothing, and plans whose agents act out a script.
//!
//! Nothing here waits for a time to pass. Processes meet at FIFOs. What can only be polled is polled until it is true.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::process::{Child, Command, Stdio};
#[cfg(target_os = "linux")]
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::{Pid, Signal, kill_process};

/// Far longer than anything here takes on a busy machine: only a bug takes this long.
const FOREVER: Duration = Duration::from_secs(120);
/// Between two looks at something.
const GLANCE: Duration = Duration::from_millis(10);
/// The FIFO of a pause.
const PAUSE: &str = "pause";

/// A temporary folder with a project in it. What is left running in it ends by its own limits.
#[derive(Debug)]
pub struct Sandbox {
    _temp: tempfile::TempDir,
    root: Utf8PathBuf,
    project: Utf8PathBuf,
    binary: Utf8PathBuf,
}

impl Sandbox {
    /// A git repository `project` with one commit on `main`.
    pub fn new(binary: &str) -> Sandbox {
        Sandbox::without_git(binary).with_git()
    }

    /// The same in a certain folder, for tests that depend on it.
    pub fn new_in(binary: &str, place: &Utf8Path) -> Sandbox {
        Sandbox::empty(binary, place).with_git()
    }

    fn with_git(self) -> Sandbox {
        self.git(["init", "-q", "-b", "main"]);
        self.write("README.md", "A project\n");
        self.commit("First commit");
        self
    }

    /// An empty folder `project`, in no repository.
    pub fn without_git(binary: &str) -> Sandbox {
        // Most of the time goes into making things durable. In memory that is free, and no power cut is tested here.
        let memory = Utf8Path::new("/dev/shm");
        Sandbox::empty(binary, &if memory.is_dir() { memory.to_owned() } else { temp_dir() })
    }

    fn empty(binary: &str, place: &Utf8Path) -> Sandbox {
        let temp =
            tempfile::Builder::new().prefix("piton-it-").tempdir_in(place).expect("a temporary folder");
        let root = Utf8Path::from_path(temp.path()).expect("UTF-8").canonicalize_utf8().expect("it exists");
        let project = root.join("project");
        fs::create_dir_all(&project).expect("a new folder");
        fs::create_dir(root.join("home")).expect("a new folder");
        fs::write(root.join("home/.gitconfig"), "[user]\n\tname = Tess Ter\n\temail = tess@example.org\n")
            .expect("a new file");
        Sandbox { _temp: temp, root, project, binary: binary.into() }
    }

    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    pub fn project(&self) -> &Utf8Path {
        &self.project
    }

    /// Where worktrees are made by default.
    pub fn worktrees(&self) -> Utf8PathBuf {
        self.root.join(".worktrees/project")
    }

    /// Piton's own folder.
    pub fn own(&self) -> Utf8PathBuf {
        self.project.join(".git/piton")
    }

    /// Write a file of the project, with its folders. An absolute path goes elsewhere.
    pub fn write(&self, path: impl AsRef<Utf8Path>, text: &str) {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a writable folder");
        fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {path}: {error}"));
    }

    /// Copy a folder, with all that is in it, to a place in the project.
    pub fn copy(&self, from: impl AsRef<Utf8Path>, to: impl AsRef<Utf8Path>) {
        let (from, to) = (from.as_ref(), self.project.join(to));
        fs::create_dir_all(&to).expect("a writable folder");
        for entry in from.read_dir_utf8().unwrap_or_else(|error| panic!("cannot read {from}: {error}")) {
            let entry = entry.expect("a readable folder");
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            if from.is_dir() {
                self.copy(from, to);
            } else {
                fs::copy(from, to).expect("a readable file");
            }
        }
    }

    pub fn read(&self, path: impl AsRef<Utf8Path>) -> String {
        let path = self.project.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
    }

    pub fn exists(&self, path: impl AsRef<Utf8Path>) -> bool {
        self.project.join(path).exists()
    }

    /// Make a file look as if it was last written an hour ago.
    pub fn age(&self, path: impl AsRef<Utf8Path>) {
        let file = File::options().append(true).open(self.project.join(path)).expect("it is there");
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("our own file");
    }

    /// A program in a folder that only [`Invocation::with_path`] adds to `PATH`.
    pub fn program(&self, name: &str, script: &str) -> Utf8PathBuf {
        let folder = self.root.join("bin");
        let path = folder.join(name);
        self.write(&path, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
        folder
    }

    /// What the agents do, by task: see `piton scripted-agent`.
    pub fn script(&self, text: &str) {
        let text = text.replace("SIDE", self.root.as_str());
        self.write(self.root.join("agents.script"), &text);
    }

    /// Write `plan.toml` and commit it. The text begins inside `[defaults]`.
    pub fn plan(&self, tasks: &str) {
        self.plan_with("", tasks);
    }

    /// The same with lines for `[policy]`.
    pub fn plan_with(&self, policy: &str, tasks: &str) {
        self.write("plan.toml", &self.plan_text(policy, tasks));
        self.commit("Plan");
    }

    /// A plan whose agents follow the script and do not linger, should their test fail.
    pub fn plan_text(&self, policy: &str, tasks: &str) -> String {
        let script = self.root.join("agents.script");
        format!(
            "name = \"plan\"\n\n[agents.default]\ncommand = [\"{}\", \"scripted-agent\", \"{script}\"]\n\n\
             [policy]\nbackoff = \"0s\"\n{policy}\n\n[defaults]\ntimeout = \"100s\"\n{tasks}",
            self.binary
        )
    }

    /// Stage everything and commit.
    pub fn commit(&self, message: &str) {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "-m", message]);
    }

    /// Run git in the project; it must succeed. Returns what it printed, without the last newline.
    #[track_caller]
    pub fn git<const N: usize>(&self, args: [&str; N]) -> String {
        self.git_in(&self.project, args)
    }

    #[track_caller]
    pub fn git_in<const N: usize>(&self, folder: &Utf8Path, args: [&str; N]) -> String {
        let out = self.environment(Command::new("git").arg("-C").arg(folder).args(args)).output();
        let out = out.expect("git is installed");
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
    }

    /// The subjects of a branch's first-parent history, oldest first.
    pub fn history(&self, branch: &str) -> Vec<String> {
        let log = self.git(["log", "--first-parent", "--reverse", "--format=%s", branch]);
        log.lines().map(str::to_owned).collect()
    }

    fn environment<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root.join("home"))
            .env("TERM", "dumb")
            .env("NO_COLOR", "1")
            .env("LANG", "C.UTF-8")
            // Most agents in tests use files outside of their worktree to meet their test.
            .env("PITON_SANDBOX", "off")
    }

    /// A call of the binary, in the project.
    pub fn piton<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Invocation {
        self.called(Command::new(&self.binary), args)
    }

    /// The same, started by another program that gets the whole command line as its last arguments.
    pub fn piton_by<'a>(&self, starter: &[&str], args: impl IntoIterator<Item = &'a str>) -> Invocation {
        let (program, words) = starter.split_first().expect("a program");
        let mut command = Command::new(program);
        command.args(words).arg(&self.binary);
        self.called(command, args)
    }

    fn called<'a>(&self, mut command: Command, args: impl IntoIterator<Item = &'a str>) -> Invocation {
        self.environment(&mut command).args(args).current_dir(&self.project).stdin(Stdio::null());
        Invocation { command, root: self.root.clone() }
    }

    /// A call of the binary to its end, and to the end of everything it started, with a tracer at its side.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[track_caller]
    pub fn traced(
        &self,
        line: &str,
        calls: crate::trace::Calls,
        watch: impl FnMut(&crate::trace::Point) -> crate::trace::Answer + Send + 'static,
    ) -> Output {
        let kept = tempfile::Builder::new().prefix("said-").tempdir().expect("a temporary folder");
        let file = |name: &str| File::create(kept.path().join(name)).expect("a new file");
        let prepare = |command: &mut Command| {
            self.environment(command).current_dir(&self.project).stdout(file("out")).stderr(file("err"));
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let traced = crate::trace::start(self.binary.as_str(), &words, prepare, calls, watch);
        let traced = traced.expect("a tracer");
        let status = traced.end(FOREVER).expect("the end of piton");
        traced.all_end();
        let read = |name: &str| {
            let text = fs::read_to_string(kept.path().join(name)).expect("our own file");
            text.replace(self.root.as_str(), "[ROOT]")
        };
        Output { code: status.code(), stdout: read("out"), stderr: read("err") }
    }

    /// `piton` with words that hold no spaces.
    pub fn run(&self, line: &str) -> Output {
        self.piton(line.split_whitespace()).run()
    }

    /// The events of the newest run, one JSON text each.
    pub fn events(&self) -> Vec<String> {
        self.run("log --json --plan plan.toml").exits(0).stdout.lines().map(str::to_owned).collect()
    }

    /// Make a FIFO for `meet` in a script.
    pub fn fifo(&self, name: &str) -> Utf8PathBuf {
        let path = self.root.join(name);
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo is installed");
        assert!(made.success(), "mkfifo {path}");
        path
    }

    /// Wait until a process waits at the FIFO, and let it go on.
    #[track_caller]
    pub fn meet(&self, name: &str) {
        until(&format!("a process at the FIFO {name}"), || self.met(name).then_some(()));
    }

    /// Whether a process waited at the FIFO. Then it goes on.
    fn met(&self, name: &str) -> bool {
        self.held(name).is_some()
    }

    /// The other end of the FIFO, if a process waits at it. That process goes on when this is dropped.
    fn held(&self, name: &str) -> Option<File> {
        let path = self.root.join(name);
        // To open a FIFO for writing without waiting fails if no process reads it.
        let no_reader = rustix::io::Errno::NXIO.raw_os_error();
        let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("a small number");
        match OpenOptions::new().write(true).custom_flags(flags).open(&path) {
            Ok(other_end) => Some(other_end),
            Err(error) if error.raw_os_error() == Some(no_reader) => None,
            Err(error) => panic!("cannot open {path}: {error}"),
        }
    }

    /// Every file and folder of the project and its worktrees, by what can be seen of it except when it was read.
    pub fn fingerprint(&self) -> BTreeMap<String, String> {
        let mut seen = BTreeMap::new();
        look(&self.root, &mut seen);
        seen
    }
}

fn temp_dir() -> Utf8PathBuf {
    Utf8PathBuf::from_path_buf(std::env::temp_dir()).expect("UTF-8")
}

fn look(folder: &Utf8Path, seen: &mut BTreeMap<String, String>) {
    for entry in folder.read_dir_utf8().expect("a readable folder") {
        let entry = entry.expect("a readable folder");
        let path = entry.path();
        if path.as_str().ends_with("-shm") {
            // Memory that SQLite's readers share; nothing is kept in it.
            continue;
        }
        let data = fs::symlink_metadata(path).expect("it was there a moment ago");
        let content = if data.is_file() { fs::read(path).expect("a readable file") } else { Vec::new() };
        let times = format!("{}.{:09}", data.mtime(), data.mtime_nsec());
        let known = format!("{:o} {times} {} {:016x}", data.mode(), content.len(), fnv(&content));
        seen.insert(path.to_string(), known);
        if data.is_dir() {
            look(path, seen);
        }
    }
}

/// Enough to notice a difference (FNV-1a).
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Look again and again until it is so.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + FOREVER;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "never came: {what}");
        thread::sleep(GLANCE);
    }
}

/// A call of the binary, not made yet.
#[derive(Debug)]
pub struct Invocation {
    command: Command,
    root: Utf8PathBuf,
}

impl Invocation {
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<str>) -> Invocation {
        self.command.env(name, value.as_ref());
        self
    }

    /// Look for programs here first.
    #[must_use]
    pub fn with_path(self, folder: &Utf8Path) -> Invocation {
        let path = std::env::var("PATH").unwrap_or_default();
        self.env("PATH", format!("{folder}:{path}"))
    }

    /// Wait at the N-th pass of a crash point until [`Running::until_paused`] lets go: see `crash.rs`.
    #[must_use]
    pub fn pausing_at(self, sandbox: &Sandbox, point: &str, nth: usize) -> Invocation {
        let fifo = sandbox.root.join(PAUSE);
        if !fifo.exists() {
            sandbox.fifo(PAUSE);
        }
        self.env("PITON_CRASH", format!("{point}:{nth}")).env("PITON_PAUSE", fifo)
    }

    #[must_use]
    pub fn within(mut self, folder: impl AsRef<Utf8Path>) -> Invocation {
        self.command.current_dir(folder.as_ref());
        self
    }

    #[track_caller]
    pub fn run(self) -> Output {
        self.spawn().wait()
    }

    /// Start it and go on.
    #[track_caller]
    pub fn spawn(mut self) -> Running {
        // Files, not pipes: processes that a killed engine left running hold a pipe open, and files can be read
        // meanwhile.
        let kept = tempfile::Builder::new().prefix("said-").tempdir().expect("a temporary folder");
        let path = |name: &str| Utf8PathBuf::from_path_buf(kept.path().join(name)).expect("UTF-8");
        let (out, err) = (path("out"), path("err"));
        let file = |path: &Utf8Path| File::create(path).expect("a new file");
        let child = self.command.stdout(file(&out)).stderr(file(&err)).spawn().expect("the binary is built");
        Running { child, out, err, root: self.root, _kept: kept }
    }

    /// Start it on a terminal of its own, and go on. Dropping the terminal closes its window.
    #[cfg(target_os = "linux")]
    #[track_caller]
    pub fn spawn_on_terminal(self) -> (Running, Terminal) {
        self.spawn_on_terminal_of(80, 24)
    }

    /// The same with so many columns and rows.
    #[cfg(target_os = "linux")]
    #[track_caller]
    pub fn spawn_on_terminal_of(mut self, columns: u16, rows: u16) -> (Running, Terminal) {
        let pair = nix::pty::openpty(&winsize(columns, rows), None).expect("a terminal");
        // A process that inherits the window keeps it open.
        rustix::io::fcntl_setfd(&pair.master, rustix::io::FdFlags::CLOEXEC).expect("our own descriptor");
        let end = || Stdio::from(pair.slave.try_clone().expect("a descriptor"));
        let kept = tempfile::Builder::new().prefix("said-").tempdir().expect("a temporary folder");
        let file = |name: &str| {
            let path = Utf8PathBuf::from_path_buf(kept.path().join(name)).expect("UTF-8");
            File::create(&path).expect("a new file");
            path
        };
        let (out, err) = (file("out"), file("err"));
        let command = self.command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm");
        let child = command.spawn().expect("the binary is built");
        let flags = rustix::fs::fcntl_getfl(&pair.master).expect("our own descriptor");
        let flags = flags | rustix::fs::OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&pair.master, flags).expect("our own descriptor");
        let terminal = Terminal::new(File::from(pair.master));
        (Running { child, out, err, root: self.root, _kept: kept }, terminal)
    }
}

#[cfg(target_os = "linux")]
fn winsize(columns: u16, rows: u16) -> nix::pty::Winsize {
    nix::pty::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// A terminal, seen from its window.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct Terminal {
    window: Arc<Window>,
    shown: Vec<u8>,
}

/// What a terminal shows is read all the time, as by a real one: a process that prints more than the kernel keeps would wait
/// for its reader for ever.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Window {
    file: File,
    read: Mutex<Vec<u8>>,
}

#[cfg(target_os = "linux")]
impl Window {
    /// Read what there is. Whether more may come.
    fn read(&self, all: &mut Vec<u8>) -> bool {
        let mut bytes = [0; 4096];
        loop {
            match std::io::Read::read(&mut &self.file, &mut bytes) {
                Ok(0) => return false,
                Ok(read) => all.extend_from_slice(&bytes[..read]),
                Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl Terminal {
    fn new(file: File) -> Terminal {
        let window = Arc::new(Window { file, read: Mutex::default() });
        let weak = Arc::downgrade(&window);
        // It has the window for moments only: dropping the terminal closes it.
        thread::spawn(move || {
            while let Some(window) = weak.upgrade() {
                let more = window.read(&mut window.read.lock().expect("a reader that does not panic"));
                drop(window);
                if !more {
                    break;
                }
                thread::sleep(GLANCE);
            }
        });
        Terminal { window, shown: Vec::new() }
    }

    /// All that was shown so far, with every control sequence.
    pub fn bytes(&mut self) -> &[u8] {
        let mut read = self.window.read.lock().expect("a reader that does not panic");
        self.window.read(&mut read);
        self.shown.extend_from_slice(&read[self.shown.len()..]);
        &self.shown
    }

    /// The same as text.
    pub fn shown(&mut self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// Give the window another size. The process that has the terminal hears of it.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&self.window.file, size).expect("our own terminal");
    }

    /// Whether it shows what is typed and waits for whole lines, as a shell wants it.
    pub fn is_usual(&self) -> bool {
        use rustix::termios::LocalModes;
        let modes = rustix::termios::tcgetattr(&self.window.file).expect("our own terminal").local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON) && !modes.contains(LocalModes::NOFLSH)
    }

    /// Whether a Ctrl-C leaves what it has not shown yet.
    pub fn keeps_what_is_drawn(&self) -> bool {
        use rustix::termios::{LocalModes, tcgetattr};
        tcgetattr(&self.window.file).expect("our own terminal").local_modes.contains(LocalModes::NOFLSH)
    }

    #[track_caller]
    pub fn until_shows(&mut self, text: &str) {
        until(&format!("{text:?} on the terminal"), || self.shown().contains(text).then_some(()));
    }

    /// Type something, as `\u{3}` for Ctrl-C.
    pub fn types(&mut self, keys: &str) {
        std::io::Write::write_all(&mut &self.window.file, keys.as_bytes())
            .expect("a process has the terminal");
    }
}

/// The binary at work.
#[derive(Debug)]
pub struct Running {
    child: Child,
    out: Utf8PathBuf,
    err: Utf8PathBuf,
    root: Utf8PathBuf,
    _kept: tempfile::TempDir,
}

impl Running {
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid()).expect("not zero");
        kill_process(pid, signal).expect("our own child");
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process id")
    }

    /// Wait until it is where [`Invocation::pausing_at`] said. It goes on when the answer is dropped.
    #[track_caller]
    pub fn until_paused(&mut self, sandbox: &Sandbox) -> File {
        until("a pause of the engine", || {
            let ended = self.child.try_wait().expect("our own child");
            let said = || fs::read_to_string(&self.err).unwrap_or_default();
            assert!(ended.is_none(), "it ended before it paused:\n{}", said());
            sandbox.held(PAUSE)
        })
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_some()
    }

    /// What it has printed to standard error so far.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.err).unwrap_or_default()
    }

    /// Wait for the first line that it prints to standard output.
    #[track_caller]
    pub fn first_line(&mut self) -> String {
        until("a line of output", || {
            let printed = fs::read_to_string(&self.out).unwrap_or_default();
            if let Some((first, _)) = printed.split_once('\n') {
                return Some(first.to_owned());
            }
            let ended = self.child.try_wait().expect("our own child");
            assert!(ended.is_none(), "it ended without a line of output:\n{}", self.said());
            None
        })
    }

    /// Wait until it has printed this to standard error.
    #[track_caller]
    pub fn until_says(&mut self, text: &str) {
        until(&format!("{text:?} from the engine"), || {
            let said = fs::read_to_string(&self.err).unwrap_or_default();
            if said.contains(text) {
                return Some(());
            }
            let ended = self.child.try_wait().expect("our own child");
            assert!(ended.is_none(), "it ended without saying {text:?}:\n{said}");
            None
        });
    }

    /// [`Sandbox::meet`] one of its agents, as long as it runs.
    #[track_caller]
    pub fn until_at(&mut self, sandbox: &Sandbox, name: &str) {
        until(&format!("an agent at the FIFO {name}"), || {
            let ended = self.child.try_wait().expect("our own child");
            let said = || fs::read_to_string(&self.err).unwrap_or_default();
            assert!(ended.is_none(), "it ended before an agent was at {name}:\n{}", said());
            sandbox.met(name).then_some(())
        });
    }

    #[track_caller]
    pub fn wait(mut self) -> Output {
        let status = until("the end of piton", || self.child.try_wait().expect("our own child"));
        let read = |path: &Utf8Path| {
            let text = String::from_utf8_lossy(&fs::read(path).expect("our own file")).into_owned();
            text.replace(self.root.as_str(), "[ROOT]")
        };
        Output { code: status.code(), stdout: read(&self.out), stderr: read(&self.err) }
    }
}

/// A test that failed leaves no engine behind.
impl Drop for Running {
    fn drop(&mut self) {
        // Both do nothing to a child that has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the binary printed and how it ended, with the sandbox's path as `[ROOT]`.
#[must_use = "say how it should have ended: .exits(0)"]
#[derive(Clone, Debug)]
pub struct Output {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    #[track_caller]
    pub fn exits(self, code: i32) -> Output {
        assert_eq!(self.code, Some(code), "\n{self}");
        self
    }

    /// Both streams are looked at.
    #[track_caller]
    pub fn says(self, text: &str) -> Output {
        assert!(self.contains(text), "nothing says {text:?}\n{self}");
        self
    }

    #[track_caller]
    pub fn lacks(self, text: &str) -> Output {
        assert!(!self.contains(text), "it says {text:?}\n{self}");
        self
    }

    pub fn contains(&self, text: &str) -> bool {
        self.stdout.contains(text) || self.stderr.contains(text)
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or("killed".to_owned(), |code| code.to_string());
        writeln!(f, "exit: {code}")?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                writeln!(f, "--- {name}\n{}", text.trim_end())?;
            }
        }
        Ok(())
    }
}

/// A `[[task]]` that leaves `ID.txt`, with further lines. Its check is that this file is not empty.
pub fn task(id: &str, more: &str) -> String {
    let checks =
        if more.contains("checks") { String::new() } else { format!("checks = [\"test -s {id}.txt\"]\n") };
    format!("[[task]]\nid = \"{id}\"\ntitle = \"Do {id}\"\nprompt = \"Please do {id}\"\n{checks}{more}\n\n")
}

/// A script in which each of these tasks writes its file.
pub fn writers(ids: &[&str]) -> String {
    ids.iter().map(|id| format!("[{id}]\nwrite {id}.txt done\n")).collect()
}
