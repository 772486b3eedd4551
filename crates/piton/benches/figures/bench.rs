//! What all measurements share: a scratch repository, a clock, and how a figure is printed.

use std::fmt;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) const PITON: &str = env!("CARGO_BIN_EXE_piton");

/// One measurement, its floor, and what was promised.
pub(crate) struct Figure {
    pub what: String,
    pub measured: String,
    pub floor: String,
    /// The measurement against its floor.
    pub against: String,
    pub most: String,
}

impl Figure {
    pub(crate) fn row(&self) -> String {
        let Figure { what, measured, floor, against, most } = self;
        format!("| {what} | {measured} | {floor} | {against} | {most} |\n")
    }

    /// Compared with the floor as a multiple of it.
    pub(crate) fn times(what: impl Into<String>, measured: Duration, floor: Duration, most: &str) -> Figure {
        let ratio = measured.as_secs_f64() / floor.as_secs_f64();
        let against = format!("{ratio:.2} ×");
        Figure { what: what.into(), measured: show(measured), floor: show(floor), against, most: most.into() }
    }

    /// Compared with the floor as the time over it.
    pub(crate) fn over(what: impl Into<String>, measured: Duration, floor: Duration, most: &str) -> Figure {
        let over = (measured.as_secs_f64() - floor.as_secs_f64()) * 1000.0;
        let against = format!("{over:+.1} ms");
        Figure { what: what.into(), measured: show(measured), floor: show(floor), against, most: most.into() }
    }

    pub(crate) fn plain(what: impl Into<String>, measured: impl Into<String>, most: &str) -> Figure {
        let none = || "–".to_owned();
        let (what, measured) = (what.into(), measured.into());
        Figure { what, measured, floor: none(), against: none(), most: most.into() }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figure { what, measured, floor, against, most } = self;
        write!(f, "{what}: {measured} (floor {floor}, {against}; at most {most})")
    }
}

pub(crate) fn show(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    match ms {
        1000.0.. => format!("{:.2} s", ms / 1000.0),
        10.0.. => format!("{ms:.0} ms"),
        1.0.. => format!("{ms:.1} ms"),
        _ => format!("{:.0} µs", ms * 1000.0),
    }
}

pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed(), done)
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A folder on the disk of temporary files, or where `PITON_BENCH_DIR` says. Not below a repository: Piton makes
/// no worktrees inside another repository.
pub(crate) fn folder() -> (TempDir, Utf8PathBuf) {
    let place = std::env::var_os("PITON_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let temp = tempfile::tempdir_in(place).unwrap();
    let path = Utf8PathBuf::from_path_buf(temp.path().canonicalize().unwrap()).unwrap();
    (temp, path)
}

/// A repository with a plan, and a home of its own around it.
pub(crate) struct Project {
    _temp: TempDir,
    pub root: Utf8PathBuf,
    pub repo: Utf8PathBuf,
}

impl Project {
    /// `files`: how many the repository holds beside the plan.
    pub(crate) fn new(plan: &str, files: usize) -> Project {
        let (_temp, root) = folder();
        let project = Project { repo: root.join("p"), root, _temp };
        fs::create_dir(&project.repo).unwrap();
        // Where agents may write beside their worktree.
        fs::create_dir(project.root.join(".cache")).unwrap();
        let config = "[user]\nname = Ann\nemail = ann@example.org\n[init]\ndefaultBranch = main\n\
                      [gc]\nauto = 0\n[maintenance]\nauto = false\n[advice]\ndetachedHead = false\n\
                      [core]\nfsync = committed,reference\nfsyncMethod = fsync\n";
        fs::write(project.root.join(".gitconfig"), config).unwrap();
        for n in 0..files {
            let folder = project.repo.join(format!("src/{}/{}", n % 20, n / 20 % 50));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{n}.txt")), format!("line of {n}\n").repeat(20)).unwrap();
        }
        fs::write(project.repo.join("plan.toml"), plan).unwrap();
        for args in ["init -q", "add -A", "commit -q -m Begin"] {
            project.git(&project.repo, &args.split(' ').collect::<Vec<_>>());
        }
        project
    }

    pub(crate) fn command(&self, program: &str, dir: &Utf8Path) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", &self.root).current_dir(dir);
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn git(&self, dir: &Utf8Path, args: &[&str]) -> String {
        let output = self.command(&git_program(), dir).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// A command of Piton's, which has to succeed.
    pub(crate) fn piton(&self, line: &str) -> String {
        let output = self.command(PITON, &self.repo).args(line.split(' ')).output().unwrap();
        assert!(output.status.success(), "piton {line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A plan of so many tasks without checks, whose agent is a shell command. `each` adds lines to a task. Where git is.
/// To look for it in another `PATH` this process would be copied first, which takes longer than a git process does.
fn git_program() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|file| file.is_file());
    found.map_or_else(|| "git".to_owned(), |file| file.to_string_lossy().into_owned())
}

/// Agents write down in `~/.cache` when they began.
pub(crate) const OWN_PLACE: &str = "[sandbox]\nwritable = [\"~/.cache\"]\n";

pub(crate) fn plan(tasks: usize, parallel: usize, agent: &str, each: impl Fn(usize) -> String) -> String {
    let mut text = format!(
        "name = \"bench\"\n[agents.default]\ncommand = [\"sh\", \"-c\", '{agent}']\n\
         [policy]\nmax_parallel = {parallel}\n{OWN_PLACE}"
    );
    for n in 1..=tasks {
        let more = each(n);
        let checks = if more.contains("checks =") { "" } else { "checks = []\n" };
        text += &format!(
            "[[task]]\nid = \"T{n}\"\ntitle = \"Write the file of {n}\"\nprompt = \"Write it.\"\n{checks}{more}"
        );
    }
    text
}

/// A database with one table, written to as durably as the journal is.
pub(crate) struct Raw(Connection);

impl Raw {
    pub(crate) fn open(folder: &Utf8Path) -> Raw {
        let db = Connection::open(folder.join("raw.db")).unwrap();
        db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE raw (id INTEGER PRIMARY KEY, bytes TEXT NOT NULL);",
        )
        .unwrap();
        Raw(db)
    }

    /// One commit of these bytes.
    pub(crate) fn commit(&self, bytes: &str) -> Duration {
        let insert = || {
            let mut statement = self.0.prepare_cached("INSERT INTO raw (bytes) VALUES (?1)").unwrap();
            self.0.execute_batch("BEGIN IMMEDIATE").unwrap();
            statement.execute([bytes]).unwrap();
            self.0.execute_batch("COMMIT").unwrap();
        };
        timed(insert).0
    }
}
