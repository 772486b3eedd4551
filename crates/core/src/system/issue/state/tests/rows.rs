//! State files as one meets them: a test for each way in which they are odd.

use serde_json::json as value_of;

use super::*;
use crate::run::Note;
use crate::system::kit::foreign::odd::Files;
use crate::time::Timestamp;

const FILES: Files<ForeignState> = Files(read);

/// A file with one task that has these fields.
fn one(fields: &str) -> String {
    format!("{{\"tasks\": [{{\"id\": \"1\", {fields}}}]}}")
}

fn task(state: &ForeignState) -> &ForeignTask {
    &state.tasks[&id("1")]
}

#[test]
fn the_comment_that_the_recipe_itself_writes_is_refused_where_it_stands() {
    FILES.refused(
        "{\n  \"tasks\": [\n    // Populated from tasks.md parsing\n  ]\n}\n",
        "3:5 error: JSON has no comments (reading stopped here)",
    );
    FILES.refused(
        &one("\"notes\": \"\","),
        "1:35 error: a comma with nothing after it (reading stopped here)",
    );
    FILES.refused("{'tasks': []}", "1:2 error: JSON wants double quotes (reading stopped here)");
}

#[test]
fn a_file_that_breaks_off_is_empty_or_is_two_is_refused() {
    FILES.refused(
        "{\"tasks\": [{\"id\"",
        "1:17 error: the file breaks off in the middle (reading stopped here)",
    );
    FILES.refused("", "1:1 error: the file is empty (there is nothing to read in it)");
    FILES.refused("{}\n{}", "2:1 error: a second value follows the first (reading stopped here)");
    FILES.refused("[]", "1:1 error: the file must be an object (this is a list)");
}

#[test]
fn of_a_name_said_twice_the_last_counts() {
    let text = one("\"notes\": \"a\", \"notes\": \"b\"");
    let state = FILES.warned(&text, &["1:38 warning: `notes` appears twice (the last one is used)"]);
    assert_eq!(task(&state).report.note, "b");
}

#[test]
fn unknown_fields_are_carried() {
    let state =
        FILES.accepted(&one("\"commits\": [\"abc1234: Do it\"], \"owner\": \"bob\", \"notes\": \"\""));
    let carried = state.carried(|_| true);
    assert_eq!(carried, value_of!({"tasks": {"1": {"commits": ["abc1234: Do it"], "owner": "bob"}}}));
}

#[test]
fn what_is_missing_has_its_default() {
    let state = FILES.accepted(&one("\"status\": \"\""));
    let ForeignTask { description, status, report, .. } = task(&state);
    assert_eq!((description.as_str(), *status, report), ("", TaskWord::Pending, &Report::default()));
    assert_eq!((state.number, state.created_at), (None, None));
}

#[test]
fn foreign_words_for_a_status_are_understood_and_unknown_ones_are_not() {
    for (word, meant) in [
        ("done", TaskWord::Completed),
        ("In-Progress", TaskWord::InProgress),
        ("verified", TaskWord::InProgress),
        ("blocked", TaskWord::Failed),
        ("abandoned", TaskWord::Failed),
        ("skipped", TaskWord::Pending),
    ] {
        let label =
            format!("1:34 warning: {word:?} is not a status of this file (read as `{}`)", meant.word());
        let state = FILES.warned(&one(&format!("\"status\": \"{word}\"")), &[&label]);
        assert_eq!((task(&state).status, task(&state).word.as_str()), (meant, word));
    }
    FILES.refused(
        &one("\"status\": \"complated\""),
        "1:34 error: the status \"complated\" is unknown (one of pending, in_progress, completed, failed)",
    );
    FILES.refused(&one("\"status\": true"), "1:34 error: `status` must be text (this is true or false)");
}

#[test]
fn numbers_may_be_text_and_ids_numbers_if_nothing_is_lost() {
    let state = FILES
        .accepted(r#"{"issue": {"number": "42"}, "tasks": [{"id": "1.", "test_results": {"passed": "3"}}]}"#);
    assert_eq!(state.number, Some(42));
    assert_eq!(task(&state).report.tests, Some(Tests { passed: 3, failed: 0, skipped: 0 }));
    let state =
        FILES.warned(r#"{"tasks": [{"id": 7}]}"#, &["1:19 warning: the id is a number (read as text)"]);
    assert!(state.tasks.contains_key(&id("7")));
    FILES.refused(
        r#"{"tasks": [{"id": 1.10}]}"#,
        "1:19 error: an id written as a fraction may have lost a digit (this is a number)",
    );
    FILES.refused(
        r#"{"tasks": [{"status": "pending"}]}"#,
        "1:12 error: a task without an id (this is an object)",
    );
    FILES.refused(
        r#"{"tasks": [{"id": "../x"}]}"#,
        "1:12 error: \"../x\" cannot be the id of a task: it starts with '.'; an id starts with a letter or a digit (this is an object)",
    );
}

#[test]
fn exports_are_a_list_one_text_or_sorted_by_kind() {
    for (said, exports) in [
        (r#"["A", "b()"]"#, vec!["A", "b()"]),
        (r#"{"classes": ["A"], "functions": ["b()"], "types": []}"#, vec!["A", "b()"]),
        (r#"[{"name": "A", "type": "class"}, {"x": 1}, null, ""]"#, vec!["A", "{\"x\":1}"]),
        ("null", vec![]),
    ] {
        let state = FILES.accepted(&one(&format!("\"exports\": {said}")));
        assert_eq!(task(&state).report.exports, exports, "{said}");
    }
    let label = "1:35 warning: `exports` is one text (read as a list of one)";
    assert_eq!(task(&FILES.warned(&one("\"exports\": \"A\""), &[label])).report.exports, ["A"]);
    FILES.refused(&one("\"exports\": 7"), "1:35 error: `exports` must be a list (this is a number)");
    FILES.refused(&one("\"patterns\": {}"), "1:36 error: `patterns` must be a list (this is an object)");
}

#[test]
fn a_finished_run_without_tasks_is_told() {
    FILES.warned(r#"{"tasks": []}"#, &["1:11 warning: there are no tasks (they are taken from the plan)"]);
    FILES.warned("{}", &["1:1 warning: there are no tasks (they are taken from the plan)"]);
    let label = "1:11 warning: `tasks` is an object (read by its keys)";
    assert!(FILES.warned(r#"{"tasks": {"1": {}}}"#, &[label]).tasks.contains_key(&id("1")));
    FILES.refused(r#"{"tasks": "all"}"#, "1:11 error: `tasks` must be a list (this is text)");
}

#[test]
fn a_task_that_the_plan_does_not_have_is_kept() {
    let state = FILES.accepted(
        r#"{"tasks": [{"id": "1", "x": 1}, {"id": "9.", "description": "Old", "status": "completed"}]}"#,
    );
    let carried = state.carried(|task| task.as_str() == "1");
    let orphan = value_of!({"id": "9", "description": "Old", "status": "completed"});
    assert_eq!(carried, value_of!({"tasks": {"1": {"x": 1}, "9": orphan}}));
    let mut bench = fresh();
    bench.note(Note::Carried { file: FILE.to_owned(), fields: carried });
    let shown = json(&bench);
    assert_eq!(shown["tasks"].as_array().map(Vec::len), Some(4));
    assert_eq!(shown["tasks"][3], orphan);
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
        assert_eq!(
            task(&FILES.accepted(&one(&format!("\"started_at\": {text}")))).started_at,
            noon,
            "{text}"
        );
    }
    let label = "1:38 warning: `started_at` does not say its time zone (read as UTC)";
    assert_eq!(
        task(&FILES.warned(&one("\"started_at\": \"2026-01-10 12:00:00\""), &[label])).started_at,
        noon
    );
    let label = "1:38 warning: `started_at` is not a time (ignored)";
    assert_eq!(task(&FILES.warned(&one("\"started_at\": \"$(date)\""), &[label])).started_at, None);
    assert_eq!(task(&FILES.accepted(&one("\"started_at\": \"\""))).started_at, None);
}

#[test]
fn times_in_the_wrong_order_are_told() {
    let text = one("\"started_at\": \"2026-01-10T12:00:00Z\", \"completed_at\": \"2026-01-09T12:00:00Z\"");
    FILES.warned(&text, &["1:12 warning: 1 was completed before it began (the times are kept)"]);
    let text = r#"{"created_at": "2026-01-10T12:00:00Z", "updated_at": "2026-01-09T12:00:00Z", "tasks": [{"id": 1}]}"#;
    let said = FILES.said(text);
    assert_eq!(said[0], "1:54 warning: the last change was before the start (the times are kept)");
}

#[test]
fn two_tasks_at_once_are_told() {
    let text = r#"{"tasks": [{"id": "1", "status": "in_progress"}, {"id": "2", "status": "in_progress"}]}"#;
    FILES.warned(text, &["1:50 warning: 1 and 2 are both in progress (one is worked on at a time)"]);
    let text = r#"{"tasks": [{"id": "1", "notes": "a"}, {"id": "1.", "notes": "b"}]}"#;
    let state = FILES.warned(text, &["1:39 warning: 1 appears twice (the last one is used)"]);
    assert_eq!(task(&state).report.note, "b");
}

#[test]
fn test_results_are_counts_or_words() {
    let state = FILES.accepted(&one("\"test_results\": \"3 passed, 1 failed\""));
    assert_eq!(task(&state).report.tests, Some(Tests { passed: 3, failed: 1, skipped: 0 }));
    assert_eq!(task(&FILES.accepted(&one("\"test_results\": {}"))).report.tests, None);
    let label = "1:40 warning: `test_results` has no counts (left out)";
    assert_eq!(task(&FILES.warned(&one("\"test_results\": {\"passed\": -1}"), &[label])).report.tests, None);
    assert_eq!(task(&FILES.warned(&one("\"test_results\": \"all green\""), &[label])).report.tests, None);
}

#[test]
fn what_no_reader_can_hold_is_refused() {
    FILES.refused("{\"a\": NaN}", "1:7 error: JSON has no such number (reading stopped here)");
    for huge in ["99999999999999999999999", "1e999", "18446744073709551616"] {
        let text = format!(
            "{{\"issue\": {{\"number\": {huge}}}, \"tasks\": [{{\"id\": \"1\", \"test_results\": {{\"passed\": {huge}}}}}]}}"
        );
        let state = read(&text).state;
        assert_eq!(state.number, None, "{huge}");
        assert!(state.tasks.get(&id("1")).is_none_or(|task| task.report.tests.is_none()), "{huge}");
        assert!(!FILES.said(&text).is_empty(), "{huge}");
    }
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    FILES.refused(&deep, "1:70 error: this is nested too deeply (reading stopped here)");
}
