//! What people and agents do to the file beyond the recipes, and what they mean by it.

use serde_json::json as value_of;

use super::*;
use crate::run::Note;

/// What one change of the file comes to.
pub(super) fn heard(bench: &Bench, change: impl FnOnce(&mut Value)) -> Vec<Edit> {
    let shown = json(bench);
    let mut found = shown.clone();
    change(&mut found);
    edits(&shown, &found)
}

pub(super) fn on(name: &str, what: What) -> Edit {
    Edit { task: Some(id(name)), what }
}

pub(super) fn done() -> What {
    What::ReportDone { report: Report::default() }
}

fn told(bench: &Bench, change: impl FnOnce(&mut Value)) -> Vec<String> {
    heard(bench, change).iter().map(ToString::to_string).collect()
}

/// Hear a change, and do what it comes to.
fn listen(bench: &mut Bench, change: impl FnOnce(&mut Value)) {
    for command in heard(bench, change).iter().flat_map(|edit| commands(edit, "ann")) {
        bench.accept(&command);
    }
}

#[test]
fn nothing_changed_is_nothing_heard() {
    for bench in [fresh(), middle(), over()] {
        assert_eq!(heard(&bench, |_| {}), []);
        let written: Value = serde_json::from_str(&shown(&bench)).expect("JSON");
        assert_eq!(edits(&json(&bench), &written), []);
    }
}

#[test]
fn every_wish_about_a_task() {
    let mut rows = Vec::new();
    for (shown, bench, name) in [
        ("pending", fresh(), "T001"),
        ("in_progress", middle(), "T010"),
        ("completed", middle(), "T001"),
        ("failed", middle(), "T003"),
        ("blocked", over(), "T003"),
        ("skipped", over(), "T004"),
    ] {
        assert_eq!(json(&bench)["tasks"][name]["status"], shown);
        for word in [
            "pending",
            "in_progress",
            "completed",
            "failed",
            "blocked",
            "skipped",
            "Done",
            "abandoned",
            "nonsense",
        ] {
            let said = told(&bench, |file| file["tasks"][name]["status"] = value_of!(word));
            rows.push(format!("{shown:11} → {word:11} {}", said.join(" | ")));
        }
        let said = told(&bench, |file| file["retry_counts"][name] = value_of!(0));
        rows.push(format!("{shown:11} → 0 retries   {}", said.join(" | ")));
        let said = told(&bench, |file| file["retry_counts"][name] = value_of!(9));
        rows.push(format!("{shown:11} → 9 retries   {}", said.join(" | ")));
        let said = told(&bench, |file| file["tasks"][name]["verification"]["agent_done"] = value_of!(true));
        rows.push(format!("{shown:11} → agent done  {}", said.join(" | ")));
    }
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn every_wish_about_a_gate() {
    let mut rows = Vec::new();
    for (shown, name) in
        [("null", "uat"), ("passed", "unit_tests"), ("degraded", "licences"), ("approved", "qa_review")]
    {
        let bench = over();
        for word in [
            value_of!(null),
            value_of!("passed"),
            value_of!("approved"),
            value_of!("degraded"),
            value_of!("failed"),
            value_of!("running"),
            value_of!("maybe"),
            value_of!(true),
        ] {
            let said = told(&bench, |file| file["quality_gates"][name] = word.clone());
            rows.push(format!("{shown:8} → {:10} {}", word.to_string(), said.join(" | ")));
        }
    }
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn a_gate_that_is_degraded_is_gone_on_without() {
    let mut bench = middle();
    listen(&mut bench, |file| file["degraded_phases"] = value_of!(["unit_tests"]));
    let file = json(&bench);
    assert_eq!(file["quality_gates"]["unit_tests"], "degraded");
    assert_eq!(file["degraded_phases"], value_of!(["unit_tests"]));
    listen(&mut bench, |file| file["quality_gates"]["unit_tests"] = value_of!(null));
    assert_eq!(json(&bench)["quality_gates"]["unit_tests"], Value::Null, "and can be looked at after all");
}

#[test]
fn what_is_derived_is_dropped_in_silence() {
    let edits = heard(&middle(), |file| {
        file["updated_at"] = value_of!("2027-01-10T11:00:00+07:00");
        file["progress"] = value_of!({"total_tasks": 9, "pending": -3});
        file["user_stories"]["US-001"]["completed_tasks"] = value_of!(7);
        file["user_stories"]["US-001"]["status"] = value_of!("completed");
        file["current_batch"] = value_of!(5);
        file["blocked_tasks"] = value_of!(["T001"]);
        file["stop_reason"] = value_of!("bored");
        file["batches"] = value_of!([]);
        file["tasks"]["T001"]["batch_id"] = value_of!(2);
        file["tasks"]["T001"]["completed_at"] = value_of!(null);
        file["tasks"]["T001"]["files_modified"] = value_of!([]);
        file["logs"] = value_of!([]);
    });
    assert_eq!(edits, []);
}

#[test]
fn a_pause_is_a_wish_and_going_on_is_not() {
    let stop = [Edit { task: None, what: What::Stop }];
    for word in ["paused", "stopped", "failed"] {
        assert_eq!(heard(&middle(), |file| file["status"] = value_of!(word)), stop, "{word}");
        assert_eq!(heard(&over(), |file| file["status"] = value_of!(word)), [], "{word}: it is over");
    }
    assert_eq!(
        told(&middle(), |file| file["status"] = value_of!("completed")),
        [
            "`status` is \"completed\": it is completed when every task and gate is; `piton status` shows what is left"
        ]
    );
    assert_eq!(heard(&fresh(), |file| file["status"] = value_of!("running")), []);
    let mut paused = middle();
    paused.detach(StopReason::Person);
    assert_eq!(
        told(&paused, |file| file["status"] = value_of!("running")),
        ["`status` is \"running\": `piton run` resumes it"]
    );
}

#[test]
fn what_makes_no_sense_is_said_to_make_none() {
    let bench = middle();
    let lines = [
        told(&bench, |file| *file = value_of!([])),
        told(&bench, |file| file["version"] = value_of!("4.0.0")),
        told(&bench, |file| file["config"]["project_path"] = value_of!("/elsewhere")),
        told(&bench, |file| file["config"]["auto_answer"] = value_of!(false)),
        told(&bench, |file| file["status"] = value_of!(7)),
        told(&bench, |file| file["user_stories"]["US-009"] = value_of!({"title": "Fly"})),
        told(&bench, |file| file["user_stories"]["US-001"]["title"] = value_of!("Fly")),
        told(&bench, |file| file["tasks"] = value_of!({})),
        told(&bench, |file| file["tasks"] = value_of!([])),
        told(&bench, |file| file["tasks"]["T003"] = value_of!("done")),
        told(&bench, |file| {
            file["tasks"].as_object_mut().expect("an object").remove("T004");
        }),
        told(&bench, |file| file["tasks"]["T003"]["status"] = value_of!(3)),
        told(&bench, |file| file["tasks"]["T003"]["files_modified"] = value_of!({"a": 1})),
        told(&bench, |file| file["tasks"]["T003"]["dependencies"] = value_of!([])),
        told(&bench, |file| file["tasks"]["../x"] = value_of!({"description": "x"})),
        told(&bench, |file| file["tasks"]["T099"] = value_of!({"status": "pending"})),
        told(&bench, |file| {
            file["tasks"]["T099"] = value_of!({"description": "x", "files_mentioned": ["../../etc"]});
        }),
        told(&bench, |file| file["quality_gates"]["a/b"] = value_of!("passed")),
        told(&bench, |file| file["quality_gates"] = value_of!("passed")),
        told(&bench, |file| file["logs"] = value_of!("none")),
        told(&bench, |file| file["logs"] = value_of!([{"level": "info"}])),
    ];
    insta::assert_snapshot!(lines.map(|lines| lines.join(" | ")).join("\n"));
    let nonsense = heard(&bench, |file| file["config"]["auto_answer"] = value_of!(false));
    let commands = commands(&nonsense[0], "file");
    assert!(matches!(&commands[..], [Command::Note { note: Note::EditRefused { .. }, .. }]), "{commands:?}");
}

#[test]
fn an_error_told_while_the_status_stays_is_noted() {
    let edits = heard(&middle(), |file| file["tasks"]["T010"]["error"] = value_of!("the cache is cold"));
    assert_eq!(edits, [on("T010", What::Noted { text: "the cache is cold".to_owned() })]);
}

#[test]
fn fields_of_others_are_carried_changed_and_taken_away() {
    let mut bench = middle();
    // What the hooks of this system add.
    listen(&mut bench, |file| {
        file["tasks"]["T001"]["verified_files"] = value_of!(["db/receipts.sql"]);
        file["tasks"]["T003"]["verification"]["error"] = value_of!("src/keep.ts is missing");
        file["tasks"]["T003"]["verification"]["files_exist"] = value_of!(true);
        file["user_stories"]["US-001"]["owner"] = value_of!("bob");
        file["team"] = value_of!({"lead": "ann"});
    });
    bench.checks_go_on();
    let file = json(&bench);
    assert_eq!(file["tasks"]["T001"]["verified_files"], value_of!(["db/receipts.sql"]));
    assert_eq!(file["tasks"]["T003"]["verification"]["error"], "src/keep.ts is missing");
    assert_eq!(file["tasks"]["T003"]["verification"]["files_exist"], false, "ours stays");
    assert_eq!(
        (&file["user_stories"]["US-001"]["owner"], &file["team"]["lead"]),
        (&value_of!("bob"), &value_of!("ann"))
    );
    listen(&mut bench, |file| {
        file.as_object_mut().expect("an object").remove("team");
        file["tasks"].as_object_mut().expect("an object").remove("T001");
    });
    let file = json(&bench);
    assert!(file.get("team").is_none());
    assert_eq!(
        file["tasks"]["T001"]["verified_files"],
        value_of!(["db/receipts.sql"]),
        "the task stays as it was"
    );
}

impl Bench {
    fn checks_go_on(&mut self) {
        self.ready("T010");
    }
}

#[test]
fn batches_are_known_by_their_ids_wherever_they_stand() {
    let mut bench = middle();
    listen(&mut bench, |file| {
        file["batches"] = value_of!([{"batch_id": 2}, {"batch_id": "1", "compacted": true}, {"batch_id": 70, "compacted": true}]);
    });
    let compacted: Vec<Value> = json(&bench)["batches"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|batch| batch["compacted"].clone())
        .collect();
    assert_eq!(compacted, [value_of!(false), value_of!(true), value_of!(false)]);
    assert_eq!(heard(&bench, |file| file["batches"] = value_of!([])), [], "what is gone is not taken back");
}

#[test]
fn a_level_is_kept_with_its_line_and_a_line_is_heard_once() {
    let mut bench = middle();
    let lines = [
        ("info", "plain"),
        ("warning", "careful"),
        ("error", "broken"),
        ("info", "error: only a word"),
        ("loud", "?"),
    ];
    listen(&mut bench, |file| {
        for (level, message) in lines {
            let line =
                value_of!({"timestamp": "2026-01-10T11:00:00+07:00", "level": level, "message": message});
            file["logs"].as_array_mut().expect("a list").push(line);
        }
    });
    let file = json(&bench);
    let logs = file["logs"].as_array().expect("a list");
    let last: Vec<(&str, &str)> = logs[logs.len() - lines.len()..]
        .iter()
        .map(|line| (line["level"].as_str().expect("a word"), line["message"].as_str().expect("a text")))
        .collect();
    let shown = lines.map(|(level, message)| (if level == "loud" { "info" } else { level }, message));
    assert_eq!(last, shown);
}

#[test]
fn a_stale_copy_is_compared_with_what_it_was() {
    let mut bench = middle();
    let then = json(&bench);
    bench.start("T003");
    let mut copy = then.clone();
    copy["tasks"]["T004"]["note"] = value_of!("ask ann");
    let fields = value_of!({"tasks": {"T004": {"note": "ask ann"}}});
    assert_eq!(edits(&then, &copy), [Edit { task: None, what: What::Carried { fields } }]);
    assert!(
        edits(&json(&bench), &copy).len() > 1,
        "compared with now, it would undo what has happened since"
    );
}

/// An error with its type, its step and its time, and several of one edit, stay what they are.
#[test]
fn errors_are_kept_apart_with_all_that_they_say() {
    let first = value_of!({"attempt": 1, "type": "verification_failed", "step": "npm test", "message": "2 failed",
        "timestamp": "2026-01-10T11:35:00Z"});
    let edits = heard(&middle(), |file| {
        let task = &mut file["tasks"]["T010"];
        task["status"] = value_of!("failed");
        task["error"] = value_of!([first, "and the build is red"]);
    });
    let [Edit { what: What::Failed { reason, .. }, .. }, Edit { what: What::Errors { errors }, .. }] =
        &edits[..]
    else {
        panic!("{edits:?}")
    };
    assert_eq!(reason, "and the build is red");
    assert_eq!((errors[0].kind.as_str(), errors[0].step.as_str()), ("verification_failed", "npm test"));
    assert_eq!((errors[0].message.as_str(), errors[0].at.is_some()), ("2 failed", true));
    assert_eq!((errors.len(), errors[1].message.as_str()), (2, "and the build is red"));
    // While it is worked on it ends nothing.
    let edits = heard(&middle(), |file| file["tasks"]["T010"]["error"] = first);
    assert!(
        matches!(&edits[..], [Edit { what: What::Errors { errors }, .. }] if errors.len() == 1),
        "{edits:?}"
    );
    // What others keep in lists of their own stays there, entry by entry.
    let mut bench = middle();
    let edits = heard(&bench, |file| {
        file["tasks"]["T010"]["retry_feedback"] =
            value_of!([{"attempt": 2, "feedback": "a"}, {"attempt": 2, "feedback": "b"}]);
    });
    edits.iter().flat_map(|edit| commands(edit, "file")).for_each(|command| bench.accept(&command));
    assert_eq!(json(&bench)["tasks"]["T010"]["retry_feedback"][1]["feedback"], "b");
}
