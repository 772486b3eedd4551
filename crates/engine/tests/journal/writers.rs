//! Many write at a time, and nothing is lost.

use std::sync::{Arc, Barrier};

use piton_core::run::{Command, Event, Holder, Status};
use piton_engine::journal::Journal;

use crate::bench::{Folder, at, create, done, id, plan, run_id, small, spec, start, with_small};

#[test]
fn many_writers_lose_nothing() {
    const WRITERS: usize = 4;
    const EACH: usize = 25;
    let folder = Folder::new();
    let tasks = (0..WRITERS * EACH).map(|n| spec(&format!("T{n}"), 0, &[])).collect();
    folder.open().command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    let together = Arc::new(Barrier::new(WRITERS));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (path, together) = (folder.path.clone(), Arc::clone(&together));
            std::thread::spawn(move || {
                let mut journal = Journal::open(&path).unwrap();
                together.wait();
                for n in 0..EACH {
                    journal.command(&run_id(), &done(&format!("T{}", n * WRITERS + writer)), at(1)).unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let mut journal = folder.open();
    let state = journal.load(&run_id()).unwrap();
    assert_eq!(state.counts().of(Status::Completed) as usize, WRITERS * EACH);
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
}

#[test]
fn one_task_is_claimed_by_one() {
    let (folder, _journal) = with_small();
    let together = Arc::new(Barrier::new(4));
    let claims: Vec<_> = (0..4)
        .map(|n| {
            let (path, together) = (folder.path.clone(), Arc::clone(&together));
            std::thread::spawn(move || {
                let mut journal = Journal::open(&path).unwrap();
                together.wait();
                let claim = Command::Start { task: id("a"), holder: Holder::Ledger(format!("w{n}")) };
                journal.command(&run_id(), &claim, at(1)).is_ok()
            })
        })
        .collect();
    assert_eq!(claims.into_iter().filter_map(|claim| claim.join().ok()).filter(|won| *won).count(), 1);
}

#[test]
fn two_may_create_the_database_at_once() {
    let folder = Folder::new();
    let together = Arc::new(Barrier::new(4));
    let makers: Vec<_> = (0..4)
        .map(|_| {
            let (path, together) = (folder.path.clone(), Arc::clone(&together));
            std::thread::spawn(move || {
                together.wait();
                Journal::open(&path).unwrap().command(&run_id(), &create(small()), at(0)).is_ok()
            })
        })
        .collect();
    assert_eq!(makers.into_iter().filter_map(|maker| maker.join().ok()).filter(|made| *made).count(), 1);
}

#[test]
fn an_engine_hears_what_others_append() {
    let (folder, mut engine) = with_small();
    let run = run_id();
    let mut state = engine.load(&run).unwrap();
    assert!(engine.catch_up(&run, &mut state).unwrap().is_empty());
    let mut other = folder.open();
    other.command(&run, &done("a"), at(1)).unwrap();
    let heard = engine.catch_up(&run, &mut state).unwrap();
    assert!(matches!(heard.last().map(|r| &r.event), Some(Event::Completed { .. })));
    assert_eq!(state.task(&id("b")).unwrap().unwrap().waiting, 0);
    assert!(engine.catch_up(&run, &mut state).unwrap().is_empty());

    // A group is decided on what others did in the meantime.
    other.command(&run, &start("b"), at(2)).unwrap();
    let group = [start("c"), Command::Start { task: id("b"), holder: Holder::Ledger("x".into()) }, done("c")];
    let committed = engine.commit(&run, &mut state, &group, at(3)).unwrap();
    assert_eq!(committed.foreign.len(), 1);
    let outcomes: Vec<bool> = committed.outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(outcomes, [true, false, true]);
    assert!(engine.catch_up(&run, &mut state).unwrap().is_empty());
    // One's own one-shot command is news to one's state as well.
    engine.command(&run, &Command::Reset { task: id("b"), by: "me".into() }, at(4)).unwrap();
    assert_eq!(engine.catch_up(&run, &mut state).unwrap().len(), 1);
    assert!(other.load(&run).unwrap().agrees_with(&state));
    assert_eq!(other.prove(&run).unwrap(), [""; 0]);
}
