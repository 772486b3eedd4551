//! The good day.

use super::*;

#[test]
fn a_folder_is_worked_on_until_everything_is_confirmed_verified_and_reviewed() {
    let sandbox = habits("");
    let before = sandbox.read(format!("{PLAN}/tasks.md"));
    let _ =
        sandbox.run("plan habits").exits(0).says("3 tasks and a review").says("T2       Count the days ← T1");
    let run = sandbox.run("run habits").exits(0).says("3 tasks and a review");
    assert!(!run.contains("attempt 2"), "{run}");
    assert_eq!(statuses(&sandbox), ["done"; 3]);
    assert_eq!(marks(&sandbox), "xxx");
    insta::assert_snapshot!("finished_state", masked(&sandbox.read(format!("{PLAN}/state.json"))));
    insta::assert_snapshot!("finished_log", masked(&log(&sandbox)));
    let ticked = sandbox.read(format!("{PLAN}/tasks.md"));
    assert_eq!(ticked.replace("- [x] **T", "- [ ] **T"), before, "nothing else of the list has changed");
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M .claude/iterative/habits/tasks.md");
    // A second run finds nothing to do.
    let _ = sandbox.run("run habits").exits(0).lacks("attempt");
    let _ = sandbox.run("status habits").exits(0).says("every task is completed");
}

#[test]
fn each_agent_is_told_a_few_words_and_who_confirms_is_told_the_first_ones() {
    let sandbox = habits("");
    let keeps = "cp \"$PITON_PROMPT\" SIDE/told$turn.md\ntest $turn = 1 || echo 'case $1 in mark) ;; esac' > habits.sh";
    let keeps = does(&sandbox, "T1", keeps);
    act(&sandbox, &format!("[T1 1]\n{keeps}say half of it\n[T1]\n{keeps}signal T1_DONE\n"));
    let base = sandbox.git(["rev-parse", "--short=10", "main"]);
    let _ = sandbox.run("run habits").exits(0).says("T1       failed: not finished");
    let told = |turn: u32| sandbox.read(sandbox.root().join(format!("told{turn}.md")));
    insta::assert_snapshot!("told", told(1).replace(&base, "BASE"));
    assert!(told(2).contains("Iteration 2 of at most 3.") && !told(2).contains("half of it"), "{}", told(2));
    assert_eq!(told(3), told(1), "to the letter, and nothing of what is to be confirmed");
    let _ = sandbox.run("output T1 --list").exits(0);
}

#[test]
fn plans_are_found_by_slug_by_folder_and_by_any_of_their_files() {
    let sandbox = habits("");
    for name in ["habits", PLAN, &format!("{PLAN}/tasks.md"), &format!("{PLAN}/brief.md")] {
        let _ = sandbox.run(&format!("plan {name}")).exits(0).says("a plan of the iterative system");
    }
    let _ = sandbox.piton(["plan", "habits"]).within(sandbox.project().join("tests")).run().exits(0);
    let _ = sandbox.run("plan nothing").exits(1).says("there is no plan");
    sandbox.copy(sandbox.project().join(PLAN), "elsewhere/habits");
    let _ = sandbox.run("plan elsewhere/habits").exits(0).says("a plan of the iterative system");
    sandbox.copy(sandbox.project().join(PLAN), ".claude/iterative-dev/habits");
    let older = sandbox.run("run .claude/iterative-dev/habits").exits(1);
    let _ = older.says("an older layout").says("piton import .claude/iterative-dev/habits");
    let _ = sandbox.run("schema iterative-state").exits(0).says("current_iteration");
    let _ = sandbox.run("ops --dialect iterative").exits(0).says("piton confirm ID").says("piton phase");
}

#[test]
fn a_folder_that_nobody_committed_is_worked_on_as_well() {
    let sandbox = habits("");
    let reads = does(
        &sandbox,
        "T1",
        "cat .claude/iterative/habits/context.md .claude/iterative/habits/tasks.md > SIDE/read",
    );
    act(&sandbox, &format!("[T1]\n{reads}{}", does_well("T1")));
    sandbox.write(".gitignore", ".claude/\n");
    sandbox.git(["rm", "-rq", "--cached", ".claude"]);
    sandbox.commit("Keep it out");
    // Every iteration reads this: what is too long is shown where it is, and stays as it is.
    let context = format!("# Context\n\n{}end\n", "word ".repeat(200));
    sandbox.write(format!("{PLAN}/context.md"), &context);
    let too_long = "context.md has 203 words; keep it below 200";
    let _ = sandbox.run("plan habits").exits(0).says(too_long).says(&format!("{PLAN}/context.md:3:986"));
    let _ = sandbox.run("run habits").exits(0).says(too_long);
    assert_eq!(sandbox.read(format!("{PLAN}/context.md")), context);
    assert_eq!(statuses(&sandbox), ["done"; 3]);
    assert!(sandbox.read(sandbox.root().join("read")).contains("Count the days"));
    assert_eq!(sandbox.git(["ls-files", ".claude"]), "", "and it stays out");
}
