//! Tasks that land by a request of a host: landed is what the host says.

use piton_core::plan::{Plan, Requests, Schedule};
use piton_core::run::request::{Mergeable, Phase, RedCheck, Seen, Step};
use piton_core::run::{Action, Class, Command, Event, Proof, RequestFact, Status, next};

use crate::bench::{Bench, id, oid, plan, session, spec};

const TREE: u64 = 7;

fn requests() -> Plan {
    let mut plan = plan(vec![spec("a", &[]), spec("b", &["a"])]);
    plan.settings.requests = Some(Requests::default());
    plan
}

/// A task whose work is proven: its branch is about to be pushed.
fn prepared() -> Bench {
    let mut bench = Bench::new(requests());
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session: session(Schedule::Flow) });
    bench.verify("a", TREE, 0);
    let prepare = bench.prepare_landing("a", TREE, &["a"]);
    bench.accept(&prepare);
    bench
}

fn step(bench: &Bench) -> Option<Step> {
    next(&bench.state, bench.now).iter().find_map(|action| match action {
        Action::Request { step, .. } => Some(*step),
        _ => None,
    })
}

fn moved(bench: &Bench, fact: RequestFact) -> Command {
    Command::RequestMoved { task: id("a"), fence: bench.task("a").fence, fact }
}

pub(crate) fn seen() -> Seen {
    Seen { mergeable: Mergeable::Yes, passed: 1, ..Seen::bare(Phase::Open, oid(TREE + 3000)) }
}

/// The host says this, and its target is at the commit on which the work was proven, or at another one.
fn said(bench: &Bench, seen: Seen, tip: u64) -> Command {
    let (task, fence) = (id("a"), bench.task("a").fence);
    Command::RequestSeen {
        task,
        fence,
        seen: Box::new(seen),
        log: "it broke".to_owned(),
        tip: Some(oid(tip)),
    }
}

/// A request that is open.
fn open() -> Bench {
    let mut bench = prepared();
    let pushed = moved(&bench, RequestFact::Pushed { head: oid(TREE + 3000) });
    bench.accept(&pushed);
    let opened = moved(&bench, RequestFact::Opened { number: 5, url: "https://example.org/5".to_owned() });
    bench.accept(&opened);
    bench
}

fn landed(bench: &Bench, commit: u64) -> Command {
    let (task, fence) = (id("a"), bench.task("a").fence);
    Command::RequestLanded { task, fence, commit: oid(commit), tree: oid(TREE) }
}

#[test]
fn a_task_lands_when_the_host_has_merged_it_and_not_before() {
    let mut bench = prepared();
    assert_eq!(step(&bench), Some(Step::Push));
    let pushed = moved(&bench, RequestFact::Pushed { head: oid(TREE + 3000) });
    bench.accept(&pushed);
    assert_eq!(step(&bench), Some(Step::Open));
    let opened = moved(&bench, RequestFact::Opened { number: 5, url: String::new() });
    bench.accept(&opened);
    assert_eq!(step(&bench), Some(Step::Follow));
    let green = said(&bench, seen(), TREE + 2000);
    bench.accept(&green);
    assert_eq!(step(&bench), Some(Step::Merge));
    let asked = moved(&bench, RequestFact::MergeAsked { head: oid(TREE + 3000) });
    bench.accept(&asked);
    assert_eq!((step(&bench), bench.task("a").decided), (Some(Step::Follow), Status::Merging));
    // Its dependent waits, whatever Piton has asked for.
    assert_eq!(bench.task("b").waiting, 1);
    bench.refuse(&landed(&bench, 99));
    let merged = said(&bench, Seen { phase: Phase::Merged { commit: Some(oid(99)) }, ..seen() }, 99);
    bench.accept(&merged);
    assert_eq!(step(&bench), Some(Step::Take));
    bench.refuse(&landed(&bench, 98));
    let taken = landed(&bench, 99);
    bench.accept(&taken);
    let proof = Proof::Landed { commit: oid(99), verified: oid(TREE + 1000) };
    assert_eq!((bench.task("a").decided, bench.task("a").proof.clone()), (Status::Completed, Some(proof)));
    assert_eq!((bench.task("b").waiting, bench.state.run().and_then(|run| run.merging.clone())), (0, None));
}

#[test]
fn a_person_is_asked_when_the_target_never_gets_the_commit_that_the_host_claims() {
    let mut bench = open();
    let merged = said(&bench, Seen { phase: Phase::Merged { commit: Some(oid(99)) }, ..seen() }, 99);
    bench.accept(&merged);
    let missing = moved(&bench, RequestFact::Missing { commit: oid(99) });
    for _ in 0..9 {
        bench.accept(&missing);
        assert_eq!((step(&bench), bench.task("a").decided), (Some(Step::Take), Status::Merging));
    }
    let waits = bench.task("a").progress.waits.clone().expect("words");
    assert!(waits.contains("the target does not have that"), "{waits}");
    let other = moved(&bench, RequestFact::Missing { commit: oid(98) });
    assert!(bench.refuse(&other).stale);
    bench.accept(&missing);
    assert_eq!(bench.task("a").decided, Status::Blocked);
}

#[test]
fn a_red_check_of_the_host_goes_to_an_agent_and_costs_no_attempt() {
    let mut bench = open();
    let red = RedCheck { name: "build".to_owned(), url: String::new() };
    let red = said(&bench, Seen { passed: 0, red: vec![red], ..seen() }, TREE + 2000);
    bench.accept(&red);
    let task = bench.task("a");
    assert_eq!((task.decided, task.spent, task.budget), (Status::Failed, 1, 3));
    let request = task.progress.request.as_ref().expect("it stays");
    assert_eq!((request.rounds, request.opened.as_ref().map(|opened| opened.number)), (1, Some(5)));
    let failed = bench.journal.iter().rev().find_map(|recorded| match &recorded.event {
        Event::Failed { class, feedback, .. } => Some((*class, feedback.clone())),
        _ => None,
    });
    let (class, feedback) = failed.expect("it failed");
    assert_eq!(class, Class::SentBack);
    assert!(feedback.contains("`build`") && feedback.contains("it broke"), "{feedback}");
}

fn red(names: &[&str], on_target: &[&str]) -> Seen {
    let check = |name: &&str| RedCheck { name: (*name).to_owned(), url: String::new() };
    let on_target = on_target.iter().map(|name| (*name).to_owned()).collect();
    Seen { passed: 0, red: names.iter().map(check).collect(), red_on_target: on_target, ..seen() }
}

#[test]
fn what_is_red_on_the_target_too_is_waited_for_and_is_nobodys_fault() {
    let mut bench = open();
    let excused = said(&bench, red(&["build"], &["build"]), TREE + 2000);
    bench.accept(&excused);
    let task = bench.task("a");
    let request = task.progress.request.clone().expect("it is there");
    assert_eq!((task.decided, request.rounds, step(&bench)), (Status::Merging, 0, Some(Step::Follow)));
    let waits = task.progress.waits.clone().expect("words");
    assert!(waits.contains("waits for the target, where the same checks are red: build"), "{waits}");
    assert!(request.waits_for_person(&Requests::default()), "a person is told");
    // The target is green again: the checks of the request run again, and no agent is asked.
    let over = said(&bench, red(&["build"], &[]), TREE + 2000);
    bench.accept(&over);
    assert_eq!(bench.task("a").decided, Status::Verified);
    let prepare = bench.prepare_landing("a", TREE, &["a"]);
    bench.accept(&prepare);
    let pushed = moved(&bench, RequestFact::Pushed { head: oid(TREE + 3000) });
    bench.accept(&pushed);
    // Red again and the target is not: that is the work's own.
    let own = said(&bench, red(&["build"], &[]), TREE + 2000);
    bench.accept(&own);
    let request = bench.task("a").progress.request.clone().expect("it stays");
    assert_eq!((bench.task("a").decided, request.rounds), (Status::Failed, 1));
}

#[test]
fn only_what_is_the_works_own_goes_to_an_agent() {
    let mut bench = open();
    let both = said(&bench, red(&["build", "lint"], &["lint"]), TREE + 2000);
    bench.accept(&both);
    let feedback = bench.journal.iter().rev().find_map(|recorded| match &recorded.event {
        Event::Failed { feedback, .. } => Some(feedback.clone()),
        _ => None,
    });
    let feedback = feedback.expect("it failed");
    assert!(feedback.contains("`build`") && !feedback.contains("`lint`"), "{feedback}");
}

#[test]
fn a_closed_request_blocks_its_task_and_a_retry_asks_no_agent() {
    let mut bench = open();
    let closed = said(&bench, Seen { phase: Phase::Closed, ..seen() }, TREE + 2000);
    bench.accept(&closed);
    assert_eq!(bench.task("a").decided, Status::Blocked);
    bench.accept(&Command::Unblock { task: id("a"), by: "ann".to_owned(), note: String::new() });
    bench.start("a");
    assert_eq!(bench.task("a").decided, Status::Verifying, "its checks, and no agent");
}

#[test]
fn a_request_behind_the_target_is_proven_again_and_stays_the_same() {
    let mut bench = open();
    let behind = said(&bench, seen(), 55);
    bench.accept(&behind);
    assert_eq!(bench.task("a").decided, Status::Verified);
    let begins = next(&bench.state, bench.now);
    assert!(
        begins.iter().any(|action| matches!(action, Action::BeginProof { alone: true, .. })),
        "{begins:?}"
    );
    let prepare = bench.prepare_landing("a", TREE, &["a"]);
    bench.accept(&prepare);
    let request = bench.task("a").progress.request.clone().expect("it is there");
    assert_eq!((step(&bench), request.opened.map(|opened| opened.number)), (Some(Step::Push), Some(5)));
}

#[test]
fn nothing_is_merged_beside_a_merge() {
    let mut plan = requests();
    plan.tasks[1].depends_on.clear();
    let mut bench = Bench::new(plan);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session: session(Schedule::Flow) });
    bench.verify("a", TREE, 0);
    bench.verify("b", TREE + 1, 0);
    let prepare = bench.prepare_landing("a", TREE, &["a"]);
    bench.accept(&prepare);
    for fact in [
        RequestFact::Pushed { head: oid(TREE + 3000) },
        RequestFact::Opened { number: 5, url: String::new() },
    ] {
        let command = moved(&bench, fact);
        bench.accept(&command);
    }
    let green = said(&bench, seen(), TREE + 2000);
    bench.accept(&green);
    let refused = bench.refuse(&bench.prepare_landing("b", TREE + 1, &["b"]));
    assert!(refused.reason.contains("a is landing"), "{refused}");
}

#[test]
fn a_person_may_take_a_task_away_until_the_host_is_asked_to_merge_it() {
    let skip = Command::Skip { task: id("a"), by: "ann".to_owned(), reason: String::new() };
    let mut bench = open();
    let mut other = open();
    bench.accept(&skip);
    assert_eq!((bench.task("a").decided, step(&bench)), (Status::Skipped, None));
    let green = said(&other, seen(), TREE + 2000);
    other.accept(&green);
    assert!(other.refuse(&skip).reason.contains("landing now"));
}

#[test]
fn results_for_another_step_or_commit_are_refused() {
    let bench = prepared();
    let wrong = moved(&bench, RequestFact::Pushed { head: oid(1) });
    assert!(bench.refuse(&wrong).stale);
    let early = moved(&bench, RequestFact::Opened { number: 5, url: String::new() });
    assert!(bench.refuse(&early).stale);
    let forged = moved(&bench, RequestFact::Merged { commit: oid(1) });
    assert!(!bench.refuse(&forged).stale, "only the rules say that");
    assert!(bench.refuse(&said(&bench, seen(), 1)).stale);
}
