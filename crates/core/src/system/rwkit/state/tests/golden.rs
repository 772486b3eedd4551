//! What people and scripts see, at four points of a run, and the rules that no single file shows.

use serde_json::json as value_of;

use super::*;
use crate::plan::TaskId;
use crate::run::{Holder, Note, Selection, Status};

#[test]
fn a_fresh_run() {
    insta::assert_snapshot!(shown(&fresh()));
}

#[test]
fn a_run_in_the_middle_of_a_batch() {
    insta::assert_snapshot!(shown(&middle()));
}

#[test]
fn a_run_that_ended_with_blocked_skipped_and_degraded_work() {
    insta::assert_snapshot!(shown(&over()));
}

#[test]
fn the_run_goes_through_all_its_words() {
    let says = |bench: &Bench| {
        let file = json(bench);
        (file["status"].clone(), file["stop_reason"].clone(), file["resume_point"]["phase"].clone())
    };
    let null = Value::Null;
    let mut bench = fresh();
    assert_eq!(says(&bench), (value_of!("initializing"), null.clone(), value_of!("preflight")));
    bench.attach();
    assert_eq!(says(&bench), (value_of!("running"), null.clone(), value_of!("planning")));
    for (reason, word, why) in [
        (StopReason::Person, "paused", "user"),
        (StopReason::Filter, "paused", "filter"),
        (StopReason::Environment { detail: "no disk".to_owned() }, "failed", "environment"),
    ] {
        bench.detach(reason);
        assert_eq!(says(&bench), (value_of!(word), value_of!(why), value_of!("planning")));
        bench.attach_to(Selection::All);
    }
    for (n, name) in (11..).zip(TASKS) {
        bench.finish(name, n);
        if n == 11 {
            assert_eq!(says(&bench).2, "implementation");
        }
    }
    assert_eq!(says(&bench).2, "unit_tests");
    reported(&mut bench, "gate-unit_tests", None);
    assert_eq!(says(&bench).2, "licences", "a gate of one's own is a phase, too");
    reported(&mut bench, "gate-licences", None);
    reported(&mut bench, "gate-qa_review", None);
    bench.detach(StopReason::Completed);
    assert_eq!(says(&bench), (value_of!("completed"), null.clone(), null.clone()));
    let file = json(&bench);
    assert_eq!(file["resume_point"], value_of!({"batch_id": null, "task_id": null, "phase": null}));
    assert_eq!(
        (&file["qa_cycles"], &file["quality_gates"]["qa_review"]),
        (&value_of!(1), &value_of!("approved"))
    );
    assert_eq!(
        (&file["quality_gates"]["unit_tests"], &file["quality_gates"]["uat"]),
        (&value_of!("passed"), &null)
    );
    assert!(file["batches"].as_array().expect("a list").iter().all(|batch| batch["status"] == "completed"));
    assert!(
        file["user_stories"]
            .as_object()
            .expect("an object")
            .values()
            .all(|story| story["status"] == "completed")
    );
}

#[test]
fn each_flag_of_a_task_is_set_by_what_it_stands_for() {
    let mut bench = fresh();
    bench.attach();
    let flags = |bench: &Bench| {
        let task = json(bench)["tasks"]["T001"].clone();
        let flags =
            ["agent_done", "files_exist", "state_synced"].map(|flag| task["verification"][flag] == true);
        (task["status"].as_str().expect("a word").to_owned(), flags)
    };
    bench.start("T001");
    bench.ready("T001");
    assert_eq!(flags(&bench), ("in_progress".to_owned(), [false; 3]));
    bench.work("T001", &[(11, "Do it")]);
    assert_eq!(flags(&bench), ("in_progress".to_owned(), [true, false, false]), "its word alone");
    bench.checks_end("T001", &Verdict::Pass, "");
    assert_eq!(bench.task("T001").decided, Status::Verified);
    assert_eq!(flags(&bench), ("completed".to_owned(), [true, true, false]), "but not in the target yet");
    assert_eq!(json(&bench)["batches"][0]["status"], "in_progress");
    bench.land("T001");
    assert_eq!(flags(&bench), ("completed".to_owned(), [true; 3]));
    assert_eq!(json(&bench)["batches"][0]["status"], "completed");
}

#[test]
fn a_task_tells_what_was_expected_told_and_changed() {
    let mut bench = fresh();
    bench.start_by("T003");
    let files = ["src/keep.ts", "src/new.ts", "src/keep.ts"].map(str::to_owned).to_vec();
    let report = Report { files, ..Report::default() };
    let note = Note::Told { task: id("T003"), report: Box::new(report) };
    bench.note(note);
    let task = &json(&bench)["tasks"]["T003"];
    assert_eq!(task["files_expected"], value_of!(["src/keep.ts", "src/views/"]));
    assert_eq!(task["files_mentioned"], value_of!(["src/keep.ts", "src/new.ts"]));
    assert_eq!(task["files_modified"], task["files_mentioned"], "nothing else is known");
}

impl Bench {
    /// Ann works on it, after the task that it depends on was reported.
    fn start_by(&mut self, name: &str) {
        reported(self, "T001", None);
        self.accept(&Command::Start { task: id(name), holder: Holder::Ledger("ann".to_owned()) });
    }
}

#[test]
fn old_lines_of_the_log_make_room_and_their_number_is_told() {
    let mut bench = fresh();
    for n in 0..205 {
        bench.note(Note::Entry { task: None, text: format!("line {n}"), for_next: false });
    }
    let file = json(&bench);
    let logs = file["logs"].as_array().expect("a list");
    assert_eq!(logs.len(), 201);
    assert_eq!(logs[0]["message"], "5 older lines are left out: `piton log` has them all");
    assert_eq!((&logs[1]["message"], &logs[200]["message"]), (&value_of!("line 5"), &value_of!("line 204")));
}

#[test]
fn what_somebody_claims_is_shown_while_its_checks_run() {
    let bench = middle();
    let mut file = file(&bench);
    file.claim(&[id("T010"), id("gate-qa_review")]);
    let claimed = value(&file);
    assert_eq!(claimed["tasks"]["T010"]["status"], "completed");
    assert_eq!(claimed["quality_gates"]["qa_review"], "approved");
    let claims: Vec<Option<TaskId>> =
        edits(&json(&bench), &claimed).into_iter().map(|edit| edit.task).collect();
    assert_eq!(claims, [Some(id("T010")), Some(id("gate-qa_review"))], "they are asked about again");
}
