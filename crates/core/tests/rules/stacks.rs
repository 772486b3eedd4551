//! Tasks that begin on the open requests of what they depend on, and land after them all the same.

use piton_core::plan::{MergeBy, Per, Plan, Requests, Schedule};
use piton_core::run::request::{Mergeable, Phase, RedCheck, Seen};
use piton_core::run::{Action, Command, Event, Footing, Holder, RequestFact, Status, next};

use crate::bench::{Bench, id, oid, plan, session, spec};
use crate::requests::seen;

/// The target's tip for all of them.
const TIP: u64 = 900;

fn stacked(stack: bool) -> Plan {
    let mut plan = plan(vec![spec("a", &[]), spec("b", &["a"]), spec("c", &["b"])]);
    plan.settings.requests = Some(Requests { stack, ..Requests::default() });
    plan
}

/// A run in which `a` has an open request.
fn with_a_open(stack: bool) -> Bench {
    let mut bench = Bench::new(stacked(stack));
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session: session(Schedule::Flow) });
    bench.verify("a", 1, 0);
    open(&mut bench, "a", 1, &[]);
    bench
}

/// And `b` has one that stands on it.
fn with_b_open() -> Bench {
    let mut bench = with_a_open(true);
    bench.verify("b", 2, 0);
    open(&mut bench, "b", 2, &[("a", 1)]);
    bench
}

fn head(tree: u64) -> u64 {
    tree + 3000
}

fn prepare(bench: &Bench, name: &str, tree: u64, on: &[(&str, u64)]) -> Command {
    let Command::PrepareLanding { task, fence, tree, mut intent, before, results, waived } =
        bench.prepare_landing(name, tree, &[name])
    else {
        unreachable!("it makes one")
    };
    intent.old = oid(TIP);
    intent.on = on.iter().map(|(task, tree)| Footing { task: id(task), head: oid(head(*tree)) }).collect();
    Command::PrepareLanding { task, fence, tree, intent, before, results, waived }
}

fn moved(bench: &mut Bench, name: &str, fact: RequestFact) {
    let fence = bench.task(name).fence;
    bench.accept(&Command::RequestMoved { task: id(name), fence, fact });
}

fn open(bench: &mut Bench, name: &str, tree: u64, on: &[(&str, u64)]) {
    let command = prepare(bench, name, tree, on);
    bench.accept(&command);
    moved(bench, name, RequestFact::Pushed { head: oid(head(tree)) });
    if bench.task(name).progress.request.as_ref().is_some_and(|request| request.opened.is_none()) {
        moved(bench, name, RequestFact::Opened { number: tree, url: String::new() });
    }
}

fn says(bench: &mut Bench, name: &str, tree: u64, tip: u64, said: Seen) {
    let fence = bench.task(name).fence;
    let seen = Box::new(Seen { head: oid(head(tree)), ..said });
    bench.accept(&Command::RequestSeen {
        task: id(name),
        fence,
        seen,
        log: String::new(),
        tip: Some(oid(tip)),
    });
}

fn red() -> Seen {
    Seen { passed: 0, red: vec![RedCheck { name: "build".to_owned(), url: String::new() }], ..seen() }
}

/// The host has merged it, and the local target has followed.
fn lands(bench: &mut Bench, name: &str, tree: u64, commit: u64) {
    says(bench, name, tree, TIP, Seen { phase: Phase::Merged { commit: Some(oid(commit)) }, ..seen() });
    let fence = bench.task(name).fence;
    bench.accept(&Command::RequestLanded { task: id(name), fence, commit: oid(commit), tree: oid(tree) });
    assert_eq!(bench.task(name).decided, Status::Completed);
}

fn starts(bench: &Bench) -> Vec<String> {
    let actions = next(&bench.state, bench.now);
    let begun = actions.into_iter().filter_map(|action| match action {
        Action::Start { task } => Some(task.to_string()),
        _ => None,
    });
    begun.collect()
}

fn is_unstacked(bench: &Bench, name: &str) -> bool {
    let actions = next(&bench.state, bench.now);
    actions.iter().any(|action| matches!(action, Action::Unstack { task, .. } if *task == id(name)))
}

fn last_fact(bench: &Bench) -> Option<&RequestFact> {
    bench.journal.iter().rev().find_map(|recorded| match &recorded.event {
        Event::Request { fact, .. } => Some(fact),
        _ => None,
    })
}

#[test]
fn a_task_begins_on_an_open_request_only_where_that_is_asked_for() {
    let bench = with_a_open(true);
    assert_eq!((bench.task("b").waiting, bench.task("b").open), (1, 1));
    assert_eq!(starts(&bench), ["b"], "and not c, whose dependency has no request");
    let by_hand = Command::Start { task: id("b"), holder: Holder::Ledger("ann".to_owned()) };
    assert!(bench.refuse(&by_hand).reason.contains("depends on tasks that are not done"));
    let bench = with_a_open(false);
    assert_eq!((bench.task("b").open, starts(&bench).len()), (1, 0));
    let mut whole = stacked(true);
    whole.settings.requests = Some(Requests { stack: true, per: Per::Run, ..Requests::default() });
    let mut bench = Bench::new(whole);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session: session(Schedule::Flow) });
    assert_eq!(starts(&bench), ["a"]);
}

#[test]
fn what_a_request_was_proven_on_is_what_is_open_now() {
    let mut bench = with_a_open(true);
    bench.verify("b", 2, 0);
    assert!(bench.refuse(&prepare(&bench, "b", 2, &[])).stale, "nothing below");
    assert!(bench.refuse(&prepare(&bench, "b", 2, &[("a", 9)])).stale, "another head");
    open(&mut bench, "b", 2, &[("a", 1)]);
    assert_eq!(starts(&bench), ["c"], "it goes on upwards");
}

#[test]
fn a_request_that_stands_on_another_is_merged_after_it_and_proven_again_without_it() {
    let mut bench = with_b_open();
    says(&mut bench, "b", 2, TIP, seen());
    let waits = bench.task("b").progress.waits.clone().expect("words");
    assert!(waits.contains("it stands on a, and is merged after that"), "{waits}");
    assert_eq!(bench.state.run().and_then(|run| run.merging.clone()), None);
    // Even if a person has merged it there.
    says(&mut bench, "b", 2, TIP, Seen { phase: Phase::Merged { commit: Some(oid(98)) }, ..seen() });
    let merged = bench.task("b").progress.request.as_ref().and_then(|request| request.merged.clone());
    assert_eq!((bench.task("b").decided, merged), (Status::Merging, None));
    let mut bench = with_b_open();
    lands(&mut bench, "a", 1, 99);
    says(&mut bench, "b", 2, 99, seen());
    assert_eq!(bench.task("b").decided, Status::Verified, "it was proven on what is gone");
    assert!(
        matches!(last_fact(&bench), Some(RequestFact::Returned { reason }) if reason.contains("has landed: a"))
    );
    // The judge of a belongs to what it has to pass now.
    let Command::PrepareLanding { task, fence, tree, mut intent, before, waived, .. } =
        prepare(&bench, "b", 3, &[])
    else {
        unreachable!("it makes one")
    };
    intent.old = oid(99);
    let Command::PrepareLanding { results, .. } = bench.prepare_landing("b", 3, &["a", "b"]) else {
        unreachable!("it makes one")
    };
    bench.accept(&Command::PrepareLanding { task, fence, tree, intent, before, results, waived });
    moved(&mut bench, "b", RequestFact::Pushed { head: oid(head(3)) });
    says(&mut bench, "b", 3, 99, seen());
    assert!(matches!(last_fact(&bench), Some(RequestFact::MergeBegins { .. })));
}

#[test]
fn what_is_red_below_as_well_is_not_sent_back_above() {
    let mut bench = with_b_open();
    says(&mut bench, "b", 2, TIP, red());
    assert_eq!(bench.task("b").decided, Status::Merging, "nobody knows yet whose fault it is");
    says(&mut bench, "a", 1, TIP, Seen { mergeable: Mergeable::Blocked, ..seen() });
    says(&mut bench, "b", 2, TIP, red());
    assert_eq!(bench.task("b").decided, Status::Failed, "it is its own");
    assert_eq!(bench.task("b").progress.request.as_ref().map(|request| request.rounds), Some(1));
}

#[test]
fn a_task_whose_footing_is_closed_waits_with_its_work_and_pays_nothing() {
    let mut bench = with_b_open();
    let before = bench.task("b").clone();
    says(&mut bench, "a", 1, TIP, Seen { phase: Phase::Closed, ..seen() });
    assert!(is_unstacked(&bench, "b"));
    let fence = bench.task("b").fence;
    bench.accept(&Command::Unstack { task: id("b"), fence, reason: None });
    let after = bench.task("b");
    assert_eq!((after.decided, after.status(), after.spent), (Status::Pending, Status::Unreachable, 0));
    assert_eq!((&after.progress.commit, after.attempt), (&before.progress.commit, before.attempt));
    assert_eq!(after.progress.request.as_ref().map(|request| request.opened.is_some()), Some(true));
    assert!(bench.refuse(&Command::Unstack { task: id("b"), fence, reason: None }).stale);
    // Its checks come first when what it depends on is settled in another way, and no agent.
    bench.accept(&Command::Skip { task: id("a"), by: "ann".to_owned(), reason: String::new() });
    bench.start("b");
    assert_eq!((bench.task("b").decided, bench.task("b").attempt), (Status::Verifying, 1));
}

#[test]
fn while_a_footing_is_proven_again_nothing_is_taken_away() {
    let mut bench = with_b_open();
    // The target has moved: a is brought up to it.
    says(&mut bench, "a", 1, 77, seen());
    assert_eq!(bench.task("a").decided, Status::Verified);
    assert!(!is_unstacked(&bench, "b"));
    let fence = bench.task("b").fence;
    assert!(bench.refuse(&Command::Unstack { task: id("b"), fence, reason: None }).stale);
    assert_eq!(starts(&bench), ["c"], "b still has a request of its own");
}

#[test]
fn requests_that_do_not_fit_together_are_waited_for_until_they_have_landed() {
    let mut bench = with_a_open(true);
    bench.start("b");
    let fence = bench.task("b").fence;
    let reason = Some("they conflict in log.txt".to_owned());
    bench.accept(&Command::Unstack { task: id("b"), fence, reason });
    assert_eq!(
        (bench.task("b").decided, bench.task("b").spent, starts(&bench).len()),
        (Status::Pending, 0, 0)
    );
    lands(&mut bench, "a", 1, 99);
    assert_eq!(starts(&bench), ["b"]);
}

#[test]
fn a_person_is_not_asked_to_merge_what_stands_on_another_request() {
    let mut bench = with_b_open();
    for (name, tree) in [("a", 1), ("b", 2)] {
        says(&mut bench, name, tree, TIP, Seen { pending: vec!["build".to_owned()], ..seen() });
        let fence = bench.task(name).fence;
        let green = Box::new(Seen { head: oid(head(tree)), ..seen() });
        let (task, log) = (id(name), String::new());
        let events = bench.decide(&Command::RequestSeen { task, fence, seen: green, log, tip: None });
        bench.record(events.expect("it may say so"));
    }
    let settings = Requests { merge: MergeBy::Person, ..Requests::default() };
    let waits = |name: &str| {
        let request = bench.task(name).progress.request.as_ref().expect("it is open");
        request.waits_for_person(&settings)
    };
    assert_eq!((waits("a"), waits("b")), (true, false));
}
