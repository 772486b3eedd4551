//! Folders that others left half-done.

use serde_json::json;

use super::edits::log;
use super::*;

/// As this system's own recipe leaves it when its parser finds nothing.
fn left(tasks: &Value) -> String {
    let state = json!({
        "issue": { "number": 7, "title": "Spending by month", "branch": BRANCH },
        "created_at": "2026-01-20T10:00:00Z",
        "updated_at": "2026-01-20T11:30:00Z",
        "tasks": tasks,
    });
    format!("{state:#}\n")
}

const HEADER: &str = "# Implementation Journal

**Issue**: #7 - Spending by month
**Branch**: issue/7-by-month
**Started**: 2026-01-20T10:00:00Z

---

";

fn tick(sandbox: &Sandbox, ids: &[&str]) {
    let mut list = sandbox.read(format!("{PLAN}/tasks.md"));
    for id in ids {
        list = list.replace(&format!("- [ ] {id} "), &format!("- [x] {id} "));
    }
    sandbox.write(format!("{PLAN}/tasks.md"), &list);
}

/// A person did the first two tasks on the branch and ticked them, without a state file.
fn half_done(tasks: &Value) -> Sandbox {
    let sandbox = months();
    sandbox.git(["switch", "-q", "-c", BRANCH]);
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.write("tests/by-month.sh", TRY_MONTHS);
    sandbox.commit("Sums by month");
    sandbox.git(["switch", "-q", "main"]);
    sandbox.write(format!("{PLAN}/execution-state.json"), &left(tasks));
    sandbox.write(format!("{PLAN}/journal.md"), HEADER);
    sandbox
}

#[track_caller]
fn goes_on_from_the_second(sandbox: &Sandbox) {
    let run = sandbox.run("run 7").exits(0);
    let run = run.lacks("1.1      attempt").lacks("1.2      attempt").says("3.1      landed");
    assert!(run.contains("2        completed"), "{run}");
    assert_eq!(statuses(sandbox)[..TASKS.len()], ALL_DONE);
    let journal = journal(sandbox);
    assert!(journal.starts_with(HEADER), "{journal}");
    let mut told = told(sandbox);
    told.sort();
    assert_eq!(told, TASKS, "{journal}");
    let _ = sandbox.run("doctor").exits(0);
}

/// The only pair of files that was ever seen in the wild.
#[test]
fn a_state_without_tasks_and_a_journal_without_entries() {
    let sandbox = half_done(&json!([]));
    tick(&sandbox, &["1.1", "1.2"]);
    let list = sandbox.read(format!("{PLAN}/tasks.md"));
    // A step that is open says that the task is not done.
    let list = list.replace("    - [ ] ", "    - [x] ");
    sandbox.write(format!("{PLAN}/tasks.md"), &list);
    goes_on_from_the_second(&sandbox);
    assert_eq!(state(&sandbox)["created_at"], "2026-01-20T10:00:00Z");
    assert_eq!(sandbox.read(format!("{PLAN}/execution-state.json.bak")), left(&json!([])));
}

/// As models write it: a number for an id, a dot behind it, exports by kind, and more words than there should be.
#[test]
fn a_state_that_somebody_kept_by_hand() {
    let tasks = json!([
        { "id": "1.1", "description": "Add it", "status": "done", "exports": { "functions": ["month_of()"] },
          "completed_at": "2026-01-20T10:25:00Z", "files_created": [], "notes": "It adds", "reviewed": true },
        { "id": "1.2.", "status": "COMPLETED", "files_created": ["tests/by-month.sh"], "patterns": "One file each" },
        { "id": "3.1", "status": "blocked", "notes": "waits for a decision" },
        { "id": "3.3", "status": "todo" },
        { "id": "9", "status": "completed", "description": "It was in the plan once" },
    ]);
    // The file that 1.2 made, according to its entry, is on the branch and not in this checkout.
    let sandbox = half_done(&tasks);
    goes_on_from_the_second(&sandbox);
    let first = entry(&sandbox, "1.1");
    assert_eq!((&first["exports"], &first["notes"]), (&json!(["month_of()"]), &json!("It adds")));
    assert_eq!((&first["reviewed"], &first["completed_at"]), (&json!(true), &json!("2026-01-20T10:25:00Z")));
    assert_eq!(entry(&sandbox, "1.2")["patterns"], json!(["One file each"]));
    assert_eq!(
        entry(&sandbox, "9")["description"],
        "It was in the plan once",
        "nothing of theirs is thrown away"
    );
}

#[test]
fn a_task_whose_file_is_not_there_is_to_be_done() {
    let sandbox = months();
    let tasks = json!([
        { "id": "1.1", "status": "completed", "files_modified": ["spend.sh"] },
        { "id": "1.2", "status": "completed", "files_created": ["tests/never.sh"] },
    ]);
    sandbox.write(format!("{PLAN}/execution-state.json"), &left(&tasks));
    act(&sandbox, &format!("[1.2]\n{}run cp SIDE/done/1.1/spend.sh .\n", does_well("1.2")));
    let run = sandbox.run("run 7").exits(0);
    let _ = run.says("tests/never.sh does not exist").says("1.2      landed").lacks("1.1      attempt");
    is_whole(&sandbox);
    // What the next task begins with is the branch, whatever lies about in this checkout; and what is not a path of the
    // project cannot be looked for.
    let sandbox = half_done(&json!([
        { "id": "1.1", "status": "completed", "files_created": ["/etc/passwd", "../x", "-x", "C:\\x"] },
        { "id": "1.2", "status": "completed", "files_created": ["tests/here.sh"] },
    ]));
    sandbox.write("tests/here.sh", "true\n");
    let next =
        sandbox.run("next --plan 7").exits(0).says("1.2 is marked done, but tests/here.sh does not exist");
    let _ = next.says("1 task already done").says("NEXT_TASK: {\"id\":\"1.2\"");
    assert!(log(&sandbox).contains("taken over from execution-state.json: completed"));
    assert!(log(&sandbox).contains("0        taken over from tasks.md: completed"), "{}", log(&sandbox));
}

#[test]
fn a_state_that_is_no_json_is_kept_and_the_list_counts() {
    let sandbox = half_done(&json!([]));
    let broken = left(&json!([])).replace("[]", "[\n    // Populated from tasks.md parsing\n  ]");
    sandbox.write(format!("{PLAN}/execution-state.json"), &broken);
    tick(&sandbox, &["1.1"]);
    sandbox.git(["branch", "-f", BRANCH, "main"]);
    sandbox.git(["switch", "-q", BRANCH]);
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.git(["commit", "-q", "-m", "By month", "spend.sh"]);
    sandbox.git(["switch", "-q", "main"]);
    let run = sandbox.run("run 7").exits(0).lacks("1.1      attempt");
    let _ = run.says("kept as").says("only the list is used");
    assert_eq!(sandbox.read(format!("{PLAN}/execution-state.json.bad")), broken);
    assert_eq!(statuses(&sandbox), ALL_DONE);
    assert!(journal(&sandbox).starts_with(HEADER));
}

/// The list of the other half of this system, where a task says its status.
#[test]
fn a_list_whose_tasks_say_their_status() {
    let sandbox = months();
    let list = "# Tasks: Issue #7 - Spending by month

## Task List

- [x] 1. Write the first file
  - Status: completed
  - Started: 2026-01-20T10:00:00Z
  - Completed: 2026-01-20T10:25:00Z
  - Notes: as agreed
- [x] 2. Write the second file
  - Status: blocked
  - Notes: waits for a decision
- [ ] 3. Write the third file
  - Status: in_progress
  - Started: 2026-01-20T10:30:00Z
- [ ] 4. Write the fourth file
  - Status: completed
";
    sandbox.write(format!("{PLAN}/tasks.md"), list);
    sandbox.commit("Another list");
    sandbox.script("[2]\nwrite 2.txt x\n[3]\nwrite 3.txt x\n[4]\nwrite 4.txt x\n");
    let run = sandbox.run("run 7").exits(0);
    let _ =
        run.lacks("1        attempt").says("2        landed").says("3        landed").says("4        landed");
    let after = sandbox.read(format!("{PLAN}/tasks.md"));
    let done = list.replace("[ ]", "[x]").replace("Status: blocked", "Status: completed");
    assert_eq!(after, done.replace("Status: in_progress", "Status: completed"), "and not a byte elsewhere");
    assert_eq!(statuses(&sandbox), ["done"; 4]);
}

/// Lists whose tasks are headings, with a box where they say their status or with none.
#[test]
fn headings_that_name_tasks_are_worked_on_and_ticked() {
    let sandbox = months();
    let list = "# Payments

## Cards

### PAY-001: Write the first file

- **Status**: [ ] Not Started
- [ ] with a word in it

### PAY-002: Write the second file

- [ ] with a word in it
";
    sandbox.write(format!("{PLAN}/tasks.md"), list);
    sandbox.commit("Another list");
    sandbox.script("[PAY-001]\nwrite 1.txt x\n[PAY-002]\nwrite 2.txt x\n");
    let _ = sandbox.run("run 7 --strict").exits(1).says("this heading is read as a task");
    let _ = sandbox.run("run 7").exits(0).says("PAY-002  landed");
    let done = list.replace("[ ] Not Started", "[x] Completed").replace("[ ]", "[x]");
    assert_eq!(sandbox.read(format!("{PLAN}/tasks.md")), done);
}

/// As the document would have it, and more: an older version of the file is better than none, and Piton says which one it
/// uses.
#[test]
fn a_state_that_cannot_be_used_is_replaced_by_its_backup_or_by_what_is_committed() {
    let done =
        |id: &str| left(&json!([{ "id": id, "status": "completed", "notes": format!("{id} it was") }]));
    let file = format!("{PLAN}/execution-state.json");
    for broken in ["", "{\"tasks\": [{\"id\": \"1.1\", \"sta", "{}{}", "{'tasks': []}"] {
        let sandbox = months();
        sandbox.write(&file, &done("1.1"));
        sandbox.commit("State");
        sandbox.write(&file, broken);
        let _ = sandbox.run("next --plan 7").exits(0).says("and what is committed counts");
        assert_eq!(sandbox.read(format!("{file}.bad")), broken);
        assert_eq!(entry(&sandbox, "1.1")["notes"], "1.1 it was");
    }
    let sandbox = months();
    sandbox.write(&file, &done("1.1"));
    sandbox.commit("State");
    sandbox.write(format!("{file}.bak"), &done("1.2"));
    sandbox.write(&file, "{");
    let _ = sandbox.run("next --plan 7").exits(0).says("execution-state.json.bak counts");
    assert_eq!((&statuses(&sandbox)[1], &statuses(&sandbox)[2]), (&"pending".to_owned(), &"done".to_owned()));
    assert_eq!(sandbox.read(format!("{file}.bak")), done("1.2"), "the broken one did not take its place");
}

/// What could not be written is not believed either.
#[test]
fn a_state_file_that_lies_outside_the_project_is_left_alone() {
    let sandbox = months();
    let outside = sandbox.root().join("state.json");
    sandbox.write(&outside, &left(&json!([{ "id": "1.1", "status": "completed" }])));
    let before = sandbox.read(&outside);
    let file = sandbox.project().join(PLAN).join("execution-state.json");
    std::os::unix::fs::symlink(&outside, &file).expect("a new link");
    for command in ["run 7", "next --plan 7", "import 7"] {
        let _ = sandbox.run(command).exits(1).says("leads out of the project").lacks("done before");
    }
    assert_eq!(sandbox.read(&outside), before);
    let _ = sandbox.run("status").exits(1).says("no run");
    // Inside, a link is as good as the file.
    let inside = sandbox.project().join("state.json");
    fs::rename(&outside, &inside).expect("our own file");
    fs::remove_file(&file).expect("our own link");
    std::os::unix::fs::symlink(&inside, &file).expect("a new link");
    let _ = sandbox.run("next --plan 7").exits(0).says("1 task already done");
    assert!(fs::symlink_metadata(&file).expect("it is there").is_symlink());
    assert_eq!(entry(&sandbox, "1.1")["status"], "completed");
}

/// A box that was ticked out of turn is done, and nothing behind it overtakes what is open before it.
#[test]
fn a_ticked_box_in_the_middle_lets_no_later_one_overtake() {
    let sandbox = months();
    let plan = ".claude/plans/issue-9-order";
    let boxes = [("1", "x"), ("2", " "), ("3", "x"), ("4", " ")];
    let list: String = boxes.iter().map(|(id, tick)| format!("- [{tick}] {id}. Write part {id}\n")).collect();
    sandbox.write(format!("{plan}/tasks.md"), &format!("# Tasks\n\n{list}"));
    sandbox.commit("List");
    let next = sandbox.run(&format!("next --plan {plan} --json")).exits(0);
    let next: Value = serde_json::from_str(&next.stdout).expect("JSON");
    let named: Vec<&str> =
        next.as_array().expect("a list").iter().filter_map(|task| task["id"].as_str()).collect();
    assert_eq!(named, ["2"], "{next:#}");
    let refused = sandbox.run(&format!("start 4 --plan {plan}")).exits(1);
    let _ = refused.says("4 has to wait: a task before it is not done").says("piton start 4 --ahead");
    let _ = sandbox.run(&format!("why 4 --plan {plan}")).exits(0).says("a task before it is not done");
}
