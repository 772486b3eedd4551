//! State files of the rw-kit system: written by any program in any version, and compared with what they were.

use piton_core::diagnostic::place;
use piton_core::system::rwkit::state::{What, commands, edits, read};
use serde_json::Value;

use crate::names::safe_name;
use crate::same;

pub(crate) const WORDS: &[&str] = &[
    "\"version\":\"1.0.0\"",
    "\"version\":\"3.0.0\"",
    "\"tasks\":{",
    "\"T001\":",
    "\"T003\":",
    "\"T099\":{\"description\":\"x\"}",
    "\"status\":",
    "\"completed\"",
    "\"in_progress\"",
    "\"failed\"",
    "\"blocked\"",
    "\"skipped\"",
    "\"paused\"",
    "\"retry_counts\":{",
    "\"quality_gates\":{",
    "\"qa_review\":",
    "\"approved\"",
    "\"degraded\"",
    "\"degraded_phases\":[",
    "\"blocked_tasks\":[",
    "\"batches\":[",
    "\"batch_id\":",
    "\"compacted\":true",
    "\"verification\":{",
    "\"agent_done\":true",
    "\"files_modified\":",
    "\"dependencies\":",
    "\"error\":\"x\"",
    "\"logs\":[",
    "{\"level\":\"error\",\"message\":\"x\"}",
    "\"2026-01-10T12:00:00+07:00\"",
    "\n===\n",
    "null",
    "{}",
    "[]",
    "-3",
    "18446744073709551615",
    "//",
];

/// What is not JSON is refused, what is JSON is read as that, and no task is lost.
pub(crate) fn state(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let reading = same(|| read(&text));
    for problem in &reading.problems {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?} is no place of the text");
        place(&text, problem.span.start);
    }
    match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
        Err(_) => assert!(!reading.is_usable(), "this is not JSON"),
        Ok(value) if reading.is_usable() => assert_eq!(reading.state.value, value),
        Ok(_) => {}
    }
    let state = &reading.state;
    state.tasks.keys().chain(state.listed.keys()).for_each(|id| safe_name(id.as_str()));
    if !reading.is_usable() {
        return;
    }
    let all = state.carried(|_| false);
    for id in state.tasks.keys() {
        assert!(all["tasks"].get(id.as_str()).is_some(), "{id} was lost");
    }
    if let Some(tasks) = state.value.get("tasks").and_then(Value::as_object) {
        let named = tasks.keys().filter(|key| state.tasks.keys().any(|id| id.as_str() == key.trim()));
        assert_eq!(named.count(), tasks.len(), "a task was lost");
    }
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
    for edit in same(|| edits(&shown, &found)) {
        assert!(!edit.to_string().is_empty());
        let commands = commands(&edit, "file");
        let later = matches!(edit.what, What::ReportDone { .. } | What::Add { .. });
        assert_eq!(commands.is_empty(), later, "{edit}");
        if let Some(task) = &edit.task {
            safe_name(task.as_str());
        }
        if let What::Add { task, .. } = &edit.what {
            task.after.iter().for_each(|need| safe_name(need.as_str()));
        }
    }
    if !found.is_object() {
        return;
    }
    // Whatever is applied, a change of a derived field beside it is not.
    let mut counted = found.clone();
    counted["progress"] = serde_json::json!({"pending": -3});
    let carried = |what: &What| matches!(what, What::Carried { .. });
    let wishes = |found: &Value| {
        let all = edits(&shown, found).into_iter();
        all.filter(|edit| !carried(&edit.what)).collect::<Vec<_>>()
    };
    if shown != found {
        assert_eq!(wishes(&found), wishes(&counted));
    }
}
