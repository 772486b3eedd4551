//! Runs to write down, shared by the tests of this room.

pub(in crate::system::issue) mod anything;
mod edits;
mod golden;
mod recipes;
mod rows;
mod trips;

use serde_json::Value;

use super::*;
use crate::chronicle::bench::{Bench, id, oid, plan, spec};
use crate::run::{AgentEnd, CommitMade, Report, Tests, Verdict, Work};

pub(in crate::system::issue) fn issue() -> Issue {
    Issue {
        number: 42,
        title: "Export invoices as PDF".to_owned(),
        branch: "issue/42-invoice-export".to_owned(),
    }
}

/// Three tasks, one after the other; the tenth comes after the second.
pub(in crate::system) fn fresh() -> Bench {
    let mut plan = plan(&["tasks"], vec![spec("1", &[]), spec("2", &["1"]), spec("10", &["2"])]);
    plan.name = "issue-42-invoice-export".to_owned();
    Bench::new(plan)
}

/// The agent is done, leaves this report and these files, and its work has landed.
pub(in crate::system) fn lands(bench: &mut Bench, name: &str, report: Option<Report>, files: [&[&str]; 2]) {
    bench.start(name);
    bench.ready(name);
    bench.agent_ends(name, AgentEnd::Done, report);
    let commit = oid(100 + bench.chronicle.seq);
    let [created, modified] = files.map(|files| files.iter().map(|&file| file.to_owned()).collect());
    let work = Work {
        commit: Some(commit.clone()),
        tree: oid(5000 + bench.chronicle.seq),
        changed: true,
        found_work: true,
        touches_judges: true,
        markers: Vec::new(),
        commits: vec![CommitMade { hash: commit.to_string(), subject: format!("[{name}] Do it") }],
        created,
        modified,
    };
    let fence = bench.task(name).fence;
    bench.accept(&crate::run::Command::Captured { task: id(name), fence, pass: 0, work });
    bench.checks_end(name, &Verdict::Pass, "");
    bench.land(name);
    bench.clean(name);
}

pub(in crate::system::issue) fn told() -> Report {
    Report {
        note: "The writer streams, so large exports fit.".to_owned(),
        files: vec!["src/export.rs".to_owned(), "src/lib.rs".to_owned()],
        created: vec!["src/export.rs".to_owned()],
        exports: vec!["Exporter".to_owned(), "export()".to_owned()],
        decisions: vec!["Streaming: large exports fit".to_owned()],
        patterns: vec!["Errors are values".to_owned()],
        tests: Some(Tests { passed: 5, failed: 0, skipped: 1 }),
        ..Report::default()
    }
}

/// One task was told about, one was not, one was given up.
pub(in crate::system) fn over() -> Bench {
    let mut bench = fresh();
    bench.attach();
    lands(&mut bench, "1", Some(told()), [&["src/export.rs", "src/new.rs"], &["src/lib.rs"]]);
    lands(&mut bench, "2", None, [&[], &["src/lib.rs"]]);
    for n in 0..5 {
        bench.fails("10", &[(41 + n, "Try")], "still wrong");
    }
    bench
}

fn file(bench: &Bench) -> StateFile {
    project(&bench.state, &bench.chronicle, &issue()).expect("a run")
}

fn shown(bench: &Bench) -> String {
    text(&file(bench))
}

fn json(bench: &Bench) -> Value {
    value(&file(bench))
}
