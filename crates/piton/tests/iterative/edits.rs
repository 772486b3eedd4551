//! Files that others write: beside an engine, without one, and as commands.

use piton_testkit::sandbox::until;

use super::*;

/// Change a file of the folder as an editor does: a copy beside it takes its place.
fn edit(sandbox: &Sandbox, name: &str, change: impl FnOnce(String) -> String) {
    let (path, half) = (format!("{PLAN}/{name}"), format!("{PLAN}/{name}.tmp"));
    sandbox.write(&half, &change(sandbox.read(&path)));
    std::fs::rename(sandbox.project().join(half), sandbox.project().join(path)).expect("one folder");
}

#[test]
fn edits_beside_an_engine_are_heard_and_it_goes_on() {
    let sandbox = habits("");
    let waits = does(&sandbox, "T1", "test $turn != 1 || cat SIDE/gate");
    act(&sandbox, &format!("[T1]\n{waits}{}", does_well("T1")));
    sandbox.fifo("gate");
    let mut run = sandbox.piton(["run", "habits"]).spawn();
    run.until_says("T1       attempt 1 started");
    edit(&sandbox, "state.json", |text| {
        let text = text.replace("\"max_iterations\": 5", "\"max_iterations\": 9");
        text.replacen('{', "{\n  \"owner\": \"ann\",", 1)
            .replace("\"current_iteration\": 1", "\"current_iteration\": 7")
    });
    edit(&sandbox, "progress.md", |text| text + "\n## Note - 2026-01-15\nann looked at it\n");
    edit(&sandbox, "guardrails.md", |text| {
        text + "\n## Days\n- **When**: a day is read\n- **Problem**: it may be none\n- **Solution**: look at its form\n- **Learned**: ann\n"
    });
    let allowed = || sandbox.run("status T2 --json").exits(0).contains("\"attempts_allowed\": 9");
    until("the new limit", || allowed().then_some(()));
    run.until_says("## Note - 2026-01-15");
    run.until_says("## Days");
    run.until_at(&sandbox, "gate");
    let _ = run.wait().exits(0);
    let file = state(&sandbox);
    assert_eq!((&file["owner"], &file["tasks"]["T2"]["max_iterations"]), (&"ann".into(), &9.into()));
    let _ = sandbox.run("guardrail search FORM").exits(0).says("look at its form");
    let _ = sandbox.run("guardrail search qqq").exits(0).says("no guardrail contains this text");
}

#[test]
fn an_old_entry_that_somebody_changes_is_told_and_left() {
    let sandbox = habits("");
    let _ = sandbox.run("run habits --task T1").exits(0);
    edit(&sandbox, "progress.md", |text| text.replace("**Did:** all of it", "**Did:** much more than that"));
    let _ = sandbox.run("journal add looked").exits(0);
    let _ =
        sandbox.run("log").exits(0).says("the entry `## T1 - Iteration 1` was changed after it was written");
    assert!(log(&sandbox).contains("much more than that"), "nothing in it is ever changed back");
    assert!(log(&sandbox).contains("> looked"));
    let _ = sandbox.run("run habits").exits(0);
}

#[test]
fn what_is_called_done_by_hand_is_judged() {
    let refuses =
        "test -f habits.sh && echo \"<signal>${unit}_VERIFIED</signal>\" || echo 'MAJOR: nothing is there'";
    let sandbox = judged(&judges(refuses, CONTENT.1), "");
    let _ = sandbox.run("next --plan habits").exits(0).says("T1");
    // It was never started, so the edit is rejected. The command says so, and so does the log.
    edit(&sandbox, "tasks.md", |text| text.replace("- [ ] **T1**", "- [x] **T1**"));
    let _ =
        sandbox.run("journal add looked").exits(0).says("rejected an edit of tasks.md: T1: reported done");
    assert_eq!((statuses(&sandbox)[0].as_str(), marks(&sandbox).as_str()), ("pending", "   "));
    assert!(log(&sandbox).contains("Rejected an edit of tasks.md: T1: reported done"), "{}", log(&sandbox));
    let _ = sandbox.run("start T1").exits(0);
    edit(&sandbox, "tasks.md", |text| text.replace("- [ ] **T1**", "- [x] **T1**"));
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!((statuses(&sandbox)[0].as_str(), marks(&sandbox).as_str()), ("in_progress", "   "));
    sandbox.write("habits.sh", "case $1 in mark) ;; esac");
    sandbox.commit("By hand");
    edit(&sandbox, "state.json", |text| {
        text.replacen("\"status\": \"in_progress\"", "\"status\": \"done\"", 1)
    });
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!((statuses(&sandbox)[0].as_str(), marks(&sandbox).as_str()), ("done", "x  "));
}

/// Ticks are claims, also those of tasks that depend on each other. Ticks from an earlier run do not count in a new one.
#[test]
fn what_was_done_by_hand_is_judged_in_its_order_and_done_again_by_who_begins_anew() {
    let sandbox = habits("");
    for (id, _) in WORK {
        edit(&sandbox, "tasks.md", |text| {
            text.replace(&format!("- [ ] **{id}**"), &format!("- [x] **{id}**"))
        });
    }
    sandbox.write("habits.sh", "case $1 in mark) ;; count) ;; esac");
    sandbox.write("tests/count.sh", "grep -q count habits.sh");
    sandbox.write("docs/usage.md", "mark DAY NAME, count");
    sandbox.commit("By hand");
    let _ = sandbox.run("run habits").exits(0).lacks("T1       attempt").lacks("T3       attempt");
    assert_eq!((statuses(&sandbox), marks(&sandbox)), (vec!["done".to_owned(); 3], "xxx".to_owned()));
    let before = log(&sandbox);
    sandbox.git(["rm", "-q", "habits.sh", "tests/count.sh", "docs/usage.md"]);
    sandbox.commit("Anew");
    let anew = sandbox.run("run habits --reset").exits(0).says("3 ticks removed from").says("done again");
    assert_eq!(anew.stderr.matches(" attempt 1 started").count(), 4, "{anew}");
    assert_eq!((statuses(&sandbox), marks(&sandbox)), (vec!["done".to_owned(); 3], "xxx".to_owned()));
    let log = log(&sandbox);
    assert!(log.starts_with(&before), "{log}");
    assert!(log[before.len()..].contains("> A new run begins here."), "{log}");
    let _ = sandbox.run("log").exits(0).lacks("was removed");
}

/// What the document does by hand, each as a command.
#[test]
fn every_operation_of_the_document_is_a_command() {
    let sandbox = habits("");
    let run = |line: &str| sandbox.run(line).exits(0);
    let _ = run("next --plan habits").says("T1").lacks("T2");
    let _ = run("phase").says("plan");
    let _ = run("phase discover");
    let _ = run("phase").says("discover");
    let _ = sandbox.run("phase execute").exits(1).says("it follows from the units");
    let _ = run("start T1 --by ann");
    let _ = run("phase").says("execute");
    let _ = run("report T1 unfinished --by ann --did half --remaining rest");
    sandbox.write("habits.sh", "case $1 in mark) ;; esac");
    sandbox.commit("By hand");
    let _ = sandbox.run("confirm T1 --by bob").exits(1).says("there is nothing to confirm");
    let _ = run("report T1 done --by ann --did all").says("piton confirm T1");
    let unit = &state(&sandbox)["tasks"]["T1"];
    assert_eq!((&unit["status"], &unit["confirmations_used"]), (&"confirming".into(), &1.into()), "{unit:#}");
    let _ = sandbox.run("report T1 done --by ann").exits(1).says("someone else has to confirm");
    // The agent that was to confirm it found work, so another one has to confirm it.
    sandbox.write("habits.sh", "case $1 in mark) echo;; esac");
    sandbox.commit("By hand");
    let _ = run("confirm T1 --by bob --did more").says("piton confirm T1");
    let _ = run("why T1").says("someone else has to confirm it");
    let _ = run("confirm T1 --by cleo").says("T1");
    let _ = run("confirm T1 --by dora").says("T1 is already completed: there is nothing left to confirm");
    assert_eq!((statuses(&sandbox)[0].as_str(), marks(&sandbox).as_str()), ("done", "x  "));
    let _ = run("report T2 blocked --blockers stuck --by ann");
    assert_eq!(state(&sandbox)["tasks"]["T2"]["reason"], "stuck");
    let _ = run("unblock T2");
    let _ = run("raise T2 --attempts 9");
    let _ = run("verify T2").says("✓");
    let _ = run("skip T3 --reason later");
    let _ = run("add T4 --title More --after T1 --file more.txt");
    let _ = run("guardrail add heed");
    let _ = run("guardrail add leave");
    let _ = run("guardrail remove leave").says("guardrail removed by");
    let _ = run("guardrail list").says("heed").lacks("leave");
    let _ = run("next").says("T4").lacks("review");
    let file = state(&sandbox);
    assert_eq!(file["tasks"]["T2"]["max_iterations"], 9);
    assert_eq!(
        (&file["tasks"]["T3"]["status"], &file["tasks"]["T3"]["reason"]),
        (&"pending".into(), &"Skipped: later".into())
    );
    assert_eq!(file["tasks"]["T4"]["status"], "pending");
    let file = sandbox.read(format!("{PLAN}/guardrails.md"));
    assert!(file.contains("**Solution**: heed") && !file.contains("leave"), "{file}");
    insta::assert_snapshot!("by_command", masked(&log(&sandbox)));
}

/// The plan's own files are looked at while the run goes on.
#[test]
fn a_unit_that_has_not_begun_may_be_edited_in_the_list_while_the_run_goes_on() {
    let first = format!("[T1 1]\nmeet SIDE/arrived\nmeet SIDE/gate\n{}", crate::does_well("T1"));
    let sandbox = habits(&first);
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    let mut run = sandbox.piton(["run", "habits"]).spawn();
    sandbox.meet("arrived");
    let list = format!("{PLAN}/tasks.md");
    sandbox.write(&list, &sandbox.read(&list).replace("Tell how to use it", "Tell well how to use it"));
    run.until_says("adopted the plan as it is now");
    sandbox.meet("gate");
    // The agent that confirms it.
    sandbox.meet("arrived");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).lacks("asked to stop");
    assert_eq!(statuses(&sandbox), ["done"; 3]);
    let titles = sandbox.history("main").join("\n");
    assert!(titles.contains("Tell well how to use it"), "{titles}");
}
