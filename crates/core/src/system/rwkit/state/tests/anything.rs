//! What holds for the file of any run, however it came about.

use proptest::prelude::*;
use serde_json::json as value_of;

use super::*;
use crate::run::{Holder, Note, Status};
use crate::system::kit::shape;

/// One step of the engine or a person. What the rules refuse does not happen.
fn act(bench: &mut Bench, at: usize, choice: u8) {
    let all: Vec<&str> =
        TASKS.into_iter().chain(["gate-unit_tests", "gate-licences", "gate-qa_review"]).collect();
    let name = all[at % all.len()];
    let (task, by) = (id(name), "ann".to_owned());
    let report = |claim: Claim, files: &[&str]| Command::Report {
        task: task.clone(),
        by: by.clone(),
        fence: None,
        claim,
        report: Box::new(Report {
            files: files.iter().map(|&file| file.to_owned()).collect(),
            ..Report::default()
        }),
    };
    let command = match choice % 16 {
        0 => Command::Reset { task, by },
        1 => Command::Skip { task, by, reason: "no need".to_owned() },
        2 => Command::Abandon { task, by, reason: "hopeless".to_owned() },
        3 => Command::Retry { task, by },
        4 | 5 => report(Claim::Failed { reason: "red\nvery".to_owned() }, &[]),
        6 => report(Claim::Blocked { reason: "it contradicts itself".to_owned() }, &["a.ts"]),
        7 => Command::Note {
            by,
            note: Note::Entry { task: Some(task), text: "warning: look".to_owned(), for_next: false },
        },
        8 => {
            let fields =
                value_of!({"tasks": {name: {"mood": choice}}, "batches": {"1": {"compacted": true}}});
            Command::Note { by, note: Note::Carried { file: FILE.to_owned(), fields } }
        }
        9 | 10 => Command::Start { task, holder: Holder::Ledger(by) },
        11 => Command::Detach { engine: "e1".to_owned(), reason: StopReason::Person, tip: Vec::new() },
        12 => Command::Attach { engine: "e1".to_owned(), session: bench.session() },
        13 | 14 => return advance(bench, name),
        _ if bench.task(name).decided == Status::Completed => return,
        _ => report(
            Claim::Done {
                tree: None,
                results: bench.results(name, &Verdict::Pass, ""),
                evidence: crate::run::Evidence::file("work"),
            },
            &["a.ts", "b.ts"],
        ),
    };
    let _refused = bench.try_(&command);
}

/// The engine's next step on a task.
fn advance(bench: &mut Bench, name: &str) {
    let at = bench.task(name).clone();
    let (task, fence) = (id(name), at.fence);
    match at.decided {
        Status::Pending | Status::Failed => {
            let _refused = bench.try_(&Command::Start { task, holder: Holder::Engine });
        }
        _ if !at.is_engines() => {}
        Status::InProgress if !at.progress.ready => bench.ready(name),
        Status::InProgress => bench.work(name, &[(100 + fence, "Do it")]),
        Status::Verifying => bench.checks_end(name, &Verdict::Pass, ""),
        Status::Verified | Status::Merging => bench.advance_landing(name),
        _ => {}
    }
}

fn any_run() -> impl Strategy<Value = Bench> {
    proptest::collection::vec((0_usize..8, any::<u8>()), 0..80).prop_map(|steps| {
        let mut bench = fresh();
        steps.into_iter().for_each(|(task, choice)| act(&mut bench, task, choice));
        bench
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_counts_right_reads_back_and_holds_no_edits(bench in any_run()) {
        let file = json(&bench);
        recounted(&file);
        let reading = read(&shown(&bench));
        prop_assert!(reading.is_usable(), "{:?}", reading.problems);
        prop_assert_eq!(&reading.state.value, &file);
        prop_assert_eq!(edits(&file, &reading.state.value), vec![]);
        for (name, task) in &reading.state.tasks {
            prop_assert_eq!(task.status, TaskWord::from_status(bench.task(name.as_str()).status()));
        }
        let mut again = file.clone();
        again["updated_at"] = value_of!("2030-01-01T00:00:00+07:00");
        prop_assert_eq!(edits(&file, &again), vec![], "field by field, too");
    }

    #[test]
    fn one_edit_is_heard_as_exactly_that(bench in any_run(), task in 0..TASKS.len(), kind in 0..4) {
        let name = TASKS[task];
        let shown = json(&bench);
        let mut found = shown.clone();
        let entry = &mut found["tasks"][name];
        let status = entry["status"].as_str().expect("a word").to_owned();
        let expected = match kind {
            0 => {
                entry["status"] = value_of!("completed");
                (status != "completed").then(|| What::ReportDone { report: Report::default() })
            }
            1 => {
                entry["status"] = value_of!("pending");
                (status != "pending").then_some(What::Reset)
            }
            2 => {
                entry["files_modified"].as_array_mut().expect("a list").push(value_of!("new.ts"));
                let files = vec!["new.ts".to_owned()];
                Some(What::Report { report: Report { files, ..Report::default() } })
            }
            _ => {
                entry["error"] = value_of!("odd");
                (kind == 3).then(|| What::Noted { text: "odd".to_owned() })
            }
        };
        let expected: Vec<Edit> =
            expected.into_iter().map(|what| Edit { task: Some(id(name)), what }).collect();
        prop_assert_eq!(edits(&shown, &found), expected);
    }

    #[test]
    fn fields_of_others_survive_whatever_happens(bench in any_run(), value in any::<u32>(), more in any::<u8>()) {
        let mut bench = bench;
        let before = json(&bench);
        let mut found = before.clone();
        found["team"] = value_of!({"size": value});
        found["tasks"]["T004"]["verified_files"] = value_of!(["a.ts"]);
        found["batches"][2]["compacted"] = value_of!(true);
        for command in edits(&before, &found).iter().flat_map(|edit| commands(edit, "file")) {
            bench.accept(&command);
        }
        (0..8).filter(|_| more % 16 != 8).for_each(|task| act(&mut bench, task, more));
        let after = json(&bench);
        prop_assert_eq!(&after["team"], &value_of!({"size": value}));
        prop_assert_eq!(&after["tasks"]["T004"]["verified_files"], &value_of!(["a.ts"]));
        prop_assert_eq!(&after["batches"][2]["compacted"], &value_of!(true));
    }
}

/// The table of known fields has each field that is written, and nothing that is not; and so has the schema.
#[test]
fn every_field_that_is_written_is_known() {
    let file = json(&over());
    let compacted = value_of!({"compacted": false});
    let others = value_of!({"batches": {"0": compacted, "1": compacted, "2": compacted}});
    assert_eq!(Value::Object(super::super::file::foreign(&file)), others);
    let shape::Shape::Fields(root) = super::super::file::ROOT else { panic!("an object") };
    let known: Vec<&str> = root.iter().map(|(name, _)| *name).collect();
    let schema = schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    assert_eq!(keys(&file), keys(&schema["properties"]));
    assert_eq!(known, keys(&file));
    assert_eq!(
        keys(&file["tasks"]["T004"]),
        keys(&schema["$defs"]["TaskEntry"]["properties"]),
        "a skipped one has all"
    );
}
