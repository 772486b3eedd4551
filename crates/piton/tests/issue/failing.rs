//! Work that does not succeed: attempts, the halt, and how a person goes on from there.

use serde_json::json;

use super::*;

/// This is never fixed.
const HOPELESS: &str = "[1.2]\nwrite tests/by-month.sh exit 1\n";

#[test]
fn three_attempts_then_a_halt_that_says_what_is_needed() {
    let sandbox = months();
    act(&sandbox, HOPELESS);
    let run = sandbox.run("run 7").exits(4);
    let run = run.says("1.2      attempt 3 started").lacks("attempt 4").lacks("2        attempt 1");
    let (_, comment) = run.stderr.split_once("\nFor the issue").expect("a text for the issue");
    insta::assert_snapshot!("halted", format!("For the issue{comment}"));
    let halted = ["done", "done", "failed", "pending", "pending", "pending", "pending", "pending"];
    assert_eq!(statuses(&sandbox), halted);
    assert_eq!(told(&sandbox), ["0", "1.1", "1.2"]);
    assert!(journal(&sandbox).contains("**Status**: ❌ Failed"), "{}", journal(&sandbox));
    assert_eq!(ticked(&sandbox), ["0", "1.1"]);
    // Going on without a word changes nothing.
    let _ = sandbox.run("run 7").exits(4).lacks("attempt 4").says("needs review");
    assert_eq!(told(&sandbox), ["0", "1.1", "1.2"]);
    // A person fixes what stood in the way, and says so.
    act(&sandbox, "");
    let _ = sandbox.run("retry 1.2").exits(0);
    let _ = sandbox.run("run 7").exits(0).says("Closes #7");
    is_whole(&sandbox);
    assert_eq!(statuses(&sandbox), ALL_DONE);
    let text = journal(&sandbox);
    assert_eq!(told(&sandbox), ["0", "1.1", "1.2", "1.2", "2", "3.1", "3.2", "3.3", "4"], "{text}");
    assert_eq!(
        text.matches("❌ Failed").count(),
        1,
        "what was told stays, and what became of it follows: {text}"
    );
}

/// The other way, for a person who would rather have the rest than wait.
#[test]
fn a_plan_may_go_on_without_a_task_that_was_given_up() {
    let sandbox = months();
    let settings = sandbox.read("piton.toml");
    sandbox
        .write("piton.toml", &settings.replace("backoff = \"0s\"", "backoff = \"0s\"\nexhausted = \"skip\""));
    sandbox.commit("Skip");
    act(&sandbox, "[3.2]\nwrite tests/mistakes.sh exit 1\n");
    let _ = sandbox.run("run 7").exits(4).says("3.2      attempt 3 started").says("3.3      landed");
    assert_eq!(statuses(&sandbox), ["done", "done", "done", "done", "done", "failed", "done", "done"]);
    assert!(!ticked(&sandbox).contains(&"3.2".to_owned()));
    assert!(journal(&sandbox).contains("**Status**: ❌ Failed"), "{}", journal(&sandbox));
}

/// What was half-done is kept, and the next task does not begin on it.
#[test]
fn a_task_that_is_skipped_leaves_nothing_to_the_next_and_loses_nothing() {
    let sandbox = months();
    act(&sandbox, "[3.1]\nwrite spend.sh exit 7\nwrite half.txt done\n");
    let _ = sandbox.run("run 7").exits(4);
    assert_eq!(sandbox.read(workplace(&sandbox).join("half.txt")), "done\n");
    let _ = sandbox.run("skip 3.1").exits(0);
    act(&sandbox, "[3.2]\nrun test ! -e half.txt\nwrite tests/mistakes.sh true\n[3.3]\nwrite note.txt no\n");
    let run =
        sandbox.run("run 7").exits(0).says("completed, 1 skipped").says("Part of #7").lacks("Closes #7");
    let _ = run.says("3.2      landed").says("4        completed");
    let files = sandbox.git(["ls-tree", "-r", "--name-only", BRANCH]);
    assert!(!files.contains("half.txt") && files.contains("tests/mistakes.sh"), "{files}");
    let refs = sandbox.git(["for-each-ref", "--format=%(refname)", "refs/piton"]);
    let holds = |name: &&str| sandbox.git(["ls-tree", "-r", "--name-only", name]).contains("half.txt");
    assert!(refs.lines().any(|name| holds(&name)), "{refs}");
    assert_eq!(sandbox.git(["show", &format!("{BRANCH}:spend.sh")]), BY_MONTH.trim_end());
    assert_eq!(statuses(&sandbox), ["done", "done", "done", "done", "failed", "done", "done", "done"]);
    let open = sandbox.read(format!("{PLAN}/tasks.md"));
    assert!(open.contains("- [ ] 3. Tell mistakes\n  - [ ] 3.1 "), "{open}");
    let _ = sandbox.run("doctor").exits(0);
}

/// Its checks are run first; an agent comes when they fail, and what it fixes lands.
#[test]
fn a_checkpoint_that_fails_gets_an_agent() {
    let sandbox = months();
    // The file that the checkpoint looks for was never written.
    let others =
        format!("[1.2]\nwrite tests/other.sh true\n[2]\n{}run rm tests/other.sh\n", does_well("1.2"));
    act(&sandbox, &others);
    let _ = sandbox.run("run 7").exits(0).says("2        landed");
    is_whole(&sandbox);
    assert_eq!(statuses(&sandbox), ALL_DONE);
    assert_eq!(entry(&sandbox, "2")["files_created"], json!(["tests/by-month.sh"]));
}

/// Every box was ticked by hand, and the whole does not work.
#[test]
fn a_validation_that_fails_is_mended() {
    let sandbox = months();
    let list = sandbox.read(format!("{PLAN}/tasks.md")).replace("[ ]", "[x]");
    sandbox.write(format!("{PLAN}/tasks.md"), &list);
    sandbox.write("tests/by-month.sh", TRY_MONTHS);
    sandbox.commit("All done");
    act(&sandbox, &format!("[final-validation]\n{}", does_well("1.1")));
    let run = sandbox.run("run 7").exits(0).says("final-validation landed").lacks("1.1      attempt");
    let _ = run.lacks("final-validation attempt 3").says("## Checks of the whole");
    let report = masked(&sandbox, &sandbox.read(format!("{PLAN}/verification-report.txt")));
    insta::assert_snapshot!("mended", report);
    let _ = sandbox.run("next").exits(0).says("ALL_COMPLETE: No pending tasks");
    assert_eq!(sandbox.git(["show", &format!("{BRANCH}:spend.sh")]), BY_MONTH.trim_end());
    assert_eq!(statuses(&sandbox), ALL_DONE, "the validation is no task of the list");
    assert_eq!(sandbox.read(format!("{PLAN}/tasks.md")), list);
}

/// After three rounds of mending a person has to look.
#[test]
fn a_validation_that_nobody_mends_asks_for_a_person() {
    let sandbox = months();
    let list = sandbox.read(format!("{PLAN}/tasks.md")).replace("[ ]", "[x]");
    sandbox.write(format!("{PLAN}/tasks.md"), &list);
    sandbox.write("tests/by-month.sh", TRY_MONTHS);
    sandbox.commit("All done");
    act(&sandbox, "[final-validation]\nappend note.txt no\n");
    let run = sandbox.run("run 7").exits(4).says("needs review");
    let _ = run.says("final-validation attempt 4 started").lacks("attempt 5").lacks("Closes #7");
    let report = masked(&sandbox, &sandbox.read(format!("{PLAN}/verification-report.txt")));
    insta::assert_snapshot!("not_mended", report);
    let _ = sandbox.run("next").exits(0).says("HALTED: Found failed task\n{\"id\":\"final-validation\"");
    let _ = sandbox.run("archive").exits(0).says("there is no finished plan to archive");
    // A person has fixed it, and it is checked again.
    act(&sandbox, &format!("[final-validation]\n{}", does_well("1.1")));
    let _ = sandbox.run("retry final-validation").exits(0);
    assert!(sandbox.read(format!("{PLAN}/verification-report.txt")).ends_with("Result: not known yet\n"));
    let _ = sandbox.run("run 7").exits(0).says("Closes #7");
    assert!(sandbox.read(format!("{PLAN}/verification-report.txt")).contains("Result: passed\n"));
}

/// Skip, as the document has it: failed, on to the next, with the reason in the notes.
#[test]
fn a_task_that_is_skipped_is_failed_in_the_file_with_its_reason_and_the_next_begins() {
    let sandbox = months();
    let _ = sandbox.run("next --plan 7").exits(0).says("\"id\":\"1.1\"");
    let skipped = sandbox.piton(["skip", "1.1", "--reason", "nobody needs it"]).run();
    assert_eq!(skipped.code, Some(0), "{skipped}");
    let task = entry(&sandbox, "1.1");
    assert_eq!((&task["status"], &task["notes"]), (&json!("failed"), &json!("Skipped: nobody needs it")));
    let _ = sandbox.run("next --plan 7").exits(0).says("NEXT_TASK:").says("\"id\":\"1.2\"");
    let _ = sandbox.run("why 1.1").exits(0).says("was skipped by a person: nobody needs it");
    // What is counted in words is counted in JSON.
    let told = sandbox.run("progress").exits(0).says("- Failed: 1");
    let counted: Value = serde_json::from_str(&sandbox.run("progress --json").exits(0).stdout).expect("JSON");
    let counts =
        format!("## Progress: {}/{} ({}%)", counted["completed"], counted["total"], counted["percent"]);
    assert!(told.stdout.contains(&counts), "{counts}: {told}");
    assert_eq!(counted["open"]["failed"], 1);
}

#[test]
fn an_answer_lets_a_blocked_task_go_on_and_is_in_its_next_prompt() {
    let sandbox = months();
    act(&sandbox, "[1.2]\nsignal BLOCKED:which month is first?\n");
    let _ = sandbox.run("run 7").exits(4);
    let _ = sandbox.piton(["answer", "1.2", "January"]).run().exits(0).says("unblocked by you");
    let _ = sandbox.run("prompt 1.2").exits(0).says("> which month is first?\nyou answered:\n> January\n");
    act(&sandbox, "");
    let _ = sandbox.run("run 7").exits(0);
    assert_eq!(statuses(&sandbox), ALL_DONE);
}
