//! Folders of the iterative system, from outside: the worked example in `examples/iterative/development` is run, fails,
//! is edited by hand and taken over. Its agents are scripted.
#![cfg(unix)]

mod edits;
mod example;
mod folder;
mod judges;
mod knowledge;
mod recipes;
mod rounds;
mod rows;
mod signals;
mod takeover;

use piton_testkit::sandbox::Sandbox;
use piton_testkit::text::timeless;
use serde_json::Value;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/iterative/development");
const PLAN: &str = ".claude/iterative/habits";
const TASKS: [&str; 3] = ["T1", "T2", "T3"];

/// What a good agent does for each task. One that looks once more does the same, and changes nothing by it.
const WORK: [(&str, &str); 3] = [
    ("T1", "write habits.sh case $1 in mark) echo $2,$3 >> marks.csv;; esac"),
    (
        "T2",
        "write habits.sh case $1 in mark) echo $2,$3 >> marks.csv;; count) sort -u marks.csv;; esac\n\
         write tests/count.sh grep -q count habits.sh",
    ),
    ("T3", "write docs/usage.md mark DAY NAME, count"),
];

fn does_well(id: &str) -> String {
    let (_, work) = WORK.iter().find(|(task, _)| *task == id).expect("a task");
    format!("{work}\n{}signal {id}_DONE\n", entry(id, 1, "all of it", "None"))
}

/// The line of a script that appends an entry to the log.
fn entry(id: &str, number: u32, did: &str, remaining: &str) -> String {
    let words = format!("## {id} - Iteration {number}\\n**Did:** {did}\\n**Remaining:** {remaining}");
    format!("append {PLAN}/progress.md \\n{words}\\n**Blockers:** None\n")
}

/// Agents that judge: they keep what they are asked about a unit, and do this.
fn judges(verifier: &str, reviewer: &str) -> String {
    let judge = |name: &str, deed: &str| {
        // Several may judge at once.
        let unit = "unit=$(sed -n 's/^[RV][a-z]* whether \\([^ ]*\\) is done.*/\\1/p' SIDE/asked.$$)";
        let script = format!("cat > SIDE/asked.$$; {unit}; cp SIDE/asked.$$ SIDE/{name}$unit.md; {deed}");
        format!("[agents.{name}]\ncommand = [\"sh\", \"-c\", {script:?}]\n")
    };
    judge("verifier", verifier) + &judge("reviewer", reviewer)
}

const CONTENT: (&str, &str) =
    ("echo \"<signal>${unit}_VERIFIED</signal>\"", "echo '<signal>REVIEW_PASS</signal>'");

/// A project that is a copy of the example, whose agents all do well but for what `others` says, and whose judges are
/// content.
fn habits(others: &str) -> Sandbox {
    judged(&judges(CONTENT.0, CONTENT.1), others)
}

fn judged(judges: &str, others: &str) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    sandbox.copy(EXAMPLE, "");
    let (script, binary) = (sandbox.root().join("agents.script"), env!("CARGO_BIN_EXE_piton"));
    let agent = format!("\n[agents.default]\ncommand = [\"{binary}\", \"scripted-agent\", \"{script}\"]\n");
    let judges = judges.replace("SIDE", sandbox.root().as_str());
    let policy = "[policy]\nbackoff = \"0s\"\n";
    sandbox.write("piton.toml", &(sandbox.read("piton.toml") + &agent + &judges + policy));
    act(&sandbox, others);
    sandbox.commit("Plan");
    sandbox
}

/// What an agent does in shell, as a line of a script. `$turn` counts the agents that did so.
fn does(sandbox: &Sandbox, name: &str, deed: &str) -> String {
    let side = sandbox.root();
    let count = format!("echo >> {side}/{name}.turns; turn=$(wc -l < {side}/{name}.turns | tr -d ' ')");
    let deed = deed.replace("SIDE", side.as_str());
    sandbox.write(side.join(format!("{name}.sh")), &format!("set -eu\n{count}\n{deed}\n"));
    format!("run sh {side}/{name}.sh\n")
}

fn act(sandbox: &Sandbox, others: &str) {
    let usual = TASKS.iter().filter(|id| !others.contains(&format!("[{id}]")));
    let usual: String = usual.map(|id| format!("[{id}]\n{}", does_well(id))).collect();
    sandbox.script(&format!("{others}{usual}"));
}

fn state(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read(format!("{PLAN}/state.json"))).expect("JSON")
}

fn statuses(sandbox: &Sandbox) -> Vec<String> {
    let state = state(sandbox);
    TASKS.iter().map(|id| state["tasks"][id]["status"].as_str().unwrap_or("none").to_owned()).collect()
}

fn log(sandbox: &Sandbox) -> String {
    sandbox.read(format!("{PLAN}/progress.md"))
}

/// The marks of the tasks' boxes, in their order.
fn marks(sandbox: &Sandbox) -> String {
    let text = sandbox.read(format!("{PLAN}/tasks.md"));
    text.lines()
        .filter(|line| line.contains("] **T"))
        .map(|line| line.chars().nth(3).unwrap_or('?'))
        .collect()
}

/// A text with everything taken out that differs between two runs: times, hashes, the run and its position.
fn masked(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let is_named = ["piton_seq", "piton_run"].iter().any(|name| line.contains(name));
        let line = if is_named { line.split(':').next().unwrap_or_default() } else { line };
        out += &timeless(line).split_inclusive([' ', '"', ':']).map(hashless).collect::<String>();
        out.push('\n');
    }
    out
}

fn hashless(word: &str) -> String {
    let bare = word.trim_end_matches([' ', '"', ':']);
    let is_hash = (7..=10).contains(&bare.len()) && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { format!("[HASH]{}", &word[bare.len()..]) } else { word.to_owned() }
}
