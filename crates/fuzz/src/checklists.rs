//! Lists with boxes of other tools: whatever they hold, reading them comes to a plan that can run, and ticking changes
//! marks only.

use piton_core::plan::Graph;
use piton_core::system::config::Config;
use piton_core::system::{Folder, Given, SystemRef, named};

use crate::folders::shown_in_their_files;
use crate::names::safe_path;
use crate::plans::{can_be_told, safe};

pub(crate) const WORDS: &[&str] = &[
    "- [ ] ",
    "- [x] ",
    "* [X] ",
    "  - [ ] step\n",
    "- [-] ",
    "- [~] ",
    "- [] ",
    "- [P] ",
    "1. [ ] ",
    "17. **T032**: [x] ",
    "T001 ",
    "**T002** [P] [US1] ",
    "T-HF04 ",
    "T028.1 ",
    "(depends on T001, T003-T009)",
    "(depends on T001-T999999999)",
    "T001 blocks T002, T003\n",
    "Tests (T001-T005) before code (T002-T009)\n",
    "Depends on: T001\n",
    "after #1, blocked by API-2\n",
    "## Phase 1: Setup\n",
    "## Phase 2: User Story 1 (Priority: P1)\n",
    "### Tests for User Story 1\n",
    "## Dependencies\n",
    "## Acceptance Criteria\n",
    "## Ideas\n",
    "**Independent Test**: x\n",
    "### T001 [P] Do ✅\n",
    "| T001 | Do it | good |\n",
    "Run `npm test`",
    "Write a failing test",
    "Commit changes",
    "Ask the team",
    "`src/a.rs:12`",
    "`/home/a/b.rs`",
    "[FEATURE NAME]",
    "~~",
    "```\n",
    "<!--",
    "-->",
    "\r\n",
    "\u{feff}",
];

pub(crate) fn todo(bytes: &[u8]) {
    list("todo", "TODO.md", bytes);
}

pub(crate) fn speckit(bytes: &[u8]) {
    list("speckit", "specs/001-a/tasks.md", bytes);
}

fn list(system: &str, place: &str, bytes: &[u8]) {
    let system = named(system).expect("a row");
    let config = Config::default();
    let name = place.rsplit('/').next().unwrap_or(place);
    let read = |bytes: &[u8]| {
        let folder = Folder { files: [(place.to_owned(), bytes.to_vec())].into() };
        system.read(&folder, &Given::new(name, place, &config))
    };
    let (found, again) = (read(bytes), read(bytes));
    let reading = found.reading();
    assert_eq!((&reading.plan, &reading.problems), (&again.reading().plan, &again.reading().problems));
    shown_in_their_files(reading, &reading.problems);
    safe(&reading.plan);
    reading.plan.tasks.iter().flat_map(|task| &task.files).for_each(|path| safe_path(path.as_str()));
    reading.plan.tasks.iter().take(5).for_each(can_be_told);
    assert!(!reading.is_usable() || !reading.plan.tasks.is_empty());
    assert!(Graph::new(&reading.plan.tasks).is_ok(), "nobody waits in a circle");
    let edges: usize = reading.plan.tasks.iter().map(|task| task.depends_on.len()).sum();
    assert!(edges < 1_000_000, "{edges} dependencies");
    ticked(system, bytes);
}

/// Opening the ticks changes marks, and neither adds nor loses a line.
fn ticked(system: SystemRef, bytes: &[u8]) {
    for companion in system.companions(&|_| true) {
        let Some(list) = companion.opened(bytes) else { continue };
        assert!(companion.holds(&list, bytes), "only marks differ");
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines(&list), lines(bytes));
        assert!(companion.opened(&list).is_none(), "opening twice is opening once");
    }
}
