//! The files in other hands: recipes of this system's document, entries that are appended, boxes that are ticked, and
//! what breaks. Beside an engine, and without one.

use piton_testkit::sandbox::until;
use serde_json::json;

use super::*;

/// "Mark Task In Progress", word by word.
pub(crate) const BEGIN: &str = r#"
TMP_FILE=$(mktemp)
jq "(.tasks[] | select(.id == \"$TASK_ID\")) |= . + {
  \"status\": \"in_progress\",
  \"started_at\": \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"
}" "$PLAN_DIR/execution-state.json" > "$TMP_FILE"
mv "$TMP_FILE" "$PLAN_DIR/execution-state.json"
"#;

/// "Update State", with less to tell.
pub(crate) const COMPLETE: &str = r#"
TMP_FILE=$(mktemp)
jq "(.tasks[] | select(.id == \"$TASK_ID\")) |= . + {
  \"status\": \"completed\",
  \"completed_at\": \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",
  \"files_modified\": [\"spend.sh\"],
  \"exports\": [\"--by-month\"],
  \"patterns\": [\"awk adds\"],
  \"notes\": \"By hand\",
  \"test_results\": {\"passed\": 2, \"failed\": 0, \"skipped\": 0}
}" "$PLAN_DIR/execution-state.json" > "$TMP_FILE"
mv "$TMP_FILE" "$PLAN_DIR/execution-state.json"
TMP_FILE=$(mktemp)
jq ".updated_at = \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"" "$PLAN_DIR/execution-state.json" > "$TMP_FILE"
mv "$TMP_FILE" "$PLAN_DIR/execution-state.json"
"#;

/// "Sub-Agent Task Fails".
pub(crate) const FAIL: &str = r#"
TMP_FILE=$(mktemp)
jq "(.tasks[] | select(.id == \"$TASK_ID\")) |= . + {
  \"status\": \"failed\",
  \"notes\": \"There is no awk\"
}" "$PLAN_DIR/execution-state.json" > "$TMP_FILE"
mv "$TMP_FILE" "$PLAN_DIR/execution-state.json"
"#;

/// A recipe about one task, in the project.
#[must_use]
#[track_caller]
pub(crate) fn about(sandbox: &Sandbox, id: &str, lines: &str) -> bool {
    recipe(sandbox.project(), &format!("TASK_ID={id}\n{lines}"))
}

/// A run that a person keeps by hand, who works on the issue's branch in the project's own checkout.
pub(crate) fn ledger() -> Sandbox {
    let sandbox = months();
    let _ = sandbox.run(&format!("next --plan {PLAN}")).exits(0);
    sandbox.git(["switch", "-q", BRANCH]);
    sandbox
}

pub(crate) fn log(sandbox: &Sandbox) -> String {
    sandbox.run("log --verbose").exits(0).stdout
}

pub(crate) fn status(sandbox: &Sandbox, id: &str) -> String {
    entry(sandbox, id)["status"].as_str().expect("a word").to_owned()
}

/// Append to the journal as `cat >>` does.
pub(crate) fn append(sandbox: &Sandbox, text: &str) {
    use std::io::Write as _;
    let path = sandbox.project().join(PLAN).join("journal.md");
    let mut file = fs::OpenOptions::new().append(true).open(path).expect("the journal");
    file.write_all(text.as_bytes()).expect("our own file");
}

pub(crate) fn tick(sandbox: &Sandbox, id: &str) {
    let list = sandbox.read(format!("{PLAN}/tasks.md"));
    let ticked = list.replace(&format!("- [ ] {id} "), &format!("- [x] {id} "));
    assert_ne!(ticked, list);
    sandbox.write(format!("{PLAN}/tasks.md"), &ticked);
}

#[test]
fn recipes_while_nobody_looks_are_heard_by_whoever_looks_next() {
    let sandbox = ledger();
    if !about(&sandbox, "1.1", BEGIN) {
        return;
    }
    let _ = sandbox.run("next").exits(0);
    assert_eq!(status(&sandbox, "1.1"), "in_progress");
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.commit("By hand");
    assert!(about(&sandbox, "1.1", COMPLETE));
    append(
        &sandbox,
        "\n---\n\n## Task 1.1: Add it\n\n**Status**: âœ… Completed\n\n### What I Did\nAdded it.\n\n",
    );
    let _ = sandbox.run("next").exits(0);
    let told = entry(&sandbox, "1.1");
    assert_eq!(told["status"], "completed", "{}", log(&sandbox));
    assert_eq!((&told["exports"], &told["patterns"]), (&json!(["--by-month"]), &json!(["awk adds"])));
    assert_eq!(told["notes"], "By hand");
    assert_eq!(told["test_results"], json!({ "passed": 2, "failed": 0, "skipped": 0 }));
    assert_eq!(ticked(&sandbox), ["0", "1.1"]);
    let text = journal(&sandbox);
    assert_eq!(text.matches("## Task 1.1: Add it\n").count(), 1, "{text}");
    assert_eq!(self::told(&sandbox), ["0", "1.1"], "{text}");
    // The next one does not succeed, is taken up again, and is given back.
    assert!(about(&sandbox, "1.2", BEGIN) && about(&sandbox, "1.2", FAIL));
    let _ = sandbox.run("next").exits(0);
    assert_eq!(status(&sandbox, "1.2"), "failed", "{}", log(&sandbox));
    assert_eq!(entry(&sandbox, "1.2")["notes"], "There is no awk");
    assert!(about(&sandbox, "1.2", BEGIN));
    let _ = sandbox.run("next").exits(0);
    assert_eq!(status(&sandbox, "1.2"), "in_progress", "{}", log(&sandbox));
    let _ = sandbox.run("doctor").exits(0);
}

#[test]
fn recipes_beside_an_engine_are_heard_and_it_goes_on() {
    let sandbox = months();
    sandbox.fifo("gate");
    act(&sandbox, &format!("[1.1]\nmeet SIDE/gate\n{}", does_well("1.1")));
    let mut engine = sandbox.piton(["run", "7"]).spawn();
    engine.until_says("1.1      attempt 1 started");
    until("the state file", || (status(&sandbox, "1.1") == "in_progress").then_some(()));
    // A field of another program, a task that is not to be done, and one that the engine itself works on.
    let change = "jq '.colour = \"red\" | (.tasks[] | select(.id == \"3.3\")).status = \"skipped\"' \
                  $PLAN_DIR/execution-state.json > tmp && mv tmp $PLAN_DIR/execution-state.json";
    if !about(&sandbox, "3.3", change) {
        return;
    }
    engine.until_says("3.3      skipped");
    assert!(about(&sandbox, "1.1", COMPLETE));
    until("an answer", || log(&sandbox).contains("1.1: reported done").then_some(()));
    assert!(about(&sandbox, "1.2", BEGIN));
    until("an answer", || log(&sandbox).contains("1.2: in progress").then_some(()));
    until("the file to be put right", || (status(&sandbox, "1.2") == "pending").then_some(()));
    engine.until_at(&sandbox, "gate");
    let _ = engine.wait().exits(0).says("completed, 1 skipped");
    let state = state(&sandbox);
    assert_eq!(state["colour"], "red");
    assert_eq!(statuses(&sandbox), ["done", "done", "done", "done", "done", "done", "failed", "done"]);
    let merges = sandbox.git(["log", "--merges", "--format=%s", BRANCH]);
    assert_eq!(merges.lines().count(), 4, "each that was done landed once: {merges}");
    let _ = sandbox.run("doctor").exits(0);
}

/// A script appends while the engine appends, too.
#[test]
fn no_entry_that_is_appended_beside_an_engine_is_lost_or_doubled() {
    const MANY: usize = 50;
    let sandbox = months();
    let engine = sandbox.piton(["run", "7"]).spawn();
    let path = sandbox.project().join(PLAN).join("journal.md");
    until("the journal", || path.exists().then_some(()));
    let text = format!(
        "for i in $(seq 1 {MANY}); do cat >> {path} << EOF\n\n---\n\n## Note $i\n\nWord $i.\n\nEOF\nsleep 0.02; done"
    );
    let appended = Command::new("bash").args(["-c", &text]).status().expect("a shell");
    assert!(appended.success());
    let _ = engine.wait().exits(0);
    is_whole(&sandbox);
    let _ = sandbox.run("next").exits(0);
    let (text, heard) = (journal(&sandbox), log(&sandbox));
    for i in 1..=MANY {
        assert_eq!(text.matches(&format!("## Note {i}\n\nWord {i}.\n")).count(), 1, "{i}: {text}");
        assert_eq!(heard.matches(&format!("note by journal.md: ## Note {i}\n")).count(), 1, "{i}: {heard}");
    }
    assert_eq!(told(&sandbox), TASKS, "{text}");
    assert!(!heard.contains("rejected an edit"), "nobody did anything wrong: {heard}");
}

#[test]
fn a_box_that_somebody_ticks_is_a_claim() {
    let sandbox = ledger();
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.write("tests/red.sh", "exit 1\n");
    sandbox.commit("By hand");
    tick(&sandbox, "1.1");
    let _ = sandbox.run("next").exits(0);
    assert_eq!(ticked(&sandbox), ["0"], "its checks do not pass: {}", log(&sandbox));
    assert_eq!(status(&sandbox, "1.1"), "failed", "{}", log(&sandbox));
    fs::remove_file(sandbox.project().join("tests/red.sh")).expect("our own file");
    sandbox.commit("By hand");
    tick(&sandbox, "1.1");
    let _ = sandbox.run("next").exits(0);
    assert_eq!(ticked(&sandbox), ["0", "1.1"], "{}", log(&sandbox));
    assert_eq!(status(&sandbox, "1.1"), "completed");
    // One that waits for others is not begun by this.
    tick(&sandbox, "3.1");
    let _ = sandbox.run("next").exits(0);
    assert_eq!(ticked(&sandbox), ["0", "1.1"], "{}", log(&sandbox));
    assert_eq!(status(&sandbox, "3.1"), "pending");
}

/// A completed task stays completed. If its box is unticked, or an older list is put back, Piton says so.
#[test]
fn a_box_that_somebody_unticks_is_ticked_again_and_they_are_told() {
    let sandbox = ledger();
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.commit("By hand");
    tick(&sandbox, "1.1");
    let _ = sandbox.run("next").exits(0).lacks("rejected an edit");
    assert_eq!(ticked(&sandbox), ["0", "1.1"], "{}", log(&sandbox));
    let list = sandbox.read(format!("{PLAN}/tasks.md"));
    let words = "the box of 1.1 was unticked: it is completed, and is ticked again";
    for n in 1..=2 {
        sandbox.write(format!("{PLAN}/tasks.md"), &list.replace("- [x] 1.1", "- [ ] 1.1"));
        let _ = sandbox.run("next").exits(0).says(&format!("rejected an edit of tasks.md: {words}"));
        assert_eq!(sandbox.read(format!("{PLAN}/tasks.md")), list);
        assert_eq!(
            log(&sandbox).matches(&format!("rejected an edit of tasks.md: {words}")).count(),
            n,
            "{}",
            log(&sandbox)
        );
        assert_eq!(journal(&sandbox).matches(words).count(), 1, "{}", journal(&sandbox));
        assert_eq!(status(&sandbox, "1.1"), "completed");
    }
    let _ = sandbox.run("next").exits(0).lacks("rejected an edit");
    sandbox.git(["checkout", "-q", "--", PLAN]);
    let _ = sandbox.run("next").exits(0).says("the box of 1.1 was unticked");
    assert_eq!(ticked(&sandbox), ["0", "1.1"]);
    let _ = sandbox.run("doctor").exits(0);
}

/// A task that was claimed while no engine ran is checked first: the next task begins after that.
#[test]
fn claims_that_wait_for_an_engine_are_decided_before_anything_begins() {
    let sandbox = ledger();
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.git(["commit", "-q", "-m", "By month", "spend.sh"]);
    tick(&sandbox, "1.1");
    let run = sandbox.run("run 7").exits(0).lacks("1.1      attempt");
    assert!(run.contains("1.2      landed"), "{run}");
    assert_eq!(statuses(&sandbox), ALL_DONE);
    // The same by the state file, in which a claim shows as work while it is checked.
    let sandbox = ledger();
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.git(["commit", "-q", "-m", "By month", "spend.sh"]);
    if !about(&sandbox, "1.1", COMPLETE) {
        return;
    }
    let _ = sandbox.run("run 7").exits(0).lacks("1.1      attempt");
    assert_eq!(statuses(&sandbox), ALL_DONE);
    assert_eq!(entry(&sandbox, "1.1")["notes"], "By hand");
}

/// As where a plan is read: a box alone does not outweigh what stands below it.
#[test]
fn a_box_whose_steps_are_open_is_no_claim() {
    let sandbox = ledger();
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.commit("By hand");
    tick(&sandbox, "1.1");
    let _ = sandbox.run("next").exits(0);
    sandbox.write("tests/by-month.sh", TRY_MONTHS);
    sandbox.commit("By hand");
    tick(&sandbox, "1.2");
    let _ = sandbox.run("next").exits(0);
    assert_eq!(ticked(&sandbox), ["0", "1.1"]);
    assert_eq!(status(&sandbox, "1.2"), "pending");
    assert!(log(&sandbox).contains("its steps are open"), "{}", log(&sandbox));
    let list = sandbox.read(format!("{PLAN}/tasks.md"));
    let list = list.replace("    - [ ] ", "    - [x] ").replace("- [ ] 1.2", "- [x] 1.2");
    sandbox.write(format!("{PLAN}/tasks.md"), &list);
    let _ = sandbox.run("next").exits(0);
    assert_eq!(ticked(&sandbox), ["0", "1", "1.1", "1.2"], "{}", log(&sandbox));
}

#[test]
fn a_box_that_is_ticked_beside_an_engine_is_a_claim_as_well() {
    let sandbox = months();
    sandbox.fifo("gate");
    act(&sandbox, &format!("[1.2]\nmeet SIDE/gate\n{}", does_well("1.2")));
    let mut engine = sandbox.piton(["run", "7"]).spawn();
    engine.until_says("1.2      attempt 1 started");
    until("the first box", || (ticked(&sandbox) == ["0", "1.1"]).then_some(()));
    tick(&sandbox, "1.2");
    tick(&sandbox, "3.1");
    until("the boxes to be open again", || (ticked(&sandbox) == ["0", "1.1"]).then_some(()));
    engine.until_at(&sandbox, "gate");
    let _ = engine.wait().exits(0);
    is_whole(&sandbox);
    assert_eq!(statuses(&sandbox), ALL_DONE);
    assert_eq!(sandbox.git(["log", "--merges", "--format=%s", BRANCH]).lines().count(), WORK.len());
}

#[test]
fn what_is_broken_or_deleted_is_written_again_and_the_broken_text_is_kept() {
    let sandbox = ledger();
    append(&sandbox, "\n---\n\n## A thought\n\nMonths are short.\n");
    let _ = sandbox.run("start 1.1 --by ada").exits(0);
    let folder = sandbox.project().join(PLAN);
    for broken in ["", "{\"tasks\": [", "// Populated from tasks.md parsing"] {
        sandbox.write(format!("{PLAN}/execution-state.json"), broken);
        sandbox.age(format!("{PLAN}/execution-state.json"));
        let _ = sandbox.run("next").exits(0);
        assert_eq!(status(&sandbox, "1.1"), "in_progress", "{broken:?}");
        assert_eq!(sandbox.read(format!("{PLAN}/execution-state.json.bad")), broken);
    }
    assert!(log(&sandbox).contains("the file is not JSON"), "{}", log(&sandbox));
    // What the recipe makes when it parses no task.
    if about(
        &sandbox,
        "",
        "jq '.tasks = []' $PLAN_DIR/execution-state.json > tmp; mv tmp $PLAN_DIR/execution-state.json",
    ) {
        let _ = sandbox.run("next").exits(0);
        assert_eq!(statuses(&sandbox).len(), TASKS.len());
    }
    for name in ["execution-state.json", "journal.md"] {
        let before = sandbox.read(folder.join(name));
        fs::remove_file(folder.join(name)).expect("it is there");
        let _ = sandbox.run("next").exits(0);
        let after = sandbox.read(folder.join(name));
        assert_eq!(masked(&sandbox, &after), masked(&sandbox, &before), "{name}");
    }
    let text = journal(&sandbox);
    assert_eq!(text.matches("## A thought\n\nMonths are short.\n").count(), 1, "{text}");
    let _ = sandbox.run("doctor").exits(0);
}

/// Each recipe that reads, on files of ours.
#[test]
fn recipes_that_read_find_what_they_look_for() {
    let sandbox = ledger();
    if !about(&sandbox, "1.1", BEGIN) {
        return;
    }
    sandbox.write("spend.sh", BY_MONTH);
    sandbox.commit("By hand");
    assert!(about(&sandbox, "1.1", COMPLETE));
    let _ = sandbox.run("next").exits(0);
    assert!(about(&sandbox, "1.2", BEGIN) && about(&sandbox, "1.2", FAIL));
    let _ = sandbox.run("next").exits(0);
    let says = |lines: &str| asked(&sandbox, lines);
    let all = "cat $PLAN_DIR/execution-state.json | jq";
    assert_eq!(says(&format!("{all} -r '.tasks[] | select(.status == \"completed\") | .id'")), "0\n1.1");
    assert_eq!(
        says(&format!("{all} -r '.tasks[] | select(.status == \"completed\") | .exports[]'")),
        "--by-month"
    );
    assert_eq!(
        says(&format!("{all} -r '.tasks[] | select(.status == \"completed\") | .patterns[]'")),
        "awk adds"
    );
    assert_eq!(says("jq empty $PLAN_DIR/execution-state.json && echo valid"), "valid");
    let status = "TASK_ID=1.2\ncat \"$PLAN_DIR/execution-state.json\" | jq -r \".tasks[] | select(.id == \\\"$TASK_ID\\\") | .status\"";
    assert_eq!(says(status), "failed");
    let entries = |id: &str| says(&format!("grep -c '## Task {id}:' $PLAN_DIR/journal.md"));
    assert_eq!((entries("1.1"), entries("3.1")), ("1".to_owned(), "0".to_owned()));
    let next = format!(
        "{all} -r '.tasks[] | select(.status == \"pending\") | {{id, description}} | @json' | head -1"
    );
    assert_eq!(says(&next), r#"{"id":"2","description":"Checkpoint - Months are summed"}"#);
    let count = |word: &str| says(&format!("{all} '[.tasks[] | select(.status == \"{word}\")] | length'"));
    let counts = ["completed", "in_progress", "pending", "failed"].map(count);
    assert_eq!(counts, ["2", "0", "5", "1"]);
    assert_eq!(says(&format!("{all} '.tasks | length'")), "8");
}

/// The plan's own files are looked at while the run goes on.
#[test]
fn a_task_that_has_not_begun_may_be_edited_in_the_list_while_the_run_goes_on() {
    let sandbox = months();
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    act(&sandbox, &format!("[1.1]\nmeet SIDE/arrived\nmeet SIDE/gate\n{}", crate::does_well("1.1")));
    let mut run = sandbox.piton(["run", "7"]).spawn();
    sandbox.meet("arrived");
    let list = format!("{PLAN}/tasks.md");
    let text = sandbox
        .read(&list)
        .replace("Name the option that was probably meant", "Guess the option that was meant");
    sandbox.write(&list, &text);
    run.until_says("adopted the plan as it is now");
    sandbox.meet("gate");
    let _ = run.wait().exits(0).lacks("asked to stop");
    assert_eq!(statuses(&sandbox), crate::ALL_DONE);
    let titles = sandbox.history(crate::BRANCH).join("\n");
    assert!(titles.contains("Guess the option that was meant"), "{titles}");
}
