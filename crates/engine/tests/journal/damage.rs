//! Databases that are newer, not ours, or damaged.

use piton_core::run::Status;
use piton_engine::journal::{CommandError, Journal, Trouble};
use rusqlite::Connection;

use crate::bench::{
    Engine, Folder, at, create, done, on_each_engine, plan, run_id, small, spec, start, status, with_small,
};

on_each_engine! {
    an_unknown_event_stops_the_reader,
}

#[test]
fn a_newer_database_is_left_as_it_is() {
    let (folder, journal) = with_small();
    journal.close().unwrap();
    folder.sql("PRAGMA user_version = 99");
    let before = folder.bytes();
    for error in [Journal::open(&folder.path).unwrap_err(), Journal::open_existing(&folder.path).unwrap_err()]
    {
        assert!(matches!(error.trouble, Trouble::Newer { found: 99, .. }), "{error}");
    }
    assert!(matches!(Journal::recover(&folder.path).unwrap_err().trouble, Trouble::Newer { .. }));
    assert_eq!(folder.bytes(), before);
}

#[test]
fn a_newer_version_still_in_the_log_is_seen() {
    let (folder, _journal) = with_small();
    let newer = Connection::open(folder.db()).unwrap();
    newer.execute_batch("PRAGMA user_version = 99").unwrap();
    let before = folder.bytes();
    let error = Journal::open(&folder.path).unwrap_err();
    assert!(matches!(error.trouble, Trouble::Newer { found: 99, .. }), "{error}");
    assert_eq!(folder.bytes(), before);
}

#[test]
fn what_is_not_ours_is_refused() {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.path).unwrap();
    folder.sql("CREATE TABLE somebodys (x)");
    let before = folder.bytes();
    assert!(matches!(Journal::open(&folder.path).unwrap_err().trouble, Trouble::Foreign));
    assert!(matches!(Journal::open_existing(&folder.path).unwrap_err().trouble, Trouble::Foreign));
    assert_eq!(folder.bytes(), before);
    std::fs::write(folder.db(), "this is a letter, not a database".repeat(9)).unwrap();
    assert!(matches!(Journal::open(&folder.path).unwrap_err().trouble, Trouble::Damaged { .. }));
}

#[test]
fn readers_change_no_byte_and_create_nothing() {
    let folder = Folder::new();
    assert!(Journal::open_existing(&folder.path).unwrap().is_none());
    assert!(!folder.path.exists());
    let mut journal = folder.open();
    journal.command(&run_id(), &create(small()), at(0)).unwrap();
    for closed in [false, true] {
        if closed {
            folder.open().close().unwrap();
        }
        let before = folder.bytes();
        let mut reader = Journal::open_existing(&folder.path).unwrap().unwrap();
        assert_eq!(reader.runs().unwrap().len(), 1);
        assert_eq!(reader.load(&run_id()).unwrap().tasks().count(), 4);
        assert_eq!(reader.prove(&run_id()).unwrap(), [""; 0]);
        assert_eq!(reader.ready(&run_id(), at(1), 1).unwrap().len(), 1);
        let refused = reader.command(&run_id(), &start("a"), at(1)).unwrap_err();
        assert!(
            matches!(&refused, CommandError::Journal(error) if matches!(error.trouble, Trouble::ReadOnly)),
            "{refused}"
        );
        drop(reader);
        assert_eq!(folder.bytes(), before);
        if !closed {
            journal = folder.open();
        }
    }
    drop(journal);
}

fn an_unknown_event_stops_the_reader(engine: Engine) {
    let (place, mut journal) = engine.with_small();
    journal.command(&run_id(), &start("a"), at(1)).unwrap();
    place.sql("UPDATE events SET body = '{\"event\":\"teleported\",\"task\":\"a\"}' WHERE body LIKE '%attempt_started%'");
    let error = journal.events(&run_id(), 0, None, 99).unwrap_err();
    assert!(matches!(&error.trouble, Trouble::UnknownEvent { seq: 6, .. }), "{error}");
    let error = journal.prove(&run_id()).unwrap_err();
    assert!(matches!(&error.trouble, Trouble::UnknownEvent { seq: 6, .. }), "{error}");
    assert!(journal.rebuild(&run_id()).is_err());
}

/// A run long enough to fill many pages, closed, so that all of it is in the file.
fn long_run() -> (Folder, u64) {
    let folder = Folder::new();
    let mut journal = folder.open();
    let tasks = (0..400).map(|n| spec(&format!("T{n}"), 0, &[])).collect();
    journal.command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    for n in 0..100 {
        journal.command(&run_id(), &done(&format!("T{n}")), at(1)).unwrap();
    }
    let last = journal.load(&run_id()).unwrap().seq();
    journal.close().unwrap();
    (folder, last)
}

/// Overwrite the page on which an event lies.
fn ruin(folder: &Folder, needle: &str) {
    let mut bytes = std::fs::read(folder.db()).unwrap();
    let found = bytes.windows(needle.len()).rposition(|window| window == needle.as_bytes()).unwrap();
    let page = found / 4096 * 4096;
    bytes[page..page + 4096].fill(0xa5);
    std::fs::write(folder.db(), bytes).unwrap();
}

#[test]
fn a_damaged_database_is_kept_and_its_readable_part_saved() {
    let (folder, last) = long_run();
    ruin(&folder, r#""event":"completed","task":"T50""#);
    let ruined = std::fs::read(folder.db()).unwrap();

    let told = match Journal::open(&folder.path) {
        Ok(journal) => journal.prove(&run_id()).map(|_| ()).unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(told.trouble, Trouble::Damaged { .. }), "{told}");

    let open = folder.open();
    assert!(matches!(Journal::recover(&folder.path).unwrap_err().trouble, Trouble::Occupied));
    drop(open);
    let recovery = Journal::recover(&folder.path).unwrap();
    let kept = recovery.kept.clone().unwrap();
    assert_eq!(kept.file_name(), Some("piton.db.damaged-1"));
    assert_eq!(std::fs::read(&kept).unwrap(), ruined);
    assert!(!recovery.found.is_empty());
    let salvaged = &recovery.runs[0];
    assert!(salvaged.lost.as_ref().is_some_and(|why| why.contains("cannot be read")), "{salvaged}");
    assert!(salvaged.events > 401 && salvaged.events < last, "{salvaged}");
    assert!(!salvaged.plan_incomplete);

    let mut journal = folder.open();
    let state = journal.load(&run_id()).unwrap();
    assert_eq!((state.seq(), state.tasks().count()), (salvaged.events, 400));
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    assert_eq!(journal.integrity().unwrap(), [""; 0]);
    journal.command(&run_id(), &done("T399"), at(9)).unwrap();
    drop(journal);
    assert!(Journal::recover(&folder.path).unwrap().kept.is_none(), "there is nothing to recover any more");
}

#[test]
fn a_lost_piece_of_the_plan_is_told() {
    let (folder, _) = long_run();
    ruin(&folder, r#""event":"task_added","spec":{"id":"T200""#);
    let recovery = Journal::recover(&folder.path).unwrap();
    assert!(recovery.runs[0].plan_incomplete, "{:?}", recovery.runs);
    assert!(recovery.runs[0].to_string().contains("adopt the plan again"));
}

#[test]
fn a_gap_ends_what_can_be_saved() {
    let (folder, mut journal) = with_small();
    journal.command(&run_id(), &start("a"), at(1)).unwrap();
    journal.command(&run_id(), &start("c"), at(1)).unwrap();
    drop(journal);
    folder.sql("DELETE FROM events WHERE body LIKE '%attempt_started%\"a\"%'");
    let recovery = Journal::recover(&folder.path).unwrap();
    assert_eq!(recovery.runs[0].events, 5);
    assert_eq!(recovery.runs[0].lost.as_deref(), Some("event 6 is missing"));
    let journal = folder.open();
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    assert_eq!(status(&journal, "c"), Status::Pending);
}

#[test]
fn a_file_without_a_head_is_kept_aside() {
    let (folder, journal) = with_small();
    journal.close().unwrap();
    let mut bytes = std::fs::read(folder.db()).unwrap();
    bytes[..4096].fill(0);
    std::fs::write(folder.db(), &bytes).unwrap();
    assert!(matches!(Journal::open(&folder.path).unwrap_err().trouble, Trouble::Damaged { .. }));
    let recovery = Journal::recover(&folder.path).unwrap();
    assert_eq!(std::fs::read(recovery.kept.unwrap()).unwrap(), bytes);
    assert!(folder.open().runs().unwrap().is_empty());
}

#[test]
fn an_interrupted_recovery_is_finished_by_whoever_comes() {
    let (folder, journal) = with_small();
    journal.close().unwrap();
    // As if the process had died after the new database was complete and before it was in place.
    std::fs::copy(folder.db(), folder.path.join("piton.db.recovered")).unwrap();
    std::fs::write(folder.db(), "damaged").unwrap();
    let journal = folder.open();
    assert_eq!(journal.runs().unwrap().len(), 1);
    assert_eq!(std::fs::read(folder.path.join("piton.db.damaged-1")).unwrap(), b"damaged");
    assert!(!folder.path.join("piton.db.recovered").exists());
}
