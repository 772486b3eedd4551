//! Runs to write down, shared by the tests of this room.

mod anything;
mod edits;
mod golden;
mod recipes;
mod rows;
mod trips;

use serde_json::Value;

use super::*;
use crate::chronicle::bench::{Bench, id, oid, plan, spec};
use crate::plan::{About, AboutTask, Exhausted, Plan, Schedule, Story, TaskSpec};
use crate::run::{Claim, Command, Report, StopReason, Verdict};

const TASKS: [&str; 5] = ["T001", "T002", "T003", "T010", "T004"];

fn task(name: &str, needs: &[&str], group: u32, attempts: u32) -> TaskSpec {
    TaskSpec { group, attempts, ..spec(name, needs) }
}

/// A run whose groups are its batches, then its gates.
fn bench(groups: &[&str], tasks: Vec<TaskSpec>, about: About) -> Bench {
    let mut plan: Plan = plan(groups, tasks);
    plan.name = "2-1-receipts".to_owned();
    plan.settings.form = crate::system::Form::Rwkit(Box::new(about));
    plan.settings.auto_answer = true;
    plan.settings.exhausted = Exhausted::Pass;
    // So that the tests need not do everything in its order.
    plan.settings.schedule = Schedule::Flow;
    Bench::new(plan)
}

/// Three batches and three gates, one of them custom.
fn fresh() -> Bench {
    let tasks = vec![
        task("T001", &[], 0, 4),
        task("T002", &["T001"], 1, 4),
        task("T003", &["T001"], 1, 4),
        task("T010", &["T001"], 1, 4),
        task("T004", &["T003"], 2, 4),
        task("gate-unit_tests", &[], 3, 3),
        task("gate-licences", &[], 4, 3),
        task("gate-qa_review", &[], 5, 2),
    ];
    bench(&["batch-1", "batch-2", "batch-3", "unit_tests", "licences", "qa_review"], tasks, about())
}

const PROJECT: &str = "/home/ann/projects/shop";

fn about() -> About {
    let text = str::to_owned;
    let about = |story: &str, agent: Option<&str>, files: &[&str]| AboutTask {
        story: Some(text(story)),
        agent: agent.map(text),
        size: None,
        files: files.iter().map(|&file| text(file)).collect(),
    };
    let tasks = [
        ("T001", about("ALL", Some("backend-architect"), &["db/receipts.sql"])),
        ("T002", about("US-001", Some("backend-architect"), &["src/api/[id]/save.ts"])),
        ("T003", about("US-001", None, &["src/keep.ts", "src/views/"])),
        ("T010", about("SEO", None, &[])),
        ("T004", about("US-002", Some("frontend"), &["src/find.ts"])),
    ];
    let story = |id: &str, title: &str| Story { id: text(id), title: text(title) };
    About {
        todolist_path: text("plans/2-1-receipts-todolist.md"),
        plan_path: text("plans/2-1-receipts-plan.md"),
        stories: vec![story("ALL", ""), story("US-001", "Keep a receipt"), story("US-002", "Find a receipt")],
        tasks: tasks.map(|(name, about)| (id(name), about)).into_iter().collect(),
        ..About::default()
    }
}

/// One has landed, one waits to land, one failed, one is under way.
fn middle() -> Bench {
    let mut bench = fresh();
    bench.attach();
    bench.finish("T001", 11);
    bench.verify("T002", &[(21, "Add the endpoint")]);
    bench.fails("T003", &[(31, "Keep them")], "expected 201\ngot 422");
    bench.start("T010");
    bench
}

/// A person without an engine reports how it ended; its checks agree.
fn reported(bench: &mut Bench, name: &str, claim: Option<&str>) {
    let claim = match claim {
        Some(reason) => Claim::Failed { reason: reason.to_owned() },
        None => Claim::Done {
            tree: None,
            results: bench.results(name, &Verdict::Pass, ""),
            evidence: crate::run::Evidence::file("work"),
        },
    };
    bench.report(name, claim, Report::default());
}

/// One was given up and one waits for it in vain, a gate was gone on without, and the review took two rounds.
fn over() -> Bench {
    let mut bench = middle();
    bench.land("T002");
    bench.clean("T002");
    for n in 1..4 {
        bench.fails("T003", &[(31 + n, "Try")], "still wrong");
    }
    bench.ready("T010");
    bench.work("T010", &[(41, "Name the pages")]);
    bench.checks_end("T010", &Verdict::Pass, "");
    bench.land("T010");
    bench.clean("T010");
    reported(&mut bench, "gate-unit_tests", None);
    reported(&mut bench, "gate-licences", Some("two files have none"));
    let (task, by, reason) = (id("gate-licences"), "piton".to_owned(), "its attempts are spent".to_owned());
    bench.accept(&Command::Skip { task, by, reason });
    reported(&mut bench, "gate-qa_review", Some("CRITICAL: a receipt is lost"));
    reported(&mut bench, "gate-qa_review", None);
    bench.detach(StopReason::Ended);
    bench
}

fn file(bench: &Bench) -> StateFile {
    project(&bench.state, &bench.chronicle, PROJECT).expect("a run")
}

fn shown(bench: &Bench) -> String {
    text(&file(bench))
}

fn json(bench: &Bench) -> Value {
    value(&file(bench))
}

/// What a script would count in the file is what the file says.
#[track_caller]
fn recounted(file: &Value) {
    let tasks = file["tasks"].as_object().expect("an object");
    let having = |word: &str| tasks.values().filter(|task| task["status"] == word).count();
    let progress = &file["progress"];
    assert_eq!(progress["total_tasks"], tasks.len());
    let words = ["completed", "in_progress", "pending", "failed", "blocked", "skipped"];
    for word in words {
        assert_eq!(progress[word], having(word), "{word}");
    }
    assert_eq!(words.map(having).iter().sum::<usize>(), tasks.len(), "the sum is the total");
    let flags = |task: &Value| {
        ["agent_done", "files_exist", "state_synced"].map(|flag| task["verification"][flag] == true)
    };
    assert_eq!(progress["verified"], tasks.values().filter(|task| flags(task) == [true; 3]).count());
    let blocked: Vec<&String> =
        tasks.iter().filter(|(_, task)| task["status"] == "blocked").map(|(id, _)| id).collect();
    assert_eq!(file["blocked_tasks"], serde_json::json!(blocked));
    for (id, story) in file["user_stories"].as_object().expect("an object") {
        let own = || tasks.values().filter(|task| task["story_id"] == id.as_str());
        assert_eq!(story["total_tasks"], own().count(), "{id}");
        assert_eq!(
            story["completed_tasks"],
            own().filter(|task| task["status"] == "completed").count(),
            "{id}"
        );
        if story["status"] == "completed" {
            assert!(own().all(|task| task["status"] == "completed" || task["status"] == "skipped"), "{id}");
        }
    }
    for (place, batch) in file["batches"].as_array().expect("a list").iter().enumerate() {
        assert_eq!(batch["batch_id"], place, "found where the recipes look for it");
        let own: Vec<&String> =
            tasks.iter().filter(|(_, task)| task["batch_id"] == place).map(|(id, _)| id).collect();
        assert_eq!(batch["task_ids"], serde_json::json!(own));
        assert_eq!(batch["status"] == "completed", !batch["completed_at"].is_null());
    }
    let gates = file["quality_gates"].as_object().expect("an object");
    let degraded: Vec<&str> =
        file["degraded_phases"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(gates.values().filter(|word| *word == "degraded").count(), degraded.len());
    assert!(degraded.iter().all(|name| gates[*name] == "degraded"));
}
