//! Files of Task Master as people and agents leave them, and what is made of each.

mod odd;
mod properties;
mod subtasks;
mod writing;

use crate::system::kit::draft::testing::{self, shown};
use crate::system::taskmaster::TASKMASTER;
use crate::system::{Disk, FileClaim, ReadPlan, System};

pub(super) const PLACE: &str = ".taskmaster/tasks/tasks.json";

/// The way Task Master writes it, with what people add to it.
pub(super) const SHOP: &str = r#"{
  "master": {
    "tasks": [
      {
        "id": 1,
        "title": "Set up the project",
        "description": "A package with a test runner.",
        "details": "Use npm.\nNo framework.",
        "testStrategy": "`npm test` runs.",
        "status": "done",
        "priority": "high",
        "dependencies": [],
        "subtasks": []
      },
      {
        "id": 2,
        "title": "Keep receipts",
        "description": "A receipt has a day, a shop and an amount.",
        "status": "pending",
        "priority": "critical",
        "dependencies": [1],
        "relevantFiles": [{"path": "src/receipts.js", "action": "create"}, "docs/receipts.md"],
        "acceptanceCriteria": ["No receipt is lost", "An amount is a number"],
        "scopeBoundaries": {"included": "storage"},
        "estimatedHours": 3,
        "subtasks": [
          {"id": 1, "title": "Read a line", "status": "done", "dependencies": []},
          {"id": 2, "title": "Write a line", "description": "At the end of the file.", "details": "", "testStrategy": "Read it back.", "dependencies": [1]},
          {"id": 3, "title": "Sort them", "status": "cancelled", "dependencies": []}
        ]
      },
      {
        "id": "3",
        "title": "Find receipts",
        "description": "By shop.",
        "status": "pending",
        "priority": "medium",
        "dependencies": ["1"],
        "subtasks": [
          {"id": "3.1", "title": "Use the reader", "status": "pending", "dependencies": ["2.1"]}
        ]
      },
      {
        "id": 4,
        "title": "Design a logo",
        "status": "in-progress",
        "priority": "low",
        "dependencies": [],
        "subtasks": []
      },
      {"id": 5, "title": "Old idea", "status": "cancelled", "priority": "low", "dependencies": [], "subtasks": []}
    ],
    "metadata": {"created": "2026-01-10T12:00:00.000Z", "updated": "2026-01-11T12:00:00.000Z", "description": "Tasks"}
  },
  "print": {
    "tasks": [
      {"id": 1, "title": "Print a receipt", "status": "pending", "dependencies": [], "subtasks": []},
      {"id": 2, "title": "Print all", "status": "pending", "dependencies": [1], "subtasks": []}
    ]
  }
}"#;

pub(super) fn read(text: &str) -> Box<dyn ReadPlan> {
    testing::read(&TASKMASTER, &[(PLACE, text)])
}

/// A file with one tag and these tasks.
pub(super) fn with_tasks(tasks: &str) -> String {
    format!("{{\"master\":{{\"tasks\":[{tasks}]}}}}")
}

fn seen(text: &str) -> String {
    shown(read(text).reading())
}

#[test]
fn tasks_wait_for_what_they_and_their_subtasks_name() {
    insta::assert_snapshot!(seen(SHOP), @r#"
    group 1-master: master
    1 "Set up the project" done priority 30 so that "`npm test` runs."
    2 "Keep receipts" after 1 in src/receipts.js, docs/receipts.md priority 10 so that "No receipt is lost", "An amount is a number"
    3 "Find receipts" after 1, 2
    4 "Design a logo" by a person priority 70
    .taskmaster/tasks/tasks.json:3:14: warning: 2 open tasks of the tag `print` are not read (the tag `master` is the current one)
    .taskmaster/tasks/tasks.json:45:18: warning: Piton does not take 4: it is in progress (left to a person)
    "#);
}

#[test]
fn an_agent_gets_the_words_of_its_task_and_of_the_steps_that_are_to_be_done() {
    let reading = read(SHOP);
    let task = &reading.reading().plan.tasks[1];
    insta::assert_snapshot!(task.prompt.replace(|c: char| c.is_ascii_digit(), "N"), @r"
    Keep receipts

    A receipt has a day, a shop and an amount.

    Its steps, some of which may be done already:

    - N.N Read a line
    - N.N Write a line
      At the end of the file.
      Test: Read it back.

    This is task N of .taskmaster/tasks/tasks.json. Do only this task, and do not change that file: Piton does when the task is completed.
    ");
}

#[test]
fn the_tag_that_is_current_is_read_and_its_ids_name_it() {
    let state = r#"{"currentTag": "print", "branchTagMapping": {}}"#;
    let reading = testing::read(&TASKMASTER, &[(PLACE, SHOP), (".taskmaster/state.json", state)]);
    insta::assert_snapshot!(shown(reading.reading()), @r#"
    group 1-print: print
    1@print "Print a receipt"
    2@print "Print all" after 1@print
    .taskmaster/tasks/tasks.json:56:14: warning: 2 open tasks of the tag `master` are not read (the tag `print` is the current one)
    "#);
    assert_eq!(reading.reading().plan.name, "print");
    let state = r#"{"currentTag": "gone"}"#;
    let reading = testing::read(&TASKMASTER, &[(PLACE, SHOP), (".taskmaster/state.json", state)]);
    let told = testing::problems(reading.reading());
    assert!(told.contains("there is no tag `gone`, which `.taskmaster/state.json` calls current"), "{told}");
    assert_eq!(reading.reading().plan.tasks.len(), 4);
}

#[test]
fn a_file_of_before_there_were_tags_is_one_list() {
    let text = r#"{"tasks": [{"id": 1, "title": "One", "status": "pending", "dependencies": []}], "metadata": {"projectName": "Shop"}}"#;
    let reading = read(text);
    assert_eq!(reading.reading().plan.name, "Shop");
    insta::assert_snapshot!(shown(reading.reading()), @r#"
    group 1-master: master
    1 "One"
    "#);
}

/// A project as far as the claims look.
struct Files(&'static [(&'static str, &'static str)]);

impl Disk for Files {
    fn is_file(&self, path: &str) -> bool {
        self.read(path).is_some()
    }

    fn names(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec())
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(format!("/project/{path}"))
    }
}

#[test]
fn a_file_is_known_by_its_place_or_by_its_shape() {
    let one = r#"{"tasks":[{"id":1,"status":"pending"}]}"#;
    let disk = Files(Box::leak(Box::new([
        (".taskmaster/tasks/tasks.json", "{"),
        ("tasks/tasks.json", one),
        ("print/tasks.json", r#"{"print":{"tasks":[],"metadata":{}}}"#),
        (".vscode/tasks.json", r#"{"version":"2.0.0","tasks":[{"label":"build","type":"shell"}]}"#),
        ("other/tasks.json", r#"{"tasks":[],"version":"1"}"#),
        ("list/tasks.json", r#"[{"id":1,"status":"pending"}]"#),
    ])));
    let claims = |path: &str| TASKMASTER.claims_file("tasks.json", path, &disk) == FileClaim::Yes;
    assert!(claims(".taskmaster/tasks/tasks.json"));
    assert!(claims("tasks/tasks.json"));
    assert!(claims("print/tasks.json"));
    assert!(!claims(".vscode/tasks.json"));
    assert!(!claims("other/tasks.json"));
    assert!(!claims("list/tasks.json"));
    assert_eq!(
        TASKMASTER.claims_folder("tasks", &disk).map(|claim| claim.file).as_deref(),
        Some("tasks.json")
    );
    assert_eq!(TASKMASTER.claims_folder("print", &disk), None);
    assert_eq!(TASKMASTER.claims_folder(".taskmaster", &disk), None, "it is not JSON");
}

#[test]
fn the_state_of_task_master_is_read_along() {
    assert_eq!(
        TASKMASTER.read_along("/p/.taskmaster/tasks/tasks.json", &Files(&[])),
        ["/p/.taskmaster/state.json"]
    );
    assert_eq!(TASKMASTER.read_along("/p/tasks/tasks.json", &Files(&[])), [""; 0]);
}
