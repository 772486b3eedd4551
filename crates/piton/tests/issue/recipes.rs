//! The recipes of this system's document as they stand there, with its signs as they were meant: those that read, on files
//! that Piton has written, and those that write, beside an engine.

use piton_testkit::sandbox::until;
use serde_json::json;

use super::edits::{BEGIN, COMPLETE, FAIL, about, append, ledger, log, status};
use super::*;

/// "Verify State Updated".
const VERIFY: &str = r###"
TASK_STATUS=$(cat "$PLAN_DIR/execution-state.json" | jq -r ".tasks[] | select(.id == \"$TASK_ID\") | .status")

if [ "$TASK_STATUS" != "completed" ] && [ "$TASK_STATUS" != "failed" ]; then
  echo "WARNING: Sub-agent did not update execution-state.json"
  echo "  Expected status 'completed' or 'failed', got: '$TASK_STATUS'"

  # Fallback: Update based on test results if tests passed
  if [ "$TEST_PASSED" = true ]; then
    TMP_FILE=$(mktemp)
    jq "(.tasks[] | select(.id == \"$TASK_ID\")) |= . + {
      \"status\": \"completed\",
      \"completed_at\": \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",
      \"notes\": \"(auto-updated by orchestrator)\"
    }" "$PLAN_DIR/execution-state.json" > "$TMP_FILE"
    mv "$TMP_FILE" "$PLAN_DIR/execution-state.json"
    echo "  → Orchestrator updated execution-state.json as fallback"
  fi
else
  echo "✅ execution-state.json updated by sub-agent (status: $TASK_STATUS)"
fi

# Check if journal was updated
JOURNAL_HAS_TASK=$(grep -c "## Task $TASK_ID:" "$PLAN_DIR/journal.md" 2>/dev/null || echo "0")

if [ "$JOURNAL_HAS_TASK" -eq 0 ]; then
  echo "WARNING: Sub-agent did not update journal.md"
else
  echo "✅ journal.md updated by sub-agent"
fi
"###;

/// "Get Next Pending Task".
const NEXT: &str = r#"
NEXT_TASK=$(cat "$PLAN_DIR/execution-state.json" | jq -r '.tasks[] | select(.status == "pending") | {id, description} | @json' | head -1)

if [ -z "$NEXT_TASK" ]; then
  # Check if any are in_progress (resume scenario)
  IN_PROGRESS=$(cat "$PLAN_DIR/execution-state.json" | jq -r '.tasks[] | select(.status == "in_progress") | {id, description} | @json' | head -1)

  if [ -n "$IN_PROGRESS" ]; then
    echo "RESUME: Found in_progress task"
    echo "$IN_PROGRESS"
  else
    echo "ALL_COMPLETE: No pending tasks"
  fi
else
  echo "NEXT_TASK: $NEXT_TASK"
fi
"#;

/// "Get Progress Summary".
const PROGRESS: &str = r###"
TOTAL=$(cat "$PLAN_DIR/execution-state.json" | jq '.tasks | length')
COMPLETED=$(cat "$PLAN_DIR/execution-state.json" | jq '[.tasks[] | select(.status == "completed")] | length')
IN_PROGRESS=$(cat "$PLAN_DIR/execution-state.json" | jq '[.tasks[] | select(.status == "in_progress")] | length')
PENDING=$(cat "$PLAN_DIR/execution-state.json" | jq '[.tasks[] | select(.status == "pending")] | length')
FAILED=$(cat "$PLAN_DIR/execution-state.json" | jq '[.tasks[] | select(.status == "failed")] | length')

# Calculate percentage
PERCENT=$((COMPLETED * 100 / TOTAL))

# Generate progress bar
FILLED=$((PERCENT / 5))
EMPTY=$((20 - FILLED))

echo "## Progress: $COMPLETED/$TOTAL ($PERCENT%)"
echo ""
printf '['
printf '█%.0s' $(seq 1 $FILLED 2>/dev/null)
printf '░%.0s' $(seq 1 $EMPTY 2>/dev/null)
printf '] %d%%\n' $PERCENT
echo ""
echo "- Completed: $COMPLETED"
echo "- In Progress: $IN_PROGRESS"
echo "- Pending: $PENDING"
echo "- Failed: $FAILED"
"###;

/// "Initialize State", with the comment that it leaves in its JSON, and "Parse tasks.md to Populate Tasks Array".
const INITIALISE: &str = r##"
ISSUE_NUMBER=7
ISSUE_TITLE="Spending by month"
BRANCH_NAME="issue/7-by-month"
cat > "$PLAN_DIR/execution-state.json" << EOF
{
  "issue": {
    "number": $ISSUE_NUMBER,
    "title": "$ISSUE_TITLE",
    "branch": "$BRANCH_NAME"
  },
  "created_at": "$(date -u +%Y-%m-%dT%H:%M:%SZ)",
  "updated_at": "$(date -u +%Y-%m-%dT%H:%M:%SZ)",
  "tasks": [
    // Populated from tasks.md parsing
  ]
}
EOF
cat > "$PLAN_DIR/journal.md" << EOF
# Implementation Journal

**Issue**: #$ISSUE_NUMBER - $ISSUE_TITLE
**Branch**: $BRANCH_NAME
**Started**: $(date -u +%Y-%m-%dT%H:%M:%SZ)

---

EOF
TASK_INDEX=0
TASKS_JSON="["

while IFS= read -r line; do
  if [[ "$line" =~ ^-\ \[\ \]\ ([0-9]+\.?[0-9]*)\.?\ (.+)$ ]]; then
    TASK_NUM="${BASH_REMATCH[1]}"
    TASK_DESC="${BASH_REMATCH[2]}"

    # Add comma separator after first item
    if [ $TASK_INDEX -gt 0 ]; then
      TASKS_JSON="$TASKS_JSON,"
    fi

    TASKS_JSON="$TASKS_JSON
  {
    \"id\": \"$TASK_NUM\",
    \"description\": \"$TASK_DESC\",
    \"status\": \"pending\",
    \"started_at\": null,
    \"completed_at\": null,
    \"files_created\": [],
    \"files_modified\": [],
    \"exports\": [],
    \"patterns\": [],
    \"notes\": \"\",
    \"test_results\": null
  }"
    TASK_INDEX=$((TASK_INDEX + 1))
  fi
done < "$PLAN_DIR/tasks.md"

TASKS_JSON="$TASKS_JSON
]"
"##;

/// The end of it, which fails on that comment: as it works without the comment.
const POPULATE: &str = r#"
sed -i '/Populated from/d' "$PLAN_DIR/execution-state.json"
TMP_FILE=$(mktemp)
jq --argjson tasks "$TASKS_JSON" '.tasks = $tasks' "$PLAN_DIR/execution-state.json" > "$TMP_FILE"
mv "$TMP_FILE" "$PLAN_DIR/execution-state.json"
"#;

#[test]
fn the_recipe_that_verifies_finds_both_files_updated_and_has_nothing_to_do() {
    let sandbox = months();
    if !recipe(sandbox.project(), "true") {
        return;
    }
    act(&sandbox, "[3.1]\nexit 1\n");
    let _ = sandbox.run("run 7").exits(4);
    for (id, word) in [("0", "completed"), ("1.1", "completed"), ("2", "completed"), ("3.1", "failed")] {
        let before = golden(&sandbox);
        assert_eq!(
            asked(&sandbox, &format!("TASK_ID={id}\nTEST_PASSED=true\n{VERIFY}")),
            format!(
                "✅ execution-state.json updated by sub-agent (status: {word})\n✅ journal.md updated by sub-agent"
            )
        );
        assert_eq!(golden(&sandbox), before);
    }
}

#[test]
fn the_recipes_for_what_is_next_and_how_far_it_is_say_what_piton_says() {
    let sandbox = ledger();
    if !recipe(sandbox.project(), "true") {
        return;
    }
    let says = |command: &str| sandbox.run(command).exits(0).stdout.trim_end().to_owned();
    assert_eq!(asked(&sandbox, NEXT), says("next"));
    assert_eq!(asked(&sandbox, PROGRESS), says("progress"));
    assert_eq!(
        asked(&sandbox, "cat \"$PLAN_DIR/execution-state.json\" | jq -cr '.tasks[0] | {id, description}'"),
        r#"{"id":"0","description":"Create Feature Branch"}"#
    );
    // The document would begin another one; what was begun comes first.
    let _ = sandbox.run("start 1.1").exits(0);
    assert!(says("next").starts_with("RESUME: Found in_progress task\n{\"id\":\"1.1\""));
    assert!(asked(&sandbox, NEXT).starts_with("NEXT_TASK: {\"id\":\"1.2\""));
    assert_eq!(asked(&sandbox, PROGRESS), says("progress"));
    let _ = sandbox.run("report 1.1 failed --reason no").exits(0);
    assert_eq!(asked(&sandbox, PROGRESS), says("progress"));
    let sandbox = months();
    let _ = sandbox.run("run 7").exits(0);
    assert_eq!(asked(&sandbox, NEXT), "ALL_COMPLETE: No pending tasks");
    assert_eq!(sandbox.run("next").exits(0).stdout, "ALL_COMPLETE: No pending tasks\n");
    assert!(asked(&sandbox, PROGRESS).starts_with("## Progress: 8/8 (100%)\n"));
}

/// "Check git changes on branch", by an agent, in the worktree of all tasks.
#[test]
fn the_recipe_that_asks_git_for_the_changes_of_the_branch_names_the_work_and_nothing_of_ours() {
    let sandbox = months();
    let origin = sandbox.root().join("origin.git");
    sandbox.git(["init", "--quiet", "--bare", origin.as_str()]);
    sandbox.git(["remote", "add", "origin", origin.as_str()]);
    sandbox.git(["push", "-q", "origin", "main"]);
    let orient = format!(
        "set -e\ngit diff origin/main --name-only > {root}/changes.txt\n\
         cat {PLAN}/execution-state.json > {root}/state.json\ncat {PLAN}/journal.md > {root}/journal.md\n",
        root = sandbox.root()
    );
    sandbox.write(sandbox.root().join("orient.sh"), &orient);
    act(&sandbox, &format!("[3.1]\nrun sh SIDE/orient.sh\n{}", does_well("3.1")));
    let _ = sandbox.run("run 7").exits(0);
    assert_eq!(sandbox.read(sandbox.root().join("changes.txt")), "spend.sh\ntests/by-month.sh\n");
    assert!(sandbox.read(sandbox.root().join("journal.md")).contains("## Task 2: Checkpoint"));
    let state: Value = serde_json::from_str(&sandbox.read(sandbox.root().join("state.json"))).expect("JSON");
    assert_eq!(state["tasks"][4]["status"], "in_progress");
}

/// As it stands it leaves a file that is not JSON, and if that is fixed, ids with dots and a third of the tasks.
#[test]
fn what_the_recipe_that_initialises_leaves_is_taken_over() {
    let sandbox = months();
    if !recipe(sandbox.project(), INITIALISE) {
        return;
    }
    let _ = sandbox.run("next --plan 7").exits(0).says("JSON has no comments").says("only the list is used");
    assert_eq!(statuses(&sandbox).len(), TASKS.len());
    let sandbox = months();
    assert!(recipe(sandbox.project(), &format!("{INITIALISE}{POPULATE}")));
    assert_eq!(state(&sandbox)["tasks"][1]["id"], "1.");
    let told = "jq '(.tasks[] | select(.id == \"2.\")).notes = \"see there\"' $PLAN_DIR/execution-state.json > tmp; \
                mv tmp $PLAN_DIR/execution-state.json";
    assert!(recipe(sandbox.project(), told));
    let _ = sandbox.run("next --plan 7").exits(0).says("no longer in the plan, but kept: 1, 3");
    assert_eq!(entry(&sandbox, "2")["notes"], "see there");
    let _ = sandbox.run("run 7").exits(0);
    assert_eq!(statuses(&sandbox)[..TASKS.len()], ALL_DONE);
}

/// Each is answered, and none gets in the way of the engine that works on these very tasks.
#[test]
fn every_recipe_that_writes_is_answered_beside_an_engine() {
    let sandbox = months();
    sandbox.fifo("gate");
    act(&sandbox, &format!("[1.1]\nmeet SIDE/gate\n{}", does_well("1.1")));
    let mut engine = sandbox.piton(["run", "7"]).spawn();
    engine.until_says("1.1      attempt 1 started");
    until("the state file", || (status(&sandbox, "1.1") == "in_progress").then_some(()));
    let fallback = format!("TEST_PASSED=true\n{VERIFY}");
    let answered = |id: &str, recipe: &str, words: &str, stays: &str| {
        let before = log(&sandbox).matches(words).count();
        if !about(&sandbox, id, recipe) {
            return false;
        }
        until("an answer", || (log(&sandbox).matches(words).count() > before).then_some(()));
        until("the file to be put right", || (status(&sandbox, id) == stays).then_some(()));
        true
    };
    if !answered("1.2", BEGIN, "1.2: in progress", "pending") {
        return;
    }
    assert!(answered("1.1", FAIL, "1.1: failed: There is no awk", "in_progress"));
    assert!(answered("3.1", FAIL, "3.1: failed: There is no awk", "pending"));
    assert!(answered("1.1", COMPLETE, "1.1: reported done", "in_progress"));
    assert!(answered("3.2", &fallback, "3.2: reported done", "pending"));
    append(&sandbox, "\n---\n\n## Task 1.1: Mine\n\n**Status**: ✅ Completed\n\n### What I Did\nIt.\n\n");
    until("the entry", || log(&sandbox).contains("note by journal.md: ## Task 1.1: Mine").then_some(()));
    let broken =
        "printf '{\"tasks\": [\\n// Populated from tasks.md parsing\\n]}' > $PLAN_DIR/execution-state.json";
    assert!(answered(
        "1.1",
        broken,
        "the file is not JSON (line 2, column 1: JSON has no comments)",
        "in_progress"
    ));
    engine.until_at(&sandbox, "gate");
    let _ = engine.wait().exits(0);
    is_whole(&sandbox);
    assert_eq!(statuses(&sandbox), ALL_DONE);
    assert_eq!(entry(&sandbox, "1.1")["exports"], json!(["--by-month"]), "what was told is kept");
    let merges = sandbox.git(["log", "--merges", "--format=%s", BRANCH]);
    assert_eq!(merges.lines().count(), WORK.len(), "each landed once: {merges}");
}

/// "Invalid JSON in execution-state.json".
const RECOVER: &str = r#"
if ! jq empty "$PLAN_DIR/execution-state.json" 2>/dev/null; then
  echo "ERROR: Invalid JSON in execution-state.json"
  # Attempt recovery from git history
  git show HEAD:"$PLAN_DIR/execution-state.json" > "$PLAN_DIR/execution-state.json.bak"
fi
"#;

/// The recipe for broken JSON, and the step that it leaves out: the older state is put in place.
#[test]
fn a_state_that_is_recovered_from_git_takes_nothing_back_and_that_is_said() {
    let sandbox = ledger();
    let file = format!("{PLAN}/execution-state.json");
    sandbox.git(["add", "-f", &file]);
    sandbox.git(["commit", "-q", "-m", "State", &file]);
    let _ = sandbox.run("start 1.1 --by ada").exits(0);
    sandbox.write(&file, "{\"tasks\": [");
    sandbox.age(&file);
    if !recipe(sandbox.project(), RECOVER) {
        return;
    }
    assert!(sandbox.read(format!("{file}.bak")).contains("\"pending\""));
    let _ = sandbox.run("next").exits(0).says("the file is not JSON").says("kept as `.bad`");
    assert_eq!(status(&sandbox, "1.1"), "in_progress");
    let restore = "git show HEAD:\"$PLAN_DIR/execution-state.json\" > \"$PLAN_DIR/execution-state.json\"";
    for n in 1..=2 {
        assert!(recipe(sandbox.project(), restore));
        assert_eq!(status(&sandbox, "1.1"), "pending");
        let words = "the file was put back as it was at event";
        let _ = sandbox.run("next").exits(0).says(words).says("what happened since stays");
        assert_eq!(status(&sandbox, "1.1"), "in_progress");
        assert_eq!(log(&sandbox).matches(words).count(), n + n, "the log, and the journal's entry");
        assert_eq!(journal(&sandbox).matches(words).count(), n);
    }
    let _ = sandbox.run("next").exits(0).lacks("rejected an edit");
    // Beside an engine, while its agent works.
    let sandbox = months();
    sandbox.fifo("gate");
    act(&sandbox, &format!("[1.1]\nmeet SIDE/gate\n{}", does_well("1.1")));
    let mut engine = sandbox.piton(["run", "7"]).spawn();
    engine.until_says("1.1      attempt 1 started");
    until("the state file", || (status(&sandbox, "1.1") == "in_progress").then_some(()));
    let (old, shown) = (sandbox.read(&file), state(&sandbox)["piton_seq"].clone());
    let _ = sandbox.run("journal add later").exits(0);
    until("a newer one", || (state(&sandbox)["piton_seq"].as_u64() > shown.as_u64()).then_some(()));
    sandbox.write(format!("{file}.tmp"), &old);
    fs::rename(sandbox.project().join(format!("{file}.tmp")), sandbox.project().join(&file))
        .expect("one folder");
    engine.until_says("the file was put back");
    engine.until_at(&sandbox, "gate");
    let _ = engine.wait().exits(0);
    assert_eq!(statuses(&sandbox), ALL_DONE);
}

/// "Initialize State" once more while there is a run, the fallback entry of "Verify State Updated", and an entry that is in
/// progress: they all keep what the run knows, and all of them are applied.
#[test]
fn recipes_that_write_whole_files_and_entries_lose_nothing() {
    let sandbox = ledger();
    if !recipe(sandbox.project(), "true") {
        return;
    }
    assert!(about(&sandbox, "1.1", BEGIN));
    let _ = sandbox.run("next").exits(0);
    assert!(recipe(sandbox.project(), &format!("{INITIALISE}{POPULATE}")));
    let _ = sandbox.run("next").exits(0).says("the file was replaced by another one").says("`.refused`");
    assert_eq!((statuses(&sandbox).len(), status(&sandbox, "1.1").as_str()), (TASKS.len(), "in_progress"));
    assert!(journal(&sandbox).contains("## Task 0:"), "what the new header displaced is there again");
    assert!(journal(&sandbox).contains("the file was replaced by another one"));
    let fallback = "STARTED_TIME=2026-01-20T11:00:00Z\nTASK_ID=1.1\ncat >> \"$PLAN_DIR/journal.md\" << EOF\n\n---\n\n\
        ## Task $TASK_ID: Add it\n\n**Status**: ❌ Failed\n**Time**: $STARTED_TIME → $(date -u +%Y-%m-%dT%H:%M:%SZ)\n\n\
        ### What I Did\nNothing\n\n*(Entry auto-generated by orchestrator - sub-agent did not update journal)*\n\nEOF\n";
    let begun = "cat >> \"$PLAN_DIR/journal.md\" << 'EOF'\n## Task 1.2: Test it\n\n**Status**: 🔄 In Progress\n\
        **Started**: 2026-01-20T10:30:00Z\n\n(Entry will be completed by sub-agent)\n\n---\nEOF\n";
    assert!(recipe(sandbox.project(), &format!("{fallback}{begun}")));
    let _ = sandbox.run("next").exits(0).lacks("rejected an edit");
    assert!(log(&sandbox).contains("note by journal.md: ## Task 1.1: Add it"), "{}", log(&sandbox));
    for kept in
        ["(Entry will be completed by sub-agent)", "🔄 In Progress", "*(Entry auto-generated by orchestrator"]
    {
        assert_eq!(journal(&sandbox).matches(kept).count(), 1, "{kept}");
    }
    assert_eq!(status(&sandbox, "1.1"), "in_progress", "an entry ends no task");
    // Retry, skip and halt.
    assert!(about(&sandbox, "1.1", FAIL));
    let _ = sandbox.run("next").exits(0);
    assert_eq!(status(&sandbox, "1.1"), "failed");
    assert!(about(&sandbox, "1.1", BEGIN));
    let _ = sandbox.run("next").exits(0).lacks("rejected an edit");
    assert_eq!(status(&sandbox, "1.1"), "in_progress");
    let state = "$PLAN_DIR/execution-state.json";
    let errors = format!(
        "jq '(.tasks[] | select(.id == \"1.1\")) |= . + {{\"errors\": [{{\"attempt\": 1, \"type\": \"verification_failed\", \
         \"step\": \"sh check.sh\", \"message\": \"red\", \"timestamp\": \"2026-01-20T10:30:00Z\"}}, {{\"attempt\": 2, \
         \"message\": \"redder\"}}], \"retry_feedback\": [{{\"feedback\": \"a\"}}, {{\"feedback\": \"b\"}}]}}' {state} > t && mv t {state}"
    );
    assert!(recipe(sandbox.project(), &errors));
    let _ = sandbox.run("next").exits(0);
    assert!(about(&sandbox, "1.1", FAIL));
    let _ = sandbox.run("next").exits(0).lacks("rejected an edit");
    let told = entry(&sandbox, "1.1");
    assert_eq!(
        (&told["errors"][0]["step"], &told["errors"][1]["message"]),
        (&json!("sh check.sh"), &json!("redder"))
    );
    assert_eq!(told["retry_feedback"], json!([{ "feedback": "a" }, { "feedback": "b" }]));
}

/// A plan that is moved away by hand stays away, and Piton says so about its run.
#[test]
fn a_plan_that_is_moved_to_the_archive_is_not_made_again() {
    let sandbox = months();
    let _ = sandbox.run("run 7").exits(0);
    let away = ".claude/plans/archive/completed/issue-7-by-month";
    let archive = format!("mkdir -p .claude/plans/archive/completed && mv {PLAN} {away}");
    assert!(
        Command::new("sh")
            .args(["-c", &archive])
            .current_dir(sandbox.project())
            .status()
            .expect("a shell")
            .success()
    );
    let words = format!("its plan {PLAN} was moved to {away}");
    for line in ["doctor", "doctor --repair", "doctor --repair", "doctor"] {
        let _ = sandbox.run(line).exits(0).says(&words).lacks("it is missing").lacks("fixed  ");
        assert!(!sandbox.exists(PLAN), "{line}");
    }
    let _ = sandbox.run("status").exits(0).says(&words);
    assert!(!sandbox.exists(PLAN));
}
