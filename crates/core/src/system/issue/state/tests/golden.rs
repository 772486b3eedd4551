//! What people and scripts see.

use super::*;

#[test]
fn a_fresh_run() {
    insta::assert_snapshot!(shown(&fresh()));
}

#[test]
fn a_run_with_told_and_untold_work_and_a_failure() {
    insta::assert_snapshot!(shown(&over()));
}

#[test]
fn files_are_as_git_saw_them_and_else_as_they_were_told() {
    let mut bench = fresh();
    bench.attach();
    bench.start("1");
    bench.ready("1");
    bench.agent_ends("1", AgentEnd::Done, Some(told()));
    let told = &json(&bench)["tasks"][0];
    assert_eq!(told["files_created"], serde_json::json!(["src/export.rs"]));
    assert_eq!(told["files_modified"], serde_json::json!(["src/lib.rs"]));
    let seen = &json(&over())["tasks"][0];
    assert_eq!(seen["files_created"], serde_json::json!(["src/export.rs", "src/new.rs"]));
    assert_eq!(seen["files_modified"], serde_json::json!(["src/lib.rs"]));
}

#[test]
fn a_journal_from_before_files_were_recorded_is_read() {
    let work = Work {
        commit: None,
        tree: oid(1),
        changed: true,
        found_work: true,
        touches_judges: true,
        markers: Vec::new(),
        commits: Vec::new(),
        created: Vec::new(),
        modified: Vec::new(),
    };
    let old = serde_json::to_value(&work).expect("JSON");
    assert!(old.get("created").is_none() && old.get("modified").is_none(), "what is empty is not written");
    assert_eq!(serde_json::from_value::<Work>(old).expect("an old event"), work);
    let report: Report = serde_json::from_str(r#"{"files": ["a"]}"#).expect("an old report");
    assert_eq!((report.created, report.patterns), (Vec::<String>::new(), Vec::<String>::new()));
}
