//! Candidates that are proven together, and land in one move.

use piton_core::plan::Oid;
use piton_core::run::line::{ProofEnd, Stage};
use piton_core::run::{
    Action, Carried, Command, Event, Intent, Proof, Status, Verdict, Waived, next, wake_at,
};
use piton_core::time::Span;

use crate::bench::{Bench, evidence, id, oid, spec};

/// Three tasks that are verified on one base.
fn verified() -> Bench {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[]), spec("c", &[])]);
    for (no, name) in ["a", "b", "c"].iter().enumerate() {
        bench.verify(name, no as u64 + 1, 0);
    }
    bench
}

fn begin(bench: &mut Bench, chain: &[&str]) -> u64 {
    let chain = chain.iter().map(|name| id(name)).collect();
    bench.accept(&Command::BeginProof { chain, alone: false });
    match &bench.journal.last().expect("not empty").event {
        Event::ProofBegan { proof, .. } => *proof,
        other => panic!("{other:?}"),
    }
}

fn merge(no: u64) -> Oid {
    oid(5000 + no)
}

/// The last of the chain lands as `merge(9)`, the others as `merge(0)`, `merge(1)` and so on.
fn prepare(bench: &Bench, chain: &[&str], passed: &[&str]) -> Command {
    let (last, before) = chain.split_last().expect("not empty");
    let carried = |(no, name): (usize, &&str)| Carried {
        task: id(name),
        fence: bench.task(name).fence,
        commit: merge(no as u64),
    };
    Command::PrepareLanding {
        task: id(last),
        fence: bench.task(last).fence,
        tree: oid(99),
        intent: Intent { old: oid(4000), candidate: merge(9), on: Vec::new() },
        before: before.iter().enumerate().map(carried).collect(),
        results: passed.iter().map(|name| evidence(name, Verdict::Pass)).collect(),
        waived: Waived::default(),
    }
}

fn landed(bench: &Bench, name: &str) -> Command {
    Command::Landed { task: id(name), fence: bench.task(name).fence, commit: merge(9) }
}

#[test]
fn a_chain_lands_in_one_move_once_every_check_of_it_has_passed_on_its_tree() {
    let mut bench = verified();
    begin(&mut bench, &["a", "b", "c"]);
    let lacking = bench.refuse(&prepare(&bench, &["a", "b", "c"], &["a", "c"]));
    assert!(lacking.reason.starts_with("c may not land: a check has not passed"), "{lacking}");
    bench.accept(&prepare(&bench, &["a", "b", "c"], &["a", "b", "c"]));
    let statuses = ["a", "b", "c"].map(|name| bench.task(name).decided);
    assert_eq!(statuses, [Status::Verified, Status::Verified, Status::Merging], "one lands at a time");
    bench.accept(&landed(&bench, "c"));
    let proofs = ["a", "b", "c"].map(|name| match bench.task(name).proof.clone() {
        Some(Proof::Landed { commit, verified }) => (commit, verified),
        other => panic!("{other:?}"),
    });
    let own = |no: u64| oid(no + 1000);
    assert_eq!(proofs, [(merge(0), own(1)), (merge(1), own(2)), (merge(9), own(3))]);
    let order = ["a", "b", "c"].map(|name| bench.task(name).progress.landed_no);
    assert_eq!(order, [Some(0), Some(1), Some(2)]);
}

#[test]
fn each_task_of_a_chain_is_told_of_the_checks_that_judge_it_and_the_last_of_all() {
    let mut bench = verified();
    begin(&mut bench, &["a", "b"]);
    bench.accept(&prepare(&bench, &["a", "b"], &["a", "b"]));
    let told = |name: &str| {
        let about = |event: &Event| match event {
            Event::ChecksEnded { task, tree, results, .. } if *task == id(name) && *tree == oid(99) => {
                Some(results.iter().map(|result| result.name.clone()).collect::<Vec<_>>())
            }
            _ => None,
        };
        bench.journal.iter().find_map(|recorded| about(&recorded.event)).unwrap_or_default()
    };
    assert_eq!(
        (told("a"), told("b")),
        (vec!["check a".to_owned()], vec!["check a".to_owned(), "check b".to_owned()])
    );
}

#[test]
fn what_is_about_to_land_with_another_can_be_neither_taken_away_nor_failed() {
    let mut bench = verified();
    begin(&mut bench, &["a"]);
    begin(&mut bench, &["a", "b"]);
    bench.accept(&prepare(&bench, &["a", "b"], &["a", "b"]));
    let by = "ann".to_owned();
    let reset = bench.refuse(&Command::Reset { task: id("a"), by: by.clone() });
    assert_eq!(reset.reason, "a is landing now and cannot be reset");
    bench.refuse(&Command::Skip { task: id("a"), by, reason: String::new() });
    // A shorter proof that is red no longer counts.
    let failed = Command::LandingFailed {
        task: id("a"),
        fence: bench.task("a").fence,
        tip: oid(4000),
        reason: "red".to_owned(),
        feedback: String::new(),
        pointers: Box::default(),
    };
    assert!(bench.refuse(&failed).stale);
    let red = ProofEnd::Red { reason: "red".to_owned(), of: Vec::new() };
    assert!(bench.refuse(&Command::ProofEnded { proof: 1, end: red, results: Vec::new() }).stale);
}

#[test]
fn a_target_that_was_moved_meanwhile_brings_the_whole_chain_back() {
    let mut bench = verified();
    begin(&mut bench, &["a", "b"]);
    bench.accept(&prepare(&bench, &["a", "b"], &["a", "b"]));
    let (task, fence) = (id("b"), bench.task("b").fence);
    let reason = "it was moved".to_owned();
    bench.accept(&Command::LandingReturned { task, fence, candidate: merge(9), reason });
    assert_eq!(["a", "b"].map(|name| bench.task(name).decided), [Status::Verified; 2]);
    let again = |action: &Action| matches!(action, Action::BeginProof { chain, .. } if chain[0] == id("a"));
    assert!(next(&bench.state, bench.now).iter().any(again));
}

#[test]
fn what_passed_while_another_landed_lands_next() {
    let mut bench = verified();
    let first = begin(&mut bench, &["a"]);
    let second = begin(&mut bench, &["a", "b"]);
    bench.accept(&prepare(&bench, &["a"], &["a"]));
    // The same worker reports both; the first is enough.
    let passed = |no| Command::ProofEnded {
        proof: no,
        end: ProofEnd::Passed { tree: oid(99) },
        results: ["a", "b"].map(|name| evidence(name, Verdict::Pass)).to_vec(),
    };
    assert!(bench.refuse(&passed(first)).stale);
    let busy = bench.refuse(&prepare(&bench, &["a", "b"], &["a", "b"]));
    assert!(busy.stale || busy.reason == "a is landing", "{busy}");
    bench.accept(&passed(second));
    bench.accept(&landed(&bench, "a"));
    let proof = bench.state.run().and_then(|run| run.line.proof(second)).expect("it has passed").clone();
    assert_eq!((proof.chain, proof.stage), (vec![id("b")], Stage::Passed(oid(99))));
    let land = Action::Land { proof: second, task: id("b"), fence: bench.task("b").fence };
    assert!(next(&bench.state, bench.now).contains(&land));
    // Nothing is run again: the tree is the one that passed.
    bench.accept(&prepare(&bench, &["b"], &[]));
}

/// The more land together, the fewer checks each of them pays for.
#[test]
fn a_short_proof_waits_a_moment_for_the_agents_at_work_however_many_candidates_there_are() {
    let mut bench = Bench::running(["a", "b", "c", "d", "e"].map(|name| spec(name, &[])).to_vec());
    for (no, name) in ["a", "b", "c", "d"].iter().enumerate() {
        bench.verify(name, no as u64 + 1, 0);
    }
    bench.start("e");
    begin(&mut bench, &["a"]);
    bench.now = bench.now.plus(Span(500));
    bench.accept(&prepare(&bench, &["a"], &["a"]));
    bench.accept(&landed(&bench, "a"));
    let begins = |bench: &Bench| {
        next(&bench.state, bench.now).iter().any(|action| matches!(action, Action::BeginProof { .. }))
    };
    assert!(!begins(&bench));
    bench.now = wake_at(&bench.state, bench.now).expect("it looks again");
    assert!(begins(&bench), "not for long");
}

/// It would fail to move the target, and take every other proof along.
#[test]
fn what_has_passed_on_an_older_target_does_not_land() {
    let mut bench = verified();
    let first = begin(&mut bench, &["a"]);
    bench.accept(&Command::BeginProof { chain: vec![id("b")], alone: true });
    let early = bench.refuse(&prepare(&bench, &["b"], &["a", "b"]).of_proof(first + 1));
    assert!(early.stale, "the chain comes first: {early}");
    bench.accept(&prepare(&bench, &["a"], &["a"]).of_proof(first));
    bench.accept(&landed(&bench, "a"));
    let late = bench.refuse(&prepare(&bench, &["b"], &["a", "b"]).of_proof(first + 1));
    assert!(late.stale, "it was built on what the target held before: {late}");
    let (end, results) = (ProofEnd::Passed { tree: oid(99) }, vec![evidence("b", Verdict::Pass)]);
    bench.accept(&Command::ProofEnded { proof: first + 1, end, results });
    let again = |action: &Action| matches!(action, Action::BeginProof { chain, .. } if chain[0] == id("b"));
    assert!(next(&bench.state, bench.now).iter().any(again), "it is good by itself, and proven again");
}

#[test]
fn a_gate_lands_alone() {
    let mut gate = spec("g", &[]);
    gate.gate = true;
    let mut bench = Bench::running(vec![spec("a", &[]), gate]);
    bench.verify("a", 1, 0);
    bench.verify("g", 2, 0);
    let refused = bench.refuse(&prepare(&bench, &["a", "g"], &["a", "g"]));
    assert_eq!(refused.reason, "g judges the whole, so it lands alone");
    let wanted: Vec<Action> = next(&bench.state, bench.now);
    assert!(wanted.contains(&Action::BeginProof { chain: vec![id("a")], alone: false }), "{wanted:?}");
}

/// Nothing of the line says what may land: with checks that passed on the tree, a landing needs no proof that was begun.
#[test]
fn only_what_passed_on_the_tree_counts() {
    let mut bench = verified();
    bench.accept(&prepare(&bench, &["a"], &["a"]));
    assert_eq!(bench.task("a").decided, Status::Merging);
}
