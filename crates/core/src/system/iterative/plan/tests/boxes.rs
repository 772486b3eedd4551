//! Ticking the boxes of such lists, which the room of the issue system does.

use std::collections::BTreeMap;

use super::*;
use crate::system::issue::plan::Word;
use crate::system::kit::boxes::{tick, ticked};

fn stand(done: &[&str]) -> BTreeMap<TaskId, Word> {
    let word = |id: &str| if done.contains(&id) { Word::Completed } else { Word::Pending };
    ["T1", "T2", "T3", "T4"].map(|id| (TaskId::new(id).expect("an id"), word(id))).into_iter().collect()
}

#[test]
fn a_box_is_ticked_and_no_byte_elsewhere_changes() {
    let list = format!("\u{feff}{}", TASKS.replace('\n', "\r\n"));
    let new = tick(list.as_bytes(), &stand(&["T1", "T2"])).expect("text");
    assert_eq!(new.missing, []);
    let expected = list.replace("[ ] **T2**", "[x] **T2**");
    assert_eq!(String::from_utf8(new.bytes).expect("text"), expected, "comments and status lines stay");
    let open = tick(list.as_bytes(), &stand(&[])).expect("text");
    assert_eq!(String::from_utf8(open.bytes).expect("text"), list.replace("[x] **T1**", "[ ] **T1**"));
}

#[test]
fn criteria_with_boxes_are_ticked_with_their_unit() {
    let list = "- [ ] **T1**: a\n  - Criteria:\n    - [ ] 1. one\n    - [ ] T2 is named\n- [ ] **T2**: b\n";
    let read = reading(&alone(list));
    assert_eq!(told(&read), "");
    assert_eq!(tasks(&read), ["T1 a", "T2 b"]);
    assert_eq!(unit(&read, "T1").criteria, ["1. one", "T2 is named"]);
    let new = tick(list.as_bytes(), &stand(&["T1"])).expect("text");
    assert_eq!(new.bytes, list.replace("[ ]", "[x]").replace("[x] **T2**", "[ ] **T2**").as_bytes());
    let ids: Vec<TaskId> = ticked(&new.bytes).into_keys().collect();
    assert_eq!(format!("{ids:?}"), "[T1]");
}
