//! Ticking boxes where they stand.

use std::collections::BTreeMap;

use super::*;
use crate::system::kit::outline::Word;
use crate::system::rwkit::boxes::{tick, ticked};

fn marks(ids: &[(&str, bool)]) -> BTreeMap<TaskId, Word> {
    let word = |done| if done { Word::Completed } else { Word::Pending };
    ids.iter().map(|(id, done)| (TaskId::new(id).expect("an id"), word(*done))).collect()
}

#[test]
fn a_box_is_ticked_and_nothing_else_changes() {
    let new =
        tick(INVOICES.as_bytes(), &marks(&[("T002", true), ("T001", false), ("T0E1", true)])).expect("text");
    assert_eq!(new.missing, [], "a task without a box is not missing");
    let expected = INVOICES
        .replace("- [x] T001", "- [ ] T001")
        .replace("- [ ] T002", "- [x] T002")
        .replace("- [ ] with a header", "- [x] with a header");
    assert_eq!(String::from_utf8(new.bytes).expect("text"), expected);
}

#[test]
fn b1_b2_the_mark_at_the_start_and_line_ends_stay() {
    let text = "\u{feff}- [ ] T001 a\r\n- [-] T002 b\r- [ ] T003 c";
    let new =
        tick(text.as_bytes(), &marks(&[("T001", true), ("T002", false), ("T003", true), ("T009", true)]))
            .expect("text");
    assert_eq!(
        String::from_utf8(new.bytes).expect("text"),
        "\u{feff}- [x] T001 a\r\n- [-] T002 b\r- [x] T003 c"
    );
    assert_eq!(format!("{:?}", new.missing), "[T009]");
}

#[test]
fn k19_lines_that_are_the_same_are_told_apart_by_where_they_stand() {
    let text = "- [ ] T001 Do it\n\n- [ ] T001 Do it\n- [ ] Do it\n";
    let new = tick(text.as_bytes(), &marks(&[("T001@L3", true)])).expect("text");
    assert_eq!(
        String::from_utf8(new.bytes).expect("text"),
        "- [ ] T001 Do it\n\n- [x] T001 Do it\n- [ ] Do it\n"
    );
}

#[test]
fn a_box_in_a_table_is_ticked_there() {
    let text =
        "| Task | Description | Status |\n|---|---|---|\n| T0E1 | Test | [ ] |\n| T0E2 | Test | ✅ Done |\n";
    let read = reading(text);
    assert_eq!(tasks(&read), ["T0E1 Test", "T0E2 Test x"]);
    let new = tick(text.as_bytes(), &marks(&[("T0E1", true)])).expect("text");
    assert_eq!(String::from_utf8(new.bytes).expect("text"), text.replace("[ ]", "[x]"));
}

#[test]
fn what_is_ticked_is_known_with_what_speaks_against_it() {
    let text = "- [x] T001 a\n- [x] T002 b\n  - [ ] step\n- [ ] T003 c\n### Acceptance Criteria\n- [x] d\n";
    assert_eq!(format!("{:?}", ticked(text.as_bytes())), "{T001: None, T002: Some(\"its steps are open\")}");
    assert!(
        told(&reading(text))
            .contains("2:7: warning: this box is ticked, but one of its steps is not (not done)\n")
    );
}

#[test]
fn b6_what_is_no_utf_8_is_left_alone() {
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("- [ ] T001 a".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(tick(&wide, &marks(&[("T001", true)])), None);
}
