//! Only the bytes of a status change.

use std::collections::BTreeMap;

use super::*;
use crate::plan::TaskId;
use crate::system::kit::outline::Word;
use crate::system::taskmaster::write::{stamped, tick, ticked};
use crate::time::Timestamp;

fn id(text: &str) -> TaskId {
    TaskId::new(text).expect("an id")
}

fn stand(of: &[(&str, Word)]) -> BTreeMap<TaskId, Word> {
    of.iter().map(|(name, word)| (id(name), *word)).collect()
}

fn ticked_off(text: &str, of: &[(&str, Word)]) -> String {
    let ticked = tick(text.as_bytes(), &stand(of)).expect("JSON");
    String::from_utf8(ticked.bytes).expect("text")
}

#[test]
fn with_a_task_its_open_steps_are_done_and_not_a_byte_else_changes() {
    let now = ticked_off(SHOP, &[("1", Word::Completed), ("2", Word::Completed), ("3", Word::Pending)]);
    let (old, new): (Vec<&str>, Vec<&str>) = (SHOP.lines().collect(), now.lines().collect());
    assert_eq!(old.len(), new.len());
    let changed: Vec<String> = old
        .iter()
        .zip(&new)
        .filter(|(old, new)| old != new)
        .map(|(old, new)| format!("-{}\n+{}", old.trim(), new.trim()))
        .collect();
    insta::assert_snapshot!(changed.join("\n"), @r#"
    -"status": "pending",
    +"status": "done",
    -{"id": 2, "title": "Write a line", "description": "At the end of the file.", "details": "", "testStrategy": "Read it back.", "dependencies": [1]},
    +{"status": "done","id": 2, "title": "Write a line", "description": "At the end of the file.", "details": "", "testStrategy": "Read it back.", "dependencies": [1]},
    "#);
    assert!(now.ends_with("  }\n}"), "there is still no line end at the end");
}

#[test]
fn a_task_that_is_not_done_after_all_is_pending_again_and_its_steps_stay() {
    let done = ticked_off(SHOP, &[("2", Word::Completed)]);
    let open = ticked_off(&done, &[("2", Word::Pending)]);
    let ids = |text: &str| ticked(text.as_bytes()).into_keys().map(|id| id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&done), ["1", "2", "2.1", "2.2"]);
    assert_eq!(ids(&open), ["1", "2.1", "2.2"], "of a plan whose subtasks are tasks");
    assert_eq!(open.matches("\"status\": \"done\"").count(), 3, "task 1 and both subtasks of 2");
}

#[test]
fn words_that_say_something_else_stay_until_the_task_is_done() {
    let text =
        with_tasks(r#"{"id":1,"title":"A","status":"in-progress"},{"id":2,"title":"B","status":"done"}"#);
    let all = [("1", Word::InProgress), ("2", Word::Completed), ("9", Word::Completed)];
    let same = tick(text.as_bytes(), &stand(&all)).expect("JSON");
    assert_eq!((same.bytes, same.missing), (text.clone().into_bytes(), vec![id("9")]));
    assert!(ticked_off(&text, &[("1", Word::Completed)]).contains(r#""id":1,"title":"A","status":"done""#));
}

#[test]
fn tasks_of_other_tags_are_other_tasks() {
    let now = ticked_off(SHOP, &[("1@print", Word::Completed), ("1", Word::Completed)]);
    assert!(now.contains(r#""title": "Print a receipt", "status": "done""#));
    assert_eq!(now.len(), SHOP.len() - "pending".len() + "done".len());
}

#[test]
fn a_file_keeps_its_own_word_for_done() {
    let text = with_tasks(r#"{"id":1,"status":"completed"},{"id":2,"status":"pending"}"#);
    assert_eq!(ticked_off(&text, &[("2", Word::Completed)]), text.replace("pending", "completed"));
}

#[test]
fn a_task_without_a_status_gets_one() {
    let text = "{\"tasks\": [\r\n  {\r\n    \"id\": 1,\r\n    \"title\": \"A\"\r\n  },\r\n  {\"id\": 2, \"status\": null}\r\n]}\r\n";
    let now = ticked_off(text, &[("1", Word::Completed), ("2", Word::Completed)]);
    let wanted =
        text.replace("\"id\": 1,", "\"status\": \"done\",\r\n    \"id\": 1,").replace("null", "\"done\"");
    assert_eq!(now, wanted);
}

#[test]
fn what_cannot_be_written_stays_as_it_is() {
    for bytes in [&b"{\"tasks\": [{\"id\": 1"[..], b"", b"\xff\xfe{\0}\0"] {
        assert_eq!(tick(bytes, &stand(&[("1", Word::Completed)])), None);
        assert!(ticked(bytes).is_empty());
    }
}

#[test]
fn times_of_change_are_kept_up_to_date_where_there_are_some() {
    let text = with_tasks(
        r#"{"id":1,"status":"pending","updatedAt":"2026-01-01T00:00:00.000Z","subtasks":[{"id":1,"updatedAt":"x","status":"pending"},{"id":2,"updatedAt":"y","status":"done"}]},{"id":2,"updatedAt":"2026-01-01T00:00:00.000Z","status":"pending"}"#,
    );
    let now = ticked_off(&text, &[("1", Word::Completed)]);
    let stamped =
        stamped(text.as_bytes(), now.as_bytes(), &|_| Some(Timestamp(1_767_225_600_123)), Timestamp(0))
            .expect("JSON");
    let wanted = now
        .replacen("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.123Z", 1)
        .replace("\"x\"", "\"2026-01-01T00:00:00.123Z\"");
    assert_eq!(String::from_utf8(stamped).expect("text"), wanted);
}
