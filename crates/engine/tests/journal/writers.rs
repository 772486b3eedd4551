//! Many write at a time, and nothing is lost.

use std::sync::{Arc, Barrier};

use crate::bench::{Engine, at, create, done, id, on_each_engine, open, plan, run_id, small, spec, start};
use piton_core::run::{Command, Event, Holder, Status};

on_each_engine! {
    many_writers_lose_nothing,
    one_task_is_claimed_by_one,
    two_may_create_the_database_at_once,
    an_engine_hears_what_others_append,
}

fn many_writers_lose_nothing(engine: Engine) {
    const WRITERS: usize = 4;
    const EACH: usize = 25;
    let place = engine.place();
    let tasks = (0..WRITERS * EACH).map(|n| spec(&format!("T{n}"), 0, &[])).collect();
    place.open().command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    let together = Arc::new(Barrier::new(WRITERS));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (path, together) = (place.name().to_owned(), Arc::clone(&together));
            std::thread::spawn(move || {
                let mut journal = open(&path);
                together.wait();
                for n in 0..EACH {
                    journal.command(&run_id(), &done(&format!("T{}", n * WRITERS + writer)), at(1)).unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let mut journal = place.open();
    let state = journal.load(&run_id()).unwrap();
    assert_eq!(state.counts().of(Status::Completed) as usize, WRITERS * EACH);
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
}

fn one_task_is_claimed_by_one(engine: Engine) {
    let (place, _journal) = engine.with_small();
    let together = Arc::new(Barrier::new(4));
    let claims: Vec<_> = (0..4)
        .map(|n| {
            let (path, together) = (place.name().to_owned(), Arc::clone(&together));
            std::thread::spawn(move || {
                let mut journal = open(&path);
                together.wait();
                let claim = Command::Start { task: id("a"), holder: Holder::Ledger(format!("w{n}")) };
                journal.command(&run_id(), &claim, at(1)).is_ok()
            })
        })
        .collect();
    assert_eq!(claims.into_iter().filter_map(|claim| claim.join().ok()).filter(|won| *won).count(), 1);
}

fn two_may_create_the_database_at_once(engine: Engine) {
    let place = engine.place();
    let together = Arc::new(Barrier::new(4));
    let makers: Vec<_> = (0..4)
        .map(|_| {
            let (path, together) = (place.name().to_owned(), Arc::clone(&together));
            std::thread::spawn(move || {
                together.wait();
                open(&path).command(&run_id(), &create(small()), at(0)).is_ok()
            })
        })
        .collect();
    assert_eq!(makers.into_iter().filter_map(|maker| maker.join().ok()).filter(|made| *made).count(), 1);
}

fn an_engine_hears_what_others_append(engine: Engine) {
    let (place, mut engine) = engine.with_small();
    let run = run_id();
    let mut state = engine.load(&run).unwrap();
    assert!(engine.catch_up(&run, &mut state).unwrap().is_empty());
    let mut other = place.open();
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
