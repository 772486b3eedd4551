//! What takes more than one iteration: work that is found late, limits, blockers, and an end in the middle.

use super::*;

#[test]
fn a_pass_that_finds_work_begins_another_round() {
    let sandbox = habits("");
    let deed = "case $turn in\n\
        1) echo 'case $1 in mark) ;; esac' > habits.sh;;\n\
        2) echo forgotten > late.txt;;\nesac";
    let deed = does(&sandbox, "T1", deed);
    act(&sandbox, &format!("[T1]\n{deed}signal T1_DONE\n"));
    let _ = sandbox.run("run habits").exits(0);
    let unit = &state(&sandbox)["tasks"]["T1"];
    assert_eq!((&unit["iterations_used"], &unit["confirmations_used"]), (&2.into(), &2.into()), "{unit:#}");
    assert_eq!(sandbox.read("late.txt"), "forgotten\n");
    let log = log(&sandbox);
    assert!(
        log.contains("The agent that looked once more did not say what it did. It changed something."),
        "{log}"
    );
}

#[test]
fn a_limit_that_is_reached_is_logged_and_raised_and_the_work_goes_on() {
    let sandbox = habits("");
    let again = |turn: u32| entry("T1", turn, "tried to mark a day in the file of marks", "nearly all of it");
    let tries: String =
        (1..=3).map(|turn| format!("[T1 {turn}]\nappend half.txt x\n{}", again(turn))).collect();
    act(&sandbox, &tries);
    let run = sandbox.run("run habits").exits(4).says("did the same").says("piton why T1");
    assert!(!run.contains("T2       attempt"), "{run}");
    assert_eq!(statuses(&sandbox), ["timeout", "pending", "pending"]);
    let unit = state(&sandbox)["tasks"].clone();
    assert_eq!((&unit["T1"]["iterations_used"], &unit["T2"]["reason"]), (&3.into(), &"Waiting on T1".into()));
    let log = log(&sandbox);
    assert!(log.contains("All 3 iterations are used up: raise the limit"), "{log}");
    // Iterations that repeat each other cause one warning on stderr and one in the log.
    let same = "the last two iterations of T1 say that they did the same (100 % of the words)";
    assert_eq!(run.stderr.matches(&format!("note by progress.md: {same}")).count(), 1, "{run}");
    assert_eq!(log.matches(&format!("> {same}")).count(), 1, "{log}");
    let _ = sandbox.run("status").exits(0).says(same);
    let _ = sandbox.run("why T1").exits(0).says("piton raise T1 --attempts 5").says("not finished");
    let _ = sandbox.run("raise T1 --attempts 4").exits(0);
    let _ = sandbox.run("run habits").exits(0).says("T1       attempt 4 started");
    let unit = &state(&sandbox)["tasks"]["T1"];
    assert_eq!((&unit["iterations_used"], &unit["max_iterations"]), (&4.into(), &4.into()));
    assert!(sandbox.read("half.txt").contains('x'), "what was done before is part of it");
}

#[test]
fn criteria_that_are_made_simpler_are_taken_up() {
    let sandbox = habits("");
    act(&sandbox, "[T1 1]\nsay no\n[T1 2]\nsay no\n[T1 3]\nsay no\n");
    let _ = sandbox.run("run habits").exits(4);
    let list = sandbox.read(format!("{PLAN}/tasks.md")).replacen("Max iterations: 3", "Max iterations: 5", 1);
    sandbox
        .write(format!("{PLAN}/tasks.md"), &list.replace("puts `2026-01-14,run` at the end of", "changes"));
    let run = sandbox.run("run habits").exits(0).says("the plan has changed; adopted as it is now");
    let _ = run.says("T1       attempt 4 started");
    assert_eq!(statuses(&sandbox), ["done"; 3]);
}

#[test]
fn a_blocker_is_logged_and_answered_and_what_the_person_did_stays() {
    let sandbox =
        habits("[T1 1]\nwrite started.txt yes\nsignal BLOCKED:which file: marks.csv or days.csv?\n");
    let _ = sandbox.run("run habits").exits(4);
    assert_eq!(statuses(&sandbox), ["blocked", "pending", "pending"]);
    let unit = &state(&sandbox)["tasks"]["T1"];
    assert_eq!(unit["reason"], "which file: marks.csv or days.csv?");
    assert!(log(&sandbox).contains("**Blockers:** which file: marks.csv or days.csv?"), "{}", log(&sandbox));
    let _ = sandbox.run("why T1").exits(0).says("piton unblock T1").says("piton skip T1");
    let _ = sandbox.piton(["answer", "T1", "marks.csv"]).run().exits(0).says("unblocked by you");
    let asked = "> which file: marks.csv or days.csv?\nyou answered:\n> marks.csv\n";
    let _ = sandbox.run("prompt T1").exits(0).says(asked);
    sandbox.write(sandbox.worktrees().join("T1/decided.txt"), "marks.csv");
    let _ = sandbox.run("retry T1").exits(0);
    act(&sandbox, "");
    let _ = sandbox.run("run habits").exits(0);
    assert_eq!(sandbox.read("decided.txt"), "marks.csv");
    assert!(sandbox.exists("started.txt"));
}

#[test]
fn whoever_comes_after_a_crash_goes_on_with_what_remains() {
    let sandbox = habits("");
    let reads = does(&sandbox, "T1", "cp .claude/iterative/habits/progress.md SIDE/read$turn.md");
    let first = format!("[T1 1]\n{reads}append half.txt x\n{}", entry("T1", 1, "one half", "the other half"));
    act(&sandbox, &format!("{first}[T1]\n{reads}{}", does_well("T1")));
    let killed = sandbox.piton(["run", "habits"]).env("PITON_CRASH", "work.ended:2").run();
    assert_eq!(killed.code, None, "{killed}");
    let _ = sandbox.run("run habits").exits(0).lacks("T1       attempt 3");
    let read = sandbox.read(sandbox.root().join("read2.md"));
    assert!(read.contains("**Remaining:** the other half"), "{read}");
    assert_eq!(log(&sandbox).matches("**Did:** one half").count(), 1, "{}", log(&sandbox));
    assert_eq!(state(&sandbox)["tasks"]["T1"]["iterations_used"], 2);
    let _ = sandbox.run("doctor").exits(0);
}
