//! The tracer, on small shell commands.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use piton_testkit::trace::{self, Answer, Calls, Point, Traced, Who};

const PATIENCE: Duration = Duration::from_secs(60);
const EIO: i32 = 5;

type Watch = Box<dyn FnMut(&Point) -> Answer + Send>;

fn start(folder: &Path, script: &str, watch: impl FnMut(&Point) -> Answer + Send + 'static) -> Traced {
    start_for(Calls::default(), folder, script, watch)
}

fn start_for(
    calls: Calls,
    folder: &Path,
    script: &str,
    watch: impl FnMut(&Point) -> Answer + Send + 'static,
) -> Traced {
    let prepare = |command: &mut std::process::Command| {
        command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    };
    trace::start("/bin/sh", &["-c", script], prepare, calls, watch).expect("a traced shell")
}

/// Run a script to the end of its last process.
fn run(folder: &Path, script: &str, watch: impl FnMut(&Point) -> Answer + Send + 'static) -> ExitStatus {
    let traced = start(folder, script, watch);
    let status = traced.end(PATIENCE).expect("an end");
    traced.all_end();
    status
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A watcher that writes the points down in one line each, and what it has written.
fn list(
    mut answer: impl FnMut(&Point) -> Answer + Send + 'static,
    folder: &Path,
) -> (Arc<Mutex<Vec<String>>>, Watch) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (writes, root) = (Arc::clone(&seen), format!("{}/", folder.display()));
    let watch = move |point: &Point| {
        let paths: Vec<&str> = point.paths.iter().map(|path| path.trim_start_matches(&root)).collect();
        let end = point.end.map_or(String::new(), |end| format!(" = {end}"));
        writes.lock().expect("a list").push(format!("{} {}{end}", point.call, paths.join(" ")));
        answer(point)
    };
    (seen, Box::new(watch))
}

fn lines(seen: &Mutex<Vec<String>>) -> Vec<String> {
    seen.lock().expect("a list").clone()
}

#[test]
fn every_change_of_the_disk_is_a_point_with_its_paths() {
    let folder = folder();
    let (seen, watch) = list(|_| Answer::Go, folder.path());
    let script = "mkdir d && : > a && ln a c && mv a d/b && cd d && sync b && rm b && rmdir ../d; exit 7";
    let status = run(folder.path(), script, watch);
    assert_eq!(status.code(), Some(7));
    let seen = lines(&seen);
    let calls: Vec<String> = seen
        .iter()
        .map(|line| {
            line.replace("renameat2", "rename").replace("unlinkat", "unlink").replace("linkat", "link")
        })
        .collect();
    let mkdir = calls.iter().filter(|line| line.starts_with("mkdir")).count();
    assert_eq!(mkdir, 1, "{calls:?}");
    for line in ["link a c", "rename a d/b", "fsync d/b", "unlink d/b", "rmdir d/../d"] {
        assert_eq!(calls.iter().filter(|found| *found == line).count(), 1, "{line:?} in {calls:?}");
    }
}

#[test]
fn creations_and_writes_are_points_for_who_asks() {
    let folder = folder();
    let (seen, watch) = list(|_| Answer::Go, folder.path());
    let calls = Calls { creates: true, writes: true };
    start_for(calls, folder.path(), "echo hello > new; cat new > copy", watch).all_end();
    let seen = lines(&seen);
    for line in ["openat new", "write new", "openat copy"] {
        assert!(seen.iter().any(|found| found == line), "{line:?} in {seen:?}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("copy")).expect("a file"), "hello\n");
}

#[test]
fn who_makes_a_call_is_told_by_what_it_was_started_as() {
    let folder = folder();
    let who = Arc::new(Mutex::new(Vec::new()));
    let found = Arc::clone(&who);
    let script = "git init -q . && git symbolic-ref HEAD refs/heads/x && mkdir a && PITON_JOB=/j mkdir b";
    run(folder.path(), script, move |point| {
        let mut found = found.lock().expect("a list");
        if found.last() != Some(&point.who) {
            found.push(point.who.clone());
        }
        Answer::Go
    });
    let git = |name: &str| Who::Git(name.to_owned());
    let expected = [git("init"), git("symbolic-ref"), Who::Other("mkdir a".to_owned()), Who::Job];
    assert_eq!(*who.lock().expect("a list"), expected);
}

#[test]
fn the_end_of_a_call_is_shown_to_who_asks() {
    let folder = folder();
    let (seen, watch) =
        list(|point| if point.end.is_none() { Answer::Follow } else { Answer::Go }, folder.path());
    run(folder.path(), "rmdir missing; mkdir made", watch);
    let seen = lines(&seen);
    let enoent = -2;
    for line in ["rmdir missing".to_owned(), format!("rmdir missing = {enoent}"), "mkdir made = 0".to_owned()]
    {
        assert!(seen.contains(&line), "{line:?} in {seen:?}");
    }
}

#[test]
fn a_call_that_is_made_to_fail_does_nothing_and_says_so() {
    let folder = folder();
    let status = run(folder.path(), ": > a; sync a; echo $? > said; rm a", |point| match point.call {
        "fsync" => Answer::Fail(EIO),
        "unlinkat" | "unlink" => Answer::Fail(EIO),
        _ => Answer::Go,
    });
    assert_eq!(status.code(), Some(1), "rm failed");
    assert!(folder.path().join("a").exists());
    assert_eq!(fs::read_to_string(folder.path().join("said")).expect("a file"), "1\n");
}

#[test]
fn who_is_killed_at_a_call_does_not_make_it_and_the_others_go_on() {
    let folder = folder();
    let status = run(folder.path(), "mkdir a; mkdir b; mkdir c", |point| {
        if point.paths[0].ends_with("/b") { Answer::Kill(point.pid) } else { Answer::Go }
    });
    assert_eq!(status.code(), Some(0));
    assert!(folder.path().join("a").exists() && folder.path().join("c").exists());
    assert!(!folder.path().join("b").exists());
}

#[test]
fn what_outlives_the_root_is_traced_to_its_end() {
    let folder = folder();
    let (seen, watch) = list(
        |point| if point.paths[0].ends_with("/a") { Answer::Kill(point.root) } else { Answer::Go },
        folder.path(),
    );
    let traced = start(folder.path(), "(mkdir a; mkdir b; sync b; mv b c) & wait", watch);
    assert_eq!(traced.end(PATIENCE).expect("an end").signal(), Some(9));
    traced.all_end();
    assert!(folder.path().join("a").exists() && folder.path().join("c").exists());
    assert!(lines(&seen).iter().any(|line| line == "fsync b"));
}

#[test]
fn everything_is_killed_at_once() {
    let folder = folder();
    let script = "for n in 1 2 3 4; do (while :; do mkdir $n; rmdir $n; done) & done; mkdir last; mkdir not";
    let status = run(folder.path(), script, |point| {
        if point.paths[0].ends_with("/last") { Answer::KillAll } else { Answer::Go }
    });
    // The end of the last one was waited for: otherwise this would not be reached.
    assert_eq!(status.signal(), Some(9));
    assert!(!folder.path().join("last").exists() && !folder.path().join("not").exists());
}

#[test]
fn while_frozen_nobody_moves_and_afterwards_everybody_does() {
    let folder = folder();
    let others = Arc::new(Mutex::new(Vec::new()));
    let states = Arc::clone(&others);
    // Each of them is a shell that is busy without a call of ours, until it finds the folder.
    let script = "for n in 1 2 3; do (echo > $n; until test -d go; do :; done; mkdir done-$n) & done
        until test -e 1 && test -e 2 && test -e 3; do :; done; mkdir go; wait";
    let status = run(folder.path(), script, move |point| {
        let states = Arc::clone(&states);
        if !point.paths[0].ends_with("/go") {
            return Answer::Go;
        }
        let root = point.root;
        Answer::Freeze(Box::new(move || {
            let children = fs::read_to_string(format!("/proc/{root}/task/{root}/children")).expect("Linux");
            for pid in children.split_whitespace() {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
                let (_, rest) = stat.rsplit_once(") ").expect("a name in brackets");
                states.lock().expect("a list").push(rest.chars().next());
            }
        }))
    });
    assert_eq!(status.code(), Some(0));
    let others = others.lock().expect("a list");
    assert!(others.len() >= 4, "{others:?}");
    assert!(others.iter().all(|state| *state == Some('t')), "{others:?}");
    assert!((1..=3).all(|n| folder.path().join(format!("done-{n}")).exists()));
}
