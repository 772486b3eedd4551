//! Lists with boxes, and folders of issues: whatever they hold, no box is lost in silence, problems are shown at their
//! own bytes, and a tick changes a mark and nothing else.

use std::collections::BTreeMap;

use piton_core::plan::TaskId;
use piton_core::system::Strictness;
use piton_core::system::config::Config;
use piton_core::system::issue::plan::{Given, IssueReading, Word, lint, read};
use piton_core::system::kit::boxes;
use piton_core::system::kit::checklist::{self, Kind, Mark};
use piton_core::system::kit::mojibake;
use piton_core::system::kit::text;
use piton_core::toolchain;

use crate::folders::{folder, shown_in_their_files};
use crate::plans::{can_be_told, point_inside, safe};
use crate::same;

pub(crate) const WORDS: &[&str] = &[
    "\n==> tasks.md <==\n",
    "\n==> plan.md <==\n",
    "\n==> requirements.md <==\n",
    "\n==> design.md <==\n",
    "\n==> package.json <==\n",
    "- [ ] ",
    "- [x] ",
    "- [-] ",
    "- [~] ",
    "- [] ",
    "- [ ]* ",
    "  - [ ] ",
    "\t- [x] ",
    "1. [ ] ",
    "2) [X] ",
    "* [ ] ",
    "[ ] ",
    "1. ",
    "1.1 ",
    "1.1.1 ",
    "9. ",
    "T001 ",
    "1.f1 ",
    "**2.** ",
    "Task 3: ",
    "## Tasks\n",
    "### Phase 1: a\n",
    "### Requirement 1: a\n",
    "## Acceptance Criteria\n",
    "Checkpoint ",
    "_Requirements: 1.1-1.3_\n",
    "**Validates: Requirements 1.1**",
    "  - Depends on: 1.1\n",
    "  - Status: completed\n",
    "  - Files: `a.rs`\n",
    "  - `cargo test` passes\n",
    "```\n",
    "```sh\n",
    "~~~\n",
    "<!-- ",
    " -->",
    "~~",
    "> ",
    "| ",
    "---\n",
    " âœ…",
    " ✅",
    "(Skipped)",
    "\u{feff}",
    "\u{a0}",
    "\r\n",
    "{\"scripts\": {\"test\": \"x\"}}",
];

/// The lines of a text and its boxes.
pub(crate) fn list(bytes: &[u8]) {
    let decoded = text::decode(bytes);
    let source = &decoded.text;
    let list = same(|| checklist::scan(source));
    point_inside(source, &list.problems);
    assert_eq!(list.lines.len(), source.lines().count());
    for line in &list.lines {
        assert!(source.get(line.text.clone()).is_some() && source.get(line.at.clone()).is_some());
    }
    let items: Vec<_> = list.items().map(|(nth, _, item)| (nth, item.clone())).collect();
    let marks: Vec<_> = items.iter().map(|(_, item)| (item.place.clone(), Mark::Done)).collect();
    let is_wide = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    match checklist::tick(bytes, source, &marks) {
        Some(new) => {
            assert_eq!(
                checklist::tick(bytes, source, &[]).as_deref(),
                Some(bytes),
                "nothing ticked is nothing changed"
            );
            let again = checklist::scan(&text::decode(&new).text);
            assert_eq!(again.lines.len(), list.lines.len());
            for (nth, then) in items {
                let Kind::Item(now) = &again.lines[nth].kind else {
                    panic!("a box is gone in line {}", nth + 1)
                };
                assert!(now.mark == Mark::Done || then.mark == Mark::Other);
            }
        }
        None => assert!(is_wide || source.is_empty(), "a text can be ticked"),
    }
    let _ = same(|| mojibake::understood(source).into_owned());
}

/// A folder of an issue, with the root of its project in it.
pub(crate) fn issue(bytes: &[u8]) {
    let folder = folder(bytes);
    let (config, detected) = (Config::default(), same(|| toolchain::detect(&folder)));
    let read_it = |strictness| {
        let place = ".claude/plans/issue-7-x";
        read(&folder, &Given { detected: &detected, strictness, ..Given::new("issue-7-x", place, &config) })
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
    reading.plan.tasks.iter().take(5).for_each(can_be_told);
    assert_eq!(found.reading.before.len(), reading.plan.tasks.len());
    assert!(!reading.is_usable() || !reading.plan.tasks.is_empty());
    let mut order: Vec<_> =
        reading.plan.tasks.iter().map(|task| (task.group, task.priority, task.id.clone())).collect();
    order.sort();
    assert!(
        order.iter().map(|key| &key.2).eq(reading.plan.tasks.iter().map(|task| &task.id)),
        "in the file's order"
    );
    if let Some(bytes) = folder.files.get(found.list) {
        ticked(&found, bytes, &read_it(Strictness::Lenient));
    }
}

/// Whatever is ticked is read as done, and the plan stays the same.
fn ticked(found: &IssueReading, bytes: &[u8], before: &IssueReading) {
    let all: BTreeMap<TaskId, Word> =
        found.reading.before.keys().map(|id| (id.clone(), Word::Completed)).collect();
    let Some(new) = boxes::tick(bytes, &all) else { return };
    assert_eq!(new.missing, [], "every task has a box");
    let nodes = &before.outline.nodes;
    let other = nodes.iter().filter(|node| node.mark == Mark::Other).count();
    let again = boxes::tick(&new.bytes, &all).expect("what was ticked is a text");
    assert!(again.bytes == new.bytes || other > 0, "ticking twice is ticking once");
}
