//! Tasks whose checks run where they are to land, and nowhere else before.

use piton_core::run::line::ProofEnd;
use piton_core::run::{Action, AgentEnd, Class, Command, Event, Status, Verdict, Work, next};

use crate::bench::{Bench, evidence, id, oid, spec, work};

fn plain(tree: u64) -> Work {
    Work { touches_judges: false, ..work(tree) }
}

/// Bring a task to the end of its agent's work.
fn captured(bench: &mut Bench, name: &str, work: Work) {
    bench.start(name);
    bench.ready(name, 0, 0);
    bench.accept(&bench.agent_ends(name, AgentEnd::Done));
    bench.accept(&bench.captured(name, work));
}

fn prove(bench: &mut Bench, chain: &[&str]) -> u64 {
    let chain = chain.iter().map(|name| id(name)).collect();
    bench.accept(&Command::BeginProof { chain, alone: true });
    bench
        .state
        .run()
        .expect("it is there")
        .line
        .under_way()
        .map(|(number, _)| number)
        .max()
        .expect("one was begun")
}

#[test]
fn a_task_is_judged_where_it_is_to_land_if_only_commands_judge_it() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    captured(&mut bench, "a", plain(7));
    captured(&mut bench, "b", work(8));
    assert!(bench.task("a").is_candidate() && !bench.task("b").is_candidate(), "b changes what judges it");
    let actions = next(&bench.state, bench.now);
    let proposed = Action::BeginProof { chain: vec![id("a")], alone: false };
    let checked = Action::Check { task: id("b"), fence: bench.task("b").fence };
    assert!(actions.contains(&proposed) && actions.contains(&checked), "{actions:?}");
    // What is found on its own tree meanwhile is not what decides.
    let stale = bench.refuse(&bench.checks_end("a", 7, Verdict::Pass));
    assert!(stale.stale, "{stale}");
    let proof = prove(&mut bench, &["a"]);
    bench.accept(&bench.prepare_landing("a", 99, &["a"]).of_proof(proof));
    let verified = |recorded: &piton_core::run::Recorded| matches!(&recorded.event, Event::Verified { .. });
    assert_eq!(
        (bench.task("a").decided, bench.journal.iter().filter(|r| verified(r)).count()),
        (Status::Merging, 1)
    );
}

/// It is red where it is to land, and not by itself.
fn meets_a_conflict(bench: &mut Bench, name: &str) {
    let proof = prove(bench, &[name]);
    let failed = Command::LandingFailed {
        task: id(name),
        fence: bench.task(name).fence,
        tip: oid(5),
        reason: "red".to_owned(),
        feedback: String::new(),
        pointers: Box::default(),
    };
    bench.accept(&failed.of_proof(proof));
}

#[test]
fn what_is_red_only_on_the_merge_is_a_conflict() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    captured(&mut bench, "a", plain(7));
    meets_a_conflict(&mut bench, "a");
    let task = bench.task("a");
    assert_eq!((task.spent, task.conflicts), (0, 1), "nobody pays for what others have changed");
}

#[test]
fn whoever_met_a_conflict_comes_back_to_its_place_in_the_line() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    captured(&mut bench, "a", plain(7));
    captured(&mut bench, "b", plain(8));
    meets_a_conflict(&mut bench, "a");
    captured(&mut bench, "a", plain(9));
    let first = |bench: &Bench| {
        next(&bench.state, bench.now).into_iter().find_map(|action| match action {
            Action::BeginProof { chain, .. } => chain.first().cloned(),
            _ => None,
        })
    };
    assert_eq!(first(&bench), Some(id("a")), "those that came after it would be its next conflict");
    bench.accept(&Command::Reset { task: id("a"), by: "ann".to_owned() });
    captured(&mut bench, "a", plain(10));
    assert_eq!(first(&bench), Some(id("b")), "who begins again is the last");
}

#[test]
fn what_is_red_by_itself_too_spends_an_attempt() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    captured(&mut bench, "a", plain(7));
    let proof = prove(&mut bench, &["a"]);
    // Red on the merge is not red by itself.
    let red = |tree| bench.checks_end("a", tree, Verdict::Fail { exit: 1 }).of_proof(proof);
    let (elsewhere, by_itself) = (red(99), red(7));
    let _ = bench.refuse(&elsewhere);
    bench.accept(&by_itself);
    let failed =
        matches!(&bench.journal.last().expect("not empty").event, Event::Failed { class: Class::Code, .. });
    assert!(failed && bench.task("a").spent == 1);
}

#[test]
fn a_candidate_that_cannot_be_proven_on_the_merge_is_checked_by_itself() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    captured(&mut bench, "a", plain(7));
    let proof = prove(&mut bench, &["a"]);
    let end = ProofEnd::NotHere { reason: "its commit is in the target's history".to_owned() };
    bench.accept(&Command::ProofEnded { proof, end, results: Vec::new() });
    let task = bench.task("a");
    assert_eq!((task.decided, task.is_candidate(), task.spent), (Status::Verifying, false, 0));
    assert_eq!(next(&bench.state, bench.now), [Action::Check { task: id("a"), fence: task.fence }]);
    bench.accept(&bench.checks_end("a", 7, Verdict::Pass));
    assert!(bench.task("a").is_candidate());
}

#[test]
fn the_last_of_a_chain_that_cannot_be_proven_on_the_merge_is_checked_by_itself() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    captured(&mut bench, "a", plain(7));
    captured(&mut bench, "b", plain(8));
    let proof = prove(&mut bench, &["a", "b"]);
    let end = ProofEnd::NotHere { reason: "its commit is in the target's history".to_owned() };
    bench.accept(&Command::ProofEnded { proof, end, results: Vec::new() });
    // Otherwise the same chain would be proposed for ever.
    assert!(bench.task("a").is_candidate() && !bench.task("b").is_candidate());
    assert!(
        next(&bench.state, bench.now)
            .contains(&Action::Check { task: id("b"), fence: bench.task("b").fence })
    );
}

#[test]
fn a_proof_that_left_out_a_check_verifies_nobody() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    captured(&mut bench, "a", plain(7));
    captured(&mut bench, "b", plain(8));
    let proof = prove(&mut bench, &["a", "b"]);
    let end = ProofEnd::Passed { tree: oid(99) };
    let results = vec![evidence("a", Verdict::Pass)];
    bench.accept(&Command::ProofEnded { proof, end, results });
    let decided = ["a", "b"].map(|name| bench.task(name).decided);
    assert_eq!(decided, [Status::Verified, Status::Verifying]);
    let _ = bench.refuse(&bench.prepare_landing("b", 99, &[]));
}
