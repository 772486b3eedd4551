//! What makes a task another one: its own file, and nothing that the plan or the project says for all.

use super::*;

fn changed(file: &str, from: &str, to: &str) -> Folder {
    let mut folder = invoices();
    let text = String::from_utf8(folder.files[file].clone()).expect("text");
    assert!(text.contains(from), "{file}: {from}");
    folder.files.insert(file.to_owned(), text.replace(from, to).into_bytes());
    folder
}

#[test]
fn words_for_all_tasks_do_not_make_one_another() {
    let old = reading(&invoices()).plan;
    let config =
        read_config("[agents.other]\ncommand = 'x'\n[defaults]\nagent = 'other'\nchecks = ['make']\n").0;
    let others = [
        reading(&changed("manifest.json", "\"name\": \"Invoices\"", "\"name\": \"Bills\"")).plan,
        reading(&changed("layer_plan.json", "\"Foundation\"", "\"Ground\"")).plan,
        read(&invoices(), "stem", &config, Strictness::Lenient).plan,
    ];
    for (nth, new) in others.iter().enumerate() {
        for (old, new) in old.tasks.iter().zip(&new.tasks) {
            assert!(!new.is_another_than(old.content()), "{}, change {nth}", new.id);
        }
    }
    let store = "1-foundation/L1-002-store.xml";
    for (from, to) in [
        ("Store invoices in a file", "Store invoices in two files"),
        ("Nobody deletes one.", "Anybody may delete one."),
        ("Add Invoice store", "Add a store of invoices"),
    ] {
        let new = reading(&changed(store, from, to)).plan;
        let another: Vec<&str> = old
            .tasks
            .iter()
            .filter(|old| new.tasks.iter().any(|new| new.id == old.id && new.is_another_than(old.content())))
            .map(|task| task.id.as_str())
            .collect();
        assert_eq!(another, ["L1-002"], "{to}");
    }
}
