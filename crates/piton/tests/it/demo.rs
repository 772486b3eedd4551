//! `piton demo`: the whole thing, through the same code as `run`.

use crate::folder;

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

#[test]
fn the_sad_demo_abandons_one_and_lands_the_rest() {
    let sandbox = folder();
    let _ = sandbox.run("demo --sad --dir there").exits(4).says("abandoned").says("piton why G3");
    let _ = sandbox.run("demo --dir there").exits(2).says("is not empty");
}
