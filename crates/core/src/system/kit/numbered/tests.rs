//! Lists as they are found, what their boxes are, and what is written into them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::system::kit::checklist;
use crate::system::kit::outline::Word;
use crate::system::kit::text;

fn read(text: &str, depth: Depth) -> (NumberedList, Vec<String>) {
    let list = checklist::scan(text);
    let mut found = Problems::default();
    let read = NumberedList::read(&list, text, depth, &mut found);
    let problems = found.finish();
    for problem in &problems {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?}");
    }
    (read, problems.into_iter().map(|problem| format!("{}: {}", problem.message, problem.label)).collect())
}

/// Each box in a line, and what was said about the list.
fn drawn(text: &str, depth: Depth) -> String {
    let (read, problems) = read(text, depth);
    let done = read.done();
    let mut out = String::new();
    for (nth, one) in read.boxes.iter().enumerate() {
        let id = one.id.as_ref().map_or("", TaskId::as_str);
        let star = if one.optional { " *" } else { "" };
        let struck = if one.dropped { " dropped" } else { "" };
        let done = if done[nth] { " done" } else { "" };
        let above = one.parent.map_or(String::new(), |above| format!(" < {}", read.boxes[above].title));
        writeln!(out, "{:?} {id} | {}{star}{struck}{done}{above}", one.part, one.title).expect("a string");
    }
    problems.iter().for_each(|problem| writeln!(out, "! {problem}").expect("a string"));
    out
}

const KIRO: &str = "\
# Implementation Plan

- [x] 1. Set up the project
- [ ] 2. Build importer
  - [x] 2.1 Parse the header
    - detail
    - _Requirements: 1.2_
  - [ ]* 2.2 Write property test
  - [-] 2.3 Read rows
- [ ] 3. Flat
- [ ] 3.1 First of it
  - [ ] one step
  - [x] another
- [x] 3.2 Second of it
- [ ] 4. Checkpoint
";

#[test]
fn numbers_make_the_tree_whatever_the_indentation() {
    assert_snapshot!(drawn(KIRO, Depth::Leaves), @r"
    Task 1 | Set up the project done
    Parent 2 | Build importer
    Task 2.1 | Parse the header done < Build importer
    Task 2.2 | Write property test * < Build importer
    Task 2.3 | Read rows < Build importer
    Parent 3 | Flat
    Task 3.1 | First of it < Flat
    Step  | one step < First of it
    Step  | another done < First of it
    Task 3.2 | Second of it done < Flat
    Task 4 | Checkpoint
    ");
}

#[test]
fn longer_numbers_are_steps_where_two_parts_make_a_task() {
    let text = "## 1. Storage\n\n- [ ] 1.1 Add table\n  - [ ] 1.1.1 Columns\n  - [ ] index\n- [ ] 1.2 Fill it\n- [ ] 1.2.1 Rows\n\n\
                ## 2. Page\n- [ ] Show it\n- [ ] TASK-003: 2.2 Link it\n  - [ ] 2.3 Wrongly indented\n- [ ] A.1 Odd\n- [ ] A2.1 Even\n";
    assert_snapshot!(drawn(text, Depth::Two), @r"
    Task 1.1 | Add table
    Step  | Columns < Add table
    Step  | index < Add table
    Task 1.2 | Fill it
    Step  | Rows < Fill it
    Task show-it | Show it
    Task 2.2 | Link it
    Task 2.3 | Wrongly indented
    Task a-1-odd | A.1 Odd
    Task A2.1 | Even
    ");
}

#[test]
fn what_has_no_number_of_its_own_gets_an_id_of_its_words() {
    let text = "## A\n- [ ] Add **it** now\n- [ ] Add it now\n- [ ] 数据库\n- [ ] 文档\n## B\n- [ ] Add it now\n- [ ] 1. One\n  - [ ] 1. a\n  - [ ] 2. b\n- [ ] 2. Two\n   - [ ] 3. Three\n";
    assert_snapshot!("unnumbered", drawn(text, Depth::Leaves));
}

#[test]
fn a_second_list_in_a_file_has_its_heading_before_its_numbers() {
    let text = "## First\n- [ ] 1. A\n  - [ ] 1.1 B\n- [ ] 2. C\n## Second\n- [ ] 1. D\n  - [ ] 1.1 E\n- [ ] 2. F\n- [ ] 2. G\n- [ ] 2. H\n";
    assert_snapshot!(drawn(text, Depth::Leaves), @r"
    Parent 1 | A
    Task 1.1 | B < A
    Task 2 | C
    Parent second-1 | D
    Task second-1.1 | E < D
    Task second-2 | F
    Task second-2-2 | G
    Task second-2-3 | H
    ! the number `1` is used twice: called `second-1` here
    ! the number `1.1` is used twice: called `second-1.1` here
    ! the number `2` is used twice: called `second-2` here
    ! the number `2` is used twice: called `second-2-2` here
    ! the number `2` is used twice: called `second-2-3` here
    ");
}

#[test]
fn headings_stand_for_boxes_without_numbers() {
    let text = "## Phase\n### 1.1 Parse\n- [x] one\n- [ ] two\n### 1.2 Write\n- [x] three\n## Task 3: Ship\n- [ ] four\n## 4. Group\n- [ ] five\n";
    assert_snapshot!(drawn(text, Depth::Two), @r"
    Task 1.1 | Parse
    Step  | one done < Parse
    Step  | two < Parse
    Task 1.2 | Write done
    Step  | three done < Write
    Task 3 | Ship
    Step  | four < Ship
    Task five | five
    ");
}

#[test]
fn boxes_about_criteria_and_labels_are_not_tasks() {
    let text = "- [P] tasks = different files\n- [ ] 1.1 Do it\n## Validation Criteria\n- [ ] It works\n- [x] It is fast\n- [ ] 5.1 A task anyway\n## 验收标准\n- [ ] 可用\n";
    assert_snapshot!(drawn(text, Depth::Two), @r"
    Task 1.1 | Do it
    Criterion  | It works
    Criterion  | It is fast done
    Task 5.1 | A task anyway
    Criterion  | 可用
    ! this is read as the explanation of a label: not a task
    ! boxes in this part of the file say when all is done: not tasks; nor are those below it
    ");
}

#[test]
fn boxes_that_disagree_with_those_below_them_are_shown() {
    let text = "- [x] 1. A\n  - [ ] 1.1 B\n- [ ] 2. C\n  - [x] 2.1 D\n  - [ ]* 2.2 E\n- [x] 3.1 F\n  - [ ] step\n- [ ] 11. G\n  - [ ] 8.2 H\n- ~~[ ] 9.9 I~~\n";
    assert_snapshot!(drawn(text, Depth::Leaves), @r"
    Parent 1 | A
    Task 1.1 | B < A
    Parent 2 | C done
    Task 2.1 | D done < C
    Task 2.2 | E * < C
    Task 3.1 | F
    Step  | step < F
    Parent 11 | G
    Task 8.2 | H < G
    Task 9.9 | I dropped
    ! this box is ticked, but one below it is not: those below it decide
    ! this box is open, but all below it are ticked: those below it decide
    ! this box is ticked, but one of its steps is not: not done
    ! `8.2` is below `11`: its place decides, not its number
    ");
}

#[test]
fn the_words_of_a_task_are_its_lines_without_marks() {
    let text = "- [ ] 1.1 Name\n  wrapped\n\n  - detail\n    - [x] step\n\n    ```\n    code\n    ```\n\nbeside\n- [ ] 1.2 Other\n";
    let list = checklist::scan(text);
    let (read, _) = read(text, Depth::Two);
    assert_eq!(read.boxes[0].words(&list, text), "wrapped\n\n- detail\n  - step\n\n  ```\n  code\n  ```");
}

fn stand(ids: &[&str], word: Word) -> BTreeMap<TaskId, Word> {
    ids.iter().map(|id| (TaskId::new(id).expect("an id"), word)).collect()
}

#[test]
fn a_tick_changes_the_mark_of_a_task_of_its_steps_and_of_a_parent_that_is_done() {
    let text = "\u{feff}- [ ] 2. Build \t\r\n  - [X] 2.1 a\r\n  - [ ]* 2.2 b\r\n  - [] 2.3 c  \r\n    - [ ] step\r\n    - [ ]* maybe\r\n- [~] 3.1 d\r\n- [ ] 4";
    let new = tick(text.as_bytes(), &stand(&["2.3"], Word::Completed), Depth::Leaves).expect("text");
    assert_eq!(
        String::from_utf8(new.bytes).expect("text"),
        "\u{feff}- [X] 2. Build \t\r\n  - [X] 2.1 a\r\n  - [ ]* 2.2 b\r\n  - [X] 2.3 c  \r\n    - [X] step\r\n    - [ ]* maybe\r\n- [~] 3.1 d\r\n- [ ] 4"
    );
    let new =
        tick(text.as_bytes(), &stand(&["2.1", "3.1", "7"], Word::Pending), Depth::Leaves).expect("text");
    assert_eq!(new.missing, [TaskId::new("7").expect("an id")]);
    assert_eq!(
        String::from_utf8(new.bytes).expect("text"),
        text.replace("[X]", "[ ]"),
        "`~` says more than open"
    );
}

#[test]
fn a_parent_is_opened_with_a_task_below_it_and_never_for_another_reason() {
    let text = "- [x] 1. A\n  - [x] 1.1 B\n  - [x] 1.2 C\n- [x] 2. D\n  - [ ] 2.1 E\n  - [ ] 2.2 F\n";
    let opened = tick(text.as_bytes(), &stand(&["1.2"], Word::Pending), Depth::Leaves).expect("text");
    let opened = String::from_utf8(opened.bytes).expect("text");
    assert!(opened.starts_with("- [ ] 1. A\n  - [x] 1.1 B\n  - [ ] 1.2 C\n- [x] 2. D\n"), "{opened}");
    let half = tick(text.as_bytes(), &stand(&["2.1"], Word::Completed), Depth::Leaves).expect("text");
    assert_eq!(String::from_utf8(half.bytes).expect("text"), text.replace("[ ] 2.1", "[x] 2.1"));
}

#[test]
fn a_heading_is_ticked_by_its_steps() {
    let text = "### 1.1 Parse\n- [x] one\n- [ ] two\n";
    let done = tick(text.as_bytes(), &stand(&["1.1"], Word::Completed), Depth::Two).expect("text").bytes;
    assert_eq!(String::from_utf8_lossy(&done), "### 1.1 Parse\n- [x] one\n- [x] two\n");
    assert_eq!(ticked(&done, Depth::Two).len(), 1);
    let open = tick(&done, &stand(&["1.1"], Word::Pending), Depth::Two).expect("text").bytes;
    assert_eq!(String::from_utf8_lossy(&open), "### 1.1 Parse\n- [ ] one\n- [ ] two\n");
    let same = tick(text.as_bytes(), &stand(&["1.1"], Word::Pending), Depth::Two).expect("text").bytes;
    assert_eq!(String::from_utf8_lossy(&same), text);
}

#[test]
fn a_heading_without_a_box_that_has_to_be_ticked_is_not_a_task() {
    for below in ["- [P] a label", "- [ ]* optional", "- ~~[ ] dropped~~", "text"] {
        let (read, _) = read(&format!("### 1.1 Parse\n{below}\n"), Depth::Two);
        assert!(read.boxes.iter().all(|one| one.place.is_some()), "{below}");
    }
}

#[test]
fn a_ticked_task_with_open_steps_is_not_done() {
    let against = ticked(b"- [x] 1.1 A\n  - [ ] step\n- [x] 1.2 B\n", Depth::Two);
    let reasons: Vec<_> = against.values().copied().collect();
    assert_eq!(reasons, [Some("its steps are open"), None]);
}

#[test]
fn a_heading_whose_steps_are_all_below_an_optional_box_is_no_task() {
    for above in ["- [ ]* 1.1 Optional", "- ~~[ ] 1.1 Dropped~~"] {
        let (read, _) = read(&format!("### 1.1 Parse\n{above}\n  - [ ] a step\n"), Depth::Leaves);
        assert!(read.boxes.iter().all(|one| one.place.is_some()), "{above}");
    }
}

#[test]
fn the_number_of_a_step_says_nothing_about_the_rest_of_the_list() {
    let list = "### 1.1 Parse\n- [ ]* 1.2 Optional\n- [ ] a step\n## 2. Part\n- [ ] 1.2.1 Deep\n";
    let (read, _) = read(list, Depth::Leaves);
    let parts: Vec<Part> = read.boxes.iter().map(|one| one.part).collect();
    assert_eq!(parts, [Part::Task, Part::Step, Part::Step, Part::Task]);
}

#[test]
fn what_is_not_utf_8_text_is_not_written() {
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("- [ ] 1.1 A\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert!(tick(&wide, &stand(&["1.1"], Word::Completed), Depth::Two).is_none());
}

#[test]
fn a_version_with_other_marks_is_in_the_file_and_one_with_other_words_is_not() {
    assert!(holds(b"- [x] 1.1 A\r\n- [ ] 1.2 B\n", b"- [ ] 1.1 A\n"));
    assert!(!holds(b"- [x] 1.1 A\n", b"- [x] 1.1 B\n"));
}

/// Lists as they might be written.
fn lists() -> impl Strategy<Value = String> {
    let mark = prop::sample::select(vec![" ", "x", "X", "-", "~", "", "?", "P"]);
    let pad = prop::sample::select(vec!["", "  ", "    ", "\t", " "]);
    let end = prop::sample::select(vec!["\n", "\n", "\r\n", " \n", "\t\r\n"]);
    let line = (mark, pad, end, 0..5_u8, 0..5_u8, 0..13_u8);
    (prop::collection::vec(line, 0..16), any::<bool>(), any::<bool>()).prop_map(|(lines, bom, whole)| {
        let mut text = if bom { "\u{feff}".to_owned() } else { String::new() };
        for (mark, pad, end, a, b, kind) in lines {
            text += &match kind {
                0 => format!("## {a}. Part{end}"),
                1 => format!("### {a}.{b} Heading{end}"),
                2 => format!("## Acceptance Criteria{end}"),
                3 => format!("{pad}- [{mark}] a step {b}{end}"),
                4 => format!("{pad}- [{mark}]* {a}.{b} Optional{end}"),
                5 => format!("{pad}- _Requirements: {a}.{b}_{end}"),
                6 => format!("{pad}- [{mark}] {a}. Parent{end}"),
                7 => format!("{pad}- [{mark}] {a}.{b}.{a} Deep{end}"),
                8 => format!("{pad}- ~~[{mark}] {a}.{b} Struck~~{end}"),
                9 => format!("```{end}- [{mark}] {a}.{b} In code{end}```{end}"),
                10 => end.to_owned(),
                _ => format!("{pad}- [{mark}] {a}.{b} Name {b}{end}"),
            };
        }
        if whole { text } else { text.trim_end_matches(['\n', '\r']).to_owned() }
    })
}

fn depths() -> impl Strategy<Value = Depth> {
    prop::sample::select(vec![Depth::Leaves, Depth::Two])
}

fn of(bytes: &[u8], depth: Depth) -> NumberedList {
    read(&text::decode(bytes).text, depth).0
}

proptest! {
    #[test]
    fn one_tick_changes_one_task_and_marks_only(text in lists(), depth in depths(), pick: prop::sample::Index) {
        let before = of(text.as_bytes(), depth);
        let ids: Vec<TaskId> = before.tasks().filter(|(_, _, one)| !one.dropped).map(|(_, id, _)| id.clone()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let id = pick.get(&ids);
        let new = tick(text.as_bytes(), &[(id.clone(), Word::Completed)].into(), depth).expect("text");
        prop_assert_eq!(&new.missing, &[]);
        let after = of(&new.bytes, depth);
        prop_assert_eq!(before.boxes.len(), after.boxes.len());
        let (was, is) = (before.done(), after.done());
        for (nth, _, task) in before.tasks() {
            prop_assert_eq!(&task.id, &after.boxes[nth].id, "ids stay");
            let unclosed = task.mark == Mark::Other;
            if task.id.as_ref() == Some(id) {
                prop_assert!(is[nth] || unclosed, "{:?}", text);
            } else {
                prop_assert_eq!(was[nth], is[nth], "{:?} {:?}", task, text);
            }
        }
        // Everything between the marks is the same.
        let rest = |bytes: &[u8]| -> Vec<String> {
            let text = std::str::from_utf8(bytes).expect("text").trim_start_matches('\u{feff}');
            let list = checklist::scan(text);
            let mut at = 0;
            let mut parts = Vec::new();
            for (_, _, item) in list.items() {
                parts.push(text[at..item.place.start].to_owned());
                at = item.place.end;
            }
            parts.push(text[at..].to_owned());
            parts
        };
        prop_assert_eq!(rest(text.as_bytes()), rest(&new.bytes));
        prop_assert_eq!(tick(text.as_bytes(), &BTreeMap::new(), depth).expect("text").bytes, text.as_bytes());
    }

    #[test]
    fn the_order_of_ticks_does_not_matter(text in lists(), depth in depths(), seed: u64) {
        let list = of(text.as_bytes(), depth);
        let ids: Vec<TaskId> = list.tasks().filter(|(_, _, one)| !one.dropped).map(|(_, id, _)| id.clone()).collect();
        let mut other = ids.clone();
        other.sort_by_key(|id| (id.as_str().len() as u64 * 31 + u64::from(id.as_str().as_bytes()[0])) ^ seed);
        let all = |ids: &[TaskId]| {
            let mut bytes = text.clone().into_bytes();
            let mut stand = BTreeMap::new();
            for id in ids {
                stand.insert(id.clone(), Word::Completed);
                bytes = tick(&bytes, &stand, depth).expect("text").bytes;
            }
            String::from_utf8(bytes).expect("text")
        };
        let (one, two) = (all(&ids), all(&other));
        // Which letter ticks depends on those that are there already.
        prop_assert_eq!(one.replace('X', "x"), two.replace('X', "x"));
    }

    #[test]
    fn every_box_is_something_and_ids_are_unique(text in lists(), depth in depths()) {
        let list = checklist::scan(&text);
        let (read, problems) = read(&text, depth);
        let legends = problems.iter().filter(|problem| problem.contains("explanation of a label")).count();
        let boxes = read.boxes.iter().filter(|one| one.place.is_some()).count();
        prop_assert_eq!(list.items().count(), boxes + legends);
        let mut ids: Vec<String> = read.boxes.iter().filter_map(|one| one.id.as_ref()).map(TaskId::folded).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), count);
        for one in &read.boxes {
            prop_assert_eq!(one.id.is_some(), matches!(one.part, Part::Task | Part::Parent));
            if one.part == Part::Step {
                let root = std::iter::successors(one.parent, |nth| read.boxes[*nth].parent).any(|nth| read.boxes[nth].part == Part::Task);
                prop_assert!(root, "{:?}", text);
            }
        }
    }
}
