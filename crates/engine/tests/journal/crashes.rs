//! A crash leaves all or nothing.

use std::process::Command as Process;

use camino::{Utf8Path, Utf8PathBuf};
use piton_engine::journal::Journal;

use crate::bench::{at, blocked, done, run_id, with_small};

/// Run as a child by the tests below: writes until its crash point stops it.
#[test]
fn crash_child() {
    let Some(path) = std::env::var_os("PITON_TEST_FOLDER") else { return };
    let path = Utf8PathBuf::from(path.into_string().unwrap());
    let mut journal = Journal::open(&path).unwrap();
    let _ = journal.command(&run_id(), &blocked("a"), at(1));
    unreachable!("the crash point was passed");
}

fn crash_at(folder: &Utf8Path, point: &str) {
    let status = Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "crashes::crash_child"])
        .env("PITON_TEST_FOLDER", folder.as_str())
        .env("PITON_CRASH", point)
        .output()
        .unwrap()
        .status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(6), "it should have aborted");
}

#[test]
fn a_crash_leaves_all_or_nothing() {
    for (point, expected) in [("journal.before-commit", 5), ("journal.after-commit", 8)] {
        let (folder, journal) = with_small();
        drop(journal);
        crash_at(&folder.path, point);
        let mut journal = folder.open();
        assert_eq!(journal.load(&run_id()).unwrap().seq(), expected, "{point}");
        assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0], "{point}");
        journal.command(&run_id(), &done("c"), at(2)).unwrap();
    }
}
