//! What makes a task another one: its own line and what stands below it, and nothing that the list says for all.

use super::*;

/// The tasks that are other ones than before.
fn others(from: &str, to: &str) -> Vec<String> {
    assert!(INVOICES.contains(from), "{from}");
    let (before, after) = (reading(INVOICES).reading.plan, reading(&INVOICES.replace(from, to)).reading.plan);
    let was = |id: &TaskId| before.tasks.iter().find(|old| old.id == *id).expect("it was there").content();
    after.tasks.iter().filter(|new| new.is_another_than(was(&new.id))).map(|new| new.id.to_string()).collect()
}

#[test]
fn words_for_all_tasks_do_not_make_one_another() {
    for (from, to) in [
        ("# TodoList: Invoices", "# TodoList: Bills"),
        ("so that I find it again.", "so that nobody loses it."),
        ("Title is kept", "Title and text are kept"),
        ("- [x] T001", "- [ ] T001"),
        ("[size: M]", "[size: L]"),
    ] {
        assert_eq!(others(from, to), [""; 0], "{to}");
    }
    let prompt = |text: &str| by_id(&reading(text), "T002").prompt.clone();
    assert_ne!(
        prompt(INVOICES),
        prompt(&INVOICES.replace("so that I find it again.", "so that nobody loses it."))
    );
    for (from, to) in [
        ("Add endpoint", "Add two endpoints"),
        ("answer 201", "answer 204"),
        ("src/api/index.ts]", "src/api/main.ts]"),
    ] {
        assert_eq!(others(from, to), ["T002"], "{to}");
    }
}
