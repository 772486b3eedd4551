//! What is believed of a todolist and a state file, rule by rule.

use super::*;
use crate::chronicle::bench::{id, spec};
use crate::system::kit::takeover::Onto;
use crate::system::rwkit::state;
use crate::time::Timestamp;

fn evidence(missing: &[&str]) -> Evidence {
    Evidence {
        now: Timestamp(1000),
        begins: true,
        target: None,
        worktrees: BTreeMap::new(),
        branches: BTreeMap::new(),
        missing: missing.iter().map(|name| (id(name), "src/a.rs".to_owned())).collect(),
        onto: Onto::Nowhere,
    }
}

fn before(done: &[&str], blocked: &[&str]) -> BTreeMap<TaskId, Before> {
    let names = done.iter().chain(blocked);
    let one = |name: &&str| {
        let (done, blocked) = (done.contains(name), blocked.contains(name));
        let before = Before { done, blocked, ..Before::default() };
        (id(name), before)
    };
    names.map(one).collect()
}

fn specs() -> Vec<TaskSpec> {
    ["T1", "T2", "T3", "T4"].map(|name| TaskSpec { attempts: 3, ..spec(name, &[]) }).into()
}

const STATE: &str = r#"{"tasks": {
    "T2": {"status": "completed"}, "T3": {"status": "failed"}, "T9": {"status": "skipped"}
}, "retry_counts": {"T3": 2}}"#;

#[test]
fn a_claim_counts_if_its_files_are_there_and_attempts_stay_spent() {
    let before = before(&["T1"], &["T4"]);
    let left = Left { before: &before, state: state::read(STATE).state };
    let judged = |missing: &[&str]| {
        let taken = left.take_over(&specs(), &evidence(missing)).expect("nothing open is missing");
        let line = |belief: &Belief| {
            let past = belief.past.as_ref().map(|past| format!("{} after {}", past.status, past.spent));
            format!("{} {}\n", belief.task, past.unwrap_or_else(|| "nothing".to_owned()))
        };
        let lines = taken.lines.iter().map(|line| format!("{line:?}\n"));
        taken.beliefs.iter().map(line).chain(lines).collect::<String>()
    };
    insta::assert_snapshot!(judged(&[]), @r#"
    T1 completed after 0
    T2 completed after 0
    T3 failed after 2
    T4 abandoned after 3
    Say("no longer in the list, but kept: T9")
    Say("2 tasks already done, according to the list or the state file")
    "#);
    insta::assert_snapshot!(judged(&["T1", "T2"]), @r#"
    T1 nothing
    T2 nothing
    T3 failed after 2
    T4 abandoned after 3
    Say("T1 is marked done, but src/a.rs is missing or empty: it is still to be done")
    Say("T2 is marked done, but src/a.rs is missing or empty: it is still to be done")
    Say("no longer in the list, but kept: T9")
    "#);
}

#[test]
fn a_state_file_is_about_one_list() {
    let of = |path: &str| ForeignState { todolist_path: Some(path.to_owned()), ..ForeignState::default() };
    assert_eq!(about_another("a-todolist.md", &of("docs/a-todolist.md")), None);
    assert_eq!(about_another("docs/a-todolist.md", &of("a-todolist.md")), None);
    assert_eq!(about_another("a-todolist.md", &of("b-todolist.md")), Some("b-todolist.md"));
    assert_eq!(about_another("a-todolist.md", &of(" ")), None);
}
