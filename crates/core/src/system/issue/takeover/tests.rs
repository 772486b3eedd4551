//! What is believed of an issue's list and state file, rule by rule.

use super::*;
use crate::chronicle::bench::{id, oid, spec};
use crate::system::issue::state;
use crate::time::Timestamp;

fn evidence(missing: &[&str], onto: Onto) -> Evidence {
    Evidence {
        now: Timestamp(1000),
        begins: true,
        target: None,
        worktrees: BTreeMap::new(),
        branches: BTreeMap::new(),
        missing: missing.iter().map(|name| (id(name), "src/a.rs".to_owned())).collect(),
        onto,
    }
}

const STATE: &str = r#"{"tasks": [{"id": "2", "description": "b", "status": "completed"}]}"#;

#[test]
fn ticks_and_claims_count_if_their_files_are_there() {
    let open = Before::default();
    let ticked = Before { done: true, ..Before::default() };
    let of_branch = Before { is_branch: true, ..ticked.clone() };
    let before = [("1", of_branch), ("2", open), ("3", ticked)];
    let before = before.into_iter().map(|(name, before)| (id(name), before)).collect();
    let state = state::read(STATE).state;
    let left = Left { list: "tasks.md", before: &before, state, onto: Some("issue-7") };
    let specs = ["1", "2", "3", VALIDATION].map(|name| spec(name, &[]));
    let judged = |evidence: &Evidence| {
        let taken = left.take_over(&specs, evidence).expect("nothing is open");
        let adopted = taken.commands.iter().filter_map(|command| match command {
            Command::Adopt { task, by, past } => Some(format!("{task} {} by {by}\n", past.status)),
            Command::Note { by, note } => Some(format!("{note:?} by {by}\n")),
            _ => None,
        });
        let lines = taken.lines.iter().map(|line| format!("{line:?}\n"));
        adopted.chain(lines).collect::<String>()
    };
    let here = judged(&evidence(&[], Onto::At(oid(7))));
    assert!(here.contains("The branch `issue-7` was there, at 0000000000."), "{here}");
    assert!(here.starts_with("1 completed by tasks.md\n"), "{here}");
    assert!(here.contains("2 completed by execution-state.json\n3 completed by tasks.md\n"), "{here}");
    assert!(
        here.ends_with("Say(\"2 tasks already done, according to the list or the state file\")\n"),
        "{here}"
    );
    let missing = judged(&evidence(&["2", "3"], Onto::Missing));
    assert!(missing.contains("Piton made the branch `issue-7`."), "{missing}");
    assert!(!missing.contains("2 completed") && !missing.contains("3 completed"), "{missing}");
    assert!(
        missing.contains("2 is marked done, but src/a.rs does not exist: it is still to be done"),
        "{missing}"
    );
    let questions = left.questions(&specs);
    assert_eq!(questions.files.onto.as_deref(), Some("issue-7"));
    assert_eq!(questions.files.of.keys().collect::<Vec<_>>(), [&id("2")], "nobody says what the others made");
}
