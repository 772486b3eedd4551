//! Which fields of a state file have a meaning here. All others belong to other programs: they are found, carried in the
//! journal, and laid over what is written.

use serde_json::{Map, Value};

use Shape::{Each, Fields, List, Loose};

/// What stands at a place of the file.
#[derive(Debug)]
pub(in crate::system) enum Shape {
    /// A value without fields of its own.
    Leaf,
    /// The same, but another program may set it where the run has no value, until the task is completed.
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
pub(in crate::system) enum Key {
    /// The list only grows.
    Place,
    /// The list is written again each time; its entries are matched by this field.
    Field(&'static str),
}

/// The fields of a value that Piton does not use, each at its place, as an object to be merged into a file. An entry of
/// a list stands under its key.
pub(in crate::system) fn foreign(value: &Value, shape: &Shape) -> Map<String, Value> {
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
                    // The same as a missing field.
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
pub(in crate::system) fn lay_over(value: &mut Value, carried: &Map<String, Value>, shape: &Shape) {
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
                    // A field of ours, although it was carried as another system's.
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
                    (None, orphan) if is_whole(orphan) => {
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
            if let Key::Field(name) = key {
                for (key, over) in carried.iter().filter(|(_, over)| is_whole(over)) {
                    let known = |entry: &Value| entry.get(name).and_then(Value::as_str) == Some(key);
                    if !entries.iter().any(known) {
                        entries.push(over.clone());
                    }
                }
            }
        }
        _ => {}
    }
}

/// A whole entry that the run does not know, not just some fields next to ours.
fn is_whole(entry: &Value) -> bool {
    entry.get("status").is_some()
}

fn key_of(entry: &Value, place: usize, key: Key) -> Option<String> {
    match key {
        Key::Place => Some(place.to_string()),
        Key::Field(name) => entry.get(name).and_then(Value::as_str).map(str::to_owned),
    }
}

/// Tasks as the file writes them, even if they were a list.
pub(in crate::system) fn by_id(tasks: &Value) -> Map<String, Value> {
    let listed = |task: &Value| {
        let mut task = task.clone();
        let fields = task.as_object_mut()?;
        // An id that is null counts as missing, as for the reader.
        let names = ["id", "task_id"].map(|name| fields.shift_remove(name).filter(|id| !id.is_null()));
        let id = match names.into_iter().flatten().next()? {
            Value::String(id) => id,
            id => id.to_string(),
        };
        Some((id.trim().to_owned(), task))
    };
    match tasks {
        Value::Object(tasks) => {
            tasks.iter().map(|(key, task)| (key.trim().to_owned(), task.clone())).collect()
        }
        Value::Array(tasks) => tasks.iter().filter_map(listed).collect(),
        _ => Map::new(),
    }
}
