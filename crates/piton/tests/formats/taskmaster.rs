//! The file of Task Master, from outside: the worked example is planned and run, while Task Master writes into it, too.

use std::collections::BTreeSet;

use piton_testkit::sandbox::Sandbox;

use crate::{act, landed, project, status};

const FILE: &str = ".taskmaster/tasks/tasks.json";
const LOCK: &str = ".taskmaster/tasks/tasks.json.lock";
const WORK: &str = "\
[1]
write receipts.sh case $1 in help) echo help;; esac
[2]
write receipts.sh case $1 in keep) echo $2,$3,$4 >> kept.csv;; help) echo keep;; esac
[3]
write receipts.sh case $1 in keep) echo $2,$3,$4 >> kept.csv;; find) grep $2 kept.csv;; help) echo keep find;; esac
[4]
write README-receipts.md receipts.sh keep DAY SHOP AMOUNT
";

fn receipts() -> Sandbox {
    project("taskmaster", WORK)
}

/// The statuses of the tasks of the current tag and of their subtasks, in the order of the file.
fn statuses(sandbox: &Sandbox) -> String {
    let file: serde_json::Value = serde_json::from_str(&sandbox.read(FILE)).expect("JSON");
    let mut all = Vec::new();
    for task in file["master"]["tasks"].as_array().expect("tasks") {
        all.push(task["status"].as_str().unwrap_or("none").to_owned());
        for step in task["subtasks"].as_array().into_iter().flatten() {
            all.push(format!("({})", step["status"].as_str().unwrap_or("none")));
        }
    }
    all.join(" ")
}

#[test]
fn the_plan_says_what_waits_for_what_and_what_is_left_out() {
    let sandbox = receipts();
    insta::assert_snapshot!(sandbox.run("plan .taskmaster").exits(0).to_string(), @r#"
    exit: 0
    --- stdout
    taskmaster 4 tasks in 1 group, up to 3 at once

    master
      1        Write the program  .taskmaster/tasks/tasks.json:6  [sh check.sh]
      2        Keep receipts ← 1  .taskmaster/tasks/tasks.json:17  [sh check.sh]
      3        Find receipts ← 2  .taskmaster/tasks/tasks.json:46  [sh check.sh]
      4        Describe it ← 2, 3  .taskmaster/tasks/tasks.json:67  [sh check.sh]

    critical path 4 steps: 1 → 2 → 3 → 4
    --- stderr
    warning: 1 open task of the tag `print` is not read
     --> .taskmaster/tasks/tasks.json:3:14
      |
    3 |     "tasks": [
      |              ^ the tag `master` is the current one
      |
    help: `task-master use-tag NAME` makes another one current
    .taskmaster/tasks/tasks.json is read as a plan of the taskmaster system
    "#);
    let by_file = sandbox.run(&format!("plan {FILE}")).exits(0);
    assert_eq!(by_file.stdout, sandbox.run("plan .taskmaster").exits(0).stdout);
}

#[test]
fn a_run_lands_every_task_and_changes_nothing_but_the_statuses() {
    let sandbox = receipts();
    let before = sandbox.read(FILE);
    let run = sandbox.run("run .taskmaster").exits(0);
    let _ = run.lacks("attempt 2").lacks("changed outside of its worktree");
    assert_eq!(statuses(&sandbox), "done done (done) (done) done (done) done");
    let now = sandbox.read(FILE);
    // The second subtask of 2 had no status.
    let opened = now.replacen("\"status\": \"done\",\n            \"id\": 2", "\"id\": 2", 1);
    let opened = opened.replace("\"done\"", "\"pending\"");
    assert_eq!(opened, before, "nothing else of the file has changed");
    assert!(!sandbox.exists(LOCK));
    assert_eq!(sandbox.git(["status", "--porcelain"]), format!(" M {FILE}"));
    let _ = sandbox.run("run .taskmaster").exits(0).lacks("attempt");
}

#[test]
fn what_task_master_calls_done_is_believed_when_a_run_begins() {
    let sandbox = receipts();
    let text = sandbox.read(FILE).replacen("\"status\": \"pending\"", "\"status\": \"done\"", 1);
    sandbox.write("receipts.sh", "case $1 in help) echo help;; esac\n");
    sandbox.write(FILE, &text);
    sandbox.commit("One is done");
    let _ = sandbox.run("run .taskmaster").exits(0).lacks("1        attempt");
    assert_eq!(status(&sandbox, "1"), "completed");
    assert_eq!(statuses(&sandbox), "done done (done) (done) done (done) done");
}

#[test]
fn the_lock_of_task_master_is_waited_for() {
    let sandbox = receipts();
    sandbox.write(LOCK, "{\"pid\": 1}");
    let mut run = sandbox.piton(["run", ".taskmaster"]).spawn();
    run.until_says("tasks.json.lock exists");
    assert_eq!(statuses(&sandbox), "pending pending (pending) (none) pending (pending) pending");
    std::fs::remove_file(sandbox.project().join(LOCK)).expect("our own file");
    let _ = run.wait().exits(0);
    assert_eq!(statuses(&sandbox), "done done (done) (done) done (done) done");
}

#[test]
fn a_task_that_task_master_adds_meanwhile_survives() {
    let sandbox = receipts();
    sandbox.fifo("gate");
    act(&sandbox, &WORK.replace("[4]\n", "[4]\nmeet SIDE/gate\n"));
    let mut run = sandbox.piton(["run", ".taskmaster"]).spawn();
    run.until_says("3        landed");
    let added = "{\"id\": 5, \"title\": \"Later\", \"status\": \"deferred\", \"dependencies\": []}";
    let text = sandbox.read(FILE).replacen("\"tasks\": [", &format!("\"tasks\": [\n      {added},"), 1);
    sandbox.write(FILE, &text);
    sandbox.meet("gate");
    let _ = run.wait();
    let now = sandbox.read(FILE);
    assert!(now.contains(added), "{now}");
    assert!(statuses(&sandbox).starts_with("deferred done done (done) (done) done (done) done"), "{now}");
}

const WORK_OF_SUBTASKS: &str = "\
[1]
write receipts.sh case $1 in help) echo help;; esac
[2.1]
write receipts.sh case $1 in keep) echo $2,$3,$4 >> kept.csv;; help) echo;; esac
[2.2]
write receipts.sh case $1 in keep) echo $2,$3,$4 >> kept.csv;; help) echo keep;; esac
[3.1]
write receipts.sh case $1 in keep) echo $2,$3,$4 >> kept.csv;; find) grep $2 kept.csv;; help) echo keep find;; esac
[4]
write README-receipts.md receipts.sh keep DAY SHOP AMOUNT
";

fn of_subtasks() -> Sandbox {
    let sandbox = project("taskmaster", WORK_OF_SUBTASKS);
    let settings = sandbox.read("piton.toml");
    sandbox.write("piton.toml", &settings.replace("[policy]", "[policy]\nsubtasks = \"tasks\""));
    sandbox.write("check.sh", "sh receipts.sh help > /dev/null\n");
    sandbox.commit("Subtasks are tasks");
    sandbox
}

#[test]
fn subtasks_are_tasks_where_the_project_says_so() {
    let sandbox = of_subtasks();
    let told = sandbox.run("plan .taskmaster").exits(0);
    let told = told.says("taskmaster 5 tasks in 1 group").says("2.1").says("Add a line ← 1");
    let _ = told.says("Name it in the help ← 2.1").says("Read kept.csv ← 2.1").says("Describe it ← 2.2, 3.1");
    let before = sandbox.read(FILE);
    let _ = sandbox.run("run .taskmaster").exits(0).lacks("attempt 2");
    assert_eq!(statuses(&sandbox), "done done (done) (done) done (done) done");
    let landed: BTreeSet<String> = landed(&sandbox).into_iter().collect();
    assert_eq!(landed.iter().map(String::as_str).collect::<Vec<_>>(), ["1", "2.1", "2.2", "3.1", "4"]);
    let now = sandbox.read(FILE);
    let opened = now.replacen("\"status\": \"done\",\n            \"id\": 2", "\"id\": 2", 1);
    assert_eq!(opened.replace("\"done\"", "\"pending\""), before, "nothing else of the file has changed");
    let _ = sandbox.run("run .taskmaster").exits(0).lacks("attempt");
}

#[test]
fn a_subtask_that_was_done_before_counts_and_its_task_is_done_with_the_last_one() {
    let sandbox = of_subtasks();
    sandbox.write("receipts.sh", "case $1 in help) echo help;; esac\n");
    let text = sandbox.read(FILE).replacen("\"status\": \"pending\"", "\"status\": \"done\"", 3);
    let text = text.replacen("\"status\": \"done\"", "\"status\": \"in-progress\"", 2);
    let text = text.replacen("\"status\": \"in-progress\"", "\"status\": \"done\"", 1);
    sandbox.write(FILE, &text);
    sandbox.commit("Task 1 and subtask 2.1 are done");
    assert_eq!(statuses(&sandbox), "done in-progress (done) (none) pending (pending) pending");
    let _ = sandbox.run("run .taskmaster").exits(0).lacks("2.1      attempt");
    assert_eq!(status(&sandbox, "2.1"), "completed");
    assert_eq!(statuses(&sandbox), "done done (done) (done) done (done) done");
}
