//! A run that lands as a whole, or group by group: its tasks land on its branch, and tasks that no plan has are its requests.

use piton_core::plan::{Per, Plan, Requests, Schedule, Whole};
use piton_core::run::request::{Phase, Seen};
use piton_core::run::{Action, Command, Event, RequestFact, Status, Waived, Work, next};

use crate::bench::{Bench, id, oid, plan, session, spec, work};

fn whole(per: Per, mut plan: Plan) -> Plan {
    let whole = Some(Whole::new("trunk".to_owned(), &plan, per));
    plan.settings.requests = Some(Requests { per, whole, ..Requests::default() });
    plan
}

fn running(plan: Plan) -> Bench {
    let mut bench = Bench::new(plan);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session: session(Schedule::Flow) });
    bench
}

fn starts(bench: &Bench) -> Vec<String> {
    let actions = next(&bench.state, bench.now);
    let begun = actions.iter().filter_map(|action| match action {
        Action::Start { task } => Some(task.to_string()),
        _ => None,
    });
    begun.collect()
}

/// On a worktree made when so many had landed.
fn land(bench: &mut Bench, name: &str, tree: u64, landed: u32) {
    bench.verify(name, tree, landed);
    bench.accept(&bench.prepare_landing(name, tree, &[]));
    bench.accept(&bench.landed(name, tree));
}

#[test]
fn tasks_land_on_the_branch_and_the_request_waits_for_all_of_them() {
    let mut bench = running(whole(Per::Run, plan(vec![spec("a", &[]), spec("b", &[])])));
    assert_eq!((starts(&bench), bench.task("request").waiting), (vec!["a".to_owned(), "b".to_owned()], 2));
    land(&mut bench, "a", 7, 0);
    assert!(!bench.journal.iter().any(|recorded| matches!(recorded.event, Event::Request { .. })));
    assert_eq!(starts(&bench), ["b"]);
    land(&mut bench, "b", 8, 1);
    assert_eq!(starts(&bench), ["request"]);
    bench.start("request");
    bench.ready("request", 8, 2);
    let begun: Vec<Action> = next(&bench.state, bench.now);
    assert!(begun.iter().any(|action| matches!(action, Action::Capture { .. })), "no agent: {begun:?}");
    assert!(!bench.state.is_complete(), "nothing is completed before the host has merged it");
}

#[test]
fn a_request_has_a_name_that_no_task_has() {
    let run = whole(Per::Run, plan(vec![spec("a", &[]), spec("Request", &[]), spec("request-2", &[])]));
    let of = |plan: &Plan| plan.settings.requests.clone().and_then(|requests| requests.whole);
    assert_eq!(of(&run).map(|whole| whole.task), Some(id("request-3")));
    let mut long = plan(vec![spec("a", &[]), spec("b", &[])]);
    (long.tasks[1].group, long.groups[0].id) =
        (1, piton_core::plan::GroupId::new(&"g".repeat(60)).expect("an id"));
    let groups = of(&whole(Per::Batch, long)).expect("it lands in batches").groups;
    assert_eq!(groups.len(), 1, "the last group has the request of the run");
}

#[test]
fn the_plan_stays_the_same_plan_and_may_get_more_tasks() {
    let plain = plan(vec![spec("a", &[])]);
    let mut bench = running(whole(Per::Run, plain.clone()));
    assert_eq!(bench.state.run().map(|run| run.plan_hash.clone()), Some(plain.hash()));
    let more = plan(vec![spec("a", &[]), spec("b", &[])]);
    bench.accept(&Command::Extend(Box::new(more.clone())));
    assert_eq!((bench.task("request").waiting, bench.task("request").removed), (2, false));
    bench.accept(&Command::Detach {
        engine: "e1".to_owned(),
        reason: piton_core::run::StopReason::Person,
        tip: Vec::new(),
    });
    let other = plan(vec![spec("a", &[]), spec("c", &[])]);
    bench.accept(&Command::Replan(Box::new(other)));
    assert_eq!((bench.task("request").waiting, bench.task("request").removed), (2, false));
    assert!(bench.task("b").removed);
}

/// `a` is on the branch and `b` was skipped: the request is proven.
fn proven() -> Bench {
    let mut bench = running(whole(Per::Run, plan(vec![spec("a", &[]), spec("b", &[])])));
    land(&mut bench, "a", 7, 0);
    bench.accept(&Command::Skip { task: id("b"), by: "ann".to_owned(), reason: String::new() });
    bench.start("request");
    bench.ready("request", 8, 1);
    let same = Work { changed: false, found_work: false, ..work(9) };
    bench.accept(&bench.captured("request", same));
    let fence = bench.task("request").fence;
    let (tree, results) = (oid(9), Vec::new());
    bench.accept(&Command::ChecksEnded { task: id("request"), fence, tree, results });
    bench
}

/// The branch is about to be pushed.
fn prepared() -> Bench {
    let mut bench = proven();
    bench.accept(&bench.prepare_landing("request", 9, &["a"]));
    assert_eq!(bench.task("request").decided, Status::Merging);
    bench
}

fn happened(bench: &Bench, which: fn(&RequestFact) -> bool) -> bool {
    bench.journal.iter().any(|recorded| match &recorded.event {
        Event::Request { fact, .. } => which(fact),
        _ => false,
    })
}

/// The command with the checks of `a` left out.
fn without_its_checks(bench: &Bench, landing: Command) -> Command {
    let Command::PrepareLanding { task, fence, tree, intent, before, results, .. } = landing else {
        panic!("it prepares a landing")
    };
    let waived = Waived { excused: bench.task("a").judges.clone(), ..Waived::default() };
    Command::PrepareLanding { task, fence, tree, intent, before, results, waived }
}

#[test]
fn a_request_has_passed_the_checks_of_the_tasks_that_it_brings() {
    let bench = proven();
    let unseen = bench.prepare_landing("request", 9, &[]);
    assert!(bench.refuse(&unseen).reason.contains("a check has not passed on the merged tree"));
    assert!(bench.decide(&without_its_checks(&bench, unseen)).is_ok(), "they are as red on the branch");
}

#[test]
fn no_task_of_a_run_leaves_the_checks_of_others_out() {
    let mut bench = running(whole(Per::Run, plan(vec![spec("a", &[]), spec("b", &[])])));
    land(&mut bench, "a", 7, 0);
    bench.verify("b", 8, 0);
    let unseen = without_its_checks(&bench, bench.prepare_landing("b", 9, &["b"]));
    assert!(bench.refuse(&unseen).reason.contains("a check has not passed on the merged tree"));
}

#[test]
fn a_request_that_was_merged_before_is_remembered() {
    let mut bench = prepared();
    let (head, fence) = (oid(9 + 3000), bench.task("request").fence);
    for fact in
        [RequestFact::Pushed { head: head.clone() }, RequestFact::Opened { number: 1, url: String::new() }]
    {
        bench.accept(&Command::RequestMoved { task: id("request"), fence, fact });
    }
    let phase = Phase::Merged { commit: Some(oid(77)) };
    let seen = Box::new(Seen { head: head.clone(), phase, ..crate::requests::seen() });
    bench.accept(&Command::RequestSeen { task: id("request"), fence, seen, log: String::new(), tip: None });
    let (commit, tree) = (oid(77), oid(9));
    bench.accept(&Command::RequestLanded { task: id("request"), fence, commit, tree });
    let last = |bench: &Bench| {
        let request = bench.task("request").progress.request.clone().expect("it has one");
        (request.opened.is_some(), request.last_merged().cloned())
    };
    assert_eq!(last(&bench), (true, Some(head.clone())));
    // `b` comes later, and has a request of its own.
    bench.accept(&Command::Reset { task: id("b"), by: "ann".to_owned() });
    land(&mut bench, "b", 10, 1);
    bench.start("request");
    bench.ready("request", 10, 2);
    let same = Work { changed: false, found_work: false, ..work(10) };
    bench.accept(&bench.captured("request", same));
    let (fence, tree) = (bench.task("request").fence, oid(10));
    bench.accept(&Command::ChecksEnded { task: id("request"), fence, tree, results: Vec::new() });
    bench.accept(&bench.prepare_landing("request", 10, &["a", "b"]));
    assert_eq!(last(&bench), (false, Some(head)));
}

#[test]
fn what_lands_on_the_branch_meanwhile_goes_into_the_open_request() {
    let mut bench = prepared();
    bench.accept(&Command::Reset { task: id("b"), by: "ann".to_owned() });
    land(&mut bench, "b", 10, 1);
    assert_eq!(bench.task("request").decided, Status::Verified, "it is proven again, with b");
    assert!(happened(&bench, |fact| matches!(fact, RequestFact::Returned { .. })));
}

#[test]
fn a_request_is_not_merged_while_a_task_is_to_come_into_it() {
    let green = |bench: &mut Bench| {
        let head = oid(9 + 3000);
        let fence = bench.task("request").fence;
        for fact in [
            RequestFact::Pushed { head: head.clone() },
            RequestFact::Opened { number: 1, url: String::new() },
        ] {
            bench.accept(&Command::RequestMoved { task: id("request"), fence, fact });
        }
        let seen = Seen { head, ..crate::requests::seen() };
        let (seen, log, tip) = (Box::new(seen), String::new(), Some(oid(9 + 2000)));
        bench.accept(&Command::RequestSeen { task: id("request"), fence, seen, log, tip });
        happened(bench, |fact| matches!(fact, RequestFact::MergeBegins { .. }))
    };
    assert!(green(&mut prepared()));
    let mut more = prepared();
    more.accept(&Command::Reset { task: id("b"), by: "ann".to_owned() });
    assert!(!green(&mut more), "b is to be done");
}

#[test]
fn a_group_begins_when_the_request_of_the_one_before_it_is_merged() {
    // The longer chain would come first.
    let mut two = plan(vec![spec("a", &[]), spec("b", &[]), spec("c", &["b"])]);
    (two.tasks[1].group, two.tasks[2].group) = (1, 1);
    let mut bench = running(whole(Per::Batch, two));
    assert_eq!(starts(&bench), ["a"], "also where groups do not wait for each other");
    land(&mut bench, "a", 7, 0);
    assert_eq!(starts(&bench), ["request-g0"]);
    bench.accept(&Command::Skip { task: id("request-g0"), by: "ann".to_owned(), reason: String::new() });
    assert_eq!(starts(&bench), ["b"]);
    assert_eq!((bench.task("request").waiting, bench.task("request-g0").gate), (2, false));
}
