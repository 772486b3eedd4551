//! Plans of other tools that are several files: whatever these hold, problems are shown at their own bytes, tasks keep their
//! names, and what is written for a task changes marks and words and nothing else.

use std::collections::{BTreeMap, HashSet};

use piton_core::plan::Graph;
use piton_core::system::config::Config;
use piton_core::system::{Folder, Given, Reading, SystemRef, named};

use crate::folders::{folder, shown_in_their_files};
use crate::names::safe_path;
use crate::plans::{can_be_told, safe};

pub(crate) const GSD: &[&str] = &[
    "\n==> phases/01-a/01-01-PLAN.md <==\n",
    "\n==> phases/01-a/01-02-PLAN.md <==\n",
    "\n==> phases/02.1-b/plans/PLAN-01.md <==\n",
    "\n==> phases/01-a/01-01-SUMMARY.md <==\n",
    "\n==> phases/01-a/01-CONTEXT.md <==\n",
    "- [ ] 01-01-PLAN.md — x\n",
    "- [x] 01-02: x\n",
    "- [ ] **Phase 1: A** - x\n",
    "- [ ] ~~**Phase 2.1: B**~~\n",
    "### Phase 1: A\n",
    "**Goal**: x\n",
    "**Success Criteria** (what must be TRUE):\n",
    "  1. x\n",
    "---\n",
    "wave: 2\n",
    "depends_on: [\"01\", 01-02]\n",
    "files_modified:\n  - src/a.rs\n",
    "must_haves:\n  truths:\n    - \"x\"\n",
    "status: superseded\n",
    "<objective>\n",
    "</objective>\n",
    "<task type=\"auto\">\n",
    "<task type=\"checkpoint:decision\">\n",
    "</task>\n",
    "<verify>",
    "</verify>\n",
    "<automated>cargo test</automated>",
    "<done>x</done>",
    "<output>\n",
    "\u{feff}",
    "\r\n",
    "```\n",
];

pub(crate) const BMAD: &[&str] = &[
    "\n==> 1-1-a.md <==\n",
    "\n==> stories/1-2-b.md <==\n",
    "\n==> spec-2-1-c.md <==\n",
    "development_status:\n",
    "  epic-1: backlog\n",
    "  1-1-a: ready-for-dev\n",
    "  1-2-b: \"done\" # x\n",
    "  2-1-c: review\n",
    "  2-1-c:\n",
    "last_updated: 2026-01-05\n",
    "project: x\n",
    "# Story 1.1: A\n",
    "Status: ready-for-dev\n",
    "## Status\n",
    "## Tasks / Subtasks\n",
    "- [ ] Task 1: `src/a.rs`\n",
    "  - [x] 1.1 x\n",
    "## Acceptance Criteria\n",
    "1. x\n",
    "## Dev Agent Record\n",
    "## Verification\n",
    "- `cargo test` -- x\n",
    "---\n",
    "status: draft\n",
    "context: [a.md]\n",
    "\u{feff}",
    "\r\n",
];

pub(crate) const BMAD_V4: &[&str] = &[
    "\n==> 1.1.a.md <==\n",
    "\n==> story-1.2.md <==\n",
    "\n==> 1.2.b.md <==\n",
    "\n==> 2.10 c.md <==\n",
    "# Story 1.1: A\n",
    "## Status\n",
    "Approved\n",
    "**Draft**\n",
    "Ready for Review\n",
    "Done\n",
    "InProgress\n",
    "blocked\n",
    "Status: Approved\n",
    "## Acceptance Criteria\n",
    "1. x\n",
    "## Tasks / Subtasks\n",
    "- [ ] Task 1: `src/a.rs`\n",
    "  - [x] x\n",
    "## Dev Agent Record\n",
    "## QA Results\n",
    "---\n",
    "status: done\n",
    "\u{feff}",
    "\r\n",
    "```\n",
];

pub(crate) const BMAD_STORIES: &[&str] = &[
    "\n==> stories.yaml <==\n",
    "\n==> SPEC.md <==\n",
    "\n==> stories/1-a.md <==\n",
    "\n==> stories/1-b.md <==\n",
    "\n==> stories/2-1-c.md <==\n",
    "- id: \"1\"\n",
    "- id: 2-1\n",
    "- id: '2'\n",
    "-\n",
    "  title: A\n",
    "- title: \"B: c\"\n",
    "  description: >-\n    x\n    y\n\n    z\n",
    "  description: |\n    - x\n      # y\n",
    "  description: x\n    y: z\n",
    "  spec_checkpoint: true\n",
    "  done_checkpoint: yes\n",
    "  done_checkpoint: false\n",
    "  invoke_dev_with: \"Use x\"\n",
    "  depends_on: [\"1\", 2]\n",
    "  depends_on:\n  - 1.done\n",
    "  status: done\n",
    "  priority: 1\n",
    "---\n",
    "status: ready-for-dev\n",
    "status: 'in-review'\n",
    "status: done # x\n",
    "status: blocked\n",
    "status: draft\n",
    "title: 'A'\n",
    "context: ['{project-root}/a.md']\n",
    "companions:\n  - stories/1-a.md\n  - ../../../x.md\n",
    "## Tasks & Acceptance\n",
    "- [ ] `src/a.rs` -- x\n",
    "## Verification\n",
    "- `cargo test` -- x\n",
    "## Auto Run Result\n",
    "\u{feff}",
    "\r\n",
    "\t",
];

pub(crate) const BACKLOG: &[&str] = &[
    "\n==> tasks/task-1 - A.md <==\n",
    "\n==> tasks/task-1.1 - B.md <==\n",
    "\n==> tasks/TASK-02 - C.md <==\n",
    "\n==> completed/task-3 - D.md <==\n",
    "project_name: x\nstatuses: [\"To Do\", Doing, Done]\n",
    "default_status: Doing\n",
    "definition_of_done:\n  - \"`cargo test`\"\n",
    "---\n",
    "id: task-1\n",
    "title: 'A: b'\n",
    "status: To Do\n",
    "status: \"Done\"\n",
    "dependencies: [task-1, 2, TASK-3]\n",
    "parent_task_id: task-1\n",
    "updated_date: '2026-01-05 10:20'\n",
    "milestone: m\n",
    "priority: high\n",
    "ordinal: 0.5\n",
    "references:\n  - src/a.rs\n  - https://x\n",
    "onStatusChange: 'rm -rf .'\n",
    "## Acceptance Criteria\n<!-- AC:BEGIN -->\n",
    "<!-- AC:END -->\n",
    "- [ ] #1 x\n",
    "- [x] y\n",
    "## Definition of Done\n",
    "\u{feff}",
    "\r\n",
];

pub(crate) fn gsd(bytes: &[u8]) {
    read(bytes, "gsd", ".planning", "ROADMAP.md");
}

pub(crate) fn bmad(bytes: &[u8]) {
    read(bytes, "bmad", "_bmad-output/implementation-artifacts", "sprint-status.yaml");
}

pub(crate) fn bmad_v4(bytes: &[u8]) {
    let files = folder(bytes).files;
    holds(named("bmad-v4").expect("it is in the table"), "", ("stories", "docs/stories"), Folder { files });
}

pub(crate) fn bmad_stories(bytes: &[u8]) {
    read(bytes, "bmad-stories", "_bmad-output/specs/spec-a", "stories.yaml");
}

pub(crate) fn backlog(bytes: &[u8]) {
    read(bytes, "backlog", "backlog", "config.yml");
}

/// The first file is the plan; the others are named below its folder.
fn read(bytes: &[u8], system: &str, home: &str, plan: &str) {
    let system = named(system).expect("it is in the table");
    let mut files: BTreeMap<String, Vec<u8>> = folder(bytes).files.into_iter().collect();
    let own = files.remove(plan).unwrap_or_default();
    let place = format!("{home}/{plan}");
    let mut folder =
        Folder { files: files.into_iter().map(|(name, bytes)| (format!("{home}/{name}"), bytes)).collect() };
    folder.files.insert(place.clone(), own);
    holds(system, home, (plan, &place), folder);
}

/// `home`: what the names of the files begin with. `name` and `place` are those of the plan.
fn holds(system: SystemRef, home: &str, (name, place): (&str, &str), mut folder: Folder) {
    let config = Config::default();
    let given = Given::new(name, place, &config);
    let reading = |folder: &Folder| -> Reading { system.read(folder, &given).reading().clone() };
    let (before, again) = (reading(&folder), reading(&folder));
    assert_eq!((&before.plan, &before.problems), (&again.plan, &again.problems), "reading twice");
    shown_in_their_files(&before, &before.problems);
    safe(&before.plan);
    before.plan.tasks.iter().flat_map(|task| &task.files).for_each(|path| safe_path(path.as_str()));
    before.plan.tasks.iter().take(5).for_each(can_be_told);
    let ids: HashSet<String> = before.plan.tasks.iter().map(|task| task.id.folded()).collect();
    assert_eq!(ids.len(), before.plan.tasks.len(), "ids are unique");
    assert!(!before.is_usable() || Graph::new(&before.plan.tasks).is_ok(), "what is used has no circle");
    written(system, home, place, &mut folder);
    let after = reading(&folder);
    assert_eq!(before.plan.hash(), after.plan.hash(), "whatever is open or done, the plan is the same");
}

/// What is written changes marks and words; the plan stays the same.
fn written(system: SystemRef, home: &str, place: &str, folder: &mut Folder) {
    let names: Vec<String> = folder.files.keys().cloned().collect();
    let list = |below: &str| {
        let inside = format!("{home}/{below}/").replace("//", "/");
        let inside = inside.trim_start_matches('/');
        let mut found: Vec<String> = names
            .iter()
            .filter_map(|name| name.strip_prefix(inside)?.split('/').next().map(str::to_owned))
            .collect();
        found.dedup();
        found
    };
    let plan = folder.files.get(place).cloned().unwrap_or_default();
    let below = system.companions_below(&plan, &list);
    let all = below.iter().map(AsRef::as_ref).chain(system.companions(&|_| true));
    for companion in all {
        let path = companion.name().map_or_else(
            || place.to_owned(),
            |name| format!("{home}/{name}").trim_start_matches('/').to_owned(),
        );
        let Some(bytes) = folder.files.get(&path) else { continue };
        let Some(opened) = companion.opened(bytes) else { continue };
        assert!(companion.holds(&opened, bytes), "only marks differ");
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines(&opened), lines(bytes));
        assert!(companion.opened(&opened).is_none(), "opening twice is opening once");
        folder.files.insert(path, opened);
    }
}
