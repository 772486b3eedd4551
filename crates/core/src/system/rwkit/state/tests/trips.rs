//! From a file of another hand into a journal, and back into a file: what was told comes back, and what is counted is
//! counted right, which in the example it was not.

use std::collections::BTreeSet;

use super::*;
use crate::plan::TaskId;
use crate::run::{Note, Proof, Status};

/// As the description of the file shows it.
const EXAMPLE: &str = include_str!("fixtures/example.json");

/// A list of every task that the file names, in its batches, and after them the gates.
fn adopt(state: &ForeignState) -> Bench {
    let mut groups: Vec<String> = state.batches.iter().map(|batch| format!("batch-{}", batch.id)).collect();
    groups.push("rest".to_owned());
    let rest = groups.len() - 1;
    let in_batches = state.batches.iter().flat_map(|batch| &batch.tasks).map(|name| id(name));
    let all: BTreeSet<TaskId> = state
        .tasks
        .keys()
        .chain(state.listed.keys())
        .cloned()
        .chain(in_batches)
        .chain([id("task-005")])
        .collect();
    let mut tasks = Vec::new();
    for name in &all {
        let of = |batch: &ForeignBatch| batch.tasks.iter().any(|task| task == name.as_str());
        let group = state.batches.iter().position(of).unwrap_or(rest);
        let mut spec = task(name.as_str(), &[], u32::try_from(group).expect("few batches"), 4);
        if let Some(told) = state.tasks.get(name) {
            spec.title.clone_from(&told.description);
        }
        tasks.push(spec);
    }
    for name in state.gates.keys() {
        let group = u32::try_from(groups.len()).expect("few gates");
        tasks.push(task(&format!("gate-{name}"), &[], group, 3));
        groups.push(name.clone());
    }
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let mut bench = bench(&groups, tasks, about_of(state));
    bench.now = state.updated_at.expect("a time");
    for (name, told) in state.tasks.iter().chain(&state.listed) {
        let landed = || Proof::Landed { commit: oid(7), verified: oid(7) };
        let past = Box::new(told.past((told.status == TaskWord::Completed).then(landed)));
        bench.accept(&Command::Adopt { task: name.clone(), by: "import".to_owned(), past });
        let report = Box::new(told.report.clone());
        bench.note(Note::Told { task: name.clone(), report });
    }
    for (name, word) in &state.gates {
        let (task, by) = (gate_task(name).expect("a valid name"), "import".to_owned());
        let command = match word {
            GateWord::Degraded => Command::Skip { task, by, reason: "degraded".to_owned() },
            GateWord::Passed | GateWord::Approved => {
                let claim = Claim::Done {
                    tree: None,
                    results: bench.results(task.as_str(), &Verdict::Pass, ""),
                    evidence: crate::run::Evidence::file("work"),
                };
                Command::Report { task, by, fence: None, claim, report: Box::default() }
            }
        };
        bench.accept(&command);
    }
    bench.note(Note::Began { began: state.started_at.expect("a time") });
    let fields = state.carried(|task| all.contains(task));
    bench.note(Note::Carried { file: FILE.to_owned(), fields });
    bench
}

fn about_of(state: &ForeignState) -> About {
    let about = |told: &ForeignTask| AboutTask {
        story: told.story.clone(),
        agent: told.agent.clone(),
        size: None,
        files: Vec::new(),
    };
    let stories = state.stories.iter().map(|(id, title)| Story { id: id.clone(), title: title.clone() });
    About {
        todolist_path: state.todolist_path.clone().unwrap_or_default(),
        plan_path: state.plan_path.clone().unwrap_or_default(),
        clarified_requirements_path: state.clarified_requirements_path.clone().unwrap_or_default(),
        analysis_report_path: state.analysis_report_path.clone().unwrap_or_default(),
        session_id: state.session_id.clone().unwrap_or_default(),
        stories: stories.collect(),
        tasks: state.tasks.iter().map(|(id, told)| (id.clone(), about(told))).collect(),
    }
}

/// Each field of the old file that is not the same in the new one, but for those that are only there.
fn differences(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                differences(value, new.get(key).unwrap_or(&Value::Null), &format!("{at}.{key}"), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (n, (old, new)) in old.iter().zip(new).enumerate() {
                differences(old, new, &format!("{at}[{n}]"), found);
            }
        }
        (old, new) if old == new => {}
        (old, new) => found.push(format!("{at}: {old} → {new}")),
    }
}

#[test]
fn the_example_comes_back() {
    let reading = read(EXAMPLE);
    assert!(reading.is_usable(), "{:?}", reading.problems);
    let mut bench = adopt(&reading.state);
    bench.attach();
    let new = value(
        &project(&bench.state, &bench.chronicle, reading.state.project_path.as_deref().expect("a path"))
            .expect("a run"),
    );
    let mut found = Vec::new();
    differences(&reading.state.value, &new, "", &mut found);
    insta::assert_snapshot!(found.join("\n"));
    recounted(&new);
}

#[test]
fn a_file_of_ours_comes_back_as_it_was() {
    for bench in [fresh(), middle(), over()] {
        let reading = read(&shown(&bench));
        assert_eq!(reading.problems, []);
        assert_eq!(reading.state.piton_seq, Some(bench.chronicle.seq));
        assert_eq!(reading.state.piton_run.as_deref(), Some("voice-notes-1"));
        assert_eq!(reading.state.value, json(&bench));
        for (name, task) in &reading.state.tasks {
            let known = bench.task(name.as_str());
            assert_eq!((task.status, task.attempts), (TaskWord::from_status(known.status()), known.spent));
        }
    }
}

#[test]
fn what_git_does_not_bear_out_is_to_be_done() {
    let text = r#"{"tasks": {"a": {"status": "completed"}, "b": {"status": "failed", "error": "no"},
        "c": {"status": "blocked"}, "d": {"status": "skipped"}}, "retry_counts": {"c": 4}}"#;
    let tasks = read(text).state.tasks;
    let past = |name: &str| {
        let past = tasks[&id(name)].past(None);
        (past.status, past.spent, past.errors.len())
    };
    assert_eq!(past("a"), (Status::Pending, 0, 0));
    assert_eq!(past("b"), (Status::Failed, 1, 1), "once at least, though nobody counted");
    assert_eq!(past("c"), (Status::Abandoned, 4, 0));
    assert_eq!(past("d"), (Status::Pending, 0, 0));
}
