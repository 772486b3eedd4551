//! Runs to write down, shared by the tests of this room.

mod anything;
mod edits;
mod golden;
mod rows;
mod trips;

use serde_json::Value;

use super::*;
use crate::chronicle::bench::{Bench, id, oid};
use crate::run::{Command, ContextUpdate, StopReason, Verdict};

fn place() -> Place {
    Place {
        project_path: "/home/ann/notes".to_owned(),
        tasks_path: "/home/ann/docs/tasks/voice-notes".to_owned(),
        ..Place::default()
    }
}

fn file(bench: &Bench) -> StateFile {
    project(&bench.state, &bench.chronicle, &place()).expect("a run")
}

fn shown(bench: &Bench) -> String {
    text(&file(bench))
}

fn json(bench: &Bench) -> Value {
    value(&file(bench))
}

/// One landed after a retry, one landing, one verified, and one retried again.
fn middle() -> Bench {
    let mut bench = Bench::small();
    bench.attach();
    bench.fails("L0-001", &[(11, "Add the skeleton")], "expected 201\ngot 422\n");
    bench.verify("L0-001", &[(11, "Add the skeleton"), (12, "Fix: mind the length")]);
    bench.land("L0-001");
    bench.clean("L0-001");
    bench.fails("L1-001", &[(21, "Add the store")], "no such table");
    bench.verify("L1-002", &[(31, "Add the clock")]);
    bench.start("L1-001");
    bench.ready("L1-001");
    bench.prepare_landing("L1-002");
    bench
}

fn abandoned() -> Bench {
    let mut bench = Bench::small();
    bench.attach();
    bench.finish("L0-001", 11);
    bench.verify("L1-002", &[(31, "Add the clock")]);
    for n in 0..5 {
        bench.fails("L1-001", &[(41 + n, "Try")], "still wrong");
    }
    bench.land("L1-002");
    bench.clean("L1-002");
    bench.detach(StopReason::Ended);
    bench
}

/// Every task has landed.
fn landed() -> Bench {
    let mut bench = Bench::small();
    bench.attach();
    for (n, name) in (11..).zip(["L0-001", "L1-001", "L1-002", "L1-003"]) {
        bench.finish(name, n);
    }
    bench
}

fn completed() -> Bench {
    let mut bench = landed();
    bench.accept(&Command::ContextUpdated(Box::new(ContextUpdate {
        path: Some("/home/ann/notes/PROJECT.md".to_owned()),
        features: vec!["voice-notes".to_owned()],
        endpoints: vec!["/api/notes".to_owned()],
        models: vec!["Note".to_owned()],
        commit: Some(oid(99)),
        skipped: String::new(),
        warnings: Vec::new(),
    })));
    bench.detach(StopReason::Completed);
    bench
}
