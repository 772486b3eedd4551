//! From a file of another hand into a journal, and back into a file.

use super::*;
use crate::run::{Command, ImportedTask, Note, Proof, Status};

const EXAMPLE: &str = include_str!("fixtures/example.json");

/// A run that begins with what a file says, as an import makes it that believes it.
fn adopt(state: &ForeignState) -> Bench {
    let tasks = state.tasks.iter().map(|(id, task)| {
        let mut spec = spec(id.as_str(), &[]);
        spec.title.clone_from(&task.description);
        spec
    });
    let mut bench = Bench::new(plan(&["tasks"], tasks.collect()));
    bench.now = state.updated_at.expect("a time");
    for (id, task) in &state.tasks {
        if task.status == TaskWord::Pending {
            continue;
        }
        let completed = task.status == TaskWord::Completed;
        let past = ImportedTask {
            spent: u32::from(!completed),
            proof: completed.then_some(Proof::Reported),
            started_at: task.started_at,
            completed_at: task.completed_at,
            ..ImportedTask::plain(if completed { Status::Completed } else { Status::Failed })
        };
        bench.accept(&Command::Adopt { task: id.clone(), by: "import".to_owned(), past: Box::new(past) });
        bench.note(Note::Told { task: id.clone(), report: Box::new(task.report.clone()) });
    }
    let fields = state.carried(|id| state.tasks.contains_key(id));
    bench.note(Note::Carried { file: FILE.to_owned(), fields });
    bench
}

#[test]
fn the_example_comes_back() {
    let reading = read(EXAMPLE);
    assert_eq!(reading.problems, []);
    assert_eq!(reading.state.number, Some(42));
    let bench = adopt(&reading.state);
    let mut back = json(&bench);
    for name in ["piton_seq", "piton_run"] {
        back.as_object_mut().expect("an object").remove(name);
    }
    back["created_at"] = reading.state.value["created_at"].clone();
    back["updated_at"] = reading.state.value["updated_at"].clone();
    assert_eq!(back, reading.state.value);
    let again = serde_json::to_string_pretty(&back).expect("JSON") + "\n";
    assert_eq!(again, EXAMPLE, "to the byte, its keys in their order");
}

#[test]
fn a_file_of_ours_comes_back_as_it_was() {
    let bench = over();
    let reading = read(&shown(&bench));
    assert_eq!(reading.problems, []);
    assert_eq!(reading.state.piton_seq, Some(bench.chronicle.seq));
    assert_eq!(reading.state.piton_run.as_deref(), Some("voice-notes-1"));
    assert_eq!(reading.state.value, json(&bench));
    assert_eq!(reading.state.tasks[&id("1")].report.exports, ["Exporter", "export()"]);
    assert_eq!(reading.state.tasks[&id("2")].report.note, "", "the mark is no note");
}
