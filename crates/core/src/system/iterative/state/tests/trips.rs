//! From a file of another hand into a journal, and back into a file: what was told comes back, and what was under way is
//! taken up again.

use serde_json::json as value_of;

use super::*;
use crate::run::{Note, Proof};

/// As the description of the file shows them.
const DEVELOPMENT: &str = include_str!("fixtures/development.json");
const KNOWLEDGE: &str = include_str!("fixtures/knowledge.json");

/// A run that begins with what a file says, as an import makes it that believes it.
fn adopt(state: &ForeignState) -> Bench {
    let units = state.units.iter().map(|(name, told)| unit(name.as_str(), &[], told.limit.unwrap_or(5)));
    let mut bench = bench(state.mode.expect("a mode"), units.collect());
    bench.now = state.updated.expect("a time");
    for (unit, told) in &state.units {
        let is_done = told.status == UnitWord::Done && told.verified;
        let past = told.past(is_done.then_some(Proof::Checked { tree: None, already: None }));
        let (task, by) = (unit.clone(), "import".to_owned());
        bench.accept(&Command::Adopt { task: task.clone(), by: by.clone(), past: Box::new(past) });
        if let Some(reason) = told.blocker() {
            let (claim, report) = (Claim::Blocked { reason: reason.to_owned() }, Box::default());
            bench.accept(&Command::Report { task, by, fence: None, claim, report });
        }
    }
    let fields = state.carried(|unit| state.units.contains_key(unit));
    bench.note(Note::Carried { file: FILE.to_owned(), fields });
    bench.note(Note::Began { began: state.created.expect("a time") });
    bench
}

/// There, on with what was under way, and back.
fn trip(text: &str) -> (Value, Value) {
    let reading = read(text);
    assert_eq!(reading.problems, []);
    let mut bench = adopt(&reading.state);
    bench.attach();
    for (unit, _) in reading.state.units.iter().filter(|(_, told)| told.status == UnitWord::Confirming) {
        bench.start(unit.as_str());
        bench.ready(unit.as_str());
        pass(&mut bench, unit.as_str(), Some((1, "Go on")));
    }
    (reading.state.value, json(&bench))
}

/// Each field that is not the same.
fn differences(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                let of =
                    |object: &serde_json::Map<String, Value>| object.get(key).cloned().unwrap_or(Value::Null);
                differences(&of(old), &of(new), &format!("{at}.{key}"), found);
            }
        }
        (old, new) if old == new => {}
        (old, new) => found.push(format!("{at}: {old} → {new}")),
    }
}

fn differ(text: &str) -> String {
    let (old, new) = trip(text);
    let mut found = Vec::new();
    differences(&old, &new, "", &mut found);
    // The run of these tests was made before the examples were.
    let is_own =
        |line: &String| [".piton_", ".updated", ".created"].iter().any(|name| line.starts_with(name));
    found.retain(|line| !is_own(line));
    found.join("\n")
}

#[test]
fn the_example_of_development_comes_back() {
    insta::assert_snapshot!(differ(DEVELOPMENT), @r#"
    .commits: ["abc1234: feat(user-auth): Add User model","def5678: feat(user-auth): Create auth service"] → ["abc1234: feat(user-auth): Add User model","def5678: feat(user-auth): Create auth service","0000001: Go on"]
    .tasks.T3.confirmations_used: 1 → 2
    .tasks.T5.reason: "Waiting on T3" → null
    .tasks.T5.status: "blocked" → "pending"
    "#);
}

#[test]
fn the_example_of_knowledge_comes_back() {
    insta::assert_snapshot!(differ(KNOWLEDGE), @r#"
    .commits: null → ["0000001: Go on"]
    .phases.R3.confirmations_used: 1 → 2
    "#);
}

/// Without anything under way, it comes back to the byte but for what names the journal and the time.
#[test]
fn the_examples_come_back_to_the_byte() {
    for text in [DEVELOPMENT, KNOWLEDGE] {
        let mut value = read(text).state.value;
        let key = if value.get("tasks").is_some() { "tasks" } else { "phases" };
        let units = value[key].as_object_mut().expect("an object");
        units.retain(|_, unit| unit["status"] == "done" || unit["status"] == "pending");
        let next = units.iter().find(|(_, unit)| unit["status"] == "pending").map(|(id, _)| id.clone());
        value[if key == "tasks" { "current_task" } else { "current_phase" }] = value_of!(next);
        value["current_iteration"] = value_of!(0);
        let text = serde_json::to_string_pretty(&value).expect("JSON") + "\n";
        let reading = read(&text);
        assert_eq!(reading.problems, []);
        let mut back = json(&adopt(&reading.state));
        for name in ["piton_seq", "piton_run"] {
            back.as_object_mut().expect("an object").shift_remove(name);
        }
        for name in ["created", "updated"] {
            back[name] = value[name].clone();
        }
        assert_eq!(serde_json::to_string_pretty(&back).expect("JSON") + "\n", text);
    }
}

#[test]
fn a_blocked_unit_and_one_without_iterations_left_come_back() {
    let text = r#"{"mode": "dev", "created": "2026-01-14T10:30:00Z", "updated": "2026-01-14T14:22:00Z", "phase": "execute",
        "tasks": {"T1": {"status": "blocked", "reason": "No key", "iterations_used": 2, "max_iterations": 5},
        "T2": {"status": "timeout", "reason": "Too large", "iterations_used": 5, "confirmations_used": 1, "max_iterations": 5}},
        "metrics": {"trend": "stable"}}"#;
    let back = json(&adopt(&read(text).state));
    assert_eq!(back["metrics"], value_of!({"trend": "stable"}), "fields of others survive");
    assert_eq!(
        (&back["tasks"]["T1"]["status"], &back["tasks"]["T1"]["reason"]),
        (&value_of!("blocked"), &value_of!("No key"))
    );
    let second = &back["tasks"]["T2"];
    assert_eq!((&second["status"], &second["reason"]), (&value_of!("timeout"), &value_of!("Too large")));
    assert_eq!((&second["iterations_used"], &second["confirmations_used"]), (&value_of!(5), &value_of!(1)));
}

#[test]
fn a_file_of_ours_comes_back_as_it_was() {
    for bench in [fresh(), middle(), stuck(), over()] {
        let reading = read(&shown(&bench));
        let said: Vec<&str> = reading.problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(said, Vec::<&str>::new());
        assert_eq!(reading.state.piton_seq, Some(bench.chronicle.seq));
        assert_eq!(reading.state.piton_run.as_deref(), Some("voice-notes-1"));
        assert_eq!(reading.state.value, json(&bench));
    }
}
