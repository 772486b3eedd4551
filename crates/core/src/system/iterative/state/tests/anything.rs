//! What holds for the file of any run, however it came about.

use proptest::prelude::*;
use serde_json::json as value_of;

use super::*;
use crate::run::{Holder, Note, Status};
use crate::system::kit::shape;

/// One step of the engine or a person. What the rules refuse does not happen.
fn act(bench: &mut Bench, at: usize, choice: u8) {
    let name = UNITS[at % UNITS.len()];
    let (task, by) = (id(name), "ann".to_owned());
    let report = |claim: Claim| Command::Report {
        task: task.clone(),
        by: by.clone(),
        fence: None,
        claim,
        report: Box::new(Report {
            commits: vec![CommitMade { hash: format!("{choice:07x}"), subject: "By hand".to_owned() }],
            ..Report::default()
        }),
    };
    let command = match choice % 16 {
        0 => Command::Reset { task, by },
        1 => Command::Skip { task, by, reason: "no need".to_owned() },
        2 => Command::Abandon { task, by, reason: "hopeless".to_owned() },
        3 => Command::Retry { task, by },
        4 => report(Claim::Failed { reason: "red\nvery".to_owned() }),
        5 => report(Claim::Blocked { reason: "it contradicts itself".to_owned() }),
        6 => Command::Raise { task, by, attempts: u32::from(choice) % 20 },
        7 => {
            let fields = value_of!({"tasks": {name: {"mood": choice}}, "metrics": {"trend": choice}});
            Command::Note { by, note: Note::Carried { file: FILE.to_owned(), fields } }
        }
        8 => Command::Start { task, holder: Holder::Ledger(by) },
        9 => Command::Attach { engine: "e1".to_owned(), session: bench.session() },
        10..=14 => return advance(bench, name, choice),
        _ if bench.task(name).decided == Status::Completed => return,
        _ => report(Claim::Done {
            tree: None,
            results: bench.results(name, &Verdict::Pass, ""),
            evidence: crate::run::Evidence::file("work"),
        }),
    };
    let _refused = bench.try_(&command);
}

/// The engine's next step on a unit.
fn advance(bench: &mut Bench, name: &str, choice: u8) {
    let at = bench.task(name).clone();
    let (task, fence) = (id(name), at.fence);
    match at.decided {
        Status::Pending | Status::Failed => {
            let _refused = bench.try_(&Command::Start { task, holder: Holder::Engine });
        }
        _ if !at.is_engines() => {}
        Status::InProgress if !at.progress.ready => bench.ready(name),
        Status::InProgress if choice & 64 == 0 => {
            let end = AgentEnd::Failed { reason: "no signal".to_owned(), feedback: String::new() };
            bench.agent_ends(name, end, None);
        }
        Status::InProgress => pass(bench, name, Some((100 + fence, "Do it"))),
        Status::Confirming if choice & 64 == 0 => {
            let nth = u64::from(at.progress.confirmations) + 100 * fence;
            pass(bench, name, Some((1000 + nth, "More")));
        }
        Status::Confirming => pass(bench, name, None),
        Status::Verifying => bench.checks_end(name, &Verdict::Pass, ""),
        Status::Verified | Status::Merging => bench.advance_landing(name),
        _ => {}
    }
}

fn any_run() -> impl Strategy<Value = Bench> {
    proptest::collection::vec((0_usize..5, any::<u8>()), 0..80).prop_map(|steps| {
        let mut bench = fresh();
        steps.into_iter().for_each(|(unit, choice)| act(&mut bench, unit, choice));
        bench
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_reads_back_and_says_what_is_so(bench in any_run()) {
        let file = json(&bench);
        let reading = read(&shown(&bench));
        prop_assert!(reading.is_usable(), "{:?}", reading.problems);
        prop_assert_eq!(&reading.state.value, &file);
        prop_assert_eq!(edits(&file, &reading.state.value), vec![]);
        for (name, unit) in &reading.state.units {
            let task = bench.task(name.as_str());
            prop_assert_eq!(unit.status, UnitWord::from_status(task.status()));
            prop_assert_eq!(unit.limit, Some(task.budget));
            prop_assert!(unit.iterations >= task.spent, "{} {} {}", name, unit.iterations, task.spent);
        }
        let ids: Vec<&String> = file["tasks"].as_object().expect("an object").keys().collect();
        prop_assert_eq!(ids, UNITS, "the review is no unit");
        if let Some(current) = file["current_task"].as_str() {
            let unit = &file["tasks"][current];
            let used = unit.get("iterations_used").cloned().unwrap_or(value_of!(0));
            prop_assert_eq!(&used, &file["current_iteration"]);
        }
        let mut again = file.clone();
        again["updated"] = value_of!("2030-01-01T00:00:00+07:00");
        again["current_iteration"] = value_of!(99);
        again["tasks"]["T1"]["iterations_used"] = value_of!(99);
        prop_assert_eq!(edits(&file, &again), vec![], "what is derived is not heard");
    }

    #[test]
    fn one_edit_is_heard_as_exactly_that(bench in any_run(), unit in 0..UNITS.len(), kind in 0..4) {
        let name = UNITS[unit];
        let shown = json(&bench);
        let mut found = shown.clone();
        let entry = &mut found["tasks"][name];
        let status = entry["status"].as_str().expect("a word").to_owned();
        let expected = match kind {
            0 => {
                entry["status"] = value_of!("done");
                (status != "done").then(|| What::ReportDone { report: Report::default() })
            }
            1 => {
                entry["status"] = value_of!("pending");
                (status != "pending").then_some(What::Reset)
            }
            2 => {
                entry["max_iterations"] = value_of!(99);
                Some(What::Raise { attempts: 99 })
            }
            _ => {
                entry["reason"] = value_of!("odd");
                Some(What::Noted { text: "odd".to_owned() })
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
        found["tasks"]["T4"]["owner"] = value_of!("ann");
        for command in edits(&before, &found).iter().flat_map(|edit| commands(edit, "file")) {
            bench.accept(&command);
        }
        (0..5).filter(|_| more % 16 != 7).for_each(|unit| act(&mut bench, unit, more));
        let after = json(&bench);
        prop_assert_eq!(&after["team"], &value_of!({"size": value}));
        prop_assert_eq!(&after["tasks"]["T4"]["owner"], &value_of!("ann"));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(?s)(\\{|\\}|\\[|\\]|\"tasks\":|\"T1\":|\"status\":|\"done\"|\"commits\":|\"phase\":|,|:|null|-1|\\PC){0,40}") {
        let reading = read(&text);
        for problem in &reading.problems {
            prop_assert!(text.get(problem.span.clone()).is_some());
        }
    }
}

/// The table of known fields has each field that is written, and nothing that is not; and so has the schema.
#[test]
fn every_field_that_is_written_is_known() {
    let schema = schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    let described = keys(&schema["properties"]);
    let shape::Shape::Fields(root) = super::super::file::ROOT else { panic!("an object") };
    assert_eq!(root.iter().map(|(name, _)| *name).collect::<Vec<_>>(), described);
    for (file, others) in [
        (json(&stuck()), ["domain", "current_phase", "phases"]),
        (json(&over()), ["current_task", "tasks", ""]),
    ] {
        assert_eq!(Value::Object(shape::foreign(&file, &super::super::file::ROOT)), value_of!({}));
        let own: Vec<String> =
            described.iter().filter(|name| !others.contains(&name.as_str())).cloned().collect();
        assert_eq!(keys(&file), own);
    }
    let units = json(&stuck());
    let mut fields: Vec<String> = UNITS.iter().flat_map(|name| keys(&units["tasks"][*name])).collect();
    fields.sort();
    fields.dedup();
    let mut known = keys(&schema["$defs"]["UnitEntry"]["properties"]);
    known.sort();
    assert_eq!(fields, known, "all of them are seen");
}
