//! Work that was there before its agent began: one explicit word completes it, with green checks and a fresh look.

use piton_core::plan::TaskSpec;
use piton_core::run::{AgentEnd, Claim, Command, Event, Evidence, Proof, Status, Verdict, Work};
use piton_core::time::Span;

use crate::bench::{Bench, id, oid, spec, work};

fn already() -> AgentEnd {
    AgentEnd::Already { reason: "it is in lib.rs".to_owned() }
}

fn untouched() -> Work {
    Work { changed: false, found_work: false, ..work(7) }
}

/// An agent ends like this, and has changed nothing.
fn after(task: TaskSpec, end: AgentEnd) -> Bench {
    let mut bench = Bench::running(vec![task]);
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.agent_ends("a", end));
    if bench.task("a").decided == Status::InProgress {
        bench.accept(&bench.captured("a", untouched()));
    }
    bench
}

fn nothing_to_land(bench: &Bench) -> Command {
    let (task, fence) = (id("a"), bench.task("a").fence);
    Command::NothingToLand { task, fence, tree: oid(7), results: Vec::new() }
}

fn feedback(bench: &Bench) -> &str {
    match &bench.journal.last().expect("not empty").event {
        Event::Failed { feedback, .. } => feedback,
        other => panic!("{other:?}"),
    }
}

#[test]
fn work_that_was_there_is_completed_once_a_fresh_agent_finds_nothing_to_do_either() {
    let mut bench = after(spec("a", &[]), already());
    assert_eq!(bench.task("a").decided, Status::Verifying, "its checks decide");
    bench.accept(&bench.checks_end("a", 7, Verdict::Pass));
    assert_eq!(bench.task("a").decided, Status::Confirming);
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    bench.accept(&bench.captured("a", untouched()));
    let fence = bench.task("a").fence;
    let (tree, results) = (oid(7), Vec::new());
    bench.accept(&Command::ChecksEnded { task: id("a"), fence, tree, results });
    bench.accept(&nothing_to_land(&bench));
    let reason = Some("it is in lib.rs".to_owned());
    assert_eq!(bench.task("a").proof, Some(Proof::Checked { tree: Some(oid(7)), already: reason }));
}

#[test]
fn the_word_is_no_proof_where_the_checks_are_red() {
    let mut bench = after(spec("a", &[]), already());
    bench.accept(&bench.checks_end("a", 7, Verdict::Fail { exit: 1 }));
    assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Failed, 1));
}

#[test]
fn a_plan_that_expects_it_spares_the_second_look() {
    let mut bench = after(TaskSpec { may_change_nothing: true, ..spec("a", &[]) }, already());
    bench.accept(&bench.checks_end("a", 7, Verdict::Pass));
    assert_eq!(bench.task("a").decided, Status::Verified);
    bench.accept(&nothing_to_land(&bench));
    assert!(matches!(bench.task("a").proof, Some(Proof::Checked { already: Some(_), .. })));
}

#[test]
fn who_changes_nothing_without_the_word_fails_and_hears_which_word_is_meant() {
    let bench = after(spec("a", &[]), AgentEnd::Done);
    assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Failed, 1));
    let told = feedback(&bench);
    assert!(told.contains("`<signal>a_ALREADY:why</signal>`"), "{told}");
    assert!(told.contains("`piton report a already --reason WHY`"), "{told}");
    let bench = after(spec("a", &[]), AgentEnd::Already { reason: " ".to_owned() });
    assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Failed, 1), "it says no reason");
    assert!(feedback(&bench).contains("a_ALREADY:why"), "{}", feedback(&bench));
}

#[test]
fn a_fresh_agent_that_finds_something_to_do_makes_it_ordinary_work() {
    let mut bench = after(spec("a", &[]), already());
    bench.accept(&bench.checks_end("a", 7, Verdict::Pass));
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    bench.accept(&bench.captured("a", work(8)));
    bench.accept(&bench.checks_end("a", 8, Verdict::Pass));
    assert_eq!(bench.task("a").decided, Status::Verified);
    assert_eq!(bench.task("a").progress.already, None);
    assert!(bench.refuse(&nothing_to_land(&bench)).reason.contains("must change something"));
}

/// What the previous try said does not count for this one.
#[test]
fn the_word_counts_for_its_own_try() {
    let mut bench = after(spec("a", &[]), already());
    bench.accept(&bench.checks_end("a", 7, Verdict::Fail { exit: 1 }));
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    bench.accept(&bench.captured("a", untouched()));
    assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Failed, 2));
}

/// The agent that was to confirm it failed, and a person reports the task as done without evidence.
#[test]
fn the_word_proves_nothing_for_somebody_else() {
    let mut bench = after(TaskSpec { checks: Vec::new(), ..spec("a", &[]) }, already());
    let fence = bench.task("a").fence;
    bench.accept(&Command::ChecksEnded { task: id("a"), fence, tree: oid(7), results: Vec::new() });
    assert_eq!(bench.task("a").decided, Status::Confirming);
    let until = bench.now.plus(Span::minutes(5));
    bench
        .accept(&bench.agent_ends("a", AgentEnd::Limit { reason: "used up".to_owned(), until, model: None }));
    let claim = Claim::Done { tree: None, results: Vec::new(), evidence: Evidence::default() };
    let (task, by) = (id("a"), "ann".to_owned());
    let refused = bench.refuse(&Command::Report { task, by, fence: None, claim, report: Box::default() });
    assert!(refused.reason.contains("there is no evidence that a was done"), "{refused}");
}
