//! A crash leaves all or nothing.

use std::process::Command as Process;

use crate::bench::{Engine, at, blocked, done, on_each_engine, open, run_id};

on_each_engine! {
    a_crash_leaves_all_or_nothing,
}

/// Run as a child by the tests below: writes until its crash point stops it.
#[test]
fn crash_child() {
    let Ok(place) = std::env::var("PITON_TEST_PLACE") else { return };
    let mut journal = open(&place);
    let _ = journal.command(&run_id(), &blocked("a"), at(1));
    unreachable!("the crash point was passed");
}

fn crash_at(place: &str, point: &str) {
    let status = Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "crashes::crash_child"])
        .env("PITON_TEST_PLACE", place)
        .env("PITON_CRASH", point)
        .output()
        .unwrap()
        .status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(6), "it should have aborted");
}

fn a_crash_leaves_all_or_nothing(engine: Engine) {
    for (point, expected) in [("journal.before-commit", 5), ("journal.after-commit", 8)] {
        let (place, journal) = engine.with_small();
        drop(journal);
        crash_at(place.name(), point);
        let mut journal = place.open();
        assert_eq!(journal.load(&run_id()).unwrap().seq(), expected, "{point}");
        assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0], "{point}");
        journal.command(&run_id(), &done("c"), at(2)).unwrap();
    }
}
