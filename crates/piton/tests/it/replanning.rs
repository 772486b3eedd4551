//! A plan that changes: during the run, between runs, and by the hand of an agent.

use crate::{sandbox, status};
use piton_testkit::sandbox::{Sandbox, task, writers};

fn held(flags: &[&str]) -> (Sandbox, piton_testkit::sandbox::Running) {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n");
    let run = sandbox.piton(["run", "plan.toml"].iter().chain(flags).copied()).spawn();
    sandbox.meet("arrived");
    (sandbox, run)
}

#[test]
fn a_plan_that_changes_during_the_run_stops_it() {
    let (sandbox, mut run) = held(&[]);
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("Do T2", "Do T2 better"));
    run.until_says("since the plan changed asked to stop");
    sandbox.meet("gate");
    let run = run.wait().exits(3).says("title: Do T2 → Do T2 better").says("stopped: the plan changed");
    let _ = run.says("piton run PLAN   shows what has changed");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["completed", "pending"]);
    let _ = sandbox.run("run plan.toml").exits(1);
    let _ = sandbox.run("run plan.toml --replan").exits(0);
    assert!(sandbox.history("main").contains(&"Merge worktree-T2: Do T2 better".to_owned()));
}

#[test]
fn a_plan_that_only_looks_different_does_not_stop_it() {
    let (sandbox, mut run) = held(&["--commit-prefix", "feat:", "-v"]);
    sandbox.write("plan.toml", &format!("# A comment\n{}", sandbox.read("plan.toml")));
    sandbox.meet("gate");
    run.until_says("T1       landed");
    let _ = run.wait().exits(0).lacks("the plan changed");
}

#[test]
fn a_plan_that_breaks_during_the_run_stops_it() {
    let (sandbox, mut run) = held(&[]);
    sandbox.write("plan.toml", "[[task]]\nid = ");
    run.until_says("since the plan changed asked to stop");
    sandbox.meet("gate");
    let _ = run.wait().exits(3).says("plan.toml has");
}

#[test]
fn a_plan_that_changed_between_runs_is_shown_and_adopted_by_id() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "") + &task("T3", "")));
    sandbox.script(&writers(&["T1", "T2", "T3", "T4"]));
    let _ = sandbox.run("run plan.toml --task T1").exits(0);
    let changed = task("T1", "")
        + &task("T2", "priority = 7").replace("Please", "Kindly")
        + &task("T4", "depends_on = ['T1']");
    sandbox.plan(&changed);
    let refused = sandbox.run("run plan.toml").exits(1);
    shows!(refused, @r"
    exit: 1
    --- stderr
    + T4
    - T3
    ~ T2
        priority: 50 → 7
        prompt:
          @@ -1 +1 @@
          -Please do T2
          +Kindly do T2
    error: the plan has changed since the run plan-[RUN] began

    hint: piton run plan.toml --replan   adopts it, task by task
    hint: piton run plan.toml --reset    begins a new run
    ");
    let _ = sandbox
        .run("run plan.toml --replan")
        .exits(0)
        .says("the plan is adopted as it is now")
        .lacks("T1       attempt");
    assert_eq!(sandbox.history("main").len(), 6);
    let _ = sandbox.run("status T3").exits(1).says("no longer in the plan");
}

#[test]
fn a_changed_landing_check_is_a_changed_plan() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    sandbox.script(&writers(&["T1", "T2"]));
    let _ = sandbox.run("run plan.toml --task T1").exits(0);
    sandbox.plan_with("landing_checks = ['true']", &(task("T1", "") + &task("T2", "")));
    let _ = sandbox.run("run plan.toml").exits(1).says("groups or landing checks differ");
}

#[test]
fn adopting_a_plan_keeps_what_the_run_began_with() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    sandbox.script(&writers(&["T1", "T2"]));
    let _ = sandbox.run("run plan.toml --task T1 --no-commits").exits(0);
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("Do T2", "Do T2 better"));
    let _ = sandbox.run("run plan.toml --replan").exits(0);
    assert_eq!(sandbox.history("main"), ["First commit", "Plan"], "a run without commits began to commit");
}

#[test]
fn adopting_a_plan_keeps_the_prefix() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    sandbox.script(&writers(&["T1", "T2"]));
    let _ = sandbox.run("run plan.toml --task T1 --commit-prefix feat:").exits(0);
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("Do T2", "Do T2 better"));
    let _ = sandbox.run("run plan.toml --replan").exits(0);
    assert_eq!(sandbox.git(["log", "-1", "--format=%s", "main"]), "feat: Merge worktree-T2: Do T2 better");
}

#[test]
fn a_run_can_begin_again_instead() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1"));
    sandbox.script("[T1]\nwrite other.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    // The old worktree stays where it is; the new run does not touch it.
    let _ = sandbox.run("run plan.toml --reset").exits(0);
    assert_eq!(sandbox.read(sandbox.worktrees().join("T1/other.txt")), "x\n");
    assert_eq!(sandbox.read("T1.txt"), "done\n");
}

#[test]
fn an_agent_cannot_change_how_it_is_judged() {
    let sandbox = sandbox();
    sandbox.write("piton.toml", "[policy]\nmax_parallel = 2\n");
    sandbox.plan(&task("T1", "attempts = 1\nchecks = ['grep -q honest T1.txt']"));
    sandbox.script("[T1]\nwrite T1.txt cheat\nreplace plan.toml honest cheat\nwrite piton.toml nonsense\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("grep -q honest T1.txt");
}

#[test]
fn a_plan_that_an_agent_changed_stays_as_it_was_in_the_target() {
    let sandbox = sandbox();
    sandbox.write("piton.toml", "[policy]\nmax_parallel = 2\n");
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    let plan = sandbox.read("plan.toml");
    sandbox.script(
        "[T1]\nwrite T1.txt x\nreplace plan.toml Please Never\nremove piton.toml\n[T2]\nwrite T2.txt x\n",
    );
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.git(["show", "main:plan.toml"]), plan.trim_end());
    assert_eq!(sandbox.git(["ls-files"]), "README.md\nT1.txt\nT2.txt\npiton.toml\nplan.toml");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn a_plan_that_is_not_in_git_works_too() {
    let sandbox = sandbox();
    let plan = sandbox.root().join("elsewhere/plan.toml");
    sandbox.write(&plan, &sandbox.plan_text("", &task("T1", "")));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.piton(["run", plan.as_str(), "--project-path", "."]).run().exits(0);
    assert_eq!(sandbox.read("T1.txt"), "done\n");
}
