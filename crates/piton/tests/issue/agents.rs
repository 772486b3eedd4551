//! What agents report about their work, and what Piton writes if they report nothing.

use serde_json::json;

use super::*;

/// What the document asks for after a task is done: change the state file, append to the journal.
const REPORT: &str = r#"set -eu
TASK_ID="1.1"
PLAN_DIR=".claude/plans/issue-7-by-month"
TMP_FILE=$(mktemp)
jq "(.tasks[] | select(.id == \"$TASK_ID\")) |= . + {
  \"status\": \"completed\",
  \"completed_at\": \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",
  \"files_created\": [],
  \"files_modified\": [\"spend.sh\"],
  \"exports\": [\"spend.sh --by-month\", \"month_of()\"],
  \"patterns\": [\"Options are looked at first\"],
  \"notes\": \"A month is the first seven characters of a date\",
  \"test_results\": {\"passed\": 5, \"failed\": 0, \"skipped\": 1}
}" "$PLAN_DIR/execution-state.json" > "$TMP_FILE"
mv "$TMP_FILE" "$PLAN_DIR/execution-state.json"
TMP_FILE=$(mktemp)
jq ".updated_at = \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"" "$PLAN_DIR/execution-state.json" > "$TMP_FILE"
mv "$TMP_FILE" "$PLAN_DIR/execution-state.json"
cat >> "$PLAN_DIR/journal.md" << 'EOF'

---

ENTRY

EOF
"#;

const ENTRY: &str = "## Task 1.1: Add `--by-month` to `spend.sh`

**Status**: ✅ Completed
**Time**: 2026-01-20T11:00:00Z → 2026-01-20T11:45:00Z

### What I Did
Sums are kept by the first seven characters of the date.

### Files Modified
- `spend.sh` - Looks at its options first

### Key Decisions
1. **awk over sort and uniq**: it can add

### Patterns Established
- Options are looked at first

### Exports for Other Tasks
```sh
sh spend.sh --by-month   # one line for each month
## Task 9: this is code
---
```

### What Next Task Should Know
- Dates are never checked";

/// The task's agent does well, and then runs this.
fn reports(sandbox: &Sandbox, id: &str, script: &str) -> String {
    sandbox.write(sandbox.root().join(format!("report-{id}.sh")), script);
    format!("[{id}]\n{}run sh SIDE/report-{id}.sh\n", does_well(id))
}

#[test]
fn an_agent_that_reports_as_it_was_taught_is_heard_and_the_next_one_is_told() {
    let sandbox = months();
    if !recipe(sandbox.project(), "true") {
        return;
    }
    let looks = format!("{} orient > {}/oriented.txt", env!("CARGO_BIN_EXE_piton"), sandbox.root());
    let keeps = format!("\ncp .claude/plans/issue-7-by-month/journal.md {}/copy.md", sandbox.root());
    let others = reports(&sandbox, "1.1", &REPORT.replace("ENTRY", ENTRY))
        + &reports(&sandbox, "1.2", &(looks + &keeps));
    act(&sandbox, &others);
    let _ = sandbox.run("run 7").exits(0);
    is_whole(&sandbox);
    assert_eq!(statuses(&sandbox), ALL_DONE);
    let journal = journal(&sandbox);
    assert_eq!(journal.matches(ENTRY).count(), 1, "{journal}");
    let titles: Vec<String> = told(&sandbox).into_iter().filter(|id| id != "9").collect();
    assert_eq!(titles, TASKS, "{journal}");
    let told = entry(&sandbox, "1.1");
    insta::assert_snapshot!("reported", masked(&sandbox, &format!("{told:#}\n")));
    assert_eq!(entry(&sandbox, "1.2")["notes"], "(auto-updated by orchestrator)");
    let oriented = sandbox.read(sandbox.root().join("oriented.txt"));
    for words in
        ["spend.sh --by-month", "month_of()", "Options are looked at first", "Dates are never checked"]
    {
        assert!(oriented.contains(words), "{words}: {oriented}");
    }
    let copy = sandbox.read(sandbox.root().join("copy.md"));
    assert!(copy.contains(ENTRY), "the next agent has it in its own copy: {copy}");
}

/// The entry of a task in the journal, from its heading to the rule behind it.
fn section(journal: &str, id: &str) -> String {
    let (_, rest) = journal.split_once(&format!("## Task {id}:")).expect(journal);
    rest.split("\n---\n").next().unwrap_or_default().trim().to_owned()
}

/// From git and from the checks, since the agent is silent. It is not shown as the agent's own words.
#[test]
fn of_an_agent_that_reports_nothing_both_files_tell_what_is_known_and_who_says_so() {
    let sandbox = months();
    sandbox.write(
        "check.sh",
        "set -eu\nfor t in tests/*.sh; do sh $t; done\necho '=== 3 passed, 1 skipped in 0.12s ==='\n",
    );
    sandbox.commit("Count");
    act(&sandbox, "");
    let _ = sandbox.run("run 7").exits(0);
    let told = entry(&sandbox, "1.1");
    assert_eq!(told["notes"], "(auto-updated by orchestrator)");
    assert_eq!(told["files_modified"], json!(["spend.sh"]));
    let section = without_times(&section(&journal(&sandbox), "1.1"));
    insta::assert_snapshot!("silent", format!("{section}\n\n{}", told["test_results"]));
}

/// The state file alone, or the journal alone: one report is enough, and the other file catches up.
#[test]
fn half_a_report_is_a_report() {
    let sandbox = months();
    if !recipe(sandbox.project(), "true") {
        return;
    }
    let (state_only, rest) = REPORT.split_once("cat >>").expect("two halves");
    let theirs = ENTRY.replace("1.1", "1.2");
    let journal_only =
        format!("PLAN_DIR=.claude/plans/issue-7-by-month\ncat >>{}", rest.replace("ENTRY", &theirs));
    let others = reports(&sandbox, "1.1", state_only) + &reports(&sandbox, "1.2", &journal_only);
    act(&sandbox, &others);
    let _ = sandbox.run("run 7").exits(0);
    is_whole(&sandbox);
    let text = journal(&sandbox);
    let first = section(&text, "1.1");
    assert!(first.contains("A month is the first seven characters of a date"), "{first}");
    assert!(first.contains("auto-generated"), "{first}");
    assert_eq!(text.matches(&theirs).count(), 1, "{text}");
    let told = entry(&sandbox, "1.2");
    assert!(told["notes"].as_str().expect("text").contains("Sums are kept"), "{told}");
    assert_eq!(told["patterns"], json!(["Options are looked at first"]));
}

/// State and journal in one act, by an agent that would rather type a command than edit two files.
#[test]
fn an_agent_that_reports_by_command_is_heard_in_both_files() {
    let sandbox = months();
    let script = format!(
        "{} report 1.1 done --note 'Sums are kept by month.\n\nDates are never checked' --export 'spend.sh --by-month' \
         --pattern 'Options are looked at first' --decision 'awk over sort: it can add' --file spend.sh",
        env!("CARGO_BIN_EXE_piton")
    );
    act(&sandbox, &reports(&sandbox, "1.1", &script.replace("\\n", "\n")));
    let _ = sandbox.run("run 7").exits(0);
    is_whole(&sandbox);
    let (told, section) = (entry(&sandbox, "1.1"), without_times(&section(&journal(&sandbox), "1.1")));
    insta::assert_snapshot!(
        "by_command",
        format!("{section}\n\n{}\n{}\n{}", told["exports"], told["patterns"], told["notes"])
    );
}

/// Boxes are Piton's to tick: one that an agent ticks in its copy of the list is neither work nor a file of its work.
#[test]
fn an_agent_that_only_ticks_its_box_has_done_nothing() {
    let sandbox = months();
    let tick = format!(
        "sed -i \"s/\\[ \\] $PITON_TASK /[x] $PITON_TASK /\" {PLAN}/tasks.md\ngit diff --quiet && exit 1\nexit 0\n"
    );
    sandbox.write(sandbox.root().join("tick.sh"), &tick);
    let others = format!(
        "[1.1 1]\nrun sh SIDE/tick.sh\n[1.1 2]\nrun sh SIDE/tick.sh\n{}[1.2]\n{}write verification-report.txt mine\n\
         write {PLAN}/verification-report.txt ours\n",
        does_well("1.1"),
        does_well("1.2"),
    );
    act(&sandbox, &others);
    let run = sandbox.run("run 7").exits(0);
    let _ = run.says("1.1      failed: the agent changed nothing").says("1.1      attempt 2 started");
    assert_eq!(entry(&sandbox, "1.1")["files_modified"], json!(["spend.sh"]));
    assert_eq!(
        entry(&sandbox, "1.2")["files_created"],
        json!(["tests/by-month.sh", "verification-report.txt"])
    );
    assert_eq!(sandbox.git(["diff", "--name-only", "main", BRANCH, "--", ".claude"]), "");
}

/// What was taught is `failed` with the reason in `notes`: the next attempt gets the reason.
#[test]
fn an_agent_that_says_it_failed_is_believed() {
    let sandbox = months();
    let failed = r#"TASK_ID="1.1"
PLAN_DIR=".claude/plans/issue-7-by-month"
TMP_FILE=$(mktemp)
jq "(.tasks[] | select(.id == \"$TASK_ID\")) |= . + {
  \"status\": \"failed\", \"notes\": \"awk is too old here\"
}" "$PLAN_DIR/execution-state.json" > "$TMP_FILE"
mv "$TMP_FILE" "$PLAN_DIR/execution-state.json""#;
    if !recipe(sandbox.project(), "true") {
        return;
    }
    let first = reports(&sandbox, "1.1", failed).replace("[1.1]", "[1.1 1]");
    act(&sandbox, &first);
    let run = sandbox.run("run 7").exits(0);
    let _ = run.says("awk is too old here").says("1.1      attempt 2 started");
    assert_eq!(entry(&sandbox, "1.1")["status"], "completed");
}
