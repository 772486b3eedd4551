//! The simulator over some hundred seeds and queues, and proof that it can fail.

use piton_testkit::sim::{Options, Sabotage, Violation, World, simulate, simulate_all, simulate_wide};

/// More of them: `cargo run --release -p xtask -- simulate --seeds 100000`.
#[test]
fn no_seed_breaks_a_law() {
    let coverage = match simulate_wide(0..1100, Options::default()) {
        Ok(coverage) => coverage,
        Err(violation) => panic!("{violation}"),
    };
    assert_eq!(coverage.blind_spots(), Vec::<&str>::new(), "never seen in any seed");
}

/// Many more: `cargo run --release -p xtask -- simulate --queues 10000`.
#[test]
fn no_queue_is_ever_red() {
    let coverage = match simulate_wide(0..1000, Options { world: World::Queue, ..Options::default() }) {
        Ok(coverage) => coverage,
        Err(violation) => panic!("{violation}"),
    };
    assert_eq!(coverage.queue_blind_spots(), Vec::<&str>::new(), "never seen in a thousand queues");
}

/// Many more: `cargo run --release -p xtask -- simulate --requests 10000`.
#[test]
fn a_request_lands_by_the_hosts_word_alone() {
    let coverage = match simulate_wide(0..750, Options { world: World::Requests, ..Options::default() }) {
        Ok(coverage) => coverage,
        Err(violation) => panic!("{violation}"),
    };
    assert_eq!(coverage.request_blind_spots(), Vec::<&str>::new(), "never seen in any of them");
}

/// Many more: `cargo run --release -p xtask -- simulate --takeovers 10000`.
#[test]
fn a_take_over_believes_what_is_borne_out_and_nothing_else() {
    let coverage = match simulate_wide(0..600, Options { world: World::TakeOver, ..Options::default() }) {
        Ok(coverage) => coverage,
        Err(violation) => panic!("{violation}"),
    };
    assert_eq!(coverage.takeover_blind_spots(), Vec::<&str>::new(), "never seen in any take-over");
}

#[test]
fn a_take_over_that_does_not_look_is_noticed() {
    let law = |sabotage| {
        let options = Options { world: World::TakeOver, trace: false, sabotage: Some(sabotage) };
        simulate_all(0..50, options).expect_err("a take-over that does not look is found out").law
    };
    assert_eq!(law(Sabotage::BelieveTheFile), "taken_over_is_borne_out");
    let forgotten = law(Sabotage::ForgetTheFile);
    let noticed = matches!(forgotten, "what_landed_is_not_done_again" | "attempts_are_not_refilled");
    assert!(noticed, "{forgotten}");
}

#[test]
fn a_seed_is_one_run() {
    let live = |seed| {
        let world = if seed % 2 == 0 { World::Any } else { World::Queue };
        simulate(seed, Options { world, trace: true, sabotage: None })
    };
    for seed in 0..20 {
        let (one, two) = (live(seed).expect("no law is broken"), live(seed).expect("no law is broken"));
        assert_eq!(one.trace, two.trace);
        assert!(!one.trace.is_empty());
    }
}

fn noticed(sabotage: Sabotage, within: u64) -> Violation {
    let options = Options { sabotage: Some(sabotage), ..Options::default() };
    simulate_all(0..within, options).expect_err("a world that lies is found out")
}

#[test]
fn merged_trees_that_nobody_checked_are_noticed() {
    assert_eq!(noticed(Sabotage::SkipMergedChecks, 500).law, "landings_were_observed");
    // Also without a list of what was run.
    let options =
        Options { world: World::Queue, trace: false, sabotage: Some(Sabotage::LieAboutMergedChecks) };
    assert_eq!(simulate_all(0..50, options).expect_err("red is noticed").law, "never_red");
}

#[test]
fn a_proof_of_another_tree_is_noticed() {
    let options = Options { world: World::Queue, trace: false, sabotage: Some(Sabotage::ProveTheWrongTree) };
    let law = simulate_all(0..50, options).expect_err("what lands was not proven").law;
    assert_eq!(law, "landings_were_observed");
}

#[test]
fn work_that_nobody_checked_is_noticed() {
    let law = noticed(Sabotage::TrustTheAgent, 50).law;
    assert!(matches!(law, "landings_were_observed" | "completed_is_proven"), "{law}");
}

#[test]
fn a_landing_that_was_not_made_is_noticed() {
    let law = noticed(Sabotage::LandWithoutMoving, 50).law;
    assert!(matches!(law, "landed_is_reachable" | "never_red" | "comes_to_rest"), "{law}");
}

#[test]
fn a_landing_made_without_looking_is_noticed() {
    // A gate that lands twice has landed more fixes than it may.
    let law = noticed(Sabotage::LandBlindly, 1000).law;
    assert!(matches!(law, "lands_once" | "never_red" | "gates_are_bounded"), "{law}");
}

#[test]
fn an_agent_run_again_is_noticed() {
    assert_eq!(noticed(Sabotage::RunAgain, 200).law, "agents_run_once");
}

#[test]
fn a_lost_event_is_noticed() {
    assert_eq!(noticed(Sabotage::ForgetLastEvent, 50).law, "fold_agrees");
}

#[test]
fn forged_fences_are_noticed() {
    assert_eq!(noticed(Sabotage::ForgeFences, 1000).law, "stale_is_refused");
}

/// The message is all that people see in CI.
#[test]
fn a_violation_tells_how_to_see_it_again() {
    let violation = noticed(Sabotage::ForgetLastEvent, 50);
    let repeat = format!("cargo xtask simulate --seed {} --trace", violation.seed);
    assert!(violation.to_string().ends_with(&repeat), "{violation}");
}

#[test]
fn a_landing_that_counts_for_another_task_is_noticed() {
    assert_eq!(noticed(Sabotage::TrustTheId, 2000).law, "landings_found_are_its_own");
}
