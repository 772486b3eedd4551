//! What a program answered, as values. Its shape is looked at, never trusted.

use serde_json::Value;

use crate::system::kit::json_texts::{one_line, readable};

/// More items of one list say nothing that a plan needs.
const MOST: usize = 500;

/// A text of an object on one line; empty if it is not there.
pub(super) fn line(object: &Value, name: &str) -> String {
    one_line(object.get(name).and_then(Value::as_str).unwrap_or_default())
}

/// A text of an object; empty if it is not there.
pub(super) fn text(object: &Value, name: &str) -> String {
    readable(object.get(name).and_then(Value::as_str).unwrap_or_default())
}

/// The items of a list, or of an object that has it under `nodes`.
pub(super) fn items<'v>(object: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    let list = object.get(name).map(|list| list.get("nodes").unwrap_or(list));
    list.and_then(Value::as_array).into_iter().flatten().take(MOST)
}

/// What the items of a list are called: texts, or objects with this name.
pub(super) fn names(object: &Value, list: &str, name: &str) -> Vec<String> {
    let name_of = |item: &Value| item.as_str().map_or_else(|| line(item, name), one_line);
    items(object, list).map(name_of).filter(|name| !name.is_empty()).collect()
}
