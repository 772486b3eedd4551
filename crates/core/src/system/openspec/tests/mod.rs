//! Changes as people and models write them, and what is made of each.

mod properties;

use std::fmt::Write as _;

use insta::assert_snapshot;

use super::row::OpenSpec;
use crate::diagnostic::{Severity, place};
use crate::plan::TaskId;
use crate::system::config::{Config, read_config};
use crate::system::{Disk, FileClaim, Folder, Given, Reading, System};

pub(super) const PLACE: &str = "openspec/changes/add-export/tasks.md";

pub(super) fn folder(files: &[(&str, &str)]) -> Folder {
    let entry = |(name, text): &(&str, &str)| ((*name).to_owned(), text.as_bytes().to_vec());
    Folder { files: files.iter().map(entry).collect() }
}

pub(super) fn reading(files: &[(&str, &str)], place: &str) -> Reading {
    let config = read_config("[defaults]\nchecks = [\"cargo test\", \"cargo build\"]\n").0;
    let given = Given::new("tasks.md", place, &config);
    OpenSpec.read(&folder(files), &given).reading().clone()
}

/// What a plan has, and what was said about its files.
fn drawn(reading: &Reading) -> String {
    let mut out = format!("{}\n", reading.plan.name);
    for task in &reading.plan.tasks {
        let group = &reading.plan.groups[task.group as usize].id;
        let needs: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
        let checks: Vec<String> = task.checks.iter().map(|check| check.run.to_string()).collect();
        let flags = [
            (task.by_person, "person"),
            (task.may_change_nothing, "verify"),
            (reading.before[&task.id].is_branch, "git"),
            (reading.before[&task.id].done, "done"),
        ];
        let flags: Vec<&str> = flags.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        let files: Vec<&str> = task.files.iter().map(crate::plan::RepoPath::as_str).collect();
        writeln!(
            out,
            "{} {} | {} <- {needs:?} {checks:?} {files:?} {flags:?} {} criteria",
            group.as_str(),
            task.id,
            task.title,
            task.criteria.len()
        )
        .expect("a string");
    }
    out + &said(reading)
}

fn said(reading: &Reading) -> String {
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

const EXPORT: &str = "\
# Tasks

## 1. Storage
The table is append-only.

- [x] 1.1 Add the table in `db/001.sql`
- [ ] 1.2 Write rows in src/rows.rs; verify with `cargo test rows`
  - [ ] 1.2.1 One row
  - [x] many rows

## 2. Command
- [ ] 2.1 Red: write a failing test for the export
- [ ] 2.2 Add the command
- [ ] 2.3 Run `cargo test --workspace`
- [~] 2.4 Add colours, deferred
- ~~[ ] 2.5 Add sounds~~

## 3. Release
- [ ] 3.1 Manual smoke test on device
- [ ] 3.2 Commit everything

## Validation Criteria
- [ ] An export of nothing is empty
";

const DELTA: &str = "\
## ADDED Requirements

### Requirement: Export rows
The system SHALL export rows.

#### Scenario: Two rows
- **WHEN** there are two rows
- **THEN** the file has two lines

#### Scenario: Empty

## REMOVED Requirements
### Requirement: Print rows
**Reason**: nobody prints

## RENAMED Requirements
#### FROM: x
- TO: y
";

#[test]
fn a_change_becomes_a_plan() {
    let files = [
        (PLACE, EXPORT),
        ("openspec/changes/add-export/proposal.md", "# Why\n"),
        ("openspec/changes/add-export/design.md", "# How\n"),
        ("openspec/changes/add-export/specs/export/spec.md", DELTA),
        ("openspec/specs/export/spec.md", "# export\n"),
        ("openspec/changes/other/specs/export/spec.md", DELTA),
        ("openspec/config.yaml", "schema: spec-driven\n"),
        ("openspec/changes/add-export/.openspec.yaml", "created: 2026-01-02\nschema: my-own # ours\n"),
    ];
    let reading = reading(&files, PLACE);
    assert_snapshot!(drawn(&reading), @r#"
    add-export
    1-storage 1.1 | Add the table in `db/001.sql` <- [] ["cargo test", "cargo build"] ["db/001.sql"] ["done"] 0 criteria
    1-storage 1.2 | Write rows in src/rows.rs; verify with `cargo test rows` <- ["1.1"] ["cargo test rows", "cargo test", "cargo build"] ["src/rows.rs"] [] 0 criteria
    2-command 2.1 | Red: write a failing test for the export <- ["1.2"] ["cargo build"] [] [] 0 criteria
    2-command 2.2 | Add the command <- ["2.1"] ["cargo build"] [] [] 0 criteria
    2-command 2.3 | Run `cargo test --workspace` <- ["2.2"] ["cargo test --workspace"] [] ["verify"] 0 criteria
    2-command 2.4 | Add colours, deferred <- [] ["cargo test", "cargo build"] [] ["person"] 3 criteria
    3-release 3.1 | Manual smoke test on device <- ["2.3"] [] [] ["person"] 0 criteria
    3-release 3.2 | Commit everything <- ["2.3"] ["cargo test", "cargo build"] [] ["git", "done"] 0 criteria
    warning openspec/changes/add-export/.openspec.yaml:2: the schema `my-own` may keep tasks in other files, too (only tasks.md is read)
    warning openspec/changes/add-export/specs/export/spec.md:1: the change `other` is about `export`, too (what is done last may undo the other)
    warning openspec/changes/add-export/tasks.md:12: this task writes tests that fail at first (tests judge its group from `2.4` on)
    warning openspec/changes/add-export/tasks.md:15: `[~]` is unusual: done in part, deferred or unverified (not done)
    warning openspec/changes/add-export/tasks.md:16: this item is crossed out (dropped: it is neither done nor open)
    warning openspec/changes/add-export/tasks.md:23: boxes in this part of the file say when all is done (not tasks; nor are those below it)
    "#);
    let last = reading.plan.tasks.iter().find(|task| !task.criteria.is_empty()).expect("one has criteria");
    assert_snapshot!("criteria", last.criteria.join("\n"));
    let task = reading.plan.tasks.iter().find(|task| task.id.as_str() == "1.2").expect("it is there");
    assert_snapshot!("prompt", task.prompt);
}

#[test]
fn wild_forms_of_numbers_and_boxes_are_tasks() {
    let text = "## 1. A\n- [ ] TASK-001: 1.1 Two ids\n- [ ] **Task 1.2**: Bold\n- [ ] [GAP] 1.3 Label\n- [x] ✅ 1.4 Sign\n- [] 1.5 Empty\n\
                ## 2a. B\n- [ ] 2a.1 Letter\n- [ ] A1.1 Other letter\n- [ ] 5b.6 Far away\n\
                ### 3.1 Heading\n- [ ] unnumbered\n- [x] both\n\
                ## Plain\n- [ ] no number\n  that is wrapped\n* [ ] star bullet — 1771 passed, 2 failures\n- [x] fetch `fetchDetails[P]`\n";
    assert_snapshot!(drawn(&reading(&[(PLACE, text)], PLACE)), @r#"
    add-export
    1-a 1.1 | Two ids <- [] ["cargo test", "cargo build"] [] [] 0 criteria
    1-a 1.2 | Bold <- ["1.1"] ["cargo test", "cargo build"] [] [] 0 criteria
    1-a 1.3 | [GAP] Label <- ["1.2"] ["cargo test", "cargo build"] [] [] 0 criteria
    1-a 1.4 | Sign <- ["1.3"] ["cargo test", "cargo build"] [] ["done"] 0 criteria
    1-a 1.5 | Empty <- ["1.4"] ["cargo test", "cargo build"] [] [] 0 criteria
    2-b 2a.1 | Letter <- ["1.5"] ["cargo test", "cargo build"] [] [] 0 criteria
    2-b A1.1 | Other letter <- ["2a.1"] ["cargo test", "cargo build"] [] [] 0 criteria
    2-b 5b.6 | Far away <- ["A1.1"] ["cargo test", "cargo build"] [] [] 0 criteria
    3-heading 3.1 | Heading <- ["5b.6"] ["cargo test", "cargo build"] [] [] 0 criteria
    4-plain no-number | no number <- ["3.1"] ["cargo test", "cargo build"] [] [] 0 criteria
    4-plain star-bullet-1771-passed-2-failures | star bullet — 1771 passed, 2 failures <- ["no-number"] ["cargo test", "cargo build"] [] [] 0 criteria
    4-plain fetch-fetchdetails-p | fetch `fetchDetails[P]` <- ["star-bullet-1771-passed-2-failures"] ["cargo test", "cargo build"] [] ["done"] 0 criteria
    warning openspec/changes/add-export/tasks.md:6: `[]` is unusual (read as `[ ]`)
    warning openspec/changes/add-export/tasks.md:9: 2 tasks stand below the heading of another number (`A1.1` stays where it is; this is the first)
    "#);
}

#[test]
fn ticks_do_not_change_the_plan() {
    let open = reading(&[(PLACE, EXPORT)], PLACE);
    let ticked = reading(&[(PLACE, &EXPORT.replace("[ ]", "[x]"))], PLACE);
    assert_eq!(open.plan.hash(), ticked.plan.hash());
    assert!(ticked.before.iter().filter(|(id, _)| id.as_str() != "2.4").all(|(_, before)| before.done));
}

#[test]
fn boxes_below_the_heading_of_another_number_are_said_once() {
    let text = "## 3. A\n- [ ] 2.4 x\n- [ ] 2.5 y\n- [ ] 3.1 z\n";
    assert_snapshot!(said(&reading(&[(PLACE, text)], PLACE)), @r"
    warning openspec/changes/add-export/tasks.md:2: 2 tasks stand below the heading of another number (`2.4` stays where it is; this is the first)
    ");
}

#[test]
fn an_archived_change_is_not_a_plan_any_more() {
    let place = "openspec/changes/archive/2026-01-31-add-export/tasks.md";
    assert_snapshot!(drawn(&reading(&[(place, "- [ ] 1.1 x\n")], place)), @r#"
    2026-01-31-add-export
    1-2026-01-31-add-export 1.1 | x <- [] ["cargo test", "cargo build"] [] [] 0 criteria
    error openspec/changes/archive/2026-01-31-add-export/tasks.md:1: this change is archived: its specs count as reached (not a plan any more)
    "#);
}

#[test]
fn a_list_without_tasks_is_refused() {
    for text in ["", "# Tasks\n\nNothing yet.\n", "## Acceptance Criteria\n- [ ] It works\n"] {
        assert!(!reading(&[(PLACE, text)], PLACE).is_usable(), "{text}");
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
fn a_change_is_found_by_its_place_with_the_files_around_it() {
    let disk = Paths(vec![
        "/p/openspec/changes/a/tasks.md",
        "/p/openspec/changes/a/specs/x/spec.md",
        "/p/openspec/changes/a/specs/deep/y/spec.md",
        "/p/openspec/changes/b/specs/x/spec.md",
        "/p/openspec/changes/archive/2026-01-02-gone/tasks.md",
        "/p/openspec/changes/archive/2026-01-02-not-gone/tasks.md",
        "/p/tasks.md",
    ]);
    let claimed = |folder: &str| OpenSpec.claims_folder(folder, &disk).map(|claim| claim.file);
    assert_eq!(claimed("/p/openspec/changes/a").as_deref(), Some("tasks.md"));
    assert_eq!(claimed("/p/openspec/changes/archive/2026-01-02-gone").as_deref(), Some("tasks.md"));
    for folder in ["/p", "/p/openspec/changes/b", "/p/openspec/changes/archive", "/p/openspec/changes"] {
        assert_eq!(claimed(folder), None, "{folder}");
    }
    assert_eq!(OpenSpec.claims_file("tasks.md", "x/tasks.md", &disk), FileClaim::InItsFolder);
    assert_eq!(OpenSpec.claims_file("proposal.md", "x/proposal.md", &disk), FileClaim::No);
    let along = OpenSpec.read_along("/p/openspec/changes/a/tasks.md", &disk);
    for file in [
        "/p/openspec/changes/a/proposal.md",
        "/p/openspec/changes/a/specs/x/spec.md",
        "/p/openspec/changes/a/specs/deep/y/spec.md",
        "/p/openspec/specs/x/spec.md",
        "/p/openspec/specs/deep/y/spec.md",
        "/p/openspec/changes/b/specs/x/spec.md",
        "/p/openspec/project.md",
    ] {
        assert!(along.iter().any(|path| path == file), "{file}: {along:?}");
    }
    let moved = |plan: &str| OpenSpec.moved_to(plan, &disk);
    let to = Some("/p/openspec/changes/archive/2026-01-02-gone".to_owned());
    assert_eq!(moved("/p/openspec/changes/gone/tasks.md"), to);
    assert_eq!(moved("/p/openspec/changes/gone"), to);
    assert_eq!(moved("/p/openspec/changes/never"), None);
    assert_eq!(moved("/p/gone"), None);
    assert!(
        OpenSpec.goes_by("a", "a") && !OpenSpec.goes_by("archive", "archive") && !OpenSpec.goes_by("a", "b")
    );
}

#[test]
fn commands_prove_a_task_where_its_words_say_so() {
    let text = "## 1. A\n- [ ] 1.1 Add a `cargo test` alias\n- [ ] 1.2 Do it. Run `cargo test -p a` and `src/x.rs`\n\
                - [ ] 1.3 `npm run lint` passes\n- [ ] 1.4 Validate: `openspec validate add-export --strict`\n- [ ] 1.5 Verify it looks right\n";
    let config = Config::default();
    let given = Given::new("tasks.md", PLACE, &config);
    let read = OpenSpec.read(&folder(&[(PLACE, text)]), &given);
    let checks = |task: &crate::plan::TaskSpec| {
        let runs: Vec<String> = task.checks.iter().map(|check| check.run.to_string()).collect();
        format!("{} {runs:?} {}", task.id, if task.may_change_nothing { "verify" } else { "work" })
    };
    let all: Vec<String> = read.reading().plan.tasks.iter().map(checks).collect();
    assert_snapshot!(all.join("\n"), @r#"
    1.1 [] work
    1.2 ["cargo test -p a"] work
    1.3 ["npm run lint"] work
    1.4 ["openspec validate add-export --strict"] verify
    1.5 [] work
    "#);
}
