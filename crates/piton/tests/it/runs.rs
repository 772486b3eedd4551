//! The runs of a project: listed, closed, opened again; and which one is meant if a command does not name it.

use crate::{json, sandbox, status};
use piton_testkit::sandbox::{Output, Sandbox, task, until, writers};
use rustix::process::Signal;

/// Two plans, `a.toml` and `b.toml`, with a task each that lands and one that fails.
fn two() -> Sandbox {
    let sandbox = sandbox();
    sandbox.script("[A0]\nwrite A0.txt x\n[B0]\nwrite B0.txt x\n[A]\nwrite odd x\n[B]\nwrite odd x\n");
    for (plan, id) in [("a", "A"), ("b", "B")] {
        let text = sandbox.plan_text("", &(task(id, "attempts = 1") + &task(&format!("{id}0"), "")));
        sandbox
            .write(format!("{plan}.toml"), &text.replace("name = \"plan\"", &format!("name = \"{plan}\"")));
    }
    sandbox.commit("Plans");
    let _ = sandbox.run("run a.toml").exits(4);
    let _ = sandbox.run("run b.toml").exits(4);
    sandbox
}

fn run_of(sandbox: &Sandbox, plan: &str) -> String {
    let status = sandbox.run(&format!("status --json --plan {plan}")).exits(0);
    json(&status, "/run").as_str().expect("a name").to_owned()
}

/// The commands that an output names.
fn commands(output: &Output) -> Vec<String> {
    let hints = output.stderr.lines().filter_map(|line| line.strip_prefix("hint: "));
    let commands = hints.filter_map(|hint| hint.find("piton ").map(|at| &hint[at..]));
    commands.map(|command| command.split("   ").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn all_runs_are_listed_with_where_they_stand() {
    let sandbox = two();
    let (a, b) = (run_of(&sandbox, "a.toml"), run_of(&sandbox, "b.toml"));
    let listed = sandbox.run("runs").exits(0);
    let rows: Vec<Vec<&str>> = listed.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    let ends: Vec<(&str, &str, &str)> = rows.iter().map(|row| (row[0], row[1], row[row.len() - 1])).collect();
    assert_eq!(ends, [(b.as_str(), "ended", "b.toml"), (a.as_str(), "ended", "a.toml")]);
    let listed = sandbox.run("runs --json").exits(0);
    assert_eq!(json(&listed, "/runs/0/run"), b);
    assert_eq!(json(&listed, "/runs/0/state/status"), "ended");
    assert_eq!(json(&listed, "/runs/1/done"), 1);
    assert_eq!(json(&listed, "/runs/1/total"), 2);
    assert_eq!(json(&listed, "/runs/1/engine_alive"), false);
    let _ = sandbox.run("run a.toml --reset").exits(4);
    let _ = sandbox.run("runs").exits(0).says("ended, replaced");
    let _ = sandbox.piton(["runs"]).within(sandbox.root()).run().exits(0).says("there is no run in");
}

#[test]
fn a_closed_run_is_unfinished_no_more_until_it_is_opened_again() {
    let sandbox = two();
    let (a, b) = (run_of(&sandbox, "a.toml"), run_of(&sandbox, "b.toml"));
    let _ = sandbox.run("status").exits(2).says("several runs are unfinished here").says("piton close RUN");
    let closed = sandbox.piton(["close", &a, "--reason", "b replaces it"]).run().exits(0);
    let _ = closed.says("closed by you: b replaces it").says("hint: piton run a.toml   opens it again");
    let _ = sandbox.run("status").exits(0).says(&b);
    let _ = sandbox.run("status --plan a.toml").exits(0).says("closed by you: b replaces it");
    assert_eq!(json(&sandbox.run("status --plan a.toml --json").exits(0), "/state/status"), "closed");
    assert!(sandbox.worktrees().join("A").is_dir(), "nothing is removed");
    let again = sandbox.run("close a.toml").exits(0);
    let _ = again.says(&format!("the run {a} is already closed"));
    let reopened = sandbox.run("run a.toml").exits(4);
    let _ = reopened.says(&format!("the run {a} was closed by you (b replaces it): it is opened again"));
    let _ = sandbox.run("status").exits(2).says("several runs are unfinished here");
    let _ = sandbox.run("close nobody").exits(1).says("there is no run `nobody`");
}

#[test]
fn what_a_closed_run_left_goes_with_clean_and_its_work_is_kept() {
    let sandbox = two();
    sandbox.script("[A]\nwrite A.txt x\n");
    let _ = sandbox.run("close a.toml").exits(0);
    let _ = sandbox.run("clean").exits(0).says("removing the worktree of A").lacks("the worktree of B");
    assert!(!sandbox.worktrees().join("A").exists());
    assert_eq!(sandbox.git(["show", "worktree-A:odd"]), "x", "its branch has what its agent did");
    let _ = sandbox.run("retry A --plan a.toml").exits(0);
    let _ = sandbox.run("run a.toml").exits(0).says("it is opened again");
    let _ = sandbox.run("close a.toml").exits(1).says("there is nothing to close");
}

/// An engine that was killed together with an agent could not say so.
#[test]
fn closing_a_run_takes_in_what_became_of_the_tasks_of_a_dead_engine() {
    let sandbox = sandbox();
    let root = sandbox.root();
    sandbox.fifo("arrived-T1");
    sandbox.fifo("arrived-T2");
    // One each: an agent that is about to die could take the other's.
    sandbox.fifo("gate-T1");
    sandbox.fifo("gate-T2");
    let agent = format!(
        "echo $PPID > {root}/keeper-$PITON_TASK; cat {root}/arrived-$PITON_TASK; cat {root}/gate-$PITON_TASK; echo x > $PITON_TASK.txt"
    );
    sandbox.program("agent", &agent);
    let tasks = task("T1", "") + &task("T2", "") + &task("T3", "depends_on = ['T1']");
    let head = format!("[agents.default]\ncommand = ['{root}/bin/agent']\n");
    sandbox.write("plan.toml", &(head + &tasks));
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived-T1");
    sandbox.meet("arrived-T2");
    run.signal(Signal::KILL);
    assert_eq!(run.wait().code, None);
    // T1 dies with its keeper; T2 ends while no engine runs.
    let keeper: i32 = sandbox.read(root.join("keeper-T1")).trim().parse().expect("a process id");
    let keeper = rustix::process::Pid::from_raw(keeper).expect("not zero");
    rustix::process::kill_process(keeper, Signal::KILL).expect("the keeper");
    sandbox.meet("gate-T2");
    let _ = until("the end of what ran", || {
        let closed = sandbox.run("close plan.toml");
        (!closed.contains("left these running")).then(|| closed.exits(0).says("closed by you"))
    });
    let all = ["T1", "T2", "T3"].map(|id| status(&sandbox, id));
    assert_eq!(all, ["failed", "verifying", "pending"]);
    assert_eq!(json(&sandbox.run("status --plan plan.toml --json").exits(0), "/state/status"), "closed");
    sandbox.program("agent", "echo x > $PITON_TASK.txt");
    let _ = sandbox.run("run plan.toml").exits(0);
}

#[test]
fn a_run_that_is_worked_on_is_not_closed() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n");
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    let refused = sandbox.run("close plan.toml").exits(1).says("an engine is working on the run");
    assert!(commands(&refused)[0].starts_with("piton stop --run plan-"), "{refused}");
    run.signal(Signal::KILL);
    assert_eq!(run.wait().code, None);
    let refused = sandbox.run("close plan.toml").exits(1).says("left these running: the agent of T1");
    let stop = &commands(&refused)[0];
    let _ = sandbox.run(stop.strip_prefix("piton ").expect(stop)).exits(0);
    let _ = sandbox.run("close plan.toml").exits(0);
}

#[test]
fn where_several_runs_are_unfinished_hints_name_the_run() {
    let sandbox = two();
    let b = run_of(&sandbox, "b.toml");
    let _ = sandbox.run("run b.toml").exits(4).says(&format!("$ piton why B --run {b}\n"));
    let _ = sandbox.run("why B").exits(0).says(&format!("piton retry B --run {b}\n"));
    let _ = sandbox.run("close a.toml").exits(0);
    let _ = sandbox.run("run b.toml").exits(4).says("$ piton why B\n");
}

/// The commands in sentences, too.
fn named(output: &Output) -> Vec<String> {
    let text = format!("{}\n{}", output.stdout, output.stderr);
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2).map(str::to_owned));
    let helps = text
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .map(|line| line.split("   ").next().unwrap_or_default().to_owned());
    let all = commands(output).into_iter().chain(quoted).chain(helps);
    all.filter(|command| command.starts_with("piton ")).collect()
}

/// Whatever state a run is in, and whatever others there are: what Piton says to type can be typed.
#[test]
fn what_is_named_beside_other_unfinished_runs_works_as_it_stands() {
    let sandbox = two();
    let plan = sandbox.plan_text("", &(task("C", "") + &task("D", "") + &task("E", "")));
    sandbox.write("c d.toml", &plan.replace("name = \"plan\"", "name = \"c\""));
    sandbox.commit("Another plan");
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[C]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite C.txt x\n[D]\nsignal D_BLOCKED:which one?\n[A]\nwrite odd x\n");
    let _ = sandbox.piton(["start", "E", "--plan", "c d.toml", "--agent", "me"]).run();
    let mut run = sandbox.piton(["run", "c d.toml"]).spawn();
    sandbox.meet("arrived");
    run.until_says("D        ");
    let mut said = vec![sandbox.piton(["status", "--plan", "c d.toml"]).run().exits(0)];
    said.push(sandbox.piton(["stop", "--plan", "c d.toml"]).run().exits(0));
    said.push(sandbox.piton(["status", "--plan", "c d.toml"]).run().exits(0));
    run.signal(Signal::KILL);
    let _ = run.wait();
    said.push(sandbox.piton(["status", "--plan", "c d.toml"]).run().exits(0));
    for task in ["C", "D", "E"] {
        said.push(sandbox.piton(["why", task, "--plan", "c d.toml"]).run().exits(0));
    }
    said.push(sandbox.piton(["close", "c d.toml"]).run().exits(1));
    said.push(sandbox.run("why A --plan a.toml").exits(0));
    said.push(sandbox.run("close b.toml").exits(0));
    said.push(sandbox.run("status --plan b.toml").exits(0));
    said.push(sandbox.run("retry A0 --plan a.toml").exits(1));
    sandbox.script(
        "[C]\nwrite C.txt x\n[D]\nwrite D.txt x\n[E]\nwrite E.txt x\n[A]\nwrite odd x\n[B]\nwrite odd x\n",
    );
    let mut typed = std::collections::BTreeSet::new();
    for command in said.iter().flat_map(named) {
        if !typed.insert(command.clone()) {
            continue;
        }
        let words = shell_words::split(&command).expect("it can be typed");
        let output = sandbox.piton(words[1..].iter().map(String::as_str)).run();
        assert_ne!(output.code, Some(2), "{command}\n{output}");
        assert!(!output.contains("several runs are unfinished"), "{command}\n{output}");
    }
    assert!(typed.len() >= 8, "{typed:#?}");
}

/// A person has to name the run, even if it is the only one.
#[test]
fn without_a_run_close_names_those_that_can_be_closed_and_closes_none() {
    let sandbox = two();
    let (a, b) = (run_of(&sandbox, "a.toml"), run_of(&sandbox, "b.toml"));
    let _ = sandbox.piton(["close"]).within(sandbox.root()).run().exits(1).says("there is no run in");
    let said = sandbox.run("close").exits(2).says("say which run to close");
    let _ = said.clone().says(&format!("piton close {a}   closes a.toml, 1/2 done"));
    assert_eq!(commands(&said), [format!("piton close {b}"), format!("piton close {a}")]);
    let _ = sandbox.run(&commands(&said)[0]["piton ".len()..]).exits(0).says("closed by you");
    let said = sandbox.run("close").exits(2);
    assert_eq!(commands(&said), [format!("piton close {a}")]);
    assert_eq!(json(&sandbox.run("status --plan a.toml --json").exits(0), "/state/status"), "ended");
    let _ = sandbox.run("close a.toml").exits(0);
    let _ = sandbox.run("close").exits(1).says("every run in [ROOT]/project is closed or complete");
}

#[test]
fn without_a_plan_the_only_unfinished_run_is_resumed() {
    let sandbox = two();
    let (a, b) = (run_of(&sandbox, "a.toml"), run_of(&sandbox, "b.toml"));
    let several = sandbox.run("run").exits(2).says("several runs are unfinished in [ROOT]/project");
    let _ = several.clone().says(&format!("resumes {a}, 1/2 done"));
    assert_eq!(commands(&several), ["piton run b.toml", "piton run a.toml"]);
    let _ = sandbox.run(&format!("run --run {a}")).exits(4).says(&a);
    let _ = sandbox.run("close a.toml").exits(0);
    sandbox.script("[B]\nwrite B.txt x\n");
    let _ = sandbox.run("retry B").exits(0);
    let _ = sandbox.run("run").exits(0).says(&format!("the run {b} of b.toml is resumed"));
    let none = sandbox.run("run").exits(2).says("no run is unfinished in [ROOT]/project: name a plan");
    assert_eq!(commands(&none), ["piton run a.toml", "piton run b.toml"]);
    let _ = sandbox.run("run --reset").exits(2).says("--reset begins a new run: name its plan");
}

#[test]
fn plans_that_lie_in_the_project_are_named_where_there_is_no_run() {
    let sandbox = sandbox();
    let nothing = sandbox.run("status").exits(1).says("there is no run in [ROOT]/project");
    assert_eq!(commands(&nothing)[0], "piton new NAME");
    sandbox.plan(&task("T1", ""));
    sandbox.write("Cargo.toml", "[package]\n");
    sandbox.write("docs/tasks/shop/manifest.json", "{}\n");
    sandbox.write(".claude/plans/issue-7-months/tasks.md", "- [ ] 1. Do it\n");
    sandbox.write("plans/shop-todolist.md", "- [ ] TASK-001: Do it\n");
    sandbox.write(".claude/iterative/search/tasks.md", "- [ ] T1: Do it\n");
    sandbox.write(".claude/iterative/archive/old/tasks.md", "- [x] T1: Do it\n");
    let seen = [
        "piton run plan.toml",
        "piton run plans/shop-todolist.md",
        "piton run docs/tasks/shop",
        "piton run .claude/plans/issue-7-months",
        "piton run .claude/iterative/search",
    ];
    for line in ["status", "run"] {
        let named = commands(&sandbox.run(line));
        assert_eq!(named[..5], seen, "{line}");
    }
}

/// What is printed to be typed can be typed, whatever a plan is called.
#[test]
fn every_command_in_a_hint_can_be_typed_as_it_is() {
    let sandbox = sandbox();
    sandbox.script(&writers(&["T1"]));
    let name = "my plan's list.toml";
    let types = |command: &str| {
        let words = shell(&sandbox, command);
        sandbox.piton(words.iter().skip(1).map(String::as_str)).run()
    };
    let new = sandbox.piton(["new", name]).run().exits(0);
    let [plan] = &commands(&new)[..] else { panic!("{new}") };
    let _ = types(plan).exits(0);
    let again = sandbox.piton(["new", name]).run().exits(1);
    let [force] = &commands(&again)[..] else { panic!("{again}") };
    let _ = types(force).exits(0);
    sandbox.write(name, &sandbox.plan_text("", &task("T1", "attempts = 1")));
    sandbox.commit("Plan");
    let none = sandbox.run("status").exits(1);
    assert_eq!(commands(&none)[0], r"piton run 'my plan'\''s list.toml'");
    let _ = types(&commands(&none)[0]).exits(0);
    // A task that is another one by now, and a run that is closed.
    sandbox.write(name, &sandbox.read(name).replace("Please do T1", "Please do T1 otherwise"));
    let changed = sandbox.piton(["run", name]).run().exits(1);
    let [_, replan] = &commands(&changed)[..] else { panic!("{changed}") };
    let _ = types(replan).exits(4);
    let closed = sandbox.piton(["close", name]).run().exits(0);
    let reopens = commands(&closed).pop().expect("a hint");
    let _ = types(&reopens).exits(4).says("it is opened again");
    let retried = sandbox.run("retry T1").exits(0);
    let [goes_on] = &commands(&retried)[..] else { panic!("{retried}") };
    let _ = types(goes_on).exits(4);
}

/// A line as a shell takes it apart.
fn shell(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let words = sandbox.piton_by(&["sh", "-c", &format!("printf '%s\\n' {line}")], []).run().exits(0);
    words.stdout.lines().map(str::to_owned).collect()
}
