//! Durable changes of state, as the engine makes them.

use std::time::{Duration, Instant};

use piton_core::plan::{Exhausted, Group, GroupId, Oid, Plan, RunId, Settings, TaskId, TaskSpec};
use piton_core::run::{Claim, Command, Holder, NewRun, Report};
use piton_core::time::{Span, Timestamp};
use piton_engine::journal::Journal;

use crate::bench::{Figure, Raw, folder, median};

pub(crate) const CHANGES: usize = 400;
pub(crate) const GROUP: usize = 64;

pub(crate) fn figures() -> Vec<Figure> {
    // The disk has its moods: of five, the one in the middle.
    let mut runs: Vec<_> = (0..5).map(|_| single(100)).collect();
    runs.sort_by(|(a, floor_a, _), (b, floor_b, _)| {
        (a.as_secs_f64() / floor_a.as_secs_f64()).total_cmp(&(b.as_secs_f64() / floor_b.as_secs_f64()))
    });
    let (small, raw, bytes) = runs[2];
    let (large, ..) = single(100_000);
    let rate = grouped();
    vec![
        Figure::times(
            format!(
                "durable change in the engine, 100 tasks (a raw WAL + FULL commit of the same {bytes} bytes)"
            ),
            small,
            raw,
            "1.5 ×",
        ),
        Figure::times("the same with 100,000 tasks (floor: with 100)", large, small, "2.5 ×"),
        Figure::plain(
            format!("changes in groups of {GROUP}"),
            format!("{rate} per second"),
            "≥ 15,000 per second",
        ),
    ]
}

/// The median of one change, of a raw commit beside it, and how many bytes of events a change is.
fn single(tasks: usize) -> (Duration, Duration, usize) {
    let (_temp, path) = folder();
    let mut journal = Journal::open(&path.join("piton")).unwrap();
    let run = create(&mut journal, tasks);
    let mut state = journal.load(&run).unwrap();
    let raw = Raw::open(&path);
    let (mut ours, mut floor, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (n, command) in changes(tasks).take(CHANGES).enumerate() {
        let start = Instant::now();
        let done = journal.commit(&run, &mut state, &[command], at(n)).unwrap();
        ours.push(start.elapsed());
        let events = done.outcomes.into_iter().next().unwrap().unwrap();
        let text: String = events.iter().map(|event| serde_json::to_string(&event.event).unwrap()).collect();
        bytes = text.len();
        floor.push(raw.commit(&text));
    }
    (median(ours), median(floor), bytes)
}

fn grouped() -> u64 {
    let (_temp, path) = folder();
    let mut journal = Journal::open(&path.join("piton")).unwrap();
    let run = create(&mut journal, 10_000);
    let mut state = journal.load(&run).unwrap();
    let all: Vec<Command> = changes(10_000).take(200 * GROUP).collect();
    let start = Instant::now();
    let mut made = 0;
    for (n, group) in all.chunks(GROUP).enumerate() {
        let done = journal.commit(&run, &mut state, group, at(n)).unwrap();
        made += done.outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    }
    assert_eq!(made, all.len());
    (made as f64 / start.elapsed().as_secs_f64()).round() as u64 / 100 * 100
}

/// Take a task, report it done, take the next one.
pub(crate) fn changes(tasks: usize) -> impl Iterator<Item = Command> {
    // Spread over the plan, so that no page of the database is favoured.
    let names = (0..tasks).map(move |n| TaskId::new(&format!("T{}", n * 7919 % tasks + 1)).unwrap());
    names.flat_map(|task| {
        let report = Report { note: "It is done, and this is how.".to_owned(), ..Report::default() };
        let claim = Claim::Done {
            tree: None,
            results: Vec::new(),
            evidence: piton_core::run::Evidence::file("work"),
        };
        [
            Command::Start { task: task.clone(), holder: Holder::Ledger("me".to_owned()) },
            Command::Report { task, by: "me".to_owned(), fence: None, claim, report: Box::new(report) },
        ]
    })
}

pub(crate) fn create(journal: &mut Journal, tasks: usize) -> RunId {
    let spec = |n: usize| TaskSpec {
        id: TaskId::new(&format!("T{n}")).unwrap(),
        title: format!("Write the file of {n}"),
        prompt: "Write it.".to_owned(),
        group: 0,
        depends_on: Vec::new(),
        files: Vec::new(),
        criteria: Vec::new(),
        checks: Vec::new(),
        priority: 5,
        agent: "default".to_owned(),
        attempts: 3,
        confirm: false,
        may_change_nothing: false,
        check_first: false,
        may_fail: false,
        gate: false,
        by_person: false,
        timeout: Span::minutes(30),
        silence: None,
        exports: Vec::new(),
        outside: Vec::new(),
        source: None,
    };
    let run = RunId::new("bench-1").unwrap();
    let settings = Settings { exhausted: Exhausted::Continue, ..Settings::default() };
    let group = Group { id: GroupId::new("main").unwrap(), title: String::new() };
    let plan = Plan {
        name: "bench".to_owned(),
        groups: vec![group],
        tasks: (1..=tasks).map(spec).collect(),
        settings,
    };
    let new = NewRun {
        run: run.clone(),
        plan,
        plan_path: "/p/plan.toml".to_owned(),
        target: Some("main".to_owned()),
        base: Some(Oid::new(&"1".repeat(40)).unwrap()),
        worktree_dir: None,
    };
    journal.command(&run, &Command::Create(Box::new(new)), at(0)).unwrap();
    run
}

pub(crate) fn at(n: usize) -> Timestamp {
    Timestamp(1_790_000_000_000 + i64::try_from(n).unwrap())
}
