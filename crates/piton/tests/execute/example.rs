//! The worked example in `examples/execute`, from its first task to its last landing, in good days and in bad ones.
//!
//! Its agents are scripted: each copies in what a good agent would have written, so the plan's own checks really pass.

use std::process::{Command, Stdio};

use camino::Utf8Path;
use piton_testkit::sandbox::Sandbox;
use rustix::process::Signal;
use serde_json::{Value, json};

const PLAN: &str = "docs/tasks/wordbook";
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/execute");

/// The tasks in their order, each with its name, its file, and what should be in it.
const WORK: [(&str, &str, &str, &str); 6] = [
    ("L1-001", "Split text into words", "lib/text.sh", TEXT),
    ("L1-002", "Keep counts in a file", "lib/store.sh", STORE),
    ("L2-001", "Count the words of a text", "bin/count.sh", COUNT),
    ("L2-002", "Serve the most frequent words", "www/top.cgi", TOP),
    ("L3-001", "Describe the commands", "docs/usage.md", USAGE),
    ("L3-002", "Try everything together", "tests/all.sh", ALL),
];

const TEXT: &str = "words() {
    tr '[:upper:]' '[:lower:]' | tr -cs 'a-z' '\\n' | grep -v '^$' || true
}
";

const STORE: &str = "add() {
    new=$(mktemp \"$1.XXXXXX\") || return
    { if test -f \"$1\"; then cat \"$1\"; fi; cat; } |
        awk -F '\\t' '{ n[$1] += (NF > 1 ? $2 : 1) } END { for (w in n) print w \"\\t\" n[w] }' |
        sort > \"$new\" && mv \"$new\" \"$1\"
}
top() {
    sort -t \"$(printf '\\t')\" -k 2,2nr -k 1,1 \"$1\" | head -n \"$2\"
}
";

const COUNT: &str = "test $# = 1 || { echo 'usage: sh bin/count.sh FILE' >&2; exit 2; }
top=$(dirname \"$0\")/..
. \"$top/lib/text.sh\"
. \"$top/lib/store.sh\"
words | add \"$1\"
";

const TOP: &str = "test -f \"${WORDBOOK:-}\" || printf 'Status: 404 Not Found\\n'
printf 'Content-Type: text/plain\\n\\n'
test -f \"${WORDBOOK:-}\" || exit 0
. \"$(dirname \"$0\")/../lib/store.sh\"
top \"$WORDBOOK\" 10
";

const USAGE: &str = "# Wordbook

## Count

    echo 'Up the rope!' | sh bin/count.sh counts

## Top

    WORDBOOK=counts sh www/top.cgi
";

const ALL: &str = "f=$(mktemp) || exit 1
trap 'rm -f \"$f\"' EXIT
echo 'Up the rope, up!' | sh bin/count.sh \"$f\"
if WORDBOOK=$f sh www/top.cgi | grep -q '^up.*2$'; then echo ok; else echo 'up was not counted twice'; exit 1; fi
";

const DESCRIPTION: &str = "# Wordbook\n\nCounts words.\n\n<project-context version=\"1.0\">\n  <meta>\n    \
    <last-updated>2026-01-01</last-updated>\n    <last-context-hash>none</last-context-hash>\n  </meta>\n  <features>\n  \
    </features>\n  <api-registry>\n  </api-registry>\n  <schema-registry>\n  </schema-registry>\n</project-context>\n";

/// A project with a copy of the example in it, whose agents all do well.
fn wordbook() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    sandbox.copy(EXAMPLE, PLAN);
    crate::follow_the_script(&sandbox);
    for (id, _, file, text) in WORK {
        sandbox.write(sandbox.root().join("done").join(id).join(file), text);
    }
    sandbox.write("PROJECT.md", DESCRIPTION);
    act(&sandbox, "");
    sandbox.commit("Plan");
    sandbox
}

/// What an agent that does well does.
fn does_well(id: &str) -> String {
    format!("run cp -R SIDE/done/{id}/. .\n")
}

/// Every agent does well, but for the sections that are given.
fn act(sandbox: &Sandbox, others: &str) {
    let well: String = WORK.iter().map(|(id, ..)| format!("[{id}]\n{}", does_well(id))).collect();
    sandbox.script(&format!("{others}\n{well}"));
}

fn state(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read(format!("{PLAN}/execute-state.json"))).expect("JSON")
}

/// `done`, or what else has become of each task.
fn statuses(sandbox: &Sandbox) -> Vec<String> {
    let state = state(sandbox);
    WORK.iter()
        .map(|(id, ..)| state["tasks"][id]["status"].as_str().expect("a word").replace("completed", "done"))
        .collect()
}

const ALL_DONE: [&str; 6] = ["done"; 6];

/// The state file's text, but for what is different each time.
fn golden(sandbox: &Sandbox) -> String {
    let text = sandbox.read(format!("{PLAN}/execute-state.json")).replace(sandbox.root().as_str(), "[ROOT]");
    let mask = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        let instead = match name.trim().trim_matches('"') {
            "timestamp" => "\"[TIME]\"",
            name if name.ends_with("_at") => "\"[TIME]\"",
            "hash" | "commit_hash" => "\"[HASH]\"",
            "piton_run" => "\"[RUN]\"",
            "piton_seq" | "elapsed_seconds" | "elapsed_time_seconds" => "0",
            _ => return None,
        };
        let comma = if value.ends_with(',') { "," } else { "" };
        (!value.starts_with("null")).then(|| format!("{name}: {instead}{comma}"))
    };
    text.lines().map(|line| mask(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

/// What landed works, the checkout is as it was but for that, and nothing is left to put right.
fn is_whole(sandbox: &Sandbox) {
    let tried =
        Command::new("sh").arg("tests/all.sh").current_dir(sandbox.project()).output().expect("a shell");
    assert_eq!(String::from_utf8_lossy(&tried.stdout), "ok\n", "{tried:?}");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
    let _ = sandbox.run("doctor").exits(0);
}

/// One task at a time: then even the order in which they land is always the same.
fn run() -> String {
    format!("run {PLAN} --max-parallel 1")
}

#[test]
fn every_agent_does_well() {
    let sandbox = wordbook();
    let _ = sandbox.run(&run()).exits(0);
    is_whole(&sandbox);
    insta::assert_snapshot!("finished", golden(&sandbox));
    let subjects = sandbox.git(["log", "--merges", "--reverse", "--format=%s"]);
    let merges = WORK.map(|(id, name, ..)| format!("Merge worktree-{id}: {name}"));
    assert_eq!(subjects.lines().collect::<Vec<_>>(), merges);
    let told = sandbox.git(["show", "main:PROJECT.md"]);
    assert!(told.contains("/top") && told.contains("Count"), "{told}");
}

/// Tasks that do not depend on each other run at once, and the result is the same.
#[test]
fn several_work_at_once() {
    let sandbox = wordbook();
    for gate in ["count", "top"] {
        sandbox.fifo(gate);
    }
    act(
        &sandbox,
        &format!(
            "[L2-001]\nmeet SIDE/count\n{}[L2-002]\nmeet SIDE/top\n{}",
            does_well("L2-001"),
            does_well("L2-002")
        ),
    );
    let mut run = sandbox.piton(["run", PLAN]).spawn();
    // The second is let go first, so both were at work.
    run.until_at(&sandbox, "top");
    run.until_at(&sandbox, "count");
    let _ = run.wait().exits(0);
    assert_eq!(statuses(&sandbox), ALL_DONE);
    is_whole(&sandbox);
}

#[test]
fn what_fails_is_tried_again_with_what_its_check_said() {
    let sandbox = wordbook();
    // It counts nothing until it is told so.
    let late = format!(
        "[L1-002]\nwrite lib/store.sh add() {{ cat >> \"$1\"; }}\\ntop() {{ cat \"$1\"; }}\nif-feedback {}",
        does_well("L1-002")
    );
    act(&sandbox, &late);
    let _ = sandbox.run(&run()).exits(0).says("L1-002   attempt 2 started");
    is_whole(&sandbox);
    insta::assert_snapshot!("retried", golden(&sandbox));
}

#[test]
fn what_fails_five_times_is_abandoned_and_what_was_under_way_still_lands() {
    let sandbox = wordbook();
    sandbox.fifo("top");
    act(
        &sandbox,
        &format!("[L2-001]\nwrite bin/count.sh exit 1\n[L2-002]\nmeet SIDE/top\n{}", does_well("L2-002")),
    );
    let mut run = sandbox.piton(["run", PLAN]).spawn();
    run.until_says("; abandoned");
    run.until_at(&sandbox, "top");
    let _ = run.wait().exits(4).lacks("L3-001   attempt");
    assert_eq!(statuses(&sandbox), ["done", "done", "abandoned", "done", "pending", "pending"]);
    insta::assert_snapshot!("abandoned", golden(&sandbox));
    assert_eq!(sandbox.git(["show", "main:www/top.cgi"]), TOP.trim_end());
    // What the last attempt left lies where the state file says.
    let worktree = state(&sandbox)["tasks"]["L2-001"]["worktree_path"].as_str().expect("a path").to_owned();
    assert_eq!(sandbox.read(Utf8Path::new(&worktree).join("bin/count.sh")), "exit 1\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    let _ = sandbox.run("doctor").exits(0);
}

/// Wherever it is killed, it ends as if nothing had happened.
#[test]
fn a_run_that_is_killed_goes_on_to_the_same_end() {
    let points =
        ["prepare.added:2", "capture.pinned:3", "land.durable:4", "landing.moved:5", "context.pinned:1"];
    for point in points {
        let sandbox = wordbook();
        let run = || sandbox.piton(["run", PLAN, "--max-parallel", "1"]);
        let killed = run().env("PITON_CRASH", point).run();
        assert_eq!(killed.code, None, "{point}: {killed}");
        let _ = run().run().exits(0);
        is_whole(&sandbox);
        insta::assert_snapshot!("finished", golden(&sandbox));
    }
}

#[test]
fn an_agent_that_outlives_its_engine_is_waited_for() {
    let sandbox = wordbook();
    sandbox.fifo("store");
    act(&sandbox, &format!("[L1-002]\nmeet SIDE/store\n{}", does_well("L1-002")));
    let mut first = sandbox.piton(run().split_whitespace()).spawn();
    first.until_says("L1-002   attempt 1 started");
    first.signal(Signal::KILL);
    assert_eq!(first.wait().code, None);
    let mut second = sandbox.piton(run().split_whitespace()).spawn();
    second.until_at(&sandbox, "store");
    let _ = second.wait().exits(0);
    is_whole(&sandbox);
    insta::assert_snapshot!("finished", golden(&sandbox));
}

/// Change the state file as people and agents do. `false` where there is no `jq`.
#[must_use]
fn recipe(sandbox: &Sandbox, filter: &str) -> bool {
    if Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_err() {
        piton_testkit::skipped("there is no jq here: the recipes cannot be tried");
        return false;
    }
    let line = format!("jq '{filter}' execute-state.json > tmp && mv tmp execute-state.json");
    let status = Command::new("sh").args(["-c", &line]).current_dir(sandbox.project().join(PLAN)).status();
    assert!(status.expect("a shell").success(), "{line}");
    true
}

#[test]
fn recipes_beside_a_live_engine_are_heard_and_it_goes_on() {
    let sandbox = wordbook();
    for gate in ["text", "store"] {
        sandbox.fifo(gate);
    }
    let gated = format!(
        "[L1-001]\nmeet SIDE/text\n{}[L1-002]\nmeet SIDE/store\nif-feedback run cp SIDE/done/L1-002/lib/store.sh store.told\n{}",
        does_well("L1-001"),
        does_well("L1-002")
    );
    act(&sandbox, &gated);
    let mut engine = sandbox.piton(run().split_whitespace()).spawn();
    engine.until_says("L1-001   attempt 1 started");
    // A script counts, adds a field of its own, and gives up on one page.
    let edited = recipe(
        &sandbox,
        ".metrics.tasks_completed = 5 | .completed += [\"L1-001\"] | .dashboard.colour = \"red\" \
         | .tasks[\"L3-001\"].status = \"skipped\"",
    );
    if !edited {
        return;
    }
    engine.until_says("L3-001   skipped");
    engine.until_at(&sandbox, "text");
    engine.until_says("L1-002   attempt 1 started");
    // Git decides what is done, and an attempt under way goes on: this is put right.
    assert!(recipe(&sandbox, ".tasks[\"L1-002\"].status = \"completed\" | .completed += [\"L1-002\"]"));
    piton_testkit::sandbox::until("an answer", || {
        sandbox.run("log --verbose").stdout.contains("L1-002: reported done").then_some(())
    });
    engine.until_at(&sandbox, "store");
    let _ = engine.wait().exits(0).says("completed, 1 skipped");
    assert_eq!(statuses(&sandbox)[..4], ALL_DONE[..4]);
    assert_eq!(statuses(&sandbox)[5], "done");
    let state = state(&sandbox);
    assert_eq!(state["dashboard"]["colour"], "red");
    assert_eq!(state["metrics"]["tasks_completed"], 5);
    assert_eq!(state["completed"], json!(["L1-001", "L1-002", "L2-001", "L2-002", "L3-002"]));
    assert_eq!(state["metrics"]["total_attempts"], 5, "nothing was done twice");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn recipes_while_nobody_looks_are_heard_by_the_next_run() {
    let sandbox = wordbook();
    act(&sandbox, "[L2-001]\nwrite bin/count.sh exit 1\n");
    let _ = sandbox.run(&run()).exits(4);
    assert_eq!(statuses(&sandbox), ["done", "done", "abandoned", "pending", "pending", "pending"]);
    // A person does one task, and gives the other one new attempts.
    sandbox.write("www/top.cgi", TOP);
    sandbox.commit("[L2-002] Serve the most frequent words");
    let edited = recipe(
        &sandbox,
        ".tasks[\"L2-001\"] = {\"status\": \"pending\", \"attempts\": 0} \
         | .tasks[\"L2-002\"].status = \"completed\" | .completed += [\"L2-002\"] | .metrics.tasks_completed += 1",
    );
    if !edited {
        return;
    }
    act(&sandbox, "[L2-002]\nexit 1\n");
    let _ = sandbox.run(&run()).exits(0).lacks("L2-002   attempt");
    assert_eq!(statuses(&sandbox), ALL_DONE);
    let state = state(&sandbox);
    assert_eq!(state["tasks"]["L2-001"]["attempts"], 1);
    assert_eq!(state["metrics"]["tasks_completed"], 6);
    is_whole(&sandbox);
    let log = sandbox.run("log --verbose").exits(0);
    let _ = log.says("edited in execute-state.json: L2-001: reset").says("L2-002: reported done");
}

/// As the system itself lands: a branch, a commit, a merge. The commit's short hash.
fn landed_by_another(sandbox: &Sandbox, nth: usize) -> String {
    let (id, name, file, text) = WORK[nth];
    let branch = format!("worktree-{id}");
    sandbox.git(["switch", "-q", "-c", &branch]);
    sandbox.write(file, text);
    sandbox.commit(&format!("[{id}] {name}"));
    let hash = sandbox.git(["rev-parse", "--short", "HEAD"]);
    sandbox.git(["switch", "-q", "main"]);
    sandbox.git(["merge", "-q", "--no-ff", "-m", &format!("Merge {branch}: {name}"), &branch]);
    sandbox.git(["branch", "-q", "-d", &branch]);
    hash
}

/// Half-done: a layer has landed, one task of the next is verified in its worktree, the other has failed twice.
fn left_by_another(sandbox: &Sandbox) {
    let (text, store) = (landed_by_another(sandbox, 0), landed_by_another(sandbox, 1));
    let worktree = sandbox.worktrees().join("L2-001");
    sandbox.git(["worktree", "add", "-q", "-b", "worktree-L2-001", worktree.as_str()]);
    sandbox.write(worktree.join("bin/count.sh"), COUNT);
    sandbox.git_in(&worktree, ["add", "-A"]);
    sandbox.git_in(&worktree, ["commit", "-q", "-m", "[L2-001] Count the words of a text"]);
    let count = sandbox.git_in(&worktree, ["rev-parse", "--short", "HEAD"]);
    let done = |hash: &str| {
        json!({
            "status": "completed", "attempts": 1, "worktree_path": null, "branch": null,
            "started_at": "2026-01-10T10:00:05Z", "completed_at": "2026-01-10T10:05:00Z",
            "merged_at": "2026-01-10T10:05:09Z",
            "commits": [{ "hash": hash, "type": "implementation", "attempt": 1 }],
            "errors": [], "retry_feedback": [],
        })
    };
    let entry = |id: &str| {
        json!({ "task_id": id, "path": sandbox.worktrees().join(id), "branch": format!("worktree-{id}"),
        "created_at": "2026-01-10T10:06:00Z", "status": "active" })
    };
    let left = json!({
        "schema_version": "2.0",
        "prd_slug": "wordbook",
        "project_path": sandbox.project(),
        "worktree_dir": sandbox.worktrees(),
        "tasks_path": sandbox.project().join(PLAN),
        "started_at": "2026-01-10T10:00:00Z",
        "updated_at": "2026-01-10T10:30:00Z",
        "completed_at": null,
        "status": "in_progress",
        "current_layer": "2-commands",
        "current_batch": 1,
        "options": { "max_parallel": 3, "layer_filter": null, "start_layer": null, "commit_prefix": "",
            "no_commits": false, "verbose": false },
        "layers": {
            "1-foundation": { "status": "completed", "started_at": "2026-01-10T10:00:00Z",
                "completed_at": "2026-01-10T10:05:09Z", "tasks_total": 2, "tasks_completed": 2, "tasks_failed": 0 },
            "2-commands": { "status": "in_progress", "started_at": "2026-01-10T10:06:00Z", "completed_at": null,
                "tasks_total": 2, "tasks_completed": 0, "tasks_failed": 1 },
            "3-finish": { "status": "pending", "started_at": null, "completed_at": null, "tasks_total": 2,
                "tasks_completed": 0, "tasks_failed": 0 },
        },
        "tasks": {
            "L1-001": done(&text),
            "L1-002": done(&store),
            "L2-001": { "status": "verified", "attempts": 1, "worktree_path": worktree, "branch": "worktree-L2-001",
                "started_at": "2026-01-10T10:06:05Z", "completed_at": "2026-01-10T10:20:00Z", "merged_at": null,
                "commits": [{ "hash": count, "type": "implementation", "attempt": 1 }], "errors": [],
                "retry_feedback": [] },
            "L2-002": { "status": "failed", "attempts": 2, "worktree_path": null, "branch": null,
                "started_at": "2026-01-10T10:06:05Z", "completed_at": null, "merged_at": null, "commits": [],
                "errors": [{ "attempt": 2, "type": "verification_failed", "step": "Run: sh www/top.cgi",
                    "message": "no counts", "timestamp": "2026-01-10T10:25:00Z" }],
                "retry_feedback": [{ "attempt": 3, "feedback": "source lib/store.sh from the script's own folder" }] },
        },
        "worktrees": { "L2-001": entry("L2-001") },
        "merge_queue": [{ "task_id": "L2-001", "priority": 1, "status": "ready", "verified_at": "2026-01-10T10:20:00Z" }],
        "completed": ["L1-001", "L1-002"],
        "failed": ["L2-002"],
        "abandoned": [],
        "metrics": { "tasks_total": 6, "tasks_completed": 2, "tasks_failed": 1, "tasks_remaining": 4,
            "total_attempts": 5, "total_retries": 1, "elapsed_seconds": 1800 },
        "context_update": { "status": "pending", "project_md_path": null, "features_added": [],
            "endpoints_added": [], "models_added": [], "commit_hash": null },
    });
    sandbox.write(format!("{PLAN}/execute-state.json"), &left.to_string());
}

#[test]
fn a_run_that_another_system_left_half_done_is_finished() {
    let sandbox = wordbook();
    left_by_another(&sandbox);
    // What is done is not done again, and the task that failed gets the reason.
    act(
        &sandbox,
        &format!(
            "[L1-001]\nexit 1\n[L1-002]\nexit 1\n[L2-001]\nexit 1\n[L2-002]\nif-feedback {}",
            does_well("L2-002")
        ),
    );
    let told = sandbox.run(&format!("import {PLAN} --dry-run")).exits(0);
    let is_hash = |word: &&str| word.len() >= 7 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let hashes: Vec<&str> = told.stdout.split_whitespace().filter(is_hash).collect();
    let told = hashes.iter().fold(told.stdout.clone(), |text, hash| text.replace(hash, "[HASH]"));
    insta::assert_snapshot!("import", told);
    let _ = sandbox.run(&run()).exits(0).says("L2-002   attempt 3 started").says("only its checks run again");
    is_whole(&sandbox);
    insta::assert_snapshot!("taken_over", golden(&sandbox));
}

#[test]
fn without_a_state_file_the_history_says_what_is_done() {
    let sandbox = wordbook();
    for nth in [0, 1, 3] {
        let _ = landed_by_another(&sandbox, nth);
    }
    act(&sandbox, "[L1-001]\nexit 1\n[L1-002]\nexit 1\n[L2-002]\nexit 1\n");
    let _ = sandbox.run(&format!("import {PLAN}")).exits(0).says("3 completed");
    assert_eq!(statuses(&sandbox), ["done", "done", "pending", "done", "pending", "pending"]);
    let _ = sandbox.run(&run()).exits(0);
    assert_eq!(statuses(&sandbox), ALL_DONE);
    is_whole(&sandbox);
}
