//! State files as one meets them: a test for each way in which they are odd.

use serde_json::json as value_of;

use super::*;
use crate::run::Note;
use crate::system::kit::foreign::odd::Files;
use crate::time::Timestamp;

const FILES: Files<ForeignState> = Files(read);

/// A file with one task that has these fields.
fn one(fields: &str) -> String {
    format!("{{\"tasks\": {{\"T001\": {{{fields}}}}}}}")
}

fn task(state: &ForeignState) -> &ForeignTask {
    &state.tasks[&id("T001")]
}

#[test]
fn commas_comments_and_single_quotes_are_refused_where_they_stand() {
    FILES.refused(
        "{\n  \"qa_cycles\": 1,\n}",
        "2:17 error: a comma with nothing after it (reading stopped here)",
    );
    FILES.refused("{\n  // by hand\n}", "2:3 error: JSON has no comments (reading stopped here)");
    FILES.refused("{'status': 'running'}", "1:2 error: JSON wants double quotes (reading stopped here)");
}

#[test]
fn a_file_that_breaks_off_is_empty_or_is_two_is_refused() {
    FILES.refused(
        "{\"tasks\": {\"T001\": {\"sta",
        "1:25 error: the file breaks off in the middle (reading stopped here)",
    );
    FILES.refused("", "1:1 error: the file is empty (there is nothing to read in it)");
    FILES.refused("{}\n{}", "2:1 error: a second value follows the first (reading stopped here)");
    FILES.refused("[]", "1:1 error: the file must be an object (this is a list)");
}

/// What a killed `jq` leaves beside the file is half a file, and nothing is taken from it.
#[test]
fn half_a_copy_is_no_file() {
    let whole = shown(&over());
    for end in [1, whole.len() / 3, whole.len() - 3] {
        assert!(!read(&whole[..end]).is_usable());
    }
}

#[test]
fn of_a_name_said_twice_the_last_counts() {
    let text = one("\"status\": \"pending\", \"status\": \"completed\"");
    let state = FILES.warned(&text, &["1:42 warning: `status` appears twice (the last one is used)"]);
    assert_eq!(task(&state).status, TaskWord::Completed);
}

#[test]
fn unknown_fields_are_carried_and_shown_again() {
    let text = r#"{"team": {"lead": "ann"}, "progress": {"eta": 3.5},
        "tasks": {"T001": {"verified_files": ["a.sql"], "verification": {"error": "b.sql is missing"}}},
        "batches": [{"batch_id": 1, "note": "slow"}, {"batch_id": 0, "compacted": true}]}"#;
    let carried = FILES.accepted(text).carried(|_| true);
    let expected = value_of!({"team": {"lead": "ann"}, "progress": {"eta": 3.5},
        "tasks": {"T001": {"verified_files": ["a.sql"], "verification": {"error": "b.sql is missing"}}},
        "batches": {"1": {"note": "slow"}, "0": {"compacted": true}}});
    assert_eq!(carried, expected);
    let mut bench = middle();
    bench.note(Note::Carried { file: FILE.to_owned(), fields: carried });
    let file = json(&bench);
    assert_eq!((&file["team"]["lead"], &file["progress"]["eta"]), (&value_of!("ann"), &value_of!(3.5)));
    assert_eq!(file["tasks"]["T001"]["verification"]["error"], "b.sql is missing");
    assert_eq!(file["tasks"]["T001"]["verification"]["agent_done"], true, "ours stays");
    assert_eq!(
        (&file["batches"][0]["compacted"], &file["batches"][1]["note"]),
        (&value_of!(true), &value_of!("slow"))
    );
    assert_eq!(edits(&file, &file), []);
}

#[test]
fn what_is_missing_has_its_default() {
    let state = FILES.accepted(r#"{"tasks": {"T001": {}}, "batches": [{}]}"#);
    assert_eq!((task(&state).status, task(&state).attempts), (TaskWord::Pending, 0));
    assert_eq!(state.batches, [ForeignBatch { id: 0, tasks: Vec::new(), compacted: false }]);
    assert_eq!(FILES.accepted("{}").status, None);
    FILES.accepted(
        r#"{"config": null, "tasks": null, "logs": null, "resume_point": null, "quality_gates": null}"#,
    );
}

/// Figures under the names of another system belong to another program.
#[test]
fn figures_under_other_names_are_carried() {
    let state = FILES.accepted(r#"{"metrics": {"tasks_total": 9}, "tasks": {"T001": {}}}"#);
    assert_eq!(state.carried(|_| true), value_of!({"metrics": {"tasks_total": 9}}));
}

#[test]
fn counters_that_are_wrong_or_negative_are_counted_anew() {
    let text = r#"{"progress": {"total_tasks": 15, "pending": -3, "failed": "0", "verified": 0},
"user_stories": {"US-001": {"title": "Keep", "total_tasks": 3, "completed_tasks": 0}},
"tasks": {"T001": {"status": "completed", "story_id": "US-001"}}}"#;
    let state = FILES.warned(
        text,
        &[
            "1:30 warning: `total_tasks` is 15; counted, it is 1 (counted again)",
            "1:45 warning: `pending` is -3; counted, it is 0 (counted again)",
            "2:61 warning: `total_tasks` is 3; counted, it is 1 (counted again)",
            "2:83 warning: `completed_tasks` is 0; counted, it is 1 (counted again)",
        ],
    );
    assert_eq!(state.stories, [("US-001".to_owned(), "Keep".to_owned())]);
}

#[test]
fn a_status_and_a_list_that_claim_too_much_are_counted_anew() {
    let text = r#"{"status": "completed", "tasks": {"T001": {"status": "pending"}}, "blocked_tasks": ["T001", "T007"]}"#;
    let state = FILES.warned(
        text,
        &[
            "1:12 warning: the run is completed, but 1 of its tasks are not (the tasks count)",
            "1:84 warning: `blocked_tasks` lists 1 of the tasks; 0 are (counted again)",
        ],
    );
    let listed: Vec<_> = state.listed.iter().map(|(id, task)| (id.as_str(), task.status)).collect();
    assert_eq!(listed, [("T007", TaskWord::Blocked)], "it is told of nowhere else");
}

#[test]
fn foreign_words_for_a_status_are_understood_and_unknown_ones_are_not() {
    for (word, meant) in [
        ("done", TaskWord::Completed),
        ("complete", TaskWord::Completed),
        ("merged", TaskWord::Completed),
        ("In-Progress", TaskWord::InProgress),
        ("verifying", TaskWord::InProgress),
        ("BLOCKED", TaskWord::Blocked),
        ("timeout", TaskWord::Blocked),
        ("todo", TaskWord::Pending),
    ] {
        let text = one(&format!("\"status\": \"{word}\""));
        let label =
            format!("1:31 warning: {word:?} is not a status of this file (read as `{}`)", meant.word());
        assert_eq!(task(&FILES.warned(&text, &[&label])).status, meant);
    }
    assert_eq!(task(&FILES.accepted(&one("\"status\": \"skipped\""))).status, TaskWord::Skipped);
    FILES.refused(
        &one("\"status\": \"complated\""),
        "1:31 error: the status \"complated\" is unknown (one of pending, in_progress, completed, failed, blocked, skipped)",
    );
    FILES.refused(&one("\"status\": 3"), "1:31 error: `status` must be text (this is a number)");
    let label = "1:33 warning: \"stopped\" is not a status of this file (read as `paused`)";
    let state = FILES.warned(r#"{"tasks": {"T1": {}}, "status": "stopped"}"#, &[label]);
    assert_eq!(state.status, Some(RunWord::Paused));
    FILES.refused(
        r#"{"status": "napping"}"#,
        "1:12 error: the status \"napping\" is unknown (one of initializing, running, paused, completed, failed)",
    );
}

#[test]
fn gates_are_what_they_ended_as() {
    let text = r#"{"quality_gates": {"unit_tests": "passed", "uat": null, "qa_review": "approved", "smoke_test": "Failed",
"e2e_tests": "running"}, "degraded_phases": ["integration_tests"]}"#;
    let state = FILES.warned(
        text,
        &[
            "1:96 warning: \"Failed\" is not a status of a gate in this file (read as not passed yet)",
            "2:14 warning: \"running\" is not a status of a gate in this file (read as not passed yet)",
        ],
    );
    let gates: Vec<_> = state.gates.iter().map(|(name, word)| (name.as_str(), *word)).collect();
    assert_eq!(
        gates,
        [
            ("integration_tests", GateWord::Degraded),
            ("qa_review", GateWord::Approved),
            ("unit_tests", GateWord::Passed)
        ]
    );
    FILES.refused(
        r#"{"quality_gates": {"uat": "maybe"}}"#,
        "1:27 error: \"maybe\" is not a status of a gate (one of passed, degraded, approved)",
    );
    FILES.refused(
        r#"{"quality_gates": {"uat": true}}"#,
        "1:27 error: the gate uat must be text, or null (this is true or false)",
    );
}

#[test]
fn numbers_may_be_text_and_ids_numbers_if_nothing_is_lost() {
    let state = FILES.accepted(
        r#"{"tasks": {"T001": {"batch_id": "2"}}, "retry_counts": {"T001": "2"}, "qa_cycles": "1"}"#,
    );
    assert_eq!((task(&state).attempts, task(&state).batch, state.qa_cycles), (2, Some(2), 1));
    let state = FILES.warned(
        r#"{"tasks": [{"id": 7, "dependencies": [1]}]}"#,
        &[
            "1:11 warning: `tasks` is a list (read by the ids in it)",
            "1:19 warning: the id is a number (read as text)",
            "1:39 warning: `dependencies` has a number in it (read as text)",
        ],
    );
    assert_eq!(state.tasks[&id("7")].dependencies, ["1"]);
    let orphan = value_of!({"dependencies": [1], "status": "pending"});
    assert_eq!(state.carried(|_| false), value_of!({"tasks": {"7": orphan}}), "as the file writes it");
    FILES.refused(
        r#"{"tasks": [{"id": 1.10}]}"#,
        "1:19 error: an id written as a fraction may have lost a digit (this is a number)",
    );
    FILES.refused(
        r#"{"tasks": {"../x": {}}}"#,
        "1:20 error: \"../x\" cannot be the id of a task: it starts with '.'; an id starts with a letter or a digit (this is an object)",
    );
}

/// Files may be a list, one text, or told in both fields; what others export is carried.
#[test]
fn files_and_exports_come_in_more_than_one_form() {
    let state =
        FILES.accepted(&one(r#""files_modified": ["a.ts", "b.ts"], "files_mentioned": ["b.ts", "c.ts"]"#));
    assert_eq!(task(&state).report.files, ["a.ts", "b.ts", "c.ts"]);
    let label = "1:39 warning: `files_modified` is one text (read as a list of one)";
    assert_eq!(task(&FILES.warned(&one(r#""files_modified": "a.ts""#), &[label])).report.files, ["a.ts"]);
    FILES.refused(
        &one(r#""files_modified": 7"#),
        "1:39 error: `files_modified` must be a list (this is a number)",
    );
    let exports = FILES.accepted(&one(r#""exports": {"classes": ["A"]}"#)).carried(|_| true);
    assert_eq!(exports, value_of!({"tasks": {"T001": {"exports": {"classes": ["A"]}}}}));
}

#[test]
fn a_run_without_tasks_is_told() {
    FILES.warned(
        r#"{"status": "completed", "tasks": {}}"#,
        &["1:34 warning: there are no tasks, though the run began (they are taken from the list)"],
    );
    FILES.warned(
        r#"{"status": "running"}"#,
        &["1:1 warning: there are no tasks, yet the run is running (they are taken from the list)"],
    );
    FILES.accepted(r#"{"status": "initializing", "tasks": {}}"#);
}

#[test]
fn a_task_that_the_list_does_not_have_is_kept() {
    let state =
        FILES.accepted(r#"{"tasks": {"T001": {"x": 1}, "T099": {"description": "Gone", "batch_id": 7}}}"#);
    let carried = state.carried(|task| task.as_str() == "T001");
    let expected = value_of!({"tasks": {"T001": {"x": 1},
        "T099": {"description": "Gone", "batch_id": 7, "status": "pending"}}});
    assert_eq!(carried, expected);
    let mut bench = fresh();
    bench.note(Note::Carried { file: FILE.to_owned(), fields: carried });
    let file = json(&bench);
    assert_eq!(file["tasks"]["T099"]["status"], "pending");
    assert_eq!(file["progress"]["total_tasks"], 5, "but it is not counted");
    assert_eq!(edits(&file, &file), []);
}

#[test]
fn times_are_read_in_every_form() {
    let noon = Timestamp::parse("2026-01-10T12:00:00Z");
    for text in [
        "\"2026-01-10T12:00:00Z\"",
        "\"2026-01-10T19:00:00+07:00\"",
        "\"2026-01-10T06:00:00-0600\"",
        "\"2026-01-10T12:00:00.000Z\"",
        "1768046400",
        "1768046400000",
    ] {
        assert_eq!(FILES.accepted(&format!("{{\"started_at\": {text}}}")).started_at, noon, "{text}");
    }
    assert_eq!(FILES.accepted("{\"started_at\": \"\"}").started_at, None);
    let label = "1:16 warning: `started_at` does not say its time zone (read as UTC)";
    assert_eq!(FILES.warned("{\"started_at\": \"2026-01-10T12:00:00\"}", &[label]).started_at, noon);
    let label = "1:16 warning: `started_at` is not a time (ignored)";
    assert_eq!(FILES.warned("{\"started_at\": \"<timestamp>\"}", &[label]).started_at, None);
}

#[test]
fn times_in_the_wrong_order_are_told() {
    let text = one(r#""started_at": "2026-01-10T12:00:00Z", "completed_at": "2026-01-09T12:00:00Z""#);
    FILES.warned(&text, &["1:20 warning: T001 was completed before it began (the times are kept)"]);
    let text = r#"{"started_at": "2026-01-10T12:00:00Z", "updated_at": "2026-01-09T12:00:00Z"}"#;
    FILES.warned(text, &["1:54 warning: the last change was before the start (the times are kept)"]);
}

#[test]
fn impossible_retries_are_told_and_count() {
    let text = r#"{"tasks": {"T001": {"status": "failed"}}, "retry_counts": {"T001": 9}}"#;
    let state = FILES
        .warned(text, &["1:68 warning: T001 failed 9 times; after 4 a task is blocked (all of them count)"]);
    assert_eq!(task(&state).attempts, 9);
    let text = r#"{"tasks": {"T001": {"status": "failed"}}, "retry_counts": {"T001": -1}}"#;
    assert_eq!(task(&FILES.warned(text, &["1:68 warning: `T001` is negative (read as 0)"])).attempts, 0);
    FILES.accepted(r#"{"tasks": {"T001": {"status": "in_progress"}, "T002": {"status": "in_progress"}}}"#);
}

/// This file format has no commits. If a file names some, they are not judged.
#[test]
fn hashes_of_any_kind_are_carried() {
    let state = FILES.accepted(&one(r#""commits": ["abc1234", "ghi9012"]"#));
    assert_eq!(state.carried(|_| true), value_of!({"tasks": {"T001": {"commits": ["abc1234", "ghi9012"]}}}));
}

#[test]
fn the_first_version_knows_neither_stories_nor_flags() {
    let state = FILES.accepted(
        r#"{"version": "1.0.0", "session_id": "exec-20250101-080000", "status": "running",
            "config": {"todolist_path": "plans/a-todolist.md"},
            "progress": {"total_tasks": 2, "completed": 1, "in_progress": 0, "pending": 1, "failed": 0},
            "tasks": {"T001": {"description": "Add it", "status": "completed", "agent": "a", "batch_id": 0,
                "dependencies": [], "started_at": null, "completed_at": null, "files_modified": ["a.ts"], "error": null},
                "T002": {"status": "pending", "dependencies": ["T001"]}},
            "batches": [{"batch_id": 0, "task_ids": ["T001"], "status": "completed"}], "current_batch": 1, "logs": []}"#,
    );
    assert_eq!((task(&state).status, task(&state).verified), (TaskWord::Completed, false));
    assert_eq!((state.stories.len(), state.gates.len(), state.qa_cycles), (0, 0, 0));
    assert_eq!(state.tasks[&id("T002")].dependencies, ["T001"]);
    assert_eq!(state.todolist_path.as_deref(), Some("plans/a-todolist.md"));
}

#[test]
fn the_second_version_knows_neither_retries_nor_gates() {
    let state = FILES.accepted(
        r#"{"version": "2.0.0", "status": "paused",
            "user_stories": {"US-001": {"title": "Keep", "total_tasks": 1, "completed_tasks": 0, "status": "in_progress"}},
            "progress": {"total_tasks": 1, "completed": 0, "in_progress": 0, "pending": 0, "failed": 1, "verified": 0},
            "tasks": {"T001": {"status": "failed", "story_id": "US-001", "error": "no such table",
                "verification": {"agent_done": true, "files_exist": false, "state_synced": false}}},
            "resume_point": {"batch_id": 0, "task_id": "T001", "phase": "implementation"}}"#,
    );
    assert_eq!((task(&state).status, task(&state).attempts), (TaskWord::Failed, 0));
    assert_eq!(task(&state).error.as_deref(), Some("no such table"));
    assert_eq!((state.status, state.phase.as_deref()), (Some(RunWord::Paused), Some("implementation")));
}

#[test]
fn the_third_version_at_any_point_and_no_fourth() {
    for bench in [fresh(), middle(), over()] {
        FILES.accepted(&shown(&bench));
    }
    FILES.refused(r#"{"version": "4.1.0"}"#, "1:13 error: the version \"4.1.0\" is unknown (1, 2 and 3 are)");
    let label = "1:13 warning: `version` is a number (read as text)";
    assert_eq!(FILES.warned(r#"{"version": 3.0}"#, &[label]).version.as_deref(), Some("3.0"));
}

#[test]
fn batches_are_known_by_their_ids_and_the_current_one_is_not_asked_about() {
    let text = r#"{"current_batch": 17, "batches": [{"batch_id": 2, "task_ids": ["T004"]},
{"batch_id": 0, "task_ids": ["T001"], "compacted": true}, {"batch_id": 2}]}"#;
    let state = FILES.warned(text, &["2:59 warning: batch 2 appears twice (the first one is used)"]);
    let ids: Vec<_> =
        state.batches.iter().map(|batch| (batch.id, batch.compacted, batch.tasks.len())).collect();
    assert_eq!(ids, [(0, true, 1), (2, false, 1)]);
}

#[test]
fn lines_of_the_log_are_read_whatever_their_level() {
    let text = r#"{"logs": [{"timestamp": "2026-01-10T12:00:00Z", "level": "WARN", "message": "careful"}, "plain",
{"level": "loud", "message": "?"}, 7]}"#;
    let state = FILES.warned(
        text,
        &[
            "2:11 warning: this is not a log level (read as info)",
            "2:36 warning: this is not a log line (left out)",
        ],
    );
    let logs: Vec<_> = state.logs.iter().map(|log| (log.level, log.message.as_str())).collect();
    assert_eq!(logs, [(Level::Warning, "careful"), (Level::Info, "plain"), (Level::Info, "?")]);
    let entries: Vec<String> = state.logs.iter().map(Log::entry).collect();
    assert_eq!(entries, ["warning: careful", "plain", "?"]);
}

#[test]
fn what_no_reader_can_hold_is_refused() {
    FILES.refused("{\"qa_cycles\": NaN}", "1:15 error: JSON has no such number (reading stopped here)");
    FILES.refused(
        "{\"qa_cycles\": 123456789012345678901234567890}",
        "1:15 error: this number is too large (reading stopped here)",
    );
    FILES.refused(
        r#"{"retry_counts": {"T001": 9000000000}}"#,
        "1:27 error: `T001` must be a whole number (this is a number)",
    );
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    FILES.refused(&deep, "1:70 error: this is nested too deeply (reading stopped here)");
}

#[test]
fn what_is_no_object_is_refused_once() {
    let text = r#"{"config": 1, "user_stories": [], "progress": "x", "tasks": {"T001": []}, "retry_counts": 2,
"quality_gates": true, "resume_point": "", "batches": {}, "logs": 7}"#;
    let errors = [
        "1:12 error: `config` must be an object (this is a number)",
        "1:31 error: `user_stories` must be an object (this is a list)",
        "1:47 error: `progress` must be an object (this is text)",
        "1:70 error: the task T001 must be an object (this is a list)",
        "1:91 error: `retry_counts` must be an object (this is a number)",
        "2:18 error: `quality_gates` must be an object (this is true or false)",
        "2:40 error: `resume_point` must be an object (this is text)",
        "2:55 error: `batches` must be a list (this is an object)",
        "2:67 error: `logs` must be a list (this is a number)",
    ];
    assert_eq!(FILES.said(text), errors);
}
