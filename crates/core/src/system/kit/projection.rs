//! Parts of written state files: times, maps that keep their order, and the fields of other programs in their places.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map as Object, Value};

use crate::chronicle::Chronicle;
use crate::run::State;
use crate::system::kit::shape::{self, Shape};
use crate::time::Timestamp;

/// Why a file of ours can always be written.
const SOUND: &str = "its keys are strings and its numbers finite";

/// A file as a value, with what others have in it.
pub(in crate::system) fn value<File: Serialize>(
    file: &File,
    carried: &Object<String, Value>,
    shape: &Shape,
) -> Value {
    let mut value = serde_json::to_value(file).expect(SOUND);
    shape::lay_over(&mut value, carried, shape);
    value
}

/// Its bytes, as `jq` would write them: two spaces, a newline at the end.
pub(in crate::system) fn text(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect(SOUND) + "\n"
}

/// When the work began: imported work may be older than the run.
pub(in crate::system) fn created_at(state: &State, chronicle: &Chronicle) -> Timestamp {
    let made = state.run().map_or(chronicle.created_at, |run| run.created);
    chronicle.started_at.map_or(made, |began| began.min(made))
}

/// A point in time as the file writes it: RFC 3339, to the second, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Timestamp);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An object whose keys keep their order.
#[derive(Clone, Debug)]
pub struct Map<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Map<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
