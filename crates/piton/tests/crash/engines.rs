//! One engine per run.

use rustix::process::Signal;

use piton_testkit::cases::in_parallel;

use crate::rules::{Target, two_tasks};
use crate::sandbox::Sandbox;

fn refused(text: &str) -> bool {
    text.contains("another engine is working on the run")
}

#[test]
fn of_two_engines_started_at_once_exactly_one_works() {
    in_parallel(&["once", "twice", "thrice"], |_| {
        let sandbox = two_tasks(Target::CheckedOut);
        let gates = sandbox.gates(&["T1.1"]);
        let both = [(); 2].map(|()| sandbox.start_run(&[]));
        let here = gates.wait();
        // One of them has an agent at work and cannot end; so the first to end is the other one.
        let (ended, other) = Sandbox::first_to_end(both, &sandbox);
        assert!(refused(&ended.text), "{}", ended.text);
        ended.expect(1);
        gates.open(&here);
        other.end(&sandbox).expect(0);
        sandbox.assert_landed_once(&["T1", "T2"]);
        assert_eq!((sandbox.runs_of("T1"), sandbox.runs_of("T2")), (1, 1));
        assert_eq!(sandbox.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn an_engine_that_is_stopped_is_still_the_engine() {
    let sandbox = two_tasks(Target::CheckedOut);
    let gates = sandbox.gates(&["T1.1"]);
    let engine = sandbox.start_run(&[]);
    let here = gates.wait();
    engine.signal(Signal::STOP);
    gates.open(&here);
    let second = sandbox.run().expect(1);
    assert!(refused(&second.text), "{}", second.text);
    engine.signal(Signal::CONT);
    engine.end(&sandbox).expect(0);
    sandbox.assert_landed_once(&["T1", "T2"]);
    assert_eq!((sandbox.runs_of("T1"), sandbox.runs_of("T2")), (1, 1));
    assert_eq!(sandbox.leftovers(), Vec::<String>::new());
}
