//! State files as one meets them: a test for each way in which they are odd.

use serde_json::json as value_of;

use super::*;
use crate::run::Note;
use crate::system::kit::foreign::odd::Files;
use crate::time::Timestamp;

const FILES: Files<ForeignState> = Files(read);

/// A file with one unit that has these fields.
fn one(fields: &str) -> String {
    format!("{{\"tasks\": {{\"T1\": {{{fields}}}}}}}")
}

fn first(state: &ForeignState) -> &ForeignUnit {
    &state.units[&id("T1")]
}

#[test]
fn j1_commas_comments_and_single_quotes_are_refused_where_they_stand() {
    FILES.refused(
        &one("\"status\": \"done\","),
        "1:35 error: a comma with nothing after it (reading stopped here)",
    );
    FILES.refused("{\n  // mine\n}", "2:3 error: JSON has no comments (reading stopped here)");
    FILES.refused("{'tasks': {}}", "1:2 error: JSON wants double quotes (reading stopped here)");
}

#[test]
fn j2_a_file_that_breaks_off_is_empty_or_is_two_is_refused() {
    FILES.refused(
        "{\"tasks\": {\"T1\"",
        "1:16 error: the file breaks off in the middle (reading stopped here)",
    );
    FILES.refused("", "1:1 error: the file is empty (there is nothing to read in it)");
    FILES.refused("{}\n{}", "2:1 error: a second value follows the first (reading stopped here)");
    FILES.refused("[]", "1:1 error: the file must be an object (this is a list)");
}

#[test]
fn j4_of_a_name_said_twice_the_last_counts() {
    let text = one("\"status\": \"pending\", \"status\": \"done\"");
    let state = FILES.warned(&text, &["1:40 warning: `status` appears twice (the last one is used)"]);
    assert_eq!(first(&state).status, UnitWord::Done);
}

#[test]
fn j5_unknown_fields_are_carried() {
    let text = r#"{"tasks": {"T1": {"status": "done", "iterations_used": 1, "notes": "x"}}, "metrics": {"per_unit": {"T1": {"iterations": 1}}}}"#;
    let carried = FILES.accepted(text).carried(|_| true);
    let metrics = value_of!({"per_unit": {"T1": {"iterations": 1}}});
    assert_eq!(carried, value_of!({"tasks": {"T1": {"notes": "x"}}, "metrics": metrics}));
}

#[test]
fn j6_what_is_missing_has_its_default() {
    let state = FILES.accepted(&one(""));
    let unit = first(&state);
    assert_eq!((unit.status, unit.iterations, unit.confirmations), (UnitWord::Pending, 0, 0));
    assert_eq!((unit.verified, unit.limit, unit.reason.as_deref()), (false, None, None));
    assert_eq!((state.mode, state.phase, state.created), (None, None, None));
    assert_eq!(first(&FILES.accepted(&one("\"status\": \"\""))).status, UnitWord::Pending);
    FILES.accepted("{}");
}

#[test]
fn j8_counts_that_cannot_be_are_told() {
    let label = "1:38 warning: `iterations_used` is negative (read as 0)";
    assert_eq!(first(&FILES.warned(&one("\"iterations_used\": -3"), &[label])).iterations, 0);
    let text = one("\"status\": \"done\", \"iterations_used\": 9, \"max_iterations\": 5");
    let state = FILES.warned(&text, &["1:56 warning: T1 has used 9 iterations of 5 (all of them count)"]);
    assert_eq!(first(&state).iterations, 9);
    FILES.refused(
        &one("\"max_iterations\": 1.5"),
        "1:37 error: `max_iterations` must be a whole number (this is a number)",
    );
    let text = r#"{"phase": "complete", "tasks": {"T1": {"status": "done"}, "T2": {"status": "pending"}}}"#;
    FILES.warned(
        text,
        &["1:11 warning: the work is delivered, but 1 of its units are not done (the units count)"],
    );
}

#[test]
fn j9_foreign_words_for_a_status_are_understood_and_unknown_ones_are_not() {
    for (word, meant) in [
        ("completed", UnitWord::Done),
        ("Done", UnitWord::Done),
        ("In-Progress", UnitWord::InProgress),
        ("failed", UnitWord::InProgress),
        ("merged", UnitWord::Done),
        ("skipped", UnitWord::Pending),
        ("abandoned", UnitWord::Timeout),
    ] {
        let label =
            format!("1:29 warning: {word:?} is not a status of this file (read as `{}`)", meant.word());
        let text = one(&format!("\"status\": \"{word}\", \"iterations_used\": 1"));
        let state = FILES.warned(&text, &[&label]);
        assert_eq!((first(&state).status, first(&state).word.as_str()), (meant, word));
    }
    FILES.refused(
        &one("\"status\": \"dnoe\""),
        "1:29 error: the status \"dnoe\" is unknown (one of pending, in_progress, confirming, verifying, done, blocked, timeout)",
    );
    FILES.refused(&one("\"status\": true"), "1:29 error: `status` must be text (this is true or false)");
}

#[test]
fn j10_numbers_may_be_text_and_ids_numbers_if_nothing_is_lost() {
    let state =
        FILES.accepted(&one("\"status\": \"done\", \"iterations_used\": \"2\", \"max_iterations\": \"5\""));
    assert_eq!((first(&state).iterations, first(&state).limit), (2, Some(5)));
    let state = FILES.warned(
        r#"{"tasks": [{"id": 7}]}"#,
        &[
            "1:11 warning: `tasks` is a list (read by the ids in it)",
            "1:19 warning: the id is a number (read as text)",
        ],
    );
    assert!(state.units.contains_key(&id("7")));
    assert_eq!(state.carried(|_| false), value_of!({"tasks": {"7": {"status": "pending"}}}));
    FILES.refused(
        r#"{"tasks": [{"id": 1.10}]}"#,
        "1:19 error: an id written as a fraction may have lost a digit (this is a number)",
    );
    FILES.refused(
        r#"{"tasks": {"../x": {}}}"#,
        "1:20 error: \"../x\" cannot be the id of a unit: it starts with '.'; an id starts with a letter or a digit (this is an object)",
    );
}

#[test]
fn j12_work_without_units_is_told() {
    let label = "1:1 warning: there are no units, though the work began (they are taken from the list)";
    for text in [
        r#"{"phase": "execute"}"#,
        r#"{"phase": "complete", "tasks": {}}"#,
        r#"{"phase": "loop", "tasks": []}"#,
    ] {
        FILES.warned(text, &[label]);
    }
    FILES.accepted(r#"{"phase": "plan", "tasks": {}}"#);
    FILES.refused(r#"{"tasks": "all"}"#, "1:11 error: `tasks` must be an object (this is text)");
}

#[test]
fn j13_a_unit_that_the_plan_does_not_have_is_kept() {
    let state =
        FILES.accepted(r#"{"tasks": {"T1": {"x": 1}, "T9": {"status": "done", "iterations_used": 2}}}"#);
    let carried = state.carried(|unit| unit.as_str() == "T1");
    let orphan = value_of!({"status": "done", "iterations_used": 2});
    assert_eq!(carried, value_of!({"tasks": {"T1": {"x": 1}, "T9": orphan}}));
    let mut bench = fresh();
    bench.note(Note::Carried { file: FILE.to_owned(), fields: carried });
    let shown = json(&bench);
    assert_eq!(
        (shown["tasks"].as_object().map(serde_json::Map::len), &shown["tasks"]["T9"]),
        (Some(6), &orphan)
    );
    assert_eq!(edits(&shown, &shown), []);
}

#[test]
fn j14_times_are_read_in_every_form() {
    let noon = Timestamp::parse("2026-01-10T12:00:00Z");
    for text in [
        "\"2026-01-10T12:00:00Z\"",
        "\"2026-01-10T19:00:00+07:00\"",
        "\"2026-01-10T06:00:00-0600\"",
        "\"2026-01-10T12:00:00.000Z\"",
        "1768046400",
    ] {
        assert_eq!(
            first(&FILES.accepted(&one(&format!("\"completed_at\": {text}")))).completed_at,
            noon,
            "{text}"
        );
    }
    let label = "1:35 warning: `completed_at` does not say its time zone (read as UTC)";
    assert_eq!(
        first(&FILES.warned(&one("\"completed_at\": \"2026-01-10 12:00:00\""), &[label])).completed_at,
        noon
    );
    let label = "1:35 warning: `completed_at` is not a time (ignored)";
    assert_eq!(first(&FILES.warned(&one("\"completed_at\": \"{timestamp}\""), &[label])).completed_at, None);
    assert_eq!(first(&FILES.accepted(&one("\"completed_at\": \"\""))).completed_at, None);
}

#[test]
fn j15_times_in_the_wrong_order_are_told() {
    let text = r#"{"created": "2026-01-10T12:00:00Z", "updated": "2026-01-09T12:00:00Z"}"#;
    FILES.warned(text, &["1:48 warning: the last change was before the start (the times are kept)"]);
}

#[test]
fn j16_units_under_way_that_cannot_be_are_told() {
    let text = one("\"status\": \"in_progress\"");
    FILES.warned(&text, &["1:18 warning: T1 is under way without any iteration (as if none had been)"]);
    let under_way = "{\"status\": \"confirming\", \"iterations_used\": 1}";
    let text = format!("{{\"tasks\": {{\"T1\": {under_way}, \"T2\": {under_way}}}}}");
    FILES.warned(&text, &["1:72 warning: T1 and T2 are both under way (one is worked on at a time)"]);
    let text = r#"{"tasks": {"T1": {"reason": "a"}}, "phases": {"T1": {"reason": "b"}}}"#;
    let state = FILES.warned(text, &["1:53 warning: T1 appears twice (the last one is used)"]);
    assert_eq!(first(&state).reason.as_deref(), Some("b"));
}

#[test]
fn j19_j25_commits_are_lines_or_objects() {
    let text = r#"{"commits": ["abc1234: feat(x): Add: a", "ghi9012", {"hash": "def5678", "subject": "Do it"}, {"sha": "0a1b2c3"}, null]}"#;
    let commits: Vec<String> =
        FILES.accepted(text).commits.iter().map(|c| format!("{}|{}", c.hash, c.subject)).collect();
    assert_eq!(commits, ["abc1234|feat(x): Add: a", "ghi9012|", "def5678|Do it", "0a1b2c3|"]);
    let carried = FILES.accepted(text).carried(|_| true);
    assert_eq!(
        carried["commits"],
        value_of!(["abc1234: feat(x): Add: a", "ghi9012", "def5678: Do it", "0a1b2c3"])
    );
    FILES.warned(
        r#"{"commits": [7, {"subject": "x"}]}"#,
        &["1:14 warning: this is not a commit (left out)", "1:17 warning: this is not a commit (left out)"],
    );
    FILES.refused(r#"{"commits": {}}"#, "1:13 error: `commits` must be a list (this is an object)");
}

#[test]
fn j26_what_no_reader_can_hold_is_refused() {
    FILES.refused("{\"a\": NaN}", "1:7 error: JSON has no such number (reading stopped here)");
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    FILES.refused(&deep, "1:70 error: this is nested too deeply (reading stopped here)");
}

#[test]
fn waiting_for_another_unit_is_no_blocker() {
    for reason in ["Waiting on T3", "waiting for T1, T2 and R4", "Depends on T1"] {
        let state = FILES.accepted(&one(&format!("\"status\": \"blocked\", \"reason\": \"{reason}\"")));
        assert_eq!((first(&state).status, first(&state).blocker()), (UnitWord::Pending, None), "{reason}");
    }
    for reason in ["Waiting on Ann", "No key", "Waiting on "] {
        let state = FILES.accepted(&one(&format!("\"status\": \"blocked\", \"reason\": \"{reason}\"")));
        assert_eq!(first(&state).blocker(), Some(reason), "{reason}");
    }
    assert!(first(&FILES.accepted(&one("\"status\": \"blocked\""))).blocker().is_some());
}

#[test]
fn the_short_mode_is_read_and_an_unknown_one_refused() {
    for (word, mode) in
        [("dev", Mode::Development), ("development", Mode::Development), ("knowledge", Mode::Knowledge)]
    {
        assert_eq!(FILES.accepted(&format!("{{\"mode\": \"{word}\"}}")).mode, Some(mode));
    }
    FILES.refused(r#"{"mode": "fun"}"#, "1:10 error: the mode \"fun\" is unknown (development or knowledge)");
}

#[test]
fn the_older_layout_is_understood() {
    for (word, phase) in [
        ("interview", PhaseWord::Discover),
        ("plan", PhaseWord::Plan),
        ("loop", PhaseWord::Execute),
        ("review", PhaseWord::Verify),
        ("wrap", PhaseWord::Deliver),
    ] {
        let text = format!(
            "{{\"feature\": \"sign-in\", \"phase\": \"{word}\", \"tasks\": {{\"T1\": {{\"status\": \"done\", \"iterations\": 3}}}}}}"
        );
        let state = FILES.accepted(&text);
        assert_eq!((state.task.as_deref(), state.phase), (Some("sign-in"), Some(phase)));
        assert_eq!(first(&state).iterations, 3);
        let carried = state.carried(|_| true);
        assert!(carried.get("feature").is_none() && carried.get("tasks").is_none(), "{carried}");
    }
    let state = FILES.accepted(&one("\"status\": \"done\", \"iterations\": [{\"n\": 1}, {\"n\": 2}]"));
    assert_eq!(first(&state).iterations, 2);
    assert!(state.carried(|_| true).get("tasks").is_some(), "elsewhere it is a field of others");
    let label = "1:11 warning: \"Executing\" is not a status of this file (read as `execute`)";
    assert_eq!(
        FILES.warned(r#"{"phase": "Executing", "tasks": {"T1": {}}}"#, &[label]).phase,
        Some(PhaseWord::Execute)
    );
}
