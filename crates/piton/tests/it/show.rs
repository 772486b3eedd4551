//! `piton show TASK`: one page about one task.

use piton_testkit::sandbox::{Sandbox, task};
use serde_json::Value;

use crate::sandbox;

/// T2 fails once, is told why, and lands. T3 asks.
fn worked() -> Sandbox {
    let sandbox = sandbox();
    let tasks = task("T1", "")
        + &task(
            "T2",
            "depends_on = ['T1']\ncriteria = ['it says rope']\nfiles = ['T2.txt']\nchecks = [\"grep rope T2.txt || { echo no rope here; false; }\"]",
        )
        + &task("T3", "")
        + &task("T4", "depends_on = ['T2', 'T3']");
    sandbox.plan(&tasks);
    sandbox.script(
        "[T1]\nwrite T1.txt x\n[T2 1]\nwrite T2.txt nothing\n[T2 2]\nwrite T2.txt rope\n[T3]\nsignal BLOCKED:left or right?\n",
    );
    let _ = sandbox.run("run plan.toml").exits(4);
    let _ = sandbox.piton(["guardrail", "add", "never climb alone"]).run().exits(0);
    sandbox
}

#[test]
fn a_page_has_all_of_a_task() {
    let sandbox = worked();
    shows!(sandbox.run("show T2").exits(0), @r"
    exit: 0
    --- stdout
    T2  Do T2
    ✓ completed [SPAN] ago
      T2 is completed: landed as [COMMIT], [SPAN] ago

    Prompt
      Please do T2
      - it says rope

    Plan
      depends on  T1
      needed by   T4
      files       T2.txt
      checks      grep rope T2.txt || { echo no rope here; false; }
      agent       default
      attempts    1 of 3 spent
      used        an unknown amount; agents worked for [SPAN]

    Attempt 1, by default, took [SPAN]
      agent says done after [SPAN]
      ✗ `grep rope T2.txt || { echo no rope here; false; }` failed with exit status 1  took [SPAN], where it lands, on tree [COMMIT]
          no rope here
      failed: check `grep rope T2.txt || { echo no rope here; false; }` failed with exit status 1

    Attempt 2, by default, took [SPAN]
      agent says done after [SPAN]
      ✓ `grep rope T2.txt || { echo no rope here; false; }` passed  took [SPAN], where it lands, on tree [COMMIT]
      landed as [COMMIT]

    Changed
      + T2.txt
      [COMMIT]  [T2] Do T2
      [COMMIT]  [T2] Fix: Do T2
      landed as [COMMIT]

    Guardrails
      - never climb alone

    Next
      $ piton output T2
      $ piton diff T2
      $ piton log T2
    ");
    let asks = sandbox.run("show T3").exits(0).says("! blocked for").says("left or right?").lacks("Changed");
    let _ = asks
        .says("Attempt 1, by default, took")
        .says("$ piton answer T3 'what to do'")
        .says("$ piton output T3");
}

#[test]
fn programs_get_the_same() {
    let sandbox = worked();
    let _ = sandbox.piton(["answer", "T3", "left"]).run().exits(0);
    let page = |id: &str| -> Value {
        serde_json::from_str(&sandbox.run(&format!("show {id} --json")).exits(0).stdout).expect("JSON")
    };
    let t2 = page("T2");
    assert_eq!((&t2["status"], &t2["attempts_spent"]), (&"completed".into(), &1.into()));
    let attempts = t2["attempts"].as_array().expect("a list");
    assert_eq!(
        attempts.iter().map(|attempt| attempt["attempt"].as_u64()).collect::<Vec<_>>(),
        [Some(1), Some(2)]
    );
    let (first, second) = (&attempts[0], &attempts[1]);
    assert_eq!(
        (&first["checks"][0]["passed"], &second["checks"][0]["passed"]),
        (&false.into(), &true.into())
    );
    assert!(first["checks"][0]["tail"].as_str().is_some_and(|tail| tail.contains("no rope here")), "{first}");
    assert_eq!((&first["end"]["end"], &first["end"]["class"]), (&"failed".into(), &"code".into()));
    assert_eq!(
        (&second["end"]["end"], &second["used"]["cost_usd"]),
        (&"landed".into(), &Value::Null),
        "unknown is not 0"
    );
    assert_eq!(t2["dependents"], serde_json::json!(["T4"]));
    assert_eq!(t2["changed"]["created"], serde_json::json!(["T2.txt"]));
    assert!(t2["changed"]["landed"].is_string(), "{t2}");
    let t3 = page("T3");
    assert_eq!(t3["remarks"][0]["text"], "left");
    assert_eq!(t3["why"]["task"], "T3");
    let _ = sandbox.run("show T9").exits(1).says("there is no task T9");
}

#[test]
fn a_task_that_has_not_begun_has_a_page_too_and_nothing_in_it_moves_the_terminal() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    let text = sandbox.read("plan.toml").replace("Please do T2", "Do \\u001b[2J it \\u202e now");
    sandbox.write("plan.toml", &text);
    sandbox.script("[T1]\nsignal BLOCKED:why?\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let out = sandbox.run("show T2").exits(0).says("depends on").says("T1").lacks("Attempt").lacks("used");
    assert!(!out.stdout.contains(['\u{1b}', '\u{202e}']), "{out}");
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("202e now", "202e later"));
    let _ = sandbox.run("run plan.toml").exits(4);
    let _ = sandbox.run("show T2").exits(0).says("1 time by edits of the plan");
}
