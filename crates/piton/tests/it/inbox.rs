//! What waits for a person, over all runs of a project.

use piton_testkit::sandbox::{Sandbox, task};
use rustix::process::Signal;
use serde_json::Value;

use crate::sandbox;

/// T1 asks, T2 has no attempt left, and T3 cannot land over a person's file.
fn waiting() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan_with(
        "landing_wait = '0s'",
        &(task("T1", "") + &task("T2", "attempts = 1\nchecks = ['false']") + &task("T3", "")),
    );
    sandbox.script(
        "[T1]\nsignal BLOCKED:which of the two ridges?\n[T2]\nwrite T2.txt x\n[T3]\nwrite T3.txt x\n",
    );
    sandbox.write("T3.txt", "mine");
    let _ = sandbox.run("run plan.toml --task T1").exits(4);
    let _ = sandbox.run("run plan.toml --task T2").exits(4);
    let _ = sandbox.run("run plan.toml").exits(3);
    sandbox
}

fn items(sandbox: &Sandbox, args: &str) -> Vec<Value> {
    let told = sandbox.run(&format!("inbox --json {args}")).exits(0).stdout;
    let json: Value = serde_json::from_str(&told).expect("JSON");
    json["items"].as_array().expect("a list").clone()
}

fn kinds(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(|item| item["kind"].as_str()).collect()
}

#[test]
fn what_waits_is_listed_with_its_reason_and_what_answers_it() {
    let sandbox = waiting();
    let mut shown = sandbox.run("inbox").exits(0);
    for item in items(&sandbox, "") {
        shown.stdout = shown.stdout.replace(item["key"].as_str().expect("a key"), "[KEY]");
    }
    shown.stdout = shown.stdout.replace("less than a second", "0ms");
    shows!(shown, @r"
    exit: 0
    --- stdout
    [KEY]  landing T3, for [SPAN]
            [ROOT]/project has uncommitted changes in T3.txt
            $ piton run plan.toml
            $ piton why T3
    [KEY]  blocked T1, for [SPAN]
            T1 is blocked and needs a person: which of the two ridges?
            $ piton answer T1 'what to do'
            $ piton unblock T1
            $ piton skip T1
    [KEY]  abandoned T2, for [SPAN]
            T2 was abandoned after 1 attempt: check `false` failed with exit status 1
            $ piton output T2 --checks
            $ piton answer T2 'what to do'
            $ piton retry T2
    ");
    assert_eq!(kinds(&items(&sandbox, "")), ["landing", "blocked", "given_up"]);
}

#[test]
fn what_is_answered_goes_and_what_comes_again_is_new() {
    let sandbox = waiting();
    let _ = sandbox.run("inbox --seen all").exits(0).says("seen");
    assert_eq!(kinds(&items(&sandbox, "--new")), [""; 0]);
    let _ = sandbox.piton(["answer", "T1", "the left one"]).run().exits(0);
    let _ = sandbox.run("run plan.toml").exits(3);
    assert_eq!(kinds(&items(&sandbox, "--new")), ["blocked"], "it asks again");
    std::fs::remove_file(sandbox.project().join("T3.txt")).expect("our own file");
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(kinds(&items(&sandbox, "")), ["blocked", "given_up"], "T3 has landed");
}

#[test]
fn who_has_seen_what_is_kept_for_each_person() {
    let sandbox = waiting();
    let keys: Vec<Value> = items(&sandbox, "").iter().map(|item| item["key"].clone()).collect();
    let key = keys[1].as_str().expect("a key");
    let _ = sandbox.piton(["inbox", "--seen", key]).env("USER", "ann").run().exits(0);
    let seen: Vec<Value> = items(&sandbox, "").iter().map(|item| item["seen_by"].clone()).collect();
    assert_eq!(seen, [serde_json::json!([]), serde_json::json!(["ann"]), serde_json::json!([])]);
    let new = sandbox.piton(["inbox", "--new"]).env("USER", "ann").run().exits(0);
    let _ = new.lacks("ridges").says("T2");
    let _ = sandbox.run("inbox --new").exits(0).says("ridges");
    let _ = sandbox.run("inbox --seen ffffff").exits(1).says("nothing that waits for you has the key ffffff");
}

/// That it was seen is written into the journal of the run itself.
#[test]
fn an_engine_that_died_is_one_item_until_the_next() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nmeet SIDE/go\n");
    sandbox.fifo("go");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("attempt 1 started");
    run.signal(Signal::KILL);
    let _ = run.wait();
    let before = items(&sandbox, "");
    assert_eq!(kinds(&before), ["run"]);
    assert!(before[0]["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{before:?}");
    let clock = sandbox.root().join("clock");
    sandbox.write(&clock, "60000");
    let later = sandbox.piton(["inbox", "--seen", "all"]).env("PITON_CLOCK", &clock);
    let _ = later.run().exits(0).says("seen");
    assert_eq!(kinds(&items(&sandbox, "--new")), [""; 0]);
    assert_eq!(items(&sandbox, "")[0]["since"], before[0]["since"]);
}

#[test]
fn commands_name_the_run_where_there_are_several() {
    let sandbox = waiting();
    sandbox.write(
        "other.toml",
        &sandbox.read("plan.toml").replace("T1", "U1").replace("T2", "U2").replace("T3", "U3"),
    );
    sandbox.script("[U1]\nsignal BLOCKED:how high?\n");
    let _ = sandbox.run("run other.toml").exits(4);
    let helps: Vec<Value> = items(&sandbox, "").iter().map(|item| item["helps"][0].clone()).collect();
    let is_named = |help: &str| help.contains(" --run ") || help.contains(".toml");
    assert!(helps.iter().all(|help| help.as_str().is_some_and(is_named)), "{helps:?}");
    let _ = sandbox.run("inbox").exits(0).says("ridges").says("how high?");
}

#[test]
fn where_nothing_waits_that_is_said() {
    let sandbox = sandbox();
    let _ = sandbox.run("inbox").exits(0).says("nothing waits for you");
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    let _ = sandbox.run("inbox").exits(0).says("nothing waits for you");
}

/// The only item: its kind, its reason and its tasks.
fn plan_item(sandbox: &Sandbox) -> (String, String, Value) {
    let all = items(sandbox, "");
    assert_eq!(kinds(&all), ["plan"], "{all:?}");
    assert!(all[0]["since"].is_string(), "{all:?}");
    let text = |name: &str| all[0][name].as_str().expect("a text").to_owned();
    (text("key"), text("reason"), all[0]["tasks"].clone())
}

#[test]
fn a_plan_waits_for_a_person_where_the_run_does_not_follow_it() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(kinds(&items(&sandbox, "")), [""; 0]);
    let plan = sandbox.read("plan.toml");
    // More to do: the next engine adopts it.
    sandbox.write("plan.toml", &(plan.clone() + &task("T2", "")));
    let (_, reason, tasks) = plan_item(&sandbox);
    assert_eq!(
        (reason.as_str(), tasks),
        ("the plan has changed since the run adopted it", serde_json::json!(["T2"]))
    );
    // A completed task has another prompt: the run asks.
    sandbox.write("plan.toml", &plan.replace("prompt = \"", "prompt = \"Now: "));
    let (key, reason, _) = plan_item(&sandbox);
    assert!(reason.starts_with("the plan has changed, and you decide about that: T1 "), "{reason}");
    let _ = sandbox.run("inbox").exits(0).says("piton run plan.toml --replan");
    let _ = sandbox.run("inbox --seen all").exits(0);
    sandbox.write("plan.toml", &(plan.replace("prompt = \"", "prompt = \"Then: ") + &task("T2", "")));
    assert_eq!(plan_item(&sandbox).0, key, "it is still the same change to decide about");
    assert_eq!(kinds(&items(&sandbox, "--new")), [""; 0]);
    // It cannot be read.
    sandbox.write("plan.toml", &(plan.clone() + "\nthis is not TOML\n"));
    let (other, reason, _) = plan_item(&sandbox);
    assert_ne!(other, key);
    let line = plan.lines().count() + 2;
    assert!(reason.starts_with(&format!("the plan cannot be read: plan.toml:{line}: ")), "{reason}");
    // It is taken back.
    sandbox.write("plan.toml", &plan);
    assert_eq!(kinds(&items(&sandbox, "")), [""; 0]);
}
