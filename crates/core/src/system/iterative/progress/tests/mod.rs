//! Logs as agents and people leave them, and what Piton makes of them.

mod passes;
mod rows;
mod settling;

use super::same::alike;
use super::*;
use crate::chronicle::bench::{Bench, id, oid, plan, spec};
use crate::plan::Exhausted;
use crate::run::{AgentEnd, Command, CommitMade, Note, Report, Verdict, Work};

fn settled(found: Option<&str>, bench: &Bench) -> Reconciled {
    reconcile(found, &bench.state, &bench.chronicle)
}

/// The file after the engine has done its part: what is new is journaled, then what is missing is appended.
fn after(found: Option<&str>, bench: &mut Bench) -> String {
    for Section { task, text } in settled(found, bench).heard {
        hear(bench, FILE, task, text);
    }
    found.unwrap_or_default().to_owned() + &settled(found, bench).append.unwrap_or_default()
}

fn hear(bench: &mut Bench, by: &str, task: Option<TaskId>, text: String) {
    bench.accept(&Command::Note { by: by.to_owned(), note: Note::Entry { task, text, for_next: false } });
}

fn nothing(settled: &Reconciled) -> bool {
    settled.heard.is_empty() && settled.append.is_none()
}

fn units(sections: &[Section]) -> Vec<Option<&str>> {
    sections.iter().map(|section| section.task.as_ref().map(TaskId::as_str)).collect()
}

fn own(unit: &str, number: u32, words: &str) -> String {
    format!(
        "## {unit} - Iteration {number} - 2026-01-14T1{number}:00:00Z\n**Did:** {words}\n**Remaining:** More"
    )
}

fn fresh() -> Bench {
    let mut bench = created();
    bench.attach();
    bench
}

/// A run without any work.
fn created() -> Bench {
    let tasks = ["T1", "T2", "T10"].map(|name| {
        let mut spec = spec(name, &[]);
        spec.attempts = 3;
        spec
    });
    let mut plan = plan(&["units"], tasks.into());
    plan.settings.exhausted = Exhausted::Continue;
    Bench::new(plan)
}

/// An iteration whose agent ends without its signal.
fn unfinished(bench: &mut Bench, name: &str) {
    ends(bench, name, AgentEnd::Failed { reason: NOT_FINISHED.to_owned(), feedback: "More".to_owned() });
}

fn ends(bench: &mut Bench, name: &str, end: AgentEnd) {
    bench.start(name);
    bench.ready(name);
    bench.agent_ends(name, end, None);
}

/// One that is done and leaves these files, up to its checks.
fn worked(bench: &mut Bench, name: &str, report: Option<Report>) {
    bench.start(name);
    bench.ready(name);
    bench.agent_ends(name, AgentEnd::Done, report);
    let work = Work {
        commit: Some(oid(7)),
        tree: oid(8),
        changed: true,
        found_work: true,
        touches_judges: true,
        markers: Vec::new(),
        commits: vec![CommitMade { hash: oid(7).to_string(), subject: "feat(x): it".to_owned() }],
        created: vec!["src/new.rs".to_owned()],
        modified: vec!["src/lib.rs".to_owned()],
    };
    let fence = bench.task(name).fence;
    bench.accept(&Command::Captured { task: id(name), fence, pass: 0, work });
}

fn passes(bench: &mut Bench, name: &str) {
    bench.checks_end(name, &Verdict::Pass, "");
}
