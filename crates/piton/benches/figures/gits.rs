//! When gits run: this program under git's name, first in the path, starts the real one and writes down how long that took.

use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use camino::Utf8PathBuf;

use crate::bench::{Project, median, timed};

const LOG: &str = ".cache/gits";

/// Nanoseconds since 1970.
pub(crate) fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()
}

/// Be git, if this was started as that, and end like it.
pub(crate) fn be_git() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let name = words.next().map(PathBuf::from).unwrap_or_default();
    if name.file_name().is_none_or(|name| name != "git") {
        return None;
    }
    let start = now();
    let words: Vec<_> = words.collect();
    let mut git = Command::new(real());
    git.args(&words);
    // One that stays and waits for questions is not at work all that time: all of it counts as ours.
    let says = |known: &str| words.iter().any(|word| word.to_string_lossy().starts_with(known));
    if says("--batch") || says("update-ref") && says("--stdin") {
        panic!("git cannot be started: {}", git.exec());
    }
    let status = git.status().unwrap();
    let log = Path::new(&std::env::var_os("HOME").unwrap()).join(LOG);
    // One write, so that two at a time do not mix.
    let line = format!("{start} {}\n", now());
    File::options().create(true).append(true).open(log).unwrap().write_all(line.as_bytes()).unwrap();
    Some(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(128)))
}

/// The first in the path that is not this program.
fn real() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join("git"));
    found.find(|git| git.canonicalize().is_ok_and(|git| git != this)).unwrap()
}

/// Whoever sees the gits of a project.
pub(crate) struct Watch {
    log: Utf8PathBuf,
    /// What a git takes from outside and is not seen: the start of a process, which is now this one.
    unseen: Duration,
}

impl Watch {
    pub(crate) fn beside(project: &Project) -> Watch {
        let bin = project.root.join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(std::env::current_exe().unwrap().canonicalize().unwrap(), bin.join("git")).unwrap();
        let mut watch = Watch { log: project.root.join(LOG), unseen: Duration::ZERO };
        let unseen = |_| {
            let before = watch.seen().len();
            let took = timed(|| project.git(&project.repo, &["version"])).0;
            let seen = watch.seen()[before].clone();
            took.saturating_sub(Duration::from_nanos(u64::try_from(seen.end - seen.start).unwrap()))
        };
        watch.unseen = median((0..21).map(unseen).collect());
        watch
    }

    /// When gits ran, from their start on.
    pub(crate) fn seen(&self) -> Vec<Range<u128>> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let line = |line: &str| {
            let (start, end) = line.split_once(' ')?;
            Some(start.parse::<u128>().ok()? - self.unseen.as_nanos()..end.parse().ok()?)
        };
        text.lines().filter_map(line).collect()
    }
}

/// For how much of this window at least one of them ran.
pub(crate) fn covered(ran: &[Range<u128>], window: &Range<u128>) -> Duration {
    let clip = |ran: &Range<u128>| ran.start.max(window.start)..ran.end.min(window.end);
    let mut ran: Vec<Range<u128>> = ran.iter().map(clip).filter(|ran| !ran.is_empty()).collect();
    ran.sort_by_key(|ran| ran.start);
    let (mut sum, mut until) = (0, window.start);
    for Range { start, end } in ran {
        sum += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    Duration::from_nanos(u64::try_from(sum).unwrap())
}
