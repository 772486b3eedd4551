//! Runs to write down, shared by the tests of this room.

mod anything;
mod edits;
mod golden;
mod rows;
mod trips;

use serde_json::Value;

use super::*;
use crate::chronicle::bench::{Bench, id, oid, plan, spec};
use crate::plan::{Domain, Exhausted, Iterative, Mode, Plan, Schedule, TaskSpec};
use crate::run::{AgentEnd, Claim, Closing, Command, CommitMade, Report, Status, Verdict, Work};
use crate::system::Form;

const UNITS: [&str; 5] = ["T1", "T2", "T3", "T4", "T5"];

fn unit(name: &str, needs: &[&str], attempts: u32) -> TaskSpec {
    TaskSpec { confirm: true, attempts, ..spec(name, needs) }
}

fn bench(mode: Mode, units: Vec<TaskSpec>) -> Bench {
    let is_code = mode == Mode::Development;
    let names: Vec<String> = units.iter().map(|unit| unit.id.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let review = TaskSpec { group: 1, check_first: true, may_change_nothing: true, ..spec("review", &names) };
    let tasks = units.into_iter().chain([review]).collect();
    let mut plan: Plan = plan(&[if is_code { "tasks" } else { "phases" }, "review"], tasks);
    plan.name = if is_code { "user-auth" } else { "future-work" }.to_owned();
    plan.settings.schedule = Schedule::Flow;
    plan.settings.exhausted = Exhausted::Continue;
    let name = if is_code { "user-authentication" } else { "future-of-work-synthesis" };
    plan.settings.form = Form::Iterative(Box::new(Iterative {
        slug: plan.name.clone(),
        name: name.to_owned(),
        mode,
        domains: vec![if is_code { Domain::Feature } else { Domain::Research }],
        ..Iterative::default()
    }));
    Bench::new(plan)
}

/// Five tasks, the last of which waits for the third.
fn fresh() -> Bench {
    let units = vec![
        unit("T1", &[], 5),
        unit("T2", &["T1"], 8),
        unit("T3", &["T1"], 10),
        unit("T4", &[], 5),
        unit("T5", &["T3"], 5),
    ];
    bench(Mode::Development, units)
}

fn research() -> Bench {
    bench(Mode::Knowledge, vec![unit("R1", &[], 5), unit("R2", &["R1"], 5), unit("R3", &["R2"], 8)])
}

/// One pass of an agent, which is done and leaves this commit, or nothing new.
fn pass(bench: &mut Bench, name: &str, commit: Option<(u64, &str)>) {
    let task = bench.task(name).clone();
    let (fence, pass) = (task.fence, task.progress.confirmations);
    bench.accept(&Command::AgentEnded {
        task: id(name),
        fence,
        pass,
        end: AgentEnd::Done,
        took: crate::time::Span::minutes(1),
        report: None,
        closing: Closing::default(),
    });
    let before = task.progress.commit.clone();
    // A capture names all that was committed since the base.
    let known = bench.chronicle.task(&task.id).map(|story| story.commits.as_slice()).unwrap_or_default();
    let known =
        known.iter().map(|made| CommitMade { hash: made.hash.clone(), subject: made.subject.clone() });
    let made = |(n, subject): (u64, &str)| CommitMade {
        hash: format!("{n:07x}{:033}", 0),
        subject: subject.to_owned(),
    };
    let commits: Vec<CommitMade> = known.chain(commit.map(made)).collect();
    let work = Work {
        commit: commit.map(|(n, _)| oid(n)).or(before),
        tree: commit.map(|(n, _)| oid(n + 1000)).or(task.progress.tree.clone()).expect("captured before"),
        changed: true,
        found_work: commit.is_some(),
        touches_judges: true,
        markers: Vec::new(),
        commits,
        created: Vec::new(),
        modified: Vec::new(),
    };
    bench.accept(&Command::Captured { task: id(name), fence, pass, work });
    let task = bench.task(name);
    if task.decided == Status::Verifying && task.awaits_confirmation() {
        bench.checks_end(name, &Verdict::Pass, "");
    }
}

/// An iteration that ends without being done.
fn falls_short(bench: &mut Bench, name: &str) {
    bench.start(name);
    bench.ready(name);
    let end = AgentEnd::Failed { reason: "no signal that it is done".to_owned(), feedback: String::new() };
    bench.agent_ends(name, end, None);
}

/// An iteration that is done, is confirmed and verified, and lands.
fn is_done(bench: &mut Bench, name: &str, commit: (u64, &str)) {
    bench.start(name);
    bench.ready(name);
    pass(bench, name, Some(commit));
    pass(bench, name, None);
    bench.checks_end(name, &Verdict::Pass, "");
    bench.land(name);
    bench.clean(name);
}

/// One is done after three iterations, one after a pass that found work; one is being confirmed.
fn middle() -> Bench {
    let mut bench = fresh();
    bench.attach();
    falls_short(&mut bench, "T1");
    falls_short(&mut bench, "T1");
    is_done(&mut bench, "T1", (0xabc_1234, "feat(user-auth): Add User model"));
    bench.start("T2");
    bench.ready("T2");
    pass(&mut bench, "T2", Some((0xdef_5678, "feat(user-auth): Create auth service")));
    pass(&mut bench, "T2", Some((0xdef_5679, "feat(user-auth): Refuse empty passwords")));
    pass(&mut bench, "T2", None);
    bench.checks_end("T2", &Verdict::Pass, "");
    bench.land("T2");
    bench.clean("T2");
    falls_short(&mut bench, "T3");
    bench.start("T3");
    bench.ready("T3");
    pass(&mut bench, "T3", Some((0x123_4567, "feat(user-auth): Keep sessions")));
    bench
}

/// One has used up its iterations, one waits for it in vain, one needs a person.
fn stuck() -> Bench {
    let mut bench = middle();
    pass(&mut bench, "T3", None);
    bench.checks_end("T3", &Verdict::Fail { exit: 1 }, "sessions never end");
    for _ in 0..8 {
        falls_short(&mut bench, "T3");
    }
    bench.report("T4", Claim::Blocked { reason: "nobody knows the key".to_owned() }, Report::default());
    bench
}

/// Everything is done and reviewed.
fn over() -> Bench {
    let mut bench = research();
    bench.attach();
    for (nth, name) in (1..).zip(["R1", "R2", "R3"]) {
        is_done(&mut bench, name, (nth, ""));
    }
    bench.start("review");
    bench.ready("review");
    let task = bench.task("review").clone();
    let work = Work {
        commit: Some(oid(1)),
        tree: oid(77),
        changed: false,
        found_work: false,
        touches_judges: true,
        markers: Vec::new(),
        commits: Vec::new(),
        created: Vec::new(),
        modified: Vec::new(),
    };
    bench.accept(&Command::Captured { task: task.id.clone(), fence: task.fence, pass: 0, work });
    bench.checks_end("review", &Verdict::Pass, "");
    bench.land("review");
    bench
}

fn file(bench: &Bench) -> StateFile {
    project(&bench.state, &bench.chronicle).expect("a run")
}

fn shown(bench: &Bench) -> String {
    text(&file(bench))
}

fn json(bench: &Bench) -> Value {
    value(&file(bench))
}
