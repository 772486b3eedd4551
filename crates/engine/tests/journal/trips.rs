//! What was written is read again, and what is refused leaves nothing.

use piton_core::plan::RunId;
use piton_core::run::{Command, Proof, Recorded, Status};
use piton_engine::journal::{CommandError, Journal, Trouble};

use crate::bench::{Engine, at, blocked, create, done, id, on_each_engine, run_id, small, start, status};

on_each_engine! {
    a_rehearsal_says_what_would_be_refused_and_records_nothing,
    what_was_written_is_read_again,
    a_refusal_changes_nothing,
    runs_live_side_by_side,
}

fn a_rehearsal_says_what_would_be_refused_and_records_nothing(engine: Engine) {
    let place = engine.place();
    let mut journal = place.open();
    journal.command(&run_id(), &create(small()), at(0)).unwrap();
    let before = journal.events(&run_id(), 0, None, 100).unwrap();
    journal.rehearse(&run_id(), &start("a"), at(1)).unwrap();
    let refused = journal.rehearse(&run_id(), &start("b"), at(1));
    assert!(matches!(refused, Err(CommandError::Refused(_))), "b needs a: {refused:?}");
    assert_eq!(journal.events(&run_id(), 0, None, 100).unwrap(), before);
    assert_eq!(journal.load(&run_id()).unwrap().task(&id("a")).unwrap().unwrap().status(), Status::Pending);
    journal.command(&run_id(), &start("a"), at(2)).unwrap();
}

fn what_was_written_is_read_again(engine: Engine) {
    let (place, mut journal) = engine.with_small();
    let run = run_id();
    let started = journal.command(&run, &start("a"), at(1)).unwrap();
    assert_eq!(started.iter().map(|r| r.seq).collect::<Vec<_>>(), [6]);
    journal.command(&run, &done("a"), at(2)).unwrap();
    drop(journal);

    let mut journal = place.open();
    let state = journal.load(&run).unwrap();
    let by_file = Proof::Work { commits: Vec::new(), files: vec!["work".to_owned()] };
    assert_eq!(state.seq(), 8);
    assert_eq!(state.run().unwrap().name, "demo");
    assert_eq!(state.task(&id("a")).unwrap().unwrap().proof, Some(by_file));
    assert_eq!(state.links(&id("a")).unwrap().dependents, [id("b")]);
    assert_eq!(journal.prove(&run).unwrap(), [""; 0]);
    assert_eq!(journal.integrity().unwrap(), [""; 0]);

    assert_eq!(journal.spec(&run, &id("b")).unwrap().unwrap().depends_on, [id("a")]);
    let specs = journal.specs(&run).unwrap();
    assert_eq!(specs.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert_eq!(journal.event(&run, 6).unwrap(), Some(started[0].clone()));
    assert_eq!(journal.event(&run, 99).unwrap(), None);
    let seqs = |events: Vec<Recorded>| events.iter().map(|r| r.seq).collect::<Vec<_>>();
    assert_eq!(seqs(journal.events(&run, 5, None, 2).unwrap()), [6, 7]);
    assert_eq!(seqs(journal.events(&run, 0, Some(&id("a")), 10).unwrap()), [2, 6, 7, 8]);
    assert_eq!(seqs(journal.last_events(&run, Some(&id("a")), 2).unwrap()), [7, 8]);
    assert_eq!(seqs(journal.last_events(&run, None, 1).unwrap()), [8]);

    let runs = journal.runs().unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].counts.of(Status::Completed), runs[0].counts.total(), runs[0].seq), (1, 4, 8));
    let ready = journal.ready(&run, at(3), 10).unwrap();
    assert_eq!(ready.iter().map(|t| t.id.as_str()).collect::<Vec<_>>(), ["b", "c"]);
}

fn a_refusal_changes_nothing(engine: Engine) {
    let (place, mut journal) = engine.with_small();
    let before = place.content();
    let refused = journal.command(&run_id(), &start("d"), at(1)).unwrap_err();
    assert!(matches!(&refused, CommandError::Refused(r) if r.reason.contains("b (pending)")), "{refused}");
    let unknown = journal.command(&run_id(), &start("z"), at(1)).unwrap_err();
    assert!(matches!(&unknown, CommandError::Refused(r) if r.reason.contains("no task z")), "{unknown}");
    let other = RunId::new("other").unwrap();
    let nowhere = journal.command(&other, &start("a"), at(1)).unwrap_err();
    assert!(matches!(nowhere, CommandError::Refused(_)));
    let twice = journal.command(&run_id(), &create(small()), at(1)).unwrap_err();
    assert!(matches!(twice, CommandError::Refused(_)));
    assert!(matches!(journal.load(&other).unwrap_err().trouble, Trouble::NoRun(_)));
    assert_eq!(place.content(), before);
}

fn runs_live_side_by_side(engine: Engine) {
    let (_place, mut journal) = engine.with_small();
    let second = RunId::new("run-2").unwrap();
    let Command::Create(mut new) = create(small()) else { unreachable!() };
    new.run = second.clone();
    journal.command(&second, &Command::Create(new), at(5)).unwrap();
    journal.command(&run_id(), &blocked("a"), at(6)).unwrap();
    assert_eq!(status(&journal, "d"), Status::Unreachable);
    let untouched = journal.load(&second).unwrap();
    assert_eq!(untouched.counts().of(Status::Pending), 4);
    let names: Vec<_> = journal.runs().unwrap().iter().map(|run| run.id.to_string()).collect();
    assert_eq!(names, ["run-2", "run-1"]);
    assert_eq!(journal.events(&run_id(), 0, None, 99).unwrap().len(), 8);
    for run in [run_id(), second] {
        assert_eq!(journal.prove(&run).unwrap(), [""; 0]);
    }
}

/// The first one makes the tables while the others look whose database it is.
#[test]
fn those_who_open_a_new_journal_at_once_all_get_it() {
    for _ in 0..50 {
        let folder = tempfile::tempdir().unwrap();
        let path = camino::Utf8Path::from_path(folder.path()).unwrap();
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    Journal::open(path).unwrap();
                });
            }
        });
    }
}
