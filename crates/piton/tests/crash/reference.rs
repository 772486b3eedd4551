//! The reference plan: a retry, a textual conflict, a pair that is red together, two layers of parallel
//! tasks, a dirty main checkout with the target checked out in it, and landing checks.
//!
//! Its end does not depend on who is first: agents write what their worktree calls for, and those who are to
//! meet wait until the other one has begun.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use crate::sandbox::{Began, Ended, Sandbox};

pub(crate) const TASKS: [&str; 6] = ["A1", "A2", "B1", "B2", "F1", "F2"];

const PLAN: &str = r#"
name = "reference"

[agents.default]
command = ["sh", "-c", 'exec "$HOME/piton" scripted-agent "$HOME/agents.script"']

[policy]
max_parallel = 4
backoff = "10ms"
landing_checks = ["test -e log.txt"]

[defaults]
attempts = 3
timeout = "1m"

[[group]]
id = "1-first"
[[group]]
id = "2-then"

[[task]]
id = "F1"
title = "Write a file and commit it"
group = "1-first"
prompt = "Write one.txt."
checks = ["test -s one.txt"]

[[task]]
id = "F2"
title = "Pack the gear, wrong at first"
group = "1-first"
prompt = "Write gear.txt."
checks = ["grep -q rope gear.txt"]

[[task]]
id = "A1"
title = "Log the glacier"
group = "2-then"
prompt = "Add a line to log.txt."
checks = ["grep -q glacier log.txt"]

[[task]]
id = "A2"
title = "Log the ridge"
group = "2-then"
prompt = "Add a line to log.txt."
checks = ["grep -q ridge log.txt"]

[[task]]
id = "B1"
title = "Pack the tent"
group = "2-then"
prompt = "Write tent.txt; with food.txt there, both.txt too."
checks = ["test ! -e tent.txt || test ! -e food.txt || test -e both.txt"]

[[task]]
id = "B2"
title = "Pack the food"
group = "2-then"
prompt = "Write food.txt; with tent.txt there, both.txt too."
checks = ["test ! -e tent.txt || test ! -e food.txt || test -e both.txt"]
"#;

const SCRIPT: &str = r"
[F1]
run sh ROOT/began.sh
write one.txt One
run git add one.txt
run git commit --quiet --allow-empty -m One
[F2]
run sh ROOT/began.sh
write gear.txt rope
[F2 1]
run sh ROOT/began.sh
write gear.txt tent
[A1]
run sh ROOT/began.sh
run sh ROOT/log.sh A2 glacier
[A2]
run sh ROOT/began.sh
run sh ROOT/log.sh A1 ridge
[B1]
run sh ROOT/began.sh
run sh ROOT/pack.sh B2 tent.txt food.txt
[B2]
run sh ROOT/began.sh
run sh ROOT/pack.sh B1 food.txt tent.txt
";

/// Wait for the other one, then put the line in its place; conflict markers go on the way. As most programs do, it
/// replaces the only copy by a file that is not synced.
const LOG: &str = r#"
until grep -q "^$1 " ROOT/began.txt; do sleep 0.01; done
{ grep -v '^[<=>]\{7\}' log.txt; echo "$2"; } | sort -u > log.new && mv log.new log.txt
"#;

const PACK: &str = r#"
until grep -q "^$1 " ROOT/began.txt; do sleep 0.01; done
echo packed > "$2"
if test -e "$3"; then echo together > both.txt; fi
"#;

/// A person's own, in the main checkout: not a byte of it may change.
const MINE: &[u8] = b"mine, changed\r\nand not committed";
const NOTES: &[u8] = b"not even added\0";

/// Runs of agents that a crash-free run needs, for those who may stand in for each other.
pub(crate) const RUNS: [(&[&str], usize); 4] =
    [(&["F1"], 1), (&["F2"], 2), (&["A1", "A2"], 3), (&["B1", "B2"], 3)];

pub(crate) fn sandbox() -> Sandbox {
    let files = [("log.txt", "0 log\n"), ("mine.txt", "mine\n"), (".gitattributes", "* -text\n")];
    let sandbox = Sandbox::new(PLAN, SCRIPT, &files);
    for (name, text) in [("log.sh", LOG), ("pack.sh", PACK)] {
        fs::write(sandbox.root.join(name), text.replace("ROOT", sandbox.root.as_str())).expect("a file");
    }
    fs::write(sandbox.repo.join("mine.txt"), MINE).expect("a file");
    fs::write(sandbox.repo.join("notes.bin"), NOTES).expect("a file");
    sandbox
}

/// The crash-free run, made once: how it ends, and how often it passes each point.
pub(crate) fn crash_free() -> &'static (End, BTreeMap<String, usize>) {
    static RUN: OnceLock<(End, BTreeMap<String, usize>)> = OnceLock::new();
    RUN.get_or_init(|| {
        let sandbox = sandbox();
        let (ended, passes) = sandbox.run_traced();
        let end = End::of(&sandbox, &ended);
        end.assert_right(&ended);
        assert_runs(&sandbox, Killed::Engine);
        (end, passes)
    })
}

/// Who was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Killed {
    /// Keepers and agents lived on, and no git was at work.
    Engine,
    /// Keepers and agents lived on. A git that had something to say to its engine died of that.
    EngineOverGit,
    /// And its agent with it.
    Keeper,
    /// Gits in the middle of their work, too.
    Everything,
    /// And what was not synced is gone, so that agents may have to do their work again.
    Power,
}

/// Everything about the end of a run that does not depend on who was first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    code: Option<i32>,
    tree: String,
    landed: BTreeMap<String, usize>,
    /// Of the main checkout.
    status: String,
    mine: Vec<u8>,
    notes: Vec<u8>,
    leftovers: Vec<String>,
    doctor: Option<i32>,
    /// Failures by class: a crash spends nothing.
    failures: BTreeMap<String, usize>,
}

impl End {
    pub(crate) fn of(sandbox: &Sandbox, last: &Ended) -> End {
        let doctor = sandbox.piton(&["doctor"]);
        let mut failures = BTreeMap::new();
        for event in sandbox.events() {
            let class =
                event["class"].as_str().filter(|class| event["event"] == "failed" && *class != "transient");
            if let Some(class) = class {
                *failures.entry(class.to_owned()).or_insert(0) += 1;
            }
        }
        End {
            code: last.code(),
            tree: sandbox.git(&["rev-parse", "main^{tree}"]),
            landed: sandbox.landed(),
            status: sandbox.git(&["status", "--porcelain"]),
            mine: fs::read(sandbox.repo.join("mine.txt")).unwrap_or_default(),
            notes: fs::read(sandbox.repo.join("notes.bin")).unwrap_or_default(),
            leftovers: sandbox.leftovers(),
            doctor: doctor.code(),
            failures,
        }
    }

    /// That it is the end the plan is made for, from first principles.
    #[track_caller]
    pub(crate) fn assert_right(&self, last: &Ended) {
        assert_eq!(self.code, Some(0), "{}", last.text);
        assert_eq!(self.landed, TASKS.iter().map(|task| ((*task).to_owned(), 1)).collect());
        assert_eq!(self.status, " M mine.txt\n?? notes.bin");
        assert_eq!((self.mine.as_slice(), self.notes.as_slice()), (MINE, NOTES));
        assert_eq!(self.leftovers, Vec::<String>::new());
        assert_eq!(self.doctor, Some(0));
        let failures = [("code".to_owned(), 1), ("conflict".to_owned(), 2)];
        assert_eq!(self.failures, BTreeMap::from(failures));
    }
}

/// No job runs twice, and nobody runs again whose outcome was on disk: what is beyond the plan's own runs
/// made up for agents that died.
#[track_caller]
pub(crate) fn assert_runs(sandbox: &Sandbox, killed: Killed) {
    let began = sandbox.began();
    let mut jobs: Vec<&Began> = began.iter().collect();
    jobs.sort_by(|a, b| a.job.cmp(&b.job));
    jobs.dedup_by(|a, b| a.job == b.job);
    assert_eq!(jobs.len(), began.len(), "a job ran twice: {began:#?}");
    for (tasks, expected) in RUNS {
        let runs: usize = tasks.iter().map(|task| sandbox.runs_of(task)).sum();
        let died = sandbox.died(tasks);
        let kept = matches!(killed, Killed::Engine | Killed::EngineOverGit);
        assert!(!kept || died == 0, "an agent died although its keeper lived: {began:#?}");
        if killed == Killed::Power {
            assert!(runs >= expected + died, "runs of {tasks:?}, of which {died} died: {began:#?}");
            continue;
        }
        assert_eq!(runs, expected + died, "runs of {tasks:?}, of which {died} died: {began:#?}");
    }
}

/// Run to the end and see that it is the one of the crash-free run.
#[track_caller]
pub(crate) fn assert_recovers(sandbox: &Sandbox, killed: Killed) {
    let last = sandbox.run();
    let mut end = End::of(sandbox, &last);
    if matches!(killed, Killed::EngineOverGit | Killed::Everything | Killed::Power) {
        // What a killed merge left in a worktree may be somebody's, for all Piton knows: it is kept.
        end.leftovers.retain(|left| !left.starts_with("refs/piton/rescue/"));
    }
    assert_eq!(end, crash_free().0, "{}", last.text);
    assert_runs(sandbox, killed);
}
