//! Files one meets: each row is one, with what is made of it.

use super::*;

/// What a list alone is told about.
fn problems(text: &str) -> String {
    told(&reading(&alone(text)))
}

fn only(text: &str) -> Vec<String> {
    let read = reading(&alone(text));
    assert_eq!(told(&read), "");
    tree(&read)
}

// Bytes.

#[test]
fn b1_b2_marks_at_the_start_and_line_ends_are_no_part_of_a_task() {
    for text in
        ["\u{feff}- [ ] 1. a\r\n- [ ] 2. b\r\n", "- [ ] 1. a\r- [ ] 2. b", "- [ ] 1. a\r\n- [ ] 2. b\n"]
    {
        let read = reading(&alone(text));
        assert_eq!((told(&read).as_str(), tasks(&read)), ("", vec!["1 a".to_owned(), "2 b".to_owned()]));
    }
}

#[test]
fn b3_b4_b5_signs_that_were_read_wrongly_are_understood() {
    let text = "- [âœ…] 1. a\n- [x] 2. b âœ…\n- [ ] 3. c âŒ\n- [x] 4. d Ã¢Å“â€¦\n";
    let read = reading(&alone(text));
    assert_eq!(tree(&read), ["task 1 x", "task 2 x", "task 3", "task 4 x"]);
    assert_eq!(tasks(&read), ["1 a", "2 b", "3 c", "4 d"]);
    assert_eq!(told(&read), "tasks.md:1:3: warning: `[âœ…]` is unusual (read as `[x]`)\n");
}

#[test]
fn b6_b7_other_encodings_are_read_by_their_mark_or_refused() {
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("- [ ] 1. a\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let list = |bytes: &[u8]| {
        let mut folder = alone("");
        folder.files.insert("tasks.md".to_owned(), bytes.to_vec());
        folder
    };
    let read = reading(&list(&wide));
    assert_eq!(tasks(&read), ["1 a"]);
    assert_eq!(told(&read), "tasks.md:1:1: warning: this file is UTF-16 (Piton reads it anyway)\n");
    assert_eq!(
        told(&reading(&list(&wide[2..]))),
        "tasks.md:1:1: error: this file looks like UTF-16 without a byte order mark (save it as UTF-8)\n"
    );
    let broken = reading(&list(b"- [ ] 1. \xff\n"));
    assert!(broken.reading.is_usable() && told(&broken).contains("byte 9 of this file is not UTF-8"));
    assert!(
        !reading_with(&list(b"- [ ] 1. \xff\n"), "issue-7-x", &Config::default(), Strictness::Strict)
            .reading
            .is_usable()
    );
}

#[test]
fn b8_b9_b10_b13_the_last_line_odd_spaces_and_other_scripts_are_read() {
    assert_eq!(only("- [ ] 1. a\n- [ ] 2. b"), ["task 1", "task 2"]);
    assert_eq!(
        only("-\u{a0}[ ] 1. a\n\t- [ ] 1.1 b\n   -\t[ ] 1.2 c\n"),
        ["parent 1", "task 1.1 < 1", "task 1.2 < 1"]
    );
    let read = reading(&alone("- [ ] 1\u{ff1a}请求 “x” – ทดสอบ\n"));
    assert_eq!((told(&read).as_str(), tasks(&read)), ("", vec!["1 请求 “x” – ทดสอบ".to_owned()]));
}

#[test]
fn b11_nothing_to_do_is_never_complete() {
    for text in ["", "# Tasks\n", " \n\t\n", "```\n- [ ] 1. a\n```\n"] {
        assert!(problems(text).contains("error: the plan has no tasks"), "{text:?}");
    }
    assert_eq!(
        told(&reading(&folder(&[("requirements.md", "")]))),
        "tasks.md:1:1: error: there is neither `tasks.md` nor `plan.md` (a plan of this system has one of them)\n"
    );
}

#[test]
fn b12_a_very_long_line_is_a_line() {
    let text = format!("- [ ] 1. {}\n- [ ] 2. b\n", "word ".repeat(200_000));
    assert_eq!(only(&text), ["task 1", "task 2"]);
}

#[test]
fn b12_more_than_a_list_can_have_is_refused() {
    let text = "x".repeat(crate::system::kit::text::LARGEST + 1);
    assert!(problems(&text).contains("error: this file has 16 MiB; 16 are read"));
}

/// Large lists, in shapes that would make the square of it out of a careless reader.
#[test]
fn b12_a_large_list_takes_no_longer_than_its_size() {
    let plain =
        |nth: usize| format!("- [ ] {nth}. Name of a task\n  - a detail of it\n  - _Requirements: 1_\n");
    let nested = |nth: usize| format!("  - [ ] 1.{nth} Name\n    - Depends on: 1.1\n    - [ ] step\n");
    let phases = |nth: usize| format!("### Phase 1: x\n- [ ] 9. Name {nth}\n");
    let shapes: [(&str, &dyn Fn(usize) -> String); 3] =
        [("", &plain), ("- [ ] 1. a\n", &nested), ("", &phases)];
    for (head, line) in shapes {
        let mut text = head.to_owned()
            + &"  - a long detail of the parent\n".repeat(if head.is_empty() { 0 } else { 10_000 });
        let mut count = 0;
        while text.len() < 2 << 20 {
            count += 1;
            text += &line(count);
        }
        let requirements = "### Requirement 1: x\n".to_owned() + &"1. WHEN y\n".repeat(2000);
        let read = reading(&folder(&[("requirements.md", &requirements), ("tasks.md", &text)]));
        assert_eq!(read.reading.plan.tasks.len(), count);
    }
}

// Boxes.

#[test]
fn c1_to_c6_marks_and_bullets() {
    let text = "- [X] 1. a\n* [ ] 2. b\n+ [ ] 3. c\n4. [ ] d\n5) [x] e\n- [-] 6. f\n- [~] 7. g\n- [/] 8. h\n- [✓] 9. i\n-[ ] 10. j\n- [x ] 11. k\n";
    let read = reading(&alone(text));
    assert_eq!(
        tree(&read),
        [
            "task 1 x",
            "task 2",
            "task 3",
            "task 4",
            "task 5 x",
            "task 6",
            "task 7",
            "task 8",
            "task 9 x",
            "task 10",
            "task 11 x"
        ]
    );
    insta::assert_snapshot!("unusual_boxes", told(&read));
}

#[test]
fn c5_c6_other_marks_and_slips_of_the_hand_are_boxes_that_count() {
    let text = "- [>] 1. a\n- [!] 2. b\n- [?] 3. c\n- [D] 4. d\n- [✅] 5. e\n- [] 6. f\n- [  ] 7. g\n- [done] 8. h\n- [x 9. i\n";
    let read = reading(&alone(text));
    let done: Vec<String> = tree(&read).into_iter().filter(|node| node.ends_with(" x")).collect();
    assert_eq!((tree(&read).len(), done), (9, vec!["task 5 x".to_owned()]));
    for line in 1..=9 {
        assert!(told(&read).contains(&format!("tasks.md:{line}:")), "{}", told(&read));
    }
}

#[test]
fn c7_c8_optional_children_do_not_hold_their_parent_up() {
    assert_eq!(
        only("- [x] 1. a\n  - [x] 1.1 b\n  - [ ]* 1.2 c\n"),
        ["parent 1 x", "task 1.1 < 1 x", "task 1.2 < 1"]
    );
}

#[test]
fn c9_children_decide_about_their_parent() {
    assert_eq!(
        problems("- [x] 1. a\n  - [ ] 1.1 b\n- [ ] 2. c\n  - [x] 2.1 d\n- [x] 3. e\n  - [ ] step\n"),
        "tasks.md:1:7: warning: this box is ticked, but one below it is not (those below it decide)\n\
         tasks.md:3:7: warning: this box is open, but all below it are ticked (those below it decide)\n\
         tasks.md:5:7: warning: this box is ticked, but one of its steps is not (not done)\n"
    );
}

#[test]
fn c10_c11_c14_the_tree_comes_from_numbers_too() {
    assert_eq!(
        only("- [ ] 2. a\n- [ ] 2.1 b\n- [ ] 2.2 c\n- [ ] 2.2.1 d\n- [ ] 3. e\n"),
        ["parent 2", "task 2.1 < 2", "parent 2.2 < 2", "task 2.2.1 < 2.2", "task 3"]
    );
    assert_eq!(only("- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 2. Checkpoint\n"), ["task 1.1", "task 1.2", "task 2"]);
    assert_eq!(
        only("- [ ] 1. a\n  - [ ] 1.1 b\n    - [ ] 1.1.1 c\n      - [ ] 1.1.1.1 d\n"),
        ["parent 1", "parent 1.1 < 1", "parent 1.1.1 < 1.1", "task 1.1.1.1 < 1.1.1"]
    );
}

#[test]
fn c12_c13_c15_what_has_no_number_is_part_of_its_task() {
    let text = "- [ ] 1. a\n\n   \n  - [ ] one\n  - two\n    - [x] three\n\n- [ ] 2. b\n  - c\n";
    assert_eq!(only(text), ["task 1", "step 1#1 < 1", "step 1#2 < 1 x", "task 2"]);
    assert!(reading(&alone(text)).reading.plan.tasks[0].prompt.contains("- one\n- two\n  - three"));
}

#[test]
fn c16_c17_boxes_in_code_are_no_tasks_and_open_code_hides_none() {
    let text = "- [ ] 1. a\n  ```sh\n  - [ ] 9. not this\n  ```\n> - [ ] 8. nor this\n- [ ] 2. b\n  ```\n  x\n- [ ] 3. c\n";
    let read = reading(&alone(text));
    assert_eq!(tree(&read), ["task 1", "task 2", "task 3"]);
    assert_eq!(
        told(&read),
        "tasks.md:3:3: warning: this looks like a task, but is in code (not read as one)\n\
         tasks.md:5:1: warning: this looks like a task, but is in a quote (not read as one)\n\
         tasks.md:7:1: warning: this code is never closed (Piton ignores this line and reads what follows)\n"
    );
}

#[test]
fn c16_boxes_in_comments_and_tables_are_no_tasks_and_those_that_look_like_one_are_told() {
    let text = "- [ ] 1. a\n\n<!-- - [ ] 2. not this -->\n\n| box | name |\n|---|---|\n| [ ] | 3. nor this |\n\n- [ ] 4. b\n";
    let read = reading(&alone(text));
    assert_eq!(tree(&read), ["task 1", "task 4"]);
    assert_eq!(
        told(&read),
        "tasks.md:3:1: warning: this looks like a task, but is in a comment (not read as one)\n"
    );
}

#[test]
fn c18_what_is_crossed_out_is_neither_done_nor_run() {
    let read = reading(&alone("- [ ] 1. a\n  - [x] ~~1.1 old~~\n  - [ ] 1.1 new\n~~- [x] 2. gone~~\n"));
    assert_eq!(tree(&read), ["parent 1", "task 1.1 < 1 dropped", "task 1.1 < 1", "task 2 dropped"]);
    assert_eq!(tasks(&read), ["1.1 new"]);
    assert_eq!(told(&read).matches("crossed out").count(), 2);
}

#[test]
fn c19_words_behind_a_box_are_advice() {
    let read =
        reading(&alone("- [x] 1. a ✅\n- [x] 2. b (Pre-existing)\n- [ ] 3. c <!-- DONE: 3 iterations -->\n"));
    assert_eq!(tasks(&read), ["1 a", "2 b", "3 c"]);
    assert_eq!(
        told(&read),
        "tasks.md:3:12: warning: this says done, but the box does not (the box decides)\n"
    );
}

#[test]
fn c20_c21_a_heading_that_names_a_task_is_one() {
    let text = "### TASK-2.7.1: Name ✅\n- **Status**: [x] Completed (today)\n- [ ] do it\n";
    let read = reading(&alone(text));
    assert_eq!(tree(&read), ["task TASK-2.7.1", "step TASK-2.7.1#1 < TASK-2.7.1"]);
    assert_eq!(
        told(&read),
        "tasks.md:1:5: warning: this heading is read as a task (write it like `- [ ] TASK-2.7.1 …`)\n\
         tasks.md:1:5: warning: this box is ticked, but one of its steps is not (not done)\n\
         tasks.md:1:5: warning: the box of `TASK-2.7.1` and its status disagree (not done)\n"
    );
}

#[test]
fn c22_c23_criteria_are_no_tasks() {
    let text = "## Tasks\n- [ ] 1. a\n### Acceptance Criteria\n- [ ] TTFB below 200 ms\n- [ ] Title is set\n## Definition of Done\n- [ ] all of it\n";
    let read = reading(&alone(text));
    assert_eq!(tree(&read), ["task 1"]);
    assert_eq!(told(&read).matches("are not read as tasks").count(), 2);
}

#[test]
fn c24_front_matter_is_passed_over() {
    assert_eq!(only("---\ntitle: x\nstatus: draft\n---\n# Tasks\n- [ ] 1. a\n"), ["task 1"]);
}

// Names.

#[test]
fn i1_i2_i3_i6_numbers_in_every_spelling_gaps_and_order() {
    let text = "- [ ] 0. z\n- [ ] 1 a\n- [ ] 2) b\n- [ ] 3: c\n- [ ] **4.** d\n- [ ] Task 8: e\n- [ ] 9. f\n  - [ ] 9.2 g\n  - [ ] 9.10 h\n- [ ] 10. i\n";
    let read = reading(&alone(text));
    assert_eq!(told(&read), "");
    assert_eq!(tasks(&read), ["0 z", "1 a", "2 b", "3 c", "4 d", "8 e", "9.2 g", "9.10 h", "10 i"]);
    assert!(read.reading.plan.tasks.iter().all(|task| task.priority == 1), "ids alone give the order");
}

#[test]
fn i4_a_number_that_is_used_twice_names_two_tasks_and_nothing_can_refer_to_it() {
    let text =
        "- [ ] 9. a\n  - [ ] 9.1 b\n- [ ] 9. c\n  - [ ] 9.1 d\n- [ ] 10. e\n  - _Prerequisites: 9.1_\n";
    let read = reading(&alone(text));
    assert_eq!(tree(&read), ["parent 9", "task 9.1 < 9", "parent 9@L3", "task 9.1@L4 < 9@L3", "task 10"]);
    assert_eq!(
        told(&read),
        "tasks.md:3:7: warning: the number `9` is used twice, in line 1 and line 3 (called `9@L3` here)\n\
         tasks.md:4:9: warning: the number `9.1` is used twice, in line 2 and line 4 (called `9.1@L4` here)\n\
         tasks.md:6:21: error: `10` waits for `9.1`, which is the number of several tasks (give each of them a number of its own)\n"
    );
    let strict =
        reading_with(&alone("- [ ] 9. a\n- [ ] 9. b\n"), "issue-7-x", &Config::default(), Strictness::Strict);
    assert!(!strict.reading.is_usable());
}

#[test]
fn i5_where_a_task_stands_counts_more_than_its_number() {
    let read = reading(&alone("- [ ] 11. a\n  - [ ] 8.2 b\n  - [ ] 8.1 c\n- [ ] 3. d\n"));
    assert_eq!(tree(&read), ["parent 11", "task 8.2 < 11", "task 8.1 < 11", "task 3"]);
    let order: Vec<u32> = read.reading.plan.tasks.iter().map(|task| task.priority).collect();
    assert_eq!(order, [1, 2, 3], "the file's order, where that of the numbers differs");
    assert_eq!(told(&read).matches("its place decides").count(), 2);
}

#[test]
fn i7_i8_letters_are_ids_and_case_is_no_difference() {
    assert_eq!(
        only(
            "- [ ] 1. a\n  - [ ] 1.f1 b\n- [ ] T0S1 c\n- [ ] WP02 d\n- [ ] R1: e\n- [ ] L2-003 f\n- [ ] US-001 g\n"
        ),
        ["parent 1", "task 1.f1 < 1", "task T0S1", "task WP02", "task R1", "task L2-003", "task US-001"]
    );
    let read = reading(&alone("- [ ] T001 a\n- [ ] t001 b\n"));
    assert_eq!(tree(&read), ["task T001", "task t001@L2"]);
    // Case is not a difference, and a zero is one.
    let read = reading(&alone("- [ ] T001 a\n- [ ] T1 b\n- [ ] T2 c\n  - Depends on: t001\n"));
    assert_eq!(format!("{:?}", read.reading.plan.tasks[2].depends_on), "[T001]");
    assert_eq!(told(&read), "");
}

#[test]
fn i9_to_i14_what_a_task_waits_for() {
    let needs = |text: &str| {
        let read = reading(&alone(&format!(
            "- [ ] 1. a\n  - [ ] 1.1 b\n  - [ ] 1.2 c\n- [ ] 2. d\n- [ ] 3. e\n  - {text}\n- [ ] 4. f\n"
        )));
        let waits = format!("{:?}", read.reading.plan.tasks[3].depends_on);
        (waits, told(&read).replace("tasks.md:6:", ""))
    };
    let fine = |text: &str, waits: &str| assert_eq!(needs(text), (waits.to_owned(), String::new()), "{text}");
    fine("Depends on: 1.1-1.2, Task 2", "[1.1, 1.2, 2]");
    fine("Depends on: 1", "[1.1, 1.2]");
    fine("_Prerequisites: None_", "[]");
    fine("Dependencies: -", "[]");
    fine("Depends on: 1.1; 2 and 1.2", "[1.1, 1.2, 2]");
    fine("Prerequisites: a running database", "[]");
    fine("Depends on: 1.1,1.2&2", "[1.1, 1.2, 2]");
    fine("Depends on: TASK 1.1", "[1.1]");
    fine("Depends on:", "[]");
    fine("Depends on: N/A", "[]");
    // One end of a range is missing.
    assert!(needs("Depends on: 1.1-1.3").1.contains("error: `3` waits for `1.3`, which does not exist"));
    assert!(needs("Depends on: 7").1.contains("error: `3` waits for `7`, which does not exist"));
    assert!(needs("Depends on: 1.3").1.contains("did you mean `1.1`?"));
    assert!(needs("Depends on: 3").1.contains("error: `3` waits for itself"));
    assert!(needs("Depends on: 4").1.contains("error: `3` waits for `4`, which comes later"));
}

#[test]
fn i16_references_to_requirements_in_every_spelling() {
    let refers = |line: &str| {
        let list = format!("- [ ] 1. a\n  - {line}\n");
        let read = reading(&folder(&[
            ("requirements.md", REQUIREMENTS),
            ("design.md", DESIGN),
            ("tasks.md", &list),
        ]));
        let rows = read.coverage.rows.iter().filter(|row| !row.tasks.is_empty());
        (rows.map(|row| row.key.as_str()).collect::<Vec<_>>().join(" "), told(&read))
    };
    let fine = |line: &str, rows: &str| assert_eq!(refers(line), (rows.to_owned(), String::new()), "{line}");
    fine("_Requirements: 1.1, 1.2_", "1.1 1.2");
    fine("_Requirements: 1.1-1.3_", "1.1 1.2 1.3");
    fine("_Requirements: 1.1–3_", "1.1 1.2 1.3");
    fine("_Requirements: 1, 2_", "1.1 1.2 1.3 2.1");
    fine("_Requirement: 1.2_", "1.2");
    fine("**Validates: Requirements 1.1, 2.1**", "1.1 2.1");
    fine("Property 1 holds **Validates: Requirements 1.1**", "1.1");
    fine("Requirements: 3", "3");
    fine("**Requirements**: 1.1; 1.2 and 2.1", "1.1 1.2 2.1");
    fine("_Requirements: Testing strategy_", "");
    fine("_Design: something_", "");
    fine("_Requirements: None_", "");
    fine("_Requirements: All_", "1.1 1.2 1.3 2.1 3");
    assert_eq!(
        refers("_Requirements: 1.1, 9.9, Some section_"),
        (
            "1.1".to_owned(),
            "tasks.md:2:20: warning: no requirement contains `9.9` (it is neither a number nor a heading there)\n\
             tasks.md:2:20: warning: no requirement contains `Some section` (it is neither a number nor a heading there)\n"
                .to_owned()
        )
    );
    let read = reading(&folder(&[("tasks.md", "- [ ] 1. a _Requirements: 1.1_\n")]));
    assert_eq!(tasks(&read), ["1 a"]);
    assert_eq!(
        told(&read),
        "requirements.md:1:1: warning: `requirements.md` does not exist (the requirements that tasks refer to are unknown)\n"
    );
}

#[test]
fn i17_i18_names_of_folders() {
    use super::super::{folder_name, number_of};
    assert_eq!(number_of("issue-7-export"), Some((7, Some("export"))));
    assert_eq!(number_of("issue-007-x"), Some((7, Some("x"))));
    assert_eq!(number_of("issue-7"), Some((7, None)));
    assert_eq!(number_of("issue-7-a-b"), Some((7, Some("a-b"))));
    for name in ["issue-", "issue-x", "issues-7", "7", "issue-99999999999999999999-x"] {
        assert_eq!(number_of(name), None, "{name}");
    }
    let long = "x".repeat(256);
    for slug in ["", "a b", "a/b", "..", "a..b", "C:", "con", "-x", "x.lock", "ä", &long] {
        assert!(folder_name(7, slug).is_err(), "{slug}");
    }
    assert_eq!(folder_name(7, "export-all").expect("a name"), "issue-7-export-all");
    let read = reading_with(&invoices(), "issue-7-two words", &Config::default(), Strictness::Lenient);
    assert!(told(&read).contains("error: \"two words\" cannot be part of a branch: it holds ' '"));
    let read = reading_with(&invoices(), "issue-8-x", &Config::default(), Strictness::Lenient);
    assert!(told(&read).contains("this is about issue 7, but the folder is about 8 (the folder decides)"));
}

#[test]
fn a_task_without_a_number_among_others_is_named() {
    let read = reading(&alone("- [ ] 1. a\n- [ ] b\n- [ ]\n"));
    assert_eq!(tasks(&read), ["1 a", "U1 b", "U2 Task U2"]);
    assert_eq!(told(&read).matches("this task has no number").count(), 2);
    assert_eq!(told(&read).matches("has no text").count(), 1);
}

#[test]
fn a_phase_that_comes_twice_is_two_and_an_empty_one_none() {
    let text =
        "### Phase 1: a\n- [ ] 1. x\n### Phase 2: b\n### Phase 1: c\n- [ ] 2. y\n### Phase\n- [ ] 3. z\n";
    let read = reading(&alone(text));
    let groups: Vec<String> = read.reading.plan.groups.iter().map(|group| group.id.to_string()).collect();
    assert_eq!(groups, ["phase-1", "phase-1@L4", "phase@L6"]);
    assert_eq!(told(&read), "");
}

#[test]
fn commands_that_take_the_repository_away_are_refused() {
    assert!(
        problems("- [ ] 1. Checkpoint\n  - `rm -rf .git` passes\n")
            .contains("error: this command would remove `.git`")
    );
}

#[test]
fn both_lists_are_one_too_many() {
    let read = reading(&folder(&[
        ("requirements.md", ""),
        ("tasks.md", "- [ ] 1. a\n"),
        ("plan.md", "- [ ] 1. b\n"),
    ]));
    assert_eq!(
        told(&read),
        "plan.md:1:1: warning: `tasks.md` is read instead of this file (tasks in this file are ignored)\n"
    );
}
