//! What holds for every list and for whatever becomes of its file.

use std::collections::{BTreeMap, HashMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::plan::{RepoPath, TaskSpec};
use crate::system::kit::outline::Word;
use crate::system::native::testing::task;
use crate::system::rwkit::batches::{LARGEST, batches};
use crate::system::rwkit::boxes::tick;
use crate::system::rwkit::master;

const PLACES: [&str; 12] =
    ["a", "./a", "b/c", "b//c", "b/", "b/c/d", "e/f", "e/*.ts", "g", "h", "h/i/j", "h/i/./k"];

/// Whether two of them are one place, or one is in the other.
fn meet(a: &RepoPath, b: &RepoPath) -> bool {
    let parts = |path: &RepoPath| -> Vec<String> {
        let parts = path.as_str().split('/').filter(|part| !part.is_empty() && *part != ".");
        parts.take_while(|part| !part.contains('*')).map(str::to_owned).collect()
    };
    let (a, b) = (parts(a), parts(b));
    a.starts_with(&b) || b.starts_with(&a)
}

/// Tasks that wait for earlier ones only, and write a few files.
fn specs() -> impl Strategy<Value = Vec<TaskSpec>> {
    let one = (
        prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        prop::collection::vec(0..12_u8, 0..3),
        1..4_u32,
    );
    prop::collection::vec(one, 1..60).prop_map(|all| {
        let name = |nth: usize| format!("T{nth:03}");
        let spec = |(nth, (deps, files, priority)): (usize, (Vec<prop::sample::Index>, Vec<u8>, u32))| {
            let deps: Vec<String> =
                deps.iter().filter(|_| nth > 0).map(|dep| name(dep.index(nth.max(1)))).collect();
            let deps: Vec<&str> = deps.iter().map(String::as_str).collect();
            let files = files.iter().map(|file| RepoPath::new(PLACES[usize::from(*file)]).expect("a path"));
            let files = files.collect();
            TaskSpec { files, priority, ..task(&name(nth), &deps) }
        };
        all.into_iter().enumerate().map(spec).collect()
    })
}

proptest! {
    #[test]
    fn batches_hold_every_task_once_after_what_it_waits_for_and_apart_from_other_writers(specs in specs()) {
        let batches = batches(&specs);
        let by_id: HashMap<&TaskId, &TaskSpec> = specs.iter().map(|spec| (&spec.id, spec)).collect();
        let mut batch_of: HashMap<&TaskId, usize> = HashMap::new();
        for (nth, batch) in batches.iter().enumerate() {
            prop_assert!(!batch.is_empty() && batch.len() <= LARGEST);
            let mut written: Vec<&RepoPath> = Vec::new();
            for id in batch {
                prop_assert!(batch_of.insert(id, nth).is_none(), "{} appears twice", id);
                let files = &by_id[id].files;
                let apart = files.iter().all(|file| written.iter().all(|other| !meet(file, other)));
                prop_assert!(apart, "{} writes what another does", id);
                written.extend(files);
            }
        }
        prop_assert_eq!(batch_of.len(), specs.len());
        for spec in &specs {
            prop_assert!(spec.depends_on.iter().all(|need| batch_of[need] < batch_of[&spec.id]), "{} comes too early", spec.id);
        }
        prop_assert_eq!(batches, super::super::batches::batches(&specs));
    }

    #[test]
    fn a_level_without_shared_files_takes_as_few_batches_as_it_can(count in 1..80_usize) {
        let specs: Vec<TaskSpec> = (0..count).map(|nth| task(&format!("T{nth:03}"), &[])).collect();
        let sizes: Vec<usize> = batches(&specs).iter().map(Vec::len).collect();
        prop_assert_eq!(sizes.len(), count.div_ceil(LARGEST));
        prop_assert!(sizes.iter().max().zip(sizes.iter().min()).is_some_and(|(most, least)| count <= LARGEST || least * 2 >= *most), "{:?}", sizes);
    }
}

/// Lists as they might be written.
fn lines() -> impl Strategy<Value = String> {
    let line = (prop::sample::select(vec![" ", "x", "-", "~", "", "?"]), 0..12_u32, 0..12_u32, 0..9_u8);
    prop::collection::vec(line, 0..14).prop_map(|lines| {
        let mut text = String::new();
        for (mark, id, dep, kind) in lines {
            let end = if dep == 3 { "\r\n" } else { "\n" };
            text += &match kind {
                0 => format!("## User Story: US-{dep:03} Name{end}"),
                1 => format!("### Acceptance Criteria{end}- [{mark}] Name {id}{end}"),
                2 => format!("### Tasks{end}"),
                3 => format!("  - [{mark}] a step{end}"),
                4 => format!("- [{mark}] T{id:03} P1 US-{dep:03} Name{end}  [deps: T{dep:03}]{end}"),
                5 => format!("- [{mark}] T0S{id} Name [deps: All US-{dep:03} tasks] [files: f{dep}]{end}"),
                6 => format!("| Task | Deps |{end}|---|---|{end}| T0E{id} | T{dep:03} |{end}{end}"),
                _ => format!(
                    "- [{mark}] T{id:03} P{dep} Name {id} [agent: a] [deps: none] [files: f{dep}]{end}"
                ),
            };
        }
        text
    })
}

proptest! {
    #[test]
    fn ids_are_unique_and_every_task_is_in_a_batch(text in lines()) {
        let read = reading(&text);
        told(&read);
        let plan = &read.reading.plan;
        let ids: HashSet<String> = plan.tasks.iter().map(|task| task.id.folded()).collect();
        prop_assert_eq!(ids.len(), plan.tasks.len());
        prop_assert_eq!(read.reading.before.len(), plan.tasks.len());
        prop_assert_eq!(read.about.tasks.len(), plan.tasks.len());
        prop_assert!(plan.tasks.iter().all(|task| (task.group as usize) < plan.groups.len()));
        // Every line that is certainly a task is one.
        let certain = text.lines().filter(|line| line.contains("] T") && line.contains("[agent: a]")).count();
        prop_assert!(plan.tasks.len() >= certain, "{:?}", text);
    }

    #[test]
    fn what_is_ticked_is_read_as_done_and_nothing_else_changes(text in lines(), picks: u16) {
        let read = reading(&text);
        let word = |nth: usize| if picks >> (nth % 16) & 1 == 1 { Word::Completed } else { Word::Pending };
        let picked: BTreeMap<TaskId, Word> = read.todolist.tasks.iter().enumerate().filter(|(_, task)| task.place.is_some())
            .map(|(nth, task)| (task.id.clone(), word(nth))).collect();
        let ticked = tick(text.as_bytes(), &picked).expect("text");
        prop_assert_eq!(&ticked.missing, &[]);
        let new = String::from_utf8(ticked.bytes).expect("text");
        let again = reading(&new);
        prop_assert_eq!(read.reading.plan.hash(), again.reading.plan.hash());
        for (id, word) in &picked {
            prop_assert_eq!(again.reading.before[id].done, *word == Word::Completed, "{}: {:?} {:?}", id, text, new);
        }
        let bare = |text: &str| text.replace("[x]", "[]").replace("[ ]", "[]").replace("[-]", "[]").replace("[~]", "[]").replace("[?]", "[]");
        prop_assert_eq!(bare(&text), bare(&new));
        prop_assert_eq!(tick(new.as_bytes(), &picked).expect("text").bytes, new.into_bytes(), "ticking twice is ticking once");
    }

    #[test]
    fn any_text_is_read(text in "(?s)(- \\[ \\] |- \\[x\\] |T001|T002 |Task 1: |\\[deps: |\\[files: |\\[agent: |\\[size: L|\\]|\\[|, |-|US-001| tasks|All |### Tasks\n|## User Story: |### Acceptance Criteria\n|## Execution Batches\n### Batch 1\n|\\| Task \\| Deps \\|\n|\\||Story Progress: 1/|`|\n|\n  |\\PC){0,60}") {
        let files = folder(&[(LIST, &text), ("plans/1-1-invoices-plan.md", &text)]);
        let read = reading_with(&files, &profiles(), Strictness::Lenient);
        told(&read);
        told_of(&read, &lint(&read));
        let master = master::read(&text);
        master.problems.iter().for_each(|problem| drop(shown(&text, problem)));
    }
}
