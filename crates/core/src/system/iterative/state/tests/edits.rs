//! What people and agents do to the file, and what they mean by it.

use serde_json::json as value_of;

use super::*;
use crate::run::{Holder, Status};

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
    bench.accept(&Command::Start { task: id("T1"), holder: Holder::Ledger("ann".to_owned()) });
    bench
}

fn obey(bench: &mut Bench, edits: &[Edit]) {
    for command in edits.iter().flat_map(|edit| commands(edit, "ann")) {
        bench.accept(&command);
    }
}

#[test]
fn nothing_changed_is_nothing_heard() {
    for bench in [fresh(), begun(), middle(), stuck(), over()] {
        assert_eq!(heard(&bench, |_| {}), []);
    }
}

#[test]
fn whoever_keeps_it_by_hand_begins_and_ends_units() {
    let edits = heard(&fresh(), |file| {
        file["current_task"] = value_of!("T1");
        file["current_iteration"] = value_of!(1);
        file["tasks"]["T1"]["status"] = value_of!("in_progress");
        file["tasks"]["T1"]["iterations_used"] = value_of!(1);
        file["updated"] = value_of!("2026-01-20T10:05:00Z");
        file["phase"] = value_of!("execute");
    });
    assert_eq!(edits, [on("T1", What::Start)]);
    let next = heard(&begun(), |file| {
        file["tasks"]["T1"]["status"] = value_of!("confirming");
        file["tasks"]["T1"]["confirmations_used"] = value_of!(1);
    });
    assert_eq!(next, [], "the gates are the run's");
    let edits = heard(&begun(), |file| {
        let unit = &mut file["tasks"]["T1"];
        unit["status"] = value_of!("done");
        unit["iterations_used"] = value_of!(3);
        unit["confirmations_used"] = value_of!(1);
        unit["verification_passed"] = value_of!(true);
        unit["completed_at"] = value_of!("2026-01-20T10:25:00Z");
    });
    assert_eq!(edits, [on("T1", What::ReportDone { report: Report::default() })]);
    assert!(commands(&edits[0], "file").is_empty(), "its checks come first");
}

#[test]
fn a_blocker_is_one_and_waiting_for_another_unit_is_none() {
    let mut bench = begun();
    let edits = heard(&bench, |file| {
        file["tasks"]["T1"]["status"] = value_of!("blocked");
        file["tasks"]["T1"]["reason"] = value_of!("No key");
    });
    assert_eq!(edits, [on("T1", What::Blocked { reason: "No key".to_owned(), report: Report::default() })]);
    obey(&mut bench, &edits);
    let unit = &json(&bench)["tasks"]["T1"];
    assert_eq!((&unit["status"], &unit["reason"]), (&value_of!("blocked"), &value_of!("No key")));
    let waits = heard(&fresh(), |file| {
        file["tasks"]["T5"]["status"] = value_of!("blocked");
        file["tasks"]["T5"]["reason"] = value_of!("Waiting on T3");
    });
    assert_eq!(waits, []);
    let more = heard(&bench, |file| file["tasks"]["T1"]["reason"] = value_of!("Ann has it"));
    assert_eq!(more, [on("T1", What::Noted { text: "Ann has it".to_owned() })]);
}

#[test]
fn a_unit_without_iterations_left_gets_more_is_tried_again_or_given_up() {
    let mut bench = stuck();
    assert_eq!(json(&bench)["tasks"]["T3"]["status"], "timeout");
    let raise = heard(&bench, |file| file["tasks"]["T3"]["max_iterations"] = value_of!("15"));
    assert_eq!(raise, [on("T3", What::Raise { attempts: 15 })]);
    let retry = heard(&bench, |file| file["tasks"]["T3"]["status"] = value_of!("in_progress"));
    assert_eq!(retry, [on("T3", What::Retry { start: true })]);
    let reset = heard(&bench, |file| file["tasks"]["T3"]["status"] = value_of!("pending"));
    assert_eq!(reset, [on("T3", What::Reset)]);
    let skip = heard(&bench, |file| file["tasks"]["T3"]["status"] = value_of!("skipped"));
    assert_eq!(skip, [on("T3", What::Skip)]);
    obey(&mut bench, &raise);
    assert_eq!(bench.task("T3").decided, Status::Failed);
    let unit = &json(&bench)["tasks"]["T3"];
    assert_eq!((&unit["status"], &unit["max_iterations"]), (&value_of!("in_progress"), &value_of!(15)));
    let given_up = heard(&begun(), |file| file["tasks"]["T1"]["status"] = value_of!("timeout"));
    assert_eq!(given_up, [on("T1", What::Abandon { reason: "abandoned in state.json".to_owned() })]);
}

#[test]
fn words_of_other_systems_are_understood() {
    let report = Report::default();
    for (word, what) in [
        ("completed", Some(What::ReportDone { report: report.clone() })),
        ("Done", Some(What::ReportDone { report: report.clone() })),
        ("running", None),
        ("Verifying", None),
        ("todo", Some(What::Reset)),
        ("failed", Some(What::Failed { reason: "marked as failed in state.json".to_owned(), report })),
        ("abandoned", Some(What::Abandon { reason: "abandoned in state.json".to_owned() })),
    ] {
        let expected: Vec<Edit> = what.into_iter().map(|what| on("T1", what)).collect();
        let found = heard(&begun(), |file| file["tasks"]["T1"]["status"] = value_of!(word));
        assert_eq!(found, expected, "{word}");
    }
}

#[test]
fn commits_are_the_current_units_or_are_carried() {
    let mut bench = middle();
    let edits = heard(&bench, |file| {
        let commits = file["commits"].as_array_mut().expect("a list");
        commits.push(value_of!("aaaa111: feat(user-auth): More"));
        commits.push(value_of!({"sha": "bbbb222", "message": "Other"}));
        commits.remove(0);
    });
    let commits = [("aaaa111", "feat(user-auth): More"), ("bbbb222", "Other")];
    let commits =
        commits.map(|(hash, subject)| CommitMade { hash: hash.to_owned(), subject: subject.to_owned() });
    let report = Report { commits: commits.to_vec(), ..Report::default() };
    assert_eq!(edits, [on("T3", What::Report { report })], "recorded entries cannot be removed");
    obey(&mut bench, &edits);
    let all = json(&bench)["commits"].as_array().expect("a list").len();
    assert_eq!(all, 6);
    let mut bench = over();
    let edits = heard(&bench, |file| {
        let commits = file["commits"].as_array_mut().expect("a list");
        commits.push(value_of!("aaaa111: By hand"));
    });
    obey(&mut bench, &edits);
    let commits = &json(&bench)["commits"];
    assert_eq!(commits[0], "aaaa111: By hand");
    assert_eq!(heard(&bench, |_| {}), []);
}

#[test]
fn fields_of_others_are_carried() {
    let mut bench = fresh();
    let edits = heard(&bench, |file| {
        file["metrics"] = value_of!({"started": 1, "trend": "stable"});
        file["tasks"]["T2"]["owner"] = value_of!("ann");
    });
    let fields = value_of!({"metrics": {"started": 1, "trend": "stable"}, "tasks": {"T2": {"owner": "ann"}}});
    assert_eq!(edits, [Edit { task: None, what: What::Carried { fields } }]);
    obey(&mut bench, &edits);
    let file = json(&bench);
    assert_eq!(
        (&file["metrics"]["trend"], &file["tasks"]["T2"]["owner"]),
        (&value_of!("stable"), &value_of!("ann"))
    );
    let gone = heard(&bench, |file| drop(file.as_object_mut().expect("an object").remove("metrics")));
    obey(&mut bench, &gone);
    assert_eq!(json(&bench).get("metrics"), None);
}

#[test]
fn what_makes_no_sense_is_said_to_make_none() {
    let all = [
        said(&fresh(), |file| file["slug"] = value_of!("other")),
        said(&fresh(), |file| file["mode"] = value_of!("knowledge")),
        said(&fresh(), |file| drop(file["tasks"].as_object_mut().expect("an object").remove("T2"))),
        said(&fresh(), |file| file["tasks"] = value_of!({})),
        said(&fresh(), |file| file["tasks"] = value_of!([])),
        said(&fresh(), |file| file["tasks"]["T9"] = value_of!({"status": "pending"})),
        said(&fresh(), |file| file["tasks"]["T1"] = value_of!("done")),
        said(&fresh(), |file| file["tasks"]["T1"]["status"] = value_of!("sleeping")),
        said(&fresh(), |file| file["tasks"]["T1"]["max_iterations"] = value_of!(0)),
        said(&fresh(), |file| file["phase"] = value_of!("lunch")),
        said(&fresh(), |file| file["phase"] = value_of!("complete")),
        said(&fresh(), |file| file["commits"] = value_of!("none")),
        said(&fresh(), |file| file["commits"] = value_of!([7])),
        said(&fresh(), |file| *file = value_of!([])),
    ];
    insta::assert_snapshot!(all.concat().join("\n"));
    let short = heard(&fresh(), |file| file["mode"] = value_of!("dev"));
    assert_eq!(short, [], "the short form is the same mode");
    let phases = heard(&fresh(), |file| file["phases"] = value_of!({}));
    assert_eq!(phases, []);
}
