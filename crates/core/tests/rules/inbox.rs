//! What waits for a person, seen from outside.

use piton_core::plan::Schedule;
use piton_core::run::{AgentEnd, Class, Command, Note, Status, StopReason, Task, Verdict};
use piton_core::time::{Span, Timestamp};
use piton_core::view::{Around, Item, Kind, PlanNews, RunStatus, inbox};

use crate::bench::{Bench, evidence, id, oid, session, spec, work};

fn items(bench: &Bench, status: &RunStatus, plan: Option<&PlanNews>) -> Vec<Item> {
    let run = bench.state.run().expect("a run");
    let tasks: Vec<Task> = bench.state.tasks().cloned().collect();
    let explain = |task: &Task| (format!("{} waits", task.id), vec![format!("piton why {}", task.id)]);
    let around = Around { status, active: Timestamp(7), plan, more: &[], explain: &explain };
    inbox(run, &tasks, &around)
}

fn kinds(items: &[Item]) -> Vec<Kind> {
    items.iter().map(|item| item.kind).collect()
}

fn two_that_wait() -> Bench {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[]), spec("c", &[])]);
    bench.bring("a", Status::Abandoned);
    bench.bring("b", Status::Blocked);
    bench
}

#[test]
fn what_holds_up_the_run_comes_before_its_tasks() {
    let bench = two_that_wait();
    let changed = PlanNews::Adopts { tasks: vec![id("d")], since: Some(Timestamp(5)) };
    let all = items(&bench, &RunStatus::Interrupted, Some(&changed));
    assert_eq!(kinds(&all), [Kind::Run, Kind::Plan, Kind::Blocked, Kind::GivenUp]);
    let budget = RunStatus::Stopped(StopReason::Budget { detail: "5 of 5 dollars are spent".to_owned() });
    assert_eq!(items(&bench, &budget, None)[0].reason, "5 of 5 dollars are spent");
    assert_eq!(kinds(&items(&bench, &RunStatus::Running, None)), [Kind::Blocked, Kind::GivenUp]);
}

#[test]
fn a_task_that_waits_again_is_another_item() {
    let mut bench = two_that_wait();
    let key = |bench: &Bench| items(bench, &RunStatus::Running, None)[0].key.clone();
    let first = key(&bench);
    assert_eq!(first, key(&bench), "the same thing keeps its key");
    bench.accept(&Command::Retry { task: id("b"), by: "ann".to_owned() });
    bench.start("b");
    bench.fail("b", Class::Defect);
    assert_eq!(bench.task("b").status(), Status::Blocked);
    assert_ne!(first, key(&bench));
}

#[test]
fn what_is_seen_is_known_for_each_person_until_it_is_over() {
    let mut bench = two_that_wait();
    let keys: Vec<String> =
        items(&bench, &RunStatus::Running, None).into_iter().map(|item| item.key).collect();
    let seen = |items: &[&String], over: &[&String]| Note::Seen {
        items: items.iter().map(|key| (*key).clone()).collect(),
        over: over.iter().map(|key| (*key).clone()).collect(),
    };
    for (by, note) in [("ann", seen(&[&keys[0]], &[])), ("bob", seen(&[&keys[0], &keys[1]], &[]))] {
        bench.accept(&Command::Note { by: by.to_owned(), note });
    }
    let seen_by = |bench: &Bench| {
        items(bench, &RunStatus::Running, None).into_iter().map(|item| item.seen_by).collect::<Vec<_>>()
    };
    assert_eq!(seen_by(&bench), [vec!["ann", "bob"], vec!["bob"]]);
    bench.accept(&Command::Note { by: "bob".to_owned(), note: seen(&[], &[&keys[0]]) });
    assert_eq!(seen_by(&bench), [vec!["ann"], vec!["bob"]]);
}

/// The only item: its key, and since when it waits.
fn only(bench: &Bench, status: &RunStatus) -> (String, Timestamp) {
    let all = items(bench, status, None);
    assert_eq!(all.len(), 1, "{all:?}");
    (all[0].key.clone(), all[0].since.expect("a time"))
}

fn later(bench: &mut Bench) {
    bench.now = bench.now.plus(Span::seconds(1));
}

#[test]
fn a_landing_that_waits_is_one_item_until_it_is_solved() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    let waits = |bench: &mut Bench, reason: &str| {
        later(bench);
        let (task, fence) = (id("a"), bench.task("a").fence);
        bench.accept(&Command::LandingWaits { task, fence, reason: reason.to_owned() });
        only(bench, &RunStatus::Running)
    };
    bench.verify("a", 5, 0);
    let first = waits(&mut bench, "uncommitted changes in x");
    assert_eq!(waits(&mut bench, "uncommitted changes in x, y"), first, "other words");
    // The next engine tries again, and meets the same.
    bench.accept(&bench.prepare_landing("a", 5, &[]));
    assert_eq!(items(&bench, &RunStatus::Running, None), []);
    assert_eq!(waits(&mut bench, "uncommitted changes in y"), first);
    // It goes back to an agent, and waits again.
    let (task, fence) = (id("a"), bench.task("a").fence);
    let (reason, candidate) = ("the target has moved".to_owned(), oid(3005));
    bench.accept(&Command::LandingReturned { task: task.clone(), fence, candidate, reason: reason.clone() });
    let (feedback, pointers) = (String::new(), Box::default());
    bench.accept(&Command::LandingFailed { task, fence, tip: oid(9), reason, feedback, pointers });
    later(&mut bench);
    bench.start("a");
    assert_ne!(waits(&mut bench, "uncommitted changes in x").0, first.0);
}

#[test]
fn a_usage_limit_is_one_item_while_it_lasts() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[]), spec("c", &[])]);
    let limit = |bench: &mut Bench, name: &str, minutes: u64| {
        later(bench);
        let until = bench.now.plus(Span::minutes(minutes));
        let end = AgentEnd::Limit { reason: "used up".to_owned(), until, model: None };
        bench.accept(&bench.agent_ends(name, end));
        only(bench, &RunStatus::Running)
    };
    for name in ["a", "b"] {
        bench.start(name);
        bench.ready(name, 0, 0);
    }
    let first = limit(&mut bench, "a", 5);
    assert_eq!(first.1, bench.now);
    assert_eq!(limit(&mut bench, "b", 6), first, "another agent meets the same limit");
    bench.now = bench.now.plus(Span::minutes(7));
    bench.start("c");
    bench.ready("c", 0, 0);
    assert_ne!(limit(&mut bench, "c", 5).0, first.0, "a new limit");
}

#[test]
fn a_rejected_login_waits_since_the_first_agent_that_met_it() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    let refused = |bench: &mut Bench, name: &str, reason: &str| {
        later(bench);
        bench.accept(&bench.agent_ends(name, AgentEnd::Refused { reason: reason.to_owned() }));
        only(bench, &RunStatus::Running)
    };
    for name in ["a", "b"] {
        bench.start(name);
        bench.ready(name, 0, 0);
    }
    let first = refused(&mut bench, "a", "401");
    assert_eq!(refused(&mut bench, "b", "401 Unauthorized"), first);
    bench.accept(&Command::Unpark { provider: "default".to_owned(), by: "ann".to_owned() });
    assert_eq!(items(&bench, &RunStatus::Running, None), []);
}

#[test]
fn a_stop_is_one_item_until_an_engine_gets_on_with_the_work() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    let stops = |bench: &mut Bench, engine: &str, detail: &str| {
        later(bench);
        let reason = StopReason::Budget { detail: detail.to_owned() };
        bench.accept(&Command::Detach { engine: engine.to_owned(), reason: reason.clone(), tip: Vec::new() });
        only(bench, &RunStatus::Stopped(reason))
    };
    let begins = |bench: &mut Bench, engine: &str| {
        later(bench);
        bench.accept(&Command::Attach { engine: engine.to_owned(), session: session(Schedule::Flow) });
    };
    let first = stops(&mut bench, "e1", "5.01 of 5 dollars are spent");
    assert_eq!(first.1, bench.now);
    begins(&mut bench, "e2");
    assert_eq!(stops(&mut bench, "e2", "5.02 of 5 dollars are spent"), first, "nothing was done");
    begins(&mut bench, "e3");
    bench.land("a", 3);
    assert_ne!(stops(&mut bench, "e3", "5.02 of 5 dollars are spent").0, first.0);
    // Another kind of stop is another item.
    begins(&mut bench, "e4");
    let reason = StopReason::Siblings { detail: "b waits for another list".to_owned() };
    bench.accept(&Command::Detach { engine: "e4".to_owned(), reason: reason.clone(), tip: Vec::new() });
    let elsewhere = items(&bench, &RunStatus::Stopped(reason), None);
    assert_eq!((elsewhere[0].kind, elsewhere[0].since), (Kind::Run, Some(bench.now)));
}

#[test]
fn an_engine_that_is_gone_is_the_same_item_before_and_after_that_is_recorded() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    let before = items(&bench, &RunStatus::Interrupted, None)[0].key.clone();
    let gone = |bench: &mut Bench, engine: &str| {
        let (engine, reason) = (engine.to_owned(), StopReason::death());
        bench.accept(&Command::Detach { engine, reason, tip: Vec::new() });
        only(bench, &RunStatus::Stopped(StopReason::death())).0
    };
    assert_eq!(gone(&mut bench, "e1"), before);
    bench.accept(&Command::Attach { engine: "e2".to_owned(), session: session(Schedule::Flow) });
    assert_ne!(gone(&mut bench, "e2"), before, "each engine dies once");
}

#[test]
fn what_was_noticed_in_a_task_is_one_item_for_each_try() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    let noticed = |bench: &mut Bench, reason: &str| {
        let results = vec![
            evidence("a", Verdict::Pass),
            evidence("tests", Verdict::Noticed { reason: reason.to_owned() }),
        ];
        let (task, fence) = (id("a"), bench.task("a").fence);
        bench.accept(&Command::ChecksEnded { task, fence, tree: oid(4), results });
        only(bench, &RunStatus::Running).0
    };
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    bench.accept(&bench.captured("a", work(4)));
    let first = noticed(&mut bench, "12 tests less");
    let (task, fence) = (id("a"), bench.task("a").fence);
    let (reason, feedback, pointers) = ("conflict".to_owned(), String::new(), Box::default());
    bench.accept(&Command::LandingFailed { task, fence, tip: oid(9), reason, feedback, pointers });
    later(&mut bench);
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    bench.accept(&bench.captured("a", work(4)));
    assert_ne!(noticed(&mut bench, "12 tests less"), first);
}

#[test]
fn a_gate_that_passes_and_is_out_of_date_again_is_another_item() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.land("a", 3);
    let stale = RunStatus::Stale { gates: vec![id("a")] };
    let first = only(&bench, &stale);
    assert_eq!(only(&bench, &stale), first);
    let other = RunStatus::Stale { gates: vec![id("a"), id("b")] };
    assert_eq!(items(&bench, &other, None)[0].key, first.0, "another gate changes nothing");
}

#[test]
fn a_change_of_the_plan_is_one_item_until_the_run_adopts_another_plan() {
    let bench = two_that_wait();
    let key = |news: &PlanNews| items(&bench, &RunStatus::Running, Some(news))[0].key.clone();
    let adopts = PlanNews::Adopts { tasks: vec![id("d")], since: Some(Timestamp(5)) };
    let refuses = PlanNews::Refuses {
        why: "a is completed, and the plan changes it".to_owned(),
        tasks: vec![id("a")],
        difference: "changed: a\nnew: d".to_owned(),
        since: Some(Timestamp(6)),
    };
    assert_eq!(key(&adopts), key(&refuses));
    let broken = PlanNews::Unreadable { why: "plan.toml:3: no task T9".to_owned(), since: None };
    assert_ne!(key(&broken), key(&refuses));
    let item = &items(&bench, &RunStatus::Running, Some(&refuses))[0];
    assert_eq!(
        item.reason,
        "the plan has changed, and you decide about that: a is completed, and the plan changes it"
    );
    assert_eq!(item.detail.as_deref(), Some("changed: a\nnew: d"), "a reason is one line");
    let stopped = RunStatus::Stopped(StopReason::PlanChanged { detail: "changed: a".to_owned() });
    let kinds = kinds(&items(&bench, &stopped, None));
    assert_eq!(kinds, [Kind::Blocked, Kind::GivenUp], "the change was taken back");
}

#[test]
fn a_login_that_stops_the_run_is_one_item() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.agent_ends("a", AgentEnd::Refused { reason: "401".to_owned() }));
    let detail = "default rejects the login of the agent `default`: 401".to_owned();
    let reason = StopReason::Environment { detail };
    bench.accept(&Command::Detach { engine: "e1".to_owned(), reason: reason.clone(), tip: Vec::new() });
    let all = items(&bench, &RunStatus::Stopped(reason), None);
    assert_eq!(kinds(&all), [Kind::Provider]);
    assert_eq!(all[0].helps, ["piton agents test default --plan PLAN", "piton run PLAN"]);
    let reason = StopReason::Environment { detail: "no disk".to_owned() };
    let all = items(&bench, &RunStatus::Stopped(reason), None);
    assert_eq!(kinds(&all), [Kind::Run, Kind::Provider]);
}

#[test]
fn tasks_that_are_not_listed_are_counted() {
    let bench = two_that_wait();
    let run = bench.state.run().expect("a run");
    let tasks: Vec<Task> = bench.state.tasks().cloned().collect();
    let explain = |task: &Task| (format!("{} waits\nfor this", task.id), Vec::new());
    let more = [(Status::Blocked, 12), (Status::Abandoned, 0)];
    let status = RunStatus::Running;
    let around = Around { status: &status, active: Timestamp(7), plan: None, more: &more, explain: &explain };
    let all = inbox(run, &tasks, &around);
    let told: Vec<(Kind, &str, Option<u64>)> =
        all.iter().map(|item| (item.kind, item.reason.as_str(), item.more)).collect();
    assert_eq!(
        told,
        [
            (Kind::Blocked, "b waits", None),
            (Kind::Blocked, "12 more blocked tasks, newer than those listed", Some(12)),
            (Kind::GivenUp, "a waits", None),
        ]
    );
    assert_eq!(all[0].detail.as_deref(), Some("for this"));
}
