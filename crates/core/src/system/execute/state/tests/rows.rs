//! State files as one meets them: a test for each way in which they are odd.

use serde_json::json;

use super::*;
use crate::system::kit::foreign::odd::Files;
use crate::time::Timestamp;

const FILES: Files<ForeignState> = Files(read);

fn one(entry: &str) -> String {
    format!("{{\"tasks\": {{\"L1-001\": {entry}}}}}")
}

fn task(state: &ForeignState) -> &ForeignTask {
    &state.tasks[&id("L1-001")]
}

#[test]
fn commas_comments_and_single_quotes_are_refused_where_they_stand() {
    FILES.refused("{\n  \"a\": 1,\n}", "2:9 error: a comma with nothing after it (reading stopped here)");
    FILES.refused("{\"a\": [1, 2,]}", "1:12 error: a comma with nothing after it (reading stopped here)");
    FILES.refused("{\n  // by hand\n}", "2:3 error: JSON has no comments (reading stopped here)");
    FILES.refused("{\"a\": 1 # one\n}", "1:9 error: JSON has no comments (reading stopped here)");
    FILES.refused("{'a': 1}", "1:2 error: JSON wants double quotes (reading stopped here)");
    FILES.refused("{\"a\": 'b'}", "1:7 error: JSON wants double quotes (reading stopped here)");
    FILES.refused("{\"a\" 1}", "1:6 error: a colon is missing here (reading stopped here)");
    FILES.refused("{\"a\": 1 \"b\": 2}", "1:9 error: a comma is missing here (reading stopped here)");
    FILES.refused(
        "{\"a\": \"b\nc\"}",
        "1:9 error: a text goes over the end of its line (reading stopped here)",
    );
    FILES.refused(
        "{\"a\": \"\\q\"}",
        "1:7 error: this text has an escape that JSON does not know (reading stopped here)",
    );
}

#[test]
fn a_file_that_breaks_off_is_empty_or_is_two_is_refused() {
    FILES.refused(
        "{\"tasks\": {\"L1-001\": {\"sta",
        "1:27 error: the file breaks off in the middle (reading stopped here)",
    );
    FILES.refused("{\"a\": \"b\\", "1:10 error: the file breaks off in the middle (reading stopped here)");
    FILES.refused("{\"a\":", "1:6 error: the file breaks off in the middle (reading stopped here)");
    FILES.refused("", "1:1 error: the file is empty (there is nothing to read in it)");
    FILES.refused(" \n\t", "1:1 error: the file is empty (there is nothing to read in it)");
    FILES.refused("{}\n{}", "2:1 error: a second value follows the first (reading stopped here)");
    FILES.refused("{} x", "1:4 error: something follows the end of the value (reading stopped here)");
    FILES.refused("[]", "1:1 error: the file must be an object (this is a list)");
    assert!(FILES.accepted("\u{feff}{}").tasks.is_empty(), "a byte order mark is none of our business");
}

#[test]
fn of_a_name_said_twice_the_last_counts() {
    let text = one("{\"attempts\": 1, \"attempts\": 2}");
    let state = FILES.warned(&text, &["1:38 warning: `attempts` appears twice (the last one is used)"]);
    assert_eq!(task(&state).attempts, 2);
}

#[test]
fn unknown_fields_are_carried_and_shown_again() {
    let text = r#"{"team": {"lead": "ann"}, "tasks": {"L0-001": {"verified_files": ["a.rs"],
        "commits": [{"hash": "abc1234", "author": "bob"}], "exports": {"classes": ["A"]}}},
        "metrics": {"cost_usd": 3.5}, "layers": {"0-setup": {"owner": "bob"}}}"#;
    let carried = FILES.accepted(text).carried(|_| true);
    assert_eq!(
        carried,
        json!({"team": {"lead": "ann"}, "metrics": {"cost_usd": 3.5}, "layers": {"0-setup": {"owner": "bob"}},
            "tasks": {"L0-001": {"verified_files": ["a.rs"], "commits": {"0": {"author": "bob"}},
                "exports": {"classes": ["A"]}}}})
    );
    let mut bench = middle();
    let file = FILE.to_owned();
    bench.note(crate::run::Note::Carried { file, fields: carried });
    let shown = json(&bench);
    assert_eq!(shown["team"]["lead"], "ann");
    assert_eq!(shown["layers"]["0-setup"]["owner"], "bob");
    assert_eq!(shown["tasks"]["L0-001"]["commits"][0]["author"], "bob");
    assert_eq!(shown["tasks"]["L0-001"]["commits"][0]["type"], "implementation", "ours stays");
    assert_eq!(shown["metrics"]["cost_usd"], 3.5);
    let written: Value = serde_json::from_str(&super::shown(&bench)).expect("JSON");
    assert_eq!(written, shown);
}

#[test]
fn what_is_missing_has_its_default() {
    let state =
        FILES.accepted(r#"{"layers": {"1-foundation": {"status": "completed"}}, "tasks": {"L1-001": {}}}"#);
    assert_eq!(state.layers, ["1-foundation"]);
    assert_eq!((task(&state).status, task(&state).attempts), (TaskStatus::Pending, 0));
    assert_eq!(FILES.accepted("{}").status, None);
}

#[test]
fn both_sets_of_figures_are_read_and_counted_anew() {
    let text = |metrics: &str| format!("{{\"tasks\": {{\"L1-001\": {{}}}}, \"metrics\": {metrics}}}");
    FILES.accepted(&text(r#"{"total_tasks": 1, "completed_tasks": 0, "tasks_total": 1}"#));
    FILES.warned(
        &text(r#"{"total_tasks": 15, "tasks_completed": -3}"#),
        &[
            "1:54 warning: `total_tasks` is 15; counted, it is 1 (counted again)",
            "1:77 warning: `tasks_completed` is -3; counted, it is 0 (counted again)",
        ],
    );
}

#[test]
fn lists_and_a_status_that_claim_too_much_are_counted_anew() {
    let text = r#"{"status": "completed", "tasks": {"L1-001": {"status": "pending"}}, "completed": ["L1-001", "L1-002"]}"#;
    let state = FILES.warned(
        text,
        &[
            "1:12 warning: the run is completed, but 1 of its tasks are not (the tasks count)",
            "1:82 warning: `completed` lists 2 tasks; 0 are (counted again)",
        ],
    );
    assert_eq!(state.listed.into_iter().collect::<Vec<_>>(), [(id("L1-002"), TaskStatus::Completed)]);
}

#[test]
fn foreign_words_for_a_status_are_understood_and_unknown_ones_are_not() {
    for (word, meant) in [
        ("done", TaskStatus::Completed),
        ("complete", TaskStatus::Completed),
        ("merged", TaskStatus::Completed),
        ("In-Progress", TaskStatus::InProgress),
        ("COMPLETED", TaskStatus::Completed),
        ("skipped", TaskStatus::Pending),
        ("blocked", TaskStatus::Failed),
        ("timeout", TaskStatus::Abandoned),
        ("confirming", TaskStatus::Verifying),
    ] {
        let text = one(&format!("{{\"status\": \"{word}\", \"attempts\": 1}}"));
        let label =
            format!("1:33 warning: {word:?} is not a status of this file (read as `{}`)", meant.word());
        let state = FILES.warned(&text, &[&label]);
        assert_eq!(task(&state).status, meant);
    }
    FILES.refused(
        &one(r#"{"status": "complated"}"#),
        "1:33 error: the status \"complated\" is unknown (one of pending, in_progress, verifying, verified, merging, completed, failed, abandoned)",
    );
    FILES.refused(&one(r#"{"status": 3}"#), "1:33 error: `status` must be text (this is a number)");
    assert_eq!(FILES.accepted(r#"{"status": "pending"}"#).status, Some(RunWord::Initializing));
}

#[test]
fn numbers_may_be_text_and_ids_numbers_if_nothing_is_lost() {
    let state = FILES.accepted(&one(r#"{"status": "failed", "attempts": "2"}"#));
    assert_eq!(task(&state).attempts, 2);
    let state = FILES.warned(
        r#"{"tasks": [{"id": 7}]}"#,
        &[
            "1:11 warning: `tasks` is a list (read by the ids in it)",
            "1:19 warning: the id is a number (read as text)",
        ],
    );
    assert!(state.tasks.contains_key(&id("7")));
    FILES.refused(
        r#"{"tasks": [{"id": 1.10}]}"#,
        "1:19 error: an id written as a fraction may have lost a digit (this is a number)",
    );
    FILES.refused(
        &one(r#"{"attempts": "many"}"#),
        "1:35 error: `attempts` must be a whole number (this is text)",
    );
    FILES.refused(
        r#"{"tasks": {"../x": {}}}"#,
        "1:20 error: \"../x\" cannot be the id of a task: it starts with '.'; an id starts with a letter or a digit (this is an object)",
    );
}

#[test]
fn a_finished_run_without_tasks_is_told() {
    FILES.warned(
        r#"{"status": "completed", "tasks": {}}"#,
        &["1:34 warning: there are no tasks, though the run began (they are taken from the plan)"],
    );
    FILES.warned(
        r#"{"status": "completed"}"#,
        &["1:1 warning: there are no tasks, yet the run is completed (they are taken from the plan)"],
    );
}

#[test]
fn a_task_that_the_plan_does_not_have_is_kept() {
    let state =
        FILES.accepted(r#"{"tasks": {"L0-001": {"x": 1}, "L9-009": {"status": "pending", "attempts": 0}}}"#);
    let carried = state.carried(|task| task.as_str() == "L0-001");
    assert_eq!(
        carried,
        json!({"tasks": {"L0-001": {"x": 1}, "L9-009": {"status": "pending", "attempts": 0}}})
    );
    let mut bench = Bench::small();
    bench.note(crate::run::Note::Carried { file: FILE.to_owned(), fields: carried });
    let shown = json(&bench);
    assert_eq!(shown["tasks"]["L9-009"]["status"], "pending");
    assert_eq!(shown["metrics"]["tasks_total"], 4, "but it is not counted");
    assert_eq!(edits(&shown, &shown), []);
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
        let state = FILES.accepted(&format!("{{\"started_at\": {text}}}"));
        assert_eq!(state.started_at, noon, "{text}");
    }
    assert_eq!(FILES.accepted("{\"started_at\": \"\"}").started_at, None);
    for text in ["2026-01-10T12:00:00", "2026-01-10 12:00:00"] {
        let label = "1:16 warning: `started_at` does not say its time zone (read as UTC)";
        let state = FILES.warned(&format!("{{\"started_at\": \"{text}\"}}"), &[label]);
        assert_eq!(state.started_at, noon, "{text}");
    }
    for text in ["\"<timestamp>\"", "\"now\"", "true", "1e300"] {
        let label = "1:16 warning: `started_at` is not a time (ignored)";
        assert_eq!(FILES.warned(&format!("{{\"started_at\": {text}}}"), &[label]).started_at, None);
    }
}

#[test]
fn times_in_the_wrong_order_are_told() {
    let text = one(r#"{"started_at": "2026-01-10T12:00:00Z", "completed_at": "2026-01-09T12:00:00Z"}"#);
    FILES.warned(&text, &["1:22 warning: L1-001 was completed before it began (the times are kept)"]);
    let text = r#"{"started_at": "2026-01-10T12:00:00Z", "updated_at": "2026-01-09T12:00:00Z"}"#;
    FILES.warned(text, &["1:54 warning: the last change was before the start (the times are kept)"]);
}

#[test]
fn impossible_attempts_are_told() {
    let text = one(r#"{"status": "failed", "attempts": 9}"#);
    FILES.warned(&text, &["1:22 warning: L1-001 had 9 attempts; the limit is 5 (all of them count)"]);
    let text = one(r#"{"status": "in_progress", "attempts": 0}"#);
    FILES.warned(&text, &["1:22 warning: L1-001 is in_progress without any attempt (read as the first)"]);
    let text = one(r#"{"status": "pending", "attempts": -1}"#);
    FILES.warned(&text, &["1:56 warning: `attempts` is negative (read as 0)"]);
}

#[test]
fn worktrees_branches_and_paths_come_through_for_git_to_judge() {
    let state = FILES.accepted(
        r#"{"project_path": "C:\\work\\notes", "tasks": {"L1-001": {"status": "merging", "attempts": 1,
            "worktree_path": "/gone/L1-001", "branch": "worktree-L1-001", "commits": [{"hash": "ghi9012"}]}}}"#,
    );
    assert_eq!(state.project_path.as_deref(), Some("C:\\work\\notes"));
    assert_eq!(task(&state).branch.as_deref(), Some("worktree-L1-001"));
    assert_eq!(task(&state).worktree_path.as_deref(), Some("/gone/L1-001"));
    assert_eq!(task(&state).commits[0].hash, "ghi9012", "not even hex, and not ours to judge");
}

#[test]
fn the_next_version_of_the_file_is_read() {
    let state = FILES.accepted(
        r#"{"schema_version": "3.0", "prd_slug": "x", "status": "in_progress",
            "layers": {"1-foundation": {"total": 2, "merged": 1}},
            "tasks": {"L1-001": {"status": "merged", "attempts": 1}, "L1-002": {"status": "pending"}}}"#,
    );
    assert_eq!(task(&state).status, TaskStatus::Completed);
    assert_eq!(state.layers, ["1-foundation"]);
    assert!(
        FILES.accepted(r#"{"schema_version": "3.0", "layers": {"total": 5, "merged": 1}}"#).layers.is_empty()
    );
    FILES.refused(
        r#"{"schema_version": "4.1"}"#,
        "1:20 error: the version \"4.1\" is unknown (1, 2 and 3 are)",
    );
    let label = "1:20 warning: `schema_version` is a number (read as text)";
    assert_eq!(FILES.warned(r#"{"schema_version": 2.0}"#, &[label]).schema_version.as_deref(), Some("2.0"));
}

#[test]
fn a_stale_batch_is_not_asked_about() {
    FILES.accepted(r#"{"current_batch": 17, "current_layer": "9-gone", "batches": [{"batch_id": 3}]}"#);
}

#[test]
fn commits_are_lines_or_objects() {
    let state = FILES.accepted(&one(
        r#"{"commits": ["abc1234: [L1-001] Add it", "def5678", {"hash": "0123abc", "type": "fix", "attempt": 2,
            "message": "[L1-001] Fix: it", "fixed": "the length", "created_at": "2026-01-10T12:00:00Z"}],
            "errors": ["it broke", {"attempt": 2, "type": "verification_failed", "step": "make", "message": "m"}],
            "retry_feedback": ["try harder", {"attempt": 3, "feedback": "mind the gap"}]}"#,
    ));
    let commits: Vec<_> =
        task(&state).commits.iter().map(|c| (c.hash.as_str(), c.subject.as_str(), c.is_fix)).collect();
    assert_eq!(
        commits,
        [
            ("abc1234", "[L1-001] Add it", false),
            ("def5678", "", false),
            ("0123abc", "[L1-001] Fix: it", true)
        ]
    );
    assert_eq!(task(&state).errors[1].step, "make");
    assert_eq!(task(&state).feedback[1].attempt, 3);
    FILES.warned(
        &one(r#"{"commits": [{"type": "fix"}, 7]}"#),
        &[
            "1:35 warning: a commit without a hash (left out)",
            "1:52 warning: this is not a commit (left out)",
        ],
    );
}

#[test]
fn what_no_reader_can_hold_is_refused() {
    FILES.refused("{\"a\": NaN}", "1:7 error: JSON has no such number (reading stopped here)");
    FILES.refused("{\"a\": -Infinity}", "1:7 error: JSON has no such number (reading stopped here)");
    FILES.refused(
        "{\"a\": 123456789012345678901234567890}",
        "1:7 error: this number is too large (reading stopped here)",
    );
    FILES.refused("{\"a\": 1e999}", "1:7 error: this is not a number (reading stopped here)");
    FILES.refused(
        &one(r#"{"attempts": 9000000000}"#),
        "1:35 error: `attempts` must be a whole number (this is a number)",
    );
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    FILES.refused(&deep, "1:70 error: this is nested too deeply (reading stopped here)");
}
