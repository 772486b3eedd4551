//! Specs as people and models write them, and what is made of each.

mod graph;
mod properties;

use std::fmt::Write as _;

use insta::assert_snapshot;

use super::row::Kiro;
use crate::diagnostic::{Severity, place};
use crate::plan::{TaskId, TaskSpec};
use crate::system::config::read_config;
use crate::system::{Disk, Folder, Given, Reading, System};

pub(super) const PLACE: &str = ".kiro/specs/import/tasks.md";

pub(super) fn reading(files: &[(&str, &str)], place: &str) -> Reading {
    let config = read_config("[defaults]\nchecks = [\"cargo test\", \"cargo build\"]\n").0;
    let given = Given::new("tasks.md", place, &config);
    let entry = |(name, text): &(&str, &str)| ((*name).to_owned(), text.as_bytes().to_vec());
    let folder = Folder { files: files.iter().map(entry).collect() };
    Kiro.read(&folder, &given).reading().clone()
}

/// The plan of a list alone.
pub(super) fn list(text: &str) -> Reading {
    reading(&[(PLACE, text)], PLACE)
}

/// What a plan has, and what was said about its files.
pub(super) fn drawn(reading: &Reading) -> String {
    let mut out = String::new();
    for task in &reading.plan.tasks {
        let group = &reading.plan.groups[task.group as usize].id;
        let needs: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
        let tests = task.checks.iter().any(|check| check.run.to_string() == "cargo test");
        let flags = [
            (task.by_person, "person"),
            (task.may_change_nothing, "verify"),
            (reading.before[&task.id].done, "done"),
            (!tests && !task.by_person, "untested"),
        ];
        let flags: Vec<&str> = flags.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        writeln!(out, "{} {} | {} <- {needs:?} {flags:?}", group.as_str(), task.id, task.title)
            .expect("a string");
    }
    out + &said(reading)
}

pub(super) fn said(reading: &Reading) -> String {
    let mut out = String::new();
    for problem in &reading.problems {
        let text = reading.texts.get(&problem.file).map(String::as_str).unwrap_or_default();
        let told = &problem.diagnostic;
        assert!(text.get(told.span.clone()).is_some(), "{problem:?}");
        let mark = if told.severity == Severity::Error { "error" } else { "warning" };
        let line = place(text, told.span.start).0;
        writeln!(out, "{mark} {}:{line}: {} ({})", problem.file, told.message, told.label).expect("a string");
    }
    out
}

fn task<'r>(reading: &'r Reading, id: &str) -> &'r TaskSpec {
    reading.plan.tasks.iter().find(|task| task.id.as_str() == id).expect("it is there")
}

const IMPORT: &str = "\
# Implementation Plan

- [x] 1. Set up the project
- [ ] 2. Build importer
  - [x] 2.1 Parse the header in `src/header.rs`
    - detail
    - _Requirements: 1.1, 1.2_
  - [ ] 2.2 Parse rows
    - _Requirements: 2_
    - _Requirements: 7.1, Testing strategy_
  - [ ]* 2.3 Write property test for rows
    - **Property 2: round trip**   **Validates: Requirements 2.1**
- [ ] 3. Checkpoint - ensure all tests pass
  - Ensure all tests pass, ask the user if questions arise.
- [ ] 4. Show it
- [ ] 4.1 Draw the table
- [-] 4.2 Draw the chart
- [ ] 4.3 Look at it on a device (manual test)
- [ ] 5. Final checkpoint
";

const REQUIREMENTS: &str = "\
# Requirements

## Requirements

### Requirement 1: Header
**User Story:** As a clerk, I want 1 header.

#### Acceptance Criteria
1. WHEN a header is there THE SYSTEM SHALL read it
2. IF it is broken THEN THE SYSTEM SHALL say so,
   with its line

### Requirement 2
#### Acceptance Criteria
1. WHEN rows follow THE SYSTEM SHALL read each
2. WHILE reading THE SYSTEM SHALL count
";

#[test]
fn a_spec_becomes_a_plan() {
    let files = [
        (PLACE, IMPORT),
        (".kiro/specs/import/requirements.md", REQUIREMENTS),
        (
            ".kiro/specs/import/design.md",
            "# Design\nSee #[[file:docs/api.yaml]] and #[[file:/etc/passwd]].\n",
        ),
        (
            ".kiro/specs/import/spec.json",
            "{\"approvals\": {\"tasks\": {\"generated\": true, \"approved\": false}}}",
        ),
        (".kiro/steering/product.md", "# Product\n"),
        (
            ".kiro/steering/rust.md",
            "---\ninclusion: fileMatch\nfileMatchPattern: \"src/**/*.rs\"\n---\n# Rust\n",
        ),
        (".kiro/steering/secret.md", "---\ninclusion: manual\n---\n# Rarely\n"),
    ];
    let reading = reading(&files, PLACE);
    assert_snapshot!(drawn(&reading), @r#"
    1-implementation-plan 1 | Set up the project <- [] ["done"]
    2-build-importer 2.1 | Parse the header in `src/header.rs` <- ["1"] ["done"]
    2-build-importer 2.2 | Parse rows <- ["2.1"] []
    2-build-importer 3 | Checkpoint - ensure all tests pass <- ["2.2"] ["verify"]
    3-show-it 4.1 | Draw the table <- ["3"] []
    3-show-it 4.2 | Draw the chart <- [] ["person"]
    3-show-it 4.3 | Look at it on a device (manual test) <- ["4.1"] ["person"]
    3-show-it 5 | Final checkpoint <- ["4.1"] ["verify"]
    warning .kiro/specs/import/spec.json:1: the tasks of this spec are not approved (Piton runs them if you ask it to)
    warning .kiro/specs/import/tasks.md:10: 1 reference to requirements that do not exist (requirements.md has nothing of the number 7.1)
    warning .kiro/specs/import/tasks.md:11: 1 optional task left out (`2.3` is the first of them)
    warning .kiro/specs/import/tasks.md:17: `[-]` is unusual: in progress, for some; for others dropped (not done)
    "#);
    assert_eq!(
        task(&reading, "2.1").criteria,
        [
            "1.1 WHEN a header is there THE SYSTEM SHALL read it",
            "1.2 IF it is broken THEN THE SYSTEM SHALL say so, with its line"
        ]
    );
    assert_eq!(task(&reading, "2.2").criteria.len(), 2, "a whole requirement");
    assert_snapshot!("prompt", task(&reading, "2.1").prompt);
}

#[test]
fn marks_of_cc_sdd_refine_the_order() {
    let text = "- [ ] 1. Foundation\n- [ ] 1.1 Schema\n- [ ] 1.2 (P) Reader\n  - _Boundary: Reader_\n- [ ] 1.3 (P) Writer\n\
                - [ ] 2. Use it\n- [ ] 2.1 Command\n  - _Depends: 1.2, 9.9_\n- [ ] 2.2 Page\n  - _Depends: 1_\n- [ ] 2.3* Tests\n";
    assert_snapshot!(drawn(&list(text)), @r#"
    1-foundation 1.1 | Schema <- [] []
    1-foundation 1.2 | Reader <- ["1.1"] []
    1-foundation 1.3 | Writer <- ["1.1"] []
    2-use-it 2.1 | Command <- ["1.2", "1.3"] []
    2-use-it 2.2 | Page <- ["1.1", "1.2", "1.3", "2.1"] []
    warning .kiro/specs/import/tasks.md:8: there is no task `9.9` (not waited for)
    warning .kiro/specs/import/tasks.md:11: 1 optional task left out (`2.3` is the first of them)
    "#);
}

#[test]
fn a_bugfix_begins_with_a_test_that_fails() {
    let text = "# Implementation Plan\n\n- [ ] 1. Write bug condition exploration test\n  - **CRITICAL**: This test MUST FAIL on unfixed code\n\
                \x20 - **EXPECTED OUTCOME**: Test FAILS (this is correct)\n  - _Requirements: 2.1_\n\
                - [ ] 2. Write preservation property tests\n  - **EXPECTED OUTCOME**: Tests PASS\n\
                - [ ] 3. Fix for empty rows\n  - [ ] 3.1 Implement the fix\n  - [ ] 3.2 Verify bug condition exploration test now passes\n\
                - [ ] 4. Checkpoint - Ensure all tests pass\n";
    let bugfix = "# Bugfix\n## Current Behavior\n1.1 WHEN a row is empty THEN it crashes\n## Expected Behavior\n2.1 WHEN a row is empty THEN it is skipped\n";
    let reading = reading(&[(PLACE, text), (".kiro/specs/import/bugfix.md", bugfix)], PLACE);
    assert_snapshot!(drawn(&reading), @r#"
    1-import 1 | Write bug condition exploration test <- [] ["untested"]
    1-import 2 | Write preservation property tests <- ["1"] ["untested"]
    1-import 3.1 | Implement the fix <- ["2"] []
    1-import 3.2 | Verify bug condition exploration test now passes <- ["3.1"] ["verify"]
    1-import 4 | Checkpoint - Ensure all tests pass <- ["3.2"] ["verify"]
    warning .kiro/specs/import/tasks.md:3: this task writes tests that fail at first (tests judge its group from `3.1` on)
    "#);
    assert_eq!(task(&reading, "1").criteria, ["2.1 WHEN a row is empty THEN it is skipped"]);
}

#[test]
fn wild_forms_are_tasks() {
    let text = "---\nspecName: x\nstatus: open\n---\n# Tasks\n<details>\n\n- [x] 1. Old\n  - [x] 1.1 Older\n\n</details>\n\n\
                - [ ]-6. Update it\n  -- _Requirements: 3.2_\n### Phase 1 — Begin\n- [ ] T01: Letters\n- [ ] 7\\. Escaped\n- [ ]\\* 8. Escaped star\n\
                ## Task 9: Heading\n- [ ] a criterion\n- [ ] another\n## 1. Project Setup\n- [ ] no number\n- [ ] 1. Old\n  - [ ] 1.1 Older (MANUAL)\n";
    assert_snapshot!("wild_forms", drawn(&list(text)));
}

#[test]
fn ticks_do_not_change_the_plan() {
    let text = IMPORT.replace("[-]", "[ ]");
    let (open, ticked) = (list(&text), list(&text.replace("[ ]", "[x]")));
    assert_eq!(open.plan.hash(), ticked.plan.hash());
    assert!(ticked.before.values().all(|before| before.done));
}

#[test]
fn approvals_that_are_missing_are_said() {
    for (json, says) in [
        ("{\"approvals\": {\"tasks\": {\"approved\": true}}, \"ready_for_implementation\": true}", ""),
        ("{\"ready_for_implementation\": false}", "this spec is not ready for implementation"),
        ("{\"approvals\": {\"tasks\": {\"approved\": false}}", "this is not JSON"),
        ("{\"approvals\": [], \"ready_for_implementation\": null}", ""),
    ] {
        let reading = reading(&[(PLACE, "- [ ] 1. x\n"), (".kiro/specs/import/spec.json", json)], PLACE);
        let all = said(&reading);
        let told: Vec<&str> = all.lines().filter(|line| line.contains("spec.json")).collect();
        assert_eq!(told.len(), usize::from(!says.is_empty()), "{json}: {told:?}");
        assert!(told.iter().all(|line| line.contains(says)), "{told:?}");
    }
}

/// Files by their paths.
struct Paths(Vec<&'static str>);

impl Disk for Paths {
    fn is_file(&self, path: &str) -> bool {
        self.0.contains(&path)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let inside =
            |path: &&str| Some(path.strip_prefix(folder)?.strip_prefix('/')?.split('/').next()?.to_owned());
        let mut names: Vec<String> = self.0.iter().filter_map(inside).collect();
        names.sort();
        names.dedup();
        names
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.is_file(path).then(Vec::new)
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

#[test]
fn a_spec_is_found_by_its_place_with_the_files_around_it() {
    let disk = Paths(vec![
        "/p/.kiro/specs/a/tasks.md",
        "/p/.kiro/specs/_completed/b/tasks.md",
        "/p/.kiro/specs/c/design.md",
        "/p/.kiro/steering/tech.md",
        "/p/.kiro/steering/notes.txt",
    ]);
    let claimed = |folder: &str| Kiro.claims_folder(folder, &disk).map(|claim| claim.file);
    assert_eq!(claimed("/p/.kiro/specs/a").as_deref(), Some("tasks.md"));
    assert_eq!(claimed("/p/.kiro/specs/_completed/b").as_deref(), Some("tasks.md"));
    for folder in ["/p", "/p/.kiro/specs", "/p/.kiro/specs/_completed", "/p/.kiro/specs/c", "/p/.kiro"] {
        assert_eq!(claimed(folder), None, "{folder}");
    }
    let along = Kiro.read_along("/p/.kiro/specs/a/tasks.md", &disk);
    assert!(along.iter().any(|path| path == "/p/.kiro/specs/a/requirements.md"), "{along:?}");
    assert!(along.iter().any(|path| path == "/p/.kiro/steering/tech.md"), "{along:?}");
    assert!(!along.iter().any(|path| path.ends_with(".txt")), "{along:?}");
    let to = Some("/p/.kiro/specs/_completed/b".to_owned());
    assert_eq!(Kiro.moved_to("/p/.kiro/specs/b/tasks.md", &disk), to);
    assert_eq!(Kiro.moved_to("/p/.kiro/specs/b", &disk), to);
    assert_eq!(Kiro.moved_to("/p/.kiro/specs/z", &disk), None);
}
