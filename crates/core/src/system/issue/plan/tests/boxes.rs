//! Ticking boxes in place.

use std::collections::BTreeMap;

use super::*;
use crate::system::kit::boxes::{bare, tick};

fn ticked(text: &str, done: &[(&str, bool)]) -> (String, Vec<String>) {
    let word = |done| if done { Word::Completed } else { Word::Pending };
    worded(text, &done.iter().map(|(id, done)| (*id, word(*done))).collect::<Vec<_>>())
}

fn worded(text: &str, stand: &[(&str, Word)]) -> (String, Vec<String>) {
    let stand: BTreeMap<TaskId, Word> =
        stand.iter().map(|(id, word)| (TaskId::new(id).expect("an id"), *word)).collect();
    let ticked = tick(text.as_bytes(), &stand).expect("a text");
    let missing = ticked.missing.iter().map(ToString::to_string).collect();
    (String::from_utf8(ticked.bytes).expect("text"), missing)
}

#[test]
fn a_task_its_steps_and_its_parent_are_ticked() {
    let text = "\u{feff}- [ ] 1. a\r\n  - [ ] 1.1 b\r\n    - [ ] step\r\n    - [ ]* extra\r\n  - [ ]* 1.2 c\r\n- [-] 2. d";
    assert_eq!(
        ticked(text, &[("1.1", true)]).0,
        "\u{feff}- [x] 1. a\r\n  - [x] 1.1 b\r\n    - [x] step\r\n    - [ ]* extra\r\n  - [ ]* 1.2 c\r\n- [-] 2. d"
    );
    assert_eq!(ticked(text, &[("2", false)]).0, text, "an unusual mark that is not done stays");
    assert_eq!(ticked(text, &[("2", true), ("1", true), ("8", true)]).1, ["1", "8"], "a parent is no task");
}

#[test]
fn what_is_not_done_any_more_is_opened_with_its_parents() {
    let text = "- [x] 1. a\n  - [x] 1.1 b\n    - [x] 1.1.1 c\n  - [x] 1.2 d\n";
    assert_eq!(
        ticked(text, &[("1.1.1", false)]).0,
        "- [ ] 1. a\n  - [ ] 1.1 b\n    - [ ] 1.1.1 c\n  - [x] 1.2 d\n"
    );
    assert_eq!(ticked(text, &[]).0, text);
}

#[test]
fn a_file_that_changed_meanwhile_is_read_anew() {
    let text = "# New heading\n\n- [ ] 3. new\n- [ ] 1. a\n- [ ] 9. x\n- [ ] 9. y\n";
    assert_eq!(
        ticked(text, &[("1", true), ("9@L6", true)]).0,
        "# New heading\n\n- [ ] 3. new\n- [x] 1. a\n- [ ] 9. x\n- [x] 9. y\n"
    );
    assert_eq!(tick(b"\xff\xfe-\0", &BTreeMap::new()), None, "UTF-16 is not written");
}

#[test]
fn a_word_that_says_a_status_changes_with_its_box() {
    let text = "\u{feff}- [ ] 1. a\r\n  - Status: pending\r\n  - Notes: not done yet\r\n- [ ] 2. b\r\n  - **Status**: ⏳ Not Started (soon)\r\n- [ ] 3. c\r\n  - Status: halfway";
    assert_eq!(
        ticked(text, &[("1", true), ("2", true), ("3", true)]).0,
        "\u{feff}- [x] 1. a\r\n  - Status: completed\r\n  - Notes: not done yet\r\n- [x] 2. b\r\n  - **Status**: ✅ Completed (soon)\r\n- [x] 3. c\r\n  - Status: completed"
    );
    let each = [("1", Word::InProgress), ("2", Word::InProgress), ("3", Word::Blocked)];
    assert_eq!(
        worded(text, &each).0,
        "\u{feff}- [ ] 1. a\r\n  - Status: in_progress\r\n  - Notes: not done yet\r\n- [ ] 2. b\r\n  - **Status**: 🔄 In Progress (soon)\r\n- [ ] 3. c\r\n  - Status: blocked"
    );
    assert_eq!(ticked(text, &[("1", false), ("2", false), ("3", false)]).0, text, "what says more stays");
    let odd = "- [ ] 1. a\n  - Status: halfway\n- [x] 2. b\n  - Status: completed\n";
    assert_eq!(ticked(odd, &[("2", false)]).0, odd.replace("[x]", "[ ]").replace("completed", "pending"));
    let all = worded(text, &each).0;
    assert_eq!(bare(all.as_bytes()), bare(text.as_bytes()));
    assert_ne!(bare(all.replace("soon", "later").as_bytes()), bare(text.as_bytes()));
}

#[test]
fn a_list_has_its_own_words() {
    let text =
        "- [x] 1. a\n  - Status: DONE!\n- [ ] 2. b\n  - Status: todo\n- [ ] 3. c\n  - Status: failed twice\n";
    assert_eq!(
        worded(text, &[("2", Word::Completed), ("3", Word::Blocked)]).0,
        "- [x] 1. a\n  - Status: DONE!\n- [x] 2. b\n  - Status: DONE\n- [ ] 3. c\n  - Status: failed twice\n"
    );
    assert_eq!(
        ticked(text, &[("1", false)]).0,
        "- [ ] 1. a\n  - Status: todo!\n- [ ] 2. b\n  - Status: todo\n- [ ] 3. c\n  - Status: failed twice\n"
    );
}

const HEADINGS: &str = "# Plan\n\n## Payments\n\n### PAY-001: Take money ✅\n\n- **Status**: [ ] Not Started\n- Files: `pay.rs`\n- [ ] cards\n\n### Task 1.2: Give it back\n\nWith thanks.\n\n- [x] cards\n- [ ] cash\n";

#[test]
fn the_box_of_a_heading_is_ticked_with_its_steps_and_its_word() {
    let new = ticked(HEADINGS, &[("PAY-001", true), ("1.2", true)]).0;
    let all = HEADINGS.replace("[ ] Not Started", "[x] Completed").replace("[ ]", "[x]");
    assert_eq!(new, all);
    assert_eq!(ticked(&new, &[("PAY-001", true), ("1.2", true)]).0, new);
    // A heading that has no box but its steps' is opened with them; else they stay.
    let open = all.replace("[x] Completed", "[ ] Pending").replace("[x] cash", "[ ] cash");
    let (before, after) = open.split_once("### Task 1.2").expect("both");
    let after = after.replace("[x]", "[ ]");
    assert_eq!(ticked(&new, &[("PAY-001", false), ("1.2", false)]).0, format!("{before}### Task 1.2{after}"));
    assert_eq!(ticked(HEADINGS, &[("PAY-001", false), ("1.2", false)]).0, HEADINGS);
}

#[test]
fn headings_that_name_tasks_are_tasks_and_strictly_none() {
    let read = reading(&alone(HEADINGS));
    assert_eq!(
        tree(&read),
        ["task PAY-001", "step PAY-001#1 < PAY-001", "task 1.2", "step 1.2#1 < 1.2 x", "step 1.2#2 < 1.2"]
    );
    let plan = &read.reading.plan;
    assert_eq!(plan.groups.iter().map(|group| group.title.as_str()).collect::<Vec<_>>(), ["Payments"]);
    assert_eq!(plan.tasks[0].title, "Take money");
    assert!(plan.tasks[1].prompt.contains("With thanks.\n\n- cards\n- cash"), "{}", plan.tasks[1].prompt);
    assert_eq!(
        told(&read),
        "tasks.md:5:5: warning: this heading is read as a task (write it like `- [ ] PAY-001 …`)\n\
         tasks.md:11:5: warning: this heading is read as a task (write it like `- [ ] 1.2 …`)\n"
    );
    assert!(
        !reading_with(&alone(HEADINGS), "issue-7-x", &Config::default(), Strictness::Strict)
            .reading
            .is_usable()
    );
    let done = HEADINGS.replace("[ ] Not Started", "[x] Completed (today)").replace("- [ ] c", "- [x] c");
    let read = reading(&alone(&done));
    assert!(read.reading.before.values().all(|before| before.done), "{}", told(&read));
    // Numbers below it, or nothing to tick, and it is a heading.
    let others = "### Task 1: a\n- [ ] 1.1 b\n### PAY-002: c\n\nWords.\n### 3. d\n- [ ] 3.1 e\n### Step 4: f\n- [ ] 4.1 g\n";
    assert_eq!(tree(&reading(&alone(others))), ["task 1.1", "task 3.1", "task 4.1"]);
}
