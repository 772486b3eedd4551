//! A system is one folder and one row: `piton_testkit::lines` and `examples/piton-lines.rs` add a sixth one, and the whole
//! program works with it.

use piton_testkit::sandbox::Sandbox;

use crate::status;

/// A plan of the sixth system, whose agents write what its checks look for.
fn lines() -> Sandbox {
    // target/debug/deps/it-… → target/debug/examples/piton-lines
    let own = std::env::current_exe().expect("a test is a program");
    let folder = own.parent().and_then(|deps| deps.parent()).expect("it lies in target/PROFILE/deps");
    let sandbox = Sandbox::new(folder.join("examples/piton-lines").to_str().expect("UTF-8"));
    let profile = sandbox.plan_text("", "");
    sandbox.write("piton.toml", profile.strip_prefix("name = \"plan\"\n").expect("a plan is named"));
    sandbox.write("words.lines", "T1: Write one | test -s T1.txt\nT2: Write two | test -s T2.txt\n");
    sandbox.commit("Plan");
    sandbox.script(&piton_testkit::sandbox::writers(&["T1", "T2", "T3"]));
    sandbox
}

#[test]
fn a_sixth_system_is_recognised_planned_run_extended_and_exported() {
    let sandbox = lines();
    shows!(sandbox.run("plan words.lines").exits(0), @r"
    exit: 0
    --- stdout
    words 2 tasks in 1 layer, layered, up to 3 at once

    lines All of them
      0  T1       Write one  [test -s T1.txt]
      0  T2       Write two  [test -s T2.txt]

    critical path 1 step: T1
    --- stderr
    words.lines is read as a plan of the lines system
    ");
    let _ = sandbox.run("run words.lines").exits(0);
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["completed", "completed"]);
    let words = ["add", "T3", "--title", "Write three", "--check", "test -s T3.txt"];
    let _ = sandbox.piton(words).run().exits(0);
    assert!(sandbox.read("words.lines").ends_with("\nT3: Write three | test -s T3.txt\n"));
    let _ = sandbox.run("run words.lines").exits(0);
    assert_eq!(status(&sandbox, "T3"), "completed");
}

#[test]
fn what_is_wrong_with_a_plan_of_a_sixth_system_is_shown_at_its_line() {
    let sandbox = lines();
    sandbox.write("words.lines", "T1: Write one | true\nWrite two\n");
    shows!(sandbox.run("plan words.lines").exits(1), @r"
    exit: 1
    --- stderr
    error: this line is not a task
     --> words.lines:2:1
      |
    2 | Write two
      | ^^^^^^^^^ write `ID: title | command that proves it`
    error: words.lines has 1 problem
    ");
}
