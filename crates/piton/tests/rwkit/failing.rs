//! What goes wrong with a list: the ladder, what is blocked and skipped, gates that are degraded, reviews.

use super::*;

/// Agents that keep their prompts as `NAME.TASK.md`, and do this.
fn caller(sandbox: &str, name: &str, deed: &str) -> String {
    let script = format!("cat > {sandbox}/{name}.$PITON_TASK.md; {deed}");
    format!("[agents.{name}]\ncommand = [\"sh\", \"-c\", {script:?}]\n")
}

#[test]
fn a_task_that_all_of_the_ladder_failed_at_is_blocked_and_the_run_goes_on() {
    let ladder: String = ["debugger", "specialist", "wider-context"]
        .iter()
        .map(|name| caller("SIDE", name, "rm -f receipts.sh"))
        .collect();
    let sandbox = receipts(&ladder, "[T004]\nremove receipts.sh\n");
    let _ = sandbox.run(RUN).exits(4);
    assert_eq!(statuses(&sandbox), ["completed", "completed", "completed", "blocked", "skipped", "skipped"]);
    let file = state(&sandbox);
    is_counted(&file);
    assert_eq!(file["blocked_tasks"], serde_json::json!(["T004"]));
    assert_eq!(file["retry_counts"], serde_json::json!({ "T004": 4 }));
    assert_eq!(file["tasks"]["T005"]["blocked_by"], serde_json::json!(["T004"]));
    assert_eq!(file["quality_gates"]["unit_tests"], "passed", "the gates are looked at all the same");
    assert_eq!((&file["status"], &file["stop_reason"]), (&"completed".into(), &"blocked".into()));
    assert_eq!(marks(&sandbox), "xxx   ");
    let told = |name: &str| sandbox.read(sandbox.root().join(format!("{name}.T004.md")));
    assert!(told("debugger").contains("as a debugger") && told("specialist").contains("fresh eyes"));
    assert!(told("wider-context").contains("> - T001: Keep receipts in a file"), "{}", told("wider-context"));
    // A person fixes it.
    act(&sandbox, "");
    let _ = sandbox.run("retry T004").exits(0);
    sandbox.write(
        "piton.toml",
        &sandbox.read("piton.toml").replace(
            "rm -f receipts.sh",
            &does_well("T004")
                .replacen("write receipts.sh ", "echo '", 1)
                .replace('\n', "' > receipts.sh")
                .replace('"', "\\\""),
        ),
    );
    sandbox.commit("Mend");
    let _ = sandbox.run(&format!("{RUN} --agent default --replan")).exits(0);
    assert_eq!(statuses(&sandbox), ["completed"; 6]);
}

#[test]
fn a_gate_that_cannot_be_mended_is_degraded_and_the_next_one_is_looked_at() {
    let gates = "[gates.e2e_tests]\nrun = \"test -f e2e\"\nfixes = 1\n[gates.uat]\nrun = \"true\"\n";
    let sandbox = receipts(gates, "[gate-e2e_tests]\nwrite tried x\n");
    let _ = sandbox.run(RUN).exits(4);
    let file = state(&sandbox);
    assert_eq!(file["quality_gates"]["e2e_tests"], "degraded");
    assert_eq!(
        (&file["quality_gates"]["uat"], &file["quality_gates"]["smoke_test"]),
        (&"passed".into(), &"passed".into())
    );
    // No story has a test of that kind, either.
    assert_eq!(file["degraded_phases"], serde_json::json!(["e2e_tests", "story_coverage"]));
    assert_eq!((&file["status"], &file["stop_reason"]), (&"completed".into(), &"degraded".into()));
    let _ = sandbox.run("gate").exits(0).says("e2e_tests            degraded");
    // It can be looked at again later.
    sandbox.write("e2e", "x");
    sandbox.commit("Mend");
    let _ = sandbox.run("gate e2e_tests passed").exits(1).says("skipped");
    let _ = sandbox.run("reset gate-e2e_tests").exits(0);
    let _ = sandbox.run("gate e2e_tests passed").exits(0);
    assert_eq!(state(&sandbox)["quality_gates"]["e2e_tests"], "passed");
    assert_eq!(state(&sandbox)["degraded_phases"], serde_json::json!(["story_coverage"]));
}

#[test]
fn every_story_has_to_have_an_end_to_end_test_and_what_is_missing_is_added_once() {
    let gates = "[gates.e2e_tests]\nrun = \"true\"\n[gates.uat]\nrun = \"true\"\n";
    let adds = "[gate-story_coverage]\nif-feedback write tests/e2e/find.sh echo us-002\n";
    let sandbox = receipts(gates, adds);
    sandbox.write("tests/e2e/US-001-keep.sh", "true\n");
    sandbox.commit("A test of one story");
    let _ = sandbox.run(RUN).exits(0);
    assert_eq!(state(&sandbox)["quality_gates"]["story_coverage"], "passed");
    let sandbox = receipts(gates, "[gate-story_coverage]\nwrite notes.txt tried\n");
    sandbox.write("tests/e2e/US-001-keep.sh", "true\n");
    sandbox.commit("A test of one story");
    let run = sandbox.run(RUN).exits(4);
    assert_eq!(
        run.stderr.matches("gate-story_coverage attempt").count(),
        2,
        "looked at, and mended once: {run}"
    );
    let _ =
        sandbox.run("log gate-story_coverage --json").exits(0).says("names `US-002`").lacks("names `US-001`");
    assert_eq!(state(&sandbox)["degraded_phases"], serde_json::json!(["story_coverage"]));
}

#[test]
fn without_commits_there_is_one_task_at_a_time_and_that_is_said() {
    let sandbox = receipts("", "");
    let _ = sandbox.run(&format!("{RUN} --no-commits --max-parallel 3")).exits(2).says("one task at a time");
    let run = sandbox.run(&format!("{RUN} --no-commits")).exits(0).says("itself, one task at a time");
    let order: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.contains("attempt 1 started") || line.contains("completed"))
        .collect();
    assert!(order.len() >= 6, "{run}");
    assert_eq!(statuses(&sandbox), ["completed"; 6]);
    assert_eq!(sandbox.git(["log", "--oneline"]).lines().count(), 2, "nothing was committed");
    // A check in place would be blamed for what is half written beside it.
    let half_written = [".claude/.piton-1", "plans/.piton-1"];
    let hidden = sandbox.git(["check-ignore", half_written[0], half_written[1]]);
    assert_eq!(hidden.lines().collect::<Vec<_>>(), half_written);
}

#[test]
fn a_review_is_a_gate_whose_findings_are_mended() {
    let reviewer = caller(
        "SIDE",
        "reviewer",
        "test -f mended && echo FINDINGS: none || printf 'FINDINGS:\\n- CRITICAL: receipts are lost\\n- MINOR: a name\\n'",
    );
    let settings = format!("[gates.qa_review]\nreview = \"reviewer\"\n{reviewer}");
    let sandbox = receipts(&settings, "[gate-qa_review]\nif-feedback write mended yes\n");
    let _ = sandbox.run(RUN).exits(0).says("found problems (1 critical, 0 major)");
    let file = state(&sandbox);
    assert_eq!((&file["quality_gates"]["qa_review"], &file["qa_cycles"]), (&"approved".into(), &2.into()));
    let asked = sandbox.read(sandbox.root().join("reviewer.gate-qa_review.md"));
    assert!(asked.contains("the work of plans/1-1-receipts-todolist.md as a whole"), "{asked}");
}

#[test]
fn a_question_is_answered_without_a_person_unless_it_destroys_something() {
    let asks = "[T002]\nsay Use plain files (Recommended)\nsignal BLOCKED:Which store?\n[T002 2]\nif-feedback write tests/keep.sh true\n";
    let sandbox = receipts("", asks);
    let _ = sandbox
        .run(&format!("{RUN} --auto-answer"))
        .exits(0)
        .says("it asked, and is answered: Use plain files");
    assert_eq!(state(&sandbox)["config"]["auto_answer"], true);
    // An agent that ends with a question has asked it.
    let asks =
        "[T002]\nsay Shall I keep them in plain files?\n[T002 2]\nif-feedback write tests/keep.sh true\n";
    let sandbox = receipts("", asks);
    let _ = sandbox.run(&format!("{RUN} --auto-answer")).exits(0).says("it asked, and is answered: yes");
    let sandbox = receipts("", "[T002]\nsay Yes, drop the table (Recommended)\nsignal BLOCKED:Drop it?\n");
    let _ = sandbox.run(&format!("{RUN} --auto-answer")).exits(4);
    assert_eq!(statuses(&sandbox)[1], "blocked");
}

#[test]
fn an_empty_file_does_not_count_and_what_agents_say_is_kept() {
    let says = "[T003]\nrun sh -c true\nwrite docs/keep.md \n[T003 2]\nwrite docs/keep.md x\nsay DONE: Told it\nsay Files: docs/keep.md\n";
    let sandbox = receipts("", says);
    let _ = sandbox.run(RUN).exits(0);
    let file = state(&sandbox);
    assert_eq!(file["retry_counts"], serde_json::json!({ "T003": 1 }));
    assert_eq!(file["tasks"]["T003"]["files_mentioned"], serde_json::json!(["docs/keep.md"]));
}

#[test]
fn a_folder_has_to_hold_something() {
    let sandbox = receipts("", "[T003]\nwrite docs/keep/empty.md \n[T003 2]\nwrite docs/keep/a.md x\n");
    sandbox.write(LIST, &sandbox.read(LIST).replace("[files: docs/keep.md]", "[files: docs/keep/]"));
    sandbox.commit("A folder");
    let _ = sandbox.run(RUN).exits(0).says("check `docs/keep/ exists` failed");
    assert_eq!(state(&sandbox)["retry_counts"], serde_json::json!({ "T003": 1 }));
}

#[test]
fn a_gate_whose_program_is_missing_is_told_before_anything_begins() {
    let sandbox = receipts("[gates.uat]\nrun = \"no-such-program --all\"\nfixes = 0\n", "");
    let told =
        sandbox.run(RUN).exits(4).says("no program `no-such-program`, which the check of the gate uat needs");
    assert_eq!(state(&sandbox)["quality_gates"]["uat"], "degraded", "{told}");
}

/// A blocked task is retried after the gates have passed, and breaks what one of them saw.
#[test]
fn a_gate_is_looked_at_again_after_what_lands_later() {
    let gates = "[gates.e2e_tests]\nrun = \"! test -f broken\"\nfixes = 1\n";
    let sandbox = receipts(gates, "[T004]\nsignal BLOCKED:which shop?\n");
    let _ = sandbox.run(RUN).exits(4);
    assert_eq!(state(&sandbox)["quality_gates"]["e2e_tests"], "passed");
    let breaks = format!("[T004]\nwrite broken x\n{}", does_well("T004"));
    act(&sandbox, &format!("{breaks}[gate-e2e_tests]\nif-feedback remove broken\n"));
    let _ = sandbox.run("retry T004").exits(0);
    let run = sandbox.run(RUN).exits(0).says("open again: T004 was completed after it had passed");
    assert!(!sandbox.git(["ls-tree", "--name-only", "main"]).contains("broken"), "{run}");
    assert_eq!(state(&sandbox)["quality_gates"]["e2e_tests"], "passed");
    // Its one fix is spent. A person breaks it again, and nothing else is left to try.
    sandbox.write("broken", "x");
    sandbox.git(["add", "broken"]);
    sandbox.git(["commit", "-qm", "Break it"]);
    let run = sandbox.run(RUN).exits(4).says("open again: changed since it passed: broken");
    assert_eq!(state(&sandbox)["quality_gates"]["e2e_tests"], "degraded", "{run}");
    assert_eq!(run.stderr.matches("gate-e2e_tests attempt").count(), 1, "no agent is sent: {run}");
}

/// What Piton itself writes, and the plan, are not a reason to look again.
#[test]
fn files_of_the_plan_open_no_gate_again() {
    let sandbox = receipts("[gates.e2e_tests]\nrun = \"true\"\n", "");
    let _ = sandbox.run(RUN).exits(0);
    sandbox.git(["add", "-f", LIST, STATE]);
    sandbox.git(["commit", "-qm", "Keep the boxes"]);
    let _ = sandbox.run(RUN).exits(0).lacks("open again");
}

#[test]
fn an_answer_lets_a_blocked_task_go_on_and_is_in_its_next_prompt() {
    let sandbox = receipts("", "[T004]\nsignal BLOCKED:which shop?\n");
    let _ = sandbox.run(RUN).exits(4);
    let _ = sandbox.piton(["answer", "T004", "the corner shop"]).run().exits(0).says("unblocked by you");
    let _ = sandbox.run("prompt T004").exits(0).says("> which shop?\nyou answered:\n> the corner shop\n");
    act(&sandbox, "");
    let _ = sandbox.run(RUN).exits(0);
    assert_eq!(statuses(&sandbox), ["completed"; 6]);
}
