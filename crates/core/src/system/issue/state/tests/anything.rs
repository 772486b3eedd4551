//! What holds for the file of any run, however it came about.

use proptest::prelude::*;
use serde_json::json as value_of;

use super::*;
use crate::run::{Claim, Command, Holder, Note, Status};
use crate::system::kit::shape;

const TASKS: [&str; 3] = ["1", "2", "10"];

/// One step of the engine or a person. What the rules refuse does not happen.
pub(in crate::system::issue) fn act(bench: &mut Bench, task: usize, choice: u8) {
    let name = TASKS[task % TASKS.len()];
    let at = bench.task(name).clone();
    let (task, by) = (id(name), "ann".to_owned());
    let report = |claim: Claim, report: Report| Command::Report {
        task: task.clone(),
        by: by.clone(),
        fence: None,
        claim,
        report: Box::new(report),
    };
    let commands = match choice % 16 {
        0 => vec![Command::Reset { task, by }],
        1 => vec![Command::Skip { task, by, reason: "no need".to_owned() }],
        2 => vec![Command::Abandon { task, by, reason: "hopeless".to_owned() }],
        3 => vec![Command::Retry { task, by }],
        4 => vec![report(Claim::Failed { reason: "it does not work".to_owned() }, Report::default())],
        5 => vec![report(Claim::Blocked { reason: "it contradicts itself".to_owned() }, Report::default())],
        6 => {
            let entry =
                format!("## Task {name}: By hand\n\n**Status**: ❌ Failed\n**Time**: {choice} → 9\n\nHard.");
            vec![Command::Note { by, note: Note::Entry { task: Some(task), text: entry, for_next: false } }]
        }
        7 => {
            let text = format!("Look at {choice}\n## Task 1: not\n```\nopen");
            vec![Command::Note { by, note: Note::Entry { task: None, text, for_next: false } }]
        }
        8 => {
            let fields = value_of!({"tasks": {name: {"mood": choice}}, "owner": "ann"});
            vec![Command::Note { by, note: Note::Carried { file: FILE.to_owned(), fields } }]
        }
        9 | 10 => vec![Command::Start { task, holder: Holder::Ledger(by) }],
        11 => {
            let note = Report { note: "```\nopen\n## Task 1: x\n---".to_owned(), ..told() };
            vec![Command::Note { by, note: Note::Told { task, report: Box::new(note) } }]
        }
        _ if at.decided == Status::Completed => return,
        n => {
            let results = bench.results(name, &Verdict::Pass, "");
            let told = if n == 12 { Report::default() } else { told() };
            vec![report(
                Claim::Done { tree: None, results, evidence: crate::run::Evidence::file("work") },
                told,
            )]
        }
    };
    for command in commands {
        let _refused = bench.try_(&command);
    }
}

pub(in crate::system::issue) fn any_run() -> impl Strategy<Value = Bench> {
    proptest::collection::vec((0..TASKS.len(), any::<u8>()), 0..40).prop_map(|steps| {
        let mut bench = fresh();
        steps.into_iter().for_each(|(task, choice)| act(&mut bench, task, choice));
        bench
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_reads_back_and_says_what_is_so(bench in any_run()) {
        let file = json(&bench);
        let reading = read(&shown(&bench));
        prop_assert!(reading.is_usable());
        prop_assert_eq!(&reading.state.value, &file);
        prop_assert_eq!(edits(&file, &reading.state.value), vec![]);
        for (name, task) in &reading.state.tasks {
            prop_assert_eq!(task.status, TaskWord::from_status(bench.task(name.as_str()).status()));
        }
        let tasks = file["tasks"].as_array().expect("a list").iter();
        let ids: Vec<&str> = tasks.filter_map(|task| task["id"].as_str()).collect();
        prop_assert_eq!(ids, TASKS);
    }

    #[test]
    fn one_edit_is_heard_as_exactly_that(bench in any_run(), task in 0..TASKS.len(), kind in 0..3) {
        let name = TASKS[task];
        let shown = json(&bench);
        let mut found = shown.clone();
        let entry = &mut found["tasks"][task];
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
            _ => {
                entry["patterns"].as_array_mut().expect("a list").push(value_of!("Be brief"));
                let patterns = vec!["Be brief".to_owned()];
                Some(What::Report { report: Report { patterns, ..Report::default() } })
            }
        };
        let expected: Vec<Edit> =
            expected.into_iter().map(|what| Edit { task: Some(id(name)), what }).collect();
        prop_assert_eq!(edits(&shown, &found), expected);
    }
}

/// The table of known fields has each field that is written, and nothing that is not; and so has the schema.
#[test]
fn every_field_that_is_written_is_known() {
    let bench = over();
    let file = json(&bench);
    assert_eq!(Value::Object(shape::foreign(&file, &super::super::file::ROOT)), value_of!({}));
    let schema = schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let written: Vec<&String> = file.as_object().expect("an object").keys().collect();
    let described: Vec<&String> = schema["properties"].as_object().expect("an object").keys().collect();
    assert_eq!(written, described);
    let task: Vec<&String> = file["tasks"][0].as_object().expect("an object").keys().collect();
    let described = &schema["$defs"]["TaskEntry"]["properties"];
    assert_eq!(task, described.as_object().expect("an object").keys().collect::<Vec<_>>());
    assert_eq!(task.len(), 11);
}
