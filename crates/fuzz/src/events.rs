//! What stands in the journal and in the folders of jobs: JSON that a crash, a disk or a person may have
//! damaged. It is read as what it is or not at all.

use piton_core::plan::TaskId;
use piton_core::run::{Event, Recorded, Run, State, is_current, next, wake_at};
use piton_core::time::Timestamp;
use piton_core::view::{Sources, Summary, ahead, at_rest, describe, exit_code, first_dead, why};
use piton_engine::agent::{Message, Session, understood};
use piton_engine::keeper::{JobSpec, Outcome, Started};

use crate::names::{safe_name, safe_path};
use crate::round_trip;

pub(crate) const WORDS: &[&str] = &[
    "18446744073709551615",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967295",
    "0",
    "-1",
    "1e9",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "\"T1\"",
    "\"T2\"",
    "\"../x\"",
    "\\u0000",
    "\n",
    ",",
    "\"fence\":",
    "\"task\":",
    "\"event\":\"reset\"",
    "\"event\":\"completed\"",
    "\"next\":{\"next\":\"abandoned\"}",
    "\"landed\":",
    "\"Engine\"",
    "\"engine\"",
    "\"kind\":\"died\"",
];

/// Lines are events. Those that can be read are folded, in whatever order they come.
pub(crate) fn events(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut state, mut seq) = (State::new(), 0);
    let now = Timestamp(1_800_000_000_000);
    for line in text.lines().take(300) {
        let Some(event) = round_trip::<Event>(line) else { continue };
        if let Event::TaskAdded { spec, .. } | Event::TaskChanged { spec, .. } = &event {
            spec.depends_on.iter().chain([&spec.id]).for_each(|id| safe_name(id.as_str()));
            spec.files.iter().for_each(|path| safe_path(path.as_str()));
        }
        let told = describe(&event);
        assert!(!told.text.is_empty(), "{event:?}");
        seq += 1;
        let before = state.clone();
        if state.apply(&Recorded { seq, at: now, event }).is_err() {
            // A reader stops here. The state before stays.
            state = before;
        }
    }
    look_at(&state, now);
}

/// No reader of a state may depend on how it came about.
fn look_at(state: &State, now: Timestamp) {
    for action in next(state, now) {
        is_current(state, &action);
    }
    wake_at(state, now);
    exit_code(&at_rest(state));
    let Some(run) = state.run() else { return };
    assert_eq!(
        round_trip::<Run>(&serde_json::to_string(run).expect("a run can be written")).as_ref(),
        Some(run)
    );
    Summary::new(run, state.cells());
    let ids: Vec<TaskId> = state.tasks().take(20).map(|task| task.id.clone()).collect();
    for id in ids {
        let sources = Sources {
            engine_lives: true,
            reason: &|_| None,
            words: &|_| None,
            worktree: &|_| None,
            first_dead: &|group| first_dead(state, group),
            ahead: &|task| ahead(state.tasks(), task),
        };
        assert!(why(state, &id, now, &sources).is_ok_and(|why| why.is_some()));
    }
}

/// The files in a job's folder.
pub(crate) fn jobs(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().take(50) {
        round_trip::<JobSpec>(line);
        round_trip::<Outcome>(line);
        round_trip::<Message>(line);
        round_trip::<Started>(line);
        round_trip::<Session>(line);
    }
    if let Some(message) = crate::same(|| understood(bytes, "")).message {
        let written = serde_json::to_vec(&message).expect("a message can be written");
        assert_eq!(understood(&written, "").message, Some(message));
    }
}
