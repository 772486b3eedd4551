//! Lists of lists: planned, worked on and shown list by list.

use super::*;

const MASTER: &str = "plans/00-master-todolist.md";
const SECOND: &str = "# Todolist: budget\n\n## User Story: US-003 Keep a budget\n\n### Tasks\n\n\
    - [ ] T101 P1 US-003 Keep a budget in a file [agent: default] [deps: none] [files: budget.csv] [size: S]\n";

/// The example with a second list.
fn two_lists(others: &str) -> Sandbox {
    let sandbox = receipts("", &format!("[T101]\nwrite budget.csv 0\n{others}"));
    sandbox.write("plans/1-2-budget-todolist.md", SECOND);
    let master = sandbox.read(MASTER).replace(
        "| 2 | 1-2-budget-plan.md | - | no todolist | - |",
        "| 2 | 1-2-budget-plan.md | 1-2-budget-todolist.md | pending | 0% |\n| 3 | 1-3-tax-plan.md | - | no todolist | - |",
    );
    sandbox.write(MASTER, &(master.trim_end().to_owned() + "\n2. [ ] 1-2-budget-todolist.md\n"));
    sandbox.commit("Two lists");
    sandbox
}

#[test]
fn the_lists_of_a_master_list_are_run_in_their_order_and_their_rows_are_kept() {
    let sandbox = receipts("", "");
    let _ = sandbox.run("run plans/00-master-todolist.md").exits(0).says("has no list yet");
    let master = sandbox.read("plans/00-master-todolist.md");
    assert!(master.contains("| 1-1-receipts-todolist.md | completed | 6/6 |"), "{master}");
    assert!(master.contains("1. [x] 1-1-receipts-todolist.md"), "{master}");
    assert!(master.contains("| - | no todolist | - |"), "{master}");
}

#[test]
fn every_list_is_planned_in_its_turn_with_totals() {
    let sandbox = two_lists("");
    let told = sandbox.run(&format!("plan {MASTER}")).exits(0);
    insta::assert_snapshot!("planned", told.stdout);
    let told = sandbox.run(&format!("plan {MASTER} --json")).exits(0);
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    assert_eq!(told["together"], serde_json::json!({ "lists": 2, "done": 0, "total": 7 }));
    assert_eq!(told["lists"][1]["plan"]["tasks"][0]["id"], "T101");
    // A list that cannot be read does not hide the others.
    sandbox.write(LIST, &sandbox.read(LIST).replace("[deps: T004]", "[deps: T044]"));
    let _ = sandbox.run(&format!("plan {MASTER}")).exits(1).says("T044").says("Keep a budget in a file");
}

#[test]
fn how_far_every_list_is_can_be_asked_at_any_time() {
    let sandbox = two_lists("[T004]\nremove receipts.sh\n");
    let told = sandbox.run(&format!("status {MASTER}")).exits(0);
    insta::assert_snapshot!("before", told.stdout);
    let before = sandbox.read(MASTER);
    let _ = sandbox.run(&format!("run {MASTER} --dry-run")).exits(0).says("would begin a new run");
    assert_eq!(sandbox.read(MASTER), before, "a dry run writes nothing");
    let _ = sandbox.run(&format!("run {MASTER}")).exits(4);
    let told = sandbox.run(&format!("status {MASTER}")).exits(0);
    insta::assert_snapshot!("after", told.stdout);
    let told = sandbox.run(&format!("status {MASTER} --json")).exits(0);
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    assert_eq!(
        (&told["done"], &told["total"], &told["lists"][2]["list"]),
        (&4.into(), &7.into(), &Value::Null)
    );
    let master = sandbox.read(MASTER);
    assert!(master.contains("| 1-1-receipts-todolist.md | in_progress | 3/6 |"), "{master}");
    assert!(master.contains("| 1-2-budget-todolist.md | completed | 100% |"), "{master}");
}

/// The second list waits for a task of the first, and the first for one of the second.
fn crossed() -> Sandbox {
    let sandbox = two_lists("[T102]\nwrite limits.csv 0\n");
    let more = "- [ ] T102 P1 US-003 Keep limits [agent: default] [deps: T001, T101] [files: limits.csv] [size: S]\n";
    sandbox.write("plans/1-2-budget-todolist.md", &(SECOND.to_owned() + more));
    sandbox.write(LIST, &sandbox.read(LIST).replacen("[deps: T001]", "[deps: T001, T101]", 1));
    sandbox.commit("They wait for each other");
    sandbox
}

#[test]
fn tasks_wait_for_those_of_another_list_of_one_master() {
    let sandbox = crossed();
    let told = sandbox.run(&format!("run {MASTER}")).exits(0);
    let at = |line: &str| told.stderr.find(line).unwrap_or_else(|| panic!("{line}\n{told}"));
    // The first list stops before what waits, and is gone on with after the second.
    assert!(at("T101     landed as") < at("T002     attempt 1 started"), "{told}");
    assert!(at("T001     landed as") < at("T102     attempt 1 started"), "{told}");
    let master = sandbox.read(MASTER);
    assert!(master.contains("| 1-1-receipts-todolist.md | completed | 6/6 |"), "{master}");
    assert!(master.contains("| 1-2-budget-todolist.md | completed | 100% |"), "{master}");
}

#[test]
fn a_list_alone_starts_what_it_can_and_says_what_the_rest_waits_for() {
    let sandbox = crossed();
    let waits = "T002 waits for T101 of plans/1-2-budget-todolist.md, which is not completed";
    let told = sandbox.run(RUN).exits(3).says(waits).says("piton run plans/1-2-budget-todolist.md");
    assert!(!told.contains("T002     attempt"), "{told}");
    assert_eq!(statuses(&sandbox)[..2], ["completed", "pending"]);
    assert_eq!(state(&sandbox)["stop_reason"], "other_lists");
    assert_eq!(state(&sandbox)["quality_gates"]["unit_tests"], Value::Null, "a part is not the whole");
    let _ = sandbox.run("why T002").exits(0).says(waits).says("piton run plans/1-2-budget-todolist.md");
    let _ = sandbox.run("start T002 --by ann").exits(1).says("T101 of plans/1-2-budget-todolist.md");
    let _ = sandbox.run("report T002 done --by ann").exits(1).says("T101 of plans/1-2-budget-todolist.md");
    // A box counts once the file that its line names is there.
    let second = "plans/1-2-budget-todolist.md";
    sandbox.write(second, &sandbox.read(second).replace("- [ ] T101", "- [x] T101"));
    sandbox.commit("Say so");
    let _ = sandbox.run(RUN).exits(3).says(waits);
    sandbox.write("budget.csv", "0");
    sandbox.commit("Do so");
    let _ = sandbox.run(RUN).exits(0);
    let _ = sandbox
        .run("log")
        .exits(0)
        .says("T101 of plans/1-2-budget-todolist.md, which it waits for, is completed");
    assert_eq!(statuses(&sandbox), ["completed"; 6]);
    let _ = sandbox.run("doctor").exits(0);
}

/// One state file shows one list: a second engine would overwrite it, and what people write into it.
#[test]
fn a_second_engine_on_another_list_is_refused_and_no_line_is_lost() {
    let sandbox = two_lists("");
    act(&sandbox, &format!("[T101]\nwrite budget.csv 0\n[T001]\nmeet SIDE/gate\n{}", does_well("T001")));
    sandbox.fifo("gate");
    let mut first = sandbox.piton(RUN.split(' ')).spawn();
    first.until_says("T001     attempt 1 started");
    let second = "plans/1-2-budget-todolist.md";
    for _ in 0..2 {
        let told = sandbox.run(&format!("run {second}")).exits(1);
        let told = told.says(&format!("an engine is working on {LIST}"));
        let _ = told
            .says("rw-kit.state.json shows one plan at a time")
            .says(&format!("piton stop --plan {LIST}"));
    }
    // Nothing was begun for it.
    assert!(!sandbox.run("log --json --plan plans/1-2-budget-todolist.md").contains("T101"));
    let logged = r#".logs += [{"timestamp": "2026-01-01T00:00:00Z", "level": "info", "message": "Mind T006"}] | .updated_at = "x""#;
    let is_logged = recipe(&sandbox, logged);
    if is_logged {
        first.until_says("Mind T006");
    }
    first.until_at(&sandbox, "gate");
    let _ = first.wait().exits(0);
    assert_eq!(statuses(&sandbox), ["completed"; 6]);
    assert_eq!(state(&sandbox)["logs"].to_string().contains("Mind T006"), is_logged);
    // Now it is its turn. What is written into the first list's file before that belongs to the first list.
    let late = r#".logs += [{"timestamp": "2026-01-01T00:00:00Z", "level": "info", "message": "Too late"}] | .updated_at = "y""#;
    let _ = recipe(&sandbox, late);
    let _ = sandbox.run(&format!("run {second}")).exits(0);
    assert_eq!(state(&sandbox)["tasks"]["T101"]["status"], "completed");
    assert_eq!(sandbox.run(&format!("log --plan {LIST}")).exits(0).contains("Too late"), is_logged);
}

/// A list behind a link that leads out of the project is not worked on.
#[test]
fn a_list_that_a_master_list_reaches_by_a_link_out_of_the_project_is_refused() {
    let sandbox = two_lists("");
    let (list, outside) =
        (sandbox.project().join("plans/1-2-budget-todolist.md"), sandbox.root().join("outside.md"));
    std::fs::rename(&list, &outside).expect("our own file");
    std::os::unix::fs::symlink(&outside, &list).expect("a new link");
    for line in ["plan", "run", "status"] {
        let _ =
            sandbox.run(&format!("{line} {MASTER}")).exits(1).says("is a link that leads out of the project");
    }
    assert!(!sandbox.exists(STATE));
}
