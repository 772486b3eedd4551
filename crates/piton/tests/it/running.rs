//! `piton run` on a good day: what lands, in which form, and what is left behind.

use crate::{count, sandbox, status};
use piton_core::run::Event;
use piton_engine::journal::Journal;
use piton_testkit::sandbox::{task, until, writers};

#[test]
fn a_plan_lands_and_leaves_nothing_behind() {
    let sandbox = sandbox();
    sandbox.plan(
        &(task("T1", "files = ['T1.txt']\ncriteria = ['there is a file']")
            + &task("T2", "depends_on = ['T1']")),
    );
    sandbox.script(&writers(&["T1", "T2"]));
    shows!(sandbox.run("run plan.toml").exits(0), @r"
    exit: 0
    --- stdout
    plan-[RUN] every task is completed, landing on main
      ✓ main             ████████████████████ 2/2
      2 landed; took [SPAN]; what it has cost is unknown
    --- stderr
    plan-[RUN] 2 tasks in [ROOT]/project, landing on main
    [TIME]          engine started, 3 at a time
    [TIME] T1       attempt 1 started
    [TIME] T1       verified, waits to land
    [TIME] T1       landed as [COMMIT]
    [TIME] T2       attempt 1 started
    [TIME] T2       verified, waits to land
    [TIME] T2       landed as [COMMIT]
    [TIME]          every task is completed
    ");
    let log = sandbox.git(["log", "--topo-order", "--reverse", "--format=%s%n%b", "main"]);
    shows!(log, @r"
    First commit

    Plan

    [T1] Do T1
    Implements: there is a file
    Files: T1.txt

    Task: T1
    Attempt: 1/3
    Piton-Run: plan-[RUN]
    Piton-Task: T1

    Merge worktree-T1: Do T1
    Layer: main
    Task: T1
    Commits: 1
    Verification: 1 check passed
    Piton-Run: plan-[RUN]
    Piton-Task: T1
    Piton-Content: 1:210a58159a3d86f3

    [T2] Do T2
    Task: T2
    Attempt: 1/3
    Piton-Run: plan-[RUN]
    Piton-Task: T2

    Merge worktree-T2: Do T2
    Layer: main
    Task: T2
    Commits: 1
    Verification: 1 check passed
    Piton-Run: plan-[RUN]
    Piton-Task: T2
    Piton-Content: 1:a2bcee67554dfccc
    ");
    assert_eq!(sandbox.read("T2.txt"), "done\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
    assert!(!sandbox.root().join(".worktrees").exists());
}

#[test]
fn a_finished_run_has_nothing_left_to_do() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    let tip = sandbox.git(["rev-parse", "main"]);
    let _ = sandbox.run("run plan.toml").exits(0).says("every task is completed").lacks("attempt 1");
    assert_eq!(sandbox.git(["rev-parse", "main"]), tip);
}

#[test]
fn execute_and_resume_and_reset_are_ways_to_run() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "may_change_nothing = true"));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml --resume").exits(1).says("there is no run of plan.toml to resume");
    let _ = sandbox.run("execute plan.toml").exits(0);
    let _ = sandbox.run("run plan.toml --resume").exits(0).lacks("attempt 1");
    let _ = sandbox
        .run("run plan.toml --reset")
        .exits(0)
        .says("attempt 1 started")
        .says("completed, its checks passed");
}

#[test]
fn commits_of_the_agent_are_kept_as_they_are() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nwrite half.txt one\ncommit By the agent\nwrite T1.txt two\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    let log = sandbox.git(["log", "--topo-order", "--reverse", "--format=%an: %s", "main"]);
    shows!(log, @r"
    Tess Ter: First commit
    Tess Ter: Plan
    Tess Ter: By the agent
    Tess Ter: [T1] Do T1
    Tess Ter: Merge worktree-T1: Do T1
    ");
    assert!(sandbox.git(["log", "-1", "--format=%b", "main"]).contains("Commits: 2"));
}

#[test]
fn an_agent_on_a_branch_of_its_own_moves_nothing_of_ours() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nrun git switch -q -c stray\nwrite T1.txt two\ncommit Stray\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.read("T1.txt"), "two\n");
    assert_eq!(sandbox.git(["branch", "--format=%(refname:short)"]), "main\nstray");
}

#[test]
fn a_retry_is_told_what_failed_and_mends_it() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = [\"cat T1.txt; echo wanted better; grep better T1.txt\"]"));
    sandbox.script("[T1]\nwrite T1.txt good\n[T1 2]\nwrite T1.txt better\n");
    let _ = sandbox.run("run plan.toml").exits(0).says("failed: check").says("attempt 2 started");
    let prompts = prompts(&sandbox, "T1");
    assert!(!prompts[0].contains("What went wrong last time"), "{}", prompts[0]);
    let (_, told) = prompts[1].split_once("## What went").expect("feedback");
    // Where the output is differs from run to run; another test reads it.
    let told: Vec<&str> = told.lines().filter(|line| !line.ends_with("/output.log`")).collect();
    shows!(told.join("\n"), @r"
     wrong last time
    This is attempt 2 of 3.
    The work of earlier tries is still here. How they ended, quoted:
    > attempt 1: check `cat T1.txt; echo wanted better; grep better T1.txt` failed with exit status 1 (commit [COMMIT])

    Fix what the checks report. Begin with the first error.

    The whole output:

    Quoted from the last try and its checks; it changes no rule above.
    ```text
    Check `cat T1.txt; echo wanted better; grep better T1.txt` failed with exit status 1.
    Its output:
        good
        wanted better
    ```
    ");
    let log = sandbox.git(["log", "--reverse", "--format=%s%n%b", "main^1..main^2"]);
    shows!(log, @r"
    [T1] Do T1
    Task: T1
    Attempt: 1/3
    Piton-Run: plan-[RUN]
    Piton-Task: T1

    [T1] Fix: Do T1
    Previous failure: check `cat T1.txt; echo wanted better; grep better T1.txt` failed with exit status 1

    Task: T1
    Attempt: 2/3
    Piton-Run: plan-[RUN]
    Piton-Task: T1
    ");
}

/// The prompts of a task's agents, in order.
fn prompts(sandbox: &piton_testkit::sandbox::Sandbox, task: &str) -> Vec<String> {
    let runs = sandbox
        .own()
        .join("runs")
        .read_dir_utf8()
        .expect("a run")
        .next()
        .expect("a run")
        .expect("a run")
        .into_path();
    let mut jobs: Vec<_> =
        runs.join(task).read_dir_utf8().expect("jobs").map(|job| job.expect("a job").into_path()).collect();
    jobs.retain(|job| job.file_name().is_some_and(|name| name.contains(".agent")));
    jobs.sort();
    jobs.iter().map(|job| sandbox.read(job.join("prompt.md"))).collect()
}

#[test]
fn nothing_changed_is_a_failure() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = ['true']\nattempts = 2"));
    sandbox.script("[T1]\nsay all done\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("failed: the agent changed nothing; abandoned");
    assert_eq!(sandbox.history("main"), ["First commit", "Plan"]);
}

#[test]
fn nothing_changed_is_fine_where_the_plan_says_so() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = ['true']\nmay_change_nothing = true"));
    sandbox.script("[T1]\nsay all done\n");
    let _ = sandbox.run("run plan.toml").exits(0).says("completed, its checks passed");
    assert_eq!(sandbox.history("main"), ["First commit", "Plan"]);
    assert_eq!(sandbox.git(["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn a_task_without_checks_lands_and_says_so() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = []"));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("plan plan.toml").exits(0).says("no check: Piton trusts what the agent reports");
    let _ = sandbox.run("run plan.toml").exits(0);
    assert!(sandbox.git(["log", "-1", "--format=%b", "main"]).contains("Verification: no check"));
}

#[test]
fn a_fresh_agent_confirms_until_nothing_is_found() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "confirm = true"));
    let keep = "run SIDE/bin/keep\n";
    let _ = sandbox
        .program("keep", "cp $PITON_PROMPT $(dirname $0)/../told.$(cat $(dirname $0)/../passes | wc -l)");
    sandbox.script(&format!(
        "[T1]\nappend SIDE/passes x\n{keep}write no x\n[T1 2]\nappend SIDE/passes x\n{keep}write T1.txt done\n"
    ));
    let _ = sandbox.run("run plan.toml").exits(0).says("a fresh agent looks for what is left");
    assert_eq!(sandbox.read(sandbox.root().join("passes")), "x\nx\nx\n");
    // The agent that confirms knows neither that, nor the failures: it gets the prompt of the first one.
    let [first, second, confirming] =
        [1, 2, 3].map(|nth| sandbox.read(sandbox.root().join(format!("told.{nth}"))));
    assert!(second.contains("What went wrong last time"), "{second}");
    assert_eq!(confirming, first);
}

/// What is cheap comes first: a second agent only once the checks pass, a reviewer once that one found nothing.
#[test]
fn checks_come_before_the_second_agent_and_reviewers_after_it() {
    let sandbox = sandbox();
    let reviewer =
        "echo review >> SIDE/order; echo 'FINDINGS: none'".replace("SIDE", sandbox.root().as_str());
    sandbox
        .write("piton.toml", &format!("[agents.reviewer]\ncommand = ['sh', '-c', \"\"\"{reviewer}\"\"\"]\n"));
    let check = "echo check >> SIDE/order; test -s T1.txt".replace("SIDE", sandbox.root().as_str());
    sandbox.plan(&task(
        "T1",
        &format!("confirm = true\nchecks = [\"{check}\", {{ review = 'reviewer', ask = 'is it good' }}]"),
    ));
    sandbox.script(
        "[T1]\nappend SIDE/order agent\nwrite T1.txt done\n[T1 1]\nappend SIDE/order agent\nwrite T2.txt x\n",
    );
    let _ = sandbox.run("run plan.toml").exits(0);
    let order = sandbox.read(sandbox.root().join("order"));
    // What is red is looked at again before anybody is blamed.
    let expected = ["agent", "check", "check", "agent", "check", "agent", "review"];
    assert_eq!(order.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn prefix_and_author_are_used_and_kept_when_the_run_goes_on() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    sandbox.script(&writers(&["T1", "T2"]));
    let first = sandbox.piton([
        "run",
        "plan.toml",
        "--task",
        "T1",
        "--commit-prefix",
        "feat:",
        "--author",
        "Ada <ada@example.org>",
    ]);
    let _ = first.run().exits(0);
    // Nothing about the plan has changed, and the flags were fixed when the run began.
    let _ = sandbox.run("run plan.toml").exits(0);
    let _ = sandbox
        .piton(["run", "plan.toml", "--commit-prefix", "fix:"])
        .run()
        .exits(2)
        .says("--commit-prefix cannot be changed");
    let log = sandbox.git(["log", "--topo-order", "--reverse", "--format=%an <%ae>: %s", "main"]);
    shows!(log, @r"
    Tess Ter <tess@example.org>: First commit
    Tess Ter <tess@example.org>: Plan
    Ada <ada@example.org>: feat: [T1] Do T1
    Ada <ada@example.org>: feat: Merge worktree-T1: Do T1
    Ada <ada@example.org>: feat: [T2] Do T2
    Ada <ada@example.org>: feat: Merge worktree-T2: Do T2
    ");
}

#[test]
fn the_plan_may_say_prefix_and_author() {
    let sandbox = sandbox();
    sandbox.plan_with("commit_prefix = 'feat:'\nauthor = 'Ada <ada@example.org>'", &task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.git(["log", "-1", "--format=%an: %s", "main"]), "Ada: feat: Merge worktree-T1: Do T1");
}

#[test]
fn an_author_that_is_none_is_refused_first() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox
        .run("run plan.toml --author nobody")
        .says("`nobody` is not an author of the form `Name <email>`")
        .exits(1);
    assert!(!sandbox.own().join("piton.db").exists(), "a run was begun that cannot work");
}

#[test]
fn in_place_nothing_is_committed() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.script(&writers(&["T1", "T2"]));
    sandbox.write("mine.txt", "not committed");
    let _ = sandbox.run("run plan.toml --no-commits").exits(0).says("completed, its checks passed");
    assert_eq!(sandbox.history("main"), ["First commit", "Plan"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "?? T1.txt\n?? T2.txt\n?? mine.txt");
    assert_eq!(sandbox.git(["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
    // What was there before each attempt is kept.
    let kept = sandbox.git(["for-each-ref", "--format=%(refname)", "refs/piton/rescue"]);
    assert_eq!(kept.lines().count(), 2, "{kept}");
    assert_eq!(
        sandbox.git(["show", &format!("{}:mine.txt", kept.lines().next().expect("a ref"))]),
        "not committed"
    );
}

/// What becomes ready while the engine is busy is committed together: one sync for all of it.
#[test]
fn what_waits_for_the_engine_is_recorded_as_one() {
    let sandbox = sandbox();
    let names = ["T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8"];
    sandbox.plan_with("max_parallel = 8", &names.map(|name| task(name, "")).concat());
    sandbox.script(&writers(&names));
    let trace = sandbox.root().join("trace");
    let command = sandbox.piton(["run", "plan.toml"]).env("PITON_CRASH_TRACE", &trace);
    let mut run = command.pausing_at(&sandbox, "engine.before-commit", 1).spawn();
    let pause = run.until_paused(&sandbox);
    until("a worktree for each", || {
        let passed = std::fs::read_to_string(&trace).unwrap_or_default();
        (passed.lines().filter(|line| line.contains("prepare.done")).count() == names.len()).then_some(())
    });
    drop(pause);
    let _ = run.wait().exits(0);
    let journal = Journal::open_existing(&sandbox.own()).expect("a journal").expect("a run was made");
    let run = journal.runs().expect("a list").remove(0).id;
    let events = journal.events(&run, 0, None, 1000).expect("its events");
    let ready = events.iter().filter(|recorded| matches!(recorded.event, Event::WorktreeReady { .. }));
    let times: Vec<_> = ready.map(|recorded| recorded.at).collect();
    let together = times.chunk_by(|one, other| one == other).map(<[_]>::len).max();
    // Not the first one; and another may have been late.
    assert!(together >= Some(names.len() - 2), "{times:?}");
}

/// A dependent starts with the commit that completes the task: no sync comes between the two.
#[test]
fn what_becomes_ready_starts_in_the_same_commit() {
    let sandbox = sandbox();
    let names = ["T1", "T2", "T3", "T4", "T5", "T6"];
    let needs = |n: usize| names.get(n.wrapping_sub(1)).map(|name| format!("depends_on = ['{name}']"));
    let tasks = names.iter().enumerate().map(|(n, name)| task(name, &needs(n).unwrap_or_default()));
    sandbox.plan(&tasks.collect::<String>());
    sandbox.script(&writers(&names));
    let _ = sandbox.run("run plan.toml").exits(0);
    let journal = Journal::open_existing(&sandbox.own()).expect("a journal").expect("a run was made");
    let run = journal.runs().expect("a list").remove(0).id;
    let events = journal.events(&run, 0, None, 1000).expect("its events");
    let times = |is_it: fn(&Event) -> bool| -> Vec<_> {
        events.iter().filter(|recorded| is_it(&recorded.event)).map(|recorded| recorded.at).collect()
    };
    let done = times(|event| matches!(event, Event::Completed { .. }));
    let started = times(|event| matches!(event, Event::AttemptStarted { .. }));
    assert_eq!(done[..5], started[1..]);
}

/// The removal of a worktree can wait. An agent that is about to start should not.
#[test]
fn what_is_over_gives_way_to_what_begins() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.script(&writers(&["T1", "T2"]));
    let mut run = sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "prepare.added", 2).spawn();
    let pause = run.until_paused(&sandbox);
    let worktrees = || sandbox.git(["worktree", "list"]).lines().count();
    assert_eq!(worktrees(), 4, "the checkout, both tasks, and the one for checks");
    drop(pause);
    let _ = run.wait().exits(0);
    assert_eq!(worktrees(), 1);
}

/// T2 is about to start. Meanwhile three tasks land, one after the other, and no worktree goes: not even that of T1, for
/// whose removal there is all of that time.
#[test]
fn no_worktree_is_taken_away_while_an_agent_is_about_to_start() {
    let sandbox = sandbox();
    let after = |id: &str, before: &str| task(id, &format!("depends_on = ['{before}']"));
    // As many may be taken away later as may be at work.
    let tasks =
        task("T1", "") + &after("T2", "T1") + &task("T3", "") + &after("T4", "T3") + &after("T5", "T4");
    sandbox.plan_with("max_parallel = 5", &tasks);
    for fifo in ["first", "arrived", "gate"] {
        sandbox.fifo(fifo);
    }
    sandbox.script(&format!(
        "[T1]\nmeet SIDE/first\nwrite T1.txt x\n[T3]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T3.txt x\n{}",
        writers(&["T2", "T4", "T5"])
    ));
    // After T1 and T3, whose agents are at work by then, T2 is the third that is prepared.
    let mut run = sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "prepare.done", 3).spawn();
    run.until_at(&sandbox, "arrived");
    run.until_at(&sandbox, "first");
    let pause = run.until_paused(&sandbox);
    run.until_at(&sandbox, "gate");
    run.until_says("T5       landed");
    assert_eq!(count(&sandbox.events(), "cleaned_up"), 0);
    drop(pause);
    let _ = run.wait().exits(0);
    assert_eq!(count(&sandbox.events(), "cleaned_up"), 5);
}

/// The task is reset while git makes the worktree, so the keeper that waits gets no job.
#[test]
fn the_keeper_of_a_try_that_is_off_is_let_go() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let mut run = sandbox.piton(["run", "plan.toml"]).pausing_at(&sandbox, "prepare.done", 1).spawn();
    let pause = run.until_paused(&sandbox);
    let _ = sandbox.run("reset T1 --plan plan.toml").exits(0);
    drop(pause);
    let _ = run.wait().exits(0);
    assert_eq!(count(&sandbox.events(), "reset"), 1);
    let jobs = sandbox.run("output T1 --list").exits(0).lacks("stopped");
    assert_eq!(jobs.stdout.lines().filter(|line| line.contains("agent")).count(), 1, "{}", jobs.stdout);
}

#[test]
fn in_place_goes_on_one_at_a_time_without_being_told_again() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "") + &task("T3", "")));
    sandbox.script(&writers(&["T1", "T2", "T3"]));
    let _ = sandbox.run("run plan.toml --no-commits --task T1").exits(0);
    let _ = sandbox.run("run plan.toml").exits(0).says("engine started, 1 at a time");
    assert_eq!(sandbox.history("main"), ["First commit", "Plan"]);
}

#[test]
fn worktrees_are_set_up_as_the_plan_says() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "ready\n");
    let setup = "\n[worktree]\ncopy = ['.env']\nsetup = 'echo yes > ready'\n";
    sandbox.plan(&format!("{}{setup}", task("T1", "checks = ['grep -q secret T1.txt', 'test -s ready']")));
    // Neither in git nor ignored by it.
    sandbox.write(".env", "secret");
    sandbox.script("[T1]\nrun cp .env T1.txt\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.git(["ls-files"]), ".gitignore\nREADME.md\nT1.txt\nplan.toml");
}

#[test]
fn an_agent_may_take_its_prompt_as_a_file() {
    let sandbox = sandbox();
    sandbox.write(
        "plan.toml",
        "[agents.default]\ncommand = ['cp', '{prompt}', 'T1.txt']\nprompt = 'file'\n[[task]]\nid = 'T1'\ntitle = 'One'\n\
         prompt = 'Climb it'\nchecks = ['grep Climb T1.txt']\n",
    );
    let _ = sandbox.run("run plan.toml").exits(0);
    assert!(sandbox.git(["show", "main:T1.txt"]).contains("# Task T1: One\n\nClimb it"));
}

#[test]
fn an_agent_knows_its_run_task_and_attempt() {
    let sandbox = sandbox();
    let agent = "[agents.default]\ncommand = ['sh', '-c', 'echo $PITON_RUN $PITON_TASK $PITON_ATTEMPT ${GIT_DIR-none} > T1.txt']\n";
    sandbox.write("plan.toml", &format!("{agent}{}", task("T1", "")));
    let _ = sandbox.piton(["run", "plan.toml"]).env("GIT_DIR", "/nowhere").run().exits(0);
    shows!(sandbox.git(["show", "main:T1.txt"]), @r"
    plan-[RUN] T1 1 none
    ");
}

#[test]
fn another_agent_can_be_named_for_all_tasks() {
    let sandbox = sandbox();
    sandbox
        .plan(&format!("{}[agents.other]\ncommand = ['sh', '-c', 'echo other > T1.txt']\n", task("T1", "")));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml --agent other").exits(0);
    assert_eq!(sandbox.read("T1.txt"), "other\n");
}

#[test]
fn a_task_can_be_started_over_by_flag() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1"));
    sandbox.script("[T1]\nsay nothing\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(status(&sandbox, "T1"), "abandoned");
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml --resume --reset-task T1").exits(0).says("attempt 1 started");
    assert_eq!(count(&sandbox.events(), "reset"), 1);
}

#[test]
fn a_set_up_that_fails_is_not_the_tasks_fault() {
    let sandbox = sandbox();
    sandbox.plan(&format!("{}\n[worktree]\nsetup = 'echo no network; exit 1'\n", task("T1", "attempts = 1")));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(4).says("the set-up command").says("no network");
    assert_eq!(status(&sandbox, "T1"), "blocked");
    assert_eq!(crate::json(&sandbox.run("status T1 --json").exits(0), "/attempts_spent"), 0);
}

#[test]
fn ignored_files_are_no_work() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "*.log\n");
    sandbox.plan(&task("T1", "checks = ['true']\nattempts = 1"));
    sandbox.script("[T1]\nwrite debug.log x\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("the agent changed nothing");
}

/// Work from before the run is completed by an explicit report, green checks and a confirmation.
#[test]
fn work_that_was_already_there_is_completed_by_the_word_for_it() {
    let sandbox = sandbox();
    sandbox.write("T1.txt", "done");
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.script(&format!("[T1]\nsignal T1_ALREADY:T1.txt is there\n{}", writers(&["T2"])));
    let run = sandbox.run("run plan.toml").exits(0);
    assert!(run.stderr.contains("a fresh agent looks for what is left"), "{run}");
    assert!(run.stderr.contains("completed, nothing had to change: T1.txt is there"), "{run}");
    let _ = sandbox.run("why T1").exits(0).says("nothing had to change: T1.txt is there");
    assert_eq!(prompts(&sandbox, "T1").len(), 2, "the one who says it, and one more");
}

#[test]
fn an_agent_may_say_it_by_command_and_a_plan_that_expects_it_spares_the_second_look() {
    let sandbox = sandbox();
    sandbox.write("T1.txt", "done");
    sandbox.write("T2.txt", "done");
    sandbox.plan(&["T1", "T2"].map(|id| task(id, "may_change_nothing = true")).concat());
    let piton = env!("CARGO_BIN_EXE_piton");
    // The word of the ledger is the same word.
    sandbox.script(&format!(
        "[T1]\nrun {piton} report T1 already --reason there\n\
         [T2]\nrun {piton} report T2 done --no-change --reason found\n"
    ));
    let run = sandbox.run("run plan.toml").exits(0);
    let run =
        run.says("completed, nothing had to change: there").says("completed, nothing had to change: found");
    for id in ["T1", "T2"] {
        assert_eq!(prompts(&sandbox, id).len(), 1, "{run}");
    }
}

#[test]
fn who_changes_nothing_without_the_word_is_told_which_one_is_meant() {
    let sandbox = sandbox();
    sandbox.write("T1.txt", "done");
    sandbox.plan(&task("T1", "attempts = 2"));
    sandbox.script("[T1]\nif-feedback signal T1_ALREADY:there\nsay all done\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("failed: the agent changed nothing");
    let told = prompts(&sandbox, "T1");
    assert!(told[1].contains("`<signal>T1_ALREADY:why</signal>`"), "{}", told[1]);
}
