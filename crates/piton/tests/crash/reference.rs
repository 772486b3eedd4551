//! The reference plan: a retry, a textual conflict, a pair that is red together, two layers of parallel
//! tasks, a dirty main checkout with the target checked out in it, and landing checks.
//!
//! Its end does not depend on which task is first: agents write what their worktree calls for, and those who are to
//! meet wait until the other one has begun.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::sync::OnceLock;

use crate::kept::{self, Kept};
use crate::person::{PERSON, Person};
use crate::sandbox::{Began, Ended, Sandbox};

/// Two that go their own ways, two that meet in one file, and two that are red together.
pub(crate) const TASKS: [&str; 6] = ["L1-001", "L1-002", "L2-001", "L2-002", "L2-003", "L2-004"];

/// Each with its title, its group, what it is told and how it is judged.
pub(crate) const PLAN: [(&str, &str, &str, &str, &str); 6] = [
    (TASKS[0], "Write a file and commit it", "1-first", "Write one.txt.", "test -s one.txt"),
    (TASKS[1], "Pack the gear, wrong at first", "1-first", "Write gear.txt.", "grep -q rope gear.txt"),
    (TASKS[2], "Log the glacier", "2-then", "Add a line to log.txt.", "grep -q glacier log.txt"),
    (TASKS[3], "Log the ridge", "2-then", "Add a line to log.txt.", "grep -q ridge log.txt"),
    (TASKS[4], "Pack the tent", "2-then", "Write tent.txt; with food.txt there, both.txt too.", BOTH),
    (TASKS[5], "Pack the food", "2-then", "Write food.txt; with tent.txt there, both.txt too.", BOTH),
];

const BOTH: &str = "test ! -e tent.txt || test ! -e food.txt || test -e both.txt";

const SETTINGS: &str = r#"
[agents.default]
command = ["sh", "-c", 'exec "$HOME/piton" scripted-agent "$HOME/agents.script"']

[policy]
max_parallel = 4
backoff = "10ms"
landing_checks = ["test -e log.txt"]

[defaults]
attempts = 3
timeout = "1m"
"#;

/// Agents tell their test what they did in files beside their worktree.
pub(crate) const FENCE: &str = "\n[sandbox]\nwritable = [\"~/began.txt\", \"~/hold\"]\n";

/// The system that the plan is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Native,
    /// With the state file of that system, and a description of the project to enter the results in.
    Execute,
    /// The native one, with its agents behind a fence: each attempt has a git directory of its own.
    Fenced,
    /// The native one, with so many proofs at the same time, and a person who commits in the middle of it.
    Window1,
    Window2,
    Window5,
}

/// The forms with a window.
pub(crate) const WINDOWS: [Form; 3] = [Form::Window1, Form::Window2, Form::Window5];

impl Form {
    /// As the environment of the tests asks for it.
    pub(crate) fn wished() -> Form {
        match std::env::var("PITON_CRASH_PLAN").as_deref() {
            Ok("execute") => Form::Execute,
            Ok("fenced") => Form::Fenced,
            Ok("window-1") => Form::Window1,
            Ok("window-2") => Form::Window2,
            Ok("window-5") => Form::Window5,
            Ok("native") | Err(_) => Form::Native,
            Ok(other) => {
                panic!("PITON_CRASH_PLAN is native, fenced, execute or window-1, -2, -5, not {other}")
            }
        }
    }

    /// How many proofs there are at the same time, if it is about that.
    pub(crate) fn window(self) -> Option<u32> {
        match self {
            Form::Native | Form::Execute | Form::Fenced => None,
            Form::Window1 => Some(1),
            Form::Window2 => Some(2),
            Form::Window5 => Some(5),
        }
    }

    pub(crate) fn sandbox(self) -> Sandbox {
        let files = match self {
            Form::Native | Form::Window1 | Form::Window2 | Form::Window5 => {
                vec![("plan.toml".to_owned(), native_plan(self.window()))]
            }
            Form::Fenced => vec![("plan.toml".to_owned(), native_plan(None) + FENCE)],
            Form::Execute => [vec![("piton.toml".to_owned(), SETTINGS.to_owned())], kept::files()].concat(),
        };
        let project = [("log.txt", "0 log\n"), ("mine.txt", "mine\n"), (".gitattributes", "* -text\n")];
        let files = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let plan = if self == Form::Execute { kept::PLAN } else { "plan.toml" };
        let mut sandbox = Sandbox::new(plan, SCRIPT, &project.into_iter().chain(files).collect::<Vec<_>>());
        (sandbox.form, sandbox.fenced) = (self, self == Form::Fenced);
        for (name, text) in [("log.sh", LOG), ("pack.sh", PACK)] {
            fs::write(sandbox.root.join(name), text.replace("ROOT", sandbox.root.as_str())).expect("a file");
        }
        fs::write(sandbox.repo.join("mine.txt"), MINE).expect("a file");
        fs::write(sandbox.repo.join("notes.bin"), NOTES).expect("a file");
        sandbox
    }

    /// The crash-free run, made once: how it ends, and how often it passes each point.
    pub(crate) fn crash_free(self) -> &'static (End, BTreeMap<String, usize>) {
        static RUNS: [OnceLock<(End, BTreeMap<String, usize>)>; 6] = [const { OnceLock::new() }; 6];
        RUNS[self as usize].get_or_init(|| {
            let sandbox = self.sandbox();
            let (ended, passes) = sandbox.run_traced();
            let end = End::of(&sandbox, &ended);
            end.assert_right(&ended);
            assert_runs(&sandbox, Killed::Engine);
            (end, passes)
        })
    }
}

fn native_plan(window: Option<u32>) -> String {
    let window = window.map(|window| format!("[policy]\nlanding_parallel = {window}")).unwrap_or_default();
    let settings = SETTINGS.replace("[policy]", if window.is_empty() { "[policy]" } else { &window });
    let mut plan = format!("name = \"reference\"\n{settings}");
    for group in ["1-first", "2-then"] {
        let _ = write!(plan, "[[group]]\nid = \"{group}\"\n");
    }
    for (id, title, group, prompt, check) in PLAN {
        let _ = write!(
            plan,
            "[[task]]\nid = \"{id}\"\ntitle = \"{title}\"\ngroup = \"{group}\"\n\
             prompt = \"{prompt}\"\nchecks = [\"{check}\"]\n"
        );
    }
    plan
}

const SCRIPT: &str = r"
[L1-001]
run sh ROOT/began.sh
write one.txt One
run git add one.txt
run git commit --quiet --allow-empty -m One
[L1-002]
run sh ROOT/began.sh
write gear.txt rope
[L1-002 1]
run sh ROOT/began.sh
write gear.txt tent
[L2-001]
run sh ROOT/began.sh
run sh ROOT/log.sh L2-002 glacier
[L2-002]
run sh ROOT/began.sh
run sh ROOT/log.sh L2-001 ridge
[L2-003]
run sh ROOT/began.sh
run sh ROOT/pack.sh L2-004 tent.txt food.txt
[L2-004]
run sh ROOT/began.sh
run sh ROOT/pack.sh L2-003 food.txt tent.txt
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

/// Those who meet: the second one to land has to try again.
pub(crate) const PAIRS: [[&str; 2]; 2] = [["L2-001", "L2-002"], ["L2-003", "L2-004"]];

/// Runs of agents that a crash-free run needs, for those who may stand in for each other.
pub(crate) const RUNS: [(&[&str], usize); 4] =
    [(&["L1-001"], 1), (&["L1-002"], 2), (&PAIRS[0], 3), (&PAIRS[1], 3)];

/// In the form that is wished for.
pub(crate) fn sandbox() -> Sandbox {
    Form::wished().sandbox()
}

/// Which processes were killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Killed {
    /// Keepers and agents lived on, and no git was at work.
    Engine,
    /// Keepers and agents lived on. A git that had something to say to its engine died of that.
    EngineOverGit,
    /// A git process alone. Its engine has to go on to the end by itself.
    Git,
    /// And its agent with it.
    Keeper,
    /// Gits in the middle of their work, too.
    Everything,
    /// And what was not synced is gone, so that agents may have to do their work again.
    Power,
}

/// Everything about the end of a run that does not depend on which task was first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    code: Option<i32>,
    /// Every file, without the project's description: that one tells a time.
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
    /// Besides the journal.
    kept: Option<Kept>,
}

impl End {
    pub(crate) fn of(sandbox: &Sandbox, last: &Ended) -> End {
        let doctor = sandbox.piton(&["doctor"]);
        let tree = sandbox.git(&["ls-tree", "-r", "main"]);
        let tree = tree.lines().filter(|line| !line.ends_with("\tPROJECT.md")).collect::<Vec<_>>().join("\n");
        let mut failures = BTreeMap::new();
        let events = sandbox.events();
        for event in &events {
            let class =
                event["class"].as_str().filter(|class| event["event"] == "failed" && *class != "transient");
            if let Some(class) = class {
                *failures.entry(class.to_owned()).or_insert(0) += 1;
            }
        }
        End {
            code: last.code(),
            tree,
            landed: sandbox.landed(),
            status: sandbox.git(&["status", "--porcelain"]),
            mine: fs::read(sandbox.repo.join("mine.txt")).unwrap_or_default(),
            notes: fs::read(sandbox.repo.join("notes.bin")).unwrap_or_default(),
            leftovers: sandbox.leftovers(),
            kept: (sandbox.form == Form::Execute).then(|| Kept::of(sandbox, &events, &doctor)),
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
        if let Some(kept) = &self.kept {
            kept.assert_right();
        }
    }
}

/// No job runs twice, and none runs again whose outcome was on disk: what is beyond the plan's own runs
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
        let kept = matches!(killed, Killed::Engine | Killed::EngineOverGit | Killed::Git);
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
    if let Some(person) = Person::of(sandbox) {
        person.commits_unless_done();
    }
    assert_ended(sandbox, &sandbox.run(), killed);
}

/// See that a run has ended like the crash-free one.
#[track_caller]
pub(crate) fn assert_ended(sandbox: &Sandbox, last: &Ended, killed: Killed) {
    let mut end = End::of(sandbox, last);
    if matches!(killed, Killed::EngineOverGit | Killed::Git | Killed::Everything | Killed::Power) {
        // What a killed merge left in a worktree may be a person's work, for all Piton knows. It is kept and reported.
        let events = sandbox.events();
        let told =
            |name: &str| events.iter().any(|event| event["event"] == "rescued" && event["reference"] == name);
        // And what a killed git had not named yet is git's own, for its `gc` to take.
        let of_git = |left: &str| left.contains("/.git/objects/") && left.contains("/tmp_");
        // What was left where merged trees are proven is not a task's, so that no event can tell it.
        let rescued =
            |left: &str| left.starts_with("refs/piton/rescue/") && (told(left) || left.ends_with("/landing"));
        end.leftovers.retain(|left| !rescued(left) && !of_git(left));
    }
    assert_eq!(end, sandbox.form.crash_free().0, "{}", last.text);
    let by_person =
        sandbox.git(&["log", "--format=%s", "main"]).lines().filter(|line| *line == PERSON).count();
    assert_eq!(by_person, usize::from(sandbox.form.window().is_some()), "{}", last.text);
    assert_runs(sandbox, killed);
}
