//! What holds for the file of any run, however it came about.

use proptest::prelude::*;
use serde_json::json;

use super::trips::recounted;
use super::*;
use crate::run::{AgentEnd, Claim, Class, Command, Holder, Note, Report, Status};
use crate::system::kit::shape;

const TASKS: [&str; 4] = ["L0-001", "L1-001", "L1-002", "L1-003"];

/// One step of the engine or a person: mostly forward, sometimes aside. What the rules refuse does not happen.
fn act(bench: &mut Bench, task: usize, choice: u8) {
    let name = TASKS[task % TASKS.len()];
    let at = bench.task(name).clone();
    let (task, fence, by) = (id(name), at.fence, "ann".to_owned());
    let aside = match choice % 32 {
        0 => Some(Command::Reset { task: task.clone(), by: by.clone() }),
        1 => Some(Command::Skip { task: task.clone(), by: by.clone(), reason: "no need".to_owned() }),
        2 => Some(Command::Abandon { task: task.clone(), by: by.clone(), reason: "hopeless".to_owned() }),
        3 | 4 => Some(Command::Retry { task: task.clone(), by: by.clone() }),
        5 => Some(Command::Start { task: task.clone(), holder: Holder::Ledger(by.clone()) }),
        6 => {
            let claim = Claim::Blocked { reason: "it contradicts itself".to_owned() };
            Some(Command::Report {
                task: task.clone(),
                by: by.clone(),
                fence: None,
                claim,
                report: Box::default(),
            })
        }
        7 => {
            let report = Report { feedback: "mind the gap".to_owned(), ..Report::default() };
            Some(Command::Note {
                by: by.clone(),
                note: Note::Told { task: task.clone(), report: Box::new(report) },
            })
        }
        8 => {
            let fields = json!({"tasks": {name: {"mood": choice}}, "owner": "ann"});
            Some(Command::Note { by: by.clone(), note: Note::Carried { file: FILE.to_owned(), fields } })
        }
        9 => Some(Command::Detach { engine: "e1".to_owned(), reason: StopReason::Person, tip: Vec::new() }),
        10 => Some(Command::Attach { engine: "e1".to_owned(), session: bench.session() }),
        11 => {
            let commit = at.proof.as_ref().map(|_| oid(100 + u64::from(choice)));
            let lost =
                |commit| Command::LandingLost { task: task.clone(), commit, reason: "rebased".to_owned() };
            commit.map(lost)
        }
        12 => {
            let claim = Claim::Done {
                tree: None,
                results: bench.results(name, &Verdict::Pass, ""),
                evidence: crate::run::Evidence::file("work"),
            };
            Some(Command::Report {
                task: task.clone(),
                by: by.clone(),
                fence: None,
                claim,
                report: Box::default(),
            })
        }
        _ => None,
    };
    if let Some(command) = aside {
        let _refused = bench.try_(&command);
        return;
    }
    match at.decided {
        Status::Pending | Status::Failed => {
            let _refused = bench.try_(&Command::Start { task, holder: Holder::Engine });
        }
        Status::InProgress if !at.is_engines() => {
            let claim = Claim::Failed { reason: "it does not work".to_owned() };
            let _refused =
                bench.try_(&Command::Report { task, by, fence: None, claim, report: Box::default() });
        }
        Status::InProgress if !at.progress.ready => bench.ready(name),
        Status::InProgress if choice.is_multiple_of(3) => {
            let end = AgentEnd::Transient { reason: "the network".to_owned() };
            bench.agent_ends(name, end, None);
        }
        Status::InProgress => bench.work(name, &[(100 + u64::from(choice), "Do it")]),
        Status::Verifying if choice.is_multiple_of(2) => {
            bench.checks_end(name, &Verdict::Fail { exit: 1 }, "red");
        }
        Status::Verifying => bench.checks_end(name, &Verdict::Pass, ""),
        Status::Verified if choice.is_multiple_of(4) => {
            let (reason, feedback) = ("conflict in a.rs".to_owned(), "Take both".to_owned());
            let _refused = bench.try_(&Command::LandingFailed {
                task,
                fence,
                tip: oid(5),
                reason,
                feedback,
                pointers: Box::default(),
            });
        }
        Status::Verified | Status::Merging => bench.advance_landing(name),
        Status::Completed => {
            let _refused = bench.try_(&Command::CleanedUp { task, fence });
        }
        _ => {}
    }
}

fn any_run() -> impl Strategy<Value = Bench> {
    proptest::collection::vec((0..TASKS.len(), any::<u8>()), 0..120).prop_map(|steps| {
        let mut bench = Bench::small();
        bench.attach();
        steps.into_iter().for_each(|(task, choice)| act(&mut bench, task, choice));
        bench
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_fits_its_schema_counts_right_and_reads_back(bench in any_run()) {
        let file = json(&bench);
        fits(&file);
        recounted(&file);
        let reading = read(&shown(&bench));
        prop_assert!(reading.is_usable());
        prop_assert_eq!(&reading.state.value, &file);
        prop_assert_eq!(edits(&file, &reading.state.value), vec![]);
        for (name, task) in &reading.state.tasks {
            let known = bench.task(name.as_str());
            prop_assert_eq!(task.status, TaskStatus::from_status(known.status()));
            prop_assert_eq!(task.attempts, known.attempt);
        }
    }

    #[test]
    fn one_edit_is_heard_as_exactly_that(bench in any_run(), task in 0..TASKS.len(), kind in 0..5) {
        let name = TASKS[task];
        let shown = json(&bench);
        let mut found = shown.clone();
        let status = shown["tasks"][name]["status"].as_str().expect("a word").to_owned();
        let entry = &mut found["tasks"][name];
        let expected = match kind {
            0 => {
                entry["status"] = json!("completed");
                (status != "completed").then(|| What::ReportDone { report: Report::default() })
            }
            1 => {
                entry["status"] = json!("pending");
                entry["attempts"] = json!(0);
                (status != "pending" || bench.task(name).attempt > 0).then_some(What::Reset)
            }
            2 => {
                entry["attempts"] = json!(bench.task(name).attempt + 1);
                entry["completed_at"] = json!("2026-02-02T02:02:02Z");
                let what = format!("`attempts` of {name} is {}", bench.task(name).attempt + 1);
                let why = "Piton counts attempts; 0 resets the task, `piton raise` allows more".to_owned();
                Some(What::Rejected { what, why })
            }
            3 => {
                entry["commits"].as_array_mut().expect("a list").push(json!({"hash": "fedcba9"}));
                let made = crate::run::CommitMade { hash: "fedcba9".to_owned(), subject: String::new() };
                Some(What::Report { report: Report { commits: vec![made], ..Report::default() } })
            }
            _ => {
                entry["mood"] = json!("fine");
                let fields = json!({"tasks": {name: {"mood": "fine"}}});
                let edit = Edit { task: None, what: What::Carried { fields } };
                prop_assert_eq!(edits(&shown, &found), vec![edit]);
                return Ok(());
            }
        };
        let expected: Vec<Edit> =
            expected.into_iter().map(|what| Edit { task: Some(id(name)), what }).collect();
        prop_assert_eq!(edits(&shown, &found), expected);
    }

    /// What is heard and accepted is shown: the file then says what it was edited to say, and is heard no more.
    #[test]
    fn fields_of_others_survive_whatever_happens(bench in any_run(), value in any::<u32>(), more in any::<u8>()) {
        let mut bench = bench;
        let before = json(&bench);
        let mut found = before.clone();
        found["team"] = json!({"size": value});
        found["tasks"]["L1-003"]["reviewer"] = json!("bob");
        for command in edits(&before, &found).iter().flat_map(|edit| commands(edit, "file")) {
            bench.accept(&command);
        }
        (0..TASKS.len()).for_each(|task| act(&mut bench, task, more));
        let after = json(&bench);
        prop_assert_eq!(&after["team"], &json!({"size": value}));
        prop_assert_eq!(&after["tasks"]["L1-003"]["reviewer"], &json!("bob"));
    }
}

#[track_caller]
fn fits(file: &Value) {
    let schema = schema();
    if let Err(wrong) = conforms(file, &schema, &schema) {
        panic!("{wrong}\n{file:#}");
    }
}

/// As much of JSON Schema as the schema uses; a keyword that is not known here fails.
fn conforms(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    let Some(rules) = schema.as_object() else { return Ok(()) };
    for (keyword, rule) in rules {
        let ok = match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" | "required" | "items" | "properties" => true,
            "$ref" => {
                let name =
                    rule.as_str().and_then(|path| path.strip_prefix("#/$defs/")).expect("a definition");
                conforms(value, &root["$defs"][name], root)?;
                true
            }
            "type" => match rule {
                Value::Array(kinds) => kinds.iter().any(|kind| is(value, kind)),
                kind => is(value, kind),
            },
            "const" => value == rule,
            "enum" => rule.as_array().expect("a list").contains(value),
            "anyOf" | "oneOf" => {
                rule.as_array().expect("a list").iter().any(|rule| conforms(value, rule, root).is_ok())
            }
            "minimum" => !value.is_number() || value.as_f64() >= rule.as_f64(),
            "format" if rule == "date-time" => {
                value.as_str().is_none_or(|text| crate::time::Timestamp::parse(text).is_some())
            }
            "additionalProperties" => {
                let entries = value.as_object().expect("an object");
                let known = &schema["properties"];
                for (key, entry) in entries.iter().filter(|(key, _)| known.get(key.as_str()).is_none()) {
                    conforms(entry, rule, root).map_err(|wrong| format!("{key}: {wrong}"))?;
                }
                true
            }
            keyword => panic!("the schema uses `{keyword}`, which is not looked at here"),
        };
        if !ok {
            return Err(format!("{value} does not fit {keyword} {rule}"));
        }
    }
    for (key, rule) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = value.get(key) {
            conforms(value, rule, root).map_err(|wrong| format!("{key}: {wrong}"))?;
        }
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        let key = key.as_str().expect("a name");
        if value.get(key).is_none() {
            return Err(format!("{key} is missing"));
        }
    }
    if let (Some(items), Some(rule)) = (value.as_array(), schema.get("items")) {
        items.iter().try_for_each(|item| conforms(item, rule, root))?;
    }
    Ok(())
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str().expect("a type") {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        kind => panic!("the schema uses the type `{kind}`"),
    }
}

#[test]
fn every_file_of_the_goldens_fits_the_schema_and_a_wrong_one_does_not() {
    for bench in [Bench::small(), middle(), abandoned(), completed()] {
        fits(&json(&bench));
        recounted(&json(&bench));
    }
    let schema = schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    for change in [
        |file: &mut Value| file["status"] = json!("done"),
        |file: &mut Value| file["tasks"]["L0-001"]["status"] = json!("merged"),
        |file: &mut Value| file["tasks"]["L0-001"]["attempts"] = json!(-1),
        |file: &mut Value| file["updated_at"] = json!("yesterday"),
        |file: &mut Value| {
            file.as_object_mut().expect("an object").remove("metrics");
        },
        |file: &mut Value| file["worktrees"]["L0-001"] = json!({"status": "active"}),
        |file: &mut Value| file["merge_queue"][0]["status"] = json!("waiting"),
    ] {
        let mut file = json(&middle());
        change(&mut file);
        assert!(conforms(&file, &schema, &schema).is_err(), "{file:#}");
    }
}

/// The table of known fields has each field that is written, and nothing that is not.
#[test]
fn every_field_that_is_written_is_known() {
    let mut bench = middle();
    bench.agent_ends(
        "L1-001",
        AgentEnd::Failed { reason: "no".to_owned(), feedback: "yes".to_owned() },
        None,
    );
    assert_eq!(bench.chronicle.task(&id("L1-001")).expect("a task").failures[1].class, Class::Code);
    for bench in [bench, abandoned(), completed()] {
        let foreign = shape::foreign(&json(&bench), &known::ROOT);
        assert_eq!(Value::Object(foreign), json!({}));
    }
    let shape::Shape::Fields(root) = known::ROOT else { panic!("an object") };
    let properties = schema()["properties"].clone();
    let names: Vec<&str> = root.iter().map(|(name, _)| *name).collect();
    let written: Vec<&String> = properties.as_object().expect("an object").keys().collect();
    assert_eq!(names, written);
}
