//! Lists of OpenSpec and of Kiro: whatever they hold, problems are shown at their own bytes, tasks keep their names, and
//! a tick changes marks and nothing else.

use std::collections::BTreeMap;

use piton_core::plan::{Graph, TaskId};
use piton_core::system::config::Config;
use piton_core::system::issue::plan::Word;
use piton_core::system::kit::checklist;
use piton_core::system::kit::text;
use piton_core::system::state_files::TickedList;
use piton_core::system::{Folder, Given, Reading, SystemRef, kiro, openspec};

use crate::folders::{folder, shown_in_their_files};
use crate::plans::{can_be_told, safe};
use crate::same;

const CHANGE: &str = "openspec/changes/a/";
const SPEC: &str = ".kiro/specs/a/";

pub(crate) const WORDS: &[&str] = &[
    "\n==> tasks.md <==\n",
    "\n==> proposal.md <==\n",
    "\n==> specs/x/spec.md <==\n",
    "\n==> .openspec.yaml <==\nschema: mine\n",
    "\n==> requirements.md <==\n",
    "\n==> bugfix.md <==\n",
    "\n==> spec.json <==\n",
    "- [ ] ",
    "- [x] ",
    "- [X] ",
    "- [-] ",
    "- [~] ",
    "- [] ",
    "- [ ]* ",
    "- [ ]\\* ",
    "  - [ ] ",
    "\t- [x] ",
    "* [ ] ",
    "1. ",
    "1.1 ",
    "1.1.1 ",
    "2. ",
    "2.1 ",
    "7.9* ",
    "2a.1 ",
    "TASK-001: 1.1 ",
    "**Task 1.2**: ",
    "(P) ",
    "[GAP] ",
    "Checkpoint ",
    "Red: ",
    "Run `cargo test`",
    "`src/a.rs`",
    "## 1. Part\n",
    "### 1.1 Task\n",
    "## Task 3: Task\n",
    "## Acceptance Criteria\n",
    "## ADDED Requirements\n",
    "### Requirement 1: Name\n",
    "#### Scenario: Name\n",
    "1. WHEN a THEN b\n",
    "  - _Requirements: 1.1-1.3, 2_\n",
    "  - _Depends: 1.1, 1_\n",
    "**Validates: Requirements 1.1**\n",
    "```json\n{\"waves\":[[\"1.1\"],[\"2.1\"]]}\n```\n",
    "{\"waves\":[{\"id\":0,\"tasks\":[\"1.1\"]}]}",
    "{\"approvals\":{\"tasks\":{\"approved\":false}}}",
    "---\ninclusion: fileMatch\nfileMatchPattern: \"*.rs\"\n---\n",
    "```\n",
    "~~~\n",
    "<!-- ",
    " -->",
    "~~",
    "> ",
    "| ",
    " ✅",
    "\u{feff}",
    "\r\n",
];

pub(crate) fn openspec(bytes: &[u8]) {
    read(bytes, CHANGE, &openspec::OpenSpec, &openspec::TASKS);
}

pub(crate) fn kiro(bytes: &[u8]) {
    read(bytes, SPEC, &kiro::Kiro, &kiro::TASKS);
}

fn read(bytes: &[u8], place: &str, system: SystemRef, ticks: &TickedList) {
    // Files are named from the root of a project.
    let files = folder(bytes).files.into_iter().map(|(name, bytes)| (format!("{place}{name}"), bytes));
    let mut folder = Folder { files: files.collect() };
    let list = format!("{place}tasks.md");
    let bytes = folder.files.entry(list.clone()).or_default().clone();
    let config = Config::default();
    let given = Given::new("tasks.md", &list, &config);
    let reading = |folder: &Folder| -> Reading { system.read(folder, &given).reading().clone() };
    let (before, again) = (reading(&folder), reading(&folder));
    assert_eq!((&before.plan, &before.problems), (&again.plan, &again.problems), "reading twice");
    shown_in_their_files(&before, &before.problems);
    safe(&before.plan);
    before.plan.tasks.iter().take(5).for_each(can_be_told);
    assert_eq!(before.before.len(), before.plan.tasks.len());
    assert!(!before.is_usable() || !before.plan.tasks.is_empty());
    assert!(!before.is_usable() || Graph::new(&before.plan.tasks).is_ok(), "no task waits for itself");
    let claims = same(|| (ticks.ticked)(&bytes));
    for (id, before) in &before.before {
        let is_claimed = claims.get(id).is_some_and(Option::is_none);
        assert!(before.done == is_claimed || before.is_branch, "{id}: reader and writer see the same ticks");
    }
    let all: BTreeMap<TaskId, Word> = before.before.keys().map(|id| (id.clone(), Word::Completed)).collect();
    let Some(new) = (ticks.tick)(&bytes, &all) else { return };
    assert_eq!(new.missing, [], "every task has a box");
    assert_eq!((ticks.tick)(&bytes, &BTreeMap::new()).map(|same| same.bytes), Some(bytes.clone()));
    assert_eq!(
        (ticks.tick)(&new.bytes, &all).map(|same| same.bytes).as_ref(),
        Some(&new.bytes),
        "ticking twice"
    );
    assert!((ticks.holds)(&new.bytes, &bytes), "nothing but marks has changed");
    folder.files.insert(list.clone(), new.bytes.clone());
    let after = reading(&folder);
    let names = |reading: &Reading| -> Vec<TaskId> {
        reading.plan.tasks.iter().map(|task| task.id.clone()).collect()
    };
    assert_eq!(names(&before), names(&after), "ids stay");
    let decoded = text::decode(&bytes).text;
    let is_odd = checklist::scan(&decoded).items().any(|(_, _, item)| item.mark == checklist::Mark::Other);
    assert!(is_odd || after.before.values().all(|before| before.done), "what is ticked is read as done");
}
