//! What a run ends as: what a person skips is not left over, what the run had to go on without is.

use piton_core::plan::{Exhausted, Schedule, TaskSpec};
use piton_core::run::{Class, Command, Event, Status, StopReason};
use piton_core::view::{RunStatus, at_rest, tell, why};

use crate::bench::{Bench, id, spec};

fn skip(name: &str) -> Command {
    Command::Skip { task: id(name), by: "ann".to_owned(), reason: "not this year".to_owned() }
}

fn leave(reason: StopReason) -> Command {
    Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() }
}

fn said(bench: &Bench, name: &str) -> String {
    let reason = |seq: u64| {
        let found = bench.journal.iter().find(|recorded| recorded.seq == seq)?;
        match &found.event {
            Event::Failed { reason, .. } | Event::Skipped { reason, .. } => Some(reason.clone()),
            _ => None,
        }
    };
    why(&bench.state, &id(name), bench.now, true, &reason).expect("there is such a task").to_string()
}

fn status(bench: &Bench) -> RunStatus {
    RunStatus::of(bench.state.run().expect("there is one"), &bench.state.counts(), false)
}

#[test]
fn a_run_is_complete_but_for_what_a_person_skipped() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &["a"])]);
    bench.accept(&skip("a"));
    assert_eq!(at_rest(&bench.state), StopReason::Ended, "what depends on it may start, and is open");
    bench.land("b", 1);
    assert_eq!(at_rest(&bench.state), StopReason::Completed);
    bench.accept(&leave(StopReason::Completed));
    assert_eq!(tell(&bench.journal.last().expect("not empty").event).text, "completed, 1 skipped");
    assert_eq!(status(&bench), RunStatus::Completed { skipped: 1 });
    assert!(said(&bench, "a").contains("a was skipped by a person: not this year"));
}

#[test]
fn what_a_run_went_on_without_leaves_it_unfinished() {
    let may_fail = TaskSpec { may_fail: true, attempts: 1, ..spec("a", &[]) };
    let mut bench = Bench::running(vec![may_fail, spec("b", &["a"])]);
    bench.start("a");
    bench.fail("a", Class::Code);
    bench.land("b", 1);
    assert_eq!((bench.task("a").decided, bench.task("a").status()), (Status::Skipped, Status::PassedOver));
    assert_eq!(at_rest(&bench.state), StopReason::Ended);
    assert!(!bench.refuse(&leave(StopReason::Completed)).stale);
    // Until a person says that it is not needed.
    bench.accept(&skip("a"));
    assert_eq!(at_rest(&bench.state), StopReason::Completed);
}

#[test]
fn a_gate_is_not_passed_by_skipping_it() {
    let gate = TaskSpec { gate: true, check_first: true, group: 1, ..spec("g", &[]) };
    let mut bench = Bench::running_as(Schedule::Layered, Exhausted::Pass, vec![spec("a", &[]), gate]);
    bench.land("a", 1);
    bench.accept(&skip("g"));
    assert_eq!(at_rest(&bench.state), StopReason::Ended);
    bench.accept(&leave(StopReason::Ended));
    assert_eq!(status(&bench), RunStatus::Ended);
    assert!(said(&bench, "g").contains("it is a gate and did not pass, so the run is not complete"));
}

/// It turned out to be impossible before any attempt was spent.
#[test]
fn nothing_is_said_to_end_after_no_attempts() {
    let may_fail = TaskSpec { may_fail: true, ..spec("a", &[]) };
    let mut bench = Bench::running(vec![may_fail]);
    bench.start("a");
    bench.fail("a", Class::Defect);
    let told = said(&bench, "a");
    assert!(told.contains("the run went on without a before any attempt was spent"), "{told}");
    assert!(!told.contains("0 attempts"), "{told}");
}
