//! Boards and stories of BMAD as its agents leave them, and what is made of each.

mod specs;
mod v4;
mod writing;

use insta::assert_snapshot;

use super::row::BMAD;
use crate::system::kit::draft::testing::{self, shown};
use crate::system::{Disk, FileClaim, ReadPlan, System};

pub(super) const PLACE: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";

pub(super) const BOARD: &str = "\
# Sprint status
last_updated: 2026-01-05 10:20
project: \"Receipts\"
custom_key: kept

development_status:
  epic-1: in-progress
  1-1-keep: done
  1-2-find: ready-for-dev   # next
  1-3-show: ready-for-dev
  epic-1-retrospective: optional
  epic-2: backlog
  2-1-share: drafted
  2-2-print: backlog
  2-3-gone: ready-for-dev
  2-4-begun: in-progress
  2-5-odd: \"who knows\"
  2-6-later: deferred

action_items:
  - look at it
";

pub(super) const FIND: &str = "\
# Story 1.2: Find a receipt

Status: ready-for-dev

## Story

As a clerk, I want to find receipts.

## Acceptance Criteria

1. By shop (AC1)
2. By day
   - also by month

## Tasks / Subtasks

- [ ] Task 1: Search in `src/find.rs` (AC: 1, 2)
  - [x] 1.1 Write the test
- [ ] Task 2: ~~Old~~

## Dev Notes

- [ ] not a step

## Dev Agent Record

### Agent Model Used

A model

### File List

- src/find.rs

## Change Log

- created
";

const SHARE: &str = "\
---
title: 'Share receipts'
status: in-review
context: ['{project-root}/docs/sharing.md', '/etc/passwd']
---

# Share receipts

<frozen-after-approval>

## Intent

Share.

</frozen-after-approval>

## Tasks & Acceptance

**Execution:**
- [ ] `src/share.rs` -- share it

## Verification

**Commands:**
- `cargo test share` -- expected: all pass
- look at it
";

const SHOW: &str = "\
# Показать

## Status

Approved

## Критерии

1. Видно

## Задачи / Подзадачи

- [ ] Task 1: Показать
- [ ] Task 2: Скрыть

## QA Results

- [ ] passed
";

pub(super) fn receipts() -> Vec<(&'static str, String)> {
    vec![
        (PLACE, BOARD.to_owned()),
        ("_bmad-output/implementation-artifacts/1-2-find.md", FIND.to_owned()),
        ("_bmad-output/implementation-artifacts/stories/1-3-show.md", SHOW.to_owned()),
        ("_bmad-output/implementation-artifacts/spec-2-1-share.md", SHARE.to_owned()),
        (
            "_bmad-output/implementation-artifacts/2-4-begun.md",
            "# Begun\n\nStatus: in-progress\n\nWords.\n".to_owned(),
        ),
        ("_bmad-output/implementation-artifacts/2-5-odd.md", "# Odd\n\nWords.\n".to_owned()),
        ("_bmad-output/planning-artifacts/epics.md", "# Epics\n\n## Epic 1: Keep receipts\n".to_owned()),
        ("_bmad-output/project-context.md", "Context\n".to_owned()),
    ]
}

fn read(files: &[(&str, String)]) -> Box<dyn ReadPlan> {
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    testing::read(&BMAD, &files)
}

#[test]
fn a_board_becomes_a_plan() {
    assert_snapshot!(shown(read(&receipts()).reading()));
}

#[test]
fn a_prompt_has_the_story_but_not_what_was_written_about_its_work() {
    let found = read(&receipts());
    let prompt = |id: &str| {
        let task = found.reading().plan.tasks.iter().find(|task| task.id.as_str() == id);
        task.expect("it is there").prompt.clone()
    };
    assert_snapshot!(prompt("1-2-find"));
    let share = prompt("2-1-share");
    assert!(share.contains("docs/sharing.md") && !share.contains("/etc/passwd"), "{share}");
    assert!(share.contains("frozen-after-approval") && !share.contains("in-review"), "{share}");
}

#[test]
fn statuses_boxes_and_records_do_not_change_the_plan() {
    let before = read(&receipts());
    let mut files = receipts();
    files[0].1 =
        BOARD.replace("1-2-find: ready-for-dev", "1-2-find: review").replace("2026-01-05", "2026-02-06");
    files[1].1 = FIND
        .replace("- [ ] Task", "- [x] Task")
        .replace("Status: ready-for-dev", "Status: review")
        .replace("A model", "Another");
    let after = read(&files);
    assert_eq!(before.reading().plan.hash(), after.reading().plan.hash());
    let done = |found: &dyn ReadPlan| found.reading().before.values().filter(|before| before.done).count();
    assert_eq!((done(&*before), done(&*after)), (0, 1));
}

#[test]
fn a_story_that_says_nothing_is_a_persons_however_far_it_is() {
    let plan = |status: &str| {
        let mut files = receipts();
        files[0].1 = BOARD.replace("1-2-find: ready-for-dev", &format!("1-2-find: {status}"));
        files[1].1 = format!("Status: {status}\n");
        read(&files)
    };
    let (open, done) = (plan("ready-for-dev"), plan("review"));
    assert_eq!(open.reading().plan.hash(), done.reading().plan.hash());
    let find = open.reading().plan.tasks.iter().find(|task| task.id.as_str() == "1-2-find");
    assert!(find.is_some_and(|task| task.by_person));
    assert!(shown(open.reading()).contains("the file of this story says nothing (left to a person)"));
}

#[test]
fn what_is_not_a_board_says_so() {
    for text in ["", "development_status:\n", "development_status: none\n", "a: b\n", "\u{feff}- x\n"] {
        let found = read(&[(PLACE, text.to_owned())]);
        assert!(!found.reading().is_usable(), "{text:?}");
    }
}

/// One file.
struct OneFile(&'static str, &'static str);

impl Disk for OneFile {
    fn is_file(&self, path: &str) -> bool {
        path == self.0
    }

    fn names(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        (path == self.0).then(|| self.1.as_bytes().to_vec())
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

#[test]
fn a_board_is_recognised_by_what_it_holds() {
    let disk = OneFile(PLACE, BOARD);
    let claim = |folder: &str, disk: &OneFile| BMAD.claims_folder(folder, disk).map(|claim| claim.file);
    assert_eq!(claim("_bmad-output", &disk).as_deref(), Some("implementation-artifacts/sprint-status.yaml"));
    assert_eq!(claim("_bmad-output/implementation-artifacts", &disk).as_deref(), Some("sprint-status.yaml"));
    assert_eq!(claim("docs", &disk), None);
    assert_eq!(BMAD.claims_file("sprint-status.yaml", PLACE, &disk), FileClaim::Yes);
    let other = OneFile(PLACE, "sprint: 3\n");
    assert_eq!(BMAD.claims_file("sprint-status.yaml", PLACE, &other), FileClaim::No);
    assert_eq!(claim("_bmad-output", &other), None);
}
