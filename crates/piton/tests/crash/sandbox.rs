//! A scratch project with a home of its own, and the real binary at work in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use piton_testkit::trace::{self, Answer, Calls, Point, Traced};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::reference::Form;

/// Nothing here takes a tenth of it, even on a machine that builds something else meanwhile.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Sandbox {
    dir: Option<TempDir>,
    pub(crate) root: Utf8PathBuf,
    pub(crate) repo: Utf8PathBuf,
    /// Where the plan is, below the project.
    pub(crate) plan: &'static str,
    /// What `piton run PLAN` is given besides.
    pub(crate) run_args: &'static [&'static str],
    /// Whether its agents are behind a fence.
    pub(crate) fenced: bool,
    /// Which of the reference plans it has, if one of them.
    pub(crate) form: Form,
    boots: AtomicUsize,
}

/// A process that was started and is waited for.
pub(crate) struct Running {
    pub(crate) pid: i32,
    child: Child,
    log: Utf8PathBuf,
}

pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// What it printed, both ways.
    pub(crate) text: String,
}

impl Ended {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub(crate) fn aborted(&self) -> bool {
        self.status.signal() == Some(6)
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code(), Some(code), "{}: {}", self.status, self.text);
        self
    }
}

/// One run of an agent, as the agent itself wrote it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Began {
    pub(crate) task: String,
    pub(crate) attempt: u32,
    pub(crate) job: Utf8PathBuf,
}

impl Sandbox {
    /// A repository with `files` in one commit on `main`, `plan` among them, and the agents' script beside it.
    /// `ROOT` in the script becomes the sandbox's folder.
    pub(crate) fn new(plan: &'static str, script: &str, files: &[(&str, &str)]) -> Sandbox {
        // In memory where possible: these tests are about order, not about disks.
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let dir = tempfile::Builder::new().prefix("piton-crash-").tempdir_in(place).expect("a temp folder");
        let root =
            Utf8PathBuf::from_path_buf(dir.path().canonicalize().expect("a real path")).expect("UTF-8");
        let sandbox = Sandbox {
            repo: root.join("p"),
            root,
            dir: Some(dir),
            plan,
            run_args: &[],
            fenced: false,
            form: Form::Native,
            boots: AtomicUsize::new(1),
        };
        let root = &sandbox.root;
        for folder in ["home", "hold", "p"] {
            fs::create_dir(root.join(folder)).expect("a folder");
        }
        // An agent's own git must not start others that outlive it.
        let config = "[user]\nname = Tess\nemail = tess@example.org\n[init]\ndefaultBranch = main\n\
                      [maintenance]\nauto = false\n[gc]\nauto = 0\n";
        fs::write(root.join("home/.gitconfig"), config).expect("a file");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_piton"), root.join("home/piton")).expect("a link");
        fs::write(root.join("home/agents.script"), script.replace("ROOT", root.as_str())).expect("a file");
        fs::write(root.join("began.sh"), BEGAN.replace("ROOT", root.as_str())).expect("a file");
        fs::write(root.join("began.txt"), "").expect("a file");
        for shared in ["began.txt", "hold"] {
            // By a name that is the same in every sandbox.
            std::os::unix::fs::symlink(root.join(shared), root.join("home").join(shared)).expect("a link");
        }
        sandbox.git(&["init", "--quiet"]);
        for (name, text) in files {
            let path = sandbox.repo.join(name);
            fs::create_dir_all(path.parent().expect("inside")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "-m", "Begin"]);
        sandbox
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.dress(&mut command);
        command
    }

    fn dress(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let home = self.root.join("home");
        command.env_clear().env("PATH", path).env("HOME", home).env("TERM", "dumb").current_dir(&self.repo);
        // These agents tell their test what they did in files beside their worktree.
        command.env("PITON_SANDBOX", if self.fenced { "on" } else { "off" });
        command.env("PITON_BOOT", self.boots.load(Ordering::SeqCst).to_string());
    }

    /// A process that starts from now on finds that the machine has been off, for a minute or so: what scripts lock with,
    /// and what they may have been writing, is old by then.
    pub(crate) fn reboot(&self) {
        self.boots.fetch_add(1, Ordering::SeqCst);
        let entries = self.repo.join(self.plan).read_dir_utf8().into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
            let file = File::options().write(true).open(entry.path()).expect("our own file");
            file.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("our own file");
        }
    }

    /// A git of the user's, which has to succeed.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.command("git").args(args).output().expect("git starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// A file for what a process says.
    fn fresh_log(&self) -> (Utf8PathBuf, File) {
        let mut number = 0;
        loop {
            let log = self.root.join(format!("said-{number}.txt"));
            match File::create_new(&log) {
                Ok(file) => return (log, file),
                Err(_) => number += 1,
            }
        }
    }

    /// Read every object that a revision reaches; a damaged one is a failure.
    #[track_caller]
    pub(crate) fn read_all(&self, revision: &str) {
        let script = "git rev-list --objects --no-object-names \"$1\" | git cat-file --batch > /dev/null";
        let output = self.command("sh").args(["-ec", script, "sh", revision]).output().expect("sh starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "not all of {revision} can be read: {errors}");
    }

    pub(crate) fn start(&self, args: &[&str], env: &[(&str, &str)]) -> Running {
        let (log, out) = self.fresh_log();
        let mut command = self.command(env!("CARGO_BIN_EXE_piton"));
        command.args(args).envs(env.iter().copied()).stdin(Stdio::null());
        command.stderr(out.try_clone().expect("a second handle")).stdout(out);
        let child = command.spawn().expect("piton starts");
        Running { pid: i32::try_from(child.id()).expect("a pid"), child, log }
    }

    /// Any command of Piton's, to its end.
    pub(crate) fn piton(&self, args: &[&str]) -> Ended {
        self.start(args, &[]).end(self)
    }

    pub(crate) fn start_run(&self, env: &[(&str, &str)]) -> Running {
        self.start(&[&["run", self.plan], self.run_args].concat(), env)
    }

    /// `piton run` under the tracer, see [`Sandbox::watched`].
    #[track_caller]
    pub(crate) fn watched_run(
        &self,
        watch: impl FnMut(&Point) -> Answer + Send + 'static,
    ) -> (Ended, Traced) {
        self.watched(&["run", self.plan], Calls::default(), watch)
    }

    /// Any command of Piton's, with the tracer watching every change of the disk, to its own end. What outlives
    /// it is watched on.
    #[track_caller]
    pub(crate) fn watched(
        &self,
        args: &[&str],
        calls: Calls,
        watch: impl FnMut(&Point) -> Answer + Send + 'static,
    ) -> (Ended, Traced) {
        let (log, out) = self.fresh_log();
        let prepare = |command: &mut Command| {
            self.dress(command);
            command.stderr(out.try_clone().expect("a second handle")).stdout(out);
        };
        let traced =
            trace::start(env!("CARGO_BIN_EXE_piton"), args, prepare, calls, watch).expect("piton starts");
        let status = traced.end(PATIENCE);
        let text = fs::read_to_string(&log).unwrap_or_default();
        let Some(status) = status else {
            let living = self.processes();
            self.kill_all();
            panic!("piton has not ended: {text}\n{living:#?}");
        };
        (Ended { status, text }, traced)
    }

    /// Of two, the one that ends first, and the other one still running.
    #[track_caller]
    pub(crate) fn first_to_end(two: [Running; 2], sandbox: &Sandbox) -> (Ended, Running) {
        let [mut one, mut other] = two;
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if one.child.try_wait().expect("a child").is_some() {
                return (one.end(sandbox), other);
            }
            if other.child.try_wait().expect("a child").is_some() {
                return (other.end(sandbox), one);
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("neither of them ends");
    }

    /// `piton run`, to its end.
    pub(crate) fn run(&self) -> Ended {
        self.start_run(&[]).end(self)
    }

    /// `piton run` with the crash asked for; the passes are counted over the engine and its keepers.
    pub(crate) fn run_crashing(&self, point: &str, nth: usize) -> Ended {
        let trace = self.fresh_trace();
        let wish = format!("{point}:{nth}");
        let env = [("PITON_CRASH", wish.as_str()), ("PITON_CRASH_TRACE", trace.as_str())];
        let ended = self.start_run(&env).end(self);
        let crashed = self.has_crashed();
        let keepers = point.starts_with("keeper.");
        assert_eq!(ended.aborted(), crashed && !keepers, "{wish}: {} {}", ended.status, ended.text);
        ended
    }

    /// Whether the crash that was asked for last has come.
    pub(crate) fn has_crashed(&self) -> bool {
        self.root.join("trace.crashed").exists()
    }

    /// `piton run` with every point it passes written down.
    pub(crate) fn run_traced(&self) -> (Ended, BTreeMap<String, usize>) {
        let trace = self.fresh_trace();
        let ended = self.start_run(&[("PITON_CRASH_TRACE", trace.as_str())]).end(self);
        let mut passes = BTreeMap::new();
        for line in fs::read_to_string(&trace).expect("a trace").lines() {
            *passes.entry(line.to_owned()).or_insert(0) += 1;
        }
        (ended, passes)
    }

    fn fresh_trace(&self) -> Utf8PathBuf {
        let trace = self.root.join("trace.txt");
        for file in [&trace, &trace.with_extension("crashed")] {
            let _ = fs::remove_file(file);
        }
        trace
    }

    /// Every run of an agent so far.
    pub(crate) fn began(&self) -> Vec<Began> {
        let text = fs::read_to_string(self.root.join("began.txt")).expect("the agents' own list");
        let line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let attempt = words[1].parse().expect("a number");
            Began { task: words[0].to_owned(), attempt, job: words[2].into() }
        };
        text.lines().map(line).collect()
    }

    pub(crate) fn runs_of(&self, task: &str) -> usize {
        self.began().iter().filter(|began| began.task == task).count()
    }

    /// How the job in a folder ended; `None` if it has no outcome.
    pub(crate) fn outcome(job: &Utf8Path) -> Option<String> {
        let text = fs::read_to_string(job.join("outcome.json")).ok()?;
        let outcome: Value = serde_json::from_str(&text).expect("a whole outcome");
        Some(outcome["ended"]["kind"].as_str().expect("a kind").to_owned())
    }

    /// Agents that died with their keeper.
    pub(crate) fn died(&self, tasks: &[&str]) -> usize {
        let died = |began: &&Began| {
            tasks.contains(&began.task.as_str()) && Sandbox::outcome(&began.job).as_deref() == Some("died")
        };
        self.began().iter().filter(died).count()
    }

    /// The journal.
    pub(crate) fn events(&self) -> Vec<Value> {
        let said = self.piton(&["log", "--json", "--plan", self.plan]).expect(0);
        let lines = said.text.lines().filter(|line| line.starts_with('{'));
        lines.map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Events of one kind about one task.
    pub(crate) fn events_of(&self, task: &str, kind: &str) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|event| event["task"] == task && event["event"] == kind);
        events
    }

    /// How often each task's trailer is among the merges of `main`.
    pub(crate) fn landed(&self) -> BTreeMap<String, usize> {
        let format = "--format=%(trailers:key=Piton-Task,valueonly)";
        let list = self.git(&["log", "--first-parent", "--merges", format, "main"]);
        let mut landed = BTreeMap::new();
        for task in list.lines().filter(|line| !line.is_empty()) {
            *landed.entry(task.to_owned()).or_insert(0) += 1;
        }
        landed
    }

    #[track_caller]
    pub(crate) fn assert_landed_once(&self, tasks: &[&str]) {
        let once: BTreeMap<String, usize> = tasks.iter().map(|task| ((*task).to_owned(), 1)).collect();
        assert_eq!(self.landed(), once);
    }

    /// Everything that lives and has this sandbox in its environment.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        self.processes_with(self.root.as_str())
    }

    /// Everything that lives and has this in its environment.
    pub(crate) fn processes_with(&self, text: &str) -> Vec<(i32, String)> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("Linux").flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            // A process that has ended and is not yet waited for has neither.
            if String::from_utf8_lossy(&environ).contains(text) {
                found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
            }
        }
        found
    }

    /// `kill -9` for everything in here, newcomers too.
    pub(crate) fn kill_all(&self) {
        let since = Instant::now();
        loop {
            let living = self.processes();
            if living.is_empty() {
                return;
            }
            assert!(since.elapsed() < PATIENCE, "{living:?} cannot be killed");
            for (pid, _) in living {
                kill(pid, Signal::KILL);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn signal(&self, pid: i32, signal: Signal) {
        kill(pid, signal);
    }

    /// Gates that agents wait at, named `TASK.N` after the N-th run of a task.
    pub(crate) fn gates(&self, names: &[&str]) -> Gates {
        let fifo = |name: &str| {
            let path = self.root.join("hold").join(name);
            mknodat(CWD, path.as_std_path(), FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
            // Open both ways it never blocks, and whatever is written stays until it is read.
            File::options().read(true).write(true).open(path).expect("a FIFO")
        };
        Gates {
            here: fifo("here"),
            gates: names.iter().map(|name| ((*name).to_owned(), fifo(name))).collect(),
        }
    }

    /// Where a task's worktree is: its name is a link to its slot.
    #[track_caller]
    pub(crate) fn worktree(&self, task: &str) -> Utf8PathBuf {
        let name = self.root.join(".worktrees/p").join(task);
        assert!(name.is_symlink(), "{name} is not a link");
        name.canonicalize_utf8().expect("a slot")
    }

    /// The folder in which git keeps what it knows of a task's worktree, from the project's own.
    #[track_caller]
    pub(crate) fn entry(&self, task: &str) -> String {
        let slot = self.worktree(task);
        format!("worktrees/{}", slot.file_name().expect("a name").replacen('.', "-", 1))
    }

    /// What a finished run has left behind. Nothing, that is.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut left = Vec::new();
        // A keeper that wrote its outcome is about to go.
        let since = Instant::now();
        while !self.processes().is_empty() && since.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(5));
        }
        left.extend(self.processes().into_iter().map(|(pid, line)| format!("process {pid}: {line}")));
        let worktrees = self.git(&["worktree", "list"]);
        left.extend(worktrees.lines().skip(1).map(|line| format!("worktree {line}")));
        // Git does not list one that is empty.
        let entries = self.repo.join(".git/worktrees").read_dir_utf8().into_iter().flatten().flatten();
        left.extend(entries.map(|entry| entry.path().to_string()));
        let refs = self.git(&["for-each-ref", "--format=%(refname)"]);
        left.extend(refs.lines().filter(|name| *name != "refs/heads/main").map(str::to_owned));
        let mut open = vec![self.root.clone()];
        while let Some(folder) = open.pop() {
            for entry in folder.read_dir_utf8().expect("a folder").flatten() {
                let (path, name) = (entry.path().to_owned(), entry.file_name().to_owned());
                // Piton's own locks are never taken away: they are held or not.
                let own_lock = path.starts_with(self.repo.join(".git/piton"));
                if (name.ends_with(".lock") && !own_lock)
                    || name.starts_with(".piton-")
                    || name.starts_with("index-")
                    || name.ends_with(".bad")
                    || name.ends_with(".refused")
                    || name.ends_with(".displaced")
                    || (name.starts_with("tmp_") && path.starts_with(self.repo.join(".git/objects")))
                    || name == ".worktrees"
                {
                    left.push(path.to_string());
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(path);
                }
            }
        }
        left
    }
}

/// FIFOs, by which agents and tests meet without a clock.
pub(crate) struct Gates {
    here: File,
    gates: BTreeMap<String, File>,
}

impl Gates {
    /// Wait until an agent is at one of the gates; says which.
    #[track_caller]
    pub(crate) fn wait(&self) -> String {
        let mut here = BufReader::new(self.here.try_clone().expect("a second handle"));
        let (tell, told) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            here.read_line(&mut line).expect("a line");
            drop(tell.send(line));
        });
        told.recv_timeout(PATIENCE).expect("an agent comes to a gate").trim_end().to_owned()
    }

    pub(crate) fn open(&self, name: &str) {
        (&self.gates[name]).write_all(b"go\n").expect("the gate opens");
    }
}

impl Running {
    /// Wait for it. The sandbox goes down with the test if it does not come.
    #[track_caller]
    pub(crate) fn end(mut self, sandbox: &Sandbox) -> Ended {
        let (tell, ended) = channel();
        thread::spawn(move || drop(tell.send(self.child.wait())));
        let status = ended.recv_timeout(PATIENCE);
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let Ok(status) = status else {
            let living = sandbox.processes();
            sandbox.kill_all();
            panic!("piton has not ended: {text}\n{living:#?}");
        };
        Ended { status: status.expect("a child to wait for"), text }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid, signal);
    }
}

fn kill(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may have ended by itself.
        let _ = kill_process(pid, signal);
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if thread::panicking() {
            let kept = self.dir.take().map(TempDir::keep);
            #[expect(clippy::print_stderr, reason = "whoever reads the failure wants to look inside")]
            if let Some(kept) = kept {
                eprintln!("kept: {}", kept.display());
            }
        }
        self.kill_all();
    }
}

/// What every agent does first: say that it runs, and wait at the gate if there is one for it.
///
/// `hold/TASK.N` is a gate for the N-th run of the task: a FIFO that it waits at once it has said so in
/// `hold/here`, another one. The gate goes first, so that no script waits there twice.
const BEGAN: &str = r#"
echo "$PITON_TASK $PITON_ATTEMPT $PITON_JOB" >> ROOT/began.txt
run=$(grep -c "^$PITON_TASK " ROOT/began.txt)
if mv "ROOT/hold/$PITON_TASK.$run" "ROOT/hold/$PITON_TASK.$run.held" 2>/dev/null; then
    echo "$PITON_TASK.$run" > ROOT/hold/here
    read go < "ROOT/hold/$PITON_TASK.$run.held"
fi
exit 0
"#;
