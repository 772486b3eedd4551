//! Ticking boxes in place.

use std::collections::BTreeMap;

use super::*;
use crate::dialect::issue::boxes::tick;

fn ticked(text: &str, done: &[(&str, bool)]) -> (String, Vec<String>) {
    let done: BTreeMap<TaskId, bool> =
        done.iter().map(|(id, done)| (TaskId::new(id).expect("an id"), *done)).collect();
    let ticked = tick(text.as_bytes(), &done).expect("a text");
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
