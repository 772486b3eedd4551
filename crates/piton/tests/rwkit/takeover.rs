//! State files that others left: any version, at any point, counters wrong and negative.

use super::*;

/// A file of the first version, of a list that is half done.
const FIRST: &str = r#"{
  "version": "1.0.0",
  "session_id": "exec-20250101-080000",
  "started_at": "2025-01-01T08:00:00+07:00",
  "updated_at": "2025-01-01T09:00:00+07:00",
  "status": "running",
  "config": { "todolist_path": "plans/1-1-receipts-todolist.md", "project_name": "shop",
    "clarified_requirements_path": "docs/asked.md", "auto_answer": true },
  "progress": { "total_tasks": 6, "completed": 2, "in_progress": -1, "pending": -3, "failed": 3 },
  "tasks": {
    "T001": { "description": "Keep receipts in a file", "status": "completed", "files_modified": ["receipts.sh"] },
    "T002": { "description": "Test", "status": "completed", "files_modified": ["tests/keep.sh"] },
    "T003": { "description": "Tell", "status": "in_progress" }
  },
  "extra": { "kept": true }
}"#;

#[test]
fn a_half_done_list_goes_on_where_its_files_bear_it_out() {
    let sandbox = receipts("", "");
    sandbox.write("receipts.sh", "case $1 in help) echo keep;; esac\n");
    sandbox.commit("By hand");
    sandbox.write(STATE, FIRST);
    let run = sandbox.run(RUN).exits(0);
    assert!(run.contains("T002 is marked done, but tests/keep.sh is missing or empty"), "{run}");
    assert!(!run.contains("T001     attempt") && run.contains("T002     landed"), "{run}");
    let file = state(&sandbox);
    is_counted(&file);
    assert_eq!(statuses(&sandbox), ["completed"; 6]);
    assert_eq!((&file["version"], &file["extra"]["kept"]), (&"3.0.0".into(), &true.into()));
    assert_eq!(file["started_at"], "2025-01-01T01:00:00Z");
    assert_eq!(sandbox.read(format!("{STATE}.bak")), FIRST, "it is kept");
    let given =
        |file: &Value| (file["session_id"].clone(), file["config"]["clarified_requirements_path"].clone());
    assert_eq!(given(&file), ("exec-20250101-080000".into(), "docs/asked.md".into()));
    assert_eq!(file["config"]["auto_answer"], true);
    // What a run knows beyond its list is not lost when that grows.
    let _ = sandbox.run("add T007 --title More").exits(0);
    assert_eq!(given(&state(&sandbox)), given(&file));
}

/// `--dry-run` shows what would be taken over, and takes nothing over.
#[test]
fn a_dry_run_of_an_import_puts_nothing_aside() {
    for text in [FIRST, "{ \"version\": "] {
        let sandbox = receipts("", "");
        sandbox.write(STATE, text);
        let before = sandbox.git(["status", "--porcelain", "--untracked-files=all"]);
        let _ = sandbox.run("import plans/1-1-receipts-todolist.md --dry-run").exits(0);
        assert_eq!(sandbox.git(["status", "--porcelain", "--untracked-files=all"]), before);
        assert_eq!(sandbox.read(STATE), text);
    }
}

#[test]
fn a_file_of_the_third_version_brings_its_failures_and_blocks() {
    let sandbox = receipts("", "");
    let third = FIRST
        .replace("1.0.0", "3.0.0")
        .replace("\"in_progress\" }\n", "\"failed\", \"error\": \"red\" },\n    \"T004\": { \"description\": \"Find\", \"status\": \"blocked\", \"error\": \"no way\" }\n")
        .replace("\"extra\"", "\"retry_counts\": { \"T003\": 2, \"T004\": 4 }, \"blocked_tasks\": [\"T004\"], \"extra\"");
    sandbox.write(STATE, &third);
    sandbox.write("receipts.sh", "case $1 in help) echo keep;; esac\n");
    sandbox.commit("By hand");
    let _ = sandbox.run("import plans/1-1-receipts-todolist.md").exits(0);
    assert_eq!(statuses(&sandbox), ["completed", "pending", "failed", "blocked", "skipped", "skipped"]);
    assert_eq!(state(&sandbox)["retry_counts"], serde_json::json!({ "T003": 2, "T004": 4 }));
}

#[test]
fn a_file_about_another_list_or_a_broken_one_is_put_aside() {
    for (text, ending) in
        [(FIRST.replace("1-1-receipts", "9-9-other"), "bak"), (FIRST[..200].to_owned(), "bad")]
    {
        let sandbox = receipts("", "");
        sandbox.write(STATE, &text);
        let _ = sandbox.run(RUN).exits(0).says("T001     landed");
        assert_eq!(sandbox.read(format!("{STATE}.{ending}")), text);
    }
}

#[test]
fn ticked_boxes_count_as_far_as_their_files_are_there() {
    let sandbox = receipts("", "");
    let ticked = sandbox.read(LIST).replace("- [ ] T001", "- [x] T001").replace("- [ ] T003", "- [x] T003");
    sandbox.write(LIST, &ticked);
    sandbox.write("receipts.sh", "case $1 in help) echo keep;; esac\n");
    sandbox.commit("By hand");
    let _ = sandbox
        .run(RUN)
        .exits(0)
        .says("T003 is marked done, but docs/keep.md")
        .says("T003     landed")
        .lacks("T001     attempt");
}
