//! What people and agents do to the file, and what they mean by it.

use serde_json::json;

use super::*;
use crate::run::{CommitMade, ImportedError, Note, Report};
use crate::time::Timestamp;

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

fn told(bench: &Bench, change: impl FnOnce(&mut Value)) -> Vec<String> {
    heard(bench, change).iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_changed_is_nothing_heard() {
    for bench in [Bench::small(), middle(), abandoned(), completed()] {
        assert_eq!(heard(&bench, |_| {}), []);
    }
}

#[test]
fn a_recipe_that_completes_a_task_and_counts_it_is_one_claim() {
    let edits = heard(&middle(), |file| {
        file["tasks"]["L1-001"]["status"] = json!("completed");
        file["tasks"]["L1-001"]["completed_at"] = json!("2026-01-10T11:00:00Z");
        file["metrics"]["completed_tasks"] = json!(2);
        file["metrics"]["tasks_remaining"] = json!(2);
        file["completed"] = json!(["L0-001", "L1-001"]);
        file["layers"]["1-foundation"]["tasks_completed"] = json!(1);
        file["merge_queue"] = json!([]);
        file["current_batch"] = json!(2);
        file["updated_at"] = json!("2026-01-10T11:00:00Z");
    });
    assert_eq!(edits, [on("L1-001", What::ReportDone { report: Report::default() })]);
    assert!(commands(&edits[0], "file").is_empty(), "its checks come first");
}

#[test]
fn a_script_that_writes_everything_again_says_nothing() {
    let bench = middle();
    let mut found: Value = serde_json::from_str(&shown(&bench)).expect("JSON");
    found["updated_at"] = json!("2026-01-10T11:00:00.123456Z");
    let Value::Object(fields) = &mut found else { panic!("an object") };
    let backwards: serde_json::Map<String, Value> =
        fields.iter().rev().map(|(key, value)| (key.clone(), value.clone())).collect();
    let compact = serde_json::to_string(&backwards).expect("JSON");
    let read = read(&compact);
    assert!(read.is_usable());
    assert_eq!(edits(&json(&bench), &read.state.value), []);
}

#[test]
fn an_agent_by_the_book_goes_through_all_its_words() {
    let bench = Bench::small();
    let start = heard(&bench, |file| {
        file["status"] = json!("in_progress");
        file["current_layer"] = json!("0-setup");
        file["tasks"]["L0-001"]["status"] = json!("in_progress");
        file["tasks"]["L0-001"]["attempts"] = json!(1);
        file["tasks"]["L0-001"]["started_at"] = json!("2026-01-10T11:00:00Z");
    });
    assert_eq!(start, [on("L0-001", What::Start)]);
    for word in ["verifying", "verified", "merging", "completed", "done"] {
        let edits = heard(&bench, |file| file["tasks"]["L0-001"]["status"] = json!(word));
        assert_eq!(edits, [on("L0-001", What::ReportDone { report: Report::default() })], "{word}");
        let again = heard(&completed(), |file| file["tasks"]["L0-001"]["status"] = json!(word));
        assert_eq!(again, [], "it is completed already, whatever the word");
    }
}

#[test]
fn a_failure_brings_its_reason_its_commits_and_its_advice() {
    let edits = heard(&middle(), |file| {
        let task = &mut file["tasks"]["L1-001"];
        task["status"] = json!("failed");
        let error = json!({"attempt": 2, "type": "verification_failed", "step": "pytest", "message": "slug test failed",
            "timestamp": "2026-01-10T11:00:00Z"});
        task["errors"].as_array_mut().expect("a list").push(error);
        let told = json!({"attempt": 3, "feedback": "Handle the duplicate"});
        task["retry_feedback"].as_array_mut().expect("a list").push(told);
        let commit = json!({"hash": "ghi9012", "type": "fix", "attempt": 2, "message": "[L1-001] Fix: slug"});
        task["commits"].as_array_mut().expect("a list").push(commit);
        file["failed"] = json!(["L1-001"]);
    });
    let commits = vec![CommitMade { hash: "ghi9012".to_owned(), subject: "[L1-001] Fix: slug".to_owned() }];
    let report = Report { feedback: "Handle the duplicate".to_owned(), commits, ..Report::default() };
    let reason = "slug test failed".to_owned();
    let errors = vec![ImportedError {
        attempt: 2,
        kind: "verification_failed".to_owned(),
        step: "pytest".to_owned(),
        message: "slug test failed".to_owned(),
        details: String::new(),
        at: Timestamp::parse("2026-01-10T11:00:00Z"),
    }];
    assert_eq!(edits, [on("L1-001", What::Failed { reason, report }), on("L1-001", What::Errors { errors })]);
    assert!(matches!(commands(&edits[0], "file")[..], [Command::Report { .. }]));
    assert!(matches!(commands(&edits[1], "file")[..], [Command::Note { note: Note::Errors { .. }, .. }]));
}

#[test]
fn commits_and_advice_are_heard_while_the_status_stays() {
    let edits = heard(&middle(), |file| {
        let task = &mut file["tasks"]["L1-001"];
        task["commits"].as_array_mut().expect("a list").push(json!("abc1234: [L1-001] More"));
        task["errors"].as_array_mut().expect("a list").push(json!({"attempt": 2, "message": "a warning"}));
    });
    let commits = vec![CommitMade { hash: "abc1234".to_owned(), subject: "[L1-001] More".to_owned() }];
    assert_eq!(
        edits,
        [
            on("L1-001", What::Report { report: Report { commits, ..Report::default() } }),
            on("L1-001", What::Errors { errors: vec![said(2, "a warning")] })
        ]
    );
    let mut bench = middle();
    for command in edits.iter().flat_map(|edit| commands(edit, "file")) {
        bench.accept(&command);
    }
    let commits = &json(&bench)["tasks"]["L1-001"]["commits"];
    assert_eq!(commits[1]["hash"], "abc1234", "it is in the file from now on");
}

/// An error without any of the fields that it may lack.
fn said(attempt: u32, message: &str) -> ImportedError {
    ImportedError { attempt, message: message.to_owned(), ..ImportedError::default() }
}

/// Hear a change, and have the rules take it.
fn take(bench: &mut Bench, change: impl FnOnce(&mut Value)) {
    for command in heard(bench, change).iter().flat_map(|edit| commands(edit, "file")) {
        bench.accept(&command);
    }
}

#[test]
fn errors_and_advice_of_one_edit_stay_apart_and_keep_all_their_fields() {
    let mut bench = Bench::small();
    take(&mut bench, |file| file["tasks"]["L0-001"]["status"] = json!("in_progress"));
    let errors = json!([
        {"attempt": 1, "type": "implementation_error", "step": "cargo build", "message": "no such crate",
            "timestamp": "2026-01-10T11:30:00Z"},
        {"attempt": 1, "type": "verification_failed", "step": "pytest tests/api", "message": "slug test failed",
            "details": "expected 201", "timestamp": "2026-01-10T11:35:00Z"},
    ]);
    let advice =
        json!([{"attempt": 2, "feedback": "Add the crate"}, {"attempt": 2, "feedback": "Mind the slug"}]);
    take(&mut bench, |file| {
        let task = &mut file["tasks"]["L0-001"];
        task["status"] = json!("failed");
        task["errors"] = errors.clone();
        task["retry_feedback"] = advice.clone();
    });
    let task = &json(&bench)["tasks"]["L0-001"];
    assert_eq!(task["status"], "failed");
    assert_eq!(task["errors"].as_array().map(Vec::len), Some(2), "{task:#}");
    for (shown, written) in
        task["errors"].as_array().into_iter().flatten().zip(errors.as_array().into_iter().flatten())
    {
        for (name, value) in written.as_object().into_iter().flatten() {
            assert_eq!(&shown[name], value, "{name}");
        }
    }
    assert_eq!(task["retry_feedback"], advice);
}

/// What follows from the tasks is said by them, or refused: it is never undone without a word.
#[test]
fn what_contradicts_the_tasks_is_refused_with_the_reason() {
    let (bench, over) = (middle(), abandoned());
    let lines = [
        told(&bench, |file| file["status"] = json!("completed")),
        told(&bench, |file| file["status"] = json!("abandoned")),
        told(&over, |file| file["status"] = json!("in_progress")),
        told(&bench, |file| file["current_layer"] = json!("2-backend")),
        told(&bench, |file| file["current_batch"] = json!(7)),
        told(&bench, |file| file["layers"]["1-foundation"]["status"] = json!("completed")),
        told(&bench, |file| file["layers"]["1-foundation"]["status"] = json!("pending")),
        told(&bench, |file| file["layers"]["1-foundation"]["status"] = json!("blocked")),
        told(&bench, |file| file["layers"]["0-setup"]["status"] = json!("in_progress")),
        told(&bench, |file| file["layers"]["0-setup"]["status"] = json!("dancing")),
        told(&bench, |file| file["layers"]["9-more"] = json!({"status": "pending"})),
        told(&bench, |file| file["merge_queue"] = json!([{"task_id": "L1-001", "status": "merged"}])),
        told(&bench, |file| file["completed"] = json!(["L0-001", "L1-001"])),
        told(&bench, |file| file["completed"] = json!([])),
        told(&bench, |file| file["tasks"]["L1-001"]["attempts"] = json!(4)),
        told(&bench, |file| file["options"]["verbose"] = json!(true)),
    ];
    insta::assert_snapshot!(lines.map(|lines| lines.join(" | ")).join("\n"));
}

/// The same fields, where the tasks in the same file say so, too.
#[test]
fn what_follows_from_the_tasks_of_the_same_file_is_no_edit_of_its_own() {
    let all = ["L0-001", "L1-001", "L1-002", "L1-003"];
    let edits = heard(&middle(), |file| {
        all.iter().for_each(|name| file["tasks"][name]["status"] = json!("completed"));
        file["status"] = json!("completed");
        file["completed"] = json!(all);
        file["merge_queue"] = json!([{"task_id": "L1-001", "status": "merged"}]);
        file["current_batch"] = json!(3);
        for layer in ["0-setup", "1-foundation"] {
            file["layers"][layer]["status"] = json!("completed");
        }
    });
    assert!(edits.iter().all(|edit| matches!(edit.what, What::ReportDone { .. })), "{edits:?}");
}

#[test]
fn every_wish_about_a_task() {
    let mut failed = middle();
    failed.checks_end_of_second_attempt();
    let mut rows = Vec::new();
    for (shown, bench, name) in [
        ("pending", Bench::small(), "L0-001"),
        ("in_progress", middle(), "L1-001"),
        ("merging", middle(), "L1-002"),
        ("completed", middle(), "L0-001"),
        ("failed", failed, "L1-001"),
        ("abandoned", abandoned(), "L1-001"),
    ] {
        assert_eq!(json(&bench)["tasks"][name]["status"], shown);
        for word in [
            "pending",
            "in_progress",
            "verifying",
            "verified",
            "merging",
            "completed",
            "failed",
            "abandoned",
            "blocked",
            "skipped",
            "nonsense",
        ] {
            let said = told(&bench, |file| file["tasks"][name]["status"] = json!(word));
            rows.push(format!("{shown:11} → {word:11} {}", said.join(" | ")));
        }
        let said = told(&bench, |file| file["tasks"][name]["attempts"] = json!(0));
        rows.push(format!("{shown:11} → 0 attempts  {}", said.join(" | ")));
    }
    insta::assert_snapshot!(rows.join("\n"));
}

impl Bench {
    /// `L1-001` of the run in the middle fails once more.
    fn checks_end_of_second_attempt(&mut self) {
        self.work("L1-001", &[(21, "Add the store"), (22, "Fix")]);
        self.checks_end("L1-001", &Verdict::Fail { exit: 1 }, "no");
    }
}

#[test]
fn a_task_may_need_a_person() {
    let error =
        |kind: &str| json!([{"attempt": 1, "type": kind, "message": "the steps contradict each other"}]);
    let edits = heard(&Bench::small(), |file| {
        file["tasks"]["L0-001"]["status"] = json!("failed");
        file["tasks"]["L0-001"]["errors"] = error("task_defect");
    });
    let reason = "the steps contradict each other".to_owned();
    let error = ImportedError { kind: "task_defect".to_owned(), ..said(1, &reason) };
    assert_eq!(
        edits,
        [
            on("L0-001", What::Blocked { reason, report: Report::default() }),
            on("L0-001", What::Errors { errors: vec![error] })
        ]
    );
}

#[test]
fn a_reset_may_clear_the_lists() {
    let edits = heard(&abandoned(), |file| {
        file["status"] = json!("in_progress");
        let task = &mut file["tasks"]["L1-001"];
        task["status"] = json!("pending");
        task["attempts"] = json!(0);
        task["errors"] = json!([]);
        task["retry_feedback"] = json!([]);
        file["abandoned"] = json!([]);
    });
    assert_eq!(edits, [on("L1-001", What::Reset)]);
}

#[test]
fn a_stop_is_a_wish_and_the_rest_of_the_runs_status_is_not() {
    assert_eq!(
        heard(&middle(), |file| file["status"] = json!("stopped")),
        [Edit { task: None, what: What::Stop }]
    );
    let claim = told(&middle(), |file| file["status"] = json!("completed"));
    assert_eq!(claim, ["`status` is \"completed\": it follows from the tasks: L1-001 is not completed"]);
    assert_eq!(
        told(&middle(), |file| file["status"] = json!(7)),
        ["`status` is 7: this is not a status of a run"]
    );
}

#[test]
fn what_makes_no_sense_is_said_to_make_none() {
    let bench = middle();
    let lines = [
        told(&bench, |file| file["tasks"]["L1-001"]["status"] = json!(3)),
        told(&bench, |file| file["tasks"]["L1-001"] = json!("done")),
        told(&bench, |file| file["tasks"]["L7-001"] = json!({"status": "pending"})),
        told(&bench, |file| file["tasks"]["L1-001"]["commits"] = json!("none")),
        told(&bench, |file| file["tasks"]["L0-001"]["errors"] = json!([])),
        told(&bench, |file| file["tasks"]["L1-001"]["commits"][0] = json!({"type": "fix"})),
        told(&bench, |file| file["tasks"] = json!({})),
        told(&bench, |file| {
            file["tasks"].as_object_mut().expect("an object").remove("L1-003");
        }),
        told(&bench, |file| file["options"]["max_parallel"] = json!(9)),
        told(&bench, |file| file["project_path"] = json!("/elsewhere")),
        told(&bench, |file| file["context_update"]["status"] = json!("later")),
        told(&bench, |file| *file = json!([])),
    ];
    insta::assert_snapshot!(lines.map(|lines| lines.join(" | ")).join("\n"));
    let nonsense = heard(&bench, |file| file["options"]["max_parallel"] = json!(9));
    let commands = commands(&nonsense[0], "file");
    assert!(matches!(&commands[..], [Command::Note { note: Note::EditRefused { .. }, .. }]), "{commands:?}");
}

#[test]
fn fields_of_others_are_carried_changed_and_taken_away() {
    let mut bench = middle();
    let carried = |edits: &[Edit]| match edits {
        [Edit { task: None, what: What::Carried { fields } }] => fields.clone(),
        edits => panic!("{edits:?}"),
    };
    let edits = heard(&bench, |file| {
        file["owner"] = json!({"name": "ann"});
        file["tasks"]["L1-001"]["errors"][0]["severity"] = json!("high");
        file["merge_queue"][0]["reviewer"] = json!("bob");
        file["options"]["colour"] = json!(true);
    });
    let fields = json!({"owner": {"name": "ann"}, "options": {"colour": true},
        "tasks": {"L1-001": {"errors": {"0": {"severity": "high"}}}}, "merge_queue": {"L1-002": {"reviewer": "bob"}}});
    assert_eq!(carried(&edits), fields);
    edits.iter().flat_map(|edit| commands(edit, "file")).for_each(|command| bench.accept(&command));
    let file = json(&bench);
    assert_eq!((&file["owner"]["name"], &file["options"]["colour"]), (&json!("ann"), &json!(true)));
    assert_eq!(file["merge_queue"][0]["reviewer"], "bob");

    let edits = heard(&bench, |file| {
        file.as_object_mut().expect("an object").remove("owner");
        file["merge_queue"] = json!([]);
    });
    assert_eq!(carried(&edits), json!({"owner": null, "merge_queue": null}));
    edits.iter().flat_map(|edit| commands(edit, "file")).for_each(|command| bench.accept(&command));
    assert!(json(&bench).get("owner").is_none());
}

#[test]
fn whoever_drives_by_the_file_keeps_worktrees_in_it() {
    let mut bench = Bench::small();
    let listen = |bench: &mut Bench, change: &dyn Fn(&mut Value)| {
        for command in heard(bench, change).iter().flat_map(|edit| commands(edit, "file")) {
            bench.accept(&command);
        }
    };
    listen(&mut bench, &|file| {
        let task = &mut file["tasks"]["L0-001"];
        task["status"] = json!("in_progress");
        task["worktree_path"] = json!("/tmp/L0-001");
        task["branch"] = json!("worktree-L0-001");
        file["worktrees"]["L0-001"] = json!({"task_id": "L0-001", "path": "/tmp/L0-001", "status": "active"});
    });
    let file = json(&bench);
    assert_eq!(file["tasks"]["L0-001"]["worktree_path"], "/tmp/L0-001");
    assert_eq!(file["worktrees"]["L0-001"]["status"], "active");
    listen(&mut bench, &|file| file["worktrees"]["L0-001"]["status"] = json!("cleaned"));
    assert_eq!(json(&bench)["worktrees"]["L0-001"]["status"], "cleaned");
    let claim = crate::run::Claim::Done {
        tree: None,
        results: bench.results("L0-001", &Verdict::Pass, ""),
        evidence: crate::run::Evidence::file("work"),
    };
    let (task, by) = (id("L0-001"), "file".to_owned());
    bench.accept(&Command::Report { task, by, fence: None, claim, report: Box::default() });
    let file = json(&bench);
    assert_eq!(file["tasks"]["L0-001"]["status"], "completed");
    assert_eq!(file["tasks"]["L0-001"]["worktree_path"], Value::Null, "as the file has always been");
}

/// A worktree of Piton's own stays as it is, whatever a state file says about it. The edit is answered with the reason.
#[test]
fn what_is_written_about_a_worktree_of_ours_is_overruled() {
    let mut bench = middle();
    let ours = json(&bench)["worktrees"].as_object().expect("an object").keys().next().expect("one").clone();
    let edits = heard(&bench, |file| {
        file["worktrees"][&ours]["status"] = json!("creating");
        file["worktrees"]["L9-001"] = json!({"task_id": "L9-001", "path": "/tmp/x", "status": "active"});
    });
    let [Edit { what: What::Carried { fields }, .. }] = &edits[..] else { panic!("{edits:?}") };
    edits.iter().flat_map(|edit| commands(edit, "file")).for_each(|command| bench.accept(&command));
    let file = json(&bench);
    assert_eq!(file["worktrees"]["L9-001"]["status"], "active", "others have worktrees, too");
    let refused: Vec<String> = overruled(fields, &file).into_iter().map(|(what, _)| what).collect();
    assert_eq!(refused, [format!("`worktrees.{ours}.status` is \"creating\"")]);
    let edits = heard(&bench, |file| file["worktrees"] = json!({}));
    let [Edit { what: What::Carried { fields }, .. }] = &edits[..] else { panic!("{edits:?}") };
    edits.iter().flat_map(|edit| commands(edit, "file")).for_each(|command| bench.accept(&command));
    let file = json(&bench);
    assert_eq!(file["worktrees"].get("L9-001"), None);
    let refused: Vec<String> = overruled(fields, &file).into_iter().map(|(what, _)| what).collect();
    assert!(refused.contains(&format!("`worktrees.{ours}` was removed")), "{refused:?}");
}

#[test]
fn an_update_of_the_context_is_believed_once_its_commit_is_known() {
    let full = oid(7).to_string();
    let update = |hash: &str| {
        heard(&middle(), |file| {
            let update = &mut file["context_update"];
            update["status"] = json!("completed");
            update["features_added"] = json!(["dark-mode"]);
            update["commit_hash"] = json!(hash);
        })
    };
    assert!(matches!(commands(&update(&full)[0], "file")[..], [Command::ContextUpdated(_)]));
    assert!(commands(&update("abc1234")[0], "file").is_empty(), "somebody has to look it up");
}

#[test]
fn a_stale_copy_is_compared_with_what_it_was() {
    let mut bench = middle();
    let then = json(&bench);
    bench.checks_end_of_second_attempt();
    let now = json(&bench);
    let mut copy = then.clone();
    copy["tasks"]["L1-003"]["note"] = json!("ask ann");
    let carried = [Edit {
        task: None,
        what: What::Carried { fields: json!({"tasks": {"L1-003": {"note": "ask ann"}}}) },
    }];
    assert_eq!(edits(&then, &copy), carried);
    assert!(edits(&now, &copy).len() > 1, "compared with now, it would undo what has happened since");
}
