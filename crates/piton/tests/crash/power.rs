//! Power cuts: what was never synced is lost, but nothing that Piton has reported.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use camino::Utf8Path;
use piton_testkit::Rng;
use piton_testkit::cases::{in_parallel, told};
use piton_testkit::trace::{Answer, Calls, Point};
use serde_json::Value;

use crate::disk::Disk;
use crate::points::{Mode, Place, crash_free, kind, run_to};
use crate::reference::{self, Form, Killed, TASKS};
use crate::rules::{Target, two_tasks};
use crate::sandbox::Sandbox;
use crate::syscalls::seed;

/// The end of a commit to the journal.
pub(crate) const COMMIT: &str = "engine fdatasync p/.git/piton/piton.db-wal";
/// How many cuts are made by default: what two cores do in some fifteen seconds.
const SAMPLE: usize = 4;

/// `piton run` until the power goes there: at the end of a sync, or when another change is about to be made.
/// `None` if it does not get there.
fn cut_at(sandbox: &Sandbox, place: &Place) -> Option<Disk> {
    let state = Arc::new(Mutex::new((Disk::of(&sandbox.root), false, 0)));
    let (watched, root, place) = (Arc::clone(&state), sandbox.root.clone(), place.clone());
    let (_, traced) = sandbox.watched_run(move |point| {
        let mut state = watched.lock().expect("nobody panics in here");
        let (disk, reached, passed) = &mut *state;
        let answer = disk.see(point);
        if *reached || Disk::is_sync(point) != point.end.is_some() {
            return answer;
        }
        let Some(kind) = kind(point, &root) else { return answer };
        let (counts, nth) = place.counts(&kind);
        *passed += usize::from(counts);
        *reached = counts && *passed == nth;
        if *reached { Answer::KillAll } else { answer }
    });
    let reached = state.lock().expect("nobody panics in here").1;
    if !reached {
        return None;
    }
    traced.all_end();
    let state = Arc::into_inner(state).expect("the tracer is gone").into_inner();
    Some(state.expect("nobody panics in here").0)
}

/// The journal, as far as there is one.
fn journal(sandbox: &Sandbox) -> Vec<Value> {
    let said = sandbox.piton(&["log", "--json", "--plan", sandbox.plan]);
    let lines = said.text.lines().filter(|line| line.starts_with('{') && said.code() == Some(0));
    lines.map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What the journal calls landed is in `main`, down to the last byte.
fn assert_landings_are_there(sandbox: &Sandbox, events: &[Value]) {
    sandbox.read_all("main");
    let history = sandbox.git(&["rev-list", "main"]);
    let landed = events.iter().filter_map(|event| match event["event"].as_str() {
        Some("completed") => Some((event, &event["proof"]["commit"])),
        Some("context_updated") => Some((event, &event["update"]["commit"])),
        _ => None,
    });
    for (event, commit) in landed {
        let commit = commit.as_str().expect("the commit that landed");
        assert!(history.lines().any(|line| line == commit), "{event} is not in main");
    }
}

fn cases(form: Form) -> Vec<Place> {
    let wanted = std::env::var("PITON_CRASH_POWER").unwrap_or_default();
    let passes = crash_free(form);
    if let Some((kind, nth)) = wanted.rsplit_once(" #") {
        return vec![Place::Kind(kind.to_owned(), nth.parse().expect("a number"))];
    }
    let commits = passes[COMMIT];
    let mut dice = Rng::new(seed());
    // Every commit to the journal, and one of every other kind.
    let mut cases: Vec<Place> = (1..=commits).map(|nth| Place::Kind(COMMIT.to_owned(), nth)).collect();
    let others = passes.iter().filter(|(kind, _)| *kind != COMMIT);
    cases.extend(others.map(|(kind, &count)| Place::Kind(kind.clone(), 1 + dice.below(count))));
    if wanted != "all" {
        let wanted = wanted.parse().unwrap_or(SAMPLE);
        // Half of the sample are commits.
        cases = (0..wanted)
            .map(|n| {
                let among = if n % 2 == 0 { 0..commits } else { commits..cases.len() };
                cases[among.start + dice.below(among.len())].clone()
            })
            .collect();
    }
    cases
}

#[test]
fn a_power_cut_loses_nothing_that_was_said_to_be_so() {
    let form = Form::wished();
    assert_survived(form, &cases(form));
}

/// Cut the power at each of these, and see that nothing is lost and all comes to its end.
pub(crate) fn assert_survived(form: Form, cases: &[Place]) {
    let cuts = AtomicUsize::new(0);
    let runs = in_parallel(cases, |place| {
        let Some((sandbox, disk)) = cut(form, place) else { return };
        cuts.fetch_add(1, Ordering::SeqCst);
        let before = journal(&sandbox);
        let lost = disk.lose();
        sandbox.reboot();
        let after = journal(&sandbox);
        assert!(
            before.starts_with(&after),
            "the journal is not a part of what it was: {before:#?} {after:#?}"
        );
        if matches!(place, Place::Kind(kind, _) if kind == COMMIT) {
            assert_eq!(before.len(), after.len(), "a commit was lost that had ended");
        }
        if std::env::var_os("PITON_TEST_TIMES").is_some() {
            told(&format!("{place:?}: lost {lost:#?}"));
        }
        assert_landings_are_there(&sandbox, &after);
        reference::assert_recovers(&sandbox, Killed::Power);
    })
    .len();
    let cuts = cuts.into_inner();
    told(&format!("{cuts} power cuts in {runs} runs"));
    assert!(cuts * 10 >= runs * 9, "only {cuts} of {runs} runs got to their point");
}

/// A reference run whose power went there. Another order of events may have fewer points of a kind: then it goes at an
/// earlier one.
fn cut(form: Form, place: &Place) -> Option<(Sandbox, Disk)> {
    let mut place = place.clone();
    loop {
        let sandbox = form.sandbox();
        if let Some(disk) = cut_at(&sandbox, &place) {
            return Some((sandbox, disk));
        }
        match &mut place {
            Place::Kind(_, nth) if *nth > 1 => *nth -= nth.div_ceil(10),
            _ => return None,
        }
    }
}

#[test]
fn a_command_that_has_answered_is_in_the_journal_after_a_power_cut() {
    let commands: [(&[&str], &str); 3] = [
        (&["start", "T1", "--by", "ada", "--plan", "plan.toml"], "attempt_started"),
        (&["report", "T1", "failed", "--reason", "slippery", "--by", "ada", "--plan", "plan.toml"], "failed"),
        (&["skip", "T2", "--plan", "plan.toml"], "skipped"),
    ];
    let sandbox = two_tasks(Target::CheckedOut);
    for (command, event) in commands {
        // Each begins after a cut of its own, with the journal as the last one left it.
        let disk = Arc::new(Mutex::new(Disk::of(&sandbox.root)));
        let watched = Arc::clone(&disk);
        let see = move |point: &Point| watched.lock().expect("nobody panics in here").see(point);
        let (ended, traced) = sandbox.watched(command, Calls::default(), see);
        ended.expect(0);
        traced.all_end();
        let before = journal(&sandbox);
        disk.lock().expect("nobody panics in here").lose();
        assert_eq!(journal(&sandbox), before, "{command:?}");
        assert!(before.iter().any(|found| found["event"] == event), "{command:?}: {before:#?}");
    }
    sandbox.piton(&["doctor"]).expect(0);
}

/// A column of the journal as it is on the disk of a sandbox that is at work.
pub(crate) fn committed(sandbox: &Utf8Path, query: &str) -> Vec<String> {
    let copy = tempfile::tempdir().expect("a folder");
    for name in ["piton.db", "piton.db-wal"] {
        std::fs::copy(sandbox.join("p/.git/piton").join(name), copy.path().join(name)).expect("a journal");
    }
    let journal = rusqlite::Connection::open(copy.path().join("piton.db")).expect("a database");
    // The first commit makes the tables.
    let Ok(mut query) = journal.prepare(query) else { return Vec::new() };
    let rows = query.query_map([], |row| row.get(0)).expect("a query without parameters");
    rows.map(|row| row.expect("a text")).collect()
}

/// How many tasks the journal calls completed.
fn completed(sandbox: &Utf8Path) -> usize {
    committed(sandbox, "SELECT body FROM events WHERE json_extract(body, '$.event') = 'completed'").len()
}

/// How often the target was moved, how many landings the journal has, and how many it had before the folder of
/// the ref was synced.
#[derive(Default)]
struct Seen {
    moved: usize,
    synced: usize,
    completed: usize,
    too_early: Vec<usize>,
}

/// `piton run`, after so many moves of the target that were not synced.
fn watched_landings(sandbox: &Sandbox, moved: usize) -> Seen {
    let seen = Arc::new(Mutex::new(Seen { moved, ..Seen::default() }));
    let (watched, root) = (Arc::clone(&seen), sandbox.root.clone());
    let (ended, traced) = sandbox.watched_run(move |point| {
        let mut seen = watched.lock().expect("nobody panics in here");
        let kind = kind(point, &root).unwrap_or_default();
        let moves = point.paths.last().is_some_and(|path| path.ends_with("/p/.git/refs/heads/main"));
        match point.end {
            None if moves && point.call.starts_with("rename") => seen.moved += 1,
            // One at a time is landed, so nothing moves while the folder is being synced.
            Some(0) if kind == "engine fsync p/.git/refs/heads" => seen.synced = seen.moved,
            Some(0) if kind == COMMIT => {
                seen.completed = completed(&root);
                if seen.completed > seen.synced {
                    let landing = seen.completed;
                    seen.too_early.push(landing);
                }
            }
            _ => {}
        }
        if Disk::is_sync(point) && point.end.is_none() { Answer::Follow } else { Answer::Go }
    });
    ended.expect(0);
    traced.all_end();
    std::mem::take(&mut *seen.lock().expect("nobody panics in here"))
}

/// A file system that does not keep the order of renames may still have the old ref after the journal says
/// that it moved, unless the folder was synced in between.
#[test]
fn a_landing_is_journaled_after_the_folder_of_the_ref_was_synced() {
    let sandbox = Form::Native.sandbox();
    let plan = sandbox.repo.join("plan.toml");
    let text = std::fs::read_to_string(&plan).expect("a plan");
    // So that a move is one landing, however many of them were proven together.
    std::fs::write(&plan, text.replace("[policy]", "[policy]\nland = \"each\"")).expect("a plan");
    let seen = watched_landings(&sandbox, 0);
    assert_eq!((seen.moved, seen.completed), (TASKS.len(), TASKS.len()), "moves and landings");
    assert!(seen.too_early.is_empty(), "journaled before the ref was safe: {:?}", seen.too_early);
}

/// The process that moved it was killed before that.
#[test]
fn a_landing_that_is_found_made_is_synced_before_it_is_journaled() {
    let sandbox = two_tasks(Target::CheckedOut);
    let sync = Place::Kind("engine fsync p/.git/refs/heads".to_owned(), 1);
    let (_, reached) = run_to(&sandbox, &sync, Mode::Everything);
    assert!(reached && completed(&sandbox.root) == 0, "it was killed between the move and its sync");
    let seen = watched_landings(&sandbox, 1);
    assert_eq!((seen.moved, seen.completed), (2, 2), "moves and landings");
    assert!(seen.too_early.is_empty(), "journaled before the ref was safe: {:?}", seen.too_early);
}
