use serde_json::json;

use super::bench::{Bench, id, oid};
use super::*;

fn story<'b>(bench: &'b Bench, name: &str) -> &'b Story {
    bench.chronicle.task(&id(name)).expect("a task of the run")
}

fn time(text: &str) -> Option<Timestamp> {
    Some(Timestamp::parse(&format!("2026-01-10T{text}:00Z")).expect("a time"))
}

/// Retried once, verified, landed, cleaned up.
fn retried() -> Bench {
    let mut bench = Bench::small();
    bench.attach();
    bench.fails("L0-001", &[(11, "Add it")], "expected 201\ngot 422");
    bench.verify("L0-001", &[(11, "Add it"), (12, "Fix: mind the length")]);
    bench.land("L0-001");
    bench.clean("L0-001");
    bench
}

#[test]
fn a_task_tells_when_it_began_was_verified_and_landed() {
    let bench = retried();
    let told = story(&bench, "L0-001");
    assert_eq!(bench.chronicle.created_at, time("10:00").expect("a time"));
    assert_eq!(bench.chronicle.started_at, time("10:01"));
    assert_eq!(told.started_at, time("10:02"), "the first attempt");
    assert_eq!(told.attempt, 2);
    assert_eq!((told.verified_at, told.completed_at), (time("10:11"), time("10:11")));
    assert_eq!(told.merged_at, time("10:13"));
    let worktree = told.worktree.as_ref().expect("it had one");
    assert_eq!((worktree.created_at, worktree.cleaned_at), (time("10:03"), time("10:14")));
    assert_eq!(bench.chronicle.updated_at, time("10:14").expect("a time"));
}

#[test]
fn a_failure_names_its_step_and_the_commit_after_it_says_what_was_done() {
    let bench = retried();
    let told = story(&bench, "L0-001");
    let [failure] = told.failures.as_slice() else { panic!("{:?}", told.failures) };
    assert_eq!((failure.attempt, failure.class, failure.at), (1, Class::Code, time("10:06")));
    assert_eq!(failure.step.as_deref(), Some("cargo test L0-001"));
    assert_eq!(failure.message, "check `test` failed with exit status 101");
    assert_eq!(failure.details, "expected 201\ngot 422");
    let [feedback] = told.feedback.as_slice() else { panic!("{:?}", told.feedback) };
    assert_eq!(feedback.attempt, 2, "it is for the next attempt");
    let commits: Vec<_> =
        told.commits.iter().map(|c| (c.hash.clone(), c.attempt, c.is_fix, c.fixed.as_str())).collect();
    assert_eq!(
        commits,
        [(oid(11).to_string(), 1, false, ""), (oid(12).to_string(), 2, true, "mind the length")],
        "a capture names old commits again, and they are listed once"
    );
}

#[test]
fn a_reset_puts_failures_away_and_keeps_them() {
    let mut bench = Bench::small();
    bench.attach();
    bench.fails("L0-001", &[(11, "Add it")], "no");
    bench.accept(&crate::run::Command::Reset { task: id("L0-001"), by: "ann".to_owned() });
    let told = story(&bench, "L0-001");
    assert_eq!((told.attempt, told.started_at), (0, None));
    assert!(told.failures.is_empty() && told.feedback.is_empty());
    assert_eq!(told.begun_at, time("10:02"));
    let [earlier] = told.earlier.as_slice() else { panic!("{:?}", told.earlier) };
    assert_eq!((earlier.attempts, earlier.failures.len(), earlier.feedback.len()), (1, 1, 1));
    assert_eq!(told.commits.len(), 1, "they are in the worktree still");
    bench.start("L0-001");
    assert_eq!(story(&bench, "L0-001").attempt, 1);
    assert_eq!(story(&bench, "L0-001").started_at, time("10:08"));
}

#[test]
fn a_lost_landing_is_a_landing_no_more() {
    let mut bench = retried();
    let (task, commit) = (id("L0-001"), oid(12));
    bench.accept(&crate::run::Command::LandingLost { task, commit, reason: "rebased away".to_owned() });
    let told = story(&bench, "L0-001");
    assert_eq!((told.merged_at, told.completed_at, told.verified_at), (None, None, None));
    assert_eq!((told.queued, told.completed), (None, None));
    assert_eq!(bench.task("L0-001").decided, crate::run::Status::Pending);
}

#[test]
fn a_conflict_is_tried_again_under_its_number() {
    let mut bench = Bench::small();
    bench.attach();
    bench.verify("L0-001", &[(11, "Add it")]);
    assert!(story(&bench, "L0-001").completed_at.is_some());
    bench.accept(&crate::run::Command::LandingFailed {
        task: id("L0-001"),
        fence: bench.task("L0-001").fence,
        tip: oid(5),
        reason: "conflict in src/lib.rs".to_owned(),
        feedback: "Take both sides.".to_owned(),
        pointers: Box::default(),
    });
    let told = story(&bench, "L0-001");
    assert_eq!((told.completed_at, told.queued), (None, None));
    assert_eq!(told.failures[0].class, Class::Conflict);
    assert_eq!(told.failures[0].step, None);
    assert_eq!(told.feedback, [Feedback { attempt: 1, text: "Take both sides.".to_owned() }]);
}

#[test]
fn advice_in_a_report_stands_for_its_bare_reason() {
    let mut bench = Bench::small();
    let claim = || crate::run::Claim::Failed { reason: "two tests fail".to_owned() };
    let tests = Some(Tests { passed: 3, failed: 2, skipped: 0 });
    let commits = vec![CommitMade { hash: "abc1234".to_owned(), subject: "[L0-001] Try".to_owned() }];
    let report = Report {
        note: "hard".to_owned(),
        feedback: "Handle the empty list".to_owned(),
        decisions: vec!["no cache".to_owned()],
        commits,
        tests,
        ..Report::default()
    };
    bench.report("L0-001", claim(), report);
    bench.report("L0-001", claim(), Report::default());
    let told = story(&bench, "L0-001");
    let said: Vec<_> = told.feedback.iter().map(|f| (f.attempt, f.text.as_str())).collect();
    assert_eq!(said, [(2, "Handle the empty list"), (3, "two tests fail")]);
    assert_eq!((told.commits[0].hash.as_str(), told.commits[0].attempt), ("abc1234", 1));
    assert_eq!(told.tests, tests, "a report without counts takes none away");
    assert_eq!((told.reports.len(), told.reports[0].by.as_deref()), (2, Some("ann")));
    assert_eq!(bench.chronicle.started_at, time("10:01"), "the first work on a task");
}

#[test]
fn whoever_gives_up_is_named() {
    let mut bench = Bench::small();
    bench.attach();
    let (task, by, reason) = (id("L0-001"), "ann".to_owned(), "not worth it".to_owned());
    bench.accept(&crate::run::Command::Abandon {
        task: task.clone(),
        by: by.clone(),
        reason: reason.clone(),
    });
    let given_up = story(&bench, "L0-001").given_up.as_ref().expect("it was");
    assert_eq!((given_up.by.as_str(), given_up.text.as_str()), ("ann", "not worth it"));
    bench.accept(&crate::run::Command::Retry { task, by });
    assert_eq!(story(&bench, "L0-001").given_up, None);
}

#[test]
fn notes_are_kept_with_their_origin() {
    let mut bench = Bench::small();
    bench.note(Note::Guardrail { text: "never touch the schema".to_owned() });
    bench.note(Note::Entry { task: Some(id("L0-001")), text: "half way".to_owned(), for_next: false });
    let file = || "execute-state.json".to_owned();
    bench.note(Note::Carried { file: file(), fields: json!({"a": 1, "b": {"c": 2}}) });
    bench.note(Note::Carried { file: file(), fields: json!({"a": null, "b": {"d": [3]}}) });
    bench.note(Note::EditRefused { file: file(), edit: "x".to_owned(), reason: "y".to_owned(), task: None });
    let told = &bench.chronicle;
    assert_eq!(told.guardrails[0].text, "never touch the schema");
    assert_eq!(told.entries[0].task, Some(id("L0-001")));
    assert_eq!(told.carried["execute-state.json"], json!({"b": {"c": 2, "d": [3]}}));
    assert_eq!(told.refused[0].reason, "y");
}

#[test]
fn it_stays_bounded_and_can_be_kept_and_read_back() {
    let mut bench = Bench::small();
    for n in 0..ENTRIES + 5 {
        let edit = format!("{n} {}", "ü".repeat(2 * TEXT));
        bench.note(Note::EditRefused { file: "x".to_owned(), edit, reason: "y".to_owned(), task: None });
    }
    assert_eq!(bench.chronicle.refused.len(), ENTRIES);
    assert!(bench.chronicle.refused[0].edit.starts_with("5 "));
    assert_eq!(bench.chronicle.refused[0].edit.chars().count(), TEXT);
    let bench = retried();
    let kept = serde_json::to_string(&bench.chronicle).expect("it can be written");
    let read: Chronicle = serde_json::from_str(&kept).expect("it can be read");
    assert_eq!(read, bench.chronicle);
    assert_eq!(Chronicle::of(&bench.journal), bench.chronicle, "all at once, or event by event");
}

#[test]
fn the_details_are_the_end_of_the_output() {
    assert_eq!(end_of("abcü", 2), "cü");
    assert_eq!(end_of("ab", 2), "ab");
    assert_eq!(cut("üab", 2), "üa");
    assert!(same_object("abc1234", &format!("abc1234{}", "0".repeat(33))));
    assert!(!same_object("ab", "abc1234") && !same_object("", "abc1234"));
}
