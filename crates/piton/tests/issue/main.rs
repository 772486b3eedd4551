//! Plans of the issue system, from outside: the worked example in `examples/issue` is run, steered, edited by hand and
//! taken over.
//!
//! Its agents are scripted: each copies in what a good agent would have written, so the project's own check really
//! passes.
#![cfg(unix)]

mod adding;
mod after;
mod agents;
mod claims;
mod edits;
mod example;
mod failing;
mod recipes;
mod rows;
mod takeover;

use std::fs;
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use piton_testkit::sandbox::Sandbox;
use serde_json::Value;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/issue");
const PLAN: &str = ".claude/plans/issue-7-by-month";
const BRANCH: &str = "issue/7-by-month";

/// The tasks that need an agent, each with its file and what should be in it.
const WORK: [(&str, &str, &str); 5] = [
    ("1.1", "spend.sh", BY_MONTH),
    ("1.2", "tests/by-month.sh", TRY_MONTHS),
    ("3.1", "spend.sh", REFUSING),
    ("3.2", "tests/mistakes.sh", TRY_MISTAKES),
    ("3.3", "spend.sh", GUESSING),
];

/// All tasks of the plan, in its order.
const TASKS: [&str; 8] = ["0", "1.1", "1.2", "2", "3.1", "3.2", "3.3", "4"];

const BY_MONTH: &str = r#"# Add up what was spent, with `--by-month` for each month.
set -eu
case "${1:-}" in
--by-month) awk -F, '{ sum[substr($1, 1, 7)] += $2 } END { for (m in sum) printf "%s %.2f\n", m, sum[m] }' | sort ;;
*) awk -F, '{ sum += $2 } END { printf "%.2f\n", sum }' ;;
esac
"#;

const TRY_MONTHS: &str = r#"set -eu
test "$(printf '2026-02-01,7.50\n2026-01-20,12.50\n' | sh spend.sh --by-month)" = "2026-01 12.50
2026-02 7.50"
test "$(printf '2026-01-20,12.50\n' | sh spend.sh)" = 12.50
"#;

const REFUSING: &str = r#"# Add up what was spent, with `--by-month` for each month.
set -eu
case "${1:-}" in
--by-month | '') ;;
*) echo "spend.sh: $1 is not known" >&2; exit 2 ;;
esac
awk -F, -v by="${1:-}" '
    NF < 2 { print "line " NR " has no amount" > "/dev/stderr"; bad = 1; exit }
    { sum[by == "" ? "all" : substr($1, 1, 7)] += $2 }
    END {
        if (bad) exit 1
        if (by == "") printf "%.2f\n", sum["all"]
        else for (m in sum) printf "%s %.2f\n", m, sum[m] | "sort"
    }'
"#;

const TRY_MISTAKES: &str = r"set -u
sh spend.sh --by-year </dev/null 2>/dev/null
test $? = 2 || exit 1
echo nothing | sh spend.sh 2>/dev/null
test $? = 1
";

const GUESSING: &str = r#"# Add up what was spent, with `--by-month` for each month.
set -eu
case "${1:-}" in
--by-month | '') ;;
--by*) echo "spend.sh: $1 is not known, did you mean --by-month?" >&2; exit 2 ;;
*) echo "spend.sh: $1 is not known" >&2; exit 2 ;;
esac
awk -F, -v by="${1:-}" '
    NF < 2 { print "line " NR " has no amount" > "/dev/stderr"; bad = 1; exit }
    { sum[by == "" ? "all" : substr($1, 1, 7)] += $2 }
    END {
        if (bad) exit 1
        if (by == "") printf "%.2f\n", sum["all"]
        else for (m in sum) printf "%s %.2f\n", m, sum[m] | "sort"
    }'
"#;

/// A project that is a copy of the example, whose agents all do well.
fn months() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    sandbox.copy(EXAMPLE, "");
    let script = sandbox.root().join("agents.script");
    let binary = env!("CARGO_BIN_EXE_piton");
    let agent = format!("\n[agents.default]\ncommand = [\"{binary}\", \"scripted-agent\", \"{script}\"]\n");
    let settings = sandbox.read("piton.toml") + &agent + "[policy]\nbackoff = \"0s\"\n";
    sandbox.write("piton.toml", &settings);
    for (id, file, text) in WORK {
        sandbox.write(sandbox.root().join("done").join(id).join(file), text);
    }
    act(&sandbox, "");
    sandbox.commit("Plan");
    sandbox
}

/// What a good agent does. It does not report.
fn does_well(id: &str) -> String {
    format!("run cp -R SIDE/done/{id}/. .\n")
}

/// Every agent does well, but for the sections that are given.
fn act(sandbox: &Sandbox, others: &str) {
    let well: String = WORK.iter().map(|(id, ..)| format!("[{id}]\n{}", does_well(id))).collect();
    sandbox.script(&format!("{others}\n{well}"));
}

fn state(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read(format!("{PLAN}/execution-state.json"))).expect("JSON")
}

/// A task's entry in the state file.
fn entry(sandbox: &Sandbox, id: &str) -> Value {
    let state = state(sandbox);
    let mut tasks = state["tasks"].as_array().expect("a list").iter();
    tasks.find(|task| task["id"] == id).expect("a task of the plan").clone()
}

/// What has become of each task, with `done` for `completed`.
fn statuses(sandbox: &Sandbox) -> Vec<String> {
    let state = state(sandbox);
    let tasks = state["tasks"].as_array().expect("a list").iter();
    tasks.map(|task| task["status"].as_str().expect("a word").replace("completed", "done")).collect()
}

const ALL_DONE: [&str; 8] = ["done"; 8];

fn journal(sandbox: &Sandbox) -> String {
    sandbox.read(format!("{PLAN}/journal.md"))
}

/// The headings of the journal's entries, by their tasks.
fn told(sandbox: &Sandbox) -> Vec<String> {
    let journal = journal(sandbox);
    let titles = journal.lines().filter_map(|line| line.strip_prefix("## Task "));
    titles.map(|title| title.split(':').next().unwrap_or_default().to_owned()).collect()
}

/// The ids of the tasks whose boxes are ticked, parents included.
fn ticked(sandbox: &Sandbox) -> Vec<String> {
    let list = sandbox.read(format!("{PLAN}/tasks.md"));
    let numbered = |line: &str| {
        let name = line.trim_start().strip_prefix("- [x]")?.trim_start_matches('*').trim_start();
        let number = name.split(' ').next()?.trim_end_matches('.').to_owned();
        number.starts_with(|first: char| first.is_ascii_digit()).then_some(number)
    };
    list.lines().filter_map(numbered).collect()
}

/// Where all tasks are worked on.
fn workplace(sandbox: &Sandbox) -> Utf8PathBuf {
    sandbox.root().join("project-issue-7-by-month")
}

/// A text without what is different each time: times, the run's name and its position.
fn masked(sandbox: &Sandbox, text: &str) -> String {
    let run = state(sandbox)["piton_run"].as_str().expect("a name").to_owned();
    let text = text.replace(sandbox.root().as_str(), "[ROOT]").replace(&run, "[RUN]");
    let position = |line: &str| {
        let known = line.trim_start().starts_with("\"piton_seq\"");
        if known { "  \"piton_seq\": 0,".to_owned() } else { without_times(line) }
    };
    text.lines().map(|line| position(line) + "\n").collect()
}

fn without_times(line: &str) -> String {
    const SHAPE: &str = "dddd-dd-ddTdd:dd:ddZ";
    let fits = |text: &str| {
        text.chars().zip(SHAPE.chars()).all(
            |(is, shape)| {
                if shape == 'd' { is.is_ascii_digit() } else { is == shape }
            },
        )
    };
    let (mut out, mut rest) = (String::new(), line);
    while let Some(first) = rest.chars().next() {
        if let Some((_, behind)) = rest.split_at_checked(SHAPE.len()).filter(|(time, _)| fits(time)) {
            out.push_str("[TIME]");
            rest = behind;
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// The three files that people read, as one text.
fn golden(sandbox: &Sandbox) -> String {
    let files = ["execution-state.json", "journal.md", "tasks.md"].map(|name| {
        let text = masked(sandbox, &sandbox.read(format!("{PLAN}/{name}")));
        format!("=== {name}\n{text}")
    });
    files.concat()
}

/// What landed works and is on the issue's branch alone; this checkout is as it was but for the list's boxes.
#[track_caller]
fn is_whole(sandbox: &Sandbox) {
    let tried = Command::new("sh").arg("check.sh").current_dir(workplace(sandbox)).output().expect("a shell");
    assert!(tried.status.success(), "{tried:?}");
    assert_eq!(sandbox.git(["log", "--format=%s", "main"]), "Plan\nFirst commit");
    assert_eq!(sandbox.git(["rev-parse", "--abbrev-ref", "HEAD"]), "main");
    let changed =
        sandbox.git(["diff", "--name-only"]) + &sandbox.git(["ls-files", "--others", "--exclude-standard"]);
    assert_eq!(changed, format!("{PLAN}/tasks.md"));
    let landed = sandbox.git(["diff", "--name-only", "main", BRANCH]);
    assert_eq!(landed, "spend.sh\ntests/by-month.sh\ntests/mistakes.sh");
    let _ = sandbox.run("doctor").exits(0);
}

/// Run a recipe as it stands in this system's document, in a folder. `false` where there is no `jq`.
#[must_use]
#[track_caller]
fn recipe(folder: &Utf8Path, lines: &str) -> bool {
    if Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_err() {
        piton_testkit::skipped("there is no jq here: the recipes cannot be tried");
        return false;
    }
    let text = format!("set -e\nPLAN_DIR={PLAN}\n{lines}");
    let status = Command::new("bash").args(["-c", &text]).current_dir(folder).stdout(Stdio::null()).status();
    assert!(status.expect("a shell").success(), "{lines}");
    true
}

/// What a recipe says, without the last line's end.
#[track_caller]
fn asked(sandbox: &Sandbox, lines: &str) -> String {
    let text = format!("PLAN_DIR={PLAN}\n{lines}");
    let out = Command::new("bash").args(["-c", &text]).current_dir(sandbox.project()).output();
    String::from_utf8(out.expect("a shell").stdout).expect("text").trim_end().to_owned()
}
