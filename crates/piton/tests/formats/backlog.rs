//! Tasks of Backlog.md, from outside: the worked example is planned and run, and its files are looked at byte by byte.

use piton_testkit::sandbox::Sandbox;

use crate::{landed, project, status};

const FIRST: &str = "backlog/tasks/task-1 - Add-two-numbers.md";
const SECOND: &str = "backlog/tasks/task-2 - Describe-it.md";
const THEIRS: &str = "backlog/tasks/task-4 - Read-numbers-from-a-file.md";
const WORK: &str = "\
[task-1]
write add.sh expr \"$1\" + \"$2\"
[task-2]
write docs/add.md sh add.sh 1 2
";

fn tasks() -> Sandbox {
    project("backlog", WORK)
}

#[test]
fn the_plan_shows_the_tasks_with_what_judges_them() {
    let sandbox = tasks();
    let plan = sandbox.run("plan backlog").exits(0);
    insta::assert_snapshot!(plan.to_string(), @r"
    exit: 0
    --- stdout
    Adding 4 tasks in 1 group, 1 claimed done, up to 3 at once

    Adding
      task-1   Add two numbers  backlog/tasks/task-1 - Add-two-numbers.md:3  [sh -n add.sh]
      task-2   Describe it ← task-1, task-3  backlog/tasks/task-2 - Describe-it.md:3  [sh -n add.sh]
      task-3   Set up the project  backlog/completed/task-3 - Set-up-the-project.md:3  [claimed done, and not run again]
      task-4   Read numbers from a file  backlog/tasks/task-4 - Read-numbers-from-a-file.md:3  [left to others: its status says that somebody has it]

    critical path 2 steps: task-1 → task-2
    --- stderr
    backlog/config.yml is read as a plan of the backlog system
    ");
    assert_eq!(sandbox.run("plan backlog/config.yml").exits(0).stdout, plan.stdout);
}

#[test]
fn a_run_sets_the_status_and_ticks_the_criteria_and_runs_no_command_of_a_task() {
    let sandbox = tasks();
    let first = sandbox.read(FIRST).replace('\n', "\r\n");
    let (second, theirs) = (sandbox.read(SECOND), sandbox.read(THEIRS));
    sandbox.write(FIRST, &first);
    sandbox.commit("As an editor writes it");
    let run = sandbox.run("run backlog");
    assert!(!run.contains("attempt 2"), "{run}");
    assert_eq!(landed(&sandbox), ["task-1", "task-2"]);
    let now = sandbox.read(FIRST);
    let day =
        now.lines().find_map(|line| line.strip_prefix("updated_date: ")).expect("a day").trim().to_owned();
    assert_ne!(day, "'2026-01-05 09:00'");
    let (fields, body) = first.split_once("## Definition").expect("a section");
    let wanted = fields
        .replace("status: To Do", "status: Done")
        .replace("updated_date: '2026-01-05 09:00'", &format!("updated_date: {day}"))
        .replace("- [ ]", "- [x]");
    assert_eq!(now, format!("{wanted}## Definition{body}"));
    assert_eq!(
        sandbox.read(SECOND),
        second.replace("status: To Do", "status: Done").replace("- [ ]", "- [x]")
    );
    assert_eq!(sandbox.read(THEIRS), theirs);
    assert!(!sandbox.exists("status-changed"));
}

#[test]
fn a_status_that_is_set_during_a_run_is_a_claim() {
    let sandbox = tasks();
    let _ = sandbox.run("next --plan backlog").exits(0);
    let before = sandbox.read(FIRST);
    sandbox.write(FIRST, &before.replace("status: To Do", "status: Done"));
    let _ = sandbox.run("journal add looked").exits(0);
    assert_ne!(status(&sandbox, "task-1"), "completed");
    assert!(sandbox.read(FIRST).contains("status: To Do\n"));
    let _ = sandbox.run("log").exits(0).says("task-1 - Add-two-numbers.md");
}

#[test]
fn what_is_done_is_not_done_again_unless_its_status_is_distrusted() {
    let sandbox = tasks();
    sandbox.write("add.sh", "expr \"$1\" + \"$2\" # by hand\n");
    sandbox.write(FIRST, &sandbox.read(FIRST).replace("status: To Do", "status: Done"));
    sandbox.git(["rm", "-q", "backlog/completed/task-3 - Set-up-the-project.md"]);
    sandbox.write(SECOND, &sandbox.read(SECOND).replace("  - task-3\n", ""));
    sandbox.commit("The first task is done");
    let _ = sandbox.run("plan backlog").exits(0).says("1 claimed done");
    let _ = sandbox.run("run backlog --distrust-ticks").says("removed from");
    assert_eq!(landed(&sandbox), ["task-1", "task-2"]);
    assert!(sandbox.read(FIRST).contains("status: Done"));
}

#[test]
fn a_configuration_at_the_root_of_the_project_is_a_plan_too() {
    let sandbox = tasks();
    let config = sandbox.read("backlog/config.yml");
    sandbox.git(["rm", "-q", "backlog/config.yml"]);
    sandbox.git(["mv", "backlog", "work"]);
    sandbox.write("backlog.config.yml", &format!("{config}backlog_directory: work\n"));
    sandbox.commit("Another folder");
    let plan = sandbox
        .run("plan backlog.config.yml")
        .exits(0)
        .says("backlog.config.yml is read as a plan of the backlog system");
    assert_eq!(sandbox.run("plan work").exits(0).stdout, plan.stdout);
    let _ = sandbox.run("init --dry-run").exits(0).says("piton plan backlog.config.yml");
    let _ = sandbox.run("run work").lacks("attempt 2");
    assert_eq!(landed(&sandbox), ["task-1", "task-2"]);
    for file in [FIRST, SECOND] {
        let now = sandbox.read(file.replacen("backlog", "work", 1));
        let criteria = now.split("## Definition").next().expect("a part");
        assert!(now.contains("status: Done") && !criteria.contains("- [ ] #"), "{now}");
    }
}
