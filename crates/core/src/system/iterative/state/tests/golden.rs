//! What people and scripts see.

use serde_json::json as value_of;

use super::*;

#[test]
fn a_fresh_run() {
    insta::assert_snapshot!(shown(&fresh()));
}

#[test]
fn a_run_with_done_confirmed_and_waiting_units() {
    insta::assert_snapshot!(shown(&middle()));
}

#[test]
fn a_run_that_is_stuck() {
    insta::assert_snapshot!(shown(&stuck()));
}

#[test]
fn knowledge_that_is_reviewed() {
    insta::assert_snapshot!(shown(&over()));
}

#[test]
fn a_pass_that_finds_work_is_an_iteration_and_a_confirmation() {
    let file = json(&middle());
    let counts = |name: &str| {
        let unit = &file["tasks"][name];
        (unit["iterations_used"].clone(), unit["confirmations_used"].clone())
    };
    assert_eq!(counts("T1"), (value_of!(3), value_of!(1)));
    assert_eq!(counts("T2"), (value_of!(2), value_of!(2)));
    assert_eq!(counts("T3"), (value_of!(2), value_of!(1)));
    assert_eq!((&file["current_task"], &file["current_iteration"]), (&value_of!("T3"), &value_of!(2)));
}

#[test]
fn no_more_iterations_are_used_than_there_may_be() {
    let mut bench = bench(Mode::Development, vec![unit("T1", &[], 2)]);
    bench.attach();
    falls_short(&mut bench, "T1");
    bench.start("T1");
    bench.ready("T1");
    pass(&mut bench, "T1", Some((1, "one")));
    pass(&mut bench, "T1", Some((2, "and more")));
    let unit = &json(&bench)["tasks"]["T1"];
    assert_eq!((&unit["status"], &unit["max_iterations"]), (&value_of!("timeout"), &value_of!(2)));
    assert_eq!((&unit["iterations_used"], &unit["confirmations_used"]), (&value_of!(2), &value_of!(1)));
}

#[test]
fn a_reset_counts_from_the_beginning() {
    let mut bench = stuck();
    bench.accept(&Command::Reset { task: id("T3"), by: "ann".to_owned() });
    let unit = &json(&bench)["tasks"]["T3"];
    assert_eq!(*unit, value_of!({"status": "pending", "max_iterations": 10}));
}

#[test]
fn the_phase_follows_the_run_and_is_said_where_it_cannot_be_known() {
    let phase = |bench: &Bench| json(bench)["phase"].as_str().map(str::to_owned).expect("a word");
    let say = |bench: &mut Bench, phase: &str| {
        let before = json(bench);
        let mut found = before.clone();
        found["phase"] = value_of!(phase);
        for command in edits(&before, &found).iter().flat_map(|edit| commands(edit, "ann")) {
            bench.accept(&command);
        }
    };
    let mut bench = research();
    assert_eq!(phase(&bench), "plan");
    say(&mut bench, "discover");
    assert_eq!(phase(&bench), "discover");
    say(&mut bench, "complete");
    assert_eq!(phase(&bench), "discover", "nothing is done");
    bench.attach();
    assert_eq!(phase(&bench), "execute");
    for (nth, name) in (1..).zip(["R1", "R2", "R3"]) {
        assert_eq!(phase(&bench), "execute");
        is_done(&mut bench, name, (nth, ""));
    }
    assert_eq!(phase(&bench), "verify");
    let mut bench = over();
    assert_eq!(phase(&bench), "deliver");
    say(&mut bench, "complete");
    assert_eq!(phase(&bench), "complete");
}

#[test]
fn what_nobody_proved_is_done_without_having_passed() {
    let mut plan = unit("T1", &[], 5);
    plan.checks.clear();
    let mut bench = bench(Mode::Development, vec![plan]);
    bench.report(
        "T1",
        Claim::Done { tree: None, results: Vec::new(), evidence: crate::run::Evidence::file("work") },
        Report::default(),
    );
    let unit = &json(&bench)["tasks"]["T1"];
    assert_eq!((&unit["status"], &unit["verification_passed"]), (&value_of!("done"), &value_of!(false)));
}
