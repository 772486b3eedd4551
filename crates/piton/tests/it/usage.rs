//! What can be typed, and what cannot.

use crate::{folder, sandbox};

#[test]
fn help_tells_the_commands_and_the_exit_codes() {
    shows!(folder().run("--help").exits(0), @r"
    exit: 0
    --- stdout
    Run a plan of many tasks with coding agents and never lose ground

    Usage: piton COMMAND

    Start: write a plan and run it
      demo  init  new  plan  rehearse  run
    Watch: see where a run stands and what happened
      watch  status  inbox  runs  show  why  log  output  diff  queue  progress
      checks  cost  timeline  graph  summary  serve
    Steer: change what a run does
      stop  answer  review  retry  raise  skip  unblock  reset  add  close  unpark
    Tidy: find what is wrong, remove what is left over
      doctor  clean  rescue  archive
    By hand: do the work yourself; the checks still decide
      next  start  report  confirm  verify  orient  journal  guardrail  complete
    Integrate: clients, tools and other systems
      agents  mcp  prompt  schema  completions  ops  import  export  system

    Try `piton demo` first. `piton help` has a line for each command, and
    `piton COMMAND --help` explains one. `piton --version` prints the version.
    Exit codes: 0 complete, 1 error, 2 usage, 3 stopped, 4 unfinished work
    ");
}

#[test]
fn help_of_run_tells_its_flags() {
    shows!(folder().run("run -h").exits(0), @r"
    exit: 0
    --- stdout
    Run a plan, or resume its run

    Usage: piton run [OPTIONS] [PLAN]

    Arguments:
      [PLAN]  The plan's file or folder, the number or slug that it goes by, or issues, as in
              gh:label:NAME [default: that of the only unfinished run]

    Options:
      -h, --help  Print help (see more with '--help')

    What to run:
          --layer <NAME>        Work on this layer only
          --start-layer <NAME>  Work on this layer and those after it
          --task <ID>           Work on this task only; what it depends on must be done
          --run <RUN>           The run to resume
          --project-path <DIR>  The project [default: the repository around the plan]
          --strict              Reject what would be repaired or only warned about
          --dialect <SYSTEM>    The system the plan is of [default: as its files tell] [possible values:
                                native, execute, issue, rwkit, iterative, speckit, openspec, kiro,
                                taskmaster, ralph, gsd, bmad, bmad-v4, bmad-stories, backlog, tracker,
                                todo]

    Git:
          --worktree-dir <DIR>     Where worktrees are made [default: ../.worktrees/PROJECT beside the
                                   project] [env: PITON_WORKTREE_DIR=]
          --no-commits             Work in place, one task at a time: no worktree, branch or commit
          --commit-prefix <TEXT>   Put before `[ID]` in commit subjects
          --author <NAME <EMAIL>>  Author of Piton's commits
          --base-branch <BRANCH>   The branch to start from and land on [default: the current one]
          --onto <BRANCH>          Land on this branch instead; it is made if it does not exist
          --land <HOW>             Land on the local branch, or by pull or merge requests at the
                                   remote's host [default: as the run began, else local] [possible
                                   values: local, pr]
          --pr <WHAT>              What one request is for; this implies `--land pr` [default: as
                                   `[requests]` says, else task] [possible values: task, batch, run]
          --merge <WHO>            Who merges the requests [default: as `[requests]` says, else piton]
                                   [possible values: piton, host, person]
          --merge-method <METHOD>  How requests are merged [default: as `[requests]` says, else merge]
                                   [possible values: merge, squash, rebase]
          --stack                  Let a task begin on the open requests of what it depends on; it is
                                   merged after them [default: as `[requests]` says, else no]
          --remote <NAME>          The remote whose host has the requests [default: as `[requests]`
                                   says, else origin]
          --poll <SECONDS>         The time between two looks at a request, in seconds [default: as
                                   `[requests]` says, else 30]
          --gh                     Send an issue's pull request, or comment and label, with `gh`

    How to work:
          --max-parallel <N>     How many tasks at once [default: the plan's, else 3] [env:
                                 PITON_MAX_PARALLEL=]
          --dry-run              Show what would be done, and do nothing
          --detach               Let the run go on in the background; return when it has begun
          --no-wait              Stop at a usage limit instead of waiting for its end (exit code 3)
          --auto-answer          Let agents decide what they would ask, unless it destroys something
          --schedule <SCHEDULE>  The order in which tasks may start [default: the plan's, else layered]
                                 [possible values: layered, batch, flow]
          --agent <NAME>         The agent for every task
          --sandbox <MODE>       Keep agents from writing outside of their worktree [default:
                                 PITON_SANDBOX, `[sandbox]`, else auto] [possible values: auto, on, off]

    Resume or start over:
          --resume           Resume a run that exists, or fail
          --reset            Start a new run; the old one and its worktrees stay
          --reset-task <ID>  Start this task over first
          --distrust-ticks   Do again what the plan's own ticks call done; they are taken out of its
                             files first
          --replan           Adopt the plan as it is now, task by task

    Output:
          --notify <CHANNELS>  Notify you of the end, and of what waits for you: desktop, command=WORDS,
                               webhook=URL, several of these with commas between them, or off [default:
                               as `[notify]` says] [env: PITON_NOTIFY]
      -v, --verbose            Print everything
      -q, --quiet              Print only what went wrong, and the end
          --json               Print one JSON object per event

    Examples:
      piton run plan.toml              work on the plan; again: resume its run
      piton run                        resume the only unfinished run
      piton run plan.toml --dry-run    what would be done, and what is missing
      piton run specs/001-login --task T004 --agent codex
    ");
}

#[test]
fn every_command_has_a_line_and_help() {
    let all = folder().run("help").exits(0).stdout;
    let commands = all.lines().filter(|line| line.starts_with("  "));
    let mut seen = 0;
    for line in commands {
        seen += 1;
        let (command, about) = line.trim().split_once(' ').expect("each has a line");
        assert!(!about.trim().is_empty(), "{line}");
        let help = folder().run(&format!("{command} --help")).exits(0).says("Usage: piton");
        assert_eq!(folder().run(&format!("help {command}")).exits(0).stdout, help.stdout);
    }
    assert_eq!(seen, 56);
    let _ = folder().run("help journal add").exits(0).says("Usage: piton journal add");
    let _ = folder()
        .run("help stauts")
        .exits(2)
        .says("there is no command `stauts`")
        .says("did you mean status?");
}

#[test]
fn aliases_and_older_spellings_mean_the_same_command() {
    for (alias, command) in [
        ("logs", "log"),
        ("ls", "runs"),
        ("ps", "status"),
        ("validate", "plan"),
        ("resume", "run"),
        ("execute", "run"),
    ] {
        let help = |command: &str| folder().run(&format!("{command} -h")).exits(0).stdout;
        assert_eq!(help(alias), help(command), "{alias}");
    }
    for old in ["gate", "batch", "resume-point", "phase", "context"] {
        let _ = folder().run(&format!("{old} --help")).exits(0).says(&format!("Usage: piton {old}"));
        let _ =
            folder().run(&format!("system {old} -h")).exits(0).says(&format!("Usage: piton system {old}"));
    }
}

#[test]
fn an_unknown_command_is_a_usage_error() {
    shows!(folder().run("stauts").exits(2), @r"
    exit: 2
    --- stderr
    error: there is no command `stauts`

    hint: piton status
    ");
}

#[test]
fn a_word_that_is_near_no_command_gets_no_suggestion() {
    let _ = folder().run("banana").exits(2).says("there is no command `banana`").says("hint: piton help");
}

#[test]
fn no_command_is_a_usage_error() {
    let _ = folder().run("").exits(2).says("Usage: piton COMMAND");
}

#[test]
fn contradictory_flags_are_usage_errors() {
    let sandbox = folder();
    for flags in [
        "--reset --resume",
        "--quiet --verbose",
        "--json --quiet",
        "--layer a --task T1",
        "--layer a --start-layer a",
        "--start-layer a --task T1",
        "--no-commits --onto x",
        "--no-commits --base-branch x",
        "--no-commits --worktree-dir x",
        "--reset --reset-task T1",
        "--reset --replan",
    ] {
        let _ = sandbox.run(&format!("run plan.toml {flags}")).exits(2).says("cannot be used with");
    }
    shows!(sandbox.run("run plan.toml --reset --resume").exits(2), @r"
    exit: 2
    --- stderr
    error: the argument '--reset' cannot be used with '--resume'

    hint: piton run --help
    ");
}

#[test]
fn values_out_of_range_are_usage_errors() {
    let sandbox = folder();
    for value in ["0", "65", "-1", "many"] {
        let _ = sandbox.run(&format!("run plan.toml --max-parallel={value}")).exits(2).says("--max-parallel");
    }
    let _ = sandbox
        .run("run plan.toml --schedule sometimes")
        .exits(2)
        .says("[possible values: layered, batch, flow]");
    let _ = sandbox.run("run plan.toml --task ../../x").exits(2).says("--task");
    let _ = sandbox.run("why -- -rf").exits(2).says("an id starts with a letter or a digit");
}

#[test]
fn defaults_come_from_the_environment_and_flags_win() {
    let sandbox = sandbox();
    sandbox.plan(&piton_testkit::sandbox::task("T1", ""));
    let dry = |args: &str| sandbox.piton(args.split(' ')).env("PITON_MAX_PARALLEL", "7").run().exits(0);
    let _ = dry("run plan.toml --dry-run").says("up to 7 at once");
    let _ = dry("run plan.toml --dry-run --max-parallel 2").says("up to 2 at once");
    let bad = sandbox.piton(["run", "plan.toml", "--dry-run"]).env("PITON_MAX_PARALLEL", "65").run();
    let _ = bad.exits(2);
}

#[test]
fn a_plan_that_is_not_there_is_named_with_the_way_to_make_one() {
    shows!(sandbox().run("run nowhere.toml").exits(1), @r"
    exit: 1
    --- stderr
    error: there is no plan at nowhere.toml

    hint: piton new nowhere
    ");
}

#[test]
fn a_plan_that_is_not_there_is_looked_for_where_it_could_be() {
    let sandbox = sandbox();
    sandbox.plan(&piton_testkit::sandbox::task("T1", ""));
    for command in ["run", "plan", "status --plan"] {
        let _ = sandbox.run(&format!("{command} plan.tml")).exits(1).says("hint: did you mean plan.toml?");
    }
    sandbox.write("docs/notes.md", "# Notes\n\nNothing to tick.\n");
    let inside = sandbox.piton(["run", "plan.toml"]).within(sandbox.project().join("docs")).run().exits(1);
    let _ = inside.says("there is no plan at plan.toml").says("did you mean [ROOT]/project/plan.toml?");
    let _ =
        sandbox.run("run https://example.org/a/b").exits(1).says("hint: git clone 'https://example.org/a/b'");
    let _ = sandbox
        .run("run docs/notes.md")
        .exits(1)
        .says("docs/notes.md has no task: a task is a line with a box")
        .says("hint: piton new NAME --from docs/notes.md");
    let _ = sandbox.run("run plan.toml --task X9").exits(1).says("hint: piton plan PLAN   lists its tasks");
}

#[test]
fn what_is_taken_or_unknown_is_named_with_what_helps() {
    let sandbox = sandbox();
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port on loopback");
    let port = taken.local_addr().expect("it is bound").port();
    for address in [port.to_string(), format!("127.0.0.1:{port}")] {
        let _ = sandbox
            .run(&format!("serve --listen {address}"))
            .exits(1)
            .says(&format!("cannot listen on 127.0.0.1:{port}"))
            .says("hint: piton serve   takes a port that is free");
    }
    let _ = sandbox.run("serve --listen 70000").exits(2).says("an address is a port or an IP address");
    let _ = sandbox.run("rescue show nothing").exits(1).says("hint: piton rescue list");
    let _ = sandbox
        .run("rescue restore nothing")
        .exits(2)
        .says("name a destination: --branch NAME or --into DIR");
}

#[test]
fn commands_about_a_run_say_when_there_is_none() {
    let sandbox = sandbox();
    for line in ["status", "why T1", "log", "output T1", "diff T1", "next", "retry T1", "stop"] {
        let _ =
            sandbox.run(line).exits(1).says("there is no run in [ROOT]/project").says("hint: piton new NAME");
    }
    assert!(!sandbox.own().exists(), "looking made a journal");
}

#[test]
fn schemas_are_json() {
    for name in ["plan", "config"] {
        let schema = folder().run(&format!("schema {name}")).exits(0);
        assert!(crate::json(&schema, "/$schema").is_string());
    }
    let _ = folder().run("schema nothing").exits(2);
}
