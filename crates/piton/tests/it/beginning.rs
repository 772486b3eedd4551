//! `piton init` in projects of several kinds, and `piton new` with what it finds there.

use camino::Utf8PathBuf;
use piton_testkit::sandbox::{Output, Sandbox, task};
use serde_json::json;

use crate::{folder, json, sandbox};

/// A folder for `PATH` with git and these programs, none of which may be run.
fn with_only(sandbox: &Sandbox, programs: &[&str]) -> Utf8PathBuf {
    let path = std::env::var_os("PATH").expect("a PATH");
    let git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|file| file.is_file());
    let git = git.expect("git is installed");
    let folder = sandbox.root().join("bin");
    let make = |name: &str, script: &str| {
        if !folder.join(name).exists() {
            sandbox.program(name, script);
        }
    };
    for program in programs {
        make(program, &format!("echo {program} >> {}/ran", sandbox.root()));
    }
    make("git", &format!("exec '{}' \"$@\"", git.display()));
    folder
}

/// A command with nothing else on its `PATH`. No program of the project is run by it.
fn runs(sandbox: &Sandbox, line: &str, programs: &[&str]) -> Output {
    let path = with_only(sandbox, programs);
    let output = sandbox.piton(line.split_whitespace()).env("PATH", path.as_str()).run();
    assert!(!sandbox.exists(sandbox.root().join("ran")), "a program was run\n{output}");
    output
}

const WORKFLOW: &str =
    "jobs:\n  test:\n    steps:\n      - run: cargo test --locked\n      - run: npx prettier --check .\n";

#[test]
fn a_project_is_looked_through_and_its_settings_are_written_once() {
    let sandbox = sandbox();
    for (file, text) in [
        ("Cargo.toml", "[workspace]\n"),
        ("package.json", r#"{"scripts": {"test": "vitest run", "lint": "eslint ."}}"#),
        ("package-lock.json", "{}"),
        (".golangci.yml", ""),
        (".github/workflows/ci.yml", WORKFLOW),
        ("AGENTS.md", "Be kind.\n"),
        (".gitignore", "target\nnode_modules/\n.env*\n*.log\n"),
        ("plans/small-todolist.md", "# Small\n\n- [ ] 1. One\n- [x] 2. Two\n"),
    ] {
        sandbox.write(file, text);
    }
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    for file in [".env", "web/.env.local", "target/debug/x", "node_modules/x/y", "noise.log"] {
        sandbox.write(file, "SECRET=hunter2\n");
    }
    sandbox.git(["remote", "add", "origin", "."]);
    sandbox.git(["fetch", "-q", "origin"]);
    sandbox.git(["remote", "set-head", "origin", "main"]);
    sandbox.git(["switch", "-q", "-c", "feature/x"]);
    let programs = ["claude", "codex", "cargo", "npm", "npx"];
    with_only(&sandbox, &programs);
    let before = sandbox.fingerprint();
    let shown = runs(&sandbox, "init --dry-run", &programs).exits(0).says("would write this to piton.toml");
    assert!(!sandbox.exists("piton.toml"));
    let output = runs(&sandbox, "init", &programs).exits(0).lacks("hunter2");
    shows!(output, @r"
    exit: 0
    --- stdout
    branch  main                     origin/HEAD names it; feature/x is checked out: `piton run PLAN --base-branch main` lands there
    agent   claude                   it is installed; so is codex
    check   cargo fmt --check        Cargo.toml
            cargo clippy             Cargo.toml
            npm run lint             package.json
            golangci-lint run        .golangci.yml; not used: `golangci-lint` is not installed
            cargo test               Cargo.toml, .github/workflows/ci.yml
            npm run test             package.json
    setup   npm ci                   package-lock.json
    guide   AGENTS.md                agents read it in their worktrees
    copy    .env                     git ignores it, and a worktree needs it
            web/.env.local           git ignores it, and a worktree needs it
    warm    node_modules             git ignores it; a new worktree gets a copy
            target                   git ignores it; a new worktree gets a copy
    plan    plan.toml                native: 2 of 2 tasks open
            plans/small-todolist.md  rwkit: plans/small-todolist.md has 1 problem
    --- stderr

    wrote piton.toml
    hint: piton plan plan.toml
    ");
    shows!(sandbox.read("piton.toml"), @r#"
    # What holds for every plan of this project. Piton found it with `piton init`.

    [agents.default]
    adapter = "claude"  # or "codex", "gemini", "opencode"

    [defaults]
    checks = [
        "cargo fmt --check",  # Cargo.toml
        "cargo clippy",       # Cargo.toml
        "npm run lint",       # package.json
        "cargo test",         # Cargo.toml, .github/workflows/ci.yml
        "npm run test",       # package.json
    ]

    [worktree]
    copy = [".env", "web/.env.local"]  # files that git ignores and a worktree needs
    setup = "npm ci"  # package-lock.json
    warm = ["node_modules", "target"]  # caches that a new worktree gets a copy of
    "#);
    assert!(shown.stdout.starts_with(&output.stdout) && shown.stdout.ends_with(&sandbox.read("piton.toml")));
    let after = sandbox.fingerprint();
    let changed: Vec<&String> = after.keys().filter(|file| !before.contains_key(*file)).collect();
    assert_eq!(changed, [&sandbox.project().join("piton.toml").to_string()], "nothing else is new");
    // Twice is once.
    let again =
        runs(&sandbox, "init", &programs).exits(0).says("piton.toml has all of this: nothing to change");
    assert!(again.stdout.starts_with("branch  main"), "{again}");
    assert_eq!(sandbox.fingerprint(), after);
    // What it names is a plan, and what it wrote is understood.
    let _ = sandbox.run("plan plan.toml --json").exits(0);
    let _ = runs(&sandbox, "new work", &programs).exits(0);
    assert!(sandbox.read("work.toml").contains("of piton.toml"), "{}", sandbox.read("work.toml"));
}

/// Files of a project, and the programs that are installed.
type Kind = (&'static [(&'static str, &'static str)], &'static [&'static str]);

#[test]
fn a_client_is_tried_by_its_own_name_where_the_settings_name_it() {
    let sandbox = sandbox();
    let bin = sandbox.program("claude", "exit 7");
    sandbox.write("piton.toml", "[agents.default]\nadapter = \"claude\"\n");
    let tries = |name: &str| sandbox.piton(["agents", "test", name]).with_path(&bin).run().exits(1);
    for name in ["claude", "default"] {
        let _ = tries(name).says(&format!("{name} did not answer"));
    }
    let _ = tries("cluade").says("there is no agent `cluade`");
}

#[test]
fn projects_of_other_kinds() {
    let kinds: [Kind; 4] = [
        (
            &[
                ("pyproject.toml", "[dependency-groups]\ndev = ['pytest']\n[tool.ruff]\n"),
                ("uv.lock", ""),
                (".gitlab-ci.yml", "test:\n  script:\n    - uv run pytest\n    - uv run mypy .\n"),
            ],
            &["uv", "gemini"],
        ),
        (
            &[("go.mod", "module x\n"), ("Makefile", "lint:\n\tx\ntest:\n\tx\n")],
            &["go", "gofmt", "make", "opencode"],
        ),
        (&[("App.sln", ""), ("mix.exs", ""), (".formatter.exs", ""), ("mix.lock", "")], &["dotnet", "mix"]),
        (&[("pom.xml", ""), ("mvnw", "#!/bin/sh\n"), ("settings.gradle", "")], &[]),
    ];
    let mut all = String::new();
    for (files, programs) in kinds {
        let sandbox = sandbox();
        files.iter().for_each(|(file, text)| sandbox.write(file, text));
        sandbox.commit("A project");
        let output = runs(&sandbox, "init", programs).exits(0).says("wrote piton.toml");
        all += &format!("{}\n{}\n", output.stdout, sandbox.read("piton.toml"));
        let _ = runs(&sandbox, "init", programs).exits(0).says("has all of this");
    }
    shows!(all, @r#"
    branch  main                 it is checked out
    agent   gemini               it is installed
    check   uv run ruff check .  pyproject.toml
            uv run mypy .        .gitlab-ci.yml
            uv run pytest        pyproject.toml, .gitlab-ci.yml

    # What holds for every plan of this project. Piton found it with `piton init`.

    [agents.default]
    adapter = "gemini"  # or "claude", "codex", "opencode"

    [defaults]
    checks = [
        "uv run ruff check .",  # pyproject.toml
        "uv run mypy .",        # .gitlab-ci.yml
        "uv run pytest",        # pyproject.toml, .gitlab-ci.yml
    ]

    branch  main                                     it is checked out
    agent   opencode                                 it is installed
    check   files=$(gofmt -l .) && test -z "$files"  go.mod
            go vet ./...                             go.mod
            go build ./...                           go.mod
            go test ./...                            go.mod

    # What holds for every plan of this project. Piton found it with `piton init`.

    [agents.default]
    adapter = "opencode"  # or "claude", "codex", "gemini"

    [defaults]
    checks = [
        "files=$(gofmt -l .) && test -z \"$files\"",  # go.mod
        "go vet ./...",                               # go.mod
        "go build ./...",                             # go.mod
        "go test ./...",                              # go.mod
    ]

    branch  main                          it is checked out
    agent   none                          none of claude, codex, gemini, opencode is installed
    check   mix format --check-formatted  .formatter.exs
            dotnet build                  App.sln
            mix test                      mix.exs
            dotnet test                   App.sln
    setup   mix deps.get                  mix.lock

    # What holds for every plan of this project. Piton found it with `piton init`.

    # CHANGE THIS: no coding agent was found. Install one and name it, or name any command.
    # [agents.default]
    # adapter = "claude"

    [defaults]
    checks = [
        "mix format --check-formatted",  # .formatter.exs
        "dotnet build",                  # App.sln
        "mix test",                      # mix.exs
        "dotnet test",                   # App.sln
    ]

    [worktree]
    setup = "mix deps.get"  # mix.lock

    branch  main              it is checked out
    agent   none              none of claude, codex, gemini, opencode is installed
    check   gradle check      settings.gradle; not used: `gradle` is not installed
            ./mvnw -q verify  pom.xml

    # What holds for every plan of this project. Piton found it with `piton init`.

    # CHANGE THIS: no coding agent was found. Install one and name it, or name any command.
    # [agents.default]
    # adapter = "claude"

    [defaults]
    checks = [
        "./mvnw -q verify",  # pom.xml
    ]
    "#);
}

#[test]
fn a_folder_without_git_or_without_anything_is_a_project_too() {
    let bare = folder();
    shows!(runs(&bare, "init", &[]).exits(0), @r"
    exit: 0
    --- stdout
    branch  none  no repository: `git init` makes one, `piton run --no-commits` works without
    agent   none  none of claude, codex, gemini, opencode is installed
    --- stderr

    wrote piton.toml
    hint: piton new plan
    ");
    let _ = runs(&bare, "init", &[]).exits(0).says("has all of this");
    let empty = folder();
    empty.git(["init", "-q", "-b", "main"]);
    empty.write("Cargo.toml", "");
    let _ = runs(&empty, "init", &["cargo", "codex"]).exits(0).says("no commit yet").says("cargo test");
    let detached = sandbox();
    detached.git(["switch", "-q", "--detach"]);
    let _ = runs(&detached, "init", &[]).exits(0).says("branch  main").says("no branch is checked out");
    // From a folder below, it is the same project.
    let below = sandbox();
    below.write("a/b/x", "");
    let path = with_only(&below, &[]);
    let _ =
        below.piton(["init"]).env("PATH", path.as_str()).within(below.project().join("a/b")).run().exits(0);
    assert!(below.exists("piton.toml") && !below.exists("a/b/piton.toml"));
}

#[test]
fn settings_that_are_there_stay_and_the_rest_is_shown() {
    let sandbox = sandbox();
    sandbox.write("Cargo.toml", "");
    sandbox.write(".gitignore", ".env\ntarget\n");
    sandbox.write("target/x", "");
    sandbox.write(".env", "A=1\n");
    let own = "# ours\n[worktree]\nsetup = 'true'\n\n[defaults] # all\nattempts = 2\n";
    sandbox.write("piton.toml", own);
    shows!(runs(&sandbox, "init", &["cargo", "codex"]).exits(0), @r#"
    exit: 0
    --- stdout
    branch  main               it is checked out
    agent   codex              it is installed
    check   cargo fmt --check  Cargo.toml
            cargo clippy       Cargo.toml
            cargo test         Cargo.toml
    copy    .env               git ignores it, and a worktree needs it
    warm    target             git ignores it; a new worktree gets a copy
    [agents.default]
    adapter = "codex"  # or "claude", "gemini", "opencode"
    [defaults]   # this table is there: add the lines below to it
    checks = ["cargo fmt --check", "cargo clippy", "cargo test"]
    [worktree]   # this table is there: add the lines below to it
    copy = [".env"]  # files that git ignores and a worktree needs
    warm = ["target"]  # caches that a new worktree gets a copy of
    --- stderr

    piton.toml stays as it is; you could add:
    hint: piton new plan
    "#);
    assert_eq!(sandbox.read("piton.toml"), own);
    let found = runs(&sandbox, "init --json", &["cargo", "codex"]).exits(0);
    assert_eq!(json(&found, "/config/state"), json!("incomplete"));
    assert_eq!(json(&found, "/config/lacking/0/table"), json!("[agents.default]"));
    assert_eq!(json(&found, "/target"), json!("main"));
    assert_eq!(json(&found, "/found/0/topic"), json!("branch"));
    assert_eq!(found.stderr, "");
    // A mistake in it is drawn, and nothing else is done.
    sandbox.write("piton.toml", "[defaults]\nattemts = 2\n");
    let _ = runs(&sandbox, "init", &["cargo"]).exits(1).says("did you mean `attempts`?").lacks("cargo test");
    std::fs::remove_file(sandbox.project().join("piton.toml")).expect("our own file");
    std::os::unix::fs::symlink("nowhere", sandbox.project().join("piton.toml")).expect("a link");
    let _ = runs(&sandbox, "init", &["cargo"]).exits(1).says("piton.toml is not a file");
}

#[test]
fn plans_are_listed_with_what_is_open_and_the_fullest_is_next() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.write("plans/two.toml", &sandbox.plan_text("", &(task("A", "") + &task("B", ""))));
    sandbox.write("plans/bad.toml", "name = 'bad'\n[[task]]\nid = 'x'\n");
    let _ = runs(&sandbox, "new issue 7 login", &[]).exits(0);
    let found = runs(&sandbox, "init --json", &[]).exits(0);
    let plans = json(&found, "/plans");
    let shown: Vec<String> = plans
        .as_array()
        .expect("a list")
        .iter()
        .map(|plan| {
            format!(
                "{} {} {}",
                plan["path"].as_str().unwrap_or(""),
                plan["system"].as_str().unwrap_or(""),
                plan["size"]
            )
        })
        .collect();
    shows!(shown.join("\n"), @r#"
    plan.toml native {"tasks":{"open":1,"all":1}}
    plans/bad.toml native {"unreadable":"plans/bad.toml has 3 problems"}
    plans/two.toml native {"tasks":{"open":2,"all":2}}
    .claude/plans/issue-7-login issue {"unreadable":".claude/plans/issue-7-login has 1 problem"}
    "#);
    assert_eq!(json(&found, "/next"), json!("piton plan plans/two.toml"));
    // What a run has done counts.
    sandbox.commit("Plans");
    sandbox.script("[A]\nwrite A.txt x\n[B]\nwrite B.txt x\n");
    let _ = sandbox.run("run plans/two.toml").exits(0);
    let _ = runs(&sandbox, "init", &[])
        .exits(0)
        .says("all done (2 tasks)")
        .lacks("hint: piton plan plans/two.toml");
}

#[test]
fn hostile_names_are_shown_as_text_and_written_as_values() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", ".env*\n");
    for name in [".env.\u{1b}[31mred", ".env.\"quoted\"", ".env.\u{202e}txt", "a\u{1b}]0;x\u{7}.sln"] {
        sandbox.write(name, "A=1\n");
    }
    sandbox.write(".github/workflows/\u{1b}[2J.yml", "jobs:\n  a:\n    steps:\n      - run: npm test\n");
    let output = runs(&sandbox, "init", &["dotnet", "npm"]).exits(0);
    assert!(!output.to_string().chars().any(|c| c.is_control() && c != '\n'), "{output}");
    assert!(!sandbox.read("piton.toml").chars().any(|c| c.is_control() && c != '\n'));
    let _ = runs(&sandbox, "init", &["dotnet", "npm"]).exits(0).says("has all of this");
}

#[test]
fn flags_that_mean_nothing_together_are_refused() {
    let sandbox = sandbox();
    for line in ["init --yes", "init --remove", "init --for claude --dry-run", "init --for claude --json"] {
        let _ = sandbox.run(line).exits(2);
    }
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn a_worktreeinclude_counts_for_agents_and_for_checks() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "secret/\n*.key\n");
    sandbox.write(".worktreeinclude", "# ours\n*.key\nsecret/**\n!secret/not.key\nuntracked.txt\n");
    sandbox
        .plan(&task("T1", "checks = ['grep -q one T1.txt', 'test -s secret/b', 'test ! -e untracked.txt']"));
    for (file, text) in
        [("a.key", "one\n"), ("secret/b", "two\n"), ("secret/not.key", "x"), ("untracked.txt", "work")]
    {
        sandbox.write(file, text);
    }
    let lines =
        ["cp a.key T1.txt", "cp secret/b b.txt", "test ! -e secret/not.key", "test ! -e untracked.txt"];
    sandbox.script(&format!("[T1]\n{}\n", lines.map(|line| format!("run {line}")).join("\n")));
    let _ = sandbox.run("run plan.toml").exits(0).says("every task is completed");
    assert_eq!(
        sandbox.git(["ls-tree", "-r", "--name-only", "main"]),
        ".gitignore\n.worktreeinclude\nREADME.md\nT1.txt\nb.txt\nplan.toml"
    );
    let _ = runs(&sandbox, "init", &[]).exits(0).says(".worktreeinclude  each worktree gets a.key, secret/b");
}

#[test]
fn a_short_plan_has_the_checks_of_the_project() {
    let sandbox = sandbox();
    sandbox.write("Cargo.toml", "[workspace]\n");
    let _ = runs(&sandbox, "new work", &["cargo", "codex"]).exits(0);
    shows!(sandbox.read("work.toml"), @r#"
    # A plan for Piton: `piton plan work.toml` validates it, `piton run work.toml` works on it.
    # `piton new NAME --full` writes every key with an explanation.
    name = "work"

    [agents.default]
    adapter = "codex"          # or "claude", "gemini", "opencode"

    [defaults]           # for tasks that name no checks; found in Cargo.toml
    checks = ["cargo fmt --check", "cargo clippy", "cargo test"]

    [[task]]
    id = "T1"
    title = "Describe the project"
    prompt = "Write NOTES.md: what this project is, how it is built, how it is tested. At most one page."
    checks = ["test -s NOTES.md"]   # Piton runs these itself; an agent's word is not enough

    [[task]]
    id = "T2"
    title = "Link the notes from the README"
    prompt = "Add one line to README.md that links to NOTES.md. Create README.md if there is none."
    depends_on = ["T1"]             # it starts when T1 has landed
    checks = ["grep -q NOTES.md README.md"]
    "#);
    let _ = runs(&sandbox, "new long --full", &["codex"]).exits(0);
    assert!(sandbox.read("long.toml").contains("# landing_checks = "));
    let _ = sandbox.run("plan work.toml --json").exits(0);
    let _ = sandbox.run("new execute shop --full").exits(2).says("--full is for plans of Piton's own");
}

#[test]
fn a_list_becomes_a_plan() {
    let sandbox = sandbox();
    sandbox.write("Cargo.toml", "[workspace]\n");
    sandbox.write(
        "docs/todo.md",
        "# To do\n\nSoon.\n\n- [ ] Write a parser\n  - fast\n- [x] Think\n- [ ] Test it\n",
    );
    shows!(runs(&sandbox, "new --from docs/todo.md", &["cargo", "codex"]).exits(0), @r"
    exit: 0
    --- stderr
    wrote todo.toml
    2 tasks from docs/todo.md
    1 task left out: done or crossed out
    docs/todo.md:3: not part of a task: Soon.
    hint: edit it, then: piton plan todo.toml
    ");
    shows!(sandbox.read("todo.toml"), @r#"
    # A plan for Piton: `piton plan todo.toml` validates it, `piton run todo.toml` works on it.
    # `piton new NAME --full` writes every key with an explanation.
    name = "todo"

    [agents.default]
    adapter = "codex"          # or "claude", "gemini", "opencode"

    [defaults]           # for tasks that name no checks; found in Cargo.toml
    checks = ["cargo fmt --check", "cargo clippy", "cargo test"]

    # Each task waits for the one before it. Remove `depends_on` where tasks may run side by side.

    [[task]]
    id = "T1"
    title = "Write a parser"
    prompt = """
    Write a parser
    - fast"""

    [[task]]
    id = "T2"
    title = "Test it"
    depends_on = ["T1"]
    prompt = "Test it"
    "#);
    let plan = sandbox.run("plan todo.toml --json").exits(0);
    assert_eq!(json(&plan, "/tasks/1/depends_on"), json!(["T1"]));
    let _ = runs(&sandbox, "new --from docs/todo.md", &["cargo"]).exits(1).says("todo.toml already exists");
    let _ = runs(&sandbox, "new other --from docs/todo.md", &["cargo"]).exits(0).says("wrote other.toml");
    let _ = sandbox.run("new --from README.md").exits(2).says("README.md has no list to make tasks of");
    let _ = sandbox.run("new --from nowhere.md").exits(1).says("cannot read nowhere.md");
    let _ = sandbox.run("new").exits(2);
    assert!(!sandbox.exists("README.toml"));
}
