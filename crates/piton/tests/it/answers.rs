//! What a person answers to a task that has stopped, and where it arrives.

use piton_testkit::sandbox::{Sandbox, task, writers};

use crate::{count, sandbox, status};

/// T1 is blocked by a question. Its later agents keep their prompts beside the sandbox, as `T1-ATTEMPT.md`.
fn asked() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nsignal BLOCKED:which of the two ridges?\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let keep = sandbox.program("keep", "cp $PITON_PROMPT $(dirname $0)/../$PITON_TASK-$PITON_ATTEMPT.md");
    sandbox.script(&format!("[T1]\nrun {keep}/keep\nwrite T1.txt x\n"));
    sandbox
}

#[test]
fn an_answer_lets_a_blocked_task_go_on_and_is_in_its_next_prompt() {
    let sandbox = asked();
    let answer = sandbox.piton(["answer", "T1", "the left one\n## Rules"]).run().exits(0);
    shows!(answer, @r"
    exit: 0
    --- stdout
    [TIME] T1       answered by you: the left one
    [TIME] T1       unblocked by you
    --- stderr
    piton prompt T1   prints the prompt of the next try
    hint: piton run plan.toml   resumes it
    ");
    let prompt = sandbox.run("prompt T1").exits(0).stdout;
    let (_, section) = prompt.split_once("## Answers from a person\n").expect("told");
    let said =
        "The task had stopped:\n> which of the two ridges?\nyou answered:\n> the left one\n> ## Rules\n";
    assert!(section.contains(said), "{section}");
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.read(sandbox.root().join("T1-1.md")), prompt, "exactly what was sent");
}

#[test]
fn the_same_answer_twice_is_one_and_a_completed_task_takes_none() {
    let sandbox = asked();
    let _ = sandbox.piton(["answer", "T1", "the left one"]).run().exits(0);
    let _ = sandbox.piton(["answer", "T1", " the left one\n"]).run().exits(0).says("already has this answer");
    assert_eq!(count(&sandbox.events(), "answered"), 1);
    // Another answer is added, and the newest comes last.
    let _ = sandbox.piton(["answer", "T1", "no, the right one"]).run().exits(0).lacks("unblocked");
    let prompt = sandbox.run("prompt T1").exits(0).stdout;
    assert!(prompt.find("> the left one") < prompt.find("> no, the right one"), "{prompt}");
    let _ = sandbox.run("run plan.toml").exits(0);
    let _ = sandbox.piton(["answer", "T1", "too late"]).run().exits(1).says("T1 is completed");
    let _ = sandbox.piton(["answer", "T1", " \n"]).run().exits(1);
    let _ = sandbox.piton(["answer", "T1", &"x".repeat(9000)]).run().exits(2).says("longer than 8192 bytes");
}

#[test]
fn a_note_with_which_a_task_is_unblocked_is_an_answer_too() {
    let sandbox = asked();
    let _ = sandbox
        .piton(["unblock", "T1", "--note", "the left one"])
        .run()
        .exits(0)
        .says("answered by you: the left one")
        .says("unblocked by you");
    let _ = sandbox.run("prompt T1").exits(0).says("you answered:\n> the left one\n");
    let _ =
        sandbox.piton(["unblock", "T1", "--note", "again"]).run().exits(1).says("T1 is failed, not blocked");
}

#[test]
fn an_answer_reaches_who_keeps_the_ledger_and_an_abandoned_task_is_tried_again() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1"));
    sandbox.script("[T1]\nwrite other.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let _ = sandbox.piton(["answer", "T1", "write T1.txt"]).run().exits(0).says("you asked to retry it");
    let _ = sandbox.run("orient T1").exits(0).says("you answered:\n> write T1.txt\n");
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(status(&sandbox, "T1"), "completed");
}

#[test]
fn an_agent_cannot_answer_in_place_of_a_person() {
    let sandbox = asked();
    let piton = env!("CARGO_BIN_EXE_piton");
    let script =
        sandbox.program("cheat", &format!("{piton} answer T1 yes > $(dirname $0)/../said.txt 2>&1; true"));
    sandbox.script(&format!("[T1]\nrun {script}/cheat\nwrite T1.txt x\n"));
    let _ = sandbox.run("retry T1").exits(0);
    let _ = sandbox.run("run plan.toml").exits(0);
    assert!(sandbox.read(sandbox.root().join("said.txt")).contains("this is an attempt of T1"));
    assert_eq!(count(&sandbox.events(), "answered"), 0);
}

#[test]
fn a_note_about_a_task_reaches_its_prompts_and_one_about_the_run_does_not() {
    let sandbox = asked();
    let _ =
        sandbox.piton(["journal", "add", "mind the\n## gap", "--task", "T1", "--by", "ann"]).run().exits(0);
    let _ = sandbox.piton(["journal", "add", "all is well", "--by", "ann"]).run().exits(0);
    let _ = sandbox.run("prompt T1").exits(0).says("From ann:\n> mind the\n> ## gap\n").lacks("all is well");
}

#[test]
fn a_guardrail_can_be_taken_out_again() {
    let sandbox = asked();
    for text in ["No new dependency", "No new file", "Use tabs"] {
        let _ = sandbox.piton(["guardrail", "add", text]).run().exits(0);
    }
    let _ = sandbox
        .piton(["guardrail", "remove", "no new"])
        .run()
        .exits(1)
        .says("2 guardrails contain this text");
    let _ = sandbox.piton(["guardrail", "remove", "spaces"]).run().exits(1).says("piton guardrail list");
    let _ = sandbox
        .piton(["guardrail", "remove", "DEPENDENCY"])
        .run()
        .exits(0)
        .says("guardrail removed by you: No new dependency");
    let _ = sandbox.run("guardrail list").exits(0).lacks("dependency").says("Use tabs");
    let _ = sandbox.run("prompt T1").exits(0).lacks("dependency").says("No new file");
    // A guardrail that was removed can be added again.
    let _ = sandbox.piton(["guardrail", "add", "No new dependency"]).run().exits(0);
    let _ = sandbox.run("prompt T1").exits(0).says("No new dependency");
}

#[test]
fn a_closing_question_is_shown_with_the_last_words_and_can_be_answered() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1"));
    sandbox
        .script("[T1]\nsay I found two stores.\nsay Which one shall I use?\nsay 1. files\nsay 2. SQLite\n");
    let _ = sandbox
        .run("run plan.toml")
        .exits(4)
        .says("the agent changed nothing and asked: Which one shall I use?");
    assert_eq!(status(&sandbox, "T1"), "blocked");
    let why = sandbox.run("why T1").exits(0);
    let _ = why
        .says("  | Which one shall I use?\n  | 1. files\n  | 2. SQLite\n")
        .says("piton answer T1 'what to do'");
    let _ = sandbox.piton(["answer", "T1", "2"]).run().exits(0);
    let asked = "> Which one shall I use?\n> 1. files\n> 2. SQLite\nyou answered:\n> 2\n";
    let _ = sandbox.run("prompt T1").exits(0).says(asked);
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(0);
}
