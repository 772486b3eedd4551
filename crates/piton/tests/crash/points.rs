//! Every change of the disk as a place to die at.
//!
//! Processes interleave differently each time, so a point is not the n-th change of a run. It is the n-th of
//! its kind: by the same sort of process, with the same call, on the same sort of path.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, OnceLock};

use camino::Utf8Path;
use piton_testkit::trace::{Answer, Calls, Point, Who};

use crate::kept;
use crate::person::Person;
use crate::reference::{self, Form, TASKS};
use crate::sandbox::{Ended, Sandbox};

/// Which processes are killed when a point is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Keepers, agents and the git in question live on.
    Engine,
    Everything,
    /// The git process at the point, while its engine lives on.
    Alone,
}

impl Mode {
    /// Which processes can be killed at points of a kind. `PITON_CRASH_WHO` leaves one of them.
    pub(crate) fn at(kind: &str) -> Vec<Mode> {
        let wished = std::env::var("PITON_CRASH_WHO").ok();
        let mut modes = vec![Mode::Engine, Mode::Everything];
        modes.extend(kind.starts_with("git ").then_some(Mode::Alone));
        modes.retain(|mode| match wished.as_deref() {
            None => true,
            Some("engine") => *mode == Mode::Engine,
            Some("everything") => *mode == Mode::Everything,
            Some("alone") => *mode == Mode::Alone,
            Some(other) => panic!("PITON_CRASH_WHO is engine, everything or alone, not {other}"),
        });
        modes
    }
}

/// The kinds that a crash-free run passes, and how often.
pub(crate) fn crash_free(form: Form) -> &'static BTreeMap<String, usize> {
    static RUNS: [OnceLock<BTreeMap<String, usize>>; 6] = [const { OnceLock::new() }; 6];
    RUNS[form as usize].get_or_init(|| {
        let sandbox = form.sandbox();
        let (ended, passes) = passes(&sandbox, &["run", sandbox.plan]);
        reference::End::of(&sandbox, &ended).assert_right(&ended);
        passes
    })
}

/// The kinds that a command passes, and how often.
pub(crate) fn passes(sandbox: &Sandbox, args: &[&str]) -> (Ended, BTreeMap<String, usize>) {
    let passes = Arc::new(Mutex::new(BTreeMap::new()));
    let (counts, root) = (Arc::clone(&passes), sandbox.root.clone());
    let (ended, traced) = sandbox.watched(args, Calls::default(), move |point| {
        if let Some(kind) = kind(point, &root) {
            *counts.lock().expect("counts").entry(kind).or_insert(0) += 1;
        }
        Answer::Go
    });
    traced.all_end();
    (ended, Arc::into_inner(passes).expect("the tracer is gone").into_inner().expect("counts"))
}

/// When a run is to be killed.
#[derive(Debug, Clone, Hash)]
pub(crate) enum Place {
    /// At the n-th point of a kind.
    Kind(String, usize),
    /// At the n-th point, of whatever kind.
    Any(usize),
}

impl Place {
    /// Whether a point of this kind counts, and which of those it is.
    pub(crate) fn counts(&self, kind: &str) -> (bool, usize) {
        match self {
            Place::Kind(wanted, nth) => (kind == wanted, *nth),
            Place::Any(nth) => (true, *nth),
        }
    }
}

/// `piton run` that is killed there, and whether it got there. With everything killed, nothing lives any
/// more; otherwise what outlives the engine goes on.
pub(crate) fn run_to(sandbox: &Sandbox, place: &Place, mode: Mode) -> (Ended, bool) {
    killed_at(sandbox, &["run", sandbox.plan], place, mode)
}

/// The same for any command.
pub(crate) fn killed_at(sandbox: &Sandbox, args: &[&str], place: &Place, mode: Mode) -> (Ended, bool) {
    let reached = Arc::new(Mutex::new(false));
    let (there, root, place) = (Arc::clone(&reached), sandbox.root.clone(), place.clone());
    let mut passed = 0;
    let mut person = Person::of(sandbox).map(|person| person.comes_at(&place));
    let (ended, traced) = sandbox.watched(args, Calls::default(), move |point| {
        let mut reached = there.lock().expect("a flag");
        let Some(kind) = kind(point, &root) else { return Answer::Go };
        if let Some(person) = &mut person {
            person.sees_a_point();
        }
        if *reached {
            return Answer::Go;
        }
        let (counts, nth) = place.counts(&kind);
        passed += usize::from(counts);
        *reached = counts && passed == nth;
        match mode {
            _ if !*reached => Answer::Go,
            Mode::Engine => Answer::Kill(point.root),
            Mode::Everything => Answer::KillAll,
            Mode::Alone => Answer::Kill(point.pid),
        }
    });
    let reached = *reached.lock().expect("a flag");
    if reached && mode != Mode::Engine {
        traced.all_end();
    }
    (ended, reached)
}

/// The kind of a point. `None`: it is an agent's or a check's, or changes nothing.
pub(crate) fn kind(point: &Point, root: &Utf8Path) -> Option<String> {
    if matches!(point.who, Who::Job | Who::Other(_)) || !changes(point) {
        return None;
    }
    let paths: Vec<String> = point.paths.iter().map(|path| sort_of(path, root)).collect();
    Some(format!("{} {} {}", point.who, point.call, paths.join(" ")))
}

/// Git takes away much that is not there, and folders are made to be sure.
fn changes(point: &Point) -> bool {
    let there = || point.paths.first().is_some_and(|path| fs::symlink_metadata(path).is_ok());
    match point.call {
        "unlink" | "unlinkat" | "rmdir" | "rename" | "renameat" | "renameat2" | "link" | "linkat" => there(),
        "mkdir" | "mkdirat" => !there(),
        _ => true,
    }
}

/// A path without what differs from run to run and from task to task.
fn sort_of(path: &str, root: &Utf8Path) -> String {
    let Ok(inside) = Utf8Path::new(path).strip_prefix(root) else { return path.to_owned() };
    // These parts of the project are Piton's.
    if let Ok(file) = inside.strip_prefix("p").map_or_else(Err, |path| path.strip_prefix(kept::PLAN)) {
        return Utf8Path::new("p/PLAN")
            .join(sort_of_name(file.as_str()))
            .as_str()
            .trim_end_matches('/')
            .to_owned();
    }
    let parts: Vec<String> = inside.components().map(|part| sort_of_name(part.as_str())).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts[..] {
        ["p", ".git", "objects", _] => "p/.git/objects/XX".to_owned(),
        ["p", ".git", "objects", _, object] => format!("p/.git/objects/XX/{object}"),
        // Whatever the project consists of.
        [".worktrees", "p", worktree, ref rest @ ..] if !rest.is_empty() && rest != [".git"] => {
            format!(".worktrees/p/{worktree}/FILE")
        }
        ["p", first, ..] if first != ".git" => "p/FILE".to_owned(),
        _ => parts.join("/"),
    }
}

fn sort_of_name(name: &str) -> String {
    for temporary in [".piton-", "tmp_obj_", "index-", "output-"] {
        if name.starts_with(temporary) {
            return format!("{temporary}*");
        }
    }
    if name.contains('.') && !name.starts_with('.') {
        let parts: Vec<String> = name.split('.').map(sort_of_name).collect();
        return parts.join(".");
    }
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if name.parse::<u64>().is_ok() {
        return "N".to_owned();
    }
    if name.len() >= 8 && is_hex(name) {
        return "HEX".to_owned();
    }
    // The temporary files of an attempt behind a fence.
    if name.strip_prefix("piton-").is_some_and(|digits| digits.len() >= 8 && is_hex(digits)) {
        return "piton-HEX".to_owned();
    }
    // Which slot a task gets depends on who is done first. Its record has the place of all slots in its name.
    for slot in [".slot-", "-slot-", ".filling-slot-"] {
        if name.strip_prefix(slot).is_some_and(|number| number.parse::<u32>().is_ok()) {
            return format!("{slot}N");
        }
    }
    if let Some((number, place)) = name.split_once('-')
        && number.parse::<u32>().is_ok()
        && is_hex(place)
    {
        return "N-HEX".to_owned();
    }
    // A run is called after its plan, and six digits. A worktree for checks has a number behind that.
    if let Some((before, rest)) = name.split_once("reference-")
        && let Some((digits, number)) = rest.split_at_checked(6)
        && is_hex(digits)
        && (number.is_empty() || number.starts_with('-'))
    {
        let number = if number.is_empty() { "" } else { "-N" };
        return format!("{before}RUN{number}");
    }
    let task = TASKS.iter().find_map(|task| name.strip_suffix(task));
    task.map_or_else(|| name.to_owned(), |before| format!("{before}TASK"))
}
