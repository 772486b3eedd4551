//! Which fields of the file have a meaning here. All others belong to somebody else: they are found, carried in the
//! journal, and laid over what is written.

use serde_json::{Map, Value};

/// The name of the file, also in the journal.
pub const FILE: &str = "execute-state.json";

/// What stands at a place of the file.
#[derive(Debug)]
pub(super) enum Shape {
    /// A value without fields of its own.
    Leaf,
    /// The same, but where the run has nothing to say somebody else may, until the task is completed.
    Loose,
    /// These fields.
    Fields(&'static [(&'static str, Shape)]),
    /// One of these under each key.
    Each(&'static Shape),
    /// A list of these.
    List(&'static Shape, Key),
}

/// How an entry of a list is found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// The list only grows.
    Place,
    /// The list is made anew each time: by this field.
    Field(&'static str),
}

use Shape::{Each, Fields, Leaf, List, Loose};

pub(super) const ROOT: Shape = Fields(&[
    ("schema_version", Leaf),
    ("prd_slug", Leaf),
    ("project_path", Leaf),
    ("worktree_dir", Leaf),
    ("tasks_path", Leaf),
    ("started_at", Leaf),
    ("updated_at", Leaf),
    ("completed_at", Leaf),
    ("status", Leaf),
    ("stop_reason", Leaf),
    ("current_layer", Leaf),
    ("current_batch", Leaf),
    (
        "options",
        Fields(&[
            ("max_parallel", Leaf),
            ("layer_filter", Leaf),
            ("start_layer", Leaf),
            ("task_filter", Leaf),
            ("commit_prefix", Leaf),
            ("no_commits", Leaf),
        ]),
    ),
    (
        "layers",
        Each(&Fields(&[
            ("status", Leaf),
            ("started_at", Leaf),
            ("completed_at", Leaf),
            ("tasks_total", Leaf),
            ("tasks_completed", Leaf),
            ("tasks_failed", Leaf),
            // Of the version after this one.
            ("total", Leaf),
            ("merged", Leaf),
        ])),
    ),
    ("tasks", Each(&TASK)),
    (
        "worktrees",
        Each(&Fields(&[
            ("task_id", Leaf),
            ("path", Leaf),
            ("branch", Leaf),
            ("created_at", Leaf),
            ("status", Leaf),
        ])),
    ),
    (
        "merge_queue",
        List(
            &Fields(&[
                ("task_id", Leaf),
                ("priority", Leaf),
                ("status", Leaf),
                ("verified_at", Leaf),
                ("merged_at", Leaf),
            ]),
            Key::Field("task_id"),
        ),
    ),
    ("completed", Leaf),
    ("failed", Leaf),
    ("abandoned", Leaf),
    (
        "metrics",
        Fields(&[
            ("tasks_total", Leaf),
            ("tasks_completed", Leaf),
            ("tasks_failed", Leaf),
            ("tasks_abandoned", Leaf),
            ("tasks_remaining", Leaf),
            ("total_attempts", Leaf),
            ("total_retries", Leaf),
            ("elapsed_seconds", Leaf),
            ("total_tasks", Leaf),
            ("completed_tasks", Leaf),
            ("failed_tasks", Leaf),
            ("total_commits", Leaf),
            ("elapsed_time_seconds", Leaf),
        ]),
    ),
    (
        "context_update",
        Fields(&[
            ("status", Leaf),
            ("project_md_path", Leaf),
            ("features_added", Leaf),
            ("endpoints_added", Leaf),
            ("models_added", Leaf),
            ("commit_hash", Leaf),
            ("reason", Leaf),
        ]),
    ),
    ("piton_seq", Leaf),
    ("piton_run", Leaf),
]);

pub(super) const TASK: Shape = Fields(&[
    ("status", Leaf),
    ("attempts", Leaf),
    ("worktree_path", Loose),
    ("branch", Loose),
    ("started_at", Leaf),
    ("completed_at", Leaf),
    ("merged_at", Leaf),
    (
        "commits",
        List(
            &Fields(&[
                ("hash", Leaf),
                ("type", Leaf),
                ("attempt", Leaf),
                ("message", Leaf),
                ("fixed", Leaf),
                ("created_at", Leaf),
            ]),
            Key::Place,
        ),
    ),
    (
        "errors",
        List(
            &Fields(&[
                ("attempt", Leaf),
                ("type", Leaf),
                ("step", Leaf),
                ("message", Leaf),
                ("details", Leaf),
                ("timestamp", Leaf),
            ]),
            Key::Place,
        ),
    ),
    ("retry_feedback", List(&Fields(&[("attempt", Leaf), ("feedback", Leaf)]), Key::Place)),
]);

/// The fields of a value that have no meaning here, each at its place, as an object to be laid over a file.
/// An entry of a list stands under its key.
pub(super) fn foreign(value: &Value, shape: &Shape) -> Map<String, Value> {
    let mut found = Map::new();
    fn keep(found: &mut Map<String, Value>, key: &str, inner: Map<String, Value>) {
        if !inner.is_empty() {
            found.insert(key.to_owned(), Value::Object(inner));
        }
    }
    match (shape, value) {
        (Fields(fields), Value::Object(object)) => {
            for (key, value) in object {
                match fields.iter().find(|(name, _)| name == key) {
                    Some((_, shape)) => keep(&mut found, key, foreign(value, shape)),
                    // As good as none.
                    None if value.is_null() => {}
                    None => {
                        found.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (Each(shape), Value::Object(object)) => {
            object.iter().for_each(|(key, value)| keep(&mut found, key, foreign(value, shape)));
        }
        (List(shape, key), Value::Array(entries)) => {
            for (place, entry) in entries.iter().enumerate() {
                if let Some(key) = key_of(entry, place, *key) {
                    keep(&mut found, &key, foreign(entry, shape));
                }
            }
        }
        _ => {}
    }
    found
}

/// Lay the fields of others over a file. What they belong to may be gone by now: then they are not shown.
pub(super) fn lay_over(value: &mut Value, carried: &Map<String, Value>, shape: &Shape) {
    match (shape, value) {
        (Fields(fields), Value::Object(object)) => {
            let completed = object.get("status").is_some_and(|status| status == "completed");
            for (key, over) in carried {
                match (fields.iter().find(|(name, _)| name == key), over) {
                    (Some((_, shape @ (Fields(_) | Each(_) | List(..)))), Value::Object(over)) => {
                        if let Some(under) = object.get_mut(key) {
                            lay_over(under, over, shape);
                        }
                    }
                    (Some((_, Loose)), over) => {
                        if let Some(under) = object.get_mut(key).filter(|under| under.is_null() && !completed)
                        {
                            *under = over.clone();
                        }
                    }
                    // Ours; whoever carried it thought otherwise.
                    (Some(_), _) => {}
                    (None, over) => {
                        object.insert(key.clone(), over.clone());
                    }
                }
            }
        }
        (Each(shape), Value::Object(object)) => {
            for (key, over) in carried {
                match (object.get_mut(key), over) {
                    (Some(under), Value::Object(over)) => lay_over(under, over, shape),
                    // A whole entry of somebody's that the run does not know of.
                    (None, Value::Object(orphan)) if orphan.contains_key("status") => {
                        object.insert(key.clone(), over.clone());
                    }
                    _ => {}
                }
            }
        }
        (List(shape, key), Value::Array(entries)) => {
            for (place, entry) in entries.iter_mut().enumerate() {
                let over = key_of(entry, place, *key).and_then(|key| carried.get(&key));
                if let Some(Value::Object(over)) = over {
                    lay_over(entry, over, shape);
                }
            }
        }
        _ => {}
    }
}

fn key_of(entry: &Value, place: usize, key: Key) -> Option<String> {
    match key {
        Key::Place => Some(place.to_string()),
        Key::Field(name) => entry.get(name).and_then(Value::as_str).map(str::to_owned),
    }
}
