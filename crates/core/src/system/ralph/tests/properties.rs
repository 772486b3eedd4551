//! What holds for every file, however it is written.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::plan::TaskId;
use crate::system::kit::outline::Word;
use crate::system::ralph::{tick, ticked};

/// Files as they might be written.
fn files() -> impl Strategy<Value = String> {
    let flag = prop::sample::select(vec!["true", "false", "null", "\"true\"", "1", ""]);
    let story = (0..5_u8, any::<bool>(), flag, 0..4_u8, prop::option::of(0..6_u8));
    (prop::collection::vec(story, 1..8), 0..3_u8).prop_map(|(stories, layout)| {
        let stories: Vec<String> = stories
            .into_iter()
            .map(|(id, named, flag, priority, need)| {
                let id = if named { format!("\"id\" : \"US-{id}\",\n\t") } else { String::new() };
                let flag = if flag.is_empty() { String::new() } else { format!(", \"passes\" :{flag}") };
                let need = need.map(|need| format!(", \"dependsOn\": [\"US-{need}\"]")).unwrap_or_default();
                format!(
                    "{{\n\t{id}\"title\": \"Ü \\u00fc {priority}\", \"priority\": {priority}{flag}{need}}}"
                )
            })
            .collect();
        let text = format!(
            "{{\"userStories\": [{}, {{\"id\":\"last\",\"passes\":false}}]}} \n",
            stories.join(",\n")
        );
        match layout {
            0 => text,
            1 => format!("\u{feff}{}", text.replace('\n', "\r\n")),
            _ => text.trim_end().to_owned(),
        }
    })
}

/// The flags of all stories, in their order.
fn flags(text: &str) -> Vec<serde_json::Value> {
    let root: serde_json::Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).expect("JSON");
    root["userStories"].as_array().expect("stories").iter().map(|story| story["passes"].clone()).collect()
}

proptest! {
    #[test]
    fn one_tick_changes_one_flag(text in files(), pick: prop::sample::Index) {
        let reading = read(&text);
        let before = &reading.reading().before;
        let open: Vec<&TaskId> = before.iter().filter(|(_, before)| !before.done).map(|(id, _)| id).collect();
        let id = open[pick.index(open.len())].clone();
        let one = tick(text.as_bytes(), &BTreeMap::from([(id.clone(), Word::Completed)])).expect("JSON");
        prop_assert_eq!(&one.missing, &[]);
        let now = String::from_utf8(one.bytes).expect("text");
        let (was, is) = (flags(&text), flags(&now));
        let changed: Vec<_> = was.iter().zip(&is).filter(|(was, is)| was != is).collect();
        prop_assert_eq!(changed.len(), 1);
        prop_assert_eq!(changed[0].1, &serde_json::Value::Bool(true));
        let again = read(&now);
        for (other, before) in before {
            let done = again.reading().before[other].done;
            prop_assert_eq!(done, *other == id || before.done, "{}", other);
        }
        let ids = |reading: &dyn ReadPlan| -> Vec<TaskId> {
            reading.reading().plan.tasks.iter().map(|task| task.id.clone()).collect()
        };
        prop_assert_eq!(ids(reading.as_ref()), ids(again.as_ref()));
        prop_assert_eq!(now.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
        prop_assert_eq!(now.ends_with('\n'), text.ends_with('\n'));
        let lone = |text: &str| text.matches('\n').count() - text.matches("\r\n").count();
        prop_assert!(lone(&now) == 0 || lone(&text) > 0, "line ends stay");
    }

    #[test]
    fn the_order_of_ticking_does_not_count(text in files(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let ids: Vec<TaskId> = read(&text).reading().plan.tasks.iter().map(|task| task.id.clone()).collect();
        let picked: Vec<TaskId> = picks.iter().map(|pick| ids[pick.index(ids.len())].clone()).collect();
        let at_once: BTreeMap<TaskId, Word> = picked.iter().map(|id| (id.clone(), Word::Completed)).collect();
        let mut one_by_one = text.clone().into_bytes();
        for id in &picked {
            one_by_one = tick(&one_by_one, &BTreeMap::from([(id.clone(), Word::Completed)])).expect("JSON").bytes;
        }
        let whole = tick(text.as_bytes(), &at_once).expect("JSON").bytes;
        prop_assert_eq!(&whole, &one_by_one);
        prop_assert_eq!(&tick(&whole, &at_once).expect("JSON").bytes, &whole, "once is enough");
        prop_assert!(picked.iter().all(|id| ticked(&whole).contains_key(id)));
    }

    #[test]
    fn every_story_is_a_task_and_ids_are_unique(text in files()) {
        let reading = read(&text);
        let reading = reading.reading();
        let ids: HashSet<String> = reading.plan.tasks.iter().map(|task| task.id.folded()).collect();
        prop_assert_eq!((ids.len(), reading.plan.tasks.len()), (flags(&text).len(), flags(&text).len()));
        drop(testing::problems(reading));
    }

    #[test]
    fn any_text_is_read(text in "(?s)(\\{|\\}|\\[|\\]|,|:|\"userStories\":\\[|\"id\":1|\"passes\":true|\"priority\":\"high\"|\"acceptanceCriteria\":\\[|\"dependsOn\":\\[\"1\"\\]|\"testCommand\":\"|\"title\":\"|\"|1|null|`|\n|\\PC){0,40}") {
        drop(seen(&text));
        drop(ticked(text.as_bytes()));
        drop(tick(text.as_bytes(), &BTreeMap::new()));
    }
}
