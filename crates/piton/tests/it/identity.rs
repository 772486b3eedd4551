//! A task is what its plan asks for, and a plan is one run.

use piton_testkit::sandbox::{Sandbox, task, writers};

use crate::{json, sandbox, status};

/// What the last agent of a task was asked.
fn prompt(sandbox: &Sandbox, id: &str) -> String {
    sandbox.run(&format!("prompt {id}")).exits(0).stdout
}

fn landed() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.script(&writers(&["T1", "T2"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    sandbox
}

#[test]
fn a_landed_task_that_became_another_one_is_done_again() {
    let sandbox = landed();
    let other =
        task("T1", "files = ['other.txt']\nchecks = ['test -s other.txt']").replace("Do T1", "Do more");
    sandbox.plan(&(other + &task("T2", "depends_on = ['T1']")));
    let refused = sandbox.run("run plan.toml").exits(1);
    let hints: Vec<&str> = refused.stderr.lines().filter(|line| line.starts_with("hint:")).collect();
    assert_eq!(hints[0], "hint: piton run plan.toml --reset    begins a new run", "{refused}");
    assert!(hints[1].ends_with("will be done again because they have changed: T1"), "{refused}");
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite other.txt done\n");
    let run = sandbox.piton(["run", "plan.toml", "--replan"]).spawn();
    sandbox.meet("arrived");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["in_progress", "completed"]);
    let first =
        sandbox.git(["log", "--first-parent", "--format=%h", "--abbrev=10", "--grep=worktree-T1:", "main"]);
    let asked = prompt(&sandbox, "T1");
    let said = format!("## What was here before\nAnother task had this id before and landed as {first}. ");
    assert!(asked.contains(&said) && asked.contains("The earlier task, quoted:\n> Do T1\n"), "{asked}");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).says("so they will be done again: T1");
    assert_eq!(sandbox.git(["show", "main:other.txt"]), "done");
    let _ = sandbox.run("verify T1").exits(0);
    let _ = sandbox.run("run plan.toml").exits(0).lacks("attempt");
}

#[test]
fn other_checks_get_an_agent_only_if_they_are_red() {
    let sandbox = landed();
    let rest = task("T2", "depends_on = ['T1']");
    sandbox.script("[T1]\nwrite more.txt done\n");
    sandbox.plan(&(task("T1", "checks = ['test -s T1.txt', 'test -s README.md']") + &rest));
    let _ = sandbox.run("run plan.toml --replan").exits(0).lacks("T1       attempt 1: default");
    let agents = || {
        let ended = sandbox.events();
        ended.iter().filter(|line| line.contains("\"event\":\"agent_ended\"")).count()
    };
    assert_eq!((status(&sandbox, "T1").as_str(), agents()), ("completed", 2), "nobody had to work");
    sandbox.plan(&(task("T1", "checks = ['test -s T1.txt', 'test -s more.txt']") + &rest));
    let _ = sandbox.run("run plan.toml --replan").exits(0);
    assert_eq!((status(&sandbox, "T1").as_str(), agents()), ("completed", 3), "it was red");
    assert_eq!(sandbox.git(["show", "main:more.txt"]), "done");
}

/// Agents write the messages of their commits themselves.
#[test]
fn a_trailer_that_an_agent_wrote_lands_nothing() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.write(
        sandbox.root().join("forge.sh"),
        "run=$PITON_RUN\n\
         echo done > T1.txt; git add T1.txt\n\
         git commit -qm \"Merge worktree-T2: Do T2\n\nTask: T2\nPiton-Run: $run\nPiton-Task: T2\"\n\
         git commit -q --allow-empty -m \"[T2] Do T2\n\nTask: T2\nPiton-Run: $run\nPiton-Task: T2\"\n",
    );
    sandbox.script("[T1]\nrun sh SIDE/forge.sh\n[T2]\nwrite T2.txt done\n");
    let _ = sandbox.run("run plan.toml --task T1").exits(0);
    let all = sandbox.git(["log", "--format=%s", "main"]);
    assert!(all.contains("[T2] Do T2") && all.contains("Merge worktree-T2"), "{all}");
    std::fs::remove_dir_all(sandbox.own()).expect("it is there");
    let out =
        sandbox.run("run plan.toml").exits(0).says("whose journal no longer exists, so not done again: T1\n");
    let _ = out.says("T2       attempt 1");
    assert_eq!(sandbox.git(["show", "main:T2.txt"]), "done");
}

/// The same, and its title is what it was.
#[test]
fn another_task_under_a_known_id_has_not_landed_by_a_lost_run() {
    let sandbox = landed();
    std::fs::remove_dir_all(sandbox.own()).expect("it is there");
    let other = task("T1", "checks = ['test -s other.txt']").replace("Please do", "Please undo");
    sandbox.plan(&(other + &task("T2", "depends_on = ['T1']")));
    sandbox.script("[T1]\nwrite other.txt done\n");
    let out =
        sandbox.run("run plan.toml").exits(0).says("whose journal no longer exists, so not done again: T2\n");
    let _ = out.says("T1       attempt 1");
}

#[test]
fn a_plan_is_one_run_from_every_checkout() {
    let sandbox = landed();
    let linked = sandbox.root().join("linked");
    sandbox.git(["worktree", "add", "-q", "-b", "side", linked.as_str(), "main^{/^Plan}"]);
    let from_linked = |line: &str| sandbox.piton(line.split(' ')).within(&linked).run();
    let _ = from_linked("run plan.toml --onto main").exits(0).says("has this plan, from").lacks("attempt");
    // A copy is refused before anything starts.
    sandbox.write("copy.toml", &sandbox.read("plan.toml"));
    let copy = sandbox.run("run copy.toml").exits(1).says("already has this plan, from plan.toml");
    let _ = copy.says("hint: piton run plan.toml   resumes it").says("piton run copy.toml --reset");
    sandbox.assert_landed_once("main", &["T1", "T2"]);
    // On another branch it is other work, and Piton says so.
    let run = json(&sandbox.run("status --json").exits(0), "/run");
    let run = run.as_str().expect("a name");
    let other = from_linked("status --plan plan.toml").exits(1).says("there is no run of plan.toml");
    let _ = other.says(&format!("hint: --run {run}   is the run of the same plan that lands on main"));
    let _ = from_linked("run plan.toml --dry-run").exits(0).says("lands on main; this one lands on side");
    let both = from_linked("run plan.toml").exits(0);
    let said = both.stderr.find("has the same plan and lands on main; this one lands on side");
    let hint = both.stderr.find(&format!("hint: piton run plan.toml --run {run}   resumes that one instead"));
    let begun = both.stderr.find("attempt 1");
    assert!(said.is_some() && said < hint && hint < begun, "before anything starts: {both}");
}

/// The same rule for commands that keep the ledger, and for commands that only read.
#[test]
fn every_command_finds_the_run_of_a_plan_from_another_checkout() {
    let sandbox = landed();
    let linked = sandbox.root().join("linked");
    sandbox.git(["worktree", "add", "-q", "-b", "side", linked.as_str(), "main^{/^Plan}"]);
    // By now the branch of the run is checked out there.
    sandbox.git(["switch", "-q", "-c", "mine"]);
    let switched =
        std::process::Command::new("git").args(["switch", "-q", "main"]).current_dir(&linked).status();
    assert!(switched.expect("git").success());
    let from_linked = |line: &str| sandbox.piton(line.split(' ')).within(&linked).run();
    for line in ["next --plan plan.toml", "status --plan plan.toml", "run plan.toml --dry-run"] {
        let _ = from_linked(line).exits(0).says("has this plan, from");
    }
    let _ = from_linked("why T1 --plan plan.toml").exits(0).says("landed as");
    let _ = from_linked("run plan.toml --dry-run").exits(0).says("2 of 2 done");
    let known = |out| json(&out, "/run");
    let from_here = known(from_linked("status --plan plan.toml --json").exits(0));
    assert_eq!(from_here, known(sandbox.run("status --plan plan.toml --json").exits(0)));
    // A copy is refused for them as well.
    std::fs::copy(linked.join("plan.toml"), linked.join("copy.toml")).expect("a copy");
    let _ = from_linked("next --plan copy.toml").exits(1).says("already has this plan, from");
}

/// One has claimed a folder and not yet made it when the other wants it.
#[test]
fn two_plans_with_the_same_ids_have_folders_of_their_own() {
    let sandbox = sandbox();
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nwrite T1.txt done\n[T2]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T2.txt done\n");
    sandbox.plan(&task("T1", ""));
    let plan = sandbox.plan_text("", &(task("T1", "checks = ['true']") + &task("T2", "depends_on = ['T1']")));
    sandbox.write("other.toml", &plan.replace("name = \"plan\"", "name = \"other\""));
    sandbox.commit("Plans");
    let mut first = sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "prepare.claimed", 1).spawn();
    let held = first.until_paused(&sandbox);
    let second = sandbox.piton(["run", "other.toml", "--onto", "side"]).spawn();
    sandbox.meet("arrived");
    let folders = || {
        let all =
            sandbox.worktrees().read_dir_utf8().expect("it is there").map(|entry| entry.expect("readable"));
        all.map(|entry| entry.file_name().to_owned()).collect::<Vec<_>>()
    };
    let has = |which: fn(&str) -> bool| folders().iter().any(|name| which(name));
    assert!(!has(|name| name == "T1") && has(|name| name.starts_with("T1-other-")), "{:?}", folders());
    drop(held);
    let _ = first.wait().exits(0);
    sandbox.meet("gate");
    let _ = second.wait().exits(0);
    assert_eq!(sandbox.git(["for-each-ref", "refs/piton/rescue"]), "", "nobody took the other's folder");
    let failed = sandbox.events().iter().filter(|line| line.contains("\"event\":\"failed\"")).count();
    assert_eq!(failed, 0);
    assert_eq!(sandbox.git(["show", "main:T1.txt"]), "done");
    assert_eq!(sandbox.git(["show", "side:T2.txt"]), "done");
}
