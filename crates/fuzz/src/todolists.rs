//! Todolists and the master list of them: whatever they hold, no task is lost, batches hold what they promise, and an
//! edit changes only what it should change.

use std::collections::{BTreeMap, HashMap, HashSet};

use piton_core::plan::About;
use piton_core::plan::{Plan, TaskId};
use piton_core::system::Strictness;
use piton_core::system::config::Config;
use piton_core::system::issue::plan::Word;
use piton_core::system::kit::checklist::{self, Mark};
use piton_core::system::kit::text;
use piton_core::system::rwkit::batches::LARGEST;
use piton_core::system::rwkit::boxes;
use piton_core::system::rwkit::master::{self, Standing};
use piton_core::system::rwkit::plan::{Given, RwkitReading, lint, read};

use crate::folders::{folder, shown_in_their_files};
use crate::names::safe_path;
use crate::plans::{can_be_told, point_inside, safe};
use crate::same;

pub(crate) const WORDS: &[&str] = &[
    "\n==> a-todolist.md <==\n",
    "\n==> a-plan.md <==\n",
    "\n==> master.md <==\n",
    "- [ ] T001 P1 US-001 Do it ",
    "- [x] T002 P2 ALL Do it ",
    "- [ ] T0E1 ",
    "- [ ] Task 1: ",
    "- [BLOCKED] T003 ",
    "  - [ ] step\n",
    "[agent: backend-architect] ",
    "[agent:a:b]",
    "[deps: none]",
    "[deps: T001]",
    "[deps: T001-T003]",
    "[deps: All US-001 tasks]",
    "[deps: Task 1]",
    "[files: app/[id]/page.tsx]",
    "[files: -]",
    "[files: a/, *.ts, b c]",
    "[size: XL]",
    "[deferred: x]",
    "[",
    "]",
    "US-001",
    "## User Story: US-001 Save\n",
    "### US-002: Print\n",
    "### Acceptance Criteria\n",
    "**Acceptance Criteria:**\n",
    "### Tasks\n",
    "## Definition of Done\n",
    "### Story Progress: 1/2\n",
    "- **Total Tasks:** 7\n",
    "## Progress Summary\n- Completed: 3\n",
    "## Execution Batches\n",
    "### Batch 0 - x\n",
    "| Task | Story | Deps | Files | Status |\n|---|---|---|---|---|\n",
    "| T001 | US-001 | none | a.ts | [ ] |\n",
    "| T0E2 | US-001 | All US-001 tasks | e2e.ts | done |\n",
    "| # | Module | Plan File | TodoList File | Status | Progress |\n|---|---|---|---|---|---|\n",
    "| 1 | A | a-plan.md | a-todolist.md | **pending** | 0% |\n",
    "## Execution Order\n",
    "1. [ ] **Module 1: A** (2 days)\n   - `plans/a-todolist.md`\n",
    "1. [x] a-todolist.md\n",
    "```\n",
    "<!-- ",
    " -->",
    "~~",
    "> ",
    " ✅",
    "\u{feff}",
    "\u{a0}",
    "\r\n",
];

/// A list with the plan it was made from, and a master list.
pub(crate) fn rwkit(bytes: &[u8]) {
    let folder = folder(bytes);
    let config = Config::default();
    let read_it = |strictness| {
        read(&folder, &Given { strictness, ..Given::new("a-todolist.md", "a-todolist.md", &config) })
    };
    let (found, again, strict) =
        (read_it(Strictness::Lenient), read_it(Strictness::Lenient), read_it(Strictness::Strict));
    let reading = &found.reading;
    assert_eq!(
        (&reading.plan, &reading.problems),
        (&again.reading.plan, &again.reading.problems),
        "reading twice"
    );
    assert_eq!(reading.plan, strict.reading.plan, "strictness changes what is allowed, not what is read");
    assert!(reading.is_usable() || !strict.reading.is_usable());
    shown_in_their_files(reading, &reading.problems);
    shown_in_their_files(reading, &same(|| lint(&found)));
    safe(&reading.plan);
    reading.plan.tasks.iter().flat_map(|task| &task.files).for_each(|path| safe_path(path.as_str()));
    reading.plan.tasks.iter().take(5).for_each(can_be_told);
    let about = serde_json::to_string(&found.about).expect("a list can be told");
    assert_eq!(serde_json::from_str::<About>(&about).ok().as_ref(), Some(&found.about));
    assert_eq!(
        (found.reading.before.len(), found.about.tasks.len()),
        (reading.plan.tasks.len(), reading.plan.tasks.len())
    );
    assert!(!reading.is_usable() || !reading.plan.tasks.is_empty());
    in_batches(&reading.plan, reading.is_usable());
    if let Some(bytes) = folder.files.get("a-todolist.md") {
        nothing_is_lost(&found);
        ticked(&found, bytes);
    }
    if let Some(bytes) = folder.files.get("master.md") {
        brought_up_to_date(bytes);
    }
}

fn in_batches(plan: &Plan, usable: bool) {
    let groups: HashMap<&TaskId, u32> = plan.tasks.iter().map(|task| (&task.id, task.group)).collect();
    assert_eq!(groups.len(), plan.tasks.len(), "ids are unique");
    let mut sizes = vec![0; plan.groups.len()];
    let mut written = HashSet::new();
    for task in &plan.tasks {
        sizes[task.group as usize] += 1;
        let files: HashSet<_> = task.files.iter().collect();
        assert!(
            files.into_iter().all(|file| written.insert((task.group, file))),
            "{} shares a file",
            task.id
        );
        assert!(
            !usable || task.depends_on.iter().all(|need| groups[need] < task.group),
            "{} comes too early",
            task.id
        );
    }
    assert!(sizes.iter().all(|size| (1..=LARGEST).contains(size)), "{sizes:?}");
}

/// A line that begins like a task is one.
fn nothing_is_lost(found: &RwkitReading) {
    let Some(source) = found.reading.texts.get(&found.file) else { return };
    let lines: HashSet<usize> = found.todolist.tasks.iter().map(|task| task.line).collect();
    for (nth, line, item) in checklist::scan(source).items() {
        if !item.struck && source[line.text.clone()].starts_with("T001 P1 US-001 Do it") {
            let in_batches =
                found.todolist.tasks.iter().any(|task| task.id.as_str().eq_ignore_ascii_case("T001"));
            assert!(lines.contains(&(nth + 1)) || in_batches, "line {} is lost", nth + 1);
        }
    }
}

/// Whatever is ticked is read as done, and the plan stays the same.
fn ticked(found: &RwkitReading, bytes: &[u8]) {
    let all: BTreeMap<TaskId, Word> =
        found.reading.before.keys().map(|id| (id.clone(), Word::Completed)).collect();
    let Some(new) = boxes::tick(bytes, &all) else { return };
    assert_eq!(new.missing, [], "every task is there");
    let again = boxes::tick(&new.bytes, &all).expect("what was ticked is a text");
    let odd = found.todolist.tasks.iter().any(|task| task.mark == Mark::Other);
    assert!(again.bytes == new.bytes || odd, "ticking twice is ticking once");
    same(|| boxes::ticked(bytes));
}

fn brought_up_to_date(bytes: &[u8]) {
    let decoded = text::decode(bytes);
    let found = same(|| master::read(&decoded.text));
    point_inside(&decoded.text, &found.problems);
    let lists: Vec<_> = found.entries.iter().filter_map(|entry| entry.list.clone()).collect();
    lists.iter().for_each(|list| safe_path(list.as_str()));
    point_inside(&decoded.text, &same(|| master::compare(&found, |_| Some((1, 2)))));
    let standing = Standing { status: Word::Completed, done: 2, total: 2 };
    for list in lists.iter().take(3) {
        let Some(new) = master::update(bytes, list.as_str(), standing) else { continue };
        let text = text::decode(&new).text;
        assert_eq!(text.lines().count(), decoded.text.lines().count());
        assert_eq!(
            master::update(&new, list.as_str(), standing).as_deref(),
            Some(&new[..]),
            "once is enough"
        );
    }
}
