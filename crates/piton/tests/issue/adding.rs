//! `piton add` in the list of an issue.

use piton_testkit::sandbox::Output;

use super::*;

fn add(sandbox: &Sandbox, words: &[&str]) -> Output {
    sandbox.piton(["add"].iter().chain(words).chain(&["--plan", PLAN]).copied()).run()
}

fn list(sandbox: &Sandbox) -> String {
    sandbox.read(format!("{PLAN}/tasks.md"))
}

#[test]
fn a_task_gets_its_box_where_its_turn_is_and_is_run() {
    let sandbox = months();
    let before = list(&sandbox);
    let more = [
        "1.3",
        "--title",
        "Name the months",
        "--file",
        "names.txt",
        "--description",
        "In English.\n- [ ] all",
    ];
    let _ = add(&sandbox, &more).exits(0).says("no run yet");
    let child = "\n  - [ ] 1.3 Name the months\n    - In English.\n    - [ ] all\n    - Files: `names.txt`";
    let after = before.replacen("\n- [ ] 2. ", &format!("{child}\n- [ ] 2. "), 1);
    assert_eq!(list(&sandbox), after);
    let _ = add(&sandbox, &more).exits(0).says("1.3 is already in the plan");
    let _ = add(&sandbox, &["1.3", "--title", "Other"]).exits(1).says("another task 1.3");
    let _ = sandbox.run(&format!("next --plan {PLAN}")).exits(0);
    // Behind the last, and behind one in the middle; those that follow wait for it.
    let _ = add(&sandbox, &["5", "--title", "Say so"]).exits(0).says("has taken up 5");
    let _ =
        add(&sandbox, &["3.4", "--title", "Say more", "--after", "3.1"]).exits(0).says("has taken up 3.4");
    let after = after.trim_end().replace("[ ] 0.", "[x] 0.") + "\n- [ ] 5. Say so\n";
    let child = "_Requirements: 2.1, 2.2_\n  - [ ] 3.4 Say more\n";
    assert_eq!(list(&sandbox), after.replacen("_Requirements: 2.1, 2.2_\n", child, 1));
    let ids: Vec<String> = state(&sandbox)["tasks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|task| task["id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(ids, ["0", "1.1", "1.2", "1.3", "2", "3.1", "3.4", "3.2", "3.3", "4", "5"]);
    let others = "[1.3]\nwrite names.txt x\n[3.4]\nwrite more.txt x\n[5]\nwrite so.txt x\n";
    act(&sandbox, others);
    let run = sandbox.run("run 7").exits(0);
    let place = |text: &str| run.stderr.find(text).unwrap_or_else(|| panic!("{text}: {run}"));
    assert!(place("3.1      landed") < place("3.4      landed"), "{run}");
    assert!(place("3.4      landed") < place("3.2      attempt"), "{run}");
    assert_eq!(statuses(&sandbox), ["done"; 11]);
    let _ = sandbox.run("doctor").exits(0);
}

#[test]
fn what_a_list_cannot_say_is_refused_and_nothing_is_written() {
    let sandbox = months();
    sandbox.fifo("gate");
    act(&sandbox, &format!("[1.1]\nmeet SIDE/gate\n{}", does_well("1.1")));
    let before = list(&sandbox);
    let _ = add(&sandbox, &["5", "--title", "x", "--check", "true"])
        .exits(1)
        .says("are the same for all its tasks");
    let _ = add(&sandbox, &["5", "--title", "x", "--layer", "phase-1"]).exits(1).says("where it stands");
    let _ = add(&sandbox, &["5", "--title", "x", "--after", "9"]).exits(1).says("the task cannot wait for 9");
    let _ = add(&sandbox, &["five", "--title", "x"]).exits(1).says("would not be read back");
    let _ = add(&sandbox, &["1", "--title", "x"]).exits(1).says("another task 1");
    let two = ["5", "--title", "x", "--description", "And:\n- [ ] 6. y"];
    let _ = add(&sandbox, &two).exits(1).says("would not be read back");
    let mut engine = sandbox.piton(["run", "7"]).spawn();
    engine.until_says("1.1      attempt 1 started");
    let _ = add(&sandbox, &["5", "--title", "x"]).exits(1).says("an engine is working on this run");
    engine.until_at(&sandbox, "gate");
    let _ = engine.wait().exits(0);
    assert_eq!(list(&sandbox).replace("[x]", "[ ]"), before);
}
