//! Conflicts that are coming, and when they no longer are.

use piton_core::run::{AgentEnd, Command, ConflictAhead, Note, Verdict};

use crate::bench::{Bench, id, spec, work};

fn by() -> String {
    "ann".to_owned()
}

/// A, B and C are at work. B will be in conflict with A and with the target, C with A.
fn told() -> Bench {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[]), spec("c", &[])]);
    for name in ["a", "b", "c"] {
        bench.start(name);
        bench.ready(name, 4000, 0);
    }
    let with = |name: Option<&str>| ConflictAhead { with: name.map(id), files: vec!["log.txt".to_owned()] };
    for (name, conflicts) in [("b", vec![with(None), with(Some("a"))]), ("c", vec![with(Some("a"))])] {
        let note = Note::ConflictsAhead { task: id(name), fence: bench.task(name).fence, conflicts };
        bench.accept(&Command::Note { by: by(), note });
    }
    bench
}

/// Each task with how many conflicts are coming for it.
fn coming(bench: &Bench) -> Vec<(String, usize)> {
    let run = bench.state.run().expect("a run");
    run.conflicts_ahead.iter().map(|(task, all)| (task.to_string(), all.len())).collect()
}

#[test]
fn what_was_given_up_is_in_the_way_of_nothing() {
    let mut bench = told();
    bench.accept(&Command::Skip { task: id("a"), by: by(), reason: String::new() });
    assert_eq!(coming(&bench), [("b".to_owned(), 1)], "the target is still in its way");
    bench.accept(&Command::Reset { task: id("b"), by: by() });
    assert_eq!(coming(&bench), []);
}

/// The next look sees it in the target.
#[test]
fn what_has_landed_stays_in_the_way_until_the_next_look() {
    let mut bench = told();
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    bench.accept(&bench.captured("a", work(1)));
    bench.accept(&bench.checks_end("a", 1, Verdict::Pass));
    bench.accept(&bench.prepare_landing("a", 1, &[]));
    bench.accept(&bench.landed("a", 1));
    assert_eq!(coming(&bench), [("b".to_owned(), 2), ("c".to_owned(), 1)]);
}
