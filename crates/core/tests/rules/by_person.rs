//! Tasks that a person does: no agent gets one, and the person's word completes it.

use piton_core::plan::TaskSpec;
use piton_core::run::{Action, Claim, Command, Evidence, Holder, Proof, Status, StopReason, next};

use crate::bench::{Bench, id, plan, spec};

fn by_person(name: &str, needs: &[&str]) -> TaskSpec {
    TaskSpec { by_person: true, checks: Vec::new(), ..spec(name, needs) }
}

fn begun(name: &str) -> Command {
    Command::Start { task: id(name), holder: Holder::Engine }
}

fn done(name: &str) -> Command {
    let claim = Claim::Done { tree: None, results: Vec::new(), evidence: Evidence::default() };
    Command::Report { task: id(name), by: "ann".to_owned(), fence: None, claim, report: Box::default() }
}

#[test]
fn its_turn_comes_and_it_waits_for_the_person() {
    let mut bench = Bench::running(vec![by_person("a", &[]), spec("b", &["a"])]);
    bench.accept(&begun("a"));
    assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Blocked, 0));
    assert_eq!(bench.task("a").holder, None);
    // Nothing is done about it meanwhile, and what depends on it waits.
    let actions = next(&bench.state, bench.now);
    assert!(!actions.iter().any(|action| matches!(action, Action::Start { .. })), "{actions:?}");
    bench.accept(&done("a"));
    assert_eq!(
        (bench.task("a").decided, bench.task("a").proof.clone()),
        (Status::Completed, Some(Proof::Reported))
    );
    bench.accept(&begun("b"));
    assert_eq!(bench.task("b").decided, Status::InProgress);
}

#[test]
fn a_person_may_be_done_before_its_turn() {
    let mut bench = Bench::running(vec![by_person("a", &[])]);
    bench.accept(&done("a"));
    assert_eq!(bench.task("a").decided, Status::Completed);
}

#[test]
fn a_person_has_to_wait_for_what_it_depends_on() {
    let bench = Bench::running(vec![spec("a", &[]), by_person("b", &["a"])]);
    let refused = bench.refuse(&done("b"));
    assert!(refused.reason.contains("depends on tasks that are not done"), "{refused}");
    let refused = bench.refuse(&begun("b"));
    assert!(refused.reason.contains("depends on tasks that are not done"), "{refused}");
}

#[test]
fn a_blocked_task_of_an_agent_is_not_completed_by_a_word() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    let claim = Claim::Blocked { reason: "the task is wrong".to_owned() };
    let report = Box::default();
    bench.accept(&Command::Report { task: id("a"), by: "ann".to_owned(), fence: None, claim, report });
    let refused = bench.refuse(&done("a"));
    assert!(refused.reason.contains("a is blocked"), "{refused}");
}

#[test]
fn it_can_be_skipped() {
    let mut bench = Bench::running(vec![by_person("a", &[]), spec("b", &["a"])]);
    bench.accept(&begun("a"));
    let (by, reason) = ("ann".to_owned(), "not needed".to_owned());
    bench.accept(&Command::Skip { task: id("a"), by, reason });
    assert_eq!(bench.task("a").decided, Status::Skipped);
}

#[test]
fn a_task_that_the_plan_no_longer_keeps_for_a_person_gets_an_agent() {
    let mut bench = Bench::running(vec![by_person("a", &[])]);
    bench.accept(&begun("a"));
    assert_eq!(bench.task("a").decided, Status::Blocked);
    let reason = StopReason::Environment { detail: "it died".to_owned() };
    bench.accept(&Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() });
    bench.accept(&Command::Replan(Box::new(plan(vec![spec("a", &[])]))));
    let task = bench.task("a");
    assert_eq!((task.decided, task.by_person), (Status::Failed, false), "it may begin");
}
