//! The recipes that people and agents of this system know: what each does to the file, and what is heard. Where `jq` is
//! installed, the recipes themselves are held against what is said here of what they do.

use std::io::Write as _;
use std::process::{Command as Process, Stdio};

use serde_json::json as value_of;

use super::edits::{done, heard, on};
use super::*;
use crate::run::Holder;

const NOW: &str = "2026-01-10T12:00:00+00:00";

/// One recipe, with its variables filled in.
struct Recipe {
    jq: &'static str,
    does: fn(&mut Value),
    comes_to: Vec<Edit>,
}

fn add(number: &mut Value, n: i64) {
    *number = value_of!(number.as_i64().unwrap_or(0) + n);
}

fn push(list: &mut Value, entry: Value) {
    list.as_array_mut().expect("a list").push(entry);
}

fn log(file: &mut Value, level: &str, message: &str) {
    push(&mut file["logs"], value_of!({"timestamp": NOW, "level": level, "message": message}));
}

/// What cannot be set here is refused, and said.
fn refused(task: Option<&str>, what: &str, why: &str) -> Vec<Edit> {
    let what = What::Rejected { what: what.to_owned(), why: why.to_owned() };
    vec![Edit { task: task.map(id), what }]
}

fn noted(text: &str) -> Edit {
    Edit { task: None, what: What::Noted { text: text.to_owned() } }
}

/// In the middle of a run: `T003` has failed once, `T010` is under way.
fn recipes() -> Vec<Recipe> {
    let files = || vec!["src/seo.ts".to_owned()];
    let compacted = value_of!({"batches": {"0": {"compacted": true}}});
    let addition = crate::system::Addition {
        id: id("T011"),
        title: "Print a receipt".to_owned(),
        description: None,
        layer: None,
        after: Vec::new(),
        files: Vec::new(),
        checks: None,
        about: AboutTask {
            story: Some("US-001".to_owned()),
            agent: Some("backend-architect".to_owned()),
            ..AboutTask::default()
        },
    };
    vec![
        // Add a task.
        Recipe {
            jq: r#".tasks["T011"] = {"description": "Print a receipt", "status": "pending", "agent": "backend-architect",
                "batch_id": null, "story_id": "US-001", "dependencies": [], "started_at": null, "completed_at": null,
                "files_modified": [], "files_mentioned": [], "error": null,
                "verification": {"agent_done": false, "files_exist": false, "state_synced": false}} |
                .progress.total_tasks += 1 | .progress.pending += 1 | .updated_at = $ts"#,
            does: |file| {
                file["tasks"]["T011"] = value_of!({"description": "Print a receipt", "status": "pending",
                    "agent": "backend-architect", "batch_id": null, "story_id": "US-001", "dependencies": [],
                    "started_at": null, "completed_at": null, "files_modified": [], "files_mentioned": [],
                    "error": null,
                    "verification": {"agent_done": false, "files_exist": false, "state_synced": false}});
                add(&mut file["progress"]["total_tasks"], 1);
                add(&mut file["progress"]["pending"], 1);
            },
            comes_to: vec![on("T011", What::Add { task: Box::new(addition) })],
        },
        // Claim it.
        Recipe {
            jq: r#".tasks["T003"].status = "in_progress" | .tasks["T003"].started_at = $ts |
                .progress.in_progress += 1 | .progress.pending -= 1 | .updated_at = $ts"#,
            does: |file| {
                file["tasks"]["T003"]["status"] = value_of!("in_progress");
                file["tasks"]["T003"]["started_at"] = value_of!(NOW);
                add(&mut file["progress"]["in_progress"], 1);
                add(&mut file["progress"]["pending"], -1);
            },
            comes_to: vec![on("T003", What::Start)],
        },
        // Mark it complete: the first layer.
        Recipe {
            jq: r#".tasks["T010"].status = "completed" | .tasks["T010"].completed_at = $ts |
                .tasks["T010"].files_modified = ["src/seo.ts"] | .tasks["T010"].files_mentioned = ["src/seo.ts"] |
                .tasks["T010"].verification.agent_done = true |
                .progress.completed += 1 | .progress.in_progress -= 1 | .updated_at = $ts"#,
            does: |file| {
                let task = &mut file["tasks"]["T010"];
                task["status"] = value_of!("completed");
                task["completed_at"] = value_of!(NOW);
                task["files_modified"] = value_of!(["src/seo.ts"]);
                task["files_mentioned"] = value_of!(["src/seo.ts"]);
                task["verification"]["agent_done"] = value_of!(true);
                add(&mut file["progress"]["completed"], 1);
                add(&mut file["progress"]["in_progress"], -1);
            },
            comes_to: vec![on(
                "T010",
                What::ReportDone { report: Report { files: files(), ..Report::default() } },
            )],
        },
        // Verify its files: the second.
        Recipe {
            jq: r#".tasks["T010"].verification.files_exist = true | .updated_at = $ts"#,
            does: |file| file["tasks"]["T010"]["verification"]["files_exist"] = value_of!(true),
            comes_to: refused(
                Some("T010"),
                "`verification.files_exist` of T010 was set",
                "Piton checks its files itself: `piton verify T010`",
            ),
        },
        // Sync it: the third.
        Recipe {
            jq: r#".tasks["T002"].verification.state_synced = true | .progress.verified += 1 | .updated_at = $ts"#,
            does: |file| {
                file["tasks"]["T002"]["verification"]["state_synced"] = value_of!(true);
                add(&mut file["progress"]["verified"], 1);
            },
            comes_to: refused(
                Some("T002"),
                "`verification.state_synced` of T002 was set",
                "it is set when the work is proven and its box is ticked",
            ),
        },
        // Mark it failed.
        Recipe {
            jq: r#".tasks["T010"].status = "failed" | .tasks["T010"].error = "the build is red" |
                .retry_counts["T010"] = ((.retry_counts["T010"] // 0) + 1) |
                .progress.failed += 1 | .progress.in_progress -= 1 | .updated_at = $ts"#,
            does: |file| {
                file["tasks"]["T010"]["status"] = value_of!("failed");
                file["tasks"]["T010"]["error"] = value_of!("the build is red");
                add(&mut file["retry_counts"]["T010"], 1);
                add(&mut file["progress"]["failed"], 1);
                add(&mut file["progress"]["in_progress"], -1);
            },
            comes_to: vec![on(
                "T010",
                What::Failed { reason: "the build is red".to_owned(), report: Report::default() },
            )],
        },
        // Once more, without a start in between.
        Recipe {
            jq: r#".tasks["T003"].status = "failed" | .tasks["T003"].error = "still red" |
                .retry_counts["T003"] = ((.retry_counts["T003"] // 0) + 1) |
                .progress.failed += 1 | .progress.in_progress -= 1 | .updated_at = $ts"#,
            does: |file| {
                file["tasks"]["T003"]["error"] = value_of!("still red");
                add(&mut file["retry_counts"]["T003"], 1);
                add(&mut file["progress"]["failed"], 1);
                add(&mut file["progress"]["in_progress"], -1);
            },
            comes_to: vec![on(
                "T003",
                What::Failed { reason: "still red".to_owned(), report: Report::default() },
            )],
        },
        // Mark it blocked.
        Recipe {
            jq: r#".tasks["T003"].status = "blocked" | .blocked_tasks += ["T003"] |
                .progress.blocked += 1 | .progress.failed -= 1 | .updated_at = $ts |
                .logs += [{"timestamp": $ts, "level": "error", "message": ("Task T003 BLOCKED after 3 retries")}]"#,
            does: |file| {
                file["tasks"]["T003"]["status"] = value_of!("blocked");
                push(&mut file["blocked_tasks"], value_of!("T003"));
                add(&mut file["progress"]["blocked"], 1);
                add(&mut file["progress"]["failed"], -1);
                log(file, "error", "Task T003 BLOCKED after 3 retries");
            },
            comes_to: vec![
                on(
                    "T003",
                    What::Blocked {
                        reason: "check `test` failed with exit status 101".to_owned(),
                        report: Report::default(),
                    },
                ),
                noted("error: Task T003 BLOCKED after 3 retries"),
            ],
        },
        // Update a gate.
        Recipe {
            jq: r#".quality_gates["unit_tests"] = "passed" | .updated_at = $ts"#,
            does: |file| file["quality_gates"]["unit_tests"] = value_of!("passed"),
            comes_to: vec![on("gate-unit_tests", done())],
        },
        Recipe {
            jq: r#".quality_gates["qa_review"] = "approved" | .updated_at = $ts"#,
            does: |file| file["quality_gates"]["qa_review"] = value_of!("approved"),
            comes_to: vec![on("gate-qa_review", done())],
        },
        // Mark a phase degraded.
        Recipe {
            jq: r#".degraded_phases += ["unit_tests"] | .quality_gates["unit_tests"] = "degraded" | .updated_at = $ts |
                .logs += [{"timestamp": $ts, "level": "warning", "message": "Phase unit_tests DEGRADED"}]"#,
            does: |file| {
                push(&mut file["degraded_phases"], value_of!("unit_tests"));
                file["quality_gates"]["unit_tests"] = value_of!("degraded");
                log(file, "warning", "Phase unit_tests DEGRADED");
            },
            comes_to: vec![on("gate-unit_tests", What::Skip), noted("warning: Phase unit_tests DEGRADED")],
        },
        // One more round of the review.
        Recipe {
            jq: ".qa_cycles += 1 | .updated_at = $ts",
            does: |file| add(&mut file["qa_cycles"], 1),
            comes_to: refused(
                None,
                "`qa_cycles` is 1",
                "reviews are counted when they are made; `piton gate qa_review failed` asks for another",
            ),
        },
        // Create a batch, start it, complete it.
        Recipe {
            jq: r#".batches += [{"batch_id": 0, "task_ids": ["T001", "T002"], "status": "pending", "started_at": null,
                "completed_at": null, "compacted": false}] | .updated_at = $ts"#,
            does: |file| {
                push(
                    &mut file["batches"],
                    value_of!({"batch_id": 0, "task_ids": ["T001", "T002"], "status": "pending", "started_at": null,
                        "completed_at": null, "compacted": false}),
                );
            },
            comes_to: refused(
                None,
                "a batch 0 was added",
                "batches follow from dependencies; `piton batch` shows them",
            ),
        },
        Recipe {
            jq: r#".batches[0].status = "in_progress" | .batches[0].started_at = $ts | .current_batch = 0 |
                .updated_at = $ts"#,
            does: |file| {
                file["batches"][0]["status"] = value_of!("in_progress");
                file["batches"][0]["started_at"] = value_of!(NOW);
                file["current_batch"] = value_of!(0);
            },
            comes_to: refused(
                None,
                "the batch 0 is \"in_progress\"",
                "its status follows from its tasks; `piton batch` shows it",
            ),
        },
        Recipe {
            jq: r#".batches[0].status = "completed" | .batches[0].completed_at = $ts | .batches[0].compacted = true |
                .current_batch = null | .updated_at = $ts"#,
            does: |file| {
                file["batches"][0]["status"] = value_of!("completed");
                file["batches"][0]["completed_at"] = value_of!(NOW);
                file["batches"][0]["compacted"] = value_of!(true);
                file["current_batch"] = value_of!(null);
            },
            comes_to: vec![Edit { task: None, what: What::Carried { fields: compacted } }],
        },
        // Set the resume point.
        Recipe {
            jq: r#".resume_point = {"batch_id": 1, "task_id": "T010", "phase": "implementation"} | .updated_at = $ts"#,
            does: |file| {
                file["resume_point"] =
                    value_of!({"batch_id": 1, "task_id": "T010", "phase": "implementation"});
            },
            comes_to: refused(
                None,
                "`resume_point` was set",
                "it is the first task, or gate, that is not done; `piton resume-point` shows it",
            ),
        },
        // Complete the execution, whatever is left.
        Recipe {
            jq: r#".status = "completed" | .updated_at = $ts |
                .resume_point = {"batch_id": null, "task_id": null, "phase": null} |
                .logs += [{"timestamp": $ts, "level": "info", "message": "Full pipeline completed"}]"#,
            does: |file| {
                file["status"] = value_of!("completed");
                file["resume_point"] = value_of!({"batch_id": null, "task_id": null, "phase": null});
                log(file, "info", "Full pipeline completed");
            },
            comes_to: [
                vec![noted("Full pipeline completed")],
                refused(
                    None,
                    "`status` is \"completed\"",
                    "it is completed when every task and gate is; `piton status` shows what is left",
                ),
            ]
            .concat(),
        },
        // Pause it.
        Recipe {
            jq: r#".status = "paused" | .updated_at = $ts"#,
            does: |file| file["status"] = value_of!("paused"),
            comes_to: vec![Edit { task: None, what: What::Stop }],
        },
        // Add a line to the log.
        Recipe {
            jq: r#".logs += [{"timestamp": $ts, "level": "info", "message": "Batch 0 completed"}] | .updated_at = $ts"#,
            does: |file| log(file, "info", "Batch 0 completed"),
            comes_to: vec![noted("Batch 0 completed")],
        },
    ]
}

#[test]
fn every_recipe_that_writes_the_file_is_heard_as_what_it_is_for() {
    for Recipe { jq, does, comes_to } in recipes() {
        let edits = heard(&middle(), |file| {
            does(file);
            file["updated_at"] = value_of!(NOW);
        });
        assert_eq!(edits, comes_to, "{jq}");
    }
}

/// The same state as the run in the middle, but a person beside the engine got there by the recipes.
fn by_hand() -> Bench {
    let mut bench = fresh();
    bench.attach();
    reported(&mut bench, "T001", None);
    reported(&mut bench, "T002", None);
    reported(&mut bench, "T003", Some("expected 201"));
    bench.accept(&Command::Start { task: id("T010"), holder: Holder::Ledger("ann".to_owned()) });
    bench
}

#[test]
fn what_the_recipes_ask_for_can_be_done() {
    for Recipe { jq, does, .. } in recipes() {
        let mut bench = by_hand();
        for edit in heard(&bench, does) {
            let commands = commands(&edit, "ann");
            let later = matches!(edit.what, What::ReportDone { .. } | What::Add { .. });
            assert_eq!(commands.is_empty(), later, "{edit}");
            for command in commands {
                bench.try_(&command).unwrap_or_else(|refusal| panic!("{jq}: {refusal}"));
            }
        }
        recounted(&json(&bench));
    }
}

/// One that fails through to blocked, by the recipes alone: each claim takes it from the pending ones once more.
#[test]
fn counting_by_the_recipes_goes_wrong_and_does_not_matter() {
    let mut bench = fresh();
    let mut pending = json(&bench)["progress"]["pending"].as_i64().expect("a number");
    for _ in 0..4 {
        for (word, counted) in [("in_progress", -1), ("failed", 0)] {
            pending += counted;
            let edits = heard(&bench, |file| {
                file["tasks"]["T001"]["status"] = value_of!(word);
                file["progress"]["pending"] = value_of!(pending);
                if word == "failed" {
                    file["tasks"]["T001"]["error"] = value_of!("no");
                    add(&mut file["retry_counts"]["T001"], 1);
                }
            });
            edits.iter().flat_map(|edit| commands(edit, "ann")).for_each(|command| bench.accept(&command));
        }
    }
    let file = json(&bench);
    assert_eq!((pending, &file["progress"]["pending"]), (1, &value_of!(0)), "four of them were one");
    assert_eq!((&file["progress"]["blocked"], &file["progress"]["skipped"]), (&value_of!(1), &value_of!(4)));
    assert_eq!(
        (&file["tasks"]["T001"]["status"], &file["retry_counts"]["T001"]),
        (&value_of!("blocked"), &value_of!(4))
    );
    assert_eq!(file["tasks"]["T002"]["blocked_by"], value_of!(["T001"]));
    recounted(&file);
}

/// What `jq` makes of this text. `None`: it is not installed.
#[expect(clippy::disallowed_methods, reason = "the recipes are for this program, so it is the judge")]
fn jq(args: &[&str], input: &str) -> Option<String> {
    let mut child =
        Process::new("jq").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn the_recipes_do_what_is_said_of_them() {
    let bench = middle();
    for recipe in recipes() {
        let Some(found) = jq(&["--arg", "ts", NOW, recipe.jq], &shown(&bench)) else { return };
        let found: Value = serde_json::from_str(&found).expect("JSON");
        let mut said = json(&bench);
        (recipe.does)(&mut said);
        said["updated_at"] = value_of!(NOW);
        assert_eq!(found, said, "{}", recipe.jq);
    }
}

#[test]
fn every_recipe_that_reads_the_file_works() {
    let text = shown(&over());
    let Some(same) = jq(&["."], &text) else { return };
    assert_eq!(same, text, "byte for byte as jq writes it");
    let says = |recipe: &str| jq(&["-c", "-r", recipe], &text).expect("it ran a moment ago");
    assert_eq!(says(".progress.total_tasks"), "5\n");
    assert_eq!(says(".quality_gates.qa_review"), "approved\n");
    assert_eq!(says(".blocked_tasks"), "[\"T003\"]\n");
    assert_eq!(says(".degraded_phases"), "[\"licences\"]\n");
    assert_eq!(says(".resume_point.phase // empty"), "", "nothing is left to do");
    let text = shown(&middle());
    let says = |recipe: &str| jq(&["-c", "-r", recipe], &text).expect("it ran a moment ago");
    assert_eq!(says(".resume_point.phase // empty"), "implementation\n");
    assert_eq!(says(".resume_point.batch_id // empty"), "1\n");
    assert_eq!(says(".batches[1].task_ids"), "[\"T002\",\"T003\",\"T010\"]\n");
}
