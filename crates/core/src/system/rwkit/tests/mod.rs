//! Lists as people and models write them, and what is made of each.

mod boxes;
mod content;
mod deps;
mod lines;
mod master;
mod odd;
mod properties;

use std::fmt::Write as _;

use super::plan::{Given, RwkitReading, lint, read};
use crate::diagnostic::{Diagnostic, Severity, place};
use crate::plan::{Argv, Exhausted, Schedule, TaskId};
use crate::system::config::{Config, read_config};
use crate::system::{Folder, Problem, Strictness};

/// The way planners write one.
const INVOICES: &str = "# TodoList: Invoices

## Overview
- Source Plan: 1-1-invoices-plan.md
- User Stories: 2
- Total Tasks: 6
- Generated: 2026-03-01

---

## User Story: US-001 Save invoice
> As a clerk, I want to save an invoice,
> so that I find it again.

### Acceptance Criteria
- [ ] Title is kept
- [x] T-shirts can be invoiced, too

### Tasks

#### Phase 1: Storage
- [x] T001 P1 ALL Add table [agent: backend-architect] [deps: none] [files: db/001.sql] [size: S]
- [ ] T002 P1 US-001 Add endpoint [agent: backend-development:backend-architect] [deps: T001] [files: src/api/[id]/save.ts, src/api/index.ts] [size: M]
  - answer 201
  - [ ] with a header
#### Phase 2: Page
- [ ] T003 P2 US-001 Add page [agent: frontend-developer] [deps: T002] [files: src/page.tsx] [size: S] as in the design

### Story Progress: 1/3

---

## User Story: US-002 Print invoice
### Tasks
- [ ] T004 P3 US-002 Print it [agent: frontend-developer] [deps: T001, T003] [files: src/print/] [size: S]

### Story Progress: 0/1

## Test Data & Testing Tasks
### Seed Data Setup
- [ ] T0S1 P1 ALL Seed it [agent: backend-architect] [deps: none] [files: -] [size: S]

### E2E Tests (per user story)
| Task | User Story | E2E Test File | Seed Data | Deps |
|------|------------|---------------|-----------|------|
| T0E1 | US-001 | e2e/save.spec.ts | USERS.standard | All US-001 tasks |

## Execution Batches

### Batch 0 - No Dependencies
| Task | Story | Agent | Files |
|------|-------|-------|-------|
| T001 | ALL | backend-architect | db/001.sql |
| T0S1 | ALL | backend-architect | - |

### Batch 1
| Task | Story | Agent | Deps | Files |
|------|-------|-------|------|-------|
| T002 | US-001 | backend-architect | T001 | src/api/[id]/save.ts |

### Batch 2
| Task | Deps |
|------|------|
| T003 | T002 |

### Batch 3
| Task | Deps |
|------|------|
| T004 | T001, T003 |
| T0E1 | All US-001 tasks |

## Progress Summary
- Total: 6
- Completed: 1
- Pending: 5

Last Updated: 2026-03-01
";

const LIST: &str = "plans/1-1-invoices-todolist.md";

fn folder(files: &[(&str, &str)]) -> Folder {
    Folder {
        files: files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect(),
    }
}

fn profiles() -> Config {
    let text = "[agents.backend-architect]\ncommand = 'a'\n[agents.frontend-developer]\ncommand = 'b'\n[agents.default]\ncommand = 'c'\n";
    read_config(text).0
}

fn reading_with(folder: &Folder, config: &Config, strictness: Strictness) -> RwkitReading {
    read(folder, &Given { strictness, ..Given::new(LIST, LIST, config) })
}

fn reading(text: &str) -> RwkitReading {
    reading_with(&folder(&[(LIST, text)]), &profiles(), Strictness::Lenient)
}

/// The problems as people read them: `line:column: severity: message (label)`.
fn told(read: &RwkitReading) -> String {
    told_of(read, &read.reading.problems)
}

fn told_of(read: &RwkitReading, problems: &[Problem]) -> String {
    let mut text = String::new();
    for problem in problems {
        let source = read.reading.texts.get(&problem.file).expect("a file that was read");
        let file = if problem.file == LIST { "" } else { "plan:" };
        text += &format!("{file}{}", shown(source, &problem.diagnostic));
    }
    text
}

fn shown(source: &str, diagnostic: &Diagnostic) -> String {
    let mut text = String::new();
    assert!(source.get(diagnostic.span.clone()).is_some(), "{diagnostic:?}");
    let (line, column) = place(source, diagnostic.span.start);
    let severity = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
    writeln!(text, "{line}:{column}: {severity}: {} ({})", diagnostic.message, diagnostic.label)
        .expect("a string takes everything");
    text
}

/// The tasks as `id title`, with `x` where one is done.
fn tasks(read: &RwkitReading) -> Vec<String> {
    let line = |task: &crate::plan::TaskSpec| {
        let x = if read.reading.before[&task.id].done { " x" } else { "" };
        format!("{} {}{x}", task.id, task.title)
    };
    read.reading.plan.tasks.iter().map(line).collect()
}

/// What each task waits for.
fn needs(read: &RwkitReading) -> Vec<String> {
    let tasks = read.reading.plan.tasks.iter();
    tasks.map(|task| format!("{} < {:?}", task.id, task.depends_on)).collect()
}

fn by_id<'r>(read: &'r RwkitReading, id: &str) -> &'r crate::plan::TaskSpec {
    read.reading.plan.tasks.iter().find(|task| task.id.as_str() == id).expect("there")
}

#[test]
fn a_list_becomes_a_plan_without_a_word() {
    let read = reading_with(&folder(&[(LIST, INVOICES)]), &profiles(), Strictness::Strict);
    assert_eq!(told(&read), "");
    let plan = &read.reading.plan;
    assert_eq!(plan.name, "1-1-invoices");
    assert_eq!(
        tasks(&read),
        [
            "T001 Add table x",
            "T002 Add endpoint",
            "T003 Add page",
            "T004 Print it",
            "T0S1 Seed it",
            "T0E1 E2E Tests (per user story): US-001"
        ]
    );
    assert_eq!(
        needs(&read),
        [
            "T001 < []",
            "T002 < [T001]",
            "T003 < [T002]",
            "T004 < [T001, T003]",
            "T0S1 < []",
            "T0E1 < [T002, T003]"
        ]
    );
    let batch =
        |task: &crate::plan::TaskSpec| format!("{} {}", task.id, plan.groups[task.group as usize].title);
    assert_eq!(
        plan.tasks.iter().map(batch).collect::<Vec<_>>(),
        ["T001 Batch 1", "T002 Batch 2", "T003 Batch 3", "T004 Batch 4", "T0S1 Batch 1", "T0E1 Batch 4"]
    );
    let settings = &plan.settings;
    assert_eq!(
        (settings.schedule, settings.max_parallel, settings.exhausted),
        (Schedule::Layered, 7, Exhausted::Pass)
    );
    assert_eq!(settings.system().name(), "rwkit");
    assert!(plan.tasks.iter().all(|task| task.attempts == 4));
}

#[test]
fn everything_about_a_task_arrives() {
    let read = reading(INVOICES);
    let task = by_id(&read, "T002");
    assert_eq!((task.agent.as_str(), task.priority), ("backend-architect", 1));
    assert_eq!(format!("{:?}", task.files), "[src/api/[id]/save.ts, src/api/index.ts]");
    let looks: Vec<&Argv> = task.checks.iter().map(|check| &check.run).collect();
    assert!(
        matches!(looks[..], [Argv::Look { file, .. }, Argv::Look { .. }] if file.as_str() == "src/api/[id]/save.ts")
    );
    insta::assert_snapshot!("a_prompt", task.prompt);
    assert!(
        by_id(&read, "T003").prompt.contains("\n\nas in the design\n"),
        "what follows the tags is a note"
    );
    insta::assert_snapshot!("a_prompt_from_a_table", by_id(&read, "T0E1").prompt);
    assert_eq!(by_id(&read, "T004").checks[0].name, "src/print/ exists");
    assert!(by_id(&read, "T0S1").may_change_nothing && !task.may_change_nothing);
}

#[test]
fn the_state_file_can_be_told_everything() {
    let read = reading(INVOICES);
    let about = &read.about;
    insta::assert_json_snapshot!("what_the_state_file_needs", about);
    let id = TaskId::new("T002").expect("an id");
    assert_eq!(about.story(&id).map(|story| story.title.as_str()), Some("Save invoice"));
    let written = serde_json::to_string(about).expect("a list can be written");
    assert_eq!(serde_json::from_str::<crate::plan::About>(&written).expect("and read"), *about);
}

#[test]
fn a_tick_is_no_change_of_the_plan() {
    let before = reading(INVOICES).reading.plan;
    let ticked = INVOICES.replace("[ ]", "[x]").replace("0/1", "1/1");
    assert_eq!(before.hash(), reading(&ticked).reading.plan.hash());
    let other = INVOICES.replace("answer 201", "answer 200");
    assert_ne!(before.hash(), reading(&other).reading.plan.hash());
}

#[test]
fn the_project_says_what_a_list_does_not() {
    let (config, _) = read_config(
        "[defaults]\nchecks = ['just prove']\nattempts = 2\nagent = 'me'\npriority = 7\n[policy]\nmax_parallel = 2\nexhausted = 'stop'\n[agents.me]\ncommand = 'a'\n",
    );
    let read = reading_with(&folder(&[(LIST, "- [ ] T001 Do it\n")]), &config, Strictness::Lenient);
    assert_eq!(told(&read), "");
    let task = by_id(&read, "T001");
    assert_eq!((task.attempts, task.agent.as_str(), task.priority), (2, "me", 7));
    assert_eq!(task.checks[0].run.to_string(), "just prove");
    let settings = &read.reading.plan.settings;
    assert_eq!((settings.max_parallel, settings.exhausted), (2, Exhausted::Stop));
}

#[test]
fn a_list_and_its_plan_are_compared() {
    let plan = "# Plan: Invoices\n\nStories US-001 and US-003.\n\n- T001, T009\n\n```\nsrc/\n├── page.tsx  // the page\n├── other.tsx\n└── api/[id]/save.ts\n```\n\nSee https://example.com/a.html and `db/001.sql`.\n";
    let files = folder(&[(LIST, INVOICES), ("plans/1-1-invoices-plan.md", plan)]);
    let read = reading_with(&files, &profiles(), Strictness::Strict);
    assert!(read.reading.is_usable());
    assert_eq!(read.about.plan_path, "plans/1-1-invoices-plan.md");
    insta::assert_snapshot!("a_list_and_its_plan", told_of(&read, &lint(&read)));
    assert_eq!(lint(&reading(INVOICES)), [], "nothing to compare with");
}

#[test]
fn files_are_known_by_their_names() {
    use crate::system::rwkit::{is_list, is_master, plan_path, stem};
    assert_eq!(stem("plans/1-1-user-auth-todolist.md"), "1-1-user-auth");
    assert_eq!(plan_path("plans/1-x-todo.md").as_deref(), Some("plans/1-x-plan.md"));
    assert_eq!(plan_path("notes.md"), None);
    assert!(is_list("requirements/a.todolist.md") && !is_list("plans/00-master-todolist.md"));
    assert!(is_master("plans/00-master-todolist.md") && !is_master("plans/100-master-todolist.md"));
}
