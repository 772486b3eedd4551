//! From a file of another system into a journal, and back into a file: what was told comes back, and what is counted
//! is counted right, which in the examples it was not.

use serde_json::json;

use super::*;
use crate::chronicle::bench::{layer, plan, spec};
use crate::plan::Oid;
use crate::run::{ContextUpdate, ImportedTask, Note, Proof, Session, Status};
use crate::time::Timestamp;

/// As the newer description of the file shows it.
const NEWER: &str = include_str!("fixtures/newer.json");
/// As the older one does: fields are missing, others have other names.
const OLDER: &str = include_str!("fixtures/older.json");

/// What git would say of a hash that it knows.
fn known(hash: &str) -> Oid {
    let digits: String = hash.bytes().map(|byte| char::from(b'0' + byte % 10)).collect();
    Oid::new(&format!("{digits:0<40}")).expect("forty digits")
}

/// A run that begins with what a file says, as an import makes it where git knows every commit and worktree.
fn adopt(state: &ForeignState) -> Bench {
    let layers: Vec<&str> = state.layers.iter().map(String::as_str).collect();
    let mut tasks = Vec::new();
    for name in state.tasks.keys() {
        let mut task = spec(name.as_str(), &[]);
        let number = name.as_str()[1..2].to_owned();
        let place = layers.iter().position(|layer| layer.starts_with(&number)).expect("its layer is there");
        task.group = u32::try_from(place).expect("few layers");
        tasks.push(task);
    }
    let mut plan = plan(&[], tasks);
    plan.groups = layers.iter().map(|name| layer(name)).collect();
    plan.name = state.slug.clone().expect("a slug");
    let mut bench = Bench::placed(plan, state.worktree_dir.clone());
    bench.now = state.updated_at.expect("a time");
    for (task, told) in &state.tasks {
        let hash = told.commits.last().map(|commit| known(&commit.hash));
        let (status, proof) = match told.status {
            TaskStatus::Completed => {
                let commit = hash.clone().expect("a commit");
                (Status::Completed, Some(Proof::Landed { verified: commit.clone(), commit }))
            }
            TaskStatus::Failed => (Status::Failed, None),
            TaskStatus::Abandoned => (Status::Abandoned, None),
            _ => (Status::Pending, None),
        };
        let done = u32::from(!matches!(told.status, TaskStatus::Failed | TaskStatus::Abandoned));
        let past = ImportedTask {
            spent: told.attempts.saturating_sub(done),
            proof,
            base: told.worktree_path.as_ref().map(|_| oid(1)),
            started_at: told.started_at,
            completed_at: told.completed_at,
            merged_at: told.merged_at,
            commits: told.commits.clone(),
            errors: told.errors.clone(),
            feedback: told.feedback.clone(),
            ..ImportedTask::plain(status)
        };
        bench.accept(&Command::Adopt { task: task.clone(), by: "import".to_owned(), past: Box::new(past) });
    }
    let (file, fields) = (FILE.to_owned(), state.carried(|task| state.tasks.contains_key(task)));
    bench.note(Note::Carried { file, fields });
    bench
}

/// The engine goes on with what was in progress.
fn go_on(bench: &mut Bench, state: &ForeignState) {
    let session = Session { max_parallel: state.max_parallel.unwrap_or(3), ..bench.session() };
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    for (task, told) in &state.tasks {
        if told.status == TaskStatus::InProgress {
            bench.start(task.as_str());
            bench.ready(task.as_str());
        }
    }
}

fn place_of(state: &ForeignState) -> Place {
    Place {
        project_path: state.project_path.clone().unwrap_or_default(),
        tasks_path: state.tasks_path.clone().unwrap_or_default(),
        ..Place::default()
    }
}

/// There and back.
fn trip(text: &str) -> (Value, Value) {
    let reading = read(text);
    assert!(reading.is_usable(), "{:?}", reading.problems);
    let mut bench = adopt(&reading.state);
    go_on(&mut bench, &reading.state);
    let file = project(&bench.state, &bench.chronicle, &place_of(&reading.state)).expect("a run");
    (reading.state.value, value(&file))
}

/// Each field of the old file that is not the same in the new one, but for those that are only there.
fn differences(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                differences(value, new.get(key).unwrap_or(&Value::Null), &format!("{at}.{key}"), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (n, (old, new)) in old.iter().zip(new).enumerate() {
                differences(old, new, &format!("{at}[{n}]"), found);
            }
        }
        (old, new) if old == new => {}
        (old, new) => found.push(format!("{at}: {old} → {new}")),
    }
}

#[test]
fn the_newer_example_comes_back() {
    let (old, new) = trip(NEWER);
    let mut found = Vec::new();
    differences(&old, &new, "", &mut found);
    insta::assert_snapshot!(found.join("\n"));
    recounted(&new);
}

#[test]
fn the_older_example_comes_back() {
    let (old, new) = trip(OLDER);
    let mut found = Vec::new();
    differences(&old, &new, "", &mut found);
    insta::assert_snapshot!(found.join("\n"));
    recounted(&new);
}

/// What a script would count in the file is what the file says.
pub(super) fn recounted(file: &Value) {
    let tasks = file["tasks"].as_object().expect("an object");
    let having = |word: &str| {
        let ids = tasks.iter().filter(|(_, task)| task["status"] == word).map(|(id, _)| json!(id));
        ids.collect::<Vec<Value>>()
    };
    let metrics = &file["metrics"];
    assert_eq!(metrics["tasks_total"], tasks.len());
    for (list, figure) in
        [("completed", "tasks_completed"), ("failed", "tasks_failed"), ("abandoned", "tasks_abandoned")]
    {
        assert_eq!(file[list], json!(having(list)));
        assert_eq!(metrics[figure], having(list).len(), "{figure}");
    }
    let figure = |name: &str| metrics[name].as_u64().expect("a number");
    assert_eq!(
        figure("tasks_total"),
        figure("tasks_completed") + figure("tasks_abandoned") + figure("tasks_remaining")
    );
    assert_eq!(figure("total_tasks"), figure("tasks_total"));
    assert_eq!(figure("completed_tasks"), figure("tasks_completed"));
    assert_eq!(figure("failed_tasks"), figure("tasks_failed") + figure("tasks_abandoned"));
    assert_eq!(figure("elapsed_seconds"), figure("elapsed_time_seconds"));
    let sum = |count: &dyn Fn(&Value) -> u64| tasks.values().map(count).sum::<u64>();
    let attempts = |task: &Value| task["attempts"].as_u64().expect("a number");
    assert_eq!(figure("total_attempts"), sum(&attempts));
    assert_eq!(figure("total_retries"), sum(&|task| attempts(task).saturating_sub(1)));
    assert_eq!(
        figure("total_commits"),
        sum(&|task| task["commits"].as_array().expect("a list").len() as u64)
    );
    let layers = file["layers"].as_object().expect("an object");
    let in_layers =
        |name: &str| layers.values().map(|layer| layer[name].as_u64().expect("a number")).sum::<u64>();
    assert_eq!(in_layers("tasks_total"), figure("tasks_total"));
    assert_eq!(in_layers("tasks_completed"), figure("tasks_completed"));
    assert_eq!(in_layers("tasks_failed"), figure("failed_tasks"));
    let priorities =
        file["merge_queue"].as_array().expect("a list").iter().map(|entry| entry["priority"].as_u64());
    assert!(priorities.eq((1..).map(Some).take(file["merge_queue"].as_array().expect("a list").len())));
}

#[test]
fn a_file_of_ours_comes_back_as_it_was() {
    let bench = completed();
    let reading = read(&shown(&bench));
    assert_eq!(reading.problems, []);
    assert_eq!(reading.state.piton_seq, Some(bench.chronicle.seq));
    assert_eq!(reading.state.value, super::json(&bench));
    assert_eq!(reading.state.context.expect("there was one").commit, Some(oid(99).to_string()));
    assert_eq!(reading.state.completed_at, Timestamp::parse("2026-01-10T10:32:00Z"));
}

#[test]
fn an_update_that_was_skipped_says_why() {
    let mut bench = landed();
    let update = ContextUpdate { skipped: "the file is read-only".to_owned(), ..ContextUpdate::default() };
    bench.accept(&Command::ContextUpdated(Box::new(update)));
    let update = &super::json(&bench)["context_update"];
    assert_eq!((&update["status"], &update["reason"]), (&json!("skipped"), &json!("the file is read-only")));
}
