//! Comments on lines of a task's work: where they arrive, and that they never slide to other lines.

use piton_testkit::sandbox::{Sandbox, task, until, writers};
use serde_json::Value;

use crate::{count, sandbox, status};

/// T1 is given up with work that its check does not accept. Its later agents keep their prompts beside the sandbox.
fn given_up() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1"));
    sandbox.script("[T1]\nwrite route.txt first\nappend route.txt second\nappend route.txt third\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let keep = sandbox.program("keep", "cp $PITON_PROMPT $(dirname $0)/../$PITON_TASK-$PITON_ATTEMPT.md");
    sandbox.script(&format!("[T1]\nrun {keep}/keep\nwrite T1.txt x\n"));
    sandbox
}

fn comment(sandbox: &Sandbox, on: &str, text: &str) {
    let _ = sandbox.piton(["review", "T1", "--comment", on, "--message", text]).run().exits(0);
}

fn places(sandbox: &Sandbox) -> Vec<(String, Value)> {
    let document: Value =
        serde_json::from_str(&sandbox.run("review T1 --json").exits(0).stdout).expect("JSON");
    let comments = document["comments"].as_array().expect("a list").clone();
    let place =
        |comment: &Value| (comment["place"].as_str().unwrap_or("").to_owned(), comment["now_line"].clone());
    comments.iter().map(place).collect()
}

#[test]
fn comments_are_sent_together_and_are_in_the_next_prompt() {
    let sandbox = given_up();
    comment(&sandbox, "route.txt:2", "Not over this ridge.\n## Rules");
    comment(&sandbox, "route.txt:1-2", "Why two?");
    shows!(sandbox.run("review T1").exits(0), @r"
    exit: 0
    --- stdout
    route.txt (new)
    @@ -0,0 +1,3 @@
              1 +first
              2 +second
                14 you on route.txt:2 (not sent)
                Not over this ridge.
                ## Rules
                15 you on route.txt:1-2 (not sent)
                Why two?
              3 +third
    --- stderr
    hint: piton review T1 --send   sends what was not sent
    ");
    assert_eq!(status(&sandbox, "T1"), "abandoned", "nothing happens before they are sent");
    let _ = sandbox.run("prompt T1").exits(0).lacks("Not over this ridge");
    shows!(sandbox.run("review T1 --send").exits(0), @r"
    exit: 0
    --- stdout
    [TIME] T1       you sent 2 comments on its work
    [TIME] T1       you asked to retry it
    --- stderr
    piton prompt T1   prints the prompt of the next attempt
    hint: piton run plan.toml   resumes it
    ");
    let prompt = sandbox.run("prompt T1").exits(0).stdout;
    let (_, section) = prompt.split_once("## Comments on the work\n").expect("told");
    let said = "`route.txt`, line 2:\n```text\nsecond\n```\nyou says:\n> Not over this ridge.\n> ## Rules\n";
    assert!(section.contains(said), "{section}");
    let _ = sandbox.run("run plan.toml").exits(0);
    let kept = sandbox.read(sandbox.root().join("T1-2.md"));
    assert!(kept.contains(said) && kept.contains("> Why two?"), "{kept}");
    let _ =
        sandbox.run("review T1 --send").exits(1).says("you have written no comment on T1 that was not sent");
}

#[test]
fn a_comment_never_slides_to_another_line() {
    let sandbox = given_up();
    let worktree = sandbox.worktrees().join("T1");
    let file = worktree.join("route.txt");
    comment(&sandbox, "route.txt:2", "Not over this ridge");
    assert_eq!(places(&sandbox), [("here".to_owned(), Value::Null)]);
    std::fs::write(&file, "zeroth\nfirst\nsecond\nthird\n").expect("written");
    assert_eq!(places(&sandbox), [("moved".to_owned(), 3.into())]);
    let _ = sandbox.run("review T1").exits(0).says("on route.txt:2, now at line 3 (not sent)");
    std::fs::write(&file, "first\nanother\nthird\n").expect("written");
    assert_eq!(places(&sandbox), [("gone".to_owned(), Value::Null)]);
    let _ = sandbox.run("review T1 --send").exits(0);
    let _ = sandbox.run("prompt T1").exits(0).says("`route.txt`, line 2. These lines no longer exist:");
    std::fs::remove_file(&file).expect("removed");
    assert_eq!(places(&sandbox), [("gone".to_owned(), Value::Null)]);
}

#[test]
fn a_comment_on_work_that_was_never_committed_finds_its_lines_again() {
    let sandbox = given_up();
    let file = sandbox.worktrees().join("T1/route.txt");
    std::fs::write(&file, "a\nb\nc\n").expect("written");
    comment(&sandbox, "route.txt:2", "Not b");
    std::fs::write(&file, "a\na\nb\nc\n").expect("written");
    assert_eq!(places(&sandbox), [("moved".to_owned(), 3.into())]);
}

#[test]
fn what_cannot_be_commented_on_is_refused() {
    let sandbox = given_up();
    let on = |lines: &str| sandbox.piton(["review", "T1", "--comment", lines, "--message", "x"]).run();
    let _ = on("route.txt:4").exits(1).says("route.txt has 3 lines after the work: there is no line 4");
    let _ = on("other.txt:1").exits(1).says("has not changed the file other.txt; it changes route.txt");
    let _ = on("route.txt").exits(2).says("is not FILE:LINE or FILE:FIRST-LAST");
    let old = ["review", "T1", "--comment", "route.txt:1", "--message", "x", "--old"];
    let _ = sandbox.piton(old).run().exits(1).says("there is no file route.txt before the work");
    let blob = "0123456789012345678901234567890123456789";
    let seen = ["review", "T1", "--comment", "route.txt:1", "--message", "x", "--blob", blob];
    let _ = sandbox.piton(seen).run().exits(1).says("route.txt has changed since you looked at it");
    assert!(places(&sandbox).is_empty());
    comment(&sandbox, "route.txt:1", "x");
    let document: Value = serde_json::from_str(&sandbox.run("review T1 --json").stdout).expect("JSON");
    let id = document["comments"][0]["id"].as_u64().expect("a number").to_string();
    let _ = sandbox.piton(["review", "T1", "--drop", &id]).run().exits(0);
    assert!(places(&sandbox).is_empty());
    let _ = sandbox.piton(["review", "T1", "--drop", &id]).run().exits(1).says("there is no comment");
}

#[test]
fn a_batch_of_comments_is_taken_as_a_whole() {
    let sandbox = given_up();
    sandbox.write(
        "wrong.json",
        r#"[{"file":"route.txt","line":1,"text":"a"},{"file":"route.txt","line":7,"text":"b"}]"#,
    );
    let _ = sandbox.run("review T1 --batch wrong.json").exits(1).says("there is no line 7");
    assert!(places(&sandbox).is_empty(), "none of them");
    sandbox.write(
        "right.json",
        r#"[{"file":"route.txt","line":1,"lines":2,"text":"a"},{"file":"route.txt","line":3,"text":"b"}]"#,
    );
    let _ = sandbox.run("review T1 --batch right.json").exits(0);
    // Once more, as after an answer that was lost.
    let _ = sandbox.run("review T1 --batch right.json --send").exits(0).says("you sent 2 comments");
    assert_eq!(places(&sandbox).len(), 2);
    sandbox.write("list.json", "{}");
    let _ = sandbox.run("review T1 --batch list.json").exits(2).says("list.json is not a list of comments");
}

#[test]
fn comments_on_landed_work_become_a_task_that_follows_it() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    comment(&sandbox, "T1.txt:1", "Say where the route begins");
    let _ = sandbox
        .run("review T1 --send")
        .exits(0)
        .says("T1-review")
        .says("sent 1 comment on its work, as T1-review");
    let _ = sandbox
        .run("prompt T1-review")
        .exits(0)
        .says("T1.txt:1, where it says")
        .says("you: Say where the route begins");
    sandbox.script("[T1-review]\nappend T1.txt more\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(status(&sandbox, "T1-review"), "completed");
    assert_eq!(count(&sandbox.events(), "comments_sent"), 1);
}

#[test]
fn the_work_of_an_agent_does_not_land_before_an_agent_has_read_the_comments_on_it() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1"));
    let (arrived, gate) = (sandbox.fifo("arrived"), sandbox.fifo("gate"));
    sandbox.script(&format!("[T1]\nappend T1.txt done\nmeet {arrived}\nmeet {gate}\n"));
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    comment(&sandbox, "T1.txt:1", "Once more");
    let _ = sandbox.run("review T1 --send").exits(0).lacks("retry");
    sandbox.meet("gate");
    sandbox.meet("arrived");
    let _ = sandbox.run("prompt T1").exits(0).says("> Once more");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).says("sent back: a person sent the work back with comments");
    assert_eq!(sandbox.git(["show", "main:T1.txt"]), "done\ndone");
}

#[test]
fn work_that_is_being_checked_goes_back_at_once() {
    let sandbox = sandbox();
    let (seen, never) = (sandbox.root().join("seen"), sandbox.fifo("never"));
    // The first time it waits for somebody who does not come.
    let check = sandbox.program("check", &format!("test -e {seen} && exit 0; touch {seen}; cat {never}"));
    sandbox.plan(&task("T1", &format!("attempts = 1\nchecks = [\"{check}/check\"]")));
    sandbox.script("[T1]\nappend T1.txt done\n");
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    until("the check runs", || seen.exists().then_some(()));
    comment(&sandbox, "T1.txt:1", "Once more");
    let _ = sandbox.run("review T1 --send").exits(0).says("sent back: a person sent the work back");
    let _ = run.wait().exits(0);
    assert_eq!(sandbox.git(["show", "main:T1.txt"]), "done\ndone");
}

#[test]
fn an_editor_takes_comments_below_the_lines() {
    let sandbox = given_up();
    let editor = sandbox.program("editor", "sed -i '/| second$/a Not over this ridge' \"$1\"");
    let edited =
        sandbox.piton(["review", "T1", "--edit", "--send"]).env("EDITOR", format!("{editor}/editor"));
    let _ = edited.run().exits(0).says("on route.txt:2: Not over this ridge").says("sent 1 comment");
    let idle = sandbox.program("idle", "true");
    let idle = sandbox.piton(["review", "T1", "--edit"]).env("EDITOR", format!("{idle}/idle"));
    let _ = idle.run().exits(1).says("you have written no comment");
}
