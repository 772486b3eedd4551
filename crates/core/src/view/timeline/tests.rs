use super::*;
use crate::chronicle::bench::{Bench, id, plan, spec};
use crate::run::{AgentEnd, Command, StopReason};

/// Minutes after ten, when the run began.
fn minutes(at: Timestamp) -> u64 {
    at.since(Timestamp::parse("2026-01-10T10:00:00Z").expect("a time")).0 / 60_000
}

fn drawn(timeline: &Timeline) -> String {
    let bar = |bar: &Bar| {
        let to = bar.to.map_or("…".to_owned(), |to| minutes(to).to_string());
        let end = bar.end.as_ref().map(|end| format!(" {end}")).unwrap_or_default();
        format!("{} {} {:?} {}–{to}{end}\n", bar.task, bar.attempt, bar.phase, minutes(bar.from))
    };
    let step =
        |step: &Step| format!("{:?} {} {}–{}\n", step.after, step.task, minutes(step.from), minutes(step.to));
    let count = |&(at, count): &(Timestamp, u32)| format!("{}:{count} ", minutes(at));
    let mut text: String = timeline.bars.iter().map(bar).collect();
    text += "critical path\n";
    text.extend(timeline.critical.iter().map(step));
    text += "at once ";
    text.extend(timeline.at_once.iter().map(count));
    text
}

fn of(bench: &Bench) -> Timeline {
    timeline(bench.journal.iter().cloned(), bench.now)
}

#[test]
fn bars_follow_a_task_from_its_start_to_its_landing() {
    let mut bench = Bench::small();
    bench.attach();
    bench.fails("L0-001", &[(11, "Add it")], "expected 201\ngot 422");
    bench.verify("L0-001", &[(12, "Fix it")]);
    bench.land("L0-001");
    bench.clean("L0-001");
    bench.finish("L1-001", 21);
    insta::assert_snapshot!(drawn(&of(&bench)));
}

#[test]
fn what_goes_on_is_open_and_ends_now() {
    let mut bench = Bench::small();
    bench.attach();
    bench.start("L0-001");
    let later = bench.now.plus(Span::minutes(7));
    let timeline = timeline(bench.journal.iter().cloned(), later);
    let [wait, bar] = timeline.bars.as_slice() else { panic!("{:?}", timeline.bars) };
    assert_eq!((wait.phase, wait.to), (Phase::Waiting, Some(bar.from)), "it could start with the engine");
    assert_eq!((bar.phase, bar.to, bar.took(timeline.to)), (Phase::Working, None, Span::minutes(7)));
    assert_eq!((timeline.to, timeline.totals.working), (later, Span::minutes(7)));
    assert_eq!(timeline.critical.len(), 1);
}

#[test]
fn a_place_that_became_free_is_part_of_the_chain() {
    let tasks = vec![spec("L0-001", &[]), spec("L0-002", &[]), spec("L0-003", &[])];
    let mut bench = Bench::new(plan(&["0-setup"], tasks));
    let session = crate::run::Session { max_parallel: 1, ..bench.session() };
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    bench.verify("L0-001", &[(11, "Do it")]);
    bench.verify("L0-002", &[(12, "Do it")]);
    bench.land("L0-001");
    bench.land("L0-002");
    let timeline = of(&bench);
    let steps: Vec<(&str, Cause)> =
        timeline.critical.iter().map(|step| (step.task.as_str(), step.after)).collect();
    assert_eq!(steps, [("L0-001", Cause::Nothing), ("L0-002", Cause::Place)]);
    let whole = timeline.to.since(timeline.from);
    assert_eq!(timeline.decided.sum(), whole, "the chain is as long as the run: {}", drawn(&timeline));
    assert!(timeline.totals.sum() > whole);
}

#[test]
fn a_group_that_had_to_end_is_part_of_the_chain() {
    let tasks = vec![spec("L0-001", &[]), spec("L0-002", &[]), spec("L1-001", &[])];
    let mut bench = Bench::new(plan(&["0-setup", "1-foundation"], tasks));
    let session = crate::run::Session { schedule: crate::plan::Schedule::Layered, ..bench.session() };
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    bench.finish("L0-001", 11);
    bench.finish("L0-002", 12);
    bench.finish("L1-001", 13);
    let timeline = of(&bench);
    let steps: Vec<(&str, Cause)> =
        timeline.critical.iter().map(|step| (step.task.as_str(), step.after)).collect();
    assert_eq!(steps, [("L0-002", Cause::Nothing), ("L1-001", Cause::Group)], "{}", drawn(&timeline));
    assert_eq!(timeline.decided.sum(), timeline.to.since(timeline.from));
}

#[test]
fn while_no_engine_runs_a_person_is_waited_for() {
    let mut bench = Bench::small();
    bench.attach();
    bench.verify("L0-001", &[(11, "Do it")]);
    bench.detach(StopReason::Person);
    bench.now = bench.now.plus(Span::minutes(600));
    bench.attach();
    bench.land("L0-001");
    bench.finish("L1-001", 12);
    let timeline = of(&bench);
    assert_eq!(timeline.totals.held, Span::minutes(601), "{}", drawn(&timeline));
    assert_eq!(timeline.decided.sum(), timeline.to.since(timeline.from));
}

#[test]
fn what_is_blocked_waits_for_a_person_until_it_is_released() {
    let mut bench = Bench::small();
    bench.attach();
    bench.start("L0-001");
    bench.ready("L0-001");
    bench.agent_ends("L0-001", AgentEnd::Blocked { reason: "which one?\nthis or that".to_owned() }, None);
    bench.now = bench.now.plus(Span::minutes(9));
    let by = || "ann".to_owned();
    bench.accept(&Command::Unblock { task: id("L0-001"), by: by(), note: String::new() });
    bench.start("L0-001");
    insta::assert_snapshot!(drawn(&of(&bench)));
}

#[test]
fn what_was_given_up_has_waited_for_the_person_who_retries_it() {
    let mut bench = Bench::small();
    bench.attach();
    bench.fails("L0-001", &[(11, "Do it")], "no");
    let (task, by) = (id("L0-001"), "ann".to_owned());
    bench.accept(&Command::Abandon { task: task.clone(), by: by.clone(), reason: String::new() });
    assert!(of(&bench).bars.iter().all(|bar| bar.to.is_some()), "it is over");
    bench.now = bench.now.plus(Span::minutes(29));
    bench.accept(&Command::Retry { task, by });
    let timeline = of(&bench);
    assert_eq!(timeline.totals.held, Span::minutes(30), "{}", drawn(&timeline));
}

#[test]
fn a_clock_that_was_wrong_for_a_while_does_not_stretch_the_run() {
    let mut bench = Bench::small();
    bench.attach();
    let right = bench.now;
    bench.now = bench.now.plus(Span::minutes(600_000));
    bench.start("L0-001");
    bench.now = right;
    bench.ready("L0-001");
    bench.work("L0-001", &[(11, "Do it")]);
    let timeline = of(&bench);
    assert!(timeline.to.since(timeline.from) < Span::minutes(10), "{}", drawn(&timeline));
}

#[test]
fn events_that_are_a_little_out_of_order_cost_nothing() {
    let mut bench = Bench::small();
    bench.attach();
    bench.finish("L0-001", 11);
    let straight = of(&bench);
    for recorded in bench.journal.iter_mut().skip(1).step_by(2) {
        recorded.at = recorded.at.minus(Span(3));
    }
    let crooked = of(&bench);
    let apart = crooked.totals.sum().0.abs_diff(straight.totals.sum().0);
    assert!(apart < 20, "{apart} ms");
    assert_eq!(crooked.bars.len(), straight.bars.len());
}

#[test]
fn a_run_that_has_not_begun_has_no_time() {
    let bench = Bench::small();
    let timeline = of(&bench);
    assert!(timeline.bars.is_empty() && timeline.critical.is_empty() && timeline.from == timeline.to);
}

#[test]
fn cells_show_what_takes_most_of_them() {
    let bar = |phase, from, to| {
        let (task, from, to) = (id("L0-001"), Timestamp(from), Some(Timestamp(to)));
        Bar { task, attempt: 1, phase, from, to, end: None, seq: 1 }
    };
    let bars = [bar(Phase::Waiting, 10, 22), bar(Phase::Working, 22, 27), bar(Phase::Landing, 27, 60)];
    let shown = |width| -> String {
        let cells = cells(&bars, (Timestamp(0), Timestamp(100)), width);
        cells.into_iter().map(|cell| cell.map_or(' ', Phase::sign)).collect()
    };
    assert_eq!(shown(10), " ░█▒▒▒    ");
    assert_eq!(shown(5), "░▒▒  ");
    assert_eq!(shown(0), "");
    let nothing = cells(&[bar(Phase::Working, 50, 50)], (Timestamp(0), Timestamp(100)), 4);
    assert_eq!(nothing, [None, None, Some(Phase::Working), None]);
    let one_moment = cells(&[bar(Phase::Working, 0, 0)], (Timestamp(0), Timestamp(0)), 2);
    assert_eq!(one_moment, [Some(Phase::Working), None]);
    let counts = [(Timestamp(0), 1), (Timestamp(20), 3), (Timestamp(30), 0)];
    assert_eq!(strip(&counts, (Timestamp(0), Timestamp(100)), 5), [1, 3, 0, 0, 0]);
}
