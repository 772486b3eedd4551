//! `new` and `plan`: what a plan says before anything is done.

use std::fmt::Write;

use crate::{json, sandbox};
use piton_testkit::sandbox::{task, writers};

#[test]
fn the_starter_can_be_planned_and_run() {
    let sandbox = sandbox();
    let bin = sandbox.program(
        "claude",
        "cat > /dev/null; echo see NOTES.md > NOTES.md; test $PITON_TASK = T1 || cp NOTES.md README.md\n\
         echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"modelUsage\":{}}'",
    );
    shows!(sandbox.piton(["new", "work/climb"]).with_path(&bin).run().exits(0), @r"
    exit: 0
    --- stderr
    wrote work/climb.toml
    hint: edit it, then: piton plan work/climb.toml
    ");
    shows!(sandbox.piton(["plan", "work/climb.toml"]).with_path(&bin).run().exits(0), @r"
    exit: 0
    --- stdout
    climb 2 tasks in 1 layer, layered, up to 3 at once

    main main
      0  T1       Describe the project  [test -s NOTES.md]
      1  T2       Link the notes from the README ← T1  [grep -q NOTES.md README.md]

    critical path 2 steps: T1 → T2
    ");
    sandbox.commit("Plan");
    let _ = sandbox
        .piton(["run", "work/climb.toml"])
        .with_path(&bin)
        .run()
        .exits(0)
        .says("every task is completed");
    assert_eq!(sandbox.read("README.md"), "see NOTES.md\n");
    // If no client is installed, a person has to name one. If the project names one, the plan need not.
    shows!(sandbox.piton(["new", "other"]).env("PATH", "/nowhere").run().exits(0), @r"
    exit: 0
    --- stderr
    wrote other.toml
    hint: no coding agent was found here: define one in [agents.default]
    hint: edit it, then: piton plan other.toml
    ");
    assert!(sandbox.read("other.toml").contains("CHANGE THIS"));
    sandbox.write("piton.toml", "[agents.default]\ncommand = ['my-agent']\n");
    let _ = sandbox.piton(["new", "third"]).with_path(&bin).run().exits(0);
    assert!(!sandbox.read("third.toml").contains("[agents.default]\n"));
    let _ = sandbox.run("plan third.toml").exits(0);
}

#[test]
fn new_does_not_overwrite() {
    let sandbox = sandbox();
    sandbox.write("mine.toml", "precious");
    shows!(sandbox.run("new mine").exits(1), @r"
    exit: 1
    --- stderr
    error: mine.toml already exists

    hint: piton new mine --force
    ");
    assert_eq!(sandbox.read("mine.toml"), "precious");
    let _ = sandbox.run("new mine --force").exits(0);
    assert_ne!(sandbox.read("mine.toml"), "precious");
}

#[test]
fn problems_are_drawn_where_they_are() {
    let sandbox = sandbox();
    sandbox.write(
        "plan.toml",
        r#"name = "broken"
[agents.default]
command = "true"
[policy]
max_paralel = 3
[[task]]
id = "T1"
title = "One"
prompt = "x"
depends_on = ["T3"]
checks = ["true"]
[[task]]
id = "T2"
title = "Two"
prompt = "x"
[[task]]
id = "T1"
title = "Again"
prompt = "x"
checks = ["true"]
"#,
    );
    let output = sandbox.run("plan plan.toml").exits(1);
    shows!(output, @r#"
    exit: 1
    --- stderr
    error: unknown key `max_paralel` in `[policy]`
     --> plan.toml:5:1
      |
    5 | max_paralel = 3
      | ^^^^^^^^^^^ did you mean `max_parallel`?
      |
    help: known here: `schedule`, `order`, `subtasks`, `max_parallel`, `exhausted`, `escalation`, `feedback`, `landing_checks`, `backoff`, `landing_wait`, `land`, `landing_parallel`, `early_conflicts`, `commit_prefix`, `author`, `startup` and 2 more

    error: there is no task "T3"
      --> plan.toml:10:15
       |
    10 | depends_on = ["T3"]
       |               ^^^^ not in this plan
       |
    help: add the task, or remove it from `depends_on`

    error: nothing checks this task
      --> plan.toml:12:1
       |
    12 | [[task]]
       | ^^^^^^^^ add `checks = ["…"]`: commands that prove it done
       |
    help: set `checks = []` if it cannot be proven, or give `[defaults]` some `checks`

    error: the task id `T1` is used twice, in line 7 and line 17
      --> plan.toml:17:6
       |
    17 | id = "T1"
       |      ^^^^ every id must be unique
       |
    help: give one of them another id
    error: plan.toml has 4 problems
    "#);
    let _ = sandbox.run("run plan.toml").exits(1).says("plan.toml has 4 problems");
    assert!(!sandbox.own().exists(), "a plan with problems was begun");
}

#[test]
fn a_cycle_is_named() {
    let sandbox = sandbox();
    sandbox.plan(
        &(task("A", "depends_on = ['B']")
            + &task("B", "depends_on = ['C']")
            + &task("C", "depends_on = ['A']")),
    );
    shows!(sandbox.run("plan plan.toml").exits(1), @r"
    exit: 1
    --- stderr
    error: these tasks wait for each other: A → B → C → A
      --> plan.toml:17:15
       |
    17 | depends_on = ['B']
       |               ^^^ `A` waits for `B`
       |
    help: remove one of these dependencies
    error: plan.toml has 1 problem
    ");
}

#[test]
fn zero_tasks_are_an_error_and_never_a_success() {
    let sandbox = sandbox();
    sandbox.plan("");
    shows!(sandbox.run("run plan.toml").exits(1), @r#"
    exit: 1
    --- stderr
    error: the plan has no tasks
     --> plan.toml:1:1
      |
    1 | name = "plan"
      | ^ no `[[task]]` in this file
      |
    help: add a `[[task]]` with `id`, `title`, `prompt` and `checks`
    error: plan.toml has 1 problem
    "#);
}

#[test]
fn hostile_ids_are_refused_by_name() {
    let long = "x".repeat(300);
    for (id, why) in [
        ("../../x", "an id starts with a letter or a digit"),
        ("-rf", "an id starts with a letter or a digit"),
        ("con", "is a device name on Windows"),
        ("🧗", "an id starts with a letter or a digit"),
        ("T1/x", "letters, digits and"),
        (long.as_str(), "it has 300 characters; 100 are allowed"),
    ] {
        let sandbox = sandbox();
        sandbox.write("plan.toml", &sandbox.plan_text("", &task(id, "checks = ['true']")));
        let before = sandbox.fingerprint();
        let _ = sandbox.run("run plan.toml").exits(1).says(why).says("plan.toml:");
        assert_eq!(sandbox.fingerprint(), before, "{id}");
    }
}

#[test]
fn ids_that_differ_only_in_case_are_refused() {
    let sandbox = sandbox();
    sandbox.plan(&(task("t1", "") + &task("T1", "")));
    let _ = sandbox.run("plan plan.toml").exits(1).says("the task id `T1` in line 20 differs only in case");
}

#[test]
fn a_plan_in_json_says_everything() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    let plan = sandbox.run("plan plan.toml --json").exits(0);
    assert_eq!(json(&plan, "/critical_path"), serde_json::json!(["T1", "T2"]));
    assert_eq!(json(&plan, "/batches/1/tasks"), serde_json::json!(["T2"]));
    assert_eq!(json(&plan, "/tasks/0/checks/0/name"), "test -s T1.txt");
    assert_eq!(plan.stderr, "");
}

#[test]
fn a_broken_project_file_is_drawn_too() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.write("piton.toml", "[defaults]\natempts = 3\n");
    shows!(sandbox.run("plan plan.toml").exits(1), @r"
    exit: 1
    --- stderr
    error: unknown key `atempts` in `[defaults]`
     --> piton.toml:2:1
      |
    2 | atempts = 3
      | ^^^^^^^ did you mean `attempts`?
      |
    help: known here: `agent`, `checks`, `attempts`, `priority`, `timeout`, `silence`, `confirm`, `may_change_nothing`, `check_first`, `may_fail`
    error: piton.toml cannot be used
    ");
}

#[test]
fn defaults_of_the_project_hold_where_the_plan_says_nothing() {
    let sandbox = sandbox();
    sandbox.write("piton.toml", "[policy]\nmax_parallel = 9\n[defaults]\nchecks = ['true']\n");
    sandbox.write(
        "plans/plan.toml",
        "[agents.default]\ncommand = 'true'\n[[task]]\nid = 'T1'\ntitle = 'One'\nprompt = 'x'\n",
    );
    let _ = sandbox.run("plan plans").exits(0).says("up to 9 at once").says("[true]");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let sandbox = sandbox();
    std::fs::write(sandbox.project().join("plan.toml"), b"name = \"\xff\"").expect("a new file");
    let _ = sandbox.run("plan plan.toml").exits(1).says("is not UTF-8 (at byte 8)");
}

/// An unknown agent, or one that is not installed, is found before anything begins.
#[test]
fn an_agent_that_cannot_start_is_found_first() {
    let sandbox = sandbox();
    sandbox.write("plan.toml", &sandbox.plan_text("", &task("T1", "agent = 'nobody'")));
    let _ = sandbox.run("run plan.toml").says("nobody").says("default");
    sandbox.write("plan.toml", "[agents.default]\ncommand = 'no-such-program-here'\n[[task]]\nid='T1'\ntitle='One'\nprompt='x'\nchecks=['true']\n");
    shows!(sandbox.run("run plan.toml").exits(1), @r"
    exit: 1
    --- stderr
    error: the agent `default` cannot be started: there is no program `no-such-program-here`

    hint: install it, or change `command` of [agents.default]
    ");
    let _ = sandbox.run("run plan.toml --agent other").exits(2).says("the agent `other` is not defined");
    assert!(!sandbox.own().exists());
}

/// `piton plan` says the same before the run starts.
#[test]
fn what_a_run_would_miss_is_said_with_the_plan_and_by_a_dry_run() {
    let sandbox = sandbox();
    sandbox.write("plan.toml", "[agents.default]\nadapter = 'claude'\n[[task]]\nid='T1'\ntitle='One'\nprompt='x'\nchecks=['no-such-check --all']\n");
    // Only what the system has.
    let path = "/usr/bin:/bin";
    for line in ["plan plan.toml", "run plan.toml --dry-run"] {
        let told = sandbox.piton(line.split(' ')).env("PATH", path).run().exits(0);
        let told = told.says("warning: the agent `default` cannot be started: there is no program `claude`");
        let told = told.says("hint: npm install -g @anthropic-ai/claude-code   installs it");
        let told = told.says("warning: there is no program `no-such-check`, which the check of T1 needs");
        let _ = told.says("hint: install it, or change the check `no-such-check --all`");
        let told = sandbox.piton(line.split(' ').chain(["--json"])).env("PATH", path).run().exits(0);
        let problem = |at: usize| crate::json(&told, &format!("/missing/{at}/problem"));
        assert_eq!((problem(0), problem(1)), ("agent_not_installed".into(), "check_program_missing".into()));
        assert_eq!(crate::json(&told, "/missing/0/stops"), true);
    }
    assert!(!sandbox.own().exists());
}

/// As the clients say it themselves, which costs nothing.
#[test]
fn an_agent_that_is_not_logged_in_is_found_first() {
    let clients = [
        ("claude", "auth status", "claude auth login", "echo '{ \"loggedIn\": false }'; exit 1"),
        ("codex", "login status", "codex login", "echo Not logged in >&2; exit 1"),
    ];
    for (client, question, login, answer) in clients {
        let sandbox = sandbox();
        let asked = format!("echo \"$*\" >> {}/asked; {answer}", sandbox.root());
        let bin = sandbox.program(client, &asked);
        let plan = |more: &str| {
            format!(
                "[agents.default]\nadapter = '{client}'\n{more}[agents.other]\ncommand = 'true'\n[[task]]\nid='T1'\n\
                 title='One'\nprompt='x'\nchecks=['true']\n"
            )
        };
        sandbox.write("plan.toml", &plan(""));
        let refused = sandbox.piton(["run", "plan.toml"]).with_path(&bin).run().exits(1);
        let refused = refused.says("the agent `default` cannot work: its client is not logged in");
        let _ = refused.says(&format!("hint: {login}"));
        assert!(!sandbox.own().exists(), "nothing was begun");
        assert_eq!(sandbox.read(sandbox.root().join("asked")).trim(), question);
        let _ = sandbox.piton(["plan", "plan.toml"]).with_path(&bin).run().exits(0).says("not logged in");
        // Another agent stands in.
        sandbox.write("plan.toml", &plan("fallback = 'other'\n"));
        let told = sandbox.piton(["run", "plan.toml", "--dry-run", "--json"]).with_path(&bin).run().exits(0);
        assert_eq!(crate::json(&told, "/missing/0/stops"), false);
        // A program of one's own is not asked.
        sandbox.write("plan.toml", &plan(&format!("program = '{bin}/{client}'\n")));
        let _ = sandbox.piton(["plan", "plan.toml"]).with_path(&bin).run().exits(0).lacks("logged in");
    }
}

/// These have no command that shows a login, and may have one that Piton does not know.
#[test]
fn a_client_that_shows_no_login_is_warned_of_and_not_refused() {
    let clients = [
        ("gemini", "", "home/.gemini/oauth_creds.json"),
        ("opencode", "model = 'anthropic/claude'\n", "home/.local/share/opencode/auth.json"),
    ];
    for (client, more, credentials) in clients {
        let sandbox = sandbox();
        let bin = sandbox.program(client, "exit 1");
        let plan = |more: &str| {
            format!(
                "[agents.my-own]\nadapter = '{client}'\n{more}[defaults]\nagent = 'my-own'\n[[task]]\nid='T1'\n\
                 title='One'\nprompt='x'\nchecks=['true']\n"
            )
        };
        let look = || sandbox.piton(["plan", "plan.toml"]).with_path(&bin).run().exits(0);
        sandbox.write("plan.toml", &plan(more));
        let unseen = "warning: there is no sign that the agent `my-own` is logged in";
        let _ = look().says(unseen).says("hint: piton agents test my-own --plan plan.toml   asks it");
        let told = sandbox.piton(["run", "plan.toml", "--dry-run", "--json"]).with_path(&bin).run().exits(0);
        assert_eq!(crate::json(&told, "/missing/0/stops"), false);
        sandbox.write("plan.toml", &plan(&format!("{more}env = {{ SOME_API_KEY = 'k' }}\n")));
        let _ = look().lacks("logged in");
        sandbox.write("plan.toml", &plan(more));
        sandbox.write(sandbox.root().join(credentials), "{ \"anthropic\": { \"type\": \"api\" } }");
        let _ = look().lacks("logged in");
    }
    // Its default model needs no login.
    let sandbox = sandbox();
    let bin = sandbox.program("opencode", "exit 1");
    sandbox.write("plan.toml", &("[agents.default]\nadapter = 'opencode'\n".to_owned() + &task("T1", "")));
    let _ = sandbox.piton(["plan", "plan.toml"]).with_path(&bin).run().exits(0).lacks("logged in");
}

/// If agents can write in their worktrees only, they cannot install what a check needs.
#[test]
fn a_check_whose_program_nobody_can_install_is_refused() {
    let sandbox = sandbox();
    let plan = sandbox.plan_text("", &task("T1", "checks = ['no-such-check --all']"));
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    sandbox.script(&writers(&["T1"]));
    let run = |mode: &str| sandbox.piton(["run", "plan.toml"]).env("PITON_SANDBOX", mode).run();
    if piton_engine::keeper::fences_are_possible().is_ok() {
        let refused =
            run("auto").exits(1).says("there is no program `no-such-check`, which the check of T1 needs");
        let _ = refused.says("agents cannot install it").lacks("warning:");
        assert!(!sandbox.own().exists(), "nothing was begun");
        // Its set-up may.
        sandbox.write("plan.toml", &plan.replace("[policy]", "[worktree]\nsetup = 'true'\n[policy]"));
        let _ = run("auto").exits(4).says("warning: there is no program `no-such-check`");
    }
    let _ = run("off").exits(4);
    // There is no warning about a script that a task may write.
    sandbox.write("plan.toml", &plan.replace("no-such-check --all", "./no-such-check"));
    let _ = sandbox.run("plan plan.toml").exits(0).lacks("warning:");
}

#[test]
fn a_large_plan_is_shown_short() {
    let sandbox = sandbox();
    let mut text = String::from("[agents.default]\ncommand = 'true'\n[defaults]\nchecks = ['true']\n");
    for n in 1..=20_000 {
        let after = if n > 1 { format!("depends_on = ['T{}']\n", n / 2 + n % 2) } else { String::new() };
        let after = if n == 2 { "depends_on = ['T1']\n".to_owned() } else { after };
        write!(text, "[[task]]\nid = 'T{n}'\ntitle = 'Do {n}'\nprompt = 'x'\n{after}").expect("memory");
    }
    sandbox.write("plan.toml", &text);
    let _ = sandbox
        .run("plan plan.toml")
        .exits(0)
        .says("20000 tasks in 1 layer")
        .says("… and 19940 more (--all shows them)");
}

#[test]
fn a_folder_with_a_plan_is_a_plan() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run .").exits(0);
}

#[test]
fn a_folder_is_not_a_plan_of_a_system_whose_plans_are_files() {
    let sandbox = sandbox();
    let answer = sandbox.run("plan . --dialect rwkit").exits(2);
    let _ = answer.says("is a folder, and a plan of the rwkit system is one file").lacks("plan.toml");
}

/// What would hold a landing up is said before a run, too.
#[test]
fn a_target_that_cannot_move_now_is_said_with_the_plan() {
    let sandbox = sandbox();
    sandbox.write("plan.toml", &sandbox.plan_text("", &task("T1", "")));
    sandbox.commit("Plan");
    sandbox.write("plan.toml", &(sandbox.read("plan.toml") + "\n"));
    sandbox.write("notes.md", "not tracked\n");
    let _ = sandbox.run("plan plan.toml").exits(0).lacks("warning:");
    sandbox.write("README.md", "changed by hand\n");
    let told = sandbox.run("plan plan.toml").exits(0);
    let told = told
        .says("[ROOT]/project has uncommitted changes in README.md: a task that changes one of them waits");
    let _ = told.says("hint: git -C [ROOT]/project status");
    let told = sandbox.run("run plan.toml --dry-run --json").exits(0);
    assert_eq!(crate::json(&told, "/missing/0/problem"), "target_not_clean");
    assert_eq!(crate::json(&told, "/missing/0/stops"), false);
    // What lands elsewhere does not meet it.
    let _ = sandbox.git(["branch", "other"]);
    let _ = sandbox.run("run plan.toml --dry-run --onto other").exits(0).lacks("uncommitted");
    let _ = sandbox.git(["checkout", "-q", "README.md"]);
    sandbox.write(".git/MERGE_HEAD", &sandbox.git(["rev-parse", "HEAD"]));
    let _ = sandbox
        .run("plan plan.toml")
        .exits(0)
        .says("nothing could land on `main` now: a merge is in progress");
}

/// A fence opens only what is there.
#[test]
fn a_folder_that_agents_are_to_write_to_and_that_is_not_there_is_said() {
    if piton_engine::keeper::fences_are_possible().is_err() {
        return;
    }
    let sandbox = sandbox();
    let settings = "[sandbox]\nwritable = ['~/models', '/tmp']\n";
    let plan = |mode: &str| sandbox.piton(["plan", "plan.toml"]).env("PITON_SANDBOX", mode).run().exits(0);
    let text = sandbox.plan_text("", &task("T1", ""));
    sandbox.write("plan.toml", &text.replace("[policy]", &format!("{settings}[policy]")));
    let told =
        plan("auto").says("warning: `~/models` in `writable` is not there, so agents cannot write to it");
    let _ = told.says("hint: mkdir -p ").lacks("`/tmp`");
    let _ = plan("off").lacks("writable");
    std::fs::create_dir_all(sandbox.root().join("home/models")).expect("a folder");
    let _ = plan("auto").lacks("writable");
}
