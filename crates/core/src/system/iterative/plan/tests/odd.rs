//! Files one meets: each row is one, with what is made of it.

use super::*;

fn problems(text: &str) -> String {
    told(&reading(&alone(text)))
}

fn only(text: &str) -> Vec<String> {
    let read = reading(&alone(text));
    assert_eq!(told(&read), "", "{text}");
    tasks(&read)
}

// Bytes.

#[test]
fn b1_b2_marks_at_the_start_and_line_ends_are_no_part_of_a_unit() {
    let lines = "- [ ] **T1**: a\n  - Depends: none\n- [ ] **T2**: b\n  - Criteria: c\n";
    for text in [
        format!("\u{feff}{}", lines.replace('\n', "\r\n")),
        lines.replace('\n', "\r"),
        lines.replacen('\n', "\r\n", 1),
    ] {
        assert_eq!(only(&text), ["T1 a", "T2 b"]);
        assert_eq!(unit(&reading(&alone(&text)), "T2").criteria, ["c"]);
    }
}

#[test]
fn b3_b4_b5_signs_that_were_read_wrongly_are_understood() {
    let text = "## Dependencies\nT1 â†’ T2\n## Tasks\n- [âœ…] **T1**: a\n- [x] **T2**: b âœ…\n- [ ] **T3**: c âŒ\n- [x] **T4**: d Ã¢Å“â€¦\n";
    let read = reading(&alone(text));
    assert_eq!(tasks(&read), ["T1 a x", "T2 b x", "T3 c", "T4 d x"]);
    assert_eq!(needs(&read)[1], "T2 [T1]");
    assert_eq!(told(&read), "tasks.md:4:3: warning: `[âœ…]` is unusual (read as `[x]`)\n");
    let drawn = "## Dependencies\nT1 â”€â”€â”\n     â”œâ”€â”€â–º T3\nT2 â”€â”€â”˜\n## Tasks\n- [ ] **T1**: a\n- [ ] **T2**: b\n- [ ] **T3**: c\n";
    assert_eq!(needs(&reading(&alone(drawn)))[2], "T3 [T1, T2]", "a byte of the corner is gone");
}

#[test]
fn b6_b7_other_encodings_are_read_by_their_mark_or_refused() {
    let wide: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("- [ ] **T1**: a\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let list = |bytes: &[u8]| {
        let mut folder = alone("");
        folder.files.insert("tasks.md".to_owned(), bytes.to_vec());
        folder
    };
    let read = reading(&list(&wide));
    assert_eq!(tasks(&read), ["T1 a"]);
    assert_eq!(told(&read), "tasks.md:1:1: warning: this file is UTF-16 (Piton reads it anyway)\n");
    assert_eq!(
        told(&reading(&list(&wide[2..]))),
        "tasks.md:1:1: error: this file looks like UTF-16 without a byte order mark (save it as UTF-8)\n"
    );
    let broken = list(b"- [ ] **T1**: \xff\n");
    assert!(reading(&broken).reading.is_usable());
    assert!(!reading_with(&broken, "x", &Config::default(), Strictness::Strict).reading.is_usable());
    let mut brief = auth();
    brief.files.insert("brief.md".to_owned(), b"# \xff\n".to_vec());
    assert!(told(&reading(&brief)).contains("brief.md:1:3: warning: byte 2 of this file is not UTF-8"));
}

#[test]
fn b8_b9_b10_b13_the_last_line_odd_spaces_and_other_scripts_are_read() {
    assert_eq!(only("- [ ] **T1**: a\n- [ ] **T2**: b"), ["T1 a", "T2 b"]);
    let tabs = "-\u{a0}[ ] **T1**: a\n\t- Criteria:\n\t\t- one\n   -\tMax iterations: 3\n-\t[ ] **T2**: b\n    - Depends\u{ff1a} T1\n";
    let read = reading(&alone(tabs));
    assert_eq!(told(&read), "");
    assert_eq!(
        (unit(&read, "T1").criteria.as_slice(), unit(&read, "T1").attempts),
        (&["one".to_owned()][..], 3)
    );
    assert_eq!(needs(&read)[1], "T2 [T1]");
    assert_eq!(only("- [ ] T1\u{ff1a}请求 “x” – ทดสอบ\n"), ["T1 请求 “x” – ทดสอบ"]);
    let last = reading(&alone("- [ ] **T1**: a\n  - Max iterations: 9"));
    assert_eq!(unit(&last, "T1").attempts, 9);
}

#[test]
fn b11_nothing_to_do_is_never_complete() {
    for text in ["", "# x - Tasks\n", " \n\t\n", "```\n- [ ] **T1**: a\n```\n"] {
        assert!(problems(text).contains("error: the plan has no units"), "{text:?}");
    }
}

#[test]
fn b12_more_than_a_list_can_have_is_refused() {
    let text = "x".repeat(crate::system::kit::text::LARGEST + 1);
    assert!(problems(&text).contains("error: this file has 16 MiB; 16 are read"));
}

/// Large lists, in shapes that would make the square of it out of a careless reader.
#[test]
fn b12_a_large_list_takes_no_longer_than_its_size() {
    let plain = |nth: usize| format!("- [ ] **T{nth}**: Name\n  - Criteria:\n    - one\n  - Depends: none\n");
    let chain = |nth: usize| format!("- [ ] **T{}**: Name\n  - Depends: T{nth}\n", nth + 1);
    let ranges = |nth: usize| format!("- [ ] **T{}**: Name\n  - Depends: T1-T{nth}\n", nth + 1);
    let shapes: [(&str, &dyn Fn(usize) -> String); 3] =
        [("", &plain), ("- [ ] **T1**: a\n", &chain), ("- [ ] **T1**: a\n", &ranges)];
    for (head, line) in shapes {
        let mut text = head.to_owned();
        let mut count = 0;
        while text.len() < 1 << 18 {
            count += 1;
            text += &line(count);
        }
        let notes = "## Notes\n\n".to_owned() + &"a long note\n".repeat(10_000);
        let read = reading(&alone(&(text + &notes)));
        assert_eq!(units(&read).len(), count + usize::from(!head.is_empty()));
    }
    let criteria = "- [ ] **T1**: a\n  - Criteria: x\n".to_owned() + &"    and more of it\n".repeat(30_000);
    assert_eq!(unit(&reading(&alone(&criteria)), "T1").criteria.len(), 1);
    let unknown: Vec<String> = (0..10_000).map(|nth| format!("X{nth}")).collect();
    let units: String = (0..10_000).map(|nth| format!("- [ ] **T{nth}**: x\n")).collect();
    let unknown = format!("## Dependencies\n{}\n## Tasks\n{units}", unknown.join(", "));
    assert_eq!(reading(&alone(&unknown)).reading.problems.len(), 10_000, "each is told");
    let brief = "## Done When\n".to_owned() + &"- it is so\n".repeat(50_000);
    let read = reading(&folder(&[("brief.md", &brief), ("tasks.md", "- [ ] **T1**: a\n")]));
    assert!(told(&read).contains("this part has more than 4000 characters (from here on it is ignored)"));
    let ids: Vec<String> = (1..5_000).map(|nth| format!("T{nth}")).collect();
    let units: String = ids.iter().map(|id| format!("- [ ] **{id}**: x\n")).collect();
    let drawn = format!("## Dependencies\n{}\n## Tasks\n{units}", ids.join(" → "));
    assert_eq!(told(&reading(&alone(&drawn))), "");
}

// Boxes.

#[test]
fn c1_to_c6_marks_and_bullets() {
    let text = "- [X] **T1**: a\n* [ ] **T2**: b\n+ [ ] **T3**: c\n4. [ ] **T4**: d\n5) [x] **T5**: e\n- [-] **T6**: f\n\
                - [~] **T7**: g\n- [/] **T8**: h\n- [✓] **T9**: i\n-[ ] **T10**: j\n- [x ] **T11**: k\n";
    let read = reading(&alone(text));
    assert_eq!(
        tasks(&read),
        ["T1 a x", "T2 b", "T3 c", "T4 d", "T5 e x", "T6 f", "T7 g", "T8 h", "T9 i x", "T10 j", "T11 k x"]
    );
    insta::assert_snapshot!("unusual_boxes", told(&read));
}

#[test]
fn c7_an_optional_unit_is_one_all_the_same() {
    assert_eq!(only("- [ ] **T1**: a\n- [ ]* **T2**: b\n"), ["T1 a", "T2 b"]);
}

#[test]
fn c8_c9_c12_boxes_below_a_unit_are_its_steps_or_units_themselves() {
    assert_eq!(only("- [ ] **T1**: a\n  - [x] one\n  - [ ] two\n"), ["T1 a"]);
    assert!(
        unit(&reading(&alone("- [ ] **T1**: a\n  - [x] one\n  - [ ] two\n")), "T1")
            .prompt
            .contains("- one\n- two")
    );
    let read = reading(&alone(
        "- [ ] **T1**: a\n  - [ ] **T1.1**: b\n  - [ ] **T1.2**: c\n- [ ] **T2**: d\n  - Depends: T1\n",
    ));
    assert_eq!(tasks(&read), ["T1.1 b", "T1.2 c", "T2 d"]);
    assert_eq!(needs(&read)[2], "T2 [T1.1, T1.2]");
    assert_eq!(
        problems("- [x] **T1**: a\n  - [ ] one\n"),
        "tasks.md:1:7: warning: this box is ticked, but one of its steps is not (not done)\n"
    );
}

#[test]
fn c10_c11_c13_c14_the_tree_comes_from_numbers_too() {
    assert_eq!(
        only("- [ ] **T1**: a\n- [ ] **T1.1**: b\n- [ ] **T1.1.1**: c\n- [ ] **T2.1**: d\n"),
        ["T1.1.1 c", "T2.1 d"]
    );
}

#[test]
fn c15_blank_lines_between_a_unit_and_its_fields_are_nothing() {
    let read =
        reading(&alone("- [ ] **T1**: a\n\n   \n  - Criteria:\n\n    - one\n\n  - Max iterations: 4\n"));
    assert_eq!((told(&read).as_str(), unit(&read, "T1").attempts), ("", 4));
    assert_eq!(unit(&read, "T1").criteria, ["one"]);
}

#[test]
fn c16_c17_boxes_in_code_are_no_units_and_open_code_hides_none() {
    let text = "- [ ] **T1**: a\n  ```sh\n  - [ ] **T9**: not this\n  ```\n> - [ ] **T8**: nor this\n- [ ] **T2**: b\n  ```\n  x\n- [ ] **T3**: c\n";
    let read = reading(&alone(text));
    assert_eq!(tasks(&read), ["T1 a", "T2 b", "T3 c"]);
    assert_eq!(
        told(&read),
        "tasks.md:3:3: warning: this looks like a task, but is in code (not read as one)\n\
         tasks.md:5:1: warning: this looks like a task, but is in a quote (not read as one)\n\
         tasks.md:7:1: warning: this code is never closed (Piton ignores this line and reads what follows)\n"
    );
}

#[test]
fn c18_what_is_crossed_out_is_neither_done_nor_run() {
    let text = "## Dependencies\nT1 → T2\n## Tasks\n- [x] ~~**T1**: old~~\n- [ ] **T2**: b\n- [ ] **T3**: c\n  - Depends: T1\n";
    let read = reading(&alone(text));
    assert_eq!(tasks(&read), ["T2 b", "T3 c"]);
    assert_eq!(needs(&read), ["T2 []", "T3 []"]);
    assert_eq!(
        told(&read),
        "tasks.md:2:1: warning: `T1` is not a unit of this list (crossed out)\n\
         tasks.md:4:9: warning: this item is crossed out (dropped: it is neither done nor open)\n\
         tasks.md:7:14: warning: `T3` waits for `T1`, which is crossed out (not waited for)\n"
    );
}

#[test]
fn c19_comments_on_a_box_are_advice() {
    let text = "- [x] **T1**: a <!-- DONE: 3 iterations -->\n- [ ] **T2**: b <!-- IN_PROGRESS: iteration 4 -->\n\
                - [ ] **T3**: c <!-- BLOCKED: no key -->\n- [ ] **T4**: d <!-- PENDING -->\n";
    assert_eq!(only(text), ["T1 a x", "T2 b", "T3 c", "T4 d"]);
    let read = reading(&alone(
        "- [ ] **T1**: a <!-- DONE: 3 iterations -->\n- [x] **T2**: b <!-- IN_PROGRESS: iteration 4 -->\n",
    ));
    assert_eq!(tasks(&read), ["T1 a", "T2 b x"], "the box decides");
    assert_eq!(
        told(&read),
        "tasks.md:1:17: warning: this says done, but the box does not (the box decides)\n\
         tasks.md:2:17: warning: this says not done, but the box does not (the box decides)\n"
    );
    let read = reading(&alone("- [x] **T1**: a\n  - Status: in progress\n"));
    assert_eq!(tasks(&read), ["T1 a"]);
    assert_eq!(told(&read), "tasks.md:1:7: warning: the box of `T1` and its status disagree (not done)\n");
}

#[test]
fn c20_c21_a_heading_that_names_a_unit_is_one() {
    let text = "### T1: Name ✅\n- **Status**: [x] Completed (today)\n- Max iterations: 4\n- [x] do it\n";
    let read = reading(&alone(text));
    assert_eq!(tasks(&read), ["T1 Name x"]);
    assert_eq!(unit(&read, "T1").attempts, 4);
    assert_eq!(
        told(&read),
        "tasks.md:1:5: warning: this heading is read as a task (write it like `- [ ] T1 …`)\n"
    );
}

#[test]
fn c22_c23_criteria_are_no_units() {
    let text = "## Tasks\n- [ ] **T1**: a\n  - Criteria:\n    - [ ] TTFB below 200 ms\n    - [ ] T2 is not this\n## Definition of Done\n- [ ] all of it\n";
    let read = reading(&alone(text));
    assert_eq!(tasks(&read), ["T1 a"]);
    assert_eq!(unit(&read, "T1").criteria, ["TTFB below 200 ms", "T2 is not this"]);
    assert_eq!(
        told(&read),
        "tasks.md:7:7: warning: boxes in this part of the file are not read as tasks (nor are those below it)\n"
    );
}

#[test]
fn c24_front_matter_is_passed_over() {
    assert_eq!(only("---\ntitle: x\nstatus: draft\n---\n# Tasks\n- [ ] **T1**: a\n"), ["T1 a"]);
}

// Names.

#[test]
fn i1_i2_i3_i6_ids_in_every_spelling_gaps_and_order() {
    let text = "- [ ] **T0**: z\n- [ ] T1 a\n- [ ] T2) b\n- [ ] T3: c\n- [ ] **T4.** d\n- [ ] Task T8: e\n- [ ] **T9** f\n- [ ] __T10__: g\n";
    assert_eq!(only(text), ["T0 z", "T1 a", "T2 b", "T3 c", "T4 d", "T8 e", "T9 f", "T10 g"]);
    assert!(units(&reading(&alone(text))).iter().all(|task| task.priority == 1), "ids alone give the order");
    let turned = reading(&alone("- [ ] **T2**: a\n- [ ] **T1**: b\n"));
    let order: Vec<u32> = units(&turned).iter().map(|task| task.priority).collect();
    assert_eq!(order, [1, 2], "the order of the file, where that of the ids differs");
}

#[test]
fn i4_an_id_that_is_used_twice_names_two_units_and_nothing_can_refer_to_it() {
    let text = "- [ ] **T1**: a\n- [ ] **T1**: b\n- [ ] **T2**: c\n  - Depends: T1\n";
    let read = reading(&alone(text));
    assert_eq!(tasks(&read), ["T1 a", "T1@L2 b", "T2 c"]);
    assert_eq!(
        told(&read),
        "tasks.md:2:7: warning: the number `T1` is used twice, in line 1 and line 2 (called `T1@L2` here)\n\
         tasks.md:4:14: error: `T2` waits for `T1`, which is the id of several tasks (give each of them an id of its own)\n"
    );
    let drawn = "## Dependencies\nT1 → T2\n## Tasks\n- [ ] **T1**: a\n- [ ] **T1**: b\n- [ ] **T2**: c\n";
    assert!(problems(drawn).contains("tasks.md:2:1: error: `T1` is the id of several units"));
    let strict = reading_with(
        &alone("- [ ] **T1**: a\n- [ ] **T1**: b\n"),
        "x",
        &Config::default(),
        Strictness::Strict,
    );
    assert!(!strict.reading.is_usable());
}

#[test]
fn i5_where_a_unit_stands_counts_more_than_its_number() {
    let read = reading(&alone("- [ ] 11. a\n  - [ ] 8.2 b\n"));
    assert_eq!(tasks(&read), ["8.2 b"]);
    assert_eq!(
        told(&read),
        "tasks.md:2:9: warning: `8.2` is below `11` (its place decides, not its number)\n"
    );
}

#[test]
fn i7_i8_letters_are_ids_and_case_is_no_difference() {
    let text =
        "- [ ] **R1**: a\n- [ ] **D1**: b\n- [ ] **WP02**: c\n- [ ] **US-001**: d\n- [ ] **L2-003**: e\n";
    assert_eq!(only(text), ["R1 a", "D1 b", "WP02 c", "US-001 d", "L2-003 e"]);
    let read = reading(&alone("- [ ] **T1**: a\n- [ ] **T2**: b\n  - Depends: t1\n"));
    assert_eq!(needs(&read)[1], "T2 [T1]");
    assert_eq!(told(&read), "tasks.md:3:14: warning: `t1` is written `T1` elsewhere (read as the same)\n");
    assert!(
        problems("- [ ] **T1**: a\n- [ ] **T2**: b\n  - Depends: T001\n")
            .contains("error: `T2` waits for `T001`, which does not exist (did you mean `T1`?)")
    );
}

#[test]
fn i9_to_i14_what_a_unit_waits_for() {
    let waits = |depends: &str| {
        let units: String = (1..=3).map(|nth| format!("- [ ] **T{nth}**: a\n")).collect();
        let read =
            reading(&alone(&format!("{units}- [ ] **T4**: b\n  - Depends: {depends}\n- [ ] **T6**: c\n")));
        (needs(&read)[3].clone(), told(&read).replace("tasks.md:5:", ""))
    };
    let fine =
        |text: &str, needs: &str| assert_eq!(waits(text), (format!("T4 {needs}"), String::new()), "{text}");
    fine("T1-T3", "[T1, T2, T3]");
    fine("T1–3", "[T1, T2, T3]");
    for none in ["none", "None", "-", "N/A", ""] {
        fine(none, "[]");
    }
    fine("T1,T2", "[T1, T2]");
    fine("T1; T2 and T3", "[T1, T2, T3]");
    fine("T1 & `T2`", "[T1, T2]");
    fine("T6", "[T6]");
    assert_eq!(waits("T9").1, "14: error: `T4` waits for `T9`, which does not exist (no task has this id)\n");
    assert_eq!(
        waits("T1-T9").1,
        "14: error: `T4` waits for `T1-T9`, some of which does not exist (`T9` does not exist)\n"
    );
    assert_eq!(waits("T4").1, "14: error: `T4` waits for itself (remove this)\n");
    assert_eq!(
        waits("the database").1,
        "14: warning: `T4` waits for \"the database\", which is not a task (not waited for)\n"
    );
    let strict = reading_with(
        &alone("- [ ] **T1**: a\n  - Depends: the database\n"),
        "x",
        &Config::default(),
        Strictness::Strict,
    );
    assert!(!strict.reading.is_usable());
}

#[test]
fn i14_units_that_wait_for_each_other_are_refused_with_the_way_round() {
    assert_eq!(
        problems(
            "- [ ] **T1**: a\n  - Depends: T3\n- [ ] **T2**: b\n  - Depends: T1\n- [ ] **T3**: c\n  - Depends: T2\n"
        ),
        "tasks.md:2:14: error: these units wait for each other: T1 → T3 → T2 → T1 (`T1` waits for `T3`)\n"
    );
    assert_eq!(
        problems("## Dependencies\nT1 → T2 → T1\n## Tasks\n- [ ] **T1**: a\n- [ ] **T2**: b\n"),
        "tasks.md:2:1: error: these units wait for each other: T1 → T2 → T1 (`T1` waits for `T2`)\n"
    );
    assert!(
        problems("## Dependencies\nT1 → T1\n## Tasks\n- [ ] **T1**: a\n")
            .contains("error: `T1` waits for itself")
    );
}

#[test]
fn i15_a_unit_may_wait_for_a_later_one() {
    let read = reading(&alone("- [ ] **T1**: a\n  - Depends: T2\n- [ ] **T2**: b\n"));
    assert_eq!((told(&read).as_str(), needs(&read)), ("", vec!["T1 [T2]".to_owned(), "T2 []".to_owned()]));
}

#[test]
fn a_unit_without_an_id_is_named_and_told() {
    let read = reading(&alone("- [ ] **T1**: a\n- [ ] b\n- [ ]\n"));
    assert_eq!(tasks(&read), ["T1 a", "U1 b", "U2 Unit U2"]);
    assert_eq!(told(&read).matches("this task has no number").count(), 2);
    assert_eq!(told(&read).matches("has no text").count(), 1);
    assert_eq!(only("- [ ] First\n- [x] Second\n"), ["1 First", "2 Second x"]);
}
