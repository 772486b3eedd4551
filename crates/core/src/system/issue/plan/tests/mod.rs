//! Folders as people and models write them, and what is made of each.

mod boxes;
mod content;
mod odd;
mod properties;
mod words;

use std::fmt::Write as _;

use super::{Given, IssueReading, Role, Word, lint, read};
use crate::diagnostic::{Severity, place};
use crate::plan::{Exhausted, Schedule, TaskId};
use crate::system::config::{Config, read_config};
use crate::system::{Folder, Problem, Strictness};
use crate::toolchain::{self, Detected};

const REQUIREMENTS: &str = "# Requirements: Issue #7 - Export invoices

### Requirement 1: Export

**User Story:** As a clerk, I want a file.

#### Acceptance Criteria

1. WHEN asked, THE system SHALL write a CSV file
2. IF the disk is full,
   THEN THE system SHALL keep the old file
3. THE file SHALL have a header

### Requirement 2: Find it

1. THE README SHALL name it

### Requirement 3: Be quick
";

const DESIGN: &str = "# Design: Issue #7 - Export invoices

## Testing strategy

Unit tests.
";

/// The way planners write one.
const TASKS: &str = "# Tasks: Issue #7 - Export invoices

## Overview

Six tasks.

## Tasks

### Phase 1: Storage

- [x] 0. Create Feature Branch
  - `git checkout -b issue/7-export`
- [ ] 1. Storage
  - one writer
  - [x] 1.1 Add `src/store.rs`
    - write through a temp file
      - and sync it
    - _Requirements: 1.1, 1.2_
  - [ ]* 1.2 Write tests
    - [x] happy
    - [ ] sad
    - **Validates: Requirements 1.1-1.3**

---

### Phase 2: Command

- [ ] 2. Add the command
  - Files: `src/main.rs`, ./src\\cmd.rs
  - _Requirement: 2_
  - _Design: Testing strategy_
  - _Prerequisites: 1.1_

- [ ] 3. Checkpoint - Export works
  - `cargo test` passes
  - Run `./export.sh --dry` and look
  - `src/store.rs` exists

## Notes

Nothing.
";

fn folder(files: &[(&str, &str)]) -> Folder {
    Folder {
        files: files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect(),
    }
}

fn invoices() -> Folder {
    folder(&[("requirements.md", REQUIREMENTS), ("design.md", DESIGN), ("tasks.md", TASKS)])
}

/// One list by itself, with requirements that have nothing.
fn alone(text: &str) -> Folder {
    folder(&[("requirements.md", ""), ("tasks.md", text)])
}

fn detected() -> Vec<Detected> {
    toolchain::detect(&folder(&[("Makefile", "test:\n\ttrue\n")]))
}

fn reading_with(folder: &Folder, name: &str, config: &Config, strictness: Strictness) -> IssueReading {
    let detected = detected();
    let place = format!(".claude/plans/{name}");
    read(folder, &Given { detected: &detected, strictness, ..Given::new(name, &place, config) })
}

fn reading(folder: &Folder) -> IssueReading {
    reading_with(folder, "issue-7-export", &Config::default(), Strictness::Lenient)
}

/// The problems as people read them: `file:line:column: severity: message (label)`.
fn told(read: &IssueReading) -> String {
    told_of(read, &read.reading.problems)
}

fn told_of(read: &IssueReading, problems: &[Problem]) -> String {
    let mut text = String::new();
    for problem in problems {
        let diagnostic = &problem.diagnostic;
        let source = read.reading.texts.get(&problem.file).expect("a file that was read");
        assert!(source.get(diagnostic.span.clone()).is_some(), "{problem:?}");
        let (line, column) = place(source, diagnostic.span.start);
        let severity = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
        let (file, message, label) = (&problem.file, &diagnostic.message, &diagnostic.label);
        writeln!(text, "{file}:{line}:{column}: {severity}: {message} ({label})")
            .expect("a string takes everything");
    }
    text
}

/// The tasks that run, as `id title`.
fn tasks(read: &IssueReading) -> Vec<String> {
    read.reading.plan.tasks.iter().map(|task| format!("{} {}", task.id, task.title)).collect()
}

/// Every box as `role id < parent`, with `x` where it is done.
fn tree(read: &IssueReading) -> Vec<String> {
    let done = read.outline.done();
    let nodes = read.outline.nodes.iter().enumerate();
    let line = nodes.map(|(nth, node)| {
        let role = match node.role {
            Role::Parent => "parent",
            Role::Task => "task",
            Role::Step => "step",
        };
        let above =
            node.parent.map(|above| format!(" < {}", read.outline.nodes[above].id)).unwrap_or_default();
        let x = if done[nth] { " x" } else { "" };
        let dropped = if node.dropped { " dropped" } else { "" };
        format!("{role} {}{above}{x}{dropped}", node.id)
    });
    line.collect()
}

#[test]
fn a_folder_becomes_a_plan_without_a_word() {
    let read = reading_with(&invoices(), "issue-7-export", &Config::default(), Strictness::Strict);
    assert_eq!(told(&read), "");
    let plan = &read.reading.plan;
    assert_eq!(plan.name, "issue-7-export");
    assert_eq!((read.issue.number, read.issue.branch().as_str()), (Some(7), "issue/7-export"));
    assert_eq!(read.issue.title, "Export invoices");
    let groups: Vec<(&str, &str)> =
        plan.groups.iter().map(|group| (group.id.as_str(), group.title.as_str())).collect();
    assert_eq!(groups, [("phase-1", "Phase 1: Storage"), ("phase-2", "Phase 2: Command")]);
    assert_eq!(
        tasks(&read),
        [
            "0 Create Feature Branch",
            "1.1 Add `src/store.rs`",
            "1.2 Write tests",
            "2 Add the command",
            "3 Checkpoint - Export works"
        ]
    );
    assert_eq!(
        tree(&read),
        [
            "task 0 x",
            "parent 1 x",
            "task 1.1 < 1 x",
            "task 1.2 < 1",
            "step 1.2#1 < 1.2 x",
            "step 1.2#2 < 1.2",
            "task 2",
            "task 3"
        ]
    );
    let settings = &plan.settings;
    assert_eq!(
        (settings.system().name(), settings.schedule, settings.max_parallel, settings.exhausted),
        ("issue", Schedule::Layered, 1, Exhausted::Stop)
    );
    assert!(plan.tasks.iter().all(|task| task.attempts == 3 && task.priority == 1));
}

#[test]
fn everything_below_a_task_arrives() {
    let read = reading(&invoices());
    let plan = &read.reading.plan;
    let by_id = |id: &str| plan.tasks.iter().find(|task| task.id.as_str() == id).expect("there");
    insta::assert_snapshot!("a_prompt", by_id("1.1").prompt);
    assert_eq!(
        by_id("1.1").criteria,
        [
            "1.1: WHEN asked, THE system SHALL write a CSV file",
            "1.2: IF the disk is full, THEN THE system SHALL keep the old file"
        ]
    );
    assert!(by_id("1.2").prompt.contains("- happy\n- sad"), "steps are told without their marks");
    assert_eq!(format!("{:?}", by_id("2").files), "[src/main.rs, src/cmd.rs]");
    assert_eq!(format!("{:?}", by_id("2").depends_on), "[1.1]");
    let checks = |id: &str| by_id(id).checks.iter().map(|check| check.run.to_string()).collect::<Vec<_>>();
    assert_eq!(checks("2"), ["make test"]);
    assert_eq!(checks("3"), ["cargo test", "./export.sh --dry", "make test"]);
    assert_eq!(checks("0"), ["git rev-parse --verify --quiet refs/heads/issue/7-export"]);
    assert!(by_id("3").may_change_nothing && by_id("0").may_change_nothing && !by_id("2").may_change_nothing);
}

#[test]
fn what_was_ticked_before_is_known() {
    let read = reading(&invoices());
    let done: Vec<&str> =
        read.reading.before.iter().filter(|(_, before)| before.done).map(|(id, _)| id.as_str()).collect();
    assert_eq!(done, ["0", "1.1"]);
    assert!(read.reading.before[&TaskId::new("0").expect("an id")].is_branch);
}

/// The other way to write one: flat, with fields.
#[test]
fn the_trackers_fields_are_read() {
    let text = "# Tasks

## Task List

- [x] 1. Store
  - Status: completed
  - Started: 2026-01-20T10:00:00Z
  - Completed: 2026-01-20T11:00:00Z
  - Notes: with a temp file
  - Files: src/store.rs
  - Requirements: 1.1, 1.2
- [ ] 2. Command
  - **Status**: in_progress
  - Started: 2026-01-20T12:00:00Z
  - Completed:
  - Notes: -
- [ ] 3. Docs
  - Status: blocked
- [ ] 4. Checkpoint
  - Status: âœ… Completed
- [x] 5. Other
  - Status: pending
- [ ] 6. More
  - Status: sleeping
";
    let read = reading(&folder(&[("requirements.md", REQUIREMENTS), ("tasks.md", text)]));
    assert_eq!(
        told(&read),
        "tasks.md:19:7: warning: the box of `4` and its status disagree (not done)\n".to_owned()
            + "tasks.md:21:7: warning: the box of `5` and its status disagree (not done)\n"
            + "tasks.md:24:13: warning: `sleeping` is not a known status (use pending, in_progress, completed, blocked or failed; read as not done)\n"
    );
    let said = |id: &str| &read.reading.before[&TaskId::new(id).expect("an id")];
    assert_eq!((said("1").done, said("1").status), (true, Some(Word::Completed)));
    assert_eq!(said("1").notes.as_deref(), Some("with a temp file"));
    assert_eq!(said("1").started.as_deref(), Some("2026-01-20T10:00:00Z"));
    assert_eq!((said("2").status, said("2").notes.as_deref()), (Some(Word::InProgress), None));
    assert_eq!(said("3").status, Some(Word::Blocked));
    assert!(!said("4").done && !said("5").done && !said("6").done);
    let plan = &read.reading.plan;
    assert_eq!(format!("{:?}", plan.tasks[0].files), "[src/store.rs]");
    assert!(
        !plan.tasks[0].prompt.contains("temp file"),
        "what changes while it is worked on is not what it asks"
    );
}

#[test]
fn a_plan_without_numbers_is_counted() {
    let text = "# Plan: Issue #9 - Small\n\n## Summary\n\nx\n\n## Tasks\n\n- [x] First\n- [ ] Second\n  - [ ] a step\n- [ ] Third\n\n## Acceptance Criteria\n\n- [ ] it works\n";
    let read =
        reading_with(&folder(&[("plan.md", text)]), "issue-9", &Config::default(), Strictness::Lenient);
    assert_eq!(
        told(&read),
        "plan.md:16:7: warning: boxes in this part of the file are not read as tasks (nor are those below it)\n"
    );
    assert_eq!(tree(&read), ["task 1 x", "task 2", "step 2#1 < 2", "task 3"]);
    assert_eq!(read.issue.branch(), "issue/9");
    assert_eq!(read.list, "plan.md");
}

/// Whether it has a heading for its tasks or not, and however the boxes are counted.
#[test]
fn boxes_about_criteria_and_tests_of_a_plan_are_no_tasks() {
    let parts = "- [ ] First\n- [ ] Second\n\n## Acceptance Criteria\n\n- [ ] 1. it works\n- [ ] 2. it is fast\n\n### Edge cases\n\n- [ ] none crash\n\n## Testing Strategy\n\n- [ ] unit tests\n  - [ ] 1.1 of the parser\n1. [ ] by hand\n";
    for heading in ["## Tasks", "## Steps"] {
        let text = format!("# Plan: Issue #9 - Small\n\n{heading}\n\n{parts}");
        let read =
            reading_with(&folder(&[("plan.md", &text)]), "issue-9", &Config::default(), Strictness::Lenient);
        assert_eq!(tree(&read), ["task 1", "task 2"], "{heading}");
        assert_eq!(told(&read).matches("are not read as tasks").count(), 3, "{}", told(&read));
    }
    // Phases that are about tests have tasks.
    let text = "## Tasks\n### Phase 1: Testing\n- [ ] 1. write them\n### Testing\n- [ ] 2. run them\n";
    assert_eq!(tree(&reading(&folder(&[("tasks.md", text)]))), ["task 1", "task 2"]);
}

#[test]
fn requirements_are_covered_by_tasks_and_their_tests() {
    let read = reading(&invoices());
    let row = |row: &super::Row| format!("{} {:?} {:?}", row.key, row.tasks, row.tests);
    let rows: Vec<String> = read.coverage.rows.iter().map(row).collect();
    assert_eq!(
        rows,
        ["1.1 [1.1, 1.2] [1.2]", "1.2 [1.1, 1.2] [1.2]", "1.3 [1.2] [1.2]", "2.1 [2] []", "3 [] []"]
    );
}

#[test]
fn a_tick_is_no_change_of_the_plan() {
    let before = reading(&invoices()).reading.plan;
    let ticked = TASKS.replace("[ ]", "[x]").replace(
        "- [x] 2. Add the command\n",
        "- [x] 2. Add the command ✅ <!-- DONE -->\n  - Status: completed\n",
    );
    let after =
        reading(&folder(&[("requirements.md", REQUIREMENTS), ("design.md", DESIGN), ("tasks.md", &ticked)]));
    assert_eq!(before.hash(), after.reading.plan.hash());
    let other = TASKS.replace("write through a temp file", "write in place");
    let other =
        reading(&folder(&[("requirements.md", REQUIREMENTS), ("design.md", DESIGN), ("tasks.md", &other)]));
    assert_ne!(before.hash(), other.reading.plan.hash());
}

#[test]
fn checks_come_from_the_project_and_none_at_all_is_refused() {
    let (own, _) = read_config("[defaults]\nchecks = ['just prove']\nattempts = 5\n");
    let read = reading_with(&invoices(), "issue-7-export", &own, Strictness::Lenient);
    assert_eq!(read.reading.plan.tasks[3].checks[0].run.to_string(), "just prove");
    assert_eq!(read.reading.plan.tasks[3].attempts, 5);
    assert!(read.detected.is_empty());
    let bare = |config: &Config| {
        let given = Given::new("issue-1-x", "p", config);
        super::read(&alone("- [ ] 1. a\n"), &given)
    };
    assert_eq!(
        told(&bare(&Config::default())),
        "tasks.md:1:1: error: nothing checks the tasks of `tasks.md`, and no checks were found in the project (nothing would prove a task done)\n"
    );
    let (none, _) = read_config("[defaults]\nchecks = []\n");
    assert_eq!(told(&bare(&none)), "");
}
