//! Runs that are closed.

use piton_core::plan::Schedule;
use piton_core::run::{Command, Event, Holder, StopReason};
use piton_core::view::RunStatus;

use crate::bench::{Bench, id, plan, session, spec};

fn close() -> Command {
    Command::Close { by: "ann".to_owned(), reason: " another plan ".to_owned() }
}

fn attach() -> Command {
    Command::Attach { engine: "e1".to_owned(), session: session(Schedule::Flow) }
}

fn status(bench: &Bench) -> RunStatus {
    let engine_lives = false;
    RunStatus::of(bench.state.run().expect("there is one"), &bench.state.counts(), engine_lives)
}

#[test]
fn a_run_is_closed_as_it_is_and_opened_by_whoever_works_on_it() {
    let ann = Holder::Ledger("ann".to_owned());
    let begins = [attach(), Command::Start { task: id("a"), holder: ann }];
    for begin in begins {
        let mut bench = Bench::new(plan(vec![spec("a", &[]), spec("b", &[])]));
        let before = bench.state.counts();
        bench.accept(&close());
        let closed = Event::RunClosed { by: "ann".to_owned(), reason: "another plan".to_owned() };
        assert_eq!(bench.journal.last().map(|recorded| &recorded.event), Some(&closed));
        assert_eq!(status(&bench).word(), "closed");
        assert_eq!(bench.state.counts(), before, "nothing else changes");
        let events = bench.journal.len();
        bench.accept(&close());
        assert_eq!(bench.journal.len(), events, "it is closed once");
        bench.accept(&begin);
        assert_ne!(status(&bench).word(), "closed", "{begin:?}");
    }
}

#[test]
fn nobody_closes_a_run_that_an_engine_works_on_or_that_is_complete() {
    let mut bench = Bench::new(plan(vec![spec("a", &[])]));
    bench.accept(&attach());
    let refused = bench.refuse(&close());
    assert_eq!(refused.reason, "an engine is working on the run run");
    assert_eq!(refused.hint.as_deref(), Some("piton stop --run run   stops it first"));
    bench.land("a", 1);
    let reason = StopReason::Completed;
    bench.accept(&Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() });
    let refused = bench.refuse(&close());
    assert_eq!(refused.reason, "every task of the run run is completed: there is nothing to close");
}
