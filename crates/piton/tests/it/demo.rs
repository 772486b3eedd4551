//! `piton demo`: the whole thing, through the same code as `run`.

use crate::{folder, sandbox};

#[test]
fn the_demo_lands_everything() {
    let sandbox = folder();
    let demo = sandbox.run("demo --dir there").exits(0);
    let demo = demo
        .says("every task is completed")
        .says("merge conflict in log.txt")
        .says("together with what landed before");
    let demo = demo.says("attempt 2 started").says("What to try next");
    // The result, and what to do next, are on one screen.
    let screen = demo.stdout.lines().count()
        + demo.stderr.split("What to try next").last().map_or(0, |next| next.lines().count());
    assert!(screen < 20, "{demo}");
    let _ = demo
        .says("cd [ROOT]/project/there/expedition\n")
        .says("rm -rf [ROOT]/project/there   removes the demo");
    assert!(!sandbox.exists("there/.worktrees"));
}

/// A fresh machine: git knows no name for those who commit.
#[test]
fn the_demo_needs_no_name_for_git() {
    let sandbox = folder();
    let home = sandbox.root().join("fresh");
    std::fs::create_dir(&home).expect("a folder");
    let config = "[user]\nuseConfigOnly = true\n";
    sandbox.write(home.join(".gitconfig"), config);
    let demo = sandbox.piton(["demo", "--dir", "there"]).env("HOME", home.as_str()).run();
    let _ = demo.exits(0).says("every task is completed");
}

#[test]
fn the_sad_demo_abandons_one_and_lands_the_rest() {
    let sandbox = folder();
    let _ = sandbox.run("demo --sad --dir there").exits(4).says("abandoned").says("piton why G3");
    let _ = sandbox.run("demo --dir there").exits(2).says("is not empty");
}

/// Two tasks are too heavy together. Whichever lands second makes room.
#[test]
fn the_demo_lands_everything_in_the_other_order_too() {
    let made = folder();
    let _ = made.run("demo --dir there").exits(0);
    let sandbox = sandbox();
    let script = made
        .read("there/agents.script")
        .replace("write pack/tent.txt 6", "meet SIDE/gate\nwrite pack/tent.txt 6");
    sandbox.script(&script);
    sandbox.fifo("gate");
    let plan = made.read("there/expedition/plan.toml");
    let tasks = plan.find("[[group]]").map(|at| &plan[at..]).expect("tasks");
    sandbox.plan_with("max_parallel = 4", tasks);
    sandbox.write("log.txt", "Expedition log\n");
    sandbox.commit("Begin the expedition");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("B2       landed");
    sandbox.meet("gate");
    let run = run.wait().exits(0);
    let _ = run.says("B1       could not land: together with what landed before").says("B1       landed");
}
