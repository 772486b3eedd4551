//! What makes a task another one: what stands at its own box, and nothing that the plan says for all.

use super::*;

/// The tasks that are other ones than before.
fn others(before: &Folder, after: &Folder) -> Vec<String> {
    let (before, after) = (reading(before).reading.plan, reading(after).reading.plan);
    let was = |id: &TaskId| before.tasks.iter().find(|old| old.id == *id).expect("it was there").content();
    after.tasks.iter().filter(|new| new.is_another_than(was(&new.id))).map(|new| new.id.to_string()).collect()
}

#[test]
fn words_for_all_tasks_do_not_make_one_another() {
    let list = |from: &str, to: &str| {
        assert!(TASKS.contains(from), "{from}");
        folder(&[
            ("requirements.md", REQUIREMENTS),
            ("design.md", DESIGN),
            ("tasks.md", &TASKS.replace(from, to)),
        ])
    };
    for (from, to) in [
        ("Issue #7 - Export invoices", "Issue #7 - Export bills"),
        ("Six tasks.", "Six tasks, all of them small."),
        ("Phase 1: Storage", "Phase 1: What is kept"),
        ("1.1 Add", "1.1 Add "),
    ] {
        assert_eq!(others(&invoices(), &list(from, to)), [""; 0], "{to}");
    }
    let requirements = REQUIREMENTS.replace("SHALL write a CSV file", "SHALL write a file");
    let other = folder(&[("requirements.md", &requirements), ("design.md", DESIGN), ("tasks.md", TASKS)]);
    assert_eq!(others(&invoices(), &other), [""; 0], "what a requirement says is not the task's");
    for (from, to) in [
        ("write through a temp file", "write in place"),
        ("_Requirements: 1.1, 1.2_", "_Requirements: 1.1, 1.3_"),
        ("Add `src/store.rs`", "Add `src/store.rs` and a test"),
    ] {
        assert_eq!(others(&invoices(), &list(from, to)), ["1.1"], "{to}");
    }
    let without: Folder = folder(&[("requirements.md", REQUIREMENTS), ("tasks.md", TASKS)]);
    let prompt = |folder: &Folder| reading(folder).reading.plan.tasks[0].prompt.clone();
    assert_ne!(prompt(&invoices()), prompt(&list("Issue #7 - Export invoices", "Issue #7 - Export bills")));
    assert_eq!(others(&invoices(), &without), [""; 0]);
}
