//! What people and agents do to the file, and what they mean by it.

use serde_json::json as value_of;

use super::*;
use crate::run::{Claim, Command, Note};

/// What one change of the file comes to.
fn heard(bench: &Bench, change: impl FnOnce(&mut Value)) -> Vec<Edit> {
    let shown = json(bench);
    let mut found = shown.clone();
    change(&mut found);
    edits(&shown, &found)
}

fn on(name: &str, what: What) -> Edit {
    Edit { task: Some(id(name)), what }
}

fn said(bench: &Bench, change: impl FnOnce(&mut Value)) -> Vec<String> {
    heard(bench, change).iter().map(ToString::to_string).collect()
}

fn begun() -> Bench {
    let mut bench = fresh();
    bench.accept(&Command::Start { task: id("1"), holder: crate::run::Holder::Ledger("ann".to_owned()) });
    bench
}

#[test]
fn nothing_changed_is_nothing_heard() {
    for bench in [fresh(), begun(), over()] {
        assert_eq!(heard(&bench, |_| {}), []);
    }
}

#[test]
fn the_recipe_that_begins_a_task_is_a_start() {
    let edits = heard(&fresh(), |file| {
        file["tasks"][0]["status"] = value_of!("in_progress");
        file["tasks"][0]["started_at"] = value_of!("2026-01-20T10:05:00Z");
    });
    assert_eq!(edits, [on("1", What::Start)]);
    assert!(matches!(commands(&edits[0], "file")[..], [Command::Start { .. }]));
}

#[test]
fn the_recipe_that_completes_a_task_is_one_claim_with_all_it_tells() {
    let edits = heard(&begun(), |file| {
        let task = &mut file["tasks"][0];
        task["status"] = value_of!("completed");
        task["completed_at"] = value_of!("2026-01-20T10:25:00Z");
        task["files_created"] = value_of!(["src/export.rs"]);
        task["files_modified"] = value_of!(["src/lib.rs"]);
        task["exports"] = value_of!(["Exporter", "export()"]);
        task["patterns"] = value_of!(["Errors are values"]);
        task["notes"] = value_of!("The writer streams, so large exports fit.");
        task["test_results"] = value_of!({"passed": 5, "failed": 0, "skipped": 1});
        file["updated_at"] = value_of!("2026-01-20T10:25:00Z");
    });
    let report = Report { decisions: Vec::new(), ..told() };
    assert_eq!(edits, [on("1", What::ReportDone { report })]);
    assert!(commands(&edits[0], "file").is_empty(), "its checks come first");
}

#[test]
fn the_fallback_of_the_recipe_is_a_claim_that_tells_nothing() {
    let edits = heard(&begun(), |file| {
        file["tasks"][0]["status"] = value_of!("completed");
        file["tasks"][0]["notes"] = value_of!("(auto-updated by orchestrator)");
    });
    assert_eq!(edits, [on("1", What::ReportDone { report: Report::default() })]);
}

#[test]
fn a_failure_brings_its_reason_and_comes_back_as_notes() {
    let mut bench = begun();
    let edits = heard(&bench, |file| {
        file["tasks"][0]["status"] = value_of!("failed");
        file["tasks"][0]["notes"] = value_of!("No such table");
    });
    let report = Report { note: "No such table".to_owned(), ..Report::default() };
    assert_eq!(edits, [on("1", What::Failed { reason: "No such table".to_owned(), report })]);
    for command in commands(&edits[0], "ann") {
        bench.accept(&command);
    }
    let task = &json(&bench)["tasks"][0];
    assert_eq!((&task["status"], &task["notes"]), (&value_of!("failed"), &value_of!("No such table")));
    let bare = heard(&begun(), |file| file["tasks"][0]["status"] = value_of!("failed"));
    let reason = "marked as failed in execution-state.json".to_owned();
    assert_eq!(bare, [on("1", What::Failed { reason, report: Report::default() })]);
}

#[test]
fn what_was_given_up_is_tried_again_reset_or_skipped() {
    let mut bench = over();
    assert_eq!(json(&bench)["tasks"][2]["status"], "failed");
    let retry = heard(&bench, |file| file["tasks"][2]["status"] = value_of!("in_progress"));
    assert_eq!(retry, [on("10", What::Retry { start: true })]);
    let reset = heard(&bench, |file| file["tasks"][2]["status"] = value_of!("pending"));
    assert_eq!(reset, [on("10", What::Reset)]);
    let skip = heard(&bench, |file| file["tasks"][2]["status"] = value_of!("skipped"));
    assert_eq!(skip, [on("10", What::Skip)]);
    for command in commands(&retry[0], "ann") {
        bench.accept(&command);
    }
    assert_eq!(json(&bench)["tasks"][2]["status"], "in_progress");
}

#[test]
fn words_of_other_systems_are_understood() {
    for (word, what) in [
        ("done", Some(What::ReportDone { report: Report::default() })),
        ("Completed", Some(What::ReportDone { report: Report::default() })),
        ("running", None),
        ("verifying", None),
        ("todo", Some(What::Reset)),
        (
            "blocked",
            Some(What::Blocked {
                reason: "marked as blocked in execution-state.json".to_owned(),
                report: Report::default(),
            }),
        ),
        ("abandoned", Some(What::Abandon { reason: "abandoned in execution-state.json".to_owned() })),
    ] {
        let edits = heard(&begun(), |file| file["tasks"][0]["status"] = value_of!(word));
        let expected: Vec<Edit> = what.into_iter().map(|what| on("1", what)).collect();
        assert_eq!(edits, expected, "{word}");
    }
}

#[test]
fn what_is_told_without_a_new_status_is_told() {
    let mut bench = begun();
    let edits = heard(&bench, |file| {
        let task = &mut file["tasks"][0];
        task["exports"] = value_of!({"classes": ["Exporter"], "functions": ["export()"], "types": []});
        task["patterns"] = value_of!("Errors are values");
        task["test_results"] = value_of!({"passed": "2", "failed": 1});
    });
    let report = Report {
        exports: vec!["Exporter".to_owned(), "export()".to_owned()],
        patterns: vec!["Errors are values".to_owned()],
        tests: Some(Tests { passed: 2, failed: 1, skipped: 0 }),
        ..Report::default()
    };
    assert_eq!(edits, [on("1", What::Report { report })]);
    for command in commands(&edits[0], "ann") {
        bench.accept(&command);
    }
    let task = &json(&bench)["tasks"][0];
    assert_eq!(task["exports"], value_of!(["Exporter", "export()"]), "written as a list");
    assert_eq!(task["test_results"], value_of!({"passed": 2, "failed": 1, "skipped": 0}));
}

#[test]
fn what_a_recipe_takes_out_of_a_list_stays() {
    let edits = heard(&over(), |file| {
        file["tasks"][0]["files_created"] = value_of!([]);
        file["tasks"][0]["notes"] = value_of!("");
        file["tasks"][0]["test_results"] = Value::Null;
        file["tasks"][0]["started_at"] = Value::Null;
    });
    assert_eq!(edits, []);
}

#[test]
fn ids_may_be_numbers_and_have_their_dot() {
    let edits = heard(&fresh(), |file| {
        file["tasks"][0]["id"] = value_of!(1);
        file["tasks"][0]["status"] = value_of!("in_progress");
        file["tasks"][1]["id"] = value_of!("2.");
        file["tasks"][1]["mood"] = value_of!("fine");
        file["issue"]["number"] = value_of!("42");
    });
    let fields = value_of!({"tasks": {"2": {"mood": "fine"}}});
    assert_eq!(edits, [on("1", What::Start), Edit { task: None, what: What::Carried { fields } }]);
}

#[test]
fn fields_of_others_are_carried_and_shown_again() {
    let mut bench = over();
    let edits = heard(&bench, |file| {
        file["team"] = value_of!({"lead": "ann"});
        file["issue"]["url"] = value_of!("https://example.org/42");
        file["tasks"][1]["reviewer"] = value_of!("bob");
        file["tasks"][0]["test_results"]["took"] = value_of!(3);
    });
    assert_eq!(edits.len(), 1, "{edits:?}");
    for command in commands(&edits[0], "file") {
        bench.accept(&command);
    }
    lands_again(&mut bench);
    let file = json(&bench);
    assert_eq!(file["team"]["lead"], "ann");
    assert_eq!(file["issue"]["url"], "https://example.org/42");
    assert_eq!(file["tasks"][1]["reviewer"], "bob");
    assert_eq!(file["tasks"][0]["test_results"]["took"], 3);
    assert_eq!(heard(&bench, |_| {}), []);
}

fn lands_again(bench: &mut Bench) {
    bench.note(Note::Guardrail { text: "No new dependency".to_owned() });
}

#[test]
fn what_makes_no_sense_is_said_to_make_none() {
    let all = said(&begun(), |file| {
        file["issue"]["branch"] = value_of!("main");
        file["tasks"][0]["status"] = value_of!("complated");
        file["tasks"][1]["description"] = value_of!("Something else");
        file["tasks"][2]["exports"] = value_of!(7);
        file["tasks"].as_array_mut().expect("a list").push(value_of!({"id": "99", "status": "pending"}));
        file["tasks"].as_array_mut().expect("a list").push(value_of!({"id": 1.1}));
    });
    insta::assert_snapshot!(all.join("\n"));
    for bad in [value_of!([]), Value::Null, value_of!("none"), value_of!({"1": {}})] {
        assert_eq!(said(&fresh(), |file| file["tasks"] = bad.clone()).len(), 1, "{bad}");
    }
    assert_eq!(edits(&json(&fresh()), &value_of!([])).len(), 1);
    let gone = said(&fresh(), |file| {
        file["tasks"].as_array_mut().expect("a list").remove(1);
    });
    assert_eq!(gone, ["2 was removed: only the plan defines tasks"]);
    let twice = said(&fresh(), |file| {
        let copy = file["tasks"][0].clone();
        file["tasks"].as_array_mut().expect("a list").push(copy);
    });
    assert_eq!(twice, ["1 appears twice: the last one is used"]);
}

#[test]
fn a_blocked_task_is_failed_here() {
    let mut bench = begun();
    bench.report("1", Claim::Blocked { reason: "It contradicts itself".to_owned() }, Report::default());
    let task = &json(&bench)["tasks"][0];
    assert_eq!(
        (&task["status"], &task["notes"]),
        (&value_of!("failed"), &value_of!("It contradicts itself"))
    );
}

/// This file has no errors of its own: what others write into it stays, entry by entry, with all that each says.
#[test]
fn errors_and_feedback_of_others_are_kept_apart() {
    let mut bench = begun();
    let errors = value_of!([
        {"attempt": 1, "type": "verification_failed", "step": "npm test", "message": "2 failed",
            "timestamp": "2026-01-10T11:35:00Z"},
        {"attempt": 1, "type": "implementation_error", "message": "no key"}]);
    let feedback = value_of!([{"attempt": 2, "feedback": "a"}, {"attempt": 2, "feedback": "b"}]);
    let edits = heard(&bench, |file| {
        file["tasks"][0]["errors"] = errors.clone();
        file["tasks"][0]["retry_feedback"] = feedback.clone();
    });
    edits.iter().flat_map(|edit| commands(edit, "file")).for_each(|command| bench.accept(&command));
    assert_eq!(
        (&json(&bench)["tasks"][0]["errors"], &json(&bench)["tasks"][0]["retry_feedback"]),
        (&errors, &feedback)
    );
}
