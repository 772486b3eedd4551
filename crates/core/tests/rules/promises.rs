//! What the rules promise, each in the smallest run that could break it.

use piton_core::plan::{Exhausted, Schedule, TaskSpec};
use piton_core::run::{Action, AgentEnd, Claim, Class, Command, Status, StopReason, Verdict, Work, next};

use crate::bench::{Bench, evidence, id, oid, plan, spec, work};

#[test]
fn a_task_that_is_done_frees_those_that_wait_for_it() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &["a"])]);
    let start = |name: &str| Action::Start { task: id(name) };
    assert_eq!(next(&bench.state, bench.now), [start("a")]);
    bench.land("a", 1);
    assert!(next(&bench.state, bench.now).contains(&start("b")));
    bench.start("b");
}

#[test]
fn only_a_failure_of_the_work_itself_spends_an_attempt() {
    use Class::{Code, Conflict, Defect, Limit, Stopped, Transient};
    for class in [Code, Conflict, Defect, Limit, Stopped, Transient] {
        let mut bench = Bench::running(vec![spec("a", &[])]);
        bench.start("a");
        bench.fail("a", class);
        assert_eq!(bench.task("a").spent, u32::from(class == Code), "{class:?}");
    }
}

/// A try may end with the very tree of the one before it. Then its checks have to run again.
#[test]
fn a_check_that_failed_is_not_kept_as_a_pass() {
    let text = || "no test ran".to_owned();
    let verdicts = [Verdict::Fail { exit: 1 }, Verdict::Broken { reason: text() }];
    for verdict in verdicts {
        let mut bench = Bench::running(vec![spec("a", &[])]);
        bench.bring("a", Status::Verifying);
        bench.accept(&bench.checks_end("a", 7, verdict));
        assert_eq!(bench.task("a").progress.passes, []);
        bench.start("a");
        bench.ready("a", 0, 0);
        bench.accept(&bench.agent_ends("a", AgentEnd::Done));
        bench.accept(&bench.captured("a", work(7)));
        let fence = bench.task("a").fence;
        let _ =
            bench.refuse(&Command::ChecksEnded { task: id("a"), fence, tree: oid(7), results: Vec::new() });
    }
}

#[test]
fn one_task_lands_at_a_time() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.verify("a", 1, 0);
    bench.verify("b", 2, 0);
    bench.accept(&bench.prepare_landing("a", 1, &[]));
    assert_eq!(bench.refuse(&bench.prepare_landing("b", 2, &[])).reason, "a is landing");
    bench.accept(&bench.landed("a", 1));
    bench.accept(&bench.prepare_landing("b", 2, &["a"]));
}

#[test]
fn a_landing_is_believed_only_as_the_candidate_that_was_intended() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::Merging);
    assert!(bench.refuse(&bench.landed("a", 8)).stale);
    bench.accept(&bench.landed("a", 7));
}

/// A task that may be done already is checked before an agent is started for it.
#[test]
fn a_task_that_is_checked_first_needs_no_agent_where_its_checks_pass() {
    let mut bench = Bench::running(vec![TaskSpec { check_first: true, confirm: true, ..spec("a", &[]) }]);
    bench.start("a");
    bench.ready("a", 0, 0);
    let (task, fence) = (id("a"), bench.task("a").fence);
    assert_eq!(next(&bench.state, bench.now), [Action::Capture { task: task.clone(), fence, pass: 0 }]);
    let untouched = Work { changed: false, found_work: false, ..work(7) };
    bench.accept(&bench.captured("a", untouched));
    bench.accept(&bench.checks_end("a", 7, Verdict::Pass));
    bench.accept(&Command::NothingToLand { task, fence, tree: oid(7), results: Vec::new() });
    assert_eq!(bench.task("a").status(), Status::Completed);
}

#[test]
fn a_task_that_is_checked_first_gets_an_agent_once_its_checks_have_failed() {
    let mut bench = Bench::running(vec![TaskSpec { check_first: true, ..spec("a", &[]) }]);
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.captured("a", Work { changed: false, found_work: false, ..work(7) }));
    bench.accept(&bench.checks_end("a", 7, Verdict::Fail { exit: 1 }));
    assert_eq!((bench.task("a").status(), bench.task("a").spent), (Status::Failed, 1));
    bench.start("a");
    bench.ready("a", 0, 0);
    let fence = bench.task("a").fence;
    assert_eq!(next(&bench.state, bench.now), [Action::Work { task: id("a"), fence, pass: 0 }]);
}

/// An agent works until it says that it is done, and what it left is captured.
fn pass(bench: &mut Bench, name: &str, work: Work) {
    bench.accept(&bench.agent_ends(name, AgentEnd::Done));
    bench.accept(&bench.captured(name, work));
}

#[test]
fn a_fresh_agent_is_asked_to_confirm_only_what_has_passed_its_checks() {
    let mut bench = Bench::running(vec![TaskSpec { confirm: true, ..spec("a", &[]) }]);
    bench.start("a");
    bench.ready("a", 0, 0);
    pass(&mut bench, "a", work(7));
    assert_eq!(bench.task("a").status(), Status::Verifying);
    bench.accept(&bench.checks_end("a", 7, Verdict::Fail { exit: 1 }));
    assert_eq!(bench.task("a").status(), Status::Failed);
    bench.start("a");
    bench.ready("a", 0, 0);
    pass(&mut bench, "a", work(8));
    bench.accept(&bench.checks_end("a", 8, Verdict::Pass));
    assert_eq!(bench.task("a").status(), Status::Confirming);
}

#[test]
fn what_is_to_be_confirmed_is_verified_once_a_pass_has_found_nothing_to_do() {
    let mut bench = Bench::running(vec![TaskSpec { confirm: true, attempts: 5, ..spec("a", &[]) }]);
    bench.start("a");
    bench.ready("a", 0, 0);
    for tree in [7, 8, 9] {
        pass(&mut bench, "a", work(tree));
        bench.accept(&bench.checks_end("a", tree, Verdict::Pass));
        assert_eq!(bench.task("a").status(), Status::Confirming);
    }
    pass(&mut bench, "a", Work { found_work: false, ..work(9) });
    let nothing_new = Command::ChecksEnded { task: id("a"), fence: 1, tree: oid(9), results: Vec::new() };
    bench.accept(&nothing_new);
    assert_eq!(bench.task("a").status(), Status::Verified);
}

#[test]
fn work_that_a_confirming_pass_does_is_worth_an_attempt() {
    let mut bench = Bench::running(vec![TaskSpec { confirm: true, attempts: 3, ..spec("a", &[]) }]);
    bench.start("a");
    bench.ready("a", 0, 0);
    for tree in [7, 8, 9] {
        pass(&mut bench, "a", work(tree));
        bench.accept(&bench.checks_end("a", tree, Verdict::Pass));
    }
    pass(&mut bench, "a", work(10));
    assert_eq!((bench.task("a").status(), bench.task("a").spent), (Status::Abandoned, 3));
}

#[test]
fn what_is_reported_as_done_waits_for_somebody_new_where_it_is_to_be_confirmed() {
    let mut bench = Bench::running(vec![TaskSpec { confirm: true, ..spec("a", &[]) }]);
    let report = |by: &str, claim| {
        let (task, by, report) = (id("a"), by.to_owned(), Box::default());
        Command::Report { task, by, fence: None, claim, report }
    };
    let results = || vec![evidence("a", Verdict::Pass)];
    let work = || piton_core::run::Evidence::file("work");
    let done = |by, tree| {
        report(by, Claim::ToConfirm { tree: Some(oid(tree)), results: results(), evidence: work() })
    };
    let confirmed =
        |by, tree| report(by, Claim::Done { tree: Some(oid(tree)), results: results(), evidence: work() });
    bench.accept(&done("ann", 7));
    assert_eq!(bench.task("a").status(), Status::Confirming);
    assert!(bench.refuse(&done("ann", 7)).reason.contains("someone else has to confirm"));
    // The agent that was to confirm it changed something, so another one has to confirm it.
    bench.accept(&confirmed("bob", 8));
    assert_eq!(bench.task("a").status(), Status::Confirming);
    bench.accept(&confirmed("cleo", 8));
    assert_eq!(bench.task("a").status(), Status::Completed);
}

#[test]
fn a_plan_that_allows_more_brings_back_what_ran_out_of_attempts() {
    let mut bench = Bench::running(vec![TaskSpec { attempts: 1, ..spec("a", &[]) }]);
    let (task, by, report) = (id("a"), "ann".to_owned(), Box::default());
    let claim = Claim::Failed { reason: "no".to_owned() };
    bench.accept(&Command::Report { task, by, fence: None, claim, report });
    assert_eq!(bench.task("a").status(), Status::Abandoned);
    let (engine, reason) = ("e1".to_owned(), StopReason::Person);
    bench.accept(&Command::Detach { engine, reason, tip: Vec::new() });
    let more = |attempts| Command::Replan(Box::new(plan(vec![TaskSpec { attempts, ..spec("a", &[]) }])));
    bench.accept(&more(1));
    assert_eq!(bench.task("a").status(), Status::Abandoned);
    bench.accept(&more(2));
    assert_eq!((bench.task("a").status(), bench.task("a").budget), (Status::Failed, 2));
}

/// What may fail is left behind when its budget is spent, and what depends on it goes on.
#[test]
fn a_task_that_may_fail_holds_nobody_up() {
    let first = TaskSpec { may_fail: true, attempts: 1, ..spec("a", &[]) };
    let mut bench = Bench::running(vec![first, spec("b", &["a"])]);
    bench.start("a");
    bench.fail("a", Class::Code);
    assert_eq!(bench.task("a").status(), Status::PassedOver);
    assert!(bench.task("a").failure_seq.is_some(), "it is known why");
    assert_eq!(next(&bench.state, bench.now), [Action::Start { task: id("b") }]);
}

#[test]
fn a_plan_may_say_that_all_of_its_tasks_may_fail() {
    let tasks = vec![TaskSpec { attempts: 1, ..spec("a", &[]) }, spec("b", &["a"])];
    let mut bench = Bench::running_as(Schedule::Flow, Exhausted::Skip, tasks);
    bench.start("a");
    bench.fail("a", Class::Code);
    assert_eq!(bench.task("a").status(), Status::PassedOver);
    assert_eq!(next(&bench.state, bench.now), [Action::Start { task: id("b") }]);
}

/// The next group begins when nothing in this one can go on, whether it is complete or not.
#[test]
fn a_plan_may_say_that_groups_pass_over_what_was_given_up() {
    for (exhausted, goes_on) in [(Exhausted::Continue, false), (Exhausted::Pass, true)] {
        let tasks = vec![
            TaskSpec { attempts: 1, ..spec("a", &[]) },
            spec("b", &["a"]),
            spec("c", &[]),
            TaskSpec { group: 1, ..spec("d", &[]) },
        ];
        let mut bench = Bench::running_as(Schedule::Layered, exhausted, tasks);
        bench.start("a");
        bench.fail("a", Class::Code);
        assert_eq!(bench.task("b").status(), Status::Unreachable);
        let starts = |bench: &Bench| next(&bench.state, bench.now).contains(&Action::Start { task: id("d") });
        assert!(!starts(&bench), "c can still go on");
        bench.land("c", 7);
        assert_eq!(starts(&bench), goes_on, "{exhausted:?}");
    }
}

#[test]
fn pauses_grow_and_those_that_failed_together_do_not_try_together_again() {
    let names = ["a", "b", "c", "d"];
    let mut bench = Bench::running(names.iter().map(|name| spec(name, &[])).collect());
    let backoff = bench.state.run().expect("it runs").settings.backoff;
    let mut pauses = Vec::new();
    for name in names {
        bench.start(name);
        bench.fail(name, Class::Transient);
        pauses.push(bench.task(name).not_before.expect("a pause").since(bench.now));
    }
    assert!(pauses.iter().all(|pause| pause.0 > backoff.0 / 4 * 3 && *pause <= backoff), "{pauses:?}");
    pauses.sort();
    pauses.dedup();
    assert!(pauses.len() > 1, "all at once: {pauses:?}");
    bench.now = bench.now.plus(backoff);
    bench.start("a");
    bench.fail("a", Class::Transient);
    let second = bench.task("a").not_before.expect("a pause").since(bench.now);
    assert!(second.0 > backoff.0 * 3, "{second}");
}

#[test]
fn what_is_told_about_an_earlier_attempt_is_refused() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.start("a");
    let late = Command::Prepared { task: id("a"), fence: 1, base: oid(1), landed: 0 };
    bench.fail("a", Class::Code);
    bench.start("a");
    let refused = bench.refuse(&late);
    assert!(refused.reason.contains("a was started or reset since (fence 1, now 2)"), "{refused}");
}
