//! State files of the execute system: written by any program, and compared with what they were.

use piton_core::chronicle::lay_over;
use piton_core::diagnostic::place;
use piton_core::system::execute::state::{What, commands, edits, read};
use serde_json::{Map, Value};

use crate::names::safe_name;
use crate::same;

pub(crate) const WORDS: &[&str] = &[
    "\"status\":",
    "\"attempts\":",
    "\"tasks\":{",
    "\"commits\":[",
    "\"errors\":[",
    "\"retry_feedback\":[",
    "\"completed\"",
    "\"in_progress\"",
    "\"failed\"",
    "\"abandoned\"",
    "\"blocked\"",
    "\"pending\"",
    "\"merged\"",
    "\"L1-001\":",
    "\"L1-003\":",
    "\"hash\":\"abc1234\"",
    "\"task_defect\"",
    "\"2026-01-10T12:00:00Z\"",
    "\"2026-01-10T12:00:00-0600\"",
    "\n===\n",
    "null",
    "true",
    "{}",
    "[]",
    "[[[[[[[[",
    "18446744073709551616",
    "-1",
    "1e999",
    "NaN",
    "//",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
];

/// Whatever the bytes, what is not JSON is refused, what is JSON is read as that, and no task is lost.
pub(crate) fn state(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let reading = same(|| read(&text));
    for problem in &reading.problems {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?} is no place of the text");
        place(&text, problem.span.start);
    }
    let json = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}'));
    match &json {
        Err(_) => assert!(!reading.is_usable(), "this is not JSON"),
        Ok(value) if reading.is_usable() => assert_eq!(&reading.state.value, value),
        // A depth or a number that we do not take, or words that mean nothing.
        Ok(_) => {}
    }
    let state = &reading.state;
    state.tasks.keys().chain(state.listed.keys()).for_each(|id| safe_name(id.as_str()));
    if !reading.is_usable() {
        return;
    }
    if let Some(tasks) = state.value.get("tasks").and_then(Value::as_object) {
        let named = tasks.keys().filter(|key| state.tasks.keys().any(|id| id.as_str() == key.trim()));
        assert_eq!(named.count(), tasks.len(), "a task was lost");
    }
    let all = state.carried(|_| false);
    assert!(state.tasks.is_empty() || all.get("tasks").is_some() || state.value["tasks"].is_array());
    assert_eq!(edits(&state.value, &state.value), [], "nothing was changed");
}

/// The old file, a line `===`, and the new file.
pub(crate) fn heard(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (shown, found) = text.split_once("\n===\n").unwrap_or((&text, &text));
    let (Ok(shown), Ok(found)) = (serde_json::from_str::<Value>(shown), serde_json::from_str::<Value>(found))
    else {
        return;
    };
    let heard = same(|| edits(&shown, &found));
    let mut carried = Value::Object(Map::new());
    for edit in &heard {
        assert!(!edit.to_string().is_empty());
        commands(edit, "file");
        if let Some(task) = &edit.task {
            safe_name(task.as_str());
        }
        if let What::Carried { fields } = &edit.what {
            lay_over(&mut carried, fields);
        }
    }
    if shown.is_object() && shown == found {
        assert_eq!(heard, [], "nothing was changed");
    }
}
