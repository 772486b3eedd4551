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
fn an_edit_of_a_task_that_has_not_begun_is_adopted_without_a_stop() {
    let (sandbox, mut run) = held(&[]);
    let plan =
        sandbox.read("plan.toml").replace("Do T2", "Do T2 better").replace("test -s T2", "grep -q y T2");
    sandbox.script("[T2]\nwrite T2.txt y\n[T3]\nwrite T3.txt x\n");
    sandbox.write("plan.toml", &(plan + &task("T3", "depends_on = ['T2']")));
    run.until_says("adopted the plan as it is now");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).lacks("asked to stop");
    let landed = ["First commit", "Plan", "Merge worktree-T1: Do T1", "Merge worktree-T2: Do T2 better"];
    assert_eq!(sandbox.history("main")[..4], landed);
    assert_eq!((sandbox.read("T2.txt").as_str(), status(&sandbox, "T3").as_str()), ("y\n", "completed"));
    let _ = sandbox.run("run plan.toml").exits(0).lacks("the plan");
}

#[test]
fn an_edit_of_a_task_that_is_worked_on_stops_the_run_and_waits() {
    let (sandbox, mut run) = held(&[]);
    let plan = sandbox.read("plan.toml");
    sandbox.write("plan.toml", &plan.replace("Do T1", "Do T1 better").replace("Do T2", "Do T2 better"));
    run.until_says("because the plan changed, asked to stop");
    sandbox.meet("gate");
    let run = run.wait().exits(3).says("T1 is in_progress, and the plan changes it");
    let run = run.says("title: Do T2 → Do T2 better").says("stopped: the plan changed");
    let _ = run.says("piton run plan.toml   shows what has changed");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["completed", "pending"]);
    let _ = sandbox.run("run plan.toml").exits(1).says("T1 is completed, and the plan changes it");
    // What was done stays, and what has not begun is adopted.
    sandbox.write("plan.toml", &plan.replace("Do T2", "Do T2 better"));
    let _ = sandbox.run("run plan.toml").exits(0).says("the plan has changed; adopted as it is now");
    assert!(sandbox.history("main").contains(&"Merge worktree-T2: Do T2 better".to_owned()));
}

/// Defaults of the project are part of the plan.
#[test]
fn defaults_that_change_during_the_run_are_adopted() {
    let sandbox = sandbox();
    let defaults = |attempts: u32| format!("[defaults]\nattempts = {attempts}\n");
    sandbox.write("piton.toml", &defaults(1));
    sandbox.plan(&(task("T1", "attempts = 2") + &task("T2", "depends_on = ['T1']")));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script(
        "[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n[T2 1]\nwrite no.txt x\n[T2 2]\nwrite T2.txt x\n",
    );
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    sandbox.write("piton.toml", &defaults(3));
    run.until_says("adopted the plan as it is now");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).says("T2       attempt 2 started");
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
fn a_plan_that_breaks_during_the_run_is_reported_and_the_run_goes_on() {
    let (sandbox, mut run) = held(&[]);
    let plan = sandbox.read("plan.toml");
    sandbox.write("plan.toml", "[[task]]\nid = ");
    run.until_says("the changed plan cannot be read, so the run continues without it: plan.toml has");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).says("`piton plan plan.toml` shows why");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["completed"; 2]);
    sandbox.write("plan.toml", &plan);
    let _ = sandbox.run("run plan.toml").exits(0).lacks("the plan");
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
    error: the plan has changed since the run plan-[RUN] began: T3 is no longer in the plan

    hint: piton run plan.toml --replan   adopts it, task by task
    hint: piton run plan.toml --reset    begins a new run
    ");
    // Without the removal it needs no decision.
    sandbox.plan(&(changed + &task("T3", "")));
    let adopted = sandbox.run("run plan.toml --task T2").exits(0);
    let _ = adopted.says("the plan has changed; adopted as it is now:\n+ T4\n~ T2").lacks("T1       attempt");
    let _ = sandbox.run("status T4").exits(0).says("pending");
}

#[test]
fn a_task_that_is_no_longer_in_the_plan_goes_by_a_replan() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "") + &task("T3", "")));
    sandbox.script(&writers(&["T1", "T2", "T3", "T4"]));
    let _ = sandbox.run("run plan.toml --task T1").exits(0);
    sandbox.plan(&(task("T1", "") + &task("T2", "priority = 7") + &task("T4", "depends_on = ['T1']")));
    let _ = sandbox
        .run("run plan.toml --replan")
        .exits(0)
        .says("adopted the plan as it is now")
        .lacks("T1       attempt");
    assert_eq!(sandbox.history("main").len(), 6);
    let _ = sandbox.run("status T3").exits(1).says("no longer in the plan");
}

/// The work is there: after the check is fixed, no agent has to work again.
#[test]
fn a_check_that_is_fixed_judges_the_work_of_a_task_that_was_given_up() {
    let sandbox = sandbox();
    let one = |checks: &str| task("T1", &format!("attempts = 1\nchecks = ['{checks}']"));
    sandbox.plan(&one("test -s T1.text"));
    sandbox.script("[T1 1]\nwrite T1.txt done\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("abandoned");
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("T1.text", "T1.txt"));
    let run = sandbox.run("run plan.toml").exits(0).says("before any agent starts: T1");
    assert_eq!((status(&sandbox, "T1").as_str(), sandbox.read("T1.txt").as_str()), ("completed", "done\n"));
    let agents = sandbox.events().iter().filter(|line| line.contains("\"event\":\"agent_ended\"")).count();
    assert_eq!(agents, 1, "{run}");
}

#[test]
fn a_check_that_is_fixed_judges_a_blocked_task_while_others_go_on() {
    let sandbox = sandbox();
    let broken = task("T1", "checks = ['no-such-program T1.txt']");
    sandbox.plan(&(broken + &task("T2", "depends_on = ['T1']") + &task("T3", "")));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script(
        "[T1 1]\nwrite T1.txt done\n[T2]\nwrite T2.txt x\n[T3]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T3.txt x\n",
    );
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    run.until_says("T1       needs a person");
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("no-such-program", "test -s"));
    run.until_says("the checks of its work have changed");
    run.until_says("T2       landed");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    assert_eq!(["T1", "T2", "T3"].map(|id| status(&sandbox, id)), ["completed"; 3]);
}

/// An agent begins only if the fixed check is red, too.
#[test]
fn a_fixed_check_that_is_red_gets_an_agent_with_what_it_says() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 2\nchecks = ['no-such-program T1.txt']"));
    sandbox.script("[T1 1]\nwrite T1.txt half\n[T1 2]\nwrite T1.txt done\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let fixed = "grep done T1.txt";
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("no-such-program T1.txt", fixed));
    let _ = sandbox.run("run plan.toml").exits(0).says("T1       attempt 2 started");
    assert_eq!(sandbox.read("T1.txt"), "done\n");
}

#[test]
fn a_changed_landing_check_is_a_changed_plan() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    sandbox.script(&writers(&["T1", "T2"]));
    let _ = sandbox.run("run plan.toml --task T1").exits(0);
    sandbox.plan_with("landing_checks = ['true']", &(task("T1", "") + &task("T2", "")));
    let _ = sandbox.run("run plan.toml").exits(0).says("groups or landing checks differ");
    assert_eq!(status(&sandbox, "T2"), "completed");
}

#[test]
fn a_landing_check_that_is_fixed_lands_what_it_held_up() {
    let sandbox = sandbox();
    sandbox.plan_with("landing_checks = ['no-such-program']", &task("T1", ""));
    sandbox.script("[T1 1]\nwrite T1.txt done\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("no-such-program", "true"));
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.read("T1.txt"), "done\n");
    let agents = sandbox.events().iter().filter(|line| line.contains("\"event\":\"agent_ended\"")).count();
    assert_eq!(agents, 1);
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

/// Which agents work, and how many at once, is not what the tasks say: it may change at any time.
#[test]
fn settings_that_change_during_the_run_are_adopted_and_what_runs_keeps_what_it_has() {
    let sandbox = sandbox();
    let tasks = task("T1", "") + &task("T2", "");
    let text = |parallel: u32, who: &str| {
        let plan = sandbox.plan_text(&format!("max_parallel = {parallel}"), &tasks);
        plan.replacen("[policy]", &format!("[agents.default.env]\nWHO = '{who}'\n\n[policy]"), 1)
    };
    sandbox.write("plan.toml", &text(1, "first"));
    sandbox.program("who", "echo $WHO > $1");
    sandbox.commit("Plan");
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script(
        "[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nrun SIDE/bin/who T1.txt\n[T2]\nrun SIDE/bin/who T2.txt\n",
    );
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    // T1 is at work, and one at a time may be.
    sandbox.write("plan.toml", &text(2, "second"));
    run.until_says("adopted changed settings: agents.default.env, policy.max_parallel");
    run.until_says("T2       landed");
    let _ = sandbox.run("status").exits(0).says(" ago: agents.default.env, policy.max_parallel");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).lacks("asked to stop").lacks("adopted the plan");
    assert_eq!(["T1.txt", "T2.txt"].map(|file| sandbox.read(file)), ["first\n", "second\n"]);
    let _ = sandbox.run("log").exits(0).says("adopted changed settings: agents.default.env");
    let _ = sandbox.run("run plan.toml").exits(0).lacks("settings");
}

/// The command line of a start is stronger than the files, also when those change later.
#[test]
fn flags_of_a_start_hold_against_settings_that_change() {
    let sandbox = sandbox();
    let tasks = task("T1", "") + &task("T2", "");
    sandbox.plan_with("max_parallel = 1", &tasks);
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n");
    let mut run = sandbox.piton(["run", "plan.toml", "--max-parallel", "1"]).spawn();
    sandbox.meet("arrived");
    sandbox.write("plan.toml", &sandbox.plan_text("max_parallel = 2\nlanding_wait = '5m'", &tasks));
    run.until_says("adopted changed settings: policy.landing_wait, policy.max_parallel");
    sandbox.meet("gate");
    let run = run.wait().exits(0);
    let verified = run.stderr.find("T1       verified").expect("it was verified");
    let started = run.stderr.find("T2       attempt 1 started").expect("it started");
    assert!(verified < started, "{}", run.stderr);
}

/// All commits of a run are called and signed the same way.
#[test]
fn a_prefix_that_changes_during_the_run_waits_and_that_is_said_once() {
    let (sandbox, mut run) = held(&[]);
    let tasks = task("T1", "") + &task("T2", "depends_on = ['T1']");
    let waits = "this run keeps its old settings for: policy.commit_prefix";
    for policy in ["commit_prefix = 'feat:'", "commit_prefix = 'feat:'\nlanding_wait = '5m'"] {
        sandbox.write("plan.toml", &sandbox.plan_text(policy, &tasks));
        run.until_says(if policy.contains("wait") { "adopted changed settings" } else { waits });
    }
    sandbox.meet("gate");
    let run = run.wait().exits(0);
    assert_eq!(run.stderr.matches(waits).count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("--replan` adopts the new ones"), "{}", run.stderr);
    assert!(sandbox.history("main").contains(&"Merge worktree-T2: Do T2".to_owned()));
    let more = sandbox.plan_text("commit_prefix = 'feat:'", &(tasks + &task("T3", "")));
    sandbox.write("plan.toml", &more);
    sandbox.script(&writers(&["T3"]));
    let _ = sandbox.run("run plan.toml --task T1").says(waits).says("piton run plan.toml --replan");
    let _ = sandbox.run("run plan.toml --replan").exits(0).lacks(waits);
    assert!(sandbox.history("main").iter().any(|subject| subject.starts_with("feat:")));
}

/// They are not part of the plan's hash, so the next start has to look at them by itself.
#[test]
fn settings_that_changed_between_runs_are_adopted_by_the_next() {
    let sandbox = sandbox();
    let default = |who: &str| {
        let script = sandbox.root().join("agents.script");
        let command = format!("command = ['{}', 'scripted-agent', '{script}']", env!("CARGO_BIN_EXE_piton"));
        format!("[agents.default]\n{command}\nenv = {{ WHO = '{who}' }}\n")
    };
    sandbox.write("piton.toml", &default("first"));
    sandbox.write("plan.toml", &(task("T1", "") + &task("T2", "")));
    sandbox.program("who", "echo $WHO > $1");
    sandbox.commit("Plan");
    sandbox.script("[T1]\nrun SIDE/bin/who T1.txt\n[T2]\nrun SIDE/bin/who T2.txt\n");
    let _ = sandbox.run("run plan.toml --task T1").exits(0);
    sandbox.write("piton.toml", &default("second"));
    let adopted = "adopted changed settings: agents.default.env";
    let _ = sandbox.run("run plan.toml").exits(0).says(adopted);
    assert_eq!(["T1.txt", "T2.txt"].map(|file| sandbox.read(file)), ["first\n", "second\n"]);
}
