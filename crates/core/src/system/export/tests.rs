//! Whatever is exported reads back as what it was, and what does not is told.

use proptest::prelude::*;

use super::*;
use crate::chronicle::bench::{Bench, spec};
use crate::plan::{Argv, Check, Group, GroupId, RepoPath, TaskSpec};
use crate::system::config::check_name;
use crate::system::native::Overrides;
use crate::system::{Form, Strictness, execute, iterative, native, rwkit};
use crate::time::Span;

const SHOP: &str = r##"
name = "shop"

[policy]
schedule = "batch"
max_parallel = 4
landing_checks = ["cargo test"]

[agents.default]
command = ["agent", "--yes"]

[agents.careful]
command = ["agent", "--slow"]

[[group]]
id = "walls"
title = "Walls first"

[[group]]
id = "roof"

[[task]]
id = "T1"
title = "Raise <the> walls & doors"
prompt = """
Write walls.rs.

    fn walls() -> Vec<Wall> { todo_list() }

Keep {PROJECT_NAME} as it is; `]]>` too.
"""
group = "walls"
files = ["src/walls.rs", "notes (old).md"]
criteria = ["the walls   are straight"]
checks = ["cargo test -p walls", "test -s src/walls.rs && grep -q 'fn walls' src/walls.rs"]

[[task]]
id = "T2"
title = "Paint"
prompt = "Paint the walls"
group = "walls"
depends_on = ["T1"]
agent = "careful"
confirm = true
attempts = 9
checks = [
  { name = "colour", run = ["grep", "-q", "a|b", "paint `red`.txt"], timeout = "9s" },
  { run = "for f in *; do\n  test -s $f\ndone" },
  { run = "make", cwd = "tools" },
  { file = "PAINT", holds = ["red"] },
  { file = "docs/paint.md", holds = ["# Paint", "`red`"] },
]

[[task]]
id = "L1-001"
title = "Roof"
prompt = "Put the roof on"
group = "roof"
depends_on = ["T2", "T1"]
checks = []
"##;

fn shop() -> Plan {
    let read = native::read(SHOP, "shop", &Config::default(), &Overrides::default());
    assert!(read.is_usable(), "{:?}", read.diagnostics);
    read.plan
}

fn exported(plan: &Plan, to: &dyn System) -> Exported {
    let bench = Bench::new(plan.clone());
    let source = Source { plan, state: &bench.state, chronicle: &bench.chronicle };
    export(source, to, &Config::default(), &Place::default())
}

fn told(exported: &Exported) -> String {
    let line = |note: &Note| {
        let task = note.task.as_ref().map_or_else(|| "the run".to_owned(), ToString::to_string);
        format!("{task}: {}: {}\n", note.field, note.text)
    };
    exported.notes.iter().map(line).collect()
}

#[test]
fn renumbered_tasks_wait_for_the_same_tasks_and_for_what_is_not_written() {
    let mut plan = shop();
    let gate = TaskId::new("gate-1").expect("an id");
    plan.tasks[2].depends_on.push(gate.clone());
    plan.tasks.swap(0, 1);
    renumber(&mut plan, |nth| TaskId::new(&format!("N{nth}")).expect("an id"));
    let ids: Vec<&str> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["N0", "N1", "N2"]);
    let id = |name: &str| TaskId::new(name).expect("an id");
    assert_eq!(plan.tasks[0].depends_on, [id("N1")]);
    assert_eq!(plan.tasks[2].depends_on, [id("N0"), id("N1"), gate]);
}

/// The plan in a folder of files.
fn folder(exported: &Exported) -> crate::system::Reading {
    let files = exported.files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes()));
    execute::plan::read(&Folder { files: files.collect() }, "shop", &Config::default(), Strictness::Lenient)
}

#[test]
fn a_plan_of_pitons_own_becomes_a_folder_and_what_does_not_fit_is_told() {
    let exported = exported(&shop(), &execute::Execute);
    insta::assert_snapshot!("notes", told(&exported));
    let names: Vec<&str> = exported.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "manifest.json",
            "layer_plan.json",
            "1-walls/L1-002-raise-the-walls-doors.xml",
            "1-walls/L1-003-paint.xml",
            "2-roof/L1-001-roof.xml",
            "execute-state.json"
        ]
    );
    insta::assert_snapshot!("task", exported.files[3].1);
    let read = folder(&exported);
    assert!(read.is_usable(), "{:?}", read.problems);
    let needs: Vec<(&str, Vec<&str>)> = read
        .plan
        .tasks
        .iter()
        .map(|task| (task.id.as_str(), task.depends_on.iter().map(TaskId::as_str).collect()))
        .collect();
    assert_eq!(needs, [("L1-002", vec![]), ("L1-003", vec!["L1-002"]), ("L1-001", vec!["L1-002", "L1-003"])]);
}

#[test]
fn its_state_file_has_the_names_of_its_plan() {
    let exported = exported(&shop(), &execute::Execute);
    let text = &exported.files.last().expect("the state").1;
    let state: Value = serde_json::from_str(text).expect("JSON");
    let keys = |name: &str| state[name].as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys("tasks"), ["L1-001", "L1-002", "L1-003"]);
    assert_eq!(keys("layers"), ["1-walls", "2-roof"]);
    assert_eq!(state["metrics"]["tasks_total"], 3);
    let read = execute::state::read(text);
    assert!(read.problems.is_empty(), "{:?}", read.problems);
}

#[test]
fn a_plan_of_pitons_own_becomes_a_folder_of_units() {
    let exported = exported(&shop(), &iterative::Iterations);
    let names: Vec<&str> = exported.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["brief.md", "tasks.md", "context.md", "state.json"]);
    insta::assert_snapshot!("units", exported.files[1].1);
    let state: serde_json::Value = serde_json::from_str(&exported.files[3].1).expect("JSON");
    let ids: Vec<&String> = state["tasks"].as_object().expect("an object").keys().collect();
    assert_eq!(ids.len(), shop().tasks.len());
    assert!(told(&exported).contains("schedule"), "{}", told(&exported));
}

#[test]
fn tasks_that_wait_for_later_groups_are_in_one_layer() {
    let text = SHOP
        .replace("schedule = \"batch\"", "schedule = \"flow\"")
        .replace("title = \"Raise <the> walls & doors\"\n", "title = \"Raise\"\ndepends_on = [\"T9\"]\n")
        + "\n[[task]]\nid = \"T9\"\ntitle = \"Dig\"\nprompt = \"Dig\"\ngroup = \"roof\"\nchecks = [\"true\"]\n";
    let read = native::read(&text, "shop", &Config::default(), &Overrides::default());
    assert!(read.is_usable(), "{:?}", read.diagnostics);
    let exported = exported(&read.plan, &execute::Execute);
    assert!(folder(&exported).is_usable(), "{:?}", folder(&exported).problems);
    assert_eq!(folder(&exported).plan.groups.len(), 1);
    let state: Value = serde_json::from_str(&exported.files.last().expect("the state").1).expect("JSON");
    assert_eq!(state["layers"]["1-walls"]["tasks_total"], 4);
}

#[test]
fn a_folder_becomes_a_plan_of_pitons_own_and_only_exports_are_lost() {
    let files = execute::plan::starter("shop").into_iter();
    let files = Folder { files: files.map(|(name, text)| (name, text.into_bytes())).collect() };
    let plan = execute::plan::read(&files, "shop", &Config::default(), Strictness::Lenient).plan;
    let exported = exported(&plan, &native::Native);
    insta::assert_snapshot!("native_notes", told(&exported));
    insta::assert_snapshot!("native", exported.files[0].1);
    let read = native::read(&exported.files[0].1, "shop", &Config::default(), &Overrides::default());
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    assert_eq!(without_exports(&read.plan.tasks), without_exports(&plan.tasks));
    assert_eq!(read.plan.groups, plan.groups);
    assert_eq!(Settings { form: Form::Execute, ..read.plan.settings }, plan.settings);
}

/// The plan in a todolist.
fn list(exported: &Exported) -> crate::system::Reading {
    let (name, text) = &exported.files[0];
    let folder = Folder { files: [(name.clone(), text.clone().into_bytes())].into() };
    let config = Config::default();
    let given = crate::system::Given::new(name, name, &config);
    rwkit::plan::read(&folder, &given).reading
}

#[test]
fn a_plan_of_pitons_own_becomes_a_list_and_what_does_not_fit_is_told() {
    let mut plan = shop();
    // Called like a gate, and a task like any other.
    plan.tasks[2].id = TaskId::new("gate-roof").expect("an id");
    let exported = exported(&plan, &rwkit::Rwkit);
    insta::assert_snapshot!("list_notes", told(&exported));
    insta::assert_snapshot!("list", exported.files[0].1);
    let (name, text) = exported.files.last().expect("the state");
    assert_eq!(name, "rw-kit.state.json");
    let state: Value = serde_json::from_str(text).expect("JSON");
    let ids: Vec<&String> = state["tasks"].as_object().expect("an object").keys().collect();
    assert_eq!(ids, ["T001", "T002", "T003"]);
    assert_eq!(state["tasks"]["T003"]["dependencies"], json!(["T002", "T001"]));
    assert_eq!(rwkit::state::read(text).problems, []);
}

fn without_exports(tasks: &[TaskSpec]) -> Vec<TaskSpec> {
    tasks.iter().map(|task| TaskSpec { exports: Vec::new(), source: None, ..task.clone() }).collect()
}

/// A task of any plan, with the places of those it waits for.
fn task() -> impl Strategy<Value = (TaskSpec, Vec<prop::sample::Index>)> {
    let line = "[A-Za-z<>&\"'`{}|;:$äß→. -]{0,20}[a-z]";
    let check = prop_oneof![
        line.prop_map(|line| Argv::parse(line.trim())),
        "[a-z]{1,4}\n[a-z'\"]{1,9}".prop_map(Argv::Shell),
        prop::collection::vec("[a-z|`' \n]{0,5}", 1..3)
            .prop_map(|words| Argv::Words(std::iter::once("run".to_owned()).chain(words).collect())),
        ("[a-z]{1,4}(/[a-zA-Z -]{1,5}[a-z])?(\\.rs)?", prop::collection::vec("[a-z`#(][a-z`#( ]{0,5}", 0..3))
            .prop_filter_map("a path", |(file, holds)| Some(Argv::Look {
                file: RepoPath::new(&file).ok()?,
                holds
            })),
    ];
    let checks = prop::collection::vec((check, prop::option::of("[a-z]{1,4}"), 1..99_u64), 0..4);
    let texts = (line, "[ a-zA-Z<>&\\]{}`$\"\\\\\t\n]{0,60}[a-z]", prop::collection::vec(line, 0..3));
    let places = prop::collection::vec(any::<prop::sample::Index>(), 0..3);
    (texts, checks, 0..3_u32, 1..99_u32, places).prop_map(
        |((title, prompt, criteria), checks, group, priority, needs)| {
            let check = |(run, cwd, seconds): (Argv, Option<String>, u64)| Check {
                cwd: cwd
                    .filter(|_| !matches!(run, Argv::Look { .. }))
                    .map(|cwd| RepoPath::new(&cwd).expect("a path")),
                ..Check::new(check_name(&run), run, Span::seconds(seconds))
            };
            let checks = checks.into_iter().map(check).collect();
            let title = title.trim().to_owned();
            (TaskSpec { title, prompt, group, priority, criteria, checks, ..spec("T1", &[]) }, needs)
        },
    )
}

/// Groups, ids and dependencies fit together; nothing else need.
fn any_plan() -> impl Strategy<Value = Plan> {
    let ids = "(L[0-3]-00[0-9]|[A-Za-z][A-Za-z0-9_]{0,4})";
    let groups = prop::collection::btree_set("([0-9]{1,2}-)?g[a-z]{0,5}", 3);
    (prop::collection::vec((ids, task()), 1..8), groups, any::<bool>()).prop_map(|(drawn, groups, flow)| {
        let mut tasks: Vec<TaskSpec> = Vec::new();
        for (id, (task, needs)) in drawn {
            let Ok(id) = TaskId::new(&id) else { continue };
            if tasks.iter().any(|known| known.id.folded() == id.folded()) {
                continue;
            }
            let may = tasks.iter().filter(|known| flow || known.group <= task.group);
            let may: Vec<TaskId> = may.map(|known| known.id.clone()).collect();
            let mut depends_on: Vec<TaskId> = match may.is_empty() {
                true => Vec::new(),
                false => needs.iter().map(|need| may[need.index(may.len())].clone()).collect(),
            };
            depends_on.sort();
            depends_on.dedup();
            tasks.push(TaskSpec { id, depends_on, ..task });
        }
        if tasks.is_empty() {
            tasks.push(spec("T1", &[]));
        }
        let group = |name: &String| Group { id: GroupId::new(name).expect("an id"), title: name.clone() };
        let schedule = if flow { crate::plan::Schedule::Flow } else { crate::plan::Schedule::Layered };
        let settings = Settings { schedule, ..Settings::default() };
        Plan { name: "any".to_owned(), groups: groups.iter().map(group).collect(), tasks, settings }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every task is there, waits for the same ones, and what is not the same about it is told.
    #[test]
    fn any_plan_becomes_a_folder_with_the_same_tasks(plan in any_plan()) {
        let exported = exported(&plan, &execute::Execute);
        let read = folder(&exported);
        prop_assert!(read.is_usable(), "{:#?}", read.problems);
        let fitted = execute::plan::fit(&plan);
        prop_assert_eq!(read.plan.tasks.len(), plan.tasks.len());
        for (meant, fitted) in plan.tasks.iter().zip(&fitted.tasks) {
            let task = read.plan.tasks.iter().find(|task| task.id == fitted.id).expect("every task is there");
            prop_assert_eq!(&task.title, &fitted.title);
            prop_assert_eq!(&task.depends_on, &fitted.depends_on);
            prop_assert_eq!(task.group, fitted.group);
            let is_told = |field: &str| {
                exported.notes.iter().any(|note| note.task.as_ref() == Some(&meant.id) && note.field == field)
            };
            prop_assert!(task.checks == fitted.checks || is_told("checks"), "{:?} {:?}", task.checks, fitted.checks);
            prop_assert!(task.prompt == fitted.prompt || is_told("prompt"), "{:?} {:?}", task.prompt, fitted.prompt);
            prop_assert!(task.id == meant.id || is_told("id"));
        }
    }

    /// The same for a list.
    #[test]
    fn any_plan_becomes_a_list_with_the_same_tasks(plan in any_plan()) {
        let exported = exported(&plan, &rwkit::Rwkit);
        let read = list(&exported);
        prop_assert!(read.is_usable(), "{:#?}\n{}", read.problems, exported.files[0].1);
        let fitted = rwkit::write::fit(&plan);
        prop_assert_eq!(read.plan.tasks.len(), plan.tasks.len());
        for (meant, fitted) in plan.tasks.iter().zip(&fitted.tasks) {
            let task = read.plan.tasks.iter().find(|task| task.id == fitted.id).expect("every task is there");
            let is_told = |field: &str| {
                exported.notes.iter().any(|note| note.task.as_ref() == Some(&meant.id) && note.field == field)
            };
            let needs = |task: &TaskSpec| task.depends_on.iter().cloned().collect::<std::collections::BTreeSet<_>>();
            prop_assert_eq!(needs(task), needs(fitted));
            prop_assert_eq!(&task.files, &fitted.files);
            prop_assert!(task.title == fitted.title || is_told("title"), "{:?} {:?}", task.title, fitted.title);
            prop_assert!(task.checks == fitted.checks || is_told("checks"), "{:?} {:?}", task.checks, fitted.checks);
            prop_assert!(task.prompt == fitted.prompt || is_told("prompt"), "{:?} {:?}", task.prompt, fitted.prompt);
            prop_assert!(task.id == meant.id || is_told("id"));
        }
    }

    /// Piton's own form has room for all of it.
    #[test]
    fn any_plan_is_the_same_when_it_is_written_and_read(plan in any_plan()) {
        let fitted = native::fit(&plan);
        let text = native::write(&fitted);
        let read = native::read(&text, "any", &Config::default(), &Overrides::default());
        prop_assert!(read.is_usable(), "{text}\n{:#?}", read.diagnostics);
        prop_assert_eq!(&read.plan.tasks, &fitted.tasks, "{}", text);
        prop_assert_eq!(&read.plan.settings, &fitted.settings);
    }
}
