//! Journals of runs of each system, written by the version that came before systems had a table of their own. Each reads as
//! it did then, comes to the same state, and would be written again in the same bytes.

use piton_core::chronicle::Chronicle;
use piton_core::run::{Event, Recorded, State, next};
use piton_core::system::state_files::Place;
use piton_core::time::Timestamp;
use serde_json::{Value, json};

/// What a journal results in: the state, what is shown beyond it, what would happen next, and the state file.
fn folded(journal: &str) -> String {
    let (mut state, mut chronicle, mut last) = (State::new(), Chronicle::default(), Timestamp::default());
    for (seq, line) in (1..).zip(journal.lines()) {
        let (at, body) = line.split_once(' ').expect("a time and an event");
        let event: Event = serde_json::from_str(body).expect("an event of a version before this one");
        assert_eq!(serde_json::to_string(&event).expect("JSON"), body, "written again as it was");
        last = serde_json::from_str(at).expect("a time");
        let recorded = Recorded { seq, at: last, event };
        state.apply(&recorded).expect("all of it is there");
        chronicle.apply(&recorded);
    }
    let run = state.run().expect("it was created");
    let tasks: Vec<Value> =
        state.tasks().map(|task| json!([task, state.links(&task.id).expect("its links").needs])).collect();
    let place = Place {
        project_path: "/home/ada".to_owned(),
        tasks_path: run.plan.clone(),
        elsewhere: std::collections::BTreeMap::new(),
    };
    let picture = run.settings.system().picture(&state, &chronicle, &place, &[]);
    let told = json!({ "run": run, "tasks": tasks, "chronicle": chronicle });
    let told = serde_json::to_string_pretty(&told).expect("JSON");
    let file = picture.map_or_else(|| "none".to_owned(), |picture| picture.text);
    format!("{told}\n\nnext: {:#?}\n\nstate file:\n{file}", next(&state, last))
}

/// Every journal of this kind, with its name.
const JOURNALS: [(&str, &str); 5] = [
    ("native", include_str!("journals/native.jsonl")),
    ("execute", include_str!("journals/execute.jsonl")),
    ("issue", include_str!("journals/issue.jsonl")),
    ("rwkit", include_str!("journals/rwkit.jsonl")),
    ("iterative", include_str!("journals/iterative.jsonl")),
];

#[test]
fn journals_of_the_version_before_come_to_the_same_state() {
    for (name, journal) in JOURNALS {
        insta::assert_snapshot!(format!("journal_{name}"), folded(journal));
    }
}
