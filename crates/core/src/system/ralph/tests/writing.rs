//! Only the bytes of a flag change.

use std::collections::BTreeMap;

use super::*;
use crate::plan::TaskId;
use crate::system::kit::outline::Word;
use crate::system::ralph::{tick, ticked};

fn ticked_off(text: &str, of: &[(&str, Word)]) -> String {
    let stand: BTreeMap<TaskId, Word> =
        of.iter().map(|(name, word)| (TaskId::new(name).expect("an id"), *word)).collect();
    let ticked = tick(text.as_bytes(), &stand).expect("JSON");
    assert_eq!(ticked.missing, []);
    String::from_utf8(ticked.bytes).expect("text")
}

#[test]
fn one_flag_changes_and_not_a_byte_else() {
    let now = ticked_off(
        RECEIPTS,
        &[("US-001", Word::Completed), ("US-002", Word::Completed), ("US-003", Word::InProgress)],
    );
    let (head, tail) = RECEIPTS.rsplit_once("\"passes\": false").expect("the last story");
    assert_eq!(now, format!("{head}\"passes\": true{tail}"));
    let ids: Vec<String> = ticked(now.as_bytes()).into_keys().map(|id| id.to_string()).collect();
    assert_eq!(ids, ["US-001", "US-002"]);
    let back = ticked_off(&now, &[("US-002", Word::Blocked)]);
    assert_eq!(back, RECEIPTS);
}

#[test]
fn a_story_without_a_flag_gets_one() {
    let text = "{\"userStories\": [\r\n  {\r\n    \"id\": \"1\"\r\n  },\r\n  { \"id\": \"2\", \"passes\": null }\r\n, {\"id\":\"3\",\"passes\":true}]}";
    let now = ticked_off(text, &[("1", Word::Completed), ("2", Word::Completed), ("3", Word::Pending)]);
    let wanted = text
        .replace("true", "false")
        .replace("\"id\": \"1\"", "\"passes\": true,\r\n    \"id\": \"1\"")
        .replace("null", "true");
    assert_eq!(now, wanted);
}

#[test]
fn stories_that_share_an_id_are_told_apart() {
    let text = with_stories(r#"{"id":"A","passes":false},{"id":"a","passes":false}"#);
    let ids: Vec<String> = read(&text).reading().plan.tasks.iter().map(|task| task.id.to_string()).collect();
    let now = ticked_off(&text, &[(&ids[1], Word::Completed)]);
    assert_eq!(now, with_stories(r#"{"id":"A","passes":false},{"id":"a","passes":true}"#));
}

#[test]
fn what_cannot_be_written_stays_as_it_is() {
    for bytes in [&b"{\"userStories\": [{\"id\": 1"[..], b"", b"{}", b"\xff\xfe{\0}\0"] {
        assert_eq!(tick(bytes, &BTreeMap::new()), None);
        assert!(ticked(bytes).is_empty());
    }
}
