//! What waits for a person, seen from outside.

use piton_core::run::{Class, Command, Note, Status, StopReason, Task};
use piton_core::time::Timestamp;
use piton_core::view::{Around, Item, Kind, RunStatus, inbox};

use crate::bench::{Bench, id, spec};

fn items(bench: &Bench, status: &RunStatus, asked: &[&str]) -> Vec<Item> {
    let run = bench.state.run().expect("a run");
    let tasks: Vec<Task> = bench.state.tasks().cloned().collect();
    let asked: Vec<_> = asked.iter().map(|name| id(name)).collect();
    let explain = |task: &Task| (format!("{} waits", task.id), vec![format!("piton why {}", task.id)]);
    let around = Around { status, active: Timestamp(7), asked: &asked, explain: &explain };
    inbox(run, &tasks, &around)
}

fn kinds(items: &[Item]) -> Vec<Kind> {
    items.iter().map(|item| item.kind).collect()
}

fn two_that_wait() -> Bench {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[]), spec("c", &[])]);
    bench.bring("a", Status::Abandoned);
    bench.bring("b", Status::Blocked);
    bench
}

#[test]
fn what_holds_up_the_run_comes_before_its_tasks() {
    let bench = two_that_wait();
    let all = items(&bench, &RunStatus::Interrupted, &["d"]);
    assert_eq!(kinds(&all), [Kind::Run, Kind::Plan, Kind::Blocked, Kind::GivenUp]);
    let budget = RunStatus::Stopped(StopReason::Budget { detail: "5 of 5 dollars are spent".to_owned() });
    assert_eq!(items(&bench, &budget, &[])[0].reason, "5 of 5 dollars are spent");
    assert_eq!(kinds(&items(&bench, &RunStatus::Running, &[])), [Kind::Blocked, Kind::GivenUp]);
}

#[test]
fn a_task_that_waits_again_is_another_item() {
    let mut bench = two_that_wait();
    let key = |bench: &Bench| items(bench, &RunStatus::Running, &[])[0].key.clone();
    let first = key(&bench);
    assert_eq!(first, key(&bench), "the same thing keeps its key");
    bench.accept(&Command::Retry { task: id("b"), by: "ann".to_owned() });
    bench.start("b");
    bench.fail("b", Class::Defect);
    assert_eq!(bench.task("b").status(), Status::Blocked);
    assert_ne!(first, key(&bench));
}

#[test]
fn what_is_seen_is_known_for_each_person_until_it_is_over() {
    let mut bench = two_that_wait();
    let keys: Vec<String> =
        items(&bench, &RunStatus::Running, &[]).into_iter().map(|item| item.key).collect();
    let seen = |items: &[&String], over: &[&String]| Note::Seen {
        items: items.iter().map(|key| (*key).clone()).collect(),
        over: over.iter().map(|key| (*key).clone()).collect(),
    };
    for (by, note) in [("ann", seen(&[&keys[0]], &[])), ("bob", seen(&[&keys[0], &keys[1]], &[]))] {
        bench.accept(&Command::Note { by: by.to_owned(), note });
    }
    let seen_by = |bench: &Bench| {
        items(bench, &RunStatus::Running, &[]).into_iter().map(|item| item.seen_by).collect::<Vec<_>>()
    };
    assert_eq!(seen_by(&bench), [vec!["ann", "bob"], vec!["bob"]]);
    bench.accept(&Command::Note { by: "bob".to_owned(), note: seen(&[], &[&keys[0]]) });
    assert_eq!(seen_by(&bench), [vec!["ann"], vec!["bob"]]);
}
