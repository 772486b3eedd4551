//! Starting git: a hardened environment, no terminal, no hooks, typed failures.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;

use super::error::GitError;
use crate::environment;
use crate::lock::Lock;

/// `merge-tree --write-tree` came with 2.38; the rest of what we use is older.
pub const NEEDED: Version = Version(2, 38);
/// `--attr-source` came with 2.41.
const ATTR_SOURCE: Version = Version(2, 41);

/// Settings that must not depend on the user. Line endings, filters, merge drivers and ignore rules stay the user's: a
/// tree must mean the same to them and to Piton.
const PINNED: &[&str] = &[
    // Hooks may reject, rewrite or wait; the checks of the plan are what guards a landing.
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    // A journal that says "landed" must not outlive the objects and the ref.
    "core.fsync=committed,reference",
    "core.fsyncMethod=fsync",
    // Piton must not start a garbage collection while agents run.
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "commit.gpgSign=false",
    "merge.verifySignatures=false",
    "merge.renames=true",
    "rerere.enabled=false",
    "core.quotePath=false",
    // Programs read differences: these two have no option of `git diff`.
    "diff.suppressBlankEmpty=false",
    "core.abbrev=auto",
    // `true` would reject an agent's file because of its line ends.
    "core.safecrlf=false",
    // A shared index base would land in the repository for every temporary index.
    "core.splitIndex=false",
    "i18n.commitEncoding=UTF-8",
    "advice.detachedHead=false",
    "advice.addEmbeddedRepo=false",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// A git program and the folder it is to work in. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    program: Arc<Program>,
    dir: Utf8PathBuf,
    guard: Option<Arc<Lock>>,
    /// Where the repository is, if git is not to find that out from `dir`.
    place: Option<Arc<Place>>,
    /// Where objects are written to, if not to the repository.
    objects: Option<Arc<Utf8PathBuf>>,
}

/// Where the repository is, given to git so that it does not follow files in a checkout.
#[derive(Debug)]
struct Place {
    git_dir: Utf8PathBuf,
    common: Utf8PathBuf,
    index: Utf8PathBuf,
}

#[derive(Debug)]
struct Program {
    name: String,
    env: Vec<(OsString, OsString)>,
    version: OnceLock<Version>,
    writers: Writers,
}

/// Commands that may be run again at once if they are killed: they take no locks, and leave nothing but objects.
const HARMLESS: [&str; 20] = [
    "cat-file",
    "check-ignore",
    "commit-tree",
    "diff",
    "diff-tree",
    "for-each-ref",
    "hash-object",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "merge-tree",
    "mktree",
    "rev-list",
    "rev-parse",
    "show",
    "status",
    "symbolic-ref",
    "var",
    "version",
];
/// How often such a command is run at most.
const AGAIN: usize = 3;

impl Git {
    pub fn new(dir: &Utf8Path) -> Git {
        Git::with_env(dir, &[])
    }

    /// With additional variables, which take precedence over those set here; tests set their own home.
    pub fn with_env(dir: &Utf8Path, env: &[(&str, &str)]) -> Git {
        let env = env.iter().map(|(key, value)| (key.into(), value.into())).collect();
        let program =
            Program { name: "git".to_owned(), env, version: OnceLock::new(), writers: Writers::default() };
        Git { program: Arc::new(program), dir: dir.to_owned(), guard: None, place: None, objects: None }
    }

    pub fn at(&self, dir: &Utf8Path) -> Git {
        Git { dir: dir.to_owned(), place: None, ..self.clone() }
    }

    /// In a checkout, with the git directory, the common directory and the index that are named here. A `.git`,
    /// `commondir` or `core.worktree` in the repository does not count.
    pub(super) fn in_place(
        &self,
        checkout: &Utf8Path,
        git_dir: &Utf8Path,
        common: &Utf8Path,
        index: &Utf8Path,
    ) -> Git {
        let place = Place { git_dir: git_dir.to_owned(), common: common.to_owned(), index: index.to_owned() };
        Git { dir: checkout.to_owned(), place: Some(Arc::new(place)), ..self.clone() }
    }

    /// The same, with objects written to this folder, which names the others as its alternates.
    pub(super) fn writing_objects_to(&self, folder: &Utf8Path) -> Git {
        Git { objects: Some(Arc::new(folder.to_owned())), ..self.clone() }
    }

    /// Every child holds `guard` open as the standard stream that it does not need. A git process that outlives a
    /// killed engine keeps the lock, so the next holder waits for that process.
    pub fn guarded_by(&self, guard: Arc<Lock>) -> Git {
        Git { guard: Some(guard), ..self.clone() }
    }

    /// What its children hold open, for other programs that are to do the same.
    pub fn guarded(&self) -> Option<&Arc<Lock>> {
        self.guard.as_ref()
    }

    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// Whether a git process of ours was killed, and what it left may still be there.
    pub(super) fn has_lost_one(&self) -> bool {
        self.program.writers.lost.load(Ordering::SeqCst)
    }

    pub(super) fn forget_lost(&self) {
        self.program.writers.lost.store(false, Ordering::SeqCst);
    }

    pub(super) fn lose_one(&self) {
        self.program.writers.lost.store(true, Ordering::SeqCst);
    }

    /// Run `act` while no git process that this program started changes anything. `None`: they did not end in time.
    pub(super) fn alone<T>(&self, act: impl FnOnce() -> T) -> Option<T> {
        self.program.writers.pause().map(|_paused| act())
    }

    /// Held while a git process of ours may change something.
    pub(super) fn writing(&self) -> Writing<'_> {
        self.program.writers.enter()
    }

    fn guard(&self) -> Result<Stdio, GitError> {
        Ok(match &self.guard {
            Some(lock) => Stdio::from(lock.share().map_err(GitError::io(lock.path()))?),
            None => Stdio::null(),
        })
    }

    /// The version of git, or why it will not do.
    pub fn version(&self) -> Result<Version, GitError> {
        if let Some(version) = self.program.version.get() {
            return Ok(*version);
        }
        let answer = self.call(["version"]).line()?;
        let found = parse_version(&answer)
            .ok_or_else(|| GitError::Unexpected { args: "version".to_owned(), answer: answer.clone() })?;
        if found < NEEDED {
            return Err(GitError::TooOld { found, need: NEEDED });
        }
        Ok(*self.program.version.get_or_init(|| found))
    }

    pub(super) fn has_attr_source(&self) -> Result<bool, GitError> {
        Ok(self.version()? >= ATTR_SOURCE)
    }

    pub(super) fn call<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Call<'_> {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        Call { git: self, args, global: Vec::new(), env: Vec::new(), input: None, fed: None, into: None }
    }
}

/// Send something away, by `git push` or `gh`, as the person would do it: with their settings, hooks and credentials,
/// and with the program's output shown to them.
pub fn send(program: &str, args: &[&str], dir: &Utf8Path) -> io::Result<ExitStatus> {
    Command::new(program).args(args).current_dir(dir).stdin(Stdio::null()).status()
}

pub(super) fn parse_version(answer: &str) -> Option<Version> {
    // Vendors append: "git version 2.39.2 (Apple Git-143)", "git version 2.45.1.windows.1".
    let mut parts = answer.strip_prefix("git version ")?.split(['.', ' ', '-']);
    Some(Version(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// One git command in the making.
pub(super) struct Call<'a> {
    git: &'a Git,
    args: Vec<OsString>,
    global: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    input: Option<String>,
    fed: Option<File>,
    into: Option<File>,
}

/// What a command printed, whatever its exit status.
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
    args: String,
    status: String,
}

impl Call<'_> {
    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(super) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.into(), value.as_ref().to_owned()));
        self
    }

    /// An option before the command's name.
    pub(super) fn global(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.global.push(arg.as_ref().to_owned());
        self
    }

    /// What it reads from its standard input. Such a command must print nothing: see [`Call::command`].
    pub(super) fn input(mut self, text: String) -> Self {
        self.input = Some(text);
        self
    }

    /// It reads this file from its beginning as its standard input, and may print. It holds no guard.
    pub(super) fn fed_by(mut self, file: File) -> Self {
        self.fed = Some(file);
        self
    }

    /// What it prints goes to a file, in place of the answer.
    pub(super) fn into_file(mut self, file: File) -> Self {
        self.into = Some(file);
        self
    }

    /// Run it; any exit status is an answer.
    pub(super) fn answer(self) -> Result<Answer, GitError> {
        self.answer_while(|| ())
    }

    fn answer_while(self, meanwhile: impl FnOnce()) -> Result<Answer, GitError> {
        let shown = self.shown();
        let output = if self.is_harmless() {
            let mut output = self.output(meanwhile)?;
            for _ in 1..AGAIN {
                if output.status.code().is_some() {
                    break;
                }
                output = self.output(|| ())?;
            }
            output
        } else {
            let _writing = self.git.writing();
            let output = self.output(meanwhile)?;
            if output.status.code().is_none() {
                self.git.lose_one();
            }
            output
        };
        let status = output.status.to_string();
        if output.status.code().is_none() {
            return Err(GitError::Killed { args: shown, status });
        }
        Ok(Answer {
            code: output.status.code(),
            status,
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).trim_end().to_owned(),
            args: shown,
        })
    }

    fn is_harmless(&self) -> bool {
        let mut words = self.args.iter().filter_map(|word| word.to_str());
        match words.next() {
            Some("worktree") => words.next() == Some("list"),
            Some(command) => HARMLESS.contains(&command),
            None => false,
        }
    }

    /// Run it; anything but success is an error. Returns what it printed.
    pub(super) fn bytes(self) -> Result<Vec<u8>, GitError> {
        let answer = self.answer()?;
        if answer.code == Some(0) { Ok(answer.stdout) } else { Err(answer.failed()) }
    }

    pub(super) fn run(self) -> Result<(), GitError> {
        self.bytes().map(drop)
    }

    /// The same, and call `meanwhile` while it runs.
    pub(super) fn run_while(self, meanwhile: impl FnOnce()) -> Result<(), GitError> {
        let answer = self.answer_while(meanwhile)?;
        if answer.code == Some(0) { Ok(()) } else { Err(answer.failed()) }
    }

    pub(super) fn line(self) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.bytes()?).trim_end_matches('\n').to_owned())
    }

    pub(super) fn oid(self) -> Result<Oid, GitError> {
        let args = self.shown();
        let line = self.line()?;
        oid(&line).ok_or(GitError::Unexpected { args, answer: line })
    }

    /// A question: exit status 0 is yes, 1 is no.
    pub(super) fn yes(self) -> Result<bool, GitError> {
        let answer = self.answer()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(answer.failed()),
        }
    }

    fn output(&self, meanwhile: impl FnOnce()) -> Result<Output, GitError> {
        let mut command = self.command()?;
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(|source| self.cannot_start(source))?;
        if let (Some(text), Some(mut input)) = (&self.input, child.stdin.take()) {
            // A command that does not read its input says why when it ends.
            let _ = input.write_all(text.as_bytes());
        }
        meanwhile();
        child.wait_with_output().map_err(GitError::io(self.git.dir.clone()))
    }

    /// The first bytes that it prints, and whether there are more. It is ended where more are not wanted. Only for commands
    /// that may be run again.
    pub(super) fn first_bytes(self, most: usize) -> Result<(Vec<u8>, bool), GitError> {
        debug_assert!(self.is_harmless());
        let mut answer = self.first_of_output(most)?;
        for _ in 1..AGAIN {
            if answer.code.is_some() || answer.stdout.len() > most {
                break;
            }
            answer = self.first_of_output(most)?;
        }
        let Answer { code, mut stdout, .. } = answer;
        if stdout.len() > most {
            stdout.truncate(most);
            return Ok((stdout, true));
        }
        match code {
            Some(0) => Ok((stdout, false)),
            Some(_) => Err(Answer { stdout, ..answer }.failed()),
            None => Err(GitError::Killed { args: answer.args, status: answer.status }),
        }
    }

    /// One byte more than is wanted says that there is more.
    fn first_of_output(&self, most: usize) -> Result<Answer, GitError> {
        let mut command = self.command()?;
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(|source| self.cannot_start(source))?;
        let (output, mut errors) = (child.stdout.take(), child.stderr.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let read = std::thread::scope(|scope| {
            // Meanwhile, or git could wait for us to read them.
            scope.spawn(|| errors.as_mut().map(|errors| errors.read_to_end(&mut stderr)));
            let wanted = most.saturating_add(1) as u64;
            let read = output.map_or(Ok(0), |output| output.take(wanted).read_to_end(&mut stdout));
            if read.is_err() || stdout.len() > most {
                // It may have ended already.
                let _ = child.kill();
            }
            read
        });
        let status = child.wait().and_then(|status| read.map(|_| status));
        let status = status.map_err(GitError::io(self.git.dir.clone()))?;
        Ok(Answer {
            code: status.code(),
            stdout,
            stderr: String::from_utf8_lossy(&stderr).trim_end().to_owned(),
            args: self.shown(),
            status: status.to_string(),
        })
    }

    fn shown(&self) -> String {
        self.args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Start it as a process that answers questions: it lives as long as its standard input stays open. The guard takes
    /// the place of stderr.
    pub(super) fn converse(self) -> Result<(Child, ChildStdin, ChildStdout), GitError> {
        let mut command = self.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(self.git.guard()?);
        let mut child = command.spawn().map_err(|source| self.cannot_start(source))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok((child, input, output)),
            _ => Err(self.cannot_start(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn command(&self) -> Result<Command, GitError> {
        let git = self.git;
        let mut command = Command::new(&git.program.name);
        // A hook or another tool may have started us with GIT_DIR, GIT_INDEX_FILE and the like.
        for (key, _) in std::env::vars_os() {
            if key.to_string_lossy().starts_with("GIT_") {
                command.env_remove(key);
            }
        }
        for name in environment::of_journal() {
            command.env_remove(name);
        }
        // Piton handles Ctrl-C: it must not cut off a git command halfway.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
            .current_dir(&git.dir)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_EDITOR", "true")
            .env("GIT_SEQUENCE_EDITOR", "true")
            .env("GIT_PAGER", "cat")
            .envs(git.program.env.iter().map(|(key, value)| (key, value)));
        if let Some(place) = &git.place {
            command
                .env("GIT_DIR", &place.git_dir)
                .env("GIT_COMMON_DIR", &place.common)
                .env("GIT_WORK_TREE", &git.dir)
                .env("GIT_INDEX_FILE", &place.index)
                // Where the repository is bare and has only worktrees, its settings say so.
                .args(["-c", "core.bare=false"]);
        }
        if let Some(objects) = &git.objects {
            command.env("GIT_OBJECT_DIRECTORY", objects.as_str());
        }
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        for setting in PINNED {
            command.args(["-c", setting]);
        }
        let guard = git.guard()?;
        command.args(&self.global).args(&self.args);
        // The guard takes the stream that is not needed.
        match (&self.fed, &self.input) {
            (Some(file), _) => command.stdin(self.share(file)?).stdout(Stdio::piped()),
            (None, Some(_)) => command.stdin(Stdio::piped()).stdout(guard),
            (None, None) => command.stdin(guard).stdout(Stdio::piped()),
        };
        if let Some(file) = &self.into {
            command.stdout(self.share(file)?);
        }
        Ok(command)
    }

    fn share(&self, file: &File) -> Result<Stdio, GitError> {
        let shared = file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
        shared.map(Stdio::from).map_err(GitError::io(&self.git.dir))
    }

    fn cannot_start(&self, source: io::Error) -> GitError {
        // A missing folder gives the same error as a missing program.
        if source.kind() == io::ErrorKind::NotFound && self.git.dir.is_dir() {
            GitError::Missing { program: self.git.program.name.clone(), need: NEEDED }
        } else {
            GitError::Io { path: self.git.dir.clone(), source }
        }
    }
}

/// Our own git processes that change something. A thread that clears up after a killed one waits for the others.
#[derive(Debug, Default)]
struct Writers {
    busy: Mutex<Busy>,
    changed: Condvar,
    /// One was killed, and what it left may still be there.
    lost: AtomicBool,
}

#[derive(Debug, Default)]
struct Busy {
    writing: usize,
    /// How many threads wait until none is left, or have reached that and work alone.
    pausing: usize,
    paused: bool,
}

/// How long a thread waits for the others. Some write the files of a large project.
const PATIENCE: Duration = Duration::from_secs(60);

thread_local! {
    /// How many of them this thread itself has under way: what it starts meanwhile must not wait for itself.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

#[derive(Debug)]
pub(super) struct Writing<'a>(&'a Writers);

#[derive(Debug)]
struct Paused<'a>(&'a Writers);

impl Writers {
    fn enter(&self) -> Writing<'_> {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let nested = OWN.get() > 0;
        let held_up = |busy: &mut Busy| busy.pausing > 0 && !nested;
        let mut busy = self.changed.wait_while(busy, held_up).unwrap_or_else(PoisonError::into_inner);
        busy.writing += 1;
        OWN.set(OWN.get() + 1);
        Writing(self)
    }

    fn pause(&self) -> Option<Paused<'_>> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.pausing += 1;
        let not_yet = |busy: &mut Busy| busy.writing > 0 || busy.paused;
        let (mut busy, timeout) =
            self.changed.wait_timeout_while(busy, PATIENCE, not_yet).unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            busy.pausing -= 1;
            drop(busy);
            self.changed.notify_all();
            return None;
        }
        busy.paused = true;
        Some(Paused(self))
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        OWN.set(OWN.get().saturating_sub(1));
        self.0.busy.lock().unwrap_or_else(PoisonError::into_inner).writing -= 1;
        self.0.changed.notify_all();
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let mut busy = self.0.busy.lock().unwrap_or_else(PoisonError::into_inner);
        (busy.paused, busy.pausing) = (false, busy.pausing - 1);
        drop(busy);
        self.0.changed.notify_all();
    }
}

impl Answer {
    pub(super) fn failed(self) -> GitError {
        GitError::Failed { args: self.args, status: self.status, stderr: self.stderr }
    }

    pub(super) fn unexpected(&self) -> GitError {
        let answer = String::from_utf8_lossy(&self.stdout).into_owned();
        GitError::Unexpected { args: self.args.clone(), answer }
    }
}

pub(super) fn oid(text: &str) -> Option<Oid> {
    Oid::new(text).ok()
}

/// The fields of a NUL-terminated list.
pub(super) fn fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.strip_suffix(b"\0").unwrap_or(bytes).split(|byte| *byte == 0).filter(|_| !bytes.is_empty())
}

pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file name as git has it: bytes, which need not be UTF-8.
#[cfg(unix)]
pub(super) fn os(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
pub(super) fn os(bytes: &[u8]) -> OsString {
    lossy(bytes).into()
}

/// Paths in portions that fit a command line everywhere.
pub(super) fn portions<T: AsRef<OsStr>>(paths: &[T]) -> impl Iterator<Item = &[T]> {
    const ROOM: usize = 24_000;
    let mut rest = paths;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut size = 0;
        let fit = rest.iter().take_while(|path| {
            size += path.as_ref().len() + 1;
            size <= ROOM
        });
        let (portion, left) = rest.split_at(fit.count().max(1));
        rest = left;
        Some(portion)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_vendors() {
        for (answer, version) in [
            ("git version 2.47.3", Some(Version(2, 47))),
            ("git version 2.39.2 (Apple Git-143)", Some(Version(2, 39))),
            ("git version 2.45.1.windows.1", Some(Version(2, 45))),
            ("git version 2.51-rc1", Some(Version(2, 51))),
            ("hub version 1", None),
        ] {
            assert_eq!(parse_version(answer), version, "{answer}");
        }
    }

    #[test]
    fn portions_keep_everything_in_order() {
        let paths: Vec<String> = (0..9_000).map(|n| format!("a/rather/long/path/{n}")).collect();
        let joined: Vec<String> = portions(&paths).flatten().cloned().collect();
        assert_eq!(joined, paths);
    }
}
