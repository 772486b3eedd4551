//! What can be typed, and what cannot.

use crate::{folder, sandbox};

#[test]
fn help_tells_the_commands_and_the_exit_codes() {
    shows!(folder().run("--help").exits(0), @r"
    exit: 0
    --- stdout
    Run a plan of many tasks with coding agents and never lose ground.

    Each task is worked on in a git worktree of its own, proven by checks that Piton runs itself,
    retried with feedback, and landed through a merge queue. Kill anything at any moment and start
    again: the run goes on.

    Usage: piton <COMMAND>

    Commands:
      demo          Show the whole thing in a scratch repository
      new           Write a commented starter plan
      plan          Read and check a plan: problems, layers, batches, critical path
      run           Start the run of a plan, or go on with it [alias: execute]
      status        Show where a run stands
      runs          List the runs of this project
      close         Close a run that nobody wants any more; nothing of it is removed
      why           Tell why a task is where it is, and what would help
      log           Show what happened
      output        Show what a task's agent or checks printed
      diff          Show what a task has changed
      add           Add a task to a plan, and to its run
      next          Name the tasks to work on next
      start         Take a task, to work on it yourself
      report        Report on a task: its checks decide whether it is done
      confirm       Confirm what somebody else called done: nothing was left to do
      stop          Ask the engine to stop: nothing new begins, what runs is finished
      retry         Try a failed, abandoned or blocked task again
      reset         Count a task's attempts anew; its worktree and what is in it stay
      skip          Go on without a task
      answer        Answer what a task asked: the next try is told, and a task that has stopped goes on
      unblock       Release a task that needed a person
      raise         Allow a task more attempts
      unpark        Let agents of a provider start again, if it answers a test question
      cost          Show what agents have used: tokens, money and time
      import        Take over a run that another system left half-done, judging each task by git
      export        Write a run in another system's form, and tell what does not fit
      doctor        Compare journal, git and disk, and explain what disagrees
      clean         Remove what finished runs left behind
      archive       Put plans away that are finished
      rescue        Content that was put aside before a worktree went
      agents        List the clients that can do the work, or try one out
      schema        Print a JSON Schema
      verify        Run a task's checks now; nothing in the run changes
      orient        Tell what somebody who begins to work has to know of the run, and of a task
      progress      Sum up how far the run is
      journal       Write into the run's journal
      guardrail     Rules that everybody who works on the run has to heed
      queue         List what has landed, what is landing and what waits for it, in order
      complete      See whether the run as a whole is complete, and what is missing
      context       Show how the project's own description was updated with the run's results
      gate          List the gates of a todolist's run, or say what one came to
      batch         List the batches of a todolist's run
      resume-point  Tell where a todolist's run goes on
      phase         Tell the phase that iterative work is in, or say it where only a person can know
      ops           List the operations of the ledger, each with the recipe it replaces
      mcp           Serve the operations of the ledger as MCP tools, over standard input and output
      prompt        Print exactly what an agent would be told that began to work on a task now
      init          Let an interactive client keep the ledger with Piton: skill, hook and MCP entry
      help          Print this message or the help of the given subcommand(s)

    Options:
      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Exit codes: 0 complete · 1 error · 2 usage · 3 stopped, can go on · 4 ended with unfinished work
    Try `piton demo` first.
    ");
}

#[test]
fn help_of_run_tells_its_flags() {
    shows!(folder().run("run -h").exits(0), @r"
    exit: 0
    --- stdout
    Start the run of a plan, or go on with it

    Usage: piton run [OPTIONS] [PLAN]

    Arguments:
      [PLAN]  The plan's file, its folder, or the number or slug that it goes by [default: that of the
              only unfinished run]

    Options:
          --dialect <SYSTEM>       The system the plan is of [default: as its files tell] [possible
                                   values: native, execute, issue, rwkit, iterative]
          --strict                 Refuse what would be repaired or let pass with a warning
          --project-path <DIR>     The project [default: the repository around the plan]
          --worktree-dir <DIR>     Where worktrees are made [default: ../.worktrees/PROJECT beside the
                                   project] [env: PITON_WORKTREE_DIR=]
          --max-parallel <N>       How many tasks at once [default: the plan's, else 3] [env:
                                   PITON_MAX_PARALLEL=]
          --layer <NAME>           Work on this layer only
          --start-layer <NAME>     Work on this layer and those after it
          --task <ID>              Work on this task only; what it depends on must be done
          --resume                 Go on with a run that exists, or fail
          --reset                  Begin a new run; the old one stays in the journal, its worktrees
                                   where they are
          --reset-task <ID>        Start this task over first
          --replan                 Adopt the plan as it is now, task by task
          --dry-run                Show what would be done, and do nothing
          --no-wait                Do not wait for the end of a usage limit: stop there (exit status 3),
                                   to go on later
          --no-commits             Work in place, one task at a time: no worktree, branch or commit
          --commit-prefix <TEXT>   Put before `[ID]` in commit subjects
          --author <NAME <EMAIL>>  Author of Piton's commits
          --base-branch <BRANCH>   The branch to start from and land on [default: the current one]
          --onto <BRANCH>          Land on this branch instead; it is made if it does not exist
          --auto-answer            Let agents decide what they would ask, unless it destroys something
          --gh                     Send the pull request, or the comment and the label, of an issue with
                                   `gh`
          --schedule <SCHEDULE>    The order in which tasks may start [default: the plan's, else
                                   layered] [possible values: layered, batch, flow]
          --agent <NAME>           The agent for every task
          --sandbox <MODE>         Keep agents from writing outside of their worktree [default:
                                   PITON_SANDBOX, `[sandbox]`, else auto] [possible values: auto, on,
                                   off]
          --run <RUN>              The run to go on with
      -v, --verbose                Say everything
      -q, --quiet                  Say only what went wrong, and the end
          --json                   One JSON object per event
      -h, --help                   Print help (see more with '--help')
    ");
}

#[test]
fn every_command_has_help() {
    let all = folder().run("--help").exits(0).stdout;
    let commands =
        all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let mut seen = 0;
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        seen += 1;
        if command != "help" {
            let _ = folder().run(&format!("{command} --help")).exits(0).says("Usage: piton");
        }
    }
    assert_eq!(seen, 50);
}

#[test]
fn an_unknown_command_is_a_usage_error() {
    shows!(folder().run("stauts").exits(2), @r"
    exit: 2
    --- stderr
    error: unrecognized subcommand 'stauts'

      tip: some similar subcommands exist: 'start', 'status'

    Usage: piton <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn no_command_is_a_usage_error() {
    let _ = folder().run("").exits(2).says("Usage: piton <COMMAND>");
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

    Usage: piton run --reset <PLAN>

    For more information, try '--help'.
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
