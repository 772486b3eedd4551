//! What holds for every file, however it is written.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::plan::TaskId;
use crate::system::kit::outline::Word;
use crate::system::taskmaster::write::{tick, ticked};

/// Files as they might be written: ids of both kinds and some twice, with and without status, in three layouts.
pub(super) fn files() -> impl Strategy<Value = String> {
    let status = prop::sample::select(vec![
        "pending",
        "done",
        "completed",
        "in-progress",
        "cancelled",
        "",
        "?",
        "null",
    ]);
    let task = (0..6_u8, any::<bool>(), status, 0..7_u8, prop::collection::vec(0..4_u8, 0..3));
    let tags = prop::collection::vec(prop::collection::vec(task, 0..6), 1..3);
    (tags, 0..3_u8).prop_map(|(tags, layout)| {
        let tags: Vec<String> = tags
            .into_iter()
            .zip(["master", "a b"])
            .map(|(tasks, name)| {
                let tasks: Vec<String> = tasks
                    .into_iter()
                    .map(|(id, quoted, status, need, steps)| {
                        let id = if quoted { format!("\"{id}\"") } else { id.to_string() };
                        let status = match status {
                            "?" => String::new(),
                            "null" => ",\n\t\"status\" : null".to_owned(),
                            word => format!(",\n\t\"status\" : \"{word}\""),
                        };
                        let steps: Vec<String> =
                            steps.iter().map(|nth| format!("{{\"id\":{nth},\"status\":\"pending\"}}")).collect();
                        format!(
                            "{{\n\t\"id\": {id},\n\t\"title\": \"Ü \\u00fc {need}\"{status},\n\t\"dependencies\": [{need}],\"subtasks\": [{}]}}",
                            steps.join(", ")
                        )
                    })
                    .collect();
                format!("\"{name}\": {{\"tasks\": [{}]}}", tasks.join(",\n"))
            })
            .collect();
        let text = format!("{{{}}} \n", tags.join(","));
        match layout {
            0 => text,
            1 => format!("\u{feff}{}", text.replace('\n', "\r\n")),
            _ => text.trim_end().to_owned(),
        }
    })
}

/// The status of each task of each tag, in their order.
fn statuses(text: &str) -> Vec<String> {
    let root: serde_json::Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).expect("JSON");
    let tags = root.as_object().expect("tags").values();
    let tasks = tags.flat_map(|tag| tag["tasks"].as_array().expect("tasks").clone());
    tasks.map(|task| task["status"].as_str().unwrap_or_default().to_owned()).collect()
}

proptest! {
    #[test]
    fn one_tick_changes_one_task_and_the_plan_stays_the_same(text in files(), pick: prop::sample::Index) {
        let reading = read(&text);
        let plan = &reading.reading().plan;
        let open: Vec<&TaskId> =
            plan.tasks.iter().map(|task| &task.id).filter(|id| !reading.reading().before[*id].done).collect();
        prop_assume!(!open.is_empty());
        let id = open[pick.index(open.len())].clone();
        let one = tick(text.as_bytes(), &BTreeMap::from([(id.clone(), Word::Completed)])).expect("JSON");
        prop_assert_eq!(&one.missing, &[]);
        let now = String::from_utf8(one.bytes).expect("text");
        let (before, after) = (statuses(&text), statuses(&now));
        prop_assert_eq!(before.iter().zip(&after).filter(|(was, is)| was != is).count(), 1);
        let again = read(&now);
        prop_assert!(again.reading().before[&id].done);
        for (other, before) in &reading.reading().before {
            prop_assert!(*other == id || again.reading().before[other] == *before, "{} changed, too", other);
        }
        prop_assert!(ticked(now.as_bytes()).contains_key(&id));
        prop_assert_eq!(now.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
        prop_assert_eq!(now.ends_with('\n'), text.ends_with('\n'));
        let lone = |text: &str| text.matches('\n').count() - text.matches("\r\n").count();
        prop_assert!(lone(&now) == 0 || lone(&text) > 0, "line ends stay");
    }

    #[test]
    fn the_order_of_ticking_does_not_count(text in files(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let ids: Vec<TaskId> = read(&text).reading().plan.tasks.iter().map(|task| task.id.clone()).collect();
        prop_assume!(!ids.is_empty());
        let picked: Vec<TaskId> = picks.iter().map(|pick| ids[pick.index(ids.len())].clone()).collect();
        let at_once: BTreeMap<TaskId, Word> = picked.iter().map(|id| (id.clone(), Word::Completed)).collect();
        let mut one_by_one = text.clone().into_bytes();
        for id in &picked {
            one_by_one = tick(&one_by_one, &BTreeMap::from([(id.clone(), Word::Completed)])).expect("JSON").bytes;
        }
        let whole = tick(text.as_bytes(), &at_once).expect("JSON").bytes;
        // Which word a file has for done is counted anew each time.
        let plain = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text").replace("completed", "done");
        prop_assert_eq!(plain(whole.clone()), plain(one_by_one));
        prop_assert_eq!(tick(&whole, &at_once).expect("JSON").bytes, whole, "once is enough");
    }

    #[test]
    fn ids_are_unique_and_needs_form_no_circle_of_steps(text in files()) {
        let reading = read(&text);
        let reading = reading.reading();
        let ids: HashSet<String> = reading.plan.tasks.iter().map(|task| task.id.folded()).collect();
        prop_assert_eq!(ids.len(), reading.plan.tasks.len());
        prop_assert_eq!(reading.before.len(), reading.plan.tasks.len());
        drop(testing::problems(reading));
    }

    #[test]
    fn any_text_is_read(text in "(?s)(\\{|\\}|\\[|\\]|,|:|\"tasks\":\\[|\"master\":\\{|\"id\":1|\"status\":\"done\"|\"dependencies\":\\[\"1.2\"\\]|\"subtasks\":\\[\\{|\\}\\]|\"title\":\"|\"|1|null|\n|\\PC){0,40}") {
        drop(seen(&text));
        drop(ticked(text.as_bytes()));
        drop(tick(text.as_bytes(), &BTreeMap::new()));
    }
}
