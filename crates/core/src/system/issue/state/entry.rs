//! What a task's entry in the file says, in all the forms that people and scripts write: lists that are one text, exports
//! sorted by kind, counts in quotes.

use serde_json::Value;

use crate::plan::TaskId;
use crate::run::{Report, Tests};

/// What stands in `notes` if there was no report: the mark that this system knows.
pub(super) const AUTO: &str = "(auto-updated by orchestrator)";

/// All that a report can hold.
pub(super) fn read_report(entry: &Value) -> Report {
    let created = texts(&entry["files_created"]);
    let mut files = created.clone();
    add(&mut files, texts(&entry["files_modified"]));
    let note = entry["notes"].as_str().map(str::trim).filter(|note| *note != AUTO).unwrap_or_default();
    Report {
        note: note.to_owned(),
        files,
        created,
        exports: texts(&entry["exports"]),
        patterns: texts(&entry["patterns"]),
        tests: tests(&entry["test_results"]),
        ..Report::default()
    }
}

/// What the second report adds to the first.
pub(super) fn news(before: &Report, after: &Report) -> Report {
    let fresh = |before: &[String], after: &[String]| {
        after.iter().filter(|text| !before.contains(text)).cloned().collect::<Vec<String>>()
    };
    Report {
        note: if after.note == before.note { String::new() } else { after.note.clone() },
        files: fresh(&before.files, &after.files),
        created: fresh(&before.created, &after.created),
        exports: fresh(&before.exports, &after.exports),
        patterns: fresh(&before.patterns, &after.patterns),
        tests: after.tests.filter(|_| after.tests != before.tests),
        ..Report::default()
    }
}

/// Each text once.
pub(super) fn add(texts: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for text in more {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
}

/// A list, one text, or lists by kind such as `{"classes": […], "functions": […]}`.
fn texts(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    match value {
        Value::Null => {}
        Value::String(text) => add(&mut found, Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Value::Array(items) => items.iter().for_each(|item| add(&mut found, one(item))),
        Value::Object(kinds) => kinds.values().for_each(|items| add(&mut found, texts(items))),
        other => found.push(other.to_string()),
    }
    found
}

/// An entry of a list: text, or something that has a name or a path.
fn one(item: &Value) -> Option<String> {
    let named = ["name", "path", "file"].iter().find_map(|key| item.get(key)?.as_str());
    let text = match item.as_str().or(named) {
        Some(text) => text.trim().to_owned(),
        None if item.is_null() => return None,
        None => item.to_string(),
    };
    Some(text).filter(|text| !text.is_empty())
}

/// Counts, or what a runner or a person says of them.
pub(super) fn tests(value: &Value) -> Option<Tests> {
    let count = |name: &str| match value.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(Value::Number(number)) => number.as_u64().map(Some),
        Some(Value::String(text)) => text.trim().parse().ok().map(Some),
        Some(_) => None,
    };
    match value {
        Value::Object(_) => {
            let counts = [count("passed")?, count("failed")?, count("skipped")?];
            let [passed, failed, skipped] = counts.map(Option::unwrap_or_default);
            counts.iter().any(Option::is_some).then_some(Tests { passed, failed, skipped })
        }
        Value::String(text) => crate::runners::reported_counts(text),
        _ => None,
    }
}

/// An id as the plan spells it. The recipe that makes these files takes the dot of `1.` for a part of it, and `1.10`
/// without its quotes is another number.
pub(super) fn id(value: &Value) -> Option<TaskId> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if !number.is_f64() => number.to_string(),
        _ => return None,
    };
    TaskId::new(plain(&text)).ok()
}

pub(super) fn plain(id: &str) -> &str {
    id.trim().trim_end_matches('.')
}
