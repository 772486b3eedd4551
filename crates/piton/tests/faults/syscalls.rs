//! Single system calls that fail: a sync, a write or a rename of the engine, a keeper or a git process.

use std::path::Path;
use std::sync::{Arc, Mutex};

use piton_testkit::cases::{in_parallel, told};
use piton_testkit::sandbox::{Output, Sandbox, task};
use piton_testkit::trace::{Answer, Calls, Point, Who};

use crate::{sandbox, thorough};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
/// A file system with errors becomes read-only under those who have its files open.
const EROFS: i32 = 30;

/// Two tasks whose agents leave a line each time they run.
fn project() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan_with("landing_wait = '0s'", &(task("T1", "") + &task("T2", "depends_on = ['T1']\n")));
    let agent = |id: &str| format!("[{id}]\nrun sh SIDE/ran.sh\nwrite {id}.txt done\n");
    sandbox.script(&(agent("T1") + &agent("T2")));
    let ran = format!("echo $PITON_TASK >> {}/ran\n", sandbox.root());
    sandbox.write(sandbox.root().join("ran.sh"), &ran);
    sandbox
}

/// A run in which one call fails, and every call of that kind that came after it.
struct Failing {
    out: Output,
    failed: Option<Point>,
    after: Vec<Point>,
}

/// Let the N-th call of a kind fail.
fn run_failing(
    sandbox: &Sandbox,
    errno: i32,
    nth: usize,
    meant: impl Fn(&Point) -> bool + Send + 'static,
) -> Failing {
    let seen: Arc<Mutex<Vec<Point>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let calls = Calls { writes: errno != EIO, ..Calls::default() };
    let out = sandbox.traced("run plan.toml", calls, move |point| {
        if point.end.is_some() || !meant(point) {
            return Answer::Go;
        }
        let mut noted = noted.lock().expect("nobody panics in here");
        noted.push(point.clone());
        if noted.len() == nth { Answer::Fail(errno) } else { Answer::Go }
    });
    let mut seen = std::mem::take(&mut *seen.lock().expect("nobody panics in here"));
    let after = seen.split_off(nth.min(seen.len()));
    Failing { out, failed: seen.into_iter().nth(nth - 1), after }
}

/// With each of two error numbers; if a few have to do, with one of them in turn.
fn with_each(errnos: [i32; 2], cases: impl IntoIterator<Item = usize>) -> Vec<(i32, usize)> {
    let both = cases.into_iter().enumerate().flat_map(|(n, case)| errnos.map(|errno| (n, errno, case)));
    both.filter(|(n, errno, _)| thorough() || errnos[n % 2] == *errno)
        .map(|(_, errno, case)| (errno, case))
        .collect()
}

fn is_sync(point: &Point) -> bool {
    ["fsync", "fdatasync"].contains(&point.call)
}

fn is_about(point: &Point, end: &str) -> bool {
    point.paths.iter().any(|path| path.ends_with(end))
}

/// The next run ends well, and every agent ran as often as it should have.
#[track_caller]
fn assert_goes_on(sandbox: &Sandbox, first: &Output, runs: usize) {
    let _ = sandbox.run("run plan.toml").exits(0);
    sandbox.assert_landed_once("main", &["T1", "T2"]);
    let ran = sandbox.read(sandbox.root().join("ran"));
    assert_eq!(ran.lines().count(), runs, "{ran}\n{first}");
    let _ = sandbox.run("doctor").exits(0);
    sandbox.assert_tidy();
}

/// After a failed sync it is unknown what is on the disk, and a second sync says nothing about the first.
#[test]
fn a_sync_of_the_journal_that_fails_ends_the_engine_and_is_not_tried_again() {
    let cases: Vec<usize> = if thorough() { (1..=24).collect() } else { vec![2, 5, 9, 14] };
    in_parallel(&with_each([EIO, EROFS], cases), |(errno, nth)| {
        let sandbox = project();
        let _ = sandbox.run("next --plan plan.toml").exits(0);
        let run = run_failing(&sandbox, *errno, *nth, |point| {
            point.who == Who::Engine && is_sync(point) && is_about(point, "/piton.db-wal")
        });
        assert!(run.failed.is_some() || *nth > 14, "the journal is synced more often than {nth} times");
        if run.failed.is_some() && run.out.code == Some(0) {
            // The very last one, when the log is moved over: every commit in it had been synced by then.
            let _ = run.out.clone().says("every task is completed");
            assert_eq!(run.after.len(), 0, "{:?}", run.after);
        } else if run.failed.is_some() {
            let out = run.out.clone().exits(1).says("[ROOT]/project/.git/piton/piton.db: ");
            let _ = out.says("start again to see whether the last change was saved");
            assert_eq!(run.after.len(), 0, "{:?}", run.after);
        }
        assert_goes_on(&sandbox, &run.out, 2);
    });
}

#[test]
fn a_write_of_the_journal_that_the_disk_refuses_ends_the_engine_with_nothing_lost() {
    let cases: Vec<usize> = if thorough() { (1..=40).collect() } else { vec![1, 8, 21] };
    in_parallel(&with_each([ENOSPC, EROFS], cases), |(errno, nth)| {
        let sandbox = project();
        let _ = sandbox.run("next --plan plan.toml").exits(0);
        let run = run_failing(&sandbox, *errno, *nth, |point| {
            point.who == Who::Engine && point.call.contains("write") && is_about(point, "/piton.db-wal")
        });
        assert!(run.failed.is_some(), "the journal is written more often than {nth} times");
        let _ = run.out.clone().exits(1).says(match *errno {
            ENOSPC => "piton.db: no space left on the disk: nothing was changed",
            _ => "start again to see whether the last change was saved",
        });
        assert_goes_on(&sandbox, &run.out, 2);
    });
}

/// An hour's work hangs on it, so it is tried again: as a new file with a sync of its own. The one whose sync
/// failed is never trusted.
#[test]
fn an_outcome_whose_sync_fails_is_written_anew_and_no_work_is_lost() {
    // The file before it gets its name, and the folder afterwards.
    let calls = [(EIO, true), (EIO, false), (EROFS, true), (EROFS, false)];
    in_parallel(&calls, |(errno, is_file)| {
        let (sandbox, is_file) = (project(), *is_file);
        let run = run_failing(&sandbox, *errno, 1, move |point| {
            let path = point.paths.first().map(String::as_str).unwrap_or_default();
            let meant = path.contains("/T1/1.agent0") && path.contains("/.piton-") == is_file;
            point.who == Who::Keeper && is_sync(point) && meant
        });
        let failed = run.failed.as_ref().expect("both are synced");
        let _ = run.out.clone().exits(0);
        if is_file {
            assert_eq!(run.after.len(), 1, "{:?}", run.after);
            assert!(run.after.iter().all(|point| point.paths != failed.paths), "{failed:?}: {:?}", run.after);
        }
        assert_goes_on(&sandbox, &run.out, 2);
    });
}

/// Git's own files: the call fails, git says so, and the step is done again or waits.
#[test]
fn a_git_that_cannot_sync_is_told_of_and_its_step_is_done_again() {
    let cases: Vec<usize> = if thorough() { (1..=40).collect() } else { vec![1, 3, 6, 10] };
    in_parallel(&with_each([EIO, EROFS], cases), |(errno, nth)| {
        let sandbox = project();
        let run =
            run_failing(&sandbox, *errno, *nth, |point| matches!(point.who, Who::Git(_)) && is_sync(point));
        assert!(matches!(run.out.code, Some(0 | 3)), "{:?}: {}", run.failed, run.out);
        let ran = sandbox.read(sandbox.root().join("ran")).lines().count();
        assert!(ran <= 3, "one fault costs one try at most: {}", run.out);
        let _ = sandbox.run("run plan.toml").exits(0);
        sandbox.assert_landed_once("main", &["T1", "T2"]);
        let _ = sandbox.run("doctor").exits(0);
    });
}

/// What an agent wrote is synced by us. If that fails, the next sync may succeed without the data: a person looks.
#[test]
fn work_that_the_disk_could_not_keep_waits_for_a_person() {
    let cases: Vec<usize> = if thorough() { (1..=16).collect() } else { vec![1, 4, 8, 12] };
    in_parallel(&with_each([EIO, EROFS], cases), |(errno, nth)| {
        let sandbox = project();
        let run = run_failing(&sandbox, *errno, *nth, |point| {
            let ours = point.paths.iter().any(|path| path.contains("/.git/objects/"));
            point.who == Who::Engine && is_sync(point) && ours
        });
        assert!(run.failed.is_some(), "objects are synced more often than {nth} times");
        let out = run.out.clone().exits(4).says("the disk could not save [ROOT]/project/.git/objects/");
        let _ = out.says("run `git fsck` before `piton retry`");
        let blocked =
            if sandbox.run("status T1 --json").stdout.contains("\"blocked\"") { "T1" } else { "T2" };
        let _ = sandbox.run(&format!("retry {blocked}")).exits(0);
        let _ = sandbox.run("run plan.toml").exits(0);
        sandbox.assert_landed_once("main", &["T1", "T2"]);
        sandbox.assert_tidy();
    });
}

/// Its files and commits are all there is of an agent's work, and a second sync says nothing about the first.
#[test]
fn what_an_agent_wrote_and_the_disk_did_not_take_waits_for_a_person() {
    let sandbox = project();
    let run = run_failing(&sandbox, EIO, 1, |point| point.who == Who::Keeper && point.call == "syncfs");
    assert!(run.failed.is_some(), "a keeper syncs what its agent wrote");
    let _ = run.out.exits(4).says("the disk could not save").says("run `git fsck` before `piton retry`");
    let _ = sandbox.run("retry T1").exits(0);
    let _ = sandbox.run("run plan.toml").exits(0);
    sandbox.assert_landed_once("main", &["T1", "T2"]);
}

/// From the N-th change in the project or its worktrees on, every change there fails, until the engine has ended, or a
/// keeper could not write its outcome twice. Returns how many changes were tried.
fn run_becoming_read_only(sandbox: &Sandbox, nth: usize) -> (Output, usize) {
    let places = [sandbox.project().join(""), sandbox.worktrees().join("")];
    let seen: Arc<Mutex<usize>> = Arc::default();
    let (noted, mut refused) = (Arc::clone(&seen), 0);
    let out = sandbox.traced("run plan.toml", Calls { writes: true, creates: true }, move |point| {
        let inside = |path: &String| places.iter().any(|place| path.starts_with(place.as_str()));
        if !point.paths.iter().any(inside) {
            return Answer::Go;
        }
        let mut noted = noted.lock().expect("nobody panics in here");
        *noted += 1;
        let over = refused == 2 || !Path::new(&format!("/proc/{}", point.root)).exists();
        if *noted < nth || over {
            return Answer::Go;
        }
        let half_written = point.paths.iter().any(|path| path.contains("/.piton-"));
        refused += usize::from(point.who == Who::Keeper && half_written);
        Answer::Fail(EROFS)
    });
    let seen = *seen.lock().expect("nobody panics in here");
    (out, seen)
}

#[test]
fn a_project_that_becomes_read_only_at_any_change_is_gone_on_with_once_it_is_not() {
    let (_, changes) = run_becoming_read_only(&project(), usize::MAX);
    let wanted = if thorough() { 200 } else { 6 };
    let cases: Vec<usize> = (0..wanted).map(|n| 1 + n * changes / wanted).collect();
    in_parallel(&cases, |nth| {
        let sandbox = project();
        let (out, _) = run_becoming_read_only(&sandbox, *nth);
        // It may have needed nothing more, or only what a keeper waited for. If the first thing that failed was the
        // sync of what an agent wrote, a person looks.
        match out.code {
            Some(0) => {}
            Some(4) => {
                let _ = out.clone().says("the disk could not save [ROOT]/.worktrees/project/T");
                let blocked = if out.stdout.contains("! T1") { "retry T1" } else { "retry T2" };
                let _ = sandbox.run(blocked).exits(0);
            }
            _ => {
                let _ = out.clone().exits(1).says("error: ").says("[ROOT]/project/.git/piton");
            }
        }
        let _ = sandbox.run("run plan.toml").exits(0);
        sandbox.assert_landed_once("main", &["T1", "T2"]);
        let ran = sandbox.read(sandbox.root().join("ran")).lines().count();
        assert!(ran <= 3, "it costs one try at most: {out}");
        let _ = sandbox.run("doctor").exits(0);
        // Locks could not be taken away, so branches and worktrees may have been kept; but nothing else differs.
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    });
    told(&format!("{} of {changes} changes", cases.len()));
}
