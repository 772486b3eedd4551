//! Plans of other tools that are one JSON file: whatever it holds, it is read without a panic, and a tick changes the
//! value that it should change and nothing else.

use std::collections::{BTreeMap, HashSet};

use piton_core::plan::{Graph, TaskId};
use piton_core::system::config::Config;
use piton_core::system::issue::plan::Word;
use piton_core::system::kit::boxes::Ticked;
use piton_core::system::{Folder, Given, ReadPlan, Strictness, named, ralph, taskmaster};
use serde_json::Value;

use crate::folders::shown_in_their_files;
use crate::names::safe_path;
use crate::plans::{can_be_told, safe};
use crate::same;

pub(crate) const TASKS: &[&str] = &[
    "{\"master\":{\"tasks\":[",
    "],\"metadata\":{}}}",
    "\"print\":{\"tasks\":[",
    "{\"tasks\":[",
    "{\"id\":1,",
    "{\"id\":\"2\",",
    "\"title\":\"x\",",
    "\"status\":\"pending\"",
    "\"status\":\"done\"",
    "\"status\":\"completed\"",
    "\"status\":\"cancelled\"",
    "\"status\":\"in-progress\"",
    "\"status\":null",
    "\"dependencies\":[1,\"2.1\"]",
    "\"subtasks\":[{\"id\":1,\"dependencies\":[\"1.1\"]}]",
    "\"updatedAt\":\"x\"",
    "\"priority\":\"high\"",
    "\"relevantFiles\":[{\"path\":\"../a\"}]",
    "\"testStrategy\":\"`npm test`\"",
    "\"\\u00fc\"",
    "\u{feff}",
    "\r\n",
    "},",
    "]}",
    "1.10",
    "null",
];

pub(crate) const STORIES: &[&str] = &[
    "{\"userStories\":[",
    "{\"stories\":[",
    "[{",
    "]}",
    "{\"id\":\"US-001\",",
    "{\"id\":\"us 001\",",
    "\"title\":\"x\",",
    "\"passes\":false",
    "\"passes\":true",
    "\"passes\":\"true\"",
    "\"passes\":null",
    "\"complete\":false",
    "\"priority\":1",
    "\"priority\":\"low\"",
    "\"dependsOn\":[\"US-001\"]",
    "\"acceptanceCriteria\":[\"`npm test` passes\"]",
    "{\"text\":\"x\",\"testCommand\":\"rm -rf .git\"}",
    "\"branchName\":\"a/b\"",
    "\"files\":[\"/etc\"]",
    "\u{feff}",
    "\r\n",
    "},",
    "null",
];

type Tick = fn(&[u8], &BTreeMap<TaskId, Word>) -> Option<Ticked>;

pub(crate) fn tasks(bytes: &[u8]) {
    let may_change = ["status"];
    plan("taskmaster", ".taskmaster/tasks/tasks.json", bytes, taskmaster::tick, &may_change);
    same(|| taskmaster::ticked(bytes));
}

pub(crate) fn stories(bytes: &[u8]) {
    plan("ralph", "prd.json", bytes, ralph::tick, &["passes", "complete"]);
    same(|| ralph::ticked(bytes));
}

fn plan(system: &str, place: &str, bytes: &[u8], tick: Tick, may_change: &[&str]) {
    let system = named(system).expect("it is in the table");
    let folder = Folder { files: BTreeMap::from([(place.to_owned(), bytes.to_vec())]) };
    let config = Config::default();
    let read = |strictness| system.read(&folder, &Given { strictness, ..Given::new(place, place, &config) });
    let (found, again, strict) =
        (read(Strictness::Lenient), read(Strictness::Lenient), read(Strictness::Strict));
    let reading = found.reading();
    assert_eq!((&reading.plan, &reading.problems), (&again.reading().plan, &again.reading().problems));
    assert_eq!(reading.plan, strict.reading().plan, "strictness changes what is allowed, not what is read");
    shown_in_their_files(reading, &reading.problems);
    safe(&reading.plan);
    reading.plan.tasks.iter().flat_map(|task| &task.files).for_each(|path| safe_path(path.as_str()));
    reading.plan.tasks.iter().take(5).for_each(can_be_told);
    let ids: HashSet<String> = reading.plan.tasks.iter().map(|task| task.id.folded()).collect();
    assert_eq!(ids.len(), reading.plan.tasks.len(), "ids are unique");
    assert!(!reading.is_usable() || Graph::new(&reading.plan.tasks).is_ok(), "what is used has no circle");
    ticked(found.as_ref(), bytes, tick, may_change);
}

/// Whatever is ticked is read as done, and only values that say so change.
fn ticked(found: &dyn ReadPlan, bytes: &[u8], tick: Tick, may_change: &[&str]) {
    let all: BTreeMap<TaskId, Word> =
        found.reading().before.keys().map(|id| (id.clone(), Word::Completed)).collect();
    let Some(new) = tick(bytes, &all) else { return };
    let again = tick(&new.bytes, &all).expect("what was ticked can be read");
    assert!(again.bytes == new.bytes, "ticking twice is ticking once");
    let value = |bytes: &[u8]| {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        serde_json::from_slice::<Value>(bytes).ok().map(|mut value| {
            strip(&mut value, may_change);
            value
        })
    };
    if let Some(before) = value(bytes) {
        assert_eq!(Some(before), value(&new.bytes), "something else changed");
    }
}

fn strip(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&name.as_str()));
            fields.values_mut().for_each(|value| strip(value, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| strip(value, names)),
        _ => {}
    }
}
