//! What a run of the execute system keeps besides the journal: its state file, and what it entered in the project's
//! description. Here the reference plan is of that system, and it dies over those.

use std::fs;
use std::sync::{Arc, Mutex};

use piton_testkit::Rng;
use piton_testkit::trace::{Answer, Calls};
use serde_json::{Value, json};

use crate::points::{Mode, Place, crash_free};
use crate::reference::{self, Form, TASKS};
use crate::sandbox::{Ended, Sandbox};
use crate::{matrix, power, syscalls};

pub(crate) const PLAN: &str = "docs/tasks/reference";

const DESCRIPTION: &str = "# Tour\n\nA person's words.\n\n<project-context version=\"1.0\">\n  <meta>\n    \
    <last-updated>2026-01-01</last-updated>\n    <last-context-hash>none</last-context-hash>\n  </meta>\n  \
    <features>\n  </features>\n</project-context>\n";

/// The reference plan as the execute system writes it.
pub(crate) fn files() -> Vec<(String, String)> {
    let layers = ["1-first", "2-then"].map(|layer| {
        let tasks = reference::PLAN.iter().filter(|task| task.2 == layer);
        let tasks: Vec<Value> = tasks.map(|(id, title, ..)| json!({ "id": id, "name": title })).collect();
        json!({ "id": layer, "name": layer, "tasks": tasks })
    });
    let manifest = json!({ "prd": { "slug": "reference" }, "summary": { "total_tasks": TASKS.len() } });
    let mut files = vec![
        ("PROJECT.md".to_owned(), DESCRIPTION.to_owned()),
        (format!("{PLAN}/manifest.json"), manifest.to_string()),
        (format!("{PLAN}/layer_plan.json"), json!({ "layers": layers }).to_string()),
    ];
    for (id, title, layer, prompt, check) in reference::PLAN {
        let task = format!(
            "<task>
  <meta><id>{id}</id><name>{title}</name><layer>{layer}</layer><priority>1</priority></meta>
  <context><prd-excerpt>A tour.</prd-excerpt><tech-stack>Shell</tech-stack></context>
  <objective>{prompt}</objective>
  <requirements><requirement id=\"R1\">{prompt}</requirement></requirements>
  <verification><step>Run: `{check}`</step></verification>
  <exports><interface name=\"{title}\" type=\"service\">{title}</interface></exports>
</task>
"
        );
        files.push((format!("{PLAN}/{layer}/{id}-task.xml"), task));
    }
    files
}

/// Both at the end of a run, without times, hashes and paths, and without what depends on which task was first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    state: Value,
    description: String,
    /// Commits of `main` that changed it, the first one not counted.
    entered: usize,
}

impl Kept {
    /// The file has to be a picture of the whole journal, by its own word and by the doctor's.
    #[track_caller]
    pub(crate) fn of(sandbox: &Sandbox, events: &[Value], doctor: &Ended) -> Kept {
        let file = sandbox.repo.join(PLAN).join("execute-state.json");
        let text = fs::read_to_string(&file).expect("a state file");
        let mut state: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(state["piton_seq"], events.last().expect("a journal")["seq"], "{text}");
        assert!(doctor.text.contains("execute-state.json shows what the journal says"), "{}", doctor.text);
        for id in TASKS {
            let task = &mut state["tasks"][id];
            assert!(task["commits"].as_array().is_some_and(|commits| !commits.is_empty()), "{id}: {text}");
            if let Some(errors) = task["errors"].as_array_mut() {
                // An agent that died with its keeper is recorded there, too.
                errors.retain(|error| error["type"] == "verification_failed");
            }
            if reference::PAIRS.concat().contains(&id) {
                for of_the_second in ["errors", "retry_feedback"] {
                    task[of_the_second] = Value::Null;
                }
            }
        }
        smooth(&mut state);
        let description = sandbox.git(&["show", "main:PROJECT.md"]);
        assert_eq!(
            fs::read_to_string(sandbox.repo.join("PROJECT.md")).expect("checked out").trim_end(),
            description
        );
        let lines = description.lines().filter(|line| !line.contains("<last-"));
        let changes = sandbox.git(&["log", "--format=%h", "main", "--", "PROJECT.md"]);
        Kept {
            state,
            description: lines.map(|line| format!("{line}\n")).collect(),
            entered: changes.lines().count() - 1,
        }
    }

    /// From first principles, as [`reference::End::assert_right`].
    #[track_caller]
    pub(crate) fn assert_right(&self) {
        let state = &self.state;
        assert_eq!((&state["status"], &state["completed"]), (&json!("completed"), &json!(TASKS)));
        for id in TASKS {
            assert_eq!(state["tasks"][id]["status"], "completed", "{id}");
            assert_eq!(state["worktrees"][id]["status"], "cleaned", "{id}");
        }
        // Each task spends one attempt, and one that failed at first another. A conflict costs nothing, nor does a crash.
        assert_eq!(state["metrics"]["total_attempts"], TASKS.len() + 1);
        assert_eq!(state["context_update"]["status"], "completed");
        assert_eq!(self.entered, 1, "{}", self.description);
        for (_, title, ..) in reference::PLAN {
            let entry = format!("<name>{title}</name>");
            assert_eq!(self.description.matches(&entry).count(), 1, "{title}: {}", self.description);
        }
    }
}

/// Take out what differs from run to run; whether there is something stays.
fn smooth(value: &mut Value) {
    const OWN: [&str; 12] = [
        "hash",
        "timestamp",
        "commit_hash",
        "commits",
        "path",
        "project_path",
        "worktree_dir",
        "tasks_path",
        "project_md_path",
        "piton_run",
        "piton_seq",
        "priority",
    ];
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let own = OWN.contains(&name.as_str()) || name.ends_with("_at") || name.contains("elapsed");
                match own || name == "total_commits" {
                    true if !field.is_null() => *field = json!("…"),
                    _ => smooth(field),
                }
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(smooth);
            // The order of landing depends on which task was first.
            items.sort_by_key(ToString::to_string);
        }
        _ => {}
    }
}

#[test]
fn a_crash_over_the_state_file_or_the_description_changes_nothing_about_the_end() {
    matrix::assert_survived(Form::Execute, |point| {
        point.starts_with("files.") || point.starts_with("context.")
    });
}

/// Points over both, drawn by the seed. Two of three are changes that a plan of Piton's own does not make: of the
/// state file and its lock, and of the pin that holds the description's commit. The third is the last of its kind
/// on the target or its checkout, and that is the move to this commit.
fn draw(number: usize) -> Vec<(String, usize)> {
    let kinds = |words: [&str; 2]| -> Vec<(&String, &usize)> {
        let all = crash_free(Form::Execute).iter();
        all.filter(|(kind, _)| words.iter().any(|word| kind.contains(word))).collect()
    };
    let (own, moves) = (kinds(["p/PLAN", "/RUN/context"]), kinds(["refs/heads/main", "p/FILE"]));
    let mut dice = Rng::new(syscalls::seed());
    let mut one = |n| {
        let among = if n % 3 == 2 { &moves } else { &own };
        let (kind, &count) = among[dice.below(among.len())];
        (kind.clone(), if n % 3 == 2 { count } else { 1 + dice.below(count) })
    };
    (0..number).map(&mut one).collect()
}

#[test]
fn a_kill_over_the_state_file_or_the_description_changes_nothing_about_the_end() {
    let ways = [Mode::Engine, Mode::Everything].into_iter().cycle();
    let cases: Vec<_> = draw(3).into_iter().zip(ways).map(|((kind, nth), mode)| (kind, nth, mode)).collect();
    syscalls::assert_survived(Form::Execute, &cases);
}

#[test]
fn a_power_cut_over_the_state_file_or_the_description_loses_nothing() {
    let cases: Vec<Place> = draw(3).into_iter().map(|(kind, nth)| Place::Kind(kind, nth)).collect();
    power::assert_survived(Form::Execute, &cases);
}

/// One that is empty is a script's, and would be waited for.
#[test]
fn the_lock_beside_the_state_file_says_that_it_is_ours_from_its_first_moment() {
    let sandbox = Form::Execute.sandbox();
    let lock = sandbox.repo.join(PLAN).join("execute-state.lock");
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let calls = Calls { creates: true, writes: true };
    let (ended, traced) = sandbox.watched(&["next", "--plan", PLAN], calls, move |_| {
        noted.lock().expect("nobody panics in here").extend(fs::read_to_string(&lock));
        Answer::Go
    });
    ended.expect(0);
    traced.all_end();
    let seen = seen.lock().expect("nobody panics in here");
    assert!(!seen.is_empty(), "it is taken");
    assert!(seen.iter().all(|text| text.starts_with("piton ")), "{seen:?}");
}
